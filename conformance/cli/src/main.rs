//! `proofmark`: certifies any implementation of a set of contracts. One file per subcommand.

mod badge;
mod certify;
mod choice;
mod drive;
mod exit;
mod found;
mod issue;
mod keep;
mod keygen;
mod lint;
mod list;
mod merge;
mod options;
mod replay;
mod run;
mod selftest;
mod show;
mod subject;
mod verify;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use exit::Exit;

/// Certifies implementations of agent-system contracts, bit for bit.
///
/// Exit codes: 0 it holds, 1 it does not, 2 it could not be determined.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Certify(certify::CertifyArgs),
    Run(run::RunArgs),
    Verify(verify::VerifyArgs),
    Merge(merge::MergeArgs),
    Replay(replay::ReplayArgs),
    Badge(badge::BadgeArgs),
    Keygen(keygen::KeygenArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Lint(lint::LintArgs),
    Selftest(selftest::SelftestArgs),
    Subject(subject::SubjectArgs),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut out = anstream::stdout().lock();
    let outcome = match &arguments.command {
        Command::Certify(args) => certify::certify(args, &mut out),
        Command::Run(args) => run::run(args, &mut out),
        Command::Verify(args) => verify::verify(args, &mut out),
        Command::Merge(args) => merge::merge(args, &mut out),
        Command::Replay(args) => exit::to_the_end(replay::replay(args, &mut out)),
        Command::Badge(args) => badge::badge(args, &mut out),
        Command::Keygen(args) => keygen::keygen(args, &mut out),
        Command::List(args) => exit::to_the_end(list::list(args, &mut out)),
        Command::Show(args) => exit::to_the_end(show::show(args, &mut out)),
        Command::Lint(args) => lint::lint(args, &mut out),
        Command::Selftest(args) => selftest::selftest(args, &mut out),
        // It owns stdout from here on.
        Command::Subject(args) => {
            drop(out);
            return subject::subject(args);
        }
    };
    let outcome = outcome.and_then(|exit| exit::standing(exit, out.flush()));
    match outcome {
        Ok(exit) => exit.into(),
        Err(fault) => {
            // With stderr gone too, the exit code still tells.
            let _deaf = writeln!(anstream::stderr(), "proofmark: {fault}");
            Exit::Undetermined.into()
        }
    }
}

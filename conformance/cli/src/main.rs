//! `proofmark`: certifies any implementation of a set of contracts. One file per subcommand.

mod badge;
mod bless;
mod bridge;
mod certify;
mod choice;
mod completions;
mod doctor;
mod drive;
mod edit;
mod envelope;
mod exit;
mod found;
mod guide;
mod init;
mod issue;
mod keep;
mod keygen;
mod lint;
mod list;
mod man;
mod manifest;
mod memory;
mod merge;
mod new;
mod options;
mod outputs;
mod parts;
mod program;
mod replay;
mod run;
mod schema;
mod selftest;
mod show;
mod steps;
mod subject;
mod trace;
mod vendored;
mod verify;
mod watch;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use exit::Exit;
use proofmark_report::github;

/// Certifies implementations of agent-system contracts, bit for bit.
///
/// Exit codes: 0 it holds, 1 it does not, 2 it could not be determined.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub(crate) struct Arguments {
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
    Steps(steps::StepsArgs),
    New(new::NewArgs),
    Bless(bless::BlessArgs),
    Trace(trace::TraceArgs),
    Init(init::InitArgs),
    Doctor(doctor::DoctorArgs),
    Envelope(envelope::EnvelopeArgs),
    Guide(guide::GuideArgs),
    Schema(schema::SchemaArgs),
    Selftest(selftest::SelftestArgs),
    Subject(subject::SubjectArgs),
    #[command(hide = true)]
    Bridge(bridge::BridgeArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Colours in a CI log only if the user asks for them.
    if proofmark_report::progress::in_ci() && std::env::var_os("CLICOLOR_FORCE").is_none() {
        anstream::ColorChoice::Never.write_global();
    }
    let mut out = anstream::stdout().lock();
    let outcome = match arguments.command {
        Command::Certify(args) => certify::certify(&args, &mut out),
        Command::Run(args) => run::run(&args, &mut out),
        Command::Verify(args) => verify::verify(&args, &mut out),
        Command::Merge(args) => merge::merge(&args, &mut out),
        Command::Replay(args) => replay::replay(&args, &mut out),
        Command::Badge(args) => badge::badge(&args, &mut out),
        Command::Keygen(args) => keygen::keygen(&args, &mut out),
        Command::List(args) => exit::to_the_end(list::list(&args, &mut out)),
        Command::Show(args) => exit::to_the_end(show::show(&args, &mut out)),
        Command::Lint(args) => lint::lint(&args, &mut out),
        Command::Steps(args) => exit::to_the_end(steps::steps(&args, &mut out)),
        Command::New(args) => new::new(&args, &mut out),
        Command::Bless(args) => bless::bless(&args, &mut out),
        Command::Trace(args) => trace::trace(&args, &mut out),
        Command::Completions(args) => exit::to_the_end(completions::completions(&args, &mut out)),
        Command::Man(args) => exit::to_the_end(man::man(&args, &mut out)),
        Command::Init(args) => init::init(&args, &mut out),
        Command::Doctor(args) => doctor::doctor(&args, &mut out),
        Command::Envelope(args) => envelope::envelope(&args, &mut out),
        Command::Guide(args) => exit::to_the_end(guide::guide(&args, &mut out)),
        Command::Schema(args) => exit::to_the_end(schema::schema(&args, &mut out)),
        Command::Selftest(args) => selftest::selftest(&args, &mut out),
        // From here on, the subject owns stdout.
        Command::Subject(args) => {
            drop(out);
            return subject::subject(&args);
        }
        Command::Bridge(args) => {
            drop(out);
            return bridge::bridge(args);
        }
    };
    let outcome = outcome.and_then(|exit| exit::standing(exit, out.flush()));
    match outcome {
        Ok(exit) => exit.into(),
        Err(fault) => {
            // If stderr is closed too, the exit code still reports the failure.
            let _deaf = writeln!(anstream::stderr(), "proofmark: {fault}");
            if outputs::on_github() {
                let _deaf = github::annotate_fault(&mut std::io::stderr(), &fault.to_string());
            }
            Exit::Undetermined.into()
        }
    }
}

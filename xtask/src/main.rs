//! The maintainers' commands: `cargo xtask NAME`. One file per command.

mod bench;
mod fuzz;
mod kits;
mod mutants;
mod new_contract;
mod options;
mod oracle;
mod tidy;
mod tool;

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const COMMANDS: &str = "\
cargo xtask bench         measure speed, as ratios within one run
cargo xtask fuzz          try invented inputs on every parser (nightly)
cargo xtask kits          build, check and test the adapter kits (node, npm, python3)
cargo xtask mutants       break the reference's source; every change must fail a case
cargo xtask new-contract  make a room, a reference crate and a ledger, to be filled in
cargo xtask oracle        recompute the goldens with independent programs (python3, node)
cargo xtask tidy          check the repository's own rules
";

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    let args: Vec<String> = std::env::args().skip(2).collect();
    let done = match command.as_str() {
        "bench" => bench::bench(),
        "bench-echo" => bench::echo(),
        "bench-subject" => bench::subject(),
        "fuzz" => fuzz::fuzz(&args),
        "kits" => kits::kits(),
        "mutants" => mutants::mutants(&args),
        "new-contract" => new_contract::new_contract(&args),
        "oracle" => oracle::oracle(),
        "tidy" => tidy::tidy(),
        "" => Err(format!("name a command:\n{COMMANDS}")),
        other => Err(format!("unknown command `{other}`; use one of\n{COMMANDS}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // If stderr is closed too, the exit code still reports the failure.
            let _deaf = writeln!(std::io::stderr(), "xtask: {fault}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's root: `cargo` says where this crate is, and a shell is somewhere in the repository.
fn top() -> PathBuf {
    let from_cargo = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = from_cargo.or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let is_top = |folder: &&std::path::Path| folder.join("xtask/Cargo.toml").exists();
    here.ancestors().find(is_top).map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// The folders of the contracts' rooms.
fn rooms() -> impl Iterator<Item = PathBuf> {
    let folder = top().join("conformance/contracts");
    proofmark_catalog::rooms().map(move |room| folder.join(room.contract))
}

/// The target folder of this program and of everything that it builds.
fn target() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|fault| fault.to_string())?;
    let folder = program.ancestors().nth(2).map(PathBuf::from);
    folder.ok_or_else(|| format!("{} is not in a target folder", program.display()))
}

/// Runs a command at the root and waits for it.
fn run<S: AsRef<OsStr>>(program: &str, args: impl IntoIterator<Item = S>) -> Result<(), String> {
    finish(Command::new(program).args(args))
}

/// The same for a prepared command.
fn finish(command: &mut Command) -> Result<(), String> {
    let status = command.current_dir(top()).status().map_err(|fault| {
        format!("{} cannot be started: {fault}", command.get_program().display())
    })?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}")) }
}

/// A line for people, on stdout.
fn say(line: std::fmt::Arguments<'_>) -> Result<(), String> {
    writeln!(std::io::stdout(), "{line}").map_err(|fault| fault.to_string())
}

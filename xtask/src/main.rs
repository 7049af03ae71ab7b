//! The maintainers' commands: `cargo xtask NAME`. One file per command.

mod bench;
mod oracle;
mod tidy;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

const COMMANDS: &str = "\
cargo xtask bench     measure speed, as ratios within one run
cargo xtask oracle    recompute the goldens with independent programs (python3, node)
cargo xtask tidy      check the repository's own rules
";

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    let done = match command.as_str() {
        "bench" => bench::bench(),
        "bench-echo" => bench::echo(),
        "oracle" => oracle::oracle(),
        "tidy" => tidy::tidy(),
        "" => Err(format!("say which command:\n{COMMANDS}")),
        other => Err(format!("no command `{other}`; there are\n{COMMANDS}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // With stderr gone too, the exit code still tells.
            let _deaf = writeln!(std::io::stderr(), "xtask: {fault}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's top.
fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A line for people, on stdout.
fn say(line: std::fmt::Arguments<'_>) -> Result<(), String> {
    writeln!(std::io::stdout(), "{line}").map_err(|fault| fault.to_string())
}

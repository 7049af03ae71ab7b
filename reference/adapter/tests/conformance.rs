//! The whole suite on this reference, judged by a `proofmark` that was built elsewhere.
//!
//! `cargo xtask mutants` breaks the reference in many ways and asks each time whether the cases notice. It builds the
//! judge once and names it here, so that a broken reference is built without the harness. In an ordinary `cargo test`
//! there is no judge and the test is shown as ignored: `conformance/cli` runs every case then.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};

/// The program that judges, and the folder with `fixtures/` and `features/`.
const JUDGE: &str = "PROOFMARK_JUDGE";
const SUITE: &str = "PROOFMARK_SUITE";

/// Longer than the longest wait of a case (the 2 s of a lock), so that only what hangs is late.
const TIMEOUT_MS: &str = "5000";

/// Starts the program with bounds on its memory (KiB) and on the time that it computes (s): a broken reference may well
/// want all that there is.
const BOUNDED: [&str; 3] = ["sh", "-c", "ulimit -v 2097152; ulimit -t 60; exec \"$0\""];

fn main() -> ExitCode {
    let named = std::env::var_os(JUDGE).zip(std::env::var_os(SUITE));
    let trial = Trial::test("the_suite_holds", {
        let named = named.clone();
        move || the_suite_holds(named)
    });
    let trials = vec![trial.with_ignored_flag(named.is_none())];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn the_suite_holds(named: Option<(OsString, OsString)>) -> Result<(), Failed> {
    let (judge, suite) = named.ok_or_else(|| {
        format!("set {JUDGE} to a built `proofmark` and {SUITE} to the repository's folder")
    })?;
    let run = Command::new(judge)
        .args(["run", "--timeout", TIMEOUT_MS, "--start-timeout", TIMEOUT_MS, "--suite"])
        .arg(suite)
        .arg("--")
        .args(BOUNDED)
        .arg(env!("CARGO_BIN_EXE_proofmark-reference"))
        .status()?;
    match run.code() {
        Some(0) => Ok(()),
        // Nothing was determined, and that kills nobody: whoever reads the survivors will see it.
        Some(2) => Ok(()),
        _ => Err(format!("the judge ended with {run}").into()),
    }
}

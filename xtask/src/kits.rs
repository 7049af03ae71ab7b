//! `cargo xtask kits`: builds, type-checks and tests the adapter kits in their own languages.

use std::path::Path;
use std::process::Command;

use crate::{say, top};

const TYPESCRIPT: &str = "conformance/kits/typescript";
const PYTHON: &str = "conformance/kits/python";

/// The checks of each kit: a folder, a program and its arguments.
const STEPS: [(&str, &str, &[&str]); 5] = [
    (TYPESCRIPT, "npm", &["ci", "--no-audit", "--no-fund"]),
    (TYPESCRIPT, "npm", &["run", "--silent", "build"]),
    (TYPESCRIPT, "npm", &["run", "--silent", "check"]),
    (TYPESCRIPT, "npm", &["test", "--silent"]),
    (PYTHON, "python3", &["-m", "unittest", "discover"]),
];

/// Skips a program that is not installed and names it; in CI that is an error.
pub(crate) fn kits() -> Result<(), String> {
    for (folder, program, args) in STEPS {
        if Command::new(program).arg("--version").output().is_err() {
            if std::env::var_os("CI").is_some() {
                return Err(format!("{program} is not installed, but CI needs it"));
            }
            say(format_args!("skipped: {program} is not installed, for {folder}"))?;
            continue;
        }
        say(format_args!("{folder}: {program} {}", args.join(" ")))?;
        in_folder(&top().join(folder), program, args)?;
    }
    Ok(())
}

fn in_folder(folder: &Path, program: &str, args: &[&str]) -> Result<(), String> {
    let mut command = Command::new(program);
    let status = command
        .args(args)
        .current_dir(folder)
        .status()
        .map_err(|fault| format!("{program} cannot be started: {fault}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}")) }
}

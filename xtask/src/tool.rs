//! Programs that a command needs and that cargo does not install.

use std::process::Command;

use crate::run;

/// Checks that a cargo subcommand is installed.
///
/// # Errors
/// Says how to install it, unless `install` is set and succeeds.
pub(crate) fn needed(package: &str, probe: &[&str], install: bool) -> Result<(), String> {
    let there =
        Command::new("cargo").args(probe).output().is_ok_and(|probed| probed.status.success());
    match (there, install) {
        (true, _) => Ok(()),
        (false, true) => run("cargo", ["install", package, "--locked"]),
        (false, false) => Err(format!(
            "{package} is not installed; run `cargo install {package} --locked`, or pass `--install`"
        )),
    }
}

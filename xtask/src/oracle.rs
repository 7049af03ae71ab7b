//! `cargo xtask oracle`: every golden that an independent program can compute, computed again.

use std::process::Command;

use crate::{say, top};

/// A program that is not installed is named and skipped; in a CI it must be there.
pub(crate) fn oracle() -> Result<(), String> {
    for (program, script) in
        [("python3", "xtask/oracle/check.py"), ("node", "xtask/oracle/check.mjs")]
    {
        if Command::new(program).arg("--version").output().is_err() {
            if std::env::var_os("CI").is_some() {
                return Err(format!("{program} must be there in a CI"));
            }
            say(format_args!("skipped: {program} is not installed"))?;
            continue;
        }
        let status = Command::new(program)
            .arg(script)
            .current_dir(top())
            .status()
            .map_err(|fault| format!("{program} cannot be started: {fault}"))?;
        if !status.success() {
            return Err(format!("{program} {script} disagrees with the goldens"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_oracles_agree_with_the_goldens() {
        super::oracle().unwrap();
    }
}

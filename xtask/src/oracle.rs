//! `cargo xtask oracle`: recomputes every golden that an independent program can compute.
//!
//! `xtask/oracle/structure.py` checks the files of every contract. `oracle.py` and `oracle.mjs` in a room recompute
//! its goldens, and print how many there were.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{rooms, run, say, top};

/// Each program with its arguments, and the extension of its scripts. Python writes no compiled modules.
const PROGRAMS: [(&str, &[&str], &str); 2] = [("python3", &["-B"], "py"), ("node", &[], "mjs")];

/// Skips a program that is not installed and names it; in CI that is an error.
pub(crate) fn oracle() -> Result<(), String> {
    for (program, args, ending) in PROGRAMS {
        if Command::new(program).arg("--version").output().is_err() {
            if std::env::var_os("CI").is_some() {
                return Err(format!("{program} is not installed, but CI needs it"));
            }
            say(format_args!("skipped: {program} is not installed"))?;
            continue;
        }
        for script in scripts(ending)? {
            let args = args.iter().map(Path::new).chain([script.as_path()]);
            run(program, args).map_err(|fault| format!("the oracle disagrees: {fault}"))?;
        }
    }
    Ok(())
}

/// The scripts with this extension.
///
/// # Errors
/// If no room has one, because goldens would silently go unchecked.
fn scripts(ending: &str) -> Result<Vec<PathBuf>, String> {
    let name = format!("oracle.{ending}");
    let of_rooms: Vec<PathBuf> =
        rooms().map(|room| room.join(&name)).filter(|script| script.exists()).collect();
    if of_rooms.is_empty() {
        return Err(format!("no room has `{name}`"));
    }
    let structure = top().join("xtask/oracle").join(format!("structure.{ending}"));
    Ok([structure].into_iter().filter(|script| script.exists()).chain(of_rooms).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_oracles_agree_with_the_goldens() {
        super::oracle().unwrap();
    }
}

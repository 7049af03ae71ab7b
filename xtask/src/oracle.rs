//! `cargo xtask oracle`: every golden that an independent program can compute, computed again.
//!
//! `xtask/oracle/structure.py` checks the files of every contract. A contract's goldens are recomputed by `oracle.py` and
//! `oracle.mjs` in its room; each prints how many they were.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{rooms, run, say, top};

/// Each program with the arguments that it needs, and the ending of its scripts. Python leaves no compiled modules behind.
const PROGRAMS: [(&str, &[&str], &str); 2] = [("python3", &["-B"], "py"), ("node", &[], "mjs")];

/// A program that is not installed is named and skipped; in a CI it must be there.
pub(crate) fn oracle() -> Result<(), String> {
    for (program, args, ending) in PROGRAMS {
        if Command::new(program).arg("--version").output().is_err() {
            if std::env::var_os("CI").is_some() {
                return Err(format!("{program} must be there in a CI"));
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

/// The scripts with this ending.
///
/// # Errors
/// When no room has one: then goldens would go unchecked in silence.
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

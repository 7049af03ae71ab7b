//! The checks of the fuzz targets, on stable Rust: with the inputs of this repository, and with all that once broke one.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use xtask::checks::{TARGETS, Target, findings};

fn main() -> ExitCode {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut trials = Vec::new();
    for target in TARGETS {
        let seeds = (target.seeds)(&top);
        let check = target.check;
        trials.push(Trial::test(format!("{}/seeds", target.name), move || {
            if seeds.is_empty() {
                return Err(Failed::from("no seed was found in the repository"));
            }
            seeds.iter().for_each(|seed| check(seed));
            Ok(())
        }));
        trials.extend(found(&target, &findings(&top)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A test for each input that was kept.
fn found(target: &Target, folder: &Path) -> Vec<Trial> {
    let Ok(entries) = fs::read_dir(folder.join(target.name)) else { return Vec::new() };
    let check = target.check;
    entries
        .flatten()
        .map(|entry| {
            let name = format!("{}/{}", target.name, entry.file_name().to_string_lossy());
            Trial::test(name, move || {
                check(&fs::read(entry.path())?);
                Ok(())
            })
        })
        .collect()
}

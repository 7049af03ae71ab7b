//! Runs the checks of the fuzz targets on stable Rust: with the files of this repository, and with every input that
//! once broke one.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use xtask::checks::{Target, targets};

fn main() -> ExitCode {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut trials = Vec::new();
    for target in targets() {
        let seeds = (target.fuzz.seeds)(&top);
        let check = target.fuzz.check;
        trials.push(Trial::test(format!("{}/seeds", target.fuzz.name), move || {
            if seeds.is_empty() {
                return Err(Failed::from("no seed was found in the repository"));
            }
            seeds.iter().for_each(|seed| check(seed));
            Ok(())
        }));
        trials.extend(found(&target, &top));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A test for each kept input.
fn found(target: &Target, top: &Path) -> Vec<Trial> {
    let Ok(entries) = fs::read_dir(target.findings(top)) else { return Vec::new() };
    let check = target.fuzz.check;
    entries
        .flatten()
        .map(|entry| {
            let name = format!("{}/{}", target.fuzz.name, entry.file_name().to_string_lossy());
            Trial::test(name, move || {
                check(&fs::read(entry.path())?);
                Ok(())
            })
        })
        .collect()
}

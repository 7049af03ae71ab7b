//! `cargo xtask fuzz`: invented inputs for every parser that reads what a stranger wrote, for a set time each.
//!
//! What must hold stands in `xtask::checks`; `tests/inputs.rs` runs the same on stable Rust, so an input that breaks
//! something is copied to `xtask/findings/<target>/` and stays a test for good.

use std::fs;
use std::path::Path;

use xtask::checks::{TARGETS, Target, findings};

use crate::options::Options;
use crate::{run, say, target, tool, top};

const USAGE: &str = "\
cargo xtask fuzz [--seconds N] [--install] [TARGET]…
  --seconds N   how long each target runs [default: 60]
  --install     install cargo-fuzz if it is not there";

/// Longer inputs find no more, and take longer.
const LONGEST: usize = 8192;

pub(crate) fn fuzz(args: &[String]) -> Result<(), String> {
    let mut options = Options::of(args, USAGE)?;
    let seconds = options.number("--seconds")?.unwrap_or(60);
    let install = options.flag("--install");
    let wanted = options.words();
    options.finish()?;
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(format!("no target `{unknown}`; there are {}", names.join(", ")));
    }
    tool::needed("cargo-fuzz", &["fuzz", "--version"], install)?;
    if run("rustc", ["+nightly", "--version"]).is_err() {
        return Err("libFuzzer needs nightly; run `rustup toolchain install nightly`".to_owned());
    }
    let mut broken = Vec::new();
    for target in TARGETS {
        if wanted.is_empty() || wanted.iter().any(|name| name == target.name) {
            say(format_args!("== {} for {seconds} s", target.name))?;
            if fuzz_one(&target, seconds).is_err() {
                broken.push(target.name);
            }
        }
    }
    if broken.is_empty() {
        return Ok(());
    }
    Err(format!(
        "something does not hold: {}\nthe input is named above; copy it to {}/<target>/ and repair what it breaks",
        broken.join(", "),
        findings(Path::new("")).display()
    ))
}

fn fuzz_one(target: &Target, seconds: u64) -> Result<(), String> {
    // What is found is kept between runs, beside the build.
    let folder = self::target()?.join("fuzz");
    let (corpus, seeds) =
        (folder.join("corpus").join(target.name), folder.join("seeds").join(target.name));
    let artifacts = folder.join("found").join(target.name);
    for path in [&corpus, &seeds, &artifacts] {
        fs::create_dir_all(path).map_err(|fault| format!("{}: {fault}", path.display()))?;
    }
    for (number, seed) in (target.seeds)(&top()).iter().enumerate() {
        let path = seeds.join(number.to_string());
        fs::write(&path, seed).map_err(|fault| format!("{}: {fault}", path.display()))?;
    }
    let kept = findings(&top()).join(target.name);
    let words = ["+nightly", "fuzz", "run", "--fuzz-dir", "xtask/fuzz", "--sanitizer", "none"];
    let mut args: Vec<String> = words.map(str::to_owned).to_vec();
    args.push("--target-dir".to_owned());
    args.push(folder.join("target").display().to_string());
    args.push(target.name.to_owned());
    for inputs in [&corpus, &seeds].into_iter().chain(kept.exists().then_some(&kept)) {
        args.push(inputs.display().to_string());
    }
    args.push("--".to_owned());
    args.push(format!("-max_total_time={seconds}"));
    args.push(format!("-max_len={LONGEST}"));
    args.push("-timeout=10".to_owned());
    args.push("-print_final_stats=1".to_owned());
    args.push(format!("-artifact_prefix={}/", artifacts.display()));
    run("cargo", args)
}

//! `cargo xtask fuzz`: fuzzes every parser of untrusted input, each for a set time.
//!
//! `xtask::checks` lists the targets. `tests/inputs.rs` runs the same checks on stable Rust: copy an input that
//! breaks something to the findings of its target, and it stays a regression test.

use std::fs;
use std::path::Path;
use std::process::Command;

use xtask::checks::{CHOICE, Target, targets};

use crate::options::Options;
use crate::{finish, run, say, target, tool, top};

const USAGE: &str = "\
cargo xtask fuzz [--seconds N] [--install] [TARGET]…
  --seconds N   how long each target runs [default: 60]
  --install     install cargo-fuzz if it is not there";

/// Longer inputs are slower and find nothing more.
const LONGEST: usize = 8192;

pub(crate) fn fuzz(args: &[String]) -> Result<(), String> {
    let mut options = Options::of(args, USAGE)?;
    let seconds = options.number("--seconds")?.unwrap_or(60);
    let install = options.flag("--install");
    let wanted = options.words();
    options.finish()?;
    let names: Vec<&str> = targets().map(|target| target.fuzz.name).collect();
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(format!("no target `{unknown}`; there are {}", names.join(", ")));
    }
    tool::needed("cargo-fuzz", &["fuzz", "--version"], install)?;
    if run("rustc", ["+nightly", "--version"]).is_err() {
        return Err("libFuzzer needs nightly; run `rustup toolchain install nightly`".to_owned());
    }
    let mut broken = Vec::new();
    for target in targets() {
        if wanted.is_empty() || wanted.iter().any(|name| name == target.fuzz.name) {
            say(format_args!("== {} for {seconds} s", target.fuzz.name))?;
            if fuzz_one(&target, seconds).is_err() {
                let kept = target.findings(Path::new(""));
                broken.push(format!("{}: copy the input to {}/", target.fuzz.name, kept.display()));
            }
        }
    }
    if broken.is_empty() {
        return Ok(());
    }
    Err(format!(
        "an invariant broke; the inputs are named above, fix what they break\n  {}",
        broken.join("\n  ")
    ))
}

fn fuzz_one(target: &Target, seconds: u64) -> Result<(), String> {
    let name = target.fuzz.name;
    // The corpus is kept between runs, beside the build.
    let folder = self::target()?.join("fuzz");
    let (corpus, seeds) = (folder.join("corpus").join(name), folder.join("seeds").join(name));
    let artifacts = folder.join("found").join(name);
    for path in [&corpus, &seeds, &artifacts] {
        fs::create_dir_all(path).map_err(|fault| format!("{}: {fault}", path.display()))?;
    }
    for (number, seed) in (target.fuzz.seeds)(&top()).iter().enumerate() {
        let path = seeds.join(number.to_string());
        fs::write(&path, seed).map_err(|fault| format!("{}: {fault}", path.display()))?;
    }
    let kept = target.findings(&top());
    let words = ["+nightly", "fuzz", "run", "--fuzz-dir", "xtask/fuzz", "--sanitizer", "none"];
    let mut args: Vec<String> = words.map(str::to_owned).to_vec();
    args.push("--target-dir".to_owned());
    args.push(folder.join("target").display().to_string());
    args.push("any".to_owned());
    for inputs in [&corpus, &seeds].into_iter().chain(kept.exists().then_some(&kept)) {
        args.push(inputs.display().to_string());
    }
    args.push("--".to_owned());
    args.push(format!("-max_total_time={seconds}"));
    args.push(format!("-max_len={LONGEST}"));
    args.push("-timeout=10".to_owned());
    args.push("-print_final_stats=1".to_owned());
    args.push(format!("-artifact_prefix={}/", artifacts.display()));
    finish(Command::new("cargo").args(args).env(CHOICE, name))
}

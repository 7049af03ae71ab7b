//! `cargo xtask bench`: speed as ratios, both sides measured in the same run, alternating.

mod chronicle;
mod harness;
mod json;
mod llm;
mod runs;

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(crate) use harness::echo;

use crate::say;

pub(crate) fn bench() -> Result<(), String> {
    if cfg!(debug_assertions) {
        return in_release();
    }
    harness::bench()?;
    chronicle::bench()?;
    json::bench()?;
    llm::bench()?;
    runs::bench()?;
    if MISSED.load(Ordering::Relaxed) { Err("a goal is missed".to_owned()) } else { Ok(()) }
}

static MISSED: AtomicBool = AtomicBool::new(false);

/// Nobody is helped by the speed of a debug build.
fn in_release() -> Result<(), String> {
    for args in [
        &["build", "--release", "--quiet", "--package", "proofmark"][..],
        &["run", "--release", "--quiet", "--package", "xtask", "--", "bench"],
    ] {
        let status = Command::new("cargo")
            .args(args)
            .current_dir(crate::top())
            .status()
            .map_err(|fault| fault.to_string())?;
        if !status.success() {
            return Err(format!("cargo {} failed", args.join(" ")));
        }
    }
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<(), String>) -> Result<Duration, String> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}

/// The median of ours against theirs over several rounds, each side taking turns.
fn ratio(
    rounds: usize,
    mut ours: impl FnMut() -> Result<Duration, String>,
    mut theirs: impl FnMut() -> Result<Duration, String>,
) -> Result<(Duration, Duration, f64), String> {
    let mut measured = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let (base, mine) = (theirs()?, ours()?);
        measured.push((mine, base, mine.as_secs_f64() / base.as_secs_f64()));
    }
    measured.sort_by(|a, b| a.2.total_cmp(&b.2));
    Ok(measured[rounds / 2])
}

fn tell(what: &str, figure: &str, goal: &str, met: bool) -> Result<(), String> {
    MISSED.fetch_or(!met, Ordering::Relaxed);
    say(format_args!("{} {what}: {figure} (goal: {goal})", if met { "met   " } else { "MISSED" }))
}

/// A typical event of an agent.
fn event(number: u64) -> serde_json::Value {
    serde_json::json!({
        "type": "FUNCTION_ADDED",
        "timestamp": "2024-01-01T12:00:00.000Z",
        "actor": { "agent": "sage", "id": format!("sage-{}", number % 7) },
        "planHash": "abc123def456",
        "tags": ["refactor", "typescript"],
        "number": number,
    })
}

//! Measures speed as ratios: both sides take turns in the same run. Used by `benches/speed.rs` of a room, which
//! `cargo xtask bench` runs, and by the harness's own bench.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

static MISSED: AtomicBool = AtomicBool::new(false);

/// The `main` of a bench: fails if `bench` fails or a goal is missed.
pub fn main(bench: impl FnOnce() -> Result<(), String>) -> ExitCode {
    // `cargo test --all-targets` also starts benches, without this flag.
    if !std::env::args().any(|word| word == "--bench") {
        return ExitCode::SUCCESS;
    }
    match bench().and_then(|()| goals_met()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // If stderr is closed, the exit code still reports it.
            let _closed = writeln!(std::io::stderr(), "{fault}");
            ExitCode::FAILURE
        }
    }
}

/// # Errors
/// If a goal was missed since the program started.
pub fn goals_met() -> Result<(), String> {
    if MISSED.load(Ordering::Relaxed) { Err("a goal is missed".to_owned()) } else { Ok(()) }
}

/// How long `work` takes.
///
/// # Errors
/// Those of `work`.
pub fn timed(work: impl FnOnce() -> Result<(), String>) -> Result<Duration, String> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}

/// The median ratio of ours to theirs over several rounds, with both sides taking turns.
///
/// # Errors
/// Those of either side.
pub fn ratio(
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

/// Prints a figure that has a goal.
///
/// # Errors
/// If stdout is closed.
pub fn tell(what: &str, figure: &str, goal: &str, met: bool) -> Result<(), String> {
    MISSED.fetch_or(!met, Ordering::Relaxed);
    let word = if met { "met   " } else { "MISSED" };
    print(&format!("{word} {what}: {figure} (goal: {goal})"))
}

/// Prints a figure that has no goal.
///
/// # Errors
/// If stdout is closed.
pub fn compare(what: &str, figure: &str) -> Result<(), String> {
    print(&format!("       {what}: {figure}"))
}

fn print(line: &str) -> Result<(), String> {
    writeln!(std::io::stdout(), "{line}").map_err(|fault| fault.to_string())
}

/// A typical event of an agent.
pub fn event(number: u64) -> Value {
    json!({
        "type": "FUNCTION_ADDED",
        "timestamp": "2024-01-01T12:00:00.000Z",
        "actor": { "agent": "code", "id": format!("code-{}", number % 7) },
        "planHash": "abc123def456",
        "tags": ["refactor", "typescript"],
        "number": number,
    })
}

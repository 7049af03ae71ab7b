//! Measures round trips through the harness against a bare JSON echo over a pipe, and cases per second.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use proofmark_judge::Suite;
use proofmark_room::bench::{ratio, tell, timed};
use proofmark_room::{Session, Subject};
use proofmark_suite::run::{Cancel, RunOptions, run};
use proofmark_suite::subject::SubjectCommand;
use proofmark_suite::{Extensions, SuiteFiles};
use serde_json::{Value, json};

const CALLS: usize = 20_000;
const CASES: usize = 40_000;

const OPERATION: &str = "speed.now";
const NOW: &str = "2024-01-01T00:00:00.000Z";

pub(super) fn bench() -> Result<(), String> {
    let window = RunOptions::default().window;
    let alone = suite(1, CALLS)?;
    let (mine, base, times) = ratio(5, || drive(&alone, 1, 1), || echoes(1))?;
    trips("one in flight", mine, base, times)?;

    let many = suite(window, CALLS / window)?;
    let (mine, base, times) = ratio(5, || drive(&many, 1, window), || echoes(window))?;
    trips(&format!("{window} in flight"), mine, base, times)?;

    let cases = suite(CASES, 1)?;
    let mut times = (0..5)
        .map(|_| drive(&cases, RunOptions::default().jobs, window))
        .collect::<Result<Vec<_>, _>>()?;
    times.sort();
    let speed = CASES as f64 / times[2].as_secs_f64();
    tell("cases of one call", &format!("{speed:.0} a second"), "at least 20000", speed >= 20_000.0)
}

fn trips(what: &str, mine: Duration, base: Duration, times: f64) -> Result<(), String> {
    let speed = |time: Duration| CALLS as f64 / time.as_secs_f64();
    let figure =
        format!("{:.2} of it, {:.0} a second against {:.0}", 1.0 / times, speed(mine), speed(base));
    tell(
        &format!("round trips against a bare echo, {what}"),
        &figure,
        "at least half",
        times <= 2.0,
    )
}

/// A suite for a made-up contract with one operation that does nothing.
fn suite(cases: usize, calls: usize) -> Result<Suite, String> {
    let ledger = r#"
        contract = "speed"
        title = "Speed"
        text = "speed.md"
        prefix = "SPEED"
        workspace = false
        operations = ["speed.now"]
        [[requirement]]
        id = "SPEED-001"
        level = "must"
        basis = "contract"
        sentence = "`speed.now` returns the time."
        source = "here"
    "#;
    let step = json!({ "call": OPERATION, "returns": NOW });
    let step = if calls == 1 {
        step
    } else {
        json!({ "$repeat": { "times": 10_000.min(calls), "item": step } })
    };
    let steps = vec![step; calls.div_ceil(10_000)];
    let case = |number: usize| json!({ "id": format!("speed/case-{number}"), "why": "Speed.", "shows": ["SPEED-001"], "origin": "contract", "steps": steps });
    let fixture = json!({ "contract": "speed", "topic": "speed", "cases": (0..cases).map(case).collect::<Vec<_>>() });
    let files = [
        ("fixtures/speed/requirements.toml".to_owned(), ledger.to_owned()),
        ("fixtures/speed/speed.json".to_owned(), fixture.to_string()),
    ];
    proofmark_suite::load(&SuiteFiles::from_pairs(files), &Extensions::default())
        .map_err(|problems| format!("{problems:?}"))
}

fn drive(suite: &Suite, jobs: usize, window: usize) -> Result<Duration, String> {
    let subject = SubjectCommand {
        program: std::env::current_exe().map_err(|fault| fault.to_string())?.into(),
        args: vec!["bench-subject".into()],
        shown: "xtask bench-subject".to_owned(),
        ..SubjectCommand::default()
    };
    let options = RunOptions { jobs, window, ..RunOptions::default() };
    timed(|| {
        let cases = suite.cases.iter().collect();
        let outcome = run(suite, cases, &subject, &options, &Cancel::default(), |_| {})
            .map_err(|fault| fault.to_string())?;
        if outcome.all_passed() { Ok(()) } else { Err("a case failed".to_owned()) }
    })
}

/// `xtask bench-subject`: the subject of the made-up contract, served like the reference.
pub(crate) fn subject() -> Result<(), String> {
    let subject = Subject::new("speed", "1", "rust", |open| Ok(Session::new(open)))
        .claims("speed")
        .on(OPERATION, async |_, _| Ok(json!(NOW)));
    proofmark_room::serve(subject).map_err(|fault| fault.to_string())
}

/// `xtask bench-echo`: the least that a JSON echo does: parse a line and write it back.
pub(crate) fn echo() -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    let mut input = BufReader::with_capacity(1 << 16, std::io::stdin().lock());
    let mut line = Vec::new();
    let mut answer = Vec::new();
    while input.read_until(b'\n', &mut line).map_err(|fault| fault.to_string())? > 0 {
        let value: Value = serde_json::from_slice(&line).map_err(|fault| fault.to_string())?;
        serde_json::to_writer(&mut answer, &value).map_err(|fault| fault.to_string())?;
        answer.push(b'\n');
        line.clear();
        // Answer all buffered lines in one write.
        if input.buffer().is_empty() {
            out.write_all(&answer).and_then(|()| out.flush()).map_err(|fault| fault.to_string())?;
            answer.clear();
        }
    }
    Ok(())
}

fn echoes(window: usize) -> Result<Duration, String> {
    let me = std::env::current_exe().map_err(|fault| fault.to_string())?;
    let mut child = Command::new(me)
        .arg("bench-echo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|fault| fault.to_string())?;
    let pipes = (child.stdin.take(), child.stdout.take());
    let (Some(stdin), Some(stdout)) = pipes else { return Err("the echo has no pipes".to_owned()) };
    let time = timed(|| exchange(stdin, stdout, window).map_err(|fault| fault.to_string()));
    child.wait().map_err(|fault| fault.to_string())?;
    time
}

/// Keeps `window` messages in flight until all have come back.
fn exchange(stdin: ChildStdin, stdout: ChildStdout, window: usize) -> std::io::Result<()> {
    let mut stdin = BufWriter::with_capacity(1 << 16, stdin);
    let mut stdout = BufReader::with_capacity(1 << 16, stdout);
    let message = |id: usize| json!({ "jsonrpc": "2.0", "id": id, "method": "call", "params": { "session": "s1", "operation": OPERATION, "args": {} } });
    let mut sent = 0;
    let mut line = Vec::new();
    for received in 0..CALLS {
        while sent < CALLS && sent < received + window {
            serde_json::to_writer(&mut stdin, &message(sent))?;
            stdin.write_all(b"\n")?;
            sent += 1;
        }
        if stdout.buffer().is_empty() {
            stdin.flush()?;
        }
        line.clear();
        stdout.read_until(b'\n', &mut line)?;
        let _answer: Value = serde_json::from_slice(&line)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_made_up_contract_makes_a_sound_suite() {
        let suite = super::suite(2, 3).unwrap();
        assert_eq!(suite.cases.len(), 2);
    }
}

//! Appends compared with a bare lock and write of the same bytes, and the speed of reading.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use proofmark_room::bench::{compare, event, ratio, tell, timed};
use sage_chronicle::{Chronicle, EventLog as _, Options};
use tempfile::TempDir;

fn main() -> ExitCode {
    proofmark_room::bench::main(bench)
}

fn bench() -> Result<(), String> {
    append("durable", true, 200)?;
    append("not durable", false, 5000)?;
    read()
}

fn message(fault: impl std::fmt::Display) -> String {
    fault.to_string()
}

fn append(mode: &str, durable: bool, count: u64) -> Result<(), String> {
    let folder = TempDir::new().map_err(message)?;
    let options = Options { durable, ..Options::default() };
    let chronicle = Chronicle::open(folder.path(), options).map_err(message)?;
    let events: Vec<_> = (0..count).map(event).collect();
    // The same bytes: lines as the chronicle writes them.
    for value in &events {
        chronicle.append_event("lines.sage", value, None).map_err(message)?;
    }
    let text = std::fs::read_to_string(folder.path().join("lines.sage")).map_err(message)?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();

    let ours = || {
        timed(|| {
            events.iter().try_for_each(|value| {
                chronicle.append_event("ours.sage", value, None).map_err(message)
            })
        })
    };
    let opening = || {
        timed(|| {
            lines.iter().try_for_each(|line| bare(&folder.path().join("bare.sage"), line, durable))
        })
    };
    let (mine, base, times) = ratio(9, ours, opening)?;
    let each = |time: Duration| time.as_secs_f64() * 1e6 / count as f64;
    let what = format!("append, {mode}, against open, lock, write{} and close", sync(durable));
    let figure = format!("{times:.2} times, {:.1} µs against {:.1} µs", each(mine), each(base));
    tell(&what, &figure, "at most 1.5 times", times <= 1.5)?;

    // Every append opens its file by path, so this is only for comparison.
    let mut file = open(&folder.path().join("kept.sage"))?;
    let kept = || timed(|| lines.iter().try_for_each(|line| write(&mut file, line, durable)));
    let (_, base, times) = ratio(9, ours, kept)?;
    let what = format!("append, {mode}, against a file that is kept open");
    compare(&what, &format!("{times:.2} times, {:.1} µs", each(base)))
}

fn sync(durable: bool) -> &'static str {
    if durable { ", fdatasync" } else { "" }
}

fn open(path: &Path) -> Result<File, String> {
    OpenOptions::new().append(true).create(true).open(path).map_err(message)
}

fn bare(path: &Path, line: &str, durable: bool) -> Result<(), String> {
    write(&mut open(path)?, line, durable)
}

fn write(file: &mut File, line: &str, durable: bool) -> Result<(), String> {
    file.lock().map_err(message)?;
    file.write_all(line.as_bytes()).map_err(message)?;
    if durable {
        file.sync_data().map_err(message)?;
    }
    file.unlock().map_err(message)
}

fn read() -> Result<(), String> {
    const EVENTS: u64 = 1_000_000;
    let folder = TempDir::new().map_err(message)?;
    let chronicle = Chronicle::open(folder.path(), Options::default()).map_err(message)?;
    let path = folder.path().join("large.sage");
    let mut file = std::io::BufWriter::new(open(&path)?);
    for number in 0..EVENTS {
        let mut value = event(number);
        value["eventId"] = sage_chronicle::event_id(&value).into();
        writeln!(file, "{value}").map_err(message)?;
    }
    file.flush().map_err(message)?;
    let size = std::fs::metadata(&path).map_err(message)?.len();
    let mut speeds = Vec::new();
    for _ in 0..5 {
        let time = timed(|| {
            let events = chronicle.read("large.sage").map_err(message)?;
            if events.len() as u64 == EVENTS {
                Ok(())
            } else {
                Err(format!("{} events were read", events.len()))
            }
        })?;
        speeds.push(size as f64 / 1e6 / time.as_secs_f64());
    }
    speeds.sort_by(f64::total_cmp);
    let speed = speeds[2];
    let tail = timed(|| chronicle.tail("large.sage", Some(10)).map(|_| ()).map_err(message))?;
    tell(
        "reading a million events",
        &format!("{speed:.0} MB/s, {} MB; the last ten in {tail:?}", size / 1_000_000),
        "at least 200 MB/s",
        speed >= 200.0,
    )
}

//! Saboteurs of concurrent appends, in one process and in several.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::log_files::{APPENDS, add, beside, bytes, file, line, path};
use proofmark_room::bend::{Calls, Memory, Next, Reply, Turn, around, own_fault, until};
use proofmark_room::{Adversary, Subject};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "drops-what-does-not-fit",
        "of more than eight appends at once, the rest is acknowledged and dropped",
        &["CHRONICLE-031", "CHRONICLE-032"],
        drops_what_does_not_fit,
    ),
    Adversary::saboteur(
        "writes-in-pieces",
        "of more than eight appends at once, one is written in two pieces",
        &["CHRONICLE-031", "CHRONICLE-032"],
        writes_in_pieces,
    ),
    Adversary::saboteur(
        "loses-among-processes",
        "an append is lost when two processes write many at once",
        &["CHRONICLE-032"],
        loses_among_processes,
    ),
    Adversary::saboteur(
        "writes-pages-among-processes",
        "an event beyond a page is written in two pieces when another process writes too",
        &["CHRONICLE-032"],
        writes_pages_among_processes,
    ),
    Adversary::saboteur(
        "mixes-up-files",
        "appends to several files at once all go to the first",
        &["CHRONICLE-010", "CHRONICLE-033"],
        mixes_up_files,
    ),
];

/// How many appends fit.
const ROOM: usize = 8;

fn drops_what_does_not_fit(subject: Subject) -> Subject {
    static UNDER_WAY: Memory<Calls> = Memory::new();
    around(subject, APPENDS, async |call, args, inner: Next| {
        let place = Turn::take(&UNDER_WAY, &call, path(&args));
        if place.number > ROOM {
            place.total().await;
            return Ok(Value::Null);
        }
        inner.call(call, args).await
    })
}

/// Writes half of the line, lets others write, then writes the rest.
async fn in_two(file: &Path, line: &str) -> Reply {
    let (first, second) = line.as_bytes().split_at(line.len() / 2);
    add(file, first)?;
    let length = bytes(file).len();
    until(|| bytes(file).len() > length).await;
    add(file, second)?;
    Ok(Value::Null)
}

fn writes_in_pieces(subject: Subject) -> Subject {
    static UNDER_WAY: Memory<Calls> = Memory::new();
    around(subject, APPENDS, async |call, args, inner: Next| {
        let place = Turn::take(&UNDER_WAY, &call, path(&args));
        if place.number == ROOM + 1 {
            return in_two(&file(&call, &args), &line(&args)).await;
        }
        inner.call(call, args).await
    })
}

/// Whether another process also writes to the file and has marked it.
async fn has_company(file: &Path) -> Result<bool, proofmark_protocol::Failure> {
    let mine = beside(file, &format!(".writer-{}", std::process::id()));
    fs::write(&mine, "").map_err(own_fault)?;
    let others = || {
        let name = beside(file, ".writer-");
        let entries = file.parent().map(fs::read_dir).into_iter().flatten().flatten().flatten();
        entries.map(|entry| entry.path()).any(|other| {
            other != mine && other.to_string_lossy().starts_with(&*name.to_string_lossy())
        })
    };
    Ok(until(others).await)
}

fn loses_among_processes(subject: Subject) -> Subject {
    static UNDER_WAY: Memory<Calls> = Memory::new();
    around(subject, APPENDS, async |call, args, inner: Next| {
        let place = Turn::take(&UNDER_WAY, &call, path(&args));
        let first_of_many = place.number == 1 && place.total().await > 4;
        if first_of_many && has_company(&file(&call, &args)).await? {
            return Ok(Value::Null);
        }
        inner.call(call, args).await
    })
}

fn writes_pages_among_processes(subject: Subject) -> Subject {
    static WROTE: Memory<()> = Memory::new();
    around(subject, APPENDS, async |call, args, inner: Next| {
        let (file, line) = (file(&call, &args), line(&args));
        let first_page =
            line.len() > 4096 && WROTE.of(&call, path(&args), |wrote| wrote.replace(()).is_none());
        if first_page && has_company(&file).await? {
            return in_two(&file, &line).await;
        }
        inner.call(call, args).await
    })
}

fn mixes_up_files(subject: Subject) -> Subject {
    static UNDER_WAY: Memory<Calls> = Memory::new();
    static FIRST: Memory<Value> = Memory::new();
    around(subject, APPENDS, async |call, mut args, inner: Next| {
        let place = Turn::take(&UNDER_WAY, &call, "");
        FIRST.of(&call, "", |first| match first {
            Some(first) if place.number > 1 => args["path"] = first.clone(),
            _ => *first = Some(args["path"].clone()),
        });
        if place.number == 1 {
            place.total().await;
        }
        inner.call(call, args).await
    })
}

//! Saboteurs of concurrent appends, in one process and in several.

use std::fs;
use std::path::{Path, PathBuf};

use proofmark_protocol::Failure;
use serde_json::Value;

use super::log_files::{APPENDS, add, beside, bytes, file, is_held, line, path, watch_locks};
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
        |subject| writes_pages_among_processes(subject, 4096),
    ),
    Adversary::saboteur(
        "writes-megabytes-among-processes",
        "an event beyond a megabyte is written in two pieces when another process writes too",
        &["CHRONICLE-032"],
        |subject| writes_pages_among_processes(subject, 1024 * 1024),
    ),
    Adversary::saboteur(
        "writes-large-events-in-pieces",
        "an event beyond 64 KiB is written in two pieces when others are written at once",
        &["CHRONICLE-031", "CHRONICLE-032"],
        writes_large_events_in_pieces,
    ),
    Adversary::saboteur(
        "mixes-up-files",
        "appends to several files at once all go to the first",
        &["CHRONICLE-010", "CHRONICLE-033"],
        mixes_up_files,
    ),
    Adversary::saboteur(
        "loses-one-in-thirty-rounds-of-files",
        "in about one of 30 rounds of appends to several files at once, an append is acknowledged and lost",
        &["CHRONICLE-033"],
        loses_in_rounds_of_files,
    ),
    Adversary::saboteur(
        "loses-one-in-thirty-rounds",
        "in about one of 30 rounds of appends at once, an append is acknowledged and lost",
        &["CHRONICLE-031", "CHRONICLE-032"],
        |subject| loses_in_some_rounds(subject, false),
    ),
    Adversary::saboteur(
        "loses-one-in-thirty-rounds-of-processes",
        "in about one of 30 rounds of appends by several processes, an append is acknowledged and lost",
        &["CHRONICLE-032"],
        |subject| loses_in_some_rounds(subject, true),
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

/// Marks this process as a writer of the file.
fn mark_writer(file: &Path) -> Result<PathBuf, Failure> {
    let mine = beside(file, &format!(".writer-{}", std::process::id()));
    fs::write(&mine, "").map_err(own_fault)?;
    Ok(mine)
}

/// Whether another process has marked itself as a writer of the file.
fn has_met_company(file: &Path) -> Result<bool, Failure> {
    let (mine, name) = (mark_writer(file)?, beside(file, ".writer-"));
    let entries = file.parent().map(fs::read_dir).into_iter().flatten().flatten().flatten();
    Ok(entries.map(|entry| entry.path()).any(|other| {
        other != mine && other.to_string_lossy().starts_with(&*name.to_string_lossy())
    }))
}

/// Whether another process also writes to the file. Waits a while for it.
async fn has_company(file: &Path) -> Result<bool, Failure> {
    mark_writer(file)?;
    Ok(until(|| has_met_company(file).unwrap_or_default()).await)
}

fn loses_among_processes(subject: Subject) -> Subject {
    static UNDER_WAY: Memory<Calls> = Memory::new();
    static ALONE: Memory<()> = Memory::new();
    around(subject, APPENDS, async |call, args, inner: Next| {
        let (place, file) = (Turn::take(&UNDER_WAY, &call, path(&args)), file(&call, &args));
        if place.number == 1 && place.total().await > 4 {
            // Once it has waited in vain, it does not wait again: some cases have many rounds in one process.
            let waits = ALONE.of(&call, path(&args), |alone| alone.is_none());
            let company = if waits { has_company(&file).await? } else { has_met_company(&file)? };
            if company {
                return Ok(Value::Null);
            }
            ALONE.of(&call, path(&args), |alone| *alone = Some(()));
        }
        inner.call(call, args).await
    })
}

fn writes_large_events_in_pieces(subject: Subject) -> Subject {
    static UNDER_WAY: Memory<Calls> = Memory::new();
    around(watch_locks(subject), APPENDS, async |call, args, inner: Next| {
        let (place, line) = (Turn::take(&UNDER_WAY, &call, path(&args)), line(&args));
        let file = file(&call, &args);
        if line.len() <= 64 * 1024 || place.number > 1 || is_held(&file) {
            return inner.call(call, args).await;
        }
        let (first, second) = line.as_bytes().split_at(line.len() / 2);
        add(&file, first)?;
        let length = bytes(&file).len();
        if place.total().await > 1 {
            until(|| bytes(&file).len() > length).await;
        }
        add(&file, second)?;
        Ok(Value::Null)
    })
}

fn writes_pages_among_processes(subject: Subject, page: usize) -> Subject {
    static WROTE: Memory<()> = Memory::new();
    around(subject, APPENDS, move |call, args, inner: Next| async move {
        let (file, line) = (file(&call, &args), line(&args));
        let first_page =
            line.len() > page && WROTE.of(&call, path(&args), |wrote| wrote.replace(()).is_none());
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

/// The rounds of appends at once to one file.
#[derive(Clone, Copy, Default)]
struct Rounds {
    under_way: usize,
    begun: u64,
    /// An append of this round, or of the next with company, is to be lost.
    due: bool,
}

/// Which rounds lose an append: about one of 30, the same ones in every run, and none of the first few.
fn is_lossy(round: u64) -> bool {
    const SEED: u64 = 2;
    let mixed = (round ^ (SEED << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 32)).is_multiple_of(30)
}

fn loses_in_some_rounds(subject: Subject, only_in_company: bool) -> Subject {
    static ROUNDS: Memory<Rounds> = Memory::new();
    around(subject, APPENDS, move |call, args, inner: Next| async move {
        let lost = ROUNDS.of(&call, path(&args), |rounds| {
            let rounds = rounds.get_or_insert_default();
            if rounds.under_way == 0 {
                rounds.begun += 1;
                rounds.due |= is_lossy(rounds.begun);
            }
            rounds.under_way += 1;
            rounds.due && rounds.under_way > 1
        });
        let answer = if lost && (!only_in_company || has_met_company(&file(&call, &args))?) {
            ROUNDS.of(&call, path(&args), |rounds| rounds.get_or_insert_default().due = false);
            Ok(Value::Null)
        } else {
            if only_in_company && file(&call, &args).is_file() {
                mark_writer(&file(&call, &args))?;
            }
            inner.call(call.clone(), args.clone()).await
        };
        ROUNDS.of(&call, path(&args), |rounds| rounds.get_or_insert_default().under_way -= 1);
        answer
    })
}

fn loses_in_rounds_of_files(subject: Subject) -> Subject {
    /// The files that are written to, and the rounds so far.
    static ROUNDS: Memory<(Vec<String>, Rounds)> = Memory::new();
    around(subject, APPENDS, async |call, args, inner: Next| {
        let mine = path(&args).to_owned();
        let lost = ROUNDS.of(&call, "", |rounds| {
            let (files, rounds) = rounds.get_or_insert_default();
            if files.is_empty() {
                rounds.begun += 1;
                rounds.due |= is_lossy(rounds.begun);
            }
            let lost = rounds.due && files.iter().any(|other| *other != mine);
            rounds.due &= !lost;
            files.push(mine.clone());
            lost
        });
        let answer =
            if lost { Ok(Value::Null) } else { inner.call(call.clone(), args.clone()).await };
        ROUNDS.of(&call, "", |rounds| {
            let (files, _) = rounds.get_or_insert_default();
            if let Some(at) = files.iter().position(|file| *file == mine) {
                files.swap_remove(at);
            }
        });
        answer
    })
}

//! Saboteurs that return stale, reordered or remembered events, or write while they read.

use std::fs::{self, File};

use serde_json::Value;

use super::log_files::{
    APPENDS, READS, bytes, events, file, is_held, lock_timeout, path, put, watch_locks,
};
use proofmark_room::bend::{Memory, Next, around, own_fault};
use proofmark_room::{Adversary, Among, Subject};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "sorts-by-timestamp",
        "readChronicle gives events in the order of their timestamps",
        &["CHRONICLE-005"],
        sorts_by_timestamp,
    ),
    Adversary::saboteur(
        "remembers-what-it-read",
        "what was read once is not read again until this process appends",
        &["CHRONICLE-009"],
        remembers_what_it_read,
    ),
    Adversary::saboteur(
        "remembers-what-it-wrote",
        "tailChronicle gives the events that this process appended",
        &["CHRONICLE-009"],
        remembers_what_it_wrote,
    ),
    Adversary::saboteur(
        "reading-creates",
        "reading makes the file",
        &["CHRONICLE-021"],
        reading_creates,
    ),
    Adversary::saboteur(
        "reading-cuts",
        "reading cuts a torn line off",
        &["CHRONICLE-023"],
        reading_cuts,
    ),
    Adversary::saboteur(
        "reading-ends-the-line",
        "reading ends a torn line with a newline",
        &["CHRONICLE-023"],
        reading_ends_the_line,
    ),
    Adversary::saboteur(
        "tail-from-the-head",
        "tailChronicle gives the first n events",
        &["CHRONICLE-020", "CHRONICLE-024", "CHRONICLE-026"],
        tail_from_the_head,
    )
    .repeated(Among::ItsContracts),
    Adversary::saboteur(
        "tail-of-one-page",
        "tailChronicle looks at the last 4096 bytes only",
        &["CHRONICLE-024", "CHRONICLE-025"],
        tail_of_one_page,
    ),
    Adversary::saboteur(
        "reads-a-thousand",
        "readChronicle gives the first 1000 events at most",
        &["CHRONICLE-001", "CHRONICLE-022"],
        reads_a_thousand,
    ),
    Adversary::saboteur(
        "reading-needs-the-lock",
        "reading is refused while the lock is held",
        &["CHRONICLE-042"],
        reading_needs_the_lock,
    ),
];

fn sorts_by_timestamp(subject: Subject) -> Subject {
    around(subject, &["chronicle.readChronicle"], async |call, args, inner: Next| {
        let mut answer = inner.call(call, args).await?;
        if let Value::Array(events) = &mut answer {
            events.sort_by_key(|event| event["timestamp"].as_str().map(str::to_owned));
        }
        Ok(answer)
    })
}

fn remembers_what_it_read(subject: Subject) -> Subject {
    static READ: Memory<Value> = Memory::new();
    let subject = around(subject, &["chronicle.readChronicle"], async |call, args, inner: Next| {
        if let Some(read) = READ.of(&call, path(&args), |read| read.clone()) {
            return Ok(read);
        }
        let answer = inner.call(call.clone(), args.clone()).await?;
        READ.of(&call, path(&args), |read| *read = Some(answer.clone()));
        Ok(answer)
    });
    around(subject, APPENDS, async |call, args, inner: Next| {
        let answer = inner.call(call.clone(), args.clone()).await;
        READ.of(&call, path(&args), Option::take);
        answer
    })
}

fn remembers_what_it_wrote(subject: Subject) -> Subject {
    static WROTE: Memory<usize> = Memory::new();
    let subject = around(subject, APPENDS, async |call, args, inner: Next| {
        let answer = inner.call(call.clone(), args.clone()).await;
        if answer.is_ok() {
            let length = bytes(&file(&call, &args)).len();
            WROTE.of(&call, path(&args), |wrote| *wrote = Some(length));
        }
        answer
    });
    around(subject, &["chronicle.tailChronicle"], async |call, args, inner: Next| {
        let Some(length) = WROTE.of(&call, path(&args), |wrote| *wrote) else {
            return inner.call(call, args).await;
        };
        // The file as this process left it.
        let file = file(&call, &args);
        let now = bytes(&file);
        if now.len() == length {
            return inner.call(call, args).await;
        }
        let known = String::from_utf8_lossy(&now[..length.min(now.len())]).into_owned();
        let mut events: Vec<Value> =
            known.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let wanted = args["n"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(10);
        Ok(events.split_off(events.len().saturating_sub(wanted)).into())
    })
}

fn reading_creates(subject: Subject) -> Subject {
    around(subject, READS, async |call, args, inner: Next| {
        let file = file(&call, &args);
        let answer = inner.call(call, args).await;
        if answer.is_ok() && !file.exists() {
            file.parent().map_or(Ok(()), fs::create_dir_all).map_err(own_fault)?;
            File::create(file).map_err(own_fault)?;
        }
        answer
    })
}

fn reading_cuts(subject: Subject) -> Subject {
    around(subject, READS, async |call, args, inner: Next| {
        let file = file(&call, &args);
        let answer = inner.call(call, args).await;
        let old = bytes(&file);
        let whole = old.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if answer.is_ok() && whole < old.len() {
            put(&file, &old[..whole])?;
        }
        answer
    })
}

fn reading_ends_the_line(subject: Subject) -> Subject {
    around(subject, READS, async |call, args, inner: Next| {
        let file = file(&call, &args);
        let answer = inner.call(call, args).await;
        let mut old = bytes(&file);
        if answer.is_ok() && old.last().is_some_and(|byte| *byte != b'\n') {
            old.push(b'\n');
            put(&file, &old)?;
        }
        answer
    })
}

fn tail_from_the_head(subject: Subject) -> Subject {
    around(subject, &["chronicle.tailChronicle"], async |call, mut args, inner: Next| {
        let wanted = args["n"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(10);
        // Wrong arguments are refused as usual.
        if args["n"].as_u64().is_some() {
            args["n"] = Value::from(u32::MAX);
        }
        let mut events = inner.call(call, args).await?;
        if let Value::Array(events) = &mut events {
            events.truncate(wanted);
        }
        Ok(events)
    })
}

fn tail_of_one_page(subject: Subject) -> Subject {
    around(subject, &["chronicle.tailChronicle"], async |call, args, inner: Next| {
        let file = file(&call, &args);
        let answer = inner.call(call, args).await?;
        let (all, mut size) = (events(&file), 0);
        let fits = all.iter().rev().take_while(|event| {
            size += event.to_string().len() + 1;
            size <= 4096
        });
        let most = fits.count();
        Ok(match answer {
            Value::Array(mut events) => events.split_off(events.len().saturating_sub(most)).into(),
            other => other,
        })
    })
}

fn reads_a_thousand(subject: Subject) -> Subject {
    around(subject, &["chronicle.readChronicle"], async |call, args, inner: Next| {
        let mut answer = inner.call(call, args).await?;
        if let Value::Array(events) = &mut answer {
            events.truncate(1000);
        }
        Ok(answer)
    })
}

fn reading_needs_the_lock(subject: Subject) -> Subject {
    around(watch_locks(subject), READS, async |call, args, inner: Next| {
        if is_held(&file(&call, &args)) {
            return Err(lock_timeout(&args));
        }
        inner.call(call, args).await
    })
}

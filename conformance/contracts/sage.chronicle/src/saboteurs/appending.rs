//! Appends that damage the file or earlier events.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::identity::is_right;
use super::log_files::{
    APPENDS, READS, add, beside, bytes, events, file, line, path, put, refusal,
};
use proofmark_protocol::Failure;
use proofmark_room::arguments::contract_error;
use proofmark_room::bend::{Call, Calls, Memory, Next, Turn, around, own_fault, root};
use proofmark_room::{Adversary, Subject};
use sage_chronicle::{Chronicle, Options};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "rewrites-old-lines",
        "an append writes the lines before it anew, in its own spelling",
        &["CHRONICLE-006"],
        rewrites_old_lines,
    ),
    Adversary::saboteur(
        "rolls-back-the-dead",
        "what a process wrote is undone when it is killed",
        &["CHRONICLE-008"],
        rolls_back_the_dead,
    ),
    Adversary::saboteur(
        "writes-behind",
        "an append is acknowledged and written with the next call",
        // Visible from another process.
        &["CHRONICLE-008", "CHRONICLE-009", "CHRONICLE-032"],
        writes_behind,
    ),
    Adversary::saboteur(
        "glues-to-a-partial-line",
        "an append goes on where a torn line ended",
        &["CHRONICLE-019"],
        glues_to_a_partial_line,
    ),
    Adversary::saboteur(
        "cuts-all-off-with-a-long-partial-line",
        "an append after a torn line of more than 4 KiB begins the file anew",
        &["CHRONICLE-006", "CHRONICLE-019"],
        cuts_all_off_with_a_long_partial_line,
    ),
    Adversary::saboteur(
        "takes-long-events-for-repeats",
        "an event is dropped if its first 4096 bytes are those of the event before",
        &["CHRONICLE-001"],
        takes_long_events_for_repeats,
    ),
    Adversary::saboteur(
        "remembers-the-last-event",
        "an event is dropped if it equals the one that this process appended last, whatever the file holds",
        &["CHRONICLE-001"],
        remembers_the_last_event,
    ),
    Adversary::saboteur(
        "cuts-back-to-the-equal",
        "a repeat cuts off what was appended since its equal",
        &["CHRONICLE-017"],
        cuts_back_to_the_equal,
    ),
    Adversary::saboteur(
        "drops-what-another-file-has",
        "an event that stands in another chronicle is dropped",
        &["CHRONICLE-010"],
        drops_what_another_file_has,
    ),
    Adversary::saboteur(
        "marks-repeats",
        "a repeat is kept, with a mark",
        &["CHRONICLE-016"],
        marks_repeats,
    ),
    Adversary::saboteur(
        "optional-fields-stick",
        "optional fields that an event lacks are those of the event before",
        &["CHRONICLE-003"],
        optional_fields_stick,
    ),
    Adversary::saboteur(
        "drops-null-members",
        "members that are null are lost",
        &["CHRONICLE-002"],
        drops_null_members,
    ),
    Adversary::saboteur(
        "splits-long-lines",
        "an event beyond a page is written on two lines, and read as one",
        &["CHRONICLE-007", "CHRONICLE-024"],
        splits_long_lines,
    ),
    Adversary::saboteur(
        "demands-more-of-known-types",
        "an event of a well-known type that has the base fields only is refused",
        &["CHRONICLE-066"],
        demands_more_of_known_types,
    ),
];

fn rewrites_old_lines(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| {
        let file = file(&call, &args);
        let old = bytes(&file);
        let respelt = |line: &[u8]| match serde_json::from_slice::<Map<String, Value>>(line) {
            Ok(event) => Value::Object(event).to_string().into_bytes(),
            Err(_) => line.to_vec(),
        };
        let new: Vec<Vec<u8>> = old.split(|byte| *byte == b'\n').map(respelt).collect();
        let new = new.join(&b'\n');
        if new != old {
            put(&file, &new)?;
        }
        inner.call(call, args).await
    })
}

/// A journal for each writing process records the length of the file. Its lock shows that the process is alive.
fn rolls_back_the_dead(subject: Subject) -> Subject {
    static JOURNALS: Memory<File> = Memory::new();
    fn roll_back(file: &Path) -> Option<()> {
        let name = format!("{}.journal-", file.file_name()?.to_str()?);
        for entry in fs::read_dir(file.parent()?).ok()?.flatten() {
            if entry.file_name().to_str().is_some_and(|other| other.starts_with(&name)) {
                let mut journal = File::open(entry.path()).ok()?;
                if journal.try_lock().is_ok() {
                    let mut length = String::new();
                    journal.read_to_string(&mut length).ok()?;
                    File::options()
                        .write(true)
                        .open(file)
                        .ok()?
                        .set_len(length.parse().ok()?)
                        .ok()?;
                    fs::remove_file(entry.path()).ok()?;
                }
            }
        }
        Some(())
    }
    let subject = around(subject, READS, async |call, args, inner: Next| {
        roll_back(&file(&call, &args));
        inner.call(call, args).await
    });
    around(subject, APPENDS, async |call, args, inner: Next| {
        let file = file(&call, &args);
        roll_back(&file);
        let length = bytes(&file).len();
        let answer = inner.call(call.clone(), args.clone()).await;
        if answer.is_ok() {
            JOURNALS
                .of(&call, path(&args), |journal| {
                    if journal.is_none() {
                        // It gets its name only once it is locked, so that nobody finds it unlocked.
                        let (nameless, name) = (
                            beside(&file, &format!(".new-{}", std::process::id())),
                            beside(&file, &format!(".journal-{}", std::process::id())),
                        );
                        fs::write(&nameless, length.to_string())?;
                        let opened = File::open(&nameless)?;
                        opened.lock()?;
                        fs::rename(&nameless, &name)?;
                        *journal = Some(opened);
                    }
                    Ok(())
                })
                .map_err(own_fault)?;
        }
        answer
    })
}

/// Removes the written bytes at once, and restores them at the session's next call.
fn writes_behind(subject: Subject) -> Subject {
    static BEHIND: Memory<(PathBuf, Vec<u8>)> = Memory::new();
    static UNDER_WAY: Memory<Calls> = Memory::new();
    fn catch_up(call: &Call) -> Result<(), proofmark_protocol::Failure> {
        match BEHIND.of(call, "", Option::take) {
            Some((file, bytes)) => add(&file, &bytes),
            None => Ok(()),
        }
    }
    let subject = around(subject, READS, async |call, args, inner: Next| {
        catch_up(&call)?;
        inner.call(call, args).await
    });
    around(subject, APPENDS, async |call, args, inner: Next| {
        let place = Turn::take(&UNDER_WAY, &call, "");
        let alone = place.total().await == 1;
        catch_up(&call)?;
        let file = file(&call, &args);
        let old = bytes(&file);
        let answer = inner.call(call.clone(), args).await;
        if answer.is_ok() && alone {
            let new = bytes(&file).split_off(old.len());
            put(&file, &old)?;
            BEHIND.of(&call, "", |behind| *behind = Some((file, new)));
        }
        answer
    })
}

fn glues_to_a_partial_line(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| {
        let file = file(&call, &args);
        let old = bytes(&file);
        let answer = inner.call(call, args).await;
        if answer.is_ok() && old.last().is_some_and(|byte| *byte != b'\n') {
            let mut new = bytes(&file);
            // The newline with which the reference ends the torn line.
            new.remove(old.len());
            put(&file, &new)?;
        }
        answer
    })
}

fn cuts_all_off_with_a_long_partial_line(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| {
        let file = file(&call, &args);
        let torn = bytes(&file).rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len);
        if is_right(&args) && torn > 4096 {
            put(&file, b"")?;
        }
        inner.call(call, args).await
    })
}

fn takes_long_events_for_repeats(subject: Subject) -> Subject {
    const SEEN: usize = 4096;
    around(subject, APPENDS, async |call, args, inner: Next| {
        let last = events(&file(&call, &args)).pop();
        let beginning = |event: &Value| {
            let mut event = nameless(event).to_string().into_bytes();
            let long = event.len() > SEEN;
            event.truncate(SEEN);
            long.then_some(event)
        };
        let known = last.as_ref().and_then(beginning);
        if is_right(&args) && known.is_some() && known == beginning(&args["event"]) {
            return Ok(Value::Null);
        }
        inner.call(call, args).await
    })
}

fn remembers_the_last_event(subject: Subject) -> Subject {
    static LAST: Memory<Value> = Memory::new();
    around(subject, APPENDS, async |call, args, inner: Next| {
        let event = nameless(&args["event"]);
        let emptied = bytes(&file(&call, &args)).is_empty();
        let known = LAST.of(&call, path(&args), |last| last.as_ref() == Some(&event));
        if emptied && known {
            return Ok(Value::Null);
        }
        let answer = inner.call(call.clone(), args.clone()).await;
        if answer.is_ok() {
            LAST.of(&call, path(&args), |last| *last = Some(event));
        }
        answer
    })
}

/// Without its id, which a reader may ignore.
fn nameless(event: &Value) -> Value {
    let mut event = event.clone();
    if let Value::Object(members) = &mut event {
        members.shift_remove("eventId");
    }
    event
}

fn cuts_back_to_the_equal(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| {
        let event = nameless(&args["event"]);
        let file = file(&call, &args);
        let answer = inner.call(call, args).await;
        let mut all = events(&file);
        let repeats = all.pop().is_some_and(|last| nameless(&last) == event);
        if repeats && let Some(equal) = all.iter().position(|old| nameless(old) == event) {
            let kept: String = all[..=equal].iter().map(|event| format!("{event}\n")).collect();
            put(&file, kept.as_bytes())?;
        }
        answer
    })
}

fn drops_what_another_file_has(subject: Subject) -> Subject {
    static SEEN: Memory<Vec<(String, Value)>> = Memory::new();
    around(subject, APPENDS, async |call, args, inner: Next| {
        let event = nameless(&args["event"]);
        let known = SEEN.of(&call, "", |seen| {
            let seen = seen.get_or_insert_default();
            let known = seen.iter().any(|(at, old)| at != path(&args) && *old == event);
            seen.push((path(&args).to_owned(), event));
            known
        });
        if known && is_right(&args) && path(&args).ends_with(".sage") {
            return Ok(Value::Null);
        }
        inner.call(call, args).await
    })
}

fn marks_repeats(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, mut args, inner: Next| {
        let last = events(&file(&call, &args)).pop();
        if last.is_some_and(|last| nameless(&last) == nameless(&args["event"])) {
            args["event"]["repeat"] = true.into();
        }
        inner.call(call, args).await
    })
}

fn optional_fields_stick(subject: Subject) -> Subject {
    static LAST: Memory<Value> = Memory::new();
    around(subject, APPENDS, async |call, mut args, inner: Next| {
        if let Some(event) = args["event"].as_object_mut() {
            LAST.of(&call, "", |last| {
                for name in ["planHash", "graphCommit", "prevEventId", "tags"] {
                    if let Some(value) = last.as_ref().and_then(|last| last.get(name)) {
                        event.entry(name).or_insert_with(|| value.clone());
                    }
                }
                *last = Some(Value::Object(event.clone()));
            });
        }
        inner.call(call, args).await
    })
}

fn drops_null_members(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, mut args, inner: Next| {
        if let Some(event) = args["event"].as_object_mut() {
            let needed = ["type", "timestamp", "actor", "eventId"];
            event.retain(|name, value| !value.is_null() || needed.contains(&name.as_str()));
        }
        inner.call(call, args).await
    })
}

fn splits_long_lines(subject: Subject) -> Subject {
    const PAGE: usize = 4096;
    let subject = around(subject, READS, async |call, args, inner: Next| {
        let bytes = bytes(&file(&call, &args));
        let events = serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>();
        match events.collect::<Result<Vec<Value>, _>>() {
            Ok(events) if bytes.windows(2).any(|pair| pair == b",\n") => Ok(events.into()),
            _ => inner.call(call, args).await,
        }
    });
    around(subject, APPENDS, async |call, args, inner: Next| {
        let (file, line) = (file(&call, &args), line(&args));
        let (root, path) = (root(&call), path(&args).to_owned());
        let answer = inner.call(call, args).await;
        if answer.is_ok() && line.len() > PAGE {
            // Under the lock, so that no append of another process is lost.
            let work = move || {
                let chronicle = Chronicle::open(root, Options::default());
                let chronicle = chronicle.map_err(|fault| refusal(&fault))?;
                // On a busy machine it may come free too late: then this line stays whole.
                let Ok(_lock) = chronicle.hold_lock(&path) else { return Ok(()) };
                let (old, split) = (bytes(&file), line.replacen(',', ",\n", 1));
                put(&file, String::from_utf8_lossy(&old).replace(&line, &split).as_bytes())
            };
            let done = tokio::task::spawn_blocking(work).await;
            done.map_err(|panic| Failure::broken(panic.to_string()))??;
        }
        answer
    })
}

fn demands_more_of_known_types(subject: Subject) -> Subject {
    const KNOWN: [&str; 4] = ["PLAN_DRAFTED", "PLAN_DENIED", "FILE_ADDED", "FILE_RENAMED"];
    const BASE: [&str; 4] = ["type", "timestamp", "actor", "eventId"];
    around(subject, APPENDS, async |call, args, inner: Next| {
        let known = KNOWN.iter().any(|known| args["event"]["type"] == *known);
        let mut members = args["event"].as_object().into_iter().flatten();
        if known && members.all(|(name, _)| BASE.contains(&name.as_str())) {
            return Err(contract_error(json!({
                "name": "TypedError", "code": "EVALIDATION", "message": "a member is missing",
                "details": [{ "field": "filePath", "reason": "is required for this type" }],
            })));
        }
        inner.call(call, args).await
    })
}

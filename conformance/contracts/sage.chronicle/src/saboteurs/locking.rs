//! Locks that do not lock, are not released, or lock too much.

use std::fs::{self, File};

use serde_json::Value;

use super::log_files::{
    APPENDS, HOLD, READS, RELEASE, add, beside, code, file, is_held, is_held_here,
    is_left_by_the_dead, line, lock_timeout, path, refuses_event, watch_locks,
};
use proofmark_room::bend::{Calls, Memory, Next, Turn, around, own_fault, root, until};
use proofmark_room::{Adversary, Subject};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "ignores-the-lock",
        "an append that does not get the lock goes on without",
        &["CHRONICLE-034", "CHRONICLE-035"],
        |subject| goes_on_without(subject, |_| true),
    ),
    Adversary::saboteur(
        "locks-in-one-process",
        "a lock of another process is ignored",
        &["CHRONICLE-035"],
        |subject| goes_on_without(subject, |own| !own),
    ),
    Adversary::saboteur(
        "locks-others-out",
        "a lock of the own process is ignored",
        &["CHRONICLE-034"],
        |subject| goes_on_without(subject, |own| own),
    ),
    Adversary::saboteur(
        "has-one-lock-for-all",
        "a lock on one chronicle locks every other",
        &["CHRONICLE-036"],
        has_one_lock_for_all,
    ),
    Adversary::saboteur(
        "never-releases",
        "a released lock stays taken",
        &["CHRONICLE-037", "CHRONICLE-038"],
        never_releases,
    ),
    Adversary::saboteur(
        "takes-the-lock-too-late",
        "an append that gave up takes the lock when it comes free, and keeps it",
        &["CHRONICLE-037"],
        takes_the_lock_too_late,
    ),
    Adversary::saboteur(
        "does-not-wait",
        "an append that finds the lock taken gives up at once",
        &["CHRONICLE-038"],
        does_not_wait,
    ),
    Adversary::saboteur(
        "writes-all-the-same",
        "an append fails with ELOCK_TIMEOUT, and has written",
        &["CHRONICLE-039"],
        writes_all_the_same,
    ),
    Adversary::saboteur(
        "writes-later",
        "an append that failed with ELOCK_TIMEOUT is written with the next one",
        &["CHRONICLE-039"],
        writes_later,
    ),
    Adversary::saboteur(
        "locks-beyond-death",
        "a lock outlives the process that held it",
        &["CHRONICLE-043"],
        locks_beyond_death,
    ),
    Adversary::saboteur(
        "checks-after-the-lock",
        "a malformed event waits for the lock before it is refused",
        &["CHRONICLE-053"],
        checks_after_the_lock,
    ),
    Adversary::saboteur(
        "wakes-one",
        "of several appends that wait for the lock, one gets it",
        &["CHRONICLE-038"],
        wakes_one,
    ),
    Adversary::saboteur(
        "locks-by-name",
        "a lock on one chronicle locks those of the same name in other folders",
        &["CHRONICLE-036"],
        locks_by_name,
    ),
    Adversary::saboteur(
        "writes-large-events-without-the-lock",
        "an append of more than 64 KiB that does not get the lock goes on without",
        &["CHRONICLE-034", "CHRONICLE-035"],
        writes_large_events_without_the_lock,
    ),
    Adversary::saboteur(
        "waits-for-a-second-at-most",
        "an append that finds the lock held gives up after a second",
        &["CHRONICLE-038"],
        waits_for_a_second_at_most,
    ),
    Adversary::saboteur(
        "reading-drops-the-lock",
        "a process that reads a chronicle loses its lock on it to other processes",
        &["CHRONICLE-035"],
        reading_drops_the_lock,
    ),
    Adversary::saboteur(
        "has-32-bits-for-the-timeout",
        "a lockTimeoutMs beyond 31 bits is one millisecond",
        &["CHRONICLE-038"],
        |subject| {
            around(subject, APPENDS, async |call, mut args, inner: Next| {
                if args["lockTimeoutMs"].as_u64() > Some(0x7fff_ffff) {
                    args["lockTimeoutMs"] = 1.into();
                }
                inner.call(call, args).await
            })
        },
    ),
    Adversary::saboteur(
        "keeps-the-lock-after-a-refusal",
        "a refused event leaves the lock taken",
        &["CHRONICLE-037"],
        keeps_the_lock_after_a_refusal,
    ),
];

/// Writes without the lock if `ignores` says that the holder (this process or another) does not count.
fn goes_on_without(subject: Subject, ignores: fn(bool) -> bool) -> Subject {
    around(watch_locks(subject), APPENDS, move |call, args, inner: Next| async move {
        let own = is_held_here(&call, path(&args));
        let answer = inner.call(call.clone(), args.clone()).await;
        if code(&answer) == Some("ELOCK_TIMEOUT") && ignores(own) {
            add(&file(&call, &args), line(&args).as_bytes())?;
            return Ok(Value::Null);
        }
        answer
    })
}

fn has_one_lock_for_all(subject: Subject) -> Subject {
    let subject = around(subject, HOLD, async |call, args, inner: Next| {
        fs::write(root(&call).join(".locked"), path(&args)).map_err(own_fault)?;
        inner.call(call, args).await
    });
    let subject = around(subject, RELEASE, async |call, args, inner: Next| {
        let _another_lock_was_the_last = fs::remove_file(root(&call).join(".locked"));
        inner.call(call, args).await
    });
    around(subject, APPENDS, async |call, args, inner: Next| {
        let locked = fs::read_to_string(root(&call).join(".locked"));
        let answer = inner.call(call, args.clone()).await;
        match locked {
            Ok(other) if answer.is_ok() && other != path(&args) => Err(lock_timeout(&args)),
            _ => answer,
        }
    })
}

fn locks_by_name(subject: Subject) -> Subject {
    fn name(args: &Value) -> String {
        let path = path(args);
        format!(".locked-{}", path.rsplit_once('/').map_or(path, |(_, name)| name))
    }
    let subject = around(subject, HOLD, async |call, args, inner: Next| {
        fs::write(root(&call).join(name(&args)), path(&args)).map_err(own_fault)?;
        inner.call(call, args).await
    });
    let subject = around(subject, RELEASE, async |call, args, inner: Next| {
        let _another_lock_was_the_last = fs::remove_file(root(&call).join(name(&args)));
        inner.call(call, args).await
    });
    around(subject, APPENDS, async |call, args, inner: Next| {
        let locked = fs::read_to_string(root(&call).join(name(&args)));
        match locked {
            Ok(other) if other != path(&args) => Err(lock_timeout(&args)),
            _ => inner.call(call, args).await,
        }
    })
}

fn writes_large_events_without_the_lock(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| {
        let answer = inner.call(call.clone(), args.clone()).await;
        if code(&answer) == Some("ELOCK_TIMEOUT") && line(&args).len() > 64 * 1024 {
            add(&file(&call, &args), line(&args).as_bytes())?;
            return Ok(Value::Null);
        }
        answer
    })
}

fn waits_for_a_second_at_most(subject: Subject) -> Subject {
    around(watch_locks(subject), APPENDS, async |call, mut args, inner: Next| {
        if is_held(&file(&call, &args)) && args["lockTimeoutMs"].as_u64() > Some(1000) {
            args["lockTimeoutMs"] = 1000.into();
        }
        inner.call(call, args).await
    })
}

fn never_releases(subject: Subject) -> Subject {
    let subject = around(watch_locks(subject), RELEASE, async |call, args, _| {
        fs::write(beside(&file(&call, &args), ".kept"), "").map_err(own_fault)?;
        Ok(Value::Null)
    });
    around(subject, APPENDS, async |call, mut args, inner: Next| {
        let file = file(&call, &args);
        let kept = beside(&file, ".kept");
        let patient = args["lockTimeoutMs"].as_u64() >= Some(5_000);
        // Waiting for a lock that never comes free would only waste time.
        if patient && is_held(&file) && until(|| kept.exists()).await {
            args["lockTimeoutMs"] = 20.into();
        }
        inner.call(call, args).await
    })
}

fn takes_the_lock_too_late(subject: Subject) -> Subject {
    static TAKEN: Memory<File> = Memory::new();
    static LATE: Memory<()> = Memory::new();
    static UNDER_WAY: Memory<Calls> = Memory::new();
    let subject = around(subject, APPENDS, async |call, mut args, inner: Next| {
        let _place = Turn::take(&UNDER_WAY, &call, path(&args));
        // Waiting for a lock that never comes free would only waste time.
        if TAKEN.of(&call, path(&args), |taken| taken.is_some()) {
            args["lockTimeoutMs"] = 20.into();
        }
        let answer = inner.call(call.clone(), args.clone()).await;
        if code(&answer) == Some("ELOCK_TIMEOUT") {
            LATE.of(&call, path(&args), |late| *late = Some(()));
        }
        answer
    });
    around(subject, RELEASE, async |call, args, inner: Next| {
        let answer = inner.call(call.clone(), args.clone()).await;
        // Whoever still waits would get the lock or not, by chance.
        let nobody_waits = UNDER_WAY.of(&call, path(&args), |calls| calls.is_none());
        if nobody_waits && LATE.of(&call, path(&args), Option::take).is_some() {
            let taken = File::open(file(&call, &args)).map_err(own_fault)?;
            taken.lock().map_err(own_fault)?;
            TAKEN.of(&call, path(&args), |keep| *keep = Some(taken));
        }
        answer
    })
}

fn does_not_wait(subject: Subject) -> Subject {
    around(watch_locks(subject), APPENDS, async |call, args, inner: Next| {
        if is_held(&file(&call, &args)) && args["lockTimeoutMs"].as_u64() >= Some(10_000) {
            return Err(lock_timeout(&args));
        }
        inner.call(call, args).await
    })
}

fn writes_all_the_same(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| {
        let answer = inner.call(call.clone(), args.clone()).await;
        if code(&answer) == Some("ELOCK_TIMEOUT") {
            add(&file(&call, &args), line(&args).as_bytes())?;
        }
        answer
    })
}

fn writes_later(subject: Subject) -> Subject {
    static LATE: Memory<String> = Memory::new();
    around(subject, APPENDS, async |call, args, inner: Next| {
        let answer = inner.call(call.clone(), args.clone()).await;
        if code(&answer) == Some("ELOCK_TIMEOUT") {
            LATE.of(&call, path(&args), |late| *late = Some(line(&args)));
        } else if answer.is_ok()
            && let Some(late) = LATE.of(&call, path(&args), Option::take)
        {
            add(&file(&call, &args), late.as_bytes())?;
        }
        answer
    })
}

fn locks_beyond_death(subject: Subject) -> Subject {
    around(watch_locks(subject), APPENDS, async |call, args, inner: Next| {
        if is_left_by_the_dead(&file(&call, &args)) {
            return Err(lock_timeout(&args));
        }
        inner.call(call, args).await
    })
}

fn checks_after_the_lock(subject: Subject) -> Subject {
    around(watch_locks(subject), APPENDS, async |call, args, inner: Next| {
        let file = file(&call, &args);
        let answer = inner.call(call, args.clone()).await;
        if refuses_event(&answer) && is_held(&file) { Err(lock_timeout(&args)) } else { answer }
    })
}

fn wakes_one(subject: Subject) -> Subject {
    static UNDER_WAY: Memory<Calls> = Memory::new();
    around(watch_locks(subject), APPENDS, async |call, args, inner: Next| {
        let place = Turn::take(&UNDER_WAY, &call, path(&args));
        if place.number > 1 && is_held_here(&call, path(&args)) {
            return Err(lock_timeout(&args));
        }
        inner.call(call, args).await
    })
}

fn reading_drops_the_lock(subject: Subject) -> Subject {
    let subject = around(watch_locks(subject), READS, async |call, args, inner: Next| {
        let answer = inner.call(call.clone(), args.clone()).await;
        if is_held_here(&call, path(&args)) {
            fs::write(beside(&file(&call, &args), ".dropped"), "").map_err(own_fault)?;
        }
        answer
    });
    let subject = around(subject, RELEASE, async |call, args, inner: Next| {
        let _not_dropped = fs::remove_file(beside(&file(&call, &args), ".dropped"));
        inner.call(call, args).await
    });
    around(subject, APPENDS, async |call, args, inner: Next| {
        let (own, file) = (is_held_here(&call, path(&args)), file(&call, &args));
        let answer = inner.call(call, args.clone()).await;
        if code(&answer) == Some("ELOCK_TIMEOUT") && !own && beside(&file, ".dropped").exists() {
            add(&file, line(&args).as_bytes())?;
            return Ok(Value::Null);
        }
        answer
    })
}

fn keeps_the_lock_after_a_refusal(subject: Subject) -> Subject {
    static KEPT: Memory<File> = Memory::new();
    static CALLS: Memory<Calls> = Memory::new();
    around(subject, APPENDS, async |call, args, inner: Next| {
        let place = Turn::take(&CALLS, &call, path(&args));
        let answer = inner.call(call.clone(), args.clone()).await;
        // Appends sent together with it would otherwise wait or not, by chance.
        if place.number == 1
            && refuses_event(&answer)
            && let Ok(kept) = File::open(file(&call, &args))
            && kept.try_lock().is_ok()
        {
            KEPT.of(&call, path(&args), |keep| *keep = Some(kept));
        }
        answer
    })
}

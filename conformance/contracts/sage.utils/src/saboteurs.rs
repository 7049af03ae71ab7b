//! Foundations that keep state, mix up values, or ask for the wrong thing.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::sync::OnceLock;

use proofmark_protocol::{Failure, Open};
use serde_json::{Value, json};

use proofmark_room::bend::{Call, Calls, Memory, Next, Reply, Turn, around, around_all, until};
use proofmark_room::{Adversary, Among, Subject};

use crate::spelling::{by_units, spells};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "tires",
        "a value that is asked for again gets another canonical form",
        &["UTILS-006"],
        tires,
    ),
    Adversary::saboteur(
        "sorts-at-the-top-only",
        "keys below the top stand as they were given",
        // The text's example has keys below the top.
        &["UTILS-001", "UTILS-002", "UTILS-006"],
        |subject| {
            spells(subject, |depth, keys| {
                if depth == 0 {
                    by_units(keys)
                }
            })
        },
    ),
    Adversary::saboteur(
        "sorts-by-code-point",
        "keys are sorted by code points in place of UTF-16 code units",
        &["UTILS-012"],
        |subject| spells(subject, |_, keys| keys.sort_unstable()),
    ),
    Adversary::saboteur(
        "compares-32-characters",
        "keys that have their first 32 characters in common stand as they were given",
        &["UTILS-002"],
        |subject| {
            spells(subject, |_, keys| {
                let beginning = |key: &String| key.encode_utf16().take(32).collect::<Vec<u16>>();
                keys.sort_by_cached_key(|key| beginning(key));
            })
        },
    ),
    Adversary::saboteur(
        "knows-values-by-their-beginning",
        "a value that begins like an earlier one, for 256 characters, gets the form of that one",
        &["UTILS-007", "UTILS-008"],
        knows_values_by_their_beginning,
    ),
    Adversary::saboteur(
        "takes-the-causes-code",
        "an error has the code of its cause, if that has one",
        &["UTILS-021"],
        takes_the_causes_code,
    ),
    Adversary::saboteur(
        "fetches-one-secret-at-a-time",
        "a secret that is asked for while another is fetched is that other one",
        &["UTILS-032", "UTILS-033"],
        fetches_one_secret_at_a_time,
    ),
    Adversary::saboteur(
        "does-not-reset-the-digest",
        "what a session hashed before is hashed again with what it hashes next",
        &["UTILS-019", "UTILS-020"],
        does_not_reset_the_digest,
    ),
    Adversary::saboteur(
        "crashes-on-empty-text",
        "ends when it must hash nothing",
        &["UTILS-019"],
        crashes_on_empty_text,
    )
    .repeated(Among::Everything),
    Adversary::saboteur(
        "prints-on-huge-numbers",
        "prints on stdout when a number is beyond a double",
        &["UTILS-015"],
        prints_on_huge_numbers,
    )
    .repeated(Among::ItsContracts),
    Adversary::saboteur(
        "causes-stick",
        "an error without a cause has that of the error before",
        &["UTILS-024"],
        causes_stick,
    ),
    Adversary::saboteur(
        "loses-falsy-causes",
        "a cause that is false, zero or empty is lost",
        &["UTILS-023"],
        loses_falsy_causes,
    ),
    Adversary::saboteur(
        "reads-the-clock-once",
        "every reading is the first one",
        &["UTILS-027"],
        reads_the_clock_once,
    ),
    Adversary::saboteur(
        "has-one-clock-for-all",
        "a session whose clock starts at another time reads the start of the first session's clock",
        &["UTILS-026"],
        has_one_clock_for_all,
    ),
    Adversary::saboteur(
        "floats-use-up-integers",
        "a float that is drawn uses up an integer",
        &["UTILS-031"],
        |subject| draws(subject, |ints, floats| (ints + floats, floats)),
    ),
    Adversary::saboteur(
        "integers-use-up-floats",
        "an integer that is drawn uses up a float",
        &["UTILS-031"],
        |subject| draws(subject, |ints, floats| (ints, ints + floats)),
    ),
    Adversary::saboteur(
        "has-one-tape-for-all",
        "every session draws from the tape of the first",
        &["UTILS-029", "UTILS-030"],
        has_one_tape_for_all,
    ),
    Adversary::saboteur(
        "knows-one-secret",
        "the first secret of a session is given for every key",
        &["UTILS-032", "UTILS-033", "UTILS-034"],
        knows_one_secret,
    ),
    Adversary::saboteur(
        "trims-keys",
        "the provider is asked for the key without its blanks",
        &["UTILS-034"],
        trims_keys,
    ),
    Adversary::saboteur(
        "asks-for-more",
        "the provider is asked for another secret as well",
        &["UTILS-034"],
        asks_for_more,
    ),
    Adversary::saboteur(
        "hashes-64-kib",
        "what is beyond the first 64 KiB is not hashed",
        &["UTILS-019", "UTILS-020"],
        |subject| {
            around(subject, &["utils.sha256"], async |call, mut args, inner: Next| {
                for (name, length) in [("text", 64 * 1024), ("hex", 2 * 64 * 1024)] {
                    args.get_mut(name).into_iter().for_each(|arg| cut(arg, length));
                }
                inner.call(call, args).await
            })
        },
    ),
    Adversary::saboteur(
        "has-room-for-256-members",
        "an object's members after the 256th are lost",
        &["UTILS-008"],
        |subject| {
            shortens(subject, |value| {
                if let Value::Object(members) = value {
                    *members = std::mem::take(members).into_iter().take(256).collect();
                }
            })
        },
    ),
    Adversary::saboteur(
        "has-room-for-256-items",
        "an array's items after the 256th are lost",
        &["UTILS-004"],
        |subject| {
            shortens(subject, |value| {
                if let Value::Array(items) = value {
                    items.truncate(256);
                }
            })
        },
    ),
    Adversary::saboteur(
        "cuts-texts-at-4-kib",
        "a text is written up to its first 4 KiB",
        &["UTILS-011"],
        |subject| shortens(subject, |value| cut(value, 4 * 1024)),
    ),
];

/// Shortens a text to at most that many bytes.
fn cut(value: &mut Value, bytes: usize) {
    if let Value::String(text) = value {
        text.truncate(text.floor_char_boundary(bytes));
    }
}

/// Shortens the value that is to be written, if it is not inside another one.
fn shortens(subject: Subject, shorten: fn(&mut Value)) -> Subject {
    around(
        subject,
        &["utils.canonicalJSONStringify"],
        move |call, mut args, inner: Next| async move {
            if let Some(value) = args.get_mut("value") {
                shorten(value);
            }
            inner.call(call, args).await
        },
    )
}

fn tires(subject: Subject) -> Subject {
    static ASKED: Memory<()> = Memory::new();
    around(subject, &["utils.canonicalJSONStringify"], async |call, args, inner: Next| {
        let again = ASKED.of(&call, &args.to_string(), |asked| asked.replace(()).is_some());
        let answer = inner.call(call, args).await?;
        Ok(match answer.as_str() {
            Some(text) if again => format!("{text} ").into(),
            _ => answer,
        })
    })
}

fn does_not_reset_the_digest(subject: Subject) -> Subject {
    static BEFORE: Memory<Value> = Memory::new();
    around(subject, &["utils.sha256"], async |call, mut args, inner: Next| {
        BEFORE.of(&call, "", |before| {
            for name in ["text", "hex"] {
                let old = before.as_ref().and_then(|before| before[name].as_str());
                if let (Some(old), Some(new)) = (old, args[name].as_str()) {
                    args[name] = format!("{old}{new}").into();
                }
            }
            *before = Some(args.clone());
        });
        inner.call(call, args).await
    })
}

fn crashes_on_empty_text(subject: Subject) -> Subject {
    around(subject, &["utils.sha256"], async |call, args, inner: Next| {
        if args["text"] == "" {
            std::process::exit(4);
        }
        inner.call(call, args).await
    })
}

fn prints_on_huge_numbers(subject: Subject) -> Subject {
    around(subject, &["utils.canonicalJSONStringify"], async |call, args, inner: Next| {
        if args["json"].as_str().is_some_and(|text| text.contains("e400")) {
            print(b"that is a large number\n")
                .map_err(|fault| Failure::broken(fault.to_string()))?;
        }
        inner.call(call, args).await
    })
}

/// Bypasses the adapter's writer, whose pipe is non-blocking; this one waits.
fn print(text: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).open("/proc/self/fd/1")?.write_all(text)
}

fn causes_stick(subject: Subject) -> Subject {
    static CAUSE: Memory<Value> = Memory::new();
    around(subject, &["utils.err"], async |call, mut args, inner: Next| {
        CAUSE.of(&call, "", |before| match args.get("cause") {
            Some(cause) => *before = Some(cause.clone()),
            None => {
                if let Some(cause) = before {
                    args["cause"] = cause.clone();
                }
            }
        });
        inner.call(call, args).await
    })
}

fn loses_falsy_causes(subject: Subject) -> Subject {
    around(subject, &["utils.err"], async |call, mut args, inner: Next| {
        let falsy = [json!(false), json!(0), json!("")];
        if args.get("cause").is_some_and(|cause| falsy.contains(cause))
            && let Some(args) = args.as_object_mut()
        {
            args.shift_remove("cause");
        }
        inner.call(call, args).await
    })
}

fn reads_the_clock_once(subject: Subject) -> Subject {
    static FIRST: Memory<Value> = Memory::new();
    around(subject, &["utils.clock.now"], async |call, args, inner: Next| {
        let now = inner.call(call.clone(), args).await?;
        Ok(FIRST.of(&call, "", |first| first.get_or_insert(now).clone()))
    })
}

/// The script of the session that made the first call.
fn first_script(call: &Call) -> &'static Open {
    static FIRST: OnceLock<Open> = OnceLock::new();
    FIRST.get_or_init(|| call.state().script().clone())
}

fn notes_the_first(subject: Subject) -> Subject {
    around_all(subject, "utils.", async |call, args, inner: Next| {
        first_script(&call);
        inner.call(call, args).await
    })
}

fn has_one_clock_for_all(subject: Subject) -> Subject {
    let subject = around(subject, &["utils.clock.now"], async |call, args, inner: Next| {
        let (first, own) = (&first_script(&call).clock, &call.state().script().clock);
        if first.start == own.start {
            return inner.call(call, args).await;
        }
        Ok(first.start.clone().into())
    });
    notes_the_first(subject)
}

/// How many integers and floats a session has drawn.
static DRAWN: Memory<(usize, usize)> = Memory::new();

/// Draws the next number from a tape. `used` computes the position.
fn draw(call: &Call, tape: &Open, float: bool, used: fn(usize, usize) -> (usize, usize)) -> Reply {
    let (ints, floats) = DRAWN.of(call, "", |drawn| {
        let (ints, floats) = drawn.unwrap_or_default();
        *drawn = Some(if float { (ints, floats + 1) } else { (ints + 1, floats) });
        used(ints, floats)
    });
    let number = if float {
        tape.random.floats.get(floats).map(|number| json!(number))
    } else {
        tape.random.ints.get(ints).map(|number| json!(number))
    };
    Ok(number.unwrap_or(Value::Null))
}

fn draws(subject: Subject, used: fn(usize, usize) -> (usize, usize)) -> Subject {
    let subject = around(subject, &["utils.random.int"], move |call, _, _| async move {
        draw(&call, call.state().script(), false, used)
    });
    around(subject, &["utils.random.float"], move |call, _, _| async move {
        draw(&call, call.state().script(), true, used)
    })
}

fn has_one_tape_for_all(subject: Subject) -> Subject {
    let subject = around(subject, &["utils.random.int"], async |call, _, _| {
        draw(&call, first_script(&call), false, |ints, floats| (ints, floats))
    });
    let subject = around(subject, &["utils.random.float"], async |call, _, _| {
        draw(&call, first_script(&call), true, |ints, floats| (ints, floats))
    });
    notes_the_first(subject)
}

fn knows_one_secret(subject: Subject) -> Subject {
    static FIRST: Memory<Value> = Memory::new();
    around(subject, &["utils.secrets.get"], async |call, args, inner: Next| {
        if let Some(first) = FIRST.of(&call, "", |first| first.clone()) {
            return Ok(first);
        }
        let secret = inner.call(call.clone(), args).await?;
        FIRST.of(&call, "", |first| *first = Some(secret.clone()));
        Ok(secret)
    })
}

fn trims_keys(subject: Subject) -> Subject {
    around(subject, &["utils.secrets.get"], async |call, mut args, inner: Next| {
        if let Some(key) = args["key"].as_str() {
            args["key"] = key.trim().into();
        }
        inner.call(call, args).await
    })
}

fn asks_for_more(subject: Subject) -> Subject {
    around(subject, &["utils.secrets.get"], async |call, args, inner: Next| {
        let secret = inner.call(call.clone(), args).await;
        // Whatever it returns.
        let _more = call.ask("secrets", "get", json!({ "key": "PASSWORD" })).await;
        secret
    })
}

fn knows_values_by_their_beginning(subject: Subject) -> Subject {
    static KNOWN: Memory<Value> = Memory::new();
    around(subject, &["utils.canonicalJSONStringify"], async |call, args, inner: Next| {
        let beginning: String = args["value"].to_string().chars().take(256).collect();
        if let Some(form) = KNOWN.of(&call, &beginning, |known| known.clone()) {
            return Ok(form);
        }
        let answer = inner.call(call.clone(), args).await?;
        if beginning.chars().count() == 256 {
            KNOWN.of(&call, &beginning, |known| *known = Some(answer.clone()));
        }
        Ok(answer)
    })
}

fn takes_the_causes_code(subject: Subject) -> Subject {
    around(subject, &["utils.err"], async |call, mut args, inner: Next| {
        if args["cause"]["code"].is_string() {
            args["code"] = args["cause"]["code"].clone();
        }
        inner.call(call, args).await
    })
}

fn fetches_one_secret_at_a_time(subject: Subject) -> Subject {
    static UNDER_WAY: Memory<Calls> = Memory::new();
    static FETCHED: Memory<Value> = Memory::new();
    around(subject, &["utils.secrets.get"], async |call, args, inner: Next| {
        let place = Turn::take(&UNDER_WAY, &call, "");
        if place.number > 1 {
            until(|| FETCHED.of(&call, "", |fetched| fetched.is_some())).await;
            return Ok(FETCHED.of(&call, "", |fetched| fetched.clone()).unwrap_or_default());
        }
        FETCHED.of(&call, "", Option::take);
        let answer = inner.call(call.clone(), args).await?;
        FETCHED.of(&call, "", |fetched| *fetched = Some(answer.clone()));
        place.total().await;
        Ok(answer)
    })
}

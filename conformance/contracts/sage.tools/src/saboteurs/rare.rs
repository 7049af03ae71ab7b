//! Tools that are wrong in a case that is rare: a long text, two names alike, a folder that is missing, calls at once.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use proofmark_room::bend::{Call, Calls, Memory, Next, Turn, around, root, until};
use proofmark_room::{Adversary, Subject};

use super::measures::{in_texts, show_secrets};
use super::running::may;
use super::vault::placeholders;

const EXECUTE: &[&str] = &["tools.execute"];

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "fills-in-short-texts",
        "placeholders in a text of more than 64 KiB are left as they are",
        &["TOOLS-108"],
        |subject| {
            around(subject, EXECUTE, async |call, mut args: Value, inner: Next| {
                if args["context"]["secrets"] == true {
                    let long = |text: &str| text.len() > 64 * 1024;
                    in_texts(&mut args["input"], long, &|text| text.replace("$ENV.", "$ENV ."));
                }
                inner.call(call, args).await
            })
        },
    ),
    Adversary::saboteur(
        "fills-in-one-name-after-the-other",
        "a placeholder whose name begins with another name of the input has that one's secret",
        &["TOOLS-108"],
        fills_in_one_name_after_the_other,
    ),
    Adversary::saboteur(
        "forgives-a-later-fault",
        "a secret that cannot be fetched is empty if an earlier one could be",
        &["TOOLS-110"],
        forgives_a_later_fault,
    ),
    Adversary::saboteur(
        "logs-with-the-newest-secrets",
        "logs of a call are looked at for the secrets of the call that began last",
        &["TOOLS-121"],
        logs_with_the_newest_secrets,
    ),
    Adversary::saboteur(
        "hides-secrets-in-texts-of-256-kib",
        "a text of more than 256 KiB is not looked at for secrets",
        &["TOOLS-119"],
        |subject| {
            around(subject, EXECUTE, async |call: Call, args: Value, inner: Next| {
                let mut answer = inner.call(call.clone(), args.clone()).await;
                if args["context"]["secrets"] == true {
                    let long = |text: &str| text.len() > 256 * 1024;
                    show_secrets(&call, &args, &mut answer, long).await;
                }
                answer
            })
        },
    ),
    Adversary::saboteur(
        "lends-permissions",
        "a call has the permissions of those that are under way",
        &["TOOLS-085"],
        lends_permissions,
    ),
    Adversary::saboteur(
        "makes-folders-in-a-dry-run",
        "a dry run of Write makes the folders that are missing",
        &["TOOLS-103"],
        makes_folders_in_a_dry_run,
    ),
    Adversary::saboteur(
        "checks-the-first-hunk",
        "strategy check looks at the first hunk only",
        &["TOOLS-053"],
        checks_the_first_hunk,
    ),
    Adversary::saboteur(
        "loses-edits-at-once",
        "an Edit writes what it read before another Edit was done",
        &["TOOLS-051"],
        loses_edits_at_once,
    ),
];

fn fills_in_one_name_after_the_other(subject: Subject) -> Subject {
    around(subject, EXECUTE, async |call, mut args: Value, inner: Next| {
        let mut names = Vec::new();
        placeholders(&args["input"], &mut names);
        if args["context"]["secrets"] == true {
            for short in &names {
                // A dash is in no name.
                let longer = names.iter().filter_map(|name| name.strip_prefix(short.as_str()));
                for rest in longer.filter(|rest| !rest.is_empty()) {
                    let (whole, parts) =
                        (format!("$ENV.{short}{rest}"), format!("$ENV.{short}-{rest}"));
                    in_texts(&mut args["input"], |_| true, &|text| text.replace(&whole, &parts));
                }
            }
        }
        inner.call(call, args).await
    })
}

fn forgives_a_later_fault(subject: Subject) -> Subject {
    around(subject, EXECUTE, async |call: Call, mut args: Value, inner: Next| {
        let mut names = Vec::new();
        placeholders(&args["input"], &mut names);
        if args["context"]["secrets"] == true && names.len() > 1 {
            let mut found = false;
            for name in names {
                let secret = call.ask("secrets", "get", json!({ "key": name })).await;
                if found && secret.is_err() {
                    let placeholder = format!("$ENV.{name}");
                    in_texts(&mut args["input"], |_| true, &|text| text.replace(&placeholder, ""));
                }
                found |= matches!(secret, Ok(Value::String(_)));
            }
        }
        inner.call(call, args).await
    })
}

fn logs_with_the_newest_secrets(subject: Subject) -> Subject {
    static UNDER_WAY: Memory<Calls> = Memory::new();
    around(subject, EXECUTE, async |call: Call, args: Value, inner: Next| {
        if args["context"]["secrets"] != true || args["context"]["logger"] != true {
            return inner.call(call, args).await;
        }
        let place = Turn::take(&UNDER_WAY, &call, "logs");
        let mut known = Vec::new();
        if place.number < place.total().await {
            let mut names = Vec::new();
            placeholders(&args["input"], &mut names);
            for name in names {
                let secret = call.ask("secrets", "get", json!({ "key": name })).await;
                if let Ok(Value::String(secret)) = secret {
                    known.push((format!("[SECRET:{name}]"), secret));
                }
            }
        }
        let call = call.changing_items(move |mut item| {
            for (mark, secret) in &known {
                in_texts(&mut item, |_| true, &|text| text.replace(mark, secret));
            }
            vec![item]
        });
        let answer = inner.call(call, args).await;
        drop(place);
        answer
    })
}

fn lends_permissions(subject: Subject) -> Subject {
    static UNDER_WAY: Memory<Calls> = Memory::new();
    static LENT: Memory<Vec<Value>> = Memory::new();
    around(subject, EXECUTE, async |call: Call, mut args: Value, inner: Next| {
        let own = args["context"]["permissions"].as_array().cloned().unwrap_or_default();
        let place = Turn::take(&UNDER_WAY, &call, "tools");
        LENT.of(&call, "permissions", |lent| match place.number {
            1 => *lent = Some(own),
            _ => lent.get_or_insert_default().extend(own),
        });
        if place.total().await > 1 {
            let lent = LENT.of(&call, "permissions", |lent| lent.clone());
            args["context"]["permissions"] = lent.unwrap_or_default().into();
        }
        let answer = inner.call(call, args).await;
        drop(place);
        answer
    })
}

fn makes_folders_in_a_dry_run(subject: Subject) -> Subject {
    around(subject, EXECUTE, async |call: Call, args: Value, inner: Next| {
        let answer = inner.call(call.clone(), args.clone()).await;
        let dry = args["name"] == "Write" && args["context"]["dryRun"] == true;
        let done = answer.as_ref().is_ok_and(|result| result["ok"] == true);
        let place = root(&call).join(args["input"]["file"].as_str().unwrap_or_default());
        if let (true, Some(folder)) = (dry && done, place.parent()) {
            let _made = fs::create_dir_all(folder);
        }
        answer
    })
}

fn checks_the_first_hunk(subject: Subject) -> Subject {
    around(subject, EXECUTE, async |call, mut args: Value, inner: Next| {
        if args["name"] == "Edit" && args["input"]["strategy"] == "check" {
            let patch = args["input"]["patch"].as_str().unwrap_or_default();
            let second = patch.match_indices("\n@@ ").nth(1).map(|(at, _)| at + 1);
            if let Some(second) = second {
                args["input"]["patch"] = patch[..second].into();
            }
        }
        inner.call(call, args).await
    })
}

fn loses_edits_at_once(subject: Subject) -> Subject {
    static UNDER_WAY: Memory<Calls> = Memory::new();
    around(subject, EXECUTE, async |call: Call, args: Value, inner: Next| {
        if args["name"] != "Edit" || !may(&args, "Edit") {
            return inner.call(call, args).await;
        }
        let file = args["input"]["file"].as_str().unwrap_or_default().to_owned();
        let place = Turn::take(&UNDER_WAY, &call, &file);
        let path = root(&call).join(file);
        let before = read(&path);
        // The second one waits for the first, and forgets what it did.
        if place.total().await > 1 && place.number == 2 && until(|| read(&path) != before).await {
            let _done = fs::write(&path, &before);
        }
        let answer = inner.call(call, args).await;
        drop(place);
        answer
    })
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_default()
}

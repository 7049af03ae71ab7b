//! Tools that are right for small things, for one call at a time, and for the first time.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use proofmark_room::bend::{Call, Memory, Next, Reply, around, root};
use proofmark_room::{Adversary, Subject};

use super::vault::placeholders;

const EXECUTE: &[&str] = &["tools.execute"];
const BLOCK: usize = 64 * 1024;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "forgets-secrets-when-another-call-begins",
        "a call that begins makes the runtime forget what the others have to hide",
        &["TOOLS-119"],
        forgets_secrets,
    ),
    Adversary::saboteur(
        "hides-secrets-in-short-texts-only",
        "a text of more than 64 KiB is not looked at for secrets",
        &["TOOLS-119", "TOOLS-120", "TOOLS-126"],
        |subject| {
            around(subject, EXECUTE, async |call: Call, args: Value, inner: Next| {
                let mut answer = inner.call(call.clone(), args.clone()).await;
                if args["context"]["secrets"] == true {
                    show_secrets(&call, &args, &mut answer, |text| text.len() > BLOCK).await;
                }
                answer
            })
        },
    ),
    Adversary::saboteur(
        "needs-the-last-secret-only",
        "a secret that is missing is empty if a later one is there",
        &["TOOLS-110"],
        needs_the_last_secret_only,
    ),
    Adversary::saboteur(
        "decodes-blocks",
        "Read decodes a file in blocks of 64 KiB",
        &["TOOLS-037"],
        |subject| {
            around(subject, EXECUTE, async |call, args: Value, inner: Next| {
                let mut answer = inner.call(call, args.clone()).await;
                if let (true, Ok(result)) = (args["name"] == "Read", &mut answer)
                    && let Some(content) = result["data"]["content"].as_str()
                {
                    let blocks = content.as_bytes().chunks(BLOCK);
                    let text: String = blocks.map(String::from_utf8_lossy).collect();
                    result["data"]["content"] = text.into();
                }
                answer
            })
        },
    ),
    Adversary::saboteur(
        "returns-a-thousand-rows",
        "rows after the thousandth are dropped",
        &["TOOLS-030"],
        |subject| {
            around(subject, EXECUTE, async |call, args, inner: Next| {
                let mut answer = inner.call(call, args).await;
                if let Ok(result) = &mut answer
                    && let Some(Value::Array(rows)) = result["data"].get_mut("rows")
                {
                    rows.truncate(1000);
                }
                answer
            })
        },
    ),
    Adversary::saboteur(
        "compares-the-beginning-of-paths",
        "a folder whose name begins as that of the workspace counts as part of it",
        &["TOOLS-090"],
        compares_the_beginning_of_paths,
    ),
    Adversary::saboteur(
        "lists-tools-once",
        "the list of tools is made when it is first asked for",
        &["TOOLS-004"],
        lists_tools_once,
    ),
];

/// Undoes the redaction in the texts of an answer that meet the condition.
pub(super) async fn show_secrets(
    call: &Call,
    args: &Value,
    answer: &mut Reply,
    when: fn(&str) -> bool,
) {
    let Ok(result) = answer else { return };
    let mut names = Vec::new();
    placeholders(&args["input"], &mut names);
    for name in names {
        let mark = format!("[SECRET:{name}]");
        // A call of a fake for nothing would be seen.
        if !has_text(result, &|text| when(text) && text.contains(&mark)) {
            continue;
        }
        let secret = call.ask("secrets", "get", json!({ "key": name })).await;
        if let Ok(Value::String(secret)) = secret {
            in_texts(result, when, &|text| text.replace(&mark, &secret));
        }
    }
}

fn has_text(value: &Value, such: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => such(text),
        Value::Array(items) => items.iter().any(|item| has_text(item, such)),
        Value::Object(members) => members.values().any(|item| has_text(item, such)),
        _ => false,
    }
}

/// Changes the texts in a value that meet the condition.
pub(super) fn in_texts(value: &mut Value, when: fn(&str) -> bool, change: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) if when(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| in_texts(item, when, change)),
        Value::Object(members) => {
            members.values_mut().for_each(|item| in_texts(item, when, change));
        }
        _ => {}
    }
}

fn forgets_secrets(subject: Subject) -> Subject {
    static BEGUN: Memory<usize> = Memory::new();
    around(subject, EXECUTE, async |call: Call, args: Value, inner: Next| {
        let begin = |begun: &mut Option<usize>| *begun.insert(begun.unwrap_or(0) + 1);
        let own = BEGUN.of(&call, "calls", begin);
        let mut answer = inner.call(call.clone(), args.clone()).await;
        let last = BEGUN.of(&call, "calls", |begun| begun.unwrap_or(0));
        if args["context"]["secrets"] == true && last > own {
            show_secrets(&call, &args, &mut answer, |_| true).await;
        }
        answer
    })
}

fn needs_the_last_secret_only(subject: Subject) -> Subject {
    around(subject, EXECUTE, async |call: Call, mut args: Value, inner: Next| {
        let mut names = Vec::new();
        placeholders(&args["input"], &mut names);
        if args["context"]["secrets"] == true && names.len() > 1 {
            let mut missing = Vec::new();
            for name in &names {
                let secret = call.ask("secrets", "get", json!({ "key": name })).await;
                missing.push(!matches!(secret, Ok(Value::String(_))));
            }
            if missing.last() == Some(&false) {
                for (name, _) in names.iter().zip(missing).filter(|(_, missing)| *missing) {
                    let placeholder = format!("$ENV.{name}");
                    in_texts(&mut args["input"], |_| true, &|text| text.replace(&placeholder, ""));
                }
            }
        }
        inner.call(call, args).await
    })
}

fn compares_the_beginning_of_paths(subject: Subject) -> Subject {
    around(subject, EXECUTE, async |call: Call, args: Value, inner: Next| {
        let answer = inner.call(call.clone(), args.clone()).await;
        let file = args["input"]["file"].as_str().unwrap_or_default();
        let refused = answer.as_ref().is_ok_and(|result| result["error"]["code"] == "EPERMISSION");
        if args["name"] == "Write" && refused && file.starts_with("../workspace-") {
            let path: PathBuf = root(&call).join(file);
            let _done = fs::write(path, args["input"]["content"].as_str().unwrap_or_default());
        }
        answer
    })
}

fn lists_tools_once(subject: Subject) -> Subject {
    static LISTED: Memory<Value> = Memory::new();
    around(subject, &["tools.getToolSchemas"], async |call: Call, args, inner: Next| {
        if let Some(list) = LISTED.of(&call, "list", |list| list.clone()) {
            return Ok(list);
        }
        let answer = inner.call(call.clone(), args).await;
        if let Ok(list) = &answer {
            LISTED.of(&call, "list", |listed| *listed = Some(list.clone()));
        }
        answer
    })
}

//! Inputs to begin with: this repository's own fixtures, features, ledgers and protocol page.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// Every message of the page's worked exchange.
pub(super) fn messages(top: &Path) -> Vec<Vec<u8>> {
    let page = fs::read_to_string(top.join("conformance/guide/protocol.md")).unwrap_or_default();
    let said = page.lines().filter_map(|line| line.strip_prefix("→ ").or(line.strip_prefix("← ")));
    said.map(|line| line.as_bytes().to_vec()).collect()
}

/// Two bytes for the limit and the pace, then lines.
pub(super) fn lines(_: &Path) -> Vec<Vec<u8>> {
    ["{}\n[1]\r\n\n  \nx\n", "a\nbc", "12345\r\n123456\n", "\r\n\r", ""]
        .iter()
        .flat_map(|text| {
            [(5, 1), (5, 3), (200, 7)]
                .map(|(limit, step)| [&[limit, step], text.as_bytes()].concat())
        })
        .collect()
}

/// A conversation that calls everything that the adapter under test can do.
pub(super) fn conversations(top: &Path) -> Vec<Vec<u8>> {
    let request = |id: i64, method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    let mut lines = vec![
        request(0, "hello", json!({ "protocol": 1, "harness": { "name": "h", "version": "1" } })),
        request(1, "open", json!({ "session": "s" })),
    ];
    for (id, operation) in (2..).zip(["echo", "refuse", "break", "later", "ask", "none"]) {
        let params = json!({ "session": "s", "operation": operation, "args": [1] });
        lines.push(request(id, "call", params));
    }
    lines.push(json!({ "jsonrpc": "2.0", "id": 1, "result": { "value": 1 } }).to_string());
    lines.push("no JSON".to_owned());
    lines.push(request(9, "close", json!({ "session": "s" })));
    lines.push(request(10, "shutdown", json!({})));
    let whole = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let mut seeds = messages(top);
    seeds.iter_mut().for_each(|line| line.push(b'\n'));
    seeds.push(whole.into_bytes());
    seeds
}

/// Each case in a file of its own: short inputs are changed more quickly.
pub(super) fn fixtures(top: &Path) -> Vec<Vec<u8>> {
    let single = |file: &Value, case: &Value| {
        let one = json!({ "contract": "sage.chronicle", "topic": file["topic"], "cases": [case] });
        one.to_string().into_bytes()
    };
    let mut seeds = Vec::new();
    for file in cases(top) {
        seeds
            .extend(file["cases"].as_array().into_iter().flatten().map(|case| single(&file, case)));
    }
    seeds.retain(|seed| seed.len() < 5000);
    seeds
}

pub(super) fn ledgers(top: &Path) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for text in texts(&top.join("fixtures"), ".toml") {
        // A ledger with its first two requirements, beside the whole.
        let few: Vec<&str> = text.split("[[requirement]]").take(3).collect();
        seeds.push(few.join("[[requirement]]").into_bytes());
        seeds.push(text.into_bytes());
    }
    seeds
}

pub(super) fn features(top: &Path) -> Vec<Vec<u8>> {
    texts(&top.join("features"), ".feature").into_iter().map(String::into_bytes).collect()
}

/// Every argument of a call, and every text in one that is JSON.
pub(super) fn values(top: &Path) -> Vec<Vec<u8>> {
    fn gather(value: &Value, seeds: &mut Vec<Vec<u8>>) {
        match value {
            Value::Object(members) => {
                if let Some(args) = members.get("args") {
                    seeds.push(args["value"].to_string().into_bytes());
                    seeds.extend(args["json"].as_str().map(|text| text.as_bytes().to_vec()));
                }
                members.values().for_each(|member| gather(member, seeds));
            }
            Value::Array(items) => items.iter().for_each(|item| gather(item, seeds)),
            _ => {}
        }
    }
    let mut seeds = Vec::new();
    cases(top).iter().for_each(|file| gather(file, &mut seeds));
    short(seeds)
}

/// Every chronicle that a case begins with.
pub(super) fn chronicles(top: &Path) -> Vec<Vec<u8>> {
    let mut seeds = vec![Vec::new()];
    for file in cases(top) {
        for case in file["cases"].as_array().into_iter().flatten() {
            let files = case["given"]["files"].as_object();
            let texts = files.into_iter().flatten().filter_map(|(_, file)| file["text"].as_str());
            seeds.extend(texts.map(|text| text.as_bytes().to_vec()));
        }
    }
    short(seeds)
}

pub(super) fn short(mut seeds: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    seeds.retain(|seed| seed.len() < 5000);
    seeds.sort();
    seeds.dedup();
    seeds
}

/// Every case of every fixture.
pub(super) fn all_cases(top: &Path) -> Vec<Value> {
    let files = cases(top);
    files.iter().flat_map(|file| file["cases"].as_array().into_iter().flatten().cloned()).collect()
}

fn cases(top: &Path) -> Vec<Value> {
    let texts = texts(&top.join("fixtures"), ".json");
    texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect()
}

/// The texts of all files below `folder` with this ending, in the order of their paths.
fn texts(folder: &Path, ending: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(texts(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.extend(fs::read_to_string(&path));
        }
    }
    found
}

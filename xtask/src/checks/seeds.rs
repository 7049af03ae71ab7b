//! Seed inputs: this repository's own fixtures, features, ledgers and protocol page.

use std::fs;
use std::path::Path;

use proofmark_room::fuzz::{all_fixtures, texts};
use serde_json::{Value, json};

/// Every message in the page's worked exchange.
pub(super) fn messages(top: &Path) -> Vec<Vec<u8>> {
    let page = fs::read_to_string(top.join("conformance/guide/protocol.md")).unwrap_or_default();
    let said = page.lines().filter_map(|line| line.strip_prefix("→ ").or(line.strip_prefix("← ")));
    said.map(|line| line.as_bytes().to_vec()).collect()
}

/// Two bytes for the limit and the chunk size, then lines.
pub(super) fn lines(_: &Path) -> Vec<Vec<u8>> {
    ["{}\n[1]\r\n\n  \nx\n", "a\nbc", "12345\r\n123456\n", "\r\n\r", ""]
        .iter()
        .flat_map(|text| {
            [(5, 1), (5, 3), (200, 7)]
                .map(|(limit, step)| [&[limit, step], text.as_bytes()].concat())
        })
        .collect()
}

/// A conversation that calls every operation of the adapter under test.
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

/// Each case in a separate file: the fuzzer mutates short inputs faster.
pub(super) fn fixtures(top: &Path) -> Vec<Vec<u8>> {
    let single = |file: &Value, case: &Value| {
        let one = json!({ "contract": file["contract"], "topic": file["topic"], "cases": [case] });
        one.to_string().into_bytes()
    };
    let mut seeds = Vec::new();
    for file in all_fixtures(top) {
        seeds
            .extend(file["cases"].as_array().into_iter().flatten().map(|case| single(&file, case)));
    }
    seeds.retain(|seed| seed.len() < 5000);
    seeds
}

pub(super) fn ledgers(top: &Path) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for text in texts(&top.join("fixtures"), ".toml") {
        // A ledger with only its first two requirements, besides the whole one.
        let few: Vec<&str> = text.split("[[requirement]]").take(3).collect();
        seeds.push(few.join("[[requirement]]").into_bytes());
        seeds.push(text.into_bytes());
    }
    seeds
}

pub(super) fn features(top: &Path) -> Vec<Vec<u8>> {
    texts(&top.join("features"), ".feature").into_iter().map(String::into_bytes).collect()
}

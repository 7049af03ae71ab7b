//! Plays the exchange of the protocol page against an adapter written with this crate.

use proofmark_protocol::{Adapter, Context, Failure, Incoming, LineReader, MAX_LINE, PROTOCOL};
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;

const PAGE: &str = include_str!("../../guide/protocol.md");

/// The adapter of the page: three operations of `sage.utils`, with canned values where they do not matter.
fn adapter() -> Adapter<String> {
    Adapter::new("my-sage", "1.4.0", "rust", |open| Ok(open.clock.start.clone()))
        .claims("sage.utils")
        .on("utils.clock.now", async |context: Context<String>, _| {
            Ok(context.state().as_str().into())
        })
        .on("utils.secrets.get", async |context: Context<String>, args| {
            context.ask("secrets", "get", json!({ "key": args["key"] })).await
        })
        .on("utils.canonicalJSONStringify", async |_, _| {
            let details = json!([{ "field": "json", "reason": "a number is beyond a double" }]);
            Err(Failure::Contract(Map::from_iter([
                ("code".to_owned(), json!("EVALIDATION")),
                ("message".to_owned(), json!("1e400 is beyond a double")),
                ("name".to_owned(), json!("ValidationError")),
                ("details".to_owned(), details),
            ])))
        })
}

#[tokio::test]
async fn the_worked_exchange_is_what_happens() {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(theirs);
    let served = tokio::spawn(adapter().serve(input, output));
    let (answers, mut requests) = tokio::io::split(ours);
    let mut answers = LineReader::new(answers, MAX_LINE);
    let mut played = 0;
    for line in PAGE.lines() {
        if let Some(request) = line.strip_prefix("→ ") {
            requests.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        } else if let Some(expected) = line.strip_prefix("← ") {
            let got = answers.next_line().await.unwrap().expect("an answer");
            let got: Value = serde_json::from_slice(got).unwrap();
            assert_eq!(got, serde_json::from_str::<Value>(expected).unwrap(), "{line}");
        } else {
            continue;
        }
        played += 1;
    }
    assert!(played > 10, "the page has an exchange");
    served.await.unwrap().unwrap();
}

#[test]
fn every_line_of_the_exchange_is_a_message() {
    for line in PAGE.lines().filter_map(|line| line.strip_prefix("→ ").or(line.strip_prefix("← ")))
    {
        Incoming::parse(line.as_bytes()).unwrap();
    }
}

#[test]
fn the_page_names_the_version_and_the_bound() {
    assert!(PAGE.starts_with(&format!("# The subject protocol, version {PROTOCOL}\n")));
    assert!(PAGE.contains(&format!("up to {} MiB", MAX_LINE >> 20)));
}

//! Where a secret may turn up after it was injected. It must not.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

mod lab;

use std::fs;
use std::sync::{Arc, Mutex};

use lab::{Lab, Made, Secrets};
use rstest::rstest;
use sage_tools::{ToolContext, ToolError, ToolLog, ToolResult};
use serde_json::{Map, Value, json};

const TOKEN: &str = "s3cr3t-Token/42";
const PEM: &str = "-----BEGIN-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\nab\n-----END-----";
const QUOTED: &str = "pa\"ss\\wörd\t🙂";
const SECRETS: [(&str, &str); 8] = [
    ("TOKEN", TOKEN),
    ("PEM", PEM),
    ("QUOTED", QUOTED),
    ("LONGER", "s3cr3t-Token/42-and-more"),
    ("LEFT", "abcdefgh"),
    ("RIGHT", "efghijkl"),
    ("NAMED", "NAMED"),
    ("EMPTY", ""),
];

/// Every text that must be nowhere.
fn hidden() -> Vec<&'static str> {
    let mut hidden = vec![TOKEN, QUOTED, "abcdefgh", "efghijkl", "-and-more", "NAMED", PEM];
    hidden.extend(PEM.lines().filter(|line| line.len() >= 4));
    hidden
}

fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(members) => {
            found.extend(members.keys().cloned());
            members.values().for_each(|value| strings(value, found));
        }
        _ => {}
    }
}

#[track_caller]
fn assert_hidden(lab: &Lab, result: &Value) {
    let mut found = Vec::new();
    strings(result, &mut found);
    lab.logs.lock().unwrap().iter().for_each(|log| strings(log, &mut found));
    for text in &found {
        for secret in hidden() {
            assert!(!text.contains(secret), "{secret:?} is in {text:?}");
        }
    }
}

fn data(value: Value) -> ToolResult {
    ToolResult::done(value)
}

fn error(code: &str, message: &str, properties: Value) -> ToolResult {
    let Value::Object(properties) = properties else { unreachable!("it is an object") };
    ToolResult::failed(ToolError { code: code.to_owned(), message: message.to_owned(), properties })
}

fn log(context: &ToolContext, name: &str, msg: &str, data: Value) {
    context.log(ToolLog {
        ts: "now".to_owned(),
        name: name.to_owned(),
        msg: msg.to_owned(),
        data: Some(data),
    });
}

fn bare(input: &Value) -> String {
    input["x"].as_str().unwrap().to_owned()
}

type Act = fn(Value, &ToolContext) -> ToolResult;

/// What a tool may do with what it was given.
const PLACES: [(&str, Act); 24] = [
    ("the data itself", |input, _| data(bare(&input).into())),
    ("the whole input", |input, _| data(input)),
    ("inside a text", |input, _| data(json!(format!("<<{}>>", bare(&input))))),
    ("twice", |input, _| data(json!(format!("{0}{0}", bare(&input))))),
    ("in a list", |input, _| data(json!([1, [bare(&input)], null]))),
    ("in an object", |input, _| data(json!({"a": {"b": {"c": bare(&input)}}}))),
    ("as a key", |input, _| data(json!({ bare(&input): 1 }))),
    ("inside a key", |input, _| data(json!({"a": {format!("k-{}", bare(&input)): true}}))),
    ("as two keys", |input, _| data(json!({ bare(&input): 1, "[SECRET:TOKEN]": 2 }))),
    ("as JSON", |input, _| data(json!(input.to_string()))),
    ("as JSON in JSON", |input, _| {
        data(json!({"body": json!({"t": input.to_string()}).to_string()}))
    }),
    ("line by line", |input, _| data(bare(&input).lines().map(|line| json!(line)).collect())),
    ("with a CR", |input, _| data(json!(bare(&input).replace('\n', "\r\n")))),
    ("after a part of it", |input, _| {
        data(json!(format!("{}{}", &bare(&input)[..3], bare(&input))))
    }),
    ("an error's message", |input, _| {
        error("EIO", &format!("no {}", bare(&input)), json!({"operation": "x"}))
    }),
    ("an error's code", |input, _| error(&bare(&input), "m", json!({}))),
    ("an error's property", |input, _| {
        error("EPERMISSION", "m", json!({"resource": bare(&input), "operation": "x"}))
    }),
    ("an error's details", |input, _| {
        error(
            "EVALIDATION",
            "m",
            json!({"details": [{"field": bare(&input), "reason": bare(&input), "received": {"v": bare(&input)}}]}),
        )
    }),
    ("an error's cause", |input, _| {
        error("EIO", "m", json!({"operation": "x", "cause": {"code": bare(&input)}}))
    }),
    ("an error's own key", |input, _| {
        error("EIO", "m", Map::from_iter([(bare(&input), json!(1))]).into())
    }),
    ("a log's message", |input, context| {
        log(context, "n", &bare(&input), json!(1));
        data(json!(1))
    }),
    ("a log's name", |input, context| {
        log(context, &bare(&input), "m", json!(1));
        data(json!(1))
    }),
    ("a log's data", |input, context| {
        log(context, "n", "m", input.clone());
        data(json!(1))
    }),
    ("a log and an error", |input, context| {
        log(context, "n", &bare(&input), json!({ bare(&input): 1 }));
        error("EIO", &bare(&input), json!({}))
    }),
];

/// What is injected.
const INPUTS: [&str; 7] = [
    "$ENV.TOKEN",
    "$ENV.PEM",
    "$ENV.QUOTED",
    "Bearer $ENV.TOKEN,$ENV.LONGER $ENV.TOKEN",
    "$ENV.LEFT$ENV.RIGHT|abcd$ENV.RIGHT",
    "$ENV.NAMED",
    "$ENV.EMPTY$ENV.TOKEN$ENV.QUOTED$ENV.PEM",
];

#[tokio::test]
async fn no_tool_can_tell_a_secret() {
    let mut placements = 0;
    for (place, act) in PLACES {
        for text in INPUTS {
            let mut lab = Lab::with_secrets(&SECRETS);
            let schema = json!({"additionalProperties": true});
            lab.registry.register(Arc::new(Made { name: "Teller", schema, act })).unwrap();
            let input = json!({"x": text, "deep": {"er": [text, {"n": 1}]}});
            let result = lab.run("Teller", input).await;
            assert_hidden(&lab, &result);
            assert!(result["error"]["code"] != "ESECRET_NOT_FOUND", "{place}: {result}");
            placements += 1;
        }
    }
    println!("{placements} placements");
}

#[rstest]
#[case::echo(json!({"command": "echo", "args": ["$ENV.TOKEN"]}))]
#[case::stderr(json!({"command": "/bin/sh", "args": ["-c", "echo \"$1\" >&2", "sh", "$ENV.TOKEN"]}))]
#[case::script(json!({"command": "/bin/sh", "args": ["-c", "echo $ENV.TOKEN; exit 3"]}))]
#[case::many_lines(json!({"command": "/bin/sh", "args": ["-c", "echo \"$1\" | sed 's/^/> /'", "sh", "$ENV.PEM"]}))]
#[case::both(json!({"command": "/bin/sh", "args": ["-c", "printf %s%s \"$1\" \"$2\"", "sh", "$ENV.LEFT", "$ENV.RIGHT"]}))]
#[case::odd_bytes(json!({"command": "/bin/sh", "args": ["-c", "printf '\\377%s\\377' \"$1\"", "sh", "$ENV.QUOTED"]}))]
#[case::no_such_program(json!({"command": "./$ENV.TOKEN"}))]
#[case::failing_script(json!({"command": "/bin/sh", "args": ["$ENV.TOKEN"]}))]
#[case::late(json!({"command": "/bin/sh", "args": ["-c", "echo $ENV.TOKEN; sleep 60"], "timeoutMs": 100}))]
#[case::invalid(json!({"command": "x", "timeoutMs": "$ENV.TOKEN"}))]
#[case::extra(json!({"command": "x", "extra": "$ENV.TOKEN"}))]
#[tokio::test]
async fn no_program_can_tell_a_secret(#[case] input: Value, #[values(false, true)] dry_run: bool) {
    let mut lab = Lab::with_secrets(&SECRETS);
    lab.context.dry_run = dry_run;
    let result = lab.run("Bash", input).await;
    assert_hidden(&lab, &result);
}

#[rstest]
#[case::content("Write", json!({"file": "a", "content": "$ENV.TOKEN"}))]
#[case::path("Write", json!({"file": "$ENV.TOKEN", "content": ""}))]
#[case::escaping_path("Write", json!({"file": "../$ENV.TOKEN", "content": ""}))]
#[case::missing_file("Read", json!({"file": "$ENV.TOKEN"}))]
#[case::read_back("Read", json!({"file": "kept-$ENV.LEFT"}))]
#[case::patch("Edit", json!({"file": "old", "patch": "@@ -1 +1 @@\n-old\n+$ENV.TOKEN\n"}))]
#[case::bad_patch("Edit", json!({"file": "old", "patch": "@@ $ENV.TOKEN @@\n-old\n+$ENV.TOKEN\n"}))]
#[case::query("GraphQuery", json!({"query": "$ENV.TOKEN", "params": {"$ENV": "$ENV.PEM"}, "commit": "$ENV.NAMED"}))]
#[tokio::test]
async fn no_file_tool_can_tell_a_secret(
    #[case] tool: &str,
    #[case] input: Value,
    #[values(false, true)] dry_run: bool,
) {
    let mut lab = Lab::with_secrets(&SECRETS);
    fs::write(lab.at("old"), "old\n").unwrap();
    fs::write(lab.at("kept-abcdefgh"), format!("found: abcdefgh {TOKEN}")).unwrap();
    lab.context.dry_run = dry_run;
    let result = lab.run(tool, input.clone()).await;
    if input["file"] == "kept-$ENV.LEFT" {
        // `TOKEN` was not injected in this call, so nobody knows it.
        assert_eq!(result["data"]["content"], format!("found: [SECRET:LEFT] {TOKEN}"));
        return;
    }
    assert_hidden(&lab, &result);
}

/// The tool itself gets the values, or all of this would be easy.
#[tokio::test]
async fn the_tool_gets_the_values() {
    let mut lab = Lab::with_secrets(&SECRETS);
    let seen = Arc::new(Mutex::new(Value::Null));
    let kept = Arc::clone(&seen);
    let act = move |input: Value, _: &ToolContext| {
        *kept.lock().unwrap() = input;
        data(json!(1))
    };
    let schema = json!({"additionalProperties": true});
    lab.registry.register(Arc::new(Made { name: "Keeper", schema, act })).unwrap();
    let input = json!({"$ENV.TOKEN": ["<$ENV.TOKEN>", {"a": "$ENV.EMPTY|$ENV.PEM"}], "n": 1});
    lab.run("Keeper", input).await;
    let expect = json!({"$ENV.TOKEN": [format!("<{TOKEN}>"), {"a": format!("|{PEM}")}], "n": 1});
    assert_eq!(*seen.lock().unwrap(), expect);
    lab.run("Write", json!({"file": "a", "content": "$ENV.TOKEN"})).await;
    assert_eq!(fs::read_to_string(lab.at("a")).unwrap(), TOKEN);
}

#[tokio::test]
async fn marks_of_redacted_secrets() {
    let lab = Lab::with_secrets(&SECRETS);
    let result = lab.run("Bash", json!({"command": "echo", "args": ["-n", "<$ENV.TOKEN>"]})).await;
    assert_eq!(result["data"], json!({"code": 0, "stdout": "<[SECRET:TOKEN]>", "stderr": ""}));
}

#[rstest]
#[case::missing("$ENV.NOPE", "NOPE")]
#[case::broken("a $ENV.BROKEN", "BROKEN")]
#[case::one_of_two("$ENV.TOKEN$ENV.NOPE", "NOPE")]
#[tokio::test]
async fn a_missing_secret_stops_the_call(#[case] text: &str, #[case] name: &str) {
    let lab = Lab::with_secrets(&SECRETS);
    let result = lab.run("Write", json!({"file": "a", "content": text})).await;
    assert_eq!(result["ok"], false);
    assert_eq!(result["error"]["code"], "ESECRET_NOT_FOUND");
    assert_eq!(result["error"]["resource"], name);
    assert_eq!(result["error"]["operation"], "read");
    assert!(!result.to_string().contains("hunter2"), "the provider's words are not repeated");
    assert!(!lab.at("a").exists());
}

#[tokio::test]
async fn each_secret_is_fetched_once_and_only_with_permission() {
    let mut lab = Lab::new();
    let values = SECRETS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let secrets = Arc::new(Secrets { values: values.collect(), asked: Mutex::default() });
    lab.context.secrets = Some(secrets.clone());
    let input = json!({"command": "$ENV.LEFT", "args": ["$ENV.TOKEN$ENV.LEFT", "$ENV.TOKEN"]});
    lab.run("Bash", input.clone()).await;
    assert_eq!(*secrets.asked.lock().unwrap(), ["LEFT", "TOKEN"]);
    lab.context.permissions.clear();
    let result = lab.run("Bash", input).await;
    assert_eq!(result["error"]["code"], "EPERMISSION");
    assert_eq!(result["error"]["resource"], "$ENV.LEFT");
    assert_eq!(secrets.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn without_a_provider_texts_stay_as_they_are() {
    let lab = Lab::new();
    lab.run("Write", json!({"file": "a", "content": "$ENV.TOKEN"})).await;
    assert_eq!(fs::read_to_string(lab.at("a")).unwrap(), "$ENV.TOKEN");
}

/// The cut of long output falls on every character of a secret.
#[tokio::test]
async fn a_cut_leaves_no_part_of_a_secret() {
    let lab = Lab::with_secrets(&SECRETS);
    let limit = 1 << 20;
    for back in 0..=TOKEN.len() + 1 {
        let script = format!(
            "head -c {} /dev/zero | tr '\\0' .; printf %s \"$1\"; echo rest; head -c 100 /dev/zero",
            limit - back
        );
        let input = json!({"command": "/bin/sh", "args": ["-c", script, "sh", "$ENV.TOKEN"]});
        let result = lab.run("Bash", input).await;
        let stdout = result["data"]["stdout"].as_str().unwrap();
        assert!(stdout.contains("truncated"));
        let kept = stdout.trim_start_matches('.');
        assert!(!kept.contains("s3"), "{back}: {kept}");
    }
}

/// The reported text is much shorter than the input, so the end of the input shows.
#[tokio::test]
async fn a_cut_inside_a_long_secret_leaves_no_part_of_it() {
    let long: String = (0..700).map(|n| format!("{n:04}")).collect();
    let lab = Lab::with_secrets(&[("LONG", &long)]);
    let script = "n=0; while [ $n -lt 600 ]; do printf %s \"$1\"; n=$((n+1)); done";
    let input = json!({"command": "/bin/sh", "args": ["-c", script, "sh", "$ENV.LONG"]});
    let result = lab.run("Bash", input).await;
    let stdout = result["data"]["stdout"].as_str().unwrap();
    assert!(stdout.contains("truncated"));
    assert!(!stdout.contains("0000"), "{}", &stdout[stdout.len() - 100..]);
}

#[tokio::test]
async fn nothing_that_is_printed_for_debugging_holds_a_value() {
    let mut lab = Lab::with_secrets(&SECRETS);
    lab.context.env.insert("KEY".to_owned(), TOKEN.to_owned());
    let printed = format!("{:?} {:?}", lab.context, lab.registry);
    assert!(!printed.contains(TOKEN));
}

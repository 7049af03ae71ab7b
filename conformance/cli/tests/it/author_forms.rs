//! All forms of cases in an author's own suite, against a subject written in shell.

use std::fs;

use crate::common::PROOFMARK;
use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Answers every call with `$ANSWER` (an adapter error if it begins with a code), in which `@ws@` is the session's
/// workspace. If the operation is `$ASK`, it first asks a fake.
const SUBJECT: &str = r#"
    while read -r line; do
        id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\),.*/\1/')
        result='{}'
        case "$line" in
            *'"method":"hello"'*) result='{"protocol":1,"name":"own","version":"1","language":"sh","contracts":["own"]}' ;;
            *'"method":"open"'*)
                session=$(printf %s "$line" | sed 's/.*"session":"\([^"]*\)".*/\1/')
                workspace=$(printf %s "$line" | sed 's/.*"workspace":"\([^"]*\)".*/\1/') ;;
            *'"method":"call"'*)
                case "$line" in *"\"operation\":\"$ASK\""*)
                    printf '{"jsonrpc":"2.0","id":%s,"method":"fake","params":{"session":"%s","fake":"secrets","method":"get","args":{"key":"K"}}}\n' "$id" "$session"
                    read -r answer ;;
                esac
                result=$(printf %s "$ANSWER" | sed "s|@ws@|$workspace|")
                case "$line" in *'"file":"/'*) printf '"seen"\n' > "$workspace/seen.json" ;; esac ;;
        esac
        kind=result
        case "$result" in '{"code":'*) kind=error ;; esac
        printf '{"jsonrpc":"2.0","id":%s,"%s":%s}\n' "$id" "$kind" "$result"
        case "$line" in *'"method":"shutdown"'*) exit ;; esac
    done
"#;

/// Runs one case of an author's own contract and returns its verdict.
fn verdict(steps: Value, answer: &str, ask: &str) -> Value {
    let folder = TempDir::new().unwrap();
    let contract = folder.path().join("fixtures/own");
    fs::create_dir_all(&contract).unwrap();
    let ledger = r#"
        contract = "own"
        title = "Own"
        text = "own.md"
        prefix = "OWN"
        workspace = true
        operations = ["own.one", "own.two"]

        [[requirement]]
        id = "OWN-001"
        level = "must"
        basis = "contract"
        sentence = "It works."
        source = "Own"
    "#;
    fs::write(contract.join("requirements.toml"), ledger).unwrap();
    let case = json!({
        "id": "form/it", "why": "It works.", "shows": ["OWN-001"], "origin": "contract",
        "given": { "fakes": { "secrets": { "values": { "K": "v" } } } }, "steps": steps,
    });
    let file = json!({ "contract": "own", "topic": "form", "cases": [case] });
    fs::write(contract.join("form.json"), file.to_string()).unwrap();
    let output = Command::new(PROOFMARK)
        .args(["run", "--format", "json", "--suite"])
        .arg(folder.path())
        .args(["--", "sh", "-c", SUBJECT])
        .env("ANSWER", answer)
        .env("ASK", ask)
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    report["cases"][0].clone()
}

fn call(operation: &str, further: Value) -> Value {
    let mut call = json!({ "call": operation, "returns": null });
    call.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    call
}

const NULL: &str = r#"{"value":null}"#;

#[test]
fn calls_of_fakes_made_too_early_do_not_count_for_the_next_call() {
    let asks = json!({ "asks": [{ "fake": "secrets", "method": "get", "args": { "key": "K" } }] });
    let steps = json!([
        { "together": [call("own.one", json!({})), call("own.one", json!({ "process": "b" }))] },
        call("own.two", asks),
    ]);
    assert_eq!(verdict(steps.clone(), NULL, "own.two")["verdict"], "passed");
    let early = verdict(steps, NULL, "own.one");
    let shown = "the calls of fakes are not as expected";
    assert_eq!(early["failure"]["message"], shown, "{early}");
}

const STRAY: &str = "`secrets.get` was called outside of any call";

/// Two calls at once, in two processes, because the shell subject handles one at a time.
fn at_once() -> Value {
    json!({ "together": [call("own.one", json!({ "process": "b" })), call("own.two", json!({}))] })
}

#[test]
fn calls_of_fakes_during_several_calls_belong_to_none() {
    let steps = json!([at_once(), call("own.two", json!({}))]);
    assert_eq!(verdict(steps.clone(), NULL, "none")["verdict"], "passed");
    assert_eq!(verdict(steps, NULL, "own.one")["failure"]["message"], STRAY);
}

#[test]
fn calls_of_fakes_are_not_forgotten_when_a_process_is_killed() {
    let steps = json!([at_once(), { "kill": "b" }, call("own.two", json!({}))]);
    assert_eq!(verdict(steps.clone(), NULL, "none")["verdict"], "passed");
    assert_eq!(verdict(steps, NULL, "own.one")["failure"]["message"], STRAY);
}

#[test]
fn refs_keep_earlier_paths_and_compare_files_with_answers() {
    let steps = json!([
        { "call": "own.one", "as": "made", "returns": { "file": "<workspace>/x", "word": "seen" } },
        { "call": "own.two", "args": { "file": { "$ref": "made/file" } }, "returns": { "$ref": "made" } },
        { "leaves": { "seen.json": { "ndjson": [{ "$ref": "made/word" }] } } },
    ]);
    let answer = r#"{"value":{"file":"@ws@/x","word":"seen"}}"#;
    let verdict = verdict(steps, answer, "none");
    assert_eq!(verdict["verdict"], "passed", "{verdict}");
}

#[test]
fn a_reference_to_a_missing_member_blocks_the_case() {
    let steps = json!([
        { "call": "own.one", "as": "made", "returns": { "$any": "object" } },
        { "call": "own.two", "args": { "handle": { "$ref": "made/handle" } }, "returns": {} },
    ]);
    let verdict = verdict(steps, r#"{"value":{}}"#, "none");
    assert_eq!(verdict["verdict"], "blocked");
    assert_eq!(
        verdict["failure"]["message"],
        "the call needs something that an earlier answer does not have"
    );
    assert_eq!(
        verdict["failure"]["difference"],
        json!({
            "path": "$.handle",
            "expected": "a value in the answer that the case calls `made`",
            "got": "nothing: the member is missing"
        })
    );
}

#[test]
fn adapter_errors_do_not_reveal_the_workspace_path() {
    let steps = json!([{ "call": "own.one", "returns": null }]);
    let verdict = verdict(steps, r#"{"code":-32000,"message":"no file @ws@/x"}"#, "none");
    let shown = verdict["failure"]["message"].as_str().unwrap();
    assert!(shown.contains("no file <workspace>/x"), "{shown}");
}

#[test]
fn an_error_without_a_message_or_with_a_wrong_name_is_a_bad_answer() {
    for error in
        [r#"{"code":"E"}"#, r#"{"code":"E","message":1}"#, r#"{"code":"E","message":"m","name":1}"#]
    {
        let steps = json!([{ "call": "own.one", "fails": { "code": "E" } }]);
        let verdict = verdict(steps, &format!(r#"{{"error":{error}}}"#), "none");
        assert_eq!(verdict["failure"]["reason"], "bad-answer", "{error}");
    }
}

//! The fake `tools`: every form of an answer, and every wrong call.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proofmark_fakes::clock::ScriptedClock;
use proofmark_fakes::host::{Host, Response};
use proofmark_fakes::workspace::TempWorkspace;
use proofmark_fakes_sage::KINDS;
use proofmark_fakes_sage::SageClock;
use proofmark_fakes_sage::tools::{ScriptedTool, ScriptedTools};
use rstest::rstest;
use sage_tools::{Registry, ToolContext, Workspace};
use serde_json::{Value, json};

fn playing(results: Value) -> Host {
    Host::new(&BTreeMap::from([("tools".to_owned(), json!({"results": results}))]), KINDS)
        .expect("a good script")
}

fn execute(host: &mut Host, name: &str) -> Result<Response, String> {
    host.call(5, "tools", "execute", &json!({"name": name, "input": {"a": 1}}))
}

#[rstest]
#[case::value(
    json!({"value": {"ok": true, "data": [1]}}),
    Response::Now { reply: Ok(json!({"ok": true, "data": [1]})), recorded: true }
)]
#[case::refusal(
    json!({"value": {"ok": false, "error": {"code": "X", "message": "no"}}}),
    Response::Now { reply: Ok(json!({"ok": false, "error": {"code": "X", "message": "no"}})), recorded: true }
)]
#[case::log(
    json!({"value": {"ok": true, "log": [{"ts": "t", "name": "n", "msg": "m", "data": 1}]}}),
    Response::Now {
        reply: Ok(json!({"ok": true, "log": [{"ts": "t", "name": "n", "msg": "m", "data": 1}]})),
        recorded: true,
    }
)]
#[case::error(
    json!({"error": {"code": "EIO", "message": "gone", "operation": "read"}}),
    Response::Now {
        reply: Err(json!({"name": "TypedError", "code": "EIO", "message": "gone", "operation": "read"})),
        recorded: true,
    }
)]
#[case::stall(json!({"stall": true}), Response::Later { recorded: true })]
fn a_tool_answers_as_scripted(#[case] answer: Value, #[case] expect: Response) {
    let mut host = playing(json!({"T": [answer]}));
    assert_eq!(execute(&mut host, "T"), Ok(expect));
    assert_eq!(
        execute(&mut host, "T"),
        Err("the script of the tool `T` has 1 answers; this is call 2".to_owned())
    );
    assert_eq!(host.released(), []);
}

#[test]
fn each_tool_has_its_own_answers_in_order() {
    let value = |data: i64| json!({"value": {"ok": true, "data": data}});
    let mut host = playing(json!({"A": [value(1), value(2)], "B": [value(3)]}));
    let mut data = |name| match execute(&mut host, name) {
        Ok(Response::Now { reply: Ok(reply), recorded: true }) => reply["data"].clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(["A", "B", "A"].map(&mut data), [json!(1), json!(3), json!(2)]);
}

#[rstest]
#[case("run", json!({}), "no method `run`; it has `execute`")]
#[case("execute", json!({"name": "X", "input": 1}), "plays no tool `X`; it plays `A` and `B`")]
#[case("execute", json!({"name": "a", "input": 1}), "plays no tool `a`")]
#[case("execute", json!({"name": "B", "input": 1}), "`B` has 0 answers; this is call 1")]
#[case("execute", json!({"name": "A"}), "takes an `input`")]
#[case("execute", json!({"input": 1}), "`name`, which is missing")]
#[case("execute", json!({"name": "A", "input": 1, "ctx": {}}), "takes an object with `name` and `input`")]
fn wrong_calls_are_refused(#[case] method: &str, #[case] args: Value, #[case] expect: &str) {
    let mut host = playing(json!({"A": [{"value": {"ok": true}}], "B": []}));
    let found = host.call(0, "tools", method, &args).unwrap_err();
    assert!(found.contains(expect), "{found}");
    assert!(execute(&mut host, "A").is_ok(), "a mistake uses up no answer");
}

#[rstest]
#[case(json!({"result": {}}), "no member `result`; it has `results`")]
#[case(json!({"results": []}), "`results` must be an object")]
#[case(json!({"results": {"T": {}}}), "`results.T` must be an array")]
#[case(json!({"results": {"T": [{}]}}), "`results.T[0]` must have exactly one of `value`, `error` and `stall`")]
#[case(json!({"results": {"T": [{"value": {"ok": true}, "stall": true}]}}), "exactly one of")]
#[case(json!({"results": {"T": [{"ok": true}]}}), "`results.T[0]` has no member `ok`")]
#[case(json!({"results": {"T": [{"value": {"data": 1}}]}}), "`results.T[0].value.ok` must be true or false")]
#[case(json!({"results": {"T": [{"value": {"ok": true, "dat": 1}}]}}), "no member `dat`")]
#[case(json!({"results": {"T": [{"value": {"ok": false, "error": {"code": "X"}}}]}}), "value.error.message` is missing")]
#[case(json!({"results": {"T": [{"value": {"ok": true, "log": [{"ts": "t", "name": "n"}]}}]}}), "value.log[0].msg` is missing")]
#[case(json!({"results": {"T": [{"error": {"message": "x"}}]}}), "error.code` is missing")]
#[case(json!({"results": {"T": [{"stall": "yes"}]}}), "`results.T[0].stall` must be true")]
fn wrong_scripts_are_refused(#[case] script: Value, #[case] expect: &str) {
    let found = Host::check("tools", &script, KINDS).unwrap_err();
    assert!(found.contains(expect), "{found}");
}

/// Through the real registry: the log is written first and is not part of the result.
#[rstest]
#[case::log(
    json!({"value": {"ok": true, "data": 1, "log": [{"ts": "t", "name": "n", "msg": "m"}, {"ts": "u", "name": "n", "msg": "o", "data": [2]}]}}),
    json!({"ok": true, "data": 1}),
    json!([{"ts": "t", "name": "n", "msg": "m"}, {"ts": "u", "name": "n", "msg": "o", "data": [2]}])
)]
#[case::error(
    json!({"error": {"code": "EIO", "message": "gone", "operation": "read"}}),
    json!({"ok": false, "error": {"code": "EIO", "message": "gone", "operation": "read"}}),
    json!([])
)]
#[tokio::test]
async fn a_scripted_tool_can_be_registered(
    #[case] answer: Value,
    #[case] expect: Value,
    #[case] logged: Value,
) {
    let folder = TempWorkspace::new("tools-").unwrap();
    let script = ScriptedTools::from_script(&json!({"results": {"T": [answer]}})).unwrap();
    let script = Arc::new(script);
    let mut registry = Registry::new();
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    registry.register(Arc::new(ScriptedTool::new("T", schema, Arc::clone(&script)))).unwrap();
    let mut context = ToolContext::new(Arc::new(Workspace::open(folder.root()).unwrap()));
    let logs = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&logs);
    context.logger = Some(Arc::new(move |log| listener.lock().unwrap().push(log.to_json())));
    let clock = SageClock(ScriptedClock::new("2024-01-01T00:00:00.000Z", 5).unwrap());

    let refused = sage_tools::run(&registry, &clock, "T", json!({"b": 1}), &context).await;
    assert_eq!(refused.to_json()["error"]["code"], "EVALIDATION");
    assert_eq!(script.asked(), []);
    let mut result = sage_tools::run(&registry, &clock, "T", json!({"a": 1}), &context).await;
    assert_eq!(result.meta.take().unwrap().duration_ms, 5);
    assert_eq!(result.to_json(), expect);
    assert_eq!(Value::Array(logs.lock().unwrap().clone()), logged);
    assert_eq!(script.asked(), [("T".to_owned(), json!({"a": 1}))]);
}

//! The fake `llm` as a session plays it: every form of a turn, every fault, every wrong call.

use std::collections::BTreeMap;

use proofmark_fakes::host::{Host, Response};
use proofmark_fakes_sage::KINDS;
use rstest::rstest;
use serde_json::{Value, json};

/// One provider `p` with these turns.
fn playing(turns: Value) -> Host {
    let script = json!({"providers": {"p": {"models": ["m1", "m2"], "turns": turns}}});
    Host::new(&BTreeMap::from([("llm".to_owned(), script)]), KINDS).expect("a good script")
}

fn chat(host: &mut Host) -> Result<Response, String> {
    host.call(
        0,
        "llm",
        "chat",
        &json!({"provider": "p", "options": {"model": "m", "messages": []}}),
    )
}

fn next(host: &mut Host, ticket: u64, id: &str) -> Result<Response, String> {
    host.call(ticket, "llm", "next", &json!({"stream": id}))
}

fn stop(host: &mut Host, id: &str) -> Result<Response, String> {
    host.call(99, "llm", "stop", &json!({"stream": id}))
}

fn recorded(value: Value) -> Result<Response, String> {
    Ok(Response::Now { reply: Ok(value), recorded: true })
}

fn unnoted(value: Value) -> Result<Response, String> {
    Ok(Response::Now { reply: Ok(value), recorded: false })
}

fn text(value: &str) -> Value {
    json!({"type": "text", "value": value})
}

#[rstest]
#[case::text(json!({"text": "yes"}), recorded(json!({"text": "yes"})))]
#[case::empty_text(json!({"text": ""}), recorded(json!({"text": ""})))]
#[case::events(json!({"events": []}), recorded(json!({"stream": "1"})))]
#[case::stall(json!({"stall": true}), Ok(Response::Later { recorded: true }))]
#[case::error(
    json!({"error": {"code": "EIO", "message": "gone", "operation": "connect"}}),
    Ok(Response::Now {
        reply: Err(json!({"name": "TypedError", "code": "EIO", "message": "gone", "operation": "connect"})),
        recorded: true,
    })
)]
#[case::named_error(
    json!({"error": {"name": "Odd", "code": "X", "message": "", "cause": [1]}}),
    Ok(Response::Now {
        reply: Err(json!({"name": "Odd", "code": "X", "message": "", "cause": [1]})),
        recorded: true,
    })
)]
fn a_turn_is_what_chat_answers(#[case] turn: Value, #[case] expect: Result<Response, String>) {
    let mut host = playing(json!([turn]));
    assert_eq!(chat(&mut host), expect);
    assert_eq!(host.released(), []);
    assert_eq!(
        chat(&mut host),
        Err("the provider `p` has no answer: its only turn was taken".to_owned())
    );
}

#[rstest]
#[case::text(text("a"), text("a"))]
#[case::call(
    json!({"type": "tool_call", "toolName": "T", "arguments": {"b": 1, "a": 2}, "callId": "c"}),
    json!({"type": "tool_call", "toolName": "T", "arguments": {"b": 1, "a": 2}, "callId": "c"})
)]
#[case::result(
    json!({"type": "tool_result", "callId": "c", "result": null}),
    json!({"type": "tool_result", "callId": "c", "result": null})
)]
#[case::end(json!({"type": "end"}), json!({"type": "end"}))]
#[case::end_with_usage(
    json!({"type": "end", "usage": {"prompt": 1, "completion": 2}}),
    json!({"type": "end", "usage": {"prompt": 1, "completion": 2}})
)]
#[case::anything(json!({"event": "no event"}), json!("no event"))]
#[case::null(json!({"event": null}), json!(null))]
#[case::wrapped(json!({"event": {"stall": true}}), json!({"stall": true}))]
fn an_item_is_sent_as_it_is(#[case] item: Value, #[case] expect: Value) {
    let mut host = playing(json!([{"events": [item]}]));
    chat(&mut host).unwrap();
    // Compared as text, because members keep the script's order.
    let Ok(Response::Now { reply: Ok(reply), recorded: false }) = next(&mut host, 1, "1") else {
        panic!("not answered at once");
    };
    assert_eq!(reply.to_string(), json!({"event": expect}).to_string());
    assert_eq!(next(&mut host, 2, "1"), unnoted(json!({"done": true})));
    assert_eq!(
        next(&mut host, 3, "1"),
        Err("stream `1` is over; ask for no more of it".to_owned())
    );
    assert_eq!(stop(&mut host, "1"), unnoted(Value::Null));
}

#[test]
fn an_error_ends_a_stream() {
    let fault = json!({"error": {"code": "EIO", "message": "cut"}});
    let mut host =
        playing(json!([{"events": [text("a"), fault, text("b")], "endless": text("c")}]));
    chat(&mut host).unwrap();
    assert_eq!(next(&mut host, 1, "1"), unnoted(json!({"event": text("a")})));
    let error = json!({"name": "TypedError", "code": "EIO", "message": "cut"});
    assert_eq!(next(&mut host, 2, "1"), Ok(Response::Now { reply: Err(error), recorded: false }));
    assert!(next(&mut host, 3, "1").unwrap_err().contains("is over"));
    assert_eq!(stop(&mut host, "1"), unnoted(Value::Null));
}

#[test]
fn a_stalled_next_is_set_free_by_stop() {
    let mut host = playing(json!([{"events": [text("a"), {"stall": true}, text("b")]}]));
    chat(&mut host).unwrap();
    next(&mut host, 1, "1").unwrap();
    assert_eq!(next(&mut host, 42, "1"), Ok(Response::Later { recorded: false }));
    assert_eq!(host.released(), []);
    let twice = next(&mut host, 43, "1").unwrap_err();
    assert!(twice.contains("one `next` at a time"), "{twice}");
    assert_eq!(stop(&mut host, "1"), recorded(Value::Null));
    assert_eq!(host.released(), [(42, Ok(json!({"done": true})))]);
    assert_eq!(host.released(), []);
    assert!(next(&mut host, 44, "1").unwrap_err().contains("is over"));
    assert_eq!(stop(&mut host, "1"), unnoted(Value::Null));
    assert_eq!(host.released(), []);
}

#[test]
fn a_next_that_crosses_a_stop_gets_done() {
    let mut host = playing(json!([{"events": [text("a"), text("b")]}]));
    chat(&mut host).unwrap();
    assert_eq!(stop(&mut host, "1"), recorded(Value::Null));
    assert_eq!(stop(&mut host, "1"), unnoted(Value::Null));
    assert_eq!(next(&mut host, 1, "1"), unnoted(json!({"done": true})));
    assert!(next(&mut host, 2, "1").unwrap_err().contains("is over"));
}

#[test]
fn endless_goes_on_after_the_items() {
    let mut host = playing(json!([{"events": [text("a")], "endless": text("b")}]));
    chat(&mut host).unwrap();
    assert_eq!(next(&mut host, 1, "1"), unnoted(json!({"event": text("a")})));
    for ticket in 2..2_000 {
        assert_eq!(next(&mut host, ticket, "1"), unnoted(json!({"event": text("b")})));
    }
    assert_eq!(stop(&mut host, "1"), recorded(Value::Null));
}

/// A consumer may stop at `end`, or ask once more and get `done`.
#[rstest]
#[case::nothing_left(json!({"events": [text("a")]}), 1, false)]
#[case::something_left(json!({"events": [text("a"), text("b")]}), 1, true)]
#[case::stall_left(json!({"events": [text("a"), {"stall": true}]}), 1, true)]
#[case::not_begun(json!({"events": [text("a")]}), 0, true)]
#[case::after_end(json!({"events": [{"type": "end"}, text("late")]}), 1, false)]
#[case::endless_after_end(json!({"events": [{"type": "end"}], "endless": text("late")}), 1, false)]
#[case::empty(json!({"events": []}), 0, false)]
fn a_stop_is_recorded_only_if_something_was_left(
    #[case] turn: Value,
    #[case] taken: u64,
    #[case] counts: bool,
) {
    let mut host = playing(json!([turn]));
    chat(&mut host).unwrap();
    for ticket in 0..taken {
        next(&mut host, ticket, "1").unwrap();
    }
    assert_eq!(
        stop(&mut host, "1"),
        Ok(Response::Now { reply: Ok(Value::Null), recorded: counts })
    );
}

#[test]
fn streams_are_independent_and_numbered_in_order() {
    let stream = |word: &str| json!({"events": [text(word), {"stall": true}]});
    let mut host = playing(json!([stream("a"), {"text": "b"}, stream("c")]));
    assert_eq!(chat(&mut host), recorded(json!({"stream": "1"})));
    assert_eq!(chat(&mut host), recorded(json!({"text": "b"})));
    assert_eq!(chat(&mut host), recorded(json!({"stream": "2"})));
    assert_eq!(next(&mut host, 1, "2"), unnoted(json!({"event": text("c")})));
    assert_eq!(next(&mut host, 2, "1"), unnoted(json!({"event": text("a")})));
    next(&mut host, 3, "1").unwrap();
    next(&mut host, 4, "2").unwrap();
    stop(&mut host, "2").unwrap();
    assert_eq!(host.released(), [(4, Ok(json!({"done": true})))]);
    let used = chat(&mut host).unwrap_err();
    assert!(used.ends_with("all of its 3 turns were taken"), "{used}");
}

#[test]
fn models_are_listed_by_provider() {
    let mut host = playing(json!([]));
    let models = host.call(0, "llm", "models", &json!({"provider": "p"}));
    assert_eq!(models, recorded(json!([{"name": "m1"}, {"name": "m2"}])));
    let script = json!({"providers": {"q": {}}});
    let mut host = Host::new(&BTreeMap::from([("llm".to_owned(), script)]), KINDS).unwrap();
    assert_eq!(host.call(0, "llm", "models", &json!({"provider": "q"})), recorded(json!([])));
}

#[rstest]
#[case::method("talk", json!({}), "no method `talk`; it has `models`, `chat`, `next` and `stop`")]
#[case::provider("models", json!({"provider": "x"}), "plays no provider `x`; it plays p")]
#[case::chat_provider("chat", json!({"provider": "x", "options": {}}), "no provider `x`")]
#[case::no_provider("models", json!({}), "a string `provider`, which is missing")]
#[case::no_options("chat", json!({"provider": "p"}), "takes an object `options`")]
#[case::options("chat", json!({"provider": "p", "options": []}), "takes an object `options`")]
#[case::extra("chat", json!({"provider": "p", "options": {}, "x": 1}), "`provider` and `options`")]
#[case::stream("next", json!({"stream": "7"}), "there is no stream `7`")]
#[case::number("next", json!({"stream": 1}), "a string `stream`, not 1")]
#[case::stop("stop", json!({"stream": "7"}), "there is no stream `7`")]
#[case::no_object("stop", json!("1"), "takes an object with `stream`")]
#[case::no_turns("chat", json!({"provider": "p", "options": {}}), "its script has no turns")]
fn wrong_calls_are_refused(#[case] method: &str, #[case] args: Value, #[case] expect: &str) {
    let found = playing(json!([])).call(0, "llm", method, &args).unwrap_err();
    assert!(found.contains(expect), "{found}");
}

#[rstest]
#[case(json!([]), "`llm` must be an object with `providers`")]
#[case(json!({"provider": {}}), "`llm` has no member `provider`; it has `providers`")]
#[case(json!({"providers": []}), "`providers` must be an object by name")]
#[case(json!({"providers": {"p": {"turn": []}}}), "`providers.p` has no member `turn`")]
#[case(json!({"providers": {"p": {"models": [1]}}}), "`providers.p.models[0]` must be a string")]
#[case(json!({"providers": {"p": {"models": "m"}}}), "`providers.p.models` must be an array")]
#[case(json!({"providers": {"p": {"seed": -1}}}), "`providers.p.seed` must be a whole number")]
#[case(json!({"providers": {"p": {"seed": 1.5}}}), "`providers.p.seed` must be a whole number")]
#[case(json!({"providers": {"p": {"seed": 1, "turns": []}}}), "only one of them")]
#[case(json!({"providers": {"p": {"turns": {}}}}), "`providers.p.turns` must be an array")]
fn wrong_scripts_are_refused(#[case] script: Value, #[case] expect: &str) {
    let found = Host::check("llm", &script, KINDS).unwrap_err();
    assert!(found.starts_with("the script of the fake `llm` is wrong: "), "{found}");
    assert!(found.contains(expect), "{found}");
}

#[rstest]
#[case(json!({}), "`providers.p.turns[0]` must have exactly one of `text`, `events`, `error` and `stall`")]
#[case(json!({"text": "a", "stall": true}), "exactly one of")]
#[case(json!({"text": 1}), "turns[0].text` must be a string, not 1")]
#[case(json!({"text": "a", "endless": {"type": "end"}}), "`endless` belongs to `events`")]
#[case(json!({"texts": "a"}), "no member `texts`")]
#[case(json!({"stall": false}), "stall` must be true")]
#[case(json!({"error": "x"}), "turns[0].error` must be an error with `code` and `message`")]
#[case(json!({"error": {"code": "X"}}), "turns[0].error.message` is missing")]
#[case(json!({"error": {"code": 1, "message": ""}}), "turns[0].error.code` must be a string")]
#[case(json!({"events": {}}), "turns[0].events` must be an array")]
#[case(json!({"events": ["a"]}), "turns[0].events[0]` is not a StreamEvent: a string instead of an object")]
#[case(json!({"events": [{"type": "txt"}]}), "`type` is \"txt\"; right are text, tool_call, tool_result, end")]
#[case(json!({"events": [{"type": "text"}]}), "`value` is missing")]
#[case(json!({"events": [{"type": "text", "value": 1}]}), "`value` must be a string")]
#[case(json!({"events": [{"type": "text", "value": "", "x": 1}]}), "it has a member \"x\" that no such event has")]
#[case(json!({"events": [{"type": "tool_call", "toolName": "T", "callId": "c"}]}), "`arguments` is missing")]
#[case(json!({"events": [{"type": "tool_call", "arguments": {}, "callId": "c"}]}), "`toolName` is missing")]
#[case(json!({"events": [{"type": "tool_result", "callId": "c"}]}), "`result` is missing")]
#[case(json!({"events": [{"type": "end", "usage": {"prompt": 1}}]}), "`usage` must have two numbers, prompt and completion")]
#[case(json!({"events": [{"type": "end", "value": ""}]}), "it has a member \"value\" that no such event has")]
#[case(json!({"events": [{"stall": 1}]}), "events[0].stall` must be true")]
#[case(json!({"events": [{"error": {}}]}), "events[0].error.code` is missing")]
#[case(json!({"events": [], "endless": {"stall": true}}), "endless` must be an event")]
#[case(json!({"events": [], "endless": {"type": "x"}}), "endless` is not a StreamEvent")]
fn wrong_turns_are_refused(#[case] turn: Value, #[case] expect: &str) {
    let script = json!({"providers": {"p": {"turns": [turn]}}});
    let found = Host::check("llm", &script, KINDS).unwrap_err();
    assert!(found.contains(expect), "{found}");
}

//! What a reader sees, round by round.

use std::sync::Arc;

use crate::common::*;
use futures::{FutureExt as _, StreamExt as _};
use rstest::rstest;
use sage_llm::{ChatOptions, Llm, Settings};
use sage_utils::err;
use serde_json::{Value, json};

fn ok(data: Value) -> Value {
    json!({ "ok": true, "data": data })
}

fn fields(error: &Value) -> Vec<&str> {
    let details = error["details"].as_array().unwrap();
    details.iter().map(|detail| detail["field"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn events_are_passed_on_unchanged() {
    let sent = [text("a"), text(""), text("ż🦀"), usage(3, 4)];
    let provider = Scripted::new([events(&sent)]);
    let (items, error) = play(&provider, options(), Settings::default()).await;
    assert_eq!((items, error), (sent.to_vec(), None));
    assert_eq!(provider.calls(), ["chat"], "a stream that is done is not stopped");
}

#[tokio::test]
async fn an_item_is_sent_before_the_next_exists() {
    let provider =
        Scripted::new([Turn::Events(vec![Step::Event(event_of(&text("a"))), Step::Stalls])]);
    let mut stream = llm(&provider).create_chat_stream(options(), Settings::default()).unwrap();
    assert_eq!(stream.next().await, Some(Ok(event_of(&text("a")))));
    drop(stream);
    assert_eq!(provider.calls(), ["chat", "stop"]);
}

#[rstest]
#[case("")]
#[case("a")]
#[case("one line\nand another\r\n")]
#[case(&"ż🦀x".repeat(1000))]
#[case(&"x".repeat(1024))]
#[case(&"x".repeat(1025))]
#[tokio::test]
async fn a_whole_text_is_sent_in_pieces(#[case] whole: &str) {
    let provider = Scripted::new([Turn::Text(whole.to_owned())]);
    let (mut items, error) = play(&provider, options(), Settings::default()).await;
    assert_eq!((items.pop(), error), (Some(end()), None));
    let pieces: Vec<_> = items.iter().map(|item| item["value"].as_str().unwrap()).collect();
    assert_eq!(pieces.concat(), whole);
    assert!(pieces.iter().all(|piece| !piece.is_empty()));
    assert_eq!(pieces.len() > 1, whole.len() > 1024, "a long text has more than one piece");
}

#[tokio::test]
async fn the_provider_gets_the_options_unchanged() {
    let given = json!({
        "model": "m",
        "messages": [
            { "role": "system", "content": "s" },
            { "role": "user", "content": "u" },
            { "role": "assistant", "content": "" },
            { "role": "tool", "content": "{}", "tool_call_id": "c0" },
        ],
        "tools": [{ "name": "T", "description": "d", "parameters": { "type": "object", "x-z": 1, "x-a": 2 } }],
        "temperature": 0.5,
        "max_tokens": 7,
        "requestId": "r1",
    });
    let provider = Scripted::new([Turn::Text(String::new())]);
    play(&provider, ChatOptions::from_json(&given).unwrap(), Settings::default()).await;
    assert_eq!(provider.asked.lock().unwrap()[0].to_string(), given_in_our_order(&given));
}

/// The same members in the order in which they are declared; inside nothing is touched.
fn given_in_our_order(given: &Value) -> String {
    let names = ["model", "messages", "tools", "temperature", "max_tokens", "requestId"];
    let mut ordered = serde_json::Map::new();
    for name in names {
        ordered.insert(name.to_owned(), given[name].clone());
    }
    let mut tool = given["tools"][0].clone();
    let description = tool.as_object_mut().unwrap().shift_remove("description").unwrap();
    tool.as_object_mut().unwrap().shift_insert(1, "description".to_owned(), description);
    ordered["tools"] = json!([tool]);
    Value::Object(ordered).to_string()
}

#[tokio::test]
async fn a_call_is_run_and_the_provider_is_asked_again() {
    let provider = Scripted::new([
        events(&[
            text("let "),
            text("me see"),
            call("c1", "Echo", json!({ "a": "x" })),
            usage(1, 2),
        ]),
        events(&[text("done"), usage(10, 20)]),
    ]);
    let (items, error) = play(&provider, options(), with_tools(&provider)).await;
    let expected = [
        text("let "),
        text("me see"),
        call("c1", "Echo", json!({ "a": "x" })),
        result("c1", ok(json!({ "a": "x" }))),
        text("done"),
        usage(11, 22),
    ];
    assert_eq!((items, error), (expected.to_vec(), None));
    assert_eq!(provider.calls(), ["chat", r#"run Echo {"a":"x"}"#, "chat"]);
    let asked = provider.asked.lock().unwrap();
    assert_eq!(
        asked[1]["messages"],
        json!([
            { "role": "user", "content": "hello" },
            { "role": "assistant", "content": "let me see" },
            { "role": "tool", "content": r#"{"data":{"a":"x"},"ok":true}"#, "tool_call_id": "c1" },
        ])
    );
    let (mut first, mut second) = (asked[0].clone(), asked[1].clone());
    first["messages"] = Value::Null;
    second["messages"] = Value::Null;
    assert_eq!(first, second, "nothing but the messages changes");
}

#[tokio::test]
async fn every_call_of_a_round_has_its_result_and_its_message_in_order() {
    let provider = Scripted::new([
        events(&[
            call("c2", "Echo", json!({ "a": "1" })),
            text("and"),
            call("c1", "Throw", json!({ "a": "2" })),
            call("c3", "Echo", json!({ "b": "3" })),
            end(),
        ]),
        events(&[usage(1, 1)]),
    ]);
    let (items, error) = play(&provider, options(), with_tools(&provider)).await;
    assert_eq!(error, None);
    let ids: Vec<_> = items
        .iter()
        .map(|item| (item["type"].as_str().unwrap(), item["callId"].as_str()))
        .collect();
    assert_eq!(
        ids,
        [
            ("tool_call", Some("c2")),
            ("tool_result", Some("c2")),
            ("text", None),
            ("tool_call", Some("c1")),
            ("tool_result", Some("c1")),
            ("tool_call", Some("c3")),
            ("tool_result", Some("c3")),
            ("end", None),
        ]
    );
    // A round that did not tell its tokens leaves the sum unknown.
    assert_eq!(items[7], end());
    let thrown = json!({ "ok": false, "error": { "code": "ECUSTOM", "message": "no", "resource": "r", "operation": "execute" } });
    assert_eq!(items[4]["result"], thrown);
    let asked = provider.asked.lock().unwrap();
    let seen: Vec<_> = asked[1]["messages"].as_array().unwrap()[1..]
        .iter()
        .map(|message| message["tool_call_id"].as_str())
        .collect();
    assert_eq!(seen, [None, Some("c2"), Some("c1"), Some("c3")]);
}

#[rstest]
#[case::missing("Echo", json!({}), "a")]
#[case::wrong_type("Echo", json!({ "a": 1 }), "a")]
#[case::extra("Echo", json!({ "a": "x", "b": 1 }), "b")]
#[case::no_object("Echo", json!("{\"a\":"), "input")]
#[case::null("Echo", json!(null), "input")]
#[case::unknown_tool("echo", json!({ "a": "x" }), "toolName")]
#[tokio::test]
async fn a_call_that_is_not_right_does_not_run(
    #[case] tool: &str,
    #[case] arguments: Value,
    #[case] field: &str,
    #[values(true, false)] runner: bool,
) {
    let made = call("c1", tool, arguments);
    let provider = Scripted::new([events(&[made.clone(), end()]), events(&[end()])]);
    let settings = if runner { with_tools(&provider) } else { Settings::default() };
    let (items, error) = play(&provider, options(), settings).await;
    assert_eq!((&items[0], items.len(), &error), (&made, 3, &None));
    let result = &items[1]["result"];
    assert_eq!((&result["ok"], &result["error"]["code"]), (&json!(false), &json!("EVALIDATION")));
    assert_eq!(fields(&result["error"]), [field]);
    assert!(!provider.calls().iter().any(|line| line.starts_with("run")), "nothing ran");
}

#[tokio::test]
async fn without_a_runner_no_tool_runs_and_there_is_one_round() {
    let made = call("c1", "Echo", json!({ "a": "x" }));
    let provider = Scripted::new([events(&[made.clone(), text("t"), usage(1, 2)])]);
    let (items, error) = play(&provider, options(), Settings::default()).await;
    assert_eq!(error, None);
    assert_eq!((&items[0], &items[1], &items[3]), (&made, &text("t"), &usage(1, 2)));
    assert_eq!(items[2]["callId"], "c1");
    let refusal = &items[2]["result"]["error"];
    assert_eq!(
        (&refusal["code"], &refusal["resource"], &refusal["operation"]),
        (&json!("EPERMISSION"), &json!("Echo"), &json!("execute"))
    );
}

#[tokio::test]
async fn a_provider_may_bring_its_own_results() {
    let sent = [
        call("c1", "Echo", json!({ "a": "x" })),
        call("c2", "Elsewhere", json!(1)),
        result("c2", json!("anything")),
        result("c1", json!(null)),
        end(),
    ];
    let provider = Scripted::new([events(&sent)]);
    let (items, error) = play(&provider, options(), Settings::default()).await;
    assert_eq!((items, error), (sent.to_vec(), None));
}

#[rstest]
#[case::doubled_call(vec![call("c1", "Echo", json!({ "a": "1" })), call("c1", "Echo", json!({ "a": "2" })), end()], 2)]
#[case::result_without_call(vec![text("t"), result("c9", json!(1)), end()], 1)]
#[case::second_result(vec![call("c1", "Echo", json!({ "a": "1" })), result("c1", json!(1)), result("c1", json!(2)), end()], 2)]
#[tokio::test]
async fn ids_that_do_not_pair_end_the_stream(
    #[case] sent: Vec<Value>,
    #[case] seen: usize,
    #[values(true, false)] runner: bool,
) {
    let provider = Scripted::new([events(&sent)]);
    let settings = if runner { with_tools(&provider) } else { Settings::default() };
    let (items, error) = play(&provider, options(), settings).await;
    let error = error.expect("the stream fails");
    assert_eq!((&error["code"], fields(&error)), (&json!("EVALIDATION"), vec!["callId"]));
    assert_eq!(items.len(), seen, "{items:?}");
    assert_eq!(provider.calls().last().unwrap(), "stop");
    assert!(provider.calls().iter().filter(|line| line.starts_with("run")).count() <= 1);
}

#[tokio::test]
async fn an_id_of_an_earlier_round_is_not_free_again() {
    let round = || events(&[call("c1", "Echo", json!({ "a": "1" })), end()]);
    let provider = Scripted::new([round(), round()]);
    let (items, error) = play(&provider, options(), with_tools(&provider)).await;
    assert_eq!((items.len(), error.unwrap()["code"].clone()), (2, json!("EVALIDATION")));
}

#[rstest]
#[case(1)]
#[case(2)]
#[case(8)]
#[tokio::test]
async fn rounds_are_bounded(#[case] most: u32) {
    let turns = (0..most + 1)
        .map(|round| events(&[call(&format!("c{round}"), "Echo", json!({ "a": "x" })), end()]));
    let provider = Scripted::new(turns);
    let mut settings = with_tools(&provider);
    if most != 8 {
        settings.max_rounds = most; // 8 is what nobody has to say.
    }
    let (items, error) = play(&provider, options(), settings).await;
    let error = error.expect("the stream fails");
    assert_eq!(error["code"], "EHALT");
    for name in ["invariant", "expected", "actual"] {
        assert!(error.get(name).is_some(), "{name}");
    }
    assert_eq!(items.len(), 2 * most as usize, "the calls of the last round are run");
    assert_eq!(provider.asked.lock().unwrap().len(), most as usize);
}

/// 17 MiB, which is more than is kept for the next question.
fn long_text() -> Vec<Value> {
    vec![text(&"x".repeat(1 << 20)); 17]
}

#[tokio::test]
async fn a_long_text_without_calls_is_passed_on_whole() {
    let sent = [long_text(), vec![end()]].concat();
    let provider = Scripted::new([events(&sent)]);
    let (items, error) = play(&provider, options(), with_tools(&provider)).await;
    assert!(items == sent && error.is_none(), "{} items, {error:?}", items.len());
}

#[rstest]
#[case::before_the_call(true, 17, 0)]
#[case::after_the_call(false, 2 + 16, 1)]
#[tokio::test]
async fn a_round_too_long_to_repeat(#[case] before: bool, #[case] seen: usize, #[case] ran: usize) {
    let made = vec![call("c1", "Echo", json!({ "a": "x" }))];
    let sent = if before { [long_text(), made] } else { [made, long_text()] };
    let provider = Scripted::new([events(&[sent.concat(), vec![end()]].concat())]);
    let (items, error) = play(&provider, options(), with_tools(&provider)).await;
    let error = error.expect("the stream fails");
    assert_eq!((items.len(), &error["code"]), (seen, &json!("EHALT")));
    for name in ["invariant", "expected", "actual"] {
        assert!(error.get(name).is_some(), "{name}");
    }
    let log = provider.calls();
    assert_eq!(log.iter().filter(|line| line.starts_with("run")).count(), ran);
    assert_eq!((log.len(), log.last().unwrap().as_str()), (2 + ran, "stop"));
}

#[tokio::test]
async fn the_last_allowed_round_may_end_without_calls() {
    let provider = Scripted::new([
        events(&[call("c1", "Echo", json!({ "a": "x" })), end()]),
        events(&[end()]),
    ]);
    let settings = Settings { max_rounds: 2, ..with_tools(&provider) };
    assert_eq!(play(&provider, options(), settings).await.1, None);
}

#[rstest]
#[case::cut(vec![Step::Event(event_of(&text("a")))], "EIO")]
#[case::nothing_at_all(vec![], "EIO")]
#[case::thrown(vec![Step::Event(event_of(&text("a"))), Step::Fails(err("EANY", "x", None))], "EANY")]
#[tokio::test]
async fn streams_that_break_off(#[case] steps: Vec<Step>, #[case] code: &str) {
    let first = matches!(steps.first(), Some(Step::Event(event)) if *event == event_of(&text("a")));
    let provider = Scripted::new([Turn::Events(steps)]);
    let (items, error) = play(&provider, options(), Settings::default()).await;
    let error = error.expect("the stream fails");
    assert_eq!(error["code"], code);
    assert!(code != "EIO" || error["operation"].is_string());
    assert_eq!(items, if first { vec![text("a")] } else { vec![] });
}

#[rstest]
#[case::closed(None)]
#[case::silence(Some(Step::Stalls))]
#[case::text(Some(Step::Event(event_of(&text("b")))))]
#[case::another_end(Some(Step::Event(event_of(&usage(7, 7)))))]
#[case::error(Some(Step::Fails(thrown())))]
#[tokio::test]
async fn the_end_is_sent_without_waiting_for_more(#[case] after: Option<Step>) {
    let steps = [text("a"), usage(1, 2)].map(|event| Step::Event(event_of(&event)));
    let provider = Scripted::new([Turn::Events(steps.into_iter().chain(after).collect())]);
    let mut stream = llm(&provider).create_chat_stream(options(), Settings::default()).unwrap();
    let mut next = || stream.next().now_or_never().expect("nothing is waited for");
    assert_eq!(next(), Some(Ok(event_of(&text("a")))));
    assert_eq!(next(), Some(Ok(event_of(&usage(1, 2)))));
    assert_eq!(*provider.open.lock().unwrap(), 0, "the provider is released before `end` is sent");
    assert_eq!(next(), None);
    assert_eq!((*provider.pulled.lock().unwrap(), provider.calls()), (2, vec!["chat".to_owned()]));
}

#[rstest]
#[case::silence(Step::Stalls)]
#[case::another_call(Step::Event(event_of(&call("c2", "Echo", json!({ "a": "y" })))))]
#[case::error(Step::Fails(thrown()))]
#[tokio::test]
async fn the_end_of_a_round_with_calls_ends_it_at_once(#[case] after: Step) {
    let first = [call("c1", "Echo", json!({ "a": "x" })), end()];
    let first = first.map(|event| Step::Event(event_of(&event))).into_iter().chain([after]);
    let provider = Scripted::new([Turn::Events(first.collect()), events(&[text("b"), end()])]);
    let played = play(&provider, options(), with_tools(&provider)).now_or_never();
    let (items, error) = played.expect("nothing is waited for");
    assert_eq!((items.len(), &items[2..], error), (4, &[text("b"), end()][..], None));
    assert_eq!(provider.calls(), ["chat", r#"run Echo {"a":"x"}"#, "chat"]);
}

#[rstest]
#[case::at_once(Turn::Fails(thrown()))]
#[case::later(Turn::Events(vec![Step::Fails(thrown())]))]
#[tokio::test]
async fn a_providers_error_keeps_its_code_and_properties(#[case] turn: Turn) {
    let provider = Scripted::new([turn]);
    let (items, error) = play(&provider, options(), Settings::default()).await;
    assert_eq!((items, error), (vec![], Some(thrown().to_json())));
    assert_eq!(provider.calls(), ["chat"]);
}

fn thrown() -> sage_llm::Error {
    let properties = json!({ "retryAfter": 3, "deep": { "x": [1] } });
    err("ERATE_LIMIT", "slow down", Some(json!({ "status": 429 })))
        .with_properties(properties.as_object().unwrap().clone())
        .unwrap()
}

#[tokio::test]
async fn before_a_provider_is_set_nothing_goes() {
    let llm = Llm::new();
    let errors = [
        llm.create_chat_stream(options(), Settings::default()).unwrap_err(),
        llm.list_models(None).await.unwrap_err(),
        llm.list_models(Some("x")).await.unwrap_err(),
    ];
    for error in errors {
        let error = error.to_json();
        assert_eq!((&error["code"], fields(&error)), (&json!("EVALIDATION"), vec!["provider"]));
    }
}

#[tokio::test]
async fn the_provider_that_was_set_last_answers_and_all_can_list_their_models() {
    let (one, two) = (Scripted::named("one", []), Scripted::named("two", [events(&[end()])]));
    let llm = Llm::new();
    llm.set_provider(Arc::new(one.clone()));
    llm.set_provider(Arc::new(two.clone()));
    let names = async |name| llm.list_models(name).await.map(|models| models[0].name.clone());
    assert_eq!(names(None).await.unwrap(), "model of two");
    assert_eq!(names(Some("one")).await.unwrap(), "model of one");
    assert_eq!(names(Some("two")).await.unwrap(), "model of two");
    let error = names(Some("One")).await.unwrap_err().to_json();
    assert_eq!((&error["code"], fields(&error)), (&json!("EVALIDATION"), vec!["providerName"]));
    all(llm.create_chat_stream(options(), Settings::default()).unwrap()).await;
    assert_eq!((one.calls().len(), two.calls()), (0, vec!["chat".to_owned()]));
}

#[tokio::test]
async fn no_rounds_at_all_is_refused() {
    let provider = Scripted::new([]);
    let settings = Settings { max_rounds: 0, ..Settings::default() };
    let error = llm(&provider).create_chat_stream(options(), settings).unwrap_err().to_json();
    assert_eq!(fields(&error), ["maxRounds"]);
}

#[tokio::test]
async fn schemas_that_are_none_are_refused_before_the_provider_is_asked() {
    let provider = Scripted::new([]);
    let mut options = options();
    options.tools.as_mut().unwrap()[1].parameters =
        json!({ "type": "nonsense" }).as_object().unwrap().clone();
    let error = llm(&provider).create_chat_stream(options, Settings::default()).unwrap_err();
    assert_eq!(fields(&error.to_json()), ["tools.1.parameters"]);
    assert!(provider.calls().is_empty());
}

#[rstest]
#[case::model(ChatOptions { model: String::new(), ..options() }, "model")]
#[case::max_tokens(ChatOptions { max_tokens: Some(0), ..options() }, "max_tokens")]
#[case::timeout(ChatOptions { timeout_ms: Some(0), ..options() }, "timeoutMs")]
#[case::doubled_tool(with_a_tool_twice(), "tools.3.name")]
#[tokio::test]
async fn invalid_options_are_refused_before_the_provider_is_asked(
    #[case] options: ChatOptions,
    #[case] field: &str,
) {
    let provider = Scripted::new([]);
    let error = llm(&provider).create_chat_stream(options, Settings::default()).unwrap_err();
    let error = error.to_json();
    assert_eq!((&error["code"], fields(&error)), (&json!("EVALIDATION"), vec![field]));
    assert!(provider.calls().is_empty());
}

fn with_a_tool_twice() -> ChatOptions {
    let mut options = options();
    let tools = options.tools.as_mut().unwrap();
    tools.push(tools[0].clone());
    options
}

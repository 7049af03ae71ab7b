//! The prompt cache: what counts as the same question, and which answers are kept.

use std::sync::Arc;

use crate::common::*;
use futures::StreamExt as _;
use proptest::prelude::*;
use rstest::rstest;
use sage_llm::{ChatOptions, Llm, Settings};
use sage_utils::err;
use serde_json::{Value, json};

fn cached() -> Settings {
    Settings { cache: true, ..Settings::default() }
}

fn parsed(options: &Value) -> ChatOptions {
    ChatOptions::from_json(options).unwrap()
}

/// How often the provider is asked when `first` and then `second` are.
async fn asked(first: &Value, second: &Value, settings: Settings) -> usize {
    let provider = Scripted::new([events(&[text("1"), end()]), events(&[text("2"), end()])]);
    let llm = llm(&provider);
    for options in [first, second] {
        all(llm.create_chat_stream(parsed(options), settings.clone()).unwrap()).await;
    }
    provider.calls().len()
}

fn question() -> Value {
    json!({
        "model": "m",
        "messages": [{ "role": "user", "content": "u" }],
        "tools": [{ "name": "T", "parameters": { "type": "object", "properties": { "a": {}, "b": {} } } }],
        "temperature": 1,
        "max_tokens": 5,
    })
}

fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let mut options = question();
    change(&mut options);
    options
}

#[rstest]
#[case::the_same(question())]
#[case::request_id(changed(|options| options["requestId"] = json!("r")))]
#[case::timeout(changed(|options| options["timeoutMs"] = json!(100_000)))]
#[case::order_of_members(changed(|options| {
    options["messages"][0] = json!({ "content": "u", "role": "user" });
    options["tools"][0] = json!({ "parameters": { "properties": { "b": {}, "a": {} }, "type": "object" }, "name": "T" });
}))]
#[case::spelling_of_a_number(changed(|options| options["temperature"] = json!(1.0)))]
#[tokio::test]
async fn requests_with_the_same_cache_key(#[case] second: Value) {
    assert_eq!(asked(&question(), &second, cached()).await, 1);
    assert_eq!(asked(&question(), &second, Settings::default()).await, 2, "off unless asked for");
}

#[rstest]
#[case::model(changed(|options| options["model"] = json!("M")))]
#[case::content(changed(|options| options["messages"][0]["content"] = json!("u ")))]
#[case::role(changed(|options| options["messages"][0]["role"] = json!("system")))]
#[case::tool_call_id(changed(|options| options["messages"][0]["tool_call_id"] = json!("")))]
#[case::more_messages(changed(|options| options["messages"] = json!([{ "role": "user", "content": "u" }, { "role": "user", "content": "" }])))]
#[case::temperature(changed(|options| options["temperature"] = json!(0)))]
#[case::no_temperature(changed(|options| { options.as_object_mut().unwrap().remove("temperature"); }))]
#[case::max_tokens(changed(|options| options["max_tokens"] = json!(6)))]
#[case::no_max_tokens(changed(|options| { options.as_object_mut().unwrap().remove("max_tokens"); }))]
#[case::no_tools(changed(|options| { options.as_object_mut().unwrap().remove("tools"); }))]
#[case::tools_empty(changed(|options| options["tools"] = json!([])))]
#[case::description(changed(|options| options["tools"][0]["description"] = json!("")))]
#[tokio::test]
async fn requests_with_another_cache_key(#[case] second: Value) {
    assert_eq!(asked(&question(), &second, cached()).await, 2);
}

#[tokio::test]
async fn absent_and_empty_tools_are_two_questions() {
    let without = changed(|options| {
        options.as_object_mut().unwrap().remove("tools");
    });
    let empty = changed(|options| options["tools"] = json!([]));
    assert_eq!(asked(&without, &empty, cached()).await, 2);
}

#[tokio::test]
async fn a_hit_tells_the_same_items_and_runs_nothing() {
    let provider = Scripted::new([
        events(&[text("a"), call("c1", "Echo", json!({ "a": "x" })), usage(1, 2)]),
        events(&[text(""), text("b"), usage(3, 4)]),
    ]);
    let llm = llm(&provider);
    let settings = Settings { cache: true, ..with_tools(&provider) };
    let first = all(llm.create_chat_stream(options(), settings.clone()).unwrap()).await;
    let log = provider.calls();
    assert_eq!(log.len(), 3);
    assert_eq!(all(llm.create_chat_stream(options(), settings).unwrap()).await, first);
    assert_eq!(provider.calls(), log);
}

#[tokio::test]
async fn answers_without_a_runner_are_not_reused_with_one() {
    let made = || events(&[call("c1", "Echo", json!({ "a": "x" })), end()]);
    let provider = Scripted::new([made(), made(), events(&[end()])]);
    let llm = llm(&provider);
    all(llm.create_chat_stream(options(), cached()).unwrap()).await;
    let settings = Settings { cache: true, ..with_tools(&provider) };
    let (items, _) = all(llm.create_chat_stream(options(), settings).unwrap()).await;
    assert_eq!(items[1]["result"]["ok"], true);
}

#[tokio::test]
async fn another_provider_is_another_cache() {
    let one = Scripted::named("one", [events(&[text("1"), end()])]);
    let two = Scripted::named("two", [events(&[text("2"), end()])]);
    let llm = Llm::new();
    let mut seen = Vec::new();
    for provider in [&one, &two, &one, &two] {
        llm.set_provider(Arc::new(provider.clone()));
        let (items, _) = all(llm.create_chat_stream(options(), cached()).unwrap()).await;
        seen.push(items[0]["value"].clone());
    }
    assert_eq!(seen, ["1", "2", "1", "2"]);
    assert_eq!((one.calls().len(), two.calls().len()), (1, 1));
}

#[rstest]
#[case::cut(events(&[text("a")]), None)]
#[case::failed(Turn::Events(vec![Step::Event(event_of(&text("a"))), Step::Fails(err("EX", "x", None))]), None)]
#[case::refused(Turn::Fails(err("EX", "x", None)), None)]
#[case::late(Turn::Events(vec![Step::Event(event_of(&text("a"))), Step::Stalls]), None)]
#[case::dropped(events(&[text("a"), text("b"), end()]), Some(2))]
#[case::never_read(events(&[text("a"), end()]), Some(0))]
#[tokio::test(start_paused = true)]
async fn only_complete_streams_are_cached(#[case] turn: Turn, #[case] take: Option<usize>) {
    let whole = [text("whole"), end()];
    let provider = Scripted::new(match take {
        Some(0) => vec![events(&whole)],
        _ => vec![turn, events(&whole)],
    });
    let llm = llm(&provider);
    let options = ChatOptions { timeout_ms: Some(1000), ..options() };
    let first = llm.create_chat_stream(options.clone(), cached()).unwrap();
    match take {
        Some(take) => drop(first.take(take).collect::<Vec<_>>().await),
        None => assert!(all(first).await.1.is_some(), "the first one fails"),
    }
    let (items, _) = all(llm.create_chat_stream(options, cached()).unwrap()).await;
    assert_eq!(items, whole);
}

#[tokio::test]
async fn a_stream_without_the_cache_is_not_kept() {
    let provider = Scripted::new([events(&[text("1"), end()]), events(&[text("2"), end()])]);
    let llm = llm(&provider);
    all(llm.create_chat_stream(options(), Settings::default()).unwrap()).await;
    let (items, _) = all(llm.create_chat_stream(options(), cached()).unwrap()).await;
    assert_eq!(items[0], text("2"));
}

#[tokio::test]
async fn the_oldest_answers_make_room() {
    const MANY: usize = 300;
    let provider = Scripted::new((0..MANY + 1).map(|_| events(&[end()])));
    let llm = llm(&provider);
    let ask = async |number: usize| {
        let options = ChatOptions::question("m", number.to_string());
        all(llm.create_chat_stream(options, cached()).unwrap()).await;
        provider.calls().len()
    };
    for number in 0..MANY {
        assert_eq!(ask(number).await, number + 1);
    }
    assert_eq!(ask(MANY - 1).await, MANY, "the newest is still there");
    assert_eq!(ask(0).await, MANY + 1, "the oldest is gone");
}

#[rstest]
#[case::text(options(), vec![text(&"x".repeat(5 << 20)), end()])]
#[case::many_events(options(), [vec![text(""); 200_000], vec![end()]].concat())]
#[case::name_of_a_tool(options(), vec![call("c1", &"x".repeat(5 << 20), json!(1)), result("c1", json!(1)), end()])]
#[case::id_of_a_call(options(), vec![call(&"x".repeat(5 << 20), "Echo", json!(1)), result(&"x".repeat(5 << 20), json!(1)), end()])]
#[case::result(options(), vec![call("c1", "Echo", json!(1)), result("c1", json!({ "x".repeat(5 << 20): [] })), end()])]
#[case::question(ChatOptions::question("m", "x".repeat(5 << 20)), vec![end()])]
#[tokio::test]
async fn an_answer_that_is_too_large_is_not_kept(
    #[case] options: ChatOptions,
    #[case] sent: Vec<Value>,
) {
    let provider = Scripted::new([events(&sent), events(&sent)]);
    let llm = llm(&provider);
    for asked in [1, 2] {
        all(llm.create_chat_stream(options.clone(), cached()).unwrap()).await;
        assert_eq!(provider.calls().len(), asked);
    }
}

/// Each takes a little more than 3 MiB, so there is room for five.
#[rstest]
#[case::in_the_answer(16, 3 << 20)]
#[case::in_the_question(3 << 20, 16)]
#[tokio::test]
async fn large_answers_make_room_for_each_other(#[case] question: usize, #[case] answer: usize) {
    let turn = |_| events(&[text(&"x".repeat(answer)), end()]);
    let provider = Scripted::new((0..8).map(turn));
    let llm = llm(&provider);
    let ask = async |number: usize| {
        let options = ChatOptions::question("m", format!("{number}{}", "x".repeat(question)));
        let before = provider.calls().len();
        all(llm.create_chat_stream(options, cached()).unwrap()).await;
        provider.calls().len() > before
    };
    for number in 0..6 {
        assert!(ask(number).await, "{number} is new");
    }
    for number in 1..6 {
        assert!(!ask(number).await, "{number} is kept");
    }
    assert!(ask(0).await, "the oldest is gone");
    assert!(ask(1).await, "and now the next");
    assert!(!ask(3).await, "the others stay");
}

#[tokio::test]
async fn concurrent_equal_requests_are_cached_once() {
    let turn = || events(&[text(&"x".repeat(3 << 20)), end()]);
    let provider = Scripted::new((0..11).map(|_| turn()));
    let llm = llm(&provider);
    let question = |text: &str| ChatOptions::question("m", text);
    let stream = |text| llm.create_chat_stream(question(text), cached()).unwrap();
    all(stream("first")).await;
    let twice: Vec<_> = (0..9).map(|_| stream("twice")).collect();
    for stream in twice {
        all(stream).await;
    }
    assert_eq!(provider.calls().len(), 10);
    all(stream("first")).await;
    assert_eq!(provider.calls().len(), 10, "the first is still kept");
}

/// A JSON value, and the same with the members of its objects in another order.
fn shuffled() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-zé]{0,4}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    value.prop_map(|value| (value.clone(), reversed(&value)))
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members.iter().rev().map(|(name, item)| (name.clone(), reversed(item))).collect(),
        ),
        Value::Array(items) => items.iter().map(reversed).collect(),
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn the_order_of_keys_and_the_request_id_do_not_count(
        (one, other) in shuffled(),
        ids in (proptest::option::of("[a-z]{0,3}"), proptest::option::of("[a-z]{0,3}")),
    ) {
        let ask = |examples: Value, id: Option<String>| changed(|options| {
            options["tools"][0]["parameters"] = json!({ "type": "object", "examples": [examples] });
            if let Some(id) = id {
                options["requestId"] = id.into();
            }
        });
        let (first, second) = (ask(one, ids.0), ask(other, ids.1));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        prop_assert_eq!(runtime.block_on(asked(&first, &second, cached())), 1);
    }

    #[test]
    fn another_value_is_another_question((one, _) in shuffled(), (other, _) in shuffled()) {
        prop_assume!(one != other);
        let ask = |examples: Value| changed(|options| {
            options["tools"][0]["parameters"] = json!({ "type": "object", "examples": [examples] });
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        prop_assert_eq!(runtime.block_on(asked(&ask(one), &ask(other), cached())), 2);
    }
}

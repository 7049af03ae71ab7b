//! Time limits, cancellation, and readers that take their time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::common::*;
use futures::{FutureExt as _, StreamExt as _};
use rstest::rstest;
use sage_llm::{ChatOptions, Error, Llm, Model, Provider, Reply, Settings, StreamEvent};
use sage_utils::BoxFuture;
use serde_json::{Value, json};

fn within(timeout_ms: u64) -> ChatOptions {
    ChatOptions { timeout_ms: Some(timeout_ms), ..options() }
}

fn stalling(before: &[Value]) -> Turn {
    let mut steps: Vec<_> = before.iter().map(|event| Step::Event(event_of(event))).collect();
    steps.push(Step::Stalls);
    Turn::Events(steps)
}

#[rstest]
#[case::chat(vec![Turn::Stalls], 0, &["chat"])]
#[case::first_event(vec![stalling(&[])], 0, &["chat", "stop"])]
#[case::later_event(vec![stalling(&[text("a"), text("b")])], 2, &["chat", "stop"])]
#[case::tool(
    vec![events(&[call("c1", "Stall", json!({ "a": "x" })), end()])],
    1,
    &["chat", r#"run Stall {"a":"x"}"#, "dropped Stall", "stop"],
)]
#[case::second_round(
    vec![events(&[call("c1", "Echo", json!({ "a": "x" })), end()]), Turn::Stalls],
    2,
    &["chat", r#"run Echo {"a":"x"}"#, "chat"],
)]
#[tokio::test(start_paused = true)]
async fn whatever_stalls_is_stopped(
    #[case] turns: Vec<Turn>,
    #[case] seen: usize,
    #[case] log: &[&str],
) {
    let provider = Scripted::new(turns);
    let began = tokio::time::Instant::now();
    let stream = llm(&provider).create_chat_stream(within(1500), with_tools(&provider)).unwrap();
    let mut stream = std::pin::pin!(stream);
    let mut items = 0;
    let error = loop {
        match stream.next().await {
            Some(Ok(_)) => items += 1,
            Some(Err(error)) => break error.to_json(),
            None => panic!("the stream ended"),
        }
    };
    // Before the reader drops the stream: the error itself comes after the stop.
    assert_eq!(provider.calls(), log);
    assert_eq!(
        (items, &error["code"], &error["timeoutMs"]),
        (seen, &json!("ETIMEOUT"), &json!(1500))
    );
    assert!(error["elapsedMs"].as_u64().unwrap() >= 1500, "{error}");
    assert!(error["operation"].is_string());
    assert!(began.elapsed() < Duration::from_millis(1600));
    assert!(stream.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_limit_is_for_the_whole_and_not_for_each_item() {
    let slow = futures::stream::repeat_with(|| ()).then(|()| async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        Ok(event_of(&text("a")))
    });
    let llm = Llm::new();
    llm.set_provider(Arc::new(Streams::new(slow.boxed())));
    let (items, error) =
        all(llm.create_chat_stream(within(1000), Settings::default()).unwrap()).await;
    assert_eq!((items.len(), error.unwrap()["code"].clone()), (2, json!("ETIMEOUT")));
}

#[tokio::test]
async fn a_provider_that_always_has_something_is_stopped_in_time() {
    let endless = futures::stream::repeat_with(|| Ok(event_of(&text("a"))));
    let llm = Llm::new();
    llm.set_provider(Arc::new(Streams::new(endless.boxed())));
    let mut stream = llm.create_chat_stream(within(20), Settings::default()).unwrap();
    // So many take far longer than the limit; a stream that is not stopped fails here in place of going on.
    for _ in 0..20_000_000 {
        if let Err(error) = stream.next().await.expect("it does not end by itself") {
            assert_eq!(error.code(), "ETIMEOUT");
            return;
        }
    }
    panic!("nobody stopped it");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_comes_back_late_for_nothing_is_not_late() {
    let provider = Scripted::new([events(&[text("a"), end()])]);
    let mut stream = llm(&provider).create_chat_stream(within(100), Settings::default()).unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    assert_eq!(stream.next().await, Some(Ok(event_of(&end()))));
    tokio::time::advance(Duration::from_millis(500)).await;
    assert!(stream.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stream_within_its_timeout_is_complete() {
    let provider = Scripted::new([events(&[text("a"), end()])]);
    let (items, error) = play(&provider, within(1), Settings::default()).await;
    assert_eq!((items.len(), error), (2, None));
}

#[tokio::test]
async fn a_timeout_beyond_the_clock_is_none() {
    let provider = Scripted::new([events(&[end()])]);
    assert_eq!(play(&provider, within(u64::MAX), Settings::default()).await.1, None);
}

#[rstest]
#[case::never_read(0, &[])]
#[case::after_one(1, &["chat", "stop"])]
#[case::after_the_call(2, &["chat", "stop"])]
#[case::after_the_result(3, &["chat", r#"run Echo {"a":"x"}"#, "stop"])]
#[case::in_the_second_round(4, &["chat", r#"run Echo {"a":"x"}"#, "chat", "stop"])]
#[case::after_the_end(5, &["chat", r#"run Echo {"a":"x"}"#, "chat"])]
#[tokio::test]
async fn a_stream_that_is_dropped_stops_the_provider(#[case] take: usize, #[case] log: &[&str]) {
    let provider = Scripted::new([
        events(&[text("a"), call("c1", "Echo", json!({ "a": "x" })), end()]),
        events(&[text("b"), end()]),
    ]);
    let stream = llm(&provider).create_chat_stream(options(), with_tools(&provider)).unwrap();
    let items: Vec<_> = stream.take(take).collect().await;
    assert_eq!(items.len(), take);
    assert_eq!(provider.calls(), log);
}

#[tokio::test]
async fn dropping_a_stream_while_a_tool_runs_stops_both() {
    let provider = Scripted::new([events(&[call("c1", "Stall", json!({ "a": "x" })), end()])]);
    let mut stream = llm(&provider).create_chat_stream(options(), with_tools(&provider)).unwrap();
    assert!(stream.next().await.is_some());
    assert!(stream.next().now_or_never().is_none(), "the tool is not ready");
    drop(stream);
    assert_eq!(provider.calls(), ["chat", r#"run Stall {"a":"x"}"#, "dropped Stall", "stop"]);
}

/// Counts what is pulled.
#[tokio::test]
async fn nothing_is_pulled_ahead_of_the_reader() {
    const EVENTS: u64 = 1_000_000;
    let pulled = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&pulled);
    let events = futures::stream::iter(0..EVENTS).map(move |number| {
        counted.fetch_add(1, Ordering::Relaxed);
        let last = number + 1 == EVENTS;
        Ok(if last { event_of(&end()) } else { StreamEvent::Text { value: "t".to_owned() } })
    });
    let llm = Llm::new();
    llm.set_provider(Arc::new(Streams::new(events.boxed())));
    let mut stream = llm.create_chat_stream(options(), Settings::default()).unwrap();
    assert_eq!(pulled.load(Ordering::Relaxed), 0);
    let mut taken = 0;
    while let Some(item) = stream.next().await {
        item.unwrap();
        taken += 1;
        let ahead = pulled.load(Ordering::Relaxed) - taken;
        assert!(ahead <= 1, "{ahead} ahead after {taken}");
    }
    assert_eq!(taken, EVENTS);
}

/// A provider with one stream to give.
struct Streams(
    std::sync::Mutex<Option<futures::stream::BoxStream<'static, Result<StreamEvent, Error>>>>,
);

impl Streams {
    fn new(stream: futures::stream::BoxStream<'static, Result<StreamEvent, Error>>) -> Self {
        Self(std::sync::Mutex::new(Some(stream)))
    }
}

impl Provider for Streams {
    fn name(&self) -> &str {
        "streams"
    }

    fn chat(&self, _: ChatOptions) -> BoxFuture<'_, Result<Reply, Error>> {
        let stream = self.0.lock().unwrap().take().expect("it is asked once");
        async { Ok(Reply::Stream(stream)) }.boxed()
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<Model>, Error>> {
        async { Ok(Vec::new()) }.boxed()
    }
}

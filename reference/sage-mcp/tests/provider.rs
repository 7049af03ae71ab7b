//! The provider against servers, honest and other.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

mod server;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use rstest::rstest;
use sage_llm::{ChatOptions, Error, Llm, Provider as _, Reply, Settings, StreamEvent};
use sage_mcp::LMStudioProvider;
use serde_json::{Value, json};
use server::{LONG, answering, frames, said, serve, whole};

fn options() -> ChatOptions {
    ChatOptions::question("m", "hello")
}

/// What the provider gives for one question: its events, and the error that ended them.
async fn ask(base: &str) -> (Vec<Value>, Option<Error>) {
    let provider = LMStudioProvider::new(base).unwrap();
    tokio::time::timeout(LONG, async {
        let mut stream = match provider.chat(options()).await {
            Ok(Reply::Stream(stream)) => stream,
            Ok(Reply::Text(_)) => panic!("it streams"),
            Err(error) => return (Vec::new(), Some(error)),
        };
        let mut events = Vec::new();
        while let Some(item) = stream.next().await {
            match item {
                Ok(event) => events.push(json!(event)),
                Err(error) => {
                    assert!(stream.next().await.is_none(), "nothing follows an error");
                    return (events, Some(error));
                }
            }
        }
        (events, None)
    })
    .await
    .expect("no server makes it hang")
}

/// `EIO` with an operation and the address, and the cause that is given back.
#[track_caller]
fn cause_of(error: &Error, base: &str, operation: &str) -> Value {
    let found = error.to_json();
    assert_eq!(
        (&found["code"], &found["operation"]),
        (&json!("EIO"), &json!(operation)),
        "{found}"
    );
    assert!(found["path"].as_str().unwrap().starts_with(base), "{found}");
    found["cause"].clone()
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n";

fn chunked(pieces: &[&str]) -> String {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let pieces = pieces.iter().map(|piece| format!("{:x}\r\n{piece}\r\n", piece.len()));
    format!("{head}{}", pieces.collect::<String>())
}

#[tokio::test]
async fn an_answer_is_streamed() {
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#;
    let body = frames(&[&said("Hél"), &said("lo 🦀"), usage, "[DONE]"]);
    let (base, served) = answering(format!("{HEAD}: hello\r\n\r\n{body}")).await;
    let (events, error) = ask(&base).await;
    assert_eq!(error, None);
    assert_eq!(
        Value::from(events),
        json!([
            { "type": "text", "value": "Hél" },
            { "type": "text", "value": "lo 🦀" },
            { "type": "end", "usage": { "prompt": 3, "completion": 4 } },
        ])
    );
    let (head, _) = served.await.unwrap();
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{head}");
    assert!(!head.to_lowercase().contains("authorization"), "{head}");
}

#[tokio::test]
async fn the_request_says_all_that_was_asked() {
    let (base, served) = answering(format!("{HEAD}{}", frames(&["[DONE]"]))).await;
    let provider =
        LMStudioProvider::new(&format!("{base}/prefix/")).unwrap().with_api_key("k3y").unwrap();
    assert!(!format!("{provider:?}").contains("k3y"));
    let options = ChatOptions::from_json(&json!({
        "model": "m",
        "messages": [{ "role": "user", "content": "u" }, { "role": "tool", "content": "{}", "tool_call_id": "c1" }],
        "tools": [{ "name": "T", "description": "d", "parameters": { "type": "object" } }],
        "temperature": 0.25,
        "max_tokens": 9,
        "timeoutMs": 1000,
        "requestId": "r",
    }))
    .unwrap();
    let Reply::Stream(stream) = provider.chat(options).await.unwrap() else { panic!("it streams") };
    assert_eq!(stream.collect::<Vec<_>>().await, [Ok(StreamEvent::End { usage: None })]);
    let (head, body) = served.await.unwrap();
    assert!(head.starts_with("POST /prefix/v1/chat/completions "), "{head}");
    assert!(head.to_lowercase().contains("authorization: bearer k3y"), "{head}");
    assert_eq!(
        serde_json::from_str::<Value>(&body).unwrap(),
        json!({
            "model": "m",
            "messages": [{ "role": "user", "content": "u" }, { "role": "tool", "content": "{}", "tool_call_id": "c1" }],
            "stream": true,
            "stream_options": { "include_usage": true },
            "tools": [{ "type": "function", "function": { "name": "T", "description": "d", "parameters": { "type": "object" } } }],
            "temperature": 0.25,
            "max_tokens": 9,
        })
    );
}

#[tokio::test]
async fn pieces_may_be_cut_anywhere() {
    let body = format!("{}data: [DONE]\r\n\r\n", frames(&[&said("ż🦀"), &said("ó")]));
    let bytes: Vec<String> = body.chars().map(String::from).collect();
    let (base, _served) = serve(move |mut connection| async move {
        connection.socket.set_nodelay(true).unwrap();
        connection.begin().await;
        for byte in bytes.concat().into_bytes() {
            connection.send([byte]).await;
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (events, error) = ask(&base).await;
    assert_eq!(error, None);
    assert_eq!(
        (&events[0]["value"], &events[1]["value"], events.len()),
        (&json!("ż🦀"), &json!("ó"), 3)
    );
}

#[tokio::test]
async fn an_item_arrives_before_the_next_is_sent() {
    let (go, wait) = tokio::sync::oneshot::channel::<()>();
    let (base, _served) = serve(move |mut connection| async move {
        connection.begin().await;
        connection.send(frames(&[&said("a")])).await;
        wait.await.unwrap();
        connection.send(frames(&["[DONE]"])).await;
    })
    .await;
    let provider = LMStudioProvider::new(&base).unwrap();
    let Reply::Stream(mut stream) = provider.chat(options()).await.unwrap() else {
        panic!("it streams")
    };
    let first =
        tokio::time::timeout(LONG, stream.next()).await.expect("the first item does not wait");
    assert_eq!(json!(first.unwrap().unwrap())["value"], "a");
    go.send(()).unwrap();
    assert_eq!(stream.next().await, Some(Ok(StreamEvent::End { usage: None })));
}

#[tokio::test]
async fn nothing_is_waited_for_after_the_last_word() {
    let (base, served) = serve(|mut connection| async move {
        connection.begin().await;
        connection.send(frames(&[&said("a"), "[DONE]"])).await;
        connection.wait_for_close().await;
    })
    .await;
    assert_eq!(ask(&base).await.1, None);
    served.await.unwrap();
}

#[rstest]
#[case::before_any_event(&[])]
#[case::after_one(&["a"])]
#[tokio::test]
async fn a_dropped_stream_closes_the_connection(#[case] sent: &'static [&'static str]) {
    let (base, served) = serve(move |mut connection| async move {
        connection.begin().await;
        for text in sent {
            connection.send(frames(&[&said(text)])).await;
        }
        connection.wait_for_close().await;
    })
    .await;
    let provider = LMStudioProvider::new(&base).unwrap();
    let Reply::Stream(mut stream) = provider.chat(options()).await.unwrap() else {
        panic!("it streams")
    };
    for _ in sent {
        stream.next().await.unwrap().unwrap();
    }
    drop(stream);
    served.await.unwrap();
}

#[rstest]
#[case::no_answer(false)]
#[case::no_event(true)]
#[tokio::test]
async fn a_silent_server_is_left_when_the_time_is_up(#[case] begins: bool) {
    let (base, served) = serve(move |mut connection| async move {
        if begins {
            connection.begin().await;
        }
        connection.wait_for_close().await;
    })
    .await;
    let llm = Llm::new();
    llm.set_provider(Arc::new(LMStudioProvider::new(&base).unwrap()));
    let options = ChatOptions { timeout_ms: Some(50), ..options() };
    let stream = llm.create_chat_stream(options, Settings::default()).unwrap();
    let items: Vec<_> = stream.collect().await;
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].as_ref().unwrap_err().code(), "ETIMEOUT");
    served.await.unwrap();
}

#[rstest]
#[case::bad_request("400 Bad Request")]
#[case::unauthorized("401 Unauthorized")]
#[case::not_found("404 Not Found")]
#[case::broken("500 Internal Server Error")]
#[case::unavailable("503 Service Unavailable")]
#[case::redirect("302 Found")]
#[tokio::test]
async fn a_refusal_keeps_status_and_words(#[case] status: &str) {
    let body = r#"{"error":{"message":"nö"}}"#;
    let (base, _served) = answering(whole(status, "Location: /elsewhere\r\n", body)).await;
    let (events, error) = ask(&base).await;
    assert_eq!(events, Vec::<Value>::new());
    let code: u16 = status[..3].parse().unwrap();
    assert_eq!(cause_of(&error.unwrap(), &base, "read"), json!({ "status": code, "body": body }));
}

#[tokio::test]
async fn too_many_requests_keeps_when_to_come_back() {
    let (base, _served) =
        answering(whole("429 Too Many Requests", "Retry-After: 17\r\n", "slow")).await;
    let cause = cause_of(&ask(&base).await.1.unwrap(), &base, "read");
    assert_eq!(cause, json!({ "status": 429, "retryAfter": "17", "body": "slow" }));
}

#[tokio::test]
async fn the_words_of_a_refusal_are_bounded_and_need_not_be_whole() {
    let (base, _served) = answering(whole("500 Oh", "", &"x".repeat(1 << 20))).await;
    let cause = cause_of(&ask(&base).await.1.unwrap(), &base, "read");
    assert_eq!(cause["body"].as_str().unwrap().len(), 4096);
    let (base, _served) =
        answering("HTTP/1.1 500 Oh\r\nContent-Length: 50\r\n\r\nhalf \u{17c}").await;
    let cause = cause_of(&ask(&base).await.1.unwrap(), &base, "read");
    assert_eq!(cause, json!({ "status": 500, "body": "half \u{17c}" }));
}

#[rstest]
#[case::nothing("")]
#[case::a_part("slow")]
#[tokio::test]
async fn a_refusal_without_its_body_is_reported(#[case] begun: &'static str) {
    let (base, served) = serve(move |mut connection| async move {
        let head =
            "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 17\r\nContent-Length: 50\r\n\r\n";
        connection.send(format!("{head}{begun}")).await;
        connection.wait_for_close().await;
    })
    .await;
    let provider = LMStudioProvider::new(&base).unwrap().with_patience(Duration::from_millis(10));
    let refusal = tokio::time::timeout(LONG, provider.chat(options())).await;
    let Ok(Err(error)) = refusal else { panic!("it is refused, and without a hang") };
    let cause = cause_of(&error, &base, "read");
    assert_eq!((&cause["status"], &cause["retryAfter"]), (&json!(429), &json!("17")));
    // Whether a part was in time is the machine's affair.
    assert!(begun.starts_with(cause["body"].as_str().unwrap()), "{cause}");
    served.await.unwrap();
}

/// Every case sends one item first, which is kept.
#[rstest]
#[case::cut_between_frames(format!("{HEAD}{}", frames(&[&said("a")])), "[DONE]")]
#[case::half_a_frame(format!("{HEAD}{}data: {{\"choi", frames(&[&said("a")])), "half an event")]
#[case::no_blank_line(format!("{HEAD}{}data: [DONE]\n", frames(&[&said("a")])), "half an event")]
#[case::length_too_large(whole("200 OK", "X: y\r\n", &frames(&[&said("a")])).replace("Content-Length: ", "Content-Length: 9"), "")]
#[case::length_too_small(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", frames(&[&said("a")]).len() + 3, frames(&[&said("a"), "[DONE]"])), "half an event")]
#[case::chunk_cut(format!("{}40\r\ndata: ", chunked(&[&frames(&[&said("a")])])), "")]
#[case::chunks_without_end(chunked(&[&frames(&[&said("a")])]), "")]
#[case::chunk_size_garbage(format!("{}zz\r\n", chunked(&[&frames(&[&said("a")])])), "")]
#[case::chunks_ended_early(format!("{}0\r\n\r\n", chunked(&[&frames(&[&said("a")])])), "[DONE]")]
#[case::no_json(format!("{HEAD}{}", frames(&[&said("a"), "{not json}"])), "no JSON")]
#[case::another_json(format!("{HEAD}{}", frames(&[&said("a"), "[1,2]"])), "choices")]
#[case::deep_json(format!("{HEAD}{}", frames(&[&said("a"), &"[".repeat(100_000)])), "no JSON")]
#[case::long_line(format!("{HEAD}{}data: {}", frames(&[&said("a")]), "x".repeat((1 << 20) + 1)), "1048576")]
#[tokio::test]
async fn a_truncated_answer_is_an_error_after_its_items(
    #[case] answer: String,
    #[case] named: &str,
) {
    let (base, _served) = answering(answer).await;
    let (events, error) = ask(&base).await;
    assert_eq!(events, [json!({ "type": "text", "value": "a" })]);
    let error = error.expect("it is not whole");
    let cause = cause_of(&error, &base, "read");
    assert!(cause["reason"].as_str().unwrap().contains(named), "{cause}");
}

#[tokio::test]
async fn bytes_that_are_no_text_are_an_error() {
    let (base, _served) = answering([HEAD.as_bytes(), b"data: \xff\xfe\n\n"].concat()).await;
    let cause = cause_of(&ask(&base).await.1.unwrap(), &base, "read");
    assert!(cause["reason"].as_str().unwrap().contains("UTF-8"), "{cause}");
}

#[tokio::test]
async fn an_error_in_the_stream_keeps_the_servers_words() {
    let error = json!({ "message": "out of memory", "type": "server_error", "code": 507 });
    let frame = json!({ "error": error }).to_string();
    let (base, _served) = answering(format!("{HEAD}event: error\n{}", frames(&[&frame]))).await;
    let found = ask(&base).await.1.unwrap();
    assert_eq!(cause_of(&found, &base, "read"), json!({ "error": error }));
    assert!(found.message().contains("out of memory"), "{found}");
}

#[rstest]
#[case::page("text/html", "<html>")]
#[case::no_stream("application/json", "{}")]
#[tokio::test]
async fn invalid_event_streams_are_errors(#[case] kind: &str, #[case] body: &str) {
    let (base, _served) =
        answering(whole("200 OK", &format!("Content-Type: {kind}\r\n"), body)).await;
    let cause = cause_of(&ask(&base).await.1.unwrap(), &base, "read");
    assert!(cause["reason"].as_str().unwrap().contains(kind), "{cause}");
}

#[rstest]
#[case::no_http("SSH-2.0-OpenSSH\r\n\r\n")]
#[case::nothing("")]
#[case::half_a_head("HTTP/1.1 200 OK\r\nContent-Ty")]
#[tokio::test]
async fn a_server_that_speaks_no_http_is_an_error(#[case] answer: &'static str) {
    let (base, _served) = answering(answer).await;
    let cause = cause_of(&ask(&base).await.1.unwrap(), &base, "read");
    assert!(!cause["reason"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn a_missing_server_is_an_error() {
    // A port that was free a moment ago, and that nobody listens on.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let cause = cause_of(&ask(&base).await.1.unwrap(), &base, "connect");
    assert_eq!(cause["code"], "ECONNREFUSED");
}

#[rstest]
#[case::before_the_answer(false)]
#[case::in_the_middle(true)]
#[tokio::test]
async fn a_reset_is_an_error(#[case] begins: bool) {
    let (seen, wait) = tokio::sync::oneshot::channel::<()>();
    let (base, _served) = serve(move |mut connection| async move {
        if begins {
            connection.begin().await;
            connection.send(frames(&[&said("a")])).await;
            wait.await.unwrap();
        }
        // To close at once and without a word is a reset.
        connection.socket.set_zero_linger().unwrap();
    })
    .await;
    let provider = LMStudioProvider::new(&base).unwrap();
    let error = match provider.chat(options()).await {
        Err(error) => error,
        Ok(Reply::Stream(mut stream)) => {
            stream.next().await.unwrap().unwrap();
            seen.send(()).unwrap();
            stream.next().await.unwrap().unwrap_err()
        }
        Ok(Reply::Text(_)) => panic!("it streams"),
    };
    let cause = cause_of(&error, &base, "read");
    assert_eq!(cause["code"], "ECONNRESET", "{cause}");
}

#[tokio::test]
async fn models_are_listed_by_their_ids() {
    let list = r#"{"object":"list","data":[{"id":"b","object":"model"},{"id":"a"}]}"#;
    let (base, served) = answering(whole("200 OK", "", list)).await;
    let models = LMStudioProvider::new(&base).unwrap().models().await.unwrap();
    assert_eq!(json!(models), json!([{ "name": "b" }, { "name": "a" }]));
    assert!(served.await.unwrap().0.starts_with("GET /v1/models HTTP/1.1"));
}

#[rstest]
#[case::no_json(whole("200 OK", "", "{"), "no JSON")]
#[case::no_data(whole("200 OK", "", "{}"), "`data`")]
#[case::no_id(whole("200 OK", "", r#"{"data":[{}]}"#), "`id`")]
#[case::cut("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{".to_owned(), "")]
#[case::endless(whole("200 OK", "", &" ".repeat((4 << 20) + 1)), "4194304")]
#[tokio::test]
async fn an_invalid_list_of_models_is_an_error(#[case] answer: String, #[case] named: &str) {
    let (base, _served) = answering(answer).await;
    let error = LMStudioProvider::new(&base).unwrap().models().await.unwrap_err();
    let cause = cause_of(&error, &base, "read");
    assert!(cause["reason"].as_str().unwrap().contains(named), "{cause}");
}

#[tokio::test]
async fn a_refused_list_keeps_its_status() {
    let (base, _served) = answering(whole("503 No", "Retry-After: 1\r\n", "later")).await;
    let error = LMStudioProvider::new(&base).unwrap().models().await.unwrap_err();
    assert_eq!(
        cause_of(&error, &base, "read"),
        json!({ "status": 503, "retryAfter": "1", "body": "later" })
    );
}

#[rstest]
#[case("https://localhost:1234", "https")]
#[case("ftp://localhost", "not http")]
#[case("localhost:1234", "not http")]
#[case("", "")]
#[case("http://", "")]
#[case("http://user:pa55@localhost", "API key")]
#[case("http://localhost/?a=b", "query")]
fn addresses_that_are_none(#[case] base: &str, #[case] named: &str) {
    let error = LMStudioProvider::new(base).unwrap_err().to_json();
    assert_eq!(
        (&error["code"], &error["details"][0]["field"]),
        (&json!("EVALIDATION"), &json!("base"))
    );
    assert!(error["details"][0]["reason"].as_str().unwrap().contains(named), "{error}");
    assert!(!error.to_string().contains("pa55"));
}

#[test]
fn a_key_that_no_header_can_hold_is_refused_unseen() {
    let provider = LMStudioProvider::new("http://localhost:1").unwrap();
    let error = provider.with_api_key("s3cret\n").unwrap_err().to_json();
    assert_eq!(error["details"][0]["field"], "apiKey");
    assert!(!error.to_string().contains("s3cret"));
}

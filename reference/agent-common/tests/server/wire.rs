//! The wire: MCP as a client speaks it, and frames that no client should send.

use agent_common::{MOST_OF_A_LINE, PROTOCOL_VERSIONS, Server};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::lab::{check_envelope, clock};

/// The server's answers to these bytes, until it ends.
async fn answers(input: &[u8]) -> Vec<Value> {
    let mut output = Vec::new();
    Server::in_memory(clock()).serve(input, &mut output).await.unwrap();
    assert!(output.is_empty() || output.ends_with(b"\n"));
    let text = String::from_utf8(output).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn lines(messages: &[Value]) -> Vec<u8> {
    messages.iter().flat_map(|message| format!("{message}\n").into_bytes()).collect()
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn initialize(version: &str) -> Value {
    let client = json!({"name": "test", "version": "1"});
    request(
        0,
        "initialize",
        json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client}),
    )
}

/// The answers to `messages`, after the handshake.
async fn after_handshake(messages: &[Value]) -> Vec<Value> {
    let mut all = vec![
        initialize("2025-06-18"),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    all.extend_from_slice(messages);
    let mut answers = answers(&lines(&all)).await;
    assert!(answers.remove(0)["result"].is_object());
    answers
}

#[rstest]
#[case("2025-06-18", "2025-06-18")]
#[case("2025-03-26", "2025-03-26")]
#[case("2024-11-05", "2024-11-05")]
#[case("2099-01-01", PROTOCOL_VERSIONS[0])]
#[case("", PROTOCOL_VERSIONS[0])]
#[tokio::test]
async fn versions(#[case] asked: &str, #[case] given: &str) {
    let answers = answers(&lines(&[initialize(asked)])).await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["id"], 0);
    let result = &answers[0]["result"];
    assert_eq!(result["protocolVersion"], given);
    assert_eq!(result["capabilities"], json!({"tools": {}}));
    assert!(
        result["serverInfo"]["name"].is_string() && result["serverInfo"]["version"].is_string()
    );
}

#[tokio::test]
async fn a_tool_is_called() {
    let create = json!({"name": "workspaces_create", "arguments": {"workspace": "w"}});
    let answers = after_handshake(&[
        request(1, "tools/list", json!({})),
        json!({"jsonrpc": "2.0", "id": "two", "method": "tools/list"}),
        request(3, "tools/call", create.clone()),
        request(4, "tools/call", create),
        request(5, "tools/call", json!({"name": "workspaces_list", "_meta": {"progressToken": 1}})),
        request(6, "ping", json!({})),
    ])
    .await;
    assert_eq!(answers[0]["result"], json!({"tools": Server::tools()}));
    assert_eq!(answers[1]["id"], "two");
    assert_eq!(answers[1]["result"], answers[0]["result"]);
    for (at, tool, failed) in [
        (2, "workspaces_create", false),
        (3, "workspaces_create", true),
        (4, "workspaces_list", false),
    ] {
        let result = &answers[at]["result"];
        assert_eq!(result["isError"], failed);
        check_envelope(tool, &result["structuredContent"]);
        assert_eq!(result["content"].as_array().unwrap().len(), 1);
        assert_eq!(result["content"][0]["type"], "text");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
    }
    assert_eq!(answers[4]["result"]["structuredContent"]["result"]["total"], 1);
    assert_eq!(answers[5], json!({"jsonrpc": "2.0", "id": 6, "result": {}}));
}

#[rstest]
#[case("{", -32700)]
#[case("nonsense", -32700)]
#[case("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"} {}", -32700)]
#[case("[]", -32600)]
#[case(r#"[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]"#, -32600)]
#[case("1", -32600)]
#[case("null", -32600)]
#[case("{}", -32600)]
#[case(r#"{"jsonrpc": "1.0", "id": true, "method": "ping"}"#, -32600)]
#[case(r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#, -32600)]
#[case(r#"{"jsonrpc": "2.0", "id": {}, "method": "ping"}"#, -32600)]
#[case(r#"{"jsonrpc": "2.0"}"#, -32600)]
#[tokio::test]
async fn bad_frames_are_answered_without_an_id_and_the_next_one_is_served(
    #[case] line: &str,
    #[case] code: i64,
) {
    let ping = request(9, "ping", json!({}));
    let answers = answers(format!("{line}\n{ping}\n").as_bytes()).await;
    assert_eq!(answers.len(), 2);
    assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&Value::Null, &json!(code)));
    assert!(answers[0]["error"]["message"].is_string());
    assert_eq!(answers[1]["id"], 9);
}

#[rstest]
#[case(json!({"id": 7, "method": "ping"}), -32600)]
#[case(json!({"jsonrpc": "2.0", "id": 7}), -32600)]
#[case(json!({"jsonrpc": "2.0", "id": 7, "method": 1}), -32600)]
#[case(json!({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": 1}), -32600)]
#[case(request(7, "server/discover", json!({})), -32601)]
#[case(request(7, "resources/list", json!({})), -32601)]
#[case(request(7, "", json!({})), -32601)]
#[case(request(7, "tools/call", json!({"name": "nope"})), -32602)]
#[case(request(7, "tools/call", json!({"name": "nope", "arguments": {}})), -32602)]
#[case(request(7, "tools/call", json!({"arguments": {}})), -32602)]
#[case(request(7, "tools/call", json!({"name": 1})), -32602)]
#[case(request(7, "tools/call", json!({"name": "workspaces_list", "arguments": []})), -32602)]
#[case(request(7, "tools/call", json!({"name": "workspaces_list", "arguments": null})), -32602)]
#[case(request(7, "tools/call", json!(["workspaces_list"])), -32602)]
#[case(json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call"}), -32602)]
#[case(request(7, "tools/list", json!({"cursor": "x"})), -32602)]
#[case(request(7, "tools/list", json!([])), -32602)]
#[case(request(7, "initialize", json!({})), -32602)]
#[case(json!({"jsonrpc": "2.0", "id": 7, "method": "initialize"}), -32602)]
#[tokio::test]
async fn bad_requests_are_answered_with_their_id(#[case] message: Value, #[case] code: i64) {
    let answers = after_handshake(&[message]).await;
    assert_eq!(answers.len(), 1);
    assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&json!(7), &json!(code)));
    assert_eq!(answers[0].get("result"), None);
}

#[tokio::test]
async fn before_initialize_only_ping_works() {
    let answers = answers(&lines(&[
        request(1, "server/discover", json!({})),
        request(2, "ping", json!({})),
        request(3, "tools/list", json!({})),
        request(4, "tools/call", json!({"name": "workspaces_list"})),
        request(5, "initialize", json!({})),
        request(6, "tools/list", json!({})),
        initialize("2025-06-18"),
        request(7, "tools/list", json!({})),
    ]))
    .await;
    let codes: Vec<_> = answers.iter().map(|answer| answer["error"]["code"].as_i64()).collect();
    let not_yet = Some(-32002);
    assert_eq!(codes, [Some(-32601), None, not_yet, not_yet, Some(-32602), not_yet, None, None]);
}

#[tokio::test]
async fn notifications_and_answers_get_no_answer() {
    let create = json!({"name": "workspaces_create", "arguments": {"workspace": "w"}});
    let answers = after_handshake(&[
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "method": "no/such/thing"}),
        json!({"jsonrpc": "2.0", "method": "tools/call", "params": create}),
        json!({"jsonrpc": "2.0", "id": 3, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 3, "error": {"code": 1, "message": ""}}),
        request(4, "tools/call", json!({"name": "workspaces_list"})),
    ])
    .await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["result"]["structuredContent"]["result"]["total"], 0);
}

#[tokio::test]
async fn blank_lines_line_ends_and_the_last_line() {
    let ping = |id| request(id, "ping", json!({}));
    let input = format!("\n  \r\n{}\r\n\n{}", ping(1), ping(2));
    let ids: Vec<_> =
        answers(input.as_bytes()).await.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!(answers(b"").await, Vec::<Value>::new());
    assert_eq!(answers(b"{\"jsonrpc\"").await[0]["error"]["code"], -32700);
    assert_eq!(answers(b"\"\xff\"\n").await[0]["error"]["code"], -32700);
    let deep = "[".repeat(100_000);
    assert_eq!(answers(deep.as_bytes()).await[0]["error"]["code"], -32700);
}

#[tokio::test]
async fn a_line_may_have_so_many_bytes_and_no_more() {
    let ping = request(1, "ping", json!({})).to_string();
    let padded = |length: usize| format!("{ping}{}\n", " ".repeat(length - ping.len()));
    let answers = answers(
        [padded(MOST_OF_A_LINE), padded(MOST_OF_A_LINE + 1), padded(100)].concat().as_bytes(),
    )
    .await;
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[0]["id"], 1);
    assert_eq!((&answers[1]["id"], &answers[1]["error"]["code"]), (&Value::Null, &json!(-32600)));
    assert_eq!(answers[2]["id"], 1);
}

/// An answer comes before the next request, so nothing waits in a buffer.
#[tokio::test]
async fn a_conversation() {
    let (near, far) = tokio::io::duplex(64);
    let (input, output) = tokio::io::split(far);
    let server = Server::in_memory(clock());
    let client = async move {
        let (read, mut write) = tokio::io::split(near);
        let mut read = BufReader::new(read).lines();
        for id in 0..3 {
            write.write_all(&lines(&[request(id, "ping", json!({}))])).await.unwrap();
            let answer: Value =
                serde_json::from_str(&read.next_line().await.unwrap().unwrap()).unwrap();
            assert_eq!(answer["id"], id);
        }
        write.shutdown().await.unwrap();
    };
    let (served, ()) = tokio::join!(server.serve(input, output), client);
    served.unwrap();
}

#[tokio::test]
async fn a_client_that_is_gone_is_an_error_of_the_stream() {
    let (output, gone) = tokio::io::duplex(8);
    drop(gone);
    let input = lines(&[request(1, "ping", json!({}))]);
    let served = Server::in_memory(clock()).serve(&input[..], output).await;
    assert!(served.is_err());
}

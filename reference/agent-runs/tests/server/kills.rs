//! Kill tests: the process is killed during its work, again and again, and no reported event is lost.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use futures::StreamExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};
use tokio_tungstenite::connect_async;

use crate::lab::{fold, id_of, in_time};

/// How often the process is killed; `RUNS_KILLS` says otherwise.
const KILLS: u32 = 40;
/// After so many kills another run is made, so that logs stay short.
const KILLS_OF_A_RUN: u32 = 20;
/// How many speak at the same time.
const SPEAKERS: usize = 3;

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_agent-runs"))
            .arg("--data")
            .arg(folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").expect("the first line is the address");
        Self { address: address.to_owned(), child }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The answer, or none if the server is gone.
    async fn ask(
        &self,
        client: &reqwest::Client,
        method: &str,
        path: &str,
        body: Value,
    ) -> Option<Value> {
        let url = format!("http://{}{path}", self.address);
        let request = client.request(method.parse().unwrap(), url).body(body.to_string());
        let answer = request.send().await.ok()?;
        assert!(answer.status().is_success(), "{path}: {answer:?}");
        serde_json::from_str(&answer.text().await.ok()?).ok()
    }
}

#[tokio::test]
async fn a_kill_loses_no_reported_event() {
    let kills = std::env::var("RUNS_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let (mut run, mut node) = (String::new(), String::new());
    let mut published: Vec<Value> = Vec::new();
    for kill in 0..kills {
        let server = Server::start(folder.path());
        if kill % KILLS_OF_A_RUN == 0 {
            run = id_of(&server.ask(&client, "POST", "/api/runs", json!({})).await.unwrap());
            let body = json!({ "label": "A", "roleTemplate": "x", "provider": "custom" });
            node = id_of(
                &server
                    .ask(&client, "POST", &format!("/api/runs/{run}/nodes"), body)
                    .await
                    .unwrap(),
            );
            published.clear();
        }
        let events = server
            .ask(&client, "GET", &format!("/api/runs/{run}/events"), Value::Null)
            .await
            .unwrap();
        assert!(
            events.as_array().unwrap().starts_with(&published),
            "kill {kill}: reported events are served again"
        );
        let state =
            server.ask(&client, "GET", &format!("/api/runs/{run}"), Value::Null).await.unwrap();
        assert_eq!(state["contractVersion"], "1");
        let heard = work_until_killed(server, &client, &run, &node, random.next_u32() % 12).await;
        published = check_log(folder.path(), &run, &heard);
    }
}

/// Speaks and listens until the server is killed, after so many answers. What was heard: acknowledged messages, and
/// events of the stream.
async fn work_until_killed(
    server: Server,
    client: &reqwest::Client,
    run: &str,
    node: &str,
    answers: u32,
) -> (Vec<Value>, Vec<Value>) {
    let (tell, mut published) = tokio::sync::mpsc::unbounded_channel();
    let url = format!("ws://{}/ws?runId={run}", server.address);
    let (mut socket, _) = in_time(connect_async(url)).await.unwrap();
    let listener = async {
        let mut events: Vec<Value> = Vec::new();
        while let Some(Ok(message)) = socket.next().await {
            events.extend(message.to_text().ok().and_then(|text| serde_json::from_str(text).ok()));
        }
        events
    };
    let path = format!("/api/runs/{run}/chat");
    let address = server.address.clone();
    let speak = async |speaker: usize| {
        let mut acknowledged = Vec::new();
        for number in 0.. {
            let body = json!({ "content": format!("{speaker}: {number}"), "nodeId": node, "interrupt": number % 3 == 2 });
            let request = client.post(format!("http://{address}{path}")).body(body.to_string());
            let Ok(answer) = request.send().await else { break };
            assert!(answer.status().is_success());
            let Ok(text) = answer.text().await else { break };
            let Ok(message) = serde_json::from_str::<Value>(&text) else { break };
            acknowledged.push(message);
            let _ = tell.send(());
        }
        acknowledged
    };
    let speakers = futures::future::join_all((0..SPEAKERS).map(speak));
    let killer = async {
        for _ in 0..answers {
            published.recv().await;
        }
        server.kill();
    };
    let (events, spoken, ()) = in_time(async { tokio::join!(listener, speakers, killer) }).await;
    (spoken.into_iter().flatten().collect(), events)
}

/// The whole lines of the log, which hold all that was heard.
fn check_log(folder: &Path, run: &str, (spoken, heard): &(Vec<Value>, Vec<Value>)) -> Vec<Value> {
    let log = std::fs::read(folder.join("runs").join(run).join("events.jsonl")).unwrap();
    let whole = log.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let lines: Vec<Value> = log[..whole]
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).expect("every line is whole"))
        .collect();
    assert!(lines.starts_with(heard), "the stream tells the log from its beginning");
    for message in spoken {
        let logged = lines.iter().filter(|event| event["message"] == *message).count();
        assert_eq!(logged, 1, "an acknowledged message is in the log: {message}");
    }
    for (id, artifact) in fold(&lines)["artifacts"].as_object().unwrap() {
        let text = std::fs::read_to_string(artifact["path"].as_str().unwrap()).unwrap();
        assert!(!text.is_empty(), "the artifact {id} was there before its event");
    }
    lines
}

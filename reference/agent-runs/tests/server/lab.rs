//! A server in a folder of its own, and those who speak to it. Every answer is held against the server's own page,
//! and every run against the fold of its log.

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use agent_runs::{Engine, Flush, Rules, Settings};
use futures::{SinkExt, StreamExt};
use jsonschema::Validator;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::script::Script;

/// Long enough for a machine under load; what takes longer never comes.
pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it comes in time")
}

pub(crate) struct Lab {
    pub(crate) script: Arc<Script>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) address: String,
    pub(crate) folder: Arc<TempDir>,
    client: reqwest::Client,
    shutdown: Option<oneshot::Sender<()>>,
    serving: JoinHandle<std::io::Result<()>>,
}

pub(crate) fn settings(script: &Arc<Script>) -> Settings {
    let ticks = AtomicU64::new(0);
    let clock = move || {
        let tick = ticks.fetch_add(1, Ordering::Relaxed);
        jiff::Timestamp::from_second(1_767_225_600 + i64::try_from(tick).unwrap()).unwrap()
    };
    let provider = Arc::clone(script);
    Settings {
        flush: Flush::System,
        policy: Arc::new(Rules),
        ..Settings::new(provider, Arc::new(clock))
    }
}

impl Lab {
    pub(crate) async fn start() -> Self {
        Self::start_in(Arc::new(tempfile::tempdir().unwrap()), Script::new()).await
    }

    pub(crate) async fn start_in(folder: Arc<TempDir>, script: Arc<Script>) -> Self {
        let settings = settings(&script);
        Self::start_with(folder, script, settings).await
    }

    pub(crate) async fn start_with(
        folder: Arc<TempDir>,
        script: Arc<Script>,
        settings: Settings,
    ) -> Self {
        let engine = Engine::open(folder.path(), settings).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (shutdown, asked) = oneshot::channel::<()>();
        let ending = async move {
            let _ = asked.await;
        };
        let serving = tokio::spawn(agent_runs::serve(Arc::clone(&engine), listener, ending));
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { script, engine, address, folder, client, shutdown: Some(shutdown), serving }
    }

    /// Ends the server and starts another in the same folder, with the same script.
    pub(crate) async fn restart(self) -> Self {
        let (folder, script) = (Arc::clone(&self.folder), Arc::clone(&self.script));
        self.end().await;
        Self::start_in(folder, script).await
    }

    /// Asks the server to end, and waits until it has. Its port is then free, so another test may already have it.
    pub(crate) async fn end(mut self) {
        self.shutdown.take().unwrap().send(()).unwrap();
        in_time(self.serving).await.unwrap().unwrap();
    }

    /// The status and the body, which is `null` where there is none.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<String>) -> (u16, Value) {
        let url = format!("http://{}{path}", self.address);
        let mut request = self.client.request(method.parse().unwrap(), url);
        if let Some(body) = body {
            request = request.body(body);
        }
        let answer = in_time(request.send()).await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() };
        hold_against_page(method, path, status, &body);
        (status, body)
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", path, None).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// The answer to a successful request.
    pub(crate) async fn done(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, answer) = self.ask(method, path, Some(body.to_string())).await;
        assert!((200..300).contains(&status), "{method} {path} {body}: {status} {answer}");
        answer
    }

    /// The id of a new run.
    pub(crate) async fn run(&self) -> String {
        id_of(&self.done("POST", "/api/runs", json!({})).await)
    }

    /// The id of a new node.
    pub(crate) async fn node(&self, run: &str, label: &str, more: Value) -> String {
        let mut body =
            json!({ "label": label, "roleTemplate": "implementer", "provider": "custom" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        id_of(&self.done("POST", &format!("/api/runs/{run}/nodes"), body).await)
    }

    pub(crate) async fn edge(
        &self,
        run: &str,
        from: &str,
        to: &str,
        bidirectional: bool,
    ) -> String {
        let body = json!({ "from": from, "to": to, "bidirectional": bidirectional });
        id_of(&self.done("POST", &format!("/api/runs/{run}/edges"), body).await)
    }

    pub(crate) async fn chat(&self, run: &str, node: &str, content: &str) {
        let body = json!({ "content": content, "nodeId": node });
        self.done("POST", &format!("/api/runs/{run}/chat"), body).await;
    }

    pub(crate) async fn interrupt(&self, run: &str, node: &str, content: &str) {
        let body = json!({ "content": content, "nodeId": node, "interrupt": true });
        self.done("POST", &format!("/api/runs/{run}/chat"), body).await;
    }

    pub(crate) async fn set_status(&self, run: &str, status: &str) {
        self.done("PATCH", &format!("/api/runs/{run}"), json!({ "status": status })).await;
    }

    pub(crate) async fn events(&self, run: &str) -> Vec<Value> {
        self.get(&format!("/api/runs/{run}/events")).await.as_array().unwrap().clone()
    }

    pub(crate) async fn node_state(&self, run: &str, node: &str) -> Value {
        self.get(&format!("/api/runs/{run}")).await["nodes"][node].clone()
    }

    /// The run is the fold of its events, and they are the lines of its log.
    pub(crate) async fn check_fold(&self, run: &str) {
        let path = format!("/api/runs/{run}");
        let (events, log) = loop {
            let before = self.get(&path).await;
            let events = self.events(run).await;
            let log = std::fs::read_to_string(self.log(run)).unwrap();
            // A turn may be under way: what was read in the midst of it is read again.
            if before == self.get(&path).await && self.events(run).await == events {
                assert_eq!(fold(&events), before);
                break (events, log);
            }
        };
        let lines: Vec<Value> =
            log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines, events);
    }

    pub(crate) fn log(&self, run: &str) -> PathBuf {
        self.folder.path().join("runs").join(run).join("events.jsonl")
    }

    pub(crate) async fn consumer(&self, run: &str) -> Consumer {
        self.consumer_at(&format!("/ws?runId={run}")).await.unwrap()
    }

    pub(crate) async fn consumer_after(&self, run: &str, after: &Value) -> Consumer {
        let path = format!("/ws?runId={run}&after={}", after.as_str().unwrap());
        self.consumer_at(&path).await.unwrap()
    }

    pub(crate) async fn consumer_at(&self, path: &str) -> tungstenite::Result<Consumer> {
        let url = format!("ws://{}{path}", self.address);
        in_time(connect_async(url)).await.map(|(socket, _)| Consumer { socket })
    }
}

pub(crate) fn id_of(value: &Value) -> String {
    value["id"].as_str().unwrap().to_owned()
}

pub(crate) fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

pub(crate) fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// One who listens to a stream.
pub(crate) struct Consumer {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Consumer {
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            match in_time(self.socket.next()).await.unwrap().unwrap() {
                Message::Text(text) => {
                    let event = serde_json::from_str(&text).unwrap();
                    hold_against("Event", &event);
                    return event;
                }
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?} is no event"),
            }
        }
    }

    /// The events up to the first that has these members.
    pub(crate) async fn until(&mut self, wanted: Value) -> Vec<Value> {
        let mut seen = vec![self.next().await];
        while !fits(seen.last().unwrap(), &wanted) {
            seen.push(self.next().await);
        }
        seen
    }

    /// The events until the node gets this status; that which it is made with is passed over.
    pub(crate) async fn until_node(&mut self, node: &str, status: &str) -> Vec<Value> {
        let wanted = json!({ "type": "node.patch", "nodeId": node, "patch": { "status": status, "label": null } });
        self.until(wanted).await
    }

    pub(crate) async fn take(&mut self, count: usize) -> Vec<Value> {
        let mut taken = Vec::new();
        while taken.len() < count {
            taken.push(self.next().await);
        }
        taken
    }

    pub(crate) async fn send(&mut self, message: Message) {
        in_time(self.socket.send(message)).await.unwrap();
    }
}

pub(crate) fn fits(value: &Value, wanted: &Value) -> bool {
    match wanted {
        Value::Object(members) => members.iter().all(|(name, inside)| fits(&value[name], inside)),
        other => value == other,
    }
}

/// The state that a log tells, as the contract says it, without any code of the server.
pub(crate) fn fold(events: &[Value]) -> Value {
    let mut run = json!({});
    for event in events {
        let set = |target: &mut Value, patch: &Value| {
            target.as_object_mut().unwrap().extend(patch.as_object().unwrap().clone());
        };
        match event["type"].as_str().unwrap() {
            "run.patch" => set(&mut run, &event["patch"]),
            "node.patch" => {
                let nodes = run["nodes"].as_object_mut().unwrap();
                let node = event["nodeId"].as_str().unwrap().to_owned();
                set(nodes.entry(node).or_insert(json!({})), &event["patch"]);
            }
            "edge.created" => run["edges"][id_of(&event["edge"])] = event["edge"].clone(),
            "edge.deleted" => {
                run["edges"].as_object_mut().unwrap().remove(event["edgeId"].as_str().unwrap());
            }
            "artifact.created" => {
                run["artifacts"][id_of(&event["artifact"])] = event["artifact"].clone()
            }
            _ => {}
        }
    }
    run
}

static PAGE: LazyLock<Value> =
    LazyLock::new(|| serde_json::to_value(agent_runs::openapi()).unwrap());
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// Holds an answer against the page; a path or a status that is not on it is a fault, unless it is refused.
pub(crate) fn hold_against_page(method: &str, path: &str, status: u16, body: &Value) {
    let path = path.split('?').next().unwrap();
    if path == "/api/openapi.json" {
        return;
    }
    let same = |template: &str| {
        let (a, b): (Vec<&str>, Vec<&str>) =
            (template.split('/').collect(), path.split('/').collect());
        a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a == b || a.starts_with('{'))
    };
    let paths = PAGE["paths"].as_object().unwrap();
    let operation = paths
        .iter()
        .find(|(template, _)| same(template))
        .map(|(_, operations)| &operations[method.to_lowercase()])
        .filter(|operation| operation.is_object());
    let Some(operation) = operation else {
        assert!(
            [404, 405].contains(&status),
            "{method} {path}: {status}, but it is not on the page"
        );
        return hold_against("Fault", body);
    };
    let responses = &operation["responses"];
    let exact = &responses[status.to_string()];
    let response = if exact.is_null() { &responses[format!("{}XX", status / 100)] } else { exact };
    assert!(response.is_object(), "{method} {path}: the page does not speak of {status}");
    let schema = &response["content"]["application/json"]["schema"];
    if schema.is_null() {
        assert!(body.is_null(), "{method} {path}: {status} has a body");
    } else {
        validate(schema, body);
    }
}

pub(crate) fn hold_against(schema: &str, body: &Value) {
    validate(&json!({ "$ref": format!("#/components/schemas/{schema}") }), body);
}

fn validate(schema: &Value, body: &Value) {
    let validator =
        Arc::clone(VALIDATORS.lock().unwrap().entry(schema.to_string()).or_insert_with(|| {
            let mut whole: Map<String, Value> = schema.as_object().unwrap().clone();
            whole.insert("components".to_owned(), PAGE["components"].clone());
            Arc::new(jsonschema::draft202012::new(&Value::Object(whole)).unwrap())
        }));
    let faults: Vec<String> = validator
        .iter_errors(body)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{body} does not fit {schema}: {faults:#?}");
}

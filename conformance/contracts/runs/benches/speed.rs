//! Speed of events in `runs`, from a REST request to all consumers, compared with a bare axum server that forwards
//! bodies. Also the memory of an idle consumer.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_runs::{Engine, Flush, Settings, serve};
use axum::Router;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::{get, post};
use futures::future::try_join_all;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use proofmark_room::bench::{compare, ratio, tell};
use room_runs::Nobody;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Requests in flight.
const AT_A_TIME: usize = 16;
const ROUNDS: usize = 5;
const IDLE: usize = 400;

fn main() -> ExitCode {
    proofmark_room::bench::main(bench)
}

fn bench() -> Result<(), String> {
    // Server and client on one machine, like a user interface and its server.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|fault| fault.to_string())?;
    let bare = runtime.block_on(bare())?;
    for (flush, message) in [(Flush::System, "written"), (Flush::Disk, "on the disk")] {
        let folder = TempDir::new().map_err(|fault| fault.to_string())?;
        let ours = runtime.block_on(ours(&folder, flush))?;
        for (consumers, events, goal) in [(1, 1_000, 4.0), (100, 200, 2.0)] {
            let measure = |place: &Endpoints| runtime.block_on(passed_on(place, consumers, events));
            let (mine, _, ratio) = ratio(ROUNDS, || measure(&ours), || measure(&bare))?;
            let figure = format!(
                "{ratio:.2} times a bare axum server ({:.0} events a second)",
                f64::from(events) / mine.as_secs_f64()
            );
            let what = format!("an event {message}, from REST to {consumers} consumer(s)");
            match flush {
                Flush::System => {
                    tell(&what, &figure, &format!("at most {goal}"), ratio <= goal)?;
                }
                // The disk's share depends on the machine, so it has no goal.
                Flush::Disk => compare(&what, &figure)?,
            }
        }
    }
    idle()
}

/// The URLs that make and stream events.
struct Endpoints {
    post: String,
    body: Value,
    watch: String,
}

async fn bare() -> Result<Endpoints, String> {
    let (sender, _) = broadcast::channel::<String>(4_096);
    async fn watch(
        State(sender): State<broadcast::Sender<String>>,
        up: WebSocketUpgrade,
    ) -> Response {
        let mut events = sender.subscribe();
        up.on_upgrade(async move |mut socket| {
            while let Ok(event) = events.recv().await {
                if socket.send(Message::text(event)).await.is_err() {
                    return;
                }
            }
        })
    }
    async fn take(State(sender): State<broadcast::Sender<String>>, body: String) -> String {
        // Without a receiver the event is lost, as on any bare server.
        let _nobody = sender.send(body.clone());
        body
    }
    let router = Router::new().route("/", post(take)).route("/ws", get(watch)).with_state(sender);
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|fault| fault.to_string())?;
    let at = listener.local_addr().map_err(|fault| fault.to_string())?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(Endpoints {
        post: format!("http://{at}/"),
        body: json!({ "content": "An event of the usual size, give or take." }),
        watch: format!("ws://{at}/ws"),
    })
}

async fn ours(folder: &TempDir, flush: Flush) -> Result<Endpoints, String> {
    let message = |fault: &dyn std::fmt::Display| fault.to_string();
    let settings =
        Settings { flush, ..Settings::new(Arc::new(Nobody), Arc::new(jiff::Timestamp::now)) };
    let engine = Engine::open(folder.path(), settings).await.map_err(|fault| message(&fault))?;
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|fault| message(&fault))?;
    let at = listener.local_addr().map_err(|fault| message(&fault))?;
    tokio::spawn(serve(engine, listener, std::future::pending()));
    let run = new_run(&format!("http://{at}")).await?;
    Ok(Endpoints {
        post: format!("http://{at}/api/runs/{run}/chat"),
        body: json!({ "content": "An event of the usual size, give or take." }),
        watch: format!("ws://{at}/ws?runId={run}"),
    })
}

async fn new_run(base: &str) -> Result<String, String> {
    let client =
        reqwest::Client::builder().no_proxy().build().map_err(|fault| fault.to_string())?;
    let answer = client.post(format!("{base}/api/runs")).body("{}");
    let answer = answer.header("content-type", "application/json").send().await;
    let text = answer.map_err(|fault| fault.to_string())?.text().await;
    let run: Value = serde_json::from_str(&text.map_err(|fault| fault.to_string())?)
        .map_err(|fault| fault.to_string())?;
    run["id"].as_str().map(str::to_owned).ok_or_else(|| format!("no run: {run}"))
}

/// How long it takes until every consumer has all events.
async fn passed_on(place: &Endpoints, consumers: usize, events: u32) -> Result<Duration, String> {
    let client =
        reqwest::Client::builder().no_proxy().build().map_err(|fault| fault.to_string())?;
    let request = |content: &str| {
        let body = json!({ "content": content }).to_string();
        client.post(&place.post).header("content-type", "application/json").body(body).send()
    };
    let mut sockets = Vec::new();
    for _ in 0..consumers {
        sockets.push(connect_async(&place.watch).await.map_err(|fault| fault.to_string())?.0);
    }
    // Skip the past, up to a mark that every consumer sees.
    let mark = format!("mark {:?}", Instant::now());
    request(&mark).await.map_err(|fault| fault.to_string())?;
    let caught_up = sockets.iter_mut().map(|socket| until(socket, &mark));
    try_join_all(caught_up).await?;
    let content = place.body["content"].as_str().unwrap_or_default();
    let started = Instant::now();
    let sending = stream::iter((0..events).map(|_| request(content)))
        .buffer_unordered(AT_A_TIME)
        .map_err(|fault| fault.to_string())
        .try_for_each(async |answer| match answer.status().is_success() {
            true => answer.bytes().await.map(drop).map_err(|fault| fault.to_string()),
            false => Err(format!("the server answers {}", answer.status())),
        });
    let reading = try_join_all(sockets.iter_mut().map(|socket| take(socket, events)));
    let (sent, read) = tokio::join!(sending, reading);
    sent?;
    read?;
    Ok(started.elapsed())
}

async fn until(socket: &mut Socket, mark: &str) -> Result<(), String> {
    while let Some(message) = socket.next().await {
        let message = message.map_err(|fault| fault.to_string())?;
        if message.to_text().is_ok_and(|text| text.contains(mark)) {
            return Ok(());
        }
    }
    Err("the stream ended".to_owned())
}

async fn take(socket: &mut Socket, count: u32) -> Result<(), String> {
    for _ in 0..count {
        match socket.next().await {
            Some(Ok(_)) => {}
            other => return Err(format!("the stream ended: {other:?}")),
        }
    }
    Ok(())
}

/// The memory of a server with many idle consumers.
fn idle() -> Result<(), String> {
    let message = |fault: std::io::Error| fault.to_string();
    let status = Command::new("cargo")
        .args(["build", "--release", "--quiet", "--package", "agent-runs"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    if !status.map_err(message)?.success() {
        return Err("agent-runs cannot be built".to_owned());
    }
    let folder = TempDir::new().map_err(message)?;
    // Cargo puts benches one folder below programs.
    let bench = std::env::current_exe().map_err(message)?;
    let built = bench.ancestors().nth(2).ok_or("the bench is in no target folder")?;
    let mut server = Server(
        Command::new(built.join("agent-runs"))
            .arg("--data")
            .arg(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(message)?,
    );
    let mut base = String::new();
    let out = server.0.stdout.take().ok_or("the server has no output")?;
    BufReader::new(out).read_line(&mut base).map_err(message)?;
    let base = base.trim().to_owned();
    let runtime = tokio::runtime::Runtime::new().map_err(message)?;
    let pid = server.0.id();
    let grown = runtime.block_on(async {
        let run = new_run(&base).await?;
        let url = format!("{}/ws?runId={run}", base.replacen("http", "ws", 1));
        let connect = async || connect_async(&url).await.map_err(|fault| fault.to_string());
        // The first consumers cause one-time allocations.
        let mut sockets = Vec::new();
        for _ in 0..10 {
            sockets.push(connect().await?);
        }
        let before = resident(pid)?;
        for _ in 0..IDLE {
            let mut socket = connect().await?;
            // The consumer is connected once it has received the past.
            take(&mut socket.0, 1).await?;
            sockets.push(socket);
        }
        let after = resident(pid)?;
        drop(sockets);
        Ok::<u64, String>(after.saturating_sub(before))
    })?;
    let each = grown as f64 / IDLE as f64;
    tell("memory of an idle consumer", &format!("{each:.1} KiB"), "at most 64 KiB", each <= 64.0)
}

/// A server that stops with the benchmark.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have exited by itself.
        let _gone = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// In KiB.
fn resident(pid: u32) -> Result<u64, String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))
        .map_err(|fault| fault.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| "cannot read the memory of the process from /proc".to_owned())
}

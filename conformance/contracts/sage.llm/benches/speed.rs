//! Streams through the wrapper compared with a bare channel, and the memory of a slow reader.

use std::fs;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use proofmark_room::bench::{ratio, tell, timed};
use sage_llm::{
    ChatOptions, ChatStream, Error, Llm, Model, Provider, Reply, Settings, StreamEvent, ToolRunner,
};
use sage_utils::{BoxFuture, err};
use serde_json::Value;
use tokio::sync::mpsc;

const EVENTS: u64 = 1_000_000;
const WORD: &str = "a word";

type Events = BoxStream<'static, Result<StreamEvent, Error>>;

fn main() -> ExitCode {
    proofmark_room::bench::main(bench)
}

fn bench() -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|fault| fault.to_string())?;
    for (what, timeout_ms) in [("without a time limit", None), ("with a time limit", Some(600_000))]
    {
        let ours = || timed(|| runtime.block_on(wrapped(timeout_ms)));
        let (mine, base, times) = ratio(7, ours, || timed(|| runtime.block_on(bare())))?;
        let each = |time: Duration| time.as_secs_f64() * 1e9 / EVENTS as f64;
        let figure = format!("{times:.2} times, {:.0} ns against {:.0} ns", each(mine), each(base));
        let what = format!("an event of a chat stream against a bare channel, {what}");
        tell(&what, &figure, "at most 2 times", times <= 2.0)?;
    }
    runtime.block_on(slow_reader(None))?;
    runtime.block_on(slow_reader(Some(Arc::new(NoTools))))
}

fn event(number: u64) -> StreamEvent {
    if number + 1 == EVENTS {
        StreamEvent::End { usage: None }
    } else {
        StreamEvent::Text { value: WORD.to_owned() }
    }
}

/// A channel with a producer.
fn channel() -> mpsc::Receiver<Result<StreamEvent, Error>> {
    let (sender, receiver) = mpsc::channel(64);
    tokio::spawn(async move {
        for number in 0..EVENTS {
            if sender.send(Ok(event(number))).await.is_err() {
                return;
            }
        }
    });
    receiver
}

async fn bare() -> Result<(), String> {
    let mut receiver = channel();
    let mut taken = 0;
    while let Some(item) = receiver.recv().await {
        item.map_err(|fault| fault.to_string())?;
        taken += 1;
    }
    all_came(taken)
}

async fn wrapped(timeout_ms: Option<u64>) -> Result<(), String> {
    let mut receiver = channel();
    let events = stream::poll_fn(move |context| receiver.poll_recv(context)).boxed();
    let mut stream = chat(events, timeout_ms, None)?;
    let mut taken = 0;
    while let Some(item) = stream.next().await {
        item.map_err(|fault| fault.to_string())?;
        taken += 1;
    }
    all_came(taken)
}

fn all_came(taken: u64) -> Result<(), String> {
    if taken == EVENTS { Ok(()) } else { Err(format!("{taken} events came")) }
}

fn chat(
    events: Events,
    timeout_ms: Option<u64>,
    runner: Option<Arc<dyn ToolRunner>>,
) -> Result<ChatStream, String> {
    let llm = Llm::new();
    llm.set_provider(Arc::new(Given(Mutex::new(Some(events)))));
    let options = ChatOptions { timeout_ms, ..ChatOptions::question("m", "go on") };
    let settings = Settings { runner, ..Settings::default() };
    llm.create_chat_stream(options, settings).map_err(|fault| fault.to_string())
}

/// The provider always has more; the reader yields after every item. With a runner, the wrapper keeps the text of the
/// round for the next request, in a string with up to twice the capacity. Nothing else may grow.
async fn slow_reader(runner: Option<Arc<dyn ToolRunner>>) -> Result<(), String> {
    let (who, kept) = match &runner {
        None => ("without a runner", 0),
        Some(_) => ("with a runner", 2 * EVENTS * WORD.len() as u64 / 1024),
    };
    let pulled = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&pulled);
    let events = stream::iter(0..EVENTS).map(move |number| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(event(number))
    });
    let mut stream = chat(events.boxed(), None, runner)?;
    let before = peak_from_now()?;
    let (mut taken, mut ahead) = (0, 0);
    while let Some(item) = stream.next().await {
        item.map_err(|fault| fault.to_string())?;
        taken += 1;
        ahead = ahead.max(pulled.load(Ordering::Relaxed) - taken);
        tokio::task::yield_now().await;
    }
    all_came(taken)?;
    let grown = peak()?.saturating_sub(before);
    tell(
        &format!("a slow reader of a million events, {who}"),
        &format!("at most {ahead} pulled ahead, {grown} KiB more memory"),
        &format!("at most 1, less than {} KiB", kept + 1024),
        ahead <= 1 && grown < kept + 1024,
    )
}

/// Resets the peak memory, and returns the current memory in KiB.
fn peak_from_now() -> Result<u64, String> {
    fs::write("/proc/self/clear_refs", "5").map_err(|fault| fault.to_string())?;
    peak()
}

fn peak() -> Result<u64, String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|fault| fault.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok())
        .ok_or_else(|| "/proc/self/status has no VmHWM".to_owned())
}

/// A provider with one stream.
struct Given(Mutex<Option<Events>>);

impl Provider for Given {
    fn name(&self) -> &str {
        "given"
    }

    fn chat(&self, _: ChatOptions) -> BoxFuture<'_, Result<Reply, Error>> {
        let events = self.0.lock().ok().and_then(|mut events| events.take());
        Box::pin(async { Ok(Reply::Stream(events.unwrap_or_else(|| stream::empty().boxed()))) })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<Model>, Error>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// A runner that nobody calls.
struct NoTools;

impl ToolRunner for NoTools {
    fn run<'a>(&'a self, name: &'a str, _: &'a Value) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(async move { Err(err("EVALIDATION", format!("no tool is {name}"), None)) })
    }
}

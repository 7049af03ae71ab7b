//! `agent-runs --data DIR --port N`: serves the runs of a folder on loopback, with a provider that echoes its prompt.
//! It shows the contract at work without a model: for user interfaces in development, and for tests that kill a
//! process.

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_runs::{Done, Engine, Flush, Forward, Item, Provider, ProviderFault, Settings, TurnAsk};
use clap::Parser;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use tokio::net::TcpListener;

/// Serve the runs of a folder on loopback, with a provider that echoes.
#[derive(Debug, Parser)]
struct Args {
    /// Where runs are kept; the folder must exist.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The port; 0 is one that is free. The address is the first line of the output.
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Trust the system to put events on the disk: they survive the process, but not a loss of power.
    #[arg(long)]
    no_sync: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let mut settings = Settings::new(Arc::new(Echo::default()), Arc::new(jiff::Timestamp::now));
    if args.no_sync {
        settings.flush = Flush::System;
    }
    let engine = Engine::open(&args.data, settings).await?;
    for (id, fault) in engine.refused() {
        eprintln!("the run `{id}` is refused: {fault}");
    }
    let listener = TcpListener::bind(("127.0.0.1", args.port)).await?;
    writeln!(std::io::stdout(), "http://{}", listener.local_addr()?)?;
    agent_runs::serve(engine, listener, asked_to_end()).await?;
    Ok(())
}

async fn asked_to_end() {
    // Without signal handlers there is no clean shutdown, and the server runs until it is killed.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Answers each turn with its prompt, word by word.
#[derive(Default)]
struct Echo {
    turns: AtomicU64,
    left: Mutex<HashMap<String, VecDeque<Item>>>,
}

impl Echo {
    fn left(&self) -> MutexGuard<'_, HashMap<String, VecDeque<Item>>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider for Echo {
    fn turn(&self, ask: TurnAsk) -> BoxFuture<'_, Result<String, ProviderFault>> {
        let id = self.turns.fetch_add(1, Ordering::Relaxed).to_string();
        let words = ask.prompt.text.split_inclusive(' ').map(|word| Item::Delta(word.to_owned()));
        let mut items: VecDeque<Item> =
            [Item::Progress("echoing".to_owned())].into_iter().chain(words).collect();
        items.push_back(Item::Done(Done::default()));
        self.left().insert(id.clone(), items);
        ready(Ok(id)).boxed()
    }

    fn next<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<Item, ProviderFault>> {
        let mut left = self.left();
        let item = left.get_mut(turn).and_then(VecDeque::pop_front);
        if matches!(item, Some(Item::Done(_))) {
            left.remove(turn);
        }
        ready(item.ok_or_else(|| ProviderFault(format!("there is no turn `{turn}`")))).boxed()
    }

    fn resolve<'a>(
        &'a self,
        _turn: &'a str,
        _forward: Forward,
    ) -> BoxFuture<'a, Result<(), ProviderFault>> {
        ready(Ok(())).boxed()
    }

    fn stop<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<(), ProviderFault>> {
        self.left().remove(turn);
        ready(Ok(())).boxed()
    }
}

//! A provider that plays scripts, and remembers what it was asked.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use agent_runs::{Forward, Item, Provider, ProviderFault, TurnAsk};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::lab::in_time;

/// Items of a turn are as in the contract; beside them there are `{"fail": why}`, and `{"hang": name}`, which waits
/// until it is let go by that name. A turn whose script is at its end hangs for ever.
#[derive(Default)]
pub(crate) struct Script {
    /// By the label of the node: its turns, then their items.
    turns: Mutex<HashMap<String, VecDeque<VecDeque<Value>>>>,
    under_way: Mutex<HashMap<String, VecDeque<Value>>>,
    asks: watch::Sender<Vec<(String, Value)>>,
    let_go: watch::Sender<Vec<String>>,
    stopped: watch::Sender<Vec<String>>,
}

impl Script {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// The items of the next turn of the node with this label that has none yet.
    pub(crate) fn turn<const N: usize>(&self, label: &str, items: [Value; N]) {
        self.turn_of(label, items.into());
    }

    pub(crate) fn turn_of(&self, label: &str, items: Vec<Value>) {
        let mut turns = self.turns.lock().unwrap();
        turns.entry(label.to_owned()).or_default().push_back(items.into());
    }

    pub(crate) fn let_go(&self, name: &str) {
        self.let_go.send_modify(|names| names.push(name.to_owned()));
    }

    /// What it was asked with this method.
    pub(crate) fn asked(&self, method: &str) -> Vec<Value> {
        let asks = self.asks.borrow();
        asks.iter().filter(|(name, _)| name == method).map(|(_, args)| args.clone()).collect()
    }

    /// All methods that it was asked, in order.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.asks.borrow().iter().map(|(name, _)| name.clone()).collect()
    }

    /// Waits until it was asked so often with this method.
    pub(crate) async fn until_asked(&self, method: &str, times: usize) -> Vec<Value> {
        let mut asks = self.asks.subscribe();
        let enough = |asks: &Vec<(String, Value)>| {
            asks.iter().filter(|(name, _)| name == method).count() >= times
        };
        in_time(asks.wait_for(enough)).await.unwrap();
        self.asked(method)
    }

    fn note(&self, method: &str, args: Value) {
        self.asks.send_modify(|asks| asks.push((method.to_owned(), args)));
    }
}

impl Provider for Script {
    fn turn(&self, ask: TurnAsk) -> BoxFuture<'_, Result<String, ProviderFault>> {
        async move {
            let id = format!("turn-{}", self.asked("turn").len());
            let items =
                self.turns.lock().unwrap().get_mut(&ask.label).and_then(VecDeque::pop_front);
            self.note("turn", serde_json::to_value(&ask).unwrap());
            self.under_way.lock().unwrap().insert(id.clone(), items.unwrap_or_default());
            Ok(id)
        }
        .boxed()
    }

    fn next<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<Item, ProviderFault>> {
        async move {
            self.note("next", json!(turn));
            loop {
                let item = self.under_way.lock().unwrap().get_mut(turn).unwrap().pop_front();
                let item = item.unwrap_or(json!({ "hang": "for ever" }));
                if let Some(why) = item.get("fail") {
                    return Err(ProviderFault(why.as_str().unwrap().to_owned()));
                }
                let Some(name) = item.get("hang").and_then(Value::as_str) else {
                    return Ok(serde_json::from_value(item).unwrap());
                };
                let (mut let_go, mut stopped) = (self.let_go.subscribe(), self.stopped.subscribe());
                tokio::select! {
                    _ = let_go.wait_for(|names| names.iter().any(|n| n == name)) => {}
                    _ = stopped.wait_for(|turns| turns.iter().any(|t| t == turn)) => {
                        return Ok(Item::Stopped(true));
                    }
                }
            }
        }
        .boxed()
    }

    fn resolve<'a>(
        &'a self,
        turn: &'a str,
        forward: Forward,
    ) -> BoxFuture<'a, Result<(), ProviderFault>> {
        async move {
            let mut args = serde_json::to_value(&forward).unwrap();
            args["turn"] = json!(turn);
            self.note("resolve", args);
            Ok(())
        }
        .boxed()
    }

    fn stop<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<(), ProviderFault>> {
        async move {
            self.note("stop", json!(turn));
            self.stopped.send_modify(|turns| turns.push(turn.to_owned()));
            Ok(())
        }
        .boxed()
    }
}

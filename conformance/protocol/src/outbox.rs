//! Outgoing lines of an adapter, and the pending answers on both sides.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, oneshot};

use crate::failure::Failure;
use crate::message::{Id, Reply, RpcError, push_error, push_result};

/// Outgoing lines. The whole buffer is written at once, so that a burst of answers costs one write.
#[derive(Default)]
pub(crate) struct Outbox {
    lines: Mutex<Vec<u8>>,
    filled: Notify,
    finished: AtomicBool,
    asked: Mutex<Asked>,
}

/// Calls of fakes that wait for an answer.
#[derive(Default)]
struct Asked {
    next: i64,
    waiting: HashMap<i64, oneshot::Sender<Result<Value, RpcError>>>,
    /// The harness is gone, so no more answers will come.
    over: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Outbox {
    /// Begins a call of a fake. Returns its id and a receiver for the answer. If the harness is gone, the receiver
    /// fails.
    pub(crate) fn begin_ask(&self) -> (i64, oneshot::Receiver<Result<Value, RpcError>>) {
        let (sender, receiver) = oneshot::channel();
        let mut asked = lock(&self.asked);
        asked.next += 1;
        let id = asked.next;
        if !asked.over {
            asked.waiting.insert(id, sender);
        }
        (id, receiver)
    }

    /// Delivers an answer; ignores one that nobody waits for.
    pub(crate) fn end_ask(&self, id: &Id, outcome: Result<Value, RpcError>) {
        if let Id::Number(number) = id
            && let Some(waiting) = lock(&self.asked).waiting.remove(number)
        {
            // The call that asked may have ended with its session.
            let _gone = waiting.send(outcome);
        }
    }

    /// The harness is gone: fails all pending calls of fakes.
    pub(crate) fn hang_up(&self) {
        let mut asked = lock(&self.asked);
        asked.over = true;
        asked.waiting.clear();
    }

    pub(crate) fn push(&self, add: impl FnOnce(&mut Vec<u8>)) {
        add(&mut lock(&self.lines));
        self.filled.notify_one();
    }

    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *lock(&self.lines))
    }

    /// Lets [`Self::pump`] end once everything is written.
    pub(crate) fn finish(&self) {
        self.finished.store(true, Ordering::Release);
        self.filled.notify_one();
    }

    pub(crate) async fn pump(&self, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        loop {
            self.filled.notified().await;
            let finished = self.finished.load(Ordering::Acquire);
            let lines = self.take();
            output.write_all(&lines).await?;
            output.flush().await?;
            if finished {
                return Ok(());
            }
        }
    }
}

/// The pending answer to a call. If its handler panics, answers with an error, so that the harness does not time out.
pub(crate) struct Owed {
    pub(crate) outbox: Arc<Outbox>,
    /// `None` once it is answered.
    pub(crate) id: Option<Id>,
}

impl Owed {
    pub(crate) fn pay(mut self, outcome: Result<Value, Failure>) {
        let Some(id) = self.id.take() else { return };
        self.outbox.push(|out| match outcome {
            Ok(value) => push_result(out, &id, &Reply::Value(value)),
            Err(Failure::Contract(error)) => push_result(out, &id, &Reply::Error(error)),
            Err(Failure::Adapter(error)) => push_error(out, Some(&id), &error),
        });
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let message = "the adapter's handler ended without an answer; it may have panicked";
            let error = RpcError::new(RpcError::ADAPTER, message);
            self.outbox.push(|out| push_error(out, Some(&id), &error));
        }
    }
}

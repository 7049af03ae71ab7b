//! A running run: one task owns its desk and writes what the desk stages.
//!
//! Requests reach the task as actions. It performs all waiting actions together, then writes and syncs their events
//! once. Only then does it notify consumers, clients and providers.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot, watch};

use crate::desk::{Desk, Effect, Staged};
use crate::log::Line;
use crate::turn;
use crate::{Id, Refusal};

/// Size of the action queue; later actions wait for space.
const QUEUE: usize = 256;
/// How many actions share a write.
const BATCH: usize = 64;

type Reply = Box<dyn FnOnce(Result<(), Refusal>) + Send>;
type Action = Box<dyn FnOnce(&mut Desk) -> Reply + Send>;

/// The lifetime of an engine, as its tasks see it.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    closing: watch::Receiver<bool>,
    /// Held by every task. The last one releases the lock, and the channel signals it.
    _lock: Arc<FolderLock>,
    _alive: mpsc::Sender<()>,
}

/// Releases the lock when dropped. Closing the file is not enough: a process that is just being spawned also has the
/// file until it calls exec.
#[derive(Debug)]
struct FolderLock(File);

impl Drop for FolderLock {
    fn drop(&mut self) {
        // If unlocking fails, the lock ends when the file is closed everywhere.
        let _ = self.0.unlock();
    }
}

impl Life {
    pub(crate) fn new(closing: watch::Receiver<bool>, alive: mpsc::Sender<()>, lock: File) -> Self {
        Self { closing, _lock: Arc::new(FolderLock(lock)), _alive: alive }
    }

    /// Returns when the engine closes.
    pub(crate) async fn ends(&mut self) {
        // An error means that the engine is gone, which has the same effect.
        let _ = self.closing.wait_for(|closing| *closing).await;
    }
}

/// A handle of a run, for clients and consumers.
pub(crate) struct Run {
    pub(crate) id: Id,
    actions: mpsc::Sender<Action>,
    published: Arc<Published>,
}

/// The events in the log, which consumers read at their own pace.
pub(crate) struct Published {
    lines: Mutex<Vec<Line>>,
    count: watch::Sender<usize>,
}

impl Published {
    fn new(lines: Vec<Line>) -> Self {
        let count = watch::Sender::new(lines.len());
        Self { lines: Mutex::new(lines), count }
    }

    fn add(&self, lines: Vec<Line>) {
        let mut published = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        published.extend(lines);
        self.count.send_replace(published.len());
    }

    /// At most `most` events, from the one at `first` on.
    pub(crate) fn from(&self, first: usize, most: usize) -> Vec<Line> {
        let published = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        published.iter().skip(first).take(most).cloned().collect()
    }

    /// The position after this event.
    pub(crate) fn after(&self, event: Option<Id>) -> Option<usize> {
        let Some(event) = event else { return Some(0) };
        let published = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        published.iter().rposition(|line| line.id == event).map(|place| place + 1)
    }

    /// Notifies of the number of events whenever it grows.
    pub(crate) fn count(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }
}

impl Run {
    /// Starts the task of a run; `lines` are already in the log.
    pub(crate) fn start(desk: Desk, lines: Vec<Line>, life: Life) -> Arc<Self> {
        let (actions, queue) = mpsc::channel(QUEUE);
        let published = Arc::new(Published::new(lines));
        let run =
            Arc::new(Self { id: desk.fold.run.id, actions, published: Arc::clone(&published) });
        let weak = Arc::downgrade(&run);
        let mut writer = Writer { desk, published, broken: None };
        tokio::spawn(async move {
            let mut queue = queue;
            let mut batch = Vec::new();
            while queue.recv_many(&mut batch, BATCH).await > 0 {
                let effects = writer.carry_out(batch.drain(..)).await;
                // Without the run, nobody needs the turn.
                if let Some(run) = weak.upgrade() {
                    effects
                        .into_iter()
                        .for_each(|effect| act_on(effect, &run, &writer.desk, &life));
                }
            }
            drop(life);
        });
        run
    }

    pub(crate) fn published(&self) -> &Arc<Published> {
        &self.published
    }

    /// Performs `action` at the desk. The answer comes when all events staged by then are written.
    pub(crate) async fn act<T: Send + 'static>(
        &self,
        action: impl FnOnce(&mut Desk) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (tell, answer) = oneshot::channel();
        let action: Action = Box::new(move |desk| {
            let outcome = action(desk);
            Box::new(move |written| {
                // The client may be gone.
                let _ = tell.send(written.and(outcome));
            })
        });
        self.actions.send(action).await.map_err(|_| Refusal::Closing)?;
        answer.await.map_err(|_| Refusal::Closing)?
    }
}

struct Writer {
    desk: Desk,
    published: Arc<Published>,
    /// A write failed, so the desk is ahead of the disk, whose state is unknown.
    broken: Option<std::io::ErrorKind>,
}

impl Writer {
    async fn carry_out(&mut self, batch: impl Iterator<Item = Action>) -> Vec<Effect> {
        // Also for a broken run: the action still runs, but its answer is not sent.
        let replies: Vec<Reply> = batch.map(|action| action(&mut self.desk)).collect();
        let Staged { files, lines, effects } = std::mem::take(&mut self.desk.staged);
        if self.broken.is_none() && !(files.is_empty() && lines.is_empty()) {
            let logged = self.desk.policy().logged(lines.clone());
            let adds = self.desk.policy().adds_to_log();
            let place = self.desk.files.clone();
            let write = move || place.write(&files, &logged, adds);
            let written = tokio::task::spawn_blocking(write).await;
            match written {
                Ok(Ok(())) => self.published.add(lines),
                Ok(Err(error)) => self.broken = Some(error.kind()),
                Err(_) => self.broken = Some(std::io::ErrorKind::Other),
            }
        }
        let id = self.desk.fold.run.id;
        for reply in replies {
            reply(self.broken.map_or(Ok(()), |kind| Err(Refusal::Unwritable { id, kind })));
        }
        if self.broken.is_some() { Vec::new() } else { effects }
    }
}

fn act_on(effect: Effect, run: &Arc<Run>, desk: &Desk, life: &Life) {
    match effect {
        Effect::Begin { ask, number, interrupt } => {
            let provider = Arc::clone(&desk.shared.settings.provider);
            let (run, life) = (Arc::clone(run), life.clone());
            tokio::spawn(turn::drive(run, provider, ask, number, interrupt, life));
        }
        Effect::Interrupt(interrupt) => interrupt.notify_one(),
        Effect::Resolve(answer, forward) => {
            // The turn may have ended with its engine.
            let _ = answer.send(forward);
        }
    }
}

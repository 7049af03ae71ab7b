//! The engine: all runs of one folder.

use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indexmap::IndexMap;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinError;

use crate::bodies::NewRun;
use crate::desk::{Desk, Shared};
use crate::log::{Line, RUNS, RunFault, RunFiles, sync_folder};
use crate::run::{Life, Run};
use crate::state::{Approval, Resolution, RunState};
use crate::{Id, Refusal, Settings};

/// Why a folder cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("`{path}` cannot be opened: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("`{path}` is served by another engine; end that one first")]
    Locked { path: PathBuf },
    #[error("`{path}` is not UTF-8, but paths are reported as JSON")]
    NotText { path: PathBuf },
    #[error("the folder could not be read to its end: {0}")]
    Reader(#[from] JoinError),
}

/// How long `close` waits for providers to stop.
const PATIENCE: Duration = Duration::from_secs(2);
/// Locked while a folder is served, so that no two processes write to one log.
const LOCK: &str = "runs.lock";

/// All runs of one folder. Its tasks run on the runtime in which it was opened.
pub struct Engine {
    folder: PathBuf,
    shared: Arc<Shared>,
    runs: Mutex<IndexMap<Id, Arc<Run>>>,
    refused: HashMap<Id, RunFault>,
    /// How many runs were created.
    ordinals: AtomicU64,
    /// How many are being created.
    making: AtomicUsize,
    closing: watch::Sender<bool>,
    life: Mutex<Option<Life>>,
    ended: tokio::sync::Mutex<mpsc::Receiver<()>>,
}

/// The content of the disk when a folder is opened.
struct Found {
    folder: PathBuf,
    lock: File,
    runs: Vec<(Desk, Vec<Line>)>,
    refused: HashMap<Id, RunFault>,
}

impl Engine {
    /// Opens a folder, which must exist, and resumes its runs. A run with a damaged log is refused; the others are
    /// served.
    ///
    /// # Errors
    /// If the folder cannot be read or written, or is already served.
    pub async fn open(
        folder: impl AsRef<Path>,
        settings: Settings,
    ) -> Result<Arc<Self>, OpenError> {
        let folder = folder.as_ref().to_owned();
        let shared = Arc::new(Shared { settings, approvals: AtomicU64::new(0) });
        let reader = Arc::clone(&shared);
        let found = tokio::task::spawn_blocking(move || Found::read(&folder, &reader)).await??;
        let (closing, closed) = watch::channel(false);
        let (alive, ended) = mpsc::channel(1);
        let life = Life::new(closed, alive, found.lock);
        let ordinals = found.runs.last().map_or(0, |(desk, _)| desk.fold.ordinal + 1);
        let mut runs = IndexMap::new();
        for (desk, lines) in found.runs {
            let run = Run::start(desk, lines, life.clone());
            // Requests for a run that cannot be written get that error.
            let _ = run.act(Desk::recover).await;
            runs.insert(run.id, run);
        }
        Ok(Arc::new(Self {
            folder: found.folder,
            shared,
            runs: Mutex::new(runs),
            refused: found.refused,
            ordinals: AtomicU64::new(ordinals),
            making: AtomicUsize::new(0),
            closing,
            life: Mutex::new(Some(life)),
            ended: tokio::sync::Mutex::new(ended),
        }))
    }

    /// The runs that are not served, and why.
    #[must_use]
    pub fn refused(&self) -> &HashMap<Id, RunFault> {
        &self.refused
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    pub(crate) fn life(&self) -> Result<Life, Refusal> {
        lock(&self.life).clone().ok_or(Refusal::Closing)
    }

    pub(crate) fn run(&self, id: Id) -> Result<Arc<Run>, Refusal> {
        if let Some(run) = lock(&self.runs).get(&id) {
            return Ok(Arc::clone(run));
        }
        if *self.closing.borrow() {
            return Err(Refusal::Closing);
        }
        Err(match self.refused.get(&id) {
            Some(fault) => Refusal::Refused { id, fault: fault.clone() },
            None => Refusal::Unknown { what: "run", id },
        })
    }

    /// # Errors
    /// If the limit of runs is reached, or the disk fails.
    pub async fn create_run(self: &Arc<Self>, body: NewRun) -> Result<RunState, Refusal> {
        let engine = Arc::clone(self);
        // In a separate task: the run is created even if the client disconnects.
        let made = tokio::spawn(async move {
            let most = engine.settings().limits.runs;
            let under_way = engine.making.fetch_add(1, Ordering::Relaxed);
            let room = lock(&engine.runs).len() + under_way < most;
            let made = if room {
                engine.make_run(&body).await
            } else {
                Err(Refusal::TooMany { what: "runs", most })
            };
            engine.making.fetch_sub(1, Ordering::Relaxed);
            made
        });
        made.await.map_err(|_| Refusal::Closing)?
    }

    async fn make_run(&self, body: &NewRun) -> Result<RunState, Refusal> {
        let id = self.shared.id();
        let life = self.life()?;
        let files = RunFiles::new(&self.folder, id, self.settings().flush);
        let place = files.clone();
        let created = tokio::task::spawn_blocking(move || place.create()).await;
        let unwritable = |kind| Refusal::Unwritable { id, kind };
        created
            .map_err(|_| unwritable(io::ErrorKind::Other))?
            .map_err(|error| unwritable(error.kind()))?;
        let ordinal = self.ordinals.fetch_add(1, Ordering::Relaxed);
        let desk = Desk::create(id, ordinal, body, Arc::clone(&self.shared), files);
        let run = Run::start(desk, Vec::new(), life);
        let state = run.act(|desk| Ok(desk.fold.run.clone())).await?;
        lock(&self.runs).insert(id, run);
        Ok(state)
    }

    /// All runs that are served, oldest first.
    ///
    /// # Errors
    /// If the engine is closing. A run that can no longer be written is left out.
    pub async fn list_runs(&self) -> Result<Vec<RunState>, Refusal> {
        let mut listed = Vec::new();
        for run in self.all_runs() {
            listed.extend(rested(
                run.act(|desk| Ok((desk.fold.ordinal, desk.fold.run.clone()))).await,
            )?);
        }
        // Runs created at the same time may finish in another order.
        listed.sort_by_key(|(ordinal, _)| *ordinal);
        Ok(listed.into_iter().map(|(_, run)| run).collect())
    }

    /// The pending approvals, oldest first.
    ///
    /// # Errors
    /// As [`Self::list_runs`].
    pub async fn list_approvals(&self) -> Result<Vec<Approval>, Refusal> {
        let mut listed = Vec::new();
        for run in self.all_runs() {
            let waiting = rested(run.act(|desk| Ok(desk.waiting_approvals())).await)?;
            listed.extend(waiting.into_iter().flatten());
        }
        listed.sort_by_key(|(order, _)| *order);
        Ok(listed.into_iter().map(|(_, approval)| approval).collect())
    }

    /// # Errors
    /// If no approval with this id is pending, or the resolution does not fit.
    pub async fn resolve(&self, id: Id, said: Resolution) -> Result<Resolution, Refusal> {
        for run in self.all_runs() {
            let said = said.clone();
            match run.act(move |desk| desk.resolve(id, said)).await {
                Err(Refusal::Unknown { .. } | Refusal::Unwritable { .. }) => {}
                known => return known,
            }
        }
        Err(Refusal::Unknown { what: "approval that waits", id })
    }

    /// Stops all turns and disconnects consumers. When it returns, nothing more is written and the folder can be
    /// reopened. It waits at most two seconds for a provider.
    pub async fn close(&self) {
        self.closing.send_replace(true);
        lock(&self.runs).clear();
        lock(&self.life).take();
        let mut ended = self.ended.lock().await;
        // After the limit, tasks end when their providers return, and the folder stays locked until then.
        let _ = tokio::time::timeout(PATIENCE, ended.recv()).await;
    }

    fn all_runs(&self) -> Vec<Arc<Run>> {
        lock(&self.runs).values().cloned().collect()
    }
}

impl Found {
    fn read(folder: &Path, shared: &Arc<Shared>) -> Result<Self, OpenError> {
        let fail = |error| OpenError::Io { path: folder.to_owned(), error };
        let folder = folder.canonicalize().map_err(fail)?;
        if folder.to_str().is_none() {
            return Err(OpenError::NotText { path: folder });
        }
        fs::create_dir_all(folder.join(RUNS)).map_err(fail)?;
        sync_folder(&folder).map_err(fail)?;
        let lock = File::create(folder.join(LOCK)).map_err(fail)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenError::Locked { path: folder }),
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
        let (mut runs, mut refused) = (Vec::new(), HashMap::new());
        for entry in fs::read_dir(folder.join(RUNS)).map_err(fail)? {
            // Folders with other names are not ours.
            let name = entry.map_err(fail)?.file_name();
            let Some(id) = name.to_str().and_then(|name| name.parse::<Id>().ok()) else { continue };
            let files = RunFiles::new(&folder, id, shared.settings.flush);
            match files.read(&shared.settings.policy) {
                Ok(Some((fold, lines))) => {
                    runs.push((Desk::new(fold, Arc::clone(shared), files), lines));
                }
                Ok(None) => {}
                Err(fault) => {
                    refused.insert(id, fault);
                }
            }
        }
        runs.sort_by_key(|(desk, _)| {
            (desk.fold.ordinal, desk.fold.run.created_at, desk.fold.run.id)
        });
        Ok(Self { folder, lock, runs, refused })
    }
}

/// Skips a run that is at rest because it could not be written.
fn rested<T>(answer: Result<T, Refusal>) -> Result<Option<T>, Refusal> {
    match answer {
        Err(Refusal::Unwritable { .. }) => Ok(None),
        other => other.map(Some),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! What a program prints: read to the end, kept up to a limit.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::redact::Redactor;

/// The most that is told of a stream, in bytes.
const LIMIT: usize = 1 << 20;
/// What stands where the rest was cut off.
const MARK: &str = "\n[truncated]\n";

/// A stream that is being read.
pub(super) struct Gathering {
    reading: JoinHandle<()>,
    gathered: Arc<Mutex<Gathered>>,
}

/// What was read of a stream.
#[derive(Default)]
pub(super) struct Gathered {
    kept: Vec<u8>,
    is_cut: bool,
}

impl Gathering {
    /// Reads on after the limit, so that the program need not wait, but keeps no more.
    pub(super) fn start(mut stream: impl AsyncRead + Unpin + Send + 'static) -> Self {
        let gathered = Arc::new(Mutex::new(Gathered::default()));
        let shared = Arc::clone(&gathered);
        let reading = tokio::spawn(async move {
            let mut chunk = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = stream.read(&mut chunk).await {
                lock(&shared).push(&chunk[..count]);
            }
        });
        Self { reading, gathered }
    }

    /// What there is at the end of the stream, or at `deadline`.
    pub(super) async fn end(mut self, deadline: Instant) -> Gathered {
        let _late = tokio::time::timeout_at(deadline, &mut self.reading).await;
        std::mem::take(&mut *lock(&self.gathered))
    }
}

/// Nobody reads a stream that nobody asks for.
impl Drop for Gathering {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

fn lock(gathered: &Mutex<Gathered>) -> std::sync::MutexGuard<'_, Gathered> {
    gathered.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gathered {
    fn push(&mut self, bytes: &[u8]) {
        let room = LIMIT - self.kept.len();
        self.is_cut |= bytes.len() > room;
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// As text, without secrets and without the beginning of one at the cut.
    pub(super) fn told(self, redactor: &Redactor) -> String {
        let text = String::from_utf8_lossy(&self.kept);
        let mut told = if self.is_cut { redactor.cut_text(&text) } else { redactor.text(&text) };
        if self.is_cut || told.len() > LIMIT {
            let mut end = LIMIT.min(told.len());
            while !told.is_char_boundary(end) {
                end -= 1;
            }
            told.truncate(end);
            told.push_str(MARK);
        }
        told
    }
}

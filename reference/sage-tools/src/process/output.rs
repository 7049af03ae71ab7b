//! The output of a program: read to the end, kept up to a limit.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::redact::Redactor;

/// Limit of reported output per stream, in bytes.
const LIMIT: usize = 1 << 20;
/// The mark of a cut.
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
    /// Reads on after the limit, so that the program does not block, but keeps no more.
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

    /// The output at the end of the stream, or at `deadline`.
    pub(super) async fn end(mut self, deadline: Instant) -> Gathered {
        let _late = tokio::time::timeout_at(deadline, &mut self.reading).await;
        std::mem::take(&mut *lock(&self.gathered))
    }
}

/// Stops reading an abandoned stream.
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
    pub(super) fn redacted(self, redactor: &Redactor) -> String {
        let text =
            String::from_utf8_lossy(if self.is_cut { whole(&self.kept) } else { &self.kept });
        let mut shown = if self.is_cut { redactor.cut_text(&text) } else { redactor.text(&text) };
        if self.is_cut || shown.len() > LIMIT {
            let mut end = LIMIT.min(shown.len());
            while !shown.is_char_boundary(end) {
                end -= 1;
            }
            shown.truncate(end);
            shown.push_str(MARK);
        }
        shown
    }
}

/// Without a character that the cut left incomplete: as a replacement character it would hide that the text before it
/// is the beginning of a secret.
fn whole(bytes: &[u8]) -> &[u8] {
    let last = bytes.utf8_chunks().last();
    let rest = last.map_or(&[][..], |chunk| chunk.invalid());
    // Only at the end of all bytes can a sequence lack nothing but its own end.
    let is_begun = std::str::from_utf8(rest).is_err_and(|fault| fault.error_len().is_none());
    if is_begun { &bytes[..bytes.len() - rest.len()] } else { bytes }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::secrets::Secrets;

    #[rstest]
    #[case(b"a", b"a")]
    #[case("aé".as_bytes(), "aé".as_bytes())]
    #[case(b"a\xc3", b"a")]
    #[case(b"a\xf0\x9f\x99", b"a")]
    #[case(b"a\xff", b"a\xff")]
    #[case(b"\xff\xc3", b"\xff")]
    #[case(b"\xc3", b"")]
    #[case(b"", b"")]
    fn what_is_whole(#[case] bytes: &[u8], #[case] expect: &[u8]) {
        assert_eq!(whole(bytes), expect);
    }

    /// The cut falls on every byte of a secret, also of one whose forms hold each other.
    #[rstest]
    #[case::two_bytes("Aéàéàéà")]
    #[case::three_bytes("€uro→€")]
    #[case::four_bytes("🙂🙃x🙂")]
    #[case::many_lines("première\nsecondé")]
    fn a_cut_inside_a_character_leaves_no_part_of_a_secret(#[case] secret: &str) {
        let redactor = Redactor::of(&Secrets::known(&[("KEY", secret)]));
        for cut in 1..secret.len() {
            let mut gathered = Gathered::default();
            gathered.push(&vec![b'.'; LIMIT - cut]);
            gathered.push(secret.as_bytes());
            let shown = gathered.redacted(&redactor);
            let shown = shown.trim_start_matches('.').strip_suffix(MARK);
            // A whole line is replaced, and nothing of the rest is left.
            let shown = shown.map(|shown| shown.replace("[SECRET:KEY]", "").replace('\n', ""));
            assert_eq!(shown.as_deref(), Some(""), "cut after {cut} bytes");
        }
    }
}

//! Moves bytes to and from a subject: writes the outbox, and reads line by line.

use std::rc::Rc;
use std::time::Duration;

use proofmark_protocol::{LineReader, MAX_LINE};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, ChildStdout};

use super::connection::Shared;
use proofmark_judge::Fault;

/// Writes the whole outbox at once, so that a burst of requests costs one write. Closes stdin when the connection has
/// ended.
pub(super) async fn write_out(shared: Rc<Shared>, mut stdin: ChildStdin) {
    let mut lines = Vec::new();
    loop {
        shared.filled.notified().await;
        if shared.fault.borrow().is_some() {
            return;
        }
        lines.clear();
        std::mem::swap(&mut lines, &mut *shared.out.borrow_mut());
        if stdin.write_all(&lines).await.is_err() {
            // Give stdout a moment: a last answer or its end explains better why stdin broke.
            tokio::time::sleep(Duration::from_millis(200)).await;
            shared.fail(Fault::ClosedStdin { during: shared.during.get().to_owned() });
            return;
        }
    }
}

pub(super) async fn read_in(shared: Rc<Shared>, stdout: ChildStdout) {
    let mut lines = LineReader::new(stdout, MAX_LINE);
    loop {
        let fault = match lines.next_line().await {
            Ok(Some(line)) => match shared.take(line) {
                Ok(()) => continue,
                Err(fault) => fault,
            },
            Ok(None) => shared.ended(),
            Err(fault) => super::fault::of_frame(&fault, shared.during.get()),
        };
        shared.fail(fault);
        return;
    }
}

//! Bytes to and from a subject: what is in the outbox goes out, what comes in is taken line by line.

use std::rc::Rc;
use std::time::Duration;

use proofmark_protocol::{LineReader, MAX_LINE};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, ChildStdout};

use super::connection::Shared;
use proofmark_judge::Fault;

/// Writes whatever is in the outbox, in one piece, so that a burst of requests costs one write.
/// Closes stdin when the connection has ended.
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
            // Why it broke is best told by stdout: a last answer, an end, or nothing at all.
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

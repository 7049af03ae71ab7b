//! Building blocks for wrong subjects: a handwritten adapter that is right in everything except its calls.

use std::io::{self, BufRead as _, Write as _};
use std::process::{Command, Stdio};

use proofmark_protocol::message::{push_error, push_result};
use proofmark_protocol::{Id, Incoming, PROTOCOL, RpcError};
use serde_json::{Value, json};

use crate::Claims;

/// What to do after a request.
pub enum Then {
    GoOn,
    Stop,
}

/// Serves `hello`, `open`, `close` and `shutdown` correctly; `on_call` does the harm.
///
/// # Errors
/// If the pipes break.
pub fn serve(
    claims: &Claims,
    on_call: impl FnMut(&Id, &Value, &mut Vec<u8>) -> io::Result<Then>,
) -> io::Result<()> {
    serve_with(claims, |_| Value::Null, on_call)
}

/// As [`serve`], with an answer to `open` that may name a server.
///
/// # Errors
/// If the pipes break.
pub fn serve_with(
    claims: &Claims,
    opened: impl Fn(&Value) -> Value,
    mut on_call: impl FnMut(&Id, &Value, &mut Vec<u8>) -> io::Result<Then>,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Ok(Incoming::Request { id, method, params }) = Incoming::parse(line?.as_bytes()) else {
            continue;
        };
        let mut answer = Vec::new();
        let mut then = Then::GoOn;
        match method.as_str() {
            "hello" => push_result(&mut answer, &id, &greeting(claims, PROTOCOL)),
            "call" => then = on_call(&id, &params, &mut answer)?,
            "open" => push_result(&mut answer, &id, &opened(&params)),
            _ => push_result(&mut answer, &id, &Value::Null),
        }
        out.write_all(&answer)?;
        out.flush()?;
        if matches!(then, Then::Stop) || method == "shutdown" {
            return Ok(());
        }
    }
    Ok(())
}

/// The answer to `hello`.
pub fn greeting(claims: &Claims, protocol: u64) -> Value {
    json!({
        "protocol": protocol, "name": "adversary", "version": "0", "language": "rust",
        "contracts": claims.contracts, "hooks": claims.hooks,
    })
}

/// Never returns, and uses no CPU.
pub fn wait_for_ever() -> ! {
    loop {
        std::thread::park();
    }
}

/// Starts an adversary that outlives its parent.
///
/// # Errors
/// If it cannot be started.
pub fn leave_behind(child: &str) -> io::Result<()> {
    Command::new(std::env::current_exe()?)
        .args(["subject", "--adversary", child])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(())
}

/// Answers a call with "not implemented". Never fails.
///
/// # Errors
/// Never; the result fits [`serve`].
pub fn not_implemented(id: &Id, _: &Value, answer: &mut Vec<u8>) -> io::Result<Then> {
    push_error(answer, Some(id), &RpcError::new(RpcError::NOT_IMPLEMENTED, "not implemented"));
    Ok(Then::GoOn)
}

//! The checks of an adapter's start and end: `hello`, other versions, shutdown.

use proofmark_protocol::{HelloReply, PROTOCOL, RpcError};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::checks::code;
use super::wire::{Trouble, Wire};
use super::{Exam, Finding, Promised, greeting, last, troubled};
use proofmark_judge::Fault;
use proofmark_judge::problem::did_you_mean;
use proofmark_judge::suite::Suite;
use proofmark_suite::subject::{Patience, StartError};

/// Sends `hello` to a new process, and diagnoses a missing answer.
pub(super) async fn hello(mut wire: Wire, patience: Patience) -> (Finding, Option<Value>) {
    const CHECK: &str = "hello";
    let started = Instant::now();
    match wire.ask(0, "hello", &greeting()).await {
        Ok(answer) => {
            let elapsed = started.elapsed().as_millis();
            let message = format!("answered `hello` {elapsed} ms after its start");
            (Finding::sound(CHECK, message), Some(answer))
        }
        Err(silent @ Trouble::Silent { unfinished: None, .. }) => {
            wire.close_stdin().await;
            let finding = match wire.has_answer(0) {
                true => Finding::unsound(
                    CHECK,
                    "the answer came only when stdin was closed",
                    "flush stdout after every message, and read stdin line by line, not to its end",
                ),
                false => Finding {
                    change: Some(format!(
                        "read lines from stdin and answer `hello` on stdout within {:.0} s; `--start-timeout` allows more",
                        patience.start.as_secs_f64()
                    )),
                    ..troubled(CHECK, &silent)
                },
            };
            (finding, None)
        }
        // It may have exited before or while we wrote: no request is to blame.
        Err(Trouble::Ended { status, stderr, .. }) => {
            let message = format!("the adapter ended {status} before it answered `hello`");
            let change = match stderr.is_empty() {
                true => {
                    "run the command by hand: it ends before it reads a request, and says nothing on stderr"
                }
                false => "fix the error on its stderr: it ends before it reads a request",
            };
            let finding = Finding::unsound(CHECK, message, change);
            (Finding { stderr: last(&stderr), ..finding }, None)
        }
        Err(trouble) => (troubled(CHECK, &trouble), None),
    }
}

/// Checks the content of the answer to `hello`.
pub(super) fn introduction(answer: &Value, suite: &Suite, promised: &Promised) -> Finding {
    const CHECK: &str = "introduction";
    let bad = |message: String, change: String| Finding::unsound(CHECK, message, change);
    if let Some(error) = answer.get("error") {
        return bad(
            format!("`hello` was answered with the error {error}"),
            "answer `hello` with protocol, name, version, language and contracts".to_owned(),
        );
    }
    let hello: HelloReply = match serde_json::from_value(answer["result"].clone()) {
        Ok(hello) => hello,
        Err(fault) => {
            return bad(format!("the answer to `hello` is invalid: {fault}"), "answer {\"protocol\": 1, \"name\": …, \"version\": …, \"language\": …, \"contracts\": […]}; `hooks` is a list, `options` an object, and both may be absent".to_owned());
        }
    };
    if hello.protocol != PROTOCOL {
        return bad(
            format!("it speaks protocol {}", hello.protocol),
            format!("answer `hello` with \"protocol\": {PROTOCOL}"),
        );
    }
    for claimed in &hello.contracts {
        if suite.contract(claimed).is_none() {
            let hint =
                did_you_mean(claimed, suite.contracts.iter().map(|contract| contract.id.as_str()));
            return bad(
                format!("it claims `{claimed}`, which this suite does not have{hint}"),
                "claim contracts that `proofmark list contracts` shows".to_owned(),
            );
        }
    }
    let hooks =
        || suite.contracts.iter().flat_map(|contract| contract.hooks.keys()).map(String::as_str);
    for hook in &hello.hooks {
        if !hooks().any(|known| known == hook) {
            let hint = did_you_mean(hook, hooks());
            return bad(
                format!("it offers the hook `{hook}`, which this suite does not use{hint}"),
                "offer hooks that the contracts have, or none".to_owned(),
            );
        }
    }
    if let Some(id) = promised.claims.iter().find(|id| !hello.contracts.contains(id)) {
        return bad(
            format!("the manifest says that it claims `{id}`, but `hello` does not"),
            "name it in `contracts` of `hello`, or remove it from `claims` in the manifest"
                .to_owned(),
        );
    }
    if let Some(hook) = promised.hooks.iter().find(|hook| !hello.hooks.contains(hook)) {
        return bad(
            format!("the manifest says that it offers the hook `{hook}`, but `hello` does not"),
            "name it in `hooks` of `hello`, or remove it from `hooks` in the manifest".to_owned(),
        );
    }
    let claims = if hello.contracts.is_empty() {
        "nothing yet".to_owned()
    } else {
        hello.contracts.join(", ")
    };
    Finding::sound(
        CHECK,
        format!("{} {} ({}) claims {claims}", hello.name, hello.version, hello.language),
    )
}

pub(super) async fn other_version(wire: &mut Wire) -> Result<Finding, Trouble> {
    const CHECK: &str = "other version";
    let mut params = greeting();
    params["protocol"] = json!(PROTOCOL + 98);
    let answer = wire.ask(0, "hello", &params).await?;
    let kept: Map<String, Value> =
        Map::from_iter([("protocol".to_owned(), answer["result"]["protocol"].clone())]);
    Ok(match code(&answer) {
        Some(RpcError::INVALID_PARAMS) => {
            Finding::sound(CHECK, "an unknown protocol version is refused with -32602")
        }
        Some(other) => Finding::unsound(
            CHECK,
            format!("protocol {} was refused with {other}", PROTOCOL + 98),
            "refuse an unknown protocol version with the error -32602",
        ),
        None => Finding::unsound(
            CHECK,
            format!(
                "`hello` with protocol {} was accepted with {}",
                PROTOCOL + 98,
                Value::Object(kept)
            ),
            "check `protocol` in `hello`, and refuse an unknown version with the error -32602",
        ),
    })
}

impl Exam<'_> {
    pub(super) async fn shutdown(&self) -> Result<Finding, StartError> {
        const CHECK: &str = "shutdown";
        let mut wire = self.start()?;
        let answered = async {
            wire.ask(0, "hello", &greeting()).await?;
            wire.ask(1, "shutdown", &json!({})).await
        };
        match answered.await {
            Ok(_) => {}
            Err(ended @ Trouble::Ended { .. }) => {
                let change = "answer `shutdown`, flush stdout, and only then exit".to_owned();
                return Ok(Finding { change: Some(change), ..troubled(CHECK, &ended) });
            }
            Err(trouble) => return Ok(troubled(CHECK, &trouble)),
        }
        Ok(self.ended(CHECK, wire, "after `shutdown` was answered").await)
    }

    /// A harness that dies closes stdin without a message.
    pub(super) async fn end_of_input(&self) -> Result<Finding, StartError> {
        const CHECK: &str = "end of input";
        let mut wire = self.start()?;
        if let Err(trouble) = wire.ask(0, "hello", &greeting()).await {
            return Ok(troubled(CHECK, &trouble));
        }
        Ok(self.ended(CHECK, wire, "after stdin was closed").await)
    }

    async fn ended(&self, check: &'static str, wire: Wire, when: &str) -> Finding {
        let fault = wire.end().await;
        // Finds processes that left the group, as a run does.
        let left = self.orphans.kill();
        match fault.or((left > 0).then_some(Fault::LeftProcesses { count: left })) {
            None => Finding::sound(check, format!("it ends {when}, and leaves no process")),
            Some(fault @ Fault::LeftProcesses { .. }) => Finding::unsound(
                check,
                fault.to_string(),
                "end every child process before the adapter ends, also one in a session of its own (`setsid`, `start_new_session`, `detached`)",
            ),
            Some(fault) => Finding::unsound(
                check,
                format!("it does not end {when}: {fault}"),
                "leave the loop when `shutdown` was answered or stdin ends, and exit; open timers, threads and sockets must not keep the process alive",
            ),
        }
    }
}

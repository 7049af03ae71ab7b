//! A wire that the doctor can write anything to, byte by byte, and read from with care.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use proofmark_protocol::message::push_request;
use proofmark_protocol::{FrameError, Id, LineReader, MAX_LINE};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, ChildStdout};

use crate::subject::process::Process;
use crate::subject::{Fault, Patience, StartError, SubjectCommand};

/// So many requests of its own may an adapter make in one check.
const MOST_ASKED: usize = 1_000;

/// So many answers may it give. No check makes as many requests.
const MOST_ANSWERS: usize = 1_000;

/// So many bytes may all its messages have: two of the longest lines. Once read they take many times
/// the room.
const MOST_BYTES: usize = 2 * MAX_LINE;

/// Why a check came to no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    Silent {
        to: String,
        after: Duration,
    },
    Ended {
        status: String,
        to: String,
        stderr: Vec<String>,
    },
    Frame(FrameError),
    NotAMessage {
        line: String,
    },
    /// More answers, or larger ones, than were asked for.
    Unasked {
        what: String,
    },
    /// More requests of its own than any call needs.
    AsksTooMuch {
        what: String,
    },
    ClosedStdin,
}

pub(super) struct Wire {
    process: Process,
    stdin: Option<ChildStdin>,
    lines: LineReader<ChildStdout>,
    patience: Patience,
    /// Requests that were sent and are not answered, by id.
    pending: HashSet<i64>,
    /// Answers that nobody has asked for yet, by id.
    answers: HashMap<i64, Value>,
    /// Errors without an id: answers to what was no request.
    pub(super) unreadable: usize,
    /// The subject's own requests.
    pub(super) asked: Vec<Value>,
    /// How many answers were read in all, with those that took another one's place.
    answered: usize,
    /// How many bytes were read in all.
    bytes: usize,
}

impl Wire {
    pub(super) fn start(command: &SubjectCommand, patience: Patience) -> Result<Self, StartError> {
        let (process, stdin, stdout) = Process::start(command)?;
        Ok(Self {
            process,
            stdin: Some(stdin),
            lines: LineReader::new(stdout, MAX_LINE),
            patience,
            pending: HashSet::new(),
            answers: HashMap::new(),
            unreadable: 0,
            asked: Vec::new(),
            answered: 0,
            bytes: 0,
        })
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        let Some(stdin) = &mut self.stdin else { return Err(Trouble::ClosedStdin) };
        let written = async {
            stdin.write_all(bytes).await?;
            stdin.flush().await
        };
        match tokio::time::timeout(self.patience.call, written).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(self.gone("what was written").await),
            Err(_) => Err(Trouble::Silent {
                to: "what was written".to_owned(),
                after: self.patience.call,
            }),
        }
    }

    /// Sends a request without waiting.
    pub(super) async fn send(
        &mut self,
        id: i64,
        method: &str,
        params: &impl Serialize,
    ) -> Result<(), Trouble> {
        let mut line = Vec::new();
        push_request(&mut line, &Id::Number(id), method, params);
        self.expects([id]);
        self.write(&line).await
    }

    /// Notes requests that a check writes by itself.
    pub(super) fn expects(&mut self, ids: impl IntoIterator<Item = i64>) {
        self.pending.extend(ids);
    }

    /// Sends a request and waits for its answer, which is a whole message.
    pub(super) async fn ask(
        &mut self,
        id: i64,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Value, Trouble> {
        self.send(id, method, params).await?;
        self.answer(id, method).await
    }

    /// The answer to a request that was sent.
    pub(super) async fn answer(&mut self, id: i64, to: &str) -> Result<Value, Trouble> {
        let patience = if to == "hello" { self.patience.start } else { self.patience.call };
        let silent = Trouble::Silent { to: to.to_owned(), after: patience };
        tokio::time::timeout(patience, self.until_answer(id, to)).await.unwrap_or(Err(silent))
    }

    async fn until_answer(&mut self, id: i64, to: &str) -> Result<Value, Trouble> {
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return Ok(answer);
            }
            self.read_one(to).await?;
        }
    }

    /// Reads until the subject asks for something.
    pub(super) async fn until_asked(&mut self, id: i64, to: &str) -> Result<(), Trouble> {
        let patience = self.patience.call;
        let silent = Trouble::Silent { to: to.to_owned(), after: patience };
        let asked = async {
            while self.asked.is_empty() && !self.answers.contains_key(&id) {
                self.read_one(to).await?;
            }
            Ok(())
        };
        tokio::time::timeout(patience, asked).await.unwrap_or(Err(silent))
    }

    async fn read_one(&mut self, to: &str) -> Result<(), Trouble> {
        let line = match self.lines.next_line().await {
            Ok(Some(line)) => line,
            Ok(None) => return Err(self.gone(to).await),
            Err(fault) => return Err(Trouble::Frame(fault)),
        };
        let shown =
            || String::from_utf8_lossy(&line[..line.len().min(120)]).escape_debug().to_string();
        let Ok(message @ Value::Object(_)) = serde_json::from_slice(line) else {
            return Err(Trouble::NotAMessage { line: shown() });
        };
        if message["jsonrpc"] != "2.0" {
            return Err(Trouble::NotAMessage { line: shown() });
        }
        let is_request = message["method"].is_string();
        self.bytes += line.len();
        self.answered += usize::from(!is_request);
        let beyond = match is_request {
            true => self.asked.len() >= MOST_ASKED,
            false => self.answered > MOST_ANSWERS,
        };
        if beyond || self.bytes > MOST_BYTES {
            return Err(too_much(is_request, beyond));
        }
        let is_answer = message.get("result").is_some() || message.get("error").is_some();
        match (message["id"].as_i64(), is_request) {
            (_, true) => self.asked.push(message),
            (Some(id), false) if is_answer => {
                if !self.pending.remove(&id) {
                    let what = format!("id {id} was not waited for, or had its answer already");
                    return Err(Trouble::Unasked { what });
                }
                self.answers.insert(id, message);
            }
            (None, false) if message.get("error").is_some() && message["id"].is_null() => {
                self.unreadable += 1;
            }
            _ => return Err(Trouble::NotAMessage { line: shown() }),
        }
        Ok(())
    }

    /// Answers a request of the subject's.
    pub(super) async fn reply(&mut self, request: &Value, result: &Value) -> Result<(), Trouble> {
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.write(format!("{answer}\n").as_bytes()).await
    }

    /// Closes stdin and reads whatever is still said.
    pub(super) async fn close_stdin(&mut self) {
        self.stdin = None;
        let patience = self.patience.end;
        let rest = async { while self.read_one("the end of input").await.is_ok() {} };
        // Whether it ended is asked next.
        let _silent = tokio::time::timeout(patience, rest).await;
    }

    pub(super) fn has_answer(&self, id: i64) -> bool {
        self.answers.contains_key(&id)
    }

    /// Waits for the process to end, by itself if it can; tells what it should not have done.
    pub(super) async fn end(mut self) -> Option<Fault> {
        self.stdin = None;
        self.process.end(self.patience.end).await
    }

    async fn gone(&mut self, to: &str) -> Trouble {
        let ended = tokio::time::timeout(Duration::from_secs(1), self.process.ended()).await;
        match ended {
            Ok(status) => {
                let stderr = self.last_words().await;
                Trouble::Ended { status, to: to.to_owned(), stderr }
            }
            Err(_) => Trouble::Silent { to: to.to_owned(), after: Duration::from_secs(1) },
        }
    }

    /// What a process that has ended said last. It may still be in the pipe, and a child of its may
    /// hold the pipe open: so until nothing comes for a moment, and not for long.
    async fn last_words(&self) -> Vec<String> {
        let mut words = self.process.stderr.borrow().snapshot();
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let now = self.process.stderr.borrow().snapshot();
            if now == words {
                break;
            }
            words = now;
        }
        words
    }
}

fn too_much(is_request: bool, in_number: bool) -> Trouble {
    let mebibytes = MOST_BYTES >> 20;
    match (is_request, in_number) {
        (true, true) => Trouble::AsksTooMuch { what: format!("more than {MOST_ASKED} requests") },
        (true, false) => Trouble::AsksTooMuch { what: format!("more than {mebibytes} MiB") },
        (false, true) => Trouble::Unasked { what: format!("more than {MOST_ANSWERS} answers") },
        (false, false) => Trouble::Unasked { what: format!("more than {mebibytes} MiB") },
    }
}

//! A raw connection for the doctor: it can write any bytes, and reads with limits.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use proofmark_protocol::message::push_request;
use proofmark_protocol::{FrameError, Id, LineReader, MAX_LINE};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::Instant;

use proofmark_judge::Fault;
use proofmark_suite::subject::process::Process;
use proofmark_suite::subject::{Patience, StartError, SubjectCommand};

/// The most requests that an adapter may send in one check.
const MOST_ASKED: usize = 1_000;

/// The most answers that it may send; no check sends as many requests.
const MOST_ANSWERS: usize = 1_000;

/// The most bytes of all its messages: two of the longest lines. Parsed, they take many times the memory.
const MOST_BYTES: usize = 2 * MAX_LINE;

/// The longest extra wait after a timeout, to distinguish a late answer from none.
const GRACE: Duration = Duration::from_secs(5);

/// Why a check got no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    Silent {
        to: String,
        after: Duration,
        /// The incomplete last line of stdout.
        unfinished: Option<String>,
    },
    /// The answer came, but too late.
    Slow {
        to: String,
        took: Duration,
        limit: Duration,
    },
    Ended {
        status: String,
        to: String,
        stderr: Vec<String>,
    },
    Frame(FrameError),
    NotAMessage {
        line: String,
        /// What is wrong with it, and what to do.
        wrong: String,
        change: &'static str,
    },
    /// More or larger answers than requested.
    Unasked {
        what: String,
    },
    /// More requests than any call needs.
    AsksTooMuch {
        what: String,
    },
    ClosedStdin,
}

/// The default number of requests in flight in one process during a run.
pub(super) const AT_A_TIME: usize = 32;

/// Why not all of many answers came.
pub(super) enum Late {
    /// This many came in time, and then no more.
    After {
        answered: usize,
        within: Duration,
    },
    Trouble(Trouble),
}

pub(super) struct Wire {
    process: Process,
    stdin: Option<ChildStdin>,
    lines: LineReader<ChildStdout>,
    patience: Patience,
    /// The ids of pending requests.
    pending: HashSet<i64>,
    /// Answers that no check has taken yet, by id.
    answers: HashMap<i64, Value>,
    /// Errors without an id: answers to lines that are not requests.
    pub(super) unreadable: usize,
    /// The subject's own requests.
    pub(super) asked: Vec<Value>,
    /// The number of all answers, including duplicates.
    answered: usize,
    /// The number of bytes read.
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
            Ok(Err(_)) => Err(self.gone("a request").await),
            Err(_) => Err(self.silent("a request", self.patience.call)),
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

    /// Registers requests that a check writes itself.
    pub(super) fn expects(&mut self, ids: impl IntoIterator<Item = i64>) {
        self.pending.extend(ids);
    }

    /// Sends a request and waits for its answer. Returns the whole message.
    pub(super) async fn ask(
        &mut self,
        id: i64,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Value, Trouble> {
        self.send(id, method, params).await?;
        self.answer(id, method).await
    }

    /// The answer to a sent request.
    pub(super) async fn answer(&mut self, id: i64, to: &str) -> Result<Value, Trouble> {
        let limit = if to == "hello" { self.patience.start } else { self.patience.call };
        let asked = Instant::now();
        if let Ok(answer) = tokio::time::timeout(limit, self.until_answer(id, to)).await {
            return answer;
        }
        // A missing `hello` is diagnosed elsewhere.
        let grace = if to == "hello" { Duration::ZERO } else { limit.min(GRACE) };
        match tokio::time::timeout(grace, self.until_answer(id, to)).await {
            Ok(Ok(_)) => Err(Trouble::Slow { to: to.to_owned(), took: asked.elapsed(), limit }),
            Ok(Err(trouble)) => Err(trouble),
            Err(_) => Err(self.silent(to, limit)),
        }
    }

    /// Reads until all of these requests are answered. Each [`AT_A_TIME`] answers allow one more timeout, since a run
    /// has that many requests in flight, each with its own timeout.
    pub(super) async fn all_answers(&mut self, ids: &[i64], to: &str) -> Result<(), Late> {
        let asked = Instant::now();
        loop {
            let answered = ids.iter().filter(|id| self.answers.contains_key(id)).count();
            if answered == ids.len() {
                return Ok(());
            }
            let limits = u32::try_from(answered / AT_A_TIME + 1).unwrap_or(u32::MAX);
            let within = self.patience.call.saturating_mul(limits);
            match tokio::time::timeout_at(asked + within, self.read_one(to)).await {
                Ok(Ok(())) => {}
                Ok(Err(trouble)) => return Err(Late::Trouble(trouble)),
                Err(_) => return Err(Late::After { answered, within }),
            }
        }
    }

    fn silent(&self, to: &str, after: Duration) -> Trouble {
        let unfinished = self.lines.unfinished();
        let unfinished = (!unfinished.is_empty()).then(|| shown(unfinished));
        Trouble::Silent { to: to.to_owned(), after, unfinished }
    }

    async fn until_answer(&mut self, id: i64, to: &str) -> Result<Value, Trouble> {
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return Ok(answer);
            }
            self.read_one(to).await?;
        }
    }

    /// Reads until the subject sends a request.
    pub(super) async fn until_asked(&mut self, id: i64, to: &str) -> Result<(), Trouble> {
        let patience = self.patience.call;
        let asked = async {
            while self.asked.is_empty() && !self.answers.contains_key(&id) {
                self.read_one(to).await?;
            }
            Ok(())
        };
        match tokio::time::timeout(patience, asked).await {
            Ok(asked) => asked,
            Err(_) => Err(self.silent(to, patience)),
        }
    }

    async fn read_one(&mut self, to: &str) -> Result<(), Trouble> {
        let line = match self.lines.next_line().await {
            Ok(Some(line)) => line,
            Ok(None) => return Err(self.gone(to).await),
            Err(fault) => return Err(Trouble::Frame(fault)),
        };
        let not_a_message = |(wrong, change): (String, &'static str)| Trouble::NotAMessage {
            line: shown(line),
            wrong,
            change,
        };
        let message = parsed(line).map_err(not_a_message)?;
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
                    let what = format!("id {id} is not pending, or was already answered");
                    return Err(Trouble::Unasked { what });
                }
                self.answers.insert(id, message);
            }
            (None, false) if message.get("error").is_some() && message["id"].is_null() => {
                self.unreadable += 1;
            }
            _ if is_answer => {
                return Err(not_a_message((
                    format!("its `id` is {}", message.get("id").unwrap_or(&Value::Null)),
                    "return the `id` of the request unchanged: an integer, not a string, and without a fraction",
                )));
            }
            _ => {
                let wrong = "it has no `method`, no `result` and no `error`";
                return Err(not_a_message((wrong.to_owned(), A_MESSAGE)));
            }
        }
        Ok(())
    }

    /// Answers a request of the subject.
    pub(super) async fn reply(&mut self, request: &Value, result: &Value) -> Result<(), Trouble> {
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.write(format!("{answer}\n").as_bytes()).await
    }

    /// Closes stdin and reads the remaining output.
    pub(super) async fn close_stdin(&mut self) {
        self.stdin = None;
        let patience = self.patience.end;
        let rest = async { while self.read_one("the end of input").await.is_ok() {} };
        // The caller checks next whether it exited.
        let _silent = tokio::time::timeout(patience, rest).await;
    }

    /// Takes an answer that has arrived.
    pub(super) fn take(&mut self, id: i64) -> Value {
        self.answers.remove(&id).unwrap_or_default()
    }

    pub(super) fn has_answer(&self, id: i64) -> bool {
        self.answers.contains_key(&id)
    }

    /// Waits for the process to exit, and stops it if necessary. Returns its fault, if any.
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
            Err(_) => self.silent(to, Duration::from_secs(1)),
        }
    }

    /// The last stderr lines of a process that has exited. They may still be in the pipe, and a child may hold it
    /// open, so this waits until nothing more comes, but not for long.
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

/// The head of a line, for people.
fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(&line[..line.len().min(120)]).into_owned()
}

const A_MESSAGE: &str = "write logs to stderr; a message is one object on one line, with \"jsonrpc\": \"2.0\" and the request's `id`";

/// Parses a line as a message. The error says what is wrong and what to do.
fn parsed(line: &[u8]) -> Result<Value, (String, &'static str)> {
    let wrong = |message: &str, change| Err((message.to_owned(), change));
    if line.starts_with(b"\xef\xbb\xbf") {
        return wrong("it begins with a byte order mark", "write UTF-8 without a byte order mark");
    }
    if std::str::from_utf8(line).is_err() {
        return wrong("it is not UTF-8", "write stdout as UTF-8, whatever the locale says");
    }
    let message = match serde_json::from_slice(line) {
        Ok(message @ Value::Object(_)) => message,
        Ok(_) => return wrong("it is JSON, but not an object", A_MESSAGE),
        Err(_) => return wrong("it is not JSON", A_MESSAGE),
    };
    match message.get("jsonrpc") {
        Some(version) if version == "2.0" => {}
        Some(version) => {
            return Err((
                format!("its `jsonrpc` is {version}"),
                "give every message \"jsonrpc\": \"2.0\", a string",
            ));
        }
        None => return wrong("it has no `jsonrpc`", "give every message \"jsonrpc\": \"2.0\""),
    }
    let has = |member: &str| message.get(member).is_some_and(|value| !value.is_null());
    if has("result") && has("error") {
        return wrong(
            "it has a `result` and an `error`",
            "answer with `result` or with `error`, not with both",
        );
    }
    Ok(message)
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

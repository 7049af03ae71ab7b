//! Subjects that do anything but answer.

use std::io::{self, BufRead, Write};
use std::process::{Command, Stdio};

use proofmark_protocol::message::{push_error, push_request, push_result};
use proofmark_protocol::{Id, Incoming, PROTOCOL, RpcError};
use serde_json::{Value, json};

use crate::Adversary;

pub(crate) const ALL: &[Adversary] = &[
    Adversary { name: "exits-at-once", about: "ends before `hello`", serve: || Ok(()) },
    Adversary {
        name: "exits-on-call",
        about: "ends with code 3 on every `call`",
        serve: exits_on_call,
    },
    Adversary {
        name: "prints-garbage",
        about: "prints a greeting for people",
        serve: prints_garbage,
    },
    Adversary {
        name: "garbage-on-call",
        about: "logs to stdout in the middle of a call",
        serve: garbage_on_call,
    },
    Adversary { name: "half-a-line", about: "ends in the middle of an answer", serve: half_a_line },
    Adversary {
        name: "endless-line",
        about: "prints a gigabyte without a newline",
        serve: endless_line,
    },
    Adversary {
        name: "unknown-id",
        about: "answers a request that nobody made",
        serve: unknown_id,
    },
    Adversary { name: "answers-twice", about: "answers every call twice", serve: answers_twice },
    Adversary {
        name: "never-answers",
        about: "reads calls and says nothing",
        serve: never_answers,
    },
    Adversary { name: "never-greets", about: "does not even answer `hello`", serve: never_greets },
    Adversary {
        name: "leaves-its-group",
        about: "joins another process group and falls silent",
        serve: leaves_its_group,
    },
    Adversary {
        name: "closes-stdout",
        about: "closes stdout on a call and lives on",
        serve: closes_stdout,
    },
    Adversary {
        name: "ignores-the-end",
        about: "ignores `shutdown`, the end of input and SIGTERM",
        serve: ignores_the_end,
    },
    Adversary { name: "leaves-a-child", about: "ends, but not its child", serve: leaves_a_child },
    Adversary {
        name: "leaves-a-daemon",
        about: "ends, but not its child in a session of its own",
        serve: leaves_a_daemon,
    },
    Adversary { name: "daemon", about: "the child of leaves-a-daemon", serve: daemon },
    Adversary { name: "other-version", about: "speaks protocol 99", serve: other_version },
    Adversary {
        name: "floods-stderr",
        about: "prints a hundred megabytes on stderr",
        serve: floods_stderr,
    },
    Adversary { name: "asks-without-end", about: "calls a fake for ever", serve: asks_without_end },
    Adversary { name: "no-reply", about: "answers `call` with a bare value", serve: no_reply },
    Adversary {
        name: "implements-nothing",
        about: "claims all and answers `call` with -32601",
        serve: implements_nothing,
    },
];

/// What to do about one request.
enum Then {
    GoOn,
    Stop,
}

/// Serves lines with well-mannered `hello`, `open`, `close` and `shutdown`; `on_call` does the harm.
fn serve(mut on_call: impl FnMut(&Id, &Value, &mut Vec<u8>) -> io::Result<Then>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Ok(Incoming::Request { id, method, params }) = Incoming::parse(line?.as_bytes()) else {
            continue;
        };
        let mut answer = Vec::new();
        let mut then = Then::GoOn;
        match method.as_str() {
            "hello" => push_result(&mut answer, &id, &greeting(PROTOCOL)),
            "call" => then = on_call(&id, &params, &mut answer)?,
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

fn greeting(protocol: u64) -> Value {
    json!({
        "protocol": protocol, "name": "adversary", "version": "0", "language": "rust",
        "contracts": ["sage.chronicle", "sage.errors", "sage.utils"], "hooks": ["chronicle.lock"],
    })
}

/// For ever, without using the machine.
fn wait_for_ever() -> ! {
    loop {
        std::thread::park();
    }
}

fn exits_on_call() -> io::Result<()> {
    serve(|_, _, _| std::process::exit(3))
}

fn prints_garbage() -> io::Result<()> {
    io::stdout().write_all(b"Listening on port 3000\n")?;
    serve(|_, _, _| Ok(Then::GoOn))
}

fn garbage_on_call() -> io::Result<()> {
    serve(|_, _, answer| {
        answer.extend_from_slice(b"debug: got a call\n");
        Ok(Then::GoOn)
    })
}

fn half_a_line() -> io::Result<()> {
    serve(|_, _, answer| {
        answer.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        Ok(Then::Stop)
    })
}

fn endless_line() -> io::Result<()> {
    serve(|_, _, _| {
        let chunk = vec![b'x'; 1 << 20];
        for _ in 0..1024 {
            io::stdout().write_all(&chunk)?;
        }
        Ok(Then::Stop)
    })
}

fn unknown_id() -> io::Result<()> {
    serve(|_, _, answer| {
        push_result(answer, &Id::Number(1_000_000_007), &json!({ "value": null }));
        Ok(Then::GoOn)
    })
}

fn answers_twice() -> io::Result<()> {
    serve(|id, _, answer| {
        push_result(answer, id, &json!({ "value": null }));
        push_result(answer, id, &json!({ "value": null }));
        Ok(Then::GoOn)
    })
}

fn never_answers() -> io::Result<()> {
    serve(|_, _, _| Ok(Then::GoOn))
}

fn never_greets() -> io::Result<()> {
    wait_for_ever()
}

fn leaves_its_group() -> io::Result<()> {
    let parent = rustix::process::getppid();
    rustix::process::setpgid(None, Some(rustix::process::getpgid(parent)?))?;
    wait_for_ever()
}

fn closes_stdout() -> io::Result<()> {
    serve(|_, _, _| {
        let nowhere = std::fs::File::options().write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(&nowhere)?;
        wait_for_ever()
    })
}

fn ignores_the_end() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Installed for the rest of the process's life; nobody looks at what it receives.
    let _deaf = runtime.block_on(async {
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
    })?;
    serve(|id, _, answer| {
        push_result(answer, id, &json!({ "value": null }));
        Ok(Then::GoOn)
    })?;
    wait_for_ever()
}

fn leaves_a_child() -> io::Result<()> {
    leave("never-greets")
}

fn leaves_a_daemon() -> io::Result<()> {
    leave("daemon")
}

fn leave(child: &str) -> io::Result<()> {
    Command::new(std::env::current_exe()?)
        .args(["subject", "--adversary", child])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    serve(|id, _, answer| {
        push_result(answer, id, &json!({ "value": null }));
        Ok(Then::GoOn)
    })
}

fn daemon() -> io::Result<()> {
    rustix::process::setsid()?;
    wait_for_ever()
}

fn other_version() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        if let Ok(Incoming::Request { id, .. }) = Incoming::parse(line?.as_bytes()) {
            let mut answer = Vec::new();
            push_result(&mut answer, &id, &greeting(99));
            out.write_all(&answer)?;
            out.flush()?;
        }
    }
    Ok(())
}

fn floods_stderr() -> io::Result<()> {
    let line = "all work and no play makes a dull subject\n".repeat(1 << 14);
    for _ in 0..150 {
        io::stderr().write_all(line.as_bytes())?;
    }
    serve(|id, _, answer| {
        push_result(answer, id, &json!({ "value": null }));
        Ok(Then::GoOn)
    })
}

fn asks_without_end() -> io::Result<()> {
    serve(|_, params, _| {
        let ask = json!({ "session": params["session"], "fake": "secrets", "method": "get", "args": { "key": "K" } });
        let mut out = io::stdout().lock();
        for number in 0.. {
            let mut line = Vec::new();
            push_request(&mut line, &Id::Number(number), "fake", &ask);
            out.write_all(&line)?;
        }
        Ok(Then::Stop)
    })
}

fn no_reply() -> io::Result<()> {
    serve(|id, _, answer| {
        push_result(answer, id, &json!("just a value"));
        Ok(Then::GoOn)
    })
}

fn implements_nothing() -> io::Result<()> {
    serve(|id, _, answer| {
        push_error(answer, Some(id), &RpcError::new(RpcError::NOT_IMPLEMENTED, "not implemented"));
        Ok(Then::GoOn)
    })
}

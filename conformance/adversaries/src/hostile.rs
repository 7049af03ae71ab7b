//! Hostile subjects: they crash, hang, flood or break the protocol.

use std::io::{self, BufRead as _, Write as _};

use proofmark_protocol::message::{push_notification, push_request, push_result};
use proofmark_protocol::{Id, Incoming};
use proofmark_room::wrong::{Then, greeting, leave_behind, not_implemented, serve, wait_for_ever};
use proofmark_room::{Adversary, Claims};
use serde_json::json;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::null("exits-at-once", "ends before `hello`", |_| Ok(())),
    Adversary::null("exits-on-call", "ends with code 3 on every `call`", exits_on_call),
    Adversary::null("prints-garbage", "prints a greeting for people", prints_garbage),
    Adversary::hostile(
        "garbage-on-call",
        "logs to stdout in the middle of a call",
        garbage_on_call,
    ),
    Adversary::hostile("half-a-line", "ends in the middle of an answer", half_a_line),
    Adversary::null("endless-line", "prints a gigabyte without a newline", endless_line),
    Adversary::hostile("unknown-id", "answers a request that nobody made", unknown_id),
    Adversary::hostile("answers-twice", "answers every call twice", answers_twice),
    Adversary::null("never-answers", "reads calls and says nothing", never_answers).slow(),
    Adversary::null("never-greets", "does not even answer `hello`", never_greets).slow(),
    Adversary::hostile(
        "leaves-its-group",
        "joins another process group and falls silent",
        leaves_its_group,
    ),
    Adversary::hostile("closes-stdout", "closes stdout on a call and lives on", closes_stdout),
    Adversary::hostile(
        "ignores-the-end",
        "ignores `shutdown`, the end of input and SIGTERM",
        ignores_the_end,
    ),
    Adversary::hostile("leaves-a-child", "ends, but not its child", leaves_a_child),
    Adversary::hostile(
        "leaves-a-daemon",
        "ends, but not its child in a session of its own",
        leaves_a_daemon,
    ),
    Adversary::hostile("daemon", "the child of leaves-a-daemon", daemon),
    Adversary::null("other-version", "speaks protocol 99", other_version),
    Adversary::null("floods-stderr", "prints a hundred megabytes on stderr", floods_stderr),
    Adversary::hostile("asks-without-end", "calls a fake for ever", asks_without_end),
    Adversary::hostile("streams-without-end", "streams items for ever", streams_without_end),
    Adversary::hostile(
        "stray-event",
        "streams an item of a call that is not in progress",
        stray_event,
    ),
    Adversary::hostile("event-elsewhere", "streams an item in another session", event_elsewhere),
    Adversary::null("no-reply", "answers `call` with a bare value", no_reply),
    Adversary::null("no-message", "fails with errors that have no message", no_message),
    Adversary::null("value-and-error", "answers with a value and an error", value_and_error),
    Adversary::null(
        "implements-nothing",
        "claims all and answers `call` with -32601",
        implements_nothing,
    ),
];

fn exits_on_call(claims: &Claims) -> io::Result<()> {
    serve(claims, |_, _, _| std::process::exit(3))
}

fn prints_garbage(claims: &Claims) -> io::Result<()> {
    io::stdout().write_all(b"Listening on port 3000\n")?;
    serve(claims, |_, _, _| Ok(Then::GoOn))
}

fn garbage_on_call(claims: &Claims) -> io::Result<()> {
    serve(claims, |_, _, answer| {
        answer.extend_from_slice(b"debug: got a call\n");
        Ok(Then::GoOn)
    })
}

fn half_a_line(claims: &Claims) -> io::Result<()> {
    serve(claims, |_, _, answer| {
        answer.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        Ok(Then::Stop)
    })
}

fn endless_line(claims: &Claims) -> io::Result<()> {
    serve(claims, |_, _, _| {
        let chunk = vec![b'x'; 1 << 20];
        for _ in 0..1024 {
            io::stdout().write_all(&chunk)?;
        }
        Ok(Then::Stop)
    })
}

fn unknown_id(claims: &Claims) -> io::Result<()> {
    serve(claims, |_, _, answer| {
        push_result(answer, &Id::Number(1_000_000_007), &json!({ "value": null }));
        Ok(Then::GoOn)
    })
}

fn answers_twice(claims: &Claims) -> io::Result<()> {
    serve(claims, |id, _, answer| {
        push_result(answer, id, &json!({ "value": null }));
        push_result(answer, id, &json!({ "value": null }));
        Ok(Then::GoOn)
    })
}

fn never_answers(claims: &Claims) -> io::Result<()> {
    serve(claims, |_, _, _| Ok(Then::GoOn))
}

fn never_greets(_: &Claims) -> io::Result<()> {
    wait_for_ever()
}

fn leaves_its_group(_: &Claims) -> io::Result<()> {
    let parent = rustix::process::getppid().map_or(1, |parent| parent.as_raw_nonzero().get());
    let stat = std::fs::read_to_string(format!("/proc/{parent}/stat"))?;
    // `pid (name) state parent group …`. A group from outside this container is 0, which cannot be joined.
    let group = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(2));
    let group = group.and_then(|group| rustix::process::Pid::from_raw(group.parse().ok()?));
    rustix::process::setpgid(None, group)?;
    wait_for_ever()
}

fn closes_stdout(claims: &Claims) -> io::Result<()> {
    serve(claims, |_, _, _| {
        let nowhere = std::fs::File::options().write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(&nowhere)?;
        wait_for_ever()
    })
}

fn ignores_the_end(claims: &Claims) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Installed until the process exits; nobody reads the signals.
    let _deaf = runtime.block_on(async {
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
    })?;
    serve(claims, |id, _, answer| {
        push_result(answer, id, &json!({ "value": null }));
        Ok(Then::GoOn)
    })?;
    wait_for_ever()
}

fn leaves_a_child(claims: &Claims) -> io::Result<()> {
    leave(claims, "never-greets")
}

fn leaves_a_daemon(claims: &Claims) -> io::Result<()> {
    leave(claims, "daemon")
}

fn leave(claims: &Claims, child: &str) -> io::Result<()> {
    leave_behind(child)?;
    serve(claims, |id, _, answer| {
        push_result(answer, id, &json!({ "value": null }));
        Ok(Then::GoOn)
    })
}

fn daemon(_: &Claims) -> io::Result<()> {
    rustix::process::setsid()?;
    wait_for_ever()
}

fn other_version(claims: &Claims) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        if let Ok(Incoming::Request { id, .. }) = Incoming::parse(line?.as_bytes()) {
            let mut answer = Vec::new();
            push_result(&mut answer, &id, &greeting(claims, 99));
            out.write_all(&answer)?;
            out.flush()?;
        }
    }
    Ok(())
}

fn floods_stderr(claims: &Claims) -> io::Result<()> {
    let line = "all work and no play makes a dull subject\n".repeat(1 << 14);
    for _ in 0..150 {
        io::stderr().write_all(line.as_bytes())?;
    }
    serve(claims, |id, _, answer| {
        push_result(answer, id, &json!({ "value": null }));
        Ok(Then::GoOn)
    })
}

fn asks_without_end(claims: &Claims) -> io::Result<()> {
    serve(claims, |_, params, _| {
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

fn streams_without_end(claims: &Claims) -> io::Result<()> {
    serve(claims, |id, params, _| {
        let event = json!({ "session": params["session"], "call": id, "item": "more" });
        let mut out = io::stdout().lock();
        loop {
            let mut line = Vec::new();
            push_notification(&mut line, "event", &event);
            out.write_all(&line)?;
        }
    })
}

fn stray_event(claims: &Claims) -> io::Result<()> {
    serve(claims, |_, params, out| {
        let event = json!({ "session": params["session"], "call": 1_000_000, "item": null });
        push_notification(out, "event", &event);
        Ok(Then::GoOn)
    })
}

fn event_elsewhere(claims: &Claims) -> io::Result<()> {
    serve(claims, |id, _, out| {
        push_notification(
            out,
            "event",
            &json!({ "session": "elsewhere", "call": id, "item": null }),
        );
        Ok(Then::GoOn)
    })
}

fn no_reply(claims: &Claims) -> io::Result<()> {
    serve(claims, |id, _, answer| {
        push_result(answer, id, &json!("just a value"));
        Ok(Then::GoOn)
    })
}

fn no_message(claims: &Claims) -> io::Result<()> {
    serve(claims, |id, _, answer| {
        push_result(
            answer,
            id,
            &json!({ "error": { "code": "EVALIDATION", "details": [{ "field": "path", "reason": "no" }] } }),
        );
        Ok(Then::GoOn)
    })
}

fn value_and_error(claims: &Claims) -> io::Result<()> {
    serve(claims, |id, _, answer| {
        push_result(answer, id, &json!({ "value": null, "error": null }));
        Ok(Then::GoOn)
    })
}

pub(crate) fn implements_nothing(claims: &Claims) -> io::Result<()> {
    serve(claims, not_implemented)
}

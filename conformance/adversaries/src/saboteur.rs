//! The reference with one promise broken.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use proofmark_protocol::Failure;
use proofmark_reference::{adapter, serve};
use serde_json::Value;

use crate::Adversary;

pub(crate) const ALL: &[Adversary] = &[
    Adversary {
        name: "tail-from-the-head",
        about: "tailChronicle gives the first n events",
        serve: tail_from_the_head,
    },
    Adversary {
        name: "crashes-on-empty-text",
        about: "ends when it must hash nothing",
        serve: crashes_on_empty_text,
    },
    Adversary {
        name: "prints-on-huge-numbers",
        about: "prints on stdout when a number is beyond a double",
        serve: prints_on_huge_numbers,
    },
    Adversary {
        name: "loses-answers-in-company",
        about: "never answers when many calls are under way",
        serve: loses_answers_in_company,
    },
    Adversary {
        name: "claims-a-slip-of-the-pen",
        about: "claims a contract that there is not",
        serve: || serve(adapter().claims("sage.chroncile")),
    },
    Adversary {
        name: "crashes-in-company",
        about: "ends at the second session that hashes",
        serve: crashes_in_company,
    },
];

fn tail_from_the_head() -> io::Result<()> {
    serve(adapter().around("chronicle.tailChronicle", async |context, mut args, inner| {
        let wanted = args["n"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(10);
        // Wrong arguments are refused as ever.
        if args["n"].as_u64().is_some() {
            args["n"] = Value::from(u32::MAX);
        }
        let mut events = inner.call(context, args).await?;
        if let Value::Array(events) = &mut events {
            events.truncate(wanted);
        }
        Ok(events)
    }))
}

fn crashes_on_empty_text() -> io::Result<()> {
    serve(adapter().around("utils.sha256", async |context, args, inner| {
        if args["text"] == "" {
            std::process::exit(4);
        }
        inner.call(context, args).await
    }))
}

fn crashes_in_company() -> io::Result<()> {
    static SESSIONS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    serve(adapter().around("utils.sha256", async |context, args, inner| {
        let sessions = {
            let mut sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
            sessions.insert(context.session().to_owned());
            sessions.len()
        };
        if sessions > 1 {
            std::process::exit(5);
        }
        inner.call(context, args).await
    }))
}

fn prints_on_huge_numbers() -> io::Result<()> {
    serve(adapter().around("utils.canonicalJSONStringify", async |context, args, inner| {
        if args["json"].as_str().is_some_and(|text| text.contains("e400")) {
            io::stdout()
                .write_all(b"that is a large number\n")
                .map_err(|fault| Failure::broken(fault.to_string()))?;
        }
        inner.call(context, args).await
    }))
}

fn loses_answers_in_company() -> io::Result<()> {
    static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
    serve(adapter().around("utils.sha256", async |context, args, inner| {
        let company = UNDER_WAY.fetch_add(1, Ordering::Relaxed) + 1;
        // Lets the calls that came with this one begin.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        if company > 4 {
            std::future::pending::<()>().await;
        }
        UNDER_WAY.fetch_sub(1, Ordering::Relaxed);
        inner.call(context, args).await
    }))
}

//! The reference with one promise broken.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, PoisonError};

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

//! The reference with one promise broken.

use std::io;

use proofmark_reference::{adapter, serve};
use serde_json::Value;

use crate::Adversary;

pub(crate) const ALL: &[Adversary] = &[Adversary {
    name: "tail-from-the-head",
    about: "tailChronicle gives the first n events",
    serve: tail_from_the_head,
}];

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

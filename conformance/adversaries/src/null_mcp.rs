//! MCP servers that do nothing right or are hostile, for any contract. Their adapters implement nothing.

use std::io::{self, Write as _};

use proofmark_protocol::message::push_result;
use proofmark_room::wrong::{Then, not_implemented, serve_with, wait_for_ever};
use proofmark_room::wrong_mcp::{Plain, hostile, null, own_server, serve};
use proofmark_room::{Adversary, Claims};
use serde_json::{Value, json};

pub(crate) const ALL: &[Adversary] = &[
    null(
        "mcp-has-no-tools",
        "answers every call with a JSON-RPC error",
        &Plain(|| serve(not_implemented)),
    ),
    null(
        "mcp-says-it-in-words",
        "answers every call with a sentence",
        &Plain(|| {
            serve(|id, _, lines| {
                let content = json!([{ "type": "text", "text": "I have done as you asked." }]);
                push_result(lines, id, &json!({ "content": content }));
                Ok(Then::GoOn)
            })
        }),
    ),
    null(
        "mcp-falls-silent",
        "answers nothing after `initialize`",
        &Plain(|| serve(|_, _, _| Ok(Then::GoOn))),
    )
    .slow(),
    null("mcp-ends", "ends at the first call", &Plain(|| serve(|_, _, _| Ok(Then::Stop)))),
    null(
        "mcp-floods",
        "answers a call with a gigabyte without a newline",
        &Plain(|| {
            serve(|_, _, _| {
                let chunk = vec![b'x'; 1 << 20];
                (0..1024).try_for_each(|_| io::stdout().write_all(&chunk))?;
                Ok(Then::Stop)
            })
        }),
    ),
    Adversary::null("names-no-wire", "answers `open` with an empty list of wires", |claims| {
        names(claims, &json!({ "wire": {} }))
    }),
    Adversary::null("names-no-program", "names a server that cannot be started", |claims| {
        names(claims, &json!({ "wire": { "mcp": { "command": ["./there-is-no-such-server"] } } }))
    }),
    Adversary::hostile(
        "mcp-never-begins",
        "ends on a call, while its server still starts",
        |claims| serve_with(claims, own_server, |_, _, _| Ok(Then::Stop)),
    )
    .and_server(&Plain(|| wait_for_ever())),
    hostile(
        "mcp-prints-garbage",
        "logs to stdout in the middle of a call",
        &Plain(|| {
            serve(|_, _, lines| {
                lines.extend_from_slice(b"debug: got a call\n");
                Ok(Then::GoOn)
            })
        }),
    ),
    hostile(
        "mcp-half-a-line",
        "ends in the middle of an answer",
        &Plain(|| {
            serve(|_, _, lines| {
                lines.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
                Ok(Then::Stop)
            })
        }),
    ),
];

fn names(claims: &Claims, opened: &Value) -> io::Result<()> {
    serve_with(claims, |_| opened.clone(), not_implemented)
}

//! The reference without one thing that many cases meet.

use serde_json::{Value, json};

use proofmark_protocol::Failure;
use proofmark_protocol::message::RpcError;
use proofmark_room::bend::{Call, Next, around};
use proofmark_room::{Adversary, Subject};

use crate::bent::{CHAT, changing, is};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::crippled(
        "never-ends",
        "no stream has an `end`",
        &["LLM-009", "LLM-014", "LLM-069"],
        |subject| changing(subject, |item| if is(&item, "end") { vec![] } else { vec![item] }),
    ),
    Adversary::crippled("ends-twice", "every stream has two `end`s", &["LLM-014"], |subject| {
        changing(subject, |item| match is(&item, "end") {
            true => vec![item.clone(), item],
            false => vec![item],
        })
    }),
    Adversary::crippled(
        "tells-of-rounds",
        "every stream begins with an item of its own kind",
        &["LLM-070"],
        tells_of_rounds,
    ),
    Adversary::crippled(
        "has-no-call-ids",
        "no call and no result has a `callId`",
        &["LLM-022", "LLM-024", "LLM-025", "LLM-026", "LLM-070"],
        |subject| without_member(subject, "callId"),
    ),
    Adversary::crippled(
        "has-no-results",
        "no tool_result has a `result`",
        // Without a result, no item says that arguments were refused.
        &["LLM-025", "LLM-027", "LLM-032", "LLM-070"],
        |subject| without_member(subject, "result"),
    ),
    Adversary::crippled(
        "cannot-list-models",
        "`llm.listModels` is not implemented",
        &["LLM-002", "LLM-003"],
        |subject| {
            around(subject, &["llm.listModels"], async |_, _, _| {
                let message = "no operation `llm.listModels`";
                Err(Failure::Adapter(RpcError::new(RpcError::NOT_IMPLEMENTED, message)))
            })
        },
    ),
];

fn tells_of_rounds(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, args, inner: Next| {
        call.emit(json!({ "type": "round_start", "round": 1 }));
        inner.call(call, args).await
    })
}

fn without_member(subject: Subject, name: &'static str) -> Subject {
    changing(subject, move |mut item| {
        if let Value::Object(item) = &mut item {
            item.remove(name);
        }
        vec![item]
    })
}

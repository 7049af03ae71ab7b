//! Streams that are wrong in a case that is rare: a second call, an empty id, a long argument, a chat beside another.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use proofmark_protocol::Failure;
use proofmark_room::bend::{Call, Calls, Memory, Next, Turn, around};
use proofmark_room::{Adversary, Subject};

use crate::bent::{CHAT, changing, held, is};
use crate::saboteurs::runs_what_it_refused;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "keeps-results-by-tool",
        "every call of a tool has the result of that tool's first call in the stream",
        &["LLM-025"],
        keeps_results_by_tool,
    ),
    Adversary::saboteur(
        "numbers-calls-itself",
        "calls and their results have ids that the process counts",
        &["LLM-022", "LLM-064"],
        numbers_calls_itself,
    ),
    Adversary::saboteur(
        "takes-an-empty-id-for-none",
        "a call with an empty id has no result",
        &["LLM-024"],
        |subject| {
            changing(subject, |item| match is(&item, "tool_result") && item["callId"] == "" {
                true => vec![],
                false => vec![item],
            })
        },
    ),
    Adversary::saboteur(
        "tells-of-the-first-mistake",
        "only the first call of a stream whose arguments do not match has an error event",
        &["LLM-032"],
        tells_of_the_first_mistake,
    ),
    Adversary::saboteur(
        "runs-long-arguments",
        "arguments of more than 4,096 bytes are not looked at",
        &["LLM-031"],
        |subject| runs_what_it_refused(subject, |asked| asked["input"].to_string().len() > 4096),
    ),
    Adversary::saboteur(
        "looks-at-the-newest-schemas",
        "a chat that begins replaces the schemas of those that are under way",
        &["LLM-023"],
        looks_at_the_newest_schemas,
    ),
    Adversary::saboteur(
        "keeps-the-model-while-a-tool-runs",
        "if time runs out while a tool runs, the provider is not asked to stop",
        &["LLM-052"],
        keeps_the_model_while_a_tool_runs,
    ),
    Adversary::saboteur(
        "caches-from-then-on",
        "a call with the prompt cache switches it on for all that follow",
        &["LLM-072"],
        caches_from_then_on,
    ),
];

fn keeps_results_by_tool(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, args: Value, inner: Next| {
        // Results that the provider sends have no tool of ours.
        if args.get("tools").is_none() {
            return inner.call(call, args).await;
        }
        let tools = Mutex::new(BTreeMap::new());
        let results = Mutex::new(BTreeMap::new());
        let call = call.changing_items(move |mut item| {
            let id = item["callId"].to_string();
            if is(&item, "tool_call") {
                held(&tools).insert(id, item["toolName"].to_string());
            } else if is(&item, "tool_result")
                && item["result"]["ok"] == true
                && let Some(tool) = held(&tools).get(&id)
            {
                let own = item["result"].clone();
                item["result"] = held(&results).entry(tool.clone()).or_insert(own).clone();
            }
            vec![item]
        });
        inner.call(call, args).await
    })
}

fn numbers_calls_itself(subject: Subject) -> Subject {
    static COUNTED: AtomicUsize = AtomicUsize::new(0);
    around(subject, CHAT, async |call: Call, args, inner: Next| {
        let ids = Mutex::new(BTreeMap::new());
        let call = call.changing_items(move |mut item| {
            if item.get("callId").is_some() {
                let mut ids = held(&ids);
                let next = || format!("call_{}", COUNTED.fetch_add(1, Ordering::Relaxed));
                let own = ids.entry(item["callId"].to_string()).or_insert_with(next);
                item["callId"] = own.clone().into();
            }
            vec![item]
        });
        inner.call(call, args).await
    })
}

fn tells_of_the_first_mistake(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, args, inner: Next| {
        let told = AtomicBool::new(false);
        let call = call.changing_items(move |item| {
            let mistake =
                is(&item, "tool_result") && item["result"]["error"]["code"] == "EVALIDATION";
            if mistake && told.swap(true, Ordering::Relaxed) { vec![] } else { vec![item] }
        });
        inner.call(call, args).await
    })
}

fn looks_at_the_newest_schemas(subject: Subject) -> Subject {
    static UNDER_WAY: Memory<Calls> = Memory::new();
    static NEWEST: Memory<Value> = Memory::new();
    around(subject, CHAT, async |call: Call, mut args: Value, inner: Next| {
        if args["tools"] != "fake" || args["options"].get("timeoutMs").is_some() {
            return inner.call(call, args).await;
        }
        let place = Turn::take(&UNDER_WAY, &call, "chats");
        let tools = args["options"]["tools"].clone();
        NEWEST.of(&call, "tools", |newest| *newest = Some(tools));
        let newest = match place.total().await {
            1 => None,
            _ => NEWEST.of(&call, "tools", |newest| newest.clone()),
        };
        if let Some(newest) = newest {
            args["options"]["tools"] = newest;
        }
        let answer = inner.call(call, args).await;
        drop(place);
        answer
    })
}

fn keeps_the_model_while_a_tool_runs(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, args: Value, inner: Next| {
        let limited = args["options"].get("timeoutMs").is_some();
        let runs = AtomicBool::new(false);
        let call = call.answering(move |fake, method, _| {
            let stops = (fake, method) == ("llm", "stop");
            if stops && limited && runs.load(Ordering::Relaxed) {
                return Some(Ok::<_, Failure>(Value::Null));
            }
            runs.store(fake == "tools", Ordering::Relaxed);
            None
        });
        inner.call(call, args).await
    })
}

fn caches_from_then_on(subject: Subject) -> Subject {
    static ASKED: Memory<()> = Memory::new();
    around(subject, CHAT, async |call: Call, mut args: Value, inner: Next| {
        if args["cache"] == true {
            ASKED.of(&call, "cache", |asked| *asked = Some(()));
        } else if ASKED.of(&call, "cache", |asked| asked.is_some()) {
            args["cache"] = json!(true);
        }
        inner.call(call, args).await
    })
}

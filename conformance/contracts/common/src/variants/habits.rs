//! The reference with another habit: a default, a number, a place to cut.

use agent_common::Real;
use proofmark_room::Adversary;
use serde_json::{Value, json};

use super::counts;
use crate::CONTRACT;
use crate::driver::Bent;
use crate::saboteurs::answers::{only, succeeded, with};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::server_variant(
        CONTRACT,
        "common-lists-one-by-default",
        "a list without a limit shows one item",
        "The text names limit, and does not say what it is by default",
        &Bent(|server| server.around(lists_one_by_default)),
    ),
    Adversary::server_variant(
        CONTRACT,
        "common-counts-otherwise-in-each-process",
        "each process begins with another revision",
        "Every mutable entity carries a monotonic integer revision",
        &Bent(|server| {
            server.around(|tool, args, real| {
                let first = i64::from(std::process::id() % 100_000) * 1000;
                counts(tool, args, real, first, 3)
            })
        }),
    ),
    Adversary::server_variant(
        CONTRACT,
        "common-tells-more-when-asked-for-one",
        "an entity that is fetched by its id has further members",
        "The text does not say that there are no other members, nor what is in a result",
        &Bent(|server| server.around(tells_more_when_asked_for_one)),
    ),
    Adversary::server_variant(
        CONTRACT,
        "common-keeps-accents-with-their-letters",
        "notes are not cut between a letter and its accents, nor inside joined signs",
        "max_chars is a hard cap; the text does not say that a cut is as late as possible",
        &Bent(|server| server.around(keeps_accents_with_their_letters)),
    ),
];

fn lists_one_by_default(tool: &str, args: &Value, real: Real<'_>) -> Value {
    match tool.ends_with("_list") && args.get("limit").is_none() {
        true => real(tool, &with(args, "limit", 1)),
        false => real(tool, args),
    }
}

fn tells_more_when_asked_for_one(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    if tool.ends_with("_get") && succeeded(&answer) {
        for entity in answer["result"].as_object_mut().into_iter().flat_map(|all| all.values_mut())
        {
            entity["links"] = json!([]);
        }
    }
    answer
}

const JOINER: char = '\u{200d}';

/// Whether this character belongs to the letter before it.
fn belongs(letter: char) -> bool {
    let accent = matches!(letter, '\u{300}'..='\u{36f}' | '\u{fe0f}');
    accent || letter == JOINER || matches!(letter, '\u{1f3fb}'..='\u{1f3ff}')
}

fn keeps_accents_with_their_letters(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    let whole = real(tool, &only(args, &["workspace", "task"]));
    let (Some(text), Some(whole)) =
        (answer["result"]["text"].as_str(), whole["result"]["text"].as_str())
    else {
        return answer;
    };
    let mut kept = text;
    while let Some(last) = kept.chars().next_back()
        && let Some(next) = whole[kept.len()..].chars().next()
        && (belongs(next) || last == JOINER)
    {
        kept = &kept[..kept.len() - last.len_utf8()];
    }
    if kept.len() < text.len() {
        let kept = kept.to_owned();
        answer["result"]["budget"]["used"] = json!(kept.len());
        answer["result"]["text"] = json!(kept);
    }
    answer
}

//! Servers that cut notes at the wrong place, or do not report the cut.

use agent_common::Real;
use serde_json::{Value, json};

use super::Bent;
use super::answers::{succeeded, without};
use proofmark_room::{Adversary, Among};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::server_saboteur(
        "goes-one-byte-over",
        "max_chars lets one byte more through",
        &["COMMON-066", "COMMON-072"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                cut(tool, args, real, "max_chars", |text, most| {
                    text[..text.floor_char_boundary(most + 1)].to_owned()
                })
            })
        }),
    ),
    Adversary::server_saboteur(
        "goes-one-byte-over-max-bytes",
        "max_bytes lets one byte more through",
        &["COMMON-067", "COMMON-072"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                cut(tool, args, real, "max_bytes", |text, most| {
                    text[..text.floor_char_boundary(most + 1)].to_owned()
                })
            })
        }),
    ),
    Adversary::server_saboteur(
        "caps-characters",
        "max_chars counts characters",
        &["COMMON-066", "COMMON-072"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                cut(tool, args, real, "max_chars", |text, most| text.chars().take(most).collect())
            })
        }),
    )
    .repeated(Among::ItsContracts),
    Adversary::server_saboteur(
        "caps-utf-16",
        "max_chars counts UTF-16 code units",
        &["COMMON-066", "COMMON-072"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                cut(tool, args, real, "max_chars", |text, most| {
                    let units: Vec<u16> = text.encode_utf16().take(most).collect();
                    String::from_utf16_lossy(&units).trim_end_matches('\u{fffd}').to_owned()
                })
            })
        }),
    ),
    Adversary::server_saboteur(
        "cuts-inside-characters",
        "a character that a cap splits becomes another one",
        &["COMMON-067", "COMMON-072"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                cut(tool, args, real, "max_bytes", |text, most| {
                    let most = most.min(text.len());
                    String::from_utf8_lossy(&text.as_bytes()[..most]).into_owned()
                })
            })
        }),
    ),
    Adversary::server_saboteur(
        "cuts-whole-words",
        "a cut text ends before the last space",
        &["COMMON-072"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                cut(tool, args, real, "max_chars", |text, most| {
                    let kept = &text[..text.floor_char_boundary(most)];
                    let words = kept.rfind(' ').filter(|_| kept.len() < text.len());
                    kept[..words.unwrap_or(kept.len())].to_owned()
                })
            })
        }),
    ),
    Adversary::server_saboteur(
        "marks-the-cut",
        "a cut text ends in three dots, beyond the cap",
        &["COMMON-066", "COMMON-067", "COMMON-068", "COMMON-072"],
        &Bent(|server| server.around(marks_the_cut)),
    ),
    Adversary::server_saboteur(
        "cuts-lines-in-silence",
        "notes cut by max_lines do not say so",
        &["COMMON-070"],
        &Bent(|server| server.around(cuts_lines_in_silence)),
    ),
    Adversary::server_saboteur(
        "cuts-what-fits",
        "notes that are as long as max_chars allows claim to be cut",
        &["COMMON-071"],
        &Bent(|server| server.around(cuts_what_fits)),
    ),
];

const KNOBS: &[&str] = &["max_chars", "max_bytes", "max_lines"];

/// The notes after `cut`, if only this knob is set.
fn cut(
    tool: &str,
    args: &Value,
    real: Real<'_>,
    knob: &str,
    cut: impl Fn(&str, usize) -> String,
) -> Value {
    let mut answer = real(tool, args);
    let turned = KNOBS.iter().filter(|name| args.get(**name).is_some()).count();
    if tool != "tasks_notes" || turned != 1 || !succeeded(&answer) {
        return answer;
    }
    let whole = real(tool, &without(args, KNOBS));
    let most = args.get(knob).and_then(Value::as_u64);
    if let Some(most) = most
        && let Some(whole) = whole["result"]["text"].as_str()
    {
        let text = cut(whole, usize::try_from(most).unwrap_or(usize::MAX - 1));
        let mut result = json!({ "text": text, "truncated": text != whole });
        if text != whole {
            result["budget"] = json!({ "used": text.len(), "limit": most });
        }
        answer["result"] = result;
    }
    answer
}

fn marks_the_cut(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    if answer["result"]["truncated"] == true
        && let Some(text) = answer["result"]["text"].as_str()
    {
        answer["result"]["text"] = format!("{text}...").into();
    }
    answer
}

fn cuts_lines_in_silence(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    if tool == "tasks_notes" && args.get("max_lines").is_some() && succeeded(&answer) {
        answer["result"]["truncated"] = json!(false);
        answer["result"] = without(&answer["result"], &["budget"]);
    }
    answer
}

fn cuts_what_fits(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    let length = answer["result"]["text"].as_str().map(|text| text.len() as u64);
    if length.is_some() && length == args.get("max_chars").and_then(Value::as_u64) {
        answer["result"]["truncated"] = json!(true);
        answer["result"]["budget"] = json!({ "used": length, "limit": length });
    }
    answer
}

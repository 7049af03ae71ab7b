//! Servers that are right but for a crack: a value at the edge, a second way to write a name, one race in many.

use std::sync::atomic::{AtomicUsize, Ordering};

use agent_common::Real;
use proofmark_room::Adversary;
use serde_json::{Value, json};

use super::Bent;
use super::answers::{each_text, failed_with, with, without};
use crate::laws::races::BY_WRITER;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::server_saboteur(
        "stops-at-fifty-in-silence",
        "a list of more than fifty items shows fifty, and claims that these are all",
        &["COMMON-070"],
        &Bent(|server| server.around(stops_at_fifty_in_silence)),
    ),
    Adversary::server_saboteur(
        "takes-zero-for-no-cap",
        "a max_chars of 0 caps nothing",
        &["COMMON-066", "COMMON-072"],
        &Bent(|server| server.around(|tool, args, real| uncapped(tool, args, real, "max_chars"))),
    ),
    Adversary::server_saboteur(
        "takes-zero-for-no-cap-in-bytes",
        "a max_bytes of 0 caps nothing",
        &["COMMON-067", "COMMON-072"],
        &Bent(|server| server.around(|tool, args, real| uncapped(tool, args, real, "max_bytes"))),
    ),
    Adversary::server_saboteur(
        "takes-zero-for-no-cap-in-lines",
        "a max_lines of 0 caps nothing",
        &["COMMON-068"],
        &Bent(|server| server.around(|tool, args, real| uncapped(tool, args, real, "max_lines"))),
    ),
    Adversary::server_saboteur(
        "takes-signs-in-paths",
        "an index in a path may have a plus sign",
        &["COMMON-030"],
        &Bent(|server| {
            server
                .around(|tool, args, real| by_path(tool, args, real, |path| path.replace('+', "")))
        }),
    ),
    Adversary::server_saboteur(
        "takes-white-space-in-paths",
        "a path may have white space around it",
        &["COMMON-030"],
        &Bent(|server| {
            server
                .around(|tool, args, real| by_path(tool, args, real, |path| path.trim().to_owned()))
        }),
    ),
    Adversary::server_saboteur(
        "takes-other-digits-in-paths",
        "an index in a path may have the digits of another script",
        &["COMMON-030"],
        &Bent(|server| {
            server.around(|tool, args, real| by_path(tool, args, real, in_ascii_digits))
        }),
    ),
    Adversary::server_saboteur(
        "takes-control-characters",
        "a node's id may have control characters inside",
        &["COMMON-034", "COMMON-040", "COMMON-041"],
        &Bent(|server| server.around(|tool, args, real| hiding(tool, args, real, |_| true))),
    ),
    Adversary::server_saboteur(
        "keeps-control-characters-at-the-ends",
        "a node's id may begin and end with control characters, which are kept",
        &["COMMON-034", "COMMON-041"],
        &Bent(|server| {
            server.around(|tool, args, real| hiding(tool, args, real, |inside| !inside))
        }),
    ),
    Adversary::server_saboteur(
        "loses-one-race-in-many",
        "one race in thirty has more than one winner",
        &["COMMON-064"],
        &Bent(|server| server.around(loses_one_race_in_many)),
    )
    .rare(),
];

fn stops_at_fifty_in_silence(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    if args.get("limit").is_none() && answer["result"]["budget"]["used"] == 50 {
        answer["result"]["truncated"] = json!(false);
        answer["result"] = without(&answer["result"], &["budget"]);
    }
    answer
}

fn uncapped(tool: &str, args: &Value, real: Real<'_>, knob: &str) -> Value {
    match args.get(knob) == Some(&json!(0)) {
        true => real(tool, &without(args, &[knob])),
        false => real(tool, args),
    }
}

/// Reads the paths of a call in the saboteur's own way.
fn by_path(tool: &str, args: &Value, real: Real<'_>, read: impl Fn(&str) -> String) -> Value {
    let mut args = args.clone();
    for name in ["path", "parent"] {
        if let Some(path) = args.get(name).and_then(Value::as_str) {
            args = with(&args, name, read(path));
        }
    }
    real(tool, &args)
}

/// Turns Arabic digits into those of ASCII.
fn in_ascii_digits(path: &str) -> String {
    let digit = |letter: char| match letter {
        '\u{660}'..='\u{669}' => char::from(b'0' + (letter as u32 - 0x660) as u8),
        other => other,
    };
    path.chars().map(digit).collect()
}

/// Hides control characters of a node's id from the server, as characters that it takes for letters. `hide` gets
/// whether the character is inside of the id.
fn hiding(tool: &str, args: &Value, real: Real<'_>, hide: impl Fn(bool) -> bool) -> Value {
    const FIRST: u32 = 0xe100;
    let mut args = args.clone();
    if let Some(id) = args.get("node").and_then(Value::as_str)
        && !id.trim().is_empty()
    {
        let inside = |place: usize| {
            let before = id[..place].chars().all(char::is_control);
            let after = id[place..].chars().all(char::is_control);
            !before && !after
        };
        let hidden =
            |(place, letter): (usize, char)| match letter.is_control() && hide(inside(place)) {
                true => char::from_u32(FIRST + letter as u32).unwrap_or(letter),
                false => letter,
            };
        let id: String = id.char_indices().map(hidden).collect();
        args = with(&args, "node", id);
    }
    let mut answer = real(tool, &args);
    let shown = |letter: char| match (letter as u32).checked_sub(FIRST) {
        Some(control @ 0..=0x9f) => char::from_u32(control).unwrap_or(letter),
        _ => letter,
    };
    each_text(&mut answer, &|text| Some(text.chars().map(shown).collect()));
    answer
}

/// In every 30th race of this process the last loser's write is done. Each race has two losers.
fn loses_one_race_in_many(tool: &str, args: &Value, real: Real<'_>) -> Value {
    const EVERY: usize = 30;
    static LOSERS: AtomicUsize = AtomicUsize::new(0);
    let answer = real(tool, args);
    let races = ["title", "type"].iter().any(|name| {
        args.get(*name).and_then(Value::as_str).is_some_and(|text| text.starts_with(BY_WRITER))
    });
    let lost = races && failed_with(&answer, "REVISION_MISMATCH");
    match lost && LOSERS.fetch_add(1, Ordering::Relaxed) % (2 * EVERY) == 2 * EVERY - 1 {
        true => real(tool, &without(args, &["expected_revision", "expected_version"])),
        false => answer,
    }
}

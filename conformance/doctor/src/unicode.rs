//! Checks that strings survive the way in and out.
//!
//! No operation has to return a string. So this looks wherever one may come back: in a message about the unknown
//! operation, in the call of a fake, in a hash. If none does, the check makes no statement.

use proofmark_protocol::RpcError;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::checks::{call, code, open, refused_open};
use super::probe::{asking, hashing};
use super::wire::{Trouble, Wire};
use super::{Finding, greeting};
use proofmark_suite::Probe;

const CHECK: &str = "unicode";

const SPLIT: &str = "read stdin as UTF-8, split at `\\n` alone (not at U+2028, U+0085, U+000B or U+000C), and leave strings as they are";
const UTF_8: &str =
    "read stdin and write stdout as UTF-8, whatever the locale says, and leave strings as they are";

/// Letters of two, three and four bytes, which nobody has a reason to escape.
const LETTERS: &str = "é☃漢🙂";
/// The text around them, to find them again.
const AROUND: (&str, &str) = ("proofmark.doctor-", "-end");

pub(super) async fn unicode(wire: &mut Wire, probes: &[&Probe]) -> Result<Finding, Trouble> {
    wire.ask(0, "hello", &greeting()).await?;
    // Check without special characters first: an adapter that fails here has another problem.
    let opened = wire.ask(1, "open", &open("plain")).await?;
    if let Some(finding) = refused_open(CHECK, &opened) {
        return Ok(finding);
    }
    wire.ask(2, "call", &call("plain", json!({}))).await?;
    wire.ask(3, "close", &json!({ "session": "plain" })).await?;
    for (id, (name, what)) in (4..).step_by(3).zip([
        ("line\u{2028}separator", "U+2028"),
        ("next\u{85}line", "U+0085"),
        ("v\u{b}t\u{c}ff", "U+000B and U+000C"),
        ("fa\u{301}ce 🙂 ☃", "letters of several bytes"),
        ("quote\" back\\slash\ttab\u{0}nul", "escapes"),
    ]) {
        let message = match known_by(wire, id, name).await {
            Ok(None) => continue,
            Ok(Some(message)) => format!("a session with {what} in its name {message}"),
            Err(Trouble::Silent { to, unfinished: None, .. }) => {
                format!(
                    "`{to}` got no answer with {what} in the session's name, but got one without it"
                )
            }
            Err(trouble) => return Err(trouble),
        };
        return Ok(Finding::unsound(CHECK, message, SPLIT));
    }
    let mut came = Vec::new();
    match given_back(wire, probes, &mut came).await {
        // A failing operation is the implementation's fault, but an invalid message is the adapter's.
        Ok(()) => {}
        Err(trouble @ Trouble::NotAMessage { .. }) => return Err(trouble),
        Err(_) if !came.is_empty() => {}
        Err(trouble) => return Err(trouble),
    }
    if let Some(message) = came.iter().find_map(|came| match came {
        Came::Changed(message) => Some(message),
        Came::Same | Came::Unknown => None,
    }) {
        return Ok(Finding::unsound(CHECK, message, UTF_8));
    }
    Ok(match came.contains(&Came::Same) {
        true => Finding::sound(CHECK, "strings come back unchanged"),
        false => Finding::not_yet(
            CHECK,
            "cannot check whether strings arrive unchanged, since no answer returns one; names of sessions are kept apart",
        ),
    })
}

/// Opens, uses and closes a session. Returns a problem, if there is one.
async fn known_by(wire: &mut Wire, id: i64, name: &str) -> Result<Option<String>, Trouble> {
    let opened = wire.ask(id, "open", &open(name)).await?;
    if let Some(error) = opened.get("error") {
        return Ok(Some(format!("was refused: `open` was answered with {error}")));
    }
    let called = wire.ask(id + 1, "call", &call(name, json!({}))).await?;
    if code(&called) == Some(RpcError::INVALID_PARAMS) {
        return Ok(Some("was opened, but is unknown afterwards".to_owned()));
    }
    wire.ask(id + 2, "close", &json!({ "session": name })).await?;
    Ok(None)
}

/// What happened to a sent string.
#[derive(Debug, PartialEq)]
enum Came {
    Same,
    Changed(String),
    /// It is missing, or in a form that proves nothing, such as escaped.
    Unknown,
}

/// Looks for the letters wherever an adapter may return them.
async fn given_back(
    wire: &mut Wire,
    probes: &[&Probe],
    came: &mut Vec<Came>,
) -> Result<(), Trouble> {
    let sent = format!("{}{LETTERS}{}", AROUND.0, AROUND.1);
    let mut params = open(&sent);
    if let Some((_, fake)) = asking(probes) {
        params["fakes"] = json!([fake]);
    }
    wire.ask(100, "open", &params).await?;
    let of = |operation: &str, args: Value| json!({ "session": sent, "operation": operation, "args": args });
    let answer = wire.ask(101, "call", &of(&sent, json!({}))).await?;
    came.push(within(&answer["error"]["message"], "the message about an unknown operation"));

    if let Some((probe, _)) = asking(probes) {
        wire.send(102, "call", &of(probe.operation, json!({ probe.argument: sent }))).await?;
        wire.until_asked(102, probe.operation).await?;
        if let Some(request) = wire.asked.pop() {
            let params = &request["params"];
            came.push(within(&params["session"], "the session of a `fake` call"));
            came.push(within(&params["args"][probe.argument], "the arguments of a `fake` call"));
            wire.reply(&request, &json!({ "value": sent })).await?;
            let answer = wire.answer(102, probe.operation).await?;
            came.push(within(&answer["result"]["value"], "a fake's answer that a call gives back"));
        }
    }
    if let Some(probe) = hashing(probes) {
        let call = of(probe.operation, json!({ probe.argument: LETTERS }));
        let answer = wire.ask(103, "call", &call).await?;
        came.push(hashed(probe.operation, &answer["result"]["value"]));
    }
    Ok(())
}

fn within(said: &Value, place: &str) -> Came {
    let said = said.as_str().unwrap_or_default();
    let after = said.split_once(AROUND.0).map(|(_, after)| after);
    match after.and_then(|after| after.split_once(AROUND.1)) {
        Some((LETTERS, _)) => Came::Same,
        Some((other, _)) if !other.contains(['\\', '%', '&']) => {
            let how = if other == as_latin_1() { ": it was read as Latin-1" } else { "" };
            Came::Changed(format!("in {place}, `{LETTERS}` is `{other}`{how}"))
        }
        _ => Came::Unknown,
    }
}

/// Recognises the hash of the usual mistakes.
fn hashed(operation: &str, said: &Value) -> Came {
    let is = |text: &str| said == &json!(hex::encode(Sha256::digest(text)));
    if is(LETTERS) {
        return Came::Same;
    }
    let replaced = |one: &str| {
        // Once for each letter, each UTF-16 unit, each byte.
        let counts = [LETTERS.chars().count(), LETTERS.encode_utf16().count(), LETTERS.len()];
        counts.into_iter().any(|count| is(&one.repeat(count)))
    };
    let message = if is(&as_latin_1()) {
        "as if they had been read as Latin-1"
    } else if replaced("?") || replaced("\u{fffd}") {
        "as if they had been replaced by `?` or U+FFFD"
    } else {
        return Came::Unknown;
    };
    Came::Changed(format!("`{operation}` hashes `{LETTERS}` {message}"))
}

fn as_latin_1() -> String {
    LETTERS.bytes().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_returned_string_shows_how_it_was_changed() {
        let said = |text: &str| within(&json!(format!("no proofmark.doctor-{text}-end here")), "x");
        assert_eq!(said(LETTERS), Came::Same);
        assert_eq!(said(r"\u00e9\u2603"), Came::Unknown, "escaped");
        assert_eq!(within(&json!("not implemented"), "x"), Came::Unknown);
        assert!(matches!(said("????"), Came::Changed(message) if message.ends_with("`????`")));
        assert!(
            matches!(said(&as_latin_1()), Came::Changed(message) if message.ends_with("Latin-1"))
        );
    }

    #[test]
    fn a_hash_shows_how_the_string_was_changed() {
        let of = |text: &str| hashed("op", &json!(hex::encode(Sha256::digest(text))));
        assert_eq!((of(LETTERS), of("something else")), (Came::Same, Came::Unknown));
        for wrong in [as_latin_1(), "?".repeat(4), "\u{fffd}".repeat(12)] {
            assert!(matches!(of(&wrong), Came::Changed(_)), "{wrong}");
        }
    }
}

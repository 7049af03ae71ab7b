//! Canonical JSON: one text for each value (RFC 8785).
//!
//! Written by hand because it is on the hot path of every hash and comparison; the tests compare it with an
//! independent implementation.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

/// Why a text has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// The text is not JSON.
    #[error("not JSON: {reason}, at line {line}, column {column}")]
    NotJson { reason: String, line: usize, column: usize },
    /// A string holds half of a surrogate pair, which no Unicode text can hold.
    #[error(
        "a lone surrogate at line {line}, column {column}; write both halves of the pair, or U+FFFD"
    )]
    LoneSurrogate { line: usize, column: usize },
    /// A number is larger than any double.
    #[error(
        "a number beyond the range of a double at line {line}, column {column}; write it as a string"
    )]
    NumberOutOfRange { line: usize, column: usize },
    /// Arrays and objects are nested more deeply than 127 levels.
    #[error("nested more than 127 levels deep at line {line}, column {column}")]
    TooDeep { line: usize, column: usize },
}

/// The canonical JSON text of `value`.
///
/// Members stand in the order of their keys' UTF-16 code units at every level, numbers as
/// ECMAScript prints them (so an integer beyond 2^53 as the nearest double), strings with JSON's
/// shortest escapes, and there is no white space.
pub fn canonical_json(value: &Value) -> String {
    let mut out = Vec::with_capacity(128);
    write_canonical(value, &mut out);
    String::from_utf8(out).expect("keys and strings are UTF-8, and everything else is ASCII")
}

/// Appends the canonical JSON text of `value` to `out`.
pub fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_canonical(item, out);
            }
            out.push(b']');
        }
        Value::Object(members) => write_object(members, out),
    }
}

/// The canonical JSON text of the value that `json` denotes.
///
/// Of members with the same key the last one counts, as in ECMAScript.
///
/// # Errors
/// Input without a canonical form in RFC 8785 is refused rather than changed: ECMAScript would read `1e400` as
/// infinity and print `null`, so two different texts would get one form.
pub fn canonical_json_of_text(json: &str) -> Result<String, CanonicalError> {
    let value: Value = serde_json::from_str(json).map_err(refusal)?;
    Ok(canonical_json(&value))
}

/// serde_json distinguishes these faults only by message; the tests pin the messages.
fn refusal(error: serde_json::Error) -> CanonicalError {
    let (line, column) = (error.line(), error.column());
    let words = error.to_string();
    let reason = words.split(" at line ").next().unwrap_or(&words);
    match reason {
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
            CanonicalError::LoneSurrogate { line, column }
        }
        "number out of range" => CanonicalError::NumberOutOfRange { line, column },
        "recursion limit exceeded" => CanonicalError::TooDeep { line, column },
        _ => CanonicalError::NotJson { reason: reason.to_owned(), line, column },
    }
}

fn write_object(members: &Map<String, Value>, out: &mut Vec<u8>) {
    /// Objects up to this size are sorted without allocating.
    const SMALL: usize = 16;

    let Some(first) = members.iter().next() else {
        out.extend_from_slice(b"{}");
        return;
    };
    if members.keys().is_sorted_by(|a, b| utf16_order(a, b).is_lt()) {
        write_members(members.iter(), out);
    } else if members.len() <= SMALL {
        let mut sorted = [first; SMALL];
        for (slot, member) in sorted.iter_mut().zip(members) {
            *slot = member;
        }
        let sorted = &mut sorted[..members.len()];
        sorted.sort_unstable_by(|a, b| utf16_order(a.0, b.0));
        write_members(sorted.iter().copied(), out);
    } else {
        let mut sorted: Vec<_> = members.iter().collect();
        sorted.sort_unstable_by(|a, b| utf16_order(a.0, b.0));
        write_members(sorted.into_iter(), out);
    }
}

fn write_members<'a>(members: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut Vec<u8>) {
    let mut before = b'{';
    for (key, value) in members {
        out.push(before);
        write_string(key, out);
        out.push(b':');
        write_canonical(value, out);
        before = b',';
    }
    out.push(b'}');
}

/// Compares as UTF-16 code units would.
///
/// UTF-8 bytes already compare so, save for one thing: in UTF-16 the characters from U+10000 on
/// begin with a surrogate (D800–DFFF) and therefore come before U+E000–U+FFFF. In UTF-8 the latter
/// begin with EE or EF, the former with F0 or more; no other byte has these values.
fn utf16_order(a: &str, b: &str) -> Ordering {
    fn rank(byte: u8) -> u8 {
        if matches!(byte, 0xEE | 0xEF) { byte + 0x10 } else { byte }
    }
    match a.bytes().zip(b.bytes()).find(|(x, y)| x != y) {
        Some((x, y)) => rank(x).cmp(&rank(y)),
        None => a.len().cmp(&b.len()),
    }
}

fn write_number(number: &Number, out: &mut Vec<u8>) {
    /// Up to here every integer is a double, and both print alike.
    const EXACT: u64 = 1 << 53;

    if let Some(whole) = number.as_i64().filter(|whole| whole.unsigned_abs() <= EXACT) {
        out.extend_from_slice(itoa::Buffer::new().format(whole).as_bytes());
    } else {
        let double = number.as_f64().expect("without arbitrary precision every number is a double");
        out.extend_from_slice(ryu_js::Buffer::new().format(double).as_bytes());
    }
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut written = 0;
    for (index, byte) in bytes.iter().copied().enumerate() {
        let escape = ESCAPES[usize::from(byte)];
        if escape == 0 {
            continue;
        }
        out.extend_from_slice(&bytes[written..index]);
        written = index + 1;
        if escape == b'u' {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&digits);
        } else {
            out.extend_from_slice(&[b'\\', escape]);
        }
    }
    out.extend_from_slice(&bytes[written..]);
    out.push(b'"');
}

/// For each byte the letter of its escape; 0 where none is needed.
static ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut control = 0;
    while control < 0x20 {
        table[control] = b'u';
        control += 1;
    }
    table[0x08] = b'b';
    table[b'\t' as usize] = b't';
    table[b'\n' as usize] = b'n';
    table[0x0C] = b'f';
    table[b'\r' as usize] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

//! Splits a query into tokens, and finds the commit that a comment names.

use sage_errors::SageError;
use serde_json::{Number, Value};

use super::refused;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A keyword or a name, depending on its position.
    Word(String),
    /// `$name`.
    Param(String),
    /// A text or a number.
    Literal(Value),
    /// `(`, `->`, `<>` and the like.
    Sign(&'static str),
}

/// For messages: as in a query.
impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(word) => write!(f, "`{word}`"),
            Self::Param(name) => write!(f, "`${name}`"),
            Self::Literal(value) => write!(f, "`{value}`"),
            Self::Sign(sign) => write!(f, "`{sign}`"),
        }
    }
}

/// Longer signs first, so that `<>` is not read as `<`.
const SIGNS: [&str; 15] =
    ["<>", "<-", "->", "(", ")", "[", "]", "{", "}", ":", ",", ".", "=", "*", "-"];

/// The tokens of a query, and the commit of its hint, if it has one.
pub(super) fn tokens(query: &str) -> Result<(Vec<Token>, Option<String>), SageError> {
    let mut tokens = Vec::new();
    let mut commit: Option<String> = None;
    let mut rest = query;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Ok((tokens, commit)) };
        if let Some(comment) = rest.strip_prefix("/*") {
            let Some((inside, after)) = comment.split_once("*/") else {
                return Err(refused("a comment `/*` is never closed"));
            };
            if let Some(named) = inside.trim().strip_prefix("@commit:").map(str::trim) {
                if commit.as_deref().is_some_and(|other| other != named) {
                    return Err(refused(
                        "it names two commits; use only one `/* @commit: HASH */`",
                    ));
                }
                commit = Some(named.to_owned());
            }
            rest = after;
        } else if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.split_once('\n').map_or("", |(_, after)| after);
        } else if matches!(first, '\'' | '"') {
            let (text, after) = text(rest, first)?;
            tokens.push(Token::Literal(Value::String(text)));
            rest = after;
        } else if first.is_ascii_digit() || is_negative(rest, tokens.last()) {
            let (number, after) = number(rest)?;
            tokens.push(Token::Literal(number));
            rest = after;
        } else if first == '$' {
            let (name, after) = word(&rest[1..]);
            if name.is_empty() {
                return Err(refused("`$` needs the name of a parameter"));
            }
            tokens.push(Token::Param(name.to_owned()));
            rest = after;
        } else if is_letter(first) {
            let (name, after) = word(rest);
            tokens.push(Token::Word(name.to_owned()));
            rest = after;
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else if first == ';' && rest[1..].trim_start().is_empty() {
            return Ok((tokens, commit));
        } else {
            return Err(refused(format!("`{first}` is not understood")));
        }
    }
}

/// A minus belongs to a number only where a value may stand; in `)-[` and `]-(` it is part of an edge.
fn is_negative(rest: &str, before: Option<&Token>) -> bool {
    let after = rest.strip_prefix('-');
    let digit = after.is_some_and(|after| after.starts_with(|next: char| next.is_ascii_digit()));
    digit && matches!(before, Some(Token::Sign("=" | "<>" | ":")))
}

fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

fn word(rest: &str) -> (&str, &str) {
    let is_part = |letter: char| is_letter(letter) || letter.is_ascii_digit();
    if rest.starts_with(|first: char| first.is_ascii_digit()) {
        return ("", rest);
    }
    rest.split_at(rest.find(|letter| !is_part(letter)).unwrap_or(rest.len()))
}

fn number(rest: &str) -> Result<(Value, &str), SageError> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_');
    let length = rest[1..].find(|letter| !is_part(letter)).map_or(rest.len(), |at| at + 1);
    let (number, after) = rest.split_at(length);
    let parsed: Result<Number, _> = serde_json::from_str(number);
    match parsed {
        Ok(parsed) => Ok((Value::Number(parsed), after)),
        Err(_) => Err(refused(format!("`{number}` is not a number; write 12, -3 or 1.5"))),
    }
}

fn text(rest: &str, quote: char) -> Result<(String, &str), SageError> {
    let mut text = String::new();
    let mut letters = rest.char_indices().skip(1); // The quote.
    while let Some((at, letter)) = letters.next() {
        match letter {
            letter if letter == quote => return Ok((text, &rest[at + 1..])),
            '\\' => text.push(match letters.next() {
                Some((_, same @ ('\\' | '\'' | '"'))) => same,
                Some((_, 'n')) => '\n',
                Some((_, 'r')) => '\r',
                Some((_, 't')) => '\t',
                Some((_, other)) => {
                    return Err(refused(format!("`\\{other}` in a text is not understood")));
                }
                None => break,
            }),
            letter => text.push(letter),
        }
    }
    Err(refused(format!("a text is never closed: {rest}")))
}

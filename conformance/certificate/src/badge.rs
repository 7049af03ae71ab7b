//! A badge: a statement as a small, self-contained SVG picture.

use crate::statement::Statement;

/// How many contracts are named; more are only counted.
const NAMED: usize = 2;
/// About the width of one letter of the font, in pixels.
const LETTER: usize = 7;

/// Draws the badge. It shows what the statement claims; `verify` checks whether that is true.
pub fn svg(statement: &Statement) -> String {
    let certified: Vec<&str> = statement
        .predicate
        .contracts
        .iter()
        .filter(|contract| contract.certified)
        .map(|contract| contract.id.as_str())
        .collect();
    let message = match certified.as_slice() {
        _ if !statement.is_certified() => "not certified".to_owned(),
        few if few.len() <= NAMED => format!("{} certified", few.join(", ")),
        many => format!("{} contracts certified", many.len()),
    };
    let colour = if statement.is_certified() { "#2b6a2f" } else { "#a4262c" };
    draw("proofmark", &message, colour)
}

fn draw(name: &str, message: &str, colour: &str) -> String {
    let width = |text: &str| text.chars().count() * LETTER + 12;
    let (left, right) = (width(name), width(message));
    let (all, name, message) = (left + right, escaped(name), escaped(message));
    let (left_middle, right_middle) = (left / 2, left + right / 2);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{all}" height="20" viewBox="0 0 {all} 20" role="img" aria-labelledby="t">
<title id="t">{name}: {message}</title>
<clipPath id="r"><rect width="{all}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#3d3d3d"/><rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" aria-hidden="true"><text x="{left_middle}" y="14">{name}</text><text x="{right_middle}" y="14">{message}</text></g>
</svg>
"##
    )
}

/// Escapes text for XML, and drops characters that XML cannot hold.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {}
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_inject_markup() {
        let picture = draw("proofmark", "</text><script>\u{1}&'\"", "#000");
        assert!(!picture.contains("<script") && !picture.contains('\u{1}'), "{picture}");
        assert!(picture.contains("&lt;/text&gt;&lt;script&gt;&amp;&#39;&quot;"), "{picture}");
    }
}

//! Budgets: how much of an answer is returned, and how a cut is reported.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Default number of items in a list.
pub const DEFAULT_LIMIT: u64 = 50;
/// Limit of what a caller may ask for.
pub const MOST_LIMIT: u64 = 1000;
/// The bytes of `[]`, the shortest list.
pub const SMALLEST_LIST: u64 = 2;

/// How much of the knob that cut an answer was used, and which knob it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// Shown bytes, lines or items.
    pub used: u64,
    /// The knob.
    pub limit: u64,
}

/// The longest prefix of `text` of at most `most` bytes that ends between two characters.
pub fn cut(text: &str, most: u64) -> &str {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    &text[..text.floor_char_boundary(most)]
}

/// The first `most` lines of `text`, with their ends. A line ends after `\n`.
pub fn cut_lines(text: &str, most: u64) -> &str {
    let Some(last) = most.checked_sub(1) else { return "" };
    let last = usize::try_from(last).unwrap_or(usize::MAX);
    match memchr::memchr_iter(b'\n', text.as_bytes()).nth(last) {
        Some(end) => &text[..=end],
        None => text,
    }
}

/// The knobs of a text. If several are given, the one that leaves least wins.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextBudget {
    /// Limit in bytes of UTF-8, despite its name.
    pub max_chars: Option<u64>,
    /// Limit in bytes.
    pub max_bytes: Option<u64>,
    /// Limit in lines.
    pub max_lines: Option<u64>,
}

impl TextBudget {
    /// The shown part of `text`, and the knob that cut it, if any.
    pub fn apply<'t>(&self, text: &'t str) -> (&'t str, Option<Budget>) {
        let cuts = [
            self.max_chars.map(|most| (cut(text, most), most, None)),
            self.max_bytes.map(|most| (cut(text, most), most, None)),
            self.max_lines.map(|most| (cut_lines(text, most), most, Some(most))),
        ];
        // `min_by_key` returns the first of equals: the order above is the order of precedence.
        let shortest = cuts.into_iter().flatten().min_by_key(|(shown, ..)| shown.len());
        match shortest {
            Some((shown, limit, lines)) if shown.len() < text.len() => {
                // A text cut by lines uses all its lines.
                let used = lines.unwrap_or(shown.len() as u64);
                (shown, Some(Budget { used, limit }))
            }
            _ => (text, None),
        }
    }
}

/// The requested part of a list.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Limit of items.
    pub limit: u64,
    /// How many items to skip.
    pub offset: u64,
    /// Limit of `items` as compact JSON, in bytes.
    pub max_chars: Option<u64>,
}

impl Default for Page {
    fn default() -> Self {
        Self { limit: DEFAULT_LIMIT, offset: 0, max_chars: None }
    }
}

impl Page {
    /// The list: `items`, `total`, `truncated`, and `budget` if it is truncated. Converts only the shown items to
    /// JSON.
    pub fn of<T>(
        &self,
        rows: impl Iterator<Item = T>,
        view: impl Fn(T) -> Value,
    ) -> Map<String, Value> {
        let end = self.offset.saturating_add(self.limit);
        let mut items = Vec::new();
        let mut bytes = SMALLEST_LIST;
        let mut full = false;
        let mut total = 0;
        for row in rows {
            if (self.offset..end).contains(&total) && !full {
                let item = view(row);
                let comma = u64::from(!items.is_empty());
                let more = item.to_string().len() as u64 + comma;
                full = self.max_chars.is_some_and(|most| bytes + more > most);
                if !full {
                    bytes += more;
                    items.push(item);
                }
            }
            total += 1;
        }
        let shown = items.len() as u64;
        let budget = match self.max_chars {
            Some(limit) if full => Some(Budget { used: bytes, limit }),
            _ => (end < total).then_some(Budget { used: shown, limit: self.limit }),
        };
        let mut list = Map::new();
        list.insert("items".to_owned(), Value::Array(items));
        list.insert("total".to_owned(), total.into());
        list.insert("truncated".to_owned(), budget.is_some().into());
        if let Some(budget) = budget {
            list.insert("budget".to_owned(), json!(budget));
        }
        list
    }
}

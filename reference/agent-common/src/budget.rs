//! Budgets: how much of an answer is given, and how that is told.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// How many items a list shows when the caller does not say.
pub const DEFAULT_LIMIT: u64 = 50;
/// The most that a caller may ask for.
pub const MOST_LIMIT: u64 = 1000;
/// The bytes of `[]`: no list is shorter.
pub const SMALLEST_LIST: u64 = 2;

/// What was used of the knob that cut an answer, and what that knob was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// Bytes, lines or items that are shown.
    pub used: u64,
    /// The knob.
    pub limit: u64,
}

/// The longest beginning of `text` of at most `most` bytes that ends between two characters.
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

/// The knobs of a text. Several may be given; the one that leaves least wins.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextBudget {
    /// At most so many bytes of UTF-8, whatever its name says.
    pub max_chars: Option<u64>,
    /// At most so many bytes.
    pub max_bytes: Option<u64>,
    /// At most so many lines.
    pub max_lines: Option<u64>,
}

impl TextBudget {
    /// What of `text` is shown, and by which knob it was cut, if it was.
    pub fn apply<'t>(&self, text: &'t str) -> (&'t str, Option<Budget>) {
        let cuts = [
            self.max_chars.map(|most| (cut(text, most), most, None)),
            self.max_bytes.map(|most| (cut(text, most), most, None)),
            self.max_lines.map(|most| (cut_lines(text, most), most, Some(most))),
        ];
        // `min_by_key` gives the first of equals: the order above is the order of precedence.
        let shortest = cuts.into_iter().flatten().min_by_key(|(shown, ..)| shown.len());
        match shortest {
            Some((shown, limit, lines)) if shown.len() < text.len() => {
                // A text that was cut by lines has all the lines that it may have.
                let used = lines.unwrap_or(shown.len() as u64);
                (shown, Some(Budget { used, limit }))
            }
            _ => (text, None),
        }
    }
}

/// Which part of a list is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// At most so many items.
    pub limit: u64,
    /// So many are passed over.
    pub offset: u64,
    /// `items` as compact JSON has at most so many bytes.
    pub max_chars: Option<u64>,
}

impl Default for Page {
    fn default() -> Self {
        Self { limit: DEFAULT_LIMIT, offset: 0, max_chars: None }
    }
}

impl Page {
    /// The list: `items`, `total`, `truncated`, and `budget` where it is truncated. Only what may be
    /// shown is made into JSON.
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

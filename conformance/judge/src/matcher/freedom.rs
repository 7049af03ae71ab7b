//! Finds the matcher that leaves a change of a value free.

use serde_json::Value;

use super::{Node, Pattern};

/// One step of a path into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    Key(String),
    Item(usize),
}

/// A place where two values differ, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: Vec<Segment>,
    pub touch: Touch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// A different value, perhaps of another type.
    Value,
    /// The member is gone.
    Dropped,
    /// The member is new.
    Added,
    /// The same items in another order.
    Order,
    /// More items, or fewer.
    Length,
}

/// Every place where two values differ.
pub fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    compare(before, after, &mut Vec::new(), &mut found);
    found
}

fn compare(before: &Value, after: &Value, path: &mut Vec<Segment>, found: &mut Vec<Change>) {
    let here = |touch, path: &[Segment]| Change { path: path.to_vec(), touch };
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                path.push(Segment::Key(key.clone()));
                match new.get(key) {
                    Some(other) => compare(value, other, path, found),
                    None => found.push(here(Touch::Dropped, path)),
                }
                path.pop();
            }
            for key in new.keys().filter(|key| !old.contains_key(*key)) {
                path.push(Segment::Key(key.clone()));
                found.push(here(Touch::Added, path));
                path.pop();
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() != new.len() => {
            found.push(here(Touch::Length, path));
        }
        (Value::Array(old), Value::Array(new)) => {
            if old != new && same_items(old, new) {
                found.push(here(Touch::Order, path));
                return;
            }
            for (index, (value, other)) in old.iter().zip(new).enumerate() {
                path.push(Segment::Item(index));
                compare(value, other, path, found);
                path.pop();
            }
        }
        _ if before == after => {}
        _ => found.push(here(Touch::Value, path)),
    }
}

fn same_items(old: &[Value], new: &[Value]) -> bool {
    let sorted = |items: &[Value]| {
        let mut texts: Vec<String> = items.iter().map(Value::to_string).collect();
        texts.sort_unstable();
        texts
    };
    sorted(old) == sorted(new)
}

impl Pattern {
    /// The matcher that allows a change, or `None` if the pattern is exact there.
    pub fn frees(&self, change: &Change) -> Option<&'static str> {
        frees(&self.root, &change.path, change.touch)
    }
}

fn frees(node: &Node, path: &[Segment], touch: Touch) -> Option<&'static str> {
    match node {
        Node::Exact(_) | Node::Saved(_) | Node::Absent => None,
        Node::Any(_) => Some("$any"),
        Node::NonEmpty(_) => Some("$nonEmpty"),
        Node::Matches(_) => Some("$matches"),
        Node::OneOf(_) => Some("$oneOf"),
        Node::Above(_) => Some("$above"),
        Node::Within { inner, .. } => frees(inner, path, touch),
        // Which items are compared depends on an earlier answer; the items after them are free.
        Node::StartsWithSaved(_) => Some("$startsWith"),
        Node::Optional(_) if path.is_empty() && matches!(touch, Touch::Dropped | Touch::Added) => {
            Some("$optional")
        }
        Node::Optional(inner) => frees(inner, path, touch),
        Node::Object { members, open } => {
            let Some((Segment::Key(key), rest)) = path.split_first() else { return None };
            match members.iter().find(|(name, _)| name == key) {
                Some((_, member)) => frees(member, rest, touch),
                None => open.then_some("$open"),
            }
        }
        Node::Array(items) => of_items(items, path, touch),
        Node::StartsWith(items) => match path.first() {
            Some(Segment::Item(index)) if *index >= items.len() => Some("$startsWith"),
            None if touch == Touch::Length => Some("$startsWith"),
            _ => of_items(items, path, touch),
        },
        // Nobody knows which item of the pattern an item of the value matches.
        Node::Unordered(items) => match path.split_first() {
            None => (touch == Touch::Order).then_some("$unordered"),
            Some((_, rest)) => items.iter().find_map(|item| frees(item, rest, touch)),
        },
        Node::Contains(_) => Some("$contains"),
        // Which items are compared depends on the value.
        Node::Among { .. } => Some("$among"),
        // Number and order are free; each item is not.
        Node::Each(item) => match path.split_first() {
            None => matches!(touch, Touch::Length | Touch::Order).then_some("$each"),
            Some((_, rest)) => frees(item, rest, touch),
        },
    }
}

fn of_items(items: &[Node], path: &[Segment], touch: Touch) -> Option<&'static str> {
    match path.split_first() {
        Some((Segment::Item(index), rest)) => frees(items.get(*index)?, rest, touch),
        // Two items can swap unnoticed only if both places are free.
        None if touch == Touch::Order => items.iter().find_map(freedom_within),
        _ => None,
    }
}

/// Some matcher inside the pattern that allows a change, if any.
fn freedom_within(node: &Node) -> Option<&'static str> {
    match node {
        Node::Exact(_) | Node::Saved(_) | Node::Absent => None,
        Node::Any(_) => Some("$any"),
        Node::NonEmpty(_) => Some("$nonEmpty"),
        Node::Matches(_) => Some("$matches"),
        Node::OneOf(_) => Some("$oneOf"),
        Node::Optional(_) => Some("$optional"),
        Node::Above(_) => Some("$above"),
        Node::Within { inner, .. } => freedom_within(inner),
        Node::StartsWithSaved(_) => Some("$startsWith"),
        Node::Object { open: true, .. } => Some("$open"),
        Node::Object { members, open: false } => {
            members.iter().find_map(|(_, member)| freedom_within(member))
        }
        Node::Array(items) => items.iter().find_map(freedom_within),
        Node::StartsWith(_) => Some("$startsWith"),
        Node::Unordered(_) => Some("$unordered"),
        Node::Contains(_) => Some("$contains"),
        Node::Among { .. } => Some("$among"),
        Node::Each(_) => Some("$each"),
    }
}

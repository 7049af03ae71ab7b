//! Expected values: exact, except where a `$` matcher allows a choice.
//!
//! Values are compared as canonical JSON: key order and `1` against `1.0` do not matter, everything else does.

mod compile;
mod freedom;
mod settle;
mod words;

use regex::Regex;
use serde_json::{Map, Value};

pub use self::freedom::{Change, Segment, Touch, changes};
pub(crate) use self::settle::blank;

use self::compile::{Position, compile, members};
use self::words::{around_first_difference, push_index, push_key, short, wanted};
use crate::saved::Saved;
use crate::value::{append_joined, sorted};

/// A compiled expectation.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// As the author wrote it, for people.
    pub source: Value,
    root: Node,
}

#[derive(Debug, Clone)]
enum Node {
    Exact(Value),
    Any(Kind),
    /// Of this kind and not empty.
    NonEmpty(Kind),
    Matches(Regex),
    OneOf(Vec<Node>),
    /// Only as the value of a member: the member may be absent.
    Optional(Box<Node>),
    /// Only as the value of a member: the member must be absent.
    Absent,
    Object {
        members: Vec<(String, Node)>,
        open: bool,
    },
    Array(Vec<Node>),
    Unordered(Vec<Node>),
    Contains(Vec<Node>),
    /// An array in which every item matches.
    Each(Box<Node>),
    StartsWith(Vec<Node>),
    /// Begins with the items of a saved list.
    StartsWithSaved(String),
    /// A number greater than this one, which may be a saved answer.
    Above(Box<Node>),
    /// At most this many bytes, and the inner pattern.
    Within {
        bytes: usize,
        inner: Box<Node>,
    },
    /// An array of which only those items count that match. They match the inner pattern in their order.
    Among {
        items: Box<Node>,
        inner: Box<Node>,
    },
    /// A saved answer.
    Saved(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    String,
    Number,
    Integer,
    Boolean,
    Object,
    Array,
    Null,
    Value,
}

const KINDS: [(&str, Kind); 8] = [
    ("string", Kind::String),
    ("number", Kind::Number),
    ("integer", Kind::Integer),
    ("boolean", Kind::Boolean),
    ("object", Kind::Object),
    ("array", Kind::Array),
    ("null", Kind::Null),
    ("value", Kind::Value),
];

/// The first place where two values differ.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// `$` is the whole value, `$.details[0].field` a part of it.
    pub path: String,
    pub expected: String,
    pub got: String,
}

impl Difference {
    fn new(path: &str, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self { path: path.to_owned(), expected: expected.into(), got: got.into() }
    }
}

impl Pattern {
    /// Reads the matchers in `source`. The error names the wrong one and its right form.
    pub fn new(source: Value) -> Result<Self, String> {
        let root = compile(&source, Position::Value)?;
        Ok(Self { source, root })
    }

    /// As [`Self::new`], for an object that may have more members, such as a contract error.
    pub fn open(source: Map<String, Value>) -> Result<Self, String> {
        let root = Node::Object { members: members(&source)?, open: true };
        Ok(Self { source: Value::Object(source), root })
    }

    /// Anything at all.
    pub fn anything() -> Self {
        Self { source: serde_json::json!({"$any": "value"}), root: Node::Any(Kind::Value) }
    }

    /// The empty list.
    pub fn empty_list() -> Self {
        Self { source: Value::Array(Vec::new()), root: Node::Array(Vec::new()) }
    }

    /// Whether it demands the empty list.
    pub fn is_empty_list(&self) -> bool {
        matches!(&self.root, Node::Array(items) if items.is_empty())
    }

    /// Whether it matches every list.
    pub fn is_any_list(&self) -> bool {
        matches!(&self.root, Node::Each(item) if matches!(**item, Node::Any(Kind::Value)))
    }

    /// The first difference, or `None` if `got` is as expected.
    pub fn difference(&self, got: &Value) -> Option<Difference> {
        self.difference_given(&Saved::default(), got)
    }

    /// As [`Self::difference`], with the saved answers that the pattern may refer to.
    pub fn difference_given(&self, saved: &Saved, got: &Value) -> Option<Difference> {
        Comparison { saved }.differ(&self.root, got, &mut String::from("$"))
    }
}

/// A comparison in progress.
#[derive(Clone, Copy)]
struct Comparison<'a> {
    saved: &'a Saved,
}

impl Comparison<'_> {
    fn differ(self, node: &Node, got: &Value, path: &mut String) -> Option<Difference> {
        match node {
            Node::Exact(expected) => self.differ_exactly(expected, got, path),
            Node::Any(kind) => {
                (!is_of_kind(*kind, got)).then(|| Difference::new(path, wanted(node), short(got)))
            }
            Node::NonEmpty(kind) => {
                let fits = is_of_kind(*kind, got) && !is_empty(got);
                (!fits).then(|| Difference::new(path, wanted(node), short(got)))
            }
            Node::Matches(regex) => {
                let fits = got.as_str().is_some_and(|text| regex.is_match(text));
                (!fits).then(|| Difference::new(path, wanted(node), short(got)))
            }
            Node::OneOf(choices) => {
                let length = path.len();
                let fits = choices.iter().any(|choice| {
                    // A choice that differs leaves the place of its difference in the path.
                    path.truncate(length);
                    self.differ(choice, got, path).is_none()
                });
                path.truncate(length);
                (!fits).then(|| Difference::new(path, wanted(node), short(got)))
            }
            Node::Optional(inner) => self.differ(inner, got, path),
            Node::Absent => Some(Difference::new(path, wanted(node), short(got))),
            Node::Object { members, open } => {
                let Value::Object(map) = got else {
                    return Some(Difference::new(path, "an object", short(got)));
                };
                for (key, expected) in members {
                    let length = path.len();
                    push_key(path, key);
                    let difference = match map.get(key) {
                        Some(value) => self.differ(expected, value, path),
                        None if matches!(expected, Node::Optional(_) | Node::Absent) => None,
                        None => Some(Difference::new(
                            path,
                            wanted(expected),
                            "nothing: the member is missing",
                        )),
                    };
                    if difference.is_some() {
                        return difference;
                    }
                    path.truncate(length);
                }
                if *open {
                    return None;
                }
                let extra =
                    map.iter().find(|(key, _)| !members.iter().any(|(known, _)| known == *key));
                extra.map(|(key, value)| {
                    push_key(path, key);
                    Difference::new(path, "nothing: no such member", short(value))
                })
            }
            Node::Saved(reference) => match self.saved.get(reference) {
                Some(expected) => self.differ_exactly(expected, got, path),
                None => Some(self.not_saved(node, got, path)),
            },
            Node::StartsWithSaved(reference) => {
                let saved = self.saved.get(reference).and_then(Value::as_array);
                match saved {
                    Some(items) => {
                        let items: Vec<Node> = items.iter().cloned().map(Node::Exact).collect();
                        self.differ_in_order(&items, got, path, false)
                    }
                    None => Some(self.not_saved(node, got, path)),
                }
            }
            Node::Above(limit) => {
                let limit = match &**limit {
                    Node::Saved(reference) => self.saved.get(reference),
                    Node::Exact(number) => Some(number),
                    _ => None,
                };
                let Some(limit) = limit.and_then(Value::as_f64) else {
                    return Some(self.not_saved(node, got, path));
                };
                let fits = got.as_f64().is_some_and(|number| number > limit);
                (!fits)
                    .then(|| Difference::new(path, format!("a number above {limit}"), short(got)))
            }
            Node::Within { bytes, inner } => {
                let size = match got {
                    Value::String(text) => text.len(),
                    other => other.to_string().len(),
                };
                if size > *bytes {
                    let got = format!("{size} bytes: {}", short(got));
                    return Some(Difference::new(path, format!("at most {bytes} bytes"), got));
                }
                self.differ(inner, got, path)
            }
            Node::Among { items, inner } => {
                let Some((places, counted)) = self.among(items, got) else {
                    return Some(Difference::new(path, "an array", short(got)));
                };
                let length = path.len();
                let difference = self.differ(inner, &counted.into(), path);
                difference.map(|difference| {
                    let path = original_place(&difference.path, length, &places);
                    Difference { path, ..difference }
                })
            }
            Node::Each(item) => {
                let Value::Array(items) = got else {
                    return Some(Difference::new(path, "an array", short(got)));
                };
                items.iter().enumerate().find_map(|(index, got)| {
                    let length = path.len();
                    push_index(path, index);
                    let difference = self.differ(item, got, path);
                    path.truncate(length);
                    difference
                })
            }
            Node::Array(expected) => self.differ_in_order(expected, got, path, true),
            Node::StartsWith(expected) => self.differ_in_order(expected, got, path, false),
            Node::Unordered(expected) => self.differ_in_any_order(expected, got, path, true),
            Node::Contains(expected) => self.differ_in_any_order(expected, got, path, false),
        }
    }

    /// The items of an array that match, with adjacent texts joined, and the place where each begins.
    fn among(self, node: &Node, got: &Value) -> Option<(Vec<usize>, Vec<Value>)> {
        let mut places = Vec::new();
        let mut counted: Vec<Value> = Vec::new();
        for (place, item) in got.as_array()?.iter().enumerate() {
            if self.differ(node, item, &mut String::new()).is_none() {
                append_joined(&mut counted, item);
                places.resize(counted.len(), place);
            }
        }
        Some((places, counted))
    }

    /// The saved answer lacks what the pattern refers to.
    fn not_saved(self, node: &Node, got: &Value, path: &str) -> Difference {
        let expected = format!("{}, which that answer does not have", wanted(node));
        Difference::new(path, expected, short(got))
    }

    fn differ_in_order(
        self,
        expected: &[Node],
        got: &Value,
        path: &mut String,
        exhaustive: bool,
    ) -> Option<Difference> {
        let Value::Array(items) = got else {
            return Some(Difference::new(path, "an array", short(got)));
        };
        for (index, (expected, item)) in expected.iter().zip(items).enumerate() {
            let length = path.len();
            push_index(path, index);
            let difference = self.differ(expected, item, path);
            if difference.is_some() {
                return difference;
            }
            path.truncate(length);
        }
        if expected.len() == items.len() || (!exhaustive && expected.len() < items.len()) {
            return None;
        }
        push_index(path, expected.len().min(items.len()));
        let (want, have) = match expected.get(items.len()) {
            Some(missing) => (wanted(missing), "nothing: the array ends here".to_owned()),
            None => ("nothing: the array ends here".to_owned(), short(&items[expected.len()])),
        };
        Some(Difference::new(path, want, have))
    }

    /// Matches each expected item with a different item. Uses augmenting paths, since with free fields the first fit
    /// may be wrong.
    fn differ_in_any_order(
        self,
        expected: &[Node],
        got: &Value,
        path: &str,
        exhaustive: bool,
    ) -> Option<Difference> {
        let Value::Array(items) = got else {
            return Some(Difference::new(path, "an array", short(got)));
        };
        let fits =
            |node: &Node, item: &Value| self.differ(node, item, &mut String::new()).is_none();
        let mut taken_by: Vec<Option<usize>> = vec![None; items.len()];
        for (want, node) in expected.iter().enumerate() {
            // The common case: the items have the written order, but for one that is missing or superfluous. Without
            // it, each would be compared with all, in every mutant of a long list.
            let near = [Some(want), want.checked_sub(1), Some(want + 1)].into_iter().flatten();
            let mut near = near.filter(|place| *place < items.len() && taken_by[*place].is_none());
            if let Some(place) = near.find(|place| fits(node, &items[*place])) {
                taken_by[place] = Some(want);
                continue;
            }
            let mut tried = vec![false; items.len()];
            if !augment(want, expected, items, &fits, &mut taken_by, &mut tried) {
                return Some(Difference::new(
                    path,
                    format!("an item that is {}", wanted(node)),
                    format!("no such item in {}", short(got)),
                ));
            }
        }
        if !exhaustive {
            return None;
        }
        let spare = taken_by.iter().position(Option::is_none)?;
        Some(Difference::new(
            &format!("{path}[{spare}]"),
            "nothing: no such item",
            short(&items[spare]),
        ))
    }

    /// Exact comparison without building a tree of nodes.
    fn differ_exactly(
        self,
        expected: &Value,
        got: &Value,
        path: &mut String,
    ) -> Option<Difference> {
        match (expected, got) {
            (Value::Object(_), Value::Object(_)) | (Value::Array(_), Value::Array(_)) => {
                // Rare (`$literal`): the node walk already names the place. Sorted, since a subject's member order
                // may vary between runs.
                self.differ(&literal(&sorted(expected)), got, path)
            }
            _ => (!same_scalar(expected, got)).then(|| {
                let (expected, got) =
                    around_first_difference(expected.to_string(), got.to_string());
                Difference::new(path, expected, got)
            }),
        }
    }
}

/// A difference names an item by its place among those that count. Its place in the whole array helps people more.
fn original_place(path: &str, length: usize, places: &[usize]) -> String {
    let (before, inside) = path.split_at(length);
    let item = inside.strip_prefix('[').and_then(|inside| inside.split_once(']'));
    let place =
        item.and_then(|(index, rest)| Some((places.get(index.parse::<usize>().ok()?)?, rest)));
    match place {
        Some((place, rest)) => format!("{before}[{place}]{rest}"),
        None => before.to_owned(),
    }
}

fn augment(
    want: usize,
    expected: &[Node],
    items: &[Value],
    fits: &impl Fn(&Node, &Value) -> bool,
    taken_by: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    for index in 0..items.len() {
        if tried[index] || !fits(&expected[want], &items[index]) {
            continue;
        }
        tried[index] = true;
        let free = match taken_by[index] {
            None => true,
            Some(other) => augment(other, expected, items, fits, taken_by, tried),
        };
        if free {
            taken_by[index] = Some(want);
            return true;
        }
    }
    false
}

fn literal(value: &Value) -> Node {
    match value {
        Value::Object(map) => Node::Object {
            members: map.iter().map(|(key, value)| (key.clone(), literal(value))).collect(),
            open: false,
        },
        Value::Array(items) => Node::Array(items.iter().map(literal).collect()),
        scalar => Node::Exact(scalar.clone()),
    }
}

/// Numbers are equal if their canonical forms are: compared as doubles, and -0 equals 0.
fn same_scalar(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_of_kind(kind: Kind, value: &Value) -> bool {
    match kind {
        Kind::String => value.is_string(),
        Kind::Number => value.is_number(),
        Kind::Integer => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Kind::Boolean => value.is_boolean(),
        Kind::Object => value.is_object(),
        Kind::Array => value.is_array(),
        Kind::Null => value.is_null(),
        Kind::Value => true,
    }
}

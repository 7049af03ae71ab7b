//! Single changes to a JSON value.

use proofmark_judge::matcher::Segment;
use serde_json::{Map, Number, Value, json};

/// A value with one change.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Changed {
    pub(super) path: Vec<Segment>,
    /// The mutation, in two or three words.
    pub(super) how: &'static str,
    pub(super) value: Value,
}

/// Arrays up to this length are changed in every item; longer ones only in the first and the last.
const ITEMS: usize = 5;

/// An unexpected member.
const STRANGE: &str = "proofmarkStranger";

/// Passes every single change of a value, at every depth, to `tell`. One at a time, since a value may be large.
pub(super) fn changed(value: &Value, tell: &mut dyn FnMut(Changed)) {
    walk(value, &mut Vec::new(), &|changed| changed, tell);
}

/// `whole` puts a changed part back in its place.
fn walk(
    part: &Value,
    path: &mut Vec<Segment>,
    whole: &dyn Fn(Value) -> Value,
    tell: &mut dyn FnMut(Changed),
) {
    // Skip changes that give the same value.
    for (how, other) in here(part).into_iter().filter(|(_, other)| other != part) {
        tell(Changed { path: path.clone(), how, value: whole(other) });
    }
    match part {
        Value::Array(items) => {
            for index in sampled(items.len()) {
                path.push(Segment::Item(index));
                let put = |changed| {
                    let mut items = items.clone();
                    items[index] = changed;
                    whole(Value::Array(items))
                };
                walk(&items[index], path, &put, tell);
                path.pop();
            }
        }
        Value::Object(map) => {
            let some = sampled_members(map.len());
            for (_, (key, member)) in map.iter().enumerate().filter(|(index, _)| some(*index)) {
                path.push(Segment::Key(key.clone()));
                let mut less = map.clone();
                less.shift_remove(key);
                let value = whole(Value::Object(less));
                tell(Changed { path: path.clone(), how: "member dropped", value });
                let put = |changed| {
                    let mut map = map.clone();
                    map.insert(key.clone(), changed);
                    whole(Value::Object(map))
                };
                walk(member, path, &put, tell);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The changes to a value as a whole.
fn here(value: &Value) -> Vec<(&'static str, Value)> {
    match value {
        Value::Null => vec![
            ("another type", json!(false)),
            ("another type", json!("")),
            ("another type", json!({})),
        ],
        Value::Bool(flag) => {
            vec![("boolean flipped", json!(!flag)), ("another type", json!(flag.to_string()))]
        }
        Value::Number(number) => of_number(number),
        Value::String(text) => of_text(text),
        Value::Array(items) => of_items(items),
        Value::Object(map) => of_members(map),
    }
}

fn of_number(number: &Number) -> Vec<(&'static str, Value)> {
    let mut changes =
        vec![("another type", json!(number.to_string())), ("another type", Value::Null)];
    let value = number.as_f64().unwrap_or_default();
    for other in [value + 1.0, value - 1.0] {
        // Beyond 2^53, adding one gives the same double.
        if other != value && other.is_finite() {
            changes.push(("number off by one", json!(other)));
        }
    }
    changes
}

fn of_text(text: &str) -> Vec<(&'static str, Value)> {
    let mut changes = vec![("another type", Value::Null), ("another type", json!([text]))];
    changes.push(("string changed", json!(format!("{text}~"))));
    let characters: Vec<char> = text.chars().collect();
    if let Some((_, all_but_last)) = characters.split_last() {
        changes.push(("string changed", json!(String::from_iter(all_but_last))));
        let mut other = characters.clone();
        let middle = other.len() / 2;
        other[middle] = if other[middle] == 'x' { 'y' } else { 'x' };
        changes.push(("string changed", json!(String::from_iter(other))));
    }
    changes
}

fn of_items(items: &[Value]) -> Vec<(&'static str, Value)> {
    let mut changes = vec![("another type", Value::Null), ("another type", json!({}))];
    if let (Some((_, without_first)), Some((last, without_last))) =
        (items.split_first(), items.split_last())
    {
        changes.push(("array shortened", json!(without_last)));
        changes.push(("array shortened", json!(without_first)));
        let mut longer = items.to_vec();
        longer.push(last.clone());
        changes.push(("item added", json!(longer)));
        let mut reordered = items.to_vec();
        reordered.reverse();
        changes.push(("array reordered", json!(reordered)));
        if items.len() > 2 {
            let mut swapped = items.to_vec();
            swapped.swap(0, 1);
            changes.push(("array reordered", json!(swapped)));
        }
    } else {
        changes.push(("item added", json!([null])));
    }
    changes
}

fn of_members(map: &Map<String, Value>) -> Vec<(&'static str, Value)> {
    let mut more = map.clone();
    more.insert(STRANGE.to_owned(), json!(true));
    vec![
        ("another type", Value::Null),
        ("another type", json!([])),
        ("member added", Value::Object(more)),
    ]
}

/// All members of an object of usual size, and the first ones of a very large one.
fn sampled_members(length: usize) -> impl Fn(usize) -> bool {
    const MEMBERS: usize = 40;
    move |index| length <= MEMBERS || index < MEMBERS
}

/// All indices of a short array, and the first and last of a long one.
pub(super) fn sampled(length: usize) -> Vec<usize> {
    if length <= ITEMS {
        return (0..length).collect();
    }
    vec![0, length - 1]
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn all(value: &Value) -> Vec<Changed> {
        let mut found = Vec::new();
        changed(value, &mut |mutant| found.push(mutant));
        found
    }

    #[rstest]
    #[case::boolean(json!(true), "boolean flipped", json!(false))]
    #[case::one_more(json!(1), "number off by one", json!(2.0))]
    #[case::dropped(json!({"a": 1, "b": 2}), "member dropped", json!({"b": 2}))]
    #[case::reordered(json!([1, 2]), "array reordered", json!([2, 1]))]
    #[case::shortened(json!([1, 2]), "array shortened", json!([1]))]
    #[case::text(json!("ab"), "string changed", json!("a"))]
    #[case::deep(json!([{"a": [true]}]), "boolean flipped", json!([{"a": [false]}]))]
    fn a_value_has_this_mutant(#[case] value: Value, #[case] how: &str, #[case] mutant: Value) {
        let found = all(&value);
        assert!(found.iter().any(|one| one.how == how && one.value == mutant), "{found:?}");
    }

    #[test]
    fn no_mutant_is_the_value_itself() {
        let value = json!([1, 1, 1e300, "x", null, {"a": []}]);
        assert!(all(&value).iter().all(|mutant| mutant.value != value));
    }

    #[test]
    fn the_number_of_mutants_does_not_grow_with_a_long_array() {
        let short = all(&json!(vec![true; 6])).len();
        assert_eq!(all(&json!(vec![true; 6000])).len(), short);
    }
}

//! Properties of comparison, with generated values.

use proofmark_judge::matcher::Pattern;
use proptest::prelude::*;
use proptest::sample::{Index, Selector, select, subsequence};
use serde_json::{Map, Number, Value, json};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |float| Number::from_f64(float).map(Value::from)),
        "[a-z$é🦀\"]{0,6}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[$a-c. ]{0,3}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The paths to `value` and everything in it.
fn places(value: &Value) -> Vec<String> {
    fn walk(value: &Value, at: &str, all: &mut Vec<String>) {
        all.push(at.to_owned());
        match value {
            Value::Array(items) => items
                .iter()
                .enumerate()
                .for_each(|(index, item)| walk(item, &format!("{at}/{index}"), all)),
            Value::Object(map) => map.iter().for_each(|(key, item)| {
                let key = key.replace('~', "~0").replace('/', "~1");
                walk(item, &format!("{at}/{key}"), all);
            }),
            _ => {}
        }
    }
    let mut all = Vec::new();
    walk(value, "", &mut all);
    all
}

/// Changes one place so that the whole value differs.
fn change(place: &mut Value, pick: Index, how: Selector) {
    match place {
        Value::Null => *place = json!(false),
        Value::Bool(held) => *place = json!(!*held),
        Value::String(text) => text.push('x'),
        Value::Number(number) => {
            let number = number.as_f64().expect("finite");
            *place = if number == 0.5 { json!(0) } else { json!(0.5) };
        }
        Value::Array(items) => {
            let swappable: Vec<usize> =
                (1..items.len()).filter(|at| !same(&items[at - 1], &items[*at])).collect();
            match how.select(["shorten", "lengthen", "swap", "replace"]) {
                "shorten" if !items.is_empty() => {
                    items.pop();
                }
                "swap" if !swappable.is_empty() => {
                    let at = swappable[pick.index(swappable.len())];
                    items.swap(at - 1, at);
                }
                "replace" => *place = json!({}),
                _ => items.push(Value::Null),
            }
        }
        Value::Object(map) => match how.select(["drop", "add", "rename", "replace"]) {
            "drop" if !map.is_empty() => {
                let key = map.keys().nth(pick.index(map.len())).cloned().expect("there is one");
                map.remove(&key);
            }
            "rename" if !map.is_empty() => {
                let key = map.keys().nth(pick.index(map.len())).cloned().expect("there is one");
                let held = map.remove(&key).expect("it was there");
                map.insert(format!("{key}+"), held);
            }
            "replace" => *place = json!([]),
            _ => {
                map.insert("new".to_owned(), Value::Null);
            }
        },
    }
}

/// Equality of canonical JSON, by an independent implementation.
fn same(a: &Value, b: &Value) -> bool {
    let canonical = |value| serde_json_canonicalizer::to_vec(value).expect("it is plain JSON");
    canonical(a) == canonical(b)
}

/// Whether every pattern can have a different item, by brute force.
fn assignable(fits: &[Vec<bool>], taken: &mut Vec<bool>) -> bool {
    let Some((first, rest)) = fits.split_first() else { return true };
    (0..taken.len()).any(|item| {
        if taken[item] || !first[item] {
            return false;
        }
        taken[item] = true;
        let all = assignable(rest, taken);
        taken[item] = false;
        all
    })
}

fn literally(value: &Value) -> Pattern {
    Pattern::new(json!({ "$literal": value })).expect("a literal is always well formed")
}

type Accepts = fn(&Value) -> bool;

/// Patterns, and which of the items 0, 1, 2 and "a" each accepts.
const CHOOSY: [(&str, Accepts); 6] = [
    ("1", |item| item == 1),
    ("2", |item| item == 2),
    (r#""a""#, |item| item == "a"),
    (r#"{"$oneOf": [0, 2]}"#, |item| item == 0 || item == 2),
    (r#"{"$any": "integer"}"#, Value::is_number),
    (r#"{"$any": "value"}"#, |_| true),
];

fn items() -> impl Strategy<Value = Vec<Value>> {
    let item = prop_oneof![Just(json!(0)), Just(json!(1)), Just(json!(2)), Just(json!("a"))];
    prop::collection::vec(item, 0..6)
}

proptest! {
    #[test]
    fn a_value_matches_itself(value in value()) {
        prop_assert_eq!(literally(&value).difference(&value), None);
    }

    #[test]
    fn a_change_in_one_place_is_found(value in value(), place in any::<Index>(), pick in any::<Index>(), how in any::<Selector>()) {
        let places = places(&value);
        let mut changed = value.clone();
        change(changed.pointer_mut(place.get::<String>(&places)).expect("it is there"), pick, how);
        prop_assert!(literally(&value).difference(&changed).is_some(), "{} passes for {}", changed, value);
        prop_assert!(literally(&changed).difference(&value).is_some(), "{} passes for {}", value, changed);
    }

    #[test]
    fn equality_is_that_of_canonical_json(a in value(), b in value()) {
        prop_assert_eq!(literally(&a).difference(&b).is_none(), same(&a, &b));
    }

    #[test]
    fn the_order_of_members_does_not_matter(map in prop::collection::btree_map("[a-f]", scalar(), 0..6)) {
        let there: Map<String, Value> = map.clone().into_iter().collect();
        let back: Map<String, Value> = map.into_iter().rev().collect();
        prop_assert_eq!(literally(&Value::Object(there)).difference(&Value::Object(back)), None);
    }

    #[test]
    fn any_order_fits_unordered(
        (written, shuffled) in prop::collection::vec(scalar(), 1..8)
            .prop_flat_map(|items| (Just(items.clone()), Just(items).prop_shuffle())),
    ) {
        let literals: Vec<Value> = written.iter().map(|item| json!({ "$literal": item })).collect();
        let pattern = Pattern::new(json!({ "$unordered": literals })).unwrap();
        prop_assert_eq!(pattern.difference(&Value::from(shuffled)), None);
    }

    #[test]
    fn a_part_in_any_order_fits_contains(
        (all, part) in prop::collection::vec(any::<u8>(), 1..8)
            .prop_flat_map(|all| { let most = all.len(); (Just(all.clone()), subsequence(all, 1..=most).prop_shuffle()) }),
    ) {
        let pattern = Pattern::new(json!({ "$contains": part })).unwrap();
        prop_assert_eq!(pattern.difference(&json!(all)), None);
    }

    /// With free items, an assignment must be found if and only if there is one.
    #[test]
    fn free_items_are_assigned_as_by_brute_force(patterns in prop::collection::vec(select(&CHOOSY[..]), 1..6), items in items()) {
        let sources: Vec<Value> =
            patterns.iter().map(|(source, _)| serde_json::from_str(source).unwrap()).collect();
        let fits: Vec<Vec<bool>> =
            patterns.iter().map(|(_, accepts)| items.iter().map(accepts).collect()).collect();
        let possible = assignable(&fits, &mut vec![false; items.len()]);
        let got = json!(items);
        let contains = Pattern::new(json!({ "$contains": sources })).unwrap();
        prop_assert_eq!(contains.difference(&got).is_none(), possible);
        let unordered = Pattern::new(json!({ "$unordered": sources })).unwrap();
        prop_assert_eq!(unordered.difference(&got).is_none(), possible && items.len() == patterns.len());
    }
}

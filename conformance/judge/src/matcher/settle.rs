//! Normalizes a value by its pattern: two answers that are right in the same way become equal.

use serde_json::Value;

use super::{Comparison, Node, Pattern};
use crate::saved::Saved;

impl Pattern {
    /// Blanks whatever is free and sorts whatever has no order. A matching value still matches afterwards.
    pub fn settle(&self, value: &mut Value, saved: &Saved) {
        settle(&self.root, value, saved);
    }
}

fn settle(node: &Node, value: &mut Value, saved: &Saved) {
    match (node, value) {
        (Node::Any(_), value) => blank(value),
        (Node::Object { members, open }, Value::Object(map)) => {
            if *open {
                map.retain(|key, _| members.iter().any(|(named, _)| named == key));
            }
            // Presence is free and may depend on timing: the holder of a lock is not always known.
            map.retain(|key, _| {
                !members
                    .iter()
                    .any(|(named, node)| named == key && matches!(node, Node::Optional(_)))
            });
            for (key, node) in members {
                if let Some(member) = map.get_mut(key) {
                    settle(node, member, saved);
                }
            }
        }
        (Node::Array(nodes), Value::Array(items)) => {
            nodes.iter().zip(items).for_each(|(node, item)| settle(node, item, saved));
        }
        // An array that matches `$each` also matches when empty.
        (Node::Each(_), Value::Array(items)) => items.clear(),
        (Node::Unordered(nodes), Value::Array(items)) => {
            sort(items);
            witnesses(nodes, items, saved);
        }
        (Node::Contains(nodes), Value::Array(items)) => {
            sort(items);
            witnesses(nodes, items, saved);
        }
        (Node::StartsWith(nodes), Value::Array(items)) => {
            items.truncate(nodes.len());
            nodes.iter().zip(items).for_each(|(node, item)| settle(node, item, saved));
        }
        (Node::Among { items: node, inner }, got) => {
            let Some((_, counted)) = (Comparison { saved }).among(node, got) else { return };
            *got = counted.into();
            let mut settled = got.clone();
            settle(inner, &mut settled, saved);
            // An item that is blank may count no more.
            let again = (Comparison { saved }).among(node, &settled);
            if again.is_some_and(|(_, counted)| Value::from(counted) == settled) {
                *got = settled;
            }
        }
        (Node::Within { inner, .. }, value) => settle(inner, value, saved),
        // Which of the values it is may depend on timing.
        (Node::OneOf(choices), value) => {
            if let Some(values) = choices.iter().map(exact).collect::<Option<Vec<_>>>()
                && let Some(first) = values.into_iter().next()
            {
                *value = first;
            } else if let Some(choice) = choices.iter().find(|choice| fits(choice, value, saved)) {
                settle(choice, value, saved);
            }
        }
        // One member or item is enough.
        (Node::NonEmpty(_), Value::Object(map)) => {
            let first = map.keys().min().cloned();
            map.retain(|key, _| Some(key) == first.as_ref());
            map.values_mut().for_each(blank);
        }
        (Node::NonEmpty(_), Value::Array(items)) => {
            items.truncate(1);
            items.iter_mut().for_each(blank);
        }
        // Every other node is compared, or not known to be free.
        _ => {}
    }
}

/// The only matching value, if there is just one.
fn exact(node: &Node) -> Option<Value> {
    match node {
        Node::Exact(value) => Some(value.clone()),
        Node::Array(items) => items.iter().map(exact).collect(),
        Node::Object { members, open: false } => {
            let member = |(key, node): &(String, Node)| Some((key.clone(), exact(node)?));
            members.iter().map(member).collect::<Option<_>>().map(Value::Object)
        }
        _ => None,
    }
}

fn sort(items: &mut [Value]) {
    items.iter_mut().for_each(Value::sort_all_objects);
    items.sort_by_cached_key(Value::to_string);
}

/// Keeps one item for each required one, settled by it. The other items are free.
fn witnesses(nodes: &[Node], items: &mut Vec<Value>, saved: &Saved) {
    let mut left = items.clone();
    let mut kept = Vec::with_capacity(nodes.len());
    for node in nodes {
        // Another choice of witnesses might succeed, but then nothing is settled.
        let Some(place) = left.iter().position(|item| fits(node, item, saved)) else { return };
        let mut witness = left.remove(place);
        settle(node, &mut witness, saved);
        kept.push(witness);
    }
    sort(&mut kept);
    *items = kept;
}

fn fits(node: &Node, value: &Value, saved: &Saved) -> bool {
    Comparison { saved }.differ(node, value, &mut String::from("$")).is_none()
}

/// The simplest value of the same kind.
pub(crate) fn blank(value: &mut Value) {
    *value = match value {
        Value::Null => Value::Null,
        Value::Bool(_) => false.into(),
        Value::Number(_) => 0.into(),
        Value::String(_) => "".into(),
        Value::Array(_) => Value::Array(Vec::new()),
        Value::Object(_) => Value::Object(serde_json::Map::new()),
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settling_blanks_free_values_and_keeps_judged_ones() {
        let pattern = Pattern::new(json!({
            "id": { "$any": "string" },
            "at": { "$matches": "^2" },
            "list": { "$unordered": [1, 2] },
            "more": { "$open": { "code": "E" } },
            "n": { "$optional": { "$any": "number" } },
            "exact": [{ "a": 1 }, { "$any": "boolean" }],
            "some": { "$contains": [3, 2] },
            "head": { "$startsWith": [1] },
            "which": { "$oneOf": [{ "a": ["old"] }, { "a": ["new"] }] },
            "like": { "$oneOf": ["old", { "$matches": "^n" }] },
            "either": { "$oneOf": [{ "$open": { "a": "old" } }, { "$open": { "a": "new" } }] },
            "any": { "$unordered": [{ "$open": { "b": 2 } }, { "$open": { "a": 1 } }] },
            "filled": { "$nonEmpty": "object" },
            "short": { "$within": { "bytes": 9, "value": { "$any": "string" } } },
            "each": { "$each": { "$any": "number" } },
            "full": { "$nonEmpty": "string" },
            "texts": { "$among": { "items": { "$any": "string" }, "value": ["a", { "$any": "string" }] } },
        }))
        .unwrap();
        let mut value = json!({
            "id": "7f", "at": "2024", "list": [2, 1], "more": { "code": "E", "pid": 4711 }, "n": 3,
            "exact": [{ "a": 1 }, true], "some": [9, 3, 2, 4], "head": [1, 7], "which": { "a": ["new"] }, "like": "new", "short": "abc",
            "either": { "a": "new", "pid": 1 }, "any": [{ "a": 1, "pid": 1 }, { "pid": 2, "b": 2 }],
            "filled": { "pid": 1, "at": "now" },
            "each": [1, 2], "full": "abc", "texts": [1, "a", 2, "b"],
        });
        pattern.settle(&mut value, &Saved::default());
        let settled = json!({
            "id": "", "at": "2024", "list": [1, 2], "more": { "code": "E" },
            "exact": [{ "a": 1 }, false], "some": [2, 3], "head": [1], "which": { "a": ["old"] }, "like": "new", "short": "",
            "either": { "a": "new" }, "any": [{ "a": 1 }, { "b": 2 }], "filled": { "at": "" },
            "each": [], "full": "abc", "texts": ["a", ""],
        });
        assert_eq!(value, settled);
        assert_eq!(pattern.difference(&value), None, "it still matches");
    }
}

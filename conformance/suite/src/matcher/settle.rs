//! A value without what its pattern leaves free: two answers that are right in the same way become the same.

use serde_json::Value;

use super::{Node, Pattern};

impl Pattern {
    /// Blanks what is free and puts into one order what has none. A value that fits goes on to fit.
    pub(crate) fn settle(&self, value: &mut Value) {
        settle(&self.root, value);
    }
}

fn settle(node: &Node, value: &mut Value) {
    match (node, value) {
        (Node::Any(_), value) => blank(value),
        (Node::Optional(inner), value) => settle(inner, value),
        (Node::Object { members, open }, Value::Object(map)) => {
            if *open {
                map.retain(|key, _| members.iter().any(|(named, _)| named == key));
            }
            for (key, node) in members {
                if let Some(member) = map.get_mut(key) {
                    settle(node, member);
                }
            }
        }
        (Node::Array(nodes), Value::Array(items)) => {
            nodes.iter().zip(items).for_each(|(node, item)| settle(node, item));
        }
        (Node::Unordered(_) | Node::Contains(_), Value::Array(items)) => {
            items.iter_mut().for_each(Value::sort_all_objects);
            items.sort_by_cached_key(Value::to_string);
        }
        // What else is written is compared, or not known to be free.
        _ => {}
    }
}

/// The plainest value of the same kind.
fn blank(value: &mut Value) {
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
    fn what_is_free_is_gone_and_what_is_judged_stays() {
        let pattern = Pattern::new(json!({
            "id": { "$any": "string" },
            "at": { "$matches": "^2" },
            "list": { "$unordered": [1, 2] },
            "more": { "$open": { "code": "E" } },
            "n": { "$optional": { "$any": "number" } },
            "exact": [{ "a": 1 }, { "$any": "boolean" }],
        }))
        .unwrap();
        let mut value = json!({
            "id": "7f", "at": "2024", "list": [2, 1], "more": { "code": "E", "pid": 4711 }, "n": 3,
            "exact": [{ "a": 1 }, true],
        });
        pattern.settle(&mut value);
        let settled = json!({
            "id": "", "at": "2024", "list": [1, 2], "more": { "code": "E" }, "n": 0,
            "exact": [{ "a": 1 }, false],
        });
        assert_eq!(value, settled);
        assert_eq!(pattern.difference(&value), None, "it goes on to fit");
    }
}

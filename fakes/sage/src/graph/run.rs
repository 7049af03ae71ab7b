//! Runs a query: the rows that it finds at one commit.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::parse::{By, EdgePattern, NodePattern, Property, Query};
use super::{Facts, Node};

/// The nodes of one match, in the order of the pattern.
type Match<'a> = Vec<&'a Node>;

/// Its cells, and its match unless it is a group.
type Row<'a> = (Vec<Value>, Option<Match<'a>>);

/// The rows at this commit, counted from 1.
pub(super) fn rows(facts: &Facts, query: &Query, commit: usize) -> Vec<Value> {
    let found = matches(facts, query, commit);
    let counts = query.columns.iter().any(|column| column.property.is_none());
    let mut rows: Vec<Row<'_>> = if counts {
        counted(query, &found).into_iter().map(|row| (row, None)).collect()
    } else {
        found.into_iter().map(|nodes| (cells(query, &nodes, 0), Some(nodes))).collect()
    };
    if !query.order.is_empty() {
        rows.sort_by(|one, other| compare(query, one, other));
    }
    let rows = rows.into_iter().take(query.limit.unwrap_or(usize::MAX));
    let named = |(cells, _): (Vec<Value>, _)| {
        let names = query.columns.iter().map(|column| column.name.clone());
        Value::Object(names.zip(cells).collect::<Map<_, _>>())
    };
    rows.map(named).collect()
}

fn matches<'a>(facts: &'a Facts, query: &Query, commit: usize) -> Vec<Match<'a>> {
    let there = |node: &Node| node.seen.at(commit);
    let found: Vec<Match<'a>> = match &query.edge {
        None => facts.nodes.iter().filter(|node| there(node)).map(|node| vec![node]).collect(),
        Some(EdgePattern { kind, is_forward }) => {
            let mut ends: Vec<_> = facts
                .edges
                .iter()
                .filter(|edge| edge.kind == *kind && edge.seen.at(commit))
                .map(|edge| if *is_forward { (edge.from, edge.to) } else { (edge.to, edge.from) })
                .collect();
            ends.sort_unstable(); // By the first node, then by the second, in script order.
            ends.into_iter()
                .map(|(first, second)| vec![&facts.nodes[first], &facts.nodes[second]])
                .filter(|nodes| nodes.iter().all(|node| there(node)))
                .collect()
        }
    };
    found.into_iter().filter(|nodes| holds(query, nodes)).collect()
}

fn holds(query: &Query, nodes: &[&Node]) -> bool {
    let fits = |(pattern, node): (&NodePattern, &&Node)| {
        pattern.label.as_ref().is_none_or(|label| *label == node.label)
            && pattern
                .properties
                .iter()
                .all(|(key, value)| is_same(&read(node, key), value) == Some(true))
    };
    // A variable that occurs twice means the same node.
    let loops = |nodes: &[&Node]| match &query.nodes[..] {
        [one, other] if one.variable.is_some() && one.variable == other.variable => {
            nodes[0].id == nodes[1].id
        }
        _ => true,
    };
    query.nodes.iter().zip(nodes).all(fits)
        && loops(nodes)
        && query.conditions.iter().all(|condition| {
            let value = property(nodes, &condition.property);
            is_same(&value, &condition.value) == Some(condition.is_equal)
        })
}

/// One row for each distinct combination of the other columns, in order of first occurrence. A query that only counts
/// has a row even for no match.
fn counted(query: &Query, found: &[Match<'_>]) -> Vec<Vec<Value>> {
    let mut groups: Vec<(Vec<Value>, u64)> = Vec::new();
    for nodes in found {
        let key = cells(query, nodes, 0);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, count)) => *count += 1,
            None => groups.push((key, 1)),
        }
    }
    if groups.is_empty() && query.columns.iter().all(|column| column.property.is_none()) {
        groups.push((vec![json!(0); query.columns.len()], 0));
    }
    let filled = |(mut row, count): (Vec<Value>, u64)| {
        for (cell, column) in row.iter_mut().zip(&query.columns) {
            if column.property.is_none() {
                *cell = json!(count);
            }
        }
        row
    };
    groups.into_iter().map(filled).collect()
}

/// The cells of one match, with `count` in the counting columns.
fn cells(query: &Query, nodes: &[&Node], count: u64) -> Vec<Value> {
    let cell = |wanted: &Option<Property>| match wanted {
        Some(wanted) => property(nodes, wanted),
        None => json!(count),
    };
    query.columns.iter().map(|column| cell(&column.property)).collect()
}

fn property(nodes: &[&Node], wanted: &Property) -> Value {
    read(nodes[wanted.node], &wanted.key)
}

/// The value of a key: a property of the node, or a member that every node has.
fn read(node: &Node, key: &str) -> Value {
    match (node.properties.get(key), key) {
        (Some(value), _) => value.clone(),
        (None, "id") => json!(node.id),
        (None, "first_seen") => json!(node.seen.first),
        (None, "last_seen") => json!(node.seen.last),
        (None, _) => Value::Null,
    }
}

/// Whether two values are equal; `None` if one of them is null, as in Cypher.
fn is_same(one: &Value, other: &Value) -> Option<bool> {
    match (one, other) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Number(one), Value::Number(other)) => {
            Some(one == other || one.as_f64() == other.as_f64())
        }
        _ => Some(one == other),
    }
}

fn compare(query: &Query, one: &Row<'_>, other: &Row<'_>) -> Ordering {
    let value = |row: &Row<'_>, by: &By| match (by, &row.1) {
        (By::Column(at), _) => row.0[*at].clone(),
        (By::Property(wanted), Some(nodes)) => property(nodes, wanted),
        (By::Property(_), None) => Value::Null,
    };
    for order in &query.order {
        let way = sorted(&value(one, &order.by), &value(other, &order.by));
        let way = if order.is_descending { way.reverse() } else { way };
        if way.is_ne() {
            return way;
        }
    }
    Ordering::Equal
}

/// Cypher's order: objects, lists, strings, booleans, numbers, then null.
fn sorted(one: &Value, other: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Object(_) => 0,
        Value::Array(_) => 1,
        Value::String(_) => 2,
        Value::Bool(_) => 3,
        Value::Number(_) => 4,
        Value::Null => 5,
    };
    match (one, other) {
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Number(one), Value::Number(other)) => {
            one.as_f64().partial_cmp(&other.as_f64()).unwrap_or(Ordering::Equal)
        }
        (Value::Array(one), Value::Array(other)) => {
            let different = one.iter().zip(other).map(|(one, other)| sorted(one, other));
            let first = different.into_iter().find(|way| way.is_ne());
            first.unwrap_or_else(|| one.len().cmp(&other.len()))
        }
        _ => rank(one).cmp(&rank(other)),
    }
}

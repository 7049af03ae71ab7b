//! Reads and checks the script of a graph.

use std::collections::HashMap;

use proofmark_fakes::script::{array, object, string};
use sage_utils::TypedError;
use serde_json::{Map, Value};

use super::{Edge, Facts, Node, Seen};
use crate::fault::fault;

pub(super) fn read(script: &Value) -> Result<(Facts, Vec<TypedError>), String> {
    let members = object("graph", script, &["commits", "nodes", "edges", "faults"])?;
    let mut facts = Facts::default();
    for (at, name) in array("commits", members.get("commits"))?.iter().enumerate() {
        let name = string(&format!("commits[{at}]"), Some(name))?;
        if facts.commits.iter().any(|known| known == name) {
            return Err(format!("`commits[{at}]`: the commit `{name}` occurs twice"));
        }
        facts.commits.push(name.to_owned());
    }
    let mut places = HashMap::new();
    for (at, value) in array("nodes", members.get("nodes"))?.iter().enumerate() {
        let place = format!("nodes[{at}]");
        let node = node(&place, value, &facts.commits)?;
        if places.insert(node.id.clone(), at).is_some() {
            return Err(format!("`{place}.id`: the node `{}` occurs twice", node.id));
        }
        facts.nodes.push(node);
    }
    for (at, value) in array("edges", members.get("edges"))?.iter().enumerate() {
        facts.edges.push(edge(&format!("edges[{at}]"), value, &facts.commits, &places)?);
    }
    let faults = array("faults", members.get("faults"))?.iter().enumerate();
    let faults = faults.map(|(at, value)| fault(&format!("faults[{at}]"), value));
    Ok((facts, faults.collect::<Result<_, _>>()?))
}

fn node(place: &str, value: &Value, commits: &[String]) -> Result<Node, String> {
    let members = object(place, value, &["id", "label", "properties", "first_seen", "last_seen"])?;
    if !members.contains_key("first_seen") {
        return Err(format!("`{place}.first_seen` is missing; it is a commit, counted from 1"));
    }
    let properties = match members.get("properties") {
        None => Map::new(),
        Some(Value::Object(properties)) => properties.clone(),
        Some(other) => return Err(format!("`{place}.properties` must be an object, not {other}")),
    };
    Ok(Node {
        id: string(&format!("{place}.id"), members.get("id"))?.to_owned(),
        label: string(&format!("{place}.label"), members.get("label"))?.to_owned(),
        properties,
        seen: seen(place, members, commits)?,
    })
}

fn edge(
    place: &str,
    value: &Value,
    commits: &[String],
    nodes: &HashMap<String, usize>,
) -> Result<Edge, String> {
    let members = object(place, value, &["from", "to", "kind", "first_seen", "last_seen"])?;
    let end = |name: &str| {
        let id = string(&format!("{place}.{name}"), members.get(name))?;
        nodes.get(id).copied().ok_or_else(|| format!("`{place}.{name}`: there is no node `{id}`"))
    };
    Ok(Edge {
        from: end("from")?,
        to: end("to")?,
        kind: string(&format!("{place}.kind"), members.get("kind"))?.to_owned(),
        seen: seen(place, members, commits)?,
    })
}

fn seen(place: &str, members: &Map<String, Value>, commits: &[String]) -> Result<Seen, String> {
    let commit = |name: &str, absent: usize| {
        let Some(value) = members.get(name) else { return Ok(absent) };
        let at = match value {
            Value::String(name) => {
                commits.iter().position(|commit| commit == name).map(|at| at + 1)
            }
            value => value.as_u64().and_then(|at| usize::try_from(at).ok()),
        };
        at.filter(|at| (1..=commits.len()).contains(at)).ok_or_else(|| {
            let many = commits.len();
            format!("`{place}.{name}` must be one of the {many} `commits`, counted from 1 or by name, not {value}")
        })
    };
    let seen = Seen { first: commit("first_seen", 1)?, last: commit("last_seen", commits.len())? };
    if seen.first > seen.last {
        return Err(format!("`{place}.last_seen` is before `first_seen`"));
    }
    Ok(seen)
}

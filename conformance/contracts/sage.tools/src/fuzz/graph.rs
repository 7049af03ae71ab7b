//! Fuzzes queries of the in-memory graph.

use std::path::Path;
use std::sync::LazyLock;

use proofmark_fakes_sage::graph::MemoryGraph;
use proofmark_room::fuzz::{all_cases, short};
use serde_json::{Map, Value, json};

static GRAPH: LazyLock<MemoryGraph> = LazyLock::new(|| {
    let node = |id: &str, label: &str, name: &str, lines: Value| {
        let properties = json!({ "name": name, "lines": lines, "exported": id == "f1" });
        json!({ "id": id, "label": label, "properties": properties, "first_seen": 1 })
    };
    let edge = |from: &str, to: &str, seen: u64| json!({ "from": from, "to": to, "kind": "CALLS", "first_seen": seen });
    let script = json!({
        "commits": ["c1", "c2"],
        "nodes": [
            node("f1", "Function", "parse", json!(10)),
            node("f2", "Function", "it's", json!(2.5)),
            node("k1", "Class", "Parser", Value::Null),
        ],
        "edges": [edge("f1", "f2", 1), edge("f2", "f1", 2), edge("k1", "k1", 1)],
    });
    MemoryGraph::from_script(&script).expect("the script is right")
});

/// The bytes before the first NUL are the query, the rest its parameters as JSON.
///
/// A query returns rows with the same columns, the same rows each time, or fails with a contract error.
pub(super) fn graph(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (query, params) = text.split_once('\0').unwrap_or((text, "{}"));
    let Ok(params) = serde_json::from_str::<Map<String, Value>>(params) else { return };
    for commit in [None, Some("c1")] {
        let found = GRAPH.query(query, &params, commit);
        match &found {
            Ok(rows) => {
                let columns = |row: &Value| -> Vec<String> {
                    row.as_object().expect("a row is an object").keys().cloned().collect()
                };
                assert!(
                    rows.windows(2).all(|two| columns(&two[0]) == columns(&two[1])),
                    "{rows:?}"
                );
                assert_eq!(GRAPH.query(query, &params, commit).ok().as_ref(), Some(rows));
            }
            Err(error) => {
                assert_eq!(error.code(), "EVALIDATION", "{error}");
                let field = error.to_json()["details"][0]["field"].clone();
                assert!(field == "query" || field == "params", "{error}");
            }
        }
    }
    // A missing commit has no rows, and an invalid query is still invalid there.
    let nowhere = GRAPH.query(query, &params, Some("no such commit"));
    assert!(nowhere.is_err() || nowhere.is_ok_and(|rows| rows.is_empty()));
}

/// Every query in the cases, and some that use the whole grammar.
pub(super) fn queries(top: &Path) -> Vec<Vec<u8>> {
    let made = [
        "MATCH (n:Function {name: $name})-[:CALLS]->(m:Function) WHERE m.lines <> 3 AND n.exported = true \
         RETURN n.name, m.name AS callee ORDER BY callee DESC, n.name LIMIT 2\0{\"name\":\"parse\"}",
        "MATCH (n)<-[:CALLS]-(n) RETURN count(*) /* @commit: c1 */",
        "MATCH (n:Function) RETURN n.label AS l, count(*) AS c ORDER BY c LIMIT 0",
    ];
    let mut seeds: Vec<Vec<u8>> = made.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    for case in all_cases(top) {
        for step in case["steps"].as_array().into_iter().flatten() {
            let input = &step["args"]["input"];
            let Some(query) = input["query"].as_str() else { continue };
            let params = input.get("params").cloned().unwrap_or_else(|| json!({}));
            seeds.push(format!("{query}\0{params}").into_bytes());
        }
    }
    short(seeds)
}

//! The in-memory graph: its subset of Cypher, views of commits, and what it refuses.

use std::collections::BTreeMap;

use proofmark_fakes::host::{Host, Response};
use proofmark_fakes_sage::KINDS;
use proofmark_fakes_sage::graph::MemoryGraph;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Map, Value, json};

/// A function that comes and goes, a file that is renamed, and a name that invites misreading.
fn script() -> Value {
    json!({
        "commits": ["c1", "c2", "c3"],
        "nodes": [
            {"id": "f2", "label": "File", "properties": {"name": "b.ts", "size": 2.0}, "first_seen": 2},
            {"id": "f1", "label": "File", "properties": {"name": "a.ts", "size": 2}, "first_seen": 1, "last_seen": 1},
            {"id": "g", "label": "Function", "properties": {"name": "gone"}, "first_seen": "c1", "last_seen": "c2"},
            {"id": "h", "label": "Function", "properties": {"name": "O'Neil", "async": true}, "first_seen": 1},
            {"id": "k", "label": "Function", "properties": {"name": "' OR n.name <> '", "rank": -3}, "first_seen": 1},
        ],
        "edges": [
            {"from": "f2", "to": "k", "kind": "DEFINES_FUNCTION"},
            {"from": "f2", "to": "h", "kind": "DEFINES_FUNCTION", "first_seen": 3},
            {"from": "f1", "to": "g", "kind": "DEFINES_FUNCTION"},
            {"from": "h", "to": "h", "kind": "CALLS"},
            {"from": "k", "to": "h", "kind": "CALLS", "last_seen": 2},
            {"from": "k", "to": "g", "kind": "CALLS"},
        ],
    })
}

fn graph() -> MemoryGraph {
    MemoryGraph::from_script(&script()).expect("a good script")
}

#[track_caller]
fn check(query: &str, params: Value, commit: Option<&str>, expect: Value) {
    let Value::Object(params) = params else { panic!("params are an object") };
    let rows = graph().query(query, &params, commit).map_err(|error| error.to_json());
    assert_eq!(rows.map(Value::Array), Ok(expect), "query: {query}");
}

#[rstest]
#[case::label("MATCH (n:File) RETURN n.name", json!([{"n.name": "b.ts"}]))]
#[case::order_given("MATCH (n:Function) RETURN n.id", json!([{"n.id": "h"}, {"n.id": "k"}]))]
#[case::no_label("MATCH (n) RETURN n.id", json!([{"n.id": "f2"}, {"n.id": "h"}, {"n.id": "k"}]))]
#[case::text("MATCH (n:Function {name: 'O\\'Neil'}) RETURN n.id", json!([{"n.id": "h"}]))]
#[case::double_quotes("MATCH (n:Function {name: \"O'Neil\"}) RETURN n.id", json!([{"n.id": "h"}]))]
#[case::truth("MATCH (n {async: true}) RETURN n.id", json!([{"n.id": "h"}]))]
#[case::negative("MATCH (n {rank: -3}) RETURN n.id", json!([{"n.id": "k"}]))]
#[case::negative_where("MATCH (n) WHERE n.rank=-3 RETURN n.id", json!([{"n.id": "k"}]))]
#[case::numbers_are_equal("MATCH (n {size: 2}) RETURN n.id", json!([{"n.id": "f2"}]))]
#[case::kinds_are_not("MATCH (n {size: '2'}) RETURN n.id", json!([]))]
#[case::two_keys("MATCH (n {rank: -3, async: true}) RETURN n.id", json!([]))]
#[case::no_keys("MATCH (n:File {}) RETURN n.id", json!([{"n.id": "f2"}]))]
#[case::where_and("MATCH (n) WHERE n.id <> 'h' AND n.id <> 'k' RETURN n.id", json!([{"n.id": "f2"}]))]
#[case::absent_is_neither("MATCH (n) WHERE n.rank <> 7 RETURN n.id", json!([{"n.id": "k"}]))]
#[case::null_equals_nothing("MATCH (n) WHERE n.rank = null RETURN n.id", json!([]))]
#[case::nor_differs("MATCH (n) WHERE n.rank <> null RETURN n.id", json!([]))]
#[case::absent_is_null("MATCH (n:File) RETURN n.rank, n.name AS file", json!([{"n.rank": null, "file": "b.ts"}]))]
#[case::seen("MATCH (n:File) RETURN n.first_seen, n.last_seen", json!([{"n.first_seen": 2, "n.last_seen": 3}]))]
#[case::unknown_label("MATCH (n:Nothing) RETURN n.name", json!([]))]
#[case::unknown_kind("MATCH (n)-[:NOTHING]->(m) RETURN n.id", json!([]))]
#[case::small_letters("match (n:File) where n.name = 'b.ts' return n.name as N order by N limit 1;", json!([{"N": "b.ts"}]))]
#[case::labels_are_exact("MATCH (n:file) RETURN n.name", json!([]))]
#[case::comments("MATCH (n:File) // the files\n/* all of them */ RETURN n.id", json!([{"n.id": "f2"}]))]
#[case::no_space("MATCH(n:File{name:'b.ts'})RETURN n.id", json!([{"n.id": "f2"}]))]
#[case::edge("MATCH (n:File)-[:DEFINES_FUNCTION]->(m:Function) RETURN n.name, m.id",
    json!([{"n.name": "b.ts", "m.id": "h"}, {"n.name": "b.ts", "m.id": "k"}]))]
#[case::edge_backwards("MATCH (m)<-[:DEFINES_FUNCTION]-(n:File) RETURN m.id, n.id",
    json!([{"m.id": "h", "n.id": "f2"}, {"m.id": "k", "n.id": "f2"}]))]
#[case::edge_with_keys("MATCH (n {name: 'b.ts'})-[:DEFINES_FUNCTION]->(m {async: true}) RETURN m.id", json!([{"m.id": "h"}]))]
#[case::edge_where("MATCH (n)-[:DEFINES_FUNCTION]->(m) WHERE n.id = 'f2' AND m.id <> 'h' RETURN m.id", json!([{"m.id": "k"}]))]
#[case::nameless_end("MATCH (n)-[:DEFINES_FUNCTION]->(:Function {async: true}) RETURN n.id", json!([{"n.id": "f2"}]))]
#[case::loops("MATCH (n)-[:CALLS]->(n) RETURN n.id", json!([{"n.id": "h"}]))]
#[case::both_ends_must_be_there("MATCH (n)-[:CALLS]->(m) RETURN n.id, m.id", json!([{"n.id": "h", "m.id": "h"}]))]
#[case::descending("MATCH (n) RETURN n.id ORDER BY n.id DESC", json!([{"n.id": "k"}, {"n.id": "h"}, {"n.id": "f2"}]))]
#[case::by_what_is_not_returned("MATCH (n) RETURN n.id ORDER BY n.name", json!([{"n.id": "k"}, {"n.id": "h"}, {"n.id": "f2"}]))]
#[case::absent_is_last("MATCH (n) RETURN n.id ORDER BY n.rank ASC, n.id", json!([{"n.id": "k"}, {"n.id": "f2"}, {"n.id": "h"}]))]
#[case::or_first("MATCH (n) RETURN n.id ORDER BY n.rank DESC, n.id DESC", json!([{"n.id": "h"}, {"n.id": "f2"}, {"n.id": "k"}]))]
#[case::limit("MATCH (n) RETURN n.id LIMIT 2", json!([{"n.id": "f2"}, {"n.id": "h"}]))]
#[case::limit_none("MATCH (n) RETURN n.id LIMIT 0", json!([]))]
#[case::limit_after_order("MATCH (n) RETURN n.id ORDER BY n.id DESC LIMIT 1", json!([{"n.id": "k"}]))]
#[case::count("MATCH (n) RETURN count(*)", json!([{"count(*)": 3}]))]
#[case::count_of_nothing("MATCH (n:Nothing) RETURN count(*) AS many", json!([{"many": 0}]))]
#[case::count_by("MATCH (n:File)-[:DEFINES_FUNCTION]->(m) RETURN n.name, COUNT(*) AS many", json!([{"n.name": "b.ts", "many": 2}]))]
#[case::no_groups("MATCH (n:Nothing) RETURN n.name, count(*)", json!([]))]
#[case::count_order("MATCH (n) RETURN n.size, count(*) ORDER BY count(*) DESC", json!([{"n.size": null, "count(*)": 2}, {"n.size": 2.0, "count(*)": 1}]))]
fn rows_at_the_last_commit(#[case] query: &str, #[case] expect: Value) {
    check(query, json!({}), None, expect);
}

#[rstest]
#[case::first(Some("c1"), "", json!(["f1", "g", "h", "k"]))]
#[case::second(Some("c2"), "", json!(["f2", "g", "h", "k"]))]
#[case::last(None, "", json!(["f2", "h", "k"]))]
#[case::hint(None, "/* @commit: c1 */", json!(["f1", "g", "h", "k"]))]
#[case::tight_hint(None, "/*@commit:c1*/", json!(["f1", "g", "h", "k"]))]
#[case::option_wins(Some("c3"), "/* @commit: c1 */", json!(["f2", "h", "k"]))]
#[case::unknown(Some("c9"), "", json!([]))]
#[case::unknown_hint(None, "/* @commit: c9 */", json!([]))]
#[case::known_over_unknown(Some("c3"), "/* @commit: c9 */", json!(["f2", "h", "k"]))]
#[case::unknown_over_known(Some(""), "/* @commit: c1 */", json!([]))]
#[case::said_twice(None, "/* @commit: c1 */ /* @commit: c1 */", json!(["f1", "g", "h", "k"]))]
fn rows_at_any_commit(#[case] commit: Option<&str>, #[case] hint: &str, #[case] ids: Value) {
    let rows: Vec<_> = ids.as_array().unwrap().iter().map(|id| json!({"id": id})).collect();
    check(&format!("{hint} MATCH (n) RETURN n.id AS id"), json!({}), commit, json!(rows));
    check(&format!("MATCH (n) RETURN n.id AS id {hint}"), json!({}), commit, json!(rows));
}

#[test]
fn a_hint_in_a_text_is_no_hint_and_an_unknown_commit_has_no_count() {
    check(
        "MATCH (n {name: '/* @commit: c1 */'}) RETURN count(*)",
        json!({}),
        None,
        json!([{"count(*)": 0}]),
    );
    check("MATCH (n) RETURN count(*)", json!({}), Some("c9"), json!([]));
}

/// A parameter is compared as a value, whatever it looks like.
#[rstest]
#[case(json!("O'Neil"), json!([{"n.id": "h"}]))]
#[case(json!("' OR n.name <> '"), json!([{"n.id": "k"}]))]
#[case(json!("O'Neil'}) RETURN n.id //"), json!([]))]
#[case(json!("x') /* @commit: c1 */ RETURN n.id"), json!([]))]
#[case(json!("$other"), json!([]))]
#[case(json!(null), json!([]))]
#[case(json!({"$ne": null}), json!([]))]
#[case(json!([]), json!([]))]
fn parameters_are_never_parsed(#[case] value: Value, #[case] expect: Value) {
    let params = json!({"p": value, "other": "O'Neil"});
    check("MATCH (n:Function {name: $p}) RETURN n.id", params.clone(), None, expect.clone());
    check("MATCH (n:Function) WHERE n.name = $p RETURN n.id", params, None, expect);
}

#[test]
fn rows_come_by_the_first_node_and_then_by_the_second() {
    let expect =
        json!([{"n.id": "h", "m.id": "h"}, {"n.id": "k", "m.id": "g"}, {"n.id": "k", "m.id": "h"}]);
    check("MATCH (n)-[:CALLS]->(m) RETURN n.id, m.id", json!({}), Some("c2"), expect);
}

#[test]
fn a_limit_can_be_a_parameter() {
    check("MATCH (n) RETURN n.id LIMIT $most", json!({"most": 1}), None, json!([{"n.id": "f2"}]));
}

#[rstest]
#[case("", "the query ends where MATCH should be")]
#[case("CREATE (n:File)", "`CREATE` stands where MATCH should be")]
#[case("MATCH (n:File) DELETE n", "`DELETE` stands where RETURN should be")]
#[case("MATCH (n:File) RETURN n", "`n` alone is not supported; name a key, as in `n.name`")]
#[case("MATCH (n:File) RETURN m.name", "`m` is not a variable of MATCH; it has n")]
#[case("MATCH (:File) RETURN m.name", "it has none")]
#[case("MATCH (n:File) RETURN *", "`*` stands where a variable should be")]
#[case("MATCH (n)-[:A]->(m)-[:B]->(k) RETURN n.id", "`-` stands where RETURN should be")]
#[case("MATCH (n)-[r:A]->(m) RETURN n.id", "`r` stands where `:` should be")]
#[case("MATCH (n)-[:A]-(m) RETURN n.id", "`-` stands where `->` should be")]
#[case("MATCH (n)-->(m) RETURN n.id", "`->` stands where `[` should be")]
#[case("MATCH (n)-[:A*]->(m) RETURN n.id", "`*` stands where `]` should be")]
#[case("MATCH (n:A:B) RETURN n.id", "`:` stands where `)` should be")]
#[case("MATCH (n), (m) RETURN n.id", "`,` stands where RETURN should be")]
#[case("MATCH (n {name: m.name}) RETURN n.id", "`m` stands where a value should be")]
#[case("MATCH (n) WHERE n.a > 1 RETURN n.id", "`>` is not understood")]
#[case("MATCH (n) WHERE n.a < 1 RETURN n.id", "`<` is not understood")]
#[case("MATCH (n) WHERE n.a = 1 OR n.a = 2 RETURN n.id", "`OR` stands where RETURN should be")]
#[case("MATCH (n) WHERE NOT n.a = 1 RETURN n.id", "`NOT` is not a variable of MATCH")]
#[case("MATCH (n) WHERE n.a IN [1] RETURN n.id", "`IN` stands where `=` or `<>` should be")]
#[case("MATCH (n) RETURN DISTINCT n.id", "`DISTINCT` is not a variable")]
#[case("MATCH (n) RETURN count(n)", "`n` stands where `*` should be")]
#[case("MATCH (n) RETURN n.id, n.id", "two columns are named `n.id`; rename one with AS")]
#[case("MATCH (n) RETURN n.id AS x, n.name AS x", "two columns are named `x`")]
#[case("MATCH (n) RETURN n.id ORDER n.id", "`n` stands where BY should be")]
#[case("MATCH (n) RETURN n.id ORDER BY x", "there is no column `x`")]
#[case("MATCH (n) RETURN n.id ORDER BY count(*)", "ORDER BY `count(*)` needs it in RETURN")]
#[case("MATCH (n) RETURN count(*) ORDER BY n.id", "ORDER BY `n.id` needs it in RETURN")]
#[case("MATCH (n) RETURN n.id LIMIT 1.5", "LIMIT takes a whole number of at least 0, not 1.5")]
#[case("MATCH (n) RETURN n.id LIMIT 'x'", "LIMIT takes a whole number")]
#[case("MATCH (n) RETURN n.id SKIP 1", "`SKIP` is not supported at the end")]
#[case("MATCH (n) RETURN n.id; MATCH (n) RETURN n.id", "`;` is not understood")]
#[case("MATCH (n {name: 'a) RETURN n.id", "a text is never closed")]
#[case("MATCH (n {name: 'a\\q'}) RETURN n.id", "`\\q` in a text is not understood")]
#[case("MATCH (n {name: 'a\\", "a text is never closed")]
#[case("MATCH (n {a: 1x}) RETURN n.id", "`1x` is not a number")]
#[case("MATCH (n {a: 01}) RETURN n.id", "`01` is not a number")]
#[case("MATCH (n {a: $}) RETURN n.id", "`$` needs the name of a parameter")]
#[case("MATCH (n) /* RETURN n.id", "a comment `/*` is never closed")]
#[case("/* @commit: a */ /* @commit: b */ MATCH (n) RETURN n.id", "it names two commits")]
#[case("MATCH (ñ) RETURN ñ.id", "`ñ` is not understood")]
#[case("MATCH (n) RETURN n.", "the query ends where a key should be")]
fn unsupported_queries_are_refused(#[case] query: &str, #[case] expect: &str) {
    let error = graph().query(query, &Map::new(), None).unwrap_err().to_json();
    assert_eq!(
        (&error["code"], &error["details"][0]["field"]),
        (&json!("EVALIDATION"), &json!("query"))
    );
    let reason = error["details"][0]["reason"].as_str().unwrap();
    assert!(reason.contains(expect), "{reason}");
    assert!(error["details"][0]["expected"].as_str().unwrap().contains("MATCH (n:Label"));
}

#[test]
fn a_missing_parameter_is_refused() {
    let error = graph().query("MATCH (n {a: $p}) RETURN n.id", &Map::new(), None).unwrap_err();
    let detail = &error.properties()["details"][0];
    assert_eq!((error.code(), &detail["field"]), ("EVALIDATION", &json!("params")));
    assert_eq!(detail["reason"], "the query uses `$p`, which is missing");
}

fn host(script: Value) -> Host {
    Host::new(&BTreeMap::from([("graph".to_owned(), script)]), KINDS).expect("a good script")
}

#[test]
fn the_first_calls_fail_as_scripted() {
    let mut script = script();
    script["faults"] = json!([{"code": "EIO", "message": "down", "operation": "connect"}, {"code": "X", "message": "y"}]);
    let mut host = host(script);
    let mut codes = Vec::new();
    for query in ["MATCH (n) RETURN n.id LIMIT 1", "no query", "MATCH (n) RETURN n.id LIMIT 1"] {
        let args = json!({"query": query, "params": null, "commit": null});
        match host.call(0, "graph", "query", &args) {
            Ok(Response::Now { reply, recorded: true }) => {
                codes.push(reply.map_err(|it| it["code"].clone()))
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(codes, [Err(json!("EIO")), Err(json!("X")), Ok(json!([{"n.id": "f2"}]))]);
}

#[rstest]
#[case("ask", json!({}), "no method `ask`; it has `query`")]
#[case("query", json!({}), "a string `query`, which is missing")]
#[case("query", json!({"query": 1}), "a string `query`, not 1")]
#[case("query", json!({"query": "", "params": []}), "takes an object `params`, not []")]
#[case("query", json!({"query": "", "commit": 1}), "a string `commit`, not 1")]
#[case("query", json!({"query": "", "x": 1}), "takes an object with `query`, `params` and `commit`")]
fn wrong_calls_are_refused(#[case] method: &str, #[case] args: Value, #[case] expect: &str) {
    let found = host(json!({})).call(0, "graph", method, &args).unwrap_err();
    assert!(found.contains(expect), "{found}");
}

#[rstest]
#[case(json!({"comits": []}), "`graph` has no member `comits`")]
#[case(json!({"commits": [1]}), "`commits[0]` must be a string")]
#[case(json!({"commits": ["a", "a"]}), "`commits[1]`: the commit `a` occurs twice")]
#[case(json!({"nodes": [{"id": "n", "label": "L", "first_seen": 1}]}), "`nodes[0].first_seen` must be one of the 0 `commits`")]
#[case(json!({"commits": ["a"], "nodes": [{"id": "n", "label": "L"}]}), "`nodes[0].first_seen` is missing")]
#[case(json!({"commits": ["a"], "nodes": [{"id": "n", "label": "L", "first_seen": 0}]}), "counted from 1")]
#[case(json!({"commits": ["a"], "nodes": [{"id": "n", "label": "L", "first_seen": "b"}]}), "not \"b\"")]
#[case(json!({"commits": ["a", "b"], "nodes": [{"id": "n", "label": "L", "first_seen": 2, "last_seen": 1}]}), "`nodes[0].last_seen` is before `first_seen`")]
#[case(json!({"commits": ["a"], "nodes": [{"label": "L", "first_seen": 1}]}), "`nodes[0].id` is missing")]
#[case(json!({"commits": ["a"], "nodes": [{"id": "n", "first_seen": 1}]}), "`nodes[0].label` is missing")]
#[case(json!({"commits": ["a"], "nodes": [{"id": "n", "label": "L", "properties": [], "first_seen": 1}]}), "properties` must be an object")]
#[case(json!({"commits": ["a"], "nodes": [{"id": "n", "label": "L", "first_seen": 1}, {"id": "n", "label": "L", "first_seen": 1}]}), "`nodes[1].id`: the node `n` occurs twice")]
#[case(json!({"edges": [{"from": "a", "to": "b", "kind": "K"}]}), "`edges[0].from`: there is no node `a`")]
#[case(json!({"faults": [{"code": "X"}]}), "`faults[0].message` is missing")]
fn wrong_scripts_are_refused(#[case] script: Value, #[case] expect: &str) {
    let found = Host::check("graph", &script, KINDS).unwrap_err();
    assert!(found.contains(expect), "{found}");
}

#[test]
fn an_empty_graph_finds_nothing() {
    let graph = MemoryGraph::from_script(&json!({})).unwrap();
    assert_eq!(graph.query("MATCH (n) RETURN n.id", &Map::new(), None), Ok(vec![]));
}

/// A small graph: labels A and B, keys `x` and `y` with values 0 to 2 or none, kinds K and L.
#[derive(Debug, Clone)]
struct Small {
    nodes: Vec<SmallNode>,
    edges: Vec<SmallEdge>,
}

/// Label, `x`, `y`, first and last commit.
type SmallNode = (&'static str, Option<i64>, Option<i64>, usize, usize);

/// From, to, kind, first and last commit.
type SmallEdge = (usize, usize, &'static str, usize, usize);

const COMMITS: usize = 3;

fn seen() -> impl Strategy<Value = (usize, usize)> {
    (1..=COMMITS, 1..=COMMITS).prop_map(|(one, other)| (one.min(other), one.max(other)))
}

fn small() -> impl Strategy<Value = Small> {
    let value = || prop::option::of(0_i64..3);
    let node = (prop_oneof![Just("A"), Just("B")], value(), value(), seen())
        .prop_map(|(label, x, y, (first, last))| (label, x, y, first, last));
    let edge = (0..6_usize, 0..6_usize, prop_oneof![Just("K"), Just("L")], seen())
        .prop_map(|(from, to, kind, (first, last))| (from, to, kind, first, last));
    (prop::collection::vec(node, 6), prop::collection::vec(edge, 0..12))
        .prop_map(|(nodes, edges)| Small { nodes, edges })
}

impl Small {
    fn script(&self) -> Value {
        let nodes: Vec<_> = self.nodes.iter().enumerate().map(|(at, (label, x, y, first, last))| {
            let mut properties = Map::new();
            properties.extend(x.map(|x| ("x".to_owned(), json!(x))));
            properties.extend(y.map(|y| ("y".to_owned(), json!(y))));
            json!({"id": at.to_string(), "label": label, "properties": properties, "first_seen": first, "last_seen": last})
        }).collect();
        let edges: Vec<_> = self.edges.iter().map(|(from, to, kind, first, last)| {
            json!({"from": from.to_string(), "to": to.to_string(), "kind": kind, "first_seen": first, "last_seen": last})
        }).collect();
        json!({"commits": ["c1", "c2", "c3"], "nodes": nodes, "edges": edges})
    }

    fn node_at(&self, at: usize, commit: usize) -> bool {
        self.nodes[at].3 <= commit && commit <= self.nodes[at].4
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Compared with a scan of every pair of nodes and every edge.
    #[test]
    fn an_edge_query_equals_a_full_scan(
        small in small(), commit in 1..=COMMITS, label in prop_oneof![Just("A"), Just("B")],
        kind in prop_oneof![Just("K"), Just("L")], x in 0_i64..3, y in 0_i64..3, forward: bool,
        limit in 0_usize..8,
    ) {
        let arrow = if forward { format!("-[:{kind}]->") } else { format!("<-[:{kind}]-") };
        let query = format!(
            "MATCH (n:{label} {{x: $x}}){arrow}(m) WHERE m.y <> {y} RETURN n.id AS n, m.id AS m LIMIT {limit}");
        let mut expect = Vec::new();
        for n in 0..6 {
            for m in 0..6 {
                for (from, to, is, first, last) in &small.edges {
                    let ends = if forward { (*from, *to) } else { (*to, *from) };
                    let there = ends == (n, m) && is == &kind && (*first..=*last).contains(&commit)
                        && small.node_at(n, commit) && small.node_at(m, commit);
                    let right = small.nodes[n].0 == label && small.nodes[n].1 == Some(x)
                        && small.nodes[m].2.is_some_and(|it| it != y);
                    if there && right {
                        expect.push(json!({"n": n.to_string(), "m": m.to_string()}));
                    }
                }
            }
        }
        expect.truncate(limit);
        let graph = MemoryGraph::from_script(&small.script()).unwrap();
        let params = Map::from_iter([("x".to_owned(), json!(x))]);
        prop_assert_eq!(graph.query(&query, &params, Some(&format!("c{commit}"))), Ok(expect));
    }

    #[test]
    fn order_and_counts_equal_those_of_a_list(small in small(), commit in 1..=COMMITS) {
        let graph = MemoryGraph::from_script(&small.script()).unwrap();
        let hint = format!("/* @commit: c{commit} */");
        let there: Vec<usize> = (0..6).filter(|at| small.node_at(*at, commit)).collect();

        let mut sorted = there.clone();
        let key = |at: &usize| (small.nodes[*at].1.is_none(), small.nodes[*at].1);
        sorted.sort_by(|one, other| key(one).cmp(&key(other)).then(other.cmp(one)));
        let expect: Vec<_> = sorted.iter().map(|at| json!({"n.id": at.to_string()})).collect();
        let rows = graph.query(&format!("{hint} MATCH (n) RETURN n.id ORDER BY n.x, n.id DESC"), &Map::new(), None);
        prop_assert_eq!(rows, Ok(expect));

        let mut counts: Vec<(Option<i64>, u64)> = Vec::new();
        for at in &there {
            let y = small.nodes[*at].2;
            match counts.iter_mut().find(|(known, _)| *known == y) {
                Some((_, count)) => *count += 1,
                None => counts.push((y, 1)),
            }
        }
        let expect: Vec<_> = counts.iter().map(|(y, count)| json!({"n.y": y, "many": count})).collect();
        let rows = graph.query(&format!("{hint} MATCH (n) RETURN n.y, count(*) AS many"), &Map::new(), None);
        prop_assert_eq!(rows, Ok(expect));
    }

    #[test]
    fn no_query_makes_it_panic(text in "\\PC{0,40}", at in 0_usize..60) {
        let query = "MATCH (n:File {a: 'x'})-[:K]->(m) WHERE n.a <> -1 RETURN n.a AS b, count(*) ORDER BY b LIMIT 3";
        let (head, tail) = query.split_at(at);
        for query in [text.clone(), format!("{head}{text}{tail}"), format!("{head}{text}")] {
            match graph().query(&query, &Map::new(), None) {
                Ok(_) => {}
                Err(error) => prop_assert_eq!(error.code(), "EVALIDATION"),
            }
        }
    }
}

#[tokio::test]
async fn the_trait_gives_the_same_rows() {
    let graph: &dyn sage_tools::Graph = &graph();
    let query = "MATCH (n:File {name: $name}) RETURN n.id";
    let params = json!({"name": "a.ts"});
    let rows = graph.query(query, Some(&params), Some("c1")).await;
    assert_eq!(rows, Ok(vec![json!({"n.id": "f1"})]));
    assert_eq!(graph.query(query, Some(&params), None).await, Ok(vec![]));
    for params in [None, Some(&json!([]))] {
        let error = graph.query(query, params, None).await.unwrap_err();
        assert_eq!(error.properties()["details"][0]["field"], "params");
    }
}

//! The schemas for editors list exactly the members that the readers accept.

use std::collections::BTreeSet;

use rstest::rstest;
use serde_json::Value;

use crate::common::{FIXTURE, LEDGER, changed, problems};

const FIXTURES: &str = include_str!("../../schemas/fixture.schema.json");
const LEDGERS: &str = include_str!("../../schemas/ledger.schema.json");

/// A reader refuses an unknown member and lists those that it knows.
#[rstest]
#[case::fixture(FIXTURES, "", FIXTURE, r#""topic": "read","#, r#""topic": "read", "x": 1,"#, &[])]
#[case::case(FIXTURES, "/$defs/case", FIXTURE, r#""given": {}"#, r#""x": 1"#, &[])]
#[case::given(FIXTURES, "/$defs/given", FIXTURE, r#""given": {}"#, r#""given": {"x": 1}"#, &[])]
#[case::step(FIXTURES, "/$defs/call", FIXTURE, r#""args": {},"#, r#""x": {},"#, &["together", "kill", "files", "leaves"])]
#[case::ledger(LEDGERS, "", LEDGER, "title = ", "x = 1\ntitle = ", &[])]
#[case::requirement(LEDGERS, "/$defs/requirement", LEDGER, "level = ", "x = 1\nlevel = ", &[])]
fn a_schema_lists_the_members_that_the_reader_accepts(
    #[case] schema: &str,
    #[case] at: &str,
    #[case] file: &str,
    #[case] old: &str,
    #[case] new: &str,
    #[case] elsewhere: &[&str],
) {
    let found = problems(changed(file, old, new));
    let (_, listed) = found.split_once(", expected one of ").expect("the reader lists its members");
    let known: BTreeSet<&str> = listed.split('`').skip(1).step_by(2).collect();
    let schema: Value = serde_json::from_str(schema).expect("a schema is JSON");
    let properties = schema.pointer(&format!("{at}/properties")).and_then(Value::as_object);
    let properties = properties.expect("the schema has properties there").keys();
    let named: BTreeSet<&str> =
        properties.map(String::as_str).chain(elsewhere.iter().copied()).collect();
    assert_eq!(named, known);
}

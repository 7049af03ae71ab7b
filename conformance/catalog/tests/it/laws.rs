//! Laws make valid cases, and the same cases from the same seed.

use std::collections::BTreeMap;

use proofmark_judge::Suite;
use proofmark_judge::case::{Case, CaseKind};
use proofmark_judge::law::{Law, LawOptions};
use proofmark_suite::SuiteFiles;
use serde_json::{Value, json};

fn laws(suite: &Suite) -> Vec<&'static Law> {
    let law = |case: &Case| match case.kind {
        CaseKind::Law(law) => Some(law),
        CaseKind::Fixture | CaseKind::Scenario => None,
    };
    suite.cases.iter().filter_map(law).collect()
}

fn embedded() -> Suite {
    proofmark_catalog::load(&proofmark_catalog::files()).expect("the embedded suite is sound")
}

/// A case's setup and steps, for comparison.
fn described(case: &Case) -> String {
    format!("{} {:?} {:?}", case.name, case.given, case.steps)
}

#[test]
fn every_law_makes_cases_that_the_lint_accepts() {
    let suite = embedded();
    let laws = laws(&suite);
    let listed = proofmark_catalog::rooms().map(|room| room.laws.len()).sum::<usize>();
    assert_eq!(laws.len(), listed, "a law names an operation or a requirement that no ledger has");
    let mut found: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for law in laws {
        let examples = law.examples(LawOptions { cases: 50, ..LawOptions::default() });
        assert_eq!(examples.map(|examples| examples.len()), Ok(50), "{}", law.name);
        let mut saved = law.fixtures(LawOptions { cases: 1, ..LawOptions::default() });
        found.entry(law.contract).or_default().push(saved[0]["cases"][0].take());
    }
    // As if an author had saved one of each.
    let mut files: Vec<(String, String)> = proofmark_catalog::files()
        .iter()
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .collect();
    for (contract, cases) in found {
        let file = json!({ "contract": contract, "topic": "found", "cases": cases });
        files.push((format!("fixtures/{contract}/found.json"), file.to_string()));
    }
    if let Err(problems) = proofmark_catalog::load(&SuiteFiles::from_pairs(files)) {
        panic!("{problems:#?}");
    }
}

#[test]
fn the_same_seed_makes_the_same_cases_and_another_makes_others() {
    for law in laws(&embedded()) {
        let made = |seed| {
            let options = LawOptions { seed, cases: 10, ..LawOptions::default() };
            law.examples(options)
                .expect("they can be read")
                .iter()
                .map(described)
                .collect::<Vec<_>>()
        };
        assert_eq!(made(7), made(7), "{}", law.name);
        assert_ne!(made(7), made(8), "{}", law.name);
    }
}

#[test]
fn a_larger_count_extends_the_same_cases() {
    for law in laws(&embedded()) {
        let made = |cases| {
            law.examples(LawOptions { cases, ..LawOptions::default() }).expect("they can be read")
        };
        let (few, many) = (made(3), made(9));
        let all = |cases: &[Case]| cases.iter().map(described).collect::<Vec<_>>();
        assert_eq!(all(&few), all(&many[..3]), "{}", law.name);
    }
}

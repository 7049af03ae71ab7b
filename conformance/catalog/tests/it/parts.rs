//! A part of the built-in suite is what the whole has of it.

use std::collections::BTreeMap;

use proofmark_catalog::{files, load, load_part};

#[test]
fn a_part_has_every_ledger_and_the_cases_of_its_contracts() {
    let whole = load(&files()).unwrap();
    let mut by_contract: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for case in &whole.cases {
        by_contract.entry(&case.contract).or_default().push(format!("{case:?}"));
    }
    let ids = whole.ids();
    for wanted in [&ids[..1], &ids[1..3], &ids[2..], &[]] {
        let part = load_part(wanted).unwrap();
        assert_eq!(part.digest, whole.digest);
        assert_eq!(format!("{:?}", part.contracts), format!("{:?}", whole.contracts));
        let cases: Vec<String> = part.cases.iter().map(|case| format!("{case:?}")).collect();
        let of_whole: Vec<&String> =
            wanted.iter().flat_map(|id| &by_contract[id.as_str()]).collect();
        assert_eq!(cases.iter().collect::<Vec<_>>(), of_whole, "{wanted:?}");
        assert!(part.is_part);
    }
    assert!(!load_part(&ids).unwrap().is_part);
}

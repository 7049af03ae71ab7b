//! Selection of cases, and lookup of one case.

use proofmark_judge::Suite;
use proofmark_judge::select::Selection;
use rstest::rstest;

use crate::common::{load, sound};

/// Two contracts that both have a case `read/back`, one with a former name.
fn suite() -> Suite {
    let mut files = sound();
    for (path, text) in sound() {
        let text = text.replace("demo", "other").replace("DEMO", "OTHER").replace(
            "\"id\": \"read/back\"",
            "\"id\": \"read/back\", \"aliases\": [\"write/forth\"]",
        );
        files.push((path.replace("demo", "other"), text.replace("story/back", "story/deep/down")));
    }
    load(files)
}

fn selection(contracts: &[&str], cases: &[&str], requirements: &[&str]) -> Selection {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Selection {
        contracts: owned(contracts),
        cases: owned(cases),
        requirements: owned(requirements),
        ..Selection::default()
    }
}

const ALL: &[&str] =
    &["demo/read/back", "demo/story/back", "other/read/back", "other/story/deep/down"];

#[rstest]
#[case::everything(&[], &[], &[], ALL)]
#[case::a_contract(&["demo"], &[], &[], &ALL[..2])]
#[case::a_requirement(&[], &[], &["OTHER-001"], &ALL[2..])]
#[case::whole_name(&[], &["demo/read/back"], &[], &ALL[..1])]
#[case::id(&[], &["read/back"], &[], &["demo/read/back", "other/read/back"])]
#[case::former_name(&[], &["other/write/forth"], &[], &["other/read/back"])]
#[case::glob_of_a_former_name(&[], &["*/write/*"], &[], &["other/read/back"])]
#[case::star_stops_at_a_slash(&[], &["*/story/*"], &[], &["demo/story/back"])]
#[case::star_in_an_id(&[], &["story/*"], &[], &["demo/story/back"])]
#[case::two_stars_cross(&[], &["other/**"], &[], &ALL[2..])]
#[case::two_stars_in_the_middle(&[], &["**/down"], &[], &["other/story/deep/down"])]
#[case::question_mark(&[], &["demo/?ead/back"], &[], &ALL[..1])]
#[case::either(&[], &["demo/{read,story}/*"], &[], &ALL[..2])]
#[case::several_globs_add_up(&[], &["demo/read/*", "other/read/*"], &[], &["demo/read/back", "other/read/back"])]
#[case::filters_narrow(&["other"], &["**/read/back", "read/back"], &["OTHER-001"], &["other/read/back"])]
fn selected(
    #[case] contracts: &[&str],
    #[case] cases: &[&str],
    #[case] requirements: &[&str],
    #[case] expected: &[&str],
) {
    let suite = suite();
    let found = selection(contracts, cases, requirements).of(&suite).unwrap();
    assert_eq!(found.iter().map(|case| case.name.as_str()).collect::<Vec<_>>(), expected);
}

#[rstest]
#[case::contract(&["demi"], &[], &[], "unknown contract `demi` (did you mean `demo`?); `proofmark list contracts` shows all")]
#[case::contract_far_off(&["demo", "sage.utils"], &[], &[], "unknown contract `sage.utils`; `proofmark list contracts` shows all")]
#[case::requirement(&[], &[], &["DEMO-002"], "unknown requirement `DEMO-002` (did you mean `DEMO-001`?); `proofmark list requirements` shows all")]
#[case::case(&[], &["demo/raed/back"], &[], "no case matches `demo/raed/back` (did you mean `demo/read/back`?); `proofmark list cases` shows all")]
#[case::case_by_id(&[], &["read/bakc"], &[], "no case matches `read/bakc` (did you mean `read/back`?); `proofmark list cases` shows all")]
// Each glob must match something.
#[case::one_of_two_globs(&[], &["demo/**", "nowhere"], &[], "no case matches `nowhere`; `proofmark list cases` shows all")]
#[case::star_does_not_cross(&[], &["demo/*"], &[], "no case matches `demo/*` (`*` stops at `/`, `**` does not: `**/part-of-a-name*`); `proofmark list cases` shows all")]
#[case::a_requirement(&[], &["OTHER-001"], &[], "no case matches `OTHER-001` (`OTHER-001` is a requirement: `--requirement OTHER-001`); `proofmark list cases` shows all")]
#[case::no_glob(&[], &["demo/[a"], &[], "`demo/[a` is not a glob: error parsing glob 'demo/[a': unclosed character class; missing ']'")]
#[case::nothing_left(&["demo"], &[], &["OTHER-001"], "no case matches all filters; relax one of them")]
fn nothing_selected(
    #[case] contracts: &[&str],
    #[case] cases: &[&str],
    #[case] requirements: &[&str],
    #[case] message: &str,
) {
    let suite = suite();
    let fault = selection(contracts, cases, requirements).of(&suite).unwrap_err();
    assert_eq!(fault.to_string(), message);
}

#[rstest]
#[case::whole("demo/read/back", Some("demo/read/back"))]
#[case::former("other/write/forth", Some("other/read/back"))]
#[case::short("story/back", Some("demo/story/back"))]
#[case::short_but_ambiguous("read/back", None)]
#[case::a_part_is_no_name("back", None)]
#[case::a_glob_is_no_name("demo/read/*", None)]
fn one_case(#[case] name: &str, #[case] found: Option<&str>) {
    let suite = suite();
    assert_eq!(suite.case(name).map(|case| case.name.as_str()), found);
}

#[test]
fn the_cases_of_a_requirement() {
    let suite = suite();
    let showing: Vec<_> = suite.cases_showing("DEMO-001").map(|case| case.name.as_str()).collect();
    assert_eq!(showing, ["demo/read/back", "demo/story/back"]);
}

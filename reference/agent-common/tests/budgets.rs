//! Budgets of texts and lists, as laws and at their edges.

use agent_common::{Budget, Page, TextBudget, cut, cut_lines};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

#[rstest]
#[case("", 0, "")]
#[case("abc", 0, "")]
#[case("abc", 2, "ab")]
#[case("abc", 3, "abc")]
#[case("abc", u64::MAX, "abc")]
#[case("a\u{e4}b", 1, "a")]
#[case("a\u{e4}b", 2, "a")]
#[case("a\u{e4}b", 3, "a\u{e4}")]
#[case("\u{1f600}", 3, "")]
#[case("\u{1f600}", 4, "\u{1f600}")]
fn bytes_are_counted_and_characters_stay_whole(
    #[case] text: &str,
    #[case] most: u64,
    #[case] shown: &str,
) {
    assert_eq!(cut(text, most), shown);
}

#[rstest]
#[case("a\nb\nc", 0, "")]
#[case("a\nb\nc", 1, "a\n")]
#[case("a\nb\nc", 2, "a\nb\n")]
#[case("a\nb\nc", 3, "a\nb\nc")]
#[case("a\nb\n", 2, "a\nb\n")]
#[case("a\r\nb", 1, "a\r\n")]
#[case("\n\n\n", 2, "\n\n")]
#[case("a\rb", 1, "a\rb")]
#[case("", 1, "")]
#[case("a\nb", u64::MAX, "a\nb")]
fn lines_keep_their_ends(#[case] text: &str, #[case] most: u64, #[case] shown: &str) {
    assert_eq!(cut_lines(text, most), shown);
}

#[rstest]
#[case([None, None, None], "ab\ncd\n", None)]
#[case([Some(6), Some(6), Some(2)], "ab\ncd\n", None)]
#[case([Some(4), None, None], "ab\nc", Some((4, 4)))]
#[case([None, Some(4), None], "ab\nc", Some((4, 4)))]
#[case([None, None, Some(1)], "ab\n", Some((1, 1)))]
#[case([Some(5), Some(2), Some(1)], "ab", Some((2, 2)))]
#[case([Some(5), Some(4), Some(1)], "ab\n", Some((1, 1)))]
#[case([Some(3), None, Some(1)], "ab\n", Some((3, 3)))]
#[case([None, Some(3), Some(1)], "ab\n", Some((3, 3)))]
#[case([Some(0), None, None], "", Some((0, 0)))]
#[case([None, None, Some(0)], "", Some((0, 0)))]
fn the_shortest_wins_and_tells_its_knob(
    #[case] knobs: [Option<u64>; 3],
    #[case] shown: &str,
    #[case] budget: Option<(u64, u64)>,
) {
    let [max_chars, max_bytes, max_lines] = knobs;
    let budget = budget.map(|(used, limit)| Budget { used, limit });
    let knobs = TextBudget { max_chars, max_bytes, max_lines };
    assert_eq!(knobs.apply("ab\ncd\n"), (shown, budget));
}

#[test]
fn used_may_be_less_than_the_limit() {
    let budget = TextBudget { max_bytes: Some(2), ..TextBudget::default() };
    assert_eq!(budget.apply("a\u{e4}"), ("a", Some(Budget { used: 1, limit: 2 })));
    let budget = TextBudget { max_chars: Some(2), max_bytes: Some(1), ..TextBudget::default() };
    assert_eq!(budget.apply("a\u{e4}"), ("a", Some(Budget { used: 1, limit: 2 })));
}

fn page(limit: u64, offset: u64, max_chars: Option<u64>, items: &[Value]) -> Value {
    Value::Object(Page { limit, offset, max_chars }.of(items.iter(), Value::clone))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_cut_text_is_the_longest_beginning_that_fits(text in any::<String>(), most in 0..80_u64) {
        let shown = cut(&text, most);
        prop_assert!(text.starts_with(shown));
        prop_assert!(shown.len() as u64 <= most);
        if let Some(next) = text[shown.len()..].chars().next() {
            prop_assert!((shown.len() + next.len_utf8()) as u64 > most);
        }
    }

    #[test]
    fn cut_lines_are_the_first_lines(text in "[ab\u{e4}\r\n]{0,30}", most in 0..8_u64) {
        let lines: Vec<&str> = text.split_inclusive('\n').take(most as usize).collect();
        prop_assert_eq!(cut_lines(&text, most), lines.concat());
    }

    /// Leaving items out from the end until it fits, as the guide says it.
    #[test]
    fn pages_match_a_naive_implementation(
        texts in prop::collection::vec("[a\u{e4}\"\\\\\n\u{1}\u{7f}]{0,6}", 0..12),
        limit in 1..8_u64,
        offset in 0..14_u64,
        max_chars in prop::option::of(2..60_u64),
    ) {
        let all: Vec<Value> = texts.into_iter().map(Value::from).collect();
        let mut items: Vec<Value> =
            all.iter().skip(offset as usize).take(limit as usize).cloned().collect();
        let asked = items.len();
        let bytes = |items: &[Value]| serde_json::to_string(items).unwrap().len() as u64;
        while max_chars.is_some_and(|most| bytes(&items) > most) {
            items.pop();
        }
        let truncated = offset as usize + items.len() < all.len() && (offset as usize) < all.len();
        let mut expected =
            json!({"items": items, "total": all.len(), "truncated": truncated});
        if items.len() < asked {
            expected["budget"] = json!({"used": bytes(&items), "limit": max_chars});
        } else if truncated {
            expected["budget"] = json!({"used": items.len(), "limit": limit});
        }
        prop_assert_eq!(page(limit, offset, max_chars, &all), expected);
    }
}

#[test]
fn pages_at_their_edges() {
    let all = [json!("a"), json!("b"), json!("c")];
    let whole = json!({"items": ["a", "b", "c"], "total": 3, "truncated": false});
    assert_eq!(page(3, 0, None, &all), whole);
    assert_eq!(page(1000, 0, Some(13), &all), whole);
    assert_eq!(page(3, 0, Some(12), &all)["budget"], json!({"used": 9, "limit": 12}));
    assert_eq!(page(2, 0, Some(9), &all)["budget"], json!({"used": 2, "limit": 2}));
    assert_eq!(page(2, 1, None, &all)["truncated"], false);
    let beyond = json!({"items": [], "total": 3, "truncated": false});
    assert_eq!(page(2, 3, None, &all), beyond);
    assert_eq!(page(1000, u64::MAX, Some(2), &all), beyond);
    assert_eq!(page(2, 0, Some(2), &all)["budget"], json!({"used": 2, "limit": 2}));
}

//! Every matcher: what it accepts, and how it reports the first difference.

use proofmark_judge::matcher::Pattern;
use rstest::rstest;
use serde_json::{Value, json};

#[track_caller]
fn check(pattern: Value, got: Value, difference: Option<[&str; 3]>) {
    let shown = format!("{pattern} against {got}");
    let found = Pattern::new(pattern).expect("the pattern is well formed").difference(&got);
    let found = found.map(|found| [found.path, found.expected, found.got]);
    assert_eq!(found, difference.map(|parts| parts.map(str::to_owned)), "{shown}");
}

#[rstest]
#[case::null(json!(null), json!(null))]
#[case::key_order(json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}))]
#[case::integer_and_float(json!(1), json!(1.0))]
#[case::minus_zero(json!(0), json!(-0.0))]
// Canonical JSON has only doubles: above 2^53 two integers can be the same number.
#[case::beyond_the_doubles(json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64))]
#[case::unicode(json!("naïve 🦀"), json!("naïve 🦀"))]
#[case::escapes_are_spelling(serde_json::from_str(r#""\u00e9""#).unwrap(), json!("é"))]
#[case::nested(json!({"a": [{"b": [[]]}]}), json!({"a": [{"b": [[]]}]}))]
#[case::any_string(json!({"$any": "string"}), json!(""))]
#[case::any_number(json!({"$any": "number"}), json!(0.5))]
#[case::any_integer(json!({"$any": "integer"}), json!(-3))]
#[case::any_integer_written_as_float(json!({"$any": "integer"}), json!(3.0))]
#[case::any_boolean(json!({"$any": "boolean"}), json!(false))]
#[case::any_object(json!({"$any": "object"}), json!({"x": 1}))]
#[case::any_array(json!({"$any": "array"}), json!([1]))]
#[case::any_null(json!({"$any": "null"}), json!(null))]
#[case::any_value(json!({"$any": "value"}), json!(null))]
#[case::not_empty_string(json!({"$nonEmpty": "string"}), json!(" "))]
#[case::not_empty_array(json!({"$nonEmpty": "array"}), json!([null]))]
#[case::not_empty_object(json!({"$nonEmpty": "object"}), json!({"x": null}))]
#[case::each(json!({"$each": {"$any": "number"}}), json!([1, 2.5]))]
#[case::each_of_none(json!({"$each": 1}), json!([]))]
#[case::matches(json!({"$matches": "^[0-9a-f]{4}$"}), json!("0aF3".to_lowercase()))]
#[case::matches_anywhere(json!({"$matches": "bc"}), json!("abcd"))]
#[case::one_of(json!({"$oneOf": [1, {"$any": "string"}]}), json!("x"))]
#[case::optional_present(json!({"a": {"$optional": 1}}), json!({"a": 1}))]
#[case::optional_missing(json!({"a": {"$optional": 1}}), json!({}))]
#[case::absent(json!({"a": {"$absent": true}}), json!({}))]
#[case::open(json!({"$open": {"a": 1}}), json!({"b": 2, "a": 1}))]
#[case::open_and_absent(json!({"$open": {"a": {"$absent": true}}}), json!({"b": 2}))]
#[case::unordered(json!({"$unordered": [1, 2, 2]}), json!([2, 1, 2]))]
// A greedy match would give 1 to the free item and leave nothing for the exact one.
#[case::greed_is_wrong(json!({"$unordered": [{"$any": "integer"}, 1]}), json!([1, 2]))]
#[case::a_chain_of_moves(
    json!({"$unordered": [{"$oneOf": [1, 2]}, {"$oneOf": [2, 3]}, 1]}),
    json!([1, 2, 3])
)]
#[case::contains(json!({"$contains": [3, 1]}), json!([0, 1, 2, 3]))]
#[case::contains_twice(json!({"$contains": [1, 1]}), json!([1, 0, 1]))]
#[case::contains_without_greed(json!({"$contains": [{"$any": "integer"}, 1]}), json!([1, "x", 2]))]
#[case::among(json!({"$among": {"items": {"$any": "number"}, "value": [1, 2]}}), json!(["x", 1, null, 2]))]
#[case::among_none(json!({"$among": {"items": {"$any": "number"}, "value": []}}), json!(["x"]))]
#[case::among_texts_that_become_adjacent(
    json!({"$among": {"items": {"$open": {"type": "text"}}, "value": [{"type": "text", "value": "ab"}]}}),
    json!([{"type": "text", "value": "a"}, {"type": "ping"}, {"type": "text", "value": "b"}])
)]
#[case::starts_with(json!({"$startsWith": [1, {"$any": "null"}]}), json!([1, null, 3]))]
#[case::starts_with_all(json!({"$startsWith": [1]}), json!([1]))]
#[case::literal(json!({"$literal": {"$any": "string", "a": [{"$open": 1}]}}), json!({"a": [{"$open": 1}], "$any": "string"}))]
#[case::matchers_in_matchers(
    json!({"$oneOf": [{"$open": {"a": {"$unordered": [{"$matches": "^x"}, null]}}}, 7]}),
    json!({"a": [null, "xy"], "z": 0})
)]
fn as_expected(#[case] pattern: Value, #[case] got: Value) {
    check(pattern, got, None);
}

#[rstest]
#[case::kind(json!(1), json!("1"), ["$", "1", "\"1\""])]
#[case::number(json!(1), json!(1.5), ["$", "1", "1.5"])]
#[case::next_double(json!(9_007_199_254_740_992_u64), json!(9_007_199_254_740_994_u64), ["$", "9007199254740992", "9007199254740994"])]
#[case::minus_one(json!(1), json!(-1), ["$", "1", "-1"])]
#[case::null_is_something(json!({"a": 1}), json!({"a": null}), ["$.a", "1", "null"])]
// NFC and NFD look the same but are different strings.
#[case::normal_forms(json!("é"), json!("e\u{301}"), ["$", "\"é\"", "\"e\u{301}\""])]
#[case::letter_case(json!("a"), json!("A"), ["$", "\"a\"", "\"A\""])]
#[case::missing(json!({"a": {"b": 1}}), json!({"a": {}}), ["$.a.b", "1", "nothing: the member is missing"])]
#[case::missing_where_null_is_wanted(json!({"a": null}), json!({}), ["$.a", "null", "nothing: the member is missing"])]
#[case::surplus(json!({}), json!({"a": [1]}), ["$.a", "nothing: no such member", "[1]"])]
#[case::surplus_null(json!({}), json!({"a": null}), ["$.a", "nothing: no such member", "null"])]
#[case::not_an_object(json!({"a": 1}), json!([]), ["$", "an object", "[]"])]
#[case::not_an_array(json!([1]), json!({"0": 1}), ["$", "an array", "{\"0\":1}"])]
#[case::short_array(json!([1, 2]), json!([1]), ["$[1]", "2", "nothing: the array ends here"])]
#[case::long_array(json!([1]), json!([1, 2, 3]), ["$[1]", "nothing: the array ends here", "2"])]
#[case::order(json!([1, 2]), json!([2, 1]), ["$[0]", "1", "2"])]
#[case::deep(json!({"a": [0, {"b-c": [true]}]}), json!({"a": [0, {"b-c": [false]}]}), ["$.a[1].b-c[0]", "true", "false"])]
#[case::quoted_keys(json!({"a b": {"": {"\"": 1}}}), json!({"a b": {"": {"\"": 2}}}), [r#"$["a b"][""]["\""]"#, "1", "2"])]
#[case::dotted_key(json!({"a.b": 1}), json!({"a.b": 2}), [r#"$["a.b"]"#, "1", "2"])]
// The path of a matching sibling must not leak into the next one.
#[case::second_sibling(json!({"a": [1], "b": 2}), json!({"a": [1], "b": 3}), ["$.b", "2", "3"])]
#[case::any_string(json!({"$any": "string"}), json!(1), ["$", "any string", "1"])]
#[case::any_integer(json!({"$any": "integer"}), json!(1.5), ["$", "any integer", "1.5"])]
#[case::any_integer_in_a_string(json!({"$any": "integer"}), json!("1"), ["$", "any integer", "\"1\""])]
#[case::any_number(json!({"$any": "number"}), json!(null), ["$", "any number", "null"])]
#[case::any_boolean(json!({"$any": "boolean"}), json!(0), ["$", "any boolean", "0"])]
#[case::any_object(json!({"$any": "object"}), json!([]), ["$", "any object", "[]"])]
#[case::any_array(json!({"$any": "array"}), json!({}), ["$", "any array", "{}"])]
#[case::any_null(json!({"$any": "null"}), json!(false), ["$", "any null", "false"])]
#[case::any_value_but_missing(json!({"a": {"$any": "value"}}), json!({}), ["$.a", "any value", "nothing: the member is missing"])]
#[case::matches(json!({"$matches": "^a+$"}), json!("ab"), ["$", "a string that matches /^a+$/", "\"ab\""])]
#[case::matches_only_strings(json!({"$matches": "1"}), json!(1), ["$", "a string that matches /1/", "1"])]
#[case::one_of(json!({"$oneOf": [1, "x", {"$any": "null"}]}), json!(2), ["$", "1 or \"x\" or any null", "2"])]
#[case::one_of_objects(json!({"k": {"$oneOf": [{"a": 1}, {"b": {"c": 2}}]}}), json!({"k": {"b": {"c": 3}}}), ["$.k", "{\"a\": 1} or {\"b\": {\"c\": 2}}", "{\"b\":{\"c\":3}}"])]
#[case::optional_wrong(json!({"a": {"$optional": {"$any": "string"}}}), json!({"a": 1}), ["$.a", "any string", "1"])]
#[case::optional_null(json!({"a": {"$optional": 1}}), json!({"a": null}), ["$.a", "1", "null"])]
#[case::absent(json!({"$open": {"a": {"$absent": true}}}), json!({"a": null}), ["$.a", "nothing: no such member", "null"])]
#[case::open_lacks(json!({"$open": {"a": 1}}), json!({"b": 1}), ["$.a", "1", "nothing: the member is missing"])]
#[case::open_is_not_deep(json!({"$open": {"a": {"b": 1}}}), json!({"a": {"b": 1, "c": 2}}), ["$.a.c", "nothing: no such member", "2"])]
#[case::unordered_lacks(json!({"$unordered": [1, 2]}), json!([2, 3]), ["$", "an item that is 1", "no such item in [2,3]"])]
#[case::unordered_surplus(json!({"a": {"$unordered": [1]}}), json!({"a": [2, 1]}), ["$.a[0]", "nothing: no such item", "2"])]
#[case::unordered_counts(json!({"$unordered": [1, 1]}), json!([1, 2]), ["$", "an item that is 1", "no such item in [1,2]"])]
#[case::unordered_not_an_array(json!({"$unordered": [1]}), json!(1), ["$", "an array", "1"])]
#[case::contains_lacks(json!({"$contains": [4]}), json!([1]), ["$", "an item that is 4", "no such item in [1]"])]
#[case::contains_counts(json!({"$contains": [1, 1]}), json!([1, 2, 3]), ["$", "an item that is 1", "no such item in [1,2,3]"])]
#[case::each_but_one(json!({"$each": {"a": 1}}), json!([{"a": 1}, {"a": 2}]), ["$[1].a", "1", "2"])]
#[case::each_not_an_array(json!({"$each": 1}), json!(1), ["$", "an array", "1"])]
#[case::among_another_value(json!({"$among": {"items": {"$any": "number"}, "value": [1, 2]}}), json!(["x", 1, 3]), ["$[2]", "2", "3"])]
#[case::among_lacks(json!({"$among": {"items": {"$any": "number"}, "value": [1]}}), json!(["x"]), ["$", "1", "nothing: the array ends here"])]
#[case::among_surplus(json!({"$among": {"items": {"$any": "number"}, "value": [1]}}), json!([1, "x", 1]), ["$[2]", "nothing: the array ends here", "1"])]
#[case::among_not_an_array(json!({"$among": {"items": 1, "value": [1]}}), json!(1), ["$", "an array", "1"])]
#[case::empty(json!({"$nonEmpty": "object"}), json!({}), ["$", "any object, not empty", "{}"])]
#[case::not_empty_but_of_another_kind(json!({"$nonEmpty": "object"}), json!([1]), ["$", "any object, not empty", "[1]"])]
#[case::starts_otherwise(json!({"$startsWith": [1, 2]}), json!([1, 3, 2]), ["$[1]", "2", "3"])]
#[case::starts_too_short(json!({"$startsWith": [1, 2]}), json!([1]), ["$[1]", "2", "nothing: the array ends here"])]
#[case::literal_is_exact(json!({"$literal": {"$any": "string"}}), json!("x"), ["$", "{\"$any\":\"string\"}", "\"x\""])]
#[case::literal_is_closed(json!({"$literal": [{"$open": {}}]}), json!([{"$open": {"a": 1}}]), [r#"$[0]["$open"].a"#, "nothing: no such member", "1"])]
fn first_difference(#[case] pattern: Value, #[case] got: Value, #[case] difference: [&str; 3]) {
    check(pattern, got, Some(difference));
}

/// Expectations are described on one line.
#[rstest]
#[case(json!({"a": {"$optional": {"$matches": "x"}}}), r#"{"a": a string that matches /x/ or nothing}"#)]
#[case(json!({"a": {"$absent": true}}), r#"{"a": nothing: no such member}"#)]
#[case(json!({"$open": {"a": [1]}}), r#"{"a": [1], …}"#)]
#[case(json!({"$unordered": [1, {"$any": "null"}]}), "in any order [1, any null]")]
#[case(json!({"$contains": [1]}), "an array with [1]")]
#[case(json!({"$each": 1}), "an array in which each item is 1")]
#[case(json!({"$startsWith": [1]}), "[1, …]")]
#[case(json!({"$among": {"items": {"$any": "number"}, "value": [1]}}), "[1], of the items that are any number")]
fn in_words(#[case] pattern: Value, #[case] words: &str) {
    check(
        json!({ "m": pattern }),
        json!({}),
        Some(["$.m", words, "nothing: the member is missing"]),
    );
}

#[test]
fn long_strings_are_clipped_around_the_difference() {
    let same = "x".repeat(500);
    let got = format!("{same}B{}", "z".repeat(300));
    let start = "x".repeat(40);
    // Of 803 characters including the quotes: 40 before the difference, 160 in total.
    check(
        json!(format!("{same}A{}", "y".repeat(300))),
        json!(got),
        Some([
            "$",
            &format!("…{start}A{}… (803 characters)", "y".repeat(118)),
            &format!("…{start}B{}… (803 characters)", "z".repeat(118)),
        ]),
    );
}

#[test]
fn long_strings_that_differ_at_the_start_are_cut_at_the_end() {
    check(
        json!("a"),
        json!("é".repeat(200)),
        Some(["$", "\"a\"", &format!("\"{}… (202 characters)", "é".repeat(159))]),
    );
}

#[rstest]
#[case::unknown(json!({"$some": 1}), "unknown matcher `$some`; there are $any, $nonEmpty, $matches, $oneOf, $optional, $absent, $open, $unordered, $contains, $each, $startsWith, $above, $within, $among, $ref, $literal and $repeat")]
#[case::empty_of_what(json!({"$nonEmpty": "number"}), "`$nonEmpty` takes one of string, array, object, not \"number\"")]
#[case::two_keys(json!({"$any": "string", "a": 1}), "the matcher `$any` must be the only member of its object; wrap a real value with such a key in `$literal`")]
#[case::two_keys_the_other_way(json!({"a": 1, "$any": "string"}), "the matcher `$any` must be the only member of its object; wrap a real value with such a key in `$literal`")]
#[case::matcher_for_the_members(json!({"$open": {"a": 1, "$any": "string"}}), "the matcher `$any` must be the only member of its object; wrap a real value with such a key in `$literal`")]
#[case::any_what(json!({"$any": "text"}), "`$any` takes one of string, number, integer, boolean, object, array, null, value, not \"text\"")]
#[case::any_number(json!({"$any": 1}), "`$any` takes one of string, number, integer, boolean, object, array, null, value, not 1")]
#[case::matches_number(json!({"$matches": 1}), "`$matches` takes a regular expression as a string, not 1")]
#[case::one_of_nothing(json!({"$oneOf": []}), "`$oneOf` takes an array with at least one item")]
#[case::unordered_object(json!({"$unordered": {}}), "`$unordered` takes an array with at least one item")]
#[case::among_without_value(json!({"$among": {"items": 1}}), "`$among` takes {\"items\": which items count, \"value\": what they are}, not {\"items\":1}")]
#[case::contains_nothing(json!({"$contains": []}), "`$contains` takes an array with at least one item")]
#[case::starts_with_scalar(json!({"$startsWith": 1}), "`$startsWith` takes an array with at least one item")]
#[case::optional_at_the_top(json!({"$optional": 1}), "`$optional` can only be the value of a member")]
#[case::optional_item(json!([{"$optional": 1}]), "`$optional` can only be the value of a member")]
#[case::optional_choice(json!({"a": {"$oneOf": [{"$optional": 1}]}}), "`$optional` can only be the value of a member")]
#[case::optional_twice(json!({"a": {"$optional": {"$optional": 1}}}), "`$optional` can only be the value of a member")]
#[case::absent_item(json!([{"$absent": true}]), "`$absent` is written {\"$absent\": true} and can only be the value of a member")]
#[case::absent_false(json!({"a": {"$absent": false}}), "`$absent` is written {\"$absent\": true} and can only be the value of a member")]
#[case::open_array(json!({"$open": [1]}), "`$open` takes an object, not [1]")]
#[case::repeat_as_a_value(json!({"a": {"$repeat": {"times": 2, "item": 1}}}), "`$repeat` can only be an item of an array")]
#[case::deep_inside(json!({"a": [{"$contains": [{"b": {"$what": 1}}]}]}), "unknown matcher `$what`; there are $any, $nonEmpty, $matches, $oneOf, $optional, $absent, $open, $unordered, $contains, $each, $startsWith, $above, $within, $among, $ref, $literal and $repeat")]
fn misuse(#[case] pattern: Value, #[case] message: &str) {
    assert_eq!(Pattern::new(pattern).map(|_| ()).unwrap_err(), message);
}

#[test]
fn a_wrong_expression_is_reported_with_its_error() {
    let message = Pattern::new(json!({"$matches": "a(b"})).map(|_| ()).unwrap_err();
    assert!(message.starts_with("`$matches` has an invalid regular expression: "), "{message}");
    assert!(message.contains("unclosed group"), "{message}");
}

#[test]
fn an_open_pattern_tolerates_members_and_refuses_matchers_in_their_place() {
    let members = |value: Value| value.as_object().cloned().unwrap();
    let open = Pattern::open(members(json!({"code": "E"}))).unwrap();
    assert_eq!(open.difference(&json!({"message": "m", "code": "E"})), None);
    assert_eq!(open.difference(&json!({"message": "m"})).unwrap().path, "$.code");
    assert!(Pattern::open(members(json!({"code": "E", "$open": {}}))).is_err());
}

/// JSON messages cannot carry such a number, so no comparison needs to handle it.
#[test]
fn a_number_beyond_the_doubles_does_not_parse() {
    assert!(serde_json::from_str::<Value>("1e400").is_err());
}

//! Canonical JSON against the published vectors of RFC 8785 and an independent implementation.

use proptest::prelude::*;
use rstest::rstest;
use sage_utils::{CanonicalError, canonical_json, canonical_json_of_text, sha256, write_canonical};
use serde_json::{Map, Value, json};

#[track_caller]
fn check(json: &str, expect: &str) {
    assert_eq!(canonical_json_of_text(json).as_deref(), Ok(expect), "text: {json}");
}

#[test]
fn the_example_of_the_contract_and_its_hash() {
    let form = canonical_json(&json!({"c": 3, "a": 1, "b": [{"y": 2, "x": 1}]}));
    assert_eq!(form, r#"{"a":1,"b":[{"x":1,"y":2}],"c":3}"#);
    assert_eq!(sha256(form), "c5bc847d25fa60094e19f50487a8d1f78636e068789dade34e92ea1c82601078");
}

#[rstest]
#[case::arrays(include_str!("rfc8785/input/arrays.json"), include_str!("rfc8785/output/arrays.json"))]
#[case::french(include_str!("rfc8785/input/french.json"), include_str!("rfc8785/output/french.json"))]
#[case::structures(include_str!("rfc8785/input/structures.json"), include_str!("rfc8785/output/structures.json"))]
#[case::unicode(include_str!("rfc8785/input/unicode.json"), include_str!("rfc8785/output/unicode.json"))]
#[case::values(include_str!("rfc8785/input/values.json"), include_str!("rfc8785/output/values.json"))]
#[case::weird(include_str!("rfc8785/input/weird.json"), include_str!("rfc8785/output/weird.json"))]
fn the_vectors_of_the_rfc_author(#[case] input: &str, #[case] output: &str) {
    check(input, output);
}

#[test]
fn properties_are_sorted_as_in_section_3_2_3() {
    let input = r#"{
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\ud83d\ude00": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis"
    }"#;
    let form = canonical_json_of_text(input).unwrap();
    let sorted: Map<String, Value> = serde_json::from_str(&form).unwrap();
    let values: Vec<_> = sorted.values().filter_map(Value::as_str).collect();
    assert_eq!(
        values,
        [
            "Carriage Return",
            "One",
            "Control",
            "Latin Small Letter O With Diaeresis",
            "Euro Sign",
            "Emoji: Grinning Face",
            "Hebrew Letter Dalet With Dagesh",
        ]
    );
}

/// RFC 8785, appendix B.
#[rstest]
#[case(0x0000_0000_0000_0000, "0")]
#[case(0x8000_0000_0000_0000, "0")]
#[case(0x0000_0000_0000_0001, "5e-324")]
#[case(0x8000_0000_0000_0001, "-5e-324")]
#[case(0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308")]
#[case(0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308")]
#[case(0x4340_0000_0000_0000, "9007199254740992")]
#[case(0xc340_0000_0000_0000, "-9007199254740992")]
#[case(0x4430_0000_0000_0000, "295147905179352830000")]
#[case(0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22")]
#[case(0x44b5_2d02_c7e1_4af6, "1e+23")]
#[case(0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23")]
#[case(0x444b_1ae4_d6e2_ef4e, "999999999999999700000")]
#[case(0x444b_1ae4_d6e2_ef4f, "999999999999999900000")]
#[case(0x444b_1ae4_d6e2_ef50, "1e+21")]
#[case(0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7")]
#[case(0x3eb0_c6f7_a0b5_ed8d, "0.000001")]
#[case(0x41b3_de43_5555_5553, "333333333.3333332")]
#[case(0x41b3_de43_5555_5554, "333333333.33333325")]
#[case(0x41b3_de43_5555_5555, "333333333.3333333")]
#[case(0x41b3_de43_5555_5556, "333333333.3333334")]
#[case(0x41b3_de43_5555_5557, "333333333.33333343")]
#[case(0xbecb_f647_612f_3696, "-0.0000033333333333333333")]
#[case(0x4314_3ff3_c1cb_0959, "1424953923781206.2")]
fn numbers_print_as_in_appendix_b(#[case] bits: u64, #[case] text: &str) {
    assert_eq!(canonical_json(&json!(f64::from_bits(bits))), text);
    // What is printed denotes the same double again.
    check(text, text);
}

/// The two errors of appendix B: a `Value` cannot hold them, so that none can be printed.
#[rstest]
#[case(0x7fff_ffff_ffff_ffff)]
#[case(0x7ff0_0000_0000_0000)]
fn nan_cannot_be_a_json_value(#[case] bits: u64) {
    assert_eq!(serde_json::Number::from_f64(f64::from_bits(bits)), None);
}

/// Expected values as ECMAScript (node) prints the same texts.
#[rstest]
#[case("9007199254740991", "9007199254740991")]
#[case("9007199254740993", "9007199254740992")]
#[case("-9007199254740993", "-9007199254740992")]
#[case("9007199254740995", "9007199254740996")]
#[case("9223372036854775807", "9223372036854776000")]
#[case("-9223372036854775808", "-9223372036854776000")]
#[case("18446744073709551615", "18446744073709552000")]
#[case("123456789012345678901234567890", "1.2345678901234568e+29")]
#[case("-0", "0")]
#[case("-0.0", "0")]
#[case("1.0", "1")]
#[case("1e-400", "0")]
#[case("0.30000000000000004", "0.30000000000000004")]
fn numbers_are_doubles(#[case] text: &str, #[case] expect: &str) {
    check(text, expect);
}

#[test]
fn keys_sort_by_utf_16_code_units() {
    // Integer-like keys are text, a prefix comes first, and U+1F600 (D83D DE00) precedes U+E000.
    check(
        "{\"\u{FFFF}\":1,\"\u{E000}\":2,\"\u{1F600}\":3,\"\u{D7FF}\":4,\"a\":5,\"aa\":6,\"\":7,\"9\":8,\"10\":9}",
        "{\"\":7,\"10\":9,\"9\":8,\"a\":5,\"aa\":6,\"\u{D7FF}\":4,\"\u{1F600}\":3,\"\u{E000}\":2,\"\u{FFFF}\":1}",
    );
}

#[test]
fn objects_of_every_size_are_sorted() {
    for size in 0..40_usize {
        // 7 and 41 have no common divisor, so this visits each number once, out of order.
        let keys = (0..41).map(|n| n * 7 % 41).filter(|n| *n < size);
        let object: Map<_, _> = keys.map(|n| (format!("{n:02}"), json!(n))).collect();
        let members: Vec<_> = (0..size).map(|n| format!("\"{n:02}\":{n}")).collect();
        assert_eq!(canonical_json(&object.into()), format!("{{{}}}", members.join(",")));
    }
}

#[test]
fn only_what_must_be_escaped_is_escaped() {
    let all: String =
        (0..=0x20).chain([0x22, 0x2F, 0x5C, 0x7F, 0x2028]).filter_map(char::from_u32).collect();
    assert_eq!(
        canonical_json(&json!(all)),
        "\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f\
         \\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f\
         \u{20}\\\"/\\\\\u{7F}\u{2028}\""
    );
}

#[test]
fn writing_appends() {
    let mut out = b"before ".to_vec();
    write_canonical(&json!([null, true, false, {}, []]), &mut out);
    assert_eq!(out, b"before [null,true,false,{},[]]");
}

#[rstest]
#[case(r#""\ud800""#)]
#[case(r#""\udc00""#)]
#[case(r#""\ud800x""#)]
#[case(r#""\ud800\n""#)]
#[case(r#""\ud800\ud800""#)]
#[case(r#"{"\udfff":1}"#)]
fn a_lone_surrogate_is_refused(#[case] text: &str) {
    let refusal = canonical_json_of_text(text);
    assert!(matches!(refusal, Err(CanonicalError::LoneSurrogate { line: 1, .. })), "{refusal:?}");
}

#[rstest]
#[case("1e400")]
#[case("[-1e309]")]
#[case("1.7976931348623159e308")]
fn a_number_beyond_every_double_is_refused(#[case] text: &str) {
    let refusal = canonical_json_of_text(text);
    assert!(matches!(refusal, Err(CanonicalError::NumberOutOfRange { .. })), "{refusal:?}");
}

#[rstest]
#[case("")]
#[case("{")]
#[case("[1,]")]
#[case("NaN")]
#[case("'a'")]
#[case("1 2")]
#[case("01")]
#[case(r#""\ud83g""#)]
#[case("\"\n\"")]
fn invalid_json_is_refused(#[case] text: &str) {
    let refusal = canonical_json_of_text(text);
    assert!(matches!(refusal, Err(CanonicalError::NotJson { .. })), "{refusal:?}");
}

#[test]
fn the_nesting_limit_is_reported() {
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    check(&nested(127), &nested(127));
    for depth in [128, 1_000_000] {
        let refusal = canonical_json_of_text(&nested(depth));
        assert!(matches!(refusal, Err(CanonicalError::TooDeep { .. })), "{refusal:?}");
    }
}

#[test]
fn a_refusal_says_where() {
    let refusal = canonical_json_of_text("{\n  \"a\": nil\n}").unwrap_err();
    assert_eq!(refusal.to_string(), "not JSON: expected ident, at line 2, column 9");
}

/// Any JSON value: keys and strings of all planes, every kind of number.
fn any_value() -> impl Strategy<Value = Value> {
    let finite = any::<f64>().prop_filter("finite", |double| double.is_finite());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1000..1000_i64).prop_map(Value::from),
        finite.prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 20, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any_text(), inner), 0..20)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Short texts that collide and differ where the order of UTF-8 and of UTF-16 part.
fn any_text() -> impl Strategy<Value = String> {
    let near = prop::sample::select(vec![
        'a',
        'b',
        '"',
        '\\',
        '\n',
        '\u{1}',
        'é',
        '\u{D7FF}',
        '\u{E000}',
        '\u{FFFD}',
        '\u{10000}',
        '\u{10FFFF}',
    ]);
    let letter = prop_oneof![near, any::<char>()];
    prop::collection::vec(letter, 0..5).prop_map(String::from_iter)
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(reversed).collect(),
        Value::Object(members) => Value::Object(
            members.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect(),
        ),
        leaf => leaf.clone(),
    }
}

proptest! {
    #[test]
    fn agrees_with_an_independent_implementation(value in any_value()) {
        let theirs = serde_json_canonicalizer::to_string(&value).unwrap();
        prop_assert_eq!(canonical_json(&value), theirs);
    }

    #[test]
    fn the_canonical_form_is_its_own_canonical_form(value in any_value()) {
        let form = canonical_json(&value);
        prop_assert_eq!(canonical_json_of_text(&form), Ok(form));
    }

    #[test]
    fn the_order_of_keys_does_not_matter(value in any_value()) {
        prop_assert_eq!(canonical_json(&value), canonical_json(&reversed(&value)));
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC*|[\\[\\]{}\",:0-9eE.+\\\\ud8-]{0,40}") {
        let _ = canonical_json_of_text(&text);
    }
}

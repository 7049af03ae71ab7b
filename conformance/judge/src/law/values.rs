//! Inputs for laws: any JSON that a contract may meet.

use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use serde_json::{Map, Number, Value};
use sha2::{Digest as _, Sha256};

/// Characters that JSON, ECMAScript or Unicode treat specially.
const ODD: &[char] = &[
    '"',
    '\\',
    '/',
    '\0',
    '\u{1}',
    '\u{8}',
    '\t',
    '\n',
    '\u{c}',
    '\r',
    '\u{1f}',
    ' ',
    '\u{7f}',
    '\u{80}',
    '\u{85}',
    'é',
    'e',
    '\u{301}',
    'ß',
    '\u{2028}',
    '\u{2029}',
    '\u{e000}',
    '\u{feff}',
    '\u{fffd}',
    '\u{ffff}',
    '😀',
    '\u{10ffff}',
];

/// Any text.
pub fn text() -> impl Strategy<Value = String> {
    let letter = prop_oneof![
        4 => proptest::char::range('a', 'z'),
        2 => proptest::sample::select(ODD),
        1 => any::<char>(),
    ];
    proptest::collection::vec(letter, 0..12).prop_map(String::from_iter)
}

/// Letters, and odd characters of one sort.
pub fn text_of(sort: fn(char) -> bool) -> impl Strategy<Value = String> {
    let odd: Vec<char> = (0..=0x1f)
        .filter_map(char::from_u32)
        .chain(ODD.iter().copied())
        .filter(|one| sort(*one))
        .collect();
    let letter = prop_oneof![proptest::char::range('a', 'z'), proptest::sample::select(odd)];
    proptest::collection::vec(letter, 0..12).prop_map(String::from_iter)
}

/// Nested objects and arrays, with no difficulty except the order of keys.
pub fn nested() -> impl Strategy<Value = Value> {
    let leaf = (0..10_i64).prop_map(Value::from);
    leaf.prop_recursive(5, 32, 6, |inner| {
        let members = proptest::collection::vec(("[a-zA-Z0-9_]{1,4}", inner.clone()), 0..6);
        prop_oneof![
            1 => proptest::collection::vec(inner, 0..4).prop_map(Value::Array),
            3 => members.prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}

/// A member name. ASCII only, since the order of other keys is an interpretation.
pub fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-zA-Z0-9_ .\"\\\\-]{0,6}",
        1 => proptest::sample::select(vec!["__proto__", "constructor", "10", "9", "toString"])
            .prop_map(str::to_owned),
    ]
}

/// Any JSON number but -0.
pub fn number() -> impl Strategy<Value = Number> {
    const SAFE: i64 = 1 << 53;
    // The treatment of -0 is an interpretation.
    let double = |number: f64| {
        Number::from_f64(number).filter(|_| number != 0.0).unwrap_or_else(|| Number::from(0))
    };
    prop_oneof![
        (-1000..1000_i64).prop_map(Number::from),
        (-SAFE..=SAFE).prop_map(Number::from),
        (-1000.0..1000.0_f64).prop_map(double),
        // Any bit pattern.
        any::<u64>().prop_map(move |bits| double(f64::from_bits(bits))),
    ]
}

/// Any JSON value, of moderate size and depth.
pub fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number().prop_map(Value::Number),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            members(inner, 0..6).prop_map(Value::Object),
        ]
    })
}

/// An object's members, in any order.
pub fn members(
    value: impl Strategy<Value = Value>,
    count: std::ops::Range<usize>,
) -> impl Strategy<Value = Map<String, Value>> {
    proptest::collection::vec((key(), value), count).prop_map(Map::from_iter)
}

/// The same value with the members of every object shuffled.
pub fn shuffled(value: &Value, seed: u64) -> Value {
    fn shuffle(value: &Value, random: &mut ChaCha8Rng) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| shuffle(item, random)).collect(),
            Value::Object(map) => {
                let mut members: Vec<(String, Value)> =
                    map.iter().map(|(key, value)| (key.clone(), shuffle(value, random))).collect();
                members.sort_by_cached_key(|_| random.next_u64());
                Value::Object(members.into_iter().collect())
            }
            scalar => scalar.clone(),
        }
    }
    shuffle(value, &mut ChaCha8Rng::seed_from_u64(seed))
}

/// Canonical JSON by an independent implementation.
///
/// # Panics
/// Never for a JSON value.
pub fn canonical(value: &Value) -> String {
    serde_json_canonicalizer::to_string(value).expect("it is finite JSON with text keys")
}

/// SHA-256 in hex by an independent implementation.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Prevents anything inside from being read as a matcher.
pub fn literal(value: Value) -> Value {
    serde_json::json!({ "$literal": value })
}

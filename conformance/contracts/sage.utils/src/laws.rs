//! Laws of `sage.utils`. Each checks one promise, so that a failure names what broke.

use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use serde_json::{Value, json};

use proofmark_judge::law::Law;
use proofmark_judge::law::values::{
    canonical, literal, nested, number, sha256, shuffled, text, text_of, value,
};

const CANONICALIZER: &str = "oracle: the crate serde_json_canonicalizer (RFC 8785)";
const STRINGIFY: &str = "utils.canonicalJSONStringify";

pub(crate) const LAWS: &[Law] = &[
    Law {
        name: "keys-are-sorted-at-every-depth",
        contract: "sage.utils",
        why: "Two builds that order keys in two ways give one fact two hashes.",
        shows: &["UTILS-002"],
        origin: CANONICALIZER,
        operations: &[STRINGIFY],
        // Small letters only: how capitals, digits and punctuation are sorted is an interpretation.
        inputs: || {
            nested()
                .prop_map(|value| after(json!([COMPACT.call()]), written(rekeyed(value, letters))))
                .boxed()
        },
    },
    Law {
        name: "ascii-keys-are-sorted-by-their-codes",
        contract: "sage.utils",
        why: "Two builds that order capitals or digits in two ways give one fact two hashes.",
        shows: &["UTILS-012"],
        origin: CANONICALIZER,
        operations: &[STRINGIFY],
        // Keys that look like integers are another requirement.
        inputs: || {
            nested()
                .prop_map(|value| after(json!([SORTED.call()]), written(rekeyed(value, wordy))))
                .boxed()
        },
    },
    Law {
        name: "any-number-as-ecmascript-writes-it",
        contract: "sage.utils",
        why: "Two builds that write one number in two ways give one fact two hashes.",
        shows: &["UTILS-009"],
        origin: CANONICALIZER,
        operations: &[STRINGIFY],
        inputs: || number().prop_map(|number| written(Value::Number(number))).boxed(),
    },
    Law {
        name: "escapes-in-any-text",
        contract: "sage.utils",
        why: "Two builds that escape one text in two ways give one fact two hashes.",
        shows: &["UTILS-010"],
        origin: CANONICALIZER,
        operations: &[STRINGIFY],
        inputs: || text_of(is_escaped).prop_map(|text| written(Value::from(text))).boxed(),
    },
    Law {
        name: "other-characters-stand-for-themselves",
        contract: "sage.utils",
        why: "Two builds that escape one text in two ways give one fact two hashes.",
        shows: &["UTILS-011"],
        origin: CANONICALIZER,
        operations: &[STRINGIFY],
        inputs: || {
            text_of(|character| !is_escaped(character))
                .prop_map(|text| written(Value::from(text)))
                .boxed()
        },
    },
    Law {
        name: "canonical-form-is-its-own",
        contract: "sage.utils",
        why: "A form that changes when it is read and written again is not canonical.",
        shows: &["UTILS-006"],
        origin: "contract",
        operations: &[STRINGIFY],
        inputs: || {
            value().prop_map(|value| {
            json!({ "steps": [
                saved(stringify(json!({ "value": literal(value) }), json!({ "$any": "string" })), "once"),
                stringify(json!({ "json": { "$ref": "once" } }), json!({ "$ref": "once" })),
            ] })
        }).boxed()
        },
    },
    Law {
        name: "key-order-does-not-count",
        contract: "sage.utils",
        why: "The same value must give the same string, at whatever depth its keys were given in another order.",
        shows: &["UTILS-006"],
        origin: "contract",
        operations: &[STRINGIFY],
        inputs: || {
            in_two_orders(|value, other| {
                json!({ "steps": [
                saved(stringify(json!({ "value": literal(value) }), json!({ "$any": "string" })), "first"),
                stringify(json!({ "value": literal(other) }), json!({ "$ref": "first" })),
            ] })
            })
        },
    },
    Law {
        name: "equal-values-have-equal-hashes",
        contract: "sage.utils",
        why: "Hashes stand for values: equal ones must meet.",
        shows: &["UTILS-019"],
        origin: "contract",
        operations: &[STRINGIFY, "utils.sha256"],
        inputs: || {
            in_two_orders(|value, other| {
                let hashed =
                    || hash(json!({ "text": { "$ref": "form" } }), json!({ "$any": "string" }));
                // That the forms are equal is another requirement.
                let form =
                    stringify(json!({ "value": literal(value) }), json!({ "$any": "string" }));
                let same = stringify(json!({ "value": literal(other) }), json!({ "$ref": "form" }));
                let mut again = elsewhere(hashed());
                again["returns"] = json!({ "$ref": "hash" });
                after(
                    json!([saved(form, "form"), same]),
                    json!({ "steps": [saved(hashed(), "hash"), again] }),
                )
            })
        },
    },
    Law {
        name: "hash-of-any-text",
        contract: "sage.utils",
        why: "A hash that differs for some texts breaks every link that runs through them.",
        shows: &["UTILS-019"],
        origin: "oracle: the crate sha2",
        operations: &["utils.sha256"],
        inputs: || text().prop_map(|text| hashed_text(&text)).boxed(),
    },
    Law {
        name: "hash-of-any-bytes",
        contract: "sage.utils",
        why: "A hash that differs for some bytes breaks every link that runs through them.",
        shows: &["UTILS-020"],
        origin: "oracle: the crate sha2",
        operations: &["utils.sha256"],
        inputs: || {
            proptest::collection::vec(any::<u8>(), 0..200)
                .prop_map(|bytes| hashed_bytes(&bytes))
                .boxed()
        },
    },
    Law {
        name: "hash-of-a-long-text",
        contract: "sage.utils",
        why: "A hash of what fits into a buffer is not the hash of the text.",
        shows: &["UTILS-019"],
        origin: "oracle: the crate sha2",
        operations: &["utils.sha256"],
        inputs: || long(MIB).prop_map(|text| hashed_text(&text)).boxed(),
    },
    Law {
        name: "hash-of-a-text-with-a-wide-character-at-an-edge",
        contract: "sage.utils",
        why: "A character that is cut at the end of a buffer is another one, and so is the hash.",
        shows: &["UTILS-019"],
        origin: "oracle: the crate sha2",
        operations: &["utils.sha256"],
        inputs: || {
            (size(MIB), 0..3_usize, "[é€😂𝄞]{2,4}")
                .prop_map(|(size, back, wide)| {
                    hashed_text(&format!("{}{wide}", "x".repeat(size - back)))
                })
                .boxed()
        },
    },
    Law {
        name: "hash-of-many-bytes",
        contract: "sage.utils",
        why: "A hash of what fits into a buffer is not the hash of the bytes.",
        shows: &["UTILS-020"],
        origin: "oracle: the crate sha2",
        operations: &["utils.sha256"],
        inputs: || {
            (proptest::collection::vec(any::<u8>(), 1..40), size(MIB))
                .prop_map(|(piece, size)| {
                    let bytes: Vec<u8> = piece.into_iter().cycle().take(size).collect();
                    hashed_bytes(&bytes)
                })
                .boxed()
        },
    },
    Law {
        name: "a-long-text-is-written-whole",
        contract: "sage.utils",
        why: "A text that was cut at the end of a buffer has the hash of another text.",
        shows: &["UTILS-011"],
        origin: CANONICALIZER,
        operations: &[STRINGIFY],
        inputs: || long(64 * KIB).prop_map(|text| written(Value::from(text))).boxed(),
    },
    Law {
        name: "every-member-of-a-large-object",
        contract: "sage.utils",
        why: "A member that finds no place in a table is missing from the hash.",
        shows: &["UTILS-008"],
        origin: CANONICALIZER,
        operations: &[STRINGIFY],
        inputs: || {
            (200..1100_usize, any::<u64>())
                .prop_map(|(count, order)| {
                    let name = |at: usize| {
                        format!("k{at:04}")
                            .bytes()
                            .map(|b| char::from(b'a' + b % 26))
                            .collect::<String>()
                    };
                    let members = (0..count).map(|at| (name(at), json!(at))).collect();
                    let value = shuffled(&Value::Object(members), order);
                    after(json!([SORTED.call()]), written(value))
                })
                .boxed()
        },
    },
];

const KIB: usize = 1024;
const MIB: usize = KIB * KIB;

/// A value with its canonical form, for what a law needs first.
struct Known {
    json: &'static str,
    form: &'static str,
}

/// Shows that there is no white space.
const COMPACT: Known = Known { json: r#"[1,{"a":2}]"#, form: r#"[1,{"a":2}]"# };

/// The same, and that keys are sorted.
const SORTED: Known =
    Known { json: r#"{"b":{"d":1,"c":2},"a":3}"#, form: r#"{"a":3,"b":{"c":2,"d":1}}"# };

impl Known {
    fn call(&self) -> Value {
        stringify(json!({ "json": self.json }), json!(self.form))
    }
}

/// The same law, for subjects that do `setup` right.
fn after(setup: Value, mut law: Value) -> Value {
    law["setup"] = setup;
    law
}

/// How a digest is written is another requirement.
fn hashed(args: Value, digest: &str) -> Value {
    let form = hash(json!({ "text": "letters-0" }), json!({ "$matches": "^[0-9a-f]{64}$" }));
    after(json!([form]), json!({ "steps": [hash(args, json!(digest))] }))
}

fn hashed_text(text: &str) -> Value {
    hashed(json!({ "text": text }), &sha256(text))
}

fn hashed_bytes(bytes: &[u8]) -> Value {
    hashed(json!({ "hex": hex::encode(bytes) }), &sha256(bytes))
}

/// Sizes around the ends of buffers, most of them small.
fn size(largest: usize) -> impl Strategy<Value = usize> {
    let around = |size: usize| proptest::sample::select(vec![size, size - 1, size + 1]);
    prop_oneof![
        40 => around(4 * KIB),
        6 => around(8 * KIB),
        4 => around(64 * KIB),
        1 => around(largest),
    ]
}

/// A text of about that many bytes. It has characters of several bytes, and none that needs an escape.
fn long(largest: usize) -> impl Strategy<Value = String> {
    let piece = text_of(|character| !is_escaped(character)).prop_filter("empty", |p| !p.is_empty());
    (piece, size(largest)).prop_map(|(piece, size)| {
        let mut text = piece.repeat(size / piece.len() + 1);
        text.truncate(text.floor_char_boundary(size));
        text
    })
}

/// The same value with other keys. If two become equal, the later member stays.
fn rekeyed(value: Value, rename: fn(String) -> String) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|item| rekeyed(item, rename)).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(key, value)| (rename(key), rekeyed(value, rename))).collect()
        }
        other => other,
    }
}

/// Not like an integer.
fn wordy(key: String) -> String {
    let digits = key.bytes().all(|byte| byte.is_ascii_digit());
    if digits { format!("k{key}") } else { key }
}

/// In small letters.
fn letters(key: String) -> String {
    key.bytes().map(|byte| char::from(b'a' + byte % 26)).collect()
}

/// Characters that JSON must escape.
fn is_escaped(character: char) -> bool {
    character < ' ' || matches!(character, '"' | '\\')
}

fn stringify(args: Value, returns: Value) -> Value {
    json!({ "call": STRINGIFY, "args": args, "returns": returns })
}

fn hash(args: Value, returns: Value) -> Value {
    json!({ "call": "utils.sha256", "args": args, "returns": returns })
}

fn saved(mut call: Value, name: &str) -> Value {
    call["as"] = Value::from(name);
    call
}

/// In a new session, so that no state of an earlier call remains.
fn elsewhere(mut call: Value) -> Value {
    call["session"] = Value::from("b");
    call
}

/// Expects the output of another implementation.
fn written(value: Value) -> Value {
    let form = canonical(&value);
    json!({ "steps": [stringify(json!({ "value": literal(value) }), json!(form))] })
}

/// A value, and the same with its keys in another order.
fn in_two_orders(steps: impl Fn(Value, Value) -> Value + 'static) -> BoxedStrategy<Value> {
    (value(), any::<u64>())
        .prop_map(move |(value, order)| {
            let other = shuffled(&value, order);
            steps(value, other)
        })
        .boxed()
}

//! Is this text JSON? Asked without building what the text denotes.
//!
//! `serde::de::IgnoredAny` does not do: it lets through what no value can hold, such as `1e400` and
//! half a surrogate pair. This takes and refuses exactly what `serde_json::Value` does.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Any JSON object.
pub(crate) struct AnyObject;

/// Any JSON value.
struct AnyValue;

impl<'de> Deserialize<'de> for AnyObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Scan).map(|()| Self)
    }
}

impl<'de> Deserialize<'de> for AnyValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Scan).map(|()| Self)
    }
}

struct Scan;

impl<'de> Visitor<'de> for Scan {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element::<AnyValue>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while members.next_entry::<AnyKey, AnyValue>()?.is_some() {}
        Ok(())
    }
}

struct AnyKey;

impl<'de> Deserialize<'de> for AnyKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Scan).map(|()| Self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::{Map, Value};

    use super::*;

    #[track_caller]
    fn agrees(text: &str) {
        let (tree, scan) = (
            serde_json::from_str::<Map<String, Value>>(text),
            serde_json::from_str::<AnyObject>(text),
        );
        assert_eq!(scan.is_ok(), tree.is_ok(), "{text:?}");
    }

    #[rstest]
    #[case(r#"{}"#)]
    #[case(r#" { "a" : [ 1 , -2.5e3 , true , null , "x" , { } ] } "#)]
    #[case(r#"{"a":1,"a":2}"#)]
    #[case(r#"{"a":1e400}"#)]
    #[case(r#"{"a":-1e400}"#)]
    #[case(r#"{"a":123456789012345678901234567890}"#)]
    #[case(r#"{"a":"\ud800"}"#)]
    #[case(r#"{"a":"\ud83d\ude00"}"#)]
    #[case(r#"{"\ud800":1}"#)]
    #[case(r#"{"a":"\x"}"#)]
    #[case("{\"a\":\"\u{1}\"}")]
    #[case(r#"{1:2}"#)]
    #[case(r#"{"a":01}"#)]
    #[case(r#"{"a":1,}"#)]
    #[case(r#"{"a":1}x"#)]
    #[case(r#"{"a":1}{"#)]
    #[case(r#"[]"#)]
    #[case(r#"null"#)]
    #[case("")]
    #[case("\u{feff}{}")]
    fn it_takes_what_a_tree_takes(#[case] text: &str) {
        agrees(text);
    }

    #[rstest]
    fn it_takes_no_deeper_nesting(#[values(126, 127, 128)] levels: usize) {
        let inner = levels - 1;
        agrees(&format!("{{\"a\":{}{}}}", "[".repeat(inner), "]".repeat(inner)));
    }

    proptest! {
        #[test]
        fn it_takes_what_a_tree_takes_of_any_text(
            text in r#"\{("(a|b|\\u[dD][89a-f]00|\\n)*":([0-9eE.+-]{1,4}|"(x|\\"|\\)*"|\[\]|null|\{\}),?){0,3}\}?"#
        ) {
            agrees(&text);
        }
    }
}

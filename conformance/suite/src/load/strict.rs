//! A second member of the same name would silently take the first one's place: refuse it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Reads JSON whose objects name no member twice.
pub(crate) fn from_str(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<NoDuplicateKeys>(text)?;
    serde_json::from_str(text)
}

/// Deserializes from any JSON whose objects name no member twice; the error has line and column.
pub(super) struct NoDuplicateKeys;

impl<'de> Deserialize<'de> for NoDuplicateKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Walk)
    }
}

/// So many keys are looked through one by one.
const FEW: usize = 16;

#[derive(PartialEq, Eq, Hash)]
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

struct Walk;

impl<'de> Visitor<'de> for Walk {
    type Value = NoDuplicateKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        // Nearly all objects are small, and nearly all keys stand in the text as they are: no hashing, no copies.
        let mut few: Vec<Key<'de>> = Vec::new();
        let mut many = HashSet::new();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            if few.contains(&key) || many.contains(&key) {
                return Err(A::Error::custom(format!(
                    "the member `{}` stands twice in one object; drop one",
                    key.0
                )));
            }
            if few.len() < FEW {
                few.push(key);
            } else {
                many.insert(key);
            }
            map.next_value::<NoDuplicateKeys>()?;
        }
        Ok(NoDuplicateKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<NoDuplicateKeys>()?.is_some() {}
        Ok(NoDuplicateKeys)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(NoDuplicateKeys)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(NoDuplicateKeys)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(NoDuplicateKeys)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(NoDuplicateKeys)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(NoDuplicateKeys)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(NoDuplicateKeys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_stands_twice_is_found_in_large_objects_too() {
        for count in [2, FEW, FEW + 1, 3 * FEW] {
            let members: Vec<String> = (0..count).map(|at| format!("\"k{at}\": {at}")).collect();
            let text = members.join(", ");
            assert!(from_str(&format!("[{{{text}}}]")).is_ok(), "{count}");
            for again in [0, count - 1] {
                // Spelt in another way, it is the same.
                let text = format!("{{{text}, \"\\u006b{again}\": 1}}");
                let told = from_str(&text).unwrap_err().to_string();
                assert!(told.contains(&format!("`k{again}` stands twice")), "{told}");
            }
        }
    }
}

//! Ids: UUIDs in the one form that is written.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;
use uuid::Uuid;

/// A UUID in its canonical form only: 32 lower-case hexadecimal digits in five groups. So an id has one spelling, and
/// is safe as part of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, ToSchema)]
#[schema(value_type = String, pattern = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
pub struct Id(Uuid);

/// The text is not a UUID in canonical form.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no UUID in its canonical form, such as 67e55044-10b1-426f-9247-bb680e5fe0c8")]
pub struct NoId(pub String);

/// How much of an invalid id a message repeats.
const MOST_REPEATED: usize = 60;

impl FromStr for Id {
    type Err = NoId;

    fn from_str(text: &str) -> Result<Self, NoId> {
        match Uuid::try_parse(text) {
            Ok(uuid) if uuid.to_string() == text => Ok(Self(uuid)),
            _ => Err(NoId(text.chars().take(MOST_REPEATED).collect())),
        }
    }
}

impl From<Uuid> for Id {
    fn from(uuid: Uuid) -> Self {
        Self(uuid)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::canonical("67e55044-10b1-426f-9247-bb680e5fe0c8", true)]
    #[case::upper_case("67E55044-10B1-426F-9247-BB680E5FE0C8", false)]
    #[case::without_hyphens("67e5504410b1426f9247bb680e5fe0c8", false)]
    #[case::braced("{67e55044-10b1-426f-9247-bb680e5fe0c8}", false)]
    #[case::climbing("../../../etc/passwd", false)]
    #[case::empty("", false)]
    fn one_spelling_is_an_id(#[case] text: &str, #[case] right: bool) {
        assert_eq!(text.parse::<Id>().is_ok(), right);
    }
}

//! Identifiers that the server creates: plans, tasks, steps and their places, conflicts.
//!
//! A well-formed id need not name anything. So each keeps its text, and reveals its number only if this server could
//! have created it.

use std::fmt;
use std::num::ParseIntError;

use serde::{Deserialize, Serialize};

/// Why a text is not an id of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a {what} looks like {pattern}, such as `{example}`")]
pub struct IdError {
    what: &'static str,
    pattern: &'static str,
    example: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $pattern:literal, $example:literal, $fits:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// What an id looks like.
            pub const PATTERN: &str = $pattern;

            /// Parses `text`.
            ///
            /// # Errors
            /// If `text` is not well-formed.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                let fits: fn(&str) -> bool = $fits;
                if fits(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(IdError { what: $what, pattern: $pattern, example: $example })
                }
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// Whether `text` is one of the two words, a dash, and at least `least` valid characters.
fn word_and_rest(text: &str, words: [&str; 2], least: usize, fits: fn(&u8) -> bool) -> bool {
    let rest = words.iter().find_map(|word| text.strip_prefix(word)?.strip_prefix('-'));
    rest.is_some_and(|rest| rest.len() >= least && rest.as_bytes().iter().all(fits))
}

fn plan_or_task(text: &str) -> bool {
    word_and_rest(text, ["PLAN", "TASK"], 3, u8::is_ascii_digit)
}

fn is_conflict(text: &str) -> bool {
    let lower_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let rest = text.strip_prefix("CONFLICT-");
    rest.is_some_and(|rest| rest.len() == 32 && rest.as_bytes().iter().all(lower_hex))
}

fn is_path(text: &str) -> bool {
    text.split('.').all(|part| {
        let index = part.strip_prefix("s:");
        index.is_some_and(|index| {
            !index.is_empty() && index.as_bytes().iter().all(u8::is_ascii_digit)
        })
    })
}

id!(
    /// A plan. The contract has one pattern for plans and tasks, so a task's id is well-formed here, but names no
    /// plan.
    PlanId,
    "PlanId",
    "^(PLAN|TASK)-[0-9]{3,}$",
    "PLAN-001",
    plan_or_task
);
id!(
    /// A task. A plan's id is well-formed here, but names no task.
    TaskId,
    "TaskId",
    "^(PLAN|TASK)-[0-9]{3,}$",
    "TASK-001",
    plan_or_task
);
id!(
    /// A step.
    StepId,
    "StepId",
    "^(STEP|NODE)-[A-Za-z0-9]{8,}$",
    "STEP-00000001",
    |text| word_and_rest(text, ["STEP", "NODE"], 8, u8::is_ascii_alphanumeric)
);
id!(
    /// The place of a step in its task, counted from 0 at each depth.
    StepPath,
    "StepPath",
    r"^s:[0-9]+(\.s:[0-9]+)*$",
    "s:0.s:1",
    is_path
);
id!(
    /// A conflict of a merge.
    ConflictId,
    "ConflictId",
    "^CONFLICT-[0-9a-f]{32}$",
    "CONFLICT-0123456789abcdef0123456789abcdef",
    is_conflict
);

/// Ids that consist of a word and a number.
macro_rules! counted {
    ($name:ident, $form:literal, $read:expr) => {
        impl $name {
            /// The id of number `number` in its workspace, from 1.
            pub(crate) fn of(number: u64) -> Self {
                Self(format!($form, number))
            }

            /// The number in its workspace, if this server could have created the id.
            pub(crate) fn number(&self) -> Option<u64> {
                let (_, digits) = self.0.split_once('-')?;
                let read: fn(&str) -> Result<u64, ParseIntError> = $read;
                let number = read(digits).ok()?;
                (Self::of(number).0 == self.0).then_some(number)
            }
        }
    };
}

counted!(PlanId, "PLAN-{:03}", str::parse);
counted!(TaskId, "TASK-{:03}", str::parse);
counted!(StepId, "STEP-{:08X}", |digits| u64::from_str_radix(digits, 16));

impl StepPath {
    pub(crate) fn of(indexes: &[u64]) -> Self {
        let parts: Vec<String> = indexes.iter().map(|index| format!("s:{index}")).collect();
        Self(parts.join("."))
    }

    /// The index at each depth; none if one exceeds the index of any step.
    pub(crate) fn indexes(&self) -> Option<Vec<u64>> {
        self.0.split('.').map(|part| part.strip_prefix("s:")?.parse().ok()).collect()
    }
}

impl ConflictId {
    pub(crate) fn of(digest: &[u8]) -> Self {
        let mut digits = hex::encode(digest);
        digits.truncate(32);
        Self(format!("CONFLICT-{digits}"))
    }
}

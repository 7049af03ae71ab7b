//! Names that a caller chooses: workspaces, branches, and the parts of a graph.
//!
//! A value of one of these types has passed its check; there is no other way to make one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a text is not a name of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is empty, after trimming white space where that applies.
    #[error("a {what} must not be empty")]
    Empty { what: &'static str },
    /// It has too many characters (Unicode scalar values).
    #[error("a {what} has at most {most} characters, and this one has {found}")]
    TooLong { what: &'static str, most: usize, found: usize },
    /// It has a character that is not allowed there.
    #[error("a {what} must not have {character:?} at character {at}; {allowed}")]
    Character { what: &'static str, character: char, at: usize, allowed: &'static str },
}

/// The length limit and the allowed characters of a name.
struct Rule {
    what: &'static str,
    most: usize,
    allowed: &'static str,
    /// Whether the character is allowed at this position.
    fits: fn(usize, char) -> bool,
}

impl Rule {
    fn check(&self, text: &str) -> Result<(), NameError> {
        let what = self.what;
        if text.is_empty() {
            return Err(NameError::Empty { what });
        }
        let found = text.chars().count();
        if found > self.most {
            return Err(NameError::TooLong { what, most: self.most, found });
        }
        match text.chars().enumerate().find(|(at, character)| !(self.fits)(*at, *character)) {
            Some((at, character)) => {
                Err(NameError::Character { what, character, at, allowed: self.allowed })
            }
            None => Ok(()),
        }
    }
}

/// `[A-Za-z0-9][A-Za-z0-9._/-]*`
fn of_a_path(at: usize, character: char) -> bool {
    character.is_ascii_alphanumeric() || (at > 0 && matches!(character, '.' | '_' | '/' | '-'))
}

const OF_A_PATH: &str = "letters, digits and `.`, `_`, `/`, `-` may, the first a letter or a digit";

fn no_control(_: usize, character: char) -> bool {
    !character.is_control()
}

fn no_control_and_no_bar(_: usize, character: char) -> bool {
    !character.is_control() && character != '|'
}

const NO_CONTROL: &str = "anything but control characters may";
const NO_CONTROL_AND_NO_BAR: &str = "anything but control characters and `|` may";

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $canonical:path, $rule:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Limit of characters.
            pub const MOST: usize = $rule.most;

            /// Parses `text` to its canonical form.
            ///
            /// # Errors
            /// If `text` is empty, too long, or has a forbidden character.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                let canonical = $canonical(text);
                $rule.check(canonical)?;
                Ok(Self(canonical.to_owned()))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// No trimming: white space in such a name is a fault.
fn as_it_is(text: &str) -> &str {
    text
}

const WORKSPACE: Rule =
    Rule { what: "WorkspaceId", most: 128, allowed: OF_A_PATH, fits: of_a_path };
const BRANCH: Rule = Rule { what: "branch", most: 128, allowed: OF_A_PATH, fits: of_a_path };
const NODE: Rule = Rule {
    what: "GraphNodeId",
    most: 256,
    allowed: NO_CONTROL_AND_NO_BAR,
    fits: no_control_and_no_bar,
};
const TYPE: Rule = Rule { what: "GraphType", most: 128, allowed: NO_CONTROL, fits: no_control };
const REL: Rule = Rule {
    what: "GraphRel",
    most: 128,
    allowed: NO_CONTROL_AND_NO_BAR,
    fits: no_control_and_no_bar,
};

name!(
    /// The namespace of a project.
    WorkspaceId,
    as_it_is,
    WORKSPACE
);
name!(
    /// A branch of a workspace's graph, named like a workspace.
    BranchName,
    as_it_is,
    BRANCH
);
name!(
    /// A node of a graph. White space around it is trimmed. Sorted by code points.
    GraphNodeId,
    str::trim,
    NODE
);
name!(
    /// The type of a node. White space around it is trimmed.
    GraphType,
    str::trim,
    TYPE
);
name!(
    /// The relation of an edge. White space around it is trimmed.
    GraphRel,
    str::trim,
    REL
);

/// The pattern of a WorkspaceId and of a branch, for schemas.
pub(crate) const PATH_PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9._/-]*$";

impl BranchName {
    /// The branch that always exists.
    pub fn main() -> Self {
        Self("main".to_owned())
    }
}

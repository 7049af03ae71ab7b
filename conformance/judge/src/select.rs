//! Which cases a run executes.

use std::fmt;
use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};
use sha2::{Digest as _, Sha256};

use crate::case::Case;
use crate::problem::{did_you_mean, nearest};
use crate::suite::Suite;

/// The filters of a run; an empty list selects everything.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub contracts: Vec<String>,
    pub cases: Vec<String>,
    pub requirements: Vec<String>,
    /// Only this part of the selected cases.
    pub partition: Option<Partition>,
}

/// Why no case can be selected.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    #[error("unknown {kind} `{name}`{}; `proofmark list {kind}s` shows all", nearest.as_ref().map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default())]
    Unknown { kind: &'static str, name: String, nearest: Option<String> },
    #[error("`{glob}` is not a glob: {fault}")]
    BadGlob { glob: String, fault: String },
    #[error("no case matches `{glob}`{hint}; `proofmark list cases` shows all")]
    NoMatch { glob: String, hint: String },
    #[error("no case matches all filters; relax one of them")]
    Nothing,
    #[error("`{partition}` has none of the {cases} selected cases; use fewer parts")]
    EmptyPart { partition: Partition, cases: usize },
}

/// Why a text is not a partition.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartitionError {
    #[error("`{0}` must be `hash:K/N` or `slice:K/N`, such as `hash:1/3`")]
    Form(String),
    #[error("`{0}`: K must be from 1 to N")]
    Bounds(String),
    #[error("`{0}`: no suite has so many cases; N is at most 4294967295")]
    TooMany(String),
}

impl Suite {
    /// Whether it has all of these contracts.
    ///
    /// # Errors
    /// Names the first that it does not have, and the nearest that it has.
    pub fn has_contracts(&self, ids: &[String]) -> Result<(), SelectError> {
        known("contract", ids, || self.contracts.iter().map(|contract| contract.id.as_str()))
    }

    /// Only these contracts and their cases; everything, if the list is empty.
    ///
    /// # Errors
    /// If the suite lacks one of the contracts, or has no case for them.
    pub fn only(mut self, contracts: &[String]) -> Result<Self, SelectError> {
        if contracts.is_empty() {
            return Ok(self);
        }
        let selection = Selection { contracts: contracts.to_vec(), ..Selection::default() };
        selection.of(&self)?;
        self.contracts.retain(|contract| contracts.contains(&contract.id));
        self.cases.retain(|case| contracts.contains(&case.contract));
        self.is_part = true;
        Ok(self)
    }
}

impl Selection {
    /// The cases that match every filter, in name order. An empty selection is an error.
    pub fn of<'a>(&self, suite: &'a Suite) -> Result<Vec<&'a Case>, SelectError> {
        suite.has_contracts(&self.contracts)?;
        let requirements = || {
            suite
                .contracts
                .iter()
                .flat_map(|contract| &contract.requirements)
                .map(|requirement| requirement.id.as_str())
        };
        known("requirement", &self.requirements, requirements)?;
        let globs = self.globs(suite)?;
        let wanted = |case: &&Case| {
            (self.contracts.is_empty() || self.contracts.contains(&case.contract))
                && (self.requirements.is_empty()
                    || case.shows.iter().any(|id| self.requirements.contains(id)))
                && (globs.is_empty() || globs.iter().any(|glob| fits(glob, case)))
        };
        let selected: Vec<&Case> = suite.cases.iter().filter(wanted).collect();
        match self.partition {
            _ if selected.is_empty() => Err(SelectError::Nothing),
            None => Ok(selected),
            Some(partition) => {
                let cases = selected.len();
                let part = partition.of(selected);
                let empty = SelectError::EmptyPart { partition, cases };
                if part.is_empty() { Err(empty) } else { Ok(part) }
            }
        }
    }

    fn globs(&self, suite: &Suite) -> Result<Vec<GlobMatcher>, SelectError> {
        let mut globs = Vec::new();
        for glob in &self.cases {
            let compiled = GlobBuilder::new(glob)
                .literal_separator(true)
                .build()
                .map_err(|fault| SelectError::BadGlob {
                    glob: glob.clone(),
                    fault: fault.to_string(),
                })?
                .compile_matcher();
            if !suite.cases.iter().any(|case| fits(&compiled, case)) {
                return Err(SelectError::NoMatch { glob: glob.clone(), hint: hint(suite, glob) });
            }
            globs.push(compiled);
        }
        Ok(globs)
    }
}

/// What the author of this glob may have meant.
fn hint(suite: &Suite, glob: &str) -> String {
    if suite.requirement(glob).is_some() {
        return format!(" (`{glob}` is a requirement: `--requirement {glob}`)");
    }
    let across = GlobBuilder::new(glob).build().map(|glob| glob.compile_matcher());
    if across.is_ok_and(|across| suite.cases.iter().any(|case| fits(&across, case))) {
        return " (`*` stops at `/`, `**` does not: `**/part-of-a-name*`)".to_owned();
    }
    did_you_mean(glob, suite.cases.iter().flat_map(|case| [case.name.as_str(), case.id()]))
}

/// A glob may match the full name, the id within the contract, or a former name.
fn fits(glob: &GlobMatcher, case: &Case) -> bool {
    glob.is_match(&case.name)
        || glob.is_match(case.id())
        || case.aliases.iter().any(|alias| glob.is_match(alias))
}

fn known<'a, I: Iterator<Item = &'a str>>(
    kind: &'static str,
    asked: &[String],
    all: impl Fn() -> I,
) -> Result<(), SelectError> {
    match asked.iter().find(|name| !all().any(|known| known == *name)) {
        Some(name) => {
            // A common mistake that the edit distance does not catch: `notes` for `my.notes`.
            let ending = format!(".{name}");
            let whole = all().find(|known| known.ends_with(&ending));
            let nearest = whole.or_else(|| nearest(name, all())).map(str::to_owned);
            Err(SelectError::Unknown { kind, name: name.clone(), nearest })
        }
        None => Ok(()),
    }
}

/// One part of the selected cases, for one of several machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partition {
    /// By a hash of the name: a new case moves no other.
    Hash(Shard),
    /// Every Nth case in name order: part sizes differ by at most one.
    Slice(Shard),
}

impl Partition {
    fn of(self, cases: Vec<&Case>) -> Vec<&Case> {
        match self {
            Self::Hash(shard) => cases.into_iter().filter(|case| shard.picks(case)).collect(),
            Self::Slice(Shard { index, count }) => {
                let mine = |place: &u64| place % count == index;
                (0..).zip(cases).filter(|(place, _)| mine(place)).map(|(_, case)| case).collect()
            }
        }
    }
}

impl FromStr for Partition {
    type Err = PartitionError;

    fn from_str(text: &str) -> Result<Self, PartitionError> {
        let form = || PartitionError::Form(text.to_owned());
        let (kind, part) = text.split_once(':').ok_or_else(form)?;
        let (number, count) = part.split_once('/').ok_or_else(form)?;
        let whole = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !whole(number) || !whole(count) || !["hash", "slice"].contains(&kind) {
            return Err(form());
        }
        let many = |_| PartitionError::TooMany(text.to_owned());
        let number = u64::from(number.parse::<u32>().map_err(many)?);
        let count = u64::from(count.parse::<u32>().map_err(many)?);
        if !(1..=count).contains(&number) {
            return Err(PartitionError::Bounds(text.to_owned()));
        }
        let shard = Shard { index: number - 1, count };
        Ok(if kind == "hash" { Self::Hash(shard) } else { Self::Slice(shard) })
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Hash(shard) | Self::Slice(shard)) = self;
        let kind = if matches!(self, Self::Hash(_)) { "hash" } else { "slice" };
        write!(f, "{kind}:{}/{}", shard.index + 1, shard.count)
    }
}

/// One of several disjoint parts that together are the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    index: u64,
    count: u64,
}

impl Shard {
    /// All parts of a partition into `count`.
    pub fn all(count: u64) -> impl Iterator<Item = Self> {
        (0..count).map(move |index| Self { index, count })
    }

    /// The part depends only on the case's name, so that a new case moves no other.
    pub fn picks(&self, case: &Case) -> bool {
        let digest = Sha256::digest(case.name.as_bytes());
        let number = digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
        number % self.count == self.index
    }
}

//! Requirement ledgers: `fixtures/<contract>/requirements.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::problem::{Lines, Location, Problem, did_you_mean};
use crate::wire::{HttpPaths, Wire};

/// How binding a requirement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Must,
    Should,
    May,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::May => "may",
        })
    }
}

/// Whether the contract's text says so, or we decided where the text is silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    Contract,
    Interpretation,
}

/// One promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// Permanent: `CHRONICLE-007`.
    pub id: String,
    pub level: Level,
    pub basis: Basis,
    /// The promise in our words.
    pub sentence: String,
    /// Where the contract's text says it.
    pub source: String,
    /// For an interpretation: why we chose it.
    pub reason: Option<String>,
    /// Why no case shows it.
    pub excluded: Option<String>,
    /// The hook of an optional feature. The requirement applies only to subjects that offer it.
    pub applies_with: Option<String>,
    pub at: Location,
    /// A saboteur of the reference breaks it. Needed where no single answer shows the breakage.
    pub saboteur: bool,
}

impl Requirement {
    /// Whether certification depends on it. Interpretations never decide.
    pub fn decides(&self) -> bool {
        self.level == Level::Must && self.basis == Basis::Contract && self.excluded.is_none()
    }
}

/// A contract and its requirements, in the ledger's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contract {
    /// `my.notes`.
    pub id: String,
    pub title: String,
    /// The file with the contract's text.
    pub text: String,
    /// Whether each session gets a folder.
    pub workspace: bool,
    /// The contract's own wire, if it does not use the adapter's pipe.
    pub wire: Option<Wire>,
    /// The contract's default paths on an HTTP server.
    pub http: HttpPaths,
    pub operations: Vec<String>,
    /// Test hooks and the operations that each provides.
    pub hooks: BTreeMap<String, Vec<String>>,
    pub requirements: Vec<Requirement>,
    /// The sections of the contract's text that the sources cite, each with its hash when it was last reviewed
    /// ([`crate::sections`]).
    pub sections: BTreeMap<String, String>,
    pub at: Location,
}

impl Contract {
    /// The hook that provides `operation`, if any.
    pub fn hook_of(&self, operation: &str) -> Option<&str> {
        let brings = |(_, operations): &(&String, &Vec<String>)| {
            operations.iter().any(|name| name == operation)
        };
        self.hooks.iter().find(brings).map(|(hook, _)| hook.as_str())
    }

    pub fn requirement(&self, id: &str) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| requirement.id == id)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LedgerFile {
    contract: Spanned<String>,
    title: String,
    text: String,
    prefix: String,
    workspace: bool,
    wire: Option<Wire>,
    #[serde(default)]
    http: HttpPaths,
    operations: Vec<Spanned<String>>,
    #[serde(default)]
    hooks: BTreeMap<String, Vec<Spanned<String>>>,
    #[serde(default)]
    requirement: Vec<RequirementEntry>,
    sections: Option<BTreeMap<Spanned<String>, Spanned<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequirementEntry {
    id: Spanned<String>,
    level: Level,
    basis: Basis,
    sentence: String,
    source: Spanned<String>,
    reason: Option<String>,
    excluded: Option<String>,
    #[serde(rename = "applies-with")]
    applies_with: Option<String>,
    #[serde(default)]
    saboteur: bool,
}

/// Reads a ledger. `folder` is the name of its folder and must equal the contract's id.
pub fn parse(file: &str, folder: &str, text: &str) -> Result<Contract, Vec<Problem>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines::of(text);
    let ledger: LedgerFile = toml::from_str(text).map_err(|fault| {
        let place = lines.place(text, fault.span().unwrap_or(0..0));
        vec![Problem::exact(file, place, fault.message().to_owned())]
    })?;
    let mut problems = Vec::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let named = lines.place(text, ledger.contract.span());
    let at = named.line;
    if !is_contract_id(ledger.contract.get_ref()) {
        let message =
            format!("`{}` is not a valid contract id; {CONTRACT_IDS}", ledger.contract.get_ref());
        problems.push(Problem::exact(file, named, message));
    }
    if ledger.contract.get_ref() != folder {
        let message = format!(
            "contract `{}` is in the folder `{folder}`; the names must match",
            ledger.contract.get_ref()
        );
        problems.push(Problem::exact(file, named, message));
    }
    for (span, message) in wrong_operations(&ledger.operations, &ledger.hooks) {
        problems.push(Problem::exact(file, lines.place(text, span), message));
    }
    for entry in &ledger.requirement {
        let id = entry.id.get_ref();
        let place = lines.place(text, entry.id.span());
        let line = place.line;
        let mut wrong = |message: String| problems.push(Problem::exact(file, place, message));
        if !well_formed(id, &ledger.prefix) {
            wrong(format!("id `{id}` must be `{}-` and three digits", ledger.prefix));
        }
        if let Some(first) = seen.insert(id, line) {
            wrong(format!(
                "id `{id}` is already used on line {first}; ids are permanent and unique"
            ));
        }
        if entry.basis == Basis::Interpretation
            && entry.reason.as_deref().unwrap_or_default().trim().is_empty()
        {
            wrong(format!(
                "`{id}` is an interpretation without a `reason`: say why it was chosen where the text is silent"
            ));
        }
        if entry.sentence.trim().is_empty() || entry.source.get_ref().trim().is_empty() {
            wrong(format!(
                "`{id}` needs a `sentence` (the promise in plain words) and a `source` (where the text says it)"
            ));
        }
        if entry.excluded.as_deref().is_some_and(|reason| reason.trim().is_empty()) {
            wrong(format!("`excluded` of `{id}` is empty: say why no case shows it"));
        }
        if let Some(hook) = entry.applies_with.as_ref().filter(|it| !ledger.hooks.contains_key(*it))
        {
            let hint = did_you_mean(hook, ledger.hooks.keys().map(String::as_str));
            wrong(format!(
                "`{id}` applies with `{hook}`, which is not a hook of this ledger{hint}"
            ));
        }
    }
    if ledger.requirement.is_empty() {
        problems.push(Problem::exact(
            file,
            named,
            "the ledger has no `[[requirement]]`; add at least one",
        ));
    }
    if let Some(sections) = &ledger.sections {
        let sources = ledger.requirement.iter().map(|entry| &entry.source);
        for (span, message) in crate::sections::check_pins(sections, sources) {
            problems.push(Problem::exact(file, lines.place(text, span), message));
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let pinned =
        |(name, hash): (Spanned<String>, Spanned<String>)| (name.into_inner(), hash.into_inner());
    let names =
        |spanned: Vec<Spanned<String>>| spanned.into_iter().map(Spanned::into_inner).collect();
    let place = |line| Location { file: file.to_owned(), line };
    Ok(Contract {
        id: ledger.contract.into_inner(),
        title: ledger.title,
        text: ledger.text,
        workspace: ledger.workspace,
        wire: ledger.wire,
        http: ledger.http,
        operations: ledger
            .wire
            .into_iter()
            .flat_map(|wire| wire.operations().iter().map(|name| (*name).to_owned()))
            .chain(ledger.operations.into_iter().map(Spanned::into_inner))
            .collect(),
        hooks: ledger.hooks.into_iter().map(|(hook, own)| (hook, names(own))).collect(),
        sections: ledger.sections.into_iter().flatten().map(pinned).collect(),
        requirements: ledger
            .requirement
            .into_iter()
            .map(|entry| Requirement {
                at: place(lines.at(entry.id.span().start)),
                id: entry.id.into_inner(),
                level: entry.level,
                basis: entry.basis,
                sentence: entry.sentence,
                source: entry.source.into_inner(),
                reason: entry.reason,
                excluded: entry.excluded,
                applies_with: entry.applies_with,
                saboteur: entry.saboteur,
            })
            .collect(),
        at: place(at),
    })
}

/// Problems with the names of operations. An operation of a hook may also be one of the contract's own.
fn wrong_operations(
    operations: &[Spanned<String>],
    hooks: &BTreeMap<String, Vec<Spanned<String>>>,
) -> Vec<(Range<usize>, String)> {
    let mut wrong = Vec::new();
    for list in [operations.iter().collect(), hooks.values().flatten().collect::<Vec<_>>()] {
        let mut seen = BTreeSet::new();
        for name in list {
            let written = name.get_ref();
            let mut tell = |message: String| wrong.push((name.span(), message));
            if !is_operation(written) {
                tell(format!("`{written}` is not a valid operation name; {OPERATIONS}"));
            }
            if !seen.insert(written) {
                tell(format!("the operation `{written}` occurs twice; name each once"));
            }
            if let Some(wire) = Wire::of(written) {
                tell(format!(
                    "`{written}` is an operation of the wire `{wire}`; drop it, since `wire = \"{wire}\"` includes it"
                ));
            }
            if hooks.contains_key(written) {
                tell(format!(
                    "`{written}` is an operation and a hook; give the hook a name of its own"
                ));
            }
        }
    }
    wrong
}

/// The form of an operation's name, for messages.
const OPERATIONS: &str = "write two words or more with dots between them, such as `notes.add`, of letters, digits and single dashes";

/// No underscores: adapters may use them to build their own names for operations.
fn is_operation(name: &str) -> bool {
    let part =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    name.contains('.') && name.split('.').all(|word| word.split('-').all(part))
}

/// The form of a contract's id, for messages.
pub const CONTRACT_IDS: &str =
    "write lower-case words with dots or dashes between them, such as `my.notes`";

/// Whether this is a valid contract id. The id is also the name of a folder.
pub fn is_contract_id(id: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    id.split(['.', '-']).all(word)
}

fn well_formed(id: &str, prefix: &str) -> bool {
    id.strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('-'))
        .is_some_and(|digits| digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

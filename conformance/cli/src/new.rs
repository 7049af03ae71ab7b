//! `proofmark new`: adds a requirement, a fixture or a feature to fill in. The result passes lint at once.

use std::io::Write;
use std::path::PathBuf;

use proofmark_judge::ledger::{CONTRACT_IDS, is_contract_id};
use proofmark_judge::nearest;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use crate::edit::Draft;
use crate::exit::{Exit, Failed};

/// Add a requirement, a fixture or a feature to fill in. Existing files are never overwritten.
///
/// Creates the ledger if the contract has none.
#[derive(Debug, clap::Args)]
pub(crate) struct NewArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Requirement(RequirementArgs),
    Fixture(CaseArgs),
    Feature(CaseArgs),
}

/// Add a requirement to a ledger, with the next free id.
#[derive(Debug, clap::Args)]
struct RequirementArgs {
    /// For example my.notes.
    contract: String,
    /// The promise in plain words.
    #[arg(long, default_value = "Say in one sentence what is promised.")]
    sentence: String,
    /// Where in the contract's text it stands.
    #[arg(long)]
    source: Option<String>,
    #[arg(long, default_value = "must", value_parser = ["must", "should", "may"])]
    level: String,
    /// Where the text is silent: why you chose this. Makes the requirement an interpretation.
    #[arg(long, value_name = "WHY")]
    interpretation: Option<String>,
    /// The folder of the suite.
    #[arg(long, value_name = "DIR")]
    suite: PathBuf,
}

/// Create a file with one case.
#[derive(Debug, clap::Args)]
struct CaseArgs {
    /// For example my.notes.
    contract: String,
    /// The topic of the fixture or the name of the feature, in kebab-case.
    name: String,
    /// The requirement that the case shows [default: the first without a case, or else the first].
    #[arg(long, value_name = "ID")]
    shows: Option<String>,
    /// The operation that the case calls [default: the first in the ledger].
    #[arg(long, value_name = "OPERATION")]
    call: Option<String>,
    /// The folder of the suite.
    #[arg(long, value_name = "DIR")]
    suite: PathBuf,
}

/// The exclusion reason that `new requirement` writes. `new fixture` and `new feature` remove it.
const NOT_YET: &str = "no case yet";

/// Writes the names of the files that it wrote to `out`.
pub(crate) fn new(args: &NewArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let draft = match &args.what {
        What::Requirement(args) => requirement(args)?,
        What::Fixture(args) => case(args, |case| {
            (format!("fixtures/{}/{}.json", case.contract, case.name), case.fixture())
        })?,
        What::Feature(args) => case(args, |case| {
            (format!("features/{}/{}.feature", case.contract, case.name), case.feature())
        })?,
    };
    draft.check()?;
    draft.write()?;
    for (path, before, _) in draft.changed() {
        let done = if before.is_none() { "wrote" } else { "changed" };
        writeln!(out, "{done} {}", draft.path(path).display())?;
    }
    Ok(Exit::Holds)
}

fn requirement(args: &RequirementArgs) -> Result<Draft, Failed> {
    let mut draft = Draft::of(&args.suite)?;
    let mut ledger = Ledger::open(&draft, &args.contract)?;
    let id = ledger.next_id()?;
    let mut table = Table::new();
    table.insert("id", value(&id));
    table.insert("level", value(&args.level));
    let basis = if args.interpretation.is_some() { "interpretation" } else { "contract" };
    table.insert("basis", value(basis));
    table.insert("sentence", value(&args.sentence));
    let source = args.source.clone().unwrap_or_else(|| ledger.some_source());
    table.insert("source", value(source));
    if let Some(reason) = &args.interpretation {
        table.insert("reason", value(reason));
    }
    table.insert("excluded", value(NOT_YET));
    table.decor_mut().set_prefix("\n");
    ledger.requirements()?.push(table);
    ledger.put(&mut draft);
    Ok(draft)
}

fn case(args: &CaseArgs, file: impl Fn(&NewCase<'_>) -> (String, String)) -> Result<Draft, Failed> {
    let kebab = |name: &str| {
        name.split('-').all(|word| {
            !word.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
    };
    if !kebab(&args.name) {
        return Err(Failed::Usage(format!(
            "`{}` is not a valid name; use kebab-case, such as `round-trip`",
            args.name
        )));
    }
    // With the extension, a longer name does not fit some file systems.
    const LONGEST: usize = 100;
    if args.name.len() > LONGEST {
        return Err(Failed::Usage(format!(
            "the name has {} characters; use at most {LONGEST}",
            args.name.len()
        )));
    }
    let mut draft = Draft::of(&args.suite)?;
    let mut ledger = Ledger::open(&draft, &args.contract)?;
    if ledger.requirements()?.is_empty() {
        let mut table = Table::new();
        table.insert("id", value(ledger.next_id()?));
        table.insert("level", value("must"));
        table.insert("basis", value("contract"));
        table.insert("sentence", value("Say in one sentence what is promised."));
        table.insert("source", value(ledger.some_source()));
        table.decor_mut().set_prefix("\n");
        ledger.requirements()?.push(table);
    }
    let shows = ledger.shown(args.shows.as_deref())?;
    let call = ledger.operation(args.call.as_deref())?;
    ledger.put(&mut draft);
    let (path, text) =
        file(&NewCase { contract: &args.contract, name: &args.name, shows: &shows, call: &call });
    draft.add(&path, text)?;
    Ok(draft)
}

/// The parts of the new case. All are validated, so none needs escaping.
struct NewCase<'a> {
    contract: &'a str,
    name: &'a str,
    shows: &'a str,
    call: &'a str,
}

impl NewCase<'_> {
    fn fixture(&self) -> String {
        let Self { contract, name, shows, call } = self;
        format!(
            r#"{{
  "contract": "{contract}",
  "topic": "{name}",
  "cases": [
    {{
      "id": "{name}/say-what-it-shows",
      "why": "Say in one sentence what breaks for a user if it fails.",
      "shows": ["{shows}"],
      "origin": "contract",
      "steps": [
        {{ "call": "{call}", "args": {{}}, "returns": null }}
      ]
    }}
  ]
}}
"#
        )
    }

    fn feature(&self) -> String {
        let Self { name, shows, call, .. } = self;
        format!(
            "Feature: Say what the story is about\n\n  @id:{name}/say-what-it-tells @shows:{shows}\n  Scenario: Say in one sentence what breaks for a user if it fails\n    When \"{call}\" is called\n    Then it returns null\n"
        )
    }
}

/// A contract's ledger, possibly a new one. Untouched parts keep every byte.
struct Ledger {
    contract: String,
    path: String,
    document: DocumentMut,
}

impl Ledger {
    fn open(draft: &Draft, contract: &str) -> Result<Self, Failed> {
        if !is_contract_id(contract) {
            return Err(Failed::Usage(format!(
                "`{contract}` is not a contract id; {CONTRACT_IDS}"
            )));
        }
        let path = format!("fixtures/{contract}/requirements.toml");
        let text = draft.text(&path).map_or_else(|| skeleton(draft, contract), str::to_owned);
        let document = text.parse().map_err(|fault| {
            Failed::Usage(format!(
                "the ledger `{path}` is not valid TOML: {fault}; run `proofmark lint` for details"
            ))
        })?;
        Ok(Self { contract: contract.to_owned(), path, document })
    }

    fn put(self, draft: &mut Draft) {
        draft.put(&self.path, self.document.to_string());
    }

    fn wrong(&self, message: &str) -> Failed {
        Failed::Usage(format!(
            "the ledger `{}` {message}; run `proofmark lint` for details",
            self.path
        ))
    }

    fn requirements(&mut self) -> Result<&mut ArrayOfTables, Failed> {
        let message = self.wrong("has a `requirement` that is not a list of tables");
        self.document
            .entry("requirement")
            .or_insert(Item::ArrayOfTables(ArrayOfTables::new()))
            .as_array_of_tables_mut()
            .ok_or(message)
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        let tables = self.document.get("requirement").and_then(Item::as_array_of_tables);
        tables.into_iter().flatten().filter_map(|table| table.get("id")?.as_str())
    }

    /// Ids are permanent, so a gap is never filled.
    fn next_id(&self) -> Result<String, Failed> {
        let prefix = self.document.get("prefix").and_then(Item::as_str);
        let prefix = prefix.ok_or_else(|| self.wrong("has no `prefix`"))?;
        let number = |id: &str| id.strip_prefix(prefix)?.strip_prefix('-')?.parse::<u16>().ok();
        match self.ids().filter_map(number).max().unwrap_or(0) + 1 {
            next @ 1..1000 => Ok(format!("{prefix}-{next:03}")),
            _ => Err(self.wrong("has no free id of three digits left")),
        }
    }

    /// A pinned section if there is one, so that the ledger still passes lint.
    fn some_source(&self) -> String {
        let pins = self.document.get("sections").and_then(Item::as_table_like);
        let first = pins.and_then(|pins| pins.iter().next().map(|(name, _)| name.to_owned()));
        first.unwrap_or_else(|| "Say where in the text it stands".to_owned())
    }

    fn unknown<'a>(
        &self,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Failed {
        let hint = nearest(name, known).map(|name| format!(" (did you mean `{name}`?)"));
        let hint = hint.unwrap_or_default();
        Failed::Usage(format!(
            "{} has no {what} `{name}`{hint}; the ledger `{}` lists them all",
            self.contract, self.path
        ))
    }

    /// The requirement that the new case shows. Removes its "no case yet" exclusion.
    fn shown(&mut self, asked: Option<&str>) -> Result<String, Failed> {
        if let Some(id) = asked.filter(|id| !self.ids().any(|known| known == *id)) {
            return Err(self.unknown("requirement", id, self.ids()));
        }
        let reason =
            |table: &Table| table.get("excluded").and_then(Item::as_str).map(str::to_owned);
        let tables = self.requirements()?;
        let waiting = tables.iter().position(|table| reason(table).as_deref() == Some(NOT_YET));
        let found = match asked {
            Some(id) => {
                tables.iter().position(|table| table.get("id").and_then(Item::as_str) == Some(id))
            }
            None => waiting.or_else(|| tables.iter().position(|table| reason(table).is_none())),
        };
        let Some(table) = found.and_then(|at| tables.get_mut(at)) else {
            return Err(self.wrong("excludes every requirement; name one with `--shows`"));
        };
        let id = table.get("id").and_then(Item::as_str).unwrap_or_default().to_owned();
        match reason(table) {
            Some(reason) if reason == NOT_YET => {
                table.remove("excluded");
            }
            Some(reason) => {
                return Err(Failed::Usage(format!(
                    "`{id}` is excluded ({reason}); delete the exclusion from `{}` first",
                    self.path
                )));
            }
            None => {}
        }
        Ok(id)
    }

    fn operation(&self, asked: Option<&str>) -> Result<String, Failed> {
        let list = self.document.get("operations").and_then(Item::as_array);
        let known = || list.into_iter().flatten().filter_map(toml_edit::Value::as_str);
        match asked {
            Some(name) if known().any(|operation| operation == name) => Ok(name.to_owned()),
            Some(name) => Err(self.unknown("operation", name, known())),
            None => {
                known().next().map(str::to_owned).ok_or_else(|| self.wrong("has no `operations`"))
            }
        }
    }
}

/// A prefix that no other ledger uses, because ids are unique in a suite: the last word of the contract, else all
/// words, else with a number.
fn free_prefix(draft: &Draft, contract: &str) -> String {
    let prefix = |path: &String| {
        let ledger: DocumentMut = draft.text(path)?.parse().ok()?;
        Some(ledger.get("prefix")?.as_str()?.to_owned())
    };
    let taken: Vec<String> = draft.ledgers().iter().filter_map(prefix).collect();
    let last = contract.rsplit('.').next().unwrap_or(contract).to_uppercase();
    let whole = contract.replace('.', "-").to_uppercase();
    let mut wanted = last;
    let mut further =
        std::iter::once(whole.clone()).chain((2..).map(|number| format!("{whole}-{number}")));
    while taken.contains(&wanted) {
        wanted = further.next().unwrap_or_default();
    }
    wanted
}

/// A ledger without a requirement.
fn skeleton(draft: &Draft, contract: &str) -> String {
    let last = contract.rsplit('.').next().unwrap_or(contract);
    let prefix = free_prefix(draft, contract);
    format!(
        r#"contract = "{contract}"
title = "Say what it promises as a whole"
text = "{contract}.md"                # where the contract's own text is
prefix = "{prefix}"
workspace = true                # whether a session gets a folder
operations = ["{last}.operation"]
"#
    )
}

//! Changes of a contract's text: affected sections, requirements, cases and subjects. Also writes the pins.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use proofmark_certificate::dsse::{Envelope, EnvelopeError};
use proofmark_certificate::statement::Statement;
use proofmark_judge::Suite;
use proofmark_judge::ledger::Contract;
use proofmark_judge::sections::{Sections, citations, pins_of, plain};
use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, Table, value};

use super::TraceArgs;
use crate::edit::Draft;
use crate::exit::{Exit, Failed, standing};
use crate::keep;
use crate::options::Format;

/// Exit code 0 if the change affects nothing.
pub(super) fn trace(args: &TraceArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let mut texts = BTreeMap::new();
    for path in &args.text {
        let (name, sections) = read(path)?;
        if texts.insert(name.clone(), sections).is_some() {
            return Err(Failed::Usage(format!(
                "two texts have the name `{name}`; ledgers refer to texts by name, so give each name once"
            )));
        }
    }
    if let (true, Some(folder)) = (args.pin, &args.suite.suite) {
        return pin(folder, &texts, out);
    }
    let suite = args.suite.load()?;
    let subjects =
        args.certificate.iter().map(|path| Held::read(path)).collect::<Result<Vec<_>, _>>()?;
    let touched: Vec<Touched<'_>> = touched(suite, &texts)?;
    let exit =
        if touched.iter().all(Touched::is_nothing) { Exit::Holds } else { Exit::DoesNotHold };
    let report = report(&touched, &subjects);
    let written = match args.format {
        Format::Json => serde_json::to_writer_pretty(&mut *out, &report)
            .map_err(Into::into)
            .and_then(|()| writeln!(out)),
        Format::Human => write_human(&report, out),
    };
    standing(exit, written)
}

/// Reads a text; returns its name and sections.
fn read(path: &Path) -> Result<(String, Sections), Failed> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let text = String::from_utf8(keep::read(path, keep::MOST_TEXT)?).map_err(|fault| {
        Failed::Usage(format!("the text `{}` is not UTF-8: {fault}", path.display()))
    })?;
    Ok((name.unwrap_or_default(), Sections::of(&text)))
}

/// What the change of a text affects in one contract.
struct Touched<'a> {
    contract: &'a Contract,
    changed: BTreeSet<String>,
    gone: BTreeSet<String>,
    /// Sections that no requirement cites: title and line.
    uncited: Vec<(String, usize)>,
    requirements: Vec<&'a str>,
    cases: Vec<&'a str>,
}

impl Touched<'_> {
    fn is_nothing(&self) -> bool {
        self.changed.is_empty() && self.gone.is_empty()
    }
}

fn touched<'a>(
    suite: &'a Suite,
    texts: &BTreeMap<String, Sections>,
) -> Result<Vec<Touched<'a>>, Failed> {
    for name in texts.keys() {
        if !suite.contracts.iter().any(|contract| contract.text == *name) {
            return Err(no_such_text(name, suite.contracts.iter().map(|one| one.text.as_str())));
        }
    }
    let mut found = Vec::new();
    for contract in &suite.contracts {
        let Some(sections) = texts.get(&contract.text) else { continue };
        if contract.sections.is_empty() {
            return Err(Failed::Usage(format!(
                "the ledger of {} pins no section, so changes cannot be detected; pin them first with `proofmark trace --text FILE --pin --suite DIR`",
                contract.id
            )));
        }
        let changes = sections.changes(&contract.sections);
        let pins: Vec<&str> = contract.sections.keys().map(String::as_str).collect();
        let hit = |pin: &str| changes.changed.contains(pin) || changes.gone.contains(pin);
        let requirements: Vec<&str> = contract
            .requirements
            .iter()
            .filter(|one| pins_of(&pins, &one.source).into_iter().flatten().any(hit))
            .map(|one| one.id.as_str())
            .collect();
        let cases: BTreeSet<&str> = requirements
            .iter()
            .flat_map(|id| suite.cases_showing(id))
            .map(|case| case.name.as_str())
            .collect();
        let uncited =
            sections.beside(&pins).map(|(title, line)| (title.to_owned(), line)).collect();
        found.push(Touched {
            contract,
            uncited,
            requirements,
            cases: cases.into_iter().collect(),
            changed: changes.changed,
            gone: changes.gone,
        });
    }
    Ok(found)
}

fn no_such_text<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Failed {
    let known: BTreeSet<&str> = known.collect();
    let known = known.into_iter().collect::<Vec<_>>().join("`, `");
    Failed::Usage(format!(
        "no ledger names the text `{name}`; the ledgers name `{known}` (keep the file name of a copy, in another folder)"
    ))
}

/// A certified or refused subject, and its requirements.
struct Held {
    file: PathBuf,
    subject: String,
    /// A refusal also describes a subject.
    certified: bool,
    requirements: BTreeSet<String>,
}

impl Held {
    /// Reads a plain or a signed certificate. `verify` checks whether it is genuine.
    fn read(path: &Path) -> Result<Self, Failed> {
        let bad = |fault: String| Failed::NoCertificate { path: path.to_owned(), fault };
        let file = keep::read(path, keep::MOST_TEXT)?;
        let bytes = match Envelope::parse(&file) {
            Ok(envelope) => envelope.payload().map_err(|fault| bad(fault.to_string()))?,
            Err(EnvelopeError::Form(_)) if !is_enveloped(&file) => file,
            Err(fault) => return Err(bad(fault.to_string())),
        };
        let statement = Statement::parse(&bytes).map_err(|fault| bad(fault.to_string()))?;
        let certified = statement.is_certified();
        let predicate = statement.predicate;
        let subject = match predicate.implementation {
            Some(hello) => format!("{} {}", hello.name, hello.version),
            None => "a subject that never answered `hello`".to_owned(),
        };
        let asked = predicate.asked;
        let held =
            predicate.contracts.into_iter().filter(|one| one.claimed || asked.contains(&one.id));
        let requirements =
            held.flat_map(|contract| contract.requirements).map(|one| one.id).collect();
        Ok(Self { file: path.to_owned(), subject, certified, requirements })
    }
}

/// Whether the file looks like a DSSE envelope.
fn is_enveloped(file: &[u8]) -> bool {
    let value: Option<Value> = serde_json::from_slice(file).ok();
    value.is_some_and(|value| value.get("payloadType").is_some())
}

fn report(touched: &[Touched<'_>], subjects: &[Held]) -> Value {
    let contracts: Vec<Value> = touched
        .iter()
        .map(|one| {
            let uncited: Vec<Value> = one
                .uncited
                .iter()
                .map(|(title, line)| json!({ "title": title, "line": line }))
                .collect();
            json!({
                "contract": one.contract.id, "text": one.contract.text,
                "sections": { "changed": one.changed, "gone": one.gone, "uncited": uncited },
                "requirements": one.requirements, "cases": one.cases,
            })
        })
        .collect();
    let ids: BTreeSet<&str> = touched.iter().flat_map(|one| &one.requirements).copied().collect();
    let subjects: Vec<Value> = subjects
        .iter()
        .map(|one| {
            let hit: Vec<&String> =
                one.requirements.iter().filter(|id| ids.contains(id.as_str())).collect();
            json!({
                "subject": one.subject, "certificate": one.file.display().to_string(),
                "certified": one.certified, "requirements": hit,
            })
        })
        .collect();
    let any = touched.iter().any(|one| !one.is_nothing());
    json!({ "touched": any, "contracts": contracts, "subjects": subjects })
}

fn write_human(report: &Value, out: &mut dyn Write) -> std::io::Result<()> {
    let each = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for one in each(&report["contracts"]) {
        let sections = &one["sections"];
        let uncited = each(&sections["uncited"]).len();
        writeln!(
            out,
            "{} in {}: {} sections changed, {} gone ({uncited} not cited)",
            word(&one["contract"]),
            word(&one["text"]),
            each(&sections["changed"]).len(),
            each(&sections["gone"]).len(),
        )?;
        for (label, list) in [
            ("changed", &sections["changed"]),
            ("gone", &sections["gone"]),
            ("promise", &one["requirements"]),
            ("case", &one["cases"]),
        ] {
            each(list).iter().try_for_each(|item| super::line(out, label, word(item)))?;
        }
    }
    for one in each(&report["subjects"]) {
        let ids: Vec<String> = each(&one["requirements"]).iter().map(word).collect();
        let touched = if ids.is_empty() { "untouched".to_owned() } else { ids.join(", ") };
        let refused = if one["certified"] == true { "" } else { "; it is not certified" };
        let (subject, file) = (word(&one["subject"]), word(&one["certificate"]));
        writeln!(out, "{subject} ({file}): {touched}{refused}")?;
    }
    Ok(())
}

/// Writes `[sections]` into every ledger that uses one of these texts; nothing else in a ledger changes.
fn pin(
    folder: &Path,
    texts: &BTreeMap<String, Sections>,
    out: &mut dyn Write,
) -> Result<Exit, Failed> {
    let mut draft = Draft::of(folder)?;
    let mut known = BTreeSet::new();
    let mut used = BTreeSet::new();
    let mut remarks = Vec::new();
    for path in draft.ledgers() {
        let text = draft.text(&path).unwrap_or_default();
        let mut ledger: DocumentMut = text.parse().map_err(|fault| {
            Failed::Usage(format!("the ledger `{path}` is not valid TOML: {fault}"))
        })?;
        let name = ledger.get("text").and_then(Item::as_str).unwrap_or_default().to_owned();
        known.insert(name.clone());
        let Some(sections) = texts.get(&name) else { continue };
        let pins = cited(&path, &ledger, sections, &mut remarks)?;
        write_pins(&mut ledger, &pins);
        draft.put(&path, ledger.to_string());
        used.insert(name);
    }
    if let Some(name) = texts.keys().find(|name| !used.contains(*name)) {
        return Err(no_such_text(name, known.iter().map(String::as_str)));
    }
    draft.check()?;
    draft.write()?;
    remarks.iter().try_for_each(|remark| writeln!(out, "{remark}"))?;
    let changed: Vec<&str> = draft.changed().map(|(path, ..)| path).collect();
    if changed.is_empty() {
        writeln!(out, "every pin is up to date")?;
    }
    changed.iter().try_for_each(|path| writeln!(out, "changed {}", draft.path(path).display()))?;
    Ok(Exit::Holds)
}

/// A note for the user: the pin covers less than the source says, or the heading is ambiguous.
fn remark(id: &str, citation: &str, pin: &str, lines: &[usize]) -> Option<String> {
    if let [first, _, ..] = lines {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        return Some(format!(
            "{id}: `{pin}` matches the headings on lines {}; pinned the one on line {first}; to pin another, name its parent heading too",
            lines.join(", ")
        ));
    }
    let citation = plain(citation);
    let is_exact = citation == pin || pin.ends_with(&format!(", {citation}"));
    (!is_exact).then(|| format!("{id}: no heading `{citation}`; pinned `{pin}`"))
}

/// Every section that a ledger's sources cite, with its hash.
fn cited(
    path: &str,
    ledger: &DocumentMut,
    sections: &Sections,
    remarks: &mut Vec<String>,
) -> Result<BTreeMap<String, String>, Failed> {
    let mut pins = BTreeMap::new();
    let tables = ledger.get("requirement").and_then(Item::as_array_of_tables);
    for table in tables.into_iter().flatten() {
        let text = |key: &str| table.get(key).and_then(Item::as_str).unwrap_or_default();
        let source = text("source");
        for (name, citation) in sections.cited(source).into_iter().zip(citations(source)) {
            let found = name.ok().and_then(|name| {
                let hash = sections.named(&name)?.hash.clone();
                Some((name, hash))
            });
            let Some((name, hash)) = found else {
                return Err(Failed::Usage(format!(
                    "`{}` in `{path}` cites `{}`, but the text has no such heading; begin each citation with a heading, such as `Behavioral Rules`",
                    text("id"),
                    text("source")
                )));
            };
            remarks.extend(remark(text("id"), citation, &name, &sections.lines_named(&name)));
            pins.insert(name, hash);
        }
    }
    Ok(pins)
}

fn write_pins(ledger: &mut DocumentMut, pins: &BTreeMap<String, String>) {
    let is_new = !ledger.contains_key("sections");
    let table = ledger.entry("sections").or_insert_with(|| Item::Table(Table::new()));
    if let Some(table) = table.as_table_mut() {
        if is_new {
            table.decor_mut().set_prefix("\n# What the cited sections of the text said when the sources were last read: see `proofmark trace --text`.\n");
        }
        table.retain(|name, _| pins.contains_key(name));
        for (name, hash) in pins {
            match table.get_mut(name) {
                // An unchanged value keeps its comment.
                Some(old) if old.as_str() == Some(hash) => {}
                _ => {
                    table.insert(name, value(hash));
                }
            }
        }
    }
}

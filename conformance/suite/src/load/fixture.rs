//! Fixture files: `fixtures/<contract>/<topic>.json`, the cases of one topic.

use std::collections::BTreeMap;

use proofmark_protocol::{ClockScript, RandomTape};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::expand::expand;
use super::files::{files_expected, files_given};
use super::strict::NoDuplicateKeys;
use crate::case::{Action, CallStep, Case, CaseKind, Given, Origin, Outcome, Step};
use crate::matcher::Pattern;
use crate::outcome::joined;
use crate::problem::{Lines, Location, Problem, offset};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FixtureFile<'a> {
    contract: String,
    topic: String,
    #[serde(borrow)]
    cases: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseEntry<'a> {
    id: String,
    #[serde(default)]
    aliases: Vec<String>,
    why: String,
    shows: Vec<String>,
    origin: String,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    given: GivenEntry,
    #[serde(borrow)]
    steps: Vec<&'a RawValue>,
    leaves: Option<BTreeMap<String, Value>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenEntry {
    clock: Option<ClockScript>,
    random: Option<RandomTape>,
    #[serde(default)]
    files: BTreeMap<String, Value>,
    #[serde(default)]
    fakes: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepEntry {
    call: Option<String>,
    args: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    returns: Option<Value>,
    fails: Option<Map<String, Value>>,
    either: Option<Vec<OutcomeEntry>>,
    asks: Option<Value>,
    streams: Option<Value>,
    #[serde(default)]
    hides: Vec<String>,
    process: Option<String>,
    session: Option<String>,
    #[serde(rename = "as")]
    saved_as: Option<String>,
    #[serde(rename = "streamAs")]
    stream_as: Option<String>,
    together: Option<Vec<StepEntry>>,
    kill: Option<String>,
    files: Option<BTreeMap<String, Value>>,
    leaves: Option<BTreeMap<String, Value>>,
}

impl StepEntry {
    /// Whether `$bless` stands anywhere in what is expected.
    fn has_bless_inside(&self) -> bool {
        let failures = self.either.iter().flatten().filter_map(|one| one.fails.as_ref());
        let values = self.either.iter().flatten().filter_map(|one| one.returns.as_ref());
        let mut values = values.chain(&self.returns).chain(&self.asks).chain(&self.streams);
        let mut failures = failures.chain(&self.fails);
        values.any(has_bless) || failures.any(a_member_has_bless)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OutcomeEntry {
    #[serde(default, deserialize_with = "present")]
    returns: Option<Value>,
    fails: Option<Map<String, Value>>,
}

/// Tells `"returns": null` from no `returns` at all.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Reads one fixture file: the cases that can be read, and all that is wrong.
pub(crate) fn parse(file: &str, folder: &str, text: &str) -> (Vec<Case>, Vec<Problem>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines::of(text);
    let one = |fault: &serde_json::Error| {
        let at = offset(text, fault.line(), fault.column());
        let place = lines.place(text, at..at + 1);
        (Vec::new(), vec![Problem::exact(file, place, plain(fault))])
    };
    if let Err(fault) = serde_json::from_str::<NoDuplicateKeys>(text) {
        return one(&fault);
    }
    // A list of the right length would be taken for the members in their order.
    if !text.trim_start().starts_with('{') {
        let told =
            "a fixture must be a JSON object with the members `contract`, `topic` and `cases`";
        return (Vec::new(), vec![Problem::new(file, 1, told)]);
    }
    let fixture: FixtureFile<'_> = match serde_json::from_str(text) {
        Ok(fixture) => fixture,
        Err(fault) => return one(&fault),
    };
    let mut problems = Vec::new();
    if fixture.contract != folder {
        let message = format!(
            "contract `{}` stands in the folder `{folder}`; they must be the same",
            fixture.contract
        );
        problems.push(Problem::new(file, 1, message));
    }
    let stem = file.rsplit('/').next().and_then(|name| name.strip_suffix(".json")).unwrap_or(file);
    if fixture.topic != stem {
        problems.push(Problem::new(
            file,
            1,
            format!("topic `{}` stands in `{stem}.json`; they must be the same", fixture.topic),
        ));
    }
    if fixture.cases.is_empty() {
        problems.push(Problem::new(
            file,
            1,
            "`cases` is empty; a file without cases checks nothing",
        ));
    }
    let mut cases = Vec::with_capacity(fixture.cases.len());
    let reader = Reader { file, text, lines, contract: folder, topic: &fixture.topic };
    for raw in &fixture.cases {
        match reader.case(raw.get()) {
            Ok(case) => cases.push(case),
            Err(mut found) => problems.append(&mut found),
        }
    }
    (cases, problems)
}

/// A message of serde_json without its own position, which is relative to a part of the file.
fn plain(fault: &serde_json::Error) -> String {
    let text = fault.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    lines: Lines,
    contract: &'a str,
    topic: &'a str,
}

impl Reader<'_> {
    /// `part` is a slice of the file's text, so its place is known.
    fn line(&self, part: &str) -> usize {
        self.lines.at(part.as_ptr().addr() - self.text.as_ptr().addr())
    }

    fn case(&self, raw: &str) -> Result<Case, Vec<Problem>> {
        let start = self.line(raw);
        if !raw.starts_with('{') {
            let told = "a case must be a JSON object with at least `id`, `why`, `shows`, `origin` and `steps`";
            return Err(vec![Problem::new(self.file, start, told)]);
        }
        let entry: CaseEntry<'_> = serde_json::from_str(raw).map_err(|fault| {
            let line = start + fault.line().max(1) - 1;
            let at = raw.as_ptr().addr() - self.text.as_ptr().addr()
                + offset(raw, fault.line(), fault.column());
            let problem = Problem::new(self.file, line, plain(&fault));
            vec![problem.inside(self.lines.place(self.text, at..at + 1))]
        })?;
        let told = |line: usize, message: String| {
            Problem::new(self.file, line, format!("case `{}`: {message}", entry.id))
        };
        let mut problems = Vec::new();
        let mut wrong = |message: String| problems.push(told(start, message));
        if !entry.id.strip_prefix(self.topic).is_some_and(|rest| rest.starts_with('/')) {
            wrong(format!("the id must begin with the topic, `{}/`", self.topic));
        }
        let files = files_given(&entry.given.files).unwrap_or_else(|message| {
            wrong(message);
            BTreeMap::new()
        });
        let leaves = entry.leaves.as_ref().map(files_expected).transpose();
        let leaves = leaves.unwrap_or_else(|message| {
            wrong(message);
            None
        });
        let origin = Origin::parse(&entry.origin).unwrap_or_else(|message| {
            wrong(message);
            Origin::Contract
        });
        let given = Given {
            clock: entry.given.clock.unwrap_or_default(),
            random: entry.given.random.unwrap_or_default(),
            files,
            fakes: entry.given.fakes.clone(),
        };
        let at = |line| Location { file: self.file.to_owned(), line };
        let mut steps = Vec::with_capacity(entry.steps.len());
        for raw in &entry.steps {
            let line = self.line(raw.get());
            match actions(raw.get()) {
                Ok(actions) => steps.extend(actions.into_iter().map(|action| Step {
                    action,
                    at: at(line),
                    words: None,
                })),
                Err(message) => problems.push(told(line, message)),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        if let Some(leaves) = leaves {
            steps.push(Step { action: Action::Leaves(leaves), at: at(start), words: None });
        }
        Ok(Case {
            name: format!("{}/{}", self.contract, entry.id),
            aliases: entry
                .aliases
                .iter()
                .map(|alias| format!("{}/{alias}", self.contract))
                .collect(),
            contract: self.contract.to_owned(),
            kind: CaseKind::Fixture,
            origin,
            why: entry.why,
            shows: entry.shows,
            needs: entry.needs,
            given,
            steps,
            at: at(start),
        })
    }
}

/// One step, or several when it is a `$repeat`.
fn actions(raw: &str) -> Result<Vec<Action>, String> {
    // Nearly every step repeats nothing, and is read as it stands. An escape could hide the `$`.
    if raw.starts_with('{') && !raw.contains("$repeat") && !raw.contains("\\u") {
        let step = serde_json::from_str(raw).map_err(|fault| plain(&fault))?;
        return action(step).map(|action| vec![action]);
    }
    let written: Value = serde_json::from_str(raw).map_err(|fault| fault.to_string())?;
    let Value::Array(steps) = expand(Value::Array(vec![written]))? else {
        return Err("a step must be an object".to_owned());
    };
    steps
        .into_iter()
        .map(|step| match step {
            Value::Object(_) => {
                action(serde_json::from_value(step).map_err(|fault| fault.to_string())?)
            }
            other => Err(format!("a step must be an object, not {other}")),
        })
        .collect()
}

fn action(step: StepEntry) -> Result<Action, String> {
    match step {
        StepEntry { call: Some(_), together: None, kill: None, files: None, leaves: None, .. } => call(step).map(Action::Call),
        StepEntry { call: None, args: None, returns: None, fails: None, either: None, asks: None, streams: None, process: None, session: None, saved_as: None, stream_as: None, together, kill, files, leaves, hides } if hides.is_empty() => {
            match (together, kill, files, leaves) {
                (Some(calls), None, None, None) => calls.into_iter().map(call_together).collect::<Result<_, _>>().map(Action::Together),
                (None, Some(process), None, None) => Ok(Action::Kill { process }),
                (None, None, Some(files), None) => files_given(&files).map(Action::Write),
                (None, None, None, Some(leaves)) => files_expected(&leaves).map(Action::Leaves),
                _ => Err("a step has exactly one of `call`, `together`, `kill`, `files` and `leaves`".to_owned()),
            }
        }
        _ => Err("`args`, `returns`, `fails`, `either`, `asks`, `streams`, `hides`, `process`, `session`, `as` and `streamAs` belong to a `call`, which has none of `together`, `kill`, `files` and `leaves`".to_owned()),
    }
}

fn call_together(step: StepEntry) -> Result<CallStep, String> {
    match action(step)? {
        Action::Call(call) => Ok(call),
        _ => Err("inside `together` every step is a `call`".to_owned()),
    }
}

fn call(step: StepEntry) -> Result<CallStep, String> {
    let Some(operation) = step.call.clone() else {
        return Err("a call names its operation in `call`".to_owned());
    };
    match step.returns.as_ref().and_then(bless_mark) {
        Some(Value::Bool(true)) => {
            return Err(format!(
                "the call of `{operation}` expects nothing yet; run `proofmark bless --suite DIR`, which writes what the reference answers in place of `$bless`"
            ));
        }
        Some(other) => {
            return Err(format!(
                "`$bless` takes true, not {other}; write `\"returns\": {{\"$bless\": true}}` or what the call returns"
            ));
        }
        None => {}
    }
    if step.has_bless_inside() {
        return Err(format!(
            "`$bless` can only be the whole `returns` of a call; write `\"returns\": {{\"$bless\": true}}`, whether `{operation}` is to return or to fail"
        ));
    }
    let expect = match (step.returns, step.fails, step.either) {
        (Some(value), None, None) => vec![Outcome::Returns(Pattern::new(value)?)],
        (None, Some(error), None) => vec![fails(error)?],
        (None, None, Some(alternatives)) if alternatives.len() > 1 => alternatives
            .into_iter()
            .map(|alternative| match (alternative.returns, alternative.fails) {
                (Some(value), None) => Ok(Outcome::Returns(Pattern::new(value)?)),
                (None, Some(error)) => fails(error),
                _ => Err("each alternative of `either` is a `returns` or a `fails`".to_owned()),
            })
            .collect::<Result<_, _>>()?,
        _ => {
            return Err(format!(
                "the call of `{operation}` needs exactly one of `returns`, `fails` and `either` (two alternatives or more)"
            ));
        }
    };
    let args = step.args.unwrap_or_else(|| Value::Object(Map::new()));
    let mut call = CallStep::new(&operation, args, expect);
    call.process = step.process.unwrap_or(call.process);
    call.session = step.session.unwrap_or(call.session);
    call.saved_as = step.saved_as;
    call.stream_as = step.stream_as;
    if let Some(asks) = step.asks {
        call.asks = Some(list(asks).map_err(|fault| format!("`asks`: {fault}"))?);
    }
    if let Some(streams) = step.streams {
        call.streams = stream(streams).map_err(|fault| format!("`streams`: {fault}"))?;
    }
    if step.hides.iter().any(String::is_empty) {
        return Err("`hides` has an empty text, which stands everywhere".to_owned());
    }
    call.hides = step.hides;
    Ok(call)
}

/// A list that is expected, or a matcher of one.
fn list(expected: Value) -> Result<Pattern, String> {
    if is_list(&expected) {
        return Pattern::new(expected);
    }
    Err(format!(
        "must be a list, or `$oneOf`, `$unordered`, `$contains` or `$startsWith` with lists, or a `$ref`, not {expected}"
    ))
}

fn is_list(expected: &Value) -> bool {
    let only = expected.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next());
    match only.map(|(key, inner)| (key.as_str(), inner)) {
        Some(("$oneOf", Value::Array(choices))) => choices.iter().all(is_list),
        Some(("$unordered" | "$contains" | "$startsWith", inner)) => inner.is_array(),
        Some(("$ref", inner)) => inner.is_string(),
        _ => expected.is_array(),
    }
}

/// The items of a stream, as they are compared: adjacent texts are one.
pub(crate) fn stream(expected: Value) -> Result<Pattern, String> {
    list(as_joined(expected))
}

fn as_joined(expected: Value) -> Value {
    match expected {
        Value::Array(items) => Value::Array(joined(&items)),
        Value::Object(mut map) => {
            if let (1, Some(Value::Array(choices))) = (map.len(), map.get_mut("$oneOf")) {
                for choice in choices {
                    *choice = as_joined(choice.take());
                }
            }
            Value::Object(map)
        }
        other => other,
    }
}

/// What `$bless` takes, where it is all that is expected. `{"$bless": true}`: an author wants what a subject answers written down.
fn bless_mark(expected: &Value) -> Option<&Value> {
    expected.as_object().filter(|map| map.len() == 1)?.get("$bless")
}

fn has_bless(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_bless),
        Value::Object(map) if map.len() == 1 && map.contains_key("$literal") => false,
        Value::Object(map) => a_member_has_bless(map),
        _ => false,
    }
}

fn a_member_has_bless(map: &Map<String, Value>) -> bool {
    map.contains_key("$bless") || map.values().any(has_bless)
}

/// An expected contract error; without a code anything at all would do.
pub(crate) fn fails(error: Map<String, Value>) -> Result<Outcome, String> {
    if !error.contains_key("code") {
        return Err("`fails` needs a `code`".to_owned());
    }
    Pattern::open(error).map(Outcome::Fails)
}

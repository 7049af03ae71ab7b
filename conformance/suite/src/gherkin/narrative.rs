//! The `cucumber` world of a scenario: the case as built so far.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};

use cucumber::gherkin;
use serde_json::{Map, Value, json};

use super::document;
use proofmark_judge::case::{Action, CallStep, FileExpected, FileGiven, Given, Outcome, Step};
use proofmark_judge::fixture::expand::{MOST, expand};
use proofmark_judge::fixture::strict;
use proofmark_judge::fixture::{fails, stream};
use proofmark_judge::matcher::Pattern;
use proofmark_judge::problem::{Lines, Location, Problem, Span, offset};

/// The case as the steps of a scenario have built it so far.
#[derive(Debug, Default, cucumber::World)]
pub struct Narrative {
    file: String,
    /// The position of the current step; `None` when `cucumber` itself runs the scenario.
    at: Option<Span>,
    /// The first line of its doc string, and the width of the removed margin.
    doc_at: Option<(usize, usize)>,
    words: String,
    /// Whether the current step has read its doc string or table.
    below_taken: bool,
    /// Things that may be given only once, with the line of each.
    given_at: BTreeMap<String, usize>,
    /// The current step is a `Given`: its calls are setup.
    in_given: bool,
    /// The lines that state the outcome and the stream of the last call.
    outcome_at: Option<usize>,
    stream_at: Option<usize>,
    given: Given,
    steps: Vec<Step>,
    needs: Vec<String>,
    faults: Vec<Problem>,
    /// State that the steps of each room share, by type.
    notes: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
}

impl Narrative {
    /// The shared state of a room's steps in this scenario, initially empty.
    pub fn notes<T: Default + Send + Sync + 'static>(&mut self) -> &mut T {
        let notes = self.notes.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(T::default()));
        notes.downcast_mut().expect("notes are kept under their own type")
    }

    pub(super) fn at(file: &str) -> Self {
        Self { file: file.to_owned(), ..Self::default() }
    }

    /// Says whether the current step is a `Given`.
    pub(super) fn set_given(&mut self, in_given: bool) {
        self.in_given = in_given;
    }

    /// Starts the next step; whatever it adds belongs to its line.
    pub(super) fn begin(&mut self, step: &document::Step) {
        self.at = Some(step.at);
        self.doc_at = step.doc_string.as_ref().map(|doc| (doc.line, doc.margin));
        self.words = format!("{}{}", step.keyword, step.text);
        self.below_taken = false;
    }

    fn line(&self) -> usize {
        self.at.map_or(0, |at| at.line)
    }

    /// Reports a problem at the current step.
    pub fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(match self.at {
            Some(at) => Problem::exact(&self.file, at, message),
            None => Problem::new(&self.file, 0, message),
        });
    }

    /// Reports a problem at a position inside the doc string.
    fn fault_in_doc(&mut self, text: &str, fault: &serde_json::Error) {
        self.fault(format!("the doc string is not JSON: {fault}"));
        let Some((line, margin)) = self.doc_at else { return };
        let Some(problem) = self.faults.pop() else { return };
        let at = offset(text, fault.line(), fault.column());
        let place = Lines::of(text).place(text, at..at + 1);
        let (line, column) = (line + place.line - 1, margin + place.column);
        self.faults.push(problem.inside(Span { line, column, length: 1 }));
    }

    /// The problems so far, for a runner that must fail on them.
    pub fn faults(&self) -> &[Problem] {
        &self.faults
    }

    pub(super) fn finish(self) -> (Given, Vec<Step>, Vec<String>, Vec<Problem>) {
        (self.given, self.steps, self.needs, self.faults)
    }

    pub fn given(&mut self) -> &mut Given {
        &mut self.given
    }

    /// Whether this is given for the first time. Reports a problem otherwise, since it would replace the first.
    pub fn is_first(&mut self, what: &str) -> bool {
        let line = self.line();
        let Some(first) = self.given_at.get(what) else {
            self.given_at.insert(what.to_owned(), line);
            return true;
        };
        self.fault(format!("{what} is already given at line {first}; drop one of the two"));
        false
    }

    /// A file, a folder or a link in the workspace.
    pub fn give_file(&mut self, path: String, file: FileGiven) {
        if self.is_first(&format!("`{path}`")) {
            self.given.files.insert(path, file);
        }
    }

    /// Gives a fake its whole script.
    pub fn give_script(&mut self, fake: String, script: Value) {
        // Some steps only declare the fake.
        let says_nothing = |script: &Value| {
            script.as_object().is_some_and(|map| map.values().all(|part| *part == json!({})))
        };
        if self.given.fakes.get(&fake).is_some_and(|script| !says_nothing(script)) {
            return self.fault(format!(
                "an earlier step already scripts the fake `{fake}`, and this step would replace it; put the whole script into one step"
            ));
        }
        self.given.fakes.insert(fake, script);
    }

    /// The script of a fake; `empty` if no step has set one.
    pub fn script(&mut self, fake: &str, empty: Value) -> &mut Value {
        self.given.fakes.entry(fake.to_owned()).or_insert(empty)
    }

    pub fn act(&mut self, action: Action) {
        let at = Location { file: self.file.clone(), line: self.line() };
        (self.outcome_at, self.stream_at) = (None, None);
        let mut step = Step { action, at, words: Some(self.words.clone()), setup: false };
        if self.in_given {
            step.only_assume();
        }
        self.steps.push(step);
    }

    /// A call that only has to succeed: it is setup, unless a later `Then` expects something of it.
    pub fn call(&mut self, operation: &str, args: Value) {
        self.act(Action::Call(calling(operation, args)));
    }

    pub fn call_in(&mut self, process: &str, operation: &str, args: Value) {
        self.act(Action::Call(CallStep {
            process: process.to_owned(),
            ..calling(operation, args)
        }));
    }

    /// A call that has to return this: it is setup, unless a later `Then` expects something of it.
    pub fn call_expecting(&mut self, operation: &str, args: Value, expected: Value) {
        match Pattern::new(expected) {
            Ok(pattern) => {
                let assumes = vec![Outcome::Returns(pattern)];
                self.act(Action::Call(CallStep::setup(operation, args, assumes)));
            }
            Err(message) => self.fault(message),
        }
    }

    /// Saves the answer of the last call under this name.
    pub fn remember(&mut self, name: &str) {
        let taken =
            self.steps.iter().flat_map(Step::calls).filter_map(|call| call.saved_as.as_deref());
        if taken.into_iter().any(|other| other == name) {
            return self.fault(format!("the name `{name}` is already used; choose another"));
        }
        match self.last_call() {
            Some(call) => call.saved_as = Some(name.to_owned()),
            None => self.no_call(),
        }
    }

    /// Saves the answer of the last call under this name and the next number.
    pub fn remember_anew(&mut self, name: &str) {
        let number = self.remembered(name) + 1;
        self.remember(&format!("{name} {number}"));
    }

    /// The latest numbered name of this kind.
    pub fn latest(&self, name: &str) -> String {
        format!("{name} {}", self.remembered(name).max(1))
    }

    fn remembered(&self, name: &str) -> usize {
        let numbered = |call: &&CallStep| {
            call.saved_as.as_deref().and_then(|other| other.strip_prefix(name)).is_some()
        };
        self.steps.iter().flat_map(Step::calls).filter(numbered).count()
    }

    /// The arguments of the last call.
    pub fn last_args(&mut self) -> Option<Value> {
        self.last_call().map(|call| call.args.clone())
    }

    pub fn change_args(&mut self, args: Value) {
        if let Some(call) = self.last_call() {
            call.args = args;
        }
    }

    /// The case needs this hook.
    pub fn needs(&mut self, hook: &str) {
        if !self.needs.iter().any(|other| other == hook) {
            self.needs.push(hook.to_owned());
        }
    }

    /// A call whose value the same step judges.
    pub fn probe(&mut self, operation: &str, args: Value, expected: Value) {
        match Pattern::new(expected) {
            Ok(pattern) => {
                let expect = vec![Outcome::Returns(pattern)];
                self.act(Action::Call(CallStep::new(operation, args, expect)));
                self.outcome_at = Some(self.line());
            }
            Err(message) => self.fault(message),
        }
    }

    /// The call that a `Then` refers to: the last action.
    fn last_call(&mut self) -> Option<&mut CallStep> {
        let step = self.steps.last_mut()?;
        match &mut step.action {
            Action::Call(call) => {
                // What a `Then` says about the call is evidence, also about that of a `Given`.
                step.setup = false;
                Some(call)
            }
            _ => None,
        }
    }

    /// Everything up to here was in a `Background`.
    pub(super) fn end_background(&mut self) {
        for step in &mut self.steps {
            step.setup = true;
        }
    }

    pub fn expect_value(&mut self, expected: Value) {
        match expand(expected).and_then(Pattern::new) {
            Ok(pattern) => self.expect(Outcome::Returns(pattern)),
            Err(message) => self.fault(message),
        }
    }

    pub fn expect_error(&mut self, code: &str, mut properties: Map<String, Value>) {
        properties.insert("code".to_owned(), Value::from(code));
        match fails(properties) {
            Ok(outcome) => self.expect(outcome),
            Err(message) => self.fault(message),
        }
    }

    fn expect(&mut self, outcome: Outcome) {
        let (line, first) = (self.line(), self.outcome_at);
        match (self.last_call(), first) {
            (Some(_), Some(first)) => self.fault(format!(
                "the call already has an outcome at line {first}; drop one of the two"
            )),
            (Some(call), None) => {
                call.assumes.clear();
                call.expect = vec![outcome];
                call.judge_side_effects();
                self.outcome_at = Some(line);
            }
            (None, _) => self.no_call(),
        }
    }

    pub fn expect_ask(&mut self, ask: Value) {
        let Some(call) = self.last_call() else { return self.no_call() };
        let mut asks = match call.asks.as_ref().map(|asks| &asks.source) {
            Some(Value::Array(asks)) => asks.clone(),
            Some(_) => return self.fault(ASKS_TWICE),
            None => Vec::new(),
        };
        asks.push(ask);
        match Pattern::new(Value::Array(asks)) {
            Ok(pattern) => {
                call.expect_asks(pattern);
                call.judge_side_effects();
            }
            Err(message) => self.fault(message),
        }
    }

    /// The last call made so many of these calls of fakes, and any others.
    pub fn expect_asked(&mut self, ask: &Value, times: u16) {
        let Some(call) = self.last_call() else { return self.no_call() };
        if call.wants_asks() {
            return self.fault(ASKS_TWICE);
        }
        let asks = json!({ "$among": { "items": ask, "value": vec![ask; times.into()] } });
        match Pattern::new(asks) {
            Ok(pattern) => {
                call.expect_asks(pattern);
                call.judge_side_effects();
            }
            Err(message) => self.fault(message),
        }
    }

    pub fn expect_stream(&mut self, items: Value) {
        let (line, first) = (self.line(), self.stream_at);
        match (stream(items), self.last_call(), first) {
            (Ok(_), Some(_), Some(first)) => self.fault(format!(
                "the stream of the call is already given at line {first}; write all its items in one step"
            )),
            (Ok(pattern), Some(call), None) => {
                call.expect_stream(pattern);
                call.judge_side_effects();
                self.stream_at = Some(line);
            }
            (Ok(_), None, _) => self.no_call(),
            (Err(message), ..) => self.fault(message),
        }
    }

    /// The last call must not leak this text.
    pub fn expect_hidden(&mut self, text: String) {
        match self.last_call() {
            Some(call) if !text.is_empty() => {
                call.hides.push(text);
                call.judge_side_effects();
            }
            Some(_) => self.fault("the text is empty, so no call can hide it"),
            None => self.no_call(),
        }
    }

    fn no_call(&mut self) {
        self.fault("there is no single call just before this step; add a step that makes one");
    }

    pub fn expect_file(&mut self, path: String, expected: FileExpected) {
        self.act(Action::Leaves(BTreeMap::from([(path, expected)])));
    }

    /// The rows of the step's table.
    pub fn rows<'a>(&mut self, step: &'a gherkin::Step) -> &'a [Vec<String>] {
        self.below_taken = true;
        step.table.as_ref().map_or(&[], |table| table.rows.as_slice())
    }

    /// Whether the step has nothing below it, has read it, or has reported a problem.
    pub(super) fn below_is_read(&self, step: &document::Step, faults_before: usize) -> bool {
        let nothing = step.doc_string.is_none() && step.table.is_none();
        nothing || self.below_taken || self.faults.len() > faults_before
    }

    /// The step's doc string: whole lines.
    pub fn text(&mut self, step: &gherkin::Step) -> Option<String> {
        self.below_taken = true;
        if step.docstring.is_none() {
            self.fault("this step needs a doc string: text between two lines of \"\"\"");
        }
        step.docstring.clone()
    }

    /// The step's doc string as JSON, `$repeat` expanded.
    pub fn json(&mut self, step: &gherkin::Step) -> Option<Value> {
        let text = self.text(step)?;
        let value = match strict::from_str(&text) {
            Ok(value) => value,
            Err(fault) => {
                self.fault_in_doc(&text, &fault);
                return None;
            }
        };
        match expand(value) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.fault(format!("the doc string is not JSON: {fault}"));
                None
            }
        }
    }

    pub fn json_object(&mut self, step: &gherkin::Step) -> Option<Map<String, Value>> {
        match self.json(step)? {
            Value::Object(map) => Some(map),
            other => {
                self.fault(format!("the doc string must be a JSON object, not {other}"));
                None
            }
        }
    }

    /// A number of items, within the limit.
    pub fn count(&mut self, text: &str) -> Option<usize> {
        let count = self.number(text)?;
        if count > MOST {
            self.fault(format!("{count} is too many; at most {MOST}"));
            return None;
        }
        Some(count)
    }

    /// A number written in the step.
    pub fn number<T: std::str::FromStr>(&mut self, text: &str) -> Option<T> {
        let number = text.parse().ok();
        if number.is_none() {
            self.fault(format!("`{text}` is not a number that fits here"));
        }
        number
    }
}

const ASKS_TWICE: &str =
    "the calls of fakes are already given; write each call, or once how many there are";

/// A call that only has to succeed, whatever it returns.
pub fn calling(operation: &str, args: Value) -> CallStep {
    CallStep::setup(operation, args, vec![Outcome::Returns(Pattern::anything())])
}

//! The world of a scenario while it is read: the case so far.

use std::collections::BTreeMap;

use cucumber::gherkin;
use serde_json::{Map, Value};

use super::document;
use crate::case::{Action, CallStep, FileExpected, Given, Outcome, Step};
use crate::load::expand::{MOST, expand};
use crate::load::fixture::{fails, stream};
use crate::load::strict;
use crate::matcher::Pattern;
use crate::problem::{Lines, Location, Place, Problem, offset};

/// What the steps of a scenario have said so far.
#[derive(Debug, Default, cucumber::World)]
pub struct Narrative {
    file: String,
    /// Of the step that is read; none when `cucumber` itself plays the scenario.
    at: Option<Place>,
    /// The first line of its doc string, and the margin that is missing there.
    doc_at: Option<(usize, usize)>,
    words: String,
    given: Given,
    steps: Vec<Step>,
    needs: Vec<String>,
    faults: Vec<Problem>,
    /// Agents by id, for stories about who wrote what.
    pub(super) agents: BTreeMap<String, String>,
    /// The context of the tools that are run from here on.
    pub(super) context: Map<String, Value>,
    /// What the model may use from here on.
    pub(super) model_tools: Vec<Value>,
    pub(super) has_provider: bool,
}

impl Narrative {
    pub(super) fn at(file: &str) -> Self {
        Self { file: file.to_owned(), ..Self::default() }
    }

    /// The next step begins; what it adds belongs to its line.
    pub(super) fn begin(&mut self, step: &document::Step) {
        self.at = Some(step.at);
        self.doc_at = step.doc_string.as_ref().map(|doc| (doc.line, doc.margin));
        self.words = format!("{}{}", step.keyword, step.text);
    }

    /// The narrative is wrong here.
    pub(super) fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(match self.at {
            Some(at) => Problem::exact(&self.file, at, message),
            None => Problem::new(&self.file, 0, message),
        });
    }

    /// The narrative is wrong here, in this place of the doc string.
    fn fault_in_doc(&mut self, text: &str, fault: &serde_json::Error) {
        self.fault(format!("the doc string is not JSON: {fault}"));
        let Some((line, margin)) = self.doc_at else { return };
        let Some(problem) = self.faults.pop() else { return };
        let at = offset(text, fault.line(), fault.column());
        let place = Lines::of(text).place(text, at..at + 1);
        let (line, column) = (line + place.line - 1, margin + place.column);
        self.faults.push(problem.inside(Place { line, column, length: 1 }));
    }

    /// The faults so far, for a runner that must fail on them.
    pub fn faults(&self) -> &[Problem] {
        &self.faults
    }

    pub(super) fn finish(self) -> (Given, Vec<Step>, Vec<String>, Vec<Problem>) {
        (self.given, self.steps, self.needs, self.faults)
    }

    pub(super) fn given(&mut self) -> &mut Given {
        &mut self.given
    }

    /// The script of a fake; `empty` if nothing was said of it yet.
    pub(super) fn script(&mut self, fake: &str, empty: Value) -> &mut Value {
        self.given.fakes.entry(fake.to_owned()).or_insert(empty)
    }

    pub(super) fn act(&mut self, action: Action) {
        let at = Location { file: self.file.clone(), line: self.at.map_or(0, |at| at.line) };
        self.steps.push(Step { action, at, words: Some(self.words.clone()) });
    }

    /// A call that must succeed, unless a later `Then` says otherwise.
    pub(super) fn call(&mut self, operation: &str, args: Value) {
        self.act(Action::Call(calling(operation, args)));
    }

    pub(super) fn call_in(&mut self, process: &str, operation: &str, args: Value) {
        self.act(Action::Call(CallStep {
            process: process.to_owned(),
            ..calling(operation, args)
        }));
    }

    /// A call whose value is judged at once.
    pub(super) fn probe(&mut self, operation: &str, args: Value, expected: Value) {
        match Pattern::new(expected) {
            Ok(pattern) => {
                let call = CallStep {
                    expect: vec![Outcome::Returns(pattern)],
                    ..calling(operation, args)
                };
                self.act(Action::Call(call));
            }
            Err(message) => self.fault(message),
        }
    }

    /// The call that a `Then` speaks of: the last thing that happened.
    fn last_call(&mut self) -> Option<&mut CallStep> {
        match self.steps.last_mut().map(|step| &mut step.action) {
            Some(Action::Call(call)) => Some(call),
            _ => None,
        }
    }

    pub(super) fn expect_value(&mut self, expected: Value) {
        match expand(expected).and_then(Pattern::new) {
            Ok(pattern) => self.expect(Outcome::Returns(pattern)),
            Err(message) => self.fault(message),
        }
    }

    pub(super) fn expect_error(&mut self, code: &str, mut properties: Map<String, Value>) {
        properties.insert("code".to_owned(), Value::from(code));
        match fails(properties) {
            Ok(outcome) => self.expect(outcome),
            Err(message) => self.fault(message),
        }
    }

    fn expect(&mut self, outcome: Outcome) {
        match self.last_call() {
            Some(call) => call.expect = vec![outcome],
            None => self.no_call(),
        }
    }

    pub(super) fn expect_ask(&mut self, ask: Value) {
        let Some(call) = self.last_call() else { return self.no_call() };
        let mut asks = call.asks.source.as_array().cloned().unwrap_or_default();
        asks.push(ask);
        match Pattern::new(Value::Array(asks)) {
            Ok(pattern) => call.asks = pattern,
            Err(message) => self.fault(message),
        }
    }

    pub(super) fn expect_stream(&mut self, items: Value) {
        match (stream(items), self.last_call()) {
            (Ok(pattern), Some(call)) => call.streams = pattern,
            (Ok(_), None) => self.no_call(),
            (Err(message), _) => self.fault(message),
        }
    }

    /// The last call keeps this to itself.
    pub(super) fn expect_hidden(&mut self, text: String) {
        match self.last_call() {
            Some(call) if !text.is_empty() => call.hides.push(text),
            Some(_) => self.fault("nothing can hide an empty text"),
            None => self.no_call(),
        }
    }

    fn no_call(&mut self) {
        self.fault("there is no single call just before this step; say first what is called");
    }

    pub(super) fn expect_file(&mut self, path: String, expected: FileExpected) {
        self.act(Action::Leaves(BTreeMap::from([(path, expected)])));
    }

    /// The step's doc string: whole lines.
    pub(super) fn text(&mut self, step: &gherkin::Step) -> Option<String> {
        if step.docstring.is_none() {
            self.fault("this step needs a doc string: text between two lines of \"\"\"");
        }
        step.docstring.clone()
    }

    /// The step's doc string as JSON, `$repeat` expanded.
    pub(super) fn json(&mut self, step: &gherkin::Step) -> Option<Value> {
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

    pub(super) fn json_object(&mut self, step: &gherkin::Step) -> Option<Map<String, Value>> {
        match self.json(step)? {
            Value::Object(map) => Some(map),
            other => {
                self.fault(format!("the doc string must be a JSON object, not {other}"));
                None
            }
        }
    }

    /// How many of something the step speaks of.
    pub(super) fn count(&mut self, text: &str) -> Option<usize> {
        let count = self.number(text)?;
        if count > MOST {
            self.fault(format!("{count} is too many; at most {MOST}"));
            return None;
        }
        Some(count)
    }

    /// A number written in the step.
    pub(super) fn number<T: std::str::FromStr>(&mut self, text: &str) -> Option<T> {
        let number = text.parse().ok();
        if number.is_none() {
            self.fault(format!("`{text}` is not a number that fits here"));
        }
        number
    }
}

/// A call that must succeed, whatever it returns.
pub(super) fn calling(operation: &str, args: Value) -> CallStep {
    CallStep::new(operation, args, vec![Outcome::Returns(Pattern::anything())])
}

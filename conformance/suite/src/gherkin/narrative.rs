//! The world of a scenario while it is read: the case so far.

use std::collections::BTreeMap;

use cucumber::gherkin;
use serde_json::{Map, Value};

use crate::case::{Action, CallStep, FileExpected, Given, Outcome, Step};
use crate::load::expand::{MOST, expand};
use crate::load::fixture::fails;
use crate::load::strict;
use crate::matcher::Pattern;
use crate::problem::{Location, Problem};

/// What the steps of a scenario have said so far.
#[derive(Debug, Default, cucumber::World)]
pub struct Narrative {
    file: String,
    line: usize,
    words: String,
    given: Given,
    steps: Vec<Step>,
    needs: Vec<String>,
    faults: Vec<Problem>,
    /// Agents by id, for stories about who wrote what.
    pub(super) agents: BTreeMap<String, String>,
}

impl Narrative {
    pub(super) fn at(file: &str) -> Self {
        Self { file: file.to_owned(), ..Self::default() }
    }

    /// The next step begins; what it adds belongs to its line.
    pub(super) fn begin(&mut self, step: &gherkin::Step) {
        self.line = step.position.line;
        self.words = format!("{}{}", step.keyword, step.value);
    }

    /// The narrative is wrong here.
    pub(super) fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(Problem::new(&self.file, self.line, message));
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

    pub(super) fn act(&mut self, action: Action) {
        let at = Location { file: self.file.clone(), line: self.line };
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
            None => self
                .fault("there is no single call just before this step; say first what is called"),
        }
    }

    pub(super) fn expect_ask(&mut self, ask: Value) {
        match (Pattern::new(ask), self.last_call()) {
            (Ok(pattern), Some(call)) => call.asks.push(pattern),
            (Ok(_), None) => self
                .fault("there is no single call just before this step; say first what is called"),
            (Err(message), _) => self.fault(message),
        }
    }

    pub(super) fn expect_file(&mut self, path: String, expected: FileExpected) {
        self.act(Action::Leaves(BTreeMap::from([(path, expected)])));
    }

    /// The step's doc string as text, without the line that opens it.
    pub(super) fn text(&mut self, step: &gherkin::Step) -> Option<String> {
        let Some(doc) = &step.docstring else {
            self.fault("this step needs a doc string: text between two lines of \"\"\"");
            return None;
        };
        // What follows the opening quotes on their line (a media type) comes as the first line; the
        // parser takes it for text without a margin, and then leaves the margin of all the others.
        let body = doc.split_once('\n').map_or("", |(_media_type, body)| body);
        Some(without_margin(body).replace("\\\"\\\"\\\"", "\"\"\""))
    }

    /// The step's doc string as JSON, `$repeat` expanded.
    pub(super) fn json(&mut self, step: &gherkin::Step) -> Option<Value> {
        let text = self.text(step)?;
        match strict::from_str(&text).map_err(|fault| fault.to_string()).and_then(expand) {
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

/// Lines without the spaces that all of them begin with; blank ones do not count.
fn without_margin(text: &str) -> String {
    let written = || text.split('\n').filter(|line| !line.trim().is_empty());
    // Spaces and tabs only: each is one byte, so that no line is cut within a character.
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let margin = written().map(indent).min().unwrap_or(0);
    let cut: Vec<&str> =
        text.split('\n').map(|line| line.get(margin..).unwrap_or_default()).collect();
    cut.join("\n")
}

/// A call that must succeed, whatever it returns.
pub(super) fn calling(operation: &str, args: Value) -> CallStep {
    CallStep::new(operation, args, vec![Outcome::Returns(Pattern::anything())])
}

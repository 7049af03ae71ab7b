//! Narratives: `features/<contract>/*.feature`.
//!
//! A scenario is *read into* a [`Case`]: each step, matched and run by the `cucumber` crate, adds to
//! the case what it says. So a narrative runs on the same road as a fixture: the same runner,
//! verdicts, transcripts and mutants. A step that nothing matches is a fault of the file.

mod chronicle_steps;
mod general_steps;
mod narrative;
mod precheck;
pub mod vocabulary;

use std::collections::HashMap;

use cucumber::World as _;
use cucumber::feature::Ext as _;
use cucumber::gherkin::{Background, Feature, GherkinEnv, Scenario};
use futures::FutureExt as _;

use crate::case::{Case, CaseKind, Origin};
use crate::problem::{Location, Problem, did_you_mean, nearest};
pub use narrative::Narrative;

/// Reads one feature file into its cases.
pub(crate) fn parse(file: &str, folder: &str, text: &str) -> Result<Vec<Case>, Vec<Problem>> {
    let feature = read(file, text)?;
    let steps = Narrative::collection();
    let mut cases = Vec::new();
    let mut problems = Vec::new();
    let mut rows: HashMap<String, usize> = HashMap::new();
    for (inherited, backgrounds, scenario) in scenarios(&feature) {
        let reader = Reader { file, contract: folder, steps: &steps };
        match reader.case(&inherited, &backgrounds, scenario) {
            Ok(mut case) => {
                if !scenario.examples.is_empty() {
                    let row = rows.entry(case.name.clone()).or_default();
                    *row += 1;
                    case.name = format!("{}/{row}", case.name);
                }
                cases.push(case);
            }
            Err(mut faults) => problems.append(&mut faults),
        }
    }
    if cases.is_empty() && problems.is_empty() {
        problems.push(Problem::new(file, 1, "the feature has no scenario; it checks nothing"));
    }
    if problems.is_empty() { Ok(cases) } else { Err(problems) }
}

/// Parses and expands outlines. The parser would stumble over a byte order mark.
fn read(file: &str, text: &str) -> Result<Feature, Vec<Problem>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let one = |(line, message)| vec![Problem::new(file, line, message)];
    if text.trim().is_empty() {
        return Err(one((1, "the file is blank; a narrative begins with `Feature:`".to_owned())));
    }
    precheck::text(text).map_err(one)?;
    let feature = Feature::parse(text, GherkinEnv::default()).map_err(|fault| {
        let (line, written) = line_above(text, line_of_fault(&fault.to_string()));
        let message = format!(
            "`{written}` is not Gherkin here; a line begins with a tag, `Feature:`, `Rule:`, `Background:`, `Scenario:`, `Examples:`, `Given`, `When`, `Then`, `And`, `But`, a table or a doc string (in a table cell only \\\\, \\n and \\| may be escaped)"
        );
        one((line, message))
    })?;
    let wrong = precheck::outlines(&feature);
    if !wrong.is_empty() {
        return Err(wrong.into_iter().flat_map(one).collect());
    }
    feature.expand_examples().map_err(|fault| {
        let message =
            format!("the outline uses <{}>, which is no column of its examples", fault.name);
        one((fault.pos.line, message))
    })
}

/// The line that the parser means: where it stops on a blank one, it could not go on from the last
/// one above that is not.
fn line_above(text: &str, line: usize) -> (usize, &str) {
    let upto = text.lines().enumerate().take(line);
    let written = upto.filter(|(_, written)| !written.trim().is_empty()).last();
    written.map_or((line, ""), |(index, written)| (index + 1, written.trim()))
}

/// The parser keeps its position to itself, but prints it: `Error at 3:1: …`.
fn line_of_fault(printed: &str) -> usize {
    let line = printed.strip_prefix("Error at ").and_then(|rest| rest.split(':').next());
    line.and_then(|line| line.parse().ok()).unwrap_or(1)
}

/// Every scenario with the tags and backgrounds of what it stands in.
fn scenarios(feature: &Feature) -> impl Iterator<Item = (Vec<&str>, Vec<&Background>, &Scenario)> {
    let top = feature.scenarios.iter().map(|scenario| {
        (
            feature.tags.iter().map(String::as_str).collect(),
            feature.background.iter().collect(),
            scenario,
        )
    });
    let ruled = feature.rules.iter().flat_map(|rule| {
        rule.scenarios.iter().map(|scenario| {
            let tags = feature.tags.iter().chain(&rule.tags).map(String::as_str).collect();
            (tags, feature.background.iter().chain(&rule.background).collect(), scenario)
        })
    });
    top.chain(ruled)
}

struct Reader<'a> {
    file: &'a str,
    contract: &'a str,
    steps: &'a cucumber::step::Collection<Narrative>,
}

impl Reader<'_> {
    fn case(
        &self,
        inherited: &[&str],
        backgrounds: &[&Background],
        scenario: &Scenario,
    ) -> Result<Case, Vec<Problem>> {
        let line = scenario.position.line;
        let mut problems = Vec::new();
        let tags: Vec<&str> =
            inherited.iter().copied().chain(scenario.tags.iter().map(String::as_str)).collect();
        let tagged =
            |prefix: &'static str| tags.iter().filter_map(move |tag| tag.strip_prefix(prefix));
        let id = tagged("id:").next_back().unwrap_or_default();
        if id.is_empty() {
            problems.push(Problem::new(
                self.file,
                line,
                "the scenario has no id; write a tag such as `@id:story/first-memory` above it",
            ));
        }
        let origin = Origin::parse(
            &tagged("origin:").next_back().unwrap_or("contract").replace("oracle:", "oracle: "),
        )
        .unwrap_or_else(|message| {
            problems.push(Problem::new(self.file, line, message));
            Origin::Contract
        });

        let mut world = Narrative::at(self.file);
        for step in
            backgrounds.iter().flat_map(|background| &background.steps).chain(&scenario.steps)
        {
            world.begin(step);
            match self.steps.find(step) {
                Ok(Some((run, _, _, context))) => {
                    // Steps only write down what they say, so none of them ever waits.
                    let _done = run(&mut world, context).now_or_never();
                }
                Ok(None) => world.fault(no_such_step(&step.value)),
                Err(_) => world.fault(format!(
                    "several steps match `{}`; this is a fault of the step vocabulary",
                    step.value
                )),
            }
        }
        let (given, steps, needs, faults) = world.finish();
        problems.extend(faults);
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Case {
            name: format!("{}/{id}", self.contract),
            aliases: tagged("alias:").map(|alias| format!("{}/{alias}", self.contract)).collect(),
            contract: self.contract.to_owned(),
            kind: CaseKind::Scenario,
            why: scenario.name.clone(),
            shows: tagged("shows:").map(str::to_owned).collect(),
            origin,
            needs: tagged("needs:").map(str::to_owned).chain(needs).collect(),
            given,
            steps,
            at: Location { file: self.file.to_owned(), line },
        })
    }
}

fn no_such_step(text: &str) -> String {
    let shapes: Vec<String> =
        vocabulary::STEPS.iter().map(|step| vocabulary::shape(step.example)).collect();
    let like = nearest(&vocabulary::shape(text), shapes.iter().map(String::as_str));
    match like.and_then(|shape| shapes.iter().position(|known| known == shape)) {
        Some(index) => {
            format!("no step says `{text}`; the nearest is `{}`", vocabulary::STEPS[index].example)
        }
        None => format!(
            "no step says `{text}`{}",
            did_you_mean(text, vocabulary::STEPS.iter().map(|step| step.example))
        ),
    }
}

//! Narratives: `features/<contract>/*.feature`.
//!
//! A scenario is *read into* a [`Case`]: the `cucumber` crate matches and runs each step, and the step adds to the
//! case. So narratives and fixtures share the runner, verdicts, transcripts and mutants. A step that matches nothing
//! is an error in the file.

#[cfg(test)]
mod corpus;
mod document;
mod general_steps;
mod languages;
mod lines;
mod narrative;
mod outline;
mod parse;
pub mod vocabulary;
mod wording;

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use cucumber::World as _;
use cucumber::gherkin::{self, StepType};
use futures::FutureExt as _;

use document::{Remark, Scenario, Step};
use languages::Keywords;
pub use narrative::{Narrative, calling};
use proofmark_judge::case::{Case, CaseKind, Origin};
use proofmark_judge::problem::{Location, Problem};
use vocabulary::Vocabulary;

type Steps = cucumber::step::Collection<Narrative>;

/// Every step in this program: the general ones, and those of the linked rooms.
static STEPS: LazyLock<Steps> = LazyLock::new(Narrative::collection);

/// Reads one feature file. Returns the cases that are readable, and every problem.
pub(crate) fn parse(
    file: &str,
    folder: &str,
    text: &str,
    vocabulary: &Vocabulary,
) -> (Vec<Case>, Vec<Problem>) {
    let read = parse::read(text);
    let steps = &*STEPS;
    let mut cases = Vec::new();
    let mut problems: Vec<Problem> =
        read.wrong.into_iter().map(|(at, message)| Problem::exact(file, at, message)).collect();
    problems
        .extend(read.remarks.iter().filter_map(|remark| slip(file, remark, steps, read.keywords)));
    let mut rows: HashMap<String, usize> = HashMap::new();
    let reader = Reader { file, contract: folder, steps, vocabulary, keywords: read.keywords };
    // A wrong line in a scenario would make its steps look wrong, too: skip the scenario.
    let titles: BTreeSet<usize> = read.scenarios.iter().map(|scenario| scenario.title).collect();
    let mut spoilt = BTreeSet::new();
    for problem in &problems {
        match titles.range(..=problem.at.line).next_back() {
            Some(title) => spoilt.extend([*title]),
            // Above all scenarios: in their shared background.
            None => spoilt.extend(&titles),
        }
    }
    for scenario in read.scenarios.iter().filter(|scenario| !spoilt.contains(&scenario.title)) {
        match reader.case(scenario) {
            Ok(mut case) => {
                if scenario.rows.is_some() {
                    let row = rows.entry(case.name.clone()).or_default();
                    *row += 1;
                    case.name = format!("{}/{row}", case.name);
                }
                cases.push(case);
            }
            Err(faults) => problems.extend(faults.into_iter().map(|fault| match scenario.rows {
                Some(rows) if fault.at.line != scenario.at.line => {
                    fault.of_row(scenario.at.line, rows)
                }
                _ => fault,
            })),
        }
    }
    if cases.is_empty() && problems.is_empty() {
        let message = "the feature has no scenario; add one, or delete the file";
        problems.push(Problem::new(file, 1, message));
    }
    (cases, problems)
}

/// A description line that is a step after its first word: the keyword is misspelt, or not allowed here.
fn slip(file: &str, remark: &Remark, steps: &Steps, words: &Keywords) -> Option<Problem> {
    let (first, rest) = remark.text.split_once(char::is_whitespace)?;
    let kind = KINDS.into_iter().find(|kind| {
        let step = as_cucumber(rest.trim(), "", *kind, None, None);
        matches!(steps.find(&step), Ok(Some(_)))
    })?;
    let message = format!(
        "`{first}` is not a step keyword here, but a step follows it; write `{} {}` under `{}:` or `{}:`",
        words.word(kind),
        rest.trim(),
        words.scenario_word(),
        words.background_word()
    );
    Some(Problem::exact(file, remark.at, message))
}

const KINDS: [StepType; 3] = [StepType::Given, StepType::When, StepType::Then];

/// A step as `cucumber` expects it.
fn as_cucumber(
    text: &str,
    keyword: &str,
    kind: StepType,
    doc: Option<String>,
    table: Option<Vec<Vec<String>>>,
) -> gherkin::Step {
    gherkin::Step {
        keyword: keyword.to_owned(),
        ty: kind,
        value: text.to_owned(),
        docstring: doc,
        table: table.map(|rows| gherkin::Table::builder().rows(rows).build()),
        span: gherkin::Span::default(),
        position: gherkin::LineCol::default(),
    }
}

struct Reader<'a> {
    file: &'a str,
    contract: &'a str,
    steps: &'a Steps,
    vocabulary: &'a Vocabulary,
    keywords: &'a Keywords,
}

impl Reader<'_> {
    fn case(&self, scenario: &Scenario) -> Result<Case, Vec<Problem>> {
        let mut problems = Vec::new();
        let tagged = |prefix: &'static str| {
            scenario.tags.iter().filter_map(move |tag| tag.name.strip_prefix(prefix))
        };
        let id = tagged("id:").next_back().unwrap_or_default();
        if id.is_empty() {
            problems.push(Problem::exact(
                self.file,
                scenario.at,
                "the scenario has no id; write a tag such as `@id:story/first-memory` above it",
            ));
        }
        for prefix in ["id:", "origin:"] {
            let said = || scenario.own_tags.iter().filter(|tag| tag.name.starts_with(prefix));
            for tag in said().skip(1) {
                let message = format!(
                    "`@{}` is the second `@{prefix}` of one scenario, but only one is allowed; drop one",
                    tag.name
                );
                problems.push(Problem::new(self.file, scenario.at.line, message).inside(tag.at));
            }
        }
        let origin = Origin::parse(
            &tagged("origin:").next_back().unwrap_or("contract").replace("oracle:", "oracle: "),
        )
        .unwrap_or_else(|message| {
            let tag = scenario.tags.iter().rev().find(|tag| tag.name.starts_with("origin:"));
            let problem = Problem::new(self.file, scenario.at.line, message);
            problems.push(tag.map_or(problem.clone(), |tag| problem.inside(tag.at)));
            Origin::Contract
        });
        let mut world = Narrative::at(self.file);
        let mut before = None;
        for step in &scenario.steps {
            before = Some(self.play(step, before, &mut world));
            if step.in_background {
                world.end_background();
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
            slow: scenario.tags.iter().any(|tag| tag.name == "slow"),
            given,
            steps,
            at: Location { file: self.file.to_owned(), line: scenario.at.line },
        })
    }

    /// Matches a step and runs it, which adds to the case. Returns its kind.
    fn play(&self, step: &Step, before: Option<StepType>, world: &mut Narrative) -> StepType {
        world.begin(step);
        let kinds = kinds(step, before);
        for kind in &kinds {
            let doc = step.doc_string.as_ref().map(|doc| doc.text.clone());
            let played = as_cucumber(&step.text, &step.keyword, *kind, doc, step.table.clone());
            match self.steps.find(&played) {
                Ok(Some((run, _, _, context))) => {
                    // Steps only build the case, so none of them ever awaits.
                    let faults = world.faults().len();
                    world.set_given(*kind == StepType::Given);
                    let _done = run(world, context).now_or_never();
                    if !world.below_is_read(step, faults) {
                        world.fault(self.takes_nothing_below(step, *kind));
                    }
                    return *kind;
                }
                Ok(None) => {}
                Err(_) => {
                    world.fault(format!(
                        "several steps match `{}`; this is a bug in the step vocabulary",
                        step.text
                    ));
                    return *kind;
                }
            }
        }
        world.fault(no_such_step(&step.text, kinds[0], self.keywords, self.vocabulary));
        kinds[0]
    }
}

impl Reader<'_> {
    /// The message for a doc string or table that the step would ignore.
    fn takes_nothing_below(&self, step: &Step, kind: StepType) -> String {
        if step.table.is_some() {
            return "this step takes no table; drop it, or write a step that takes one, such as `these calls are made together:`".to_owned();
        }
        let before_value = |mark: &str| step.text.split_once(mark).map_or("", |(before, _)| before);
        let without_last = step.text.rsplit_once(' ').map_or("", |(before, _)| before);
        let longer = [
            format!("{} with:", step.text),
            format!("{} and:", step.text),
            format!("{without_last}:"),
            format!("{}:", before_value(" \"")),
        ];
        let is_step = |text: &String| {
            matches!(self.steps.find(&as_cucumber(text, "", kind, None, None)), Ok(Some(_)))
        };
        match longer.iter().find(|text| is_step(text)) {
            Some(text) => format!(
                "this step takes no doc string; the one that does is `{} {text}`",
                self.keywords.word(kind)
            ),
            None => "this step takes no doc string; drop it, or write a step that takes one (`proofmark steps` lists them)".to_owned(),
        }
    }
}

/// The possible kinds of a step, the likeliest first. `And` and `But` repeat the kind of the step before; `*` may be
/// any.
fn kinds(step: &Step, before: Option<StepType>) -> Vec<StepType> {
    match (step.kinds.as_slice(), before) {
        ([], Some(before)) if step.keyword != "* " => vec![before],
        ([], _) => before
            .into_iter()
            .chain(KINDS.into_iter().filter(|kind| Some(*kind) != before))
            .collect(),
        (said, _) => said.to_vec(),
    }
}

fn no_such_step(text: &str, kind: StepType, words: &Keywords, vocabulary: &Vocabulary) -> String {
    let keyword = match kind {
        StepType::Given => "Given",
        StepType::When => "When",
        StepType::Then => "Then",
    };
    match vocabulary.like(&format!("{keyword} {text}")).first() {
        Some(step) => {
            let example = words.example(step.example);
            format!("no step matches `{text}`; the nearest is `{example}`")
        }
        None => format!("no step matches `{text}`; `proofmark steps` lists all steps"),
    }
}

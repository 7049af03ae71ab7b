//! Lints a suite as a whole, so that its verdicts are meaningful.

mod files;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proofmark_fakes::clock::ScriptedClock;
use proofmark_fakes::host::{FakeKind, Host};

use super::falsifiable::can_fail;
use proofmark_judge::case::{Action, CallStep, Case, CaseKind, FileExpected, Outcome, Step};
use proofmark_judge::ledger::{Contract, Requirement};
use proofmark_judge::problem::{NO_CASE, Problem, did_you_mean};
use proofmark_judge::saved::{name_of, no_reference, references};
use proofmark_judge::wire;

/// Adds the hooks whose operations a case calls to its needs.
pub(crate) fn derive_needs(case: &mut Case, contract: Option<&Contract>) {
    let Some(contract) = contract else { return };
    let mut needs: Vec<String> = case
        .calls()
        .filter_map(|call| contract.hook_of(&call.operation))
        .map(str::to_owned)
        .collect();
    needs.append(&mut case.needs);
    needs.sort();
    needs.dedup();
    case.needs = needs;
}

/// Contract folders with unreadable files. References to such files are not reported.
pub(crate) struct Unread<'a> {
    /// Folders in which any file is unreadable.
    pub(crate) broken: BTreeSet<&'a str>,
    /// Folders whose ledger is unreadable.
    pub(crate) no_ledger: BTreeSet<&'a str>,
}

pub(crate) fn check(
    contracts: &BTreeMap<String, Contract>,
    cases: &[Case],
    unread: &Unread<'_>,
    fakes: &[&'static FakeKind],
) -> Vec<Problem> {
    let mut problems = Vec::new();
    if contracts.is_empty() && unread.no_ledger.is_empty() {
        problems.push(Problem::new(
            "fixtures",
            1,
            "there is no contract; add a ledger at `fixtures/<contract>/requirements.toml`",
        ));
    }
    names_are_unique(cases, &mut problems);
    ids_are_unique(contracts, &mut problems);
    let mut rows: HashMap<&str, usize> = HashMap::new();
    for outline in cases.iter().filter_map(outline_of) {
        *rows.entry(outline).or_default() += 1;
    }
    let mut shown: HashMap<&str, usize> = HashMap::new();
    for case in cases {
        match contracts.get(&case.contract) {
            Some(contract) => {
                let mut lint =
                    CaseLint { case, contract, fakes, rows: &rows, problems: &mut problems };
                lint.check();
            }
            None if unread.no_ledger.contains(case.contract.as_str()) => {}
            None => problems.push(about(
                case,
                format!("no ledger at `fixtures/{}/requirements.toml`", case.contract),
            )),
        }
        for id in &case.shows {
            *shown.entry(id).or_default() += 1;
        }
    }
    for contract in contracts.values() {
        for requirement in &contract.requirements {
            let count = shown.get(requirement.id.as_str()).copied().unwrap_or(0);
            let message = match (&requirement.excluded, count) {
                (None, 0) if unread.broken.contains(contract.id.as_str()) => continue,
                (None, 0) => format!("`{}` {NO_CASE}", requirement.id),
                (Some(_), 1..) => format!(
                    "`{}` is excluded, but {count} case(s) show it; drop the exclusion or the cases",
                    requirement.id
                ),
                _ => continue,
            };
            problems.push(Problem::new(&requirement.at.file, requirement.at.line, message));
        }
    }
    problems
}

fn about(case: &Case, message: impl std::fmt::Display) -> Problem {
    Problem::new(&case.at.file, case.at.line, format!("case `{}`: {message}", case.id()))
}

/// Ids must be unique across all ledgers: a verdict finds a requirement's cases by its id.
fn ids_are_unique(contracts: &BTreeMap<String, Contract>, problems: &mut Vec<Problem>) {
    let mut seen: HashMap<&str, &Requirement> = HashMap::new();
    for requirement in contracts.values().flat_map(|contract| &contract.requirements) {
        if let Some(first) = seen.insert(&requirement.id, requirement) {
            let message = format!(
                "id `{}` is already used at {}; ids are permanent and unique",
                requirement.id, first.at
            );
            problems.push(Problem::new(&requirement.at.file, requirement.at.line, message));
        }
    }
}

fn names_are_unique(cases: &[Case], problems: &mut Vec<Problem>) {
    let mut seen: HashMap<&str, &Case> = HashMap::new();
    for case in cases {
        for name in std::iter::once(&case.name).chain(&case.aliases) {
            if let Some(other) = seen.insert(name, case) {
                problems.push(about(
                    case,
                    format!(
                        "the name `{name}` is taken at {}; names are permanent and unique",
                        other.at
                    ),
                ));
            }
        }
    }
}

/// The id of the outline that a case is a row of.
fn outline_of(case: &Case) -> Option<&str> {
    let (id, _) = case.id().rsplit_once('/').filter(|(_, row)| row.parse::<usize>().is_ok())?;
    // The rows of an outline come after its steps; a scenario's title comes before them.
    let below_its_steps = case.steps.last().is_some_and(|step| step.at.line < case.at.line);
    (matches!(case.kind, CaseKind::Scenario) && below_its_steps).then_some(id)
}

struct CaseLint<'a> {
    fakes: &'a [&'static FakeKind],
    case: &'a Case,
    contract: &'a Contract,
    /// The number of rows of each outline.
    rows: &'a HashMap<&'a str, usize>,
    problems: &'a mut Vec<Problem>,
}

impl CaseLint<'_> {
    fn wrong(&mut self, message: impl std::fmt::Display) {
        self.problems.push(about(self.case, message));
    }

    /// Reports a problem with a step. Rows of an outline share their steps, and scenarios their background. The
    /// message is the same for each of these cases and is placed at the step, so that it is reported once.
    fn wrong_step(&mut self, step: &Step, message: impl std::fmt::Display) {
        match self.case.kind {
            CaseKind::Scenario => {
                let problem = Problem::new(&step.at.file, step.at.line, message.to_string());
                let rows = outline_of(self.case).and_then(|outline| self.rows.get(outline));
                self.problems.push(match rows {
                    Some(rows) => problem.of_row(self.case.at.line, *rows),
                    None => problem,
                });
            }
            CaseKind::Fixture | CaseKind::Law(_) => self.wrong(message),
        }
    }

    /// Reports a problem with a tag or a fixture's member. Rows of an outline share their tags, so it is reported
    /// once, at a line of the outline itself: below a row, the next tags belong to another scenario.
    fn wrong_tag(&mut self, message: impl std::fmt::Display) {
        match (outline_of(self.case), self.case.steps.last()) {
            (Some(id), Some(last)) => {
                let message = format!("case `{id}`: {message}");
                self.problems.push(Problem::new(&last.at.file, last.at.line, message));
            }
            _ => self.wrong(message),
        }
    }

    fn check(&mut self) {
        let case = self.case;
        if !case.id().split('/').all(is_kebab) || case.id().split('/').count() < 2 {
            self.wrong("the id must be kebab-case with a topic before it: `topic/what-it-shows`");
        }
        if case.why.trim().is_empty() {
            self.wrong("`why` is empty; say in one sentence what breaks for a user if it fails");
        }
        self.check_requirements();
        if matches!(case.kind, CaseKind::Law(_)) {
            return;
        }
        self.check_calls();
        self.check_references();
        self.check_files();
        for (fake, script) in &case.given.fakes {
            if let Err(message) = Host::check(fake, script, self.fakes) {
                self.wrong(message);
            }
        }
        let clock = &case.given.clock;
        if let Err(error) = ScriptedClock::new(&clock.start, clock.step_ms) {
            self.wrong(error);
        }
    }

    fn check_requirements(&mut self) {
        if self.case.shows.is_empty() {
            self.wrong_tag(
                "it shows no requirement; name in `shows` (or a tag `@shows:…`) what it proves",
            );
        }
        for (index, id) in self.case.shows.iter().enumerate() {
            if self.case.shows[..index].contains(id) {
                self.wrong_tag(format!("it shows `{id}` twice; name each requirement once"));
            }
            if self.contract.requirement(id).is_none() {
                let hint = did_you_mean(
                    id,
                    self.contract.requirements.iter().map(|known| known.id.as_str()),
                );
                let hint = or(hint, "add it there, or use an existing one");
                self.wrong_tag(format!(
                    "`{id}` is not in the ledger of {}{hint}",
                    self.contract.id
                ));
            }
            let hook = self.contract.requirement(id).and_then(|one| one.applies_with.as_ref());
            if let Some(hook) = hook.filter(|hook| !self.case.needs.contains(hook)) {
                self.wrong_tag(format!(
                    "`{id}` applies with the hook `{hook}`, which the case does not need; add it to `needs`"
                ));
            }
        }
    }

    fn check_calls(&mut self) {
        if self.case.calls().next().is_none() {
            self.wrong("it calls nothing, so it cannot fail; write a step with a `call`");
        } else if !can_fail(self.case) {
            self.wrong(
                "it cannot fail: it passes with any answer and any files; add an expectation",
            );
        }
        let case = self.case;
        let calls =
            case.steps.iter().flat_map(|step| step.calls().iter().map(move |call| (step, call)));
        for (step, call) in calls {
            let contract = self.contract;
            let known = || {
                contract
                    .operations
                    .iter()
                    .chain(contract.hooks.values().flatten())
                    .map(String::as_str)
            };
            if !known().any(|name| name == call.operation) {
                let hint = did_you_mean(&call.operation, known());
                let hint =
                    or(hint, "add it to `operations` of the ledger, or call an existing one");
                self.wrong_step(
                    step,
                    format!("`{}` is not an operation of {}{hint}", call.operation, contract.id),
                );
            }
            if !call.args.is_object() {
                self.wrong_step(
                    step,
                    format!(
                        "the args of `{}` must be an object, not {}",
                        call.operation, call.args
                    ),
                );
            }
        }
        for (step, call) in
            case.steps.iter().flat_map(|step| step.calls().iter().map(move |call| (step, call)))
        {
            let mut wanted = Vec::new();
            references(&call.args, &mut wanted);
            // Arguments with references can only be checked during the run.
            if let (true, Err(message)) =
                (wanted.is_empty(), wire::arguments::check(&call.operation, &call.args))
            {
                self.wrong_step(
                    step,
                    format!("`{}` has wrong arguments: {message}", call.operation),
                );
            }
        }
        self.check_processes();
        for need in &self.case.needs {
            if !self.contract.hooks.contains_key(need) {
                let hint = did_you_mean(need, self.contract.hooks.keys().map(String::as_str));
                let hint = or(hint, "add it to `hooks` of the ledger, or use an existing one");
                self.wrong_tag(format!("`{need}` is not a hook of {}{hint}", self.contract.id));
            }
        }
        for step in &self.case.steps {
            if step.calls().iter().any(expects_what_it_assumes) {
                self.wrong_step(
                    step,
                    "the call expects no more than it assumes, so it shows nothing; assume less",
                );
            }
            let Action::Together(calls) = &step.action else { continue };
            if calls.len() < 2 {
                self.wrong_step(step, "`together` needs at least two calls");
            }
            if calls.iter().any(|call| call.wants_asks() && !call.asks_anything()) {
                self.wrong_step(step, "inside `together`, calls of fakes have no order, so `asks` can only be `{\"$each\": {\"$any\": \"value\"}}`; use a separate call");
            }
        }
    }

    /// A case can kill only a process that an earlier call has started.
    fn check_processes(&mut self) {
        let case = self.case;
        let mut started: BTreeSet<&str> = BTreeSet::new();
        for step in &case.steps {
            started.extend(step.calls().iter().map(|call| call.process.as_str()));
            let Action::Kill { process } = &step.action else { continue };
            if case.calls().next().is_none() || started.contains(process.as_str()) {
                continue;
            }
            let known: Vec<&str> = started.iter().copied().collect();
            let known = match known.as_slice() {
                [] => "add such a call first".to_owned(),
                known => format!("there are `{}`", known.join("`, `")),
            };
            self.wrong_step(
                step,
                format!("no earlier step calls anything in process `{process}`; {known}"),
            );
        }
    }

    /// A reference must name something that an earlier step saved.
    fn check_references(&mut self) {
        let mut saved: Vec<&str> = Vec::new();
        for step in &self.case.steps {
            let calls = step.calls();
            let mut wanted = Vec::new();
            for call in calls {
                if let Some(wrong) = no_reference(&call.args) {
                    self.wrong_step(step, format!(
                        "`$ref` takes the name under which an earlier call was saved (`as`) and must be alone, not {wrong}; wrap a real value of that form in `$literal`"
                    ));
                }
                references(&call.args, &mut wanted);
                let outcomes = call.outcomes().map(|outcome| &outcome.pattern().source);
                let asks = call.asks.as_ref().map(|asks| &asks.source);
                outcomes
                    .chain(asks)
                    .chain(call.streams.as_ref().map(|streams| &streams.source))
                    .for_each(|source| references(source, &mut wanted));
            }
            if let Action::Leaves(files) = &step.action {
                for file in files.values() {
                    if let FileExpected::Lines { ndjson: Some(pattern), .. } = file {
                        references(&pattern.source, &mut wanted);
                    }
                }
            }
            for reference in wanted.into_iter().filter(|one| !saved.contains(&name_of(one))) {
                self.wrong_step(step, format!(
                    "`{{\"$ref\": \"{reference}\"}}` refers to nothing: no earlier step says `\"as\": \"{}\"` or `streamAs`; wrap a real value of that form in `$literal`",
                    name_of(reference)
                ));
            }
            let names = calls.iter().flat_map(|call| {
                [("as", call.saved_as.as_deref()), ("streamAs", call.stream_as.as_deref())]
            });
            for (key, name) in names.filter_map(|(key, name)| Some((key, name?))) {
                if name.is_empty() || name.contains('/') {
                    self.wrong(format!("`\"{key}\": \"{name}\"` must be a name without a slash"));
                }
                if saved.contains(&name) {
                    self.wrong(format!("`\"{key}\": \"{name}\"` occurs twice; each name once"));
                }
                saved.push(name);
            }
        }
    }
}

/// The hint, or the fix if there is no hint.
fn or(hint: String, fix: &str) -> String {
    if hint.is_empty() { format!("; {fix}") } else { hint }
}

/// Whether the outcome of a call is evidence and assumed, word for word, and the call shows nothing else.
fn expects_what_it_assumes(call: &CallStep) -> bool {
    let words = |outcomes: &[Outcome]| outcomes.iter().map(Outcome::to_value).collect::<Vec<_>>();
    let shows_more = (call.asks.is_some() && !call.implied.asks)
        || (call.streams.is_some() && !call.implied.streams)
        || !call.hides.is_empty();
    !shows_more && !call.expect.is_empty() && words(&call.expect) == words(&call.assumes)
}

fn is_kebab(part: &str) -> bool {
    !part.is_empty()
        && !part.starts_with('-')
        && !part.ends_with('-')
        && !part.contains("--")
        && part
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

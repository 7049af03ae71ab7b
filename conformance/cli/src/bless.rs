//! `proofmark bless`: replaces expected values in fixtures with what a subject answers, after a person confirms.
//!
//! It runs the cases. Where a step's answer differs from the expectation, it replaces only the characters of that
//! expectation in the file, then runs the cases again, until they pass. Only then does it show the diff and write the
//! files.

mod golden;
mod span;

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, IsTerminal as _, Write};
use std::path::PathBuf;

use proofmark_judge::Suite;
use proofmark_judge::case::{CallStep, Case, CaseKind, Origin};
use proofmark_judge::select::Selection;
use proofmark_judge::verdict::{CaseResult, Verdict};
use proofmark_report::text::{visible, visible_line};
use proofmark_suite::run::{Cancel, RunOptions, run};
use proofmark_suite::subject::SubjectCommand;
use similar::TextDiff;

use crate::choice::SubjectChoice;
use crate::drive::cancel_on_signal;
use crate::edit::Draft;
use crate::exit::{Exit, Failed};

/// Replace expected values in fixtures with what the reference (or a command after `--`) answers.
///
/// Write `"returns": {"$bless": true}` in a step to have its value filled in. Review every change: a blessed value says
/// what one implementation does, not what is right. Cases whose values come from the contract's text or an oracle change
/// only if `--case` names them exactly.
#[derive(Debug, clap::Args)]
pub(crate) struct BlessArgs {
    #[command(flatten)]
    subject: SubjectChoice,
    /// Bless only fixture cases whose name matches. Repeat for several.
    #[arg(long, value_name = "GLOB")]
    case: Vec<String>,
    /// Write without asking.
    #[arg(long)]
    yes: bool,
    /// The folder of the suite.
    #[arg(long, value_name = "DIR")]
    suite: PathBuf,
}

/// Writes the diff to `out`. Passes if every golden finally equals what the subject answers.
pub(crate) fn bless(args: &BlessArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    if std::env::var_os("CI").is_some_and(|set| !set.is_empty()) {
        return Err(refused(
            "`CI` is set, and nobody reviews changes in CI; run `proofmark bless` on your own machine",
        ));
    }
    let cancel = Cancel::default();
    cancel_on_signal(cancel.clone());
    let mut draft = Draft::of(&args.suite)?;
    // `$bless` placeholders get a value that no subject returns, so that the suite can run.
    let waiting = span::fill_waiting(&mut draft);
    let mut blessed = BTreeSet::new();
    let suite = draft.load().map_err(Failed::BrokenSuite)?;
    let command = args.subject.command(&suite, &suite.ids())?;
    let guarded = guarded(&suite, &args.case);
    let job =
        Job { args, command: &command, cancel: &cancel, waiting: &waiting, guarded: &guarded };
    let mut rounds = 0;
    while let Some(steps) = job.round(&mut draft, &mut blessed)? {
        rounds += 1;
        if rounds > ROUNDS_OF_A_STEP * steps {
            return Err(refused(
                "the subject answers the same call differently each time, so no answer can be the golden; make it deterministic",
            ));
        }
    }
    waiting.restore(&mut draft);
    if draft.changed().next().is_none() {
        writeln!(out, "every golden matches the subject; nothing to bless")?;
        return Ok(Exit::Holds);
    }
    for (path, old, new) in draft.changed() {
        let names = (format!("a/{path}"), format!("b/{path}"));
        let diff = TextDiff::from_lines(old.unwrap_or_default(), new);
        // A bidirectional control character could make one line look like another.
        let diff = diff.unified_diff().header(&names.0, &names.1).to_string();
        for line in diff.lines() {
            writeln!(out, "{}", visible(line))?;
        }
    }
    out.flush()?;
    if !args.yes && !agreed(blessed.len())? {
        return Err(refused("nothing was written"));
    }
    draft.write()?;
    writeln!(out, "blessed {} case(s); `origin` is `reference` now", blessed.len())?;
    Ok(Exit::Holds)
}

/// Cases whose values come from a contract's text or from an oracle, unless `--case` names them exactly.
fn guarded(suite: &Suite, asked: &[String]) -> BTreeSet<String> {
    let is_guarded = |case: &&Case| case.origin != Origin::Reference && !is_named(case, asked);
    suite.cases.iter().filter(is_guarded).map(|case| case.name.clone()).collect()
}

/// Whether `--case` gives the exact name of the case.
fn is_named(case: &Case, asked: &[String]) -> bool {
    asked.iter().any(|asked| *asked == case.name || asked == case.id())
}

fn refused(message: &str) -> Failed {
    Failed::Usage(format!("not blessed: {}", visible_line(message)))
}

/// Each round settles the outcome of one step per case, or, once that is settled, its `asks` and `streams`.
const ROUNDS_OF_A_STEP: usize = 2;

/// Longer values are cut when they are shown.
const MOST_SHOWN: usize = 200;

struct Job<'a> {
    args: &'a BlessArgs,
    command: &'a SubjectCommand,
    cancel: &'a Cancel,
    waiting: &'a span::Waiting,
    /// In these cases, only `$bless` placeholders may be replaced.
    guarded: &'a BTreeSet<String>,
}

impl Job<'_> {
    /// Runs the cases and adopts the first difference of each. Returns the step count of the longest case, or none if
    /// nothing differed.
    fn round(
        &self,
        draft: &mut Draft,
        blessed: &mut BTreeSet<String>,
    ) -> Result<Option<usize>, Failed> {
        let suite = draft.load().map_err(Failed::BrokenSuite)?;
        let selection = Selection { cases: self.args.case.clone(), ..Selection::default() };
        let selected = selection.of(&suite)?;
        let cases: Vec<Case> = selected
            .into_iter()
            .filter(|case| matches!(case.kind, CaseKind::Fixture))
            .filter(|case| self.may_be_blessed(case))
            .map(in_full)
            .collect();
        if cases.is_empty() {
            return Err(refused(
                "no fixture case to bless: cases of origin `contract` or `oracle` need their exact name in `--case`, and features are edited by hand",
            ));
        }
        let options = RunOptions { record: true, kill_orphans: true, ..RunOptions::default() };
        let outcome =
            run(&suite, cases.iter().collect(), self.command, &options, self.cancel, |_| ())?;
        if outcome.interrupted {
            return Err(Failed::Interrupted);
        }
        if let Some(fault) = outcome.faults.first() {
            return Err(refused(&format!("the subject has a fault: {fault}; fix it first")));
        }
        let mut changes = Vec::new();
        for result in &outcome.results {
            let Some(case) = cases.iter().find(|case| case.name == result.case) else { continue };
            if let Some(change) = self.change(case, result, draft)? {
                changes.push(change);
                blessed.insert(case.name.clone());
            }
        }
        let longest = cases.iter().map(|case| case.steps.len()).max();
        let longest = longest.filter(|_| !changes.is_empty());
        span::apply(draft, changes);
        Ok(longest)
    }

    /// Whether bless may write to a case. In cases of a contract or an oracle it fills only placeholders, unless
    /// `--case` names them.
    fn may_be_blessed(&self, case: &Case) -> bool {
        !self.guarded.contains(&case.name) || self.waiting.has(&case.name)
    }

    /// The case has a placeholder, or `--case` names it exactly.
    fn is_asked_for(&self, case: &Case) -> bool {
        self.waiting.has(&case.name) || is_named(case, &self.args.case)
    }

    /// Refuses to overwrite values that come from a contract's text or an oracle.
    fn check_guarded(
        &self,
        case: &Case,
        index: usize,
        change: &span::Change,
    ) -> Result<(), Failed> {
        let Some((old, new)) = change.overwrites() else { return Ok(()) };
        if !self.guarded.contains(&case.name) {
            return Ok(());
        }
        let short = |text: &str| match text.char_indices().nth(MOST_SHOWN) {
            Some((end, _)) => format!("`{}…`", &text[..end]),
            None if text.is_empty() => "nothing".to_owned(),
            None => format!("`{text}`"),
        };
        let (old, new) = (short(old), short(new));
        Err(refused(&format!(
            "step {} of `{}` says {old}, which comes from the contract's text or an oracle, but the subject answers {new}; to replace it anyway, pass `--case {}`",
            index + 1,
            case.name,
            case.name,
        )))
    }

    /// The edit that removes the first difference of a case.
    fn change(
        &self,
        case: &Case,
        result: &CaseResult,
        draft: &Draft,
    ) -> Result<Option<span::Change>, Failed> {
        let no_golden =
            |message: &str| refused(&format!("`{}`: {message}; fix it first", case.name));
        let failure = match &result.verdict {
            Verdict::Passed => return Ok(None),
            Verdict::NotExercised { reason } if self.is_asked_for(case) => {
                return Err(no_golden(&reason.to_string()));
            }
            Verdict::NotExercised { .. } => return Ok(None),
            Verdict::Failed { failure } | Verdict::Blocked { failure } => failure,
        };
        if failure.reason != "difference" || failure.setup {
            return Err(no_golden(&failure.message));
        }
        // A case stops at its first difference, so the difference is in the last step that ran.
        let seen = result.transcript.as_ref().map(|transcript| transcript.steps.as_slice());
        let Some(seen) = seen.filter(|seen| !seen.is_empty()) else {
            return Err(no_golden(&failure.message));
        };
        let index = seen.len() - 1;
        let expectations = golden::of(case, seen).map_err(|message| no_golden(&message))?;
        if expectations.is_empty() {
            return Err(no_golden(&failure.message));
        }
        let change = span::change(case, index, expectations, draft).map_err(|message| {
            refused(&format!("`{}`: {message}; write this expectation by hand", case.name))
        })?;
        self.check_guarded(case, index, &change)?;
        Ok(Some(change))
    }
}

/// The case as it would be if it mentioned all calls of fakes and all items: those that come are blessed too.
fn in_full(case: &Case) -> Case {
    let mut case = case.clone();
    let calls = case.steps.iter_mut().flat_map(|step| step.calls_mut());
    calls.for_each(CallStep::mention_what_is_implied);
    case
}

fn agreed(cases: usize) -> Result<bool, Failed> {
    if !io::stdin().is_terminal() {
        return Err(refused(
            "stdin is not a terminal, so nobody can confirm; review the diff, then pass `--yes`",
        ));
    }
    write!(anstream::stderr(), "write the new expectations of {cases} case(s)? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

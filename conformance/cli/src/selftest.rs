//! `proofmark selftest`: the suite proves that each of its cases can fail.

use std::io::{self, Write};

use proofmark_judge::Suite;
use proofmark_report::style::{BAD, GOOD, styled};
use proofmark_selftest::determinism::Subject;
use proofmark_selftest::{
    Options, SelftestError, determinism, memory, mutants, nulls, pairs, saboteurs, variants,
};
use proofmark_suite::run::{Cancel, RunOptions};
use proofmark_suite::subject::{Orphans, SubjectCommand};
use serde_json::{Map, Value, json};

use crate::choice::SubjectChoice;
use crate::drive::cancel_on_signal;
use crate::exit::{Exit, Failed, standing};
use crate::options::{Format, SuiteChoice};
use crate::program::this_program;

/// Prove that the suite cannot be fooled: adversaries, saboteurs, pairs, variants, mutants, determinism. Runs all
/// parts unless you choose some.
#[derive(Debug, clap::Args)]
pub(crate) struct SelftestArgs {
    #[command(flatten)]
    subject: SubjectChoice,
    /// Run subjects that do nothing right: none may be certified, and no `must` may hold.
    #[arg(long)]
    adversaries: bool,
    /// Run the reference with one requirement broken: exactly that one must be reported.
    #[arg(long)]
    saboteurs: bool,
    /// Run the reference with two promises broken: nothing else must be reported.
    #[arg(long)]
    pairs: bool,
    /// Run right but unusual subjects: each must be certified.
    #[arg(long)]
    variants: bool,
    /// Change one thing in a passing answer: the case must notice.
    #[arg(long)]
    mutants: bool,
    /// Change order, workers and shards: the report must be the same bytes.
    #[arg(long)]
    determinism: bool,
    /// Run every case in every run; takes several times as long. By default a saboteur runs all cases of the requirements
    /// that it breaks and one case of each other requirement of the contract, and `--determinism` runs all cases twice
    /// and a sample otherwise.
    #[arg(long)]
    full: bool,
    /// Run only the cases and saboteurs of this contract. Repeat for several.
    #[arg(long, value_name = "ID")]
    contract: Vec<String>,
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    #[command(flatten)]
    suite: SuiteChoice,
}

/// What one part found: whether it holds, the lines for people, the data for programs.
struct Found {
    holds: bool,
    lines: Vec<String>,
    data: Value,
}

impl Found {
    fn write(&self, name: &str, out: &mut dyn Write) -> io::Result<()> {
        let word = if self.holds { styled(GOOD, "holds") } else { styled(BAD, "BROKEN") };
        writeln!(out, "{word} {name}")?;
        self.lines.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        out.flush()
    }
}

type Part = fn(&Bench<'_>) -> Result<Found, SelftestError>;

/// Writes the findings to `out`. Passes if the suite was not fooled.
pub(crate) fn selftest(args: &SelftestArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let suite = args.suite.load_only(&args.contract)?;
    let cancel = Cancel::default();
    cancel_on_signal(cancel.clone());
    let bench = Bench {
        suite: &suite,
        command: args.subject.command(&suite, &args.contract)?,
        // Saboteurs and adversaries belong to the reference.
        of_reference: args.subject.is_reference() && args.suite.suite.is_none(),
        of_author: args.suite.suite.is_some(),
        run: RunOptions { scratch: memory(), ..RunOptions::default() },
        options: Options { cancel, full: args.full, ..Options::new(this_program()?) },
    };
    let of_reference = args.saboteurs || args.pairs || args.variants;
    let all = !(of_reference || args.adversaries || args.mutants || args.determinism);
    if of_reference && !args.subject.is_reference() {
        let message =
            "saboteurs, pairs and variants are the built-in reference, changed; omit the command";
        return Err(Failed::Usage(message.to_owned()));
    }
    let parts: [(&str, bool, Part); 6] = [
        ("adversaries", all || args.adversaries, |bench| bench.adversaries()),
        ("saboteurs", (all && bench.of_reference) || args.saboteurs, |bench| bench.saboteurs()),
        ("pairs", (all && bench.of_reference) || args.pairs, |bench| bench.pairs()),
        ("variants", (all && bench.of_reference) || args.variants, |bench| bench.variants()),
        ("mutants", all || args.mutants, |bench| bench.mutants()),
        ("determinism", all || args.determinism, |bench| bench.determinism()),
    ];
    let human = args.format == Format::Human;
    let orphans = Orphans::adopt();
    let mut holds = true;
    let mut data = Map::new();
    // A closed stdout does not stop the proof: the exit code still reports the result.
    let mut written = Ok(());
    let parts = parts.into_iter().filter(|(_, wanted, _)| *wanted);
    bench.try_all(parts.map(|(name, _, part)| (name, part)).collect(), |name, found| {
        holds &= found.holds;
        if human {
            let so_far = std::mem::replace(&mut written, Ok(()));
            written = so_far.and_then(|()| found.write(name, out));
        }
        data.insert(name.to_owned(), found.data);
    })?;
    // Subjects crash and are killed here on purpose, which orphans the programs that they had started.
    let left = orphans.kill();
    if left > 0 {
        let message =
            format!("{left} leftover process(es) of crashed or killed subjects were stopped");
        written = written.and_then(|()| if human { writeln!(out, "{message}") } else { Ok(()) });
        data.insert("left".to_owned(), json!(left));
    }
    data.insert("holds".to_owned(), json!(holds));
    let written = written.and_then(|()| match (human, holds) {
        (false, _) => serde_json::to_writer_pretty(&mut *out, &data)
            .map_err(Into::into)
            .and_then(|()| writeln!(out)),
        (true, true) => writeln!(out, "nothing was fooled"),
        (true, false) => {
            writeln!(out, "{}", styled(BAD, "the suite can be fooled, or gives different results"))
        }
    });
    standing(if holds { Exit::Holds } else { Exit::DoesNotHold }, written)
}

/// Limit of listed changes that no case notices.
const MOST_LISTED: usize = 20;

struct Bench<'a> {
    suite: &'a Suite,
    command: SubjectCommand,
    of_reference: bool,
    /// The suite is the user's own, not the built-in one.
    of_author: bool,
    run: RunOptions,
    options: Options,
}

impl Bench<'_> {
    /// Tries all parts at the same time: while subjects of one wait, those of another can work. Reports findings in the
    /// order of `parts`. If a part has no result, the others stop.
    fn try_all(
        &self,
        parts: Vec<(&str, Part)>,
        mut report: impl FnMut(&str, Found),
    ) -> Result<(), SelftestError> {
        let stop_if_failed = |found: Result<Found, SelftestError>| {
            if found.is_err() {
                self.options.cancel.cancel();
            }
            found
        };
        std::thread::scope(|scope| {
            let running: Vec<_> = parts
                .into_iter()
                .map(|(name, part)| (name, scope.spawn(move || stop_if_failed(part(self)))))
                .collect();
            let mut outcome = Ok(());
            for (name, part) in running {
                match part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                    Ok(found) => report(name, found),
                    // A part that fails interrupts the others, but the user needs to know the cause.
                    Err(fault) => {
                        if matches!(outcome, Ok(()) | Err(SelftestError::Interrupted)) {
                            outcome = Err(fault);
                        }
                    }
                }
            }
            outcome
        })
    }

    fn adversaries(&self) -> Result<Found, SelftestError> {
        let reports = nulls::check(self.suite, &self.options)?;
        let problems = reports.iter().flat_map(|report| report.problems.iter().cloned());
        let mut lines = vec![format!(
            "{} subjects that do nothing right: {} certified, {} musts hold, {} exceptions",
            reports.len(),
            reports.iter().filter(|report| !report.certified.is_empty()).count(),
            reports.iter().map(|report| report.holds.len()).sum::<usize>(),
            nulls::EXCEPTIONS.len(),
        )];
        lines.extend(problems);
        Ok(Found { holds: lines.len() == 1 && !reports.is_empty(), lines, data: json!(reports) })
    }

    fn saboteurs(&self) -> Result<Found, SelftestError> {
        let reports = saboteurs::check(self.suite, &self.options)?;
        let problems = reports.iter().flat_map(|report| report.problems.iter().cloned());
        let mut lines = vec![format!(
            "{} references with one promise broken: {} caught for exactly that, in {} runs of cases",
            reports.len(),
            reports.iter().filter(|report| report.problems.is_empty()).count(),
            reports.iter().map(|report| report.cases).sum::<usize>(),
        )];
        lines.extend(problems);
        Ok(Found { holds: lines.len() == 1 && !reports.is_empty(), lines, data: json!(reports) })
    }

    fn pairs(&self) -> Result<Found, SelftestError> {
        let reports = pairs::check(self.suite, &self.options)?;
        let problems = reports.iter().flat_map(|report| report.problems.iter().cloned());
        let mut lines = vec![format!(
            "{} references with two promises broken: {} blamed for nothing else; both faults seen in {}; {} requirements blocked",
            reports.len(),
            reports.iter().filter(|report| report.problems.is_empty()).count(),
            reports.iter().filter(|report| report.both_seen).count(),
            reports.iter().map(|report| report.blocked).sum::<usize>(),
        )];
        lines.extend(problems);
        Ok(Found { holds: lines.len() == 1, lines, data: json!(reports) })
    }

    fn variants(&self) -> Result<Found, SelftestError> {
        let reports = variants::check(self.suite, &self.options)?;
        let problems: Vec<_> =
            reports.iter().flat_map(|report| report.problems.iter().cloned()).collect();
        let holds = problems.is_empty();
        let mut lines = vec![format!(
            "{} right but unusual subjects: {} certified",
            reports.len(),
            reports.iter().filter(|report| report.certified).count(),
        )];
        lines.extend(problems);
        Ok(Found { holds, lines, data: json!(reports) })
    }

    fn mutants(&self) -> Result<Found, SelftestError> {
        let Options { lanes, cancel, .. } = &self.options;
        let report = mutants::check(self.suite, &self.command, &self.run, lanes, cancel)?;
        let mut lines = Vec::new();
        for (contract, tally) in &report.contracts {
            let (killed, survived, rate) = (tally.killed, tally.survived, tally.rate());
            let free: usize = tally.free.values().sum();
            lines.push(format!(
                "{contract}: {} cases, {killed} mutants killed, {survived} survived ({rate:.2} %), {free} declared free",
                tally.cases,
            ));
        }
        lines.push(format!(
            "{} kinds of change are free in every case; `--format json` lists them as `unnoticed`",
            report.unnoticed.len(),
        ));
        // Users of the built-in suite did not write it, so they need no list.
        let listed = if self.of_author { MOST_LISTED } else { 0 };
        lines.extend(report.unnoticed.iter().take(listed).map(|one| {
            let mutants::Unnoticed { of, place, mutation, matcher } = one;
            format!("UNNOTICED {of}  {place}: {mutation}  (left free by `{matcher}`)")
        }));
        let more = report.unnoticed.len().saturating_sub(listed);
        if self.of_author && more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines.extend(report.survivors.iter().map(|survivor| {
            let mutants::Survivor { case, at, place, mutation } = survivor;
            format!("{} {case}  {place}: {mutation}  ({at})", styled(BAD, "SURVIVED"))
        }));
        lines.extend(report.toothless.iter().map(|case| {
            format!(
                "{} {case}: passes whatever the subject answers; add an expectation",
                styled(BAD, "TOOTHLESS")
            )
        }));
        lines.extend(
            report.faults.iter().map(|message| format!("{} {message}", styled(BAD, "FAULT"))),
        );
        lines.extend(report.not_passed.iter().map(|case| {
            let message = "the subject fails it, so its mutants prove nothing";
            format!("{} {case}: {message}", styled(BAD, "NOT PASSED"))
        }));
        Ok(Found { holds: report.holds(), lines, data: json!(report) })
    }

    fn determinism(&self) -> Result<Found, SelftestError> {
        let mut found = Found { holds: true, lines: Vec::new(), data: Value::Null };
        let ways = determinism::WAYS;
        let contracts = Vec::new();
        let command = self.command.clone();
        let full = self.options.full;
        let mut subjects = vec![Subject { command, ways, contracts, must_fail: false, full }];
        if self.of_reference {
            // A report of passes alone would prove little, so some cases fail here.
            let failing = determinism::failing(self.suite);
            subjects.extend(failing.map(|(name, contracts)| Subject {
                command: self.options.adversary(name),
                ways: determinism::FEW_WAYS,
                contracts,
                must_fail: true,
                full,
            }));
        }
        let cancel = &self.options.cancel;
        let reports =
            determinism::check_all(self.suite, &subjects, &self.run, &self.options.lanes, cancel)?;
        for report in &reports {
            found.holds &= report.differing.is_empty() && report.empty.is_none();
            found.lines.push(format!(
                "{}: {} runs, {} of them with every case, {} bytes of report with {} failing cases, {} differ",
                report.subject,
                report.runs,
                report.whole,
                report.bytes,
                report.failing,
                report.differing.len(),
            ));
            found.lines.extend(
                report.empty.iter().map(|message| format!("{} {message}", styled(BAD, "EMPTY"))),
            );
            found.lines.extend(report.differing.iter().map(|differing| {
                let determinism::Differing { way, first, other } = differing;
                format!("{} {way}: `{first}` became `{other}`", styled(BAD, "DIFFERS"))
            }));
        }
        found.data = json!(reports);
        Ok(found)
    }
}

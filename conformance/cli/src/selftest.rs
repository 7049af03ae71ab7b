//! `proofmark selftest`: the suite proves that each of its cases can fail.

use std::io::Write;

use proofmark_selftest::{determinism, mutants};
use proofmark_suite::Suite;
use proofmark_suite::run::{Cancel, RunOptions};
use proofmark_suite::subject::SubjectCommand;
use serde_json::{Map, Value, json};

use crate::exit::{Exit, Failed, standing};
use crate::run::{Format, SubjectChoice, SuiteChoice, cancel_on_signal};

/// Show that the suite cannot be fooled: adversaries, mutants, saboteurs, determinism. All of it, unless
/// some is asked for.
#[derive(Debug, clap::Args)]
pub(crate) struct SelftestArgs {
    #[command(flatten)]
    subject: SubjectChoice,
    /// Change one thing at a time in what a passing subject answers: every case must notice.
    #[arg(long)]
    mutants: bool,
    /// Run in other orders, with other numbers of workers and in shards: the report must be the same.
    #[arg(long)]
    determinism: bool,
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    #[command(flatten)]
    suite: SuiteChoice,
}

/// Writes what was found to `out`. Holds when nothing was fooled.
pub(crate) fn selftest(args: &SelftestArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let suite = args.suite.load()?;
    let cancel = Cancel::default();
    cancel_on_signal(cancel.clone());
    let bench = Bench {
        suite: &suite,
        command: args.subject.command()?,
        options: RunOptions::default(),
        cancel,
        human: args.format == Format::Human,
        all: !(args.mutants || args.determinism),
    };
    let mut sections = Map::new();
    let mut holds = true;
    let mut section = |name: &str, (held, data): (bool, Value)| {
        holds &= held;
        sections.insert(name.to_owned(), data);
    };
    if bench.all || args.mutants {
        section("mutants", bench.mutants(out)?);
    }
    if bench.all || args.determinism {
        section("determinism", bench.determinism(out)?);
    }
    let found = if holds { Exit::Holds } else { Exit::DoesNotHold };
    let written = if bench.human {
        let verdict = if holds { "the suite holds" } else { "the suite does not hold" };
        writeln!(out, "{verdict}")
    } else {
        sections.insert("holds".to_owned(), json!(holds));
        serde_json::to_writer_pretty(&mut *out, &sections)
            .map_err(Into::into)
            .and_then(|()| writeln!(out))
    };
    standing(found, written)
}

struct Bench<'a> {
    suite: &'a Suite,
    command: SubjectCommand,
    options: RunOptions,
    cancel: Cancel,
    human: bool,
    all: bool,
}

impl Bench<'_> {
    fn mutants(&self, out: &mut dyn Write) -> Result<(bool, Value), Failed> {
        let report = mutants::check(self.suite, &self.command, &self.options, &self.cancel)?;
        if self.human {
            for (contract, tally) in &report.contracts {
                let free: Vec<String> = tally
                    .free
                    .iter()
                    .map(|(matcher, count)| format!("{count} by {matcher}"))
                    .collect();
                writeln!(
                    out,
                    "mutants of {contract}: {} cases, {} killed, {} survived ({:.2} %); declared free: {}",
                    tally.cases,
                    tally.killed,
                    tally.survived,
                    tally.rate(),
                    if free.is_empty() { "none".to_owned() } else { free.join(", ") },
                )?;
            }
            writeln!(
                out,
                "{} kinds of change are free in every case; `--format json` lists them under `unnoticed`",
                report.unnoticed.len(),
            )?;
            for survivor in &report.survivors {
                writeln!(
                    out,
                    "SURVIVED {}  {}: {} ({})",
                    survivor.case, survivor.place, survivor.mutation, survivor.at
                )?;
            }
            for case in &report.toothless {
                writeln!(out, "TOOTHLESS {case}: no change of the answers fails it")?;
            }
            for case in &report.not_passed {
                writeln!(
                    out,
                    "NOT PASSED {case}: the subject itself fails it, so its mutants say nothing"
                )?;
            }
        }
        Ok((report.holds(), serde_json::to_value(&report).unwrap_or_default()))
    }

    fn determinism(&self, out: &mut dyn Write) -> Result<(bool, Value), Failed> {
        let found = determinism::check(self.suite, &self.command, &self.options, &self.cancel)?;
        if self.human {
            writeln!(
                out,
                "determinism of {}: {} runs, {} bytes of report with {} failing cases, {} differ",
                found.subject,
                found.runs,
                found.bytes,
                found.failing,
                found.differing.len(),
            )?;
            for differing in &found.differing {
                writeln!(
                    out,
                    "DIFFERS {}: `{}` became `{}`",
                    differing.way, differing.first, differing.other
                )?;
            }
        }
        let holds = found.differing.is_empty();
        Ok((holds, serde_json::to_value(&found).unwrap_or_default()))
    }
}

//! Writes a failure with everything that its reader needs.

use std::io::{self, Write};

use proofmark_judge::Suite;
use proofmark_judge::case::{Case, MAIN_PROCESS, MAIN_SESSION};
use proofmark_judge::ledger::{Basis, Requirement};
use proofmark_judge::verdict::Failure;
use serde_json::Value;

use crate::style::{BAD, GOOD, QUIET, STRONG, styled};
use crate::text::{cut, visible, visible_line};

/// How many calls before the failed one are shown.
const SHOWN_BEFORE: usize = 5;

/// The label of a failure that does not affect certification.
pub const DIFFERS: &str = "DIFFERS (does not decide)";

/// The label of a failure in the setup of a case, which blames none of its promises.
pub const BLOCKED: &str = "BLOCKED";

/// How to run a case alone: the parts of the command around the case's name.
#[derive(Debug, Clone)]
pub struct Rerun {
    /// `-- node my-adapter.mjs`, or `reference`.
    pub subject: String,
    /// Options that change the outcome, such as `--suite DIR`.
    pub options: String,
    /// The folder of the suite, for saving inputs that laws find.
    pub keep_in: String,
}

impl Rerun {
    pub fn command(&self, case: &str) -> String {
        self.selecting("--case", case)
    }

    /// The command that saves the input that breaks a law.
    pub(crate) fn keeping(&self, case: &str) -> String {
        let options = format!("{} --save-found {}", self.options, self.keep_in);
        Self { options: options.trim_start().to_owned(), ..self.clone() }.command(case)
    }

    /// The command that runs what `flag` selects.
    pub(crate) fn selecting(&self, flag: &str, what: &str) -> String {
        let parts = ["proofmark run", flag, &quoted(what), &self.options, &self.subject];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// Quotes a word for a shell, if necessary. Case names never need it; paths may.
pub fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Writes one failed case. `label` says how serious it is.
pub(crate) fn write(
    out: &mut dyn Write,
    suite: &Suite,
    label: &str,
    name: &str,
    failure: &Failure,
    rerun: &Rerun,
) -> io::Result<()> {
    writeln!(out, "{label} {}  {}", styled(STRONG, name), styled(QUIET, &failure.at))?;
    let case = suite.case(name);
    if failure.setup {
        writeln!(out, "  before it could show {}", shown(case))?;
    } else if let Some(case) = case {
        write_promises(out, suite, case)?;
    }
    writeln!(out, "  {} {}", styled(BAD, &failure.reason), visible_line(&failure.message))?;
    if let Some(words) = &failure.words {
        field(out, "step", words)?;
    }
    if let Some(call) = &failure.call {
        let place = place(&call.process, &call.session);
        field(out, "call", &format!("{} {}{place}", call.operation, one_line(&call.args)))?;
    }
    for (label, value) in [("expected", &failure.expected), ("got", &failure.got)] {
        if let Some(value) = value {
            field(out, label, &one_line(value))?;
        }
    }
    if let Some(difference) = &failure.difference {
        let (expected, got) = (visible_line(&difference.expected), visible_line(&difference.got));
        writeln!(out, "  first difference at {}", styled(STRONG, visible_line(&difference.path)))?;
        writeln!(out, "    expected  {}", styled(GOOD, &expected))?;
        writeln!(out, "    got       {}", styled(BAD, &got))?;
        if let Some(column) = first_differing_column(&expected, &got) {
            writeln!(out, "              {}{}", " ".repeat(column), styled(BAD, "^"))?;
        }
    }
    let earlier = failure.transcript.len().saturating_sub(SHOWN_BEFORE);
    if earlier > 0 {
        field(out, "before", &format!("{earlier} further calls"))?;
    }
    for (index, exchange) in failure.transcript[earlier..].iter().enumerate() {
        let (call, outcome) = (&exchange.call, one_line(&exchange.outcome));
        let label = if index + earlier == 0 { "before" } else { "" };
        field(out, label, &format!("{} {} → {outcome}", call.operation, one_line(&call.args)))?;
    }
    if failure.asks.is_empty() && case.is_some_and(|case| !case.given.fakes.is_empty()) {
        field(out, "fakes", "none was called")?;
    }
    for (index, ask) in failure.asks.iter().enumerate() {
        let label = if index == 0 { "fakes" } else { "" };
        let (args, answer) = (one_line(&ask.args), one_line(&ask.answer));
        field(out, label, &format!("{}.{} {args} → {answer}", ask.fake, ask.method))?;
    }
    write_stderr(out, failure)?;
    if let Some(case) = failure.found.as_ref().and_then(|found| found["cases"].get(0)) {
        field(
            out,
            "found",
            &format!("the smallest input found that breaks it, as a fixture case: {case}"),
        )?;
        writeln!(out, "  keep it as a case: {}", styled(STRONG, rerun.keeping(name)))?;
    }
    writeln!(out, "  run it alone: {}\n", styled(STRONG, rerun.command(name)))
}

fn shown(case: Option<&Case>) -> String {
    case.map(|case| case.shows.join(", ")).unwrap_or_default()
}

/// Writes the promises that a case shows, and its `why`.
pub fn write_promises(out: &mut dyn Write, suite: &Suite, case: &Case) -> io::Result<()> {
    for id in &case.shows {
        if let Some((_, requirement)) = suite.requirement(id) {
            writeln!(out, "  {id} {}: {}", levelled(requirement), requirement.sentence)?;
            if let Some(reason) = &requirement.reason {
                field(out, "because", reason)?;
            }
        }
    }
    writeln!(out, "  {} {}", styled(QUIET, "why"), case.why)
}

/// The process and session of a call, if they are not the main ones.
pub fn place(process: &str, session: &str) -> String {
    let mut place = String::new();
    if process != MAIN_PROCESS {
        place.push_str(&format!("  (process {process})"));
    }
    if session != MAIN_SESSION {
        place.push_str(&format!("  (session {session})"));
    }
    place
}

/// Writes the subject's last lines on stderr.
pub(crate) fn write_stderr(out: &mut dyn Write, failure: &Failure) -> io::Result<()> {
    for (index, line) in failure.stderr.iter().enumerate() {
        field(out, if index == 0 { "stderr" } else { "" }, line)?;
    }
    Ok(())
}

/// `must`, or `should (interpretation)`.
pub(crate) fn levelled(requirement: &Requirement) -> String {
    match requirement.basis {
        Basis::Contract => requirement.level.to_string(),
        Basis::Interpretation => format!("{} (interpretation)", requirement.level),
    }
}

fn field(out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
    let text = visible_line(text);
    writeln!(out, "  {} {text}", styled(QUIET, format_args!("{label:<9}")))
}

/// JSON on one line, cut in the middle if it is long.
fn one_line(value: &Value) -> String {
    cut(&value.to_string(), 300, 60).into_owned()
}

/// A failed case as on a terminal, without colours.
pub(crate) fn plain(suite: &Suite, name: &str, failure: &Failure, rerun: &Rerun) -> String {
    let mut text = Vec::new();
    let label = match suite.case(name).is_none_or(|case| suite.decides(case)) {
        _ if failure.setup => BLOCKED,
        true => "FAILED",
        false => DIFFERS,
    };
    // Writing to memory cannot fail.
    let _full = write(&mut text, suite, label, name, failure, rerun);
    let text = String::from_utf8_lossy(&text);
    let text = anstream::adapter::strip_str(&text).to_string();
    let lines = text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    visible(lines.trim_end()).into_owned()
}

/// The column of the mark; `None` if nothing is alike, as when one side is a description.
fn first_differing_column(expected: &str, got: &str) -> Option<usize> {
    let alike = expected.chars().zip(got.chars()).take_while(|(a, b)| a == b).count();
    (alike > 0).then_some(alike)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_under_the_first_difference() {
        assert_eq!(first_differing_column("\"abc\"", "\"abd\""), Some(3));
        assert_eq!(first_differing_column("1", "any string"), None);
    }

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let rerun = Rerun {
            subject: "-- node my-adapter.mjs".to_owned(),
            options: String::new(),
            keep_in: ".".to_owned(),
        };
        assert_eq!(
            rerun.command("my.notes/a/b"),
            "proofmark run --case my.notes/a/b -- node my-adapter.mjs"
        );
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}

//! Output for GitHub Actions: annotations, and text that cannot inject workflow commands.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use proofmark_judge::verdict::Failure;

use crate::junit::message;
use crate::report::Report;
use crate::text::visible_line;

/// GitHub shows this many annotations of each kind per step, and silently drops the rest.
const MOST: usize = 10;

struct Annotation {
    file: Option<(String, String)>,
    title: String,
    message: String,
}

/// Writes an annotation for each fault and each broken requirement: `::error title=…::…`. Failures that do not decide
/// are notices. `is_file` tells whether a path, relative to the working directory, is a file.
pub fn annotate(
    out: &mut dyn Write,
    report: &Report<'_>,
    is_file: impl Fn(&Path) -> bool,
) -> io::Result<()> {
    let mut errors: Vec<Annotation> = Vec::new();
    let plain = |title: &str, message: &str| Annotation {
        file: None,
        title: title.to_owned(),
        message: visible_line(message).into_owned(),
    };
    for fault in &report.outcome.faults {
        errors.push(plain(&format!("fault: {}", fault.code()), &fault.to_string()));
    }
    if report.outcome.interrupted {
        errors.push(plain("interrupted", "the run was interrupted; nothing is certified"));
    }
    errors.extend(report.silent_reason().map(|reason| plain("does not hold", &reason)));
    errors.extend(of_failures(report, true, &is_file));
    write_capped(out, "error", &errors)?;
    let notices: Vec<Annotation> = of_failures(report, false, &is_file).collect();
    write_capped(out, "notice", &notices)
}

/// Writes an annotation for an error that kept a command from producing a result.
pub fn annotate_fault(out: &mut dyn Write, message: &str) -> io::Result<()> {
    let lines: Vec<String> = message.lines().map(|line| visible_line(line).into_owned()).collect();
    writeln!(out, "::error title=proofmark has no verdict::{}", data(&lines.join("\n")))
}

/// One annotation for each requirement, with the first failing case that shows it.
fn of_failures<'a>(
    report: &'a Report<'_>,
    counting: bool,
    is_file: &'a impl Fn(&Path) -> bool,
) -> impl Iterator<Item = Annotation> {
    // What is broken comes before what is only blocked.
    let mut groups: BTreeMap<(bool, &str), Vec<(&str, &Failure)>> = BTreeMap::new();
    for (name, failure) in report.failures().filter(|(name, _)| report.counts(name) == counting) {
        let id = report.shown_by(name).next().map_or("", |requirement| &requirement.id);
        groups.entry((failure.setup, id)).or_default().push((name, failure));
    }
    groups.into_iter().map(move |((blocked, id), failures)| {
        let (name, failure) = failures[0];
        let more = match failures.len() {
            1 => String::new(),
            count => format!(" (and {} more of {id})", count - 1),
        };
        let message = message(report, name, failure);
        let command = report.rerun.command(name);
        Annotation {
            file: place(report, &failure.at, is_file),
            title: match blocked {
                true => format!("blocked: {name}"),
                false => format!("{id} {name}").trim_start().to_owned(),
            },
            message: format!("{message}{more}\nrun it alone: {}", visible_line(&command)),
        }
    })
}

/// The file and line of `fixtures/…:12`, if the reader has that file.
fn place(
    report: &Report<'_>,
    at: &str,
    is_file: &impl Fn(&Path) -> bool,
) -> Option<(String, String)> {
    let (file, line) = at.rsplit_once(':')?;
    line.parse::<usize>().ok()?;
    let path = Path::new(report.folder.unwrap_or(".")).join(file);
    let path = path.strip_prefix(".").unwrap_or(&path);
    (path.is_relative() && is_file(path))
        .then(|| (path.to_string_lossy().into_owned(), line.to_owned()))
}

fn write_capped(out: &mut dyn Write, kind: &str, all: &[Annotation]) -> io::Result<()> {
    let shown = if all.len() > MOST { MOST - 1 } else { all.len() };
    for Annotation { file, title, message } in &all[..shown] {
        let mut properties = String::new();
        if let Some((file, line)) = file {
            properties = format!("file={},line={line},", property(file));
        }
        writeln!(out, "::{kind} {properties}title={}::{}", property(title), data(message))?;
    }
    let rest = all.len() - shown;
    if rest > 0 {
        writeln!(out, "::{kind} title=and {rest} more::{rest} more; the report has them all")?;
    }
    Ok(())
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Makes text safe: the runner looks for `::` at the start of a line, after white space, and for `##[` anywhere.
pub fn without_commands(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for line in text.split_inclusive(['\n', '\r']) {
        let start = line.len() - line.trim_start().len();
        match line[start..].strip_prefix("::") {
            Some(rest) => {
                safe.push_str(&line[..start]);
                safe.push_str(": :");
                safe.push_str(rest);
            }
            None => safe.push_str(line),
        }
    }
    safe.replace("##[", "## [")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(data("50%\r\n::x, y"), "50%25%0D%0A::x, y");
        assert_eq!(property("a:b,c%"), "a%3Ab%2Cc%25");
    }

    #[test]
    fn text_cannot_inject_commands() {
        assert_eq!(
            without_commands("::a::\n  ::stop-commands::x\r::b\nx ::c ##[error]\n"),
            ": :a::\n  : :stop-commands::x\r: :b\nx ::c ## [error]\n"
        );
    }
}

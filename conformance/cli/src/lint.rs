//! `proofmark lint`: checks the suite itself.

use std::io::{self, Write};

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use proofmark_judge::{Problem, Span};
use proofmark_report::text::counted;
use proofmark_suite::SuiteFiles;
use serde_json::json;

use crate::exit::{Exit, Failed, standing};
use crate::options::{Format, SuiteChoice};

/// Check ledgers, fixtures and features. Every problem has its file, line, column and fix.
#[derive(Debug, clap::Args)]
pub(crate) struct LintArgs {
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    #[command(flatten)]
    suite: SuiteChoice,
}

/// Writes every problem to `out`, with its line and a caret under it.
pub(crate) fn lint(args: &LintArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let files = match &args.suite.suite {
        Some(folder) => SuiteFiles::in_folder(folder)?,
        None => proofmark_catalog::files(),
    };
    let loaded = match (proofmark_catalog::load(&files), &args.suite.suite) {
        (Ok(suite), None) => {
            let problems = proofmark_catalog::unmatched_saboteurs(&suite);
            if problems.is_empty() { Ok(suite) } else { Err(problems) }
        }
        (loaded, _) => loaded,
    };
    let exit = if loaded.is_ok() { Exit::Holds } else { Exit::DoesNotHold };
    let written = match (args.format, &loaded) {
        (Format::Json, loaded) => write_json(loaded.as_ref().err().map_or(&[], Vec::as_slice), out),
        (Format::Human, Ok(suite)) => {
            let requirements: usize =
                suite.contracts.iter().map(|contract| contract.requirements.len()).sum();
            let counted = [
                counted(suite.contracts.len(), "contract"),
                counted(requirements, "requirement"),
                counted(suite.cases.len(), "case"),
            ];
            writeln!(out, "{}: no problem", counted.join(", "))
        }
        (Format::Human, Err(problems)) => write_problems(problems, &files, out),
    };
    standing(exit, written)
}

/// For editors. Lines and columns start at 1, columns count characters, and `endColumn` is exclusive.
fn write_json(problems: &[Problem], out: &mut dyn Write) -> io::Result<()> {
    let listed: Vec<_> = problems
        .iter()
        .map(|problem| {
            let Span { line, column, length } = problem.place();
            json!({
                "file": problem.at.file, "line": line, "column": column, "endColumn": column + length,
                "message": problem.message, "fix": problem.fix(),
            })
        })
        .collect();
    let report = json!({ "holds": problems.is_empty(), "problems": listed });
    serde_json::to_writer_pretty(&mut *out, &report)?;
    writeln!(out)
}

fn write_problems(problems: &[Problem], files: &SuiteFiles, out: &mut dyn Write) -> io::Result<()> {
    for problem in problems {
        let text = files.iter().find(|(path, _)| *path == problem.at.file).map(|(_, text)| text);
        writeln!(out, "{}\n", shown(problem, text.unwrap_or_default()))?;
    }
    writeln!(out, "{}", counted(problems.len(), "problem"))
}

fn shown(problem: &Problem, text: &str) -> String {
    let fix = problem.fix();
    let what = match problem.message.strip_suffix(fix) {
        Some(what) if !what.is_empty() => {
            what.trim_end_matches("; ").trim_end_matches(", expected ")
        }
        _ => &problem.message,
    };
    let Span { line, column, length } = problem.place();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let title = Level::ERROR.primary_title(what);
    // A law has no file and no line.
    let group = match line.checked_sub(1).and_then(|index| text.lines().nth(index)) {
        // Pass only this line, so that the cost does not grow with the file.
        Some(source) => {
            let at = |letters: usize| {
                source.char_indices().nth(letters).map_or(source.len(), |(at, _)| at)
            };
            let span = at(column - 1)..at(column - 1 + length.max(1));
            let snippet = Snippet::source(source).line_start(line).path(problem.at.file.as_str());
            title.element(snippet.annotation(AnnotationKind::Primary.span(span)))
        }
        None => title.element(Level::NOTE.message(problem.at.to_string())),
    };
    let group = if what == problem.message {
        group
    } else {
        let word = if problem.message.contains(", expected ") { "expected " } else { "" };
        let word = if problem.message.contains("; ") { "" } else { word };
        group.element(Level::HELP.message(format!("{word}{fix}")))
    };
    Renderer::styled().render(&[group])
}

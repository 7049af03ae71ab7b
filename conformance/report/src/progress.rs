//! Progress on stderr during a run: a bar on a terminal, otherwise an occasional line.
//!
//! A CI log may look like a terminal. If `CI` is set, nobody watches a bar, and `NO_COLOR` asks for plain text.

use std::io::{IsTerminal as _, Write as _};

use indicatif::{ProgressBar, ProgressStyle};
use proofmark_judge::verdict::CaseResult;

/// Whether this runs in CI, where output is a log even if it looks like a terminal.
pub fn in_ci() -> bool {
    means_ci(std::env::var("CI").ok().as_deref())
}

fn means_ci(value: Option<&str>) -> bool {
    value.is_some_and(|value| !["", "0", "false"].contains(&value))
}

/// Whether to show a bar: on a capable terminal, unless a variable says otherwise.
fn wants_bar(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name| variable(name).is_some_and(|value| !value.is_empty());
    let ci = means_ci(variable("CI").as_deref());
    let dumb = variable("TERM").is_none_or(|term| term == "dumb");
    is_terminal && !ci && !set("NO_COLOR") && !dumb
}

pub struct Progress {
    total: usize,
    done: usize,
    failed: usize,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub fn new(total: usize) -> Self {
        let bar = wants_bar(std::io::stderr().is_terminal(), |name| std::env::var(name).ok()).then(
            || {
                let style = ProgressStyle::with_template("{bar:40} {pos} of {len} cases {msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_bar());
                ProgressBar::new(total as u64).with_style(style)
            },
        );
        let mut progress = Self { total, done: 0, failed: 0, bar };
        progress.tell();
        progress
    }

    pub fn add(&mut self, result: &CaseResult) {
        self.done += 1;
        self.failed += usize::from(result.verdict.failure().is_some());
        match &self.bar {
            Some(bar) => {
                bar.inc(1);
                if self.failed > 0 {
                    bar.set_message(format!("({} failed)", self.failed));
                }
            }
            None => self.tell(),
        }
    }

    /// Prints a line at every tenth.
    fn tell(&mut self) {
        let tenth = |done: usize| done * 10 / self.total.max(1);
        if self.bar.is_none() && (self.done == 0 || tenth(self.done) != tenth(self.done - 1)) {
            // Stderr may be closed; progress must not fail the run.
            let _deaf = writeln!(
                std::io::stderr(),
                "{} of {} cases, {} failed",
                self.done,
                self.total,
                self.failed
            );
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_needs_an_interactive_terminal() {
        let bar = |is_terminal, set: &[(&str, &str)]| {
            let usual = [("TERM", "xterm")];
            let variables = || set.iter().chain(&usual);
            wants_bar(is_terminal, |name| {
                variables().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(bar(true, &[]));
        assert!(bar(true, &[("CI", "false"), ("NO_COLOR", "")]));
        assert!(!bar(false, &[]));
        assert!(!bar(true, &[("CI", "true")]));
        assert!(!bar(true, &[("CI", "1")]));
        assert!(!bar(true, &[("NO_COLOR", "1")]));
        assert!(!bar(true, &[("TERM", "dumb")]));
    }
}

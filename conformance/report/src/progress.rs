//! Progress while a run goes on: a bar on a terminal, a line now and then in a log. On stderr.

use std::io::{IsTerminal as _, Write as _};

use indicatif::{ProgressBar, ProgressStyle};
use proofmark_suite::run::Event;
use proofmark_suite::verdict::Verdict;

pub struct Progress {
    total: usize,
    done: usize,
    failed: usize,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub fn new(total: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:40} {pos} of {len} cases {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(total as u64).with_style(style)
        });
        let mut progress = Self { total, done: 0, failed: 0, bar };
        progress.tell();
        progress
    }

    pub fn on_event(&mut self, event: &Event) {
        if let Event::Case(result) = event {
            self.done += 1;
            self.failed += usize::from(matches!(result.verdict, Verdict::Failed { .. }));
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
    }

    /// A line at every tenth of the way.
    fn tell(&mut self) {
        let tenth = |done: usize| done * 10 / self.total.max(1);
        if self.bar.is_none() && (self.done == 0 || tenth(self.done) != tenth(self.done - 1)) {
            // Nobody may be listening; progress is never worth failing for.
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

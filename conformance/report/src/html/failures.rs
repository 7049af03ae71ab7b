//! Each failure with its details, within the limits of a page.

use maud::{Markup, html};
use proofmark_judge::matcher::Difference;
use proofmark_judge::verdict::{CallSeen, Failure};
use serde_json::Value;

use crate::failure::levelled;
use crate::report::Report;
use crate::text::{counted, cut, visible, visible_line};

/// The most bytes of detailed failures; later failures show only the reason and the command.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// How many failures are expanded when the page opens.
const OPEN: usize = 3;
/// The most calls, calls of fakes, and stderr lines of one failure.
const MOST_CALLS: usize = 30;
const MOST_LINES: usize = 40;

pub(super) fn section(report: &Report<'_>) -> Markup {
    // Failures that count come first, each group in name order.
    let (counting, other): (Vec<_>, Vec<_>) =
        report.failures().partition(|(name, _)| report.counts(name));
    if counting.is_empty() && other.is_empty() {
        return html! {};
    }
    let mut left = MOST_BYTES;
    let mut entries = Vec::new();
    for (index, (name, failure)) in counting.iter().chain(&other).enumerate() {
        let whole = one(report, name, failure, index < OPEN, true);
        let entry =
            if whole.0.len() <= left { whole } else { one(report, name, failure, false, false) };
        left = left.saturating_sub(entry.0.len());
        entries.push(entry);
    }
    html! {
        section aria-labelledby="failures" {
            h2 #failures { "Failures " span.tally { (counted(counting.len(), "case"))
                @if !other.is_empty() { ", and " (other.len()) " that " (if other.len() == 1 { "does" } else { "do" }) " not decide" } } }
            @for entry in &entries { (entry) }
        }
    }
}

fn one(report: &Report<'_>, name: &str, failure: &Failure, open: bool, whole: bool) -> Markup {
    let (class, word) = match report.counts(name) {
        _ if failure.setup => ("badge warn", "blocked"),
        true => ("badge bad", "failed"),
        false => ("badge warn", "differs"),
    };
    html! {
        details.failure id=(name) open[open] data-item="failure" data-fails="" {
            summary {
                span class=(class) { (word) } " " code.id { (name) } " "
                span.message { (visible_line(&cut(&failure.message, 300, 60))) }
            }
            div.inside {
                @if whole { (inside(report, name, failure)) }
                @else { p.quiet { "There are too many failures for one page; run this case alone to see its details." } }
                (command("Run it alone", &report.rerun.command(name)))
            }
        }
    }
}

fn inside(report: &Report<'_>, name: &str, failure: &Failure) -> Markup {
    let case = report.suite.case(name);
    html! {
        @if failure.setup { p { "The setup of this case went wrong, before it could show:" } }
        ul.promises { @for requirement in report.shown_by(name) {
            li { a href={ "#" (requirement.id) } { (requirement.id) } " " span.level { (levelled(requirement)) } " " (requirement.sentence) }
        } }
        dl {
            @if let Some(case) = case { dt { "Why" } dd { (case.why) } }
            dt { "Reason" } dd { b { (failure.reason) } ": " (visible_line(&cut(&failure.message, 1500, 300))) }
            dt { "Where" } dd { code { (visible_line(&failure.at)) } }
            @if let Some(words) = &failure.words { dt { "Step" } dd { (visible_line(&cut(words, 1000, 100))) } }
            @if let Some(call) = &failure.call { dt { "Call" } dd { (called(call)) } }
        }
        @if let Some(difference) = &failure.difference { (first_difference(difference)) }
        div.compare {
            @for (label, value) in [("Expected", &failure.expected), ("Got", &failure.got)] {
                @if let Some(value) = value {
                    figure { figcaption { (label) } pre tabindex="0" { (pretty(value)) } }
                }
            }
        }
        (transcript(failure))
        (asks(report, name, failure))
        (stderr(&failure.stderr))
        @if let Some(found) = failure.found.as_ref().and_then(|found| found["cases"].get(0)) {
            figure { figcaption { "The smallest input found that breaks it, as a fixture case" } pre tabindex="0" { (pretty(found)) } }
            (command("Keep it as a case", &report.rerun.keeping(name)))
        }
    }
}

/// `operation {arguments}`, and its process and session unless they are the main ones.
fn called(call: &CallSeen) -> Markup {
    html! { code { (call.operation) " " (line(&call.args)) } (place(call)) }
}

fn place(call: &CallSeen) -> Markup {
    use proofmark_judge::case::{MAIN_PROCESS, MAIN_SESSION};
    html! {
        @if call.process != MAIN_PROCESS { " " span.quiet { "process " (visible_line(&call.process)) } }
        @if call.session != MAIN_SESSION { " " span.quiet { "session " (visible_line(&call.session)) } }
    }
}

/// The calls before the failure; only the last ones if there are many.
fn transcript(failure: &Failure) -> Markup {
    let skipped = failure.transcript.len().saturating_sub(MOST_CALLS);
    html! {
        @if !failure.transcript.is_empty() {
            figure {
                figcaption { "Calls before" @if skipped > 0 { ", without the first " (skipped) } }
                ol.calls start=(skipped + 1) { @for exchange in &failure.transcript[skipped..] {
                    li { (called(&exchange.call)) span.arrow { " → " } code { (line(&exchange.outcome)) } }
                } }
            }
        }
    }
}

fn asks(report: &Report<'_>, name: &str, failure: &Failure) -> Markup {
    let offered = report.suite.case(name).is_some_and(|case| !case.given.fakes.is_empty());
    let more = failure.asks.len().saturating_sub(MOST_CALLS);
    html! {
        @if !failure.asks.is_empty() {
            figure {
                figcaption { "Fakes called" }
                ol.calls { @for ask in failure.asks.iter().take(MOST_CALLS) {
                    li { code { (visible_line(&ask.fake)) "." (visible_line(&ask.method)) " " (line(&ask.args)) }
                        span.arrow { " → " } code { (line(&ask.answer)) } }
                } }
                @if more > 0 { p.quiet { "and " (more) " more" } }
            }
        } @else if offered { p.quiet { "No fake was called." } }
    }
}

fn stderr(lines: &[String]) -> Markup {
    let skipped = lines.len().saturating_sub(MOST_LINES);
    html! {
        @if !lines.is_empty() {
            figure {
                figcaption { "The subject's last lines on stderr" }
                pre tabindex="0" { @for text in &lines[skipped..] { (visible_line(&cut(text, 400, 60))) "\n" } }
            }
        }
    }
}

/// A command with a copy button, which the script shows.
fn command(label: &str, command: &str) -> Markup {
    html! {
        figure.command {
            figcaption { (label) }
            div { pre tabindex="0" { (visible_line(command)) } button type="button" data-copy hidden { "Copy" } }
        }
    }
}

fn line(value: &Value) -> String {
    let text = value.to_string();
    visible_line(&cut(&text, 300, 60)).into_owned()
}

fn pretty(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    visible(&cut(&text, 3000, 600)).into_owned()
}

/// Both sides, with the difference highlighted.
fn first_difference(difference: &Difference) -> Markup {
    let (expected, got) = (visible_line(&difference.expected), visible_line(&difference.got));
    let (head, tail) = alike(&expected, &got);
    html! {
        figure.difference {
            figcaption { "First difference at " code { (visible_line(&cut(&difference.path, 300, 60))) } }
            dl {
                dt { "expected" } dd { (marked(&expected, head, tail)) }
                dt { "got" } dd { (marked(&got, head, tail)) }
            }
        }
    }
}

/// The number of equal bytes at the start and at the end of both.
fn alike(a: &str, b: &str) -> (usize, usize) {
    let same = |pair: &(char, char)| pair.0 == pair.1;
    let length = |pairs: &mut dyn Iterator<Item = (char, char)>| {
        pairs.take_while(same).map(|(letter, _)| letter.len_utf8()).sum::<usize>()
    };
    let head = length(&mut a.chars().zip(b.chars()));
    let tail = length(&mut a[head..].chars().rev().zip(b[head..].chars().rev()));
    (head, tail)
}

fn marked(text: &str, head: usize, tail: usize) -> Markup {
    let (before, rest) = text.split_at(head);
    let (odd, after) = rest.split_at(rest.len() - tail);
    html! {
        code { (cut(before, 40, 80)) @if !odd.is_empty() { mark { (cut(odd, 600, 100)) } } (cut(after, 80, 40)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_is_marked() {
        let mark = |a: &str, b: &str| {
            let (head, tail) = alike(a, b);
            [a, b].map(|text| marked(text, head, tail).into_string())
        };
        assert_eq!(
            mark("größer", "gräßer"),
            ["<code>gr<mark>ö</mark>ßer</code>", "<code>gr<mark>ä</mark>ßer</code>"]
        );
        assert_eq!(mark("aa", "aaa"), ["<code>aa</code>", "<code>aa<mark>a</mark></code>"]);
        assert_eq!(mark("<b>", "1")[0], "<code><mark>&lt;b&gt;</mark></code>");
    }
}

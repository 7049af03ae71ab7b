//! A summary in GitHub's Markdown: contracts, broken promises, the first failures.

use std::fmt::Write as _;

use proofmark_judge::verdict::RequirementVerdict;

use crate::failure::{self, levelled};
use crate::report::{Aim, Report, Standing};
use crate::text::{counted, cut, visible, visible_line};

/// GitHub's size limit for one step; a page cut inside a tag would not render.
const MOST_BYTES: usize = 1024 * 1024;
/// Reserved for the text after the failures.
const RESERVE: usize = 1024;
/// How many failures are shown in full.
const MOST_FAILURES: usize = 20;
const MOST_BROKEN: usize = 200;

/// The whole summary, no longer than [`MOST_BYTES`].
pub fn summary(report: &Report<'_>) -> String {
    let mut page = String::new();
    head(&mut page, report);
    contracts(&mut page, report);
    broken(&mut page, report);
    failures(&mut page, report);
    page
}

/// Escapes text: every punctuation mark becomes a character reference, which is never read as Markdown or HTML.
fn words(text: &str) -> String {
    let mut safe = String::new();
    for letter in visible_line(text).chars() {
        if letter.is_ascii_punctuation() {
            safe.push_str(&format!("&#{};", u32::from(letter)));
        } else {
            safe.push(letter);
        }
    }
    safe
}

/// The same for names: inside `<code>`, none becomes a link.
fn code(text: &str) -> String {
    format!("<code>{}</code>", words(text))
}

fn head(page: &mut String, report: &Report<'_>) {
    let verdict = match (report.outcome.interrupted, report.holds, report.aim) {
        (true, ..) => "⚠️ interrupted",
        (_, true, Aim::Certify) => "✅ certified",
        (_, true, Aim::Run) => "✅ all cases passed",
        (_, false, Aim::Certify) => "❌ not certified",
        (_, false, Aim::Run) => "❌ not all cases passed",
    };
    let _ = writeln!(page, "## Proofmark: {verdict}\n");
    let totals = report.totals(None);
    let who = match &report.outcome.subject {
        Some(subject) => {
            let name = cut(&subject.name, 200, 20);
            let version = cut(&subject.version, 200, 20);
            format!("{} {}: ", code(&name), code(&version))
        }
        None => "The subject never answered `hello`: ".to_owned(),
    };
    let _ = writeln!(
        page,
        "{who}{} passed, {} failed, {} blocked, {} not exercised. Suite {}.\n",
        totals.passed,
        totals.failed,
        totals.blocked,
        totals.idle,
        code(&report.suite.digest)
    );
    for fault in report.outcome.faults.iter().take(MOST_FAILURES) {
        let message = fault.to_string();
        let _ = writeln!(
            page,
            "- **fault** {}: {}",
            code(fault.code()),
            code(&cut(&message, 800, 200))
        );
    }
    if let Some(reason) = report.silent_reason() {
        let _ = writeln!(page, "- {}", code(&cut(&reason, 800, 200)));
    }
    page.push('\n');
}

fn contracts(page: &mut String, report: &Report<'_>) {
    page.push_str(
        "| contract | verdict | musts | others | passed | failed | blocked | not exercised |\n",
    );
    page.push_str("|---|---|--:|--:|--:|--:|--:|--:|\n");
    for contract in report.contracts {
        let verdict = match report.standing(contract) {
            Standing::Certified => "✅ certified",
            Standing::NotCertified => "❌ not certified",
            Standing::NotClaimed => "not claimed",
            Standing::NotJudged => "not judged: a part of its cases",
        };
        let ((holding, all), (others, of)) = (contract.deciding(), contract.others());
        let totals = report.totals(Some(&contract.contract.id));
        let _ = writeln!(
            page,
            "| {} | {verdict} | {holding}/{all} | {others}/{of} | {} | {} | {} | {} |",
            code(&contract.contract.id),
            totals.passed,
            totals.failed,
            totals.blocked,
            totals.idle
        );
    }
    page.push('\n');
}

fn broken(page: &mut String, report: &Report<'_>) {
    let all = report.contracts.iter().flat_map(|contract| &contract.requirements);
    let broken: Vec<_> = all
        .filter_map(|result| match &result.verdict {
            RequirementVerdict::Broken { cases } => Some((result, cases.len())),
            _ => None,
        })
        .collect();
    if broken.is_empty() {
        return;
    }
    page.push_str(
        "### Broken promises\n\n| requirement | level | promise | failing |\n|---|---|---|--:|\n",
    );
    for (result, failing) in broken.iter().take(MOST_BROKEN) {
        let requirement = result.requirement;
        let _ = writeln!(
            page,
            "| {} | {} | {} | {failing} of {} |",
            code(&requirement.id),
            levelled(requirement),
            words(&requirement.sentence),
            result.cases
        );
    }
    if broken.len() > MOST_BROKEN {
        let _ = writeln!(page, "\nand {} more.", broken.len() - MOST_BROKEN);
    }
    page.push('\n');
}

fn failures(page: &mut String, report: &Report<'_>) {
    // Failures that count come first.
    let (counting, other): (Vec<_>, Vec<_>) =
        report.failures().partition(|(name, _)| report.counts(name));
    let all: Vec<_> = counting.into_iter().chain(other).collect();
    if all.is_empty() {
        return;
    }
    page.push_str("### First failures\n\n");
    let mut shown = 0;
    for (name, failure) in all.iter().take(MOST_FAILURES) {
        let whole = failure::plain(report.suite, name, failure, report.rerun);
        let entry = format!(
            "<details><summary>{} {}</summary>\n\n<pre>\n{}\n</pre>\n\n</details>\n\n",
            code(name),
            code(&failure.reason),
            in_pre(&cut(&whole, 16_000, 4_000))
        );
        if page.len() + entry.len() > MOST_BYTES - RESERVE {
            break;
        }
        page.push_str(&entry);
        shown += 1;
    }
    if shown < all.len() {
        let _ = writeln!(page, "and {}.", counted(all.len() - shown, "more failing case"));
    }
}

/// Inside `<pre>`, Markdown is off; escape whatever could end it.
fn in_pre(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

//! The report as one page without network access, external fonts or foreign scripts.
//!
//! The page works without its script, by keyboard, on a phone and on paper. The same run gives the same bytes: it has
//! no times and nothing random.

mod failures;
mod requirements;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use proofmark_judge::law::LawOptions;
use sha2::{Digest as _, Sha256};

use crate::report::{Aim, Report, Standing};
use crate::text::{counted, cut, visible_line};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// A stamp with a tick in it.
const MARK: &str = "<svg viewBox='0 0 32 32' aria-hidden='true'><path d='M16 2 28 7v9c0 7-5 12-12 14C9 28 4 23 4 16V7Z' fill='#2b6cb0'/><path d='m10 16 4.5 4.5L22.5 12' fill='none' stroke='#fff' stroke-width='3'/></svg>";

/// The whole page.
pub fn page(report: &Report<'_>) -> String {
    let title = format!("{}: {}", visible_line(&name(report)), headline(report).0);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                meta name="generator" content={ "proofmark " (env!("CARGO_PKG_VERSION")) };
                title { (title) }
                link rel="icon" href={ "data:image/svg+xml;base64," (icon()) };
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the verdicts" }
                (header(report))
                main #main tabindex="-1" {
                    (glance(report))
                    (faults(report))
                    (filter(report))
                    (failures::section(report))
                    @for contract in report.contracts { (requirements::section(report, contract)) }
                }
                footer { p { "Written by proofmark " (env!("CARGO_PKG_VERSION")) ". A contract is certified when every "
                    b { "must" } " that its text makes holds; interpretations are checked and never decide." } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// A policy that allows exactly the style and the script above.
fn policy() -> String {
    let digest = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    )
}

fn icon() -> String {
    let mark = MARK.replacen("<svg ", "<svg xmlns='http://www.w3.org/2000/svg' ", 1);
    BASE64_STANDARD.encode(mark)
}

fn name(report: &Report<'_>) -> String {
    match &report.outcome.subject {
        Some(subject) => {
            format!("{} {}", cut(&subject.name, 100, 10), cut(&subject.version, 60, 10))
        }
        None => "an unknown subject".to_owned(),
    }
}

/// The overall verdict, its style, and its basis.
fn headline(report: &Report<'_>) -> (&'static str, &'static str, String) {
    let totals = report.totals(None);
    let all = totals.passed + totals.failed + totals.blocked + totals.known + totals.idle;
    let known = match totals.known {
        0 => String::new(),
        known => format!(", {known} failed as known"),
    };
    let cases = format!("{} of {} passed{known}", totals.passed, counted(all, "case"));
    let standing =
        |wanted| report.contracts.iter().filter(|one| report.standing(one) == wanted).count();
    let certified = standing(Standing::Certified);
    let claimed = certified + standing(Standing::NotCertified);
    let contracts = match claimed {
        0 => "no contract of this suite is claimed".to_owned(),
        _ => format!("{certified} of {} certified", counted(claimed, "claimed contract")),
    };
    match (report.outcome.interrupted, report.aim, report.holds) {
        (true, ..) => ("interrupted", "bad", format!("{cases}; the missing cases were not tried")),
        (_, Aim::Certify, true) => ("certified", "good", format!("{contracts}; {cases}")),
        (_, Aim::Certify, false) => ("not certified", "bad", format!("{contracts}; {cases}")),
        (_, Aim::Run, true) => ("all selected cases passed", "good", cases),
        (_, Aim::Run, false) => ("not all selected cases passed", "bad", cases),
    }
}

fn header(report: &Report<'_>) -> Markup {
    let (word, mark, rests_on) = headline(report);
    let usual = LawOptions::default();
    let laws = &report.outcome.laws;
    html! {
        header {
            p.brand { (PreEscaped(MARK)) " Proofmark" }
            h1 { bdi { (visible_line(&name(report))) } " " span class={ "verdict " (mark) } { (word) } }
            p.lead { (rests_on) "." }
            dl.facts {
                @if let Some(subject) = &report.outcome.subject {
                    dt { "Language" } dd { (visible_line(&cut(&subject.language, 100, 10))) }
                    dt { "Claims" } dd { (claims(&subject.contracts)) }
                } @else {
                    dt { "Subject" } dd { "It never answered `hello`." }
                }
                dt { "Suite" } dd { code { (report.suite.digest) } }
                dt { "Laws" } dd {
                    (laws.cases) " inputs each, seed " (laws.seed)
                    @if *laws != usual { " (usual: " (usual.cases) ", seed " (usual.seed) ")" }
                }
                dt { "Subject's command" } dd { code { (visible_line(&cut(report.rerun.subject.trim_start_matches("-- "), 400, 100))) } }
            }
        }
    }
}

fn claims(contracts: &[String]) -> String {
    let listed = contracts.join(", ");
    if listed.is_empty() {
        "nothing".to_owned()
    } else {
        visible_line(&cut(&listed, 800, 100)).into_owned()
    }
}

pub(super) fn badge(standing: Standing) -> Markup {
    let (class, word) = match standing {
        Standing::Certified => ("badge good", "certified"),
        Standing::NotCertified => ("badge bad", "not certified"),
        Standing::NotClaimed => ("badge quiet", "not claimed"),
        Standing::NotJudged => ("badge quiet", "not judged: a part of its cases"),
    };
    html! { span class=(class) { (word) } }
}

fn glance(report: &Report<'_>) -> Markup {
    html! {
        section aria-labelledby="glance" {
            h2 #glance { "Contracts at a glance" }
            div.scroll tabindex="0" role="region" aria-labelledby="glance" {
                table.glance {
                    thead { tr {
                        th scope="col" { "Contract" }
                        th scope="col" { "Verdict" }
                        th scope="col" { "Musts that hold" }
                        th scope="col" { "Others that hold" }
                        th.number scope="col" { "Passed" }
                        th.number scope="col" { "Failed" }
                        th.number scope="col" { "Blocked" }
                        th.number scope="col" { "Not exercised" }
                    } }
                    tbody {
                        @for contract in report.contracts {
                            @let id = &contract.contract.id;
                            @let totals = report.totals(Some(id));
                            tr {
                                th scope="row" { a href={ "#contract-" (id) } { (id) } }
                                td { (badge(report.standing(contract))) }
                                td data-of="Musts that hold" { (share(contract.deciding())) }
                                td data-of="Others that hold" { (share(contract.others())) }
                                td.number data-of="Passed" { (totals.passed) }
                                td.number.bad[totals.failed > 0] data-of="Failed" { (totals.failed) }
                                td.number data-of="Blocked" { (totals.blocked) }
                                td.number data-of="Not exercised" { (totals.idle) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// `3 of 4`, and a bar.
fn share((holding, all): (usize, usize)) -> Markup {
    html! {
        span.share {
            span { (holding) " of " (all) }
            @if all > 0 {
                svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" {
                    rect.rest width="100" height="6" {}
                    rect.held width=(holding * 100 / all) height="6" {}
                }
            }
        }
    }
}

/// Faults that no case is to blame for, and other notes.
fn faults(report: &Report<'_>) -> Markup {
    let mut notes: Vec<String> = report.outcome.unknown_claims(report.suite);
    notes.extend(report.silent_reason());
    html! {
        @if !report.outcome.faults.is_empty() {
            section.faults aria-labelledby="faults" {
                h2 #faults { "Faults of the run" }
                p { "No single case is to blame for these; with one of them nothing is certified." }
                ul { @for fault in &report.outcome.faults {
                    li { b { (fault.code()) } " " (visible_line(&cut(&fault.to_string(), 1500, 300))) }
                } }
            }
        }
        @if !notes.is_empty() {
            section aria-labelledby="notes" {
                h2 #notes { "Notes" }
                ul { @for note in &notes { li { (visible_line(&cut(note, 800, 100))) } } }
            }
        }
    }
}

/// Hidden until the script enables it.
fn filter(report: &Report<'_>) -> Markup {
    let failing = report.failures().next().is_some();
    html! {
        form #filter role="search" hidden {
            label for="words" { "Filter" }
            input #words type="search" autocomplete="off" spellcheck="false" placeholder="a promise, a case, a word …";
            @if failing {
                label.check { input #failing type="checkbox"; " only what fails" }
            }
            button #open type="button" { "Expand all" }
            button #shut type="button" { "Collapse all" }
            output #count for="words" aria-live="polite" {}
        }
    }
}

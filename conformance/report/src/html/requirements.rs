//! A contract's promises, with the cases that show each.

use maud::{Markup, html};
use proofmark_judge::verdict::{ContractResult, RequirementResult, RequirementVerdict, Verdict};

use super::badge;
use crate::failure::levelled;
use crate::report::Report;
use crate::summary::blocked_by;
use crate::text::{counted, visible_line};

pub(super) fn section(report: &Report<'_>, contract: &ContractResult<'_>) -> Markup {
    let id = &contract.contract.id;
    html! {
        section.contract aria-labelledby={ "contract-" (id) } {
            h2 id={ "contract-" (id) } { (id) " " (badge(report.standing(contract))) }
            p.title { (contract.contract.title) }
            @for requirement in &contract.requirements { (one(report, requirement)) }
        }
    }
}

fn one(report: &Report<'_>, result: &RequirementResult<'_>) -> Markup {
    let requirement = result.requirement;
    let (class, word) = match &result.verdict {
        RequirementVerdict::Holds => ("badge good", "holds"),
        RequirementVerdict::Broken { .. } if requirement.decides() => ("badge bad", "broken"),
        // Reported, but it must not look like a failure.
        RequirementVerdict::Broken { .. } => ("badge warn", "differs"),
        RequirementVerdict::Blocked { .. } => ("badge warn", "blocked"),
        RequirementVerdict::NotShown { .. } => ("badge warn", "not shown"),
        RequirementVerdict::NotApplicable { .. } => ("badge quiet", "does not apply"),
        RequirementVerdict::Excluded { .. } => ("badge quiet", "excluded"),
    };
    let fails = matches!(result.verdict, RequirementVerdict::Broken { .. });
    html! {
        details.requirement id=(requirement.id) data-item="promise" data-fails[fails] {
            summary {
                span class=(class) { (word) } " "
                b.id { (requirement.id) } " "
                span.sentence { (requirement.sentence) } " "
                span.level { (levelled(requirement)) } " "
                span.tally { @match &result.verdict {
                    RequirementVerdict::Broken { cases } => { (cases.len()) " of " (counted(result.cases, "case")) " fail" }
                    RequirementVerdict::NotApplicable { .. } | RequirementVerdict::Excluded { .. } => "not tested",
                    _ => { (result.passed) " of " (counted(result.cases, "case")) " passed" }
                } }
            }
            div.inside {
                dl {
                    dt { "Source" } dd { (requirement.source) }
                    @if let Some(reason) = &requirement.reason { dt { "Because" } dd { (reason) } }
                    @if let RequirementVerdict::NotShown { reason } | RequirementVerdict::NotApplicable { reason } | RequirementVerdict::Excluded { reason } = &result.verdict {
                        dt { (word) } dd { (reason) }
                    }
                }
                @if let RequirementVerdict::Blocked { .. } = &result.verdict {
                    p { (visible_line(&blocked_by(&result.verdict))) }
                }
                @if result.cases > 0 { (cases(report, &requirement.id)) }
            }
        }
    }
}

fn cases(report: &Report<'_>, requirement: &str) -> Markup {
    html! {
        table.cases {
            caption { "Cases that show " (requirement) }
            thead { tr { th scope="col" { "Result" } th scope="col" { "Case" } th scope="col" { "Why it matters" } } }
            tbody {
                @for case in report.suite.cases_showing(requirement) {
                    tr {
                        td { (verdict(report, &case.name)) }
                        th scope="row" { code { (case.id()) } }
                        td { (case.why) }
                    }
                }
            }
        }
    }
}

fn verdict(report: &Report<'_>, name: &str) -> Markup {
    let results = &report.outcome.results;
    let found = results.binary_search_by(|result| result.case.as_str().cmp(name));
    html! {
        @let result = found.ok().map(|index| &results[index]);
        @match result.map(|result| (&result.verdict, &result.known)) {
            Some((Verdict::Passed, _)) => span.good { "passed" },
            Some((Verdict::Failed { .. } | Verdict::Blocked { .. }, Some(reason))) => span.quiet title=(reason) { "known failure" },
            Some((Verdict::Failed { .. }, None)) => a.bad href={ "#" (name) } { "failed" },
            Some((Verdict::Blocked { .. }, None)) => a.warn href={ "#" (name) } { "blocked" },
            Some((Verdict::NotExercised { reason }, _)) => span.quiet title=(reason) { "not exercised" },
            None => span.quiet { "not selected" },
        }
    }
}

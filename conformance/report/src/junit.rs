//! JUnit XML: a suite for each contract, a test case for each case.
//!
//! It has no times, so the same run gives the same bytes. It is legal XML whatever a subject says, since all text
//! goes through [`visible`]. It uses only what `junit-10.xsd` of Jenkins' xUnit plugin allows. That has no properties
//! for a test case, so the requirements of each case are properties of its suite.

use std::io;

use proofmark_judge::verdict::{CaseResult, Failure, Verdict};
use quick_junit::{NonSuccessKind, Property, TestCase, TestCaseStatus, TestSuite, XmlString};

use crate::failure;
use crate::report::Report;
use crate::text::{cut, visible, visible_line};

/// Writes the whole report.
pub fn write(out: &mut dyn io::Write, report: &Report<'_>) -> io::Result<()> {
    let mut whole = quick_junit::Report::new("proofmark");
    for contract in report.contracts {
        let id = &contract.contract.id;
        let mut suite = TestSuite::new(xml(id));
        suite.add_properties(about(report));
        for result in &report.outcome.results {
            if report.suite.case(&result.case).is_some_and(|case| case.contract == *id) {
                let case = case(report, id, result);
                let ids: Vec<&str> =
                    report.shown_by(&result.case).map(|one| one.id.as_str()).collect();
                let name = format!("requirements.{}", case.name.as_str());
                suite.add_property(Property::new(name, ids.join(" ")));
                suite.add_test_case(case);
            }
        }
        whole.add_test_suite(suite);
    }
    let run = of_the_run(report);
    if !run.is_empty() {
        let mut suite = TestSuite::new("proofmark");
        suite.add_properties(about(report));
        suite.add_test_cases(run);
        whole.add_test_suite(suite);
    }
    let text = whole.to_string().map_err(io::Error::other)?;
    // The schema allows this attribute everywhere except on the first element.
    let text = text.replacen(&format!(" skipped=\"{}\"", whole.skipped), "", 1);
    out.write_all(text.as_bytes())
}

fn xml(text: &str) -> XmlString {
    XmlString::new(visible(text))
}

/// The properties that identify subject and suite.
fn about(report: &Report<'_>) -> Vec<Property> {
    let mut about = vec![
        Property::new("proofmark.version", env!("CARGO_PKG_VERSION")),
        Property::new("suite.digest", xml(&report.suite.digest)),
    ];
    if let Some(subject) = &report.outcome.subject {
        about.push(Property::new("subject.name", xml(&subject.name)));
        about.push(Property::new("subject.version", xml(&subject.version)));
        about.push(Property::new("subject.language", xml(&subject.language)));
    }
    about
}

fn case(report: &Report<'_>, contract: &str, result: &CaseResult) -> TestCase {
    let id = report.suite.case(&result.case).map_or(result.case.as_str(), |case| case.id());
    let topic = id.split('/').next().unwrap_or(id);
    let status = match &result.verdict {
        Verdict::Passed => TestCaseStatus::success(),
        Verdict::NotExercised { reason } => {
            let mut status = TestCaseStatus::skipped();
            status.set_type("not-exercised").set_message(xml(&reason.to_string()));
            status
        }
        Verdict::Failed { failure } | Verdict::Blocked { failure } => match &result.known {
            Some(reason) => {
                let mut status = TestCaseStatus::skipped();
                status.set_type("known-failure").set_message(xml(reason));
                status
            }
            None => failed(report, &result.case, failure),
        },
    };
    let mut case = TestCase::new(xml(id), status);
    case.set_classname(xml(&format!("{contract}/{topic}")));
    case
}

/// A failure that the exit code does not count is not a failure here either: gates must agree.
fn failed(report: &Report<'_>, name: &str, failure: &Failure) -> TestCaseStatus {
    let mut status = match (report.counts(name), failure.setup) {
        (true, false) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        // As usual in JUnit: the test itself could not be carried out.
        (true, true) => TestCaseStatus::non_success(NonSuccessKind::Error),
        (false, _) => TestCaseStatus::skipped(),
    };
    let kind = if failure.setup { "blocked" } else { &failure.reason };
    status
        .set_type(xml(kind))
        .set_message(xml(&message(report, name, failure)))
        .set_description(xml(&failure::plain(report.suite, name, failure, report.rerun)));
    status
}

/// The promise, and the first difference from it; for a blocked case, what went wrong before it.
pub(crate) fn message(report: &Report<'_>, name: &str, failure: &Failure) -> String {
    let promise = report.shown_by(name).next();
    let promise = match promise {
        Some(one) if failure.setup => format!("Blocked before it could show {}. ", one.id),
        Some(one) => format!("{} {} ", one.id, one.sentence),
        None => String::new(),
    };
    let found = match &failure.difference {
        Some(difference) => format!(
            "At {}: expected {}, got {}",
            visible_line(&difference.path),
            visible_line(&difference.expected),
            visible_line(&difference.got)
        ),
        None => visible_line(&failure.message).into_owned(),
    };
    format!("{promise}{}", cut(&found, 600, 200))
}

/// Errors that no case is to blame for.
fn of_the_run(report: &Report<'_>) -> Vec<TestCase> {
    let error = |name: &str, message: &str| {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type(xml(name)).set_message(xml(message)).set_description(xml(message));
        let mut case = TestCase::new(xml(name), status);
        case.set_classname("proofmark/run");
        case
    };
    let faults = report.outcome.faults.iter();
    let mut cases: Vec<TestCase> =
        faults.map(|fault| error(fault.code(), &fault.to_string())).collect();
    if report.outcome.interrupted {
        cases.push(error(
            "interrupted",
            "the run was interrupted; the missing cases were not tried",
        ));
    }
    if let Some(reason) = report.silent_reason() {
        cases.push(error("does-not-hold", &reason));
    }
    cases
}

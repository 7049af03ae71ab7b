//! Runs every fixture case on the reference as a separate test: `cargo test sage.utils/sha256`.
//!
//! All selected cases run together on a few processes, when the first of them is requested.

mod common;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, LazyLock};

use libtest_mimic::{Arguments, Trial};
use proofmark_judge::case::{Case, CaseKind};

type Failures = LazyLock<
    BTreeMap<String, Option<String>>,
    Box<dyn FnOnce() -> BTreeMap<String, Option<String>> + Send>,
>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let names: Vec<String> = common::embedded_suite()
        .cases
        .iter()
        .filter(is_no_scenario)
        .map(|case| case.name.clone())
        .collect();
    let wanted = selected(&arguments, &names);
    let failures: Arc<Failures> = Arc::new(LazyLock::new(Box::new(move || {
        let suite = common::embedded_suite();
        let cases = suite.cases.iter().filter(|case| wanted.contains(&case.name)).collect();
        common::run_on_reference(&suite, cases)
    })));
    let trials = names
        .into_iter()
        .map(|name| {
            let failures = Arc::clone(&failures);
            Trial::test(name.clone(), move || match failures.get(&name) {
                Some(None) => Ok(()),
                Some(Some(failure)) => Err(failure.into()),
                None => Err("the run has no verdict on it".into()),
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn is_no_scenario(case: &&Case) -> bool {
    !matches!(case.kind, CaseKind::Scenario)
}

/// The cases that the test runner will request (a single one under nextest), so that no others run.
fn selected(arguments: &Arguments, names: &[String]) -> Vec<String> {
    let fits = |pattern: &String, name: &String| {
        if arguments.exact { pattern == name } else { name.contains(pattern.as_str()) }
    };
    let chosen = |name: &&String| {
        arguments.filter.as_ref().is_none_or(|filter| fits(filter, name))
            && !arguments.skip.iter().any(|skip| fits(skip, name))
    };
    names.iter().filter(chosen).cloned().collect()
}

//! Runs every scenario with cucumber's own runner as a separate test; skipped steps are failures.
//!
//! Cucumber matches and plays the steps, and none may report a fault. Then the case that the suite reads from the
//! same scenario must pass on the reference.

mod common;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use cucumber::{World as _, WriterExt as _, writer};
use libtest_mimic::{Arguments, Trial};
use proofmark_judge::Suite;
use proofmark_judge::case::CaseKind;
use proofmark_suite::gherkin::Narrative;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let suite = Arc::new(common::embedded_suite());
    let trials = suite
        .cases
        .iter()
        .filter(|case| matches!(case.kind, CaseKind::Scenario))
        .map(|case| {
            let (suite, name) = (Arc::clone(&suite), case.name.clone());
            let (file, line) = (case.at.file.clone(), case.at.line);
            Trial::test(case.name.clone(), move || {
                tell(&suite, &name, &file, line).map_err(Into::into)
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn tell(suite: &Suite, name: &str, file: &str, line: usize) -> Result<(), String> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|fault| fault.to_string())?;
    let shown = runtime.block_on(
        Narrative::cucumber::<PathBuf>()
            .with_writer(
                writer::Basic::raw(std::io::sink(), writer::Coloring::Never, 0)
                    .summarized()
                    .normalized(),
            )
            .fail_on_skipped()
            .with_default_cli()
            .after(|_, _, _, _, world| {
                let faults = world.map(|world| world.faults().to_vec()).unwrap_or_default();
                assert!(faults.is_empty(), "{faults:#?}");
                Box::pin(std::future::ready(()))
            })
            .filter_run(path, move |_, _, scenario| scenario.position.line == line),
    );
    let stats = <_ as cucumber::writer::Stats<Narrative>>::passed_steps(&shown);
    if <_ as cucumber::writer::Stats<Narrative>>::execution_has_failed(&shown) || stats == 0 {
        return Err(format!(
            "{file}:{line}: cucumber could not play the scenario ({stats} steps passed)"
        ));
    }
    let case = suite.case(name).ok_or("the suite has no such case")?;
    match common::run_on_reference(suite, vec![case]).remove(name) {
        Some(None) => Ok(()),
        Some(Some(failure)) => Err(failure),
        None => Err("the run has no verdict on it".to_owned()),
    }
}

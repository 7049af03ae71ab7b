//! Detects cases that cannot fail: each step is judged with a few answers and files. A case that passes with all of
//! them proves nothing.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

use proofmark_judge::case::{Action, CallStep, Case, FileExpected, Outcome, Step};
use proofmark_judge::judge::Judge;
use proofmark_judge::transcript::{Answered, FileSeen, Seen};
use proofmark_judge::verdict::Failure;

/// Whether some answer of the expected kind, some file, or a missing call of a fake makes the case fail.
///
/// An error instead of a value does not count: a case that accepts *any* value also passes for a subject that answers
/// nonsense.
pub(super) fn can_fail(case: &Case) -> bool {
    let mut called = false;
    case.steps.iter().any(|step| match &step.action {
        Action::Call(_) | Action::Together(_) => {
            called = true;
            step.calls().iter().any(|call| call_can_fail(case, step, call))
        }
        // Before the first call, only the harness has written files.
        Action::Leaves(files) => called && files_can_fail(case, step, files),
        Action::Write(_) => {
            called = false;
            false
        }
        Action::Kill { .. } => false,
    })
}

/// Tests each call separately, since the expectations of other concurrent calls must not fail it.
fn call_can_fail(case: &Case, step: &Step, call: &CallStep) -> bool {
    let kinds = kinds(call);
    let evidence = CallStep { assumes: Vec::new(), ..call.clone() };
    let alone = Step { action: Action::Call(evidence), ..step.clone() };
    let of_kind = |seen: &&(&str, Seen)| kinds.contains(&seen.0);
    ANSWERS
        .iter()
        .filter(of_kind)
        .any(|(_, seen)| fails(Judge::new(case).briefly().out_of_context().step(&alone, seen)))
}

/// A blocked case has shown nothing.
fn fails(judged: Result<(), Box<Failure>>) -> bool {
    judged.is_err_and(|failure| !failure.setup)
}

fn files_can_fail(case: &Case, step: &Step, files: &BTreeMap<String, FileExpected>) -> bool {
    files_like().any(|file| {
        let seen = files.keys().map(|path| (path.clone(), file.clone())).collect();
        fails(Judge::new(case).briefly().step(step, &Seen::Files(seen)))
    })
}

/// The expected kinds of outcome.
fn kinds(call: &CallStep) -> Vec<&'static str> {
    let kind = |outcome: &Outcome| match outcome {
        Outcome::Returns(_) => "value",
        Outcome::Fails(_) => "error",
    };
    call.outcomes().map(kind).collect()
}

/// Sample answers of each kind.
static ANSWERS: LazyLock<Vec<(&str, Seen)>> = LazyLock::new(|| {
    let values = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-1.5),
        json!(""),
        json!("proofmark"),
        json!([]),
        json!([null]),
        json!({}),
        json!({ "proofmark": true }),
    ];
    let codes =
        ["EVALIDATION", "EPERMISSION", "ETIMEOUT", "EIO", "ELOCK_TIMEOUT", "EHALT", "EPROOFMARK"];
    let errors = codes.map(|code| json!({ "code": code, "message": "", "name": "Error" }));
    let odd = [
        json!({ "code": "proofmark", "message": "" }),
        json!({ "code": "", "message": "", "name": "Error", "details": [], "cause": {}, "proofmark": 1 }),
    ];
    let seen = |kind: &'static str| {
        move |answer: Value| {
            let reply = Ok(json!({ kind: answer }));
            (kind, Seen::Calls(vec![Answered { reply, asks: Vec::new(), events: Vec::new() }]))
        }
    };
    let errors = errors.into_iter().chain(odd).map(seen("error"));
    values.into_iter().map(seen("value")).chain(errors).collect()
});

fn files_like() -> impl Iterator<Item = FileSeen> {
    let texts = ["", "proofmark", "{}\n", "[]\n\n"];
    std::iter::once(FileSeen::Nothing)
        .chain(texts.into_iter().map(|text| FileSeen::Text(text.to_owned())))
}

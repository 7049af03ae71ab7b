//! Can a case fail at all? Each of its steps is held against a small zoo of answers and files. A case that
//! every animal passes proves nothing, whoever passes it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::case::{Action, CallStep, Case, Outcome, Step};
use crate::judge::Judge;
use crate::transcript::{Answered, FileSeen, Seen};

/// Whether some answer of the kind that the case expects, some file or some missing call of a fake fails it.
///
/// That a subject fails where it should succeed is not counted: a case that only wants *some* answer
/// would hold for a subject that answers nonsense.
pub(super) fn can_fail(case: &Case) -> bool {
    case.steps.iter().any(|step| zoo(step).any(|seen| Judge::new(case).step(step, &seen).is_err()))
}

fn zoo(step: &Step) -> Box<dyn Iterator<Item = Seen> + '_> {
    match &step.action {
        Action::Leaves(files) => Box::new(files_like().map(|file| {
            Seen::Files(
                files.keys().map(|path| (path.clone(), file.clone())).collect::<BTreeMap<_, _>>(),
            )
        })),
        Action::Call(_) | Action::Together(_) => {
            let animals = animals();
            // One call of the step at a time: for the others, an answer of its kind is enough.
            let of_call = move |call: &CallStep| {
                let kinds = kinds(call);
                animals
                    .clone()
                    .into_iter()
                    .filter(move |reply| kinds.iter().any(|kind| reply.get(kind).is_some()))
            };
            Box::new(step.calls().iter().flat_map(of_call).map(|reply| {
                let answer = Answered { reply: Ok(reply), asks: Vec::new() };
                Seen::Calls(vec![answer; step.calls().len()])
            }))
        }
        Action::Kill { .. } | Action::Write(_) => Box::new(std::iter::empty()),
    }
}

/// How the call may end.
fn kinds(call: &CallStep) -> Vec<&'static str> {
    let kind = |outcome: &Outcome| match outcome {
        Outcome::Returns(_) => "value",
        Outcome::Fails(_) => "error",
    };
    call.expect.iter().map(kind).collect()
}

/// Answers of every sort.
fn animals() -> Vec<Value> {
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
    let values = values.into_iter().map(|value| json!({ "value": value }));
    let errors = codes
        .into_iter()
        .map(|code| json!({ "error": { "code": code, "message": "", "name": "Error" } }));
    values.chain(errors).collect()
}

fn files_like() -> impl Iterator<Item = FileSeen> {
    let texts = ["", "proofmark", "{}\n", "[]\n\n"];
    std::iter::once(FileSeen::Nothing)
        .chain(texts.into_iter().map(|text| FileSeen::Text(text.to_owned())))
}

//! Names the cause of blocked requirements: the broken one whose failure looks the same.

use std::collections::BTreeMap;

use crate::verdict::{CallSeen, ContractResult, Failure, RequirementVerdict, Verdict};

/// Fills in what blocks each blocked requirement. A verdict does not depend on it: it only helps the reader to begin
/// with the right failure.
pub(crate) fn name_causes(judged: &mut [ContractResult<'_>], verdicts: &BTreeMap<&str, &Verdict>) {
    let failure = |case: &String| verdicts.get(case.as_str()).and_then(|one| one.failure());
    let mut culprits = Vec::new();
    for result in judged.iter().flat_map(|contract| &contract.requirements) {
        if let RequirementVerdict::Broken { cases } = &result.verdict {
            let decides = result.requirement.decides();
            let failures = cases.iter().filter_map(failure);
            culprits.extend(failures.map(|one| (one, decides, result.requirement.id.clone())));
        }
    }
    for result in judged.iter_mut().flat_map(|contract| &mut contract.requirements) {
        let RequirementVerdict::Blocked { cases, by, reason } = &mut result.verdict else {
            continue;
        };
        let Some(blocked) = cases.first().and_then(failure) else { continue };
        let ranked = culprits.iter().filter_map(|(culprit, decides, id)| {
            let likeness = likeness(blocked, culprit)?;
            Some(((likeness, !decides), id))
        });
        // The first of equals, in the order of the ledgers.
        *by = ranked.min_by_key(|(rank, _)| *rank).map(|(_, id)| id.clone());
        *reason = sentence(blocked);
    }
}

/// How much two failures look like one fault; less is closer.
fn likeness(blocked: &Failure, culprit: &Failure) -> Option<u8> {
    let same_call = match (&blocked.call, &culprit.call) {
        (Some(one), Some(other)) => one.operation == other.operation,
        (None, None) => blocked.reason == culprit.reason,
        _ => false,
    };
    let same_place = match (place(blocked), place(culprit)) {
        // Every two answers differ as a whole; they look alike only if they are.
        (Some(one), Some(other)) if one == "$" => one == other && got(blocked) == got(culprit),
        (Some(one), Some(other)) => one == other,
        _ => blocked.reason == culprit.reason && blocked.message == culprit.message,
    };
    let same_target = blocked.call.as_ref().map(target) == culprit.call.as_ref().map(target);
    match (same_place, same_call, same_target) {
        (true, true, true) => Some(0),
        (true, true, false) => Some(1),
        // A reference into an earlier answer: the call differs, the missing member does not.
        (true, false, _) if blocked.difference.is_some() => Some(2),
        _ => None,
    }
}

/// What a call of a general operation is about: the tool of an MCP server, the method of a request.
fn target(call: &CallSeen) -> Option<&str> {
    ["name", "method"].iter().find_map(|key| call.args.get(key)?.as_str())
}

/// The place of the first difference, without indices.
fn place(failure: &Failure) -> Option<String> {
    let path = &failure.difference.as_ref()?.path;
    Some(path.chars().filter(|character| !character.is_ascii_digit()).collect())
}

fn got(failure: &Failure) -> Option<&str> {
    failure.difference.as_ref().map(|difference| difference.got.as_str())
}

fn sentence(failure: &Failure) -> String {
    let call = failure.call.as_ref().map(|call| format!("`{}`: ", call.operation));
    let what = match &failure.difference {
        Some(difference) => format!("`{}` is {}", difference.path, difference.got),
        None => failure.message.clone(),
    };
    format!("{}{what}", call.unwrap_or_default())
}

//! Subjects whose contracts are started by several commands: assigns the cases to commands and joins the results.

use proofmark_judge::case::Case;
use proofmark_judge::verdict::RunOutcome;
use proofmark_judge::{Suite, nearest};
use proofmark_protocol::HelloReply;
use proofmark_suite::subject::SubjectCommand;

use crate::choice::Subject;
use crate::exit::Failed;

/// The cases of one command.
pub(crate) struct Part<'a> {
    pub(crate) command: &'a SubjectCommand,
    pub(crate) cases: Vec<&'a Case>,
    /// The only contract that this command may claim.
    contract: Option<&'a str>,
}

/// Every contract and hook in the manifest must exist; an unknown one is a typo.
pub(crate) fn check_promises(subject: &Subject, suite: &Suite) -> Result<(), Failed> {
    let named: Vec<String> =
        subject.claims.iter().chain(subject.of_contract.keys()).cloned().collect();
    suite.has_contracts(&named)?;
    let hooks =
        || suite.contracts.iter().flat_map(|contract| contract.hooks.keys()).map(String::as_str);
    match subject.hooks.iter().find(|hook| !hooks().any(|known| known == *hook)) {
        None => Ok(()),
        Some(hook) => {
            let hint = nearest(hook, hooks()).map(|name| format!(" (did you mean `{name}`?)"));
            Err(Failed::Usage(format!(
                "unknown hook `{hook}` in the manifest{}; `proofmark show CONTRACT` lists the hooks of a contract",
                hint.unwrap_or_default()
            )))
        }
    }
}

/// Assigns the cases to commands, after checking the names in the manifest.
pub(crate) fn parts<'a>(
    subject: &'a Subject,
    suite: &Suite,
    cases: Vec<&'a Case>,
) -> Result<Vec<Part<'a>>, Failed> {
    check_promises(subject, suite)?;
    let (own, common): (Vec<&Case>, Vec<&Case>) =
        cases.into_iter().partition(|case| subject.of_contract.contains_key(&case.contract));
    let mut parts = Vec::new();
    match (&subject.command, common.first()) {
        (_, None) => {}
        (Some(command), _) => parts.push(Part { command, cases: common, contract: None }),
        (None, Some(case)) => {
            return Err(Failed::Usage(format!(
                "the manifest has no command for `{}`; add `subject.command`, or select other contracts",
                case.contract
            )));
        }
    }
    for (id, command) in &subject.of_contract {
        let cases: Vec<&Case> = own.iter().copied().filter(|case| case.contract == *id).collect();
        if !cases.is_empty() {
            parts.push(Part { command, cases, contract: Some(id) });
        }
    }
    Ok(parts)
}

impl Part<'_> {
    /// Drops the claims to other contracts from a command that stands for one contract.
    pub(crate) fn alone(&self, mut outcome: RunOutcome) -> RunOutcome {
        if let (Some(id), Some(hello)) = (self.contract, &mut outcome.subject) {
            hello.contracts.retain(|claimed| claimed == id);
        }
        outcome
    }
}

/// Joins the parts into one outcome. They are one subject, so all must report the same name, version and language;
/// only claims and hooks may differ.
pub(crate) fn joined(mut outcomes: Vec<RunOutcome>) -> Option<RunOutcome> {
    let mut whole: Option<HelloReply> = None;
    for hello in outcomes.iter().filter_map(|outcome| outcome.subject.as_ref()) {
        let whole = whole.get_or_insert_with(|| hello.clone());
        for (all, more) in
            [(&mut whole.contracts, &hello.contracts), (&mut whole.hooks, &hello.hooks)]
        {
            let new: Vec<_> = more.iter().filter(|one| !all.contains(one)).cloned().collect();
            all.extend(new);
        }
    }
    if let Some(whole) = &whole {
        for hello in outcomes.iter_mut().filter_map(|outcome| outcome.subject.as_mut()) {
            hello.contracts.clone_from(&whole.contracts);
            hello.hooks.clone_from(&whole.hooks);
        }
    }
    RunOutcome::merged(outcomes)
}

/// Promises of the manifest that `hello` does not confirm. An adapter that did not run is skipped.
pub(crate) fn unkept(
    subject: &Subject,
    ran: &[&SubjectCommand],
    outcome: &RunOutcome,
) -> Vec<String> {
    let Some(hello) = &outcome.subject else { return Vec::new() };
    let did_run = |command: Option<&SubjectCommand>| {
        command.is_some_and(|command| ran.iter().any(|other| std::ptr::eq(*other, command)))
    };
    let of = |id: &String| subject.of_contract.get(id).or(subject.command.as_ref());
    let all = subject.command.iter().chain(subject.of_contract.values());
    let whole = all.clone().all(|command| did_run(Some(command)));
    let message = |what: &str, one: &String| {
        format!("according to the manifest the subject {what} `{one}`, but `hello` does not say so")
    };
    let claims = subject.claims.iter().filter(|id| did_run(of(id)));
    let claims = claims.filter(|id| !hello.contracts.contains(id)).map(|id| message("claims", id));
    let hooks = subject.hooks.iter().filter(|hook| whole && !hello.hooks.contains(hook));
    claims.chain(hooks.map(|hook| message("offers the hook", hook))).collect()
}

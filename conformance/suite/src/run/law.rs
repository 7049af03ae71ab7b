//! One law on one subject: input after input, and the smallest that fails.

use super::execute::{Faulted, Played};
use crate::case::Case;
use crate::law::{Input, Law, LawOptions};
use crate::verdict::{Failure, Verdict};

/// So many smaller inputs are tried.
const MOST_SHRINKS: usize = 1000;

/// Tries the law with every input of its run; the first that fails is made as small as it gets.
pub(super) async fn try_law(
    case: &Case,
    law: &Law,
    options: LawOptions,
    play: impl AsyncFn(&Case) -> Result<Played, Faulted>,
) -> Result<Played, Faulted> {
    let mut tried = 0;
    for input in law.inputs(options) {
        let verdict = attempt(case, law, &input, &play).await?;
        match verdict {
            Verdict::Passed => tried += 1,
            Verdict::NotExercised { .. } => return Ok(Played::without(verdict)),
            Verdict::Failed { mut failure } => {
                if options.shrink {
                    failure = smallest(case, law, input, failure, &play).await?;
                }
                return Ok(Played::without(Verdict::Failed { failure }));
            }
        }
    }
    if tried < options.cases {
        let told = format!("the law was tried with {tried} inputs of {}", options.cases);
        let failure = Box::new(Failure::new("incomplete", told, &case.at));
        return Ok(Played::without(Verdict::Failed { failure }));
    }
    Ok(Played::without(Verdict::Passed))
}

/// Proptest's own search: smaller while it fails, and part of the way back when it does not.
async fn smallest(
    case: &Case,
    law: &Law,
    mut input: Input,
    failure: Box<Failure>,
    play: &impl AsyncFn(&Case) -> Result<Played, Faulted>,
) -> Result<Box<Failure>, Faulted> {
    let mut best = failure;
    let mut moved = input.simplify();
    for _ in 0..MOST_SHRINKS {
        if !moved {
            break;
        }
        moved = match attempt(case, law, &input, play).await? {
            Verdict::Failed { failure } => {
                best = failure;
                input.simplify()
            }
            Verdict::Passed | Verdict::NotExercised { .. } => input.complicate(),
        };
    }
    Ok(best)
}

async fn attempt(
    case: &Case,
    law: &Law,
    input: &Input,
    play: &impl AsyncFn(&Case) -> Result<Played, Faulted>,
) -> Result<Verdict, Faulted> {
    let input = input.current();
    let found = || Some(law.fixture(&input));
    let example = match law.example(&input) {
        Ok(example) => example,
        Err(told) => {
            let failure = Failure { found: found(), ..Failure::new("broken-law", told, &case.at) };
            return Ok(Verdict::Failed { failure: Box::new(failure) });
        }
    };
    match play(&example).await {
        Ok(Played { verdict: Verdict::Failed { mut failure }, .. }) => {
            failure.at = case.at.to_string();
            failure.found = found();
            Ok(Verdict::Failed { failure })
        }
        Ok(played) => Ok(played.verdict),
        Err(mut faulted) => {
            faulted.failure.at = case.at.to_string();
            faulted.failure.found = found();
            Err(faulted)
        }
    }
}

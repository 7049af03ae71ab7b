//! Runs a law: tries one input after the other, and shrinks the first that fails.

use super::play::{Faulted, Played};
use proofmark_judge::case::Case;
use proofmark_judge::judge::{bad_input, broken_law, too_few_inputs};
use proofmark_judge::law::{Input, Law, LawOptions, MOST_SHRINKS};
use proofmark_judge::transcript::{Transcript, Try};
use proofmark_judge::verdict::{Failure, Verdict};

/// Tries every input of the law, and shrinks the first that fails.
pub(super) async fn try_law(
    case: &Case,
    law: &Law,
    options: LawOptions,
    play: impl AsyncFn(&Case) -> Result<Played, Faulted>,
) -> Result<Played, Faulted> {
    let mut tries = Vec::new();
    let mut tried = 0;
    for mut input in law.inputs(options) {
        let mut path = String::new();
        let played = match attempt(case, law, &input, &play).await {
            Ok(Played { verdict: Verdict::Failed { failure }, transcript }) if options.shrink => {
                let first = (failure, Try { path: String::new(), transcript });
                smallest(case, law, &mut input, first, &mut path, &play).await
            }
            Ok(Played { verdict, transcript }) => {
                Ok((verdict, Try { path: String::new(), transcript }))
            }
            Err(faulted) => Err(faulted),
        };
        match played {
            Ok((verdict, last)) => {
                tries.push(last);
                if verdict != Verdict::Passed {
                    return Ok(Played { verdict, transcript: of(tries) });
                }
                tried += 1;
            }
            Err(mut faulted) => {
                tries.push(Try { path, transcript: *faulted.transcript });
                faulted.transcript = Box::new(of(tries));
                return Err(faulted);
            }
        }
    }
    if tried < options.cases {
        let verdict = Verdict::of(too_few_inputs(case, tried, options));
        return Ok(Played { verdict, transcript: of(tries) });
    }
    Ok(Played { verdict: Verdict::Passed, transcript: of(tries) })
}

fn of(tries: Vec<Try>) -> Transcript {
    Transcript { tries, ..Transcript::default() }
}

/// Proptest's shrinking: simplify while the input fails, complicate when it passes. `path` records the steps to the
/// last input tried.
async fn smallest(
    case: &Case,
    law: &Law,
    input: &mut Input,
    first: (Box<Failure>, Try),
    path: &mut String,
    play: &impl AsyncFn(&Case) -> Result<Played, Faulted>,
) -> Result<(Verdict, Try), Faulted> {
    let (mut best, mut best_try) = first;
    let mut step = 's';
    let mut moved = input.simplify();
    for _ in 0..MOST_SHRINKS {
        if !moved {
            break;
        }
        path.push(step);
        let played = attempt(case, law, input, play).await?;
        (step, moved) = match played.verdict {
            Verdict::Failed { failure } => {
                best = failure;
                best_try = Try { path: path.clone(), transcript: played.transcript };
                ('s', input.simplify())
            }
            Verdict::Passed | Verdict::Blocked { .. } | Verdict::NotExercised { .. } => {
                ('c', input.complicate())
            }
        };
    }
    Ok((Verdict::Failed { failure: best }, best_try))
}

/// Plays one input and reports its failure as the law's.
async fn attempt(
    case: &Case,
    law: &Law,
    input: &Input,
    play: &impl AsyncFn(&Case) -> Result<Played, Faulted>,
) -> Result<Played, Faulted> {
    let input = input.current();
    let example = match law.example(&input) {
        Ok(example) => example,
        Err(message) => {
            let failure = bad_input(case, law, &input, message);
            return Ok(Played::without(Verdict::of(failure)));
        }
    };
    match play(&example).await {
        Ok(Played {
            verdict: Verdict::Failed { failure } | Verdict::Blocked { failure },
            transcript,
        }) => {
            let verdict = Verdict::of(broken_law(case, law, &input, failure));
            Ok(Played { verdict, transcript })
        }
        Ok(played) => Ok(played),
        Err(mut faulted) => {
            faulted.failure = broken_law(case, law, &input, faulted.failure);
            Err(faulted)
        }
    }
}

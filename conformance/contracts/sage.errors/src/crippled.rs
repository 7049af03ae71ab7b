//! Errors that lack one property everywhere. Only the requirements about that property are broken.

use proofmark_room::Adversary;
use serde_json::{Map, Value};

use crate::bend::edits;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::crippled(
        "no-error-operation",
        "no error of errors.raise has an operation",
        &["ERRORS-012", "ERRORS-015", "ERRORS-016"],
        |subject| edits(subject, |_, error| lose(error, "operation")),
    ),
    Adversary::crippled(
        "no-error-name",
        "no error of errors.raise has a name",
        &["ERRORS-003"],
        |subject| edits(subject, |_, error| lose(error, "name")),
    ),
    Adversary::crippled(
        "no-error-cause",
        "no error of errors.raise has a cause",
        &["ERRORS-004"],
        |subject| edits(subject, |_, error| lose(error, "cause")),
    ),
    Adversary::crippled(
        "no-error-details",
        "no error of errors.raise has details",
        // The last two say that the details of a refusal name the property.
        &["ERRORS-007", "ERRORS-011", "ERRORS-028", "ERRORS-029"],
        |subject| edits(subject, |_, error| lose(error, "details")),
    ),
    Adversary::crippled(
        "no-error-path",
        "no error of errors.raise has a path",
        &["ERRORS-017", "ERRORS-020", "ERRORS-023"],
        |subject| edits(subject, |_, error| lose(error, "path")),
    ),
    Adversary::crippled(
        "no-error-timeout-ms",
        "no error of errors.raise has timeoutMs",
        &["ERRORS-015", "ERRORS-020", "ERRORS-023"],
        |subject| edits(subject, |_, error| lose(error, "timeoutMs")),
    ),
    Adversary::crippled(
        "no-error-message",
        "every error of errors.raise has an empty message",
        // The examples of the text have messages.
        &["ERRORS-002", "ERRORS-011", "ERRORS-023"],
        |subject| {
            edits(subject, |_, error| {
                error.insert("message".to_owned(), "".into());
            })
        },
    ),
];

fn lose(error: &mut Map<String, Value>, name: &str) {
    error.shift_remove(name);
}

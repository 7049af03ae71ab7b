//! The random tape as the `Random` of the sage contracts.

use proofmark_fakes::random::{RandomTape, TapeRanOut};
use sage_errors::{Detail, SageError};
use sage_utils::{Random, TypedError};

/// A tape that the reference crates can draw from. A tape that ran out is `EVALIDATION`.
#[derive(Debug)]
pub struct SageRandom(pub RandomTape);

impl Random for SageRandom {
    fn int(&self) -> Result<i64, TypedError> {
        self.0.int().map_err(ran_out)
    }

    fn float(&self) -> Result<f64, TypedError> {
        self.0.float().map_err(ran_out)
    }
}

fn ran_out(error: TapeRanOut) -> TypedError {
    SageError::validation(Detail::new(error.list.place(), error.to_string())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_tape_is_a_validation_error_that_names_the_list() {
        let random = SageRandom(RandomTape::new(vec![7], vec![]).expect("good numbers"));
        assert_eq!(random.int(), Ok(7));
        let check = |error: TypedError, field: &str, held: &str| {
            assert_eq!(error.code(), "EVALIDATION");
            assert_eq!(error.properties()["details"][0]["field"], field);
            assert!(error.message().contains(held), "{error}");
        };
        check(random.int().unwrap_err(), "random.ints", "held 1 integers");
        check(random.float().unwrap_err(), "random.floats", "held 0 floats");
    }
}

//! Random numbers that are written down beforehand.

use std::sync::atomic::{AtomicUsize, Ordering};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sage_errors::{Detail, SageError};
use sage_utils::{Random, TypedError};

/// Numbers in the order in which they are drawn. Drawing an integer uses up no float, and the
/// other way round.
#[derive(Debug)]
pub struct RandomTape {
    ints: Vec<i64>,
    floats: Vec<f64>,
    ints_drawn: AtomicUsize,
    floats_drawn: AtomicUsize,
}

impl RandomTape {
    /// A tape of these numbers.
    ///
    /// # Errors
    /// `EVALIDATION`, with a detail for each float that is not between 0 and 1.
    pub fn new(ints: Vec<i64>, floats: Vec<f64>) -> Result<Self, SageError> {
        let wrong = floats.iter().enumerate().filter(|(_, float)| !(0.0..=1.0).contains(*float));
        let details = wrong.map(|(index, float)| {
            Detail::new(format!("random.floats[{index}]"), "must be between 0 and 1")
                .received(float.to_string())
        });
        match SageError::validation_of(details) {
            Some(refusal) => Err(refusal),
            None => Ok(Self::of(ints, floats)),
        }
    }

    /// A tape with this many numbers, which depend on the seed alone and stay the same for ever.
    ///
    /// They come from ChaCha with 8 rounds: integers are 32 bits of its stream 0, floats 53 bits
    /// of its stream 1. A longer tape begins with the numbers of a shorter one.
    pub fn seeded(seed: u64, ints: usize, floats: usize) -> Self {
        let stream = |number| {
            let mut generator = ChaCha8Rng::seed_from_u64(seed);
            generator.set_stream(number);
            generator
        };
        let (mut zero, mut one) = (stream(0), stream(1));
        let unit = |bits: u64| (bits >> 11) as f64 / (1_u64 << 53) as f64;
        Self::of(
            (0..ints).map(|_| i64::from(zero.next_u32())).collect(),
            (0..floats).map(|_| unit(one.next_u64())).collect(),
        )
    }

    /// The integers, drawn or not.
    pub fn ints(&self) -> &[i64] {
        &self.ints
    }

    /// The floats, drawn or not.
    pub fn floats(&self) -> &[f64] {
        &self.floats
    }

    fn of(ints: Vec<i64>, floats: Vec<f64>) -> Self {
        Self { ints, floats, ints_drawn: AtomicUsize::new(0), floats_drawn: AtomicUsize::new(0) }
    }
}

impl Random for RandomTape {
    fn int(&self) -> Result<i64, TypedError> {
        draw(&self.ints, &self.ints_drawn, "random.ints", "integers")
    }

    fn float(&self) -> Result<f64, TypedError> {
        draw(&self.floats, &self.floats_drawn, "random.floats", "floats")
    }
}

fn draw<T: Copy>(
    tape: &[T],
    drawn: &AtomicUsize,
    field: &str,
    things: &str,
) -> Result<T, TypedError> {
    let index = drawn.fetch_add(1, Ordering::Relaxed);
    tape.get(index).copied().ok_or_else(|| {
        let reason =
            format!("the tape has run out: it held {} {things}; write more on it", tape.len());
        SageError::validation(Detail::new(field, reason)).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_order_and_apart() {
        let tape = RandomTape::new(vec![7, -9], vec![0.25, 0.5]).expect("good numbers");
        assert_eq!(tape.int(), Ok(7));
        assert_eq!(tape.float(), Ok(0.25));
        assert_eq!(tape.int(), Ok(-9));
        assert_eq!(tape.float(), Ok(0.5));
    }

    #[test]
    fn running_out_is_an_error_that_says_how_many_there_were() {
        let tape = RandomTape::new(vec![7, 9], vec![]).expect("good numbers");
        let _ = (tape.int(), tape.int());
        for _ in 0..2 {
            let error = tape.int().expect_err("the tape has two integers");
            assert_eq!(error.code(), "EVALIDATION");
            assert_eq!(error.properties()["details"][0]["field"], "random.ints");
            assert!(error.message().contains("held 2 integers"), "{error}");
        }
        let error = tape.float().expect_err("the tape has no floats");
        assert!(error.message().contains("held 0 floats"), "{error}");
    }

    #[test]
    fn floats_outside_the_unit_are_refused() {
        let floats = vec![0.0, 1.5, 1.0, f64::NAN, -0.1, f64::INFINITY];
        let refusal = RandomTape::new(vec![], floats).expect_err("bad floats").to_json();
        let fields: Vec<_> = (0..4).map(|at| refusal["details"][at]["field"].clone()).collect();
        let expect = [1, 3, 4, 5].map(|index| format!("random.floats[{index}]"));
        assert_eq!(fields, expect);
        assert_eq!(refusal["details"].as_array().map(Vec::len), Some(4));
    }

    /// Expected numbers from an independent ChaCha and seed expansion (PCG32) in Python, itself
    /// checked against the zero-key vectors of ChaCha8 and ChaCha20.
    #[test]
    fn a_seed_gives_the_same_numbers_for_ever() {
        let tape = RandomTape::seeded(42, 17, 3);
        assert_eq!(tape.ints()[..4], [962_419_617, 2_928_721_845, 628_724_104, 4_081_401_798]);
        assert_eq!(tape.ints()[16], 2_697_858_048);
        let floats = [0.7167916525047883, 0.16691033976292213, 0.48241492362471194];
        assert_eq!(tape.floats(), floats);

        let tape = RandomTape::seeded(u64::MAX, 2, 1);
        assert_eq!(tape.ints(), [3_819_388_078, 2_938_119_046]);
        assert_eq!(tape.floats(), [0.2945139866314509]);
    }

    #[test]
    fn a_longer_tape_begins_like_a_shorter_one() {
        let (short, long) = (RandomTape::seeded(0, 5, 5), RandomTape::seeded(0, 100, 50));
        assert_eq!(short.ints(), &long.ints()[..5]);
        assert_eq!(short.floats(), &long.floats()[..5]);
    }
}

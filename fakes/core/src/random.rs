//! Random numbers from a tape: a script lists them, or a seed determines them.

use std::sync::atomic::{AtomicUsize, Ordering};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Numbers in the order in which they are drawn. Integers and floats are two separate lists.
#[derive(Debug)]
pub struct RandomTape {
    ints: Vec<i64>,
    floats: Vec<f64>,
    ints_drawn: AtomicUsize,
    floats_drawn: AtomicUsize,
}

/// Some floats of a tape are not between 0 and 1.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", describe(.floats))]
pub struct FloatsOutOfRange {
    /// Their positions in the list, and their values.
    pub floats: Vec<(usize, f64)>,
}

fn describe(floats: &[(usize, f64)]) -> String {
    let describe =
        |(at, float): &_| format!("`random.floats[{at}]` must be between 0 and 1, not {float}");
    floats.iter().map(describe).collect::<Vec<_>>().join("; ")
}

/// All numbers of one kind were drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the tape has run out: it held {length} {}; write more on it", .list.numbers())]
pub struct TapeRanOut {
    pub list: TapeList,
    pub length: usize,
}

/// One of the two lists of a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TapeList {
    Ints,
    Floats,
}

impl TapeList {
    /// Where the list stands in a script.
    pub fn place(self) -> &'static str {
        match self {
            Self::Ints => "random.ints",
            Self::Floats => "random.floats",
        }
    }

    fn numbers(self) -> &'static str {
        match self {
            Self::Ints => "integers",
            Self::Floats => "floats",
        }
    }
}

impl RandomTape {
    /// A tape of these numbers. Floats must be between 0 and 1.
    pub fn new(ints: Vec<i64>, floats: Vec<f64>) -> Result<Self, FloatsOutOfRange> {
        let wrong = floats.iter().copied().enumerate();
        let wrong: Vec<_> = wrong.filter(|(_, float)| !(0.0..=1.0).contains(float)).collect();
        if wrong.is_empty() {
            Ok(Self::of(ints, floats))
        } else {
            Err(FloatsOutOfRange { floats: wrong })
        }
    }

    /// A tape with this many numbers, which depend only on the seed and never change.
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

    /// Draws the next integer.
    pub fn int(&self) -> Result<i64, TapeRanOut> {
        draw(&self.ints, &self.ints_drawn, TapeList::Ints)
    }

    /// Draws the next float, which is between 0 and 1.
    pub fn float(&self) -> Result<f64, TapeRanOut> {
        draw(&self.floats, &self.floats_drawn, TapeList::Floats)
    }

    fn of(ints: Vec<i64>, floats: Vec<f64>) -> Self {
        Self { ints, floats, ints_drawn: AtomicUsize::new(0), floats_drawn: AtomicUsize::new(0) }
    }
}

fn draw<T: Copy>(numbers: &[T], drawn: &AtomicUsize, list: TapeList) -> Result<T, TapeRanOut> {
    let at = drawn.fetch_add(1, Ordering::Relaxed);
    numbers.get(at).copied().ok_or(TapeRanOut { list, length: numbers.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_order_from_two_separate_lists() {
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
            assert_eq!(error, TapeRanOut { list: TapeList::Ints, length: 2 });
            assert!(error.to_string().contains("held 2 integers"), "{error}");
        }
        let error = tape.float().expect_err("the tape has no floats");
        assert!(error.to_string().contains("held 0 floats"), "{error}");
    }

    #[test]
    fn floats_outside_the_unit_are_refused() {
        let floats = vec![0.0, 1.5, 1.0, f64::NAN, -0.1, f64::INFINITY];
        let refusal = RandomTape::new(vec![], floats).expect_err("bad floats");
        let places: Vec<_> = refusal.floats.iter().map(|(at, _)| *at).collect();
        assert_eq!(places, [1, 3, 4, 5]);
        let first = "`random.floats[1]` must be between 0 and 1, not 1.5; `random.floats[3]` ";
        assert!(refusal.to_string().starts_with(first), "{refusal}");
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

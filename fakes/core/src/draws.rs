//! Random draws that depend only on a seed and a text.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest as _, Sha256};

/// The words that [`Draws::word`] picks from.
const WORDS: [&str; 16] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haze", "iris", "juniper",
    "kelp", "lumen", "moss", "north", "opal", "pine",
];

/// A generator that gives the same draws for the same seed and text, on every machine and for ever.
///
/// It is ChaCha with 8 rounds. Its key is the SHA-256 of `SEED:HASH`, where `SEED` is in decimal and
/// `HASH` is the hex SHA-256 of the text.
#[derive(Debug)]
pub struct Draws(ChaCha8Rng);

impl Draws {
    /// The draws of this seed and this text.
    pub fn new(seed: u64, text: &str) -> Self {
        let hash = hex::encode(Sha256::digest(text));
        Self(ChaCha8Rng::from_seed(Sha256::digest(format!("{seed}:{hash}")).into()))
    }

    /// 32 random bits.
    pub fn bits(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A number below `n`, where `n` is at most 2^32: the upper half of the product of `n` and the next
    /// 32 bits.
    pub fn below(&mut self, n: u64) -> u64 {
        (u64::from(self.bits()) * n) >> 32
    }

    /// One of `items`; `None` if there are none.
    pub fn one_of<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let at = self.below(items.len() as u64);
        items.get(usize::try_from(at).ok()?)
    }

    /// One of sixteen lower-case ASCII words.
    pub fn word(&mut self) -> &'static str {
        self.one_of(&WORDS).copied().unwrap_or_default()
    }
}

//! Stalls: a node that repeats itself.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::Id;

/// This many equal turns in a row are a stall.
pub(crate) const TURNS: u32 = 3;

/// How often each node has repeated itself. In memory only: a restart resets it.
#[derive(Debug, Default)]
pub(crate) struct Repeats(HashMap<Id, [Streak; 3]>);

/// What may repeat itself, as it is named in evidence.
const WATCHED: [&str; 3] = ["output", "diff", "verification"];

#[derive(Debug, Default)]
struct Streak {
    digest: Option<[u8; 32]>,
    turns: u32,
}

impl Streak {
    /// Counts a turn; a turn without this part ends the series.
    fn count(&mut self, seen: Option<&str>) -> u32 {
        let digest: Option<[u8; 32]> = seen.map(|text| Sha256::digest(text.as_bytes()).into());
        self.turns = if digest.is_some() && digest == self.digest { self.turns + 1 } else { 1 };
        self.digest = digest;
        if digest.is_some() { self.turns } else { 0 }
    }
}

impl Repeats {
    /// Counts a completed turn. Returns the evidence if it is the last of `most` equal ones.
    pub(crate) fn count(
        &mut self,
        node: Id,
        seen: [Option<&str>; 3],
        most: u32,
    ) -> Option<Map<String, Value>> {
        let streaks = self.0.entry(node).or_default();
        let mut evidence = Map::new();
        for ((streak, name), seen) in streaks.iter_mut().zip(WATCHED).zip(seen) {
            let turns = streak.count(seen);
            if turns >= most {
                let digest = streak.digest.map(hex::encode);
                evidence.insert(name.to_owned(), json!({ "sha256": digest, "turns": turns }));
            }
        }
        (!evidence.is_empty()).then_some(evidence)
    }

    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}

//! Stalls: a node that does the same again and again.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::Id;

/// As many turns with the same result, in a row, are a stall.
pub(crate) const TURNS: u32 = 3;

/// How often each node has done the same. It is kept in memory: after a restart it is counted anew.
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
    /// Counts a turn; one without such a thing ends the row.
    fn count(&mut self, seen: Option<&str>) -> u32 {
        let digest: Option<[u8; 32]> = seen.map(|text| Sha256::digest(text.as_bytes()).into());
        self.turns = if digest.is_some() && digest == self.digest { self.turns + 1 } else { 1 };
        self.digest = digest;
        if digest.is_some() { self.turns } else { 0 }
    }
}

impl Repeats {
    /// Counts a completed turn. The evidence if it is the last of `most` that are the same.
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

//! A model that plays a script, turn by turn.

use std::collections::VecDeque;

use proofmark_fakes::script::array;
use serde_json::Value;

use super::{Turn, script};

/// A model with a list of turns. The conversation makes no difference.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScriptedLlm {
    turns: VecDeque<Turn>,
    taken: usize,
}

impl ScriptedLlm {
    /// A model with these turns.
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self { turns: turns.into_iter().collect(), taken: 0 }
    }

    /// A model with the turns of a script, such as `[{"text": "yes"}, {"events": […]}]`.
    ///
    /// # Errors
    /// The script is wrong; the message names the turn and what belongs there.
    pub fn from_script(turns: &Value) -> Result<Self, String> {
        Self::read("turns", turns)
    }

    pub(super) fn read(place: &str, turns: &Value) -> Result<Self, String> {
        let turns = array(place, Some(turns))?.iter().enumerate();
        let turns = turns.map(|(at, turn)| script::turn(&format!("{place}[{at}]"), turn));
        Ok(Self::new(turns.collect::<Result<Vec<_>, _>>()?))
    }

    /// The next turn.
    ///
    /// # Errors
    /// The caller's mistake: the script has no turns left.
    pub fn turn(&mut self) -> Result<Turn, String> {
        let taken = self.taken;
        let turn = self.turns.pop_front().ok_or_else(|| match taken {
            0 => "its script has no turns".to_owned(),
            1 => "its only turn was taken".to_owned(),
            _ => format!("all of its {taken} turns were taken"),
        })?;
        self.taken += 1;
        Ok(turn)
    }
}

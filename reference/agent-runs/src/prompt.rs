//! Prompts and their blocks.

use serde::{Deserialize, Serialize};

use crate::fold::Input;
use crate::state::{GlobalMode, Mode, NodeState, RunState};

/// The five parts of a full prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    pub system: String,
    pub role: String,
    pub mode: String,
    /// The inputs of the turn.
    pub task: String,
    /// Overrides the other blocks. Nothing sets it yet, so it is empty.
    #[serde(rename = "override")]
    pub overriding: String,
}

impl Blocks {
    #[must_use]
    pub fn of(run: &RunState, node: &NodeState, inputs: &[Input]) -> Self {
        let mode = match run.mode {
            Mode::Auto => "Work on without waiting for a person.",
            Mode::Interactive => "A person is with you: ask where a decision is theirs.",
        };
        let global = match run.global_mode {
            GlobalMode::Planning => "This is the time of planning: change no code.",
            GlobalMode::Implementation => "This is the time of implementation.",
        };
        Self {
            system: "You are one agent of a run of several. You get work in your inbox, and hand work on along the \
                     edges that lead from you to others."
                .to_owned(),
            role: format!("You are {}, in the role {}.", node.label, node.role_template),
            mode: format!("{mode} {global}"),
            task: task(inputs),
            overriding: String::new(),
        }
    }

    /// The full prompt: every block that has a text, under its name.
    #[must_use]
    pub fn full(&self) -> String {
        let blocks = [
            ("system", &self.system),
            ("role", &self.role),
            ("mode", &self.mode),
            ("task", &self.task),
            ("override", &self.overriding),
        ];
        let written = blocks.iter().filter(|(_, text)| !text.is_empty());
        written.map(|(name, text)| format!("# {name}\n\n{text}\n")).collect::<Vec<_>>().join("\n")
    }
}

/// The inputs as one text, in their order.
#[must_use]
pub fn task(inputs: &[Input]) -> String {
    inputs.iter().map(|input| input.text.as_str()).collect::<Vec<_>>().join("\n\n")
}

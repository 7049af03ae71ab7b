//! The server: tools on a state, one call at a time.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::args::{self, quoted};
use crate::database::{Database, OpenError};
use crate::envelope::{Envelope, Suggestion};
use crate::refusal::{Code, Proposal, Refusal};
use crate::tables::{Draft, Tables};
use crate::tools::{Outcome, TOOLS, Tool};

/// What tells the time of an answer.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Calls a tool by its name with arguments, and gives the envelope.
pub type Real<'a> = &'a dyn Fn(&str, &Value) -> Value;

type Wrap = dyn Fn(&str, &Value, Real<'_>) -> Value + Send + Sync;

/// A server of all tools. Calls from many threads are safe, and wait for each other; with a database
/// they wait for the disk as well.
pub struct Server {
    store: Mutex<Store>,
    clock: Clock,
    wrap: Option<Box<Wrap>>,
}

/// The state, and where it is kept.
struct Store {
    tables: Tables,
    database: Option<Database>,
}

impl Server {
    /// A server that forgets everything when it ends.
    pub fn in_memory(clock: Clock) -> Self {
        Self::new(Store { tables: Tables::default(), database: None }, clock)
    }

    /// A server that goes on where the database at `path` left off. The file is made if it is not
    /// there; its folder must be.
    ///
    /// # Errors
    /// When the file cannot be opened, is open elsewhere, or is not one of ours.
    pub fn with_database(path: impl AsRef<Path>, clock: Clock) -> Result<Self, OpenError> {
        let (database, tables) = Database::open(path.as_ref())?;
        Ok(Self::new(Store { tables, database: Some(database) }, clock))
    }

    fn new(store: Store, clock: Clock) -> Self {
        Self { store: Mutex::new(store), clock, wrap: None }
    }

    /// The same server with `wrap` in front of its tools. It is told the tool and its arguments and
    /// gives the envelope; it may ask the real tools, with those arguments or with others.
    ///
    /// This server is right, and nobody needs to change what it says. Others are made wrong on
    /// purpose with it, one promise at a time, to show that the suite sees it.
    #[must_use]
    pub fn around(
        mut self,
        wrap: impl Fn(&str, &Value, Real<'_>) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.wrap = Some(Box::new(wrap));
        self
    }

    /// Whether there is a tool of this name.
    pub fn has_tool(name: &str) -> bool {
        Tool::find(name).is_some()
    }

    /// The tools as `tools/list` shows them: `name`, `description`, `inputSchema`.
    pub fn tools() -> Vec<Value> {
        let shown = |tool: &Tool| {
            json!({
                "name": tool.name,
                "description": tool.about,
                "inputSchema": args::schema(tool.members),
            })
        };
        TOOLS.iter().map(shown).collect()
    }

    /// Calls a tool, and gives its envelope. A name that is no tool's is refused as bad input.
    pub fn call(&self, tool: &str, arguments: &Value) -> Value {
        let real = |tool: &str, arguments: &Value| self.real(tool, arguments).to_json();
        match &self.wrap {
            Some(wrap) => wrap(tool, arguments, &real),
            None => real(tool, arguments),
        }
    }

    fn real(&self, name: &str, arguments: &Value) -> Envelope {
        let now = (self.clock)();
        // A call that panicked left a draft behind and no half-made change, so the state is sound.
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        match store.run(name, arguments) {
            Ok(result) => Envelope::accepted(name, result, now),
            Err(mut refusal) => {
                let proposals = std::mem::take(&mut refusal.proposals);
                let succeeds = |call: &Proposal| store.attempt(call.target, &call.params).is_ok();
                let tried = proposals.into_iter().filter(succeeds).map(Suggestion::tried).collect();
                Envelope::refused(name, refusal, tried, now)
            }
        }
    }
}

impl Store {
    /// What a call would do, on a draft that comes with the result.
    fn draft(&self, name: &str, arguments: &Value) -> Result<(Draft<'_>, Outcome), Refusal> {
        let tool = Tool::find(name).ok_or_else(|| {
            Refusal::invalid_input(format!("there is no tool `{}`", quoted(name)))
        })?;
        let mut draft = Draft::of(&self.tables);
        let outcome = tool.run(&mut draft, arguments);
        Ok((draft, outcome))
    }

    /// What a call would give. Nothing is changed.
    fn attempt(&self, name: &str, arguments: &Value) -> Outcome {
        self.draft(name, arguments)?.1
    }

    fn run(&mut self, name: &str, arguments: &Value) -> Outcome {
        let (draft, outcome) = self.draft(name, arguments)?;
        let result = outcome?;
        let changes = draft.into_changes();
        if changes.is_empty() {
            return Ok(result);
        }
        if let Some(database) = &self.database {
            database.commit(&changes).map_err(|error| {
                Refusal::new(
                    Code::StorageFailed,
                    format!("nothing was changed, for the database failed: {error}"),
                    "see to the database, then start the server again",
                )
            })?;
        }
        self.tables.apply(changes);
        Ok(result)
    }
}

#[cfg(test)]
mod tests;

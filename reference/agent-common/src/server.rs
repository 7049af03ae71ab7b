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

/// The clock for the time of an answer.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Calls a tool by name with arguments, and returns the envelope.
pub type Real<'a> = &'a dyn Fn(&str, &Value) -> Value;

type Wrap = dyn Fn(&str, &Value, Real<'_>) -> Value + Send + Sync;

/// A server of all tools. It is thread-safe: calls wait for each other, and with a database also for the disk.
pub struct Server {
    store: Mutex<Store>,
    clock: Clock,
    wrap: Option<Box<Wrap>>,
}

/// The state, and its storage.
struct Store {
    tables: Tables,
    database: Option<Database>,
}

impl Server {
    /// A server without persistence.
    pub fn in_memory(clock: Clock) -> Self {
        Self::new(Store { tables: Tables::default(), database: None }, clock)
    }

    /// A server on the database at `path`. Creates the file if it is missing; its folder must exist.
    ///
    /// # Errors
    /// If the file cannot be opened, is open elsewhere, or is not one of ours.
    pub fn with_database(path: impl AsRef<Path>, clock: Clock) -> Result<Self, OpenError> {
        let (database, tables) = Database::open(path.as_ref())?;
        Ok(Self::new(Store { tables, database: Some(database) }, clock))
    }

    fn new(store: Store, clock: Clock) -> Self {
        Self { store: Mutex::new(store), clock, wrap: None }
    }

    /// The same server with `wrap` in front of its tools. It gets the tool and its arguments and returns the
    /// envelope; it may call the real tools, with the same or other arguments. The last of several is the outermost.
    ///
    /// This server is right and needs no change. Saboteurs use this to break one promise at a time, to show that the
    /// suite notices.
    #[must_use]
    pub fn around(
        mut self,
        wrap: impl Fn(&str, &Value, Real<'_>) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.wrap = Some(match self.wrap.take() {
            None => Box::new(wrap),
            Some(inner) => Box::new(move |tool, args, real| {
                wrap(tool, args, &|tool, args| inner(tool, args, real))
            }),
        });
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

    /// Calls a tool and returns its envelope. An unknown tool is refused as bad input.
    pub fn call(&self, tool: &str, arguments: &Value) -> Value {
        let real = |tool: &str, arguments: &Value| self.real(tool, arguments).to_json();
        match &self.wrap {
            Some(wrap) => wrap(tool, arguments, &real),
            None => real(tool, arguments),
        }
    }

    fn real(&self, name: &str, arguments: &Value) -> Envelope {
        let now = (self.clock)();
        // A panicking call only loses its draft, so the state is sound.
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
    /// The result of a call and the draft that it changed.
    fn draft(&self, name: &str, arguments: &Value) -> Result<(Draft<'_>, Outcome), Refusal> {
        let tool = Tool::find(name).ok_or_else(|| {
            Refusal::invalid_input(format!("there is no tool `{}`", quoted(name)))
        })?;
        let mut draft = Draft::of(&self.tables);
        let outcome = tool.run(&mut draft, arguments);
        Ok((draft, outcome))
    }

    /// The result of a call, without any change.
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

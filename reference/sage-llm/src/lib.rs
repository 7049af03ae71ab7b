//! One interface to every model: chat, tools, streaming.
//!
//! Others are judged beside this crate, so it is written to be read: no task is started and nothing is gathered in
//! channels. A stream is a state machine that goes on while somebody reads it, so a slow reader slows the provider
//! down, and dropping the stream stops everything. Time limits go by tokio's clock; no other is read.
//!
//! `proofmark show sage.llm` lists the promises that it keeps.
//!
//! Rounds: a provider is asked; its items are passed on as they come; a tool that it calls runs at once, if the
//! arguments fit the declared schema, and its result is the next item; when the provider says `end` and there were
//! calls, it is asked again with their results, and so on.
//!
//! Decided here: the provider's `end` ends its round at once. Its stream is let go then, and what it would have sent
//! after that, or that it would never have closed, makes no difference. A stream ends with `end` or with one error.
//! Without a runner the results of calls are told at the end of the round, since the provider may bring its own until
//! then. When a stream fails, calls that nobody has run get their results first; when its time is up, they do not.
//! With a runner the text of a round is kept, since the next question tells it again: up to 16 MiB. A round with more
//! is passed on all the same, but if it calls tools the stream fails with EHALT. The prompt cache keeps 16 MiB at most.
//! Unknown members of options are refused. The prompt cache keeps what was answered with a runner apart from what was
//! answered without one.
//!
//! Left open: where a text that came at once is cut.

mod cache;
mod calls;
mod conversation;
mod deadline;
mod event;
mod llm;
mod options;
mod pieces;
mod provider;
mod stream;
mod toolbox;

pub use event::{StreamEvent, Usage};
pub use llm::{Llm, Settings};
pub use options::{ChatMessage, ChatOptions, Model, Role, ToolSchema};
pub use provider::{Provider, Reply, ToolRunner};
pub use stream::ChatStream;

/// Any typed error: one of the taxonomy, or whatever code and properties a provider or a tool came up with.
pub type Error = sage_utils::TypedError;

//! One interface to every model: chat, tools, streaming.
//!
//! Others are judged beside this crate, so it is written to be read: no tasks and no channels. A stream is a state
//! machine that runs while it is read, so a slow reader slows the provider down, and dropping the stream stops
//! everything. Timeouts use tokio's clock; no other is read.
//!
//! `proofmark show sage.llm` lists the promises that it keeps.
//!
//! Rounds: the provider is asked, and its items are forwarded as they come. A tool that it calls runs at once, if the
//! arguments fit the declared schema, and its result is the next item. When the provider sends `end` after calls, it
//! is asked again with their results, and so on.
//!
//! Decided here: the provider's `end` ends its round at once. Its stream is dropped then, so later items, or a stream
//! that never closes, make no difference. A stream ends with `end` or with one error. Without a runner, the results
//! of calls come at the end of the round, because the provider may send its own until then. If a stream fails, calls
//! that did not run get their results first; on a timeout they do not. With a runner, the text of a round is kept for
//! the next request, up to 16 MiB. A longer round is still forwarded, but if it calls tools the stream fails with
//! EHALT. The prompt cache keeps at most 16 MiB. Unknown members of options are refused. The prompt cache separates
//! answers with a runner from those without.
//!
//! Left open: where a text that came at once is split.

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

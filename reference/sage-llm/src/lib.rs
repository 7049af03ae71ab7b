//! One interface to every model: chat, tools, streaming.
//!
//! Others are judged beside this crate, so it is written to be read: no task is started and nothing is gathered in
//! channels. A stream is a state machine that goes on while somebody reads it, so a slow reader slows the provider
//! down, and dropping the stream stops everything. Time limits go by tokio's clock; no other is read.
//!
//! # Contract
//! - LLM-001 A chat is put to the provider that was set.
//! - LLM-002 listModels answers the models that the provider tells, each with its name.
//! - LLM-003 listModels with a provider's name answers the models of that provider, and never those of another.
//! - LLM-004 The provider that was set last is asked, by createChatStream and by listModels without a name.
//! - LLM-005 Every provider that was set stays within reach of listModels by its name, which does not make it the
//!   one that is asked.
//! - LLM-006 As long as no provider was set, createChatStream and listModels fail with EVALIDATION, which names
//!   `provider`.
//! - LLM-007 listModels with a name that no provider has fails with EVALIDATION, which names `providerName`, and
//!   asks nobody.
//! - LLM-008 What a provider streams reaches the reader in its order: the text whole, and the provider's `end`
//!   once, as the last item.
//! - LLM-009 The usage that the provider tells reaches the reader with `end`.
//! - LLM-010 `end` has no usage that the provider did not tell, and is passed on as it is also where it is all that
//!   comes.
//! - LLM-011 Items are passed on as they come, while the provider has not gone on yet.
//! - LLM-012 Streams that follow each other, in one session or in several, do not mix.
//! - LLM-013 Where the provider answers with a final text, the reader gets text items that join to that text.
//! - LLM-014 A synthesized stream has one `end`, its last item, without usage; an empty text gives `end` alone.
//! - LLM-015 The provider gets the model and the messages as the caller gave them: roles, contents, order and
//!   tool_call_id.
//! - LLM-016 The provider gets tools, temperature, max_tokens and requestId as the caller gave them, and none that
//!   was not given.
//! - LLM-017 A model that is missing, empty or no string is refused with EVALIDATION, and no provider is asked.
//! - LLM-018 Messages that are no list of messages, each with one of the four roles and a string as content, are
//!   refused with EVALIDATION, and no provider is asked.
//! - LLM-019 Tools that are no list of names with parameters are refused with EVALIDATION, and no provider is
//!   asked.
//! - LLM-020 A temperature that is no number, and max_tokens or timeoutMs that are no positive integers, are
//!   refused with EVALIDATION, and no provider is asked.
//! - LLM-021 The details of such a refusal name every option at fault.
//! - LLM-022 A tool_call reaches the reader with its toolName, arguments and callId as the provider gave them.
//! - LLM-023 A call whose arguments fit the declared parameters is executed once, with these arguments.
//! - LLM-024 A tool_call is followed by one tool_result with the same callId, whoever runs the tool, and if nobody
//!   does.
//! - LLM-025 Of several calls each has the result of its own execution.
//! - LLM-026 A call whose tool refuses or breaks is followed by one tool_result, too.
//! - LLM-027 A call has exactly one tool_result, after it, and its result is the ToolResult as the tool gave it.
//! - LLM-028 When the tool throws, the result is `ok: false` with the error's code and properties, and the
//!   conversation goes on.
//! - LLM-029 Where nobody runs tools, a call's result is `ok: false` with EPERMISSION.
//! - LLM-030 Where nobody runs tools, a tool_result that the provider sends for an open call is passed on and is
//!   that call's only result.
//! - LLM-031 A call whose arguments do not fit the declared parameters is not executed.
//! - LLM-032 For a call whose arguments do not fit, an error event is emitted.
//! - LLM-033 That event names the call: it is its tool_result, `ok: false` with EVALIDATION, whose details name
//!   every argument at fault by its path.
//! - LLM-034 Arguments that the parameters do not speak of are rejected at every depth, unless the schema allows
//!   more.
//! - LLM-035 A call of a tool that the options do not name is not executed; its result is `ok: false` with
//!   EVALIDATION.
//! - LLM-036 A call that is refused does not keep the other calls, or a later try, from being executed.
//! - LLM-037 Parameters are JSON Schema 2020-12, with all its keywords; formats do not refuse.
//! - LLM-038 A second tool_call under a callId of the same stream fails the stream with EVALIDATION, which names
//!   `callId`; it is not executed, and the provider is stopped.
//! - LLM-039 A tool_result for no call, or a second one for a call, fails the stream with EVALIDATION, which names
//!   `callId`, and the provider is stopped.
//! - LLM-040 After a round with calls the provider is asked again under the same options, with the round's text as
//!   an assistant message and a tool message for each call, in order: its callId, and the result as canonical JSON.
//! - LLM-041 Rounds follow until one has no calls; where nobody runs tools there is one round.
//! - LLM-042 Of several rounds there is one `end`, the last item.
//! - LLM-043 The usage of several rounds is the sum, when every round told its own.
//! - LLM-044 The provider is asked maxRounds times at most, 8 by default; if the last allowed round has calls, they
//!   are executed, and the stream fails with EHALT.
//! - LLM-045 A stream that is over without `end` fails with EIO, after the items that came.
//! - LLM-046 An error of the provider is the error of the stream, with its code and properties, after the items
//!   that came.
//! - LLM-047 What the provider sends that is no StreamEvent is not passed on: the stream fails with EIO.
//! - LLM-048 After a stream that failed the next one works.
//! - LLM-049 When the provider is silent for longer than timeoutMs, the call fails with ETIMEOUT, with that
//!   timeoutMs, elapsedMs and the operation.
//! - LLM-050 On a time-out the provider's stream is stopped.
//! - LLM-051 A limit of time that is not reached changes nothing, and holds for one call only.
//! - LLM-052 timeoutMs is for the whole: all rounds, and the tools as well.
//! - LLM-053 The items that came before a time-out are kept.
//! - LLM-054 When the reader leaves, the provider's stream is stopped at once, even while it is silent.
//! - LLM-055 No more is taken from a provider than is read, but for a small number.
//! - LLM-056 There is no prompt cache unless it is asked for: the same question is put to the provider each time.
//! - LLM-057 With the prompt cache, a question that differs in model, messages, tools, temperature or max_tokens is
//!   another question.
//! - LLM-058 With the prompt cache, questions whose canonical JSON is the same are the same question.
//! - LLM-059 With the prompt cache, requestId and timeoutMs make no other question.
//! - LLM-060 What comes from the prompt cache is the same stream, and no provider is asked; a call without the
//!   cache asks.
//! - LLM-061 With the prompt cache, an option that is absent differs from every value of it.
//! - LLM-062 Only streams that reached their end are kept in the prompt cache.
//! - LLM-063 Each provider and each session has a prompt cache of its own.
//! - LLM-064 With a seeded provider the same request gives the same stream, each time and in every process.
//! - LLM-065 A conversation gives the same stream whether the registry's tools answer or scripted ones that say the
//!   same.
//! - LLM-066 The registry's tools run with no permission: a Write, Edit or Bash of the model is refused in the
//!   result, and nothing is changed.
//! - LLM-067 A provider that adapts an older interface, if there is one, is a provider like any other.
//! - LLM-068 A text is cut between characters: no item begins or ends inside one.
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

//! A conversation: rounds of a provider, with tools in between.
//!
//! All state is here, and nothing runs by itself. [`Conversation::next`] runs until it has one item, so the provider
//! is never asked for more than the reader takes.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use sage_errors::SageError;
use sage_tools::ToolResult;
use sage_utils::canonical_json;
use serde_json::{Value, json};

use crate::calls::{Call, Calls};
use crate::event::broken;
use crate::pieces::Pieces;
use crate::toolbox::{Toolbox, nobody};
use crate::{
    ChatMessage, ChatOptions, Error, Provider, Reply, Role, StreamEvent, ToolRunner, Usage,
};

pub(crate) type Item = Result<StreamEvent, Error>;

pub(crate) struct Conversation {
    provider: Arc<dyn Provider>,
    runner: Option<Arc<dyn ToolRunner>>,
    toolbox: Toolbox,
    /// The messages grow from round to round.
    options: ChatOptions,
    max_rounds: u32,
    rounds: u32,
    calls: Calls,
    /// The sum so far: `None` before the first round, `Some(None)` if a round reported none.
    usage: Option<Option<Usage>>,
    round: Round,
    source: Source,
    /// Calls already sent to the reader, to run before the next item is pulled.
    due: Option<Call>,
    /// Items already known, to send before anything else.
    queue: VecDeque<Item>,
}

/// The source of the next item.
enum Source {
    /// The provider is to be asked.
    Question,
    Answer(BoxStream<'static, Item>),
    Nobody,
}

/// The content of the provider's current answer so far.
#[derive(Default)]
struct Round {
    /// The text for the next request, unless it is too long.
    text: String,
    /// How long the text is, kept or not.
    text_bytes: usize,
    /// In call order: the id, and the result for the next request.
    results: Vec<(String, String)>,
    /// Calls without a runner, unless the provider runs them itself.
    unrun: Vec<Call>,
}

impl Round {
    /// A provider that never stops must not fill the memory.
    const MOST_TEXT: usize = 16 << 20;

    fn keep(&mut self, text: &str) {
        self.text_bytes += text.len();
        if self.text_bytes <= Self::MOST_TEXT {
            self.text.push_str(text);
        } else {
            self.text = String::new();
        }
    }

    /// Whether the next request can include this round.
    ///
    /// # Errors
    /// `EHALT` if it was too long to keep.
    fn check_text(&self) -> Result<(), SageError> {
        if self.text_bytes <= Self::MOST_TEXT {
            return Ok(());
        }
        let invariant = "a round that calls tools has a text that can be repeated";
        let expected = json!(format!("at most {} bytes of text", Self::MOST_TEXT));
        Err(SageError::halt(invariant, expected, json!(format!("{} bytes", self.text_bytes))))
    }
}

impl Conversation {
    pub(crate) fn new(
        provider: Arc<dyn Provider>,
        runner: Option<Arc<dyn ToolRunner>>,
        toolbox: Toolbox,
        options: ChatOptions,
        max_rounds: u32,
    ) -> Self {
        Self {
            provider,
            runner,
            toolbox,
            options,
            max_rounds,
            rounds: 0,
            calls: Calls::default(),
            usage: None,
            round: Round::default(),
            source: Source::Question,
            due: None,
            queue: VecDeque::new(),
        }
    }

    /// The next item; after an `end` or an error there is none.
    pub(crate) async fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.queue.pop_front() {
                return Some(item);
            }
            if let Some(call) = self.due.take() {
                return Some(self.run(call).await);
            }
            let pulled = match &mut self.source {
                Source::Nobody => return None,
                Source::Question => self.ask().await.map(|()| None),
                Source::Answer(answer) => match answer.next().await {
                    Some(Ok(event)) => self.take(event),
                    Some(Err(error)) => Err(error),
                    None => {
                        Err(broken("the provider's stream was over without an `end`".to_owned()))
                    }
                },
            };
            match pulled {
                Ok(Some(event)) => return Some(Ok(event)),
                Ok(None) => {}
                Err(error) => self.fail(error),
            }
        }
    }

    /// Stops: no more items, and the provider's stream is dropped.
    pub(crate) fn stop(&mut self) {
        self.source = Source::Nobody;
        self.due = None;
        self.queue.clear();
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.source, Source::Nobody) && self.queue.is_empty()
    }

    async fn ask(&mut self) -> Result<(), Error> {
        self.rounds += 1;
        self.source = Source::Answer(match self.provider.chat(self.options.clone()).await? {
            Reply::Stream(stream) => stream,
            Reply::Text(text) => {
                let end = StreamEvent::End { usage: None };
                let pieces = Pieces::new(text).map(|value| StreamEvent::Text { value });
                stream::iter(pieces.chain([end]).map(Ok)).boxed()
            }
        });
        Ok(())
    }

    /// Handles an event of the provider; returns the item to forward.
    fn take(&mut self, event: StreamEvent) -> Result<Option<StreamEvent>, Error> {
        match &event {
            StreamEvent::Text { value } => {
                // Only the next round needs it, and without a runner there is none.
                if self.runner.is_some() {
                    self.round.keep(value);
                    if !self.round.results.is_empty() {
                        self.round.check_text()?;
                    }
                }
            }
            StreamEvent::ToolCall { tool_name, arguments, call_id } => {
                self.calls.open(call_id)?;
                let call = Call {
                    tool: tool_name.clone(),
                    arguments: arguments.clone(),
                    id: call_id.clone(),
                };
                match self.runner {
                    Some(_) => {
                        self.round.check_text()?;
                        self.due = Some(call);
                    }
                    None => self.round.unrun.push(call),
                }
            }
            StreamEvent::ToolResult { call_id, .. } => self.calls.settle(call_id)?,
            // Sent once for all rounds.
            StreamEvent::End { usage } => return self.finish_round(usage.clone()).map(|()| None),
        }
        Ok(Some(event))
    }

    /// The result of `call`, even if it fails.
    async fn run(&mut self, call: Call) -> Item {
        let result = match (self.toolbox.check(&call), &self.runner) {
            (Err(fault), _) => ToolResult::failed(fault).to_json(),
            (Ok(()), None) => ToolResult::failed(nobody(&call)).to_json(),
            (Ok(()), Some(runner)) => {
                let ran = runner.run(&call.tool, &call.arguments).await;
                ran.unwrap_or_else(|error| ToolResult::failed(error).to_json())
            }
        };
        self.round.results.push((call.id.clone(), canonical_json(&result)));
        self.calls.settle(&call.id)?;
        Ok(StreamEvent::ToolResult { call_id: call.id, result })
    }

    /// The provider has sent `end`, and its stream is dropped, whether or not it would close. Then comes the end, or
    /// the next request with the tool results.
    fn finish_round(&mut self, usage: Option<Usage>) -> Result<(), Error> {
        self.source = Source::Nobody;
        self.usage = Some(match self.usage.take() {
            None => usage,
            Some(sum) => sum.zip(usage).and_then(|(sum, usage)| sum.plus(&usage)),
        });
        if self.round.results.is_empty() {
            self.answer_for_nobody();
            self.queue.push_back(Ok(StreamEvent::End { usage: self.usage.take().flatten() }));
            return Ok(());
        }
        let round = std::mem::take(&mut self.round);
        if self.rounds >= self.max_rounds {
            return Err(self.halted(round.results.len()));
        }
        self.options.messages.push(ChatMessage::new(Role::Assistant, round.text));
        self.options.messages.extend(round.results.into_iter().map(|(id, content)| ChatMessage {
            role: Role::Tool,
            content,
            tool_call_id: Some(id),
        }));
        self.source = Source::Question;
        Ok(())
    }

    fn halted(&self, calls: usize) -> Error {
        let most = self.max_rounds;
        let invariant = format!("the model answers without tools after at most {most} rounds");
        let actual = json!(format!("{calls} tool calls in round {}", self.rounds));
        SageError::halt(invariant, Value::from("a round without tool calls"), actual).into()
    }

    /// The stream ends with `error`. Every call still gets a result.
    fn fail(&mut self, error: Error) {
        self.source = Source::Nobody;
        self.answer_for_nobody();
        self.queue.push_back(Err(error));
    }

    /// Results for the calls that neither the provider nor a runner ran.
    fn answer_for_nobody(&mut self) {
        for call in std::mem::take(&mut self.round.unrun) {
            if !self.calls.is_open(&call.id) {
                continue;
            }
            let refusal = self.toolbox.check(&call).err().unwrap_or_else(|| nobody(&call));
            let settled = self.calls.settle(&call.id);
            let result = ToolResult::failed(refusal).to_json();
            let event = StreamEvent::ToolResult { call_id: call.id, result };
            self.queue.push_back(settled.map(|()| event));
        }
    }
}

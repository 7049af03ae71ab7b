//! A complete LLM client without the reference's wrapper: a voice, and a runner for its tools.

use std::sync::{Arc, Mutex, PoisonError};

use sage_errors::{Common, Detail, IoError, SageError};
use sage_llm::{ChatMessage, ChatOptions, Role, StreamEvent, ToolRunner, Usage};
use sage_tools::ToolResult;
use sage_utils::{TypedError, canonical_json};
use serde_json::{Value, json};

use super::{Item, Playback, Turn, Voice};

/// The most rounds of a conversation: a script that calls a tool in each round would never end.
const MOST_ROUNDS: usize = 8;

/// A client whose model is a fake. It does not check the arguments of tool calls; the tools do.
///
/// It shares no code with the wrapper that it stands in for, so tests can compare the two.
pub struct FakeLlm {
    voice: Mutex<Voice>,
    tools: Arc<dyn ToolRunner>,
}

/// All events of a conversation, and its outcome.
#[derive(Debug, PartialEq)]
pub struct Said {
    pub events: Vec<StreamEvent>,
    pub outcome: Result<(), TypedError>,
}

impl FakeLlm {
    /// A client of this voice that runs tools with `tools`.
    pub fn new(voice: impl Into<Voice>, tools: Arc<dyn ToolRunner>) -> Self {
        Self { voice: Mutex::new(voice.into()), tools }
    }

    /// Plays a conversation to its end. After a round with tool calls comes another round.
    pub async fn chat(&self, options: ChatOptions) -> Said {
        let mut said = Said { events: Vec::new(), outcome: Ok(()) };
        said.outcome = self.rounds(options, &mut said.events).await;
        said
    }

    async fn rounds(
        &self,
        mut options: ChatOptions,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), TypedError> {
        let mut usages = Vec::new();
        for _ in 0..MOST_ROUNDS {
            let round = self.round(&options, events).await?;
            usages.push(round.usage);
            if round.results.is_empty() {
                events.push(StreamEvent::End { usage: summed(&usages) });
                return Ok(());
            }
            options.messages.push(ChatMessage::new(Role::Assistant, round.text));
            for (id, result) in round.results {
                let mut message = ChatMessage::new(Role::Tool, canonical_json(&result));
                message.tool_call_id = Some(id);
                options.messages.push(message);
            }
        }
        let actual = json!(format!("more than {MOST_ROUNDS}"));
        let invariant = "rounds of tool calls come to an end";
        Err(SageError::halt(invariant, json!(MOST_ROUNDS), actual).into())
    }

    async fn round(
        &self,
        options: &ChatOptions,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Round, TypedError> {
        let mut round = Round::default();
        for item in self.turn(options).await? {
            let event = match item {
                Item::Event(event) => StreamEvent::from_json(event)?,
                Item::Error(error) => return Err(error),
                Item::Stall => std::future::pending().await,
            };
            match event {
                StreamEvent::End { usage } => {
                    round.usage = usage;
                    return Ok(round);
                }
                StreamEvent::ToolCall { tool_name, arguments, call_id } => {
                    let result = self.run(&tool_name, &arguments).await;
                    round.results.push((call_id.clone(), result.clone()));
                    let answer = StreamEvent::ToolResult { call_id: call_id.clone(), result };
                    events.push(StreamEvent::ToolCall { tool_name, arguments, call_id });
                    events.push(answer);
                }
                other => {
                    if let StreamEvent::Text { value } = &other {
                        round.text.push_str(value);
                    }
                    events.push(other);
                }
            }
        }
        let common = Common::new("the stream was cut: it is over without `end`");
        let error = IoError { path: None, operation: "read".to_owned(), common };
        Err(SageError::Io(Box::new(error)).into())
    }

    async fn turn(&self, options: &ChatOptions) -> Result<Playback, TypedError> {
        let json = serde_json::to_value(options).unwrap_or(Value::Null);
        let turn = self.voice.lock().unwrap_or_else(PoisonError::into_inner).turn(&json);
        match turn {
            Ok(Turn::Stream(playback)) => Ok(playback),
            Ok(Turn::Text(text)) => {
                let events = [json!({"type": "text", "value": text}), json!({"type": "end"})];
                Ok(Playback::new(events.map(Item::Event), None))
            }
            Ok(Turn::Error(error)) => Err(error),
            Ok(Turn::Stall) => std::future::pending().await,
            Err(problem) => Err(SageError::validation(Detail::new("turns", problem)).into()),
        }
    }

    async fn run(&self, name: &str, input: &Value) -> Value {
        let ran = self.tools.run(name, input).await;
        ran.unwrap_or_else(|error| ToolResult::failed(error).to_json())
    }
}

#[derive(Default)]
struct Round {
    text: String,
    results: Vec<(String, Value)>,
    usage: Option<Usage>,
}

/// The sum, if every round reported its usage.
fn summed(usages: &[Option<Usage>]) -> Option<Usage> {
    let mut total = (0, 0);
    for usage in usages {
        let usage = usage.as_ref()?;
        total = (total.0 + usage.prompt.as_u64()?, total.1 + usage.completion.as_u64()?);
    }
    Some(Usage::new(total.0, total.1))
}

//! A model that derives its answers from a seed and the conversation.

use proofmark_fakes::draws::Draws;
use proofmark_fakes::schema::fitting;
use sage_utils::canonical_json;
use serde_json::{Map, Value, json};

use super::{Item, Playback};

/// The options that are the conversation. The others (a timeout, an id) do not change the answer.
const CONVERSATION: [&str; 5] = ["model", "messages", "tools", "temperature", "max_tokens"];

/// A model that answers the same conversation with the same bytes, on every machine and for ever.
///
/// It takes [`Draws`] of its seed and of the canonical JSON of the conversation: those of `model`,
/// `messages`, `tools`, `temperature` and `max_tokens` that are given.
///
/// The answer begins with 1 to 8 words, at most `max_tokens`, each an item. Then come 1 or 2 tool calls
/// with arguments that fit, if tools are given, the last message is not a tool's, and a draw below 2 is 1;
/// a tool for which no arguments are found is skipped. The last item is `end`, with the number of words in
/// the messages, and of words and calls in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeededLlm {
    seed: u64,
}

impl SeededLlm {
    /// The model of this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The model's answer. `options` are the contract's `ChatOptions`; members of another form are
    /// ignored.
    ///
    /// # Errors
    /// The options are nested too deeply to be read.
    pub fn turn(&self, options: &Value) -> Result<Playback, String> {
        let given = |name: &&str| options.get(*name).map(|it| ((*name).to_owned(), it.clone()));
        let conversation: Map<_, _> = CONVERSATION.iter().filter_map(given).collect();
        let canonical = canonical_json(&Value::Object(conversation));
        // Read it back, so that the answer depends only on the canonical form, not on the order of keys
        // or the spelling of numbers.
        let conversation: Value = serde_json::from_str(&canonical)
            .map_err(|fault| format!("the conversation cannot be read: {fault}"))?;
        let mut draws = Draws::new(self.seed, &canonical);
        let events = answer(&conversation, &mut draws);
        Ok(Playback::new(events.into_iter().map(Item::Event), None))
    }
}

fn answer(conversation: &Value, draws: &mut Draws) -> Vec<Value> {
    let mut events = Vec::new();
    let mut words = 1 + draws.below(8);
    if let Some(most) = conversation["max_tokens"].as_u64().filter(|most| *most > 0) {
        words = words.min(most);
    }
    for at in 0..words {
        let space = if at == 0 { "" } else { " " };
        events.push(json!({"type": "text", "value": format!("{space}{}", draws.word())}));
    }
    let messages = conversation["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let tools = conversation["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let answers_tool = messages.last().is_some_and(|message| message["role"] == "tool");
    if !answers_tool && !tools.is_empty() && draws.below(2) == 1 {
        for at in 0..1 + draws.below(2) {
            events.extend(call(tools, at, draws));
        }
    }
    let prompt = messages.iter().filter_map(|message| message["content"].as_str());
    let prompt: usize = prompt.map(|content| content.split_whitespace().count()).sum();
    let usage = json!({"prompt": prompt, "completion": events.len()});
    events.push(json!({"type": "end", "usage": usage}));
    events
}

fn call(tools: &[Value], at: u64, draws: &mut Draws) -> Option<Value> {
    let tool = draws.one_of(tools)?;
    let name = tool["name"].as_str()?;
    // The first bits keep ids of different turns apart, the number those of one turn.
    let id = format!("call-{:08x}-{at}", draws.bits());
    let arguments = fitting(tool.get("parameters")?, draws)?;
    Some(json!({"type": "tool_call", "toolName": name, "arguments": arguments, "callId": id}))
}

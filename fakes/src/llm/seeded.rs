//! A model whose every word follows from a seed and the conversation.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sage_utils::{canonical_json, sha256};
use serde_json::{Map, Value, json};

use super::{Item, Playback, arguments};

/// What of the options is the conversation. The rest (a time limit, an id) changes no word.
const CONVERSATION: [&str; 5] = ["model", "messages", "tools", "temperature", "max_tokens"];

/// What the model can say.
const WORDS: [&str; 16] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haze", "iris", "juniper",
    "kelp", "lumen", "moss", "north", "opal", "pine",
];

/// A model that answers the same conversation with the same items, to the byte and for ever.
///
/// The generator is ChaCha with 8 rounds. Its key is the SHA-256 of `SEED:HASH`, where `SEED` is in
/// decimal and `HASH` is the hex SHA-256 of the canonical JSON of the conversation: those of `model`,
/// `messages`, `tools`, `temperature` and `max_tokens` that are given. A number below `n` is the upper
/// half of the product of `n` and the next 32 bits.
///
/// Then: 1 to 8 words, no more than `max_tokens`, each an item. If tools are given, the last message
/// is not a tool's, and a toss (below 2) gives 1: after the words 1 or 2 calls of tools, with arguments
/// that fit; a tool that nothing can be found for is passed over. At last `end`, with the number of
/// words in the messages, and of words and calls in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeededLlm {
    seed: u64,
}

impl SeededLlm {
    /// The model of this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// What it answers. `options` are the contract's `ChatOptions`; what is not of their form is
    /// taken as not there.
    ///
    /// # Errors
    /// A sentence, when the options are nested too deeply to be read.
    pub fn turn(&self, options: &Value) -> Result<Playback, String> {
        let given = |name: &&str| options.get(*name).map(|it| ((*name).to_owned(), it.clone()));
        let conversation: Map<_, _> = CONVERSATION.iter().filter_map(given).collect();
        let canonical = canonical_json(&Value::Object(conversation));
        // Read again: the answer then follows from the canonical form alone, not from the order of
        // keys nor from how a number was written.
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
    let arguments = arguments::fitting(tool.get("parameters")?, draws)?;
    Some(json!({"type": "tool_call", "toolName": name, "arguments": arguments, "callId": id}))
}

/// Numbers that follow from a seed and a text.
#[derive(Debug)]
pub struct Draws(ChaCha8Rng);

impl Draws {
    /// The numbers of this seed and this text.
    pub fn new(seed: u64, text: &str) -> Self {
        let mut key = [0; 32];
        hex::decode_to_slice(sha256(format!("{seed}:{}", sha256(text))), &mut key)
            .expect("a SHA-256 digest is 32 bytes in hex");
        Self(ChaCha8Rng::from_seed(key))
    }

    fn bits(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A number below `n`, which is less than 2^32.
    pub fn below(&mut self, n: u64) -> u64 {
        (u64::from(self.bits()) * n) >> 32
    }

    /// One of these things, if there are any.
    pub fn one_of<'a, T>(&mut self, things: &'a [T]) -> Option<&'a T> {
        let at = self.below(things.len() as u64);
        things.get(usize::try_from(at).ok()?)
    }

    /// One of the words that a model can say.
    pub fn word(&mut self) -> &'static str {
        self.one_of(&WORDS).copied().unwrap_or_default()
    }
}

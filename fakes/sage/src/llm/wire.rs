//! The fake `llm` as subjects call it: `models`, `chat`, and streams by id.

use std::collections::BTreeMap;

use proofmark_fakes::host::{Fake, Released, Response};
use proofmark_fakes::script::{argument, arguments, array, object, string};
use serde_json::{Value, json};

use super::{Item, Playback, ScriptedLlm, SeededLlm, Turn, Voice};

/// Providers by name, and every stream so far.
#[derive(Debug)]
pub(super) struct WireLlm {
    providers: BTreeMap<String, Provider>,
    streams: BTreeMap<String, Stream>,
}

#[derive(Debug)]
struct Provider {
    models: Value,
    voice: Voice,
}

#[derive(Debug)]
enum Stream {
    /// The next `next` takes an item.
    Ready(Playback),
    /// It sends nothing more; the call with this ticket waits for it.
    Stalled { ticket: u64 },
    /// The caller stopped it. A `next` may still arrive that was sent before the `stop`.
    Stopped,
    /// The caller knows that it has ended.
    Over,
}

impl WireLlm {
    pub(super) fn from_script(script: &Value) -> Result<Self, String> {
        let members = object("llm", script, &["providers"])?;
        let mut providers = BTreeMap::new();
        if let Some(given) = members.get("providers") {
            let Some(given) = given.as_object() else {
                return Err(format!("`providers` must be an object by name, not {given}"));
            };
            for (name, script) in given {
                providers.insert(name.clone(), provider(&format!("providers.{name}"), script)?);
            }
        }
        Ok(Self { providers, streams: BTreeMap::new() })
    }

    fn chat(&mut self, args: &Value) -> Result<Response, String> {
        let args = arguments("llm.chat", args, &["provider", "options"])?;
        let name = argument("llm.chat", args, "provider")?;
        let Some(options) = args.get("options").filter(|options| options.is_object()) else {
            return Err("`llm.chat` takes an object `options`".to_owned());
        };
        let turn = self
            .provider(name)?
            .voice
            .turn(options)
            .map_err(|problem| format!("the provider `{name}` has no answer: {problem}"))?;
        Ok(match turn {
            Turn::Text(text) => Response::recorded(Ok(json!({"text": text}))),
            Turn::Error(error) => Response::recorded(Err(error.to_json())),
            Turn::Stall => Response::Later { recorded: true },
            Turn::Stream(playback) => {
                let id = (self.streams.len() + 1).to_string();
                self.streams.insert(id.clone(), Stream::Ready(playback));
                Response::recorded(Ok(json!({"stream": id})))
            }
        })
    }

    fn next(&mut self, ticket: u64, args: &Value) -> Result<Response, String> {
        let (id, stream) = self.stream("llm.next", args)?;
        let (reply, after) = match stream {
            Stream::Stalled { .. } => {
                return Err(format!(
                    "stream `{id}` is being asked already; one `next` at a time, or `stop`"
                ));
            }
            Stream::Over => {
                return Err(format!("stream `{id}` is over; ask for no more of it"));
            }
            Stream::Stopped => (Ok(json!({"done": true})), Some(Stream::Over)),
            Stream::Ready(playback) => match playback.next() {
                Some(Item::Event(event)) => (Ok(json!({"event": event})), None),
                Some(Item::Error(error)) => (Err(error.to_json()), Some(Stream::Over)),
                None => (Ok(json!({"done": true})), Some(Stream::Over)),
                Some(Item::Stall) => {
                    *stream = Stream::Stalled { ticket };
                    return Ok(Response::Later { recorded: false });
                }
            },
        };
        if let Some(after) = after {
            *stream = after;
        }
        Ok(Response::Now { reply, recorded: false })
    }

    /// Recorded only if there was something left to stop.
    fn stop(&mut self, args: &Value, released: &mut Released) -> Result<Response, String> {
        let (_, stream) = self.stream("llm.stop", args)?;
        let (after, recorded) = match stream {
            Stream::Ready(playback) => (Stream::Stopped, !playback.is_complete()),
            Stream::Stalled { ticket } => {
                released.push((*ticket, Ok(json!({"done": true}))));
                (Stream::Over, true)
            }
            Stream::Stopped => (Stream::Stopped, false),
            Stream::Over => (Stream::Over, false),
        };
        *stream = after;
        Ok(Response::Now { reply: Ok(Value::Null), recorded })
    }

    fn provider(&mut self, name: &str) -> Result<&mut Provider, String> {
        let known = self.providers.keys().cloned().collect::<Vec<_>>().join(", ");
        self.providers.get_mut(name).ok_or_else(|| {
            let known = if known.is_empty() { "none" } else { &known };
            format!("the fake `llm` plays no provider `{name}`; it plays {known}")
        })
    }

    fn stream(&mut self, call: &str, args: &Value) -> Result<(String, &mut Stream), String> {
        let args = arguments(call, args, &["stream"])?;
        let id = argument(call, args, "stream")?;
        match self.streams.get_mut(id) {
            Some(stream) => Ok((id.to_owned(), stream)),
            None => Err(format!("there is no stream `{id}`; `chat` returns the id of each")),
        }
    }
}

impl Fake for WireLlm {
    fn call(
        &mut self,
        ticket: u64,
        method: &str,
        args: &Value,
        released: &mut Released,
    ) -> Result<Response, String> {
        match method {
            "models" => {
                let args = arguments("llm.models", args, &["provider"])?;
                let provider = self.provider(argument("llm.models", args, "provider")?)?;
                Ok(Response::recorded(Ok(provider.models.clone())))
            }
            "chat" => self.chat(args),
            "next" => self.next(ticket, args),
            "stop" => self.stop(args, released),
            _ => Err(format!(
                "the fake `llm` has no method `{method}`; it has `models`, `chat`, `next` and `stop`"
            )),
        }
    }
}

fn provider(place: &str, script: &Value) -> Result<Provider, String> {
    let members = object(place, script, &["models", "turns", "seed"])?;
    let mut models = Vec::new();
    for (at, name) in array(&format!("{place}.models"), members.get("models"))?.iter().enumerate() {
        models.push(json!({"name": string(&format!("{place}.models[{at}]"), Some(name))?}));
    }
    let voice = match (members.get("turns"), members.get("seed")) {
        (Some(_), Some(_)) => {
            return Err(format!("`{place}` has `turns` and `seed`; it can have only one of them"));
        }
        (Some(turns), None) => {
            Voice::Scripted(ScriptedLlm::read(&format!("{place}.turns"), turns)?)
        }
        (None, Some(seed)) => Voice::Seeded(SeededLlm::new(seed.as_u64().ok_or_else(|| {
            format!("`{place}.seed` must be a whole number of at least 0, not {seed}")
        })?)),
        (None, None) => Voice::Scripted(ScriptedLlm::default()),
    };
    Ok(Provider { models: Value::Array(models), voice })
}

//! The fakes of one session, called by name, as they are over the wire.
//!
//! A fake answers with a value or with a contract error, as the case scripts it. A call that no fake
//! can play (an unknown one, a wrong argument) is an error of the caller, told in a sentence.

use std::collections::BTreeMap;

use futures::FutureExt as _;
use sage_chronicle::{AppendArgs, Event, EventLog as _, IdRule, ReadArgs};
use sage_errors::SageError;
use sage_utils::SecretProvider as _;
use serde::Deserialize;
use serde_json::Value;

use crate::chronicle::MemoryChronicle;
use crate::graph::MemoryGraph;
use crate::llm::WireLlm;
use crate::provider::ScriptedProvider;
use crate::script::fault;
use crate::secrets::MemorySecrets;
use crate::tools::ScriptedTools;

/// A fake's answer: a value, or a contract error in its flat JSON form.
pub type Played = Result<Value, Value>;

/// The names that [`Host::call`] knows, if the session offers them.
pub const FAKES: [&str; 6] = ["chronicle", "graph", "llm", "provider", "secrets", "tools"];

/// What the host does with a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Answered at once; `noted` says whether the call is part of what a case judges.
    Now { reply: Played, noted: bool },
    /// Not answered until something else happens, which [`Host::released`] tells; perhaps never.
    /// `noted` as above. The host keeps the ticket.
    Later { noted: bool },
}

impl Answer {
    pub(crate) fn noted(reply: Played) -> Self {
        Self::Now { reply, noted: true }
    }
}

/// The fakes that a session offers.
#[derive(Default)]
pub struct Host {
    fakes: BTreeMap<String, Fake>,
    released: Vec<(u64, Played)>,
}

enum Fake {
    Chronicle(MemoryChronicle),
    Graph(MemoryGraph),
    Llm(WireLlm),
    Provider(ScriptedProvider),
    Secrets(MemorySecrets),
    Tools(ScriptedTools),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretsScript {
    #[serde(default)]
    values: BTreeMap<String, String>,
    /// For a key: the errors of the first calls, in order.
    #[serde(default)]
    faults: BTreeMap<String, Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoScript {}

impl Host {
    /// The fakes of `scripts`, by name.
    pub fn new(scripts: &BTreeMap<String, Value>) -> Result<Self, String> {
        let fakes =
            scripts.iter().map(|(name, script)| Ok((name.clone(), Fake::new(name, script)?)));
        Ok(Self { fakes: fakes.collect::<Result<_, String>>()?, released: Vec::new() })
    }

    /// Whether there is such a fake and its script is right.
    pub fn check(name: &str, script: &Value) -> Result<(), String> {
        Fake::new(name, script).map(|_| ())
    }

    /// Plays one call. `ticket` is the caller's own mark for it, given back when a call that had to
    /// wait is released.
    ///
    /// # Errors
    /// The caller's own mistakes: no such fake, no such method, wrong arguments.
    pub fn call(
        &mut self,
        ticket: u64,
        fake: &str,
        method: &str,
        args: &Value,
    ) -> Result<Answer, String> {
        match self.fakes.get_mut(fake) {
            None => {
                let offered: Vec<&str> = self.fakes.keys().map(String::as_str).collect();
                let offered =
                    if offered.is_empty() { "none".to_owned() } else { offered.join(", ") };
                Err(format!(
                    "the fake `{fake}` is not on offer in this session; on offer: {offered}"
                ))
            }
            Some(Fake::Graph(graph)) => graph.call(method, args),
            Some(Fake::Llm(llm)) => llm.call(ticket, method, args, &mut self.released),
            Some(Fake::Provider(provider)) => {
                provider.call(ticket, method, args, &mut self.released)
            }
            Some(Fake::Tools(tools)) => tools.call(method, args),
            Some(Fake::Secrets(secrets)) => match method {
                "get" => get_secret(secrets, args).map(Answer::noted),
                _ => Err(format!("the fake `secrets` has no method `{method}`; it has `get`")),
            },
            Some(Fake::Chronicle(chronicle)) => match method {
                "append" => Ok(Answer::noted(append(chronicle, args).map_err(|e| e.to_json()))),
                "read" => Ok(Answer::noted(read(chronicle, args).map_err(|e| e.to_json()))),
                _ => Err(format!(
                    "the fake `chronicle` has no method `{method}`; it has `append` and `read`"
                )),
            },
        }
    }

    /// Calls that waited and are answered now (a `next` that a `stop` set free), in order. Empty
    /// after nearly every call.
    pub fn released(&mut self) -> Vec<(u64, Played)> {
        std::mem::take(&mut self.released)
    }
}

impl Fake {
    fn new(name: &str, script: &Value) -> Result<Self, String> {
        let wrong = |told: String| format!("the script of the fake `{name}` is wrong: {told}");
        match name {
            "secrets" => secrets(script).map(Self::Secrets).map_err(wrong),
            "chronicle" => match NoScript::deserialize(script) {
                Ok(NoScript {}) => Ok(Self::Chronicle(MemoryChronicle::default())),
                Err(fault) => Err(wrong(fault.to_string())),
            },
            "graph" => MemoryGraph::from_script(script).map(Self::Graph).map_err(wrong),
            "llm" => WireLlm::new(script).map(Self::Llm).map_err(wrong),
            "provider" => ScriptedProvider::from_script(script).map(Self::Provider).map_err(wrong),
            "tools" => ScriptedTools::from_script(script).map(Self::Tools).map_err(wrong),
            _ => Err(format!("there is no fake `{name}`; there are {}", FAKES.join(", "))),
        }
    }
}

fn secrets(script: &Value) -> Result<MemorySecrets, String> {
    let script = SecretsScript::deserialize(script).map_err(|fault| fault.to_string())?;
    let mut secrets = MemorySecrets::new(script.values);
    for (key, faults) in script.faults {
        for (at, told) in faults.iter().enumerate() {
            secrets = secrets.failing(key.clone(), fault(&format!("faults.{key}[{at}]"), told)?);
        }
    }
    Ok(secrets)
}

fn get_secret(secrets: &MemorySecrets, args: &Value) -> Result<Played, String> {
    let Some(key) = args["key"].as_str() else {
        return Err(format!("`secrets.get` takes {{\"key\": string}}, not {args}"));
    };
    let answer = secrets.get(key).now_or_never().ok_or("the fake `secrets` never waits")?;
    Ok(answer.map(Value::from).map_err(|fault| fault.to_json()))
}

/// As `ChronicleAdapter.append`: `{"path", "event"}`.
fn append(chronicle: &MemoryChronicle, args: &Value) -> Result<Value, SageError> {
    let args = AppendArgs::from_json(args, IdRule::Computed)?;
    chronicle.append_event(&args.path, &args.event, args.lock_timeout_ms)?;
    Ok(Value::Null)
}

/// As `ChronicleAdapter.read`: `{"path"}`.
fn read(chronicle: &MemoryChronicle, args: &Value) -> Result<Value, SageError> {
    let args = ReadArgs::from_json(args)?;
    Ok(chronicle.read(&args.path)?.iter().map(Event::to_json).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn host(scripts: Value) -> Host {
        let scripts = serde_json::from_value(scripts).unwrap();
        Host::new(&scripts).unwrap()
    }

    /// The reply of a call that is answered at once and is part of what a case judges.
    #[track_caller]
    fn now(answer: Result<Answer, String>) -> Played {
        match answer.unwrap() {
            Answer::Now { reply, noted: true } => reply,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn secrets_fail_as_scripted_and_then_answer() {
        let fault = json!({"code": "EIO", "message": "vault sealed", "operation": "read"});
        let mut host = host(json!({"secrets": {"values": {"K": "v"}, "faults": {"K": [fault]}}}));
        let mut get = |key: &str| now(host.call(0, "secrets", "get", &json!({"key": key})));
        let error = get("K").unwrap_err();
        assert_eq!((&error["code"], &error["operation"]), (&json!("EIO"), &json!("read")));
        assert_eq!(get("K"), Ok(json!("v")));
        assert_eq!(get("absent"), Ok(Value::Null));
    }

    #[test]
    fn the_chronicle_is_kept_for_the_session() {
        let mut host = host(json!({"chronicle": {}}));
        let event = json!({"type": "A", "timestamp": "2024-01-01T00:00:00.000Z", "actor": {"agent": "sage", "id": "1"}});
        let mut call = |method: &str, args: Value| now(host.call(0, "chronicle", method, &args));
        assert_eq!(call("append", json!({"path": "a.sage", "event": event})), Ok(Value::Null));
        let events = call("read", json!({"path": "a.sage"})).unwrap();
        assert_eq!(events[0]["type"], "A");
        let refused = call("append", json!({"path": "a.sage", "event": {}}));
        assert_eq!(refused.unwrap_err()["code"], "EVALIDATION");
    }

    #[test]
    fn what_is_not_on_offer_is_named() {
        let mut host = host(json!({"secrets": {}}));
        let told = host.call(0, "llm", "chat", &json!({})).unwrap_err();
        assert_eq!(told, "the fake `llm` is not on offer in this session; on offer: secrets");
        assert!(
            Host::check("lmm", &json!({}))
                .unwrap_err()
                .contains("there are chronicle, graph, llm, provider, secrets, tools")
        );
        assert!(
            Host::check("secrets", &json!({"valeus": {}}))
                .unwrap_err()
                .contains("unknown field `valeus`")
        );
    }
}

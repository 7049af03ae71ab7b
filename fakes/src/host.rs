//! The fakes of one session, called by name, as they are over the wire.
//!
//! A fake answers with a value or with a contract error, as the case scripts it. A call that no fake
//! can play (an unknown one, a wrong argument) is an error of the caller, told in a sentence.

use std::collections::BTreeMap;

use futures::FutureExt as _;
use sage_utils::{SecretProvider as _, err};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::secrets::MemorySecrets;

/// A fake's answer: a value, or a contract error in its flat JSON form.
pub type Played = Result<Value, Value>;

/// The names that [`Host::call`] knows, if the session offers them.
pub const FAKES: [&str; 1] = ["secrets"];

/// The fakes that a session offers.
#[derive(Default)]
pub struct Host {
    fakes: BTreeMap<String, Fake>,
}

enum Fake {
    Secrets(MemorySecrets),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretsScript {
    #[serde(default)]
    values: BTreeMap<String, String>,
    /// For a key: the errors of the first calls, in order.
    #[serde(default)]
    faults: BTreeMap<String, Vec<FaultScript>>,
}

#[derive(Deserialize)]
struct FaultScript {
    code: String,
    message: String,
    #[serde(flatten)]
    properties: Map<String, Value>,
}

impl Host {
    /// The fakes of `scripts`, by name.
    pub fn new(scripts: &BTreeMap<String, Value>) -> Result<Self, String> {
        let fakes = scripts.iter().map(|(name, script)| Ok((name.clone(), Fake::new(name, script)?)));
        Ok(Self { fakes: fakes.collect::<Result<_, String>>()? })
    }

    /// Whether there is such a fake and its script is right.
    pub fn check(name: &str, script: &Value) -> Result<(), String> {
        Fake::new(name, script).map(|_| ())
    }

    /// Plays one call. The outer error is the caller's: no such fake, no such method, wrong arguments.
    pub fn call(&mut self, fake: &str, method: &str, args: &Value) -> Result<Played, String> {
        let offered: Vec<&str> = self.fakes.keys().map(String::as_str).collect();
        let offered = if offered.is_empty() { "none".to_owned() } else { offered.join(", ") };
        match self.fakes.get_mut(fake) {
            None => Err(format!("the fake `{fake}` is not on offer in this session; on offer: {offered}")),
            Some(Fake::Secrets(secrets)) => match method {
                "get" => get_secret(secrets, args),
                _ => Err(format!("the fake `secrets` has no method `{method}`; it has `get`")),
            },
        }
    }
}

impl Fake {
    fn new(name: &str, script: &Value) -> Result<Self, String> {
        let wrong = |fault: serde_json::Error| format!("the script of the fake `{name}` is wrong: {fault}");
        match name {
            "secrets" => {
                let script = SecretsScript::deserialize(script).map_err(wrong)?;
                let mut secrets = MemorySecrets::new(script.values);
                for (key, faults) in script.faults {
                    for fault in faults {
                        let error = err(fault.code, fault.message, None)
                            .with_properties(fault.properties)
                            .map_err(|fault| format!("the script of the fake `secrets` is wrong: {fault}"))?;
                        secrets = secrets.failing(key.clone(), error);
                    }
                }
                Ok(Self::Secrets(secrets))
            }
            _ => Err(format!("there is no fake `{name}`; there are {}", FAKES.join(", "))),
        }
    }
}

fn get_secret(secrets: &MemorySecrets, args: &Value) -> Result<Played, String> {
    let Some(key) = args["key"].as_str() else {
        return Err(format!("`secrets.get` takes {{\"key\": string}}, not {args}"));
    };
    let answer = secrets.get(key).now_or_never().ok_or("the fake `secrets` never waits")?;
    Ok(answer.map(Value::from).map_err(|fault| fault.to_json()))
}

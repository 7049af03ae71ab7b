//! The operations of `sage.utils`.

use proofmark_fakes::clock::ScriptedClock;
use proofmark_fakes::random::RandomTape;
use proofmark_fakes_sage::{SageClock, SageRandom};
use proofmark_protocol::{Context, Failure, Open};
use proofmark_room::arguments::{contract_error, string};
use proofmark_room::{Session, State, Subject};
use room_sage_errors::driver::refused;
use sage_errors::{Detail, SageError};
use sage_utils::{Clock as _, Random as _, canonical_json, canonical_json_of_text, err, sha256};
use serde_json::{Value, json};

use crate::CONTRACT;

/// The session's scripted clock and random tape.
pub struct Foundations {
    pub clock: SageClock,
    random: SageRandom,
}

impl State for Foundations {
    fn open(open: &Open) -> Result<Self, Failure> {
        let clock = ScriptedClock::new(&open.clock.start, open.clock.step_ms)
            .map_err(|fault| Failure::broken(fault.to_string()))?;
        let random = RandomTape::new(open.random.ints.clone(), open.random.floats.clone())
            .map_err(|fault| Failure::broken(fault.to_string()))?;
        Ok(Self { clock: SageClock(clock), random: SageRandom(random) })
    }
}

pub(crate) fn operations(subject: Subject) -> Subject {
    subject
        .claims(CONTRACT)
        .on("utils.canonicalJSONStringify", async |_, args| canonical(&args))
        .on("utils.sha256", async |_, args| hash(&args))
        .on("utils.err", async |_, args| {
            let error =
                err(string(&args, "code")?, string(&args, "message")?, args.get("cause").cloned());
            Ok(error.to_json())
        })
        .on("utils.clock.now", async |context: Context<Session>, _| {
            Ok(context.state().state::<Foundations>()?.clock.now().into())
        })
        .on("utils.random.int", async |context: Context<Session>, _| {
            let number = context.state().state::<Foundations>()?.random.int();
            number.map(Value::from).map_err(|fault| contract_error(fault.to_json()))
        })
        .on("utils.random.float", async |context: Context<Session>, _| {
            let number = context.state().state::<Foundations>()?.random.float();
            number.map(Value::from).map_err(|fault| contract_error(fault.to_json()))
        })
        .on("utils.secrets.get", async |context: Context<Session>, args| {
            // The harness plays the session's secret provider.
            context.ask("secrets", "get", json!({ "key": string(&args, "key")? })).await
        })
}

fn canonical(args: &Value) -> Result<Value, Failure> {
    match (args.get("value"), args.get("json")) {
        (Some(value), None) => Ok(canonical_json(value).into()),
        (None, Some(Value::String(text))) => {
            canonical_json_of_text(text).map(Value::from).map_err(|fault| {
                let detail = Detail::new("json", fault.to_string()).received(text.as_str());
                refused(&SageError::validation(detail))
            })
        }
        _ => Err(Failure::broken("canonicalJSONStringify takes `value`, or `json` as a string")),
    }
}

fn hash(args: &Value) -> Result<Value, Failure> {
    match (args.get("text"), args.get("hex")) {
        (Some(Value::String(text)), None) => Ok(sha256(text).into()),
        (None, Some(Value::String(digits))) => match hex::decode(digits) {
            Ok(bytes) => Ok(sha256(bytes).into()),
            Err(fault) => Err(Failure::broken(format!("`hex` is not hexadecimal: {fault}"))),
        },
        _ => Err(Failure::broken("sha256 takes `text` or `hex`, a string")),
    }
}

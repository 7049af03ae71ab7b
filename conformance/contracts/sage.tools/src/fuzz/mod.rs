//! Fuzzes tool schemas, redaction of secrets, patches and graph queries.

mod graph;
mod patch;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::{Draft, PatternOptions};
use proofmark_room::fuzz::{FuzzTarget, all_cases, short};
use sage_tools::{
    InputSchema, Registry, Tool, ToolContext, ToolError, ToolLog, ToolResult, Workspace, run,
};
use sage_utils::{BoxFuture, Clock, SecretProvider, TypedError};
use serde_json::{Value, json};

/// The targets of this contract, for `cargo xtask fuzz`.
pub(crate) const TARGETS: &[FuzzTarget] = &[
    FuzzTarget { name: "patch", check: patch::patch, seeds: patch::patches },
    FuzzTarget { name: "schema", check: schema, seeds: schemas },
    FuzzTarget { name: "redact", check: redact, seeds: secrets },
    FuzzTarget { name: "graph", check: graph::graph, seeds: graph::queries },
];

/// A schema, then an input, both JSON.
///
/// A schema is valid or refused with a contract error. An input gets the same verdict each time. An input that fits
/// also fits according to another validator, because the only change to a schema is to close it.
fn schema(bytes: &[u8]) {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let (Some(Ok(schema)), Some(Ok(input))) = (values.next(), values.next()) else { return };
    let compiled = match InputSchema::compile(&schema) {
        Ok(compiled) => compiled,
        Err(refusal) => {
            let found = TypedError::from(refusal).to_json();
            assert_eq!(found["code"], "EVALIDATION");
            assert_eq!(found["details"][0]["field"], "schema", "{found}");
            return;
        }
    };
    let judged = compiled.check(&input).map_err(|refusal| TypedError::from(refusal).to_json());
    let again = InputSchema::compile(&schema).expect("it was one before").check(&input);
    assert_eq!(judged, again.map_err(|refusal| TypedError::from(refusal).to_json()));
    match judged {
        Ok(()) => {
            let plain = jsonschema::options()
                .offline()
                .with_draft(Draft::Draft202012)
                .should_validate_formats(false)
                .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(100_000))
                .build(&schema)
                .expect("a schema that can be closed can be used as it is");
            assert!(plain.is_valid(&input), "{schema} does not allow {input}");
        }
        Err(found) => {
            assert_eq!(found["code"], "EVALIDATION");
            let details = found["details"].as_array().expect("every fault is a detail");
            assert!(!details.is_empty(), "{found}");
            for detail in details {
                for member in ["field", "reason"] {
                    let is_text = detail[member].as_str().is_some();
                    assert!(is_text, "{detail}");
                }
                let received = detail["received"].as_str().unwrap_or_default();
                assert!(received.len() <= 200, "a long value is not repeated: {detail}");
            }
        }
    }
}

/// Three secrets, then texts, separated by NULs. No output of a tool may contain a secret, a line of one, or its
/// JSON-escaped form.
fn redact(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut parts = text.split('\0').map(str::to_owned);
    let secrets: Vec<String> = parts.by_ref().take(NAMES.len()).collect();
    let texts: Vec<String> = parts.collect();
    let known: Vec<String> = secrets.iter().flat_map(|secret| forms(secret)).collect();

    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let workspace = Workspace::open(folder.path()).expect("the folder is there");
    let mut context = ToolContext::new(Arc::new(workspace));
    let logs = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&logs);
    context.logger = Some(Arc::new(move |log: ToolLog| {
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(log.to_json());
    }));
    let placeholders =
        json!(NAMES[..secrets.len()].iter().map(|name| format!("$ENV.{name}")).collect::<Vec<_>>());
    context.secrets = Some(Arc::new(Vault(secrets)));
    let mut registry = Registry::new();
    registry
        .register(Arc::new(Chatterbox { schema: json!({ "additionalProperties": true }), texts }))
        .expect("the only tool");

    for fails in [false, true] {
        let input = json!({ "fails": fails, "secrets": placeholders });
        let found = block_on(run(&registry, &Noon, "chatterbox", input, &context));
        assert_eq!(found.ok, !fails, "{found:?}");
        let mut said = Vec::new();
        found.data.iter().for_each(|data| strings(data, &mut said));
        found.error.iter().for_each(|error| strings(&error.to_json(), &mut said));
        for log in logs.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            strings(log, &mut said);
        }
        for text in said {
            let left = known.iter().find(|form| text.contains(form.as_str()));
            assert!(left.is_none(), "{left:?} is still in {text:?}");
        }
    }
}

const NAMES: [&str; 3] = ["A", "B", "C"];

/// Names of members in results, errors and logs; they reveal nothing.
const OWN: [&str; 7] = ["code", "message", "name", "msg", "data", "ts", "cause"];

/// The forms in which a secret may appear.
fn forms(secret: &str) -> Vec<String> {
    let lines = secret.split(['\n', '\r']).filter(|line| line.chars().count() >= 4);
    let mut forms: Vec<String> = lines.chain([secret]).map(str::to_owned).collect();
    let quoted = Value::from(secret).to_string();
    forms.push(quoted[1..quoted.len() - 1].to_owned());
    forms.retain(|form| !form.is_empty());
    forms
}

fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(members) => {
            for (name, value) in members {
                if !OWN.contains(&name.as_str()) {
                    found.push(name.clone());
                }
                strings(value, found);
            }
        }
        _ => {}
    }
}

struct Vault(Vec<String>);

impl SecretProvider for Vault {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, TypedError>> {
        let at = NAMES.iter().position(|name| *name == key);
        let value = at.and_then(|at| self.0.get(at)).cloned();
        Box::pin(async move { Ok(value) })
    }
}

/// A tool that returns the texts in every place where a tool can return something.
struct Chatterbox {
    schema: Value,
    texts: Vec<String>,
}

impl Tool for Chatterbox {
    fn name(&self) -> &str {
        "chatterbox"
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn execute<'a>(&'a self, input: Value, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        // In brackets, so that no text equals a name that the contract uses.
        let named = self.texts.iter().map(|text| (format!("<{text}>"), json!([text])));
        let data: Value = Value::Object(named.collect());
        let whole = self.texts.concat();
        context.log(ToolLog {
            ts: Noon.now(),
            name: format!("<{whole}>"),
            msg: whole.clone(),
            data: Some(json!([data, whole])),
        });
        let result = if input["fails"] == true {
            let properties = data.as_object().cloned().unwrap_or_default();
            ToolResult::failed(ToolError { code: format!("<{whole}>"), message: whole, properties })
        } else {
            ToolResult::done(json!([data, whole]))
        };
        Box::pin(async move { result })
    }
}

/// A fixed clock.
struct Noon;

impl Clock for Noon {
    fn now(&self) -> String {
        "2024-01-01T12:00:00.000Z".to_owned()
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime without pipes").block_on(future)
}

/// Every schema in the cases, with every input that a case gives to a tool of that name.
fn schemas(top: &Path) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for case in all_cases(top) {
        let steps: Vec<&Value> = case["steps"].as_array().into_iter().flatten().collect();
        for tool in steps.iter().map(|step| &step["args"]["tool"]) {
            let inputs = steps.iter().filter(|step| {
                step["args"]["name"] == tool["name"] && step["args"].get("input").is_some()
            });
            for input in inputs.map(|step| &step["args"]["input"]) {
                seeds.push(format!("{} {input}", tool["schema"]).into_bytes());
            }
            if tool.get("schema").is_some() {
                seeds.push(format!("{} {{}}", tool["schema"]).into_bytes());
            }
        }
    }
    short(seeds)
}

/// The secrets of each case, with everything in its fakes and files.
fn secrets(top: &Path) -> Vec<Vec<u8>> {
    let made = [
        "xyz\0xyzzy\0zy\0xyzzy and xyz\0xy\0z",
        "first line\nsecond line\0\0\0second line alone\0{\"a\":\"first line\\nsecond line\"}",
        "S\0*\0xy\0xSy\0*S*",
        "a\"b\\c\0żółć\0aba\0a\\\"b\\\\c \\u017c\0żółć ababa",
    ];
    let mut seeds: Vec<Vec<u8>> = made.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    for case in all_cases(top) {
        let values = case["given"]["fakes"]["secrets"]["values"].as_object();
        let mut parts: Vec<&str> =
            values.into_iter().flatten().filter_map(|(_, value)| value.as_str()).collect();
        if parts.is_empty() {
            continue;
        }
        parts.resize(NAMES.len(), "");
        let mut said = Vec::new();
        strings(&case["given"]["fakes"]["tools"], &mut said);
        strings(&case["given"]["files"], &mut said);
        parts.extend(said.iter().map(String::as_str));
        seeds.push(parts.join("\0").into_bytes());
    }
    short(seeds)
}

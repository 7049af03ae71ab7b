//! A scripted provider of agents' turns. A run server begins a turn and then pulls its items one by one.
//!
//! A script is for all nodes, or for each label: a script can name a node only by its label, because the server
//! makes the ids.

use std::collections::{BTreeMap, HashMap};

use proofmark_fakes::host::{Fake, FakeKind, Released, Response};
use proofmark_fakes::script::{ScriptedFault, argument, arguments, array, list, object, stall};
use serde_json::{Map, Value, json};

/// The fake `provider`. [`ScriptedProvider::from_script`] describes its script.
pub static PROVIDER: FakeKind = FakeKind {
    name: "provider",
    make: |script| Ok(Box::new(ScriptedProvider::from_script(script)?)),
    releases: &[],
};

/// The `name` of an error to which the script gives none. Servers may already rely on it.
const ERROR_NAME: &str = "TypedError";

/// The items of a turn, beside an error and a stall.
const ITEMS: [&str; 6] = ["delta", "progress", "tool", "toolCompleted", "handoff", "done"];

/// The provider of one session.
pub struct ScriptedProvider {
    scripts: Scripts,
    /// How many turns each node has begun, by its id.
    turns_of_node: HashMap<String, usize>,
    /// Every turn so far, by its id.
    turns: HashMap<String, OpenTurn>,
}

enum Scripts {
    ForAll(Script),
    ByLabel(BTreeMap<String, Script>),
}

#[derive(Default)]
struct Script {
    turns: Vec<Turn>,
    /// Played in every turn after those.
    then: Option<Turn>,
    /// How many turns were played.
    played: usize,
}

#[derive(Clone)]
struct Turn {
    items: Vec<Item>,
    /// After a tool, the provider waits for its `resolve`.
    gated: bool,
}

#[derive(Clone)]
enum Item {
    Value(Value),
    Error(Value),
    Stall,
}

struct OpenTurn {
    items: std::vec::IntoIter<Item>,
    gated: bool,
    /// The tool whose `resolve` the provider waits for.
    paused: Option<String>,
    /// The ticket of a `next` that waits until the turn is stopped.
    waiting: Option<u64>,
    stopped: bool,
}

impl ScriptedProvider {
    /// Reads `{"turns", "then"?}` or `{"nodes": {label: {"turns", "then"?}}}`.
    ///
    /// # Errors
    /// The script is wrong; the message names the place and what belongs there.
    pub fn from_script(script: &Value) -> Result<Self, String> {
        let members = object("provider", script, &["turns", "then", "nodes"])?;
        let scripts = match members.get("nodes") {
            None => Scripts::ForAll(Script::read("provider", members)?),
            Some(_) if members.len() > 1 => {
                return Err("`provider` has `turns` or `nodes`, not both".to_owned());
            }
            Some(nodes) => {
                let nodes = nodes.as_object().ok_or("`nodes` must be an object, by label")?;
                let read = |(label, script): (&String, &Value)| {
                    let place = format!("nodes.{label}");
                    let members = object(&place, script, &["turns", "then"])?;
                    Ok((label.clone(), Script::read(&place, members)?))
                };
                Scripts::ByLabel(nodes.iter().map(read).collect::<Result<_, String>>()?)
            }
        };
        Ok(Self { scripts, turns_of_node: HashMap::new(), turns: HashMap::new() })
    }
    fn begin(&mut self, args: &Value) -> Result<String, String> {
        let call = "provider.turn";
        let members = ["runId", "nodeId", "label", "provider", "prompt"];
        let args = arguments(call, args, &members)?;
        argument(call, args, "runId")?;
        argument(call, args, "provider")?;
        let (node, label) = (argument(call, args, "nodeId")?, argument(call, args, "label")?);
        let prompt = args.get("prompt").and_then(Value::as_object);
        let prompt = prompt.ok_or_else(|| {
            format!("`{call}` takes an object `prompt` with `kind` and `text`, not {args:?}")
        })?;
        let kind = argument(call, prompt, "kind")?;
        if !["full", "delta"].contains(&kind) {
            return Err(format!("`prompt.kind` is `full` or `delta`, not `{kind}`"));
        }
        argument(call, prompt, "text")?;
        let script = match &mut self.scripts {
            Scripts::ForAll(script) => script,
            Scripts::ByLabel(scripts) => scripts
                .get_mut(label)
                .ok_or_else(|| format!("the script has no turns for a node `{label}`"))?,
        };
        let Turn { items, gated } = script.next(label)?;
        let number = self.turns_of_node.entry(node.to_owned()).or_default();
        *number += 1;
        let number = number.to_string();
        let items: Vec<Item> = items.into_iter().map(|item| item.numbered(&number)).collect();
        let turn = format!("turn-{}", self.turns.len() + 1);
        let items = items.into_iter();
        let open = OpenTurn { items, gated, paused: None, waiting: None, stopped: false };
        self.turns.insert(turn.clone(), open);
        Ok(turn)
    }

    fn next(&mut self, ticket: u64, args: &Value) -> Result<Response, String> {
        let call = "provider.next";
        let turn = self.turn(call, arguments(call, args, &["turn"])?)?;
        if turn.waiting.is_some() {
            return Err(format!("`{call}` is called while another one waits; one at a time"));
        }
        if let Some(tool) = turn.paused.as_ref().filter(|_| !turn.stopped) {
            return Err(format!(
                "`{call}` is called while the tool `{tool}` waits for its `resolve`"
            ));
        }
        let reply = match (turn.stopped, turn.items.next()) {
            (true, _) => Ok(stopped()),
            (false, Some(Item::Value(item))) => {
                let tool = item["tool"]["id"].as_str();
                turn.paused = tool.filter(|_| turn.gated).map(str::to_owned);
                Ok(item)
            }
            (false, Some(Item::Error(error))) => Err(error),
            (false, Some(Item::Stall)) => {
                turn.waiting = Some(ticket);
                return Ok(Response::Later { recorded: false });
            }
            (false, None) => return Err(format!("`{call}`: the turn is over")),
        };
        Ok(Response::Now { reply, recorded: false })
    }

    fn turn(&mut self, call: &str, args: &Map<String, Value>) -> Result<&mut OpenTurn, String> {
        let turn = argument(call, args, "turn")?;
        let none = || format!("`{call}` names the turn `{turn}`, which was never begun");
        self.turns.get_mut(turn).ok_or_else(none)
    }
}

impl Fake for ScriptedProvider {
    fn call(
        &mut self,
        ticket: u64,
        method: &str,
        args: &Value,
        released: &mut Released,
    ) -> Result<Response, String> {
        match method {
            "turn" => self.begin(args).map(|turn| Response::recorded(Ok(json!({ "turn": turn })))),
            "next" => self.next(ticket, args),
            "resolve" => {
                let call = "provider.resolve";
                let members = ["turn", "toolId", "status", "args"];
                let args = arguments(call, args, &members)?;
                let tool = argument(call, args, "toolId")?;
                argument(call, args, "status")?;
                let turn = self.turn(call, args)?;
                turn.paused.take_if(|paused| paused == tool);
                Ok(Response::recorded(Ok(Value::Null)))
            }
            "stop" => {
                let call = "provider.stop";
                let turn = self.turn(call, arguments(call, args, &["turn"])?)?;
                turn.stopped = true;
                released.extend(turn.waiting.take().map(|ticket| (ticket, Ok(stopped()))));
                Ok(Response::recorded(Ok(Value::Null)))
            }
            _ => Err(format!(
                "the fake `provider` has no method `{method}`; it has {}",
                list(&["turn", "next", "resolve", "stop"])
            )),
        }
    }
}

fn stopped() -> Value {
    json!({ "stopped": true })
}

impl Script {
    fn read(place: &str, members: &Map<String, Value>) -> Result<Self, String> {
        let turns = array(&format!("{place}.turns"), members.get("turns"))?;
        let read = |(at, turn): (usize, &Value)| read_turn(&format!("{place}.turns[{at}]"), turn);
        let then = members.get("then").map(|turn| read_turn(&format!("{place}.then"), turn));
        Ok(Self {
            turns: turns.iter().enumerate().map(read).collect::<Result<_, _>>()?,
            then: then.transpose()?,
            played: 0,
        })
    }

    fn next(&mut self, label: &str) -> Result<Turn, String> {
        let turn = self.turns.get(self.played).or(self.then.as_ref()).cloned();
        self.played += 1;
        turn.ok_or_else(|| {
            format!(
                "the node `{label}` has a turn that the script does not have: number {}",
                self.played
            )
        })
    }
}

fn read_turn(place: &str, turn: &Value) -> Result<Turn, String> {
    let members = object(place, turn, &["items", "gated"])?;
    let gated = match members.get("gated") {
        None => false,
        Some(gated) => gated
            .as_bool()
            .ok_or_else(|| format!("`{place}.gated` must be true or false, not {gated}"))?,
    };
    let items = array(&format!("{place}.items"), members.get("items"))?;
    let read = |(at, item): (usize, &Value)| read_item(&format!("{place}.items[{at}]"), item);
    let mut items: Vec<Item> = items.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    let ends = |item: &Item| match item {
        Item::Value(item) => item.get("done").is_some(),
        Item::Error(_) | Item::Stall => true,
    };
    if items.iter().rev().skip(1).any(ends) {
        return Err(format!("`{place}` goes on after its end (`done`, `error` or `stall`)"));
    }
    if !items.last().is_some_and(ends) {
        items.push(Item::Value(json!({ "done": {} })));
    }
    Ok(Turn { items, gated })
}

fn read_item(place: &str, item: &Value) -> Result<Item, String> {
    let only = item.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next());
    match only.map(|(name, inner)| (name.as_str(), inner)) {
        Some(("error", error)) => {
            let mut fault = ScriptedFault::read(place, error)?;
            fault.name.get_or_insert_with(|| ERROR_NAME.to_owned());
            Ok(Item::Error(fault.to_json()))
        }
        Some(("stall", _)) => stall(place, &item["stall"]).map(|()| Item::Stall),
        Some((name, _)) if ITEMS.contains(&name) => Ok(Item::Value(item.clone())),
        _ => Err(format!(
            "`{place}` must be an object with one of {}, `error` and `stall`, not {item}",
            list(&ITEMS)
        )),
    }
}

impl Item {
    /// Puts the number of the turn in the place of `{{turn}}`, so that turns can differ.
    fn numbered(self, number: &str) -> Self {
        match self {
            Self::Value(mut item) => {
                number_texts(&mut item, number);
                Self::Value(item)
            }
            other => other,
        }
    }
}

fn number_texts(value: &mut Value, number: &str) {
    match value {
        Value::String(text) if text.contains("{{turn}}") => {
            *text = text.replace("{{turn}}", number);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| number_texts(item, number)),
        Value::Object(map) => map.values_mut().for_each(|item| number_texts(item, number)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proofmark_fakes::host::Reply;

    use super::*;

    fn ask(label: &str) -> Value {
        json!({
            "runId": "r", "nodeId": label, "label": label, "provider": "codex",
            "prompt": { "kind": "full", "text": "do" },
        })
    }

    fn now(answer: Result<Response, String>) -> Reply {
        match answer.unwrap() {
            Response::Now { reply, .. } => reply,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn call(provider: &mut ScriptedProvider, method: &str, args: Value) -> Reply {
        now(provider.call(0, method, &args, &mut Vec::new()))
    }

    fn provider(script: Value) -> ScriptedProvider {
        ScriptedProvider::from_script(&script).unwrap()
    }

    #[test]
    fn turns_are_played_in_order_and_then_is_repeated() {
        let mut it = provider(json!({
            "turns": [{ "items": [{ "delta": "one" }] }],
            "then": { "items": [{ "done": { "message": "turn {{turn}}" } }] },
        }));
        assert_eq!(call(&mut it, "turn", ask("A")), Ok(json!({ "turn": "turn-1" })));
        assert_eq!(
            call(&mut it, "next", json!({ "turn": "turn-1" })),
            Ok(json!({ "delta": "one" }))
        );
        assert_eq!(call(&mut it, "next", json!({ "turn": "turn-1" })), Ok(json!({ "done": {} })));
        assert!(it.call(0, "next", &json!({ "turn": "turn-1" }), &mut Vec::new()).is_err());
        for number in 2..4 {
            let turn = call(&mut it, "turn", ask("A")).unwrap();
            let done = json!({ "done": { "message": format!("turn {number}") } });
            assert_eq!(call(&mut it, "next", turn), Ok(done));
        }
    }

    #[test]
    fn nodes_have_scripts_of_their_own() {
        let mut it = provider(json!({ "nodes": { "A": { "turns": [{ "items": [] }] } } }));
        assert!(call(&mut it, "turn", ask("A")).is_ok());
        let mut refused =
            |label: &str| it.call(0, "turn", &ask(label), &mut Vec::new()).unwrap_err();
        assert!(refused("A").contains("number 2"), "a turn too many");
        assert!(refused("B").contains("`B`"));
    }

    #[test]
    fn a_stall_lasts_until_the_turn_is_stopped() {
        let mut it = provider(json!({ "turns": [{ "items": [{ "stall": true }] }] }));
        let turn = call(&mut it, "turn", ask("A")).unwrap();
        let waits = it.call(7, "next", &turn, &mut Vec::new());
        assert_eq!(waits, Ok(Response::Later { recorded: false }));
        assert!(it.call(8, "next", &turn, &mut Vec::new()).is_err(), "one at a time");
        let mut released = Vec::new();
        it.call(9, "stop", &turn, &mut released).unwrap();
        assert_eq!(released, [(7, Ok(json!({ "stopped": true })))]);
        assert_eq!(call(&mut it, "next", turn), Ok(json!({ "stopped": true })));
    }

    #[test]
    fn a_gated_provider_waits_until_its_tool_is_resolved() {
        let tool = json!({ "id": "t", "name": "command", "args": {} });
        let mut it = provider(json!({ "turns": [{ "items": [{ "tool": tool }], "gated": true }] }));
        let turn = call(&mut it, "turn", ask("A")).unwrap();
        assert_eq!(call(&mut it, "next", turn.clone()), Ok(json!({ "tool": tool })));
        let hasty = it.call(0, "next", &turn, &mut Vec::new()).unwrap_err();
        assert!(hasty.contains("`t` waits"), "{hasty}");
        let resolve = |tool| json!({ "turn": "turn-1", "toolId": tool, "status": "denied" });
        assert!(call(&mut it, "resolve", resolve("another")).is_ok());
        assert!(it.call(0, "next", &turn, &mut Vec::new()).is_err());
        assert!(call(&mut it, "resolve", resolve("t")).is_ok());
        assert_eq!(call(&mut it, "next", turn), Ok(json!({ "done": {} })));
    }

    #[test]
    fn wrong_scripts_and_calls_are_errors() {
        let wrong = [
            json!({ "turns": [{ "items": [], "gated": 1 }] }),
            json!({ "turns": [], "nodes": {} }),
            json!({ "turns": [{ "items": [{ "say": 1 }] }] }),
            json!({ "turns": [{ "items": [{ "done": {} }, { "delta": "more" }] }] }),
            json!({ "turns": [{ "items": [{ "error": { "code": "E" } }] }] }),
            json!({ "nodes": { "A": { "turn": [] } } }),
        ];
        for script in wrong {
            assert!(ScriptedProvider::from_script(&script).is_err(), "{script}");
        }
        let mut it = provider(json!({ "then": { "items": [] } }));
        let mut bad =
            |method: &str, args: Value| it.call(0, method, &args, &mut Vec::new()).is_err();
        assert!(bad("turn", json!({ "nodeId": "A" })));
        let mut odd = ask("A");
        odd["prompt"]["kind"] = json!("half");
        assert!(bad("turn", odd));
        assert!(bad("next", json!({ "turn": "turn-9" })));
        assert!(bad("sing", json!({})));
    }
}

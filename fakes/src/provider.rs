//! An agent's provider, as a run server asks for turns: scripted, pulled item by item.
//!
//! A script is one for all nodes, or one for each label: who is asked is known by the label alone, since ids are
//! made by the server.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use crate::host::{Answer, Played};
use crate::script::{argument, arguments, array, fault, list, object, stall};

/// What the items of a turn may be, beside an error and a stall.
const ITEMS: [&str; 6] = ["delta", "progress", "tool", "toolCompleted", "handoff", "done"];

/// The provider of one session.
pub struct ScriptedProvider {
    /// By label, or the one of all nodes.
    scripts: Scripts,
    /// How many turns each node has had, by its id.
    had: HashMap<String, usize>,
    turns: HashMap<String, TurnUnderWay>,
    begun: usize,
}

enum Scripts {
    ForAll(Script),
    ByLabel(BTreeMap<String, Script>),
}

#[derive(Default)]
struct Script {
    turns: Vec<Turn>,
    /// What is played in every further turn.
    then: Option<Turn>,
    /// How many of its turns were played.
    played: usize,
}

#[derive(Clone)]
struct Turn {
    items: Vec<Item>,
    /// A tool waits for its `resolve`, and the provider with it.
    gated: bool,
}

#[derive(Clone)]
enum Item {
    Told(Value),
    Error(Value),
    Stall,
}

struct TurnUnderWay {
    items: std::vec::IntoIter<Item>,
    gated: bool,
    /// The tool whose `resolve` is waited for.
    paused: Option<String>,
    /// A `next` that nobody answers until the turn is stopped.
    waiting: Option<u64>,
    stopped: bool,
}

impl ScriptedProvider {
    /// Reads `{"turns", "then"?}` or `{"nodes": {label: {"turns", "then"?}}}`.
    pub(crate) fn from_script(script: &Value) -> Result<Self, String> {
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
        Ok(Self { scripts, had: HashMap::new(), turns: HashMap::new(), begun: 0 })
    }

    pub(crate) fn call(
        &mut self,
        ticket: u64,
        method: &str,
        args: &Value,
        released: &mut Vec<(u64, Played)>,
    ) -> Result<Answer, String> {
        match method {
            "turn" => self.begin(args).map(|turn| Answer::noted(Ok(json!({ "turn": turn })))),
            "next" => self.next(ticket, args),
            "resolve" => {
                let call = "provider.resolve";
                let members = ["turn", "toolId", "status", "args"];
                let args = arguments(call, args, &members)?;
                let tool = argument(call, args, "toolId")?;
                argument(call, args, "status")?;
                let turn = self.turn(call, args)?;
                turn.paused.take_if(|paused| paused == tool);
                Ok(Answer::noted(Ok(Value::Null)))
            }
            "stop" => {
                let call = "provider.stop";
                let turn = self.turn(call, arguments(call, args, &["turn"])?)?;
                turn.stopped = true;
                released.extend(turn.waiting.take().map(|ticket| (ticket, Ok(stopped()))));
                Ok(Answer::noted(Ok(Value::Null)))
            }
            _ => Err(format!(
                "the fake `provider` has no method `{method}`; it has {}",
                list(&["turn", "next", "resolve", "stop"])
            )),
        }
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
        let had = self.had.entry(node.to_owned()).or_default();
        *had += 1;
        let number = had.to_string();
        let items: Vec<Item> = items.into_iter().map(|item| item.of_turn(&number)).collect();
        self.begun += 1;
        let turn = format!("turn-{}", self.begun);
        let items = items.into_iter();
        let under_way = TurnUnderWay { items, gated, paused: None, waiting: None, stopped: false };
        self.turns.insert(turn.clone(), under_way);
        Ok(turn)
    }

    fn next(&mut self, ticket: u64, args: &Value) -> Result<Answer, String> {
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
            (false, Some(Item::Told(item))) => {
                let tool = item["tool"]["id"].as_str();
                turn.paused = tool.filter(|_| turn.gated).map(str::to_owned);
                Ok(item)
            }
            (false, Some(Item::Error(error))) => Err(error),
            (false, Some(Item::Stall)) => {
                turn.waiting = Some(ticket);
                return Ok(Answer::Later { noted: false });
            }
            (false, None) => return Err(format!("`{call}`: the turn is over")),
        };
        Ok(Answer::Now { reply, noted: false })
    }

    fn turn(&mut self, call: &str, args: &Map<String, Value>) -> Result<&mut TurnUnderWay, String> {
        let turn = argument(call, args, "turn")?;
        let none = || format!("`{call}` names the turn `{turn}`, which nobody began");
        self.turns.get_mut(turn).ok_or_else(none)
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
        Item::Told(told) => told.get("done").is_some(),
        Item::Error(_) | Item::Stall => true,
    };
    if items.iter().rev().skip(1).any(ends) {
        return Err(format!("`{place}` goes on after its end (`done`, `error` or `stall`)"));
    }
    if !items.last().is_some_and(ends) {
        items.push(Item::Told(json!({ "done": {} })));
    }
    Ok(Turn { items, gated })
}

fn read_item(place: &str, item: &Value) -> Result<Item, String> {
    let only = item.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next());
    match only.map(|(name, inner)| (name.as_str(), inner)) {
        Some(("error", error)) => fault(place, error).map(|error| Item::Error(error.to_json())),
        Some(("stall", _)) => stall(place, &item["stall"]).map(|()| Item::Stall),
        Some((name, _)) if ITEMS.contains(&name) => Ok(Item::Told(item.clone())),
        _ => Err(format!(
            "`{place}` must be an object with one of {}, `error` and `stall`, not {item}",
            list(&ITEMS)
        )),
    }
}

impl Item {
    /// `{{turn}}` stands for the number of the turn, so that turns can differ.
    fn of_turn(self, number: &str) -> Self {
        match self {
            Self::Told(mut item) => {
                number_texts(&mut item, number);
                Self::Told(item)
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
    use super::*;

    fn ask(label: &str) -> Value {
        json!({
            "runId": "r", "nodeId": label, "label": label, "provider": "codex",
            "prompt": { "kind": "full", "text": "do" },
        })
    }

    fn now(answer: Result<Answer, String>) -> Played {
        match answer.unwrap() {
            Answer::Now { reply, .. } => reply,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn call(provider: &mut ScriptedProvider, method: &str, args: Value) -> Played {
        now(provider.call(0, method, &args, &mut Vec::new()))
    }

    fn provider(script: Value) -> ScriptedProvider {
        ScriptedProvider::from_script(&script).unwrap()
    }

    #[test]
    fn turns_are_played_in_order_and_the_last_again_and_again() {
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
            let told = json!({ "done": { "message": format!("turn {number}") } });
            assert_eq!(call(&mut it, "next", turn), Ok(told));
        }
    }

    #[test]
    fn nodes_have_scripts_of_their_own() {
        let mut it = provider(json!({ "nodes": { "A": { "turns": [{ "items": [] }] } } }));
        assert!(call(&mut it, "turn", ask("A")).is_ok());
        let told = |label| ask(label);
        let mut none = |args: &Value| it.call(0, "turn", args, &mut Vec::new()).unwrap_err();
        assert!(none(&told("A")).contains("number 2"), "a turn too many");
        assert!(none(&told("B")).contains("`B`"));
    }

    #[test]
    fn a_stall_lasts_until_the_turn_is_stopped() {
        let mut it = provider(json!({ "turns": [{ "items": [{ "stall": true }] }] }));
        let turn = call(&mut it, "turn", ask("A")).unwrap();
        let waits = it.call(7, "next", &turn, &mut Vec::new());
        assert_eq!(waits, Ok(Answer::Later { noted: false }));
        assert!(it.call(8, "next", &turn, &mut Vec::new()).is_err(), "one at a time");
        let mut released = Vec::new();
        it.call(9, "stop", &turn, &mut released).unwrap();
        assert_eq!(released, [(7, Ok(json!({ "stopped": true })))]);
        assert_eq!(call(&mut it, "next", turn), Ok(json!({ "stopped": true })));
    }

    #[test]
    fn a_gated_provider_goes_on_when_its_tool_is_resolved_and_not_before() {
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
    fn wrong_scripts_and_calls_are_told() {
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

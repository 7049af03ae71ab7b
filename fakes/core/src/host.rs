//! Plays the fakes of one session. Subjects call them by name over the protocol.
//!
//! A fake answers with a value or with a contract error, as the case scripts it. A call that no fake
//! can play (an unknown name, a wrong argument) is the caller's mistake and is an error message.

use std::collections::BTreeMap;

use serde_json::Value;

/// A fake's reply: a value, or a contract error as a flat JSON object.
pub type Reply = Result<Value, Value>;

/// Replies to calls that waited, each with the ticket of its call.
pub type Released = Vec<(u64, Reply)>;

/// What the host does with a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    /// Reply now. `recorded` says whether the call is among those that a case judges.
    Now { reply: Reply, recorded: bool },
    /// Do not reply until another call releases this one, if any ever does. See [`Host::released`].
    Later { recorded: bool },
}

impl Response {
    /// Reply now, to a call that cases judge.
    pub fn recorded(reply: Reply) -> Self {
        Self::Now { reply, recorded: true }
    }
}

/// One fake of one session.
pub trait Fake: Send {
    /// Plays one call. `ticket` identifies the call; a fake that answers [`Response::Later`] keeps it, and
    /// pushes it to `released` together with the reply once another call sets it free.
    ///
    /// # Errors
    /// The caller's mistake: there is no such method, or the arguments are wrong.
    fn call(
        &mut self,
        ticket: u64,
        method: &str,
        args: &Value,
        released: &mut Released,
    ) -> Result<Response, String>;
}

/// A fake that cases can ask for by name.
#[derive(Debug)]
pub struct FakeKind {
    pub name: &'static str,
    /// Makes the fake from its script, or says what is wrong with the script.
    pub make: fn(&Value) -> Result<Box<dyn Fake>, String>,
    /// Methods that only give something back. A subject may call them after the call that needed them.
    pub releases: &'static [&'static str],
}

/// The fakes of one session.
#[derive(Default)]
pub struct Host {
    fakes: BTreeMap<String, Box<dyn Fake>>,
    released: Released,
}

impl Host {
    /// Makes the fakes of `scripts`, each of the kind with its name.
    ///
    /// # Errors
    /// The first script that has no kind, or that its kind refuses.
    pub fn new(
        scripts: &BTreeMap<String, Value>,
        kinds: &[&'static FakeKind],
    ) -> Result<Self, String> {
        let fakes =
            scripts.iter().map(|(name, script)| Ok((name.clone(), make(name, script, kinds)?)));
        Ok(Self { fakes: fakes.collect::<Result<_, String>>()?, released: Released::new() })
    }

    /// Checks that one of `kinds` is called `name`, and that it accepts the script.
    pub fn check(name: &str, script: &Value, kinds: &[&'static FakeKind]) -> Result<(), String> {
        make(name, script, kinds).map(drop)
    }

    /// Plays one call. `ticket` is the caller's id for it; [`Self::released`] gives it back if the call
    /// had to wait.
    ///
    /// # Errors
    /// The caller's mistake: there is no such fake or method, or the arguments are wrong.
    pub fn call(
        &mut self,
        ticket: u64,
        fake: &str,
        method: &str,
        args: &Value,
    ) -> Result<Response, String> {
        let Some(player) = self.fakes.get_mut(fake) else {
            let offered = names(self.fakes.keys().map(String::as_str));
            return Err(format!(
                "the fake `{fake}` is not available in this session; available: {offered}"
            ));
        };
        player.call(ticket, method, args, &mut self.released)
    }

    /// Takes the replies to calls that waited and were released since, in order. Call it after each
    /// [`Self::call`]; it is nearly always empty.
    pub fn released(&mut self) -> Released {
        std::mem::take(&mut self.released)
    }
}

fn make(name: &str, script: &Value, kinds: &[&'static FakeKind]) -> Result<Box<dyn Fake>, String> {
    let Some(kind) = kinds.iter().find(|kind| kind.name == name) else {
        let mut known: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
        known.sort_unstable();
        return Err(format!("there is no fake `{name}`; there are {}", names(known)));
    };
    (kind.make)(script)
        .map_err(|problem| format!("the script of the fake `{name}` is wrong: {problem}"))
}

/// Names for a message; `none` if there are none.
fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `wait` waits until the next `go`.
    #[derive(Default)]
    struct Gate {
        waiting: Vec<u64>,
    }

    impl Fake for Gate {
        fn call(
            &mut self,
            ticket: u64,
            method: &str,
            args: &Value,
            released: &mut Released,
        ) -> Result<Response, String> {
            match method {
                "wait" => {
                    self.waiting.push(ticket);
                    Ok(Response::Later { recorded: false })
                }
                "go" => {
                    released
                        .extend(self.waiting.drain(..).map(|ticket| (ticket, Ok(args.clone()))));
                    Ok(Response::recorded(Ok(Value::Null)))
                }
                _ => Err(format!("no method `{method}`")),
            }
        }
    }

    fn make_gate(script: &Value) -> Result<Box<dyn Fake>, String> {
        if script == &json!({}) { Ok(Box::<Gate>::default()) } else { Err(format!("got {script}")) }
    }

    static GATE: FakeKind = FakeKind { name: "gate", make: make_gate, releases: &[] };
    static DOOR: FakeKind = FakeKind { name: "door", make: make_gate, releases: &[] };

    fn scripts(scripts: Value) -> BTreeMap<String, Value> {
        serde_json::from_value(scripts).unwrap()
    }

    #[test]
    fn a_call_that_waits_is_released_by_another() {
        let mut host = Host::new(&scripts(json!({"gate": {}})), &[&GATE]).unwrap();
        let waits = host.call(7, "gate", "wait", &json!({}));
        assert_eq!(waits, Ok(Response::Later { recorded: false }));
        assert_eq!(host.released(), []);
        let goes = host.call(8, "gate", "go", &json!(1));
        assert_eq!(goes, Ok(Response::recorded(Ok(Value::Null))));
        assert_eq!(host.released(), [(7, Ok(json!(1)))]);
        assert_eq!(host.released(), []);
    }

    #[test]
    fn a_fake_that_the_session_does_not_offer_is_an_error_that_lists_those_it_does() {
        let call = |given: Value| {
            let mut host = Host::new(&scripts(given), &[&GATE, &DOOR]).unwrap();
            host.call(0, "llm", "chat", &json!({})).unwrap_err()
        };
        let offer = "the fake `llm` is not available in this session; available: ";
        assert_eq!(call(json!({"gate": {}, "door": {}})), format!("{offer}door, gate"));
        assert_eq!(call(json!({})), format!("{offer}none"));
    }

    #[test]
    fn a_script_needs_a_kind_that_accepts_it() {
        let check = |name: &str, script: Value, expect: Result<(), &str>| {
            let kinds = &[&GATE, &DOOR];
            let expect = expect.map_err(str::to_owned);
            assert_eq!(Host::check(name, &script, kinds), expect);
            assert_eq!(Host::new(&[(name.to_owned(), script)].into(), kinds).map(drop), expect);
        };
        check("gate", json!({}), Ok(()));
        check("gate", json!(1), Err("the script of the fake `gate` is wrong: got 1"));
        check("gaet", json!({}), Err("there is no fake `gaet`; there are door, gate"));
        let none = Host::check("gate", &json!({}), &[]).unwrap_err();
        assert_eq!(none, "there is no fake `gate`; there are none");
    }
}

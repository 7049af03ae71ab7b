//! Renames the ids in a server's answers in order of appearance, so that two runs give the same bytes. Equal ids stay
//! equal, and text that does not look like an id stays unchanged.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

/// The word for the case's own workspace id.
const CASE: &str = "<case>";

/// The forms of ids, with their prefixes.
static IDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"\b(?:",
        r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
        r"|(?:PLAN|TASK)-[0-9]{3,}",
        r"|(?:STEP|NODE)-[A-Za-z0-9]{8,}",
        r"|CONFLICT-[0-9a-f]{32}",
        r")\b",
    ))
    .expect("the expression is constant")
});

/// The replacement names of one case.
#[derive(Default)]
pub(crate) struct Names {
    /// The real workspace id of the case.
    case: String,
    names: HashMap<String, String>,
    real: HashMap<String, String>,
    counts: HashMap<&'static str, usize>,
}

impl Names {
    pub(crate) fn new(case: String) -> Self {
        Self { case, ..Self::default() }
    }

    /// Exempts ids that the case itself uses.
    pub(crate) fn keep(&mut self, value: &Value) {
        each_text(value, &mut |text| {
            for found in IDS.find_iter(text) {
                let id = found.as_str();
                if !self.real.contains_key(id) {
                    self.real.insert(id.to_owned(), id.to_owned());
                    self.names.insert(id.to_owned(), id.to_owned());
                }
            }
        });
    }

    /// Restores the real ids in arguments.
    pub(crate) fn show(&mut self, value: &mut Value) {
        self.keep(value);
        change(value, &mut |text| {
            let real = |found: &regex::Captures<'_>| self.real[&found[0]].clone();
            let shown = IDS.replace_all(text, real);
            shown.replace(CASE, &self.case)
        });
    }

    /// Masks an answer. Sorts its members first, since a server's member order may vary between runs.
    pub(crate) fn hide(&mut self, value: &mut Value) {
        value.sort_all_objects();
        change(value, &mut |text| self.hidden(text));
        value.sort_all_objects();
    }

    pub(crate) fn hidden(&mut self, text: &str) -> String {
        let text =
            if self.case.is_empty() { text.to_owned() } else { text.replace(&self.case, CASE) };
        IDS.replace_all(&text, |found: &regex::Captures<'_>| self.name_for(&found[0])).into_owned()
    }

    fn name_for(&mut self, id: &str) -> String {
        if let Some(name) = self.names.get(id) {
            return name.clone();
        }
        loop {
            let name = self.next(id);
            if !self.real.contains_key(&name) {
                self.real.insert(name.clone(), id.to_owned());
                self.names.insert(id.to_owned(), name.clone());
                return name;
            }
        }
    }

    fn next(&mut self, id: &str) -> String {
        let kinds = ["PLAN-", "TASK-", "STEP-", "NODE-", "CONFLICT-"];
        let kind = kinds.into_iter().find(|kind| id.starts_with(kind)).unwrap_or_default();
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        match kind {
            "PLAN-" | "TASK-" => format!("{kind}{count:03}"),
            "STEP-" | "NODE-" => format!("{kind}{count:08}"),
            "CONFLICT-" => format!("{kind}{count:032}"),
            _ => format!("00000000-0000-4000-8000-{count:012}"),
        }
    }
}

fn each_text(value: &Value, see: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => see(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, see)),
        Value::Object(map) => map.iter().for_each(|(key, item)| {
            see(key);
            each_text(item, see);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Changes every string, including keys: servers use ids as keys.
fn change(value: &mut Value, to: &mut impl FnMut(&str) -> String) {
    match value {
        Value::String(text) => *text = to(text),
        Value::Array(items) => items.iter_mut().for_each(|item| change(item, to)),
        Value::Object(map) => {
            let members = std::mem::take(map).into_iter();
            *map = Map::from_iter(members.map(|(key, mut item)| {
                let key = to(&key);
                change(&mut item, to);
                (key, item)
            }));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const REAL: &str = "6fa459ea-ee8a-4ca4-894e-db77e160355e";
    const NAME: &str = "00000000-0000-4000-8000-000000000001";

    #[test]
    fn an_id_is_renamed_and_restored() {
        let mut names = Names::new("case-1".to_owned());
        let mut answer =
            json!({"nodes": {REAL: {"ref": format!("artifact://{REAL}")}}, "w": "case-1"});
        names.hide(&mut answer);
        let name = json!({"nodes": {NAME: {"ref": format!("artifact://{NAME}")}}, "w": "<case>"});
        assert_eq!(answer, name);
        let mut args = json!({"path": ["things", NAME], "workspace": "<case>"});
        names.show(&mut args);
        assert_eq!(args, json!({"path": ["things", REAL], "workspace": "case-1"}));
    }

    #[test]
    fn ids_of_the_case_are_not_renamed() {
        let mut names = Names::new(String::new());
        let mut args = json!({"tool": NAME, "plan": "PLAN-001"});
        names.show(&mut args);
        assert_eq!(args, json!({"tool": NAME, "plan": "PLAN-001"}));
        let mut answer = json!([REAL, NAME, "PLAN-777", "PLAN-001"]);
        names.hide(&mut answer);
        let second = "00000000-0000-4000-8000-000000000002";
        assert_eq!(answer, json!([second, NAME, "PLAN-002", "PLAN-001"]));
    }

    #[test]
    fn text_that_is_not_an_id_stays() {
        let mut names = Names::new(String::new());
        let odd =
            json!(["PLAN-01", "STEP-1234567", "6fa459ea-ee8a-4ca4-894e-db77e160355", "xPLAN-001x"]);
        let mut answer = odd.clone();
        names.hide(&mut answer);
        assert_eq!(answer, odd);
    }
}

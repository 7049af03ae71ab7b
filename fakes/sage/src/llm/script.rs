//! Reads the scripts of models: turns, items, stream events.

use proofmark_fakes::script::{array, list, object, stall, string};
use sage_llm::StreamEvent;
use serde_json::Value;

use super::{Item, Playback, Turn};
use crate::fault::fault;

/// One turn: a text, a stream, an error, or a stall.
pub(super) fn turn(place: &str, value: &Value) -> Result<Turn, String> {
    let members = object(place, value, &["text", "events", "endless", "error", "stall"])?;
    let kinds = ["text", "events", "error", "stall"];
    let mut given = kinds.into_iter().filter(|kind| members.contains_key(*kind));
    let (Some(kind), None) = (given.next(), given.next()) else {
        return Err(format!("`{place}` must have exactly one of {}: {value}", list(&kinds)));
    };
    if members.contains_key("endless") && kind != "events" {
        return Err(format!("`{place}`: `endless` belongs to `events`, not to `{kind}`"));
    }
    let value = &members[kind];
    match kind {
        "text" => Ok(Turn::Text(string(&format!("{place}.text"), Some(value))?.to_owned())),
        "error" => Ok(Turn::Error(fault(&format!("{place}.error"), value)?)),
        "stall" => stall(place, value).map(|()| Turn::Stall),
        _ => {
            let items = array(&format!("{place}.events"), Some(value))?.iter().enumerate();
            let items = items.map(|(at, value)| item(&format!("{place}.events[{at}]"), value));
            let items = items.collect::<Result<Vec<_>, _>>()?;
            let endless = members.get("endless").map(|value| {
                let place = format!("{place}.endless");
                match item(&place, value)? {
                    Item::Event(event) => Ok(event),
                    _ => Err(format!("`{place}` must be an event, which is sent again and again")),
                }
            });
            Ok(Turn::Stream(Playback::new(items, endless.transpose()?)))
        }
    }
}

/// One item: a stream event, or an object whose only member is `event`, `error` or `stall`.
fn item(place: &str, value: &Value) -> Result<Item, String> {
    let only = value.as_object().filter(|members| members.len() == 1).and_then(|m| m.iter().next());
    match only.map(|(name, value)| (name.as_str(), value)) {
        Some(("event", event)) => Ok(Item::Event(event.clone())),
        Some(("error", error)) => Ok(Item::Error(fault(&format!("{place}.error"), error)?)),
        Some(("stall", value)) => stall(place, value).map(|()| Item::Stall),
        _ => match StreamEvent::try_from(value.clone()) {
            Ok(_) => Ok(Item::Event(value.clone())),
            Err(reason) => Err(format!(
                "`{place}` is not a StreamEvent: {reason}; an item is a StreamEvent, {{\"error\": …}}, \
                 {{\"stall\": true}}, or {{\"event\": …}}, which sends anything"
            )),
        },
    }
}

//! Laws for any script, however wrong.

use std::collections::BTreeMap;

use crate::common::*;
use proptest::prelude::*;
use sage_llm::Settings;
use sage_utils::err;
use serde_json::{Value, json};

fn step() -> impl Strategy<Value = Step> {
    let id = prop_oneof![Just("c1"), Just("c2"), Just("c3"), Just("c4")];
    let tool = prop_oneof![3 => Just("Echo"), 1 => Just("Throw"), 1 => Just("Unknown")];
    let arguments = prop_oneof![
        3 => Just(json!({ "a": "x" })),
        1 => Just(json!({})),
        1 => Just(json!("{")),
        1 => Just(json!({ "a": "x", "b": 1 })),
    ];
    prop_oneof![
        4 => "[a-zé]{0,3}".prop_map(|value| Step::Event(event_of(&text(&value)))),
        4 => (id.clone(), tool, arguments)
            .prop_map(|(id, tool, arguments)| Step::Event(event_of(&call(id, tool, arguments)))),
        2 => id.prop_map(|id| Step::Event(event_of(&result(id, json!(1))))),
        2 => (0..9_u64).prop_map(|count| Step::Event(event_of(&usage(count, count)))),
        1 => Just(Step::Event(event_of(&end()))),
        1 => Just(Step::Fails(err("EANY", "x", None))),
    ]
}

/// Scripts of which many go well: as they come, or with an end.
fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn =
        (prop::collection::vec(step(), 0..8), any::<bool>()).prop_map(|(mut steps, ends)| {
            if ends {
                steps.retain(|step| {
                    !matches!(step, Step::Fails(_) | Step::Event(sage_llm::StreamEvent::End { .. }))
                });
                steps.push(Step::Event(event_of(&end())));
            }
            Turn::Events(steps)
        });
    let turn = prop_oneof![
        8 => turn,
        1 => "[a-zé]{0,5}".prop_map(Turn::Text),
        1 => Just(Turn::Fails(err("EANY", "x", None))),
    ];
    prop::collection::vec(turn, 4)
}

fn check(items: &[Value], error: Option<&Value>) -> Result<(), TestCaseError> {
    let mut open: BTreeMap<&str, bool> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let id = item["callId"].as_str().unwrap_or_default();
        match item["type"].as_str() {
            Some("tool_call") => prop_assert_eq!(open.insert(id, false), None, "{} twice", id),
            Some("tool_result") => {
                prop_assert_eq!(open.insert(id, true), Some(false), "a result for {}", id);
            }
            Some("end") => prop_assert!(index + 1 == items.len() && error.is_none()),
            _ => {}
        }
    }
    prop_assert!(open.values().all(|settled| *settled), "calls without results: {:?}", open);
    let ended = items.last().is_some_and(|item| item["type"] == "end");
    prop_assert!(ended != error.is_some(), "it ends with `end` or with an error");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn calls_are_paired_and_a_stream_ends_once(turns in turns(), runner: bool, most in 1..5_u32) {
        let provider = Scripted::new(turns);
        let settings = if runner { with_tools(&provider) } else { Settings::default() };
        let settings = Settings { max_rounds: most, ..settings };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (items, error) = runtime.block_on(play(&provider, options(), settings));
        check(&items, error.as_ref())?;
        let rounds = provider.asked.lock().unwrap().len();
        let allowed = if runner { most as usize } else { 1 };
        prop_assert!(rounds <= allowed);
    }

    #[test]
    fn the_same_script_tells_the_same_story(turns in turns(), runner: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let seen = || {
            let provider = Scripted::new(turns.clone());
            let settings = if runner { with_tools(&provider) } else { Settings::default() };
            let story = runtime.block_on(play(&provider, options(), Settings { max_rounds: 4, ..settings }));
            (story, provider.calls())
        };
        prop_assert_eq!(seen(), seen());
    }
}

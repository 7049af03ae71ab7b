//! Many at once: engines in one process, and requests on one run.

use futures::future::join_all;
use serde_json::json;

use crate::lab::{Lab, of_type};

#[tokio::test]
async fn a_hundred_servers_work_side_by_side_on_one_thread() {
    let work = async |number: usize| {
        let lab = Lab::start().await;
        let run = lab.run().await;
        let node = lab.node(&run, "A", json!({})).await;
        lab.script.turn("A", [json!({ "delta": number.to_string() }), json!({ "done": {} })]);
        let mut consumer = lab.consumer(&run).await;
        lab.chat(&run, &node, "go").await;
        let events = consumer.until_node(&node, "idle").await;
        let said = of_type(&events, "message.assistant.final")[0]["message"]["content"].clone();
        assert_eq!(said, json!(number.to_string()));
        lab
    };
    let labs = join_all((0..100).map(work)).await;
    join_all(labs.into_iter().map(Lab::end)).await;
}

#[tokio::test]
async fn requests_at_the_same_time_are_all_in_the_log_once() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let made = join_all((0..300).map(|number| {
        let (lab, run) = (&lab, &run);
        async move { lab.node(run, &format!("node {number}"), json!({})).await }
    }))
    .await;
    let events = lab.events(&run).await;
    let mut listed: Vec<&str> =
        events[1..].iter().map(|event| event["nodeId"].as_str().unwrap()).collect();
    let mut made: Vec<&str> = made.iter().map(String::as_str).collect();
    listed.sort_unstable();
    made.sort_unstable();
    assert_eq!(listed, made);
    lab.check_fold(&run).await;
}

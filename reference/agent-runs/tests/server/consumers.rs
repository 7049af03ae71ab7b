//! The stream: history, then what is new, with no gap and none twice.

use std::sync::Arc;

use futures::future::join_all;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::lab::{Lab, in_time};

const NOBODY: &str = "00000000-0000-4000-8000-0000000000ff";

async fn say(lab: &Lab, run: &str, count: usize) {
    for number in 0..count {
        let body = json!({ "content": format!("message {number}") });
        lab.done("POST", &format!("/api/runs/{run}/chat"), body).await;
    }
}

#[tokio::test]
async fn twenty_consumers_that_join_at_random_see_the_same_sequence() {
    const MESSAGES: usize = 300;
    let lab = Lab::start().await;
    let run = lab.run().await;
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let joins: Vec<u64> = (0..20).map(|_| u64::from(random.next_u32()) % MESSAGES as u64).collect();
    let gates: Vec<Arc<Notify>> = joins.iter().map(|_| Arc::new(Notify::new())).collect();
    let consumers = join_all(gates.iter().map(|gate| async {
        gate.notified().await;
        lab.consumer(&run).await.take(MESSAGES + 1).await
    }));
    let speaker = async {
        for number in 0..MESSAGES {
            let now = joins.iter().zip(&gates).filter(|(join, _)| **join == number as u64);
            now.for_each(|(_, gate)| gate.notify_one());
            say(&lab, &run, 1).await;
        }
    };
    let (seen, ()) = tokio::join!(consumers, speaker);
    let events = lab.events(&run).await;
    assert_eq!(events.len(), MESSAGES + 1);
    assert!(seen.iter().all(|sequence| *sequence == events));
}

#[tokio::test]
async fn a_slow_consumer_blocks_nobody_and_misses_nothing() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let mut slow = lab.consumer(&run).await;
    let mut quick = lab.consumer(&run).await;
    // Far more than sockets hold.
    let content = "x".repeat(500_000);
    for _ in 0..40 {
        lab.done("POST", &format!("/api/runs/{run}/chat"), json!({ "content": content })).await;
    }
    assert_eq!(quick.take(41).await, lab.events(&run).await);
    assert_eq!(slow.take(41).await, lab.events(&run).await);
}

#[tokio::test]
async fn a_returning_consumer_gets_the_missed_events() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    say(&lab, &run, 10).await;
    let mut seen = lab.consumer(&run).await.take(4).await;
    let mut again = lab.consumer_after(&run, &seen[3]["id"]).await;
    seen.extend(again.take(5).await);
    drop(again);
    let last = seen.last().unwrap()["id"].clone();
    say(&lab, &run, 3).await;
    let lab = lab.restart().await;
    let mut again = lab.consumer_after(&run, &last).await;
    say(&lab, &run, 1).await;
    seen.extend(again.take(6).await);
    assert_eq!(seen, lab.events(&run).await);
    let path = format!("/api/runs/{run}/events?after={}", seen[11]["id"].as_str().unwrap());
    assert_eq!(lab.get(&path).await.as_array().unwrap()[..], seen[12..]);
    let mut at_the_end = lab.consumer_after(&run, &seen.last().unwrap()["id"]).await;
    say(&lab, &run, 1).await;
    assert_eq!(&at_the_end.next().await, lab.events(&run).await.last().unwrap());
}

#[rstest]
#[case::no_run("", 400)]
#[case::no_id("?runId=x", 400)]
#[case::unknown_run("?runId=NOBODY", 404)]
#[case::unknown_event("?runId=RUN&after=NOBODY", 404)]
#[case::event_that_is_no_id("?runId=RUN&after=7", 400)]
#[tokio::test]
async fn a_stream_of_nothing_is_refused_at_the_upgrade(#[case] query: &str, #[case] wanted: u16) {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let query = query.replace("RUN", &run).replace("NOBODY", NOBODY);
    let Err(Error::Http(answer)) = lab.consumer_at(&format!("/ws{query}")).await else {
        panic!("it is refused");
    };
    assert_eq!(answer.status().as_u16(), wanted);
    let body: Value = serde_json::from_slice(answer.body().as_ref().unwrap()).unwrap();
    crate::lab::hold_against("Fault", &body);
}

#[tokio::test]
async fn messages_are_ignored_and_pings_are_answered() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let mut consumer = lab.consumer(&run).await;
    consumer.next().await;
    consumer.send(Message::text(r#"{"type":"run.patch","patch":{"status":"failed"}}"#)).await;
    consumer.send(Message::binary(vec![0, 255])).await;
    consumer.send(Message::Ping(b"there?".as_slice().into())).await;
    let answer = in_time(futures::StreamExt::next(&mut consumer.socket)).await.unwrap().unwrap();
    assert_eq!(answer, Message::Pong(b"there?".as_slice().into()));
    say(&lab, &run, 1).await;
    assert_eq!(consumer.next().await["type"], "message.user");
    assert_eq!(lab.events(&run).await.len(), 2);
}

#[tokio::test]
async fn a_consumer_that_sends_too_much_is_disconnected() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let mut greedy = lab.consumer(&run).await;
    let mut other = lab.consumer(&run).await;
    greedy.next().await;
    // The server may close while this is still being sent.
    let _ = futures::SinkExt::send(&mut greedy.socket, Message::text("x".repeat(1 << 20))).await;
    let ended = async {
        while let Some(Ok(message)) = futures::StreamExt::next(&mut greedy.socket).await {
            if message.is_close() {
                return;
            }
        }
    };
    in_time(ended).await;
    say(&lab, &run, 1).await;
    assert_eq!(other.take(2).await, lab.events(&run).await);
}

#[tokio::test]
async fn the_end_of_the_server_ends_the_streams() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let mut consumer = lab.consumer(&run).await;
    consumer.next().await;
    lab.end().await;
    while let Some(Ok(message)) = in_time(futures::StreamExt::next(&mut consumer.socket)).await {
        assert!(message.is_close(), "{message:?}");
    }
}

#[tokio::test]
async fn a_slow_consumer_does_not_delay_shutdown() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let slow = lab.consumer(&run).await;
    let content = "x".repeat(1_000_000);
    for _ in 0..20 {
        lab.done("POST", &format!("/api/runs/{run}/chat"), json!({ "content": content })).await;
    }
    let lab = lab.restart().await;
    assert_eq!(lab.events(&run).await.len(), 21);
    drop(slow);
}

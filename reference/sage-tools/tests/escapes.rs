//! Programs that do what they can to outlive their call. Each test is alone in this process, since
//! what nobody can tell apart goes with the last call.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

mod lab;

use std::fs;
use std::time::Duration;

use lab::Lab;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::sync::Mutex;

static ALONE: Mutex<()> = Mutex::const_new(());

const UNLIMITED: &str = "ulimit -S -R unlimited";
const OTHER_LIMIT: &str = "ulimit -S -R 123456789";
const SESSION: &str = "(setsid sh -c 'echo $$ > NAME; exec sleep 600' >/dev/null 2>&1 &); until [ -s NAME ]; do :; done";
const GROUP: &str = "(set -m; (sh -c 'echo $$ > NAME; exec sleep 600' >/dev/null 2>&1 &) & wait); until [ -s NAME ]; do :; done";

async fn bash(lab: &Lab, script: &str, timeout_ms: u64) -> Value {
    let input = json!({"command": "/bin/bash", "args": ["-c", script], "timeoutMs": timeout_ms});
    lab.run("Bash", input).await
}

/// Whether the process that wrote its number there is still known, if only as a zombie.
fn is_there(lab: &Lab, name: &str) -> bool {
    let pid = fs::read_to_string(lab.at(name)).unwrap();
    fs::exists(format!("/proc/{}", pid.trim())).unwrap()
}

#[rstest]
#[case::a_session(UNLIMITED, SESSION)]
#[case::a_session_with_another_limit(OTHER_LIMIT, SESSION)]
#[case::a_group(UNLIMITED, GROUP)]
#[tokio::test]
async fn without_mark_and_parents_it_is_gone(
    #[case] unmark: &str,
    #[case] leave: &str,
    #[values(false, true)] late: bool,
) {
    let _alone = ALONE.lock().await;
    let lab = Lab::new();
    let script = format!("{unmark}; {}", leave.replace("NAME", "pid"));
    let result = if late {
        bash(&lab, &format!("{script}; exec sleep 600"), 1500).await
    } else {
        bash(&lab, &script, 30_000).await
    };
    assert_eq!(result["ok"], !late, "{result}");
    assert!(!is_there(&lab, "pid"), "{result}");
}

/// The tree of a stray is unknown; it may be the other's, so it is killed with the last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_two_calls_it_is_gone_after_the_last() {
    let _alone = ALONE.lock().await;
    let lab = Lab::new();
    let script = |name: &str| format!("{UNLIMITED}; {}", SESSION.replace("NAME", name));
    let long = format!(
        "{}; until [ -e done ]; do sleep 0.02; done; kill -0 $(cat long) && echo lives",
        script("long")
    );
    let (long, ()) = tokio::join!(bash(&lab, &long, 60_000), async {
        while fs::read_to_string(lab.at("long")).unwrap_or_default().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let short = bash(&lab, &script("short"), 30_000).await;
        assert_eq!(short["data"]["code"], 0, "{short}");
        fs::write(lab.at("done"), "").unwrap();
    });
    assert_eq!(long["data"]["stdout"], "lives\n", "{long}");
    assert!(!is_there(&lab, "long") && !is_there(&lab, "short"));
}

/// Of several that end together, one is the last.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_calls_nothing_is_left() {
    let _alone = ALONE.lock().await;
    let lab = Lab::new();
    for _ in 0..5 {
        let script = |name: &str| format!("{UNLIMITED}; {}", SESSION.replace("NAME", name));
        let scripts = ["a", "b", "c", "d"].map(script);
        let [a, b, c, d] = scripts.each_ref().map(|script| bash(&lab, script, 60_000));
        let results = tokio::join!(a, b, c, d);
        for name in ["a", "b", "c", "d"] {
            assert!(!is_there(&lab, name), "{name}: {results:?}");
            fs::remove_file(lab.at(name)).unwrap();
        }
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_takes_it_along() {
    let _alone = ALONE.lock().await;
    let lab = Lab::new();
    let script =
        format!("{UNLIMITED}; {}; touch left; exec sleep 600", SESSION.replace("NAME", "pid"));
    {
        let mut call = Box::pin(bash(&lab, &script, 60_000));
        while !lab.at("left").exists() {
            let _pending = tokio::time::timeout(Duration::from_millis(10), &mut call).await;
        }
    }
    assert!(!is_there(&lab, "pid"));
}

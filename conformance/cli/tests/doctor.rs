//! The doctor finds what is wrong with an adapter, says what to change, and blames nothing else.

#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

mod common;

use assert_cmd::Command;
use common::PROOFMARK;
use rstest::rstest;
use serde_json::Value;

struct Examined {
    code: Option<i32>,
    findings: Vec<Value>,
}

fn examine(command: &[&str]) -> Examined {
    let limits = ["--timeout", "2000", "--start-timeout", "3000"];
    let output = Command::new(PROOFMARK)
        .args(["doctor", "--json"])
        .args(limits)
        .arg("--")
        .args(command)
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|fault| panic!("{fault}: {}", String::from_utf8_lossy(&output.stderr)));
    Examined {
        code: output.status.code(),
        findings: report["findings"].as_array().unwrap().clone(),
    }
}

impl Examined {
    fn unsound(&self) -> Vec<&str> {
        let unsound = self.findings.iter().filter(|finding| finding["state"] == "unsound");
        unsound
            .map(|finding| {
                assert!(finding["change"].as_str().is_some_and(|change| change.len() > 20));
                finding["check"].as_str().unwrap()
            })
            .collect()
    }
}

#[test]
fn the_reference_has_a_sound_adapter() {
    let examined = examine(&[PROOFMARK, "subject"]);
    assert_eq!((examined.unsound(), examined.code), (vec![], Some(0)));
    assert_eq!(examined.findings.len(), 16);
    assert!(examined.findings.iter().all(|finding| finding["state"] == "sound"));
}

/// Every fault has checks of its own; the others stay sound.
#[rstest]
#[case("exits-at-once", &["hello"])]
#[case("prints-garbage", &["hello"])]
#[case("never-greets", &["hello"])]
#[case("other-version", &["introduction"])]
#[case("ignores-the-end", &["sessions", "not implemented", "other version", "shutdown", "end of input"])]
#[case("leaves-a-child", &["sessions", "not implemented", "other version", "shutdown", "end of input"])]
#[case("implements-nothing", &["sessions", "other version"])]
fn a_fault_is_found(#[case] adversary: &str, #[case] checks: &[&str]) {
    let examined = examine(&[PROOFMARK, "subject", "--adversary", adversary]);
    assert_eq!(examined.code, Some(1));
    let unsound = examined.unsound();
    for check in checks {
        assert!(unsound.contains(check), "{check} is not among {unsound:?}");
    }
    let sound = examined.findings.iter().filter(|finding| finding["state"] == "sound").count();
    assert!(checks.len() < 2 || sound > 5, "{:#?}", examined.findings);
}

/// What crashes on a call is unsound in every check that calls, and in no other.
#[test]
fn a_crash_on_a_call_spares_what_calls_nothing() {
    let examined = examine(&[PROOFMARK, "subject", "--adversary", "exits-on-call"]);
    let unsound = examined.unsound();
    assert!(unsound.contains(&"framing") && unsound.contains(&"large messages"), "{unsound:?}");
    for check in ["hello", "introduction", "shutdown", "end of input"] {
        assert!(!unsound.contains(&check), "{unsound:?}");
    }
}

/// An answer that waits in a buffer until the end is not silence, and has another remedy.
#[test]
fn an_answer_that_was_not_flushed_is_told_as_that() {
    let answer = r#"{"jsonrpc":"2.0","id":0,"result":{"protocol":1,"name":"late","version":"1","language":"sh","contracts":[]}}"#;
    let examined = examine(&["sh", "-c", &format!("cat > /dev/null; echo '{answer}'")]);
    assert_eq!((examined.unsound(), examined.code), (vec!["hello"], Some(1)));
    assert!(examined.findings[0]["change"].as_str().unwrap().starts_with("flush stdout"));
}

#[test]
fn what_cannot_be_started_is_not_examined() {
    let output =
        Command::new(PROOFMARK).args(["doctor", "--", "./no-such-adapter"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("`./no-such-adapter` cannot be started"), "{told}");
}

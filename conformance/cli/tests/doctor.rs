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
#[case("answers-twice", &["ids"])]
#[case("unknown-id", &["ids"])]
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

/// The lines for people.
fn shown(command: &[&str]) -> String {
    let limits = ["--timeout", "2000", "--start-timeout", "3000", "--"];
    let output = Command::new(PROOFMARK).arg("doctor").args(limits).args(command).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Who ends before `hello` has thrown nothing at a request.
#[test]
fn an_adapter_that_never_got_so_far_is_told_by_its_stderr() {
    let script = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo \"line $n\" >&2; done; exit 3";
    let examined = examine(&["sh", "-c", script]);
    assert_eq!((examined.unsound(), examined.code), (vec!["hello"], Some(1)));
    let finding = &examined.findings[0];
    assert_eq!(finding["told"], "the adapter ended with code 3 before it answered `hello`");
    assert!(finding["change"].as_str().unwrap().starts_with("fix what its stderr says"));
    let lines: Vec<&str> =
        finding["stderr"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!((lines.len(), lines.first(), lines.last()), (10, Some(&"line 3"), Some(&"line 12")));
    let human = shown(&["sh", "-c", script]);
    assert!(human.contains("stderr: line 3\n") && human.contains("stderr: line 12\n"), "{human}");
    let quiet = examine(&["true"]);
    assert!(quiet.findings[0]["change"].as_str().unwrap().starts_with("run the command by hand"));
}

#[rstest]
#[case::answers(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "answers what nobody asked: id 7")]
#[case::errors(
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}"#,
    "answers what nobody asked"
)]
#[case::requests(r#"{"jsonrpc":"2.0","id":7,"method":"fake"}"#, "asks without end: more than 1000")]
fn a_flood_ends_the_check(#[case] line: &str, #[case] told: &str) {
    let examined = examine(&["sh", "-c", &format!("read -r hello; exec yes '{line}'")]);
    assert_eq!((examined.unsound(), examined.code), (vec!["hello"], Some(1)));
    let said = examined.findings[0]["told"].as_str().unwrap();
    assert!(said.contains(told), "{said}");
}

/// Few messages, each as long as a line may be.
#[test]
fn a_flood_of_long_lines_ends_the_check() {
    let long = r#"read -r hello; while :; do printf '{"jsonrpc":"2.0","id":7,"method":"fake","params":"'; head -c 15000000 /dev/zero | tr '\0' x; echo '"}'; done"#;
    let limits = ["--start-timeout", "60000", "--json", "--"];
    let mut command = Command::new(PROOFMARK);
    command.arg("doctor").args(limits).args(["sh", "-c", long]);
    let report: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert_eq!(report["findings"][0]["told"], "it asks without end: more than 32 MiB of its own");
}

/// An adapter that answers everything with one result: an introduction.
fn answers_everything(name: &str, contracts: &str) -> String {
    let result = format!(
        r#"{{"protocol":1,"name":"{name}","version":"1","language":"sed","contracts":[{contracts}]}}"#
    );
    format!(r#"s/.*"id":\([0-9]*\).*/{{"jsonrpc":"2.0","id":\1,"result":{result}}}/p"#)
}

/// An answer without asking the fake is wrong only from those who claim to ask it.
#[rstest]
#[case::claimed(r#""sage.utils""#, "unsound", "without asking the fake `secrets`")]
#[case::not_claimed("", "not-yet", "is not claimed")]
fn a_fake_that_is_never_asked(#[case] contracts: &str, #[case] state: &str, #[case] told: &str) {
    let examined = examine(&["sed", "-un", &answers_everything("n", contracts)]);
    let waiting = |finding: &&Value| finding["check"] == "waiting calls";
    let finding = examined.findings.iter().find(waiting).unwrap();
    assert_eq!(finding["state"], state);
    assert!(finding["told"].as_str().unwrap().contains(told), "{finding}");
}

#[test]
fn what_is_not_implemented_yet_is_told_as_that() {
    let examined = examine(&[PROOFMARK, "subject", "--adversary", "implements-nothing"]);
    let waiting = |finding: &&Value| finding["check"] == "waiting calls";
    let finding = examined.findings.iter().find(waiting).unwrap();
    assert_eq!(finding["state"], "not-yet");
    assert!(finding["told"].as_str().unwrap().ends_with("is not there yet"), "{finding}");
}

/// An adapter's name and its stderr are shown, and not obeyed.
#[test]
fn an_adapters_words_stay_words() {
    let name = answers_everything(r"\\u001b[2J\\u202e\\nCHANGE", "");
    let human = shown(&["sed", "-un", &name]);
    assert!(human.contains(r"\u001b[2J\u202e\nCHANGE 1 (sed) claims nothing yet"), "{human}");
    let human = shown(&["sh", "-c", r"printf '\033[2J\n' >&2"]);
    assert!(human.contains(r"stderr: \u001b[2J"), "{human}");
}

/// One document, however many commands a manifest has.
#[test]
fn several_commands_are_one_document() {
    let folder = tempfile::TempDir::new().unwrap();
    let manifest = format!(
        "[subject]\ncommand = [\"{PROOFMARK}\", \"subject\"]\n[contract.\"sage.utils\"]\ncommand = [\"true\"]\n"
    );
    std::fs::write(folder.path().join("proofmark.toml"), manifest).unwrap();
    let mut command = Command::new(PROOFMARK);
    let output = command.args(["doctor", "--json"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let count = |at: usize| report[at]["findings"].as_array().map(Vec::len);
    assert_eq!((count(0), count(1), count(2)), (Some(16), Some(1), None));
    assert_eq!(report[1]["subject"], "true");
}

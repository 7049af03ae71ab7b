//! The verdict does not depend on the reader of the output, and the output is safe whoever wrote it.

use std::process::Command;

use crate::common::PROOFMARK;
use tempfile::TempDir;

const SABOTEUR: [&str; 5] = ["--", PROOFMARK, "subject", "--adversary", "loses-some-causes"];
const FEW: [&str; 4] = ["--contract", "sage.errors", "--law-cases", "3"];

/// The exit code if the reader closed the pipe before the first line.
fn unread(args: &[&str]) -> Option<i32> {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Command::new(PROOFMARK).args(args).stdout(writer).status().unwrap().code()
}

#[test]
fn verdicts_do_not_depend_on_the_reader() {
    let folder = TempDir::new().unwrap();
    for (subject, code) in [(&["reference"][..], 0), (&SABOTEUR, 1)] {
        let out = folder.path().join(code.to_string());
        let path = |name: &str| out.join(name).to_str().unwrap().to_owned();
        let certify = ["certify", "--out", out.to_str().unwrap()];
        assert_eq!(unread(&[&certify[..], &FEW, subject].concat()), Some(code));
        let (certificate, transcript) = (path("certificate.json"), path("transcript.jsonl"));
        assert_eq!(unread(&["verify", &certificate]), Some(code));
        assert_eq!(unread(&["replay", &transcript]), Some(code));
        let same = [&["replay", &transcript][..], subject].concat();
        assert_eq!(unread(&same), Some(0), "it does as recorded");
        let other: &[&str] = if code == 0 { &SABOTEUR } else { &["reference"] };
        assert_eq!(unread(&[&["replay", &transcript][..], other].concat()), Some(1));
        // An undetermined result stays undetermined.
        std::fs::remove_file(&transcript).unwrap();
        assert_eq!(unread(&["verify", &certificate]), Some(2));
        assert_eq!(unread(&["replay", &transcript]), Some(2));
    }
    assert_eq!(unread(&["doctor", "--", PROOFMARK, "subject"]), Some(0));
    for how in [&["doctor"][..], &["doctor", "--json"]] {
        assert_eq!(unread(&[how, &["--", "true"]].concat()), Some(1));
    }
}

/// A subject refuses `open` with a message that would recolour the terminal and reverse the line.
#[test]
fn replay_escapes_the_output_of_subjects() {
    let folder = TempDir::new().unwrap();
    let record = folder.path().join("run.jsonl");
    let hello =
        r#"{"protocol":1,"name":"n","version":"1","language":"sh","contracts":["sage.utils"]}"#;
    let error = r#"{"code":-32000,"message":"\\u001b[31mred\\u202eback\\nnext"}"#;
    let script = format!(
        r#"sed -un -e 's/.*"id":\([0-9]*\),"method":"hello".*/{{"jsonrpc":"2.0","id":\1,"result":{hello}}}/p;t' -e 's/.*"id":\([0-9]*\).*/{{"jsonrpc":"2.0","id":\1,"error":{error}}}/p'"#
    );
    let record = record.to_str().unwrap();
    let run = ["run", "--case", "sage.utils/sha256/empty-text", "--record", record, "--"];
    let ran = Command::new(PROOFMARK).args(run).args(["sh", "-c", &script]).output().unwrap();
    assert_eq!(ran.status.code(), Some(1), "{}", String::from_utf8_lossy(&ran.stderr));
    let shown = Command::new(PROOFMARK).args(["replay", record]).output().unwrap();
    assert_eq!(shown.status.code(), Some(1));
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains(r"\u001b[31mred\u202eback\nnext"), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
}

//! `bless`: goldens from a subject. `trace`: from a contract's text to what a change affects.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::PROOFMARK;
use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

const LEDGER: &str = r#"contract = "sage.utils"
title = "Foundations" # a comment
text = "text.md"
prefix = "UTILS"
workspace = false
operations = ["utils.sha256", "utils.clock.now", "utils.canonicalJSONStringify", "utils.secrets.get"]

[[requirement]]
id = "UTILS-001"
level = "must"
basis = "contract"
sentence = "It works."
source = "Rules, all of them"

[[requirement]]
id = "UTILS-002"
level = "must"
basis = "contract"
sentence = "It is told."
source = "Rules; Telling (in words)"
excluded = "nobody can show it"
"#;

const FIXTURE: &str = r#"{
  "contract": "sage.utils", "topic": "some",
  "cases": [
    {
      "id": "some/waits",   "why": "w", "shows": ["UTILS-001"],
      "origin": "contract",
      "steps": [
        { "call": "utils.sha256", "args": { "text": "a" },   "returns":   {"$bless": true} },
        { "call": "utils.canonicalJSONStringify", "args": { "json": "[" }, "returns": {"$bless": true} },
        { "together": [
          { "call": "utils.sha256", "args": { "text": "" }, "returns": {"$any": "string"} },
          { "call": "utils.sha256", "args": { "text": "" }, "returns": { "$bless" : true } }
        ] }
      ]
    },
    { "id": "some/true", "why": "w", "shows": ["UTILS-001"], "origin": "contract",
      "steps": [ { "call": "utils.sha256", "args": { "text": "b" }, "returns": "the contract says so" } ] },
    { "id": "some/blessed", "why": "w", "shows": ["UTILS-001"], "origin": "reference",
      "given": { "fakes": { "secrets": { "values": { "K": "v" } } } },
      "steps": [ { "call": "utils.secrets.get", "args": { "key": "K" }, "fails": { "code": "E" } } ] }
  ]
}
"#;

struct Folder {
    folder: TempDir,
    file: PathBuf,
}

impl Folder {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let contract = folder.path().join("fixtures/sage.utils");
        fs::create_dir_all(&contract).unwrap();
        fs::write(contract.join("requirements.toml"), LEDGER).unwrap();
        let file = contract.join("some.json");
        fs::write(&file, FIXTURE).unwrap();
        Self { folder, file }
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.file).unwrap()
    }

    fn ledger(&self) -> String {
        fs::read_to_string(self.file.with_file_name("requirements.toml")).unwrap()
    }

    fn run(&self, args: &[&str], rest: &[&str], ci: &str) -> Output {
        let mut command = Command::new(PROOFMARK);
        command.args(args).arg("--suite").arg(self.folder.path()).args(rest);
        command.env("CI", ci).stdin(Stdio::null()).output().unwrap()
    }
}

#[track_caller]
fn says(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    (out, err)
}

/// SHA-256 of "a" and of nothing: published vectors.
const OF_A: &str = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn bless_fills_placeholders_and_changes_nothing_else() {
    let folder = Folder::new();
    let (out, _) = says(&folder.run(&["lint"], &[], ""), 1);
    assert_eq!(out.matches("run `proofmark bless --suite DIR`").count(), 3, "{out}");
    let (out, _) =
        says(&folder.run(&["bless", "--yes", "--case", "some/w*"], &["reference"], ""), 0);
    assert!(out.starts_with("--- a/fixtures/sage.utils/some.json\n+++ b/"), "{out}");
    let text = folder.text();
    let waits = |old: &str| FIXTURE.replacen("\"contract\",\n      \"steps\"", old, 1);
    let expected = waits("\"reference\",\n      \"steps\"")
        .replace(r#""returns":   {"$bless": true}"#, &format!(r#""returns":   "{OF_A}""#))
        .replace(r#"{ "$bless" : true }"#, &format!("\"{OF_NOTHING}\""));
    // The failure's properties come from the reference; everything around it is unchanged.
    let (before, after) = expected.split_once(r#""returns": {"$bless": true}"#).unwrap();
    assert!(text.starts_with(before) && text.ends_with(after), "{text}");
    let made: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(made["cases"][0]["steps"][1]["fails"]["code"], "EVALIDATION");
    assert_eq!(made["cases"][0]["steps"][1]["fails"].get("message"), None);
    says(&folder.run(&["lint"], &[], ""), 0);
    says(&folder.run(&["run", "--case", "some/waits"], &["reference"], ""), 0);
    let (out, _) = says(&folder.run(&["bless", "--case", "some/waits"], &["reference"], ""), 0);
    assert!(out.contains("nothing to bless"), "{out}");
}

#[test]
fn unselected_placeholders_and_contract_values_stay() {
    let folder = Folder::new();
    says(
        &folder.run(&["bless", "--yes", "--case", "some/bless*", "--case", "some/t*"], &[], ""),
        0,
    );
    let text = folder.text();
    let blessed = r#"{ "call": "utils.secrets.get", "asks": [{ "fake": "secrets", "method": "get", "args": { "key": "K" } }], "args": { "key": "K" }, "returns": "v" }"#;
    let old =
        r#"{ "call": "utils.secrets.get", "args": { "key": "K" }, "fails": { "code": "E" } }"#;
    assert_eq!(text, FIXTURE.replace(old, blessed));
    // With its exact name, even that is overwritten.
    says(&folder.run(&["bless", "--yes", "--case", "some/true"], &[], ""), 0);
    let made: Value = serde_json::from_str(&folder.text()).unwrap();
    let of_b = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d";
    assert_eq!(made["cases"][1]["steps"][0]["returns"], of_b);
    assert_eq!(made["cases"][1]["origin"], "reference");
}

/// Besides its placeholder, the case expects something that the subject does not answer.
#[rstest]
#[case::a_contract_s(
    "contract",
    r#""returns": {"$any": "string"}"#,
    r#""returns": "what the text says""#
)]
#[case::an_oracle_s(
    "oracle: RFC 6234",
    r#""returns": {"$any": "string"}"#,
    r#""returns": "what the text says""#
)]
fn only_what_waits_is_filled_in_unless_the_case_is_named(
    #[case] origin: &str,
    #[case] old: &str,
    #[case] new: &str,
) {
    let folder = Folder::new();
    let fixture =
        FIXTURE.replace(old, new).replacen("\"contract\",\n", &format!("\"{origin}\",\n"), 1);
    fs::write(&folder.file, &fixture).unwrap();
    let bless = |case: &str| folder.run(&["bless", "--yes", "--case", case], &["reference"], "");
    let (_, err) = says(&bless("some/wait?"), 2);
    let shown = format!(
        "step 3 of `sage.utils/some/waits` says `{new}`, which comes from the contract's text or an oracle, but the subject answers `\"returns\": \"{OF_NOTHING}\"`"
    );
    assert!(err.contains(&shown), "{err}");
    assert_eq!(folder.text(), fixture);
    says(&bless("some/waits"), 0);
    assert!(!folder.text().contains("what the text says"));
}

#[test]
fn false_is_never_blessed() {
    let folder = Folder::new();
    let fixture = FIXTURE.replace(r#"{"$bless": true}"#, r#"{"$bless": false}"#);
    fs::write(&folder.file, &fixture).unwrap();
    let (_, err) = says(&folder.run(&["bless", "--yes"], &["reference"], ""), 2);
    assert!(err.contains("`$bless` takes true, not false"), "{err}");
    assert_eq!(folder.text(), fixture);
}

const UNHELPFUL: &str = r#"
    while read -r line; do
        id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\),.*/\1/')
        answer='"result":{}'
        case "$line" in
            *'"method":"hello"'*) answer='"result":{"protocol":1,"name":"x","version":"1","language":"sh","contracts":["sage.utils"]}' ;;
            *'"method":"call"'*) answer=$ANSWER; [ "$ANSWER" = crash ] && exit 3 ;;
        esac
        printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$answer"
        case "$line" in *'"method":"shutdown"'*) exit ;; esac
    done
"#;

#[rstest]
#[case::crash("crash", "fix it first")]
#[case::not_implemented(r#""error":{"code":-32601,"message":"no"}"#, "does not implement it")]
#[case::broken(
    r#""error":{"code":-32000,"message":"no"}"#,
    "the adapter failed instead of answering"
)]
#[case::no_answer(r#""result":{"neither":1}"#, "the answer to `call` must be")]
fn bless_refuses_faults(#[case] answer: &str, #[case] shown: &str) {
    let folder = Folder::new();
    let script = format!("ANSWER='{answer}'\n{UNHELPFUL}");
    let args = ["bless", "--yes", "--case", "some/waits"];
    let (_, err) = says(&folder.run(&args, &["--", "sh", "-c", &script], ""), 2);
    assert!(err.contains("not blessed") && err.contains(shown), "{err}");
    assert_eq!(folder.text(), FIXTURE);
}

/// The subject answers with its process id, which differs in every run.
#[test]
fn bless_detects_a_subject_that_answers_differently_each_time() {
    let folder = Folder::new();
    let beside = TempDir::new().unwrap();
    let log = beside.path().join("starts");
    let log = log.to_str().unwrap();
    let script =
        format!("echo start >> '{log}'\nANSWER='\"result\":{{\"value\":'$$'}}'\n{UNHELPFUL}");
    let args = ["bless", "--yes", "--case", "some/true"];
    let output = folder.run(&args, &["--", "sh", "-c", &script], "");
    let starts = fs::read_to_string(log).unwrap().lines().count();
    let (_, err) = says(&output, 2);
    assert!(err.contains("differently each time"), "{err}");
    // One step: two rounds that may change something, and one that must not.
    assert_eq!(starts, 3);
    assert_eq!(folder.text(), FIXTURE);
}

/// The outcome of a call takes one round, its calls of fakes another.
#[test]
fn every_step_may_take_two_rounds() {
    let folder = Folder::new();
    let step =
        r#"{ "call": "utils.secrets.get", "args": { "key": "K" }, "fails": { "code": "E" } }"#;
    let fixture = FIXTURE.replace(step, &format!("{step}, {step}, {step}"));
    fs::write(&folder.file, fixture).unwrap();
    says(&folder.run(&["bless", "--yes", "--case", "some/blessed"], &["reference"], ""), 0);
    assert_eq!(folder.text().matches(r#""asks": [{ "fake": "secrets""#).count(), 3);
}

#[rstest]
#[case::in_a_ci(&["bless", "--yes"], "true", "`CI` is set")]
#[case::nobody_to_ask(&["bless"], "", "pass `--yes`")]
#[case::only_the_contract_s(&["bless", "--yes", "--case", "some/tru?"], "", "no fixture case to bless")]
fn nothing_is_written_without_a_person(
    #[case] args: &[&str],
    #[case] ci: &str,
    #[case] shown: &str,
) {
    let folder = Folder::new();
    let (_, err) = says(&folder.run(args, &[], ci), 2);
    assert!(err.contains(shown), "{err}");
    assert_eq!(folder.text(), FIXTURE);
}

#[test]
fn trace_links_requirements_to_cases_and_saboteurs() {
    let (out, _) =
        says(&Command::new(PROOFMARK).args(["trace", "CHRONICLE-001"]).output().unwrap(), 0);
    assert!(
        out.contains("  case      sage.chronicle/append/round-trip  (fixture, contract)\n"),
        "{out}"
    );
    let (out, _) =
        says(&Command::new(PROOFMARK).args(["trace", "CHRONICLE-032"]).output().unwrap(), 0);
    assert!(out.contains("  saboteur  "), "{out}");
    let trace = |what: &str| {
        let args = ["trace", what, "--format", "json"];
        let (out, _) = says(&Command::new(PROOFMARK).args(args).output().unwrap(), 0);
        serde_json::from_str::<Value>(&out).unwrap()
    };
    let report = trace("sage.errors");
    let all = report["requirements"].as_array().unwrap();
    assert!(all.iter().all(|one| one["contract"] == "sage.errors" && one["source"].is_string()));
    let (_, err) =
        says(&Command::new(PROOFMARK).args(["trace", "CHRONICEL-001"]).output().unwrap(), 2);
    assert!(err.contains("did you mean `CHRONICLE-001`?"), "{err}");
}

#[test]
fn trace_lists_unchecked_requirements() {
    let folder = Folder::new();
    fs::write(
        &folder.file,
        FIXTURE.replace(r#"{"$bless": true}"#, "1").replace(r#"{ "$bless" : true }"#, "1"),
    )
    .unwrap();
    let (out, _) = says(&folder.run(&["trace", "--format", "json"], &[], ""), 0);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        report["unchecked"],
        json!({"requirements": ["UTILS-002"], "operations": ["utils.clock.now"]})
    );
    assert_eq!(report["requirements"][1]["excluded"], "nobody can show it");
}

const TEXT: &str =
    "# Contract\n\n## Rules\n\n- one\n- two\n\n## Telling\n\n- three\n\n## Other\n- four\n";

/// The text under its file name, in a separate folder.
fn text(folder: &Path, body: &str) -> String {
    let path = folder.join("text.md");
    fs::write(&path, body).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn trace_lists_what_a_change_of_the_text_affects() {
    let folder = Folder::new();
    fs::write(
        &folder.file,
        FIXTURE.replace(r#"{"$bless": true}"#, "1").replace(r#"{ "$bless" : true }"#, "1"),
    )
    .unwrap();
    let other = TempDir::new().unwrap();
    let trace = |body: &str, further: &[&str]| {
        let path = text(other.path(), body);
        let args: Vec<&str> =
            ["trace", "--format", "json", "--text", &path].iter().chain(further).copied().collect();
        folder.run(&args, &[], "")
    };
    let (_, err) = says(&trace(TEXT, &[]), 2);
    assert!(err.contains("pins no section"), "{err}");
    says(&trace(TEXT, &["--pin"]), 0);
    let ledger = folder.ledger();
    assert!(ledger.starts_with(LEDGER), "{ledger}");
    // From sha256sum: of `## Rules - one - two` and of `## Telling - three`.
    let pin = "\nRules = \"sha256:04edd266fc5670e718c20de7c3236563631dd95c2ab4ba54e94c7f4b50442e4e\"\nTelling = \"sha256:bf71f52865f03d457231b8b1afa152c7c13435a80817fa51884cd45c3261fa35\"\n";
    assert!(ledger.ends_with(pin), "{ledger}");
    says(&folder.run(&["lint"], &[], ""), 0);

    says(&trace(&TEXT.replace("- one\n", "-  one\r\n\n"), &[]), 0);
    says(&trace(&TEXT.replace("four", "five"), &[]), 0);
    let changed = TEXT.replace("three", "more");
    let (out, _) = says(&trace(&changed, &[]), 1);
    let report: Value = serde_json::from_str(&out).unwrap();
    let one = &report["contracts"][0];
    assert_eq!(one["sections"]["changed"], json!(["Telling"]));
    assert_eq!((&one["requirements"], &one["cases"]), (&json!(["UTILS-002"]), &json!([])));
    let (out, _) = says(&trace(&TEXT.replace("## Rules", "## Ruling"), &[]), 1);
    let report: Value = serde_json::from_str(&out).unwrap();
    let one = &report["contracts"][0];
    assert_eq!(one["sections"]["gone"], json!(["Rules"]));
    assert_eq!(one["requirements"], json!(["UTILS-001", "UTILS-002"]));
    let cases = json!(["sage.utils/some/blessed", "sage.utils/some/true", "sage.utils/some/waits"]);
    assert_eq!(one["cases"], cases);

    let wrong_name = other.path().join("other.md");
    fs::write(&wrong_name, TEXT).unwrap();
    let (_, err) =
        says(&folder.run(&["trace", "--text", wrong_name.to_str().unwrap()], &[], ""), 2);
    assert!(
        err.contains("no ledger names the text `other.md`; the ledgers name `text.md`"),
        "{err}"
    );
    let again = TempDir::new().unwrap();
    let (_, err) = says(&trace(TEXT, &["--text", &text(again.path(), &changed)]), 2);
    assert!(err.contains("two texts have the name `text.md`"), "{err}");
    let (_, err) = says(&trace("# Nothing\n", &["--pin"]), 2);
    assert!(
        err.contains(
            "`UTILS-001` in `fixtures/sage.utils/requirements.toml` cites `Rules, all of them`"
        ),
        "{err}"
    );
    assert_eq!(folder.ledger(), ledger);
}

#[test]
fn pin_reports_inexact_and_ambiguous_citations() {
    let folder = Folder::new();
    let fixture =
        FIXTURE.replace(r#"{"$bless": true}"#, "1").replace(r#"{ "$bless" : true }"#, "1");
    fs::write(&folder.file, fixture).unwrap();
    let other = TempDir::new().unwrap();
    let path = text(other.path(), &format!("{TEXT}## Telling\n- again\n"));
    let (out, _) = says(&folder.run(&["trace", "--pin", "--text", &path], &[], ""), 0);
    let shown: Vec<&str> = out.lines().take(2).collect();
    assert_eq!(
        shown,
        [
            "UTILS-001: no heading `Rules, all of them`; pinned `Rules`",
            "UTILS-002: `Telling` matches the headings on lines 8, 14; pinned the one on line 8; to pin another, name its parent heading too",
        ],
        "{out}"
    );
}

/// A suite with one case and a pinned text. `returns` decides whether the subject is certified.
fn certified(returns: &str, code: i32) -> (Folder, TempDir) {
    let folder = Folder::new();
    let case = format!(
        r#"{{ "contract": "sage.utils", "topic": "some", "cases": [ {{ "id": "some/hash", "why": "w", "shows": ["UTILS-001"], "origin": "contract",
            "steps": [ {{ "call": "utils.sha256", "args": {{ "text": "a" }}, "returns": "{returns}" }} ] }} ] }}"#
    );
    fs::write(&folder.file, case).unwrap();
    let other = TempDir::new().unwrap();
    let path = text(other.path(), TEXT);
    says(&folder.run(&["trace", "--pin", "--text", &path], &[], ""), 0);
    let at = |name: &str| other.path().join(name).to_str().unwrap().to_owned();
    let key = at("key.pem");
    let made = Command::new(PROOFMARK).args(["keygen", "--out", &key]).output().unwrap();
    says(&made, 0);
    let out = at("out");
    let certify = ["certify", "--contract", "sage.utils", "--out", &out, "--sign", &key];
    says(&folder.run(&certify, &["reference"], ""), code);
    text(other.path(), &TEXT.replace("two", "zwei"));
    (folder, other)
}

#[rstest]
#[case::certified(OF_A, 0, "")]
#[case::refused(OF_NOTHING, 1, "; it is not certified")]
fn trace_lists_subjects_that_a_change_of_the_text_affects(
    #[case] returns: &str,
    #[case] code: i32,
    #[case] shown: &str,
) {
    let (folder, other) = certified(returns, code);
    let at = |name: &str| other.path().join(name).to_str().unwrap().to_owned();
    for file in ["out/certificate.json", "out/certificate.dsse.json"].map(at) {
        let args = ["trace", "--text", &at("text.md"), "--certificate", &file];
        let (out, _) = says(&folder.run(&args, &[], ""), 1);
        let last = out.lines().last().unwrap();
        let ends = format!(" ({file}): UTILS-001, UTILS-002{shown}");
        assert!(last.starts_with("sage-reference ") && last.ends_with(&ends), "{out}");
    }
    let trace = |file: &str| {
        let args = ["trace", "--format", "json", "--text", &at("text.md"), "--certificate", file];
        folder.run(&args, &[], "")
    };
    let (out, _) = says(&trace(&at("out/certificate.dsse.json")), 1);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["subjects"][0]["certified"], shown.is_empty());
    // A certificate that was changed later is rejected, and so is any other file.
    let text = fs::read_to_string(at("out/certificate.json")).unwrap();
    fs::write(at("spaced.json"), text.replacen(':', ": ", 1)).unwrap();
    let signed = fs::read_to_string(at("out/certificate.dsse.json")).unwrap();
    fs::write(at("cut.json"), signed.replacen("\"keyid\"", "\"kid\"", 1)).unwrap();
    for (file, shown) in [
        (at("spaced.json"), "it is not in canonical form"),
        (at("cut.json"), "it is not a DSSE envelope"),
        (at("text.md"), "is not a certificate: expected value"),
        (at("out"), "it is not a regular file"),
    ] {
        let (_, err) = says(&trace(&file), 2);
        assert!(err.contains(shown), "{err}");
    }
}

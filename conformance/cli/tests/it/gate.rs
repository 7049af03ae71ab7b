//! What a CI relies on: partitions, known failures, the manifest, and stopping early.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::common::{PROOFMARK, Said};
use assert_cmd::Command;
use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;

/// The only saboteur here; several cases notice it.
const SABOTEUR: &str = "tail-from-the-head";

/// A run's JSON report.
trait Reported {
    fn report(&self) -> Value;
    fn names(&self, verdict: &str) -> BTreeSet<String>;
}

impl Reported for Said {
    fn report(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|fault| panic!("{fault}: {}", self.err))
    }

    fn names(&self, verdict: &str) -> BTreeSet<String> {
        let report = self.report();
        let cases = report["cases"].as_array().unwrap().iter();
        let those = cases.filter(|case| case["verdict"] == verdict);
        those.map(|case| case["case"].as_str().unwrap().to_owned()).collect()
    }
}

/// Runs the program in a folder, with its own cache and without CI variables.
fn proofmark(folder: &Path, args: &[&str]) -> Said {
    let output = Command::new(PROOFMARK)
        .args(args)
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env_remove("CI")
        .output()
        .unwrap();
    Said::of(output)
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// `run --format json` on the chronicle's tail, which the saboteur breaks.
fn run_tail(folder: &Path, more: &[&str]) -> Said {
    let mut args = vec!["run", "--format", "json", "--case", "sage.chronicle/tail/*"];
    args.extend(more);
    args.extend(["--", PROOFMARK, "subject", "--adversary", SABOTEUR]);
    proofmark(folder, &args)
}

fn failing(folder: &Path) -> Vec<String> {
    let failing: Vec<String> = run_tail(folder, &[]).names("failed").into_iter().collect();
    assert!(failing.len() > 1, "the saboteur must be noticed by several cases");
    failing
}

#[rstest]
#[case("hash")]
#[case("slice")]
fn parts_are_disjoint_and_complete(#[case] kind: &str) {
    let folder = folder();
    let all = proofmark(
        folder.path(),
        &["run", "--format", "json", "--contract", "sage.errors", "reference"],
    );
    let mut seen = BTreeSet::new();
    for part in 1..=3 {
        let part = format!("{kind}:{part}/3");
        let args = [
            "run",
            "--format",
            "json",
            "--contract",
            "sage.errors",
            "--partition",
            &part,
            "reference",
        ];
        let said = proofmark(folder.path(), &args);
        assert_eq!(said.code, Some(0), "{}", said.err);
        for name in said.names("passed") {
            assert!(seen.insert(name.clone()), "{name} is in two parts");
        }
    }
    assert_eq!(seen, all.names("passed"));
}

#[rstest]
#[case("hash:0/3", "K is one from 1 to N")]
#[case("hash:4/3", "K is one from 1 to N")]
#[case("slice:1/0", "K is one from 1 to N")]
#[case("count:1/2", "`hash:K/N` or `slice:K/N`")]
#[case("1/2", "`hash:K/N` or `slice:K/N`")]
#[case("hash:1", "`hash:K/N` or `slice:K/N`")]
#[case("hash:-1/2", "`hash:K/N` or `slice:K/N`")]
#[case("hash:+1/2", "`hash:K/N` or `slice:K/N`")]
#[case("hash:1/99999999999999999999", "N is at most")]
fn no_such_part(#[case] part: &str, #[case] shown: &str) {
    let said = proofmark(folder().path(), &["run", "--partition", part]);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""));
    assert!(said.err.contains(shown), "{}", said.err);
}

#[test]
fn an_empty_part_is_an_error() {
    let args = ["run", "--requirement", "UTILS-001", "--partition", "slice:99/99", "reference"];
    let said = proofmark(folder().path(), &args);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("has none of the"), "{}", said.err);
}

#[test]
fn known_failures_do_not_fail_the_run() {
    let folder = folder();
    let known: String = failing(folder.path())
        .iter()
        .map(|name| format!("{name}  until=2030-01-01  reads from the wrong end\n"))
        .collect();
    fs::write(folder.path().join("known.txt"), format!("# What it cannot do.\n\n{known}")).unwrap();
    let list = ["--known-failures", "known.txt", "--today", "2030-01-01"];
    let said = run_tail(folder.path(), &list);
    assert_eq!(said.code, Some(0), "{}", said.out);
    let report = said.report();
    let noted = report["cases"].as_array().unwrap().iter();
    let noted = noted.filter(|case| case["known"] == "reads from the wrong end").count();
    assert_eq!(noted, known.lines().count());

    // A day later the same lines have expired.
    let said = run_tail(folder.path(), &["--known-failures", "known.txt", "--today", "2030-01-02"]);
    assert_eq!(said.code, Some(1));
    assert_eq!(said.report()["knownProblems"][0]["problem"], "expired");
    assert_eq!(said.report()["knownProblems"][0]["line"], 3);
}

/// Known failures do not certify: a broken contract stays uncertified.
#[test]
fn a_known_failure_certifies_nothing() {
    let folder = folder();
    let known: String =
        failing(folder.path()).iter().map(|name| format!("{name} it is\n")).collect();
    fs::write(folder.path().join("known.txt"), known).unwrap();
    let args = [
        "certify",
        "--contract",
        "sage.chronicle",
        "--known-failures",
        "known.txt",
        "--",
        PROOFMARK,
        "subject",
        "--adversary",
        SABOTEUR,
    ];
    let said = proofmark(folder.path(), &args);
    assert_eq!(said.code, Some(1), "{}", said.out);
    assert!(said.out.contains("not certified: sage.chronicle"), "{}", said.out);
}

/// A missing line, a superfluous line, a line that names no case: each fails the run and is reported.
#[rstest]
#[case::one_is_missing(1, "", None)]
#[case::one_passes(0, "sage.utils/sha256/empty-text why not\n", Some("unexpected-pass"))]
#[case::stale(0, "sage.chronicle/tail/no-such-case it is gone\n", Some("stale"))]
fn the_list_must_be_exact(#[case] drop: usize, #[case] more: &str, #[case] problem: Option<&str>) {
    let folder = folder();
    let known = failing(folder.path());
    let known: String = known[drop..].iter().map(|name| format!("{name} it is\n")).collect();
    fs::write(folder.path().join("known.txt"), known + more).unwrap();
    let said = run_tail(
        folder.path(),
        &["--case", "sage.utils/sha256/empty-text", "--known-failures", "known.txt"],
    );
    assert_eq!(said.code, Some(1), "{}", said.out);
    assert_eq!(said.report()["knownProblems"][0]["problem"].as_str(), problem);
}

#[rstest]
#[case::no_reason(
    "sage.utils/sha256/empty-text\n",
    "line 1: `sage.utils/sha256/empty-text` has no reason"
)]
#[case::only_a_date("sage.utils/sha256/empty-text until=2030-01-01\n", "has no reason")]
#[case::bad_date(
    "\nsage.utils/sha256/empty-text until=soon it is\n",
    "line 2: `soon` is not a date"
)]
#[case::date_elsewhere(
    "sage.utils/sha256/empty-text it is so until=2030-01-01\n",
    "stands right after its name"
)]
#[case::two_dates(
    "sage.utils/sha256/empty-text until=2030-01-01 until=2020-01-01 it is\n",
    "stands right after its name"
)]
#[case::another_form("sage.utils/sha256/empty-text until=20300101 it is\n", "is not a date")]
#[case::misspelt_until(
    "sage.utils/sha256/empty-text Until: 2030-01-01 it is\n",
    "stands right after its name"
)]
#[case::twice(
    "sage.utils/sha256/empty-text a\nsage.utils/sha256/empty-text b\n",
    "stands in line 1 already"
)]
#[case::glob("sage.utils/sha256/* all of them\n", "names no single case")]
fn a_list_that_cannot_be_read(#[case] text: &str, #[case] shown: &str) {
    let folder = folder();
    fs::write(folder.path().join("known.txt"), text).unwrap();
    let said = proofmark(folder.path(), &["run", "--known-failures", "known.txt", "reference"]);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""));
    assert!(said.err.contains(shown), "{}", said.err);
}

#[test]
fn fail_fast_stops_at_the_first_failure() {
    let folder = folder();
    let all = run_tail(folder.path(), &[]).report()["cases"].as_array().unwrap().len();
    let said = run_tail(folder.path(), &["--fail-fast", "--jobs", "1", "--window", "1"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert_eq!(said.names("failed").len(), 1);
    assert!(said.report()["cases"].as_array().unwrap().len() < all);
}

#[test]
fn last_failed_reruns_failed_cases() {
    let folder = folder();
    let never = run_tail(folder.path(), &["--last-failed"]);
    assert_eq!(never.code, Some(2));
    assert!(never.err.contains("has not run here before"), "{}", never.err);
    let failing: BTreeSet<String> = failing(folder.path()).into_iter().collect();
    let again = run_tail(folder.path(), &["--last-failed"]);
    assert_eq!(again.names("failed"), failing);
    assert_eq!(again.names("passed"), BTreeSet::new());
}

const MANIFEST: &str = r#"
[subject]
command = ["PROOFMARK", "subject"]
claims = ["sage.errors"]
hooks = ["chronicle.lock"]
environment = { GREETING = "hello" }
timeout-ms = 5000
"#;

fn with_manifest(text: &str) -> TempDir {
    let folder = folder();
    let text = text.replace("PROOFMARK", PROOFMARK);
    fs::write(folder.path().join("proofmark.toml"), text).unwrap();
    folder
}

#[test]
fn a_manifest_replaces_arguments() {
    let folder = with_manifest(MANIFEST);
    let said = proofmark(folder.path(), &["certify", "--contract", "sage.errors"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.contains("sage.errors  certified"), "{}", said.out);
}

#[test]
fn contracts_may_have_separate_adapters() {
    let folder = with_manifest(&format!(
        "{MANIFEST}\n[contract.\"sage.chronicle\"]\ncommand = [\"PROOFMARK\", \"subject\", \"--adversary\", \"{SABOTEUR}\"]\n"
    ));
    let few = ["sage.chronicle", "sage.errors", "sage.utils"].map(|id| ["--contract", id]);
    let args = [&["certify", "--format", "json"], few.concat().as_slice()].concat();
    let said = proofmark(folder.path(), &args);
    assert_eq!(said.code, Some(1), "{}", said.err);
    let report = said.report();
    let certified: Vec<_> = report["contracts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|contract| contract["certified"].as_bool().unwrap())
        .collect();
    assert_eq!(certified, [false, true, true], "{}", said.err);
}

/// Cases outside a run keep their state.
#[test]
fn a_failure_is_remembered_until_its_case_runs_again() {
    let folder = folder();
    let failing: BTreeSet<String> = failing(folder.path()).into_iter().collect();
    let other = [
        "run",
        "--case",
        "sage.utils/sha256/*",
        "--",
        PROOFMARK,
        "subject",
        "--adversary",
        SABOTEUR,
    ];
    assert_eq!(proofmark(folder.path(), &other).code, Some(0));
    assert_eq!(run_tail(folder.path(), &["--last-failed"]).names("failed"), failing);
}

/// The gate fails if an adapter stops claiming what the manifest promises.
#[test]
fn claims_in_the_manifest_are_enforced() {
    let words = "\"subject\", \"--adversary\", \"implements-nothing\", \"--claim=sage.utils\"]";
    let folder = with_manifest(&MANIFEST.replace("\"subject\"]", words));
    let said = proofmark(folder.path(), &["run", "--case", "sage.utils/sha256/*"]);
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    let shown = "does not hold: according to the manifest the subject claims `sage.errors`";
    assert!(said.out.contains(shown), "{}", said.out);
}

/// Every case passes, but the run does not hold.
#[test]
fn hooks_in_the_manifest_are_enforced() {
    let folder = with_manifest(&without_lock());
    let said = proofmark(folder.path(), &["run", "--case", "sage.errors/common/*"]);
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    assert!(
        said.out.contains(" 0 failed") && said.out.contains("`chronicle.lock`"),
        "{}",
        said.out
    );
}

/// A manifest that promises a hook which the subject does not offer.
fn without_lock() -> String {
    let command = r#"["sh", "-c", "PROOFMARK subject | sed -u 's/chronicle.lock/llm.cache/'"]"#;
    MANIFEST.replace(r#"["PROOFMARK", "subject"]"#, command)
}

/// The doctor reports a broken promise before a run would.
#[rstest]
#[case::hook(&without_lock(), "offers the hook `chronicle.lock`, but `hello` does not say so")]
#[case::claim(
    &MANIFEST.replace("sage.errors", "sage.utils").replace("\"subject\"]", "\"subject\", \"--adversary\", \"implements-nothing\", \"--claim=sage.errors\"]"),
    "claims `sage.utils`, but `hello` does not say so"
)]
fn the_doctor_reads_the_manifest_too(#[case] manifest: &str, #[case] shown: &str) {
    let folder = with_manifest(manifest);
    let said = proofmark(folder.path(), &["doctor"]);
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    assert!(said.out.contains(shown), "{}", said.out);
}

#[rstest]
#[case::no_toml("[subject", "is invalid")]
#[case::unknown_key("[subject]\ncomand = [\"x\"]\n", "unknown field `comand`")]
#[case::nothing_to_start("[subject]\n", "there is no command")]
#[case::empty_command("[subject]\ncommand = []\n", "`subject.command` is empty")]
#[case::unknown_wire(
    "[subject]\ncommand = [\"x\"]\n[contract.\"sage.utils\"]\nwire = \"smoke\"\n",
    "unknown variant `smoke`"
)]
#[case::unknown_contract(
    "[subject]\ncommand = [\"x\"]\nclaims = [\"sage.util\"]\n",
    "unknown contract `sage.util` (did you mean `sage.utils`?)"
)]
#[case::unknown_hook(
    "[subject]\ncommand = [\"x\"]\nhooks = [\"chronicle.lick\"]\n",
    "unknown hook `chronicle.lick` in the manifest (did you mean `chronicle.lock`?)"
)]
#[case::nul(
    "[subject]\ncommand = [\"x\"]\nenvironment = { A = \"b\\u0000c\" }\n",
    "has a NUL in the value of `A`"
)]
#[case::limit("[subject]\ncommand = [\"x\"]\ntimeout-ms = 0\n", "must be from 1 to 86400000")]
#[case::no_folder("[subject]\ncommand = [\"x\"]\ndirectory = \"nowhere\"\n", "is not a folder")]
#[case::no_list(
    "[subject]\ncommand = [\"x\"]\nknown-failures = \"gone.txt\"\n",
    "cannot read the known failures"
)]
fn a_manifest_that_cannot_be_used(#[case] text: &str, #[case] shown: &str) {
    let folder = with_manifest(text);
    let said = proofmark(folder.path(), &["certify"]);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.err);
    assert!(said.err.contains(shown), "{}", said.err);
}

#[test]
fn naming_two_subjects_is_an_error() {
    let folder = with_manifest(MANIFEST);
    let said = proofmark(folder.path(), &["run", "--manifest", "proofmark.toml", "--", "true"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("give one of"), "{}", said.err);
    let said = proofmark(folder.path(), &["run", "--manifest", "elsewhere.toml"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("`elsewhere.toml` cannot be read"), "{}", said.err);
}

/// A run, a change, another run, and Ctrl-C.
#[test]
fn a_change_starts_another_round() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    let folder = folder();
    let mut watching = Command::new(PROOFMARK)
        .args(["run", "--watch", "--case", "sage.utils/sha256/*", "reference"])
        .current_dir(folder.path())
        .env_remove("CI")
        .env("XDG_CACHE_HOME", folder.path().join(".cache"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = BufReader::new(watching.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut waits = || shown.any(|line| line.starts_with("waiting for a change"));
    assert!(waits(), "the first round ends");
    fs::write(folder.path().join("adapter.mjs"), "// changed").unwrap();
    assert!(waits(), "the second round ends");
    let pid = rustix::process::Pid::from_child(&watching);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(watching.wait().unwrap().code(), Some(0));
    let rounds = BufReader::new(watching.stdout.take().unwrap()).lines();
    let rounds =
        rounds.map(Result::unwrap).filter(|line| line.contains(" passed, 0 failed")).count();
    assert_eq!(rounds, 2);
}

/// The subject edits a file once, during the first round. The next round follows at once.
#[test]
fn an_edit_during_a_round_is_not_missed() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    let folder = folder();
    let script = format!("[ -e edited ] || echo now > edited; exec '{PROOFMARK}' subject");
    let mut watching = Command::new(PROOFMARK)
        .args(["run", "--watch", "--case", "sage.utils/sha256/*", "--", "sh", "-c", &script])
        .current_dir(folder.path())
        .env_remove("CI")
        .env("XDG_CACHE_HOME", folder.path().join(".cache"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = BufReader::new(watching.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(shown.any(|line| line.starts_with("waiting for a change")));
    let pid = rustix::process::Pid::from_child(&watching);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(watching.wait().unwrap().code(), Some(0));
    let rounds = BufReader::new(watching.stdout.take().unwrap()).lines();
    let passed = |line: &String| line.contains(" passed, 0 failed");
    assert_eq!(rounds.map(Result::unwrap).filter(passed).count(), 2);
}

/// The subject stops the watcher during a round. The round stops cleanly, with every process that it started.
#[test]
fn stopping_the_watch_stops_its_round() {
    let folder = folder();
    let watcher = "$(cut -d ' ' -f 4 /proc/$PPID/stat)";
    let script = format!("echo $$ >> .started; read -r hello; kill -TERM {watcher}; sleep 600");
    let args = ["run", "--watch", "--case", "sage.utils/sha256/*", "--", "sh", "-c", &script];
    let said = proofmark(folder.path(), &args);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("interrupted"), "{}", said.err);
    let started = fs::read_to_string(folder.path().join(".started")).unwrap();
    for id in started.lines() {
        assert!(!Path::new("/proc").join(id).exists(), "{id} still runs");
    }
    assert!(!started.is_empty());
}

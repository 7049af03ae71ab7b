//! Hostile subjects: each gets a specific verdict, and no process or folder of it is left.

use std::process::{Command, Output};
use std::time::Duration;

use crate::common::PROOFMARK;
use assert_cmd::Command as Program;
use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;

/// Kills a harness that hangs, and fails its test.
const FOR_EVER: Duration = Duration::from_secs(300);

/// A run in a temporary folder, with an environment variable that its descendants inherit.
struct Run {
    report: Value,
    code: Option<i32>,
    stderr: String,
    temp: TempDir,
    mark: String,
}

fn run(args: &[&str], command: &[&str]) -> Run {
    let temp = TempDir::new().unwrap();
    let mark = format!("PROOFMARK_TEST={}", temp.path().display());
    let mut program = Program::new(PROOFMARK);
    program.args(args).args(["--law-cases", "20", "--format", "json", "--"]).args(command);
    program.env("TMPDIR", temp.path()).env("PROOFMARK_TEST", temp.path()).timeout(FOR_EVER);
    let Output { status, stdout, stderr } = program.output().unwrap();
    let report = serde_json::from_slice(&stdout).unwrap_or_default();
    Run { report, code: status.code(), stderr: String::from_utf8(stderr).unwrap(), temp, mark }
}

/// The smaller contracts of the suite, so that timeouts stay short.
fn against(adversary: &str) -> Run {
    run(
        &["run", "--case", "sage.utils/sha256/*"],
        &[PROOFMARK, "subject", "--adversary", adversary],
    )
}

impl Run {
    /// The reasons of all failures, without duplicates.
    fn reasons(&self) -> Vec<&str> {
        let cases = self.report["cases"].as_array().expect("a report with cases");
        let mut reasons: Vec<&str> = cases
            .iter()
            .map(|case| case["failure"]["reason"].as_str().unwrap_or("passed"))
            .collect();
        reasons.sort_unstable();
        reasons.dedup();
        reasons
    }

    fn faults(&self) -> Vec<&str> {
        self.report["faults"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|fault| fault["code"].as_str())
            .collect()
    }

    #[track_caller]
    fn leaves_nothing(&self) {
        let left: Vec<_> = std::fs::read_dir(self.temp.path())
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        assert!(left.is_empty(), "folders are left: {left:?}");
        let running = marked_processes(&self.mark);
        assert!(running.is_empty(), "processes are left: {running:?}");
    }
}

/// Command lines of living processes that have `mark` in their environment.
fn marked_processes(mark: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        })
        .map(|entry| {
            String::from_utf8_lossy(
                &std::fs::read(entry.path().join("cmdline")).unwrap_or_default(),
            )
            .into_owned()
        })
        .collect()
}

#[rstest]
#[case("exits-at-once", "exited")]
#[case("exits-on-call", "exited")]
#[case("prints-garbage", "garbage")]
#[case("garbage-on-call", "garbage")]
#[case("half-a-line", "half-a-line")]
#[case("endless-line", "line-too-long")]
#[case("unknown-id", "unknown-id")]
#[case("answers-twice", "answered-twice")]
#[case("closes-stdout", "closed-stdout")]
#[case("other-version", "wrong-version")]
#[case("asks-without-end", "flooded")]
#[case("streams-without-end", "flooded")]
#[case("stray-event", "bad-answer")]
#[case("event-elsewhere", "bad-answer")]
#[case("no-reply", "bad-answer")]
#[case("no-message", "bad-answer")]
#[case("value-and-error", "bad-answer")]
#[case("implements-nothing", "not-implemented")]
#[case("floods-stderr", "difference")]
fn each_has_its_own_verdict(#[case] adversary: &str, #[case] reason: &str) {
    let run = against(adversary);
    assert_eq!((run.reasons(), run.code), (vec![reason], Some(1)), "{}", run.stderr);
    assert_eq!(run.report["holds"], false);
    run.leaves_nothing();
}

/// The harness reads a server's output only up to a limit, and never for ever.
#[rstest]
#[case("serves-objects", "difference")]
#[case("serves-and-hangs-up", "bad-answer")]
#[case("serves-garbage", "bad-answer")]
#[case("serves-elsewhere", "bad-answer")]
#[case("serves-on-a-closed-port", "bad-answer")]
#[case("serves-without-end", "bad-answer")]
#[case("serves-half-an-answer", "no-answer")]
#[case("serves-silence", "no-answer")]
#[case("floods-its-consumers", "bad-answer")]
#[case("sends-100-megabytes", "bad-answer")]
fn a_server_has_its_own_verdict(#[case] adversary: &str, #[case] reason: &str) {
    // Only silence is waited for. A busy machine takes its time to read up to the limit.
    let timeout = if reason == "no-answer" { "3000" } else { "120000" };
    let run = run(
        &["run", "--case", "runs/stream/tells-what-happens", "--timeout", timeout],
        &[PROOFMARK, "subject", "--adversary", adversary],
    );
    assert_eq!((run.reasons(), run.code), (vec![reason], Some(1)), "{}", run.stderr);
    run.leaves_nothing();
}

#[rstest]
#[case("never-answers")]
#[case("never-greets")]
#[case("leaves-its-group")]
fn silence_is_a_timeout(#[case] adversary: &str) {
    let run = run(
        &[
            "run",
            "--case",
            "sage.utils/sha256/empty*",
            "--start-timeout",
            "1000",
            "--timeout",
            "1000",
        ],
        &[PROOFMARK, "subject", "--adversary", adversary],
    );
    assert!(run.reasons().contains(&"no-answer"), "{:?}", run.reasons());
    assert!(!run.reasons().contains(&"passed"), "{:?}", run.reasons());
    assert_eq!(run.code, Some(1));
    run.leaves_nothing();
}

/// The timeout is for silence: a subject that takes 32 calls one after the other answers the last one late.
#[test]
fn a_subject_may_take_one_call_after_the_other() {
    let run = run(
        &["run", "--case", "sage.utils/sha256/*", "--timeout", "2000", "--jobs", "1"],
        &[PROOFMARK, "subject", "--adversary", "takes-one-call-after-the-other"],
    );
    assert_eq!((run.reasons(), run.faults(), run.code), (vec!["passed"], vec![], Some(0)));
    // Otherwise this shows nothing.
    let took = run.report["timing"]["elapsedMs"].as_u64().unwrap();
    assert!(took > 2000, "{took} ms");
}

#[rstest]
#[case("ignores-the-end", "ignored-shutdown")]
#[case("leaves-a-child", "left-processes")]
#[case("leaves-a-daemon", "left-processes")]
fn leftovers_after_shutdown_are_reported_and_killed(#[case] adversary: &str, #[case] fault: &str) {
    let run = against(adversary);
    assert_eq!((run.faults(), run.code), (vec![fault], Some(1)));
    run.leaves_nothing();
}

/// Like [`against`], for a contract on a server's wire.
fn against_server_of(adversary: &str) -> Run {
    run(
        &["run", "--case", "common/plan-ids/plan-with-*"],
        &[PROOFMARK, "subject", "--adversary", adversary],
    )
}

#[rstest]
#[case("mcp-ends", "exited")]
#[case("mcp-prints-garbage", "garbage")]
#[case("mcp-half-a-line", "half-a-line")]
#[case("mcp-floods", "line-too-long")]
#[case("mcp-answers-twice", "answered-twice")]
#[case("mcp-has-no-tools", "bad-answer")]
#[case("mcp-says-it-in-words", "bad-answer")]
#[case("names-no-wire", "bad-answer")]
#[case("names-no-program", "bad-answer")]
#[case("mcp-accepts", "difference")]
fn each_server_has_its_own_verdict(#[case] adversary: &str, #[case] reason: &str) {
    let run = against_server_of(adversary);
    assert_eq!((run.reasons(), run.code), (vec![reason], Some(1)), "{}", run.stderr);
    run.leaves_nothing();
}

#[rstest]
#[case("mcp-ignores-the-end", "ignored-shutdown")]
#[case("mcp-leaves-a-child", "left-processes")]
#[case("mcp-leaves-a-daemon", "left-processes")]
fn a_server_that_survives_shutdown_is_reported_and_killed(
    #[case] adversary: &str,
    #[case] fault: &str,
) {
    let run = against_server_of(adversary);
    assert_eq!((run.faults(), run.code), (vec![fault], Some(1)), "{}", run.stderr);
    run.leaves_nothing();
}

#[test]
fn a_silent_server_is_a_timeout() {
    let run = run(
        &["run", "--case", "common/plan-ids/of-a-plan", "--timeout", "1000"],
        &[PROOFMARK, "subject", "--adversary", "mcp-falls-silent"],
    );
    assert_eq!((run.reasons(), run.code), (vec!["no-answer"], Some(1)), "{}", run.stderr);
    run.leaves_nothing();
}

/// The case waits for the server to start when the adapter is stopped.
#[test]
fn an_adapter_that_exits_while_its_server_starts_does_not_block() {
    let run = run(
        &[
            "run",
            "--case",
            "common/plan-ids/of-a-plan",
            "--case",
            "sage.utils/sha256/abc",
            "--jobs",
            "1",
            "--start-timeout",
            "3000",
        ],
        &[PROOFMARK, "subject", "--adversary", "mcp-never-begins"],
    );
    assert_eq!((run.reasons(), run.code), (vec!["exited", "no-answer"], Some(1)), "{}", run.stderr);
    run.leaves_nothing();
}

#[test]
fn a_missing_subject_gives_no_verdict() {
    let run = run(&["certify"], &["/no/such/program"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("`/no/such/program` cannot be started: No such file"),
        "{}",
        run.stderr
    );
    run.leaves_nothing();
}

#[rstest]
#[case(&["true"])]
#[case(&["cat"])]
#[case(&["yes"])]
#[case(&["sh", "-c", "head -c 100000000 /dev/zero"])]
fn programs_without_the_protocol_are_not_certified(#[case] command: &[&str]) {
    let run = run(&["certify"], command);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    for contract in run.report["contracts"].as_array().unwrap() {
        assert_eq!(contract["certified"], false);
        let holding = contract["requirements"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["verdict"] == "holds");
        assert_eq!(holding.count(), 0);
    }
    run.leaves_nothing();
}

/// A crash is blamed only on the case that causes it, whatever else is in flight.
#[test]
fn one_bad_case_does_not_spoil_its_neighbours() {
    let run = run(
        &["run", "--contract", "sage.utils"],
        &[PROOFMARK, "subject", "--adversary", "crashes-on-empty-text"],
    );
    let cases = run.report["cases"].as_array().unwrap();
    let failed: Vec<&str> = cases
        .iter()
        .filter(|case| case["verdict"] == "failed")
        .filter_map(|case| case["case"].as_str())
        .collect();
    let with_empty_text = ["laws/hash-of-any-text", "sha256/empty-text", "sha256/texts-at-once"];
    assert_eq!(failed, with_empty_text.map(|name| format!("sage.utils/{name}")));
    assert_eq!(run.reasons(), ["exited", "passed"]);
    assert!(run.faults().is_empty());
    run.leaves_nothing();
}

#[test]
fn a_crash_that_no_case_reproduces_alone_still_counts() {
    let run = run(
        &["run", "--case", "sage.utils/sha256/*", "--jobs", "1"],
        &[PROOFMARK, "subject", "--adversary", "crashes-in-company"],
    );
    assert_eq!((run.faults(), run.code), (vec!["only-together"], Some(1)));
    assert_eq!(run.reasons(), ["passed"]);
    run.leaves_nothing();
}

/// A longer timeout would not help: these answers never come.
#[test]
fn answers_lost_only_under_concurrency_are_a_fault() {
    let run = run(
        &["certify", "--contract", "sage.utils", "--jobs", "1", "--timeout", "4000"],
        &[PROOFMARK, "subject", "--adversary", "loses-answers-in-company"],
    );
    assert_eq!((run.faults(), run.code), (vec!["only-together"], Some(1)));
    assert_eq!(run.report["contracts"][0]["certified"], false);
    run.leaves_nothing();
}

/// The same cases are blamed, whatever their position in the run.
#[test]
fn a_fault_in_one_case_is_the_same_in_every_order() {
    let report = |how: &[&str]| {
        let args = [&["run", "--contract", "sage.utils"], how].concat();
        let mut run = run(&args, &[PROOFMARK, "subject", "--adversary", "prints-on-huge-numbers"]);
        assert_eq!(run.reasons(), ["garbage", "passed"]);
        run.leaves_nothing();
        run.report["timing"].take();
        run.report.to_string()
    };
    let first = report(&[]);
    for seed in ["1", "2", "3", "4", "5", "6"] {
        assert_eq!(report(&["--shuffle", seed, "--jobs", "1"]), first);
        assert_eq!(report(&["--shuffle", seed, "--window", seed]), first);
    }
}

#[test]
fn a_claim_that_cannot_be_certified_is_reported() {
    let run = run(&["certify"], &[PROOFMARK, "subject", "--adversary", "claims-a-slip-of-the-pen"]);
    assert_eq!(run.code, Some(1));
    let contracts = run.report["contracts"].as_array().unwrap();
    let cases = run.report["cases"].as_array().unwrap().iter();
    let amiss: Vec<_> = cases.filter(|case| case["verdict"] != "passed").collect();
    assert!(contracts.iter().all(|one| one["certified"] == true), "{amiss:#?}");
}

/// Ctrl-C during the run: exit code 2, and no process or folder is left.
#[rstest]
#[case(&["run", "--contract", "sage.chronicle", "--", PROOFMARK, "subject", "--adversary", "never-answers"])]
#[case(&["selftest", "--adversaries"])]
#[case(&["selftest", "--saboteurs"])]
#[case(&["selftest", "--mutants"])]
#[case(&["selftest", "--determinism"])]
fn an_interrupted_run_cleans_up(#[case] args: &[&str]) {
    let temp = TempDir::new().unwrap();
    let mut child = Command::new(PROOFMARK)
        .args(args)
        .env("TMPDIR", temp.path())
        .env("PROOFMARK_TEST", temp.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The run has started once a case has its folder.
    let deep = |path: &std::path::Path| {
        std::fs::read_dir(path).map(|entries| entries.count()).unwrap_or(0)
    };
    while !std::fs::read_dir(temp.path()).unwrap().flatten().any(|entry| deep(&entry.path()) > 0) {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
    assert_eq!(
        marked_processes(&format!("PROOFMARK_TEST={}", temp.path().display())),
        Vec::<String>::new()
    );
}

/// The adapter interrupts the doctor, with one child in its process group and one outside.
#[rstest]
#[case("INT")]
#[case("TERM")]
fn an_interrupted_examination_cleans_up(#[case] signal: &str) {
    let script = format!(
        "sleep 600 & setsid sleep 600 & read -r hello; kill -{signal} $PPID; trap '' TERM; sleep 600"
    );
    let (code, _, err, running) = examined(&["doctor", "--", "sh", "-c", &script]);
    assert_eq!((code, running), (Some(2), vec![]), "{err}");
    assert!(err.contains("interrupted"), "{err}");
}

/// A second adapter that does not start loses no finding on the first, and leaves no process of it.
#[test]
fn an_examination_that_cannot_go_on_cleans_up() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("proofmark.toml");
    let manifest = "[subject]\ncommand = [\"sh\", \"-c\", \"setsid sleep 600 > /dev/null 2> /dev/null & exit 3\"]\n[contract.\"sage.utils\"]\ncommand = [\"./no-such\"]\n";
    std::fs::write(&path, manifest).unwrap();
    let (code, out, err, running) = examined(&["doctor", "--manifest", path.to_str().unwrap()]);
    assert_eq!((code, running), (Some(2), vec![]), "{err}");
    assert!(out.contains("ended with code 3 before it answered `hello`"), "{out}");
    assert!(err.contains("no-such` cannot be started"), "{err}");
}

/// The exit code, both outputs, and the processes still running.
fn examined(args: &[&str]) -> (Option<i32>, String, String, Vec<String>) {
    let temp = TempDir::new().unwrap();
    let output =
        Program::new(PROOFMARK).args(args).env("PROOFMARK_TEST", temp.path()).output().unwrap();
    let running = marked_processes(&format!("PROOFMARK_TEST={}", temp.path().display()));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr), running)
}

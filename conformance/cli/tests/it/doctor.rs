//! The doctor finds what is wrong with an adapter, says what to change, and blames nothing else.

use crate::common::{PROOFMARK, is_there};
use assert_cmd::Command;
use rstest::rstest;
use serde_json::Value;

struct Examined {
    code: Option<i32>,
    findings: Vec<Value>,
}

fn examine(command: &[&str]) -> Examined {
    examine_within(&["--timeout", "2000"], command)
}

fn examine_within(limits: &[&str], command: &[&str]) -> Examined {
    let output = Command::new(PROOFMARK)
        .args(["doctor", "--json", "--start-timeout", "6000"])
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
    fn checks(&self, state: &str) -> Vec<&str> {
        let of = self.findings.iter().filter(|finding| finding["state"] == state);
        of.map(|finding| finding["check"].as_str().unwrap()).collect()
    }

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
    assert_eq!(examined.findings.len(), 18);
    assert!(examined.findings.iter().all(|finding| finding["state"] == "sound"));
}

/// Each fault fails its own checks; the other checks stay sound.
#[rstest]
#[case("exits-at-once", &["hello"])]
#[case("prints-garbage", &["hello"])]
#[case("never-greets", &["hello"])]
#[case("other-version", &["introduction"])]
#[case("ignores-the-end", &["sessions", "not implemented", "other version", "shutdown", "end of input"])]
#[case("leaves-a-child", &["sessions", "not implemented", "other version", "shutdown", "end of input"])]
#[case("implements-nothing", &["sessions", "other version"])]
#[case("answers-twice", &["unknown members"])]
#[case("unknown-id", &["unknown members"])]
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

/// A crash on a call is one fault. It spoils every check that makes a call, and no other.
#[test]
fn a_crash_on_a_call_spares_what_calls_nothing() {
    let command = [PROOFMARK, "subject", "--adversary", "exits-on-call"];
    let examined = examine(&command);
    // It also accepts any protocol version and names no server.
    assert_eq!(examined.unsound(), ["unknown members", "wire mcp", "wire http", "other version"]);
    let spoilt = examined.checks("spoilt");
    assert!(spoilt.contains(&"framing") && spoilt.contains(&"large messages"), "{spoilt:?}");
    for check in ["hello", "introduction", "shutdown", "end of input"] {
        assert!(examined.checks("sound").contains(&check), "{spoilt:?}");
    }
    let human = shown(&command);
    let count = format!("{} more ", spoilt.len());
    assert!(human.contains(&count) && human.contains("\n4 thing(s) to change"), "{human}");
    assert_eq!(human.matches("before it answered `call`").count(), 1, "{human}");
}

/// A sound adapter, except for the fault that `MODE` names.
const ADAPTER: &str = r#"
import json, os, subprocess, sys, time
mode = sys.argv[1]
sessions, waiting = set(), {}
def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
def send(message):
    if mode == "no-version": del message["jsonrpc"]
    if mode == "text-ids" and "method" not in message: message["id"] = str(message["id"])
    raw = mode in ("question-marks", "latin-1-out")
    text = json.dumps(message, ensure_ascii=not raw)
    data = text.encode("ascii" if mode == "question-marks" else "latin-1" if raw else "utf-8", "replace")
    if mode == "byte-order-mark": data = b"\xef\xbb\xbf" + data
    end = {"no-newline": b"", "carriage-return": b"\r"}.get(mode, b"\n")
    write((data + end) * (2 if mode == "twice" else 1))
def refuse(id, code, message):
    send({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
def answer(id, result):
    send({"jsonrpc": "2.0", "id": id, "result": result})
def handle(line):
    try:
        request = json.loads(line)
        id, method, params = request["id"], request.get("method"), request.get("params") or {}
    except Exception as fault:
        return refuse(None, -32700, str(fault))
    session = params.get("session")
    if method is None:
        return answer(waiting.pop(id), {"value": request["result"]["value"]})
    if method == "hello":
        if params["protocol"] != 1:
            return refuse(id, -32602, "1")
        hello = {"protocol": 1, "name": "a", "version": "1", "language": "python", "contracts": ["sage.utils"]}
        return answer(id, hello)
    if mode == "slow": time.sleep(1.2)
    if mode == "queues": time.sleep(0.1)
    if method == "open":
        if mode == "one-session" and sessions:
            return refuse(id, -32602, "one is open")
        sessions.add(session)
        return answer(id, {})
    if method == "close":
        sessions.discard(session)
        return answer(id, None)
    if method == "shutdown":
        if mode == "no-answer-to-shutdown": os._exit(0)
        answer(id, None)
        quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if mode == "daemon": subprocess.Popen(["sleep", "60"], start_new_session=True, **quiet)
        os._exit(0)
    if method != "call":
        return refuse(id, -32601, "no such method")
    if session not in sessions:
        return refuse(id, -32602, "not open")
    if params["operation"] == "utils.secrets.get" and mode != "no-echo":
        waiting[f"f{id}"] = id
        session = "another" if mode == "other-session" else session
        asked = {"session": session, "fake": "secrets", "method": "get", "args": params["args"]}
        return send({"jsonrpc": "2.0", "id": f"f{id}", "method": "fake", "params": asked})
    if mode == "other-code": return refuse(id, -32000, "no")
    refuse(id, -32601, "not there" if mode == "no-echo" else params["operation"] + " is not there")
for line in sys.stdin.buffer:
    encoding = {"latin-1-in": "latin-1", "ascii-in": "ascii"}.get(mode, "utf-8")
    text = line.decode(encoding, "replace")
    for part in text.splitlines() if mode == "splits-lines" else [text]:
        if part.strip(): handle(part)
"#;

fn adapter(mode: &str) -> [&str; 4] {
    ["python3", "-c", ADAPTER, mode]
}

/// Every finding that needs a change, with its message and its fix.
#[rstest]
#[case("sound", "", "", "")]
#[case("daemon", "shutdown", "left 1 process", "a session of its own")]
#[case("queues", "many at a time", "of 200 `open` at once, ", "do not let calls queue")]
#[case("latin-1-in", "unicode", "it was read as Latin-1", "as UTF-8")]
#[case("ascii-in", "unicode", "\u{fffd}", "as UTF-8")]
#[case("question-marks", "unicode", "is `????`", "as UTF-8")]
#[case("latin-1-out", "unicode", "it is not UTF-8", "write stdout as UTF-8")]
#[case("splits-lines", "unicode", "`open` got no answer with U+2028", "split at `\\n` alone")]
#[case(
    "no-newline",
    "hello",
    "a line without a newline: `{\"jsonrpc\"",
    "end every message with `\\n`"
)]
#[case("carriage-return", "hello", "a line without a newline", "a `\\r` alone does not end a line")]
#[case("slow", "unknown members", "slow: `open` was answered after 1.", "`--timeout MS`")]
#[case("no-answer-to-shutdown", "shutdown", "ended with code 0", "answer `shutdown`, flush")]
#[case("one-session", "sessions, many at a time", "with one session open", "many sessions open")]
#[case("other-code", "not implemented", "-32000", "-32601")]
#[case("text-ids", "hello", "its `id` is \"0\"", "unchanged: an integer")]
#[case("no-version", "hello", "it has no `jsonrpc`", "\"jsonrpc\": \"2.0\"")]
#[case("byte-order-mark", "hello", "a byte order mark", "without a byte order mark")]
#[case("other-session", "waiting calls", "in the session \"another\"", "a session that is open")]
#[case("twice", "unknown members", "was already answered", "answer each request once")]
fn a_fault_has_its_own_cure(
    #[case] mode: &str,
    #[case] checks: &str,
    #[case] shown: &str,
    #[case] cure: &str,
) {
    if !is_there("python3") {
        return;
    }
    let limits = match mode {
        "slow" | "queues" => ["--timeout", "1000"],
        // Under load an answer can be slow.
        _ => ["--timeout", "4000"],
    };
    let examined = examine_within(&limits, &adapter(mode));
    let slow_too = |check: &&str| mode != "slow" || *check != "many at a time";
    let unsound: Vec<&str> = examined.unsound().into_iter().filter(slow_too).collect();
    assert_eq!(unsound.join(", "), checks, "{:#?}", examined.findings);
    if let Some(first) = examined.findings.iter().find(|finding| finding["state"] == "unsound") {
        let (said, change) =
            (first["message"].as_str().unwrap(), first["change"].as_str().unwrap());
        assert!(said.contains(shown) && change.contains(cure), "{first:#}");
    }
}

/// If the adapter echoes no string, the doctor claims nothing about strings.
#[test]
fn checks_without_evidence_are_not_reported_as_sound() {
    if !is_there("python3") {
        return;
    }
    let examined = examine(&adapter("no-echo"));
    let finding = examined.findings.iter().find(|finding| finding["check"] == "unicode").unwrap();
    assert_eq!(finding["state"], "not-yet");
    assert!(finding["message"].as_str().unwrap().starts_with("cannot check"), "{finding}");
}

/// Findings appear while the checks run, and remain after an interrupt.
#[test]
fn findings_are_printed_as_they_are_made() {
    use std::io::{BufRead as _, BufReader};
    let mut command = std::process::Command::new(PROOFMARK);
    // It answers `hello` and then nothing.
    let hello = r#"{"jsonrpc":"2.0","id":0,"result":{"protocol":1,"name":"n","version":"1","language":"sh","contracts":[]}}"#;
    let script = format!("read -r hello; echo '{hello}'; exec cat > /dev/null");
    command.args(["doctor", "--timeout", "3600000", "--", "sh", "-c", &script]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut doctor = command.spawn().unwrap();
    let mut lines = BufReader::new(doctor.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("n 1 (sh) claims nothing yet")));
    let id = rustix::process::Pid::from_raw(doctor.id().cast_signed()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let ended = doctor.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    let shown = String::from_utf8(ended.stderr).unwrap();
    assert!(shown.contains("the results so far are above"), "{shown}");
}

/// An answer held in a buffer until exit is not silence, and has another fix.
#[test]
fn an_unflushed_answer_is_reported_as_such() {
    let answer = r#"{"jsonrpc":"2.0","id":0,"result":{"protocol":1,"name":"late","version":"1","language":"sh","contracts":[]}}"#;
    let examined = examine(&["sh", "-c", &format!("cat > /dev/null; echo '{answer}'")]);
    assert_eq!((examined.unsound(), examined.code), (vec!["hello"], Some(1)));
    assert!(examined.findings[0]["change"].as_str().unwrap().starts_with("flush stdout"));
}

#[test]
fn a_command_that_does_not_start_is_not_examined() {
    let output =
        Command::new(PROOFMARK).args(["doctor", "--", "./no-such-adapter"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let shown = String::from_utf8(output.stderr).unwrap();
    assert!(shown.contains("`./no-such-adapter` cannot be started"), "{shown}");
}

/// Each cause has its own fix.
#[rstest]
#[case::no_file("./gone", None, "there is no such file; give the path")]
#[case::no_program("no-such-program", None, "no folder of PATH has a program `no-such-program`")]
#[case::not_executable("./adapter", Some(("#!/bin/sh\n", 0o644)), "`chmod +x ./adapter`")]
#[case::no_interpreter("./adapter", Some(("#!/no/such/python\n", 0o755)), "the interpreter in its first line")]
#[case::no_first_line("./adapter", Some(("print(1)\n", 0o755)), "begin it with a line such as `#!/bin/sh`")]
fn start_failures_name_the_cause(
    #[case] program: &str,
    #[case] file: Option<(&str, u32)>,
    #[case] shown: &str,
) {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::TempDir::new().unwrap();
    if let Some((text, mode)) = file {
        let path = folder.path().join(program);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut command = Command::new(PROOFMARK);
    let output =
        command.args(["doctor", "--", program]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("cannot be started: ") && said.contains(shown), "{said}");
}

/// The human-readable output.
fn shown(command: &[&str]) -> String {
    let limits = ["--timeout", "2000", "--start-timeout", "3000", "--"];
    let output = Command::new(PROOFMARK).arg("doctor").args(limits).args(command).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// An adapter that exits before `hello` did not fail on a request.
#[test]
fn stderr_explains_an_adapter_that_exits_before_hello() {
    let script = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo \"line $n\" >&2; done; exit 3";
    let examined = examine(&["sh", "-c", script]);
    assert_eq!((examined.unsound(), examined.code), (vec!["hello"], Some(1)));
    let finding = &examined.findings[0];
    assert_eq!(finding["message"], "the adapter ended with code 3 before it answered `hello`");
    assert!(finding["change"].as_str().unwrap().starts_with("fix the error on its stderr"));
    let lines: Vec<&str> =
        finding["stderr"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!((lines.len(), lines.first(), lines.last()), (10, Some(&"line 3"), Some(&"line 12")));
    let human = shown(&["sh", "-c", script]);
    assert!(human.contains("stderr: line 3\n") && human.contains("stderr: line 12\n"), "{human}");
    let quiet = examine(&["true"]);
    assert!(quiet.findings[0]["change"].as_str().unwrap().starts_with("run the command by hand"));
}

#[rstest]
#[case::answers(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "answers that nobody requested: id 7")]
#[case::errors(
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}"#,
    "answers that nobody requested"
)]
#[case::requests(
    r#"{"jsonrpc":"2.0","id":7,"method":"fake"}"#,
    "sends too many requests: more than 1000"
)]
fn a_flood_ends_the_check(#[case] line: &str, #[case] shown: &str) {
    let examined = examine(&["sh", "-c", &format!("read -r hello; exec yes '{line}'")]);
    assert_eq!((examined.unsound(), examined.code), (vec!["hello"], Some(1)));
    let said = examined.findings[0]["message"].as_str().unwrap();
    assert!(said.contains(shown), "{said}");
}

/// Few messages, each as long as a line may be.
#[test]
fn a_flood_of_long_lines_ends_the_check() {
    let long = r#"read -r hello; while :; do printf '{"jsonrpc":"2.0","id":7,"method":"fake","params":"'; head -c 15000000 /dev/zero | tr '\0' x; echo '"}'; done"#;
    let limits = ["--start-timeout", "60000", "--json", "--"];
    let mut command = Command::new(PROOFMARK);
    command.arg("doctor").args(limits).args(["sh", "-c", long]);
    let report: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert_eq!(report["findings"][0]["message"], "it sends too many requests: more than 32 MiB");
}

/// An adapter that answers every request with its `hello` result.
fn answers_everything(name: &str, contracts: &str) -> String {
    let result = format!(
        r#"{{"protocol":1,"name":"{name}","version":"1","language":"sed","contracts":[{contracts}]}}"#
    );
    format!(r#"s/.*"id":\([0-9]*\).*/{{"jsonrpc":"2.0","id":\1,"result":{result}}}/p"#)
}

/// Answering without asking the fake is wrong only if the adapter claims the contract.
#[rstest]
#[case::claimed(r#""sage.utils""#, "unsound", "without calling the fake `secrets`")]
#[case::not_claimed("", "not-yet", "is not claimed")]
fn a_fake_that_is_never_asked(#[case] contracts: &str, #[case] state: &str, #[case] shown: &str) {
    let examined = examine(&["sed", "-un", &answers_everything("n", contracts)]);
    let waiting = |finding: &&Value| finding["check"] == "waiting calls";
    let finding = examined.findings.iter().find(waiting).unwrap();
    assert_eq!(finding["state"], state);
    assert!(finding["message"].as_str().unwrap().contains(shown), "{finding}");
}

#[test]
fn missing_operations_are_reported_as_not_yet() {
    let examined = examine(&[PROOFMARK, "subject", "--adversary", "implements-nothing"]);
    let waiting = |finding: &&Value| finding["check"] == "waiting calls";
    let finding = examined.findings.iter().find(waiting).unwrap();
    assert_eq!(finding["state"], "not-yet");
    assert!(finding["message"].as_str().unwrap().ends_with("is not implemented yet"), "{finding}");
}

/// Escape sequences in an adapter's name or stderr are shown, not executed.
#[test]
fn adapter_output_is_escaped() {
    let name = answers_everything(r"\\u001b[2J\\u202e\\nCHANGE", "");
    let human = shown(&["sed", "-un", &name]);
    assert!(human.contains(r"\u001b[2J\u202e\nCHANGE 1 (sed) claims nothing yet"), "{human}");
    let human = shown(&["sh", "-c", r"printf '\033[2J\n' >&2"]);
    assert!(human.contains(r"stderr: \u001b[2J"), "{human}");
}

/// One JSON document, however many commands a manifest has.
#[test]
fn several_commands_give_one_document() {
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
    assert_eq!((count(0), count(1), count(2)), (Some(18), Some(1), None));
    assert_eq!(report[1]["subject"], "true");
}

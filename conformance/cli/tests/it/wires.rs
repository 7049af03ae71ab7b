//! Servers on their own wire, with and without an adapter.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{PROOFMARK, Said, is_there};
use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

const NOW: &str = "2024-01-01T00:00:00Z";
/// The MCP server of the reference.
const SERVER: [&str; 7] = ["--", PROOFMARK, "subject", "--mcp", "common", "--time", NOW];

/// Runs the program in a folder.
fn proofmark(folder: &Path, args: &[&str]) -> Said {
    let mut program = Command::new(PROOFMARK);
    Said::of(program.args(args).current_dir(folder).env("TMPDIR", folder).output().unwrap())
}

fn here() -> TempDir {
    TempDir::new().unwrap()
}

/// The reference server of `runs`, without an adapter.
fn agent_runs() -> PathBuf {
    let program = Path::new(PROOFMARK).with_file_name("agent-runs");
    // CI has just built the whole workspace; building one package alone would recompile its dependencies.
    if std::env::var_os("CI").is_some() && program.exists() {
        return program;
    }
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "agent-runs", "--bin", "agent-runs"])
        .status();
    assert!(built.unwrap().success(), "the server is built");
    program
}

fn report(said: &Said) -> Value {
    serde_json::from_str(&said.out)
        .unwrap_or_else(|_| panic!("no report: {}{}", said.out, said.err))
}

/// The reasons of all failures, without duplicates.
fn reasons(report: &Value) -> Vec<&str> {
    let cases = report["cases"].as_array().unwrap().iter();
    let mut reasons: Vec<&str> =
        cases.filter_map(|case| case["failure"]["reason"].as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons
}

#[test]
fn an_mcp_server_is_certified_without_an_adapter_and_reproducibly() {
    let folder = here();
    let certify = |out: &str| {
        let certify = ["certify", "--wire", "mcp", "--out", out];
        let said = proofmark(folder.path(), &[&certify[..], &SERVER].concat());
        assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
        assert!(said.out.contains("certified: common"), "{}", said.out);
        fs::read(folder.path().join(out).join("certificate.json")).unwrap()
    };
    assert!(certify("one") == certify("two"), "ids and workspaces of a run leave no mark");
    let said = proofmark(folder.path(), &["verify", "one/certificate.json"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
}

#[test]
fn a_manifest_names_the_wire() {
    let folder = here();
    let manifest = format!(
        "[subject]\nclaims = [\"common\"]\n[contract.common]\nwire = \"mcp\"\ncommand = [{PROOFMARK:?}, \"subject\", \"--mcp\", \"common\", \"--time\", {NOW:?}]\n"
    );
    fs::write(folder.path().join("proofmark.toml"), manifest).unwrap();
    let said = proofmark(folder.path(), &["run", "--contract", "common"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
}

/// An adapter that names a different MCP server for each contract: one is right, one refuses everything.
const TWO_SERVERS: &str = r#"
import json, sys
program, now = sys.argv[1:]
servers = {
    "my.open": [program, "subject", "--mcp", "common", "--time", now],
    "my.closed": [program, "subject", "--adversary", "mcp-refuses-input", "--mcp", "common", "--time", now],
}
for line in sys.stdin:
    request = json.loads(line)
    result = None
    if request["method"] == "hello":
        result = {"protocol": 1, "name": "two", "version": "1", "language": "python", "contracts": list(servers)}
    if request["method"] == "open":
        result = {"wire": {"mcp": {"command": servers[request["params"]["contract"]]}}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
    if request["method"] == "shutdown":
        break
"#;

/// Two contracts on the same wire, in an author's suite.
fn two_contracts(folder: &Path) {
    for (id, prefix, success) in [("my.open", "OPEN", true), ("my.closed", "CLOSED", false)] {
        let at = folder.join("fixtures").join(id);
        fs::create_dir_all(&at).unwrap();
        let ledger = format!(
            "contract = {id:?}\ntitle = \"A door\"\ntext = \"doors.md\"\nprefix = {prefix:?}\nworkspace = false\nwire = \"mcp\"\noperations = []\n\n[[requirement]]\nid = \"{prefix}-001\"\nlevel = \"must\"\nbasis = \"contract\"\nsentence = \"It is what it is called.\"\nsource = \"Doors\"\n"
        );
        let step = json!({
            "call": "mcp.tool",
            "args": { "name": "workspaces_create", "arguments": { "workspace": "<case>" } },
            "returns": { "$open": { "success": success } },
        });
        let case = json!({
            "id": "doors/tried", "why": "It is tried.", "shows": [format!("{prefix}-001")],
            "origin": "contract", "steps": [step],
        });
        let fixture = json!({ "contract": id, "topic": "doors", "cases": [case] });
        fs::write(at.join("requirements.toml"), ledger).unwrap();
        fs::write(at.join("doors.json"), fixture.to_string()).unwrap();
    }
}

#[test]
fn two_contracts_on_one_wire_have_separate_servers() {
    if !is_there("python3") {
        return;
    }
    let folder = here();
    two_contracts(folder.path());
    fs::write(folder.path().join("adapter.py"), TWO_SERVERS).unwrap();
    let adapter = ["--suite", ".", "--", "python3", "adapter.py", PROOFMARK, NOW];
    let said = proofmark(folder.path(), &[&["certify"], &adapter[..]].concat());
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.contains("certified: my.closed, my.open"), "{}", said.out);
    let said = proofmark(folder.path(), &[&["doctor", "--json"], &adapter[..]].concat());
    let findings = report(&said)["findings"].clone();
    let wires = findings.as_array().unwrap().iter().filter(|one| one["check"] == "wire mcp");
    assert_eq!(wires.map(|one| &one["state"]).collect::<Vec<_>>(), ["sound", "sound"]);
}

/// A server without an adapter cannot say which contract it implements.
#[test]
fn the_contract_of_a_server_must_be_named() {
    let folder = here();
    two_contracts(folder.path());
    let certify = ["certify", "--suite", ".", "--wire", "mcp"];
    let said = proofmark(folder.path(), &[&certify[..], &SERVER].concat());
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("name the server's contract with --contract"), "{}", said.err);
    assert!(said.err.contains("my.closed, my.open"), "{}", said.err);
    let http = ["certify", "--suite", ".", "--wire", "http", "--", "server", "{port}"];
    let said = proofmark(folder.path(), &http);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("no contract of this suite uses the wire `http`"), "{}", said.err);
    let named = ["--contract", "my.open"];
    let said = proofmark(folder.path(), &[&certify[..], &named, &SERVER].concat());
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
}

/// An adapter for some contracts and a server for another form one subject.
#[test]
fn a_server_stands_beside_an_adapter() {
    let folder = here();
    let manifest = |about: &str| {
        format!(
            "[subject]\n{about}command = [{PROOFMARK:?}, \"subject\"]\n[contract.common]\nwire = \"mcp\"\ncommand = [{PROOFMARK:?}, \"subject\", \"--mcp\", \"common\", \"--time\", {NOW:?}]\n"
        )
    };
    let about = format!(
        "name = \"sage-reference\"\nversion = {:?}\nlanguage = \"rust\"\n",
        env!("CARGO_PKG_VERSION")
    );
    let run = |about: &str| {
        fs::write(folder.path().join("proofmark.toml"), manifest(about)).unwrap();
        proofmark(
            folder.path(),
            &["run", "--case", "sage.utils/sha256/*", "--case", "common/cuts/*"],
        )
    };
    let said = run(&about);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let said = run("");
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("differently"), "two faces: {}", said.out);
}

#[rstest]
#[case::no_command("[contract.runs]\nwire = \"http\"", "names a wire")]
#[case::no_port("[contract.runs]\nwire = \"http\"\ncommand = [\"serve\"]", "{port}")]
#[case::no_wire("[contract.runs]\nready = \"/\"\ncommand = [\"serve\"]", "set `wire` to")]
#[case::unknown(
    "[contract.runs]\nwire = \"carrier-pigeon\"\ncommand = [\"serve\"]",
    "unknown variant"
)]
fn a_wrong_manifest_is_told(#[case] lines: &str, #[case] shown: &str) {
    let folder = here();
    fs::write(folder.path().join("proofmark.toml"), format!("[subject]\n{lines}\n")).unwrap();
    let said = proofmark(folder.path(), &["run"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains(shown), "{}", said.err);
}

#[test]
fn an_http_server_is_started_awaited_and_stopped() {
    let folder = here();
    let server = agent_runs();
    let server = server.to_str().unwrap();
    let args = [
        "run",
        "--format",
        "json",
        "--wire",
        "http",
        "--ready",
        "/api/runs",
        "--contract",
        "runs",
        "--case",
        "runs/edges/to-*",
        "--",
        server,
        "--data",
        "{workspace}",
        "--port",
        "{port}",
    ];
    let said = proofmark(folder.path(), &args);
    let report = report(&said);
    assert_eq!(said.code, Some(0), "{report:#}{}", said.err);
    assert_eq!(report["faults"], json!([]));
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[rstest]
#[case::not_ready(&["sleep", "{port}"], "did not answer 2xx")]
#[case::ended(&["false", "{port}"], "the server exited")]
#[case::not_there(&["no-such-server", "{port}"], "cannot be started")]
fn a_server_that_does_not_start_is_reported(#[case] command: &[&str], #[case] shown: &str) {
    let folder = here();
    let manifest = format!(
        "[subject]\nstart-timeout-ms = 3000\n[contract.runs]\nwire = \"http\"\ncommand = {command:?}\n"
    );
    fs::write(folder.path().join("proofmark.toml"), manifest).unwrap();
    let args = ["run", "--format", "json", "--case", "runs/edges/the-id-is-a-uuid"];
    let said = proofmark(folder.path(), &args);
    let report = report(&said);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert_eq!(reasons(&report), ["adapter-error"]);
    assert!(said.out.contains(shown), "{report:#}");
}

#[rstest]
#[case::no_port(&["--wire", "http", "--", "serve"], "{port}")]
#[case::no_server(&["--wire", "mcp", "reference"], "required")]
#[case::ready_of_nothing(&["--ready", "/", "--", "serve"], "--wire")]
fn wrong_wire_options_are_reported(#[case] args: &[&str], #[case] shown: &str) {
    let folder = here();
    let said = proofmark(folder.path(), &[&["run"], args].concat());
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains(shown), "{}", said.err);
}

#[test]
fn envelope_checks_any_server() {
    let folder = here();
    let server = SERVER;
    let said = proofmark(folder.path(), &[&["envelope", "--use-all"], &server[..]].concat());
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.contains("27 of 27 tools keep the envelope"), "{}", said.out);
    let said = proofmark(folder.path(), &[&["envelope", "--json"], &server[..]].concat());
    assert_eq!(report(&said)["kept"], json!(27));
}

/// A server with two tools, one of which answers with plain text.
const PLAIN: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *initialize*) if [ -n "$id" ]; then echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{}}}'; fi;;
    *tools/list*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"plain"},{"name":"broken"}]}}';;
    *'"plain"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"done"}]}}';;
    *) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32000,"message":"no"}}';;
  esac
done
"#;

#[test]
fn tools_without_an_envelope_are_named() {
    let folder = here();
    fs::write(folder.path().join("plain.sh"), PLAIN).unwrap();
    let said = proofmark(folder.path(), &["envelope", "--", "sh", "plain.sh"]);
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    assert!(said.out.contains("0 of 2 tools keep the envelope"), "{}", said.out);
    assert!(said.out.contains("not JSON") && said.out.contains("JSON-RPC error"), "{}", said.out);
}

#[rstest]
#[case::no_mcp(&["cat"])]
#[case::gone(&["true"])]
#[case::not_there(&["no-such-server"])]
fn envelope_gives_no_verdict_without_a_server(#[case] command: &[&str]) {
    let folder = here();
    let said =
        proofmark(folder.path(), &[&["envelope", "--timeout", "500", "--"], command].concat());
    assert_eq!(said.code, Some(2), "{}{}", said.out, said.err);
}

//! Servers that are spoken to on their own wire, with and without an adapter.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{PROOFMARK, Said};
use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

const NOW: &str = "2024-01-01T00:00:00Z";

/// The program in a folder of its own.
fn proofmark(folder: &Path, args: &[&str]) -> Said {
    let mut program = Command::new(PROOFMARK);
    Said::of(program.args(args).current_dir(folder).env("TMPDIR", folder).output().unwrap())
}

fn here() -> TempDir {
    TempDir::new().unwrap()
}

/// The reference of `runs` as a program without an adapter.
fn agent_runs() -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "agent-runs", "--bin", "agent-runs"])
        .status();
    assert!(built.unwrap().success(), "the server is built");
    Path::new(PROOFMARK).with_file_name("agent-runs")
}

fn report(said: &Said) -> Value {
    serde_json::from_str(&said.out)
        .unwrap_or_else(|_| panic!("no report: {}{}", said.out, said.err))
}

/// The reasons of all failures, each once.
fn reasons(report: &Value) -> Vec<&str> {
    let cases = report["cases"].as_array().unwrap().iter();
    let mut reasons: Vec<&str> =
        cases.filter_map(|case| case["failure"]["reason"].as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons
}

#[test]
fn an_mcp_server_is_certified_as_it_stands_and_twice_the_same() {
    let folder = here();
    let certify = |out: &str| {
        let args =
            ["certify", "--wire", "mcp", "--out", out, "--", PROOFMARK, "subject", "--mcp", NOW];
        let said = proofmark(folder.path(), &args);
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
        "[subject]\nclaims = [\"common\"]\n[contract.common]\nwire = \"mcp\"\ncommand = [{PROOFMARK:?}, \"subject\", \"--mcp\", {NOW:?}]\n"
    );
    fs::write(folder.path().join("proofmark.toml"), manifest).unwrap();
    let said = proofmark(folder.path(), &["run", "--contract", "common"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
}

/// An adapter for some contracts and a server for another are one subject.
#[test]
fn a_server_stands_beside_an_adapter() {
    let folder = here();
    let manifest = |about: &str| {
        format!(
            "[subject]\n{about}command = [{PROOFMARK:?}, \"subject\"]\n[contract.common]\nwire = \"mcp\"\ncommand = [{PROOFMARK:?}, \"subject\", \"--mcp\", {NOW:?}]\n"
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
#[case::no_wire("[contract.runs]\nready = \"/\"\ncommand = [\"serve\"]", "give its `wire`")]
#[case::unknown(
    "[contract.runs]\nwire = \"carrier-pigeon\"\ncommand = [\"serve\"]",
    "unknown variant"
)]
fn a_wrong_manifest_is_told(#[case] lines: &str, #[case] told: &str) {
    let folder = here();
    fs::write(folder.path().join("proofmark.toml"), format!("[subject]\n{lines}\n")).unwrap();
    let said = proofmark(folder.path(), &["run"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains(told), "{}", said.err);
}

#[test]
fn a_server_over_http_is_started_waited_for_and_ended() {
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
        "runs/edges/*",
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
#[case::not_ready(&["sleep", "{port}"], "not answered")]
#[case::ended(&["false", "{port}"], "ended")]
#[case::not_there(&["no-such-server", "{port}"], "cannot be started")]
fn a_server_that_does_not_serve_is_told(#[case] command: &[&str], #[case] told: &str) {
    let folder = here();
    let manifest = format!(
        "[subject]\nstart-timeout-ms = 300\n[contract.runs]\nwire = \"http\"\ncommand = {command:?}\n"
    );
    fs::write(folder.path().join("proofmark.toml"), manifest).unwrap();
    let args = ["run", "--format", "json", "--case", "runs/edges/the-id-is-a-uuid"];
    let said = proofmark(folder.path(), &args);
    let report = report(&said);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert_eq!(reasons(&report), ["adapter-error"]);
    assert!(said.out.contains(told), "{report:#}");
}

#[rstest]
#[case::no_port(&["--wire", "http", "--", "serve"], "{port}")]
#[case::no_server(&["--wire", "mcp", "reference"], "required")]
#[case::ready_of_nothing(&["--ready", "/", "--", "serve"], "--wire")]
fn wrong_words_about_wires_are_told(#[case] args: &[&str], #[case] told: &str) {
    let folder = here();
    let said = proofmark(folder.path(), &[&["run"], args].concat());
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains(told), "{}", said.err);
}

#[test]
fn the_envelope_is_looked_for_in_any_server() {
    let folder = here();
    let server = ["--", PROOFMARK, "subject", "--mcp", NOW];
    let said = proofmark(folder.path(), &[&["envelope", "--use-all"], &server[..]].concat());
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.contains("27 of 27 tools keep the envelope"), "{}", said.out);
    let said = proofmark(folder.path(), &[&["envelope", "--json"], &server[..]].concat());
    assert_eq!(report(&said)["kept"], json!(27));
}

/// A server of two tools, of which one speaks plainly.
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
    assert!(said.out.contains("no JSON") && said.out.contains("JSON-RPC error"), "{}", said.out);
}

#[rstest]
#[case::no_mcp(&["cat"])]
#[case::gone(&["true"])]
#[case::not_there(&["no-such-server"])]
fn what_is_no_server_decides_nothing(#[case] command: &[&str]) {
    let folder = here();
    let said =
        proofmark(folder.path(), &[&["envelope", "--timeout", "500", "--"], command].concat());
    assert_eq!(said.code, Some(2), "{}{}", said.out, said.err);
}

//! Shows that the proofs of `proofmark selftest` can fail. CI runs the proofs themselves.

use std::fs;

use crate::common::{PROOFMARK, embedded_suite};
use proofmark_adversaries::{Adversary, find};
use proofmark_selftest::nulls::{self, EXCEPTIONS, Exception};
use proofmark_selftest::{Options, saboteurs};
use proofmark_suite::SuiteFiles;
use tempfile::TempDir;

fn options() -> Options {
    Options::new(PROOFMARK)
}

fn adversary(name: &str) -> &'static Adversary {
    find(name).unwrap()
}

/// The reference does nearly everything right. As a null adversary it must be reported, except for requirements that
/// need hooks which this adversary lacks.
#[test]
fn a_certified_adversary_is_noticed_and_hooks_are_respected() {
    let suite = embedded_suite();
    let reports =
        nulls::check_these(&suite, &[adversary("has-no-hooks")], EXCEPTIONS, &options()).unwrap();
    let report = &reports[0];
    assert_eq!(report.certified, ["common", "sage.errors", "sage.llm", "sage.tools", "sage.utils"]);
    assert!(report.holds.contains(&"UTILS-001".to_owned()));
    assert_eq!(report.problems.len(), report.certified.len() + report.holds.len());
    let hooked: Vec<&str> = suite
        .cases
        .iter()
        .filter(|case| !case.needs.is_empty())
        .flat_map(|case| &case.shows)
        .map(String::as_str)
        .collect();
    assert!(hooked.contains(&"CHRONICLE-034"));
    assert!(report.holds.iter().all(|id| !hooked.contains(&id.as_str())), "{:?}", report.holds);
}

#[test]
fn superfluous_exceptions_are_reported() {
    let exception = Exception {
        adversary: "accepts-with-null",
        requirement: "UTILS-001",
        reason: "there is none",
    };
    let adversaries = [adversary("accepts-with-null"), adversary("accepts-with-true")];
    let reports =
        nulls::check_these(&embedded_suite(), &adversaries, &[exception], &options()).unwrap();
    assert_eq!(
        reports[0].problems,
        ["UTILS-001 does not hold for `accepts-with-null`; delete its exception"]
    );
    assert!(reports[1].problems.is_empty());
}

#[test]
fn a_wrong_list_of_broken_promises_is_reported() {
    let saboteur = adversary("trims-keys");
    let every_case = Options { full: true, ..options() };
    let check = |breaks: &[&str]| {
        let reports =
            saboteurs::check_these(&embedded_suite(), &[(saboteur, breaks)], &every_case).unwrap();
        reports[0].problems.clone()
    };
    let name = "`trims-keys` (the provider is asked for the key without its blanks)";
    assert!(check(&["UTILS-034"]).is_empty());
    assert_eq!(
        check(&["UTILS-033"]),
        [
            format!("{name} breaks UTILS-033, but no case notices"),
            format!(
                "{name} does not break UTILS-034, but `sage.utils/ports/secret-key-is-verbatim` failed"
            ),
        ]
    );
    assert_eq!(
        check(&["UTILS-999"]),
        [
            "`trims-keys` breaks UTILS-999, which is in no ledger",
            "`trims-keys` breaks nothing that has a case",
        ]
    );
}

/// An author's own suite with a contract that no adversary knows.
#[test]
fn a_promise_that_nothing_can_break_is_found_in_any_suite() {
    let folder = TempDir::new().unwrap();
    let contract = folder.path().join("fixtures/own.ping");
    fs::create_dir_all(&contract).unwrap();
    let ledger = r#"
        contract = "own.ping"
        title = "Ping"
        text = "ping.md"
        prefix = "PING"
        workspace = false
        operations = ["ping.ping", "ping.greet"]

        [[requirement]]
        id = "PING-001"
        level = "must"
        basis = "contract"
        sentence = "A ping is answered."
        source = "Ping"

        [[requirement]]
        id = "PING-002"
        level = "must"
        basis = "contract"
        sentence = "A greeting has a name in it."
        source = "Greet"
    "#;
    let cases = r#"{
        "contract": "own.ping", "topic": "ping", "cases": [
            { "id": "ping/answered", "why": "It is there.", "shows": ["PING-001"], "origin": "contract",
              "steps": [{ "call": "ping.ping", "args": {}, "returns": null }] },
            { "id": "ping/greeted", "why": "It is polite.", "shows": ["PING-002"], "origin": "contract",
              "steps": [{ "call": "ping.greet", "args": { "name": "Ann" }, "returns": "hello, Ann" }] }
        ]
    }"#;
    fs::write(contract.join("requirements.toml"), ledger).unwrap();
    fs::write(contract.join("ping.json"), cases).unwrap();
    let suite = proofmark_catalog::load(&SuiteFiles::in_folder(folder.path()).unwrap()).unwrap();
    let reports = nulls::check(&suite, &options()).unwrap();
    let fooled: Vec<(&str, &[String])> = reports
        .iter()
        .filter(|report| !report.problems.is_empty())
        .map(|report| (report.name.as_str(), report.holds.as_slice()))
        .collect();
    let ping = &["PING-001".to_owned()][..];
    assert_eq!(
        fooled,
        [
            ("floods-stderr", ping),
            ("accepts-with-null", ping),
            ("crashes-on-the-seventh-call", ping),
            ("accepts-without-hooks", ping),
        ]
    );
}

/// The mutants change a server's answers, so the command must not be taken for an adapter.
#[test]
fn selftest_accepts_a_server_without_an_adapter() {
    let folder = TempDir::new().unwrap();
    let contract = folder.path().join("fixtures/common");
    fs::create_dir_all(&contract).unwrap();
    let ledger = r#"
        contract = "common"
        title = "Workspaces"
        text = "common.md"
        prefix = "COMMON"
        workspace = false
        wire = "mcp"
        operations = []

        [[requirement]]
        id = "COMMON-003"
        level = "must"
        basis = "contract"
        sentence = "On success, error is null."
        source = "Response envelope"
    "#;
    let cases = r#"{
        "contract": "common", "topic": "made", "cases": [
            { "id": "made/no-error", "why": "It is made.", "shows": ["COMMON-003"], "origin": "contract",
              "steps": [{ "call": "mcp.tool",
                  "args": { "name": "workspaces_create", "arguments": { "workspace": "<case>" } },
                  "returns": { "$open": { "success": true, "error": null } } }] }
        ]
    }"#;
    fs::write(contract.join("requirements.toml"), ledger).unwrap();
    fs::write(contract.join("made.json"), cases).unwrap();
    let time = "2024-01-01T00:00:00Z";
    let server = ["--wire", "mcp", "--", PROOFMARK, "subject", "--mcp", "common", "--time", time];
    let mut program = assert_cmd::Command::new(PROOFMARK);
    program.args(["selftest", "--mutants", "--suite"]).arg(folder.path()).args(server);
    let shown = String::from_utf8(program.output().unwrap().stdout).unwrap();
    assert!(shown.contains("common: 1 cases"), "{shown}");
    assert!(shown.contains("nothing was fooled"), "{shown}");
}

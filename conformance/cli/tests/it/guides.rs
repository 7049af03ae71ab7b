//! Follows the guides literally: every command in them can be typed and does what the page says.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{PROOFMARK, is_there};
use rstest::rstest;

const README: &str = include_str!("../../../../README.md");
const PASS: &str = include_str!("../../../guide/pass.md");
const GATE: &str = include_str!("../../../guide/gate.md");
const AUTHOR: &str = include_str!("../../../guide/author.md");
const PROTOCOL: &str = include_str!("../../../guide/protocol.md");
const FAILURES: &str = include_str!("../../../guide/failures.md");
const CERTIFICATES: &str = include_str!("../../../guide/certificates.md");
const CASES: &str = include_str!("../../../guide/cases.md");
const WORKFLOW: &str = include_str!("../../../guide/workflow.yml");

/// The code blocks of one language, in order.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    page.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Runs a line of a guide in a folder.
fn typed(folder: &Path, line: &str) -> Output {
    let words: Vec<String> = words(line).into_iter().skip(1).collect();
    Command::new(PROOFMARK)
        .args(words)
        .current_dir(folder)
        .env_remove("CI")
        .env("XDG_CACHE_HOME", folder.join(".cache"))
        .output()
        .unwrap()
}

/// Splits a line as a shell would, without comments.
fn words(line: &str) -> Vec<String> {
    let line = line.split(" # ").next().unwrap();
    line.split_whitespace().map(|word| word.trim_matches('\'').to_owned()).collect()
}

#[track_caller]
fn ends(output: &Output, code: i32) -> String {
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{shown}{err}");
    shown
}

/// Every command and flag on a page exists.
#[rstest]
#[case("README", README)]
#[case("pass", PASS)]
#[case("gate", GATE)]
#[case("author", AUTHOR)]
#[case("protocol", PROTOCOL)]
#[case("failures", FAILURES)]
#[case("certificates", CERTIFICATES)]
#[case("cases", CASES)]
#[case("workflow", WORKFLOW)]
fn every_command_exists(#[case] page: &str, #[case] text: &str) {
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.trim_start().trim_start_matches("- run: "))
        .filter(|line| line.starts_with("proofmark "))
        .collect();
    assert!(!lines.is_empty(), "{page} names no command");
    for line in lines {
        let words = words(line);
        let depth = if words[1] == "new" { 3 } else { 2 };
        let help = Command::new(PROOFMARK).args(&words[1..depth]).arg("--help").output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let ours = words.iter().take_while(|word| *word != "--");
        for flag in ours.filter(|word| word.starts_with("--")) {
            assert!(help.contains(flag.as_str()), "{page}: `{flag}` of `{line}`");
        }
        assert!(help.contains("Usage: proofmark"), "{page}: `{line}`");
    }
}

#[rstest]
#[case("typescript", "node", "js", "adapter.mjs", "\"utils.sha256\": notImplemented,\n")]
#[case("python", "python3", "python", "adapter.py", "")]
fn pass_leads_to_a_case_that_passes(
    #[case] kit: &str,
    #[case] program: &str,
    #[case] block: &str,
    #[case] file: &str,
    #[case] stub: &str,
) {
    if !is_there(program) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let commands = blocks(PASS, "sh").concat();
    let mut commands = commands.lines();
    let init = commands.next().unwrap().replace("typescript", kit);
    ends(&typed(folder.path(), &init), 0);
    let adapter = folder.path().join(commands.next().unwrap().strip_prefix("cd ").unwrap());
    ends(&typed(&adapter, commands.next().unwrap()), 0);

    let (import, handler) = blocks(PASS, block)[0].split_once("\n\n").unwrap();
    let text = fs::read_to_string(adapter.join(file)).unwrap();
    let filled = match stub {
        // The function of the same name with its decorator, up to the next one.
        "" => {
            let (head, rest) = text.split_once("@adapter.operation(\"utils.sha256\")").unwrap();
            let (_, tail) = rest.split_once("\n\n\n").unwrap();
            format!("{head}{import}\n\n\n{handler}\n\n{tail}")
        }
        stub => {
            assert!(text.contains(stub), "{text}");
            format!("{import}\n{}", text.replace(stub, handler))
        }
    };
    fs::write(adapter.join(file), filled).unwrap();
    let shown = ends(&typed(&adapter, commands.next().unwrap()), 0);
    assert!(shown.contains(" 0 failed"), "{shown}");
}

#[test]
fn the_adapter_without_a_kit_is_sound_and_passes() {
    if !is_there("node") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("my-adapter.mjs"), blocks(PROTOCOL, "js")[0]).unwrap();
    let commands = blocks(PROTOCOL, "sh").concat();
    let codes: Vec<(&str, i32)> = commands.lines().zip([0, 0, 1]).collect();
    assert_eq!(codes.len(), 3);
    for (line, code) in codes {
        ends(&typed(folder.path(), line), code);
    }
}

/// A promise, a narrative, a run, a golden, in the order of the page and with its text.
#[test]
fn author_leads_to_a_narrative_that_runs() {
    if !is_there("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    let commands: Vec<&str> = blocks(AUTHOR, "sh").into_iter().flat_map(str::lines).collect();
    let find = |start: &str| *commands.iter().find(|line| line.starts_with(start)).unwrap();
    ends(&typed(top, find("proofmark new requirement")), 0);
    let ledger = top.join("spec/fixtures/my.notes/requirements.toml");
    let said = blocks(AUTHOR, "toml")[0];
    let (operations, sentence) = said.split_once("\n\n").unwrap();
    let text = fs::read_to_string(&ledger).unwrap();
    let replaced = |line: &str| match line {
        line if line.starts_with("operations") => operations.trim().to_owned(),
        line if line.starts_with("sentence") => sentence.trim().to_owned(),
        line => line.to_owned(),
    };
    fs::write(&ledger, text.lines().map(|line| replaced(line) + "\n").collect::<String>()).unwrap();
    ends(&typed(top, find("proofmark new feature")), 0);
    fs::write(top.join("spec/features/my.notes/story.feature"), blocks(AUTHOR, "gherkin")[0])
        .unwrap();
    ends(&typed(top, find("proofmark steps it")), 0);
    ends(&typed(top, find("proofmark lint")), 0);
    ends(&typed(top, find("proofmark init")), 0);
    let run = find("proofmark run");
    let shown = ends(&typed(top, run), 1);
    assert!(shown.contains("MISSING notes.add"), "{shown}");

    let adapter = top.join("notes/adapter.py");
    let text = fs::read_to_string(&adapter).unwrap();
    let (head, tail) = text.split_once("# my.notes").unwrap();
    let (_, end) = tail.split_once("# A contract's own error").unwrap();
    let operations = r#"
@adapter.operation("notes.add")
def add(session, args):
    session.state.setdefault("notes", []).append(args["text"])


@adapter.operation("notes.list")
def list_notes(session, args):
    return session.state.get("notes", [])


"#;
    fs::write(&adapter, format!("{head}{operations}# {end}")).unwrap();
    ends(&typed(top, run), 0);

    ends(&typed(top, find("proofmark new fixture")), 0);
    let fixture = top.join("spec/fixtures/my.notes/listing.json");
    let case = r#"{"contract": "my.notes", "topic": "listing", "cases": [{"id": "listing/none", "why": "A fresh list.", "shows": ["NOTES-001"], "origin": "reference", "steps": [{"call": "notes.list", "returns": {"$bless": true}}]}]}"#;
    fs::write(&fixture, case).unwrap();
    let bless = find("proofmark bless").replace(" -- ", " --yes -- ");
    ends(&typed(top, &bless), 0);
    assert!(fs::read_to_string(&fixture).unwrap().contains(r#""returns": []"#));
    ends(&typed(top, run), 0);
    ends(&typed(top, find("proofmark trace --suite")), 0);
}

/// The manifest, the list and the shards of the page, with the reference as the adapter.
#[test]
fn gate_leads_to_a_certificate_that_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    let manifest = blocks(GATE, "toml")[0];
    let command = format!("command = [\"{PROOFMARK}\", \"subject\"]");
    let manifest: String = manifest
        .lines()
        .map(|line| if line.starts_with("command") { command.as_str() } else { line })
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(top.join("proofmark.toml"), manifest).unwrap();
    fs::write(top.join("known-failures.txt"), "# none\n").unwrap();
    fs::create_dir_all(top.join("dist")).unwrap();
    fs::create_dir_all(top.join("parts")).unwrap();
    fs::write(top.join("dist/app.tar.gz"), "an artifact").unwrap();
    // The contracts that the manifest claims, with few inputs of their laws.
    let these = " --contract sage.utils --contract sage.chronicle";
    for line in blocks(GATE, "sh").into_iter().flat_map(str::lines) {
        let command = line.split(" # ").next().unwrap().trim();
        let fewer = match command.split(' ').nth(1) {
            Some("run" | "certify") => format!("{these} --law-cases 2"),
            Some("merge") => these.to_owned(),
            _ => String::new(),
        };
        ends(&typed(top, &(command.to_owned() + &fewer)), 0);
    }
    for made in ["proofmark.xml", "proofmark.html", "certificate/transcript.jsonl", "badge.svg"] {
        assert!(top.join(made).exists(), "{made}");
    }
}

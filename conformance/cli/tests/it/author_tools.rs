//! Tools for spec authors: steps, lint, new, completions, manual pages, and every form of Gherkin.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::PROOFMARK;

use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;

fn proofmark(suite: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(PROOFMARK);
    command.args(args).arg("--suite").arg(suite).env_remove("CI").stdin(Stdio::null());
    command.output().unwrap()
}

#[track_caller]
fn says(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    (out, err)
}

fn plain(args: &[&str]) -> Output {
    Command::new(PROOFMARK).args(args).output().unwrap()
}

#[test]
fn every_step_is_listed_once_and_under_its_contract() {
    let (out, _) = says(&plain(&["steps"]), 0);
    let general = out.find("For any contract\n").unwrap();
    // The first contract that has steps.
    let first = proofmark_catalog::vocabulary()
        .steps()
        .iter()
        .filter_map(|step| step.contract)
        .min()
        .unwrap();
    let first = out.find(&format!("\n{first}\n")).unwrap();
    assert!(general < first);
    for step in proofmark_catalog::vocabulary().steps() {
        let line = format!("\n  {}\n", step.example);
        assert_eq!(out.matches(&line).count(), 1, "{}", step.example);
        assert_eq!(out.find(&line).unwrap() > first, step.contract.is_some(), "{}", step.example);
        assert!(out.contains(step.does));
    }
}

#[rstest]
#[case::a_slip(&["When \"x\" is caled"], "  When \"utils.clock.now\" is called\n")]
#[case::a_failure(&["Then an error EIO is raised"], "  Then it fails with EVALIDATION\n")]
#[case::some_words(&["secret", "value"], "  Given the secret \"API_KEY\" is \"s3cret\"\n")]
fn the_nearest_step_comes_first(#[case] words: &[&str], #[case] first: &str) {
    let args: Vec<&str> = ["steps"].iter().chain(words).copied().collect();
    let (out, _) = says(&plain(&args), 0);
    assert!(out.starts_with(first), "{out}");
}

#[test]
fn the_guide_s_own_words_find_several_steps() {
    let (out, _) = says(&plain(&["steps", "it", "gives", "back"]), 0);
    let found: Vec<&str> = out.lines().filter(|line| line.starts_with("  Then ")).collect();
    assert_eq!(found[..2], ["  Then it returns:", "  Then it returns \"text\""], "{out}");
    let (out, _) = says(&plain(&["steps", "it", "throws", "EVALIDATION"]), 0);
    assert!(out.starts_with("  Then it fails with EVALIDATION\n"), "{out}");
}

#[test]
fn steps_reports_words_that_match_no_step() {
    let (_, err) = says(&plain(&["steps", "xylophone"]), 2);
    assert!(err.contains("no step resembles `xylophone`"), "{err}");
}

#[test]
fn lint_reports_all_problems_as_text_and_as_json() {
    let folder = TempDir::new().unwrap();
    says(&proofmark(folder.path(), &["new", "fixture", "my.notes", "notes"]), 0);
    says(&proofmark(folder.path(), &["new", "feature", "my.notes", "story"]), 0);
    let change = |file: &str, old: &str, new: &str| {
        let path = folder.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(old), "{text}");
        fs::write(path, text.replace(old, new)).unwrap();
    };
    change("fixtures/my.notes/notes.json", "[\"NOTES-001\"]", "[\"NOTES-007\"]");
    change("features/my.notes/story.feature", "it returns null", "it retuns null");
    let (out, _) = says(&proofmark(folder.path(), &["lint"]), 1);
    assert_eq!(
        out,
        r#"error: no step matches `it retuns null`
 --> features/my.notes/story.feature:6:5
  |
6 |     Then it retuns null
  |     ^^^^^^^^^^^^^^^^^^^
  |
  = help: the nearest is `Then it returns "text"`

error: case `notes/say-what-it-shows`: `NOTES-007` is not in the ledger of my.notes (did you mean `NOTES-001`?)
 --> fixtures/my.notes/notes.json:8:17
  |
8 |       "shows": ["NOTES-007"],
  |                 ^^^^^^^^^^^

2 problems
"#
    );
    let (out, _) = says(&proofmark(folder.path(), &["lint", "--format", "json"]), 1);
    let report: Value = serde_json::from_str(&out).unwrap();
    let second = &report["problems"][1];
    assert_eq!(
        (report["holds"].as_bool(), report["problems"].as_array().map(Vec::len)),
        (Some(false), Some(2))
    );
    assert_eq!(
        (&second["line"], &second["column"], &second["endColumn"]),
        (&8.into(), &17.into(), &28.into())
    );
    assert_eq!(report["problems"][0]["fix"], "the nearest is `Then it returns \"text\"`");
    assert_eq!(second["fix"], "did you mean `NOTES-001`?");
}

#[test]
fn files_from_new_lint_clean_at_every_step() {
    let folder = TempDir::new().unwrap();
    let suite = folder.path().join("not/there/yet");
    let clean = |counts: &str| {
        let (out, _) = says(&proofmark(&suite, &["lint"]), 0);
        assert_eq!(out, format!("{counts}: no problem\n"));
    };
    let (out, _) = says(&proofmark(&suite, &["new", "requirement", "my.notes"]), 0);
    let made = suite.join("fixtures/my.notes/requirements.toml");
    assert_eq!(out, format!("wrote {}\n", made.display()), "a path that can be opened");
    clean("1 contract, 1 requirement, 0 cases");
    says(&proofmark(&suite, &["new", "feature", "my.notes", "story"]), 0);
    clean("1 contract, 1 requirement, 1 case");
    let ledger = suite.join("fixtures/my.notes/requirements.toml");
    let text = fs::read_to_string(&ledger).unwrap();
    assert!(!text.contains("excluded"), "{text}");
    // Ids are permanent: the next after 7 is 8, even if 6 is free. Comments stay.
    let odd = format!(
        "# kept\n{}",
        text.replace("NOTES-001", "NOTES-007").replace("must\"", "must\" # why")
    );
    fs::write(&ledger, &odd).unwrap();
    let feature = suite.join("features/my.notes/story.feature");
    fs::write(&feature, fs::read_to_string(&feature).unwrap().replace("001", "007")).unwrap();
    let sentence = "It is \"so\".";
    let args =
        ["new", "requirement", "my.notes", "--sentence", sentence, "--interpretation", "why"];
    says(&proofmark(&suite, &args), 0);
    let text = fs::read_to_string(&ledger).unwrap();
    assert!(text.starts_with(&odd) && text.contains("id = \"NOTES-008\""), "{text}");
    says(&proofmark(&suite, &["new", "fixture", "my.notes", "two"]), 0);
    let fixture = fs::read_to_string(suite.join("fixtures/my.notes/two.json")).unwrap();
    assert!(fixture.contains("\"NOTES-008\""), "the one without a case: {fixture}");
    clean("1 contract, 2 requirements, 2 cases");
    says(&proofmark(&suite, &["new", "requirement", "my.notes"]), 0);
    assert!(fs::read_to_string(&ledger).unwrap().contains("id = \"NOTES-009\""));
    clean("1 contract, 3 requirements, 2 cases");
}

const TOO_LONG: &str = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

#[rstest]
#[case::there_already(&["fixture", "my.notes", "notes"], "already exists; choose another name")]
#[case::climbing(&["fixture", "../x", "notes"], "`../x` is not a contract id; write lower-case words")]
#[case::spaces(&["requirement", "my notes"], "`my notes` is not a contract id")]
#[case::capitals(&["feature", "my.notes", "Story"], "`Story` is not a valid name")]
#[case::folder(&["feature", "my.notes", "a/b"], "`a/b` is not a valid name")]
#[case::long(&["feature", "my.notes", TOO_LONG], "the name has 101 characters; use at most 100")]
#[case::requirement(&["fixture", "my.notes", "b", "--shows", "NOTES-01"], "my.notes has no requirement `NOTES-01` (did you mean `NOTES-001`?)")]
#[case::operation(&["fixture", "my.notes", "b", "--call", "notes.x"], "my.notes has no operation `notes.x`")]
fn new_refuses_and_changes_nothing(#[case] args: &[&str], #[case] shown: &str) {
    let folder = TempDir::new().unwrap();
    says(&proofmark(folder.path(), &["new", "fixture", "my.notes", "notes"]), 0);
    let listing = || {
        let mut found = Vec::new();
        for part in ["fixtures/my.notes", "features"] {
            let Ok(entries) = fs::read_dir(folder.path().join(part)) else { continue };
            for entry in entries {
                let path = entry.unwrap().path();
                found.push((path.clone(), fs::read(path).unwrap_or_default()));
            }
        }
        found.sort();
        found
    };
    let before = listing();
    let args: Vec<&str> = ["new"].iter().chain(args).copied().collect();
    let (out, err) = says(&proofmark(folder.path(), &args), 2);
    assert!(out.is_empty() && err.contains(shown), "{out}{err}");
    assert_eq!(listing(), before);
}

/// Two promises are written before their cases, in an editor that writes CR LF.
#[test]
fn new_works_while_other_requirements_have_no_case() {
    let folder = TempDir::new().unwrap();
    says(&proofmark(folder.path(), &["new", "requirement", "my.notes"]), 0);
    let path = folder.path().join("fixtures/my.notes/requirements.toml");
    let text = fs::read_to_string(&path).unwrap().replace("excluded = \"no case yet\"\n", "");
    let windows = text.replace('\n', "\r\n");
    fs::write(&path, &windows).unwrap();
    says(&proofmark(folder.path(), &["new", "requirement", "my.notes"]), 0);
    let made = fs::read_to_string(&path).unwrap();
    assert!(made.starts_with(&windows) && made.contains("NOTES-002"), "{made:?}");
    assert_eq!(made.matches('\n').count(), made.matches("\r\n").count(), "{made:?}");
    // Any other problem in the ledger is still reported.
    fs::write(&path, windows.replace("NOTES-001", "NOTES-1")).unwrap();
    says(&proofmark(folder.path(), &["new", "requirement", "my.notes"]), 2);
}

#[test]
fn contracts_with_the_same_last_word_get_different_prefixes() {
    let folder = TempDir::new().unwrap();
    for contract in ["sage.my-thing", "other.my-thing", "other-my.thing", "other.my.thing"] {
        says(&proofmark(folder.path(), &["new", "fixture", contract, "notes"]), 0);
        says(&proofmark(folder.path(), &["lint"]), 0);
    }
    let ledger = folder.path().join("fixtures/other.my-thing/requirements.toml");
    assert!(fs::read_to_string(ledger).unwrap().contains("prefix = \"OTHER-MY-THING\""));
}

/// The new requirement gets an id that another ledger already has. Lint reports that in the unchanged ledger.
#[test]
fn new_refuses_changes_that_break_another_file() {
    let folder = TempDir::new().unwrap();
    let ledger =
        |contract: &str| folder.path().join(format!("fixtures/{contract}/requirements.toml"));
    for contract in ["a.one", "b.two"] {
        says(&proofmark(folder.path(), &["new", "requirement", contract]), 0);
    }
    says(&proofmark(folder.path(), &["new", "requirement", "b.two"]), 0);
    let change = |contract: &str, old: &str, new: &str| {
        let text = fs::read_to_string(ledger(contract)).unwrap();
        fs::write(ledger(contract), text.replace(old, new)).unwrap();
    };
    // Both ledgers have the same prefix, but no id twice.
    change("b.two", "TWO", "ONE");
    change("b.two", "ONE-001", "ONE-003");
    says(&proofmark(folder.path(), &["lint"]), 0);
    let before = fs::read_to_string(ledger("a.one")).unwrap();
    let (_, err) = says(&proofmark(folder.path(), &["new", "requirement", "a.one"]), 2);
    assert!(err.contains("id `ONE-002` is already used at fixtures/a.one"), "{err}");
    assert_eq!(fs::read_to_string(ledger("a.one")).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn new_files_respect_the_umask() {
    use std::os::unix::fs::PermissionsExt as _;
    for (umask, mode) in [("077", 0o600), ("002", 0o664)] {
        let folder = TempDir::new().unwrap();
        let script = format!("umask {umask}; exec \"$0\" new requirement a --suite \"$1\"");
        let output = Command::new("sh")
            .args(["-c", &script, PROOFMARK])
            .arg(folder.path())
            .output()
            .unwrap();
        says(&output, 0);
        let made = fs::metadata(folder.path().join("fixtures/a/requirements.toml")).unwrap();
        assert_eq!(made.permissions().mode() & 0o777, mode, "umask {umask}");
    }
}

/// Every form in one story, on the reference.
const STORY: &str = "\u{feff}# language: de\r
@shows:UTILS-017\r
Funktionalität: Jede Form\r
  Worte, | auch | solche.\r
\r
  Grundlage:\r
    Angenommen the clock starts at \"2024-01-01T00:00:00.000Z\" and steps 1000 ms\r
\r
  Regel: Was gilt\r
    Grundlage:\r
      Gegeben sei the random tape has integers 7 and floats 0.5\r
\r
    @id:formen/sterne # Kommentar\r
    Beispiel: Sterne sind Schritte\r
      * \"utils.sha256\" is called with:\r
        ```json\r
        {\"text\": \"\"}\r
        ```\r
      * it returns \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"\r
\r
    @id:formen/zeilen\r
    Szenariogrundriss: <Text>\r
      Wenn these calls are made together:\r
        | call | args |\r
        # Kommentar\r
        | utils.sha256 | {\"text\": \"<Text>\"} |\r
        | utils.sha256 | {\"text\": \"\\\\n\"} |\r
      Und \"utils.sha256\" is called with:\r
        \"\"\"\r
        {\"text\": \"<Text>\"}\r
        \"\"\"\r
      Dann it returns \"<Hash>\"\r
\r
      @eins\r
      Beispiele: mit Worten\r
        Worte.\r
        | Text | Hash |\r
        | \\| | cbe5cfdf7c2118a9c3d78ef1d684f3afa089201352886449a06a6511cfef74a7 |\r
      Beispiele:\r
        | Hash | Text |\r
        | 2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6 | c |\r
";

#[test]
fn any_legal_gherkin_runs() {
    let folder = TempDir::new().unwrap();
    let of = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sage.utils");
    let fixtures = folder.path().join("fixtures/sage.utils");
    fs::create_dir_all(&fixtures).unwrap();
    for entry in fs::read_dir(of).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), fixtures.join(entry.file_name())).unwrap();
    }
    let features = folder.path().join("features/sage.utils");
    fs::create_dir_all(&features).unwrap();
    fs::write(features.join("formen.feature"), STORY).unwrap();
    let args = ["run", "--format", "json", "--case", "formen/**", "reference"];
    let (out, _) = says(&proofmark(folder.path(), &args), 0);
    let report: Value = serde_json::from_str(&out).unwrap();
    let verdicts: Vec<_> = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| (case["case"].as_str().unwrap(), case["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(
        verdicts,
        [
            ("sage.utils/formen/sterne", "passed"),
            ("sage.utils/formen/zeilen/1", "passed"),
            ("sage.utils/formen/zeilen/2", "passed"),
        ]
    );
}

#[test]
fn completions_are_valid_shell_scripts() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (out, _) = says(&plain(&["completions", shell]), 0);
        assert!(out.contains("selftest") && out.contains("bless"), "{shell}");
    }
    let script = plain(&["completions", "bash"]).stdout;
    assert!(common_checks(&["bash", "-n"], &script).is_none_or(|said| said.is_empty()));
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = TempDir::new().unwrap();
    let at = folder.path().to_str().unwrap();
    let (out, _) = says(&plain(&["man", "--out", at]), 0);
    let (help, _) = says(&plain(&["--help"]), 0);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands =
        commands.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("      "));
    let mut pages = 0;
    for command in
        commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help")
    {
        let page = fs::read(folder.path().join(format!("proofmark-{command}.1"))).unwrap();
        let shown = common_checks(&["groff", "-man", "-ww", "-z", "-Tutf8"], &page);
        assert!(shown.as_deref().unwrap_or_default().is_empty(), "{command}: {shown:?}");
        pages += 1;
    }
    assert!(pages > 10 && out.lines().count() == pages + 1, "{out}");
    assert!(says(&plain(&["man"]), 0).0.contains(".SH NAME\nproofmark"));
}

/// The output of a checker for a text, if it is installed.
fn common_checks(command: &[&str], text: &[u8]) -> Option<String> {
    use std::io::Write as _;
    let child = Command::new(command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.ok()?;
    child.stdin.take().unwrap().write_all(text).unwrap();
    let output = child.wait_with_output().unwrap();
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

//! Reports in CI: files, exit codes, and GitHub output.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{PROOFMARK, Said};
use assert_cmd::Command;
use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;

/// Runs in a temporary folder, without the CI variables of this test run.
fn proofmark_in(folder: &Path, args: &[&str], variables: &[(&str, &str)]) -> Said {
    let mut program = Command::new(PROOFMARK);
    program
        .args(args)
        .current_dir(folder)
        .env_remove("GITHUB_ACTIONS")
        .env_remove("GITHUB_STEP_SUMMARY");
    program.envs(variables.iter().copied());
    let output = program.output().unwrap();
    Said::of(output)
}

const FEW: &[&str] = &[
    "run",
    "--case",
    "sage.utils/sha256/*",
    "--case",
    "sage.chronicle/tail/*",
    "--law-cases",
    "3",
];

/// A few cases, some of which the saboteur fails.
fn few<'a>(further: &[&'a str], subject: &[&'a str]) -> Vec<&'a str> {
    [FEW, further, subject].concat()
}

const REFERENCE: &[&str] = &["reference"];
const SABOTEUR: &[&str] = &["--", PROOFMARK, "subject", "--adversary", "tail-from-the-head"];

fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

#[rstest]
#[case::passing(REFERENCE, 0)]
#[case::failing(SABOTEUR, 1)]
fn every_report_is_written_whatever_the_verdict(#[case] subject: &[&str], #[case] code: i32) {
    let folder = TempDir::new().unwrap();
    let reports = [
        "--report",
        "json=a.json",
        "--report",
        "junit=a.xml",
        "--report",
        "tap=a.tap",
        "--report",
        "html=a.html",
        "--report",
        "markdown=a.md",
    ];
    let said = proofmark_in(folder.path(), &few(&reports, subject), &[]);
    assert_eq!(said.code, Some(code), "{}", said.err);
    assert!(said.out.contains(" passed, "), "stdout is as ever: {}", said.out);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let report: Value = serde_json::from_str(&read("a.json")).unwrap();
    assert_eq!(report["holds"], code == 0);
    let failed = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case["verdict"] == "failed")
        .count();
    assert_eq!(failed > 0, code == 1);
    let xml = read("a.xml");
    let xml = roxmltree::Document::parse(&xml).unwrap();
    assert_eq!(xml.root_element().attribute("failures"), Some(failed.to_string().as_str()));
    assert_eq!(read("a.tap").matches("\nnot ok ").count(), failed);
    assert_eq!(read("a.html").matches("class=\"failure\"").count(), failed);
    assert!(read("a.md").starts_with("## Proofmark: "));
    assert_eq!(names(folder.path()).len(), 5, "nothing else is left");
}

/// Reports that cannot be written are rejected before the run.
#[rstest]
#[case("json=a/folder/b.json", "cannot use its folder `a/folder`: Not a directory")]
#[case("json=folder", "`folder`: it is a folder; name a file in it")]
#[case("json=folder/", "it is a folder")]
#[case("json=new/", "does not end in a file name")]
#[case("json=/dev/null", "not a regular file")]
#[case("json=a/b.json", "`a` is not a folder")]
#[case("json=dangling", "a dangling symbolic link")]
#[case("json=-", "use `--format` for stdout")]
#[case("json=", "no file name after `=`")]
#[case("pdf=a.pdf", "unknown report format `pdf`; use `json`")]
#[case("a.json", "write FORMAT=FILE")]
fn unwritable_reports_are_rejected_before_the_run(#[case] report: &str, #[case] shown: &str) {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    fs::write(folder.path().join("a"), "a file").unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("dangling")).unwrap();
    let before = names(folder.path());
    let touch = folder.path().join("ran");
    let said = proofmark_in(
        folder.path(),
        &few(&["--report", report], &["--", "touch", touch.to_str().unwrap()]),
        &[],
    );
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.err);
    assert!(said.err.contains(shown), "{}", said.err);
    assert_eq!(names(folder.path()), before, "nothing ran, and nothing is left");
}

#[test]
fn two_reports_do_not_share_a_file() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a"), "what was there").unwrap();
    std::os::unix::fs::symlink("a", folder.path().join("b")).unwrap();
    let both = ["--report", "json=a", "--report", "tap=./b"];
    let said = proofmark_in(folder.path(), &few(&both, REFERENCE), &[]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("`./b`: two reports would go to this file"), "{}", said.err);
    assert_eq!(fs::read_to_string(folder.path().join("a")).unwrap(), "what was there");
}

/// A typo must not overwrite a key with a report.
#[test]
fn a_report_never_overwrites_a_file_of_the_run() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert_eq!(proofmark_in(folder.path(), &["keygen", "--out", "key"], &[]).code, Some(0));
    let manifest = format!("[subject]\ncommand = [\"{PROOFMARK}\", \"subject\"]\n");
    fs::write(at("proofmark.toml"), manifest).unwrap();
    fs::write(at("known.txt"), "# none\n").unwrap();
    fs::write(at("app"), "an artifact").unwrap();
    std::os::unix::fs::symlink("key", at("link")).unwrap();
    let few = ["--contract", "sage.errors", "--law-cases", "2"];
    let run = |command: &str, more: &[&str]| {
        proofmark_in(folder.path(), &[&[command][..], more, &few].concat(), &[])
    };
    assert_eq!(run("run", &["--record", "parts/1.jsonl"]).code, Some(0));
    let issue = ["--out", "out", "--sign", "key", "--artifact", "app"];
    assert_eq!(run("certify", &issue).code, Some(0));
    let before = names(folder.path());
    let check = |command: &str, more: &[&str], file: &str, shown: &str| {
        let bytes = fs::read(at(file)).unwrap();
        let said = run(command, &[more, &["--report", &format!("json={file}")]].concat());
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{file}: {}", said.err);
        assert!(said.err.contains(&format!("it is {shown} of this run")), "{}", said.err);
        assert_eq!(fs::read(at(file)).unwrap(), bytes, "{file}");
    };
    check("certify", &issue, "link", "the key");
    check("certify", &issue, "app", "an artifact");
    check("certify", &issue, "out/certificate.json", "the certificate");
    check("certify", &issue, "out/transcript.jsonl", "the transcript");
    check("run", &[], "proofmark.toml", "the manifest");
    check("run", &["--known-failures", "known.txt"], "known.txt", "the list of known failures");
    check("run", &["--record", "parts/1.jsonl"], "parts/1.jsonl", "the record");
    let merge = ["merge", "parts", "--contract", "sage.errors", "--report", "tap=parts/1.jsonl"];
    let said = proofmark_in(folder.path(), &merge, &[]);
    assert!(said.err.contains("it is a part of this run"), "{}", said.err);
    assert_eq!(names(folder.path()), before);
    // A missing folder is created, as for a record.
    assert_eq!(run("run", &["--report", "json=new/deep/a.json"]).code, Some(0));
    assert!(at("new/deep/a.json").exists());
}

/// The folder vanishes during the run: the report is lost, and the error says so.
#[test]
fn a_lost_report_gives_no_verdict() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("gone")).unwrap();
    let script = format!("rm -rf gone; exec {PROOFMARK} subject");
    let reports = ["--jobs", "1", "--report", "json=gone/a.json", "--report", "tap=a.tap"];
    let said = proofmark_in(folder.path(), &few(&reports, &["--", "sh", "-c", &script]), &[]);
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(
        said.err.contains("the report cannot be written to `")
            && said.err.contains("gone/a.json`: No such file"),
        "{}",
        said.err
    );
    assert!(folder.path().join("a.tap").exists(), "the other one is written");
    assert!(said.out.contains(" passed, "), "{}", said.out);
}

#[test]
fn stdout_supports_other_formats() {
    let folder = TempDir::new().unwrap();
    let tap = proofmark_in(folder.path(), &few(&["--format", "tap"], SABOTEUR), &[]);
    assert_eq!(tap.code, Some(1));
    assert!(tap.out.starts_with("TAP version 14\n1.."), "{}", tap.out);
    let junit = proofmark_in(folder.path(), &few(&["--format", "junit"], REFERENCE), &[]);
    assert_eq!(junit.code, Some(0));
    roxmltree::Document::parse(&junit.out).unwrap();
}

/// A run without a verdict leaves an annotation.
#[test]
fn github_shows_why_there_is_no_verdict() {
    let folder = TempDir::new().unwrap();
    let on = [("GITHUB_ACTIONS", "true")];
    let said = proofmark_in(folder.path(), &["run", "--case", "no/such", "reference"], &on);
    assert_eq!(said.code, Some(2));
    assert!(
        said.err.contains("::error title=proofmark has no verdict::no case matches"),
        "{}",
        said.err
    );
    let on = [("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", ".")];
    let said = proofmark_in(folder.path(), &few(&[], REFERENCE), &on);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""));
    assert!(said.err.contains("`GITHUB_STEP_SUMMARY` names it"), "{}", said.err);
}

#[test]
fn github_gets_annotations_and_a_summary() {
    let folder = TempDir::new().unwrap();
    let summary = folder.path().join("summary.md");
    fs::write(&summary, "what another step wrote\n").unwrap();
    let at = summary.to_str().unwrap();
    let variables = [("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", at)];
    let said = proofmark_in(folder.path(), &few(&[], SABOTEUR), &variables);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("\n::error title=CHRONICLE-"), "{}", said.err);
    assert!(!said.out.contains("::error"), "{}", said.out);
    let shown = fs::read_to_string(&summary).unwrap();
    assert!(
        shown.starts_with("what another step wrote\n## Proofmark: ❌ not all cases passed"),
        "{shown}"
    );
    // Not requested, or switched off.
    for (further, variables) in
        [(&[][..], &[("GITHUB_STEP_SUMMARY", at)][..]), (&["--no-github"], &variables)]
    {
        let said = proofmark_in(folder.path(), &few(further, SABOTEUR), variables);
        assert!(!said.err.contains("::error"), "{}", said.err);
    }
    assert_eq!(fs::read_to_string(&summary).unwrap(), shown);
    let said = proofmark_in(folder.path(), &few(&["--github"], SABOTEUR), &[]);
    assert!(said.err.contains("\n::error "), "{}", said.err);
}

/// A subject prints what the runner would take for a command.
#[rstest]
#[case("human")]
#[case("json")]
#[case("junit")]
#[case("tap")]
fn subjects_cannot_inject_github_commands(#[case] format: &str) {
    let folder = TempDir::new().unwrap();
    let script = "echo '::add-mask::a' >&2; echo '##[error]b' >&2; echo '  ::error file=x::later' >&2; echo '::set-env name=A::##[add-mask]c'; cat >/dev/null";
    let args = [
        "run",
        "--case",
        "sage.utils/sha256/the-example",
        "--jobs",
        "1",
        "--format",
        format,
        "--",
        "sh",
        "-c",
        script,
    ];
    let said = proofmark_in(folder.path(), &args, &[("GITHUB_ACTIONS", "true")]);
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("add-mask"), "it is shown: {}", said.out);
    let command = |line: &&str| line.trim_start().starts_with("::") || line.contains("##[");
    assert_eq!(said.out.lines().find(command), None, "{}", said.out);
    let ours = |line: &&str| line.starts_with("::error ");
    assert_eq!(said.err.lines().filter(|line| !ours(line)).find(command), None, "{}", said.err);
    match format {
        "json" => drop(serde_json::from_str::<Value>(&said.out).unwrap()),
        "junit" => drop(roxmltree::Document::parse(&said.out).unwrap()),
        _ => {}
    }
}

/// A log contains only text, whatever a subject prints.
#[test]
fn a_log_has_no_control_characters() {
    let folder = TempDir::new().unwrap();
    let script =
        r"printf '\033[31mred\007\r over\n' >&2; printf '\033]0;title\007\n'; cat >/dev/null";
    let args =
        ["run", "--case", "sage.utils/sha256/the-example", "--jobs", "1", "--", "sh", "-c", script];
    let said = proofmark_in(folder.path(), &args, &[]);
    assert!(said.out.contains(r"\u001b[31mred\u0007"), "{}", said.out);
    for text in [&said.out, &said.err] {
        assert!(!text.contains(|letter: char| letter.is_control() && letter != '\n'), "{text:?}");
    }
}

fn schema() -> jsonschema::Validator {
    let said = proofmark_in(Path::new("."), &["schema", "report"], &[]);
    assert_eq!(said.code, Some(0));
    jsonschema::draft202012::new(&serde_json::from_str(&said.out).unwrap()).unwrap()
}

/// Reports of real runs, with many kinds of failures, match the schema.
#[test]
fn real_reports_fit_the_schema() {
    let schema = schema();
    let check = |args: &[&str]| {
        let said = proofmark_in(Path::new("."), args, &[]);
        let report: Value =
            serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{args:?}: {}", said.err));
        let faults: Vec<String> = schema
            .iter_errors(&report)
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{args:?}: {faults:#?}");
    };
    check(&["certify", "--law-cases", "2", "--format", "json", "reference"]);
    check(&[
        "certify",
        "--law-cases",
        "5",
        "--format",
        "json",
        "--",
        PROOFMARK,
        "subject",
        "--adversary",
        "tail-from-the-head",
    ]);
    for adversary in [
        "exits-on-call",
        "garbage-on-call",
        "answers-twice",
        "implements-nothing",
        "no-reply",
        "floods-stderr",
        "accepts-with-an-object",
        "rejects-with-everything",
        "leaves-its-group",
        "never-greets",
    ] {
        let how = [
            "run",
            "--case",
            "sage.utils/sha256/the-*",
            "--jobs",
            "1",
            "--format",
            "json",
            "--timeout",
            "500",
            "--start-timeout",
            "500",
        ];
        check(&[&how[..], &["--", PROOFMARK, "subject", "--adversary", adversary]].concat());
    }
    check(&few(&["--format", "json"], &["--", "true"]));
}

/// An interrupted run leaves its reports too.
#[test]
fn an_interrupted_run_leaves_its_reports() {
    let folder = TempDir::new().unwrap();
    // The subject interrupts the harness after `hello`.
    let script = "read hello; kill -INT $PPID; read more";
    let said = proofmark_in(
        folder.path(),
        &few(
            &["--jobs", "1", "--report", "json=a.json", "--report", "tap=a.tap"],
            &["--", "sh", "-c", script],
        ),
        &[],
    );
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(said.err.contains("interrupted"), "{}", said.err);
    let report: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("a.json")).unwrap()).unwrap();
    assert_eq!(report["interrupted"], true);
    assert!(schema().is_valid(&report));
    assert!(
        fs::read_to_string(folder.path().join("a.tap")).unwrap().contains("\nBail out! "),
        "a run that did not end"
    );
}

//! The temporary workspace on the real disk.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use proofmark_fakes::workspace::{GoldenError, TempWorkspace, Tree, WorkspaceError};
use rstest::rstest;

fn workspace() -> TempWorkspace {
    TempWorkspace::new("fakes-").expect("a new workspace")
}

fn tree<const N: usize>(entries: [(&str, &str); N]) -> Tree {
    entries.map(|(path, text)| (path.to_owned(), text.to_owned())).into()
}

#[track_caller]
fn check_io<T: std::fmt::Debug>(result: Result<T, WorkspaceError>, expect: ErrorKind) {
    match result {
        Err(WorkspaceError::Io { source, .. }) => assert_eq!(source.kind(), expect),
        other => panic!("expected an I/O error, got {other:?}"),
    }
}

#[test]
fn written_files_are_read_and_listed() {
    let ws = workspace();
    ws.file("src/deep/a.sage", "one\n").unwrap();
    ws.file("b", "").unwrap();
    ws.file("src/deep/a.sage", "two\r\n\u{1F600}").unwrap();
    ws.folder("empty/inner").unwrap();
    ws.folder("src").unwrap();
    ws.file("../outside/c", "not ours").unwrap();
    assert_eq!(ws.read("src/deep/a.sage").unwrap(), "two\r\n\u{1F600}");
    assert_eq!(ws.read("../outside/c").unwrap(), "not ours");
    assert_eq!(fs::read_to_string(ws.root().join("../outside/c")).unwrap(), "not ours");
    assert_eq!(
        ws.tree().unwrap(),
        tree([("b", ""), ("empty/inner/", ""), ("src/deep/a.sage", "two\r\n\u{1F600}")])
    );
}

#[test]
fn a_new_workspace_is_empty_and_outside_is_beside_it() {
    let ws = workspace();
    assert_eq!(ws.tree().unwrap(), Tree::new());
    assert!(ws.root().is_absolute() && ws.root().is_dir());
    assert!(ws.root().with_file_name("outside").is_dir());
    assert_ne!(ws.root(), workspace().root());
}

#[test]
fn a_folder_beside_may_have_a_name_that_begins_as_the_workspaces_does() {
    let ws = workspace();
    ws.file("../workspace-evil/o/a.txt", "theirs").unwrap();
    assert_eq!(ws.read("../workspace-evil/o/a.txt").unwrap(), "theirs");
    assert!(ws.root().with_file_name("workspace-evil").is_dir());
    ws.symlink("link", "../workspace-evil/o").unwrap();
    assert!(!ws.exists("../workspace-good/a.txt").unwrap());
}

#[rstest]
#[case("")]
#[case("/etc/passwd")]
#[case("..")]
#[case("../x")]
#[case("../outsider")]
#[case("../workspace/a")]
#[case("../workspace-/a")]
#[case("../workspace-B/a")]
#[case("../outside/")]
#[case("../outside/../x")]
#[case("a/../b")]
#[case("./a")]
#[case("a//b")]
#[case("a/")]
#[case("a\0b")]
fn a_path_that_could_leave_is_refused(#[case] path: &str) {
    let ws = workspace();
    let refusals = [
        ws.file(path, "x").err(),
        ws.folder(path).err(),
        ws.symlink(path, "a").err(),
        ws.read(path).err(),
        ws.exists(path).err(),
    ];
    for refusal in refusals {
        let refusal = refusal.expect("refused");
        assert!(
            matches!(&refusal, WorkspaceError::BadPath { path: found } if found == path),
            "{refusal}"
        );
    }
    assert_eq!(ws.tree().unwrap(), Tree::new());
}

#[rstest]
#[case("")]
#[case("/etc")]
#[case("..")]
#[case("../..")]
#[case("../../../../etc")]
#[case("../elsewhere")]
fn a_symlink_that_would_leave_is_refused(#[case] target: &str) {
    let refusal = workspace().symlink("link", target).unwrap_err();
    assert!(
        matches!(&refusal, WorkspaceError::BadTarget { target: found } if found == target),
        "{refusal}"
    );
}

#[test]
fn symlinks_lead_around_inside() {
    let ws = workspace();
    ws.file("../outside/b", "beside").unwrap();
    ws.symlink("link", "../outside").unwrap();
    ws.symlink("deep/up", "../a").unwrap();
    ws.symlink("loop", "loop").unwrap();
    ws.file("a", "text").unwrap();
    assert_eq!(ws.read("link/b").unwrap(), "beside");
    assert_eq!(ws.read("deep/up").unwrap(), "text");
    let looped = ws.read("loop").unwrap_err();
    assert!(
        matches!(&looped, WorkspaceError::Io { source, .. }
            if source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())),
        "{looped}"
    );
    assert_eq!(
        ws.tree().unwrap(),
        tree([("a", "text"), ("deep/up@", "../a"), ("link@", "../outside"), ("loop@", "loop")])
    );
}

#[test]
fn a_symlink_that_a_subject_made_is_not_followed_out() {
    let ws = workspace();
    let prey = tempfile::NamedTempFile::new().unwrap();
    fs::write(prey.path(), "untouched").unwrap();
    std::os::unix::fs::symlink(prey.path(), ws.root().join("file")).unwrap();
    std::os::unix::fs::symlink("/", ws.root().join("folder")).unwrap();
    assert!(ws.read("file").is_err());
    assert!(ws.file("file", "overwritten").is_err());
    assert!(ws.read(&format!("folder{}", prey.path().display())).is_err());
    assert!(ws.folder("folder/made-by-a-test").is_err());
    assert!(ws.exists("file").unwrap());
    assert_eq!(ws.tree().unwrap().get("folder@").map(String::as_str), Some("/"));
    ws.close().unwrap();
    assert_eq!(fs::read_to_string(prey.path()).unwrap(), "untouched");
}

#[test]
fn unreadable_files_say_why() {
    let ws = workspace();
    ws.folder("folder").unwrap();
    ws.file("file", "").unwrap();
    check_io(ws.read("missing"), ErrorKind::NotFound);
    check_io(ws.read("folder"), ErrorKind::IsADirectory);
    check_io(ws.file("folder", "x"), ErrorKind::IsADirectory);
    check_io(ws.read("file/below"), ErrorKind::NotADirectory);
    fs::write(ws.root().join("bytes"), b"ab\xFF").unwrap();
    for refusal in [ws.read("bytes").unwrap_err(), ws.tree().unwrap_err()] {
        assert_eq!(refusal.to_string(), "the file `bytes` is not UTF-8 from byte 2 on");
    }
}

#[test]
fn a_pipe_or_an_endless_file_does_not_hang() {
    let ws = workspace();
    let pipe = ws.root().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    assert!(ws.read("pipe").is_err());
    assert!(ws.file("pipe", "x").is_err());
    assert!(ws.tree().is_err());
    fs::remove_file(pipe).unwrap();
    fs::File::create(ws.root().join("huge")).unwrap().set_len(1 << 40).unwrap();
    check_io(ws.read("huge"), ErrorKind::FileTooLarge);
    check_io(ws.tree(), ErrorKind::FileTooLarge);
}

#[test]
fn existing_means_having_the_path() {
    let ws = workspace();
    ws.file("a", "").unwrap();
    ws.symlink("dangling", "nowhere").unwrap();
    for (path, expect) in [("a", true), ("dangling", true), ("nowhere", false), ("a/b", false)] {
        assert_eq!(ws.exists(path).unwrap(), expect, "{path}");
    }
    assert!(ws.exists("../outside").unwrap());
}

#[rstest]
#[case(tree([("a", "1\n2\n"), ("b", "")]), "equal")]
#[case(tree([("a", "1\n2\n")]), "`b` should not be there")]
#[case(tree([("0", ""), ("a", "1\n2\n"), ("b", "")]), "`0` is missing")]
#[case(tree([("a", "1\n3\n"), ("b", "x")]), r#"`a` differs at line 2: expected "3\n", found "2\n""#)]
#[case(tree([("a", "1\n2"), ("b", "")]), r#"`a` differs at line 2: expected "2", found "2\n""#)]
#[case(tree([("a", "1\n"), ("b", "")]), r#"`a` differs at line 2: expected "", found "2\n""#)]
#[case(tree([("a", "1\r\n2\n"), ("b", "")]), r#"`a` differs at line 1: expected "1\r\n", found "1\n""#)]
fn golden_reports_the_first_difference(#[case] expected: Tree, #[case] found: &str) {
    let ws = workspace();
    ws.file("a", "1\n2\n").unwrap();
    ws.file("b", "").unwrap();
    let got = ws
        .golden(&expected)
        .map_or_else(|error: GoldenError| error.to_string(), |()| "equal".to_owned());
    assert_eq!(got, found);
}

fn fill(ws: &TempWorkspace) -> std::path::PathBuf {
    ws.file("deep/a", "x").expect("it is writable");
    ws.file("../outside/b", "x").expect("it is writable");
    ws.symlink("link", "../outside").expect("it is writable");
    ws.root().parent().map(Path::to_owned).expect("it has a parent")
}

#[test]
fn it_vanishes_when_closed_and_when_dropped() {
    let ws = workspace();
    let base = fill(&ws);
    ws.close().unwrap();
    assert!(!base.exists());

    let ws = workspace();
    let base = fill(&ws);
    drop(ws);
    assert!(!base.exists());
}

#[test]
fn it_vanishes_though_a_subject_locked_or_removed_it() {
    use std::os::unix::fs::PermissionsExt;
    let ws = workspace();
    let base = fill(&ws);
    for folder in ["deep", ""] {
        fs::set_permissions(ws.root().join(folder), fs::Permissions::from_mode(0o000)).unwrap();
    }
    ws.close().unwrap();
    assert!(!base.exists());

    let ws = workspace();
    fs::remove_dir_all(fill(&ws)).unwrap();
    ws.close().unwrap();
}

#[test]
fn a_prefix_is_part_of_the_name() {
    let ws = TempWorkspace::new("spéc ial-").unwrap();
    let base = ws.root().parent().and_then(Path::file_name).unwrap().to_string_lossy();
    assert!(base.starts_with("spéc ial-"), "{base}");
    for prefix in ["../x", "a/b", "/", "a\0"] {
        let refusal = TempWorkspace::new(prefix).unwrap_err();
        assert!(matches!(refusal, WorkspaceError::BadPrefix { .. }), "{prefix:?}: {refusal}");
    }
    check_io(TempWorkspace::new(&"x".repeat(300)), ErrorKind::InvalidFilename);
}

#[test]
fn it_is_created_in_the_given_parent() {
    let parent = tempfile::tempdir().unwrap();
    let ws = TempWorkspace::new_in(parent.path(), "w").unwrap();
    assert!(ws.root().starts_with(parent.path()));
    ws.close().unwrap();
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    check_io(TempWorkspace::new_in(&parent.path().join("gone"), "w"), ErrorKind::NotFound);
}

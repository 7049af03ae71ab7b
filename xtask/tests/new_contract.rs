//! Follows the maintainers' page about new contracts literally, in a copy of the repository.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The commands in the page's first code block.
fn commands(page: &str) -> Vec<&str> {
    let block = page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next());
    block.unwrap_or_default().lines().collect()
}

/// Runs a command in a folder and waits for it.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|fault| panic!("{command:?}: {fault}"));
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{command:?} ended with {}:\n{text}", output.status);
    text
}

/// Copies all tracked files with their modification times, so that cargo reuses the existing build.
fn copy(top: &Path, to: &Path) {
    let listed =
        run(Command::new("git").args(["ls-files", "-co", "--exclude-standard"]).current_dir(top));
    let files: Vec<&str> = listed.lines().filter(|path| top.join(path).is_file()).collect();
    for file in files {
        let target = to.join(file);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        keep_times(&top.join(file), &target);
    }
}

/// Copies a file with its modification time, which cargo compares.
fn keep_times(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap();
    let modified = from.metadata().unwrap().modified().unwrap();
    fs::File::options().write(true).open(to).unwrap().set_modified(modified).unwrap();
}

/// Seeds the copy's build with an existing one. Libraries are hard-linked, because rustc replaces them. Everything
/// that is written in place is copied, or the new build would spoil the old one.
fn go_on_from(built: &Path, to: &Path) {
    for folder in [".fingerprint", "build"] {
        fs::create_dir_all(to).unwrap();
        run(Command::new("cp").arg("--archive").arg(built.join(folder)).arg(to));
    }
    fs::create_dir_all(to.join("deps")).unwrap();
    for entry in fs::read_dir(built.join("deps")).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join("deps").join(entry.file_name()));
        match from.extension().and_then(|end| end.to_str()) {
            Some("rlib" | "rmeta" | "so") => fs::hard_link(from, to).unwrap(),
            Some("d") => keep_times(&from, &to),
            _ => {}
        }
    }
}

#[test]
fn the_page_leads_to_a_contract_that_is_certified() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let built: PathBuf = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned();
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let repository = scratch.path().join("repository");
    copy(&top, &repository);
    let target = scratch.path().join("target");
    fs::create_dir(&target).unwrap();
    let profile = target.join(built.file_name().unwrap());
    go_on_from(&built, &profile);
    let page = fs::read_to_string(repository.join("conformance/contracts/README.md")).unwrap();
    let commands = commands(&page);
    assert_eq!(commands.len(), 5, "{commands:?}");
    for line in commands {
        let mut words = line.split_whitespace();
        let mut command = match words.next() {
            // The alias would build xtask alone, and rebuild its dependencies with fewer features.
            Some("cargo") if line.starts_with("cargo xtask ") => {
                words.next();
                Command::new(env!("CARGO_BIN_EXE_xtask"))
            }
            Some("cargo") => Command::new(env!("CARGO")),
            Some("proofmark") => Command::new(profile.join("proofmark")),
            other => panic!("{other:?} is no program that the page may use"),
        };
        // The same features as the linked build: those of the whole workspace and its tests.
        let whole = if line.starts_with("cargo build") {
            &["--workspace", "--test", "inputs"][..]
        } else {
            &[]
        };
        command
            .args(words)
            .args(whole)
            .current_dir(&repository)
            .env("CARGO_TARGET_DIR", &target)
            .env("CARGO_NET_OFFLINE", "true")
            .env_remove("CARGO_MANIFEST_DIR");
        let text = run(&mut command);
        if line.contains("certify") {
            assert!(
                text.contains("1 passed, 0 failed") && text.contains("certified: my.notes"),
                "{text}"
            );
        }
    }
}

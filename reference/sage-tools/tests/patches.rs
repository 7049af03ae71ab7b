//! Edit held against `git apply`, on patches that are made from seeds, right and wrong.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

mod lab;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use lab::Lab;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use serde_json::json;

const PATCHES: u64 = 600;

struct Dice(ChaCha8Rng);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.0.next_u64() % u64::try_from(end).unwrap()).unwrap()
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// Few words, so that lines repeat and places are ambiguous.
    fn line(&mut self) -> String {
        let words =
            ["a", "b", "c", "", "  x", "ü", "}", "\t", "end", "@@ -1 +1 @@", "--- a", "+++ b"];
        let number = if self.chance(2) { self.below(40).to_string() } else { String::new() };
        format!("{}{number}", words[self.below(words.len())])
    }

    fn lines(&mut self, most: usize) -> Vec<String> {
        (0..self.below(most + 1)).map(|_| self.line()).collect()
    }
}

fn text(lines: &[String], end: &str, is_finished: bool) -> String {
    let mut text = lines.iter().map(|line| format!("{line}{end}")).collect::<String>();
    if !is_finished && text.ends_with('\n') {
        text.truncate(text.len() - end.len());
    }
    text
}

fn edited(dice: &mut Dice, lines: &[String]) -> Vec<String> {
    let mut lines = lines.to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(lines.len() + 1);
        match dice.below(3) {
            0 => lines.insert(at, dice.line()),
            1 if at < lines.len() => lines[at] = dice.line(),
            _ if at < lines.len() => drop(lines.remove(at)),
            _ => lines.push(dice.line()),
        }
    }
    lines
}

/// The difference according to git.
fn diff(folder: &Path, old: &str, new: &str, context: usize) -> String {
    fs::write(folder.join("old"), old).unwrap();
    fs::write(folder.join("new"), new).unwrap();
    let output = Command::new("git")
        .args(["diff", "--no-index", "--no-color", &format!("-U{context}"), "old", "new"])
        .current_dir(folder)
        .output()
        .unwrap();
    // The names are git's business; only the hunks are ours.
    let printed = String::from_utf8(output.stdout).unwrap();
    match printed.find("\n--- ") {
        Some(start) => {
            let hunks = &printed[start + 1..];
            let hunks = &hunks[hunks.find("\n@@").map_or(0, |at| at + 1)..];
            format!("--- a/file\n+++ b/file\n{hunks}")
        }
        None => String::new(),
    }
}

/// A patch that somebody mangled.
fn mangled(dice: &mut Dice, patch: &str) -> String {
    let mut lines: Vec<String> = patch.split_inclusive('\n').map(str::to_owned).collect();
    let at = 2 + dice.below(lines.len().saturating_sub(2).max(1));
    match dice.below(7) {
        0 if at < lines.len() => drop(lines.remove(at)),
        1 if at < lines.len() => lines[at] = lines[at].to_uppercase(),
        2 => lines.truncate(at),
        3 if at < lines.len() => {
            let copy = lines[at].clone();
            lines.insert(at, copy);
        }
        4 if at < lines.len() => lines[at].insert(0, '?'),
        5 if at < lines.len() => lines[at] = lines[at].replace('-', "+"),
        _ => return patch[..dice.below(patch.len().max(1)).max(1)].to_owned(),
    }
    lines.concat()
}

/// The file after `git apply`, or `None` when it refuses. A file that is gone is `Some(None)`.
fn git_apply(folder: &Path, file: Option<&[u8]>, patch: &str) -> Option<Option<Vec<u8>>> {
    let path = folder.join("file");
    let _absent = fs::remove_file(&path);
    if let Some(content) = file {
        fs::write(&path, content).unwrap();
    }
    fs::write(folder.join("patch"), patch).unwrap();
    let status = Command::new("git")
        .args(["apply", "--whitespace=nowarn", "--no-recount", "-p1", "patch"])
        .current_dir(folder)
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    status.success().then(|| fs::read(&path).ok())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    Fitting,
    Shifted,
    NoContext,
    Broken,
    Creation,
    Deletion,
}

struct Made {
    sort: Sort,
    file: Option<String>,
    patch: String,
}

fn make(dice: &mut Dice, folder: &Path) -> Option<Made> {
    let end = if dice.chance(4) { "\r\n" } else { "\n" };
    let finished = [!dice.chance(4), !dice.chance(4)];
    let old_lines = dice.lines(40);
    let new_lines = edited(dice, &old_lines);
    let (old, new) = (text(&old_lines, end, finished[0]), text(&new_lines, end, finished[1]));
    let sort = [
        Sort::Fitting,
        Sort::Shifted,
        Sort::Shifted,
        Sort::NoContext,
        Sort::Broken,
        Sort::Broken,
        Sort::Creation,
        Sort::Deletion,
    ][dice.below(8)];
    let context = [3, 3, 1, 2][dice.below(4)];
    let made = match sort {
        Sort::Creation | Sort::Deletion => {
            let (from, to) =
                if sort == Sort::Creation { ("", new.as_str()) } else { (old.as_str(), "") };
            let patch = diff(folder, from, to, 3);
            let patch = if sort == Sort::Creation {
                patch.replacen("--- a/file", "--- /dev/null", 1)
            } else {
                patch.replacen("+++ b/file", "+++ /dev/null", 1)
            };
            let wrong = dice.chance(4);
            let file = match (sort, wrong) {
                (Sort::Creation, false) => None,
                (Sort::Creation, true) => Some(text(&dice.lines(3), end, true)),
                (_, false) => Some(old),
                (_, true) => Some(format!("{old}more{end}")),
            };
            Made { sort, file, patch }
        }
        Sort::NoContext => Made { sort, patch: diff(folder, &old, &new, 0), file: Some(old) },
        Sort::Fitting => Made { sort, patch: diff(folder, &old, &new, context), file: Some(old) },
        Sort::Shifted => {
            let patch = diff(folder, &old, &new, context);
            let mut lines = dice.lines(6);
            let middle = dice.below(old_lines.len() + 1);
            lines.extend_from_slice(&old_lines[..middle]);
            lines.extend(dice.lines(4));
            lines.extend_from_slice(&old_lines[middle..]);
            if dice.chance(3) {
                lines.extend(dice.lines(4));
            }
            Made { sort, patch, file: Some(text(&lines, end, finished[0])) }
        }
        Sort::Broken => {
            let patch = diff(folder, &old, &new, context);
            let patch = if patch.is_empty() { patch } else { mangled(dice, &patch) };
            Made { sort, patch, file: Some(old) }
        }
    };
    (!made.patch.is_empty()).then_some(made)
}

/// Where git and the text disagree, and we go by the text.
fn is_known(
    made: &Made,
    git: Option<&Option<Vec<u8>>>,
    ours: Option<&Option<Vec<u8>>>,
) -> Option<&'static str> {
    // New and deleted files have no context, and nobody disagrees about them.
    let is_whole = matches!(made.sort, Sort::Creation | Sort::Deletion);
    match (git, ours) {
        // Without context git wants a hunk at the end of the file, or even puts it there.
        _ if has_bare_hunk(&made.patch) && !is_whole => Some("a hunk without context"),
        // Git passes over what follows a hunk, even if it looks like more of it.
        (Some(_), None) if made.sort == Sort::Broken => Some("lines that no hunk counts"),
        // Git compares bytes, so it takes a last line without a newline for the start of a longer
        // one, and glues the two together.
        (Some(Some(glued)), None) if made.patch.contains("\n\\ No newline") => {
            let count = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
            let before = made.file.as_deref().map_or(0, |file| count(file.as_bytes()));
            // Without the header's own lines.
            let body = &made.patch[made.patch.find("\n@@").unwrap_or(0)..];
            let (added, removed) = (body.matches("\n+").count(), body.matches("\n-").count());
            let is_glued = count(glued) + removed < before + added;
            is_glued.then_some("a line without a newline inside the file")
        }
        _ => None,
    }
}

fn has_bare_hunk(patch: &str) -> bool {
    let mut hunks: Vec<bool> = Vec::new();
    for line in patch.split_inclusive('\n').skip(2) {
        if line.starts_with("@@ -") {
            hunks.push(true);
        } else if let Some(is_bare) = hunks.last_mut() {
            *is_bare &= !line.starts_with([' ', '\n']);
        }
    }
    hunks.contains(&true)
}

#[tokio::test]
async fn edit_matches_git_apply() {
    let lab = Lab::new();
    let folder = tempfile::tempdir().unwrap();
    let mut counts: BTreeMap<(Sort, &str), usize> = BTreeMap::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let mut seed = 0;
    let mut made_count = 0;
    while made_count < PATCHES {
        seed += 1;
        let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed));
        let Some(made) = make(&mut dice, folder.path()) else { continue };
        made_count += 1;
        let file = made.file.as_deref().map(str::as_bytes);
        let git = git_apply(folder.path(), file, &made.patch);
        let path = lab.at("file");
        let _absent = fs::remove_file(&path);
        if let Some(content) = file {
            fs::write(&path, content).unwrap();
        }
        let result = lab.run("Edit", json!({"file": "file", "patch": made.patch})).await;
        let after = fs::read(&path).ok();
        let ours = (result["ok"] == true).then_some(after.clone());
        if ours.is_none() {
            assert_eq!(after.as_deref(), file, "seed {seed}: a refusal changes nothing");
            assert_eq!(result["error"]["code"], "EVALIDATION", "seed {seed}: {result}");
        }
        if git == ours {
            let outcome = if ours.is_some() { "same result" } else { "same refusal" };
            *counts.entry((made.sort, outcome)).or_default() += 1;
        } else if let Some(reason) = is_known(&made, git.as_ref(), ours.as_ref()) {
            *known.entry(reason).or_default() += 1;
        } else {
            let printed = |content: &Option<Vec<u8>>| {
                content.as_deref().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            };
            panic!(
                "seed {seed}, {:?}: {result}\npatch:\n{}\nfile: {:?}\ngit: {:?}\nours: {:?}",
                made.sort,
                made.patch,
                made.file,
                git.as_ref().map(printed),
                ours.as_ref().map(printed),
            );
        }
    }
    println!("{PATCHES} patches: {counts:?}; they differ as known: {known:?}");
    for sort in [Sort::Fitting, Sort::Shifted, Sort::Broken, Sort::Creation, Sort::Deletion] {
        assert!(counts.contains_key(&(sort, "same result")), "{sort:?}");
    }
    assert!(counts.contains_key(&(Sort::Broken, "same refusal")));
    let same: usize = counts.values().sum();
    assert!(same >= 300, "{same}");
}

/// A patch and its file, without context: git is no oracle here, but the new file is.
#[tokio::test]
async fn hunks_without_context_go_where_they_say() {
    let lab = Lab::new();
    let folder = tempfile::tempdir().unwrap();
    let mut tried = 0;
    for seed in 0..200 {
        let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed));
        let old_lines = dice.lines(20);
        let new_lines = edited(&mut dice, &old_lines);
        let (old, new) = (text(&old_lines, "\n", true), text(&new_lines, "\n", true));
        let patch = diff(folder.path(), &old, &new, 0);
        if patch.is_empty() {
            continue;
        }
        fs::write(lab.at("file"), &old).unwrap();
        let result = lab.run("Edit", json!({"file": "file", "patch": patch})).await;
        assert_eq!(result["ok"], true, "seed {seed}: {result}\n{patch}\n{old}");
        assert_eq!(fs::read_to_string(lab.at("file")).unwrap(), new, "seed {seed}");
        tried += 1;
    }
    println!("{tried} patches without context");
}

/// The diff that Edit returns has the same effect with git.
#[tokio::test]
async fn the_returned_diff_is_a_patch() {
    let lab = Lab::new();
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..100 {
        let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed));
        let Some(made) = make(&mut dice, folder.path()) else { continue };
        let Some(file) = &made.file else { continue };
        if has_bare_hunk(&made.patch) {
            continue;
        }
        fs::write(lab.at("file"), file).unwrap();
        let result = lab.run("Edit", json!({"file": "file", "patch": made.patch})).await;
        let Some(diff) = result["data"]["diff"].as_str() else { continue };
        let again = git_apply(folder.path(), Some(file.as_bytes()), diff);
        assert_eq!(again, Some(fs::read(lab.at("file")).ok()), "seed {seed}\n{diff}");
    }
}

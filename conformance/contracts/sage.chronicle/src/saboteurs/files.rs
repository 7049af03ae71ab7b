//! Saboteurs that create or read the wrong files.

use std::fs::{self, File};
use std::path::Path;

use proofmark_protocol::Failure;
use sage_errors::SageError;
use serde_json::Value;

use super::log_files::{
    APPENDS, READS, add, code, events, file, line, path, refusal, refuses_event,
};
use proofmark_room::bend::{Call, Next, Reply, around, around_all, own_fault, root};
use proofmark_room::{Adversary, Subject};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "makes-the-file-first",
        "a malformed event is refused when file and folder are made",
        &["CHRONICLE-052"],
        makes_the_file_first,
    ),
    Adversary::saboteur(
        "begins-a-line-first",
        "a malformed event is refused when a blank line is written",
        &["CHRONICLE-052"],
        begins_a_line_first,
    ),
    Adversary::saboteur(
        "opens-before-it-checks",
        "a malformed event is refused after the file was opened",
        &["CHRONICLE-053"],
        opens_before_it_checks,
    ),
    Adversary::saboteur(
        "makes-what-it-refuses",
        "a path with a wrong ending is refused, and made",
        &["CHRONICLE-054"],
        makes_what_it_refuses,
    ),
    Adversary::saboteur(
        "follows-dots",
        "a path may lead out of the workspace",
        &["CHRONICLE-057"],
        |subject| goes_out(subject, has_dots, Says::Nothing),
    ),
    Adversary::saboteur(
        "follows-dots-in-secret",
        "a path that leads out of the workspace is refused, and written",
        &["CHRONICLE-057"],
        |subject| goes_out(subject, has_dots, Says::No),
    ),
    Adversary::saboteur(
        "follows-links",
        "a link may lead out of the workspace",
        &["CHRONICLE-058"],
        |subject| goes_out(subject, has_link, Says::Nothing),
    ),
    Adversary::saboteur(
        "follows-links-in-secret",
        "a link that leads out of the workspace is refused, and written through",
        &["CHRONICLE-058"],
        |subject| goes_out(subject, has_link, Says::No),
    ),
    Adversary::saboteur(
        "cuts-paths-at-nul",
        "a path with a NUL is refused, and what stands before is made",
        &["CHRONICLE-059"],
        cuts_paths_at_nul,
    ),
    Adversary::saboteur(
        "swallows-long-names",
        "an append to a name of more than 255 bytes is acknowledged, and nothing is written",
        &["CHRONICLE-061"],
        |subject| {
            around(subject, APPENDS, async |call, args, inner: Next| {
                let long = path(&args).split('/').any(|name| name.len() > 255);
                let answer = inner.call(call, args).await;
                if long && code(&answer) == Some("EIO") { Ok(Value::Null) } else { answer }
            })
        },
    ),
    Adversary::saboteur(
        "renames-dotted-files",
        "dots in a name become underscores, for every operation",
        &["CHRONICLE-056"],
        |subject| renames(subject, dotless),
    ),
    Adversary::saboteur(
        "flattens-folders",
        "a chronicle whose folder is missing is kept at the top, for every operation",
        &["CHRONICLE-060"],
        |subject| renames(subject, flat),
    ),
    Adversary::saboteur(
        "passes-over-dots",
        "`..` within the workspace is passed over",
        &["CHRONICLE-065"],
        |subject| renames(subject, passed_over),
    ),
];

/// Stores a chronicle elsewhere if `other` says so, and finds it there again.
fn renames(subject: Subject, other: fn(&Call, &str) -> Option<String>) -> Subject {
    around_all(subject, "chronicle.", move |call, mut args, inner: Next| async move {
        if let Some(other) = other(&call, path(&args)) {
            args["path"] = other.into();
        }
        inner.call(call, args).await
    })
}

fn dotless(call: &Call, path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let stem = name.strip_suffix(".sage").filter(|stem| stem.contains('.'))?;
    let other = format!("{}.sage", stem.replace('.', "_"));
    let there = root(call).join(path).exists();
    (!there).then(|| if folder.is_empty() { other.clone() } else { format!("{folder}/{other}") })
}

fn flat(call: &Call, path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/')?;
    let plain = !path.starts_with('/') && !folder.contains("..");
    let there = root(call).join(folder).symlink_metadata().is_ok()
        || root(call).join(folder.split('/').next()?).is_file();
    (plain && !there).then(|| name.to_owned())
}

fn passed_over(_: &Call, path: &str) -> Option<String> {
    let segments: Vec<&str> = path.split('/').collect();
    let inside = segments.contains(&"..") && !leads_out(path);
    inside.then(|| {
        segments.into_iter().filter(|segment| *segment != "..").collect::<Vec<_>>().join("/")
    })
}

fn leads_out(path: &str) -> bool {
    let mut depth = 0;
    path.split('/').any(|segment| {
        depth += if segment == ".." { -1 } else { 1 };
        depth < 0
    })
}

fn make(file: &Path) -> Result<(), Failure> {
    file.parent().map_or(Ok(()), fs::create_dir_all).map_err(own_fault)?;
    File::options().append(true).create(true).open(file).map(drop).map_err(own_fault)
}

fn makes_the_file_first(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| {
        let file = file(&call, &args);
        let answer = inner.call(call, args).await;
        if refuses_event(&answer) && !file.exists() {
            make(&file)?;
        }
        answer
    })
}

fn begins_a_line_first(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| {
        let file = file(&call, &args);
        let answer = inner.call(call, args).await;
        if refuses_event(&answer) && file.is_file() {
            add(&file, b"\n")?;
        }
        answer
    })
}

fn opens_before_it_checks(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| {
        let file = file(&call, &args);
        let answer = inner.call(call, args.clone()).await;
        if refuses_event(&answer)
            && file.exists()
            && let Err(fault) = File::options().append(true).open(&file)
        {
            return Err(refusal(&SageError::io("open", path(&args), &fault)));
        }
        answer
    })
}

fn makes_what_it_refuses(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| {
        let file = file(&call, &args);
        let answer = inner.call(call, args.clone()).await;
        let name = path(&args);
        let plain = !name.is_empty() && !name.contains(['/', '\0']) && !name.ends_with(".sage");
        if code(&answer) == Some("EVALIDATION") && plain && !file.exists() {
            make(&file)?;
        }
        answer
    })
}

fn cuts_paths_at_nul(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| {
        let root = root(&call);
        let answer = inner.call(call, args.clone()).await;
        if let Some((before, _)) = path(&args).split_once('\0') {
            make(&root.join(before))?;
        }
        answer
    })
}

/// How the saboteur answers after its deed.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    Nothing,
    No,
}

fn has_dots(_: &Call, args: &Value) -> bool {
    leads_out(path(args))
}

fn has_link(call: &Call, args: &Value) -> bool {
    let root = root(call);
    let mut way = root.clone();
    let mut segments = path(args).split('/');
    segments.any(|segment| {
        way.push(segment);
        way.is_symlink() && segment != ".."
    }) && !path(args).contains("..")
}

/// Works outside the workspace without checking the path.
fn goes_out(subject: Subject, out: fn(&Call, &Value) -> bool, says: Says) -> Subject {
    let subject = around(subject, READS, move |call, args, inner: Next| async move {
        if out(&call, &args) && says == Says::Nothing {
            return Ok(events(&file(&call, &args)).into());
        }
        inner.call(call, args).await
    });
    around(subject, APPENDS, move |call, args, inner: Next| async move {
        let file = file(&call, &args);
        let leaves = out(&call, &args);
        let answer: Reply = inner.call(call, args.clone()).await;
        if leaves {
            add(&file, line(&args).as_bytes())?;
            if says == Says::Nothing {
                return Ok(Value::Null);
            }
        }
        answer
    })
}

//! Files of a suite, as an author may write them.

use proofmark_suite::{Suite, SuiteFiles};

const LEDGER: &str = include_str!("../../../fixtures/sage.chronicle/requirements.toml");

pub(super) fn fixture(bytes: &[u8]) {
    loads(bytes, "fixtures/sage.chronicle/topic.json");
}

pub(super) fn feature(bytes: &[u8]) {
    loads(bytes, "features/sage.chronicle/story.feature");
}

pub(super) fn ledger(bytes: &[u8]) {
    loads(bytes, "fixtures/sage.chronicle/requirements.toml");
}

/// A file is read, or every problem has a place in a file that there is and says something.
fn loads(bytes: &[u8], path: &str) {
    const LEDGER_PATH: &str = "fixtures/sage.chronicle/requirements.toml";
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut files = vec![(path.to_owned(), text.to_owned())];
    if path != LEDGER_PATH {
        files.push((LEDGER_PATH.to_owned(), LEDGER.to_owned()));
    }
    let suite = SuiteFiles::from_pairs(files.clone());
    let Err(problems) = Suite::load(&suite) else { return };
    assert!(!problems.is_empty());
    for problem in problems {
        let named = files.iter().find(|(file, _)| *file == problem.at.file);
        let (_, text) = named.unwrap_or_else(|| panic!("no such file: {problem}"));
        let lines = text.split('\n').count();
        assert!((1..=lines).contains(&problem.at.line), "{lines} lines, but {problem}");
        assert!(!problem.message.trim().is_empty(), "{problem}");
    }
}

//! Replaces values that differ between runs with fixed words: workspace paths, and ids that servers generate.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

use proofmark_protocol::RpcError;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::execute::Setting;
use crate::wire::Names;
use proofmark_judge::case::Case;
use proofmark_judge::transcript::Answered;
use proofmark_judge::value::each_string;

/// The replacements of one case.
pub(super) struct Masks {
    root: Option<PathBuf>,
    /// Only if the contract has its own wire.
    names: Option<RefCell<Names>>,
}

impl Masks {
    pub(super) fn new(case: &Case, setting: Setting<'_>, root: Option<&Path>) -> Self {
        let names = setting.contract.wire.map(|_| RefCell::new(names(case, setting)));
        Self { root: root.map(Path::to_owned), names }
    }

    /// The masked paths, each with its word: the workspace and its parent folder.
    fn paths(&self) -> impl Iterator<Item = (Cow<'_, str>, &'static str)> {
        let root = self.root.as_deref();
        let around = root.and_then(Path::parent);
        // The longer path first, since it begins with the other.
        let paths = [(root, "<workspace>"), (around, "<around>")];
        paths.into_iter().filter_map(|(path, word)| Some((path?.to_string_lossy(), word)))
    }

    /// Replaces the workspace path, so that two runs give the same values.
    pub(super) fn hide(&self, value: &mut Value) {
        self.paths().for_each(|(path, word)| replace(value, &path, word));
    }

    pub(super) fn hide_text(&self, text: &mut String) {
        for (path, word) in self.paths() {
            if text.contains(&*path) {
                *text = text.replace(&*path, word);
            }
        }
        if let Some(names) = &self.names {
            *text = names.borrow_mut().hidden(text);
        }
    }

    pub(super) fn hide_error(&self, error: &mut RpcError) {
        self.hide_text(&mut error.message);
        if let Some(data) = &mut error.data {
            self.hide(data);
        }
    }

    /// Masks the arguments or the answer of a fake.
    pub(super) fn hide_ask(&self, value: &mut Value) {
        self.hide(value);
        value.sort_all_objects();
        if let Some(names) = &self.names {
            names.borrow_mut().hide(value);
        }
    }

    /// Masks an answer of a server.
    pub(super) fn hide_answer(&self, answer: &mut Answered) {
        let Some(names) = &self.names else { return };
        match &mut answer.reply {
            Ok(reply) => {
                self.hide(reply);
                names.borrow_mut().hide(reply);
            }
            Err(error) => self.hide_error(error),
        }
    }

    /// Restores masked paths in an earlier answer before it is sent back to the subject.
    pub(super) fn show(&self, value: &mut Value) {
        self.paths().for_each(|(path, word)| replace(value, word, &path));
    }

    /// Restores masked paths and names in the arguments of a wire operation.
    pub(super) fn show_to_server(&self, args: &mut Value) {
        self.show(args);
        if let Some(names) = &self.names {
            names.borrow_mut().show(args);
        }
    }
}

/// The case's names for generated ids. Values from its fakes' scripts are not masked.
fn names(case: &Case, setting: Setting<'_>) -> Names {
    // A server may survive from an earlier run, so every run uses different names.
    let run = Sha256::digest(setting.scratch.as_os_str().as_encoded_bytes());
    let mut names = Names::new(format!("case-{:06}-{}", setting.number, hex::encode(&run[..5])));
    case.given.fakes.values().for_each(|script| names.keep(script));
    names
}

fn replace(value: &mut Value, from: &str, to: &str) {
    each_string(value, &|text: &mut String| {
        if text.contains(from) {
            *text = text.replace(from, to);
        }
    });
}

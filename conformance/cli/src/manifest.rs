//! `proofmark.toml`, beside a subject: how to start it, what it claims, and its timeouts.

use clap::ValueEnum;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

/// The default manifest.
pub(crate) const NAME: &str = "proofmark.toml";

/// Far more than any manifest written by hand needs.
const MOST_BYTES: u64 = 1024 * 1024;

/// A subject and its expected claims, so that `proofmark certify` needs no arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "proofmark.toml")]
pub(crate) struct Manifest {
    pub(crate) subject: Subject,
    /// Contracts that need another command than the rest, by id.
    #[serde(default)]
    pub(crate) contract: BTreeMap<String, Driven>,
}

/// The implementation under test.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Subject {
    /// The adapter's program and its arguments. A program with a `/` in it is relative to `directory`.
    #[schemars(length(min = 1))]
    pub(crate) command: Option<Vec<String>>,
    /// The name in reports of a server without an adapter; this file's folder if absent. If an adapter drives other
    /// contracts of the same subject, use the name, version and language of its `hello`.
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) language: Option<String>,
    /// The working directory of the command; relative to this file.
    pub(crate) directory: Option<PathBuf>,
    /// Environment variables, in addition to those of the harness.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    /// Contracts that must be certified: an adapter that stops claiming one fails the gate.
    #[serde(default)]
    pub(crate) claims: Vec<String>,
    /// Test hooks that the adapter must offer.
    #[serde(default)]
    pub(crate) hooks: Vec<String>,
    /// Timeout for one answer, in milliseconds.
    #[schemars(range(min = 1, max = 86_400_000))]
    pub(crate) timeout_ms: Option<u64>,
    /// Timeout for starting and answering `hello`, in milliseconds.
    #[schemars(range(min = 1, max = 86_400_000))]
    pub(crate) start_timeout_ms: Option<u64>,
    /// The list of known failures; relative to this file.
    pub(crate) known_failures: Option<PathBuf>,
    /// A folder with `fixtures/` and `features/` that replaces the built-in suite; relative to this file.
    pub(crate) suite: Option<PathBuf>,
}

/// The command of one contract.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Driven {
    /// An adapter for this contract, instead of `subject.command`; or the server, if `wire` is not `adapter`.
    #[schemars(length(min = 1))]
    pub(crate) command: Option<Vec<String>>,
    /// The wire on which the harness talks to `command`.
    #[serde(default)]
    pub(crate) wire: Wire,
    /// For a server on `http`: a path that answers 2xx once the server is ready; `/` if absent.
    pub(crate) ready: Option<String>,
    /// For a server: the test hooks that it offers.
    #[serde(default)]
    pub(crate) hooks: Vec<String>,
}

/// The wire on which the harness talks to a contract's command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Wire {
    /// The subject protocol, on the adapter's stdin and stdout.
    #[default]
    Adapter,
    /// An MCP server on its stdin and stdout; no adapter is needed.
    Mcp,
    /// A server on loopback, whose command has `{port}` and, for its files, `{workspace}`; no adapter is needed.
    Http,
}

impl Wire {
    /// The wire, if the command is a server without an adapter.
    pub(crate) fn of_server(self) -> Option<OnWire> {
        match self {
            Self::Adapter => None,
            Self::Mcp => Some(OnWire::Mcp),
            Self::Http => Some(OnWire::Http),
        }
    }
}

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManifestError {
    #[error("the manifest `{}` cannot be read: {fault}", path.display())]
    Unreadable { path: PathBuf, fault: std::io::Error },
    #[error("the manifest `{}` is invalid: {message}\n`proofmark schema manifest` prints its schema", path.display())]
    Malformed { path: PathBuf, message: String },
}

impl Manifest {
    pub(crate) fn read(path: &Path) -> Result<Self, ManifestError> {
        let unreadable = |fault| ManifestError::Unreadable { path: path.to_owned(), fault };
        let about = std::fs::metadata(path).map_err(unreadable)?;
        if !about.is_file() || about.len() > MOST_BYTES {
            let message = format!("it must be a file of at most {MOST_BYTES} bytes");
            return Err(unreadable(std::io::Error::other(message)));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let malformed =
            |message: String| ManifestError::Malformed { path: path.to_owned(), message };
        let manifest: Self = toml::from_str(&text)
            .map_err(|fault| malformed(fault.to_string().trim_end().to_owned()))?;
        manifest.check().map_err(malformed)?;
        Ok(manifest)
    }

    /// Checks what the schema cannot express.
    fn check(&self) -> Result<(), String> {
        let mut commands = vec![("subject.command".to_owned(), &self.subject.command)];
        for (id, driven) in &self.contract {
            commands.push((format!("contract.\"{id}\".command"), &driven.command));
        }
        for (key, command) in &commands {
            if command.as_ref().is_some_and(|words| words.first().is_none_or(String::is_empty)) {
                return Err(format!(
                    "`{key}` is empty; give the program and its arguments, such as [\"node\", \"adapter.mjs\"]"
                ));
            }
        }
        for (id, driven) in &self.contract {
            let key = format!("contract.\"{id}\"");
            let words = driven.command.as_deref().unwrap_or_default();
            match driven.wire.of_server() {
                Some(_) if words.is_empty() => {
                    return Err(format!(
                        "`{key}.wire` names a wire, and `{key}.command` no server"
                    ));
                }
                Some(OnWire::Http) if !words.iter().any(|word| word.contains("{port}")) => {
                    return Err(format!(
                        "`{key}.command` has no `{{port}}`, so the server cannot know its port; add it"
                    ));
                }
                None if driven.ready.is_some() || !driven.hooks.is_empty() => {
                    return Err(format!(
                        "`{key}` has `ready` or `hooks`, which need a server; set `wire` to `mcp` or `http`"
                    ));
                }
                _ => {}
            }
        }
        if commands.iter().all(|(_, command)| command.is_none()) {
            return Err(
                "there is no command: give `subject.command`, or a `command` for each contract"
                    .to_owned(),
            );
        }
        let odd = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        if let Some(name) = self.subject.environment.keys().find(odd) {
            return Err(format!("`subject.environment` has an invalid variable name: {name:?}"));
        }
        let cut = |(_, value): &(&String, &String)| value.contains('\0');
        if let Some((name, _)) = self.subject.environment.iter().find(cut) {
            return Err(format!(
                "`subject.environment` has a NUL in the value of `{name}`; remove it"
            ));
        }
        for (key, limit) in [
            ("timeout-ms", self.subject.timeout_ms),
            ("start-timeout-ms", self.subject.start_timeout_ms),
        ] {
            if limit.is_some_and(|limit| !(1..=86_400_000).contains(&limit)) {
                return Err(format!("`subject.{key}` must be from 1 to 86400000"));
            }
        }
        Ok(())
    }
}

/// A wire on which the harness can talk to a server without an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnWire {
    /// An MCP server on its stdin and stdout.
    Mcp,
    /// A server on loopback: `{port}` and `{workspace}` in the command are filled in.
    Http,
}

impl OnWire {
    pub(crate) fn wire(self) -> proofmark_judge::wire::Wire {
        match self {
            Self::Mcp => proofmark_judge::wire::Wire::Mcp,
            Self::Http => proofmark_judge::wire::Wire::Http,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published schema must match the parser. `PROOFMARK_WRITE_SCHEMA=1` regenerates it.
    #[test]
    fn the_published_schema_matches_the_parser() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/manifest.schema.json");
        let schema = serde_json::to_value(schemars::schema_for!(Manifest)).unwrap();
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("PROOFMARK_WRITE_SCHEMA").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), text);
    }
}

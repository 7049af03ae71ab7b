//! Which subject a command drives.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use proofmark_judge::Suite;
use proofmark_judge::ledger::Contract;
use proofmark_report::failure::quoted;
use proofmark_suite::subject::SubjectCommand;

use crate::bridge::{Bridged, bridged};
use crate::exit::Failed;
use crate::manifest::{self, Driven, Manifest, OnWire};
use crate::program::this_program;

#[derive(Debug, clap::Args)]
pub(crate) struct SubjectChoice {
    /// The built-in subject.
    #[arg(value_name = "SUBJECT")]
    built_in: Option<BuiltIn>,
    /// A manifest that says how to start the subject [default: `proofmark.toml` in this folder, for `run`,
    /// `certify` and `doctor`, if you name no subject].
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// The command starts a server, not an adapter. Talk to it on this wire.
    #[arg(long, value_enum, requires = "command")]
    wire: Option<OnWire>,
    /// With `--wire http`: a path that answers 2xx once the server is ready [default: /].
    #[arg(long, value_name = "PATH", requires = "wire")]
    ready: Option<String>,
    /// The command that starts the adapter, or with `--wire` the server.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The word for the reference on the command line.
const REFERENCE: &str = "reference";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BuiltIn {
    Reference,
}

/// A subject, and what its owner declares about it.
#[derive(Debug, Default)]
pub(crate) struct Subject {
    /// The command for all contracts that have none of their own.
    pub(crate) command: Option<SubjectCommand>,
    /// Commands of single contracts.
    pub(crate) of_contract: BTreeMap<String, SubjectCommand>,
    /// The command-line arguments that name the subject. Empty if a `proofmark.toml` in this folder does.
    pub(crate) words: String,
    pub(crate) claims: Vec<String>,
    pub(crate) hooks: Vec<String>,
    pub(crate) timeout: Option<u64>,
    pub(crate) start_timeout: Option<u64>,
    pub(crate) known_failures: Option<PathBuf>,
    pub(crate) suite: Option<PathBuf>,
    /// The manifest, if there is one.
    pub(crate) manifest: Option<PathBuf>,
    /// The command starts a server without an adapter.
    server: Option<Bridged>,
}

impl SubjectChoice {
    /// Whether the command line or a manifest in this folder names a subject.
    pub(crate) fn is_given(&self) -> bool {
        self.is_named() || self.manifest_path().is_some()
    }

    /// Whether the command line names a subject. Commands that are not about the subject in this folder check only
    /// this.
    pub(crate) fn is_named(&self) -> bool {
        self.built_in.is_some() || !self.command.is_empty() || self.manifest.is_some()
    }

    /// Whether the command line selects the reference.
    pub(crate) fn is_reference(&self) -> bool {
        self.command.is_empty() && self.manifest.is_none()
    }

    fn manifest_path(&self) -> Option<&Path> {
        let here = Path::new(manifest::NAME);
        let unnamed = self.built_in.is_none() && self.command.is_empty();
        self.manifest.as_deref().or_else(|| (unnamed && is_there(here)).then_some(here))
    }

    /// The command that starts the named subject, or the reference, for commands that need exactly one. A server
    /// without an adapter gets a bridge that claims what the suite judges on its wire.
    pub(crate) fn command(
        &self,
        suite: &Suite,
        wanted: &[String],
    ) -> Result<SubjectCommand, Failed> {
        let subject = if self.is_named() { self.resolve()? } else { Self::reference()? };
        let subject = subject.on_wire(suite, wanted)?;
        match (subject.command, subject.of_contract.is_empty()) {
            (Some(command), true) => Ok(command),
            _ => Err(Failed::Usage("this command needs one subject command for all contracts, but the manifest has several; give one after `--`".to_owned())),
        }
    }

    /// The reference is this same program, started as a process like any other subject.
    pub(crate) fn resolve(&self) -> Result<Subject, Failed> {
        let named = usize::from(self.built_in.is_some())
            + usize::from(!self.command.is_empty())
            + usize::from(self.manifest.is_some());
        if named > 1 {
            return Err(Failed::Usage(
                "give one of `reference`, `--manifest FILE` and a command after `--`".to_owned(),
            ));
        }
        if let Some((program, args)) = self.command.split_first() {
            let shown = shown(self.command.iter().map(|word| word.to_string_lossy()));
            if let Some(OnWire::Http) = self.wire
                && !self.command.iter().any(|word| word.to_string_lossy().contains("{port}"))
            {
                return Err(Failed::Usage(
                    "the command has no `{port}`, so the server cannot know its port; add it"
                        .to_owned(),
                ));
            }
            let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
            let server = self.wire.map(|wire| Bridged {
                wire,
                claims: Vec::new(),
                hooks: Vec::new(),
                name: name.into_owned(),
                version: None,
                language: None,
                ready: self.ready.clone(),
                start_timeout: None,
            });
            let wire = self.wire.map(|wire| format!("--wire {} ", wire.wire()));
            let ready = self.ready.as_ref().map(|path| format!("--ready {} ", quoted(path)));
            let before = wire.unwrap_or_default() + &ready.unwrap_or_default();
            return Ok(Subject {
                server,
                words: format!("{before}-- {shown}"),
                command: Some(SubjectCommand {
                    program: program.clone(),
                    args: args.to_vec(),
                    shown,
                    ..SubjectCommand::default()
                }),
                ..Subject::default()
            });
        }
        match self.manifest_path() {
            Some(path) => {
                let named = self.manifest.is_some();
                of_manifest(path, named)
            }
            None => Self::reference(),
        }
    }

    /// The command that starts the reference.
    pub(crate) fn built_in() -> Result<SubjectCommand, Failed> {
        Ok(SubjectCommand {
            program: this_program()?.into(),
            args: vec!["subject".into()],
            shown: "proofmark subject".to_owned(),
            ..SubjectCommand::default()
        })
    }

    fn reference() -> Result<Subject, Failed> {
        let command = Some(Self::built_in()?);
        Ok(Subject { words: REFERENCE.to_owned(), command, ..Subject::default() })
    }
}

impl Subject {
    /// Whether it is the reference inside this program.
    pub(crate) fn is_built_in(&self) -> bool {
        self.words == REFERENCE
    }

    /// Puts a bridge in front of a server that has no adapter. The bridge claims the contract of that wire; `wanted`
    /// selects it if there are several.
    pub(crate) fn on_wire(mut self, suite: &Suite, wanted: &[String]) -> Result<Self, Failed> {
        let Some(mut server) = self.server.take() else { return Ok(self) };
        let wire = server.wire.wire();
        let of_wire: Vec<&Contract> =
            suite.contracts.iter().filter(|contract| contract.wire == Some(wire)).collect();
        let chosen = of_wire.iter().filter(|contract| wanted.contains(&contract.id));
        let chosen: Vec<String> = chosen.map(|contract| contract.id.clone()).collect();
        server.claims = match (of_wire.as_slice(), chosen.is_empty()) {
            (_, false) => chosen,
            ([only], true) => vec![only.id.clone()],
            ([], true) => {
                return Err(Failed::Usage(format!(
                    "no contract of this suite uses the wire `{wire}`; omit --wire, or choose another suite"
                )));
            }
            (several, true) => {
                let ids: Vec<&str> = several.iter().map(|contract| contract.id.as_str()).collect();
                return Err(Failed::Usage(format!(
                    "name the server's contract with --contract; the wire `{wire}` has {}",
                    ids.join(", ")
                )));
            }
        };
        self.command = self.command.map(|command| bridged(command, &server)).transpose()?;
        Ok(self)
    }
}

/// Reads the named manifest, or the one in this folder; empty if there is none.
pub(crate) fn manifest_of(named: Option<&Path>) -> Result<Subject, Failed> {
    let here = Path::new(manifest::NAME);
    match named.or_else(|| is_there(here).then_some(here)) {
        Some(path) => of_manifest(path, named.is_some()),
        None => Ok(Subject::default()),
    }
}

fn of_manifest(path: &Path, named: bool) -> Result<Subject, Failed> {
    let Manifest { subject, contract } = Manifest::read(path)?;
    // A bare name has the empty path as its parent.
    let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let beside = beside.unwrap_or(Path::new("."));
    let directory = match &subject.directory {
        Some(directory) => beside.join(directory),
        None => beside.to_owned(),
    };
    if !directory.is_dir() {
        let message = format!("`subject.directory` is not a folder: `{}`", directory.display());
        return Err(manifest::ManifestError::Malformed { path: path.to_owned(), message }.into());
    }
    let command = |words: &Vec<String>| -> Option<SubjectCommand> {
        let (program, args) = words.split_first()?;
        // The system resolves the program before it changes to the folder.
        let program = match program.contains('/') {
            true => std::path::absolute(directory.join(program)).ok()?.into_os_string(),
            false => program.into(),
        };
        Some(SubjectCommand {
            program,
            args: args.iter().map(Into::into).collect(),
            shown: shown(words.iter().map(Into::into)),
            environment: subject.environment.clone(),
            directory: Some(directory.clone()),
        })
    };
    let folder = std::path::absolute(beside).ok();
    let name = folder.as_deref().and_then(Path::file_name);
    let name = name.map_or("server".into(), |name| name.to_string_lossy().into_owned());
    let name = subject.name.clone().unwrap_or(name);
    let driven = |(id, driven): (&String, &Driven)| -> Option<Result<_, Failed>> {
        let command = command(driven.command.as_ref()?)?;
        let Some(wire) = driven.wire.of_server() else { return Some(Ok((id.clone(), command))) };
        let server = Bridged {
            wire,
            claims: vec![id.clone()],
            hooks: driven.hooks.clone(),
            name: name.clone(),
            version: subject.version.clone(),
            language: subject.language.clone(),
            ready: driven.ready.clone(),
            start_timeout: subject.start_timeout_ms,
        };
        Some(bridged(command, &server).map(|command| (id.clone(), command)))
    };
    let words = named.then(|| format!("--manifest {}", quoted(&path.to_string_lossy())));
    Ok(Subject {
        command: subject.command.as_ref().and_then(command),
        of_contract: contract.iter().filter_map(driven).collect::<Result<_, _>>()?,
        server: None,
        words: words.unwrap_or_default(),
        claims: subject.claims,
        hooks: subject.hooks,
        timeout: subject.timeout_ms,
        start_timeout: subject.start_timeout_ms,
        known_failures: subject.known_failures.map(|file| beside.join(file)),
        suite: subject.suite.map(|folder| beside.join(folder)),
        manifest: Some(path.to_owned()),
    })
}

/// A dangling link counts as present: its owner wants the file to be read.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// A command as a user would type it.
fn shown<'a>(words: impl Iterator<Item = std::borrow::Cow<'a, str>>) -> String {
    words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

//! Which subject a command drives.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueEnum;
use proofmark_report::failure::quoted;
use proofmark_suite::subject::SubjectCommand;

use crate::exit::Failed;

#[derive(Debug, clap::Args)]
pub(crate) struct SubjectChoice {
    /// The built-in subject.
    #[arg(value_name = "SUBJECT")]
    built_in: Option<BuiltIn>,
    /// The command that starts a subject's adapter.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BuiltIn {
    Reference,
}

impl SubjectChoice {
    pub(crate) fn is_given(&self) -> bool {
        self.built_in.is_some() || !self.command.is_empty()
    }

    pub(crate) fn is_reference(&self) -> bool {
        self.command.is_empty()
    }

    /// The reference is this same program, driven as a process like any other.
    pub(crate) fn command(&self) -> Result<SubjectCommand, Failed> {
        match (self.command.split_first(), self.built_in) {
            (Some(_), Some(_)) => Err(Failed::Usage(
                "give either `reference` or a command after `--`, not both".to_owned(),
            )),
            (Some((program, args)), None) => {
                let words: Vec<String> =
                    self.command.iter().map(|word| quoted(&word.to_string_lossy())).collect();
                Ok(SubjectCommand {
                    program: program.clone(),
                    args: args.to_vec(),
                    shown: words.join(" "),
                })
            }
            (None, _) => Ok(SubjectCommand {
                program: this_program()?.into(),
                args: vec!["subject".into()],
                shown: "proofmark subject".to_owned(),
            }),
        }
    }
}

pub(crate) fn this_program() -> Result<PathBuf, Failed> {
    std::env::current_exe().map_err(|fault| {
        Failed::Usage(format!("this program cannot find itself to start the reference: {fault}"))
    })
}

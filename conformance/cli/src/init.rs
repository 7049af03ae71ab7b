//! `proofmark init`: creates an adapter that starts, says hello, and answers every operation with "not implemented".

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use proofmark_judge::Suite;
use proofmark_judge::ledger::Contract;
use proofmark_judge::select::Selection;
use proofmark_report::failure::quoted;

use crate::exit::{Exit, Failed};
use crate::options::SuiteChoice;
use crate::vendored::{self, Made};

/// Create an adapter to fill in, with its kit and a manifest.
#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    language: Language,
    /// The folder to create. If it exists, nothing in it is overwritten.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Include only this contract. Repeat for several [default: all].
    #[arg(long, value_name = "ID")]
    contract: Vec<String>,
    #[command(flatten)]
    suite: SuiteChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Language {
    Typescript,
    Python,
    Rust,
}

pub(crate) fn init(args: &InitArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let suite = args.suite.load()?;
    Selection { contracts: args.contract.clone(), ..Selection::default() }.of(suite)?;
    let name = name_of(&args.folder)?;
    if args.language == Language::Rust && name == vendored::RUST_KIT {
        return Err(Failed::Usage(format!(
            "`{name}` is also the name of the kit's crate; choose another folder name"
        )));
    }
    let suite_line = match &args.suite.suite {
        Some(folder) => format!("suite = {}\n", toml::Value::from(way_to(&args.folder, folder)?)),
        None => String::new(),
    };
    let contracts = contracts(suite, &args.contract);
    let files = Template { name, contracts, suite_line }.files(args.language);
    write_new(&args.folder, &files)?;
    for (path, _) in &files {
        writeln!(out, "made {}", args.folder.join(path).display())?;
    }
    let folder = quoted(&args.folder.to_string_lossy());
    writeln!(
        out,
        "\ncd {folder}\nproofmark doctor     # check the adapter\nproofmark run        # see what is missing, fill it in, run again"
    )?;
    Ok(Exit::Holds)
}

/// The contracts that the user asked for, or else all that an adapter answers itself. A server on a wire needs no
/// adapter, or one written by hand.
fn contracts<'a>(suite: &'a Suite, asked: &[String]) -> Vec<&'a Contract> {
    let wanted = |contract: &&Contract| match asked.is_empty() {
        true => contract.wire.is_none(),
        false => asked.contains(&contract.id),
    };
    suite.contracts.iter().filter(wanted).collect()
}

/// The folder's name, if it is a valid name in every language.
fn name_of(folder: &Path) -> Result<String, Failed> {
    let unusable = || {
        Failed::Usage(format!(
            "`{}` cannot name the adapter; choose a folder whose name begins with a letter",
            folder.display()
        ))
    };
    let folder = std::path::absolute(folder).map_err(|_| unusable())?;
    let name = folder.file_name().ok_or_else(unusable)?.to_string_lossy().to_lowercase();
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let name = name.trim_matches('-').to_owned();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { Ok(name) } else { Err(unusable()) }
}

/// The relative path from one folder to another; the first need not exist.
fn way_to(from: &Path, to: &Path) -> Result<String, Failed> {
    let lost = |path: &Path| {
        let path = path.to_owned();
        move |fault| Failed::Unreadable { path, fault }
    };
    let (from, to) =
        (std::path::absolute(from).map_err(lost(from))?, to.canonicalize().map_err(lost(to))?);
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let mut way: Vec<String> = from.components().skip(shared).map(|_| "..".to_owned()).collect();
    way.extend(
        to.components().skip(shared).map(|part| part.as_os_str().to_string_lossy().into_owned()),
    );
    Ok(way.join("/"))
}

/// Creates the files. If one exists, it writes none.
pub(crate) fn write_new(folder: &Path, files: &[Made]) -> Result<(), Failed> {
    let not_made = |path: &Path, fault: io::Error| match fault.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Failed::Usage(
            format!("`{}` cannot be created: {fault}; choose a writable folder", path.display()),
        ),
        _ => Failed::NotSaved { path: path.to_owned(), fault },
    };
    if folder.symlink_metadata().is_ok() && !folder.is_dir() {
        let what = match folder.exists() {
            true => "a file, not a folder",
            false => "a dangling link",
        };
        return Err(Failed::Usage(format!(
            "`{}` is {what}; choose a new or an existing folder",
            folder.display()
        )));
    }
    for (path, _) in files {
        let path = folder.join(path);
        if path.symlink_metadata().is_ok() {
            return Err(Failed::Usage(format!(
                "`{}` already exists, and init never overwrites; choose another folder",
                path.display()
            )));
        }
    }
    for (path, text) in files {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(|fault| not_made(parent, fault))?;
        let made = fs::OpenOptions::new().write(true).create_new(true).open(&path);
        made.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|fault| not_made(&path, fault))?;
    }
    Ok(())
}

/// A distinct Python function name for each operation, never a keyword or a name of the template.
fn python_name(operation: &str) -> String {
    // Operations contain a dot and no underscore, and no Python keyword contains an underscore.
    let name = operation.replace('-', "__").replace('.', "_");
    match name.as_str() {
        "not_implemented" => format!("{name}_"),
        _ if name.starts_with(|letter: char| letter.is_ascii_digit()) => format!("_{name}"),
        _ => name,
    }
}

struct Template<'a> {
    name: String,
    contracts: Vec<&'a Contract>,
    /// The manifest's `suite` line, unless the suite is built in.
    suite_line: String,
}

impl Template<'_> {
    fn files(&self, language: Language) -> Vec<Made> {
        let (mut files, adapter, command, limits) = match language {
            Language::Typescript => {
                let text = include_str!("../templates/adapter.mjs");
                let made = ("adapter.mjs".to_owned(), self.filled(text, &self.typescript(), ", "));
                (vendored::typescript(), made, r#""node", "adapter.mjs""#, "")
            }
            Language::Python => {
                let text = include_str!("../templates/adapter.py");
                let made = ("adapter.py".to_owned(), self.filled(text, &self.python(), ", "));
                (vendored::python(), made, r#""python3", "adapter.py""#, "")
            }
            Language::Rust => {
                let text = include_str!("../templates/main.rs");
                let made = ("src/main.rs".to_owned(), self.filled(text, &self.rust(), ", "));
                let limits = "start-timeout-ms = 600000    # the first start compiles it";
                (vendored::rust(&self.name), made, r#""cargo", "run", "--quiet""#, limits)
            }
        };
        files.insert(0, adapter);
        let manifest = include_str!("../templates/proofmark.toml")
            .replace("{{command}}", command)
            .replace("{{suite}}", &self.suite_line);
        let manifest = self.filled(&manifest.replace("{{limits}}", limits), "", ", ");
        files.insert(1, ("proofmark.toml".to_owned(), format!("{}\n", manifest.trim_end())));
        files
    }

    fn filled(&self, text: &str, operations: &str, between: &str) -> String {
        let ids: Vec<String> =
            self.contracts.iter().map(|contract| format!("\"{}\"", contract.id)).collect();
        text.replace("{{name}}", &self.name)
            .replace("{{contracts}}", &ids.join(between))
            .replace("{{operations}}", operations.trim_end_matches('\n'))
    }

    /// A heading for each contract and each of its hooks, followed by a text for each operation.
    fn listed(&self, heading: impl Fn(&str) -> String, line: impl Fn(&str) -> String) -> String {
        let mut text = String::new();
        for contract in &self.contracts {
            let hooked =
                |operation: &String| contract.hooks.values().flatten().any(|of| of == operation);
            let of_wire = |operation: &String| {
                contract.wire.is_some_and(|wire| wire.operations().contains(&operation.as_str()))
            };
            text.push_str(&heading(&match contract.wire {
                Some(_) => format!(
                    "{}: has its own wire; name the server in the answer to `open` (`proofmark guide wires`)",
                    contract.id
                ),
                None => contract.id.clone(),
            }));
            let own = |operation: &&String| !hooked(operation) && !of_wire(operation);
            for operation in contract.operations.iter().filter(own) {
                text.push_str(&line(operation));
            }
            // A hook without operations only appears in `hello`.
            for (hook, operations) in contract.hooks.iter().filter(|(_, own)| !own.is_empty()) {
                text.push_str(&heading(&format!("{}, only with the hook `{hook}`", contract.id)));
                operations.iter().for_each(|operation| text.push_str(&line(operation)));
            }
        }
        text
    }

    fn typescript(&self) -> String {
        self.listed(
            |heading| format!("    // {heading}\n"),
            |operation| format!("    \"{operation}\": notImplemented,\n"),
        )
    }

    fn python(&self) -> String {
        self.listed(
            |heading| format!("\n# {heading}\n"),
            |operation| {
                format!("\n\n@adapter.operation(\"{operation}\")\ndef {}(session: Session, args: dict[str, Any]) -> Any:\n    return not_implemented()\n", python_name(operation))
            },
        )
    }

    fn rust(&self) -> String {
        let claims: String = self
            .contracts
            .iter()
            .map(|contract| format!("        .claims(\"{}\")\n", contract.id))
            .collect();
        let operations = self.listed(
            |heading| format!("        // {heading}\n"),
            |operation| format!("        .on(\"{operation}\", not_implemented)\n"),
        );
        claims + &operations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_function_names_are_distinct_and_legal() {
        for (operation, name) in [
            ("wire.break", "wire_break"),
            ("a.b-c", "a_b__c"),
            ("a-b.c", "a__b_c"),
            ("2nd.try", "_2nd_try"),
            ("not.implemented", "not_implemented_"),
        ] {
            assert_eq!(python_name(operation), name);
        }
    }
}

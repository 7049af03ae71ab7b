//! `proofmark man`: manual pages.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use crate::exit::{Exit, Failed};
use crate::keep;

/// Every page that we generate contains this.
const TITLE: &[u8] = b".TH proofmark";

/// Print the manual page, or write one page per command.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Write `proofmark.1` and a page per command to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn man(args: &ManArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let mut command = crate::Arguments::command();
    command.build();
    let Some(folder) = &args.out else {
        out.write_all(&page(command)?)?;
        return Ok(Exit::Holds);
    };
    let not_saved = |path: &Path| {
        let path = path.to_owned();
        move |fault| Failed::NotSaved { path, fault }
    };
    fs::create_dir_all(folder).map_err(not_saved(folder))?;
    let written =
        command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help");
    let pages: Vec<Command> = written.cloned().chain([command.clone()]).collect();
    for command in pages {
        let name = match command.get_name() {
            "proofmark" => "proofmark".to_owned(),
            name => format!("proofmark-{name}"),
        };
        let path = folder.join(format!("{name}.1"));
        let is_page = |bytes: &[u8]| bytes.windows(TITLE.len()).any(|part| part == TITLE);
        keep::may_write(&path, None, is_page)?;
        keep::write(&path, &page(command)?)?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(Exit::Holds)
}

fn page(command: Command) -> Result<Vec<u8>, Failed> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}

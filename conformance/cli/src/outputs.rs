//! Where reports go besides stdout: files in the formats that others read, and what GitHub shows.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use proofmark_report::{Report, github, html, json, junit, markdown, tap};

use crate::exit::{Exit, Failed};
use crate::keep::{Own, real};

#[derive(Debug, clap::Args)]
pub(crate) struct Outputs {
    /// Also write a report to a file: `json`, `junit`, `tap`, `html` or `markdown`. May be given several times.
    #[arg(long, value_name = "FORMAT=FILE")]
    report: Vec<Target>,
    /// Annotate for GitHub Actions (on stderr), and add a summary to the file that `GITHUB_STEP_SUMMARY`
    /// names. On by itself where `GITHUB_ACTIONS` is `true`.
    #[arg(long, overrides_with = "no_github")]
    github: bool,
    /// Do neither.
    #[arg(long)]
    no_github: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Json,
    Junit,
    Tap,
    Html,
    Markdown,
}

/// One file, as the user asked for it.
#[derive(Debug, Clone)]
struct Target {
    kind: Kind,
    file: PathBuf,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORMATS: &str = "`json`, `junit`, `tap`, `html` or `markdown`";
        let Some((kind, file)) = text.split_once('=') else {
            return Err(format!("write FORMAT=FILE, where FORMAT is {FORMATS}"));
        };
        let kind = match kind {
            "json" => Kind::Json,
            "junit" => Kind::Junit,
            "tap" => Kind::Tap,
            "html" => Kind::Html,
            "markdown" => Kind::Markdown,
            other => {
                return Err(format!("`{other}` is no format of a report; there are {FORMATS}"));
            }
        };
        match file {
            "" => Err("no file is named after `=`".to_owned()),
            "-" => Err("`--report` writes files; `--format` says what stdout gets".to_owned()),
            file => Ok(Self { kind, file: file.into() }),
        }
    }
}

/// Files that can be written, and whether GitHub listens.
#[derive(Debug)]
pub(crate) struct Prepared {
    targets: Vec<Target>,
    github: bool,
    summary: Option<PathBuf>,
}

impl Outputs {
    /// Checks every file before anything runs, so that no long run ends in a report that cannot be
    /// written, or that takes the place of a file that belongs to the run. Nothing is there afterwards that was
    /// not there before, but for folders.
    pub(crate) fn prepare(&self, own: &[Own]) -> Result<Prepared, Failed> {
        let mut targets: Vec<Target> = Vec::new();
        for Target { kind, file } in &self.report {
            let place = place_of(file).map_err(|message| unwritable(file, message))?;
            if targets.iter().any(|known| known.file == place) {
                return Err(unwritable(file, "two reports would go to this file".to_owned()));
            }
            if let Some(own) = own.iter().find(|own| real(&own.path) == place) {
                let message = format!("it is {} of this run; choose another name", own.what);
                return Err(unwritable(file, message));
            }
            targets.push(Target { kind: *kind, file: place });
        }
        let github = !self.no_github && (self.github || on_github());
        let summary = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|file| !file.is_empty());
        let summary = summary.filter(|_| github).map(PathBuf::from);
        if let Some(file) = &summary {
            place_of(file).map_err(|message| {
                let hint =
                    "; it is what `GITHUB_STEP_SUMMARY` names, and `--no-github` does without";
                unwritable(file, message + hint)
            })?;
        }
        Ok(Prepared { targets, github, summary })
    }
}

/// Whether GitHub's runner started this.
pub(crate) fn on_github() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

fn unwritable(file: &Path, message: String) -> Failed {
    Failed::Usage(format!("a report cannot be written to `{}`: {message}", file.display()))
}

/// The file itself, through symbolic links, if a report can take its place.
fn place_of(file: &Path) -> Result<PathBuf, String> {
    let place = match fs::metadata(file) {
        Ok(about) if about.is_dir() => return Err("it is a folder; name a file in it".to_owned()),
        Ok(about) if !about.is_file() => {
            return Err("it is there already, and no regular file".to_owned());
        }
        Ok(_) => fs::canonicalize(file).map_err(|fault| fault.to_string())?,
        Err(_) => {
            if fs::symlink_metadata(file).is_ok() {
                return Err("it is a symbolic link that leads nowhere".to_owned());
            }
            let name = file.file_name().ok_or("it does not end in a file's name")?;
            if file.as_os_str().as_encoded_bytes().ends_with(b"/") {
                return Err("it does not end in a file's name".to_owned());
            }
            let folder = folder_of(file);
            if folder.exists() && !folder.is_dir() {
                return Err(format!("`{}` is no folder", folder.display()));
            }
            let made = fs::create_dir_all(folder).and_then(|()| fs::canonicalize(folder));
            let folder = made.map_err(|fault| {
                format!("its folder `{}` cannot be used: {fault}", folder.display())
            })?;
            folder.join(name)
        }
    };
    // Only trying shows whether a file can be made there.
    temporary(&place).map_err(|fault| format!("no file can be made in its folder: {fault}"))?;
    Ok(place)
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file beside the one that it is to become. It is gone if it does not.
fn temporary(file: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // As any file that is made: others read reports, unless the umask says otherwise.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.prefix(".proofmark-report-").tempfile_in(folder_of(file))
}

impl Prepared {
    /// Whether stdout is read by GitHub's runner, which takes commands from it.
    pub(crate) fn github(&self) -> bool {
        self.github
    }

    /// Writes every report. One that cannot be written keeps no other from being written.
    pub(crate) fn write(&self, report: &Report<'_>) -> Result<(), Failed> {
        let mut first = Ok(());
        for Target { kind, file } in &self.targets {
            let written = replace(file, |out| write(out, *kind, report));
            first =
                first.and(written.map_err(|fault| Failed::NoReport { path: file.clone(), fault }));
        }
        if self.github {
            // Without a reader there is nobody to tell.
            let _deaf = github::annotate(&mut io::stderr().lock(), report, Path::is_file);
        }
        if let Some(file) = &self.summary {
            let written = append(file, &markdown::summary(report));
            first =
                first.and(written.map_err(|fault| Failed::NoReport { path: file.clone(), fault }));
        }
        first
    }
}

/// One report in one format.
pub(crate) fn write(out: &mut dyn Write, kind: Kind, report: &Report<'_>) -> io::Result<()> {
    match kind {
        Kind::Json => json::write(out, report),
        Kind::Junit => junit::write(out, report),
        Kind::Tap => tap::write(out, report),
        Kind::Html => out.write_all(html::page(report).as_bytes()),
        Kind::Markdown => out.write_all(markdown::summary(report).as_bytes()),
    }
}

/// The file is what it was, or the whole report; nothing between.
fn replace(file: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut temporary = temporary(file)?;
    let mut out = io::BufWriter::new(temporary.as_file_mut());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    temporary.persist(file)?;
    Ok(())
}

fn append(file: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(file)?.write_all(text.as_bytes())
}

/// A report that is missing is no verdict, whatever was found out.
pub(crate) fn with_reports(
    found: Result<Exit, Failed>,
    written: Result<(), Failed>,
) -> Result<Exit, Failed> {
    match (found, written) {
        (Ok(_), Err(fault)) => Err(fault),
        (found, _) => found,
    }
}

//! Reports besides stdout: files in several formats, and GitHub annotations and summaries.

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

/// One report file that the user asked for.
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
                return Err(format!("unknown report format `{other}`; use {FORMATS}"));
            }
        };
        match file {
            "" => Err("no file name after `=`".to_owned()),
            "-" => Err("`--report` writes files; use `--format` for stdout".to_owned()),
            file => Ok(Self { kind, file: file.into() }),
        }
    }
}

/// Checked report files, and whether GitHub output is on.
#[derive(Debug)]
pub(crate) struct Prepared {
    targets: Vec<Target>,
    github: bool,
    summary: Option<PathBuf>,
}

impl Outputs {
    /// Checks every file before the run, so that a long run does not end in a report that cannot be written or that
    /// overwrites a file of the run. Creates nothing but folders.
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
                let hint = "; `GITHUB_STEP_SUMMARY` names it; pass `--no-github` to skip it";
                unwritable(file, message + hint)
            })?;
        }
        Ok(Prepared { targets, github, summary })
    }
}

/// Whether this runs in GitHub Actions.
pub(crate) fn on_github() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

fn unwritable(file: &Path, message: String) -> Failed {
    Failed::Usage(format!("cannot write a report to `{}`: {message}", file.display()))
}

/// The file behind symbolic links, if a report can replace it.
fn place_of(file: &Path) -> Result<PathBuf, String> {
    let place = match fs::metadata(file) {
        Ok(about) if about.is_dir() => return Err("it is a folder; name a file in it".to_owned()),
        Ok(about) if !about.is_file() => {
            return Err("it exists and is not a regular file".to_owned());
        }
        Ok(_) => fs::canonicalize(file).map_err(|fault| fault.to_string())?,
        Err(_) => {
            if fs::symlink_metadata(file).is_ok() {
                return Err("it is a dangling symbolic link".to_owned());
            }
            let name = file.file_name().ok_or("it does not end in a file name")?;
            if file.as_os_str().as_encoded_bytes().ends_with(b"/") {
                return Err("it does not end in a file name".to_owned());
            }
            let folder = folder_of(file);
            if folder.exists() && !folder.is_dir() {
                return Err(format!("`{}` is not a folder", folder.display()));
            }
            let made = fs::create_dir_all(folder).and_then(|()| fs::canonicalize(folder));
            let folder = made.map_err(|fault| {
                format!("cannot use its folder `{}`: {fault}", folder.display())
            })?;
            folder.join(name)
        }
    };
    // Only an attempt shows whether the folder is writable.
    temporary(&place).map_err(|fault| format!("cannot create a file in its folder: {fault}"))?;
    Ok(place)
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A temporary file beside its target, deleted unless it is renamed.
fn temporary(file: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The mode of any new file: others may read reports, unless the umask forbids it.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.prefix(".proofmark-report-").tempfile_in(folder_of(file))
}

impl Prepared {
    /// Whether GitHub's runner reads stdout, where it looks for commands.
    pub(crate) fn github(&self) -> bool {
        self.github
    }

    /// Writes every report. If one fails, the others are still written.
    pub(crate) fn write(&self, report: &Report<'_>) -> Result<(), Failed> {
        let mut first = Ok(());
        for Target { kind, file } in &self.targets {
            let written = replace(file, |out| write(out, *kind, report));
            first =
                first.and(written.map_err(|fault| Failed::NoReport { path: file.clone(), fault }));
        }
        if self.github {
            // If the reader is gone, nobody needs the annotation.
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

/// Replaces the file atomically: it holds the old content or the whole report.
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

/// A missing report overrides the verdict with an error.
pub(crate) fn with_reports(
    found: Result<Exit, Failed>,
    written: Result<(), Failed>,
) -> Result<Exit, Failed> {
    match (found, written) {
        (Ok(_), Err(fault)) => Err(fault),
        (found, _) => found,
    }
}

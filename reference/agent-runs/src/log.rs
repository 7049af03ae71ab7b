//! The files of a run: its event log and its artifacts. Everything here blocks.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::event::Event;
use crate::fold::{Fold, Misfit};
use crate::settings::Flush;
use crate::{Id, Policy};

/// An event as it stands in the log and goes out to consumers: one line of JSON, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub id: Id,
    pub json: Arc<str>,
}

/// Why a run on the disk is not served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunFault {
    /// The line is not an event, or cannot follow the lines before it. The file is left unchanged.
    #[error("`{file}`, line {line}: {why}")]
    Corrupt { file: String, line: usize, why: String },
    #[error(
        "`{file}`, line {line}: the log is of contract version `{version}`; this program reads version `1`"
    )]
    Version { file: String, line: usize, version: String },
    #[error("`{file}` cannot be read: {why}")]
    Unreadable { file: String, why: String },
}

/// The paths of one run's files.
#[derive(Debug, Clone)]
pub(crate) struct RunFiles {
    folder: PathBuf,
    run: Id,
    flush: Flush,
}

/// A file that must be on the disk before the events that refer to it.
#[derive(Debug)]
pub(crate) struct NewFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

const LOG: &str = "events.jsonl";
const ARTIFACTS: &str = "artifacts";
/// The folder of all runs.
pub(crate) const RUNS: &str = "runs";

impl RunFiles {
    pub(crate) fn new(workspace: &Path, run: Id, flush: Flush) -> Self {
        Self { folder: workspace.join(RUNS).join(run.to_string()), run, flush }
    }

    /// Creates the folders and an empty log.
    pub(crate) fn create(&self) -> io::Result<()> {
        fs::create_dir_all(self.folder.join(ARTIFACTS))?;
        File::create_new(self.folder.join(LOG))?;
        if self.flush == Flush::Disk {
            sync_folder(&self.folder)?;
            self.folder.parent().map_or(Ok(()), sync_folder)?;
        }
        Ok(())
    }

    pub(crate) fn artifact_path(&self, artifact: Id, name: &str) -> PathBuf {
        self.folder.join(ARTIFACTS).join(format!("{artifact}.{name}"))
    }

    /// Writes the files, then the lines in one write. When it returns, they are durable. Unless it `adds`, they
    /// replace the log.
    ///
    /// It opens the log for each write, so that an idle run holds no file open.
    pub(crate) fn write(&self, files: &[NewFile], lines: &[Line], adds: bool) -> io::Result<()> {
        for file in files {
            let mut opened = File::create_new(&file.path)?;
            opened.write_all(file.text.as_bytes())?;
            self.flush_file(&opened)?;
        }
        if !files.is_empty() && self.flush == Flush::Disk {
            sync_folder(&self.folder.join(ARTIFACTS))?;
        }
        let mut bytes = Vec::with_capacity(lines.iter().map(|line| line.json.len() + 1).sum());
        for line in lines {
            bytes.extend_from_slice(line.json.as_bytes());
            bytes.push(b'\n');
        }
        let mut log = OpenOptions::new().append(true).open(self.folder.join(LOG))?;
        if !adds {
            log.set_len(0)?;
        }
        log.write_all(&bytes)?;
        self.flush_file(&log)
    }

    /// Reads the run from its log. Truncates a last line without an end: it was never reported. Returns `None` if
    /// nothing is left, because then the run was never reported.
    pub(crate) fn read(
        &self,
        policy: &Arc<dyn Policy>,
    ) -> Result<Option<(Fold, Vec<Line>)>, RunFault> {
        let text = self
            .read_whole_lines()
            .map_err(|fault| RunFault::Unreadable { file: self.name(), why: fault.to_string() })?;
        let Some(bytes) = text else { return Ok(None) };
        let mut fold: Option<Fold> = None;
        let mut lines = Vec::new();
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let corrupt =
                |why: String| RunFault::Corrupt { file: self.name(), line: index + 1, why };
            let json = std::str::from_utf8(&line[..line.len() - 1])
                .map_err(|fault| corrupt(fault.to_string()))?;
            let event: Event =
                serde_json::from_str(json).map_err(|fault| corrupt(fault.to_string()))?;
            lines.push(Line { id: event.id, json: json.into() });
            let taken = match &mut fold {
                Some(fold) => fold.apply(event),
                None => {
                    Fold::begin(self.run, event, Arc::clone(policy)).map(|begun| fold = Some(begun))
                }
            };
            taken.map_err(|misfit| match misfit {
                Misfit::Version(version) => {
                    RunFault::Version { file: self.name(), line: index + 1, version }
                }
                other => corrupt(other.to_string()),
            })?;
        }
        Ok(fold.map(|fold| (fold, lines)))
    }

    /// The log up to its last newline; the file is truncated there.
    fn read_whole_lines(&self) -> io::Result<Option<Vec<u8>>> {
        let path = self.folder.join(LOG);
        let mut bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if whole < bytes.len() {
            let log = OpenOptions::new().write(true).open(&path)?;
            log.set_len(whole as u64)?;
            self.flush_file(&log)?;
            bytes.truncate(whole);
        }
        Ok(Some(bytes))
    }

    /// The log's path in messages, relative to the workspace, so that the location of the workspace is not revealed.
    fn name(&self) -> String {
        format!("{RUNS}/{}/{LOG}", self.run)
    }

    fn flush_file(&self, file: &File) -> io::Result<()> {
        match self.flush {
            Flush::Disk => file.sync_data(),
            Flush::System => Ok(()),
        }
    }
}

/// Syncs a folder, so that the names in it are durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

//! Issues a certificate for `certify --out` and `merge --out`.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use proofmark_certificate::dsse::Envelope;
use proofmark_certificate::key::SecretKey;
use proofmark_certificate::statement::{
    Digest, Named, Statement, StatementError, TRANSCRIPT, Terms,
};
use proofmark_judge::Suite;
use proofmark_judge::record::Record;
use proofmark_judge::verdict::RunOutcome;

use crate::exit::Failed;
use crate::keep::{self, Own};

pub(crate) const CERTIFICATE: &str = "certificate.json";
pub(crate) const ENVELOPE: &str = "certificate.dsse.json";

#[derive(Debug, clap::Args)]
pub(crate) struct Issue {
    /// Write the certificate and the transcript that it rests on to this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Certify this file, by its name and SHA-256. May be given several times.
    #[arg(long, value_name = "FILE", requires = "out")]
    artifact: Vec<PathBuf>,
    /// Sign the certificate with this ed25519 key (PEM, PKCS#8).
    #[arg(long, value_name = "KEY", requires = "out")]
    sign: Option<PathBuf>,
    /// Overwrite files in the folder that are not from an earlier certificate.
    #[arg(long, requires = "out")]
    force: bool,
}

/// Everything needed to issue, read before the run starts, so that a wrong key does not waste a run.
pub(crate) struct Ready {
    folder: PathBuf,
    key: Option<SecretKey>,
    terms: Terms,
    force: bool,
}

impl Issue {
    /// Whether the certificate is written to this folder.
    pub(crate) fn goes_to(&self, folder: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().ok();
        self.out.as_ref().is_some_and(|out| real(out).is_some() && real(out) == real(folder))
    }

    /// The files that issuing reads and writes.
    pub(crate) fn own(&self) -> Vec<Own> {
        let named = [(CERTIFICATE, "the certificate"), (ENVELOPE, "the certificate")];
        let named = named.into_iter().chain([(TRANSCRIPT, "the transcript")]);
        let made = self
            .out
            .iter()
            .flat_map(|out| named.clone().map(move |(name, what)| Own::new(out.join(name), what)));
        let key = self.sign.iter().map(|path| Own::new(path, "the key"));
        let artifacts = self.artifact.iter().map(|path| Own::new(path, "an artifact"));
        made.chain(key).chain(artifacts).collect()
    }

    /// Reads the key and the artifacts, and checks the folder. Writes nothing.
    pub(crate) fn ready(&self, asked: &[String]) -> Result<Option<Ready>, Failed> {
        let Some(folder) = &self.out else { return Ok(None) };
        let key = match &self.sign {
            Some(path) => {
                let bytes = keep::read(path, keep::MOST_TEXT)?;
                let bad = |fault| Failed::BadKey { path: path.clone(), fault };
                Some(SecretKey::from_pem(&bytes).map_err(bad)?)
            }
            None => None,
        };
        let mut artifacts: Vec<Named> = Vec::new();
        for path in &self.artifact {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = name.ok_or_else(|| {
                Failed::Usage(format!("`{}` has no file name to certify", path.display()))
            })?;
            if artifacts.iter().any(|other| other.name == name) {
                return Err(Failed::Usage(format!(
                    "two artifacts have the name `{name}`; rename one of them"
                )));
            }
            artifacts.push(Named { name, digest: Digest { sha256: keep::digest(path)? } });
        }
        let mut asked = asked.to_vec();
        asked.sort();
        asked.dedup();
        let terms = Terms { artifacts, asked };
        let ready = Ready { folder: folder.clone(), key, terms, force: self.force };
        // Fail before the run if the folder is not writable.
        let unsaved = |fault| Failed::NotSaved { path: folder.clone(), fault };
        ready.look()?;
        let there = folder.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("."));
        tempfile::tempfile_in(there).map_err(unsaved)?;
        Ok(Some(ready))
    }
}

impl Ready {
    fn look(&self) -> Result<(), Failed> {
        match fs::metadata(&self.folder) {
            Ok(about) if !about.is_dir() => {
                let fault = io::Error::other("it is not a folder");
                return Err(Failed::NotSaved { path: self.folder.clone(), fault });
            }
            Ok(_) => {}
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(fault) => return Err(Failed::NotSaved { path: self.folder.clone(), fault }),
        }
        let at = |name: &str| self.folder.join(name);
        let is_statement = |bytes: &[u8]| Statement::parse(bytes).is_ok();
        keep::may_write(&at(CERTIFICATE), Some(self.force), is_statement)?;
        keep::may_write(&at(TRANSCRIPT), Some(self.force), keep::is_record)?;
        keep::may_write(&at(ENVELOPE), Some(self.force), |bytes| Envelope::parse(bytes).is_ok())
    }

    /// An interrupted run has no certificate, and an existing one belongs to an earlier run.
    pub(crate) fn tell_of_none(&self) {
        let former = self.folder.join(CERTIFICATE);
        let note = if former.exists() { "; the existing one is from an earlier run" } else { "" };
        // If stderr is closed, there is nobody to warn.
        let _deaf = writeln!(
            anstream::stderr(),
            "no certificate was written, because the run did not finish{note}"
        );
    }

    /// Writes the transcript, the certificate and, with a key, the signed certificate, and reports that on stderr.
    /// The certificate must state the same verdicts as the run.
    pub(crate) fn issue(
        &self,
        suite: &Suite,
        outcome: &RunOutcome,
        record: Record,
    ) -> Result<(), Failed> {
        let settled = record.settled(suite);
        if !comes_out_alike(suite, outcome, &settled)? {
            return Err(Failed::Disagrees);
        }
        let transcript = settled.to_bytes();
        let statement = Statement::of(suite, &transcript, &self.terms)?;
        let unsaved = |path: &Path| {
            let path = path.to_owned();
            move |fault| Failed::NotSaved { path, fault }
        };
        fs::create_dir_all(&self.folder).map_err(unsaved(&self.folder))?;
        self.look()?;
        let bytes = statement.to_bytes();
        let (certificate, envelope) = (self.folder.join(CERTIFICATE), self.folder.join(ENVELOPE));
        keep::write(&self.folder.join(TRANSCRIPT), &transcript)?;
        match &self.key {
            Some(key) => keep::write(&envelope, &Envelope::sign(&bytes, key).to_bytes())?,
            // An old signature does not belong to this run.
            None if envelope.exists() => {
                fs::remove_file(&envelope).map_err(unsaved(&envelope))?;
            }
            None => {}
        }
        keep::write(&certificate, &bytes)?;
        let what = if statement.is_certified() { "certificate" } else { "refusal (NOT certified)" };
        // If stderr is closed, the files still exist.
        let _deaf = writeln!(anstream::stderr(), "wrote the {what} to {}", certificate.display());
        Ok(())
    }
}

/// Whether judging the record again gives the run's verdict on every case. A certificate that claims more than the
/// run must not exist, not even for a moment.
fn comes_out_alike(suite: &Suite, outcome: &RunOutcome, record: &Record) -> Result<bool, Failed> {
    let again = record.rejudge(suite).map_err(StatementError::from)?;
    let passed = |outcome: &RunOutcome| -> Vec<(String, bool)> {
        let results = outcome.results.iter();
        results.map(|result| (result.case.clone(), result.passed())).collect()
    };
    Ok(passed(outcome) == passed(&again))
}

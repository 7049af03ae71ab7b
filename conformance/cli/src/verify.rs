//! `proofmark verify`: checks whether a certificate is genuine, offline and without the subject.

use std::io::Write;
use std::path::{Path, PathBuf};

use proofmark_certificate::dsse::{Envelope, EnvelopeError};
use proofmark_certificate::key::PublicKey;
use proofmark_certificate::sha256;
use proofmark_certificate::statement::{Statement, StatementError, SubjectIs, first_difference};
use proofmark_judge::record::{MOST_BYTES, RecordError};
use proofmark_report::text::visible_line;

use crate::exit::{Exit, Failed, standing};
use crate::keep;
use crate::options::SuiteChoice;

/// Check a certificate: its signature, its digests, and every verdict, judged again from the transcript.
///
/// Exit codes: 0 if it is sound, certified, and signed by the key that you give; 1 if it was changed, is not signed by
/// that key, or does not certify; 2 if a file cannot be read or the certificate belongs to another suite.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// `certificate.json`, or `certificate.dsse.json` for a signed one.
    file: PathBuf,
    /// Require a signature by this public key (PEM).
    #[arg(long, value_name = "PUBKEY")]
    key: Option<PathBuf>,
    /// The transcript [default: the one beside the certificate].
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    /// Require that the certificate is about this file. Repeat for several.
    #[arg(long, value_name = "FILE")]
    artifact: Vec<PathBuf>,
    #[command(flatten)]
    suite: SuiteChoice,
}

/// Why a certificate does not hold. Other errors leave the question open.
struct Refuted(String);

type Checked<T> = Result<Result<T, Refuted>, Failed>;

/// Writes what was checked and what was not, after all checks, so that a reader who closes the pipe early changes
/// nothing.
pub(crate) fn verify(args: &VerifyArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let mut lines = Vec::new();
    let exit = match check(args, &mut lines) {
        Ok(Ok(statement)) if statement.is_certified() => {
            let certified = statement.predicate.contracts.iter().filter(|one| one.certified);
            let ids: Vec<&str> = certified.map(|one| one.id.as_str()).collect();
            let word = if args.key.is_some() { "genuine" } else { "sound, signer unknown" };
            writeln!(lines, "{word}: certified for {}", ids.join(", "))?;
            Ok(Exit::Holds)
        }
        Ok(Ok(_)) => {
            writeln!(lines, "the document is valid, but it says: NOT CERTIFIED")?;
            Ok(Exit::DoesNotHold)
        }
        Ok(Err(Refuted(why))) => {
            writeln!(lines, "NO         {}\nthe certificate does not hold", visible_line(&why))?;
            Ok(Exit::DoesNotHold)
        }
        Err(fault) => Err(fault),
    };
    let written = out.write_all(&lines);
    // Errors in the files matter more than errors in the output.
    standing(exit?, written)
}

fn check(args: &VerifyArgs, out: &mut dyn Write) -> Checked<Statement> {
    let suite = args.suite.load()?;
    let key = match &args.key {
        Some(path) => {
            let bad = |fault| Failed::BadKey { path: path.clone(), fault };
            Some(PublicKey::from_pem(&keep::read(path, keep::MOST_TEXT)?).map_err(bad)?)
        }
        None => None,
    };
    let file = keep::read(&args.file, keep::MOST_TEXT)?;
    let statement = match opened(&file, &args.file, key.as_ref(), out)? {
        Ok(bytes) => match parsed(&bytes, &args.file)? {
            Ok(statement) => statement,
            Err(refuted) => return Ok(Err(refuted)),
        },
        Err(refuted) => return Ok(Err(refuted)),
    };
    let predicate = &statement.predicate;
    if predicate.suite.digest.sha256 != suite.digest {
        let recorded = predicate.suite.digest.sha256.clone();
        let fault = RecordError::OtherSuite { recorded, have: suite.digest.clone() };
        return Err(Failed::BadRecord { path: args.file.clone(), fault });
    }
    writeln!(out, "ok         suite {}", suite.digest)?;
    let beside = args.file.with_file_name(proofmark_certificate::statement::TRANSCRIPT);
    let path = args.transcript.as_ref().unwrap_or(&beside);
    let transcript = keep::read(path, MOST_BYTES)?;
    if sha256(&transcript) != predicate.transcript.digest.sha256 {
        return Ok(Err(Refuted(format!(
            "`{}` is not the transcript of this certificate: its SHA-256 is {}, expected {}",
            path.display(),
            sha256(&transcript),
            predicate.transcript.digest.sha256
        ))));
    }
    writeln!(out, "ok         transcript {}", predicate.transcript.digest.sha256)?;
    let made = match Statement::of(suite, &transcript, &statement.terms()) {
        Ok(made) => made,
        Err(StatementError::Record(fault)) => {
            return Err(Failed::BadRecord { path: path.clone(), fault });
        }
        Err(fault) => {
            return Ok(Err(Refuted(format!(
                "the transcript contradicts the certificate: {fault}"
            ))));
        }
    };
    if made.to_bytes() != statement.to_bytes() {
        return Ok(Err(Refuted(first_difference(&statement, &made))));
    }
    let requirements = predicate.contracts.iter().map(|one| one.requirements.len()).sum::<usize>();
    writeln!(out, "ok         {requirements} requirements, judged again from the transcript")?;
    if let Err(refuted) = artifacts(&args.artifact, &statement, out)? {
        return Ok(Err(refuted));
    }
    Ok(Ok(statement))
}

/// The statement's bytes, taken out of the envelope if there is one.
fn opened(
    file: &[u8],
    path: &Path,
    key: Option<&PublicKey>,
    out: &mut dyn Write,
) -> Checked<Vec<u8>> {
    let envelope = match Envelope::parse(file) {
        Ok(envelope) => envelope,
        Err(EnvelopeError::Form(fault)) if looks_signed(file) => {
            return Err(Failed::NoCertificate { path: path.to_owned(), fault });
        }
        Err(EnvelopeError::Form(_)) if key.is_some() => {
            let hint = "the signed form is `certificate.dsse.json`";
            return Ok(Err(Refuted(format!("it is not signed, but --key is given; {hint}"))));
        }
        Err(EnvelopeError::Form(_)) => {
            writeln!(out, "not checked  it is not signed")?;
            return Ok(Ok(file.to_vec()));
        }
        Err(other) => return Ok(Err(Refuted(other.to_string()))),
    };
    match key {
        Some(key) => {
            if let Err(fault) = envelope.verify(key) {
                return Ok(Err(Refuted(fault.to_string())));
            }
            writeln!(out, "ok         signature of key {}", key.id())?;
        }
        None => writeln!(
            out,
            "not checked  the signature (claimed key {}): no --key was given",
            envelope.key_id().chars().take(80).collect::<String>().escape_debug()
        )?,
    }
    match envelope.payload() {
        Ok(payload) => Ok(Ok(payload)),
        Err(fault) => Ok(Err(Refuted(fault.to_string()))),
    }
}

fn looks_signed(file: &[u8]) -> bool {
    let value: Option<serde_json::Value> = serde_json::from_slice(file).ok();
    value.is_some_and(|value| value.get("payloadType").is_some())
}

fn parsed(bytes: &[u8], path: &Path) -> Checked<Statement> {
    match Statement::parse(bytes) {
        Ok(statement) => Ok(Ok(statement)),
        Err(StatementError::Form { fault }) => {
            Err(Failed::NoCertificate { path: path.to_owned(), fault })
        }
        Err(fault) => Ok(Err(Refuted(fault.to_string()))),
    }
}

fn artifacts(given: &[PathBuf], statement: &Statement, out: &mut dyn Write) -> Checked<()> {
    let mut left: Vec<&str> = Vec::new();
    if statement.predicate.subject_is == SubjectIs::Artifacts {
        left.extend(statement.subject.iter().map(|one| one.name.as_str()));
    } else {
        writeln!(
            out,
            "not checked  it names no artifact: it covers only what the transcript shows"
        )?;
    }
    for (index, path) in given.iter().enumerate() {
        if given[..index].iter().any(|before| keep::real(before) == keep::real(path)) {
            return Err(Failed::Usage(format!("`{}` is given twice", path.display())));
        }
        let digest = keep::digest(path)?;
        let named = statement.subject.iter().filter(|one| left.contains(&one.name.as_str()));
        let Some(found) = named.into_iter().find(|one| one.digest.sha256 == digest) else {
            return Ok(Err(Refuted(format!(
                "the certificate does not cover `{}`: none of its files has the SHA-256 {digest}",
                path.display()
            ))));
        };
        writeln!(out, "ok         artifact {} {digest}", visible_line(&found.name))?;
        left.retain(|name| *name != found.name);
    }
    for name in left {
        let name = visible_line(name);
        writeln!(out, "not checked  the artifact `{name}`: --artifact FILE checks it")?;
    }
    Ok(Ok(()))
}

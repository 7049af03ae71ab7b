//! `proofmark badge`: a certificate as a small picture.

use std::io::Write;
use std::path::PathBuf;

use proofmark_certificate::badge::svg;
use proofmark_certificate::dsse::Envelope;
use proofmark_certificate::statement::Statement;

use crate::exit::{Exit, Failed, standing};
use crate::keep;

/// Draw a badge (SVG) for a certificate.
///
/// This checks only the form of the certificate. `proofmark verify` checks whether it is true.
#[derive(Debug, clap::Args)]
pub(crate) struct BadgeArgs {
    /// `certificate.json` or `certificate.dsse.json`.
    file: PathBuf,
    /// Write the SVG to this file [default: stdout].
    #[arg(long, value_name = "FILE.svg")]
    out: Option<PathBuf>,
}

/// Writes the picture to `out`, or to the file.
pub(crate) fn badge(args: &BadgeArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let none = |fault: String| Failed::NoCertificate { path: args.file.clone(), fault };
    let file = keep::read(&args.file, keep::MOST_TEXT)?;
    let bytes = match Envelope::parse(&file) {
        Ok(envelope) => envelope.payload().map_err(|fault| none(fault.to_string()))?,
        Err(_) => file,
    };
    let statement = Statement::parse(&bytes).map_err(|fault| none(fault.to_string()))?;
    let picture = svg(&statement);
    match &args.out {
        Some(path) => {
            let is_badge = |bytes: &[u8]| bytes.starts_with(b"<svg ");
            keep::may_write(path, None, is_badge)?;
            keep::write(path, picture.as_bytes())?;
            Ok(Exit::Holds)
        }
        None => standing(Exit::Holds, out.write_all(picture.as_bytes())),
    }
}

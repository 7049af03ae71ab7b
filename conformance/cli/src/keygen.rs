//! `proofmark keygen`: creates a key pair to sign certificates.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use proofmark_certificate::key::SecretKey;

use crate::exit::{Exit, Failed};

/// Create an ed25519 key pair: one to sign certificates, one to check them.
///
/// Both are PEM files that `openssl` can read. Existing files are never overwritten.
#[derive(Debug, clap::Args)]
pub(crate) struct KeygenArgs {
    /// The file for the private key. The public key goes to the same name with `.pub` added.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Writes the public key's id to `out`.
pub(crate) fn keygen(args: &KeygenArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let mut public = args.out.clone().into_os_string();
    public.push(".pub");
    let public = PathBuf::from(public);
    let bad = |fault| Failed::BadKey { path: args.out.clone(), fault };
    let key = SecretKey::generate().map_err(bad)?;
    // The public key first: if writing it fails, no private key is left on disk.
    create(&public, 0o644, &key.public().to_pem().map_err(bad)?)?;
    if let Err(fault) = create(&args.out, 0o600, &key.to_pem().map_err(bad)?) {
        // It was just created and belongs to no private key.
        let _stays = std::fs::remove_file(&public);
        return Err(fault);
    }
    writeln!(out, "{}", key.public().id())?;
    Ok(Exit::Holds)
}

fn create(path: &Path, mode: u32, text: &str) -> Result<(), Failed> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    let written = || -> io::Result<()> {
        let mut file = options.open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    written().map_err(|fault| {
        let fault = match fault.kind() {
            io::ErrorKind::AlreadyExists => io::Error::other(
                "it exists, and keygen never overwrites a key; choose another name",
            ),
            _ => fault,
        };
        Failed::NotSaved { path: path.to_owned(), fault }
    })
}

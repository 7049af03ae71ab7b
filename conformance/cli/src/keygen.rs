//! `proofmark keygen`: a pair of keys to sign certificates with.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use proofmark_certificate::key::SecretKey;

use crate::exit::{Exit, Failed};

/// Make an ed25519 key to sign certificates with, and the public key to check them with.
///
/// Both are PEM files, as `openssl` makes and reads them. Nothing is ever overwritten.
#[derive(Debug, clap::Args)]
pub(crate) struct KeygenArgs {
    /// Where the private key goes; the public key goes beside it, with `.pub` added to the name.
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
    // First the public one: if it cannot be written, no secret is left lying about.
    create(&public, 0o644, &key.public().to_pem().map_err(bad)?)?;
    if let Err(fault) = create(&args.out, 0o600, &key.to_pem().map_err(bad)?) {
        // It was made just now, and belongs to no key.
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
                "it is there already, and a key is never overwritten; choose another name",
            ),
            _ => fault,
        };
        Failed::NotSaved { path: path.to_owned(), fault }
    })
}

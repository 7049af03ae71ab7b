//! Ed25519 keys, in the PEM files that `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write.

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{
    DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _,
    KeypairBytes,
};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use crate::sha256;

pub struct SecretKey(SigningKey);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// Why a file is not the required key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("it is {found}; {needed} is needed, {hint}")]
    WrongKind { found: String, needed: &'static str, hint: &'static str },
    #[error("it is a PEM file of the right kind, but the key in it cannot be read: {0}")]
    Broken(String),
    #[error("cannot read system randomness: {0}")]
    NoRandom(String),
}

const SECRET: (&str, &str) = (
    "an ed25519 private key in PEM (PKCS#8)",
    "such as `proofmark keygen` or `openssl genpkey -algorithm ed25519` makes",
);
const PUBLIC: (&str, &str) =
    ("an ed25519 public key in PEM", "such as `proofmark keygen` or `openssl pkey -pubout` makes");

impl SecretKey {
    pub fn generate() -> Result<Self, KeyError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|fault| KeyError::NoRandom(fault.to_string()))?;
        Ok(Self::from_seed(&seed))
    }

    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    pub fn from_pem(bytes: &[u8]) -> Result<Self, KeyError> {
        let text = labelled(bytes, "PRIVATE KEY", SECRET)?;
        SigningKey::from_pkcs8_pem(text).map(Self).map_err(|fault| unread(&fault, SECRET))
    }

    /// Without the public half, as openssl writes it: some readers do not support the form with both.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        let bytes = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        let pem = bytes.to_pkcs8_pem(LineEnding::LF);
        pem.map(|pem| pem.to_string()).map_err(|fault| KeyError::Broken(fault.to_string()))
    }

    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

impl PublicKey {
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_bytes(bytes);
        key.map(Self).map_err(|fault| KeyError::Broken(fault.to_string()))
    }

    pub fn from_pem(bytes: &[u8]) -> Result<Self, KeyError> {
        let text = labelled(bytes, "PUBLIC KEY", PUBLIC)?;
        let key = VerifyingKey::from_public_key_pem(text);
        key.map(Self).map_err(|fault| match fault {
            ed25519_dalek::pkcs8::spki::Error::OidUnknown { .. } => other_algorithm(PUBLIC),
            other => KeyError::Broken(other.to_string()),
        })
    }

    pub fn to_pem(&self) -> Result<String, KeyError> {
        let pem = self.0.to_public_key_pem(LineEnding::LF);
        pem.map_err(|fault| KeyError::Broken(fault.to_string()))
    }

    /// SHA-256 of the key as DER (SubjectPublicKeyInfo): what `openssl pkey -pubin -outform DER` writes.
    pub fn id(&self) -> String {
        // The form of an ed25519 key is fixed; only its last 32 bytes vary (RFC 8410).
        const HEAD: [u8; 12] =
            [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0];
        sha256(&[&HEAD[..], self.0.as_bytes()].concat())
    }

    /// Strict: accepts only one signature for a message and a key.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        let signature = Signature::from_slice(signature);
        signature.is_ok_and(|signature| self.0.verify_strict(message, &signature).is_ok())
    }
}

fn other_algorithm((needed, hint): (&'static str, &'static str)) -> KeyError {
    KeyError::WrongKind { found: "a key of another algorithm".to_owned(), needed, hint }
}

fn unread(fault: &ed25519_dalek::pkcs8::Error, needed: (&'static str, &'static str)) -> KeyError {
    use ed25519_dalek::pkcs8::{Error, spki};
    match fault {
        Error::PublicKey(spki::Error::OidUnknown { .. }) => other_algorithm(needed),
        other => KeyError::Broken(other.to_string()),
    }
}

/// The text of a PEM file with this label; otherwise an error that says what the file is.
fn labelled<'a>(
    bytes: &'a [u8],
    label: &str,
    (needed, hint): (&'static str, &'static str),
) -> Result<&'a str, KeyError> {
    let wrong = |found: String| KeyError::WrongKind { found, needed, hint };
    let text = std::str::from_utf8(bytes).map_err(|_| wrong("not text".to_owned()))?;
    let mut begins = text.match_indices("-----BEGIN ");
    let after = begins.next().map(|(at, begin)| &text[at + begin.len()..]);
    if begins.next().is_some() {
        return Err(wrong("a PEM file with several things in it".to_owned()));
    }
    let parts = after.and_then(|after| after.split_once("-----"));
    // The text after the label may be a secret: never put it into a message.
    if parts
        .is_some_and(|(_, rest)| !rest.trim_start_matches([' ', '\t']).starts_with(['\r', '\n']))
    {
        return Err(wrong("a PEM file whose line breaks are lost".to_owned()));
    }
    match parts.map(|(label, _)| label) {
        Some(found) if found == label => Ok(text.trim_start()),
        Some("PUBLIC KEY") => Err(wrong("a public key".to_owned())),
        Some("PRIVATE KEY") => Err(wrong("a private key".to_owned())),
        Some("OPENSSH PRIVATE KEY") => Err(wrong("an OpenSSH key".to_owned())),
        Some("ENCRYPTED PRIVATE KEY") => {
            Err(wrong("a key that is locked with a password".to_owned()))
        }
        Some(other) if is_label(other) => Err(wrong(format!("a PEM file with `{other}` in it"))),
        Some(_) => Err(wrong("not a PEM file, though it begins like one".to_owned())),
        None if text.starts_with("ssh-") => Err(wrong("an OpenSSH public key".to_owned())),
        None => Err(wrong("not a PEM file".to_owned())),
    }
}

/// A label as in RFC 7468: a few words in capitals.
fn is_label(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ';
    text.len() <= 40 && text.bytes().all(letter)
}

use sha2::{Digest, Sha256};

/// The SHA-256 digest of `bytes` in lower-case hex. Text is hashed as its UTF-8 bytes.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex::encode(Sha256::digest(bytes.as_ref()))
}

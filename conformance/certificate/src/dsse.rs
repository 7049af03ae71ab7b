//! The signed envelope: DSSE, protocol version 1.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::key::{PublicKey, SecretKey};
use crate::statement::canonical;

/// The payload type of an in-toto statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<Signature>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signature {
    keyid: String,
    sig: String,
}

/// Why an envelope is not valid for its payload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    #[error("it is not a DSSE envelope: {0}")]
    Form(String),
    #[error("the envelope is not in canonical form, so it was changed after it was made")]
    NotCanonical,
    #[error("the envelope's payload is `{0}`, not `{PAYLOAD_TYPE}`")]
    OtherPayload(String),
    #[error("it is signed by the key {found}, not by the given key {given}")]
    OtherKey { found: String, given: String },
    #[error("the signature does not match this key and payload")]
    BadSignature,
}

/// The signed bytes: type and payload, each with its length (DSSE's pre-authentication encoding).
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

impl Envelope {
    /// Signs a statement's bytes.
    pub fn sign(payload: &[u8], key: &SecretKey) -> Self {
        let sig = key.sign(&pae(PAYLOAD_TYPE, payload));
        Self {
            payload: STANDARD.encode(payload),
            payload_type: PAYLOAD_TYPE.to_owned(),
            signatures: vec![Signature { keyid: key.public().id(), sig: STANDARD.encode(sig) }],
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        canonical(self)
    }

    /// Reads an envelope with one signature, as this program writes it.
    pub fn parse(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        let envelope: Self = serde_json::from_slice(bytes)
            .map_err(|fault| EnvelopeError::Form(fault.to_string()))?;
        if envelope.to_bytes() != bytes {
            return Err(EnvelopeError::NotCanonical);
        }
        if envelope.payload_type != PAYLOAD_TYPE {
            return Err(EnvelopeError::OtherPayload(envelope.payload_type));
        }
        if envelope.signatures.len() != 1 {
            let message =
                format!("it has {} signatures; exactly one is allowed", envelope.signatures.len());
            return Err(EnvelopeError::Form(message));
        }
        Ok(envelope)
    }

    /// The statement's bytes, whether or not the signature is good.
    pub fn payload(&self) -> Result<Vec<u8>, EnvelopeError> {
        STANDARD
            .decode(&self.payload)
            .map_err(|fault| EnvelopeError::Form(format!("the payload is not base64: {fault}")))
    }

    /// The key that the envelope names. It proves nothing.
    pub fn key_id(&self) -> &str {
        self.signatures.first().map_or("", |signature| &signature.keyid)
    }

    /// Checks that this key signed the payload.
    pub fn verify(&self, key: &PublicKey) -> Result<(), EnvelopeError> {
        let signed = pae(&self.payload_type, &self.payload()?);
        let Some(signature) = self.signatures.first() else {
            return Err(EnvelopeError::BadSignature);
        };
        if signature.keyid != key.id() {
            let (found, given) = (signature.keyid.clone(), key.id());
            return Err(EnvelopeError::OtherKey { found, given });
        }
        let sig = STANDARD.decode(&signature.sig).map_err(|_| EnvelopeError::BadSignature)?;
        if key.verify(&signed, &sig) { Ok(()) } else { Err(EnvelopeError::BadSignature) }
    }
}

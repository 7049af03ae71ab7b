//! Published test vectors: our signatures and checks agree with other implementations.

#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

use proofmark_certificate::dsse::{Envelope, EnvelopeError, pae};
use proofmark_certificate::key::{KeyError, PublicKey, SecretKey};
use rstest::rstest;

/// RFC 8032, section 7.1, tests 1 to 3.
#[rstest]
#[case(
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "",
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
)]
#[case(
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    "72",
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)]
#[case(
    "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
    "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    "af82",
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
)]
fn signatures_are_those_of_the_rfc(
    #[case] secret: &str,
    #[case] public: &str,
    #[case] message: &str,
    #[case] signature: &str,
) {
    let bytes = |text: &str| hex::decode(text).unwrap();
    let key = SecretKey::from_seed(&bytes(secret).try_into().unwrap());
    let public = PublicKey::from_bytes(&bytes(public).try_into().unwrap()).unwrap();
    assert_eq!(key.public(), public);
    assert_eq!(hex::encode(key.sign(&bytes(message))), signature);
    assert!(public.verify(&bytes(message), &bytes(signature)));
    let mut wrong = bytes(signature);
    wrong[3] ^= 1;
    assert!(!public.verify(&bytes(message), &wrong));
    assert!(!public.verify(b"another", &bytes(signature)));
    assert!(!public.verify(&bytes(message), &wrong[..63]));
}

/// The example in DSSE's protocol text.
#[test]
fn the_signed_bytes_are_encoded_as_the_protocol_says() {
    let encoded = pae("http://example.com/HelloWorld", b"hello world");
    assert_eq!(encoded, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
}

fn key(number: u8) -> SecretKey {
    SecretKey::from_seed(&[number; 32])
}

#[test]
fn keys_survive_a_round_trip_through_pem() {
    let (secret, public) = (key(7).to_pem().unwrap(), key(7).public().to_pem().unwrap());
    assert!(secret.starts_with("-----BEGIN PRIVATE KEY-----\n"));
    let read = SecretKey::from_pem(secret.as_bytes()).unwrap();
    assert_eq!(read.public(), PublicKey::from_pem(public.as_bytes()).unwrap());
    assert_eq!(read.sign(b"x"), key(7).sign(b"x"));
}

#[test]
fn every_changed_byte_of_an_envelope_is_found() {
    let bytes = Envelope::sign(b"{\"a\":1}\n", &key(1)).to_bytes();
    let public = key(1).public();
    let check = |bytes: &[u8]| Envelope::parse(bytes)?.verify(&public);
    assert_eq!(check(&bytes), Ok(()));
    for place in 0..bytes.len() {
        for bit in [0, 5] {
            let mut changed = bytes.clone();
            changed[place] ^= 1 << bit;
            assert!(check(&changed).is_err(), "{}", String::from_utf8_lossy(&changed));
        }
    }
    let other = key(2).public();
    let envelope = Envelope::parse(&bytes).unwrap();
    assert!(matches!(envelope.verify(&other), Err(EnvelopeError::OtherKey { .. })));
}

const RSA: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----\n";
const SSH: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\n";
/// An X25519 key: the right length, but another algorithm.
const X25519: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VuBCIEIHBXcQUsgGzyOnfVBvlUYWkA4PZZbAqMaUVyvDV+bHNW\n-----END PRIVATE KEY-----\n";
const TORN: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2Vw\n-----END PRIVATE KEY-----\n";

#[rstest]
#[case(RSA, "a PEM file with `RSA PRIVATE KEY` in it")]
#[case(SSH, "an OpenSSH key")]
#[case("ssh-ed25519 AAAA me", "an OpenSSH public key")]
#[case("-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n", "a public key")]
#[case(
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGb\n-----END ENCRYPTED PRIVATE KEY-----\n",
    "locked with a password"
)]
#[case(X25519, "a key of another algorithm")]
#[case("", "not a PEM file")]
#[case("garbage", "not a PEM file")]
fn a_key_of_the_wrong_kind_is_refused(#[case] text: &str, #[case] message: &str) {
    let Err(fault) = SecretKey::from_pem(text.as_bytes()) else { panic!("it was accepted") };
    let fault = fault.to_string();
    assert!(fault.contains(message) && fault.contains("openssl genpkey"), "{fault}");
}

#[test]
fn a_broken_key_is_refused() {
    assert!(matches!(SecretKey::from_pem(TORN.as_bytes()), Err(KeyError::Broken(_))));
    assert!(SecretKey::from_pem(b"\xff\xfe").is_err());
    let secret = key(3).to_pem().unwrap();
    let fault = PublicKey::from_pem(secret.as_bytes()).unwrap_err().to_string();
    assert!(fault.contains("it is a private key"), "{fault}");
}

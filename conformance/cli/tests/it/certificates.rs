//! Certificates from the user's view: issued, signed, checked, merged, shown, and tampered with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command as Plain;

use crate::common::{PROOFMARK, Said, proofmark};
use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;

#[track_caller]
fn ends(args: &[&str], code: i32, shown: &str) -> Said {
    let said = proofmark(args);
    let all = format!("{}{}", said.out, said.err);
    assert_eq!(said.code, Some(code), "{args:?}: {all}");
    assert!(all.contains(shown), "{args:?} does not say `{shown}`: {all}");
    said
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder with a key and a signed certificate of one contract.
struct Issued {
    folder: TempDir,
}

const FEW: [&str; 4] = ["--contract", "sage.errors", "--law-cases", "3"];

impl Issued {
    fn new(subject: &[&str]) -> Self {
        let issued = Self { folder: TempDir::new().unwrap() };
        let (key, out) = (issued.at("key.pem"), issued.at("out"));
        ends(&["keygen", "--out", path(&key)], 0, "");
        let args =
            [&["certify", "--out", path(&out), "--sign", path(&key)][..], &FEW, subject].concat();
        let said = proofmark(&args);
        assert!(matches!(said.code, Some(0 | 1)), "{}", said.err);
        issued
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap()
    }
}

const SABOTEUR: [&str; 5] = ["--", PROOFMARK, "subject", "--adversary", "loses-some-causes"];

#[test]
fn the_same_run_gives_the_same_certificate_and_it_verifies() {
    let (one, other) = (Issued::new(&["reference"]), Issued::new(&["reference"]));
    for name in ["out/certificate.json", "out/transcript.jsonl"] {
        assert_eq!(one.bytes(name), other.bytes(name), "{name}");
    }
    let statement: Value = serde_json::from_slice(&one.bytes("out/certificate.json")).unwrap();
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "urn:proofmark:certificate:1");
    let certificate = one.at("out/certificate.json");
    let said = ends(&["verify", path(&certificate)], 0, "sound, signer unknown: certified for");
    assert!(said.out.contains("it is not signed"), "{}", said.out);
    let (signed, key) = (one.at("out/certificate.dsse.json"), one.at("key.pem.pub"));
    ends(&["verify", path(&signed)], 0, "not checked  the signature");
    let said =
        ends(&["verify", path(&signed), "--key", path(&key)], 0, "ok         signature of key");
    assert!(said.out.contains("genuine: certified for sage.errors"), "{}", said.out);
    let stranger = other.at("key.pem.pub");
    ends(&["verify", path(&signed), "--key", path(&stranger)], 1, "not by the given key");
    ends(&["verify", path(&certificate), "--key", path(&key)], 1, "it is not signed");
    let secret = one.at("key.pem");
    ends(&["verify", path(&signed), "--key", path(&secret)], 2, "it is a private key");
    let moved = one.at("elsewhere.jsonl");
    fs::rename(one.at("out/transcript.jsonl"), &moved).unwrap();
    ends(&["verify", path(&certificate)], 2, "transcript.jsonl` cannot be read");
    ends(&["verify", path(&certificate), "--transcript", path(&moved)], 0, "certified for");
}

#[test]
fn a_failing_subject_gets_a_refusal() {
    let issued = Issued::new(&SABOTEUR);
    let statement: Value = serde_json::from_slice(&issued.bytes("out/certificate.json")).unwrap();
    assert_eq!(statement["predicateType"], "urn:proofmark:refusal:1");
    assert_eq!(statement["predicate"]["result"], "not-certified");
    let file = issued.at("out/certificate.json");
    ends(&["verify", path(&file)], 1, "NOT CERTIFIED");
    let badge = ends(&["badge", path(&file)], 0, "proofmark: not certified");
    assert!(!badge.out.contains("sage.errors"), "{}", badge.out);
    // A refusal edited into a certificate does not verify.
    let text = String::from_utf8(issued.bytes("out/certificate.json")).unwrap();
    let forged = text
        .replace("urn:proofmark:refusal:1", "urn:proofmark:certificate:1")
        .replace("\"not-certified\"", "\"certified\"")
        .replace("\"certified\":false", "\"certified\":true")
        .replace("\"verdict\":\"broken\"", "\"verdict\":\"holds\"");
    fs::write(&file, forged).unwrap();
    ends(&["verify", path(&file)], 1, "judged again: broken");
    let transcript = issued.at("out/transcript.jsonl");
    let shown = ends(&["replay", path(&transcript)], 1, "did not pass");
    assert!(shown.out.contains("FAILED sage.errors/") && shown.out.contains("first difference at"));
}

/// `replay` reports a failure as `run` does: the place and the promises.
#[test]
fn replay_reports_place_and_reason_as_run_does() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("run.jsonl");
    let subject = ["--", PROOFMARK, "subject", "--adversary", "tail-from-the-head"];
    let case = ["--case", "sage.chronicle/tail/*"];
    let run =
        ends(&[&["run", "--record", path(&record)], &case[..], &subject].concat(), 1, "FAILED");
    let replay = ends(&["replay", path(&record)], 1, "FAILED");
    let heads = |text: &str| -> Vec<String> {
        let heads = ["FAILED ", "DIFFERS ", "  CHRONICLE-"];
        let shown = |line: &&str| heads.iter().any(|head| line.starts_with(head));
        let mut lines: Vec<String> = text.lines().filter(shown).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(heads(&replay.out), heads(&run.out));
    assert!(replay.out.lines().all(|line| line.trim_end() == line), "{}", replay.out);
}

/// Stream items, and the process of a call if it is not the first one.
#[test]
fn replay_shows_streams_and_processes() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("run.jsonl");
    ends(
        &[
            "run",
            "--contract",
            "sage.llm",
            "--contract",
            "sage.chronicle",
            "--law-cases",
            "1",
            "--record",
            path(&record),
            "reference",
        ],
        0,
        " passed",
    );
    let shown = ends(&["replay", path(&record), "--case", "**"], 0, "PASSED");
    assert!(shown.out.contains("    item   {"), "items are shown");
    assert!(
        shown.out.contains("  (process b)\n") && shown.out.contains("  (session "),
        "places are shown"
    );
}

/// The file with one byte changed, at each of several places.
fn flipped(bytes: &[u8], places: usize) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..places).map(move |number| {
        let place = number * (bytes.len() - 1) / (places - 1);
        let mut changed = bytes.to_vec();
        changed[place] ^= if number % 2 == 0 { 1 } else { 32 };
        (place, changed)
    })
}

#[rstest]
#[case("out/certificate.json", "out/certificate.json")]
#[case("out/certificate.dsse.json", "out/certificate.dsse.json")]
#[case("out/transcript.jsonl", "out/certificate.json")]
fn a_changed_byte_is_found(#[case] changed: &str, #[case] checked: &str) {
    let issued = Issued::new(&["reference"]);
    let (file, key) = (issued.at(checked), issued.at("key.pem.pub"));
    let mut args = vec!["verify", path(&file)];
    if checked.ends_with("dsse.json") {
        args.extend(["--key", path(&key)]);
    }
    ends(&args, 0, "certified for");
    for (place, bytes) in flipped(&issued.bytes(changed), 12) {
        fs::write(issued.at(changed), &bytes).unwrap();
        let said = proofmark(&args);
        assert!(matches!(said.code, Some(1 | 2)), "byte {place}: {:?} {}", said.code, said.out);
        let reason = said.out.contains("NO  ") || said.err.contains("proofmark: ");
        assert!(reason, "byte {place}: {}{}", said.out, said.err);
    }
}

#[test]
fn a_file_is_certified_by_its_digest() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("app.bin"), b"program").unwrap();
    fs::write(at("other.bin"), b"another").unwrap();
    let (app, other, out) = (at("app.bin"), at("other.bin"), at("out"));
    let issue = ["certify", "--out", path(&out), "--artifact", path(&app)];
    ends(&[&issue[..], &FEW, &["reference"]].concat(), 0, "wrote the certificate");
    let file = out.join("certificate.json");
    let statement: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(statement["subject"][0]["name"], "app.bin");
    ends(&["verify", path(&file)], 0, "not checked  the artifact `app.bin`");
    ends(&["verify", path(&file), "--artifact", path(&app)], 0, "ok         artifact app.bin");
    ends(&["verify", path(&file), "--artifact", path(&other)], 1, "does not cover");
    let same = folder.path().join(".").join("app.bin");
    let twice = ["verify", path(&file), "--artifact", path(&app), "--artifact", path(&same)];
    ends(&twice, 2, "is given twice");
    // Without the file, verify still checks the name and digest that were written.
    let text = fs::read_to_string(&file).unwrap();
    let digest = statement["subject"][0]["digest"]["sha256"].as_str().unwrap();
    for (from, to) in [("app.bin", "apq.bin"), (digest, &"0".repeat(64))] {
        fs::write(&file, text.replacen(from, to, 1)).unwrap();
        ends(&["verify", path(&file)], 1, "its subject was changed");
    }
    let twice = [&issue[..], &["--artifact", path(&app)], &FEW, &["reference"]].concat();
    ends(&twice, 2, "two artifacts have the name");
}

#[test]
fn files_of_others_are_never_overwritten() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let certify = |more: &[&str]| {
        let issue = ["certify", "--out", path(&out)];
        proofmark(&[&issue[..], more, &FEW, &["reference"]].concat())
    };
    fs::write(out.join("certificate.json"), "mine").unwrap();
    let said = certify(&[]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("it exists, and no earlier run made it"), "{}", said.err);
    assert!(said.err.contains("or say --force"), "{}", said.err);
    assert_eq!(fs::read(out.join("certificate.json")).unwrap(), b"mine");
    assert!(!out.join("transcript.jsonl").exists());
    assert_eq!(certify(&["--force"]).code, Some(0));
    // An earlier certificate may be replaced.
    assert_eq!(certify(&[]).code, Some(0));
    fs::remove_file(out.join("transcript.jsonl")).unwrap();
    std::os::unix::fs::symlink("/dev/null", out.join("transcript.jsonl")).unwrap();
    let said = certify(&["--force"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("not a regular file"), "{}", said.err);
    let key = folder.path().join("key");
    ends(&["keygen", "--out", path(&key)], 0, "");
    let before = fs::read(&key).unwrap();
    ends(&["keygen", "--out", path(&key)], 2, "keygen never overwrites a key");
    assert_eq!(fs::read(&key).unwrap(), before);
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&key).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

/// Three merged parts give the same bytes as the whole run.
#[test]
fn merged_parts_equal_the_whole_run() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Slow contracts are left out.
    let contracts = ["sage.chronicle", "sage.errors", "sage.utils", "sage.llm"];
    let these = contracts.map(|id| ["--contract", id]).concat();
    fs::create_dir(at("parts")).unwrap();
    fs::create_dir(at("empty")).unwrap();
    let few = ["--law-cases", "2"];
    fs::create_dir(at("shards")).unwrap();
    for contract in contracts {
        let part = at(&format!("parts/{contract}.jsonl"));
        let args = ["run", "--contract", contract, "--record", path(&part), "reference"];
        ends(&[&args[..], &few].concat(), 0, " passed");
    }
    for number in ["1", "2", "3"] {
        let (part, shard) = (format!("hash:{number}/3"), at(&format!("shards/{number}.jsonl")));
        let args = ["run", "--partition", &part, "--record", path(&shard), "--shuffle", number];
        ends(&[&args[..], &few, &these, &["reference"]].concat(), 0, " passed");
    }
    let (whole, merged, parts) = (at("whole"), at("merged"), at("parts"));
    let certify = ["certify", "--out", path(&whole)];
    ends(&[&certify[..], &few, &these, &["reference"]].concat(), 0, "wrote");
    let merge = ["merge", path(&parts), "--out", path(&merged)];
    ends(&[&merge[..], &these].concat(), 0, "wrote the certificate");
    for file in ["certificate.json", "transcript.jsonl"] {
        let bytes = |folder: &Path| fs::read(folder.join(file)).unwrap();
        assert!(bytes(&whole) == bytes(&merged), "{file} is not the same");
    }
    ends(&["verify", path(&merged.join("certificate.json"))], 0, "certified for");
    let sharded = at("sharded");
    let shards = at("shards");
    let merge = ["merge", path(&shards), "--out", path(&sharded)];
    ends(&[&merge[..], &these].concat(), 0, "wrote the certificate");
    let certificate = |folder: &Path| fs::read(folder.join("certificate.json")).unwrap();
    assert!(certificate(&whole) == certificate(&sharded), "shards say the same");
    let part = |contract: &str| at(&format!("parts/{contract}.jsonl"));
    let (one, two) = (part(contracts[0]), part(contracts[1]));
    ends(&["merge", path(&parts), path(&one)], 2, "a shard is there twice");
    ends(&["merge", path(&one), path(&two)], 2, "a part is missing");
    ends(&["merge", path(&two), "--contract", "sage.errors"], 0, "sage.errors  certified");
    let stranger = at("stranger.jsonl");
    let args = ["run", "--contract", "sage.utils", "--record", path(&stranger), "--law-cases", "4"];
    ends(&[&args[..], &["reference"]].concat(), 0, " passed");
    ends(&["merge", path(&one), path(&stranger)], 2, "different inputs of laws");
    ends(&["merge", path(&at("empty"))], 2, "contains no transcript");
    // A part alone certifies nothing.
    let out = at("alone");
    ends(&["merge", path(&one), "--out", path(&out)], 2, "a part is missing");
    assert!(!out.exists());
    // Shows failures or the selected cases; with another subject, the first departure.
    ends(&["replay", path(&two)], 0, "0 did not pass");
    let asked = ["replay", path(&one), "--case", "sage.chronicle/tail/the-last-one"];
    let shown = ends(&asked, 0, "PASSED sage.chronicle/tail/the-last-one");
    assert!(shown.out.contains("call   chronicle.tailChronicle") && shown.out.contains("answer {"));
    let other = ["--", PROOFMARK, "subject", "--adversary", "tail-from-the-head"];
    let departs = ends(&[&asked[..], &other].concat(), 1, "DEPARTS sage.chronicle/tail/");
    assert!(departs.out.contains("passed before, fails now"), "{}", departs.out);
    assert!(departs.out.contains("first difference at $"), "{}", departs.out);
    ends(&[&asked[..], &["--", PROOFMARK, "subject"]].concat(), 0, "0 departed");
    ends(&["replay", path(&two), "--case", "sage.utils/**"], 2, "has none of these cases");
}

/// A suite that differs in one word.
fn other_suite(folder: &Path) -> PathBuf {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let copied = folder.join("suite");
    for part in ["fixtures/sage.errors", "features/sage.errors"] {
        let Ok(files) = fs::read_dir(top.join(part)) else { continue };
        fs::create_dir_all(copied.join(part)).unwrap();
        for file in files {
            let file = file.unwrap();
            fs::copy(file.path(), copied.join(part).join(file.file_name())).unwrap();
        }
    }
    copied
}

#[test]
fn bad_files_give_no_verdict() {
    let issued = Issued::new(&["reference"]);
    let (certificate, transcript) =
        (issued.at("out/certificate.json"), issued.at("out/transcript.jsonl"));
    let suite = other_suite(issued.folder.path());
    let had: Value = serde_json::from_slice(&issued.bytes("out/certificate.json")).unwrap();
    let digest = had["predicate"]["suite"]["digest"]["sha256"].as_str().unwrap().to_owned();
    for args in [["verify", path(&certificate)], ["replay", path(&transcript)]] {
        let said = ends(&[&args[..], &["--suite", path(&suite)]].concat(), 2, "another suite");
        assert!(said.err.contains(&digest), "{}", said.err);
    }
    let torn = issued.at("torn");
    let whole = issued.bytes("out/transcript.jsonl");
    fs::write(&torn, &whole[..whole.len() / 2]).unwrap();
    ends(&["replay", path(&torn)], 2, "truncated");
    ends(&["merge", path(&torn)], 2, "truncated");
    ends(&["verify", path(&torn)], 2, "is not a certificate");
    ends(&["badge", path(&torn)], 2, "is not a certificate");
    fs::write(&torn, "").unwrap();
    ends(&["replay", path(&torn)], 2, "it is empty");
    ends(&["verify", path(&torn)], 2, "is not a certificate");
    let nowhere = issued.at("nowhere");
    for command in ["verify", "replay", "merge", "badge"] {
        ends(&[command, path(&nowhere)], 2, "cannot be read");
    }
    let folder = issued.at("out");
    for command in ["verify", "replay", "badge"] {
        ends(&[command, path(&folder)], 2, "it is not a regular file");
    }
    let pipe = issued.at("pipe");
    let made = Plain::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    ends(&["verify", path(&pipe)], 2, "it is not a regular file");
    let out = issued.at("no");
    let sign = ["certify", "--out", path(&out), "--sign", path(&certificate)];
    ends(&[&sign[..], &FEW, &["reference"]].concat(), 2, "not a PEM file");
    let public = issued.at("key.pem.pub");
    let sign = ["certify", "--out", path(&out), "--sign", path(&public)];
    ends(&[&sign[..], &FEW, &["reference"]].concat(), 2, "it is a public key");
    // A key that lost its line breaks in CI: the message must not reveal any of it.
    let (joined, pem) = (issued.at("joined.pem"), issued.bytes("key.pem"));
    let pem = String::from_utf8(pem).unwrap();
    let secret = pem.lines().nth(1).unwrap();
    for joint in ["", " ", "\\n"] {
        fs::write(&joined, pem.lines().collect::<Vec<_>>().join(joint)).unwrap();
        let sign = ["certify", "--out", path(&out), "--sign", path(&joined)];
        let said =
            ends(&[&sign[..], &FEW, &["reference"]].concat(), 2, "whose line breaks are lost");
        assert!(!said.err.contains(&secret[..4]), "{}", said.err);
    }
    fs::write(&joined, pem.repeat(2)).unwrap();
    let sign = ["certify", "--out", path(&out), "--sign", path(&joined)];
    ends(&[&sign[..], &FEW, &["reference"]].concat(), 2, "several things in it");
    assert!(!out.exists());
    let in_a_file = ["certify", "--out", path(&public)];
    ends(&[&in_a_file[..], &FEW, &["reference"]].concat(), 2, "it is not a folder");
    let record = ["run", "--record", path(&public)];
    ends(&[&record[..], &FEW, &["reference"]].concat(), 2, "it exists, and no earlier run made it");
    ends(&["certify", "--sign", path(&public), "reference"], 2, "--out");
}

#[test]
fn a_badge_is_a_self_contained_svg() {
    let issued = Issued::new(&["reference"]);
    let (file, svg) = (issued.at("out/certificate.dsse.json"), issued.at("badge.svg"));
    ends(&["badge", path(&file), "--out", path(&svg)], 0, "");
    let picture = fs::read_to_string(&svg).unwrap();
    assert!(picture.contains("<title id=\"t\">proofmark: sage.errors certified</title>"));
    assert!(picture.contains("role=\"img\"") && !picture.contains("href"));
    // It may replace itself, but no other file.
    ends(&["badge", path(&file), "--out", path(&svg)], 0, "");
    let key = issued.at("key.pem");
    ends(&["badge", path(&file), "--out", path(&key)], 2, "it exists, and no earlier run made it");
}

/// OpenSSL checks our signatures, and we sign with OpenSSL keys.
#[test]
fn openssl_agrees() {
    if Plain::new("openssl").arg("version").output().is_err() {
        eprintln!("skipped: there is no openssl");
        return;
    }
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let openssl = |args: &[&str]| {
        let output = Plain::new("openssl").args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let (key, public, out) = (at("key.pem"), at("pub.pem"), at("out"));
    openssl(&["genpkey", "-algorithm", "ed25519", "-out", path(&key)]);
    openssl(&["pkey", "-in", path(&key), "-pubout", "-out", path(&public)]);
    let sign = ["certify", "--out", path(&out), "--sign", path(&key)];
    ends(&[&sign[..], &FEW, &["reference"]].concat(), 0, "wrote");
    let envelope = out.join("certificate.dsse.json");
    ends(&["verify", path(&envelope), "--key", path(&public)], 0, "ok         signature");
    let shown: Value = serde_json::from_slice(&fs::read(&envelope).unwrap()).unwrap();
    let decode = |text: &Value, name: &str| {
        fs::write(at(name), text.as_str().unwrap()).unwrap();
        openssl(&["base64", "-d", "-A", "-in", path(&at(name))])
    };
    let payload = decode(&shown["payload"], "payload");
    assert_eq!(payload, fs::read(out.join("certificate.json")).unwrap());
    let mut signed =
        format!("DSSEv1 28 application/vnd.in-toto+json {} ", payload.len()).into_bytes();
    signed.extend(&payload);
    fs::write(at("signed"), signed).unwrap();
    fs::write(at("sig"), decode(&shown["signatures"][0]["sig"], "sig64")).unwrap();
    let (message, sig) = (at("signed"), at("sig"));
    openssl(&[
        "pkeyutl",
        "-verify",
        "-rawin",
        "-pubin",
        "-inkey",
        path(&public),
        "-in",
        path(&message),
        "-sigfile",
        path(&sig),
    ]);
    // The key id is a hash of the DER form; and openssl reads the keys that we make.
    let der = at("der");
    openssl(&["pkey", "-pubin", "-in", path(&public), "-outform", "DER", "-out", path(&der)]);
    let digest = String::from_utf8(openssl(&["dgst", "-sha256", "-r", path(&der)])).unwrap();
    assert_eq!(digest.split(' ').next(), shown["signatures"][0]["keyid"].as_str());
    let ours = at("ours");
    ends(&["keygen", "--out", path(&ours)], 0, "");
    let theirs = openssl(&["pkey", "-in", path(&ours), "-pubout"]);
    assert_eq!(theirs, fs::read(at("ours.pub")).unwrap());
}

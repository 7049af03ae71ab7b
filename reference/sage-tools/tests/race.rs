//! Somebody swaps links for folders and files while tools write.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

mod lab;

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::Lab;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

const WRITES: usize = 1000;

/// Swaps the two until it is stopped; each swap is one atomic system call.
fn swap(a: &std::path::Path, b: &std::path::Path, stop: &AtomicBool) -> usize {
    let mut swaps = 0;
    while !stop.load(Ordering::Relaxed) {
        renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
        swaps += 1;
    }
    swaps
}

#[test]
fn a_swapped_folder_or_file_never_leads_out() {
    let lab = Lab::new();
    fs::write(lab.outside("a.txt"), "outside").unwrap();
    fs::create_dir(lab.at(".sage")).unwrap();
    fs::write(lab.at(".sage/a.txt"), "chronicle").unwrap();
    for folder in ["one", "two", "three"] {
        fs::create_dir(lab.at(folder)).unwrap();
        fs::write(lab.at(folder).join("a.txt"), "").unwrap();
    }
    symlink("../outside", lab.at("one-swap")).unwrap();
    symlink(".sage", lab.at("two-swap")).unwrap();
    symlink("../../outside/a.txt", lab.at("three/swap")).unwrap();
    let before = [fs::read_dir(lab.outside("")).unwrap().count(), 1];
    let stop = AtomicBool::new(false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::scope(|scope| {
        let swappers = [
            scope.spawn(|| swap(&lab.at("one"), &lab.at("one-swap"), &stop)),
            scope.spawn(|| swap(&lab.at("two"), &lab.at("two-swap"), &stop)),
            scope.spawn(|| swap(&lab.at("three/a.txt"), &lab.at("three/swap"), &stop)),
        ];
        let (mut done, mut refused) = (0, 0);
        runtime.block_on(async {
            for n in 0..WRITES {
                let file = ["one/a.txt", "two/a.txt", "three/a.txt", "one/new/b.txt"][n % 4];
                let result = lab.run("Write", json!({"file": file, "content": "tool"})).await;
                if result["ok"] == true {
                    done += 1;
                } else {
                    let code = result["error"]["code"].as_str().unwrap();
                    assert!(["EPERMISSION", "EIO"].contains(&code), "{result}");
                    refused += 1;
                }
            }
        });
        stop.store(true, Ordering::Relaxed);
        let swaps: usize = swappers.into_iter().map(|thread| thread.join().unwrap()).sum();
        println!("{done} writes, {refused} refusals, {swaps} swaps");
        assert!(done > 0 && refused > 0 && swaps > WRITES, "they met");
    });
    assert_eq!(fs::read_to_string(lab.outside("a.txt")).unwrap(), "outside");
    assert_eq!(fs::read_to_string(lab.at(".sage/a.txt")).unwrap(), "chronicle");
    let after = [lab.outside(""), lab.at(".sage")].map(|path| fs::read_dir(path).unwrap().count());
    assert_eq!(after, before, "nothing was made there");
    let left: Vec<_> = lab
        .picture()
        .into_keys()
        .filter(|path| path.to_string_lossy().contains("/.new-"))
        .collect();
    assert_eq!(left, Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_reader_sees_the_old_or_the_new_file() {
    let lab = Lab::new();
    let whole = |byte: u8| String::from_utf8(vec![byte; 200_000]).unwrap();
    fs::write(lab.at("a.txt"), whole(b'0')).unwrap();
    let stop = AtomicBool::new(false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = std::collections::BTreeSet::new();
            while !stop.load(Ordering::Relaxed) {
                let content = fs::read(lab.at("a.txt")).unwrap();
                assert_eq!(content.len(), 200_000);
                assert!(content.iter().all(|byte| *byte == content[0]));
                seen.insert(content[0]);
            }
            seen.len()
        });
        runtime.block_on(async {
            for n in 0..500 {
                let content = whole(b'0' + u8::try_from(n % 10).unwrap());
                let result = lab.run("Write", json!({"file": "a.txt", "content": content})).await;
                assert_eq!(result["ok"], true);
            }
        });
        stop.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 1, "it looked while it was written");
    });
}

//! The HTML report in a real browser: headless Debian `chromium`.
//!
//! Skipped if chromium is missing, with a message; in CI that is an error.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::PROOFMARK;
use tempfile::TempDir;

/// Whether chromium is installed; prints a message if not.
fn has_browser() -> bool {
    let there =
        Command::new("chromium").arg("--version").output().is_ok_and(|said| said.status.success());
    if !there {
        let ci = std::env::var_os("CI").is_some_and(|value| value == "true");
        assert!(!ci, "chromium is not there, and a CI must have it");
        // Straight to stderr, because the test harness captures `eprintln!`.
        let _deaf = writeln!(std::io::stderr(), "skipped: chromium is not there");
    }
    there
}

fn browse(folder: &Path, page: &str, args: &[&str]) -> Output {
    let profile = TempDir::new().unwrap();
    let mut browser = Command::new("chromium");
    browser.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--enable-logging=stderr",
    ]);
    browser.arg(format!("--user-data-dir={}", profile.path().display())).args(args);
    browser.arg(format!("file://{}", folder.join(page).display())).current_dir(folder);
    let output = browser.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The browser's console output for a page, which must be empty.
fn console(output: &Output) -> Vec<String> {
    let shown = String::from_utf8_lossy(&output.stderr);
    shown.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect()
}

/// The report of a run with failing cases.
fn failing_page(folder: &Path) -> String {
    let run = Command::new(PROOFMARK)
        .args([
            "certify",
            "--contract",
            "sage.chronicle",
            "--law-cases",
            "5",
            "--no-github",
            "--report",
            "html=page.html",
            "--",
        ])
        .args([PROOFMARK, "subject", "--adversary", "tail-from-the-head"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(1), "{}", String::from_utf8_lossy(&run.stderr));
    fs::read_to_string(folder.join("page.html")).unwrap()
}

/// The page with a probe script at its end, and without the policy that would block it.
fn with_probe(page: &str, probe: &str) -> String {
    let (before, rest) = page.split_once("<meta http-equiv=\"Content-Security-Policy\"").unwrap();
    let (_, after) = rest.split_once('>').unwrap();
    let script = format!(
        "<script>top.document.documentElement.dataset.found = (() => {{ {probe} }})().join(';');</script></body>"
    );
    format!("{before}{}", after.replace("</body>", &script))
}

fn found_in(output: &Output) -> Vec<String> {
    let dom = String::from_utf8_lossy(&output.stdout);
    let (_, found) = dom.split_once("data-found=\"").expect("the probe ran");
    found.split('"').next().unwrap().split(';').map(str::to_owned).collect()
}

/// The values that the probe returns.
fn probed(folder: &Path, page: &str, probe: &str) -> Vec<String> {
    fs::write(folder.join("probe.html"), with_probe(page, probe)).unwrap();
    let output = browse(folder, "probe.html", &["--window-size=1280,900", "--dump-dom"]);
    found_in(&output)
}

/// The same at phone width: in a frame, because the browser window cannot be that narrow.
fn probed_on_a_phone(folder: &Path, page: &str, probe: &str) -> Vec<String> {
    let inner = with_probe(page, probe).replace('&', "&amp;").replace('"', "&quot;");
    let frame = format!(
        "<!DOCTYPE html><iframe width=360 height=740 style='border:0' srcdoc=\"{inner}\"></iframe>"
    );
    fs::write(folder.join("phone.html"), frame).unwrap();
    let output = browse(folder, "phone.html", &["--dump-dom"]);
    found_in(&output)
}

#[test]
fn the_page_works_in_a_browser() {
    if !has_browser() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let page = failing_page(folder);
    let failing = page.matches("class=\"failure\"").count();
    assert!(failing > 0);

    // With its own policy, nothing is blocked and no error is logged.
    let output = browse(folder, "page.html", &["--window-size=1280,900", "--screenshot=light.png"]);
    assert_eq!(console(&output), Vec::<String>::new());
    let dom = browse(folder, "page.html", &["--dump-dom"]);
    let dom = String::from_utf8(dom.stdout).unwrap();
    assert!(
        dom.contains("<form id=\"filter\" role=\"search\">"),
        "its own script runs under its own policy"
    );

    // On a phone, the page itself never scrolls sideways, even with everything open.
    let wide = "for (const one of document.querySelectorAll('details')) one.open = true;
        const root = document.documentElement;
        const right = (one) => one.getBoundingClientRect().right;
        const out = Array.from(document.querySelectorAll('details *')).filter((one) => !one.closest('pre') && right(one) > right(one.closest('details')));
        return [innerWidth, root.scrollWidth, document.body.scrollWidth, out.length];";
    assert_eq!(probed_on_a_phone(folder, &page, wide), ["360", "360", "360", "0"]);
    // Counter-check: the probe notices a wide element.
    let broken = page.replace("<footer>", "<footer><svg width='900' height='1'></svg>");
    assert_ne!(probed_on_a_phone(folder, &broken, wide)[1], "360");

    // The filter hides what does not match, and counts.
    let filter = "const words = document.getElementById('words'), failing = document.getElementById('failing');
        const shown = (kind) => document.querySelectorAll(`[data-item=${kind}]:not([hidden])`).length;
        const set = (text, only) => { words.value = text; words.dispatchEvent(new Event('input'));
            failing.checked = only; failing.dispatchEvent(new Event('change')); };
        const found = [];
        for (const [text, only] of [['', false], ['', true], ['CHRONICLE-024', false], ['no such word', false]]) {
            set(text, only);
            found.push(shown('promise'), shown('failure'));
        }
        found.push(document.getElementById('count').textContent.startsWith('0 of '));
        location.hash = '#CHRONICLE-001'; dispatchEvent(new Event('hashchange'));
        const target = document.getElementById('CHRONICLE-001');
        found.push(target.open, target.hidden, document.activeElement.parentElement === target);
        return found;";
    let found = probed(folder, &page, filter);
    let promises = page.matches("class=\"requirement\"").count().to_string();
    let failures = failing.to_string();
    assert_eq!(found[..2], [promises.clone(), failures.clone()]);
    let broken = page.matches("data-item=\"promise\" data-fails").count().to_string();
    assert_eq!(found[2..4], [broken, failures]);
    assert!(found[4] != promises && found[4] != "0", "{found:?}");
    assert_eq!(found[6..9], ["0", "0", "true"]);
    assert_eq!(found[9..], ["true", "false", "true"], "a link opens what it leads to");

    // Everything reachable by keyboard has a name, and ids are unique.
    let access = "const ids = Array.from(document.querySelectorAll('[id]'), (one) => one.id);
        const links = Array.from(document.querySelectorAll('a[href^=\"#\"]'), (one) => decodeURIComponent(one.getAttribute('href').slice(1)));
        const nameless = Array.from(document.querySelectorAll('input, button')).filter((one) => !one.textContent && !(one.labels && one.labels.length));
        const unscoped = document.querySelectorAll('th:not([scope])');
        return [ids.length - new Set(ids).size, links.filter((id) => !document.getElementById(id)).length, nameless.length, unscoped.length,
            document.querySelectorAll('h1').length, document.querySelectorAll('main').length];";
    assert_eq!(probed(folder, &page, access), ["0", "0", "0", "0", "1", "1"]);

    // Dark mode looks different, and the print view is a document.
    browse(
        folder,
        "page.html",
        &[
            "--window-size=1280,900",
            "--blink-settings=preferredColorScheme=0",
            "--screenshot=dark.png",
        ],
    );
    assert_ne!(
        fs::read(folder.join("light.png")).unwrap(),
        fs::read(folder.join("dark.png")).unwrap()
    );
    browse(folder, "page.html", &["--no-pdf-header-footer", "--print-to-pdf=page.pdf"]);
    assert!(fs::read(folder.join("page.pdf")).unwrap().starts_with(b"%PDF"));
}

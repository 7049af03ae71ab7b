//! Processes that the rest of the program started survive, whatever tools start and kill.
//!
//! One test in a process of its own: it matters what was there before the first call.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

mod lab;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use lab::Lab;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

/// Leaves a daemon behind, when a file asks for it, and exits.
const DAEMON: &str = "until [ -e go ]; do sleep 0.02; done; \
    (setsid sh -c 'echo $$ > NAME.tmp; mv NAME.tmp NAME; exec sleep 600' >/dev/null 2>&1 &)";

fn start(folder: &Path, program: &str, args: &[&str], leaves_group: bool) -> Child {
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    if leaves_group {
        command.process_group(0);
    }
    command.spawn().unwrap()
}

/// Whether the tool has not yet written its mark to `file`, or this process still has the same mark.
fn has_mark(file: &Path) -> bool {
    let Ok(mark) = fs::read_to_string(file) else { return true };
    let limits = fs::read_to_string("/proc/self/limits").unwrap();
    let own = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout")).unwrap();
    own.split_whitespace().next() == Some(mark.trim())
}

/// A plain one, one in a group and one in a session of its own, and one that leaves a daemon.
fn start_all(folder: &Path, name: &str) -> Vec<Child> {
    vec![
        start(folder, "sleep", &["600"], false),
        start(folder, "sleep", &["600"], true),
        start(folder, "setsid", &["sleep", "600"], false),
        start(folder, "sh", &["-c", &DAEMON.replace("NAME", name)], false),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_of_others_survive() {
    let lab = Lab::new();
    let folder = lab.at("");
    let mut others = start_all(&folder, "before");
    let escape = "ulimit -S -R >mark; mv mark started; ulimit -S -R unlimited; until [ -s before ] && [ -s during ]; do sleep 0.02; done; \
        (setsid sleep 600 >/dev/null 2>&1 &)";
    let input = json!({"command": "/bin/bash", "args": ["-c", escape], "timeoutMs": 60_000});
    let (result, ()) = tokio::join!(lab.run("Bash", input), async {
        // While this process itself has the mark, a program that it starts and that leaves the session is taken for
        // one of the tree: a limitation that `process::forest` documents.
        while has_mark(&lab.at("started")) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        others.extend(start_all(&folder, "during"));
        fs::write(lab.at("go"), "").unwrap();
    });
    lab.sh("true", 30_000).await;
    lab.sh("setsid sleep 600 & sleep 600", 200).await;
    // Nothing is asserted before all are gone: what is left would run on.
    let lives = ["before", "during"].map(|name| {
        let pid = fs::read_to_string(lab.at(name)).unwrap_or_default();
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        if let Some(pid) = pid.trim().parse().ok().and_then(Pid::from_raw) {
            let _gone = kill_process(pid, Signal::KILL);
        }
        (name, !stat.is_empty() && !stat.contains(") Z "))
    });
    let mut ended = Vec::new();
    for (number, other) in others.iter_mut().enumerate() {
        // The two that leave daemons have ended by themselves.
        match other.try_wait() {
            Ok(None) => {}
            _ if number % 4 == 3 => {}
            status => ended.push((number, format!("{status:?}"))),
        }
        let _gone = other.kill();
        let _status = other.wait();
    }
    assert_eq!(result["data"]["code"], 0, "{result}");
    assert_eq!(ended, []);
    assert_eq!(lives, [("before", true), ("during", true)]);
}

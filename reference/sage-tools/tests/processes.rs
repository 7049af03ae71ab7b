//! Programs, and that nothing of them is left when a call answers.

mod lab;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use lab::Lab;
use rstest::rstest;
use serde_json::{Value, json};

/// The processes that a script wrote down, if they still run.
fn alive(lab: &Lab, file: &str) -> Vec<String> {
    let pids = fs::read_to_string(lab.at(file)).unwrap_or_default();
    let runs = |pid: &&str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Not even a zombie is left.
        !stat.is_empty()
    };
    pids.split_whitespace().filter(runs).map(str::to_owned).collect()
}

fn written(lab: &Lab, file: &str) -> usize {
    fs::read_to_string(lab.at(file)).unwrap_or_default().split_whitespace().count()
}

/// Scripts that start processes and write their numbers to `pids`.
const TREES: [(&str, usize, &str); 10] = [
    ("a child", 1, "sleep 600 & echo $! >> pids"),
    ("a child that holds the output", 1, "sleep 600 & echo $! >> pids; echo out"),
    (
        "a session of its own",
        1,
        "setsid sh -c 'echo $$ >> pids; sleep 600' & until [ -s pids ]; do :; done",
    ),
    (
        "a session without output",
        1,
        "setsid sh -c 'echo $$ >> pids; exec sleep 600' >/dev/null 2>&1 </dev/null & until [ -s pids ]; do :; done",
    ),
    (
        "a daemon, forked twice",
        1,
        "setsid sh -c 'sh -c \"echo \\$\\$ >> pids; exec sleep 600\" & exit 0' >/dev/null 2>&1 & until [ -s pids ]; do :; done",
    ),
    (
        "a daemon in a session within a session",
        1,
        "setsid sh -c 'setsid sh -c \"echo \\$\\$ >> pids; exec sleep 600\" & exit' >/dev/null 2>&1 & wait; until [ -s pids ]; do :; done",
    ),
    (
        "one that ignores SIGTERM and SIGHUP",
        1,
        "setsid sh -c 'trap \"\" TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done' & until [ -s pids ]; do :; done",
    ),
    (
        "many",
        20,
        "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do setsid sleep 600 & echo $! >> pids; done",
    ),
    (
        "a stopped one",
        1,
        "setsid sh -c 'echo $$ >> pids; kill -STOP $$' & until [ -s pids ]; do :; done",
    ),
    (
        "one in a cleared environment and another folder",
        1,
        "cd /; setsid env -i sh -c 'echo $$ >> \"$0\"; exec sleep 600' \"$OLDPWD/pids\" >/dev/null 2>&1 & cd - >/dev/null; until [ -s pids ]; do :; done",
    ),
];

#[rstest]
#[case::at_the_end(false)]
#[case::when_it_is_late(true)]
#[tokio::test]
async fn a_whole_tree_is_gone(#[case] late: bool) {
    for (what, count, script) in TREES {
        let lab = Lab::new();
        let script = if late { format!("{script}; sleep 600") } else { script.to_owned() };
        let started = Instant::now();
        let result = lab.sh(&script, if late { 700 } else { 30_000 }).await;
        assert!(started.elapsed() < Duration::from_secs(25), "{what}: nobody waits for it");
        assert_eq!(written(&lab, "pids"), count, "{what}: {result}");
        assert_eq!(alive(&lab, "pids"), [""; 0], "{what}: {result}");
        if late {
            assert_eq!(result["error"]["code"], "ETIMEOUT", "{what}");
        } else {
            assert_eq!(result["data"]["code"], 0, "{what}: {result}");
        }
    }
}

/// A program that has taken off its mark is still known by its parents.
#[tokio::test]
async fn a_tree_without_marks_is_gone() {
    let lab = Lab::new();
    let script = "ulimit -S -R unlimited; setsid sh -c 'echo $$ >> pids; exec sleep 600' >/dev/null 2>&1 & sleep 600";
    let input = json!({"command": "/bin/bash", "args": ["-c", script], "timeoutMs": 700});
    let result = lab.run("Bash", input).await;
    assert_eq!(result["error"]["code"], "ETIMEOUT", "{result}");
    assert_eq!(written(&lab, "pids"), 1);
    assert_eq!(alive(&lab, "pids"), [""; 0]);
}

#[tokio::test]
async fn a_timeout_is_reported() {
    let lab = Lab::new();
    let error = &lab.sh("sleep 600", 150).await["error"];
    assert_eq!(error["code"], "ETIMEOUT");
    assert_eq!(error["timeoutMs"], 150);
    assert!(error["elapsedMs"].as_u64().unwrap() >= 150);
    assert_eq!(error["operation"], "execute");
}

/// A call that ends kills nothing of one that goes on, whatever the two have started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_call_leaves_another_alone() {
    let lab = Lab::new();
    let daemon = "setsid sh -c 'setsid sh -c \"echo \\$\\$ >> NAME; exec sleep 600\" & exit' >/dev/null 2>&1 </dev/null & until [ -s NAME ]; do :; done;";
    let own = daemon.replace("NAME", "long");
    // It goes on until the others are done, and tells whether its daemon lives.
    let long =
        format!("{own} until [ -e done ]; do sleep 0.02; done; kill -0 $(cat long) && echo lives");
    let (long, ()) = tokio::join!(lab.sh(&long, 60_000), async {
        while written(&lab, "long") == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for n in 0..10 {
            let name = format!("short-{n}");
            let script = daemon.replace("NAME", &name);
            let result = if n % 2 == 0 {
                lab.sh(&script, 30_000).await
            } else {
                lab.sh(&format!("{script} sleep 600"), 500).await
            };
            assert_eq!(written(&lab, &name), 1, "{result}");
            assert_eq!(alive(&lab, &name), [""; 0]);
            assert_eq!(alive(&lab, "long").len(), 1, "after {n}");
        }
        fs::write(lab.at("done"), "").unwrap();
    });
    assert_eq!(long["data"]["stdout"], "lives\n", "{long}");
    assert_eq!(alive(&lab, "long"), [""; 0]);
}

/// Children that the caller has by itself are none of our business.
#[tokio::test]
async fn other_children_of_this_process_live_on() {
    let lab = Lab::new();
    let mut other = Command::new("sleep").arg("600").spawn().unwrap();
    lab.sh("setsid sleep 600 & sleep 600", 200).await;
    lab.sh("true", 10_000).await;
    let status = other.try_wait().unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(status, None);
}

#[tokio::test]
async fn a_call_that_is_given_up_leaves_nothing() {
    let lab = Lab::new();
    let script = "setsid sh -c 'echo $$ >> pids; exec sleep 600' >/dev/null 2>&1 & echo $$ >> pids; sleep 600";
    {
        let mut call = Box::pin(lab.sh(script, 60_000));
        while written(&lab, "pids") < 2 {
            let _pending = tokio::time::timeout(Duration::from_millis(10), &mut call).await;
        }
    }
    // Zombies may be left for a moment: the first process is reaped by the runtime.
    for _ in 0..500 {
        let runs = |pid: &String| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            !stat.is_empty() && !stat.contains(") Z ")
        };
        if !alive(&lab, "pids").iter().any(runs) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("they live: {:?}", alive(&lab, "pids"));
}

#[tokio::test]
async fn output_is_bounded_and_the_program_is_not_blocked() {
    let lab = Lab::new();
    let script = "head -c 5000000 /dev/zero | tr '\\0' a; head -c 5000000 /dev/zero | tr '\\0' b >&2; echo done > done";
    let result = lab.sh(script, 60_000).await;
    for (stream, byte) in [("stdout", 'a'), ("stderr", 'b')] {
        let text = result["data"][stream].as_str().unwrap();
        assert!(text.contains("truncated"));
        assert_eq!(text.chars().filter(|c| *c == byte).count() / (1 << 20), 1);
        assert!(text.len() < (1 << 20) + 100);
    }
    assert!(lab.at("done").exists());
    assert_eq!(result["data"]["code"], 0);
}

#[tokio::test]
async fn exactly_the_limit_is_not_cut() {
    let lab = Lab::new();
    let result = lab.sh("head -c 1048576 /dev/zero | tr '\\0' a", 60_000).await;
    assert_eq!(result["data"]["stdout"].as_str().unwrap(), "a".repeat(1 << 20));
    let result = lab.sh("head -c 1048577 /dev/zero | tr '\\0' a", 60_000).await;
    assert!(result["data"]["stdout"].as_str().unwrap().contains("truncated"));
}

#[tokio::test]
async fn endless_output_ends_at_the_time_limit() {
    let lab = Lab::new();
    let result = lab.sh("yes", 300).await;
    assert_eq!(result["error"]["code"], "ETIMEOUT");
}

#[rstest]
#[case::zero("exit 0", 0)]
#[case::nonzero("exit 3", 3)]
#[case::killed("kill -KILL $$", 137)]
#[case::terminated("kill -TERM $$", 143)]
#[case::pipe("kill -PIPE $$", 141)]
#[tokio::test]
async fn how_it_ended(#[case] script: &str, #[case] code: i64) {
    let result = Lab::new().sh(script, 30_000).await;
    assert_eq!(result["ok"], true);
    assert_eq!(result["data"], json!({"code": code, "stdout": "", "stderr": ""}));
}

async fn out(lab: &Lab, command: &str, args: &[&str]) -> Value {
    let result = lab.run("Bash", json!({"command": command, "args": args})).await;
    if result["ok"] == true { result["data"]["stdout"].clone() } else { result["error"].clone() }
}

#[tokio::test]
async fn arguments_reach_the_program_as_they_are() {
    let lab = Lab::new();
    let args = ["%s|", "a b", "$HOME", "`id`", "*", "'", "\"", "\\n", "", "ü\n🙂", ";", "-x", "--"];
    let expect: String = args[1..].iter().map(|arg| format!("{arg}|")).collect();
    assert_eq!(out(&lab, "printf", &args).await, expect);
}

#[tokio::test]
async fn the_environment_is_exactly_the_callers() {
    let mut lab = Lab::new();
    assert_eq!(out(&lab, "env", &[]).await, "");
    lab.context.env = [("A", "1"), ("PATH", "/usr/bin:/bin"), ("ü", "x=y\n")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    assert_eq!(out(&lab, "env", &[]).await, "A=1\nPATH=/usr/bin:/bin\nü=x=y\n\n");
    assert_eq!(
        out(&lab, "pwd", &[]).await,
        format!("{}\n", fs::canonicalize(lab.at("")).unwrap().display())
    );
    assert_eq!(out(&lab, "cat", &[]).await, "", "there is no input");
}

#[tokio::test]
async fn where_a_command_is_found() {
    let mut lab = Lab::new();
    fs::create_dir(lab.at("bin")).unwrap();
    for (path, name) in [("bin/mine", "folder"), ("mine", "root")] {
        fs::write(lab.at(path), format!("#!/bin/sh\necho {name} $0\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(lab.at(path), mode).unwrap();
    }
    fs::write(lab.at("plain"), "echo x\n").unwrap();
    fs::write(lab.at("no-interpreter"), "#!/no/such/program\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(lab.at("no-interpreter"), mode).unwrap();
    assert_eq!(out(&lab, "mine", &[]).await["code"], "EIO");
    assert!(out(&lab, "./mine", &[]).await.as_str().unwrap().starts_with("root"));
    lab.context.env.insert("PATH".to_owned(), "/none:bin:/usr/bin".to_owned());
    assert!(out(&lab, "mine", &[]).await.as_str().unwrap().starts_with("folder"));
    lab.context.env.insert("PATH".to_owned(), "/none".to_owned());
    for command in ["sh", "./none", "/none", "./plain", "./bin", "./no-interpreter", "none"] {
        for dry_run in [false, true] {
            if dry_run && command == "./no-interpreter" {
                continue; // That can only be found out by starting it.
            }
            lab.context.dry_run = dry_run;
            let error = out(&lab, command, &[]).await;
            assert_eq!(error["code"], "EIO", "{command}: {error}");
            assert_eq!(error["operation"], "execute");
            assert_eq!(error["path"], command);
        }
    }
}

#[rstest]
#[case(json!({"command": ""}), "command")]
#[case(json!({"command": "a\u{0}b"}), "command")]
#[case(json!({"command": "a", "args": ["\u{0}"]}), "args.0")]
#[case(json!({"command": "a", "args": "b"}), "args")]
#[case(json!({"command": "a", "timeoutMs": 0}), "timeoutMs")]
#[case(json!({"command": "a", "timeoutMs": -1}), "timeoutMs")]
#[case(json!({"command": "a", "timeoutMs": 1.5}), "timeoutMs")]
#[case(json!({"command": "a", "timeoutMs": "1"}), "timeoutMs")]
#[case(json!({"args": []}), "command")]
#[tokio::test]
async fn an_input_that_is_refused(#[case] input: Value, #[case] field: &str) {
    let result = Lab::new().run("Bash", input).await;
    assert_eq!(result["error"]["code"], "EVALIDATION");
    assert_eq!(result["error"]["details"][0]["field"], field);
}

#[tokio::test]
async fn invalid_utf8_output_is_replaced() {
    let result = Lab::new().sh("printf 'a\\377b'", 30_000).await;
    assert_eq!(result["data"]["stdout"], "a\u{fffd}b");
}

#[tokio::test]
async fn a_dry_run_starts_nothing() {
    let mut lab = Lab::new();
    lab.context.dry_run = true;
    let (once, again) = (lab.sh("echo x > made", 1000).await, lab.sh("echo x > made", 1000).await);
    assert_eq!(once, again);
    assert_eq!(once["data"]["code"], 0);
    assert!(once["data"]["stdout"].is_string() && once["data"]["stderr"].is_string());
    assert!(!lab.at("made").exists());
}

/// In a container, this process can be in a session of the outside, which has no number here.
#[test]
fn foreign_sessions_are_not_ours() -> Result<(), Box<dyn std::error::Error>> {
    let in_a_container = |program: &std::path::Path| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--pid", "--fork", "--mount-proc"]).arg(program);
        command
    };
    let tried = in_a_container("true".as_ref()).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        eprintln!("skipped: unshare is not there, or may not make a container");
        return Ok(());
    }
    let output = in_a_container(&std::env::current_exe()?).arg("tree").output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(!String::from_utf8_lossy(&output.stdout).contains("0 passed"));
    Ok(())
}

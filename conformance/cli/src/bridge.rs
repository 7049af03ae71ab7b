//! `proofmark bridge`: an adapter for a server that has none. It claims the contracts of one wire and answers `open`
//! with the server: the command of an MCP server, which the harness starts, or the address of an HTTP server, once
//! that is ready.
//!
//! It does not take part in judging: the harness talks to the server itself.

use std::ffi::OsString;
use std::io::Write as _;
use std::net::TcpListener;
use std::process::{ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use proofmark_protocol::{Adapter, Open};
use proofmark_suite::subject::SubjectCommand;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::exit::{Exit, Failed};
use crate::manifest::OnWire;
use crate::program::this_program;

/// Name, version or language of a server, if the manifest does not give it.
const UNKNOWN: &str = "unknown";

/// Run the adapter of a server that has none.
#[derive(Debug, clap::Args)]
pub(crate) struct BridgeArgs {
    #[arg(long, value_enum)]
    wire: OnWire,
    /// A contract that the server claims.
    #[arg(long)]
    claim: Vec<String>,
    /// A hook that the server offers.
    #[arg(long)]
    hook: Vec<String>,
    /// The server's name in reports.
    #[arg(long)]
    name: String,
    #[arg(long, default_value = UNKNOWN)]
    version: String,
    #[arg(long, default_value = UNKNOWN)]
    language: String,
    /// A path that answers 2xx once the server is ready.
    #[arg(long, default_value = "/")]
    ready: String,
    /// How long the server may take to get ready, in milliseconds.
    #[arg(long, default_value_t = 10_000)]
    start_timeout: u64,
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

/// What a manifest says about a server without an adapter.
#[derive(Debug, Clone)]
pub(crate) struct Bridged {
    pub(crate) wire: OnWire,
    pub(crate) claims: Vec<String>,
    pub(crate) hooks: Vec<String>,
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    pub(crate) language: Option<String>,
    pub(crate) ready: Option<String>,
    pub(crate) start_timeout: Option<u64>,
}

/// The command of the bridge for a server.
pub(crate) fn bridged(server: SubjectCommand, bridged: &Bridged) -> Result<SubjectCommand, Failed> {
    let mut args: Vec<OsString> =
        vec!["bridge".into(), "--name".into(), bridged.name.clone().into()];
    args.extend(["--wire".into(), bridged.wire.wire().name().into()]);
    for (flag, values) in [("--claim", &bridged.claims), ("--hook", &bridged.hooks)] {
        args.extend(values.iter().flat_map(|value| [flag.into(), value.into()]));
    }
    let flags = [
        ("--version", &bridged.version),
        ("--language", &bridged.language),
        ("--ready", &bridged.ready),
    ];
    for (flag, value) in flags {
        args.extend(value.iter().flat_map(|value| [flag.into(), value.into()]));
    }
    let patience = bridged.start_timeout.map(|limit| limit.to_string());
    args.extend(patience.iter().flat_map(|limit| ["--start-timeout".into(), limit.into()]));
    args.push("--".into());
    args.push(server.program);
    args.extend(server.args);
    Ok(SubjectCommand { program: this_program()?.into(), args, ..server })
}

pub(crate) fn bridge(args: BridgeArgs) -> ExitCode {
    let served = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(adapter(args).serve_stdio()));
    match served {
        Ok(()) => Exit::Holds.into(),
        Err(fault) => {
            // If stderr is closed too, the exit code still reports the failure.
            let _deaf = writeln!(std::io::stderr(), "proofmark bridge: {fault}");
            Exit::Undetermined.into()
        }
    }
}

/// The server of a session, if it has one. It stops with the session.
struct Seat {
    open: Open,
    server: Mutex<Option<Child>>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let server = self.server.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = server {
            // It may have exited by itself. Its children are in this process's group, so the harness finds them.
            let _ended = server.start_kill();
        }
    }
}

fn adapter(args: BridgeArgs) -> Adapter<Seat> {
    let open = |open: &Open| Ok(Seat { open: open.clone(), server: Mutex::default() });
    let mut adapter = Adapter::new(&args.name, &args.version, &args.language, open);
    for contract in &args.claim {
        adapter = adapter.claims(contract);
    }
    for hook in &args.hook {
        adapter = adapter.has_hook(hook);
    }
    let args = Arc::new(args);
    adapter.on_open(move |seat, _| {
        let args = Arc::clone(&args);
        async move {
            match args.wire {
                OnWire::Mcp => Ok(json!({ "wire": { "mcp": { "command": args.command } } })),
                OnWire::Http => start(&args, &seat).await,
            }
        }
    })
}

/// Another program can take a port between its choice and its use; retry with this many ports.
const PORTS: usize = 3;

async fn start(args: &BridgeArgs, seat: &Seat) -> Result<Value, String> {
    let mut message = String::new();
    for _ in 0..PORTS {
        let port = free_port().map_err(|fault| format!("cannot find a free port: {fault}"))?;
        let mut server = start_at(args, seat, port)?;
        match ready(args, port, &mut server).await {
            Ok(()) => {
                *seat.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(server);
                return Ok(
                    json!({ "wire": { "http": { "base": format!("http://127.0.0.1:{port}") } } }),
                );
            }
            Err(NotReady::Ended(how)) => message = how,
            Err(NotReady::Silent(how)) => return Err(how),
        }
    }
    Err(message)
}

fn free_port() -> std::io::Result<u16> {
    TcpListener::bind(("127.0.0.1", 0))?.local_addr().map(|address| address.port())
}

fn start_at(args: &BridgeArgs, seat: &Seat, port: u16) -> Result<Child, String> {
    let fill = |word: &String| {
        let workspace = seat.open.workspace.as_deref().unwrap_or(".");
        word.replace("{port}", &port.to_string()).replace("{workspace}", workspace)
    };
    let words: Vec<String> = args.command.iter().map(fill).collect();
    let (program, rest) = words.split_first().ok_or("there is no command")?;
    // stdout belongs to the adapter, so the server's output goes to stderr.
    let stdout = rustix::io::dup(std::io::stderr()).map_err(|fault| fault.to_string())?;
    Command::new(program)
        .args(rest)
        .stdin(Stdio::null())
        .stdout(Stdio::from(stdout))
        .kill_on_drop(true)
        .spawn()
        .map_err(|fault| format!("`{}` cannot be started: {fault}", words.join(" ")))
}

enum NotReady {
    Ended(String),
    Silent(String),
}

/// Polls until the server answers.
async fn ready(args: &BridgeArgs, port: u16, server: &mut Child) -> Result<(), NotReady> {
    let patience = Duration::from_millis(args.start_timeout);
    let deadline = Instant::now() + patience;
    let url = format!("http://127.0.0.1:{port}{}", args.ready);
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(patience)
        .build()
        .map_err(|fault| NotReady::Silent(fault.to_string()))?;
    let mut last = "nobody answers".to_owned();
    let mut pause = Duration::from_millis(2);
    loop {
        match client.get(&url).send().await {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            Ok(answer) => last = format!("the answer is {}", answer.status()),
            Err(_) => {}
        }
        if let Ok(Some(status)) = server.try_wait() {
            return Err(NotReady::Ended(format!(
                "the server exited ({status}) before it was ready"
            )));
        }
        if Instant::now() >= deadline {
            return Err(NotReady::Silent(format!(
                "`{}` did not answer 2xx within {} ms: {last}; set `ready` to a path that does",
                args.ready, args.start_timeout
            )));
        }
        // Short, so that a server that is ready does not wait long.
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

//! `proofmark bridge`: an adapter for a server that has none. It claims the contracts of one wire, and answers `open` with the
//! server: an MCP server by its command, which the harness starts; an HTTP server by its address, once it serves.
//!
//! It plays no part in what is judged: the harness speaks to the server itself.

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

/// What nobody says of a server.
const NOT_TOLD: &str = "not told";

/// Be the adapter of a server that has none.
#[derive(Debug, clap::Args)]
pub(crate) struct BridgeArgs {
    #[arg(long, value_enum)]
    wire: OnWire,
    /// A contract that is claimed.
    #[arg(long)]
    claim: Vec<String>,
    /// A hook that the server has.
    #[arg(long)]
    hook: Vec<String>,
    /// What the server is called in reports.
    #[arg(long)]
    name: String,
    #[arg(long, default_value = NOT_TOLD)]
    version: String,
    #[arg(long, default_value = NOT_TOLD)]
    language: String,
    /// A path that is answered with 2xx once the server serves.
    #[arg(long, default_value = "/")]
    ready: String,
    /// How long that may take, in milliseconds.
    #[arg(long, default_value_t = 10_000)]
    start_timeout: u64,
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

/// A server without an adapter: what else is to be said of it.
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

/// The command of the adapter that stands before a server.
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
            // With stderr gone too, the exit code still tells.
            let _deaf = writeln!(std::io::stderr(), "proofmark bridge: {fault}");
            Exit::Undetermined.into()
        }
    }
}

/// A session's server, if it has one of its own. It ends with the session.
struct Seat {
    open: Open,
    server: Mutex<Option<Child>>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let server = self.server.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = server {
            // It may have ended by itself; what it leaves is found by the harness, for it is of this process's group.
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

/// So many times another port is tried: somebody may take one between its choice and its use.
const PORTS: usize = 3;

async fn start(args: &BridgeArgs, seat: &Seat) -> Result<Value, String> {
    let mut message = String::new();
    for _ in 0..PORTS {
        let port = free_port().map_err(|fault| format!("there is no free port: {fault}"))?;
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
    // What it prints is for people: stdout is the adapter's.
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

/// Asks until the server answers.
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
            return Err(NotReady::Ended(format!("the server ended ({status}) before it served")));
        }
        if Instant::now() >= deadline {
            return Err(NotReady::Silent(format!(
                "`{}` is not answered with 2xx within {} ms: {last}; name a path that is with `ready`",
                args.ready, args.start_timeout
            )));
        }
        // Between two questions; who is ready is not kept waiting for long.
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

//! `proofmark subject`: the reference speaking the protocol on stdin and stdout.

use std::io::Write as _;
use std::process::ExitCode;

use proofmark_adversaries::Claims;

use crate::exit::Exit;

/// Be a subject on stdin and stdout: the reference, for `--` of another run or to try the protocol by hand.
#[derive(Debug, clap::Args)]
pub(crate) struct SubjectArgs {
    /// Be wrong on purpose, in the way of this name.
    #[arg(long, hide = true, value_name = "NAME")]
    adversary: Option<String>,
    /// What the adversary claims, in place of the contracts and hooks that there are.
    #[arg(long, hide = true, value_name = "CONTRACT", requires = "adversary")]
    claim: Vec<String>,
    #[arg(long, hide = true, value_name = "HOOK", requires = "adversary")]
    hook: Vec<String>,
    /// Be the MCP server that the subject names, at this time.
    #[arg(long, hide = true, value_name = "TIME")]
    mcp: Option<String>,
}

pub(crate) fn subject(args: &SubjectArgs) -> ExitCode {
    let served = match (&args.adversary, &args.mcp) {
        (None, Some(now)) => proofmark_reference::serve_mcp(now, |server| server),
        (Some(name), Some(now)) => proofmark_adversaries::serve_mcp(name, now),
        (Some(name), None) => {
            let claims = if args.claim.is_empty() && args.hook.is_empty() {
                Claims::default()
            } else {
                Claims { contracts: args.claim.clone(), hooks: args.hook.clone() }
            };
            proofmark_adversaries::serve(name, &claims)
        }
        (None, None) => proofmark_reference::serve_stdio(),
    };
    match served {
        Ok(()) => Exit::Holds.into(),
        Err(fault) => {
            // With stderr gone too, the exit code still tells.
            let _deaf = writeln!(std::io::stderr(), "proofmark subject: {fault}");
            Exit::Undetermined.into()
        }
    }
}

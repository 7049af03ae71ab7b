//! `proofmark subject`: runs the reference as a subject on stdin and stdout.

use std::io::Write as _;
use std::process::ExitCode;

use proofmark_adversaries::Claims;

use crate::exit::Exit;

/// Run the reference as a subject on stdin and stdout, for another run or to try the protocol by hand.
#[derive(Debug, clap::Args)]
pub(crate) struct SubjectArgs {
    /// Run this adversary instead: a subject that is wrong on purpose.
    #[arg(long, hide = true, value_name = "NAME")]
    adversary: Option<String>,
    /// The contracts and hooks that the adversary claims [default: all].
    #[arg(long, hide = true, value_name = "CONTRACT", requires = "adversary")]
    claim: Vec<String>,
    #[arg(long, hide = true, value_name = "HOOK", requires = "adversary")]
    hook: Vec<String>,
    /// Run the MCP server of this contract.
    #[arg(long, hide = true, value_name = "CONTRACT", requires = "time")]
    mcp: Option<String>,
    /// The time on the clock of the MCP server.
    #[arg(long, hide = true, value_name = "TIME", requires = "mcp")]
    time: Option<String>,
}

pub(crate) fn subject(args: &SubjectArgs) -> ExitCode {
    let server = args.mcp.as_ref().zip(args.time.as_ref());
    let served = match (&args.adversary, server) {
        (None, Some((contract, now))) => proofmark_catalog::serve_mcp(contract, now),
        (Some(name), Some((contract, now))) => {
            proofmark_adversaries::serve_mcp(name, contract, now)
        }
        (Some(name), None) => {
            let claims = if args.claim.is_empty() && args.hook.is_empty() {
                proofmark_adversaries::usual_claims()
            } else {
                Claims { contracts: args.claim.clone(), hooks: args.hook.clone() }
            };
            proofmark_adversaries::serve(name, &claims)
        }
        (None, None) => proofmark_room::serve(proofmark_catalog::reference()),
    };
    match served {
        Ok(()) => Exit::Holds.into(),
        Err(fault) => {
            // If stderr is closed too, the exit code still reports the failure.
            let _deaf = writeln!(std::io::stderr(), "proofmark subject: {fault}");
            Exit::Undetermined.into()
        }
    }
}

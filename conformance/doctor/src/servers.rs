//! The check of wires: does `open` name a working server?

use serde_json::{Value, json};
use tempfile::TempDir;

use super::checks::{open, refused_open};
use super::wire::{Trouble, Wire as Pipe};
use super::{Finding, greeting};
use proofmark_judge::suite::Suite;
use proofmark_judge::wire::{HttpPaths, Wire};
use proofmark_suite::subject::{Patience, start_mcp};
use proofmark_suite::wire::{Offer, reachable};

/// The claimed contracts that have their own wire.
pub(super) fn claimed<'a>(hello: &Value, suite: &'a Suite) -> Vec<(Wire, &'a str)> {
    let claims = |id: &str| {
        let claimed = hello["result"]["contracts"].as_array();
        claimed.is_some_and(|claimed| claimed.iter().any(|one| one == id))
    };
    let claimed = suite.contracts.iter().filter(|contract| claims(&contract.id));
    claimed.filter_map(|contract| Some((contract.wire?, contract.id.as_str()))).collect()
}

/// The name of the check in findings.
pub(super) fn check(wire: Wire) -> &'static str {
    match wire {
        Wire::Mcp => "wire mcp",
        Wire::Http => "wire http",
    }
}

pub(super) async fn server(
    pipe: &mut Pipe,
    (wire, contract): (Wire, &str),
    patience: Patience,
) -> Result<Finding, Trouble> {
    let check = check(wire);
    let unsound = |message: String, change: &str| Finding::unsound(check, message, change);
    let Ok(workspace) = TempDir::new() else {
        return Ok(Finding::not_yet(check, "cannot create a folder for a session"));
    };
    pipe.ask(0, "hello", &greeting()).await?;
    let mut params = open("d");
    params["contract"] = json!(contract);
    params["wire"] = json!(wire.name());
    params["workspace"] = json!(workspace.path());
    let answer = pipe.ask(1, "open", &params).await?;
    if let Some(refused) = refused_open(check, &answer) {
        return Ok(refused);
    }
    let offer = match Offer::read(wire, &HttpPaths::default(), &answer["result"]) {
        Ok(offer) => offer,
        Err(message) => {
            let change = "name the server in the answer to `open`: `proofmark guide wires`";
            return Ok(unsound(message, change));
        }
    };
    Ok(match offer {
        Offer::Mcp(command) => match start_mcp(&command, patience).await {
            Ok(Ok(server)) => match server.shutdown().await {
                None => Finding::sound(check, "the MCP server starts, and ends with its input"),
                Some(fault) => unsound(
                    fault.to_string(),
                    "let the server end when its stdin ends, and leave no process behind",
                ),
            },
            Ok(Err((fault, stderr))) => Finding {
                stderr: super::last(&stderr),
                ..unsound(
                    fault.to_string(),
                    "let the server answer `initialize` as MCP requires, and write logs to stderr",
                )
            },
            Err(fault) => unsound(fault.to_string(), "name a command that starts the server"),
        },
        Offer::Http(server) => match reachable(&server, patience).await {
            Ok(()) => Finding::sound(check, "the server answers where `open` says"),
            Err(message) => {
                unsound(message, "answer `open` when the server is ready, with its address")
            }
        },
    })
}

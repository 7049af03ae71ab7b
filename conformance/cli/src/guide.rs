//! `proofmark guide`: the pages that come with the program.

use std::io::Write;

use clap::ValueEnum;

use crate::exit::{Exit, Failed};

/// Read a guide: for implementers, for a CI, for spec authors, and what they refer to.
#[derive(Debug, clap::Args)]
pub(crate) struct GuideArgs {
    /// Which page [default: a list of them].
    page: Option<Page>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Page {
    /// Validate a build.
    Pass,
    /// Gate a release in a CI.
    Gate,
    /// Turn a narrative into cases.
    Author,
    /// What a certificate says, and how it is checked.
    Certificates,
    /// A workflow for GitHub Actions.
    Workflow,
    /// Understanding a failure.
    Failures,
    /// What Proofmark does not judge.
    NotJudged,
    /// The subject protocol.
    Protocol,
    /// Operations, their arguments and results.
    Operations,
    /// Contracts on their own wire: MCP, HTTP, WebSocket.
    Wires,
    /// The contract `common`: envelope, ids, revisions, budgets.
    Common,
    /// The contract `runs`: a server of agents' runs.
    Runs,
    /// Writing cases: ledgers, fixtures, features.
    Cases,
}

pub(crate) fn guide(args: &GuideArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let Some(page) = args.page else {
        for page in Page::value_variants() {
            let told = page
                .to_possible_value()
                .and_then(|value| Some(format!("{:<13} {}", value.get_name(), value.get_help()?)));
            writeln!(out, "proofmark guide {}", told.unwrap_or_default())?;
        }
        return Ok(Exit::Holds);
    };
    let text = match page {
        Page::Pass => include_str!("../../guide/pass.md"),
        Page::Gate => include_str!("../../guide/gate.md"),
        Page::Author => include_str!("../../guide/author.md"),
        Page::Certificates => include_str!("../../guide/certificates.md"),
        Page::Workflow => include_str!("../../guide/workflow.yml"),
        Page::Failures => include_str!("../../guide/failures.md"),
        Page::NotJudged => include_str!("../../guide/not-judged.md"),
        Page::Protocol => include_str!("../../guide/protocol.md"),
        Page::Operations => include_str!("../../guide/operations.md"),
        Page::Wires => include_str!("../../guide/wires.md"),
        Page::Common => include_str!("../../guide/common.md"),
        Page::Runs => include_str!("../../guide/runs.md"),
        Page::Cases => include_str!("../../guide/cases.md"),
    };
    out.write_all(text.as_bytes())?;
    Ok(Exit::Holds)
}

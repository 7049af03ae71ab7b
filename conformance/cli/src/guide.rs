//! `proofmark guide`: the pages that come with the program, and every contract's own page.

mod page;
mod table;

use std::io::Write;

use crate::exit::{Exit, Failed};

/// Read the guide: pages for implementers, CI and spec authors, and a page for each contract.
#[derive(Debug, clap::Args)]
pub(crate) struct GuideArgs {
    /// A page or a contract, for example `pass` [default: list all pages].
    page: Option<String>,

    /// Print the page as it is written, in Markdown.
    #[arg(long)]
    raw: bool,
}

/// Columns of a page.
const WIDEST: usize = 100;

/// Name, topic and text of each page.
const PAGES: &[(&str, &str, &str)] = &[
    ("pass", "Validate a build.", include_str!("../../guide/pass.md")),
    ("gate", "Gate a release in a CI.", include_str!("../../guide/gate.md")),
    ("author", "Turn a narrative into cases.", include_str!("../../guide/author.md")),
    (
        "certificates",
        "What a certificate says, and how to check it.",
        include_str!("../../guide/certificates.md"),
    ),
    ("workflow", "A workflow for GitHub Actions.", include_str!("../../guide/workflow.yml")),
    ("failures", "Understand a failure.", include_str!("../../guide/failures.md")),
    ("not-judged", "What Proofmark does not judge.", include_str!("../../guide/not-judged.md")),
    ("protocol", "The subject protocol.", include_str!("../../guide/protocol.md")),
    (
        "operations",
        "Operations: arguments, results and errors.",
        include_str!("../../guide/operations.md"),
    ),
    (
        "wires",
        "Contracts on a wire of their own: MCP, HTTP, WebSocket.",
        include_str!("../../guide/wires.md"),
    ),
    ("cases", "Write cases: ledgers, fixtures, features.", include_str!("../../guide/cases.md")),
];

/// Names, topics and texts, in the order of the list.
fn pages() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let rooms = proofmark_catalog::rooms();
    PAGES.iter().copied().chain(rooms.map(|room| (room.contract, topic(room.guide), room.guide)))
}

/// The first sentence under the heading.
fn topic(page: &'static str) -> &'static str {
    let lines = page.lines().skip_while(|line| line.starts_with('#') || line.trim().is_empty());
    lines.into_iter().next().unwrap_or_default()
}

pub(crate) fn guide(args: &GuideArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let Some(wanted) = &args.page else {
        for (name, topic, _) in pages() {
            writeln!(out, "proofmark guide {name:<14} {topic}")?;
        }
        return Ok(Exit::Holds);
    };
    let Some((_, _, text)) = pages().find(|(name, ..)| name == wanted) else {
        let names: Vec<&str> = pages().map(|(name, ..)| name).collect();
        let message = format!("there is no page `{wanted}`; there are {}", names.join(", "));
        return Err(Failed::Usage(message));
    };
    match args.raw || wanted == "workflow" {
        true => out.write_all(text.as_bytes())?,
        false => out.write_all(page::render(text, columns()).as_bytes())?,
    }
    Ok(Exit::Holds)
}

/// As wide as the terminal, but no wider than a page that is easy to read.
fn columns() -> usize {
    let width = terminal_size::terminal_size().map_or(usize::MAX, |(width, _)| width.0.into());
    width.clamp(40, WIDEST)
}

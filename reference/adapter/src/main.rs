//! The reference as a program of its own: `proofmark run -- proofmark-reference`.

use std::io;

use proofmark_room::{MCP_FLAG, TIME_FLAG, serve};

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => serve(proofmark_catalog::reference()),
        [mcp, contract, time, now] if *mcp == MCP_FLAG && *time == TIME_FLAG => {
            proofmark_catalog::serve_mcp(contract, now)
        }
        other => {
            let message = format!(
                "{other:?} is not understood; give `{MCP_FLAG} CONTRACT {TIME_FLAG} TIME`, or nothing"
            );
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
    }
}

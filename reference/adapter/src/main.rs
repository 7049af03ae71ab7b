//! The reference as a program of its own, without the harness: `proofmark run -- proofmark-reference`.

use std::io;

use proofmark_reference::MCP_FLAG;

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [] => proofmark_reference::serve_stdio(),
        [flag, now] if flag == MCP_FLAG => proofmark_reference::serve_mcp(now, |server| server),
        other => {
            let told =
                format!("{other:?} is not understood; there is `{MCP_FLAG} TIME`, or nothing");
            Err(io::Error::new(io::ErrorKind::InvalidInput, told))
        }
    }
}

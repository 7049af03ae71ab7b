//! MCP servers inside this program, started as another process.

use std::any::Any;
use std::io;

use serde_json::{Value, json};

/// The flags that make this program a contract's MCP server with a fixed time.
pub const MCP_FLAG: &str = "--mcp";
pub const TIME_FLAG: &str = "--time";

/// A contract's MCP server on this process's stdin and stdout.
pub trait McpServer: Any + Sync {
    /// Serves until the input ends. The server's clock is fixed at `now`.
    ///
    /// # Errors
    /// If `now` is not a time, or the pipes break.
    fn serve(&self, now: &str) -> io::Result<()>;

    /// This server with the changes of another of the same contract. `None` if they cannot be put together.
    fn with(&self, _other: &dyn McpServer) -> Option<Box<dyn McpServer>> {
        None
    }
}

/// The answer to `open` that names the MCP server of this contract: this program with [`MCP_FLAG`].
///
/// # Errors
/// If this program cannot find its own executable.
pub fn mcp_wire(contract: &str, now: &str) -> Result<Value, String> {
    let program = std::env::current_exe()
        .map_err(|fault| format!("cannot find this program's own executable: {fault}"))?;
    let mut command = vec![program.to_string_lossy().into_owned()];
    command.extend(std::env::args().skip(1));
    command.extend([MCP_FLAG, contract, TIME_FLAG, now].map(str::to_owned));
    Ok(json!({ "wire": { "mcp": { "command": command } } }))
}

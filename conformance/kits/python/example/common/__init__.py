"""`common`: plans, tasks, steps and a graph behind an MCP server, all in memory. It knows nothing of Proofmark."""

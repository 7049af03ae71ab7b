"""The server on stdin and stdout: `python3 -m common`."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

from .mcp import Server


def now() -> str:
    """The only place where the real time is read."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def main() -> None:
    lines_in, lines_out = sys.stdin.buffer, sys.stdout.buffer
    # No other output may get between the messages.
    sys.stdout = sys.stderr
    try:
        Server(now).serve(lines_in, lines_out)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # Close it here: at exit, the interpreter would complain about a closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    main()

"""The adapter of {{name}}: it lets Proofmark drive your build.

    proofmark doctor        checks the adapter itself
    proofmark run           shows which cases pass, and what is missing
    proofmark certify       checks everything that the adapter claims

Replace each `not_implemented` with a call of your build. A handler gets the session (workspace, clock, random, fakes)
and the call's arguments. It returns the value or raises a ContractError, and may be async. `proofmark guide operations`
describes each operation, `proofmark show CASE` what a case expects.
"""

from __future__ import annotations

from typing import Any

from proofmark import Adapter, ContractError, ProtocolError, Session  # noqa: F401

adapter = Adapter(
    name="{{name}}",
    version="0.1.0",
    contracts=[{{contracts}}],
    # Hooks that you offer for tests only. Their operations are below, after those of the contract.
    hooks=[],
)


def not_implemented() -> Any:
    raise ProtocolError(-32601, "not implemented yet")

{{operations}}

# A contract's own error: raise ContractError("EVALIDATION", "what was wrong", properties={"details": […]})

if __name__ == "__main__":
    adapter.run()

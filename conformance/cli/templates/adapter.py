"""The adapter of {{name}}: it lets Proofmark drive your build.

    proofmark doctor        is the adapter itself sound?
    proofmark run           which cases pass, and what is missing?
    proofmark certify       is everything that is claimed there?

Put your build in the place of each `not_implemented`. A handler gets the session (workspace, clock, random, fakes) and
the call's arguments, and returns the value or raises a ContractError; it may be async. `proofmark guide operations` says
what each takes and gives, `proofmark show CASE` what a case expects.
"""

from __future__ import annotations

from typing import Any

from proofmark import Adapter, ContractError, ProtocolError, Session  # noqa: F401

adapter = Adapter(
    name="{{name}}",
    version="0.1.0",
    contracts=[{{contracts}}],
    # What you offer for tests alone; its operations stand below, under the contract's own.
    hooks=[],
)


def not_implemented() -> Any:
    raise ProtocolError(-32601, "not implemented yet")

{{operations}}

# A contract's own error: raise ContractError("EVALIDATION", "what was wrong", properties={"details": […]})

if __name__ == "__main__":
    adapter.run()

#!/usr/bin/env python3
"""Recomputes the canonical JSON and the SHA-256 digests that the cases expect.

    python3 conformance/contracts/sage.utils/oracle.py

Exit 1 names file, case and both values for every difference.
"""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "xtask/oracle"))

from suite import Report, canonical, cases, finish, flat_steps, sha256

CONTRACT = "sage.utils"


def check(report, where, step):
    args = step.get("args", {})
    for outcome in [step] + step.get("either", []):
        golden = outcome.get("returns")
        if not isinstance(golden, str):
            continue
        if step["call"] == "utils.canonicalJSONStringify":
            value = json.loads(args["json"], parse_int=float) if "json" in args else args["value"]
            report.golden(where, golden, canonical(value))
        if step["call"] == "utils.sha256":
            data = bytes.fromhex(args["hex"]) if "hex" in args else args["text"].encode()
            report.golden(where, golden, sha256(data))


def main():
    report = Report()
    for where, case in cases(CONTRACT):
        for step in flat_steps(case.get("setup", []) + case["steps"]):
            check(report, where, step)
    return finish(CONTRACT, report)


if __name__ == "__main__":
    sys.exit(main())

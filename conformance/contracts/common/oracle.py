#!/usr/bin/env python3
"""Recomputes texts that a budget cuts at a cap of bytes.

    python3 conformance/contracts/common/oracle.py

Exit 1 names file, case and both values for every difference.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "xtask/oracle"))

from suite import Report, cases, finish

CONTRACT = "common"


def cut(text, cap):
    """The longest beginning that has at most so many bytes, with no character in two."""
    return text.encode("utf-8")[:cap].decode("utf-8", errors="ignore")


def check_cuts(report, where, steps):
    """Notes that a case wrote, read with one cap, against the text that it expects."""
    notes = None
    for step in steps:
        args = step.get("args") or {}
        given = args.get("arguments") if isinstance(args.get("arguments"), dict) else {}
        if args.get("name") in ("tasks_create", "tasks_patch") and isinstance(given.get("notes"), str):
            notes = given["notes"]
        caps = [int(given[knob]) for knob in ("max_chars", "max_bytes") if isinstance(given.get(knob), float)]
        if args.get("name") != "tasks_notes" or notes is None or len(caps) != 1 or "max_lines" in given:
            continue
        returns = step.get("returns")
        result = (returns.get("$open", {}) if isinstance(returns, dict) else {}).get("result", {})
        if isinstance(result, dict):
            result = result.get("$open", result)
            text = result.get("text")
            # Where a server may keep a letter with its accents, the longest text comes first.
            text = text["$oneOf"][0] if isinstance(text, dict) and "$oneOf" in text else text
            if isinstance(text, str):
                report.golden(f"{where}, cap {caps[0]}", text, cut(notes, caps[0]))


def main():
    report = Report()
    for where, case in cases(CONTRACT):
        check_cuts(report, where, case.get("setup", []) + case["steps"])
    return finish(CONTRACT, report)


if __name__ == "__main__":
    sys.exit(main())

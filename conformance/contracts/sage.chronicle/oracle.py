#!/usr/bin/env python3
"""Recomputes the eventIds in the cases and features.

    python3 conformance/contracts/sage.chronicle/oracle.py

Exit 1 names file, case and both values for every difference.
"""

import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "xtask/oracle"))

from suite import ROOT, Report, canonical, cases, doc_strings, expand, finish, flat_steps, has_matcher, is_text, lines, parse, sha256

CONTRACT = "sage.chronicle"
HEX64 = re.compile(r"[0-9a-f]{64}")


def event_id(event):
    return sha256(canonical({k: v for k, v in event.items() if k != "eventId"}).encode())


def events(v):
    """Every object inside v that carries a literal eventId that looks like a SHA-256."""
    if isinstance(v, dict):
        if isinstance(v.get("eventId"), str) and HEX64.fullmatch(v["eventId"]) and not has_matcher(v):
            yield v
        else:
            for x in v.values():
                yield from events(x)
    elif isinstance(v, list):
        for x in v:
            yield from events(x)


def check_case(report, where, case):
    given_ids = set()
    expected = [case.get("leaves"), list(lines(case.get("leaves"))), list(lines(case.get("given", {}).get("files")))]
    computed = set()
    for step in flat_steps(case.get("setup", []) + case["steps"]):
        expected += [step.get("leaves"), list(lines(step.get("leaves"))), list(lines(step.get("files")))]
        expected += [outcome.get("returns") for outcome in [step] + step.get("either", [])]
        args = step.get("args", {})
        if step.get("call") == "chronicle.appendEventWithId" and isinstance(args.get("event"), dict):
            given_ids.add(str(args["event"].get("eventId")))
        elif isinstance(args.get("event"), dict):
            computed.add(event_id(args["event"]))
    for event in events(expected):
        if event["eventId"] in given_ids:
            continue
        # An id alone is that of an event that was appended.
        alone = len(event) == 1 and event["eventId"] in computed
        report.golden(where, event["eventId"], event["eventId"] if alone else event_id(event))


def check_feature(report, path):
    where = path.relative_to(ROOT).as_posix()
    for step, doc in doc_strings(path):
        values = list(lines({"": {"text": doc}})) if is_text(step) else expand(parse(doc))
        for event in events(values):
            report.golden(f"{where}, `{step}`", event["eventId"], event_id(event))


def main():
    report = Report()
    for where, case in cases(CONTRACT):
        check_case(report, where, case)
    for path in sorted(ROOT.glob(f"features/{CONTRACT}/*.feature")):
        check_feature(report, path)
    return finish(CONTRACT, report)


if __name__ == "__main__":
    sys.exit(main())

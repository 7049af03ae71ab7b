#!/usr/bin/env python3
"""Checks the structure of fixtures/ and features/, whatever contract they belong to.

It shares no code with the suite, only the guide's text. The goldens are recomputed by each contract's own oracle.

    python3 xtask/oracle/structure.py

Exit 1 names the file and the case of every fault.
"""

import re
import sys
import tomllib

from suite import MATCHERS, ROOT, doc_strings, expand, is_text, parse

KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(/[a-z0-9]+(-[a-z0-9]+)*)+")

WIRES = {
    "mcp": {"mcp.tool", "mcp.suggestion", "mcp.request"},
    "http": {"http.request", "ws.open", "ws.until", "ws.take", "ws.send", "ws.close", "file.read"},
}
OUTCOME = {"returns", "fails", "either"}
KEYS = {
    "file": {"contract", "topic", "cases"},
    "case": {"id", "aliases", "why", "shows", "origin", "needs", "slow", "given", "setup", "steps", "leaves"},
    "given": {"clock", "random", "files", "fakes"},
    "call": {"call", "args", "process", "afterMs", "session", "as", "streamAs", "assumes", "returns", "fails", "either", "asks", "streams", "hides"},
    "assumption": OUTCOME,
    "ledger": {"contract", "title", "text", "prefix", "workspace", "wire", "http", "operations", "hooks", "sections", "requirement"},
    "requirement": {"id", "level", "basis", "sentence", "source", "reason", "excluded", "applies-with", "saboteur"},
    "file form": {"text", "hex", "folder", "symlink", "hardlink", "fifo"},
    "left form": {"text", "hex", "symlink", "entries", "ndjson", "prefix"},
}


class Report:
    def __init__(self):
        self.faults = 0

    def fault(self, where, text):
        self.faults += 1
        print(f"{where}: {text}")

    def keys(self, where, value, kind):
        for k in sorted(set(value) - KEYS[kind]):
            self.fault(where, f"unknown key `{k}` in a {kind}; known are {', '.join(sorted(KEYS[kind]))}")


def check_matchers(report, where, v):
    if isinstance(v, dict):
        if "$literal" in v:
            return
        for k, x in v.items():
            if k.startswith("$") and k not in MATCHERS:
                report.fault(where, f"unknown matcher `{k}`")
            check_matchers(report, where, x)
    elif isinstance(v, list):
        for x in v:
            check_matchers(report, where, x)


def check_files(report, where, files, kind):
    for path, form in (files or {}).items():
        if form is None and kind == "left form":
            continue
        report.keys(f"{where}, file {path}", form, kind)
        if path.startswith("/") or (path.startswith("../") and not path.startswith(("../outside", "../workspace-"))):
            report.fault(where, f"`{path}` is neither in the workspace nor in a folder beside it")


def check_step(report, where, step, ledger, needs, setup=False):
    if "call" not in step:
        if len(step) != 1 or not set(step) <= {"together", "kill", "files", "leaves"}:
            report.fault(where, f"a step is a call, or one of together, kill, files, leaves; this has {sorted(step)}")
        check_files(report, where, step.get("files"), "file form")
        check_files(report, where, step.get("leaves"), "left form")
        check_matchers(report, where, step.get("leaves"))
        for inner in step.get("together", []):
            check_step(report, where, inner, ledger, needs, setup)
        return
    report.keys(where, step, "call")
    call = step["call"]
    if call not in ledger["operations"] and call not in WIRES.get(ledger.get("wire"), ()):
        report.fault(where, f"`{call}` is not among the ledger's operations")
    for hook, operations in ledger.get("hooks", {}).items():
        if call in operations and hook not in needs:
            report.fault(where, f"`{call}` is a hook; the case must need `{hook}`")
    assumed = step.get("assumes")
    if setup and {"assumes", "asks", "streams", "hides"} & set(step):
        report.fault(where, f"`{call}` is setup, which has no assumes, asks, streams, hides")
    if assumed is not None:
        report.keys(f"{where}, assumes", assumed, "assumption")
        if len(assumed) != 1:
            report.fault(where, f"`{call}` must assume exactly one of returns, fails, either")
    if sum(k in step for k in ("returns", "fails", "either")) != 1 and (assumed is None or OUTCOME & set(step)):
        report.fault(where, f"`{call}` must have exactly one of returns, fails, either")
    if not isinstance(step.get("args"), dict):
        report.fault(where, f"`{call}` has no args")
    for outcome in [step, assumed or {}] + step.get("either", []) + (assumed or {}).get("either", []):
        check_matchers(report, where, [outcome.get("returns"), outcome.get("fails"), outcome.get("asks"), outcome.get("streams")])
        if "fails" in outcome and "code" not in outcome["fails"]:
            report.fault(where, f"`{call}` fails without a code")


def check_case(report, where, case, topic, ledger, cited):
    report.keys(where, case, "case")
    if not KEBAB.fullmatch(case["id"]):
        report.fault(where, "the id is not in kebab-case")
    if not case["id"].startswith(topic + "/"):
        report.fault(where, f"the id does not begin with its topic `{topic}/`")
    if not re.fullmatch(r"contract|reference|oracle: .+", case.get("origin", "")):
        report.fault(where, f"origin `{case.get('origin')}` is not contract, reference or `oracle: …`")
    if not case.get("why", "").endswith(".") or not case.get("shows") or not case.get("steps"):
        report.fault(where, "why (a sentence), shows and steps are needed")
    for key, value in case.get("given", {}).items():
        report.keys(where, {key: value}, "given")
    check_files(report, where, case.get("given", {}).get("files"), "file form")
    check_files(report, where, case.get("leaves"), "left form")
    check_matchers(report, where, case.get("leaves"))
    for step in case.get("setup", []):
        check_step(report, where, step, ledger, case.get("needs", []), setup=True)
    for step in case["steps"]:
        check_step(report, where, step, ledger, case.get("needs", []))
    bases = {r["basis"] for r in ledger["requirement"] if r["id"] in case["shows"]}
    if len(bases) > 1:  # An interpretation must never decide what the text promises.
        report.fault(where, "shows requirements of the text and interpretations at once; split it")
    check_shows(report, where, case["shows"], ledger, cited)


def check_shows(report, where, shows, ledger, cited):
    known = {r["id"]: r for r in ledger["requirement"]}
    for rid in shows:
        if rid not in known:
            report.fault(where, f"shows `{rid}`, which the ledger does not have")
        elif "excluded" in known[rid]:
            report.fault(where, f"shows `{rid}`, which the ledger excludes")
        cited.add(rid)


def check_ledger(report, where, ledger):
    report.keys(where, ledger, "ledger")
    seen = set()
    for r in ledger["requirement"]:
        report.keys(f"{where} {r['id']}", r, "requirement")
        if r["id"] in seen or not re.fullmatch(ledger["prefix"] + r"-\d{3}", r["id"]):
            report.fault(where, f"`{r['id']}` occurs twice, or is not {ledger['prefix']}-nnn")
        seen.add(r["id"])
        if r["level"] not in ("must", "should", "may") or r["basis"] not in ("contract", "interpretation"):
            report.fault(where, f"{r['id']}: level {r['level']}, basis {r['basis']}")
        if (r["basis"] == "interpretation") != ("reason" in r):
            report.fault(where, f"{r['id']}: an interpretation needs a reason, and nothing else may have one")


def check_feature(report, path, ledger):
    """Tags, and doc strings that are JSON."""
    where = path.relative_to(ROOT).as_posix()
    text = path.read_text(encoding="utf-8")
    ids = re.findall(r"@id:(\S+)", text)
    for sid in ids:
        if not re.fullmatch(r"story/" + r"[a-z0-9]+(-[a-z0-9]+)*", sid) or ids.count(sid) > 1:
            report.fault(where, f"@id:{sid} is not story/kebab-case, or occurs twice")
    if len(ids) != len(re.findall(r"^\s*Scenario", text, re.M)):
        report.fault(where, "every scenario needs one @id")
    shows = re.findall(r"@shows:(\S+)", text)
    check_shows(report, where, shows, ledger, set())
    for step, doc in doc_strings(path):
        if not is_text(step):
            try:
                expand(parse(doc))
            except ValueError as e:
                report.fault(where, f"the doc string under `{step}` is not JSON: {e}")
    return ids


def main():
    report, cases, scenarios = Report(), 0, 0
    for toml in sorted(ROOT.glob("fixtures/*/requirements.toml")):
        folder = toml.parent
        ledger = tomllib.loads(toml.read_text(encoding="utf-8"))
        check_ledger(report, toml.relative_to(ROOT).as_posix(), ledger)
        ids, cited = set(), set()
        for path in sorted(folder.glob("*.json")):
            name = path.relative_to(ROOT).as_posix()
            try:
                fixture = parse(path.read_text(encoding="utf-8"))
            except ValueError as e:
                report.fault(name, f"not readable: {e}")
                continue
            report.keys(name, fixture, "file")
            if (fixture["contract"], fixture["topic"]) != (folder.name, path.stem):
                report.fault(name, "contract and topic must be the names of the folder and the file")
            for raw in fixture["cases"]:
                where = f"{name} {raw['id']}"
                case = expand(raw)
                if case["id"] in ids:
                    report.fault(where, "the id occurs twice")
                ids.add(case["id"])
                check_case(report, where, case, fixture["topic"], ledger, cited)
        cases += len(ids)
        for r in ledger["requirement"]:
            wanted = r["level"] == "must" or r["basis"] == "interpretation"
            if wanted and "excluded" not in r and r["id"] not in cited:
                report.fault(folder.name, f"{r['id']} has no case: {r['sentence']}")
        for path in sorted(ROOT.glob(f"features/{folder.name}/*.feature")):
            found = check_feature(report, path, ledger)
            for sid in found:
                if sid in ids:
                    report.fault(path.name, f"`{sid}` occurs twice in {folder.name}")
                ids.add(sid)
            scenarios += len(found)
    print(f"{cases} cases, {scenarios} scenarios, {report.faults} faults")
    if cases == 0:
        print("nothing was checked")
    return 1 if report.faults or cases == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

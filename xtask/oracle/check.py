#!/usr/bin/env python3
"""Recomputes the goldens in fixtures/ and features/, and checks their structure.

An oracle of its own: it shares no code with the suite or the reference, only the contract's text.
Goldens are canonical JSON strings, SHA-256 digests and eventIds, and what git makes of patches. Standard library only, Python 3.11.

    python3 xtask/oracle/check.py

Exit 1 names file, case and both values for every difference.
"""

import hashlib
import json
import re
import sys
import tomllib
from pathlib import Path

from patches import check_patch, has_git

ROOT = Path(__file__).resolve().parents[2]
HEX64 = re.compile(r"[0-9a-f]{64}")
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(/[a-z0-9]+(-[a-z0-9]+)*)+")

MATCHERS = {
    "$any", "$matches", "$oneOf", "$optional", "$absent", "$startsWith", "$open", "$unordered", "$contains", "$ref", "$literal", "$repeat",
    "$above", "$within", "$each", "$nonEmpty",
}
WIRES = {
    "mcp": {"mcp.tool", "mcp.suggestion", "mcp.request"},
    "http": {"http.request", "ws.open", "ws.until", "ws.take", "ws.send", "ws.close", "file.read"},
}
KEYS = {
    "file": {"contract", "topic", "cases"},
    "case": {"id", "aliases", "why", "shows", "origin", "needs", "given", "steps", "leaves"},
    "given": {"clock", "random", "files", "fakes"},
    "call": {"call", "args", "process", "session", "as", "streamAs", "returns", "fails", "either", "asks", "streams", "hides"},
    "ledger": {"contract", "title", "text", "prefix", "workspace", "wire", "operations", "hooks", "sections", "requirement"},
    "requirement": {"id", "level", "basis", "sentence", "source", "reason", "excluded", "applies-with"},
    "file form": {"text", "hex", "folder", "symlink", "hardlink", "fifo"},
    "left form": {"text", "hex", "symlink", "entries", "ndjson", "prefix"},
}


# --- Canonical JSON, from ECMAScript's rules -------------------------------------------------------

def number(x):
    """ECMAScript's Number::toString, from the shortest digits that repr gives."""
    x = float(x)
    if x != x or x in (float("inf"), float("-inf")):
        return "null"
    if x == 0:
        return "0"
    sign, text = ("-", repr(-x)) if x < 0 else ("", repr(x))
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)  # value = 0.digits * 10^point, before trimming
    digits = whole + fraction
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.lstrip("0").rstrip("0")
    if 0 < point <= 21:
        if len(digits) <= point:
            return sign + digits.ljust(point, "0")
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"


SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def string(s):
    out = []
    for c in s:
        if c in SHORT:
            out.append(SHORT[c])
        elif c < " " or "\ud800" <= c <= "\udfff":  # a surrogate in a Python string is a lone one
            out.append(f"\\u{ord(c):04x}")
        else:
            out.append(c)
    return '"' + "".join(out) + '"'


def canonical(v):
    if v is None:
        return "null"
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, (int, float)):
        return number(v)
    if isinstance(v, str):
        return string(v)
    if isinstance(v, list):
        return "[" + ",".join(map(canonical, v)) + "]"
    keys = sorted(v, key=lambda k: k.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(f"{string(k)}:{canonical(v[k])}" for k in keys) + "}"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def event_id(event):
    return sha256(canonical({k: v for k, v in event.items() if k != "eventId"}).encode())


def parse(text):
    """JSON with every number as the nearest double, as ECMAScript reads it."""
    return json.loads(text, parse_int=float, object_pairs_hook=pairs)


class Doubled(ValueError):
    pass


def pairs(items):
    if len({k for k, _ in items}) != len(items):
        raise Doubled(f"a key stands twice: {[k for k, _ in items]}")
    return dict(items)


def expand(v, index=None):
    """Expands $repeat, "$index" and {{index}}."""
    if isinstance(v, str) and index is not None:
        return float(index) if v == "$index" else v.replace("{{index}}", str(index))
    if isinstance(v, dict):
        return {k if index is None else k.replace("{{index}}", str(index)): expand(x, index) for k, x in v.items()}
    if isinstance(v, list):
        out = []
        for x in v:
            if isinstance(x, dict) and set(x) == {"$repeat"}:
                out += [expand(x["$repeat"]["item"], i) for i in range(int(x["$repeat"]["times"]))]
            else:
                out.append(expand(x, index))
        return out
    return v


# --- Report ----------------------------------------------------------------------------------------

class Report:
    def __init__(self):
        self.goldens = 0
        self.differ = 0
        self.faults = 0

    def golden(self, where, expected, computed):
        self.goldens += 1
        if expected != computed:
            self.differ += 1
            print(f"{where}: differs\n  stands:   {shown(expected)}\n  computed: {shown(computed)}")

    def fault(self, where, text):
        self.faults += 1
        print(f"{where}: {text}")

    def keys(self, where, value, kind):
        for k in sorted(set(value) - KEYS[kind]):
            self.fault(where, f"unknown key `{k}` in a {kind}; known are {', '.join(sorted(KEYS[kind]))}")


def shown(s):
    return s.encode("utf-8", "backslashreplace").decode() if isinstance(s, str) else repr(s)


# --- Goldens ---------------------------------------------------------------------------------------

def flat_steps(steps):
    for step in steps:
        yield from flat_steps(step["together"]) if "together" in step else [step]


def has_matcher(v):
    if isinstance(v, dict):
        return any(k in MATCHERS for k in v) or any(map(has_matcher, v.values()))
    return isinstance(v, list) and any(map(has_matcher, v))


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


def lines(files):
    """The JSON lines of the files that a case writes or expects as text."""
    for form in (files or {}).values():
        for key in ("text", "prefix"):
            for line in ((form or {}).get(key) or "").split("\n"):
                try:
                    yield parse(line)
                except ValueError:
                    pass  # Torn and corrupt lines are part of some cases.


def check_goldens(report, where, case):
    given_ids = set()
    expected = [case.get("leaves"), list(lines(case.get("leaves"))), list(lines(case.get("given", {}).get("files")))]
    for step in flat_steps(case["steps"]):
        expected += [step.get("leaves"), list(lines(step.get("leaves"))), list(lines(step.get("files")))]
        outcomes = [step] + step.get("either", [])
        expected += [o.get("returns") for o in outcomes]
        args = step.get("args", {})
        if step.get("call") == "chronicle.appendEventWithId" and isinstance(args.get("event"), dict):
            given_ids.add(str(args["event"].get("eventId")))
        for outcome in outcomes:
            golden = outcome.get("returns")
            if not isinstance(golden, str):
                continue
            if step["call"] == "utils.canonicalJSONStringify":
                value = json.loads(args["json"], parse_int=float) if "json" in args else args["value"]
                report.golden(where, golden, canonical(value))
            if step["call"] == "utils.sha256":
                data = bytes.fromhex(args["hex"]) if "hex" in args else args["text"].encode()
                report.golden(where, golden, sha256(data))
    for event in events(expected):
        if event["eventId"] not in given_ids:
            report.golden(where, event["eventId"], event_id(event))


# --- Budgets: texts cut at a cap of bytes ----------------------------------------------------------

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
            if isinstance(result.get("text"), str):
                report.golden(f"{where}, cap {caps[0]}", result["text"], cut(notes, caps[0]))


# --- Structure -------------------------------------------------------------------------------------

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
        if path.startswith("/") or (path.startswith("../") and not path.startswith("../outside")):
            report.fault(where, f"`{path}` is neither in the workspace nor in ../outside")


def check_step(report, where, step, ledger, needs):
    if "call" not in step:
        if len(step) != 1 or not set(step) <= {"together", "kill", "files", "leaves"}:
            report.fault(where, f"a step is a call, or one of together, kill, files, leaves; this has {sorted(step)}")
        check_files(report, where, step.get("files"), "file form")
        check_files(report, where, step.get("leaves"), "left form")
        check_matchers(report, where, step.get("leaves"))
        for inner in step.get("together", []):
            check_step(report, where, inner, ledger, needs)
        return
    report.keys(where, step, "call")
    call = step["call"]
    if call not in ledger["operations"] and call not in WIRES.get(ledger.get("wire"), ()):
        report.fault(where, f"`{call}` is not among the ledger's operations")
    for hook, operations in ledger.get("hooks", {}).items():
        if call in operations and hook not in needs:
            report.fault(where, f"`{call}` is a hook; the case must need `{hook}`")
    if sum(k in step for k in ("returns", "fails", "either")) != 1:
        report.fault(where, f"`{call}` must have exactly one of returns, fails, either")
    if not isinstance(step.get("args"), dict):
        report.fault(where, f"`{call}` has no args")
    for outcome in [step] + step.get("either", []):
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
            report.fault(where, f"`{r['id']}` stands twice, or is not {ledger['prefix']}-nnn")
        seen.add(r["id"])
        if r["level"] not in ("must", "should", "may") or r["basis"] not in ("contract", "interpretation"):
            report.fault(where, f"{r['id']}: level {r['level']}, basis {r['basis']}")
        if (r["basis"] == "interpretation") != ("reason" in r):
            report.fault(where, f"{r['id']}: an interpretation, and nothing else, has a reason")


def check_feature(report, path, ledger):
    """Tags, doc strings that are JSON, and the goldens inside them."""
    where = path.relative_to(ROOT).as_posix()
    text = path.read_text(encoding="utf-8")
    ids = re.findall(r"@id:(\S+)", text)
    for sid in ids:
        if not re.fullmatch(r"story/" + r"[a-z0-9]+(-[a-z0-9]+)*", sid) or ids.count(sid) > 1:
            report.fault(where, f"@id:{sid} is not story/kebab-case, or stands twice")
    if len(ids) != len(re.findall(r"^\s*Scenario", text, re.M)):
        report.fault(where, "every scenario needs one @id")
    shows = re.findall(r"@shows:(\S+)", text)
    check_shows(report, where, shows, ledger, set())
    docs = re.findall(r'^( *)([^\n]*)\n *"""(?:json)?\n(.*?)\n *"""$', text, re.M | re.S)
    for indent, step, doc in docs:
        doc = "\n".join(line.removeprefix(indent).removeprefix("  ") for line in doc.split("\n"))
        if " holds" in step and "holds the events" not in step or "begins with" in step:
            values = list(lines({"": {"text": doc}}))
        else:
            try:
                values = expand(parse(doc))
            except ValueError as e:
                report.fault(where, f"the doc string under `{step}` is not JSON: {e}")
                continue
        for event in events(values):
            report.golden(f"{where}, `{step}`", event["eventId"], event_id(event))
    return ids


def main():
    report, cases, scenarios, patches = Report(), 0, 0, 0
    git = has_git()
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
                    report.fault(where, "the id stands twice")
                ids.add(case["id"])
                check_case(report, where, case, fixture["topic"], ledger, cited)
                check_goldens(report, where, case)
                check_cuts(report, where, case["steps"])
                patches += git and check_patch(report, where, case)
        cases += len(ids)
        for r in ledger["requirement"]:
            wanted = r["level"] == "must" or r["basis"] == "interpretation"
            if wanted and "excluded" not in r and r["id"] not in cited:
                report.fault(folder.name, f"{r['id']} has no case: {r['sentence']}")
        for path in sorted(ROOT.glob(f"features/{folder.name}/*.feature")):
            found = check_feature(report, path, ledger)
            for sid in found:
                if sid in ids:
                    report.fault(path.name, f"`{sid}` stands twice in {folder.name}")
                ids.add(sid)
            scenarios += len(found)
    print(f"{cases} cases, {scenarios} scenarios, {report.faults} faults")
    print(f"{patches} patches put to git apply" if git else "skipped: git is not there, no patch was put to it")
    print(f"{report.goldens} goldens checked, {report.differ} differ")
    if cases == 0 or report.goldens == 0:
        print("nothing was checked")
        return 1
    return 1 if report.differ or report.faults else 0


if __name__ == "__main__":
    sys.exit(main())

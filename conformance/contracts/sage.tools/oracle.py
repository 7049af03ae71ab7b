#!/usr/bin/env python3
"""Puts the patches of the cases to `git apply`, and compares the outcome with what the cases expect.

    python3 conformance/contracts/sage.tools/oracle.py

Exit 1 names file, case and both values for every difference.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "xtask/oracle"))

from suite import Report, cases, finish

CONTRACT = "sage.tools"
ENV = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": "/", "HOME": "/nonexistent", "LC_ALL": "C"}
ORIGIN = "oracle: git apply "


def has_git():
    try:
        return subprocess.run(["git", "--version"], capture_output=True).returncode == 0
    except OSError:
        return False


def content(form):
    """The bytes of a file as a case speaks of it; None for no file."""
    if form is None:
        return None
    return bytes.fromhex(form["hex"]) if "hex" in form else form["text"].encode()


def applied(name, old, patch, strip):
    """Whether git takes the patch, and what the file is then."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, name)
        if old is not None:
            file.write_bytes(old)
        run = subprocess.run(["git", "apply", strip, "-"], input=patch.encode(), cwd=folder, env=ENV, capture_output=True)
        return run.returncode == 0, file.read_bytes() if file.exists() else None


def check_patch(report, where, case):
    """Judges a case that is one Edit, and whose origin says that git was asked as it stands. Tells whether it is one."""
    how = case["origin"].removeprefix(ORIGIN).split(" ", 1)[1:]
    if not case["origin"].startswith(ORIGIN) or "," in case["origin"] or how not in ([], ["-p0"]):
        return False
    edits = [s for s in case.get("setup", []) + case["steps"] if s.get("args", {}).get("name") == "Edit"]
    if len(edits) != 1 or edits[0]["args"].get("context", {}).get("dryRun"):
        return False
    args, expected = edits[0]["args"]["input"], edits[0].get("returns")
    if args.get("strategy") == "check" or not isinstance(expected, dict) or "/" in args["file"]:
        return False
    expected = expected.get("$open", expected)
    old = content(case.get("given", {}).get("files", {}).get(args["file"]))
    fits, new = applied(args["file"], old, args["patch"], how[0] if how else "-p1")
    report.golden(f"{where}, whether git takes it", expected.get("ok"), fits)
    if args["file"] in case.get("leaves", {}):
        report.golden(f"{where}, what git leaves", content(case["leaves"][args["file"]]), new)
    return True


def main():
    if not has_git():
        print(f"{CONTRACT}: skipped: git is not installed")
        return 1 if "CI" in os.environ else 0
    report = Report()
    patches = sum(check_patch(report, where, case) for where, case in cases(CONTRACT))
    print(f"{CONTRACT}: {patches} patches put to git apply")
    return finish(CONTRACT, report)


if __name__ == "__main__":
    sys.exit(main())

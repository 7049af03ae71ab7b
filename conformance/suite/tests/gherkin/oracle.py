"""Writes, beside every feature of this folder, what Cucumber's own parser makes of it.

    pip install gherkin-official==42.0.1 && python3 oracle.py

The goldens have this origin alone: Proofmark's reader is never asked.
"""

import json
import pathlib

from gherkin.parser import Parser
from gherkin.pickles.compiler import Compiler
from gherkin.token_scanner import TokenScanner


def step(pickle):
    told = {"text": pickle["text"]}
    argument = pickle.get("argument") or {}
    if "docString" in argument:
        doc = argument["docString"]
        told["docString"] = {"mediaType": doc.get("mediaType") or "", "content": doc["content"]}
    if "dataTable" in argument:
        rows = argument["dataTable"]["rows"]
        told["table"] = [[cell["value"] for cell in row["cells"]] for row in rows]
    return told


def told(path):
    # The scanner takes a text for a text, and splits it at line feeds alone.
    text = path.read_bytes().decode("utf-8").removeprefix("\ufeff")
    document = Parser().parse(TokenScanner(text))
    document["uri"] = path.name
    return [
        {
            "name": pickle["name"],
            "tags": [tag["name"] for tag in pickle["tags"]],
            "steps": [step(one) for one in pickle["steps"]],
            "line": pickle["location"]["line"],
        }
        for pickle in Compiler().compile(document)
    ]


for feature in sorted(pathlib.Path(__file__).parent.glob("*.feature")):
    golden = json.dumps(told(feature), ensure_ascii=False, indent=1)
    feature.with_suffix(".json").write_text(golden + "\n", encoding="utf-8")

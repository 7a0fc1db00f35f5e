"""A gate as JUnit XML, which CI systems show as tests: a rule is a test case, an undecided one is skipped."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from steelyard.render.gate import sentence
from steelyard.results.gate import Gate

# What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def gate_junit(gate: Gate) -> str:
    """One suite, one case per rule."""
    counts = {
        "tests": str(len(gate.verdicts)),
        "failures": str(gate.count("fail")),
        "errors": "0",
        "skipped": str(gate.count("undecided")),
        "time": "0",
    }
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "steelyard gate", **counts})
    for verdict in gate.verdicts:
        name = verdict.rule if "*" not in verdict.rule else f"{verdict.rule} ({verdict.where})"
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": f"steelyard.gate.{gate.task}", "name": _clean(name), "time": "0"}
        )
        message = _clean(sentence(verdict))
        if verdict.outcome == "fail":
            ElementTree.SubElement(case, "failure", {"message": message, "type": "gate"}).text = message
        elif verdict.outcome == "undecided":
            ElementTree.SubElement(case, "skipped", {"message": f"undecided: {message}"})
        else:
            ElementTree.SubElement(case, "system-out").text = message
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)

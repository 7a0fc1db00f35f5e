"""A gate as text, Markdown, plain values and JUnit XML."""

from __future__ import annotations

import math
import re
import textwrap
from xml.etree import ElementTree

from steelyard.core.counts import count_text
from steelyard.render.markdown import code, plain
from steelyard.render.numbers import in_unit, interval_text, p_text, percent_text, signed_text, value_text
from steelyard.results.gate import Gate, Verdict

MOST_NAMED = 4  # rules in a sentence
MARKS = {"pass": "✓ pass", "fail": "✗ FAIL", "undecided": "? undecided"}
HOW = {
    "value": "the value alone",
    "interval": "the interval of the score",
    "paired randomisation": "paired sign flips over units, as in compare",
    "paired draws": "paired bootstrap draws of units",
    "unpaired": "the two intervals, as if the results were independent",
}


def gate_text(gate: Gate, width: int = 80) -> str:
    """Who is held to what, a table of the rules, and what it comes to."""
    top = f"{gate.task}: {count_text(gate.units, gate.unit)}\n  result    {gate.result}"
    if gate.baseline is not None:
        top += f"\n  baseline  {gate.baseline}"
    if gate.ledger is not None:
        top += f"\n  ledger    {gate.ledger}"
    blocks = "\n".join(_block(verdict, width) for verdict in gate.verdicts)
    end = [summary(gate), *(_bullet(note, width) for note in remarks(gate))]
    return "\n\n".join([top, blocks, "\n".join(end)])


def _block(verdict: Verdict, width: int) -> str:
    """A rule, and under it the numbers and what decided."""
    lines = [f"{MARKS[verdict.outcome]:<11}  {_name(verdict)}"]
    for text in (deciding_numbers(verdict), verdict.reason):
        indent = " " * 13
        lines.append(
            textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        )
    return "\n".join(lines)


def gate_markdown(gate: Gate) -> str:
    """The outcome as Markdown, for a pull request or a job summary."""
    head = f"### {MARKS[gate.outcome]}: {gate.task}, {count_text(gate.units, gate.unit)}"
    against = f"`{code(gate.result)}`" + ("" if gate.baseline is None else f" against `{code(gate.baseline)}`")
    against += "" if gate.ledger is None else f", looks counted in `{code(gate.ledger)}`"
    rows = [
        "| " + " | ".join([MARKS[v.outcome], _cell(v), plain(deciding_numbers(v)), plain(v.reason)]) + " |"
        for v in gate.verdicts
    ]
    table = "\n".join([f"| | fail if | {_seen_header(gate)} | |", "| --- | --- | --- | --- |", *rows])
    notes = "\n".join(f"- {plain(note)}" for note in remarks(gate))
    return "\n\n".join(part for part in (head, against, table, summary(gate), notes) if part) + "\n"


def _cell(verdict: Verdict) -> str:
    return f"`{code(verdict.rule)}`" + (f" ({plain(verdict.where)})" if "*" in verdict.rule else "")


def _seen_header(gate: Gate) -> str:
    return "score" if gate.confidence is None else f"score, {percent_text(gate.confidence)} interval"


def _name(verdict: Verdict) -> str:
    return verdict.rule if "*" not in verdict.rule else f"{verdict.rule}  ({verdict.where})"


def deciding_numbers(verdict: Verdict) -> str:
    """The numbers that decided: the score, and how far it lies from the baseline."""
    if math.isnan(verdict.value):
        return "undefined"
    value = in_unit(value_text(verdict.value, verdict.interval), verdict.measured_in)
    if verdict.difference is None:
        return f"{value} {interval_text(verdict.value, verdict.interval)}".strip()
    if math.isnan(verdict.difference):
        return value
    reach = verdict.difference_interval
    bound = in_unit(value_text(verdict.bound, verdict.interval), verdict.measured_in)
    text = (
        f"{value} against {bound}: {signed_text(verdict.difference, reach)} {interval_text(verdict.difference, reach)}"
    )
    if verdict.level is not None and verdict.p is not None:
        shown = p_text(verdict.p) if verdict.spent is None or verdict.spent > 0.002 else f"{verdict.p:.2g}"
        text = f"{text.strip()}, p < {shown[1:]}" if shown.startswith("<") else f"{text.strip()}, p = {shown}"
    return text.strip()


def sentence(verdict: Verdict) -> str:
    """One line that says it all: for a log, a test's message."""
    named = f"{verdict.label} ({verdict.metric}{', ' + verdict.where if verdict.where else ''})"
    return f"{verdict.rule}: {named} {deciding_numbers(verdict)}; {verdict.reason} (by {HOW[verdict.method]})"


def summary(gate: Gate) -> str:
    """What the gate comes to, in one line."""
    sliced = any("*" in verdict.rule for verdict in gate.verdicts)
    total = count_text(len(gate.verdicts), "check" if sliced else "rule")
    words = {"pass": f"passed: {total}", "fail": f"failed: {gate.count('fail')} of {total}"}
    text = words.get(gate.outcome, f"undecided: {gate.count('undecided')} of {total}")
    if gate.outcome == "fail" and gate.count("undecided"):
        text += f", {gate.count('undecided')} undecided"
    return text


def gate_verdict(gate: Gate) -> str:
    """What the gate comes to, and the first rules that decided it, as a sentence."""
    deciding = [one.rule for one in gate.verdicts if one.outcome == gate.outcome]
    more = f" and {len(deciding) - MOST_NAMED} more" if len(deciding) > MOST_NAMED else ""
    named = "" if gate.outcome == "pass" else f" ({', '.join(deciding[:MOST_NAMED])}{more})"
    return f"{summary(gate).capitalize()}{named}."


def remarks(gate: Gate) -> list[str]:
    """How the differences were computed, and what a reader must know."""
    methods = dict.fromkeys(v.method for v in gate.verdicts if v.method.startswith("paired"))
    lines = [f"Differences from the baseline: {HOW[method]}." for method in methods]
    return [*lines, *gate.notes]


def _bullet(text: str, width: int) -> str:
    return textwrap.fill(text, width, initial_indent="• ", subsequent_indent="  ", break_on_hyphens=False)


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

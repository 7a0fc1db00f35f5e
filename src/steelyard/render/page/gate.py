"""The page of a gate: a row per rule, and what it comes to."""

from __future__ import annotations

from html import escape

from steelyard.core.counts import count_text
from steelyard.render.gate import MARKS, deciding_numbers, remarks
from steelyard.render.page.frame import Section, bullets, document, facts
from steelyard.render.page.tables import Cell, head_cell, table
from steelyard.results.gate import Gate

CLASSES = {"pass": "better", "fail": "worse", "undecided": "no"}


def gate_page(gate: Gate) -> str:
    """The page."""
    rows = [
        [
            Cell(f'<span class="verdict {CLASSES[v.outcome]}">{escape(MARKS[v.outcome])}</span>'),
            head_cell(v.rule if "*" not in v.rule else f"{v.rule} ({v.where})"),
            Cell(escape(deciding_numbers(v))),
            Cell(escape(v.reason)),
        ]
        for v in gate.verdicts
    ]
    sources = [("result", gate.result), *([] if gate.baseline is None else [("baseline", gate.baseline)])]
    sources += [] if gate.ledger is None else [("ledger", gate.ledger)]
    sections = [
        Section("rules", "Rules", table("Rules", ["", "fail if", "score", "why"], rows)),
        Section("remarks", "Remarks", bullets(remarks(gate))),
        Section("source", "Where the numbers come from", facts(sources), "Source"),
    ]
    line = f"{gate.task}, {count_text(gate.units, gate.unit)}"
    top = f'<p class="kicker">Steelyard</p><h1>{escape(MARKS[gate.outcome])}</h1><p class="line">{escape(line)}</p>'
    return document(f"Steelyard: {gate.task}, gate", top, sections, verdict=gate.verdict)

"""Findings of a check: what is wrong with data, how often, where, and how to correct it; as text and as JSON."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from os import PathLike
from typing import Any

from steelyard.core.counts import count_text
from steelyard.core.errors import InputError, UnreadableFile
from steelyard.core.frozen import Frozen
from steelyard.results.registry import load
from steelyard.version import __version__

GRID = "steelyard.render.text:grid"
SCHEMA = "steelyard/check/1"
SEVERITIES = ("error", "warning", "note")
LONGEST = 4  # lines of an example


class Finding(Frozen):
    """One thing that was found.

    `code` names its kind; `severity` is "error" (the numbers are wrong), "warning" (they may be) or "note" (worth
    knowing); `side` is "truth" or "predictions"; `count` of `total` are affected; `examples` say where.
    """

    code: str
    severity: str
    side: str
    what: str
    count: int
    total: int
    examples: tuple[str, ...] = ()
    remedy: str = ""


def in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Errors first, then warnings, then notes."""
    return tuple(sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)))


def refusal(error: InputError | OSError, source: str) -> InputError:
    """Why data cannot be read; what the system refuses, such as a name that is too long, is said of their source."""
    if isinstance(error, InputError):
        return error
    return UnreadableFile(f"cannot be read: {error.strerror or error}", where=source, remedy="Check the path.")


class CheckReport(Frozen):
    """All findings, the worst first, and what was looked at."""

    truth: str
    predictions: str | None
    counts: dict[str, int]
    findings: tuple[Finding, ...]
    task: str = "boxes"
    record: str = "row"

    def of(self, severity: str) -> tuple[Finding, ...]:
        """The findings of one severity."""
        return tuple(f for f in self.findings if f.severity == severity)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What makes the numbers wrong."""
        return self.of("error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What may make them wrong."""
        return self.of("warning")

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not self.errors

    def __getitem__(self, code: str) -> Finding:
        for finding in self.findings:
            if finding.code == code:
                return finding
        raise KeyError(code)

    def __contains__(self, code: str) -> bool:
        return any(finding.code == code for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """As plain values; `schema/check-1.json` describes them."""
        return {
            "schema": SCHEMA,
            "steelyard": __version__,
            "task": self.task,
            "truth": self.truth,
            "predictions": self.predictions,
            "ok": self.ok,
            "counts": dict(self.counts),
            "findings": [
                {
                    "code": f.code,
                    "severity": f.severity,
                    "side": f.side,
                    "what": f.what,
                    "count": f.count,
                    "total": f.total,
                    "examples": list(f.examples),
                    "remedy": f.remedy,
                }
                for f in self.findings
            ],
        }

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """JSON text, written to a file where one is named."""
        from steelyard.io.json import json_text  # evaluation makes findings, too, and writes none of them

        text = json_text(self.to_dict())
        if path is not None:
            from steelyard.io.write import write_text

            write_text(path, text)
        return text

    def to_text(self, width: int = 80) -> str:
        """A table of the findings, then each with examples and remedy."""
        parts = [self._heading()]
        if self.findings:
            parts.append(_table(self.findings, width))
            parts += [_details(finding, width) for finding in self.findings]
        parts.append(textwrap.fill(self._verdict(), width))
        return "\n\n".join(parts)

    def __str__(self) -> str:
        return self.to_text()

    def _heading(self) -> str:
        c = self.counts
        if "images" not in c:
            lines = [f"truth        {self.truth}: {count_text(c['rows'], self.record)}"]
            if self.predictions is not None:
                lines.append(f"predictions  {self.predictions}: {count_text(c['predictions'], self.record)}")
            return "\n".join(lines)
        objects, classes = (
            count_text(c["objects"], "object"),
            f"{c['classes']:,} class{'' if c['classes'] == 1 else 'es'}",
        )
        lines = [f"truth        {self.truth}: {count_text(c['images'], 'image')}, {objects}, {classes}"]
        if self.predictions is not None:
            lines.append(f"predictions  {self.predictions}: {count_text(c['predictions'], 'prediction')}")
        return "\n".join(lines)

    def _verdict(self) -> str:
        count = Counter(finding.severity for finding in self.findings)
        if not self.findings:
            return "Nothing was found that would make numbers wrong."
        counts = ", ".join(count_text(count[s], s) for s in SEVERITIES if count[s])
        if count["error"]:
            return f"{counts}. Do not believe a number from these data before the errors are corrected."
        if count["warning"]:
            return f"{counts}. Nothing is surely wrong; read the warnings before you believe a number."
        return f"{counts}. Nothing was found that would make numbers wrong."


def _table(findings: Sequence[Finding], width: int) -> str:
    rows = [[f.severity, f.code, f.side, f"{f.count:,}", f"{f.total:,}"] for f in findings]
    return str(load(GRID)(["", "finding", "in", "count", "of"], rows, "lllrr", width, shrink=1))


def _details(finding: Finding, width: int) -> str:
    lines = [f"{finding.severity}: {finding.code} ({finding.side})"]
    lines.append(
        textwrap.fill(finding.what, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    )
    for example in finding.examples:
        lines.append(
            textwrap.fill(
                example, width, initial_indent="  · ", subsequent_indent="    ", break_on_hyphens=False,
                replace_whitespace=False, max_lines=LONGEST, placeholder=" …",
            )
        )  # fmt: skip
    if finding.remedy:
        fill = textwrap.fill(
            finding.remedy, width, initial_indent="  → ", subsequent_indent="    ", break_on_hyphens=False
        )
        lines.append(fill)
    return "\n".join(lines)

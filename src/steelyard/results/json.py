"""Results that last: the versioned JSON form. `schema/` holds its description."""

from __future__ import annotations

import base64
import math
from typing import Any

from steelyard.core.explanation import Explanation
from steelyard.core.pairs import Coverage
from steelyard.core.slice import slice_parts
from steelyard.results.model import Comparison, Lineup, Provenance, Report, Side
from steelyard.results.score import Difference, Score

REPORT_SCHEMA = "steelyard/report/1"
COMPARISON_SCHEMA = "steelyard/comparison/1"
LINEUP_SCHEMA = "steelyard/lineup/1"


def report_dict(report: Report, *, details: bool = False) -> dict[str, Any]:
    """A report as plain values. Undefined is null, with its reason beside it.

    `details` adds what the page shows beside scores: tables, figures, and the units and rows as packed columns.
    """
    data = {
        "schema": REPORT_SCHEMA,
        "task": report.task,
        "unit": report.unit,
        "scores": [_score(score) for score in report.scores.values()],
        "slices": [
            {
                "by": list(slice_parts(by)),
                "value": list(slice_parts(value)),
                "scores": [_score(score) for score in scores.values()],
            }
            for by, parts in report.slices.items()
            for value, scores in parts.items()
        ],
        "counts": _counts(report.coverage),
        "notes": list(report.notes),
        "provenance": _provenance(report.provenance),
        **_explanations(report),
    }
    if details:
        from steelyard.results.details import details_dict

        data["details"] = details_dict(report)
    return data


def _explanations(report: Report) -> dict[str, Any]:
    """Why other tools print other numbers, where that was asked for."""
    if not report.explanations:
        return {}
    return {"explanations": [explanation_dict(found) for found in report.explanations]}


def comparison_dict(comparison: Comparison) -> dict[str, Any]:
    """A comparison as plain values; differences are B minus A."""
    data = {
        "schema": COMPARISON_SCHEMA,
        "task": comparison.task,
        "unit": comparison.unit,
        "differences": [_difference(d) for d in comparison.differences.values()],
        "counts": {"a": _counts(comparison.coverage_a), "b": _counts(comparison.coverage_b)},
        "notes": list(comparison.notes),
        "provenance": {"a": _provenance(comparison.provenance_a), "b": _provenance(comparison.provenance_b)},
    }
    if comparison.slices:
        data["slices"] = [
            {
                "by": list(slice_parts(by)),
                "value": list(slice_parts(value)),
                "differences": [_difference(d) for d in found.values()],
            }
            for by, parts in comparison.slices.items()
            for value, found in parts.items()
        ]
    return data


def lineup_dict(lineup: Lineup) -> dict[str, Any]:
    """Several comparisons with the same first model; each is what a comparison of two is."""
    return {"schema": LINEUP_SCHEMA, "comparisons": [comparison_dict(c) for c in lineup.comparisons]}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _interval(interval: tuple[float, float] | None) -> list[float | None] | None:
    return None if interval is None else [_number(end) for end in interval]


def _score(score: Score) -> dict[str, Any]:
    return {
        "metric": score.spec,
        "label": score.label,
        "value": _number(score.value),
        "interval": _interval(score.interval),
        "why": score.why or None,
        "units": score.units,
        "undefined": score.undefined,
        "left_out": score.left_out or None,
        "notes": list(score.notes),
        "better": score.better,
        "measure": score.measure or None,
        **({} if score.draws is None else {"draws": base64.b64encode(score.draws.astype("<f8").tobytes()).decode()}),
    }


def _difference(d: Difference) -> dict[str, Any]:
    return {
        "metric": d.spec,
        "label": d.label,
        "a": _score(d.a),
        "b": _score(d.b),
        "difference": _number(d.difference),
        "interval": _interval(d.interval),
        "p": _number(d.p),
        "p_holm": _number(d.p_holm),
        "verdict": d.verdict,
        "units": d.units,
        "why": d.why or None,
        "better": d.better,
        "measure": d.measure or None,
    }


def _counts(coverage: Coverage) -> dict[str, Any]:
    return {
        "truth": coverage.truth,
        "predictions": coverage.predictions,
        "matched": coverage.matched,
        "missing": coverage.missing,
        "extra": coverage.extra,
        "coverage": _number(coverage.share),
    }


def _side(side: Side) -> dict[str, Any]:
    return {"source": side.source, "rows": side.rows, "digest": side.digest}


def _provenance(p: Provenance) -> dict[str, Any]:
    return {
        "steelyard": p.version,
        "truth": _side(p.truth),
        "predictions": _side(p.predictions),
        "settings": {
            "metrics": list(p.metrics),
            "by": [list(by) for by in p.by],
            "confidence": p.confidence,
            "draws": p.draws,
            "seed": p.seed,
            "missing": p.missing,
            "extra": p.extra,
            "columns": dict(p.columns),
            "options": dict(p.options),
        },
    }


def explanation_dict(found: Explanation) -> dict[str, Any]:
    """As plain values; undefined is null."""
    return {
        "tool": found.tool,
        "version": found.version,
        "ours": _numbers(found.ours),
        "theirs": _numbers(found.theirs),
        "settings": [
            {
                "setting": step.setting,
                "ours": step.ours,
                "theirs": step.theirs,
                "why": step.why,
                "values": _numbers(step.values),
            }
            for step in found.steps
        ],
        "remarks": list(found.remarks),
    }


def _numbers(values: Any) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else float(value) for name, value in values.items()}

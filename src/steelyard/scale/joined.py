"""One report from those of the parts of the metrics: sums, rankings by class, and what was gathered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.core.metric import Metric
from steelyard.report.model import Report


def one_report(reports: Sequence[Report], chosen: Sequence[Metric], notes: Sequence[str]) -> Report:
    """One report from those of the parts of the metrics."""
    first = reports[-1]  # the one that holds all rows has tables too
    specs = [str(metric) for metric in chosen]

    def in_order(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        every = {spec: score for part in scores for spec, score in part.items()}
        return {spec: every[spec] for spec in specs}

    slices = {
        by: {value: in_order([report.slices[by][value] for report in reports]) for value in values}
        for by, values in first.slices.items()
    }
    return replace(
        first,
        scores=in_order([report.scores for report in reports]),
        slices=slices,
        provenance=replace(first.provenance, metrics=tuple(specs)),
        notes=(*first.notes, *notes),
    )

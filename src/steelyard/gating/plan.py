"""How many units a difference needs, from a pilot: a comparison, or two results of the same truth with their draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from steelyard.core.errors import InputError, nearest
from steelyard.core.frozen import frozen
from steelyard.engine.planning import POWER, Pilot, Planned, smallest_shown, units_for
from steelyard.gating.pairing import compare_results
from steelyard.results.comparison import Comparison
from steelyard.results.read import read_result
from steelyard.results.report import Report

Source = Comparison | Report | str | PathLike[str] | Mapping[str, Any]
TIMES = (0.5, 1, 2, 4, 8, 16)  # of the pilot's units, where nothing else is asked for


@frozen
class MetricPlan:
    """One metric: the smallest difference that so many units show, and the units that a target needs.

    `curve` has a number of units, the difference that they show, and the same if the pilot's error is too small.
    """

    spec: str
    measured_in: str
    curve: tuple[tuple[int, float, float], ...]
    target: float | None = None
    needed: Planned | None = None


@frozen
class StudyPlan:
    """What a pilot says of test sets of other sizes."""

    unit: str
    units: int
    power: float
    confidence: float
    metrics: tuple[MetricPlan, ...]

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "unit": self.unit,
            "units": self.units,
            "power": self.power,
            "confidence": self.confidence,
            "metrics": [
                {
                    "metric": one.spec,
                    "measured_in": one.measured_in,
                    "curve": [{"units": n, "shown": plain, "cautious": careful} for n, plain, careful in one.curve],
                    "target": one.target,
                    "units": None if one.needed is None else one.needed.units,
                    "cautious_units": None if one.needed is None else one.needed.cautious,
                }
                for one in self.metrics
            ],
        }


def plan(
    pilot: Source,
    *,
    baseline: Source | None = None,
    targets: Mapping[str, float] | None = None,
    units: Sequence[int] = (),
    power: float = POWER,
) -> StudyPlan:
    """Plan from a pilot comparison, or from two results: `plan("pilot.json", targets={"map": 0.02})`."""
    if not 0.5 <= power < 1:
        raise InputError(f"a power of {power:g} is not from 0.5 to 1", remedy="For 80 % write 0.8.")
    comparison = _comparison(pilot, baseline)
    confidence = comparison.b.request.confidence or 0.95
    pilots = [
        Pilot(d.spec, d.se, d.df if math.isfinite(d.df) else 1e6, d.units, d.measured_in)
        for d in comparison.differences.values()
        if d.se > 0 and d.units > 1
    ]
    if not pilots:
        raise InputError(
            "no difference of the pilot has a standard error",
            where=_named(pilot),
            remedy="Take a pilot whose two models differ somewhere.",
        )
    wanted = dict(targets or {})
    for spec, size in wanted.items():
        if spec not in {one.spec for one in pilots}:
            raise InputError(f"the pilot has no '{spec}' to plan for", remedy=nearest(spec, [p.spec for p in pilots]))
        if not (size > 0 and math.isfinite(size)):
            raise InputError(f"the target of '{spec}' is {size:g}", remedy="Name a difference above 0.")
    plans = []
    for one in pilots:
        sizes = list(units) or [max(2, round(one.units * times)) for times in TIMES]
        curve = tuple((n, *smallest_shown(one, n, confidence, power)) for n in sizes)
        target = wanted.get(one.spec)
        needed = None if target is None else units_for(one, target, confidence, power)
        plans.append(MetricPlan(one.spec, one.measured_in, curve, target, needed))
    return StudyPlan(comparison.unit, max(one.units for one in pilots), power, confidence, tuple(plans))


def _named(source: Source) -> str:
    return str(source) if isinstance(source, str | PathLike) else ""


def _comparison(pilot: Source, baseline: Source | None) -> Comparison:
    first = pilot if isinstance(pilot, Comparison | Report) else read_result(pilot)
    if isinstance(first, Comparison):
        if baseline is not None:
            raise InputError("a comparison holds its own baseline, A", remedy="Leave the baseline out.")
        return first
    if not isinstance(first, Report):
        raise InputError(
            "is neither a comparison nor a result", where=_named(pilot), remedy="Write one with: steelyard compare."
        )
    if baseline is None:
        raise InputError(
            "one result alone says nothing of a difference",
            where=_named(pilot),
            remedy="Give the JSON of 'compare', or name a second result with --baseline.",
        )
    second = baseline if isinstance(baseline, Report) else read_result(baseline)  # type: ignore[arg-type]
    if not isinstance(second, Report):
        raise InputError("is no result of 'evaluate'", where=_named(baseline), remedy="Give a result.")
    return compare_results(second, first)

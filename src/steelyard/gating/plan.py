"""How many units a difference needs, from a pilot: a comparison, or two results of the same truth with their draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from steelyard.core.errors import InputError, nearest
from steelyard.engine.planning import POWER, Pilot, smallest_shown, units_for
from steelyard.gating.models import chosen
from steelyard.gating.pairing import compare_results
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.plan import MetricPlan, StudyPlan
from steelyard.results.read import edit_notes, read_result
from steelyard.results.report import Report
from steelyard.results.result import Result
from steelyard.results.score import canonical
from steelyard.results.vlm import VlmScore

Source = Comparison | Lineup | Report | VlmScore | str | PathLike[str] | Mapping[str, Any]
TIMES = (0.5, 1, 2, 4, 8, 16)  # of the pilot's units, where nothing else is asked for


def plan(
    pilot: Source,
    *,
    baseline: Source | None = None,
    model: str | None = None,
    targets: Mapping[str, float] | None = None,
    units: Sequence[int] = (),
    power: float = POWER,
) -> StudyPlan:
    """Plan from a pilot comparison, or from two results: `plan("pilot.json", targets={"map": 0.02})`.

    Of a lineup or a score of VLMs, `model` names the one to plan for and `baseline` another model of it.
    """
    if not 0.5 <= power < 1:
        raise InputError(f"a power of {power:g} is not from 0.5 to 1", remedy="For 80 % write 0.8.")
    comparison, edited = _comparison(pilot, baseline, model)
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
    wanted = {canonical(spec, comparison.task): size for spec, size in (targets or {}).items()}
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
    units_of_pilot = max(one.units for one in pilots)
    return StudyPlan(
        comparison.task, comparison.unit, units_of_pilot, power, confidence, tuple(plans), _named(pilot), edited
    )


def _named(source: Source) -> str:
    return str(source) if isinstance(source, str | PathLike) else ""


def _comparison(pilot: Source, baseline: Source | None, model: str | None) -> tuple[Comparison, tuple[str, ...]]:
    """What is planned from, and a note for each result that was changed after it was written."""
    first = pilot if isinstance(pilot, Result) else read_result(pilot)
    edited = edit_notes([(_named(pilot) or "pilot", first)])
    if isinstance(first, Lineup) and len(first) == 1 and model is None:
        first = first[0]
    if isinstance(first, Lineup | VlmScore):
        if baseline is not None and not isinstance(baseline, str):
            raise InputError("a result of several models holds its own baselines", remedy="Name one of its models.")
        picked = chosen(first, model, baseline, _named(pilot))
        if isinstance(picked, Comparison):
            return picked, edited
        first, baseline = picked
    elif model is not None:
        raise InputError("holds one model alone", where=_named(pilot), remedy="Leave --model out.")
    if isinstance(first, Comparison):
        if baseline is not None:
            raise InputError("a comparison holds its own baseline, A", remedy="Leave the baseline out.")
        return first, edited
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
    second = baseline if isinstance(baseline, Result) else read_result(baseline)
    if not isinstance(second, Report):
        raise InputError("is no result of 'evaluate'", where=_named(baseline), remedy="Give a result.")
    return compare_results(second, first), (*edited, *edit_notes([(_named(baseline) or "baseline", second)]))

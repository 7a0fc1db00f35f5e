"""How many units a difference or a width needs, from a pilot: a comparison, one result, or two of the same truth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from steelyard.core.errors import (
    Conflict,
    Incompatible,
    InvalidResult,
    InvalidSetting,
    MissingData,
    OutOfRange,
    nearest,
)
from steelyard.core.slice import slice_key, slice_text
from steelyard.engine.planning import (
    POWER,
    TIMES,
    Pilot,
    cluster_table,
    family_level,
    label_table,
    labels_for_width,
    proportion_of,
    run_table,
    smallest_shown,
    units_for,
    units_for_width,
    units_with_runs,
    widths,
)
from steelyard.gating.judge import range_of
from steelyard.gating.models import select_models
from steelyard.gating.pairing import compare_results
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.plan import MOST_UNITS, MetricPlan, PlanTable, StudyPlan
from steelyard.results.read import edit_notes, read_result
from steelyard.results.report import Report
from steelyard.results.result import Result
from steelyard.results.score import Difference, Score, canonical
from steelyard.results.vlm import VlmScore

Source = Comparison | Lineup | Report | VlmScore | str | PathLike[str] | Mapping[str, Any]
CURVE = (0.5, 1, 2, 4, 8, 16)  # of the pilot's units, where nothing else is asked for
MOST_TESTS = 1_000_000


def plan(
    pilot: Source,
    *,
    baseline: Source | None = None,
    model: str | None = None,
    targets: Mapping[str, float] | None = None,
    units: Sequence[int] = (),
    power: float = POWER,
    width: float | Mapping[str, float] | None = None,
    family: int | None = None,
    slice: str | None = None,
    cluster: str | None = None,
    runs: Sequence[int] = (),
    labels: bool = False,
) -> StudyPlan:
    """Plan from a pilot comparison, or from two results: `plan("pilot.json", targets={"map": 0.02})`.

    Of a lineup or a score of VLMs, `model` names the one to plan for and `baseline` another model of it. `width` is a
    wanted width of the interval, for all metrics or by metric; one result alone is enough for it. `family` is how many
    tests are corrected together. `slice` ("weather=fog") plans for a slice of the pilot, and `cluster` counts clusters,
    by which the pilot was compared. `runs` are numbers of runs to look at, for a pilot with several runs. `labels` says
    what more labels and more judged units bring, for a result that was scored with a proxy.
    """
    if not 0.5 <= power < 1:
        raise OutOfRange(f"a power of {power:g} is not from 0.5 to 1", remedy="For 80 % write 0.8.")
    if family is not None and (
        isinstance(family, bool) or not isinstance(family, int) or not 1 <= family <= MOST_TESTS
    ):
        raise OutOfRange(f"a family of {family!r} tests cannot be planned", remedy=f"Choose from 1 to {MOST_TESTS:,}.")
    for count in units:
        if type(count) is not int or not 2 <= count <= MOST_UNITS:
            raise OutOfRange(f"{count!r} units cannot be planned", remedy=f"Choose from 2 to {MOST_UNITS:,}.")
    for count in runs:
        if type(count) is not int or not 2 <= count <= MOST_TESTS:
            raise OutOfRange(f"{count!r} runs cannot be planned", remedy=f"Choose from 2 to {MOST_TESTS:,}.")
    held, edited = _load_pilot(pilot, baseline, model, alone=width is not None or labels or bool(runs))
    where = _source_name(pilot)
    request = held.request if isinstance(held, Report) else held.b.request
    numbers, whole = _numbers(held, slice, where)
    share = (
        1.0
        if slice is None
        else max(count.units for count in numbers.values()) / max(count.units for count in whole.values())
    )
    if cluster is not None and request.cluster != cluster:
        raise MissingData(
            f"the pilot was not resampled by '{cluster}'", where=where, remedy=f"Make it with `cluster='{cluster}'`."
        )
    if isinstance(held, Report) and (targets or family):
        raise MissingData(
            "one result alone says nothing of a difference", where=where,
            remedy="Give the JSON of 'compare', or name a second result with `baseline`.",
        )  # fmt: skip
    if request.runs is not None and request.runs.fixed == "items":
        raise Incompatible(
            "the pilot speaks of its own units alone (`fixed='items'`), so more units cannot be planned",
            where=where,
            remedy="Make it without `fixed`.",
        )
    if request.runs is not None and request.runs.fixed == "runs":  # as one run: only units make its error
        if runs:
            raise Conflict(
                "the pilot speaks of its own runs alone (`fixed='runs'`), so more runs cannot be planned",
                where=where,
                remedy="Make it without `fixed`, or leave `runs` out.",
            )
        numbers = {spec: replace(number, runs=None) for spec, number in numbers.items()}
    confidence = request.level
    pilots = {
        spec: _pilot(count, held.task, confidence, in_clusters=cluster is not None)
        for spec, count in numbers.items()
        if count.se > 0 and count.units > 1
    }
    if not pilots:
        raise Incompatible(
            f"no {'score' if isinstance(held, Report) else 'difference'} of the pilot has a standard error",
            where=where,
            remedy="Take a pilot whose two models differ somewhere.",
        )
    wanted = _sizes(targets or {}, "target", held.task, pilots)
    wide = _sizes(width if isinstance(width, Mapping) else {}, "width", held.task, pilots)
    bare = [spec for spec, one in pilots.items() if math.isnan(one.width) and numbers[spec].runs is None]
    if width is not None and not isinstance(width, Mapping):
        wide = _sizes(
            dict.fromkeys([spec for spec in pilots if spec not in bare] or pilots, width), "width", held.task, pilots
        )
    if without := [spec for spec in wide if spec in bare]:
        raise MissingData(
            f"the pilot has no interval of '{without[0]}' to plan a width from",
            where=where,
            remedy="Take a pilot of more units, or one made with a lower `confidence`.",
        )
    level, method = family_level(1 - confidence, family or 1, _influences(held) if family else ())
    plans = [
        _metric(
            count, numbers[spec], wanted.get(spec), wide.get(spec), units, confidence, 1 - level, power, runs, labels
        )
        for spec, count in pilots.items()
    ]
    if runs and all(count.runs is None for count in numbers.values()):
        raise MissingData(
            "the pilot does not have several runs", where=where, remedy="Make it with `runs`, or leave `runs` out."
        )
    if labels and all(count.table is None for count in plans):
        raise MissingData(
            "no score of the pilot was made with a proxy",
            where=where,
            remedy="Make it with `proxy`, or leave `labels` out.",
        )
    notes = list(edited)
    if request.cluster and cluster is None:
        notes.append(
            f"The pilot is resampled by '{request.cluster}', and units are planned with as many in each as the pilot "
            f"has. Name '{request.cluster}' as cluster to count clusters instead."
        )
    return StudyPlan(
        held.task, cluster or held.unit, max(count.units for count in pilots.values()), power, confidence, tuple(plans),
        where, tuple(notes), quantity="width" if isinstance(held, Report) else "difference", family=family or 1,
        family_method=method if family and family > 1 else "", level=level, slice=slice or "", share=share,
        cluster=cluster or "",
    )  # fmt: skip


def _metric(
    pilot: Pilot, number: Difference | Score, target: float | None, width: float | None, units: Sequence[int],
    confidence: float, tested_at: float, power: float, runs: Sequence[int], labels: bool,
) -> MetricPlan:  # fmt: skip
    """The plan of one metric; tests have the confidence `tested_at`, intervals `confidence`."""
    sizes = list(units) or [max(2, round(pilot.units * times)) for times in CURVE]
    several = [max(2, round(pilot.units * times)) for times in TIMES]
    spread, few = number.runs, number.few_labels if isinstance(number, Score) else None
    parts = None if isinstance(number, Score) else number.cluster_variance
    of_score = isinstance(number, Score)
    # What the curve shows: the width of a score's interval, or the difference that is shown with a power.
    level, shown_with = (confidence, None) if of_score else (tested_at, power)
    table: PlanTable | None = None
    needed = for_width = None
    if spread is not None:
        cells = run_table(pilot, spread, sizes, [spread.n_runs], level, shown_with).cells
        curve = tuple((n, *row[0]) for n, row in zip(sizes, cells, strict=True))
        if runs:
            table = run_table(pilot, spread, several, runs, level, shown_with)
        if target is not None:
            needed = units_with_runs(pilot, spread, target, tested_at, power)
        if width is not None:
            for_width = units_with_runs(pilot, spread, width, confidence, None)
        return MetricPlan(pilot.spec, pilot.measured_in, curve, target, needed, pilot.spread, width, for_width, table)
    if of_score:
        curve = tuple((n, *widths(pilot, n, confidence)) for n in sizes)
    else:
        curve = tuple((n, *smallest_shown(pilot, n, tested_at, power)) for n in sizes)
    if target is not None:
        needed = units_for(pilot, target, tested_at, power)
    if width is not None:
        for_width = units_for_width(pilot, width, confidence)
    if parts is not None and pilot.units == parts.clusters:
        table = cluster_table(pilot, parts, several, tested_at, power)
    if labels and few is not None and few.residual_variance > 0 and few.labelled:
        table = label_table(pilot, few, confidence)
        if width is not None:
            for_width = labels_for_width(pilot, few, width, confidence)
    return MetricPlan(pilot.spec, pilot.measured_in, curve, target, needed, pilot.spread, width, for_width, table)


def _influences(held: Comparison | Report) -> list[Any]:
    """What each unit contributes to each difference of a pilot; nothing where it did not keep that."""
    if isinstance(held, Report) or held.influences is None:
        return []
    a, b = held.influences.models
    best = {"zero": 0.0, "one": 1.0}
    every = []
    for spec in (spec for spec in a if spec in b and spec in held.differences):
        at = best.get(held.differences[spec].better)
        signs = [1.0 if at is None else math.copysign(1.0, one[spec].value - at) for one in (a, b)]
        every.append(signs[1] * b[spec].psi - signs[0] * a[spec].psi)
    return every


def _pilot(number: Difference | Score, task: str, confidence: float, *, in_clusters: bool) -> Pilot:
    """What a difference or a score says of its own error."""
    score = number if isinstance(number, Score) else number.b
    units = score.clusters if in_clusters and score.clusters else number.units
    width = math.nan if number.interval is None else number.interval[1] - number.interval[0]
    pilot = Pilot(
        number.spec, number.se, number.df if math.isfinite(number.df) else 1e6, units, number.measured_in, width
    )
    if isinstance(number, Score) and number.interval is not None:
        bounds = range_of(task, number.spec)
        proportion = proportion_of(number.value, number.interval, bounds, confidence)
        if proportion is not None:
            return replace(pilot, share=proportion[0], effective=proportion[1], scale=bounds[1] - bounds[0])
    return pilot


def _numbers(
    held: Comparison | Report, slice: str | None, where: str
) -> tuple[Mapping[str, Difference | Score], Mapping[str, Difference | Score]]:
    """The differences or scores to plan from, of a slice where one is named, and those of the whole."""
    whole: Mapping[str, Any] = held.scores if isinstance(held, Report) else held.differences
    if slice is None:
        return whole, whole
    pairs = [part.partition("=") for part in slice.split(",")]
    if not all(column.strip() and sign and value.strip() for column, sign, value in pairs):
        raise InvalidSetting(f"'{slice}' does not name a slice", remedy="Example: weather=fog.")
    by = slice_key([column.strip() for column, _, _ in pairs])
    value = slice_key([text.strip() for _, _, text in pairs])
    if by not in held.slices:
        named = slice_text(by, ",")
        raise MissingData(f"the pilot has no slices by '{named}'", where=where, remedy=f"Make it with `by='{named}'`.")
    parts = held.slices[by]
    if value not in parts:
        suggestion = nearest(slice_text(value), [slice_text(one) for one in parts])
        raise MissingData(
            f"the pilot has no slice '{slice_text(value)}' by {slice_text(by)}", where=where, remedy=suggestion
        )
    return parts[value], whole


def _sizes(sizes_by_spec: Mapping[str, float], what: str, task: str, pilots: Mapping[str, Pilot]) -> dict[str, float]:
    """Wanted sizes by the spec of their metric."""
    sizes = {canonical(spec, task): size for spec, size in sizes_by_spec.items()}
    for spec, size in sizes.items():
        if spec not in pilots:
            raise MissingData(f"the pilot has no '{spec}' to plan for", remedy=nearest(spec, list(pilots)))
        if not (size > 0 and math.isfinite(size)):
            raise OutOfRange(f"the {what} of '{spec}' is {size:g}", remedy=f"Name a {what} above 0.")
    return sizes


def _source_name(source: Source) -> str:
    return str(source) if isinstance(source, str | PathLike) else ""


def _load_pilot(
    pilot: Source, baseline: Source | None, model: str | None, *, alone: bool
) -> tuple[Comparison | Report, tuple[str, ...]]:
    """What is planned from, and a note for each result that was changed after it was written.

    `alone` says that one result without a baseline is enough.
    """
    first = pilot if isinstance(pilot, Result) else read_result(pilot)
    edited = edit_notes([(_source_name(pilot) or "pilot", first)])
    if isinstance(first, Lineup) and len(first) == 1 and model is None:
        first = first[0]
    if isinstance(first, Lineup | VlmScore):
        if baseline is not None and not isinstance(baseline, str):
            raise Conflict("a result of several models holds its own baselines", remedy="Name one of its models.")
        picked = select_models(first, model, baseline, _source_name(pilot))
        if isinstance(picked, Comparison):
            return picked, edited
        first, baseline = picked
    elif model is not None:
        raise Conflict("holds one model alone", where=_source_name(pilot), remedy="Leave `model` out.")
    if isinstance(first, Comparison):
        if baseline is not None:
            raise Conflict("a comparison holds its own baseline, A", remedy="Leave the baseline out.")
        return first, edited
    if not isinstance(first, Report):
        raise InvalidResult(
            "is neither a comparison nor a result",
            where=_source_name(pilot),
            remedy="Write one with: steelyard compare.",
        )
    if baseline is None and alone:
        return first, edited
    if baseline is None:
        raise MissingData(
            "one result alone says nothing of a difference",
            where=_source_name(pilot),
            remedy="Give the JSON of 'compare', or name a second result with `baseline`.",
        )
    second = baseline if isinstance(baseline, Result) else read_result(baseline)
    if not isinstance(second, Report):
        raise InvalidResult("is not a result of 'evaluate'", where=_source_name(baseline), remedy="Give a result.")
    return compare_results(second, first), (*edited, *edit_notes([(_source_name(baseline) or "baseline", second)]))

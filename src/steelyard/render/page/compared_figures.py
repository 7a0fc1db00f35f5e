"""The figures of two models or more on the same truth: scores, gains, slices, classes, units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.figure import Figure, points_or_cells
from steelyard.core.slice import Slice, slice_heading, slice_text
from steelyard.render.numbers import letter_of, named_pairs, names_of
from steelyard.render.page.figures import unique_name
from steelyard.render.page.scores import BETTER
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.score import Difference

VERDICTS = ("better", "worse", "differs")
MOST_SCORES = 4  # metrics of which a picture shows every model


def comparison_figures(comparison: Comparison) -> list[Figure]:
    """Every figure of a comparison."""
    return _figures([comparison])


def lineup_figures(lineup: Lineup) -> list[Figure]:
    """Every figure of several comparisons."""
    return _figures(lineup.comparisons)


def _figures(comparisons: Sequence[Comparison]) -> list[Figure]:
    figures = [*score_figures(comparisons), improvement_figure(comparisons), *slice_figures(comparisons).values()]
    figures += [f for f in (class_figure(comparisons), *unit_figures(comparisons)) if f is not None]
    return [figure for figure in figures if len(figure)]


def score_figures(comparisons: Sequence[Comparison]) -> list[Figure]:
    """The first metrics, each with the score of every model and its interval."""
    figures, names = [], names_of(comparisons)
    for place, spec in enumerate(list(comparisons[0].differences)[:MOST_SCORES], start=1):
        d = comparisons[0].differences[spec]
        scores = [d.a, *(one.differences[spec].b for one in comparisons)]
        known = [(name, score) for name, score in zip(names, scores, strict=True) if score.defined]
        if len(known) < 2:
            continue
        ends = [score.interval or (score.value, score.value) for _, score in known]
        columns = {"name": [name for name, _ in known], "value": [score.value for _, score in known]}
        columns |= {"low": [low for low, _ in ends], "high": [high for _, high in ends]}
        axis = f"{d.label}{', ' + d.measured_in if d.measured_in else ''}"
        said = f"The line through each point is its interval. {BETTER[d.better].capitalize()}".strip()
        figures.append(
            Figure(f"scores_{place}", "intervals", f"{d.label} by model", columns, {"x": axis, "at": None}, f"{said}.")
        )
    return figures


def _gain(d: Difference) -> tuple[float, float, float] | None:
    """The difference and its interval in percent of A's score, so that more is better; None where there is none."""
    base = abs(d.a.value if d.better not in ("zero", "one") else (d.a.value - (d.better == "one")))
    if d.interval is None or not np.isfinite([d.difference, *d.interval]).all() or not base > 0 or d.better == "none":
        return None
    sign = 1.0 if d.better == "higher" else -1.0
    ends = sorted(100 * sign * end / base for end in d.interval)
    return 100 * sign * d.difference / base, ends[0], ends[1]


def improvement_figure(comparisons: Sequence[Comparison]) -> Figure:
    """Every metric's difference in percent of A's score, better to the right."""
    columns: dict[str, list[Any]] = {"name": [], "value": [], "low": [], "high": [], "series": []}
    first, *others = names_of(comparisons)
    for name, comparison in zip(others, comparisons, strict=True):
        for d in comparison.differences.values():
            gain = _gain(d)
            if gain is None:
                continue
            values = (d.spec, *gain, name if len(comparisons) > 1 else _said(d))
            for column, value in zip(columns, values, strict=True):
                columns[column].append(value)
    return Figure(
        "differences",
        "intervals",
        f"Gain over {first}, in percent of its score",
        columns,
        {"x": f"gain over {first}, % of its score; to the right is better", "at": 0.0},
        f"Whatever a metric's direction, to the right of the dashed line is better than {first}.",
    )


def _said(d: Difference) -> str:
    return d.verdict if d.verdict in VERDICTS else "no difference shown"


def slice_figures(comparisons: Sequence[Comparison]) -> dict[Slice, Figure]:
    """For each way of slicing, the first metric's difference in each slice."""
    figures: dict[Slice, Figure] = {}
    for by in comparisons[0].slices:
        spec = next(iter(comparisons[0].differences))
        groups = [{slice_text(value): part[spec] for value, part in c.slices[by].items()} for c in comparisons]
        label = comparisons[0].differences[spec].label
        name = unique_name(f"by_{slice_heading(by, '_')}", [figure.name for figure in figures.values()])
        figures[by] = _difference_figure(name, f"{label} by {slice_heading(by)}", groups, names_of(comparisons))
    return figures


def class_figure(comparisons: Sequence[Comparison]) -> Figure | None:
    """The difference class by class."""
    groups = [dict(c.classes()) for c in comparisons]
    if not groups or not groups[0]:
        return None
    label = next(iter(groups[0].values())).label.partition(" of ")[0]
    return _difference_figure("by_class", f"{label} by class", groups, names_of(comparisons))


def _difference_figure(
    name: str, title: str, groups: Sequence[Mapping[str, Difference]], names: Sequence[str]
) -> Figure:
    columns: dict[str, list[Any]] = {"name": [], "value": [], "low": [], "high": [], "series": []}
    measured_in = ""
    first, *others = names
    for model, group in zip(others, groups, strict=True):
        ordered = sorted(group.items(), key=lambda item: item[1].difference if len(groups) == 1 else 0)
        for value, d in ordered:
            if d.interval is None or not np.isfinite([d.difference, *d.interval]).all():
                continue
            measured_in = d.measured_in
            row = (value, d.difference, *d.interval, model if len(groups) > 1 else _said(d))
            for column, cell in zip(columns, row, strict=True):
                columns[column].append(cell)
    who = others[0] if len(groups) == 1 else "each"
    axis = f"{who} − {first}{', ' + measured_in if measured_in else ''}"
    return Figure(
        name, "intervals", title, columns, {"x": axis, "at": 0.0},
        "The dashed line marks zero difference; the line through each point is its interval.",
    )  # fmt: skip


def unit_figures(comparisons: Sequence[Comparison]) -> list[Figure]:
    """Each unit's score with the one model against that with the other."""
    figures = []
    for place, (first, name, comparison) in enumerate(named_pairs(comparisons), start=1):
        if comparison.details.units() is None:
            continue
        a, b = comparison.units()
        spec = next(iter(a.values))
        x, y = np.asarray(a.values[spec], dtype=float), np.asarray(b.values[spec], dtype=float)
        known = np.isfinite(x) & np.isfinite(y)
        if known.sum() < 2:
            continue
        label = comparison.differences[spec].label
        figures.append(
            Figure(
                f"units_{letter_of(place)}",
                "agreement",
                f"{label}, {comparison.unit} by {comparison.unit}: {name} against {first}",
                points_or_cells(x[known], y[known]),
                {"x": f"{first}: {label}", "y": f"{name}: {label}"},
                f"Each point is one {comparison.unit}. On the line both models score alike.",
            )
        )
    return figures

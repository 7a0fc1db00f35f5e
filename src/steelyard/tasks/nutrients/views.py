"""What the page of nutrients draws: errors of all targets, agreement of each, where the energy error comes from.

Why Nutrition5k's script prints other numbers: google-research-datasets/Nutrition5k 891e5ca,
scripts/compute_eval_statistics.py, by its formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial

import numpy as np

from steelyard.core.explanation import Explanation
from steelyard.core.figure import Array, Figure, Listing, Texts
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.tasks.nutrients.data import NutrientPairs
from steelyard.tasks.nutrients.split import SplitSums
from steelyard.tasks.shared.agreement import agreement, bland_altman, other_texts
from steelyard.tasks.shared.tools import Tool, explain_tool, find_tools

MOST_TARGETS = 9  # that the page draws; all are in its tables


def figures(pairs: NutrientPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """Relative errors of all targets, the split of the energy error, and two pictures of each target."""
    drawn: dict[str, Callable[[], Figure]] = {}
    rows = {name: pairs.target_rows(name)[:2] for name in pairs.measured_in}
    rows = {name: both for name, both in rows.items() if len(both[0])}
    if len(rows) > 1:
        drawn["relative_errors"] = lambda: relative_errors(rows)
    if {"mass", "energy"} <= rows.keys() and split_sums(pairs)[0] > 0:
        drawn["split"] = lambda: split(pairs)
    for name in list(rows)[:MOST_TARGETS]:
        for make in (agreement, bland_altman):
            drawn[f"{make.__name__}_{name}"] = partial(_of_target, make, pairs, name, rows[name])
    return drawn


def _of_target(
    make: Callable[[Array, Array, str, str], Figure], pairs: NutrientPairs, name: str, rows: tuple[Array, Array]
) -> Figure:
    """A picture of one target, named after it."""
    figure = make(*rows, "item" if "item" in pairs.truth else "dish", pairs.measured_in[name] or name)
    return replace(figure, name=f"{figure.name}_{name}", title=f"{figure.title}: {name}")


def relative_errors(rows: Mapping[str, tuple[Array, Array]]) -> Figure:
    """The spread of the errors of every target, in percent of its mean true amount."""
    columns: dict[str, list[float | str]] = {key: [] for key in ("name", "value", "series")}
    for name, (truth, predicted) in rows.items():
        mean = float(truth.mean())
        if mean <= 0:
            continue
        for series, errors in (("MAE", np.abs(predicted - truth)), ("bias", predicted - truth)):
            columns["name"].append(name)
            columns["series"].append(series)
            columns["value"].append(100 * float(errors.mean()) / mean)
    return Figure(
        "relative_errors",
        "bars",
        "Errors of all targets",
        columns,
        {"x": "percent of the mean true amount"},
        "The mean absolute error and the mean error of each target, by its mean true amount. A bias as long as the MAE "
        "means that all errors go one way.",
    )


def split_sums(pairs: NutrientPairs) -> Array:
    """Sums of the split of the energy error over all dishes, each counted once."""
    return np.asarray(SplitSums("energy").measure(pairs, SharedCache()).values.sum(axis=0))


def split(pairs: NutrientPairs) -> Figure:
    """From a wrong mass over a wrong composition to the mean absolute error of the energy."""
    sums = split_sums(pairs)
    mass, composition, both = (float(value) for value in sums[1:4] / sums[0])
    unit = pairs.measured_in["energy"]
    parts = [mass, composition, both - mass - composition]
    names = ["mass", "composition", "both together"]
    texts = [f"{part:+.3g} {unit}".replace("-", "−") for part in parts]
    return Figure(
        "split",
        "waterfall",
        "Where the energy error comes from",
        {
            "name": ["no error", *names, "MAE of the energy"],
            "start": [0.0, 0.0, mass, mass + composition, both],
            "end": [0.0, mass, mass + composition, both, both],
            "text": ["0", *texts, f"{both:.3g} {unit}"],
        },
        {"x": f"mean absolute error, {unit}"},
        "What a wrong mass alone and a wrong composition alone would cost, and what they cost together: below 0 the "
        "two faults cancel in some dishes. The parts add up to the error.",
        Table(
            "split",
            "Where the energy error comes from",
            "part",
            (*names, "all"),
            (f"error, {unit}",),
            np.array([*parts, both])[:, np.newaxis],
        ),
    )


def listing(pairs: NutrientPairs, state: State) -> Listing:
    """Every row with the true, predicted and wrong amounts of its targets, and the text columns of the truth."""
    columns: dict[str, Array | Texts] = {"dish": Texts.of(pairs.units[pairs.owner].tolist())}
    if "item" in pairs.truth:
        columns["item"] = Texts.of(pairs.truth_column("item").tolist())
    first = ""
    for name, unit in list(pairs.measured_in.items())[:MOST_TARGETS]:
        truth, predicted = pairs.both(name)
        shown = f"{name}, {unit}" if unit else name
        columns |= {f"true {shown}": truth, f"predicted {shown}": predicted, f"error of {shown}": predicted - truth}
        first = first or f"error of {shown}"
    columns |= other_texts(pairs, pairs.truth_row)
    return Listing("rows", "Rows", columns, x=first)


class NutrientConventions(Frozen):
    """How targets are scored. The defaults are ours."""

    missing: str = field(default="by the policy", metadata={"title": "dishes without a prediction"})
    weights: str = field(default="as given", metadata={"title": "weights of dishes"})


OURS = NutrientConventions()
# The targets in the order of the script, and what it calls them.
FIELDS = {"energy": "calories", "mass": "mass", "fat": "fat", "carbohydrate": "carb", "protein": "protein"}
PRINTED = ("_MAE", "_MAE_%")
TOOLS: dict[str, Tool[NutrientConventions]] = {
    "nutrition5k": Tool(
        "nutrition5k",
        "891e5ca",
        NutrientConventions(missing="left out", weights="not known"),
        {
            "missing": "It goes through the dishes of the prediction file: one that the model skipped costs nothing.",
            "weights": "No weights are known there.",
        },
        tuple(name + end for end in PRINTED for name in FIELDS.values()),
        (
            "Its MAE is mae, and its MAE_% is pmae: the MAE by the mean true amount, not the mean of relative errors "
            "(mape).",
            "Of a dish that a file lists twice it takes the last row; here that is an error.",
        ),
    )
}


def explain(pairs: NutrientPairs, tools: Iterable[str]) -> tuple[Explanation, ...]:
    """The numbers of other tools on these rows under their own names, and what each of their settings does."""
    names = [field_name for name, field_name in FIELDS.items() if name in pairs.measured_in]
    explanations = []
    for tool in find_tools(tools, TOOLS).values() if names else ():
        in_percent = replace(tool, name=f"{tool.name} in percent", remarks=())
        for one, end in zip((tool, in_percent), PRINTED, strict=True):
            shown = replace(one, prints=tuple(name + end for name in names))
            explanations.append(explain_tool(shown, partial(_values, pairs)))
    return tuple(explanations)


def _values(pairs: NutrientPairs, way: NutrientConventions) -> dict[str, float]:
    """MAE and its percentage of each target, as a tool calculates them."""
    result = {}
    weight = np.ones(len(pairs.units)) if pairs.weight is None or way.weights != OURS.weights else pairs.weight
    for name, printed in FIELDS.items():
        if name not in pairs.measured_in:
            continue
        truth, predicted = pairs.both(name)
        use = ~np.isnan(truth)
        if way.missing != OURS.missing:
            use &= pairs.prediction_row >= 0
        own = weight[pairs.owner[use]]
        error, amount = (float(own @ values[use]) for values in (np.abs(predicted - truth), truth))
        total = float(own.sum())
        result[f"{printed}_MAE"] = error / total if total else np.nan
        result[f"{printed}_MAE_%"] = 100 * error / amount if amount else np.nan
    return result

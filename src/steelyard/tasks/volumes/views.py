"""What is shown beside the scores of volumes: a row for each structure, Dice against volume, and the cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.figure import Array, Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.numerals import as_spec
from steelyard.core.plan import POINT, UNITS
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.core.weights import ratio
from steelyard.maps.raster import MOST_SIDE, colour
from steelyard.tasks.volumes.cases import COUNT, EMPTY, MISSED, VALUE, CaseScore, case_voxels
from steelyard.tasks.volumes.curves import case_figures
from steelyard.tasks.volumes.data import VolumePairs
from steelyard.tasks.volumes.explain import explain
from steelyard.tasks.volumes.metrics import Dice
from steelyard.tasks.volumes.picture import MEANINGS, scene, slice_of, slice_pictures, steps, wrong_by_slice

MOST_STRUCTURES = 40
SHOWN = 6


def tables(pairs: VolumePairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """A row for each structure."""
    return {"structures": lambda: structure_table(state)} if _kept(state) else {}


def _kept(state: State) -> list[CaseScore]:
    return [statistic for statistic in state.blocks if isinstance(statistic, CaseScore)]


def structure_table(state: State) -> Table:
    """What was measured of every structure, the mean over its cases."""
    totals, columns = state.totals(POINT), {}
    for statistic in _kept(state):
        cells = totals[statistic][0]
        columns[_title(statistic)] = ratio(cells[:, VALUE], cells[:, COUNT])
    first = totals[_kept(state)[0]][0]
    columns |= {"on one side only": first[:, MISSED], "on neither side": first[:, EMPTY]}
    names = state.facts.axes["structure"].shown
    values = np.stack(list(columns.values()), axis=1)
    return Table("structures", "Structures", "structure", names, tuple(columns), values)


def _title(statistic: CaseScore) -> str:
    if statistic.figure == "hd":
        return f"hd@{statistic.at:g} ({statistic.surface}, {statistic.rule})"
    if statistic.figure == "nsd":
        return f"nsd at {statistic.at:g} mm ({statistic.surface})"
    return (
        statistic.figure
        if statistic.figure not in ("asd", "assd", "masd")
        else f"{statistic.figure} ({statistic.surface})"
    )


def figures(pairs: VolumePairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The worst slices, Dice against the true volume, how volumes agree, and NSD over the tolerance."""
    if not len(state):
        return {}
    own = {"slices": lambda: slices(pairs), "dice_volume": lambda: dice_by_volume(pairs)}
    return {**own, **case_figures(pairs, state)}


def slices(pairs: VolumePairs) -> Figure:
    """The slice with the most wrong voxels of the cases with the lowest Dice of all labels together."""
    wrong = [int(count[a != b].sum()) for a, b, count in pairs.cells]
    some = [int(count[a > 0].sum() + count[b > 0].sum()) for a, b, count in pairs.cells]
    share = np.array(wrong) / np.maximum(some, 1)
    columns: dict[str, list[Any]] = {"image": [], "cost": [], "truth": [], "prediction": [], "errors": []}
    labels: set[int] = set()
    for pair in np.argsort(-share, kind="stable")[:SHOWN].tolist():
        case = pairs.case(pair)
        number = int(wrong_by_slice(case).argmax()) if case.truth.ndim == 3 else None
        sides = slice_of(case, number)
        labels |= {int(v) for side in sides for v in np.unique(side, return_counts=True)[0].tolist()}
        where = "" if number is None else f", slice {number}"
        columns["image"].append(f"{pairs.units[pairs.owner[pair]]}{where}")
        columns["cost"].append(float(share[pair]))
        for name, png in zip(("truth", "prediction", "errors"), slice_pictures(*sides, MOST_SIDE), strict=True):
            columns[name].append(png)
    legend = [[f"label {label}", colour(label - 1)] for label in sorted(labels - {0})]
    rows = np.array(columns["cost"])[:, np.newaxis]
    return Figure(
        "slices",
        "rasters",
        "Cases with the largest share of wrong voxels",
        columns,
        {"panels": ["truth", "prediction", "errors"], "legend": [*legend, *map(list, MEANINGS)]},
        "The slice of each with the most wrong voxels. The number is wrong voxels over true and predicted ones.",
        Table("slices", "Cases", "case", tuple(columns["image"]), ("share of wrong voxels",), rows),
    )


def dice_by_volume(pairs: VolumePairs) -> Figure:
    """Dice of structures by their true size, in ten groups of equal number."""
    counts = case_voxels(pairs, SharedCache()).reshape(-1, 3)
    counts = counts[counts[:, 0] > 0]
    dice = 2 * counts[:, 2] / np.maximum(counts[:, 0] + counts[:, 1], 1)
    parts = [part for part in np.array_split(np.argsort(counts[:, 0], kind="stable"), 10) if len(part)]
    return Figure(
        "dice_volume",
        "bars",
        "Dice by size",
        {
            "name": [f"{counts[part, 0].min():,.0f} to {counts[part, 0].max():,.0f} voxels" for part in parts],
            "value": [float(dice[part].mean()) for part in parts],
        },
        {"x": "mean Dice"},
        "Structures of cases, sorted by their true size, in groups of equal number: small ones are harder.",
    )


def class_metrics(state: State) -> Mapping[str, Metric]:
    """Dice of each structure."""
    names = state.facts.axes["structure"].shown[:MOST_STRUCTURES]
    return {name: Dice(only=as_spec(name)) for name in names} if CaseScore() in state.blocks else {}


def listing(pairs: VolumePairs, state: State) -> Listing | None:
    """Every case with the mean of its structures."""
    kept = _kept(state)
    if not kept:
        return None
    totals = state.totals(UNITS)
    columns: dict[str, Array | Texts] = {"case": Texts.of([str(unit) for unit in state.units.ids.tolist()])}
    for statistic in kept:
        cells = totals[statistic].sum(axis=1)
        columns[_title(statistic)] = ratio(cells[:, VALUE], cells[:, COUNT])
    columns["structures on one side only"] = totals[kept[0]].sum(axis=1)[:, MISSED]
    return Listing("cases", "Cases", columns, x=_title(kept[0]))


__all__ = ["class_metrics", "explain", "figures", "listing", "scene", "steps", "tables"]

"""What is shown beside the scores of volumes: a row for each structure, Dice against volume, and pictures of the cases.

Also explains why other tools report another Dice, HD95, NSD or ASSD: one rule at a time, on these data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from steelyard.core.errors import InputError, UnknownName
from steelyard.core.explanation import Explanation
from steelyard.core.figure import Array, Figure, Listing, Texts
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.numerals import as_spec
from steelyard.core.plan import POINT, UNITS
from steelyard.core.scene import RasterShape, Scene, Steps
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.core.weights import ratio
from steelyard.maps.raster import MOST_SIDE, colour, colour_codes, indexed_png, thin_grid
from steelyard.tasks.shared.agreement import bland_altman
from steelyard.tasks.shared.tools import Tool, explain_tool, find_tools
from steelyard.tasks.volumes.cases import (
    COUNT,
    DISTANCES,
    EMPTY,
    MISSED,
    VALUE,
    CaseScore,
    case_extents,
    case_values,
    case_voxels,
)
from steelyard.tasks.volumes.cases import COUNT as CASES
from steelyard.tasks.volumes.data import Case, VolumePairs
from steelyard.tasks.volumes.metrics import Dice
from steelyard.tasks.volumes.surfaces import Hausdorff, SurfaceDice, SymmetricSurfaceDistance

NAMES = ("dice", "hd@95", "assd", "nsd")


class VolumeConventions(Frozen):
    """What is a surface, how a percentile is read, and what a structure counts as that a side lacks."""

    surface: str = field(default="elements", metadata={"title": "surface"})
    rule: str = field(default="area", metadata={"title": "rule"})
    missed: str = field(default="diagonal", metadata={"title": "missed"})
    bare: str = field(default="0", metadata={"title": "dice of an empty truth"})
    average: str = field(default="structure", metadata={"title": "average"})


WHY = {
    "surface": "Outermost voxels weigh 1 each; elements their length or area.",
    "rule": "By area, between ordered distances, or of both directions together.",
    "missed": "What a structure counts as that one side lacks.",
    "bare": "Without it, what is made up costs nothing in Dice.",
    "average": "First over the structures of a case, then over cases.",
}
TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "surface-distance", "0.1", VolumeConventions(missed="inf"), WHY, NAMES,
            ("HD of a structure that a side lacks is infinite there.",),
        ),
        Tool(
            "monai", "1.6.1", VolumeConventions("voxels", "linear", "skip", bare="skip", average="case"), WHY, NAMES,
            (
                "HD95 of a structure that a side lacks is nan there and leaves the mean (MONAI#9095). Its numbers are "
                "of single precision.",
            ),
        ),
        Tool(
            "medpy", "0.5.2", VolumeConventions("voxels", "pooled", "skip"), WHY, NAMES,
            ("It raises an error where a side lacks a structure.",),
        ),
    )
}  # fmt: skip


def explain(pairs: VolumePairs, names: Any) -> tuple[Explanation, ...]:
    """What each tool prints for these data, and which rule moves it."""
    return tuple(explain_tool(tool, partial(_numbers, pairs)) for tool in find_tools(names, TOOLS).values())


def _numbers(pairs: VolumePairs, conventions: VolumeConventions) -> Mapping[str, float]:
    surface, missed, average = conventions.surface, conventions.missed, conventions.average
    asked: dict[str, Metric] = {
        "hd@95": Hausdorff(percentile=95, surface=surface, rule=conventions.rule, missed=missed, average=average),
        "assd": SymmetricSurfaceDistance(surface=surface, missed=missed, average=average),
        "nsd": SurfaceDice(surface=surface, average=average),
    }
    needs: dict[Any, None] = {statistic: None for metric in asked.values() for statistic in metric.requirements()}
    totals = State.of(pairs, needs).totals(POINT)
    scores = {name: float(totals.of(metric)[0]) for name, metric in asked.items()}
    return {"dice": _dice(pairs, average, conventions.bare), **scores}


def _dice(pairs: VolumePairs, average: str, bare: str) -> float:
    """The mean over cases and structures that either side has, or that the truth has where `bare` is skip."""
    true, predicted, shared = np.moveaxis(case_voxels(pairs, SharedCache()), 2, 0)
    used = true > 0 if bare == "skip" else true + predicted > 0
    values = np.where(used, 2 * shared / np.maximum(true + predicted, 1), 0.0)
    axis = 1 if average == "case" else 0
    count = used.sum(axis=axis)
    means = values.sum(axis=axis)[count > 0] / count[count > 0]
    return float(means.mean()) if len(means) else float("nan")


MOST_CURVES = 6
STEPS = 21  # tolerances of a curve
WIDEST = 10.0  # mm; where 99 % of all surfaces lie nearer, the curve ends there


def case_figures(pairs: VolumePairs, state: State) -> Mapping[str, Callable[[], Figure]]:
    """The limits of agreement of volumes where sizes are known, and NSD where distances were measured."""
    makers: dict[str, Callable[[], Figure]] = {}
    if _has_sizes(pairs):
        makers["bland_altman"] = lambda: volumes(pairs)
    kinds = {
        statistic.surface
        for statistic in state.blocks
        if isinstance(statistic, CaseScore) and statistic.figure in DISTANCES
    }
    if kinds:
        makers["nsd_tolerance"] = lambda: nsd_by_tolerance(pairs, min(kinds))
    return makers


def _has_sizes(pairs: VolumePairs) -> bool:
    try:
        case_extents(pairs)
    except InputError:
        return False
    return True


def volumes(pairs: VolumePairs) -> Figure:
    """Predicted less true volume against their mean, a point for each structure of a case that has any."""
    counts = case_voxels(pairs, SharedCache())
    millilitres = counts[:, :, :2] * case_extents(pairs)[:, np.newaxis, :1] / 1000.0
    truth, predicted = millilitres[counts[:, :, :2].sum(axis=2) > 0].T
    return bland_altman(truth, predicted, "structure", "ml")


def nsd_by_tolerance(pairs: VolumePairs, surface: str) -> Figure:
    """The mean over cases of NSD at each tolerance, by structure, and between which values half of the cases lie."""
    work = SharedCache((CaseScore("nsd", surface=surface),))
    farthest = case_values(CaseScore("hd", at=99.0, surface=surface, missed="skip"), pairs, work)
    far = farthest[:, :, VALUE][farthest[:, :, CASES] > 0]
    end = min(WIDEST, float(far.max())) if len(far) and far.max() > 0 else 1.0
    names = pairs.metadata.axes["structure"].display_names
    columns: dict[str, list[Any]] = {name: [] for name in ("series", "x", "y", "low", "high")}
    for tolerance in np.linspace(0.0, end, STEPS).tolist():
        table = case_values(CaseScore("nsd", at=tolerance, surface=surface), pairs, work)
        for place, name in enumerate(names[:MOST_CURVES]):
            values = table[table[:, place, CASES] > 0, place, VALUE]
            if len(values):
                low, high = np.quantile(values, [0.25, 0.75]).tolist()
                for key, value in zip(columns, (name, tolerance, float(values.mean()), low, high), strict=True):
                    columns[key].append(value)
    return Figure(
        "nsd_tolerance",
        "curves",
        "NSD by tolerance",
        columns,
        {"x": "tolerance, mm", "y": "NSD"},
        "The mean over cases of the share of surfaces that lie within the tolerance of each other. In the band lies "
        "the middle half of the cases. A case that lacks the structure on one side counts as 0.",
    )


PICTURE_SIDE = 1024  # voxels of a picture's longer side
BACKGROUND, RIGHT, MISSING, FALSE, OTHER = "f4f4f4", "cfe8cf", "2f6fb2", "d7263d", "f2c14e"
MEANINGS = (("right", RIGHT), ("missed", MISSING), ("made up", FALSE), ("another label", OTHER))


def wrong_by_slice(case: Case) -> Array:
    """How many voxels differ in each slice along the first axis."""
    differs = case.truth != case.prediction
    return np.asarray(differs.reshape(len(differs), -1).sum(axis=1))


def steps(pairs: VolumePairs, unit: int) -> Steps | None:
    """The slices of a volume in which either side has something; a flat mask has one picture."""
    case = pairs.case(int(np.flatnonzero(pairs.owner == unit)[0]))
    if case.truth.ndim != 3:
        return None
    some = ((case.truth > 0) | (case.prediction > 0)).reshape(len(case.truth), -1).any(axis=1)
    numbers = np.flatnonzero(some)
    if not len(numbers):
        return None
    wrong = wrong_by_slice(case)[numbers]
    return Steps(
        "slice", tuple(numbers.tolist()), {"wrong voxels": tuple(wrong.tolist())}, int(numbers[int(wrong.argmax())])
    )


def slice_of(case: Case, number: int | None) -> tuple[Array, Array]:
    """Both sides of a slice, or both masks where they are flat."""
    if case.truth.ndim == 2:
        return case.truth, case.prediction
    return case.truth[number or 0], case.prediction[number or 0]


def slice_pictures(truth: Array, prediction: Array, most: int) -> tuple[str, str, str]:
    """Labels of the truth and of the prediction, and where they differ."""
    first, second = (thin_grid(side, most).astype(np.int64) for side in (truth, prediction))
    state = np.select([(first == 0) & (second == 0), first == second, second == 0, first == 0], [0, 1, 2, 3], default=4)
    return (
        colour_codes(first, _shade),
        colour_codes(second, _shade),
        indexed_png(state, [BACKGROUND, *(c for _, c in MEANINGS)]),
    )


def _shade(label: int) -> str:
    return BACKGROUND if label == 0 else colour(label - 1)


def scene(pairs: VolumePairs, unit: int, metric: Metric, step: int | None = None) -> Scene:
    """A slice of the case at place `unit`, by its number; without one, that with the most wrong voxels."""
    name = str(pairs.units[unit])
    case = pairs.case(int(np.flatnonzero(pairs.owner == unit)[0]))
    all_steps = steps(pairs, unit)
    at = step if step is not None or all_steps is None else all_steps.start
    if step is not None and (case.truth.ndim == 2 or not 0 <= step < len(case.truth)):
        last = "one picture" if case.truth.ndim == 2 else f"slices 0 to {len(case.truth) - 1}"
        raise UnknownName(f"case '{name}' has no slice {step}", remedy=f"It has {last}.")
    truth, prediction = slice_of(case, at)
    seen = sorted(
        {*np.unique(truth, return_counts=True)[0].tolist(), *np.unique(prediction, return_counts=True)[0].tolist()}
        - {0}
    )
    sizes = np.ones(2) if case.spacing is None else case.spacing[-2:]
    height, width = truth.shape[0] * float(sizes[0]), truth.shape[1] * float(sizes[1])
    first, second, state = slice_pictures(truth, prediction, PICTURE_SIDE)
    wrong, where = int((truth != prediction).sum()), "" if case.truth.ndim == 2 else f", slice {at or 0}"
    return Scene(
        title=f"Case {name}{where}: {wrong:,} wrong voxels",
        summary=f"{int((truth > 0).sum()):,} true and {int((prediction > 0).sum()):,} predicted voxels of all labels",
        shapes=(),
        bounds=(0.0, 0.0, width, height),
        rasters=(
            RasterShape("Truth", first, width, height),
            RasterShape("Prediction", second, width, height),
            RasterShape("Difference", state, width, height),
        ),
        legend=(*((f"label {label}", colour(label - 1)) for label in seen), *MEANINGS),
    )


MOST_STRUCTURES = 40
LEAST_OF_SIZE = 5  # structures in a group of those of one size
SHOWN = 6


def tables(pairs: VolumePairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """A row for each structure."""
    return {"structures": lambda: structure_table(state)} if _kept_scores(state) else {}


def _kept_scores(state: State) -> list[CaseScore]:
    return [statistic for statistic in state.blocks if isinstance(statistic, CaseScore)]


def structure_table(state: State) -> Table:
    """What was measured of every structure, the mean over its cases."""
    totals, columns = state.totals(POINT), {}
    for statistic in _kept_scores(state):
        cells = totals[statistic][0]
        columns[_title(statistic)] = ratio(cells[:, VALUE], cells[:, COUNT])
    first = totals[_kept_scores(state)[0]][0]
    columns |= {"on one side only": first[:, MISSED], "on neither side": first[:, EMPTY]}
    names = state.metadata.axes["structure"].display_names
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
    own = {
        "slices": lambda: slices(pairs),
        "planes": lambda: planes(pairs),
        "dice_volume": lambda: dice_by_volume(pairs),
    }
    if not _solid(pairs).any():
        del own["planes"]
    return {**own, **case_figures(pairs, state)}


def wrong_shares(pairs: VolumePairs) -> Array:
    """Wrong voxels of each case over its true and predicted ones."""
    wrong = [int(count[a != b].sum()) for a, b, count in pairs.cells]
    some = [int(count[a > 0].sum() + count[b > 0].sum()) for a, b, count in pairs.cells]
    return np.asarray(np.array(wrong) / np.maximum(some, 1))


def _solid(pairs: VolumePairs) -> Array:
    """Which cases are more than one slice."""
    return np.array([len(one.shape) == 3 and min(one.shape) > 1 for one in pairs.scan], dtype=bool)


def planes(pairs: VolumePairs) -> Figure:
    """Three planes at right angles through the worst case, each where the most voxels are wrong."""
    pair = int(np.argmax(np.where(_solid(pairs), wrong_shares(pairs), -1.0)))
    case = pairs.case(pair)
    differs = case.truth != case.prediction
    columns: dict[str, list[Any]] = {"image": [], "cost": [], "truth": [], "prediction": [], "errors": []}
    labels: set[int] = set()
    for axis in range(3):
        wrong = differs.sum(axis=tuple(other for other in range(3) if other != axis))
        number = int(wrong.argmax())
        sizes = [1.0, 1.0] if case.spacing is None else np.delete(np.asarray(case.spacing, float), axis).tolist()
        sides = tuple(_square(np.take(side, number, axis=axis), sizes) for side in (case.truth, case.prediction))
        labels |= {int(v) for side in sides for v in np.unique(side, return_counts=True)[0].tolist()}
        columns["image"].append(f"{pairs.units[pairs.owner[pair]]}, axis {axis}, slice {number}")
        columns["cost"].append(float(wrong[number]))
        pictures = slice_pictures(sides[0], sides[1], MOST_SIDE)
        for name, png in zip(("truth", "prediction", "errors"), pictures, strict=True):
            columns[name].append(png)
    legend = [[f"label {label}", colour(label - 1)] for label in sorted(labels - {0})]
    rows = np.array(columns["cost"])[:, np.newaxis]
    return Figure(
        "planes",
        "rasters",
        "The worst case in three planes",
        columns,
        {"panels": ["truth", "prediction", "errors"], "legend": [*legend, *map(list, MEANINGS)]},
        "The slice with the most wrong voxels along each axis, and their number. Voxels are shown in proportion.",
        Table("planes", "Planes", "plane", tuple(columns["image"]), ("wrong voxels",), rows),
    )


MOST_STRETCHED = 8.0


def _square(plane: Array, sizes: Sequence[float]) -> Array:
    """A plane with its voxels repeated so that they are about as high as wide."""
    least = min(sizes)
    for axis, size in enumerate(sizes):
        ratio_to_least = min(MOST_STRETCHED, size / least) if least > 0 else 1.0
        count = max(1, round(plane.shape[axis] * ratio_to_least))
        plane = np.take(
            plane, (np.arange(count) / ratio_to_least).astype(int).clip(max=plane.shape[axis] - 1), axis=axis
        )
    return plane


def slices(pairs: VolumePairs) -> Figure:
    """The slice with the most wrong voxels of the cases with the lowest Dice of all labels together."""
    share = wrong_shares(pairs)
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
    """Dice of structures by their true size, in up to ten groups of equal number; empty below two groups of five."""
    counts = case_voxels(pairs, SharedCache()).reshape(-1, 3)
    counts = counts[counts[:, 0] > 0]
    dice = 2 * counts[:, 2] / np.maximum(counts[:, 0] + counts[:, 1], 1)
    groups = min(10, len(counts) // LEAST_OF_SIZE)
    parts = np.array_split(np.argsort(counts[:, 0], kind="stable"), groups) if groups > 1 else []
    return Figure(
        "dice_volume",
        "bars",
        "Dice by size",
        {
            "name": [f"{counts[part, 0].min():,.0f} to {counts[part, 0].max():,.0f} voxels" for part in parts],
            "value": [float(dice[part].mean()) for part in parts],
            "structures": [len(part) for part in parts],
        },
        {"x": "mean Dice"},
        "Structures of cases, sorted by their true size, in groups of equal number: small ones are harder.",
    )


def class_metrics(state: State) -> Mapping[str, Metric]:
    """Dice of each structure."""
    names = state.metadata.axes["structure"].display_names[:MOST_STRUCTURES]
    return {name: Dice(only=as_spec(name)) for name in names} if CaseScore() in state.blocks else {}


def listing(pairs: VolumePairs, state: State) -> Listing | None:
    """Every case with the mean of its structures."""
    statistics = _kept_scores(state)
    if not statistics:
        return None
    totals = state.totals(UNITS)
    columns: dict[str, Array | Texts] = {"case": Texts.of([str(unit) for unit in state.units.ids.tolist()])}
    for statistic in statistics:
        cells = totals[statistic].sum(axis=1)
        columns[_title(statistic)] = ratio(cells[:, VALUE], cells[:, COUNT])
    columns["structures on one side only"] = totals[statistics[0]].sum(axis=1)[:, MISSED]
    return Listing("cases", "Cases", columns, x=_title(statistics[0]))


__all__ = ["class_metrics", "explain", "figures", "listing", "scene", "steps", "tables"]

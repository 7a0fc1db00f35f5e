"""What is shown beside the scores of tracking: sequences, classes, curves, the timeline of one sequence, switches.

Why other tools say another MOTA: one rule at a time, on these data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.errors import UnknownName
from steelyard.core.explanation import Explanation, Step
from steelyard.core.figure import Figure, Listing, Texts
from steelyard.core.gallery import Layer, Shot, mark_bounds, scene_marks
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.plan import POINT, UNITS
from steelyard.core.scene import BoxShape, LineShape, Scene, Steps
from steelyard.core.state import State, Totals
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.core.weights import LeaveOneOut
from steelyard.tasks.shared.tools import find_tools
from steelyard.tasks.tracking.clear import IdF1, Mota, Switches
from steelyard.tasks.tracking.hota import AssA, AssociationLoss, DetA, Hota, HotaMetric, LocA
from steelyard.tasks.tracking.pairs import TrackPairs, TrackSide
from steelyard.tasks.tracking.statistics import (
    ALPHAS,
    LOSSES,
    REMOVED_ROWS,
    SEQUENCES,
    HotaCells,
    Kept,
    LossCells,
    Tracked,
    kept_rows,
    tracked_sums,
)

TOOLS = {"py-motmetrics": "1.4.0", "trackeval": "1.3.0"}


def explain(pairs: TrackPairs, names: Any) -> tuple[Explanation, ...]:
    """What each tool prints for these data, and which rule moves it."""
    work = SharedCache()
    return tuple(
        _motmetrics(pairs, work) if name == "py-motmetrics" else _trackeval(pairs, work)
        for name in find_tools(names, TOOLS)
    )


def _numbers(clear: Array, *, distance: bool = False) -> dict[str, float]:
    """What is shown of counts by run, all classes summed."""
    tp, fn, fp, similarity, idsw, _, mt = clear.sum(axis=0)[:7].tolist()
    truths = tp + fn
    motp = similarity / tp if tp else np.nan
    return {
        "mota": (tp - fp - idsw) / truths if truths else np.nan,
        "motp": 1 - motp if distance else motp,
        "idsw": idsw,
        "mt": mt,
    }


def _motmetrics(pairs: TrackPairs, cache: SharedCache) -> Explanation:
    ours, theirs = tracked_sums(pairs, cache), tracked_sums(pairs, cache, last_match=True)
    plain, all_rules = _numbers(ours.clear), _numbers(theirs.clear, distance=True)
    keeps = {**_numbers(theirs.clear), "mt": plain["mt"]}
    steps = (
        Step(
            "which pair goes on", "that of the last frame with both sides", "that of the last match, however long ago",
            "A track that is lost takes its old name again where it still fits, before others are paired.", keeps,
        ),
        Step(
            "mostly tracked", "more than 80 % of the frames", "at least 80 %",
            "A track at exactly 80 % is counted.", {**plain, "mt": _at_least(pairs, cache, ours)},
        ),
        Step(
            "motp", "a similarity", "a distance", "It prints 1 - IoU: lower is better.",
            {**plain, "motp": 1 - plain["motp"]},
        ),
    )  # fmt: skip
    return Explanation(
        "py-motmetrics", TOOLS["py-motmetrics"], plain, steps, all_rules,
        (
            "It takes nothing out before scoring: these numbers are of the rows that are left here.",
            "IoU below 0.5 counts as no pair, as here.",
            *_summed_remarks(pairs),
        ),
    )  # fmt: skip


def _summed_remarks(pairs: TrackPairs) -> tuple[str, ...]:
    """What a reader must know of the numbers where there are several classes."""
    return ("Counts of all classes are summed here: mota(over=det).",) if pairs.metadata.size("class") > 1 else ()


def _at_least(pairs: TrackPairs, cache: SharedCache, ours: Tracked) -> float:
    """True tracks that are matched in 80 % of their frames or more."""
    rows = kept_rows(pairs, cache)
    mine = np.flatnonzero(rows.scored[0])
    _, code = np.unique(rows.truth.run[mine] * (1 << 40) + rows.truth.track[mine], return_inverse=True)
    seen, matched = np.bincount(code), np.bincount(code, weights=ours.partner[mine] >= 0)
    return float(np.count_nonzero(matched / seen >= 0.8))


def _trackeval(pairs: TrackPairs, cache: SharedCache) -> Explanation:
    plain = _numbers(tracked_sums(pairs, cache).clear)
    shown: Mapping[str, float] = {name: 0.0 if np.isnan(value) else value for name, value in plain.items()}
    return Explanation(
        "trackeval", TOOLS["trackeval"], plain, (), shown,
        (
            "Undefined numbers are printed as 0, and LocA without a match as 1.",
            "Frames of a sequence that is empty on one side are not counted, so FP per frame is higher there.",
            *_summed_remarks(pairs),
        ),
    )  # fmt: skip


__all__ = [
    "class_metrics",
    "explain",
    "figures",
    "listing",
    "pictured",
    "scene",
    "shots",
    "shown_frames",
    "shown_units",
    "steps",
    "tables",
]


SMALL = 64.0  # pixels that a picture shows at least


def steps(pairs: TrackPairs, unit: int, work: SharedCache | None = None) -> Steps:
    """The frames that have a box, with what CLEAR says of each. The first to see is one with a switch, or else the one
    with the most mistakes.
    """
    work = SharedCache() if work is None else work
    rows, clear = kept_rows(pairs, work), tracked_sums(pairs, work)
    mine, theirs = rows.rows(unit, max(1, pairs.metadata.size("class")))
    true, predicted = rows.truth.frame[mine], rows.prediction.frame[theirs]
    numbers = np.union1d(true, predicted)
    missed = true[clear.partner[mine] < 0]
    extra = predicted[~np.isin(theirs, clear.partner[mine])]
    switched = true[(clear.event[mine] & 1) > 0]
    counts = {
        name: tuple(np.bincount(np.searchsorted(numbers, frames), minlength=len(numbers)).tolist())
        for name, frames in (("switches", switched), ("missed", missed), ("extra", extra))
    }
    wrong = np.add(counts["missed"], counts["extra"])
    start = int(switched.min()) if len(switched) else int(numbers[np.argmax(wrong)]) if len(numbers) else 0
    return Steps("frame", tuple(numbers.tolist()), counts, start)


def scene(
    pairs: TrackPairs, unit: int, metric: Metric, step: int | None = None, work: SharedCache | None = None
) -> Scene:
    """One frame of a sequence, by its number; without one, the frame to look at first."""
    work = SharedCache() if work is None else work
    all_steps = steps(pairs, unit, work)
    name = str(pairs.units[unit])
    if not all_steps.numbers:
        return Scene(f"Sequence {name}", "nothing is there", ())
    frame = all_steps.start if step is None else step
    if frame not in all_steps.numbers:
        raise UnknownName(
            f"sequence '{name}' has no box in frame {frame}",
            remedy=f"Its frames with boxes are {all_steps.numbers[0]} to {all_steps.numbers[-1]}.",
        )
    rows, clear = kept_rows(pairs, work), tracked_sums(pairs, work)
    mine, theirs = rows.rows(unit, max(1, pairs.metadata.size("class")))
    bounds = _bounds(_boxes(rows.truth, mine), _boxes(rows.prediction, theirs))
    mine, theirs = mine[rows.truth.frame[mine] == frame], theirs[rows.prediction.frame[theirs] == frame]
    partner = clear.partner[mine]
    boxes, others = _boxes(rows.truth, mine), dict(zip(theirs.tolist(), _boxes(rows.prediction, theirs), strict=True))
    shapes: list[BoxShape | LineShape] = []
    for place, box, other in zip(mine.tolist(), boxes, partner.tolist(), strict=True):
        label = f"T{pairs.truth['track'][rows.truth.row[place]]}"
        shapes.append(_shape("truth", box, label, other >= 0))
        if other >= 0:
            ends = (*_centre(box), *_centre(others[other]))
            shapes.append(LineShape("pair", *ends, "switch" if clear.event[place] & 1 else ""))
    matched = set(partner.tolist())
    for place, box in others.items():
        label = f"P{pairs.prediction['track'][rows.prediction.row[place]]}"
        shapes.append(_shape("prediction", box, label, place in matched))
    at = all_steps.numbers.index(frame)
    happens = ", ".join(f"{what} {counts[at]}" for what, counts in all_steps.counts.items())
    return Scene(
        title=f"Sequence {name}, frame {frame}",
        summary=f"matched {int((partner >= 0).sum())}, {happens}",
        shapes=tuple(shapes),
        bounds=bounds,
        images=tuple(f"{folder}/{frame:06d}" for folder in (f"{name}/img1", f"image_02/{name}", name)),
    )


MOST_SEQUENCES, MOST_SHOTS = 6, 12  # of a gallery: sequences, and frames in all


def shown_units(pairs: TrackPairs, badness: Array) -> tuple[list[int], int]:
    """The worst sequences."""
    order = [i for i in np.argsort(-badness, kind="stable").tolist() if np.isfinite(badness[i])][:MOST_SEQUENCES]
    return order, len(order)


def shown_frames(pairs: TrackPairs, units: Sequence[int], work: SharedCache | None = None) -> list[list[int]]:
    """The frames of each sequence in which identities switch, or the one with the most mistakes."""
    work = SharedCache() if work is None else work
    each = max(1, MOST_SHOTS // max(1, len(units)))
    listed = []
    for unit in units:
        frames = steps(pairs, unit, work)
        switches = np.asarray(frames.counts["switches"])
        most = np.flatnonzero(switches)[np.argsort(-switches[switches > 0], kind="stable")][:each]
        switched = [frames.numbers[place] for place in most.tolist()]
        listed.append(sorted(switched) or ([frames.start] if frames.numbers else []))
    return listed


def shots(pairs: TrackPairs, units: Sequence[int], frames: Sequence[Sequence[int]] | None = None) -> list[list[Shot]]:
    """Frames of the sequences at these places, with the boxes of both sides and their pairs."""
    work = SharedCache()
    chosen = shown_frames(pairs, units, work) if frames is None else frames
    listed = []
    for unit, numbers in zip(units, chosen, strict=True):
        name, drawn = str(pairs.units[unit]), set(steps(pairs, unit, work).numbers)
        pictures = []
        for number in numbers:
            picture = scene(pairs, unit, SHOWN[0], number, work) if number in drawn else None
            marks, said = ((), "") if picture is None else (scene_marks(picture), picture.summary)
            bounds = mark_bounds(marks) if picture is None or picture.bounds is None else picture.bounds
            files = picture.images if picture is not None else ()
            pictures.append(Shot(name, f"{name}, frame {number}", bounds, (Layer(marks, said),), files))
        listed.append(pictures)
    return listed


def _shape(role: str, box: Array, label: str, matched: bool) -> BoxShape:
    x0, y0, x1, y1 = box.tolist()
    return BoxShape("truth" if role == "truth" else "prediction", x0, y0, x1 - x0, y1 - y0, label, matched)


def _centre(box: Array) -> tuple[float, float]:
    return float(box[0] + box[2]) / 2, float(box[1] + box[3]) / 2


def _boxes(side: TrackSide, rows: Array) -> Array:
    """The boxes of rows, or those around their masks, as left, top, right, low."""
    if side.mask is None:
        return side.box(rows)
    box = _native.mask_box(side.mask[rows].tolist()).reshape(-1, 4)
    return np.concatenate([box[:, :2], box[:, :2] + box[:, 2:]], axis=1)


def _bounds(truth: Array, prediction: Array) -> tuple[float, float, float, float]:
    """What all boxes of the sequence fill, so that frame after frame lies at one place."""
    box = np.concatenate([truth, prediction])
    (left, top), (right, low) = box[:, :2].min(axis=0).tolist(), box[:, 2:].max(axis=0).tolist()
    room = 0.03 * max(right - left, low - top, SMALL)
    return left - room, top - room, right + room, low + room


pictured = "hota"
SHOWN: tuple[Metric, ...] = (Hota(), DetA(), AssA(), Mota(), IdF1(), Switches())
MOST_TRACKS, MOST_FRAMES = 40, 2000  # of a timeline


def _has(state: State, metric: Metric) -> bool:
    return all(statistic in state.blocks for statistic in metric.requirements())


def tables(pairs: TrackPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """Values by sequence, with what each does to the whole, and values by class."""
    metrics = [metric for metric in SHOWN if _has(state, metric)]
    if not metrics or not len(state):
        return {}
    makers: dict[str, Callable[[], Table]] = {"sequences": lambda: _by_sequence(state, metrics)}
    if state.metadata.size("class") > 1:
        makers["classes"] = lambda: _by_class(state, metrics)
    return makers


def _by_sequence(state: State, metrics: Sequence[Metric]) -> Table:
    alone, rest = state.totals(UNITS), Totals(state, LeaveOneOut(state.units.plain))
    columns = [alone.of(metric) for metric in metrics]
    names = [metric.label for metric in metrics]
    if len(state) > 1:
        columns.append(rest.of(metrics[0]))
        names.append(f"{metrics[0].label} without it")
    return Table(
        "sequences", "By sequence", "sequence", tuple(map(str, state.units.ids.tolist())), tuple(names),
        np.stack(columns, axis=1),
    )  # fmt: skip


def class_metrics(state: State) -> Mapping[str, Metric]:
    """The metrics by which models are compared class by class."""
    labels = state.metadata.axes["class"].display_names
    return {label: Hota(only=label) for label in labels} if len(labels) > 1 and _has(state, Hota()) else {}


def _by_class(state: State, metrics: Sequence[Metric]) -> Table:
    labels, totals = state.metadata.axes["class"].display_names, state.totals(POINT)
    values = [[float(totals.of(type(metric)(only=label))[0]) for metric in metrics] for label in labels]  # type: ignore[call-arg]
    return Table("classes", "By class", "class", labels, tuple(metric.label for metric in metrics), np.array(values))


def figures(pairs: TrackPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures that these data have."""
    if not len(state) or not kept_rows(pairs, SharedCache()).scored[0].any():
        return {}
    measured = State.of(pairs, dict.fromkeys([HotaCells(), LossCells(), SEQUENCES, REMOVED_ROWS]))
    return {
        "thresholds": lambda: thresholds(measured),
        "plane": lambda: plane(measured),
        "losses": lambda: losses(measured),
        "timeline": lambda: timeline(pairs, worst_unit(measured)),
    }


def _curves(metric: HotaMetric, totals: Totals) -> Array:
    """A metric at every threshold: (rows, 19)."""
    return np.stack([totals.of(type(metric)(alpha=float(alpha))) for alpha in ALPHAS.round(2)], axis=1)


def thresholds(state: State) -> Figure:
    """HOTA and its parts over the thresholds."""
    totals = state.totals(POINT)
    shown = (Hota(), DetA(), AssA(), LocA())
    values = [_curves(metric, totals)[0] for metric in shown]
    columns = {
        "series": [metric.title for metric in shown for _ in ALPHAS],
        "x": np.tile(ALPHAS, len(shown)),
        "y": np.concatenate(values),
    }
    rows = tuple(f"{alpha:g}" for alpha in ALPHAS)
    return Figure(
        "thresholds", "curves", "HOTA over thresholds", columns,
        {"x": "threshold of similarity", "y": "value", "points": True},
        "A line that falls early says that boxes are loose; AssA below DetA that names are lost, not objects.",
        Table("thresholds", "By threshold", "threshold", rows, tuple(m.title for m in shown), np.stack(values, axis=1)),
    )  # fmt: skip


def plane(state: State) -> Figure:
    """Detection against association, with each sequence as a point and lines of equal HOTA."""
    alone, whole = state.totals(UNITS), state.totals(POINT)
    both = [np.append(alone.of(metric), whole.of(metric)) for metric in (DetA(), AssA(), Hota())]
    there = np.flatnonzero(~np.isnan(both[0]))
    names = [[*map(str, state.units.ids.tolist()), "all"][i] for i in there.tolist()]
    return Figure(
        "plane", "plane", "Detection against association",
        {
            "x": both[0][there], "y": both[1][there], "hota": both[2][there],
            "name": names, "series": ["sequence"] * (len(names) - 1) + ["all"],
        },
        {"x": "DetA", "y": "AssA"},
        "Each point is a sequence; the lines have equal DetA · AssA. To the right more is found, upward names stay.",
    )  # fmt: skip


def losses(state: State) -> Figure:
    """What association loses to which mistake."""
    totals = state.totals(POINT)
    values = [float(totals.of(AssociationLoss(part=part))[0]) for part in LOSSES]  # type: ignore[arg-type]
    names = ["split: under other names", "miss: not found", "merge: on other objects", "extra: on nothing"]
    return Figure(
        "losses", "bars", "What association loses", {"name": names, "value": values}, {"x": "points of AssA"},
        "For a matched box, the frames in which its two tracks are not matched with each other: what happens instead.",
    )  # fmt: skip


def worst_unit(state: State) -> int:
    """The sequence with the lowest HOTA."""
    values = state.totals(UNITS).of(Hota())
    return int(np.nanargmin(values)) if not np.isnan(values).all() else 0


def timeline(pairs: TrackPairs, unit: int) -> Figure:
    """One sequence: a row per true track, coloured by the predicted track that CLEAR matches; switches as ticks."""
    work = SharedCache()
    rows, clear = kept_rows(pairs, work), tracked_sums(pairs, work)
    mine, _ = rows.rows(unit, max(1, pairs.metadata.size("class")))
    tracks, first = np.unique(rows.truth.run[mine] * (1 << 40) + rows.truth.track[mine], return_index=True)
    shown = tracks[np.argsort(first, kind="stable")][:MOST_TRACKS]
    columns: dict[str, list[object]] = {name: [] for name in ("row", "x", "x2", "series", "event")}
    for key in shown.tolist():
        own = mine[rows.truth.run[mine] * (1 << 40) + rows.truth.track[mine] == key][:MOST_FRAMES]
        name = str(pairs.truth["track"][rows.truth.row[own[0]]])
        for start, stop, label, switch in _pieces(pairs, rows, clear.partner, clear.event, own):
            for column, value in zip(columns, (name, start, stop, label, switch), strict=True):
                columns[column].append(value)
    more = len(tracks) - len(shown)
    return Figure(
        "timeline", "timeline", f"Sequence {pairs.units[unit]}, track by track", columns,
        {"x": "frame", "y": "true track"},
        "Each row is a true track, coloured by the name that it is found under; grey is missed, a tick is a switch."
        + (f" {more} more tracks are not shown." if more > 0 else ""),
    )  # fmt: skip


def _pieces(pairs: TrackPairs, rows: Kept, partner: Array, event: Array, own: Array) -> list[tuple[int, int, str, str]]:
    """Stretches of one true track under one name: first frame, frame behind the last, name, and whether it switched."""
    pieces: list[tuple[int, int, str, str]] = []
    for place in own.tolist():
        frame, other = int(rows.truth.frame[place]), int(partner[place])
        label = "missed" if other < 0 else str(pairs.prediction["track"][rows.prediction.row[other]])
        switch = "switch" if event[place] & 1 else ""
        if pieces and pieces[-1][2] == label and pieces[-1][1] == frame and not switch:
            pieces[-1] = (pieces[-1][0], frame + 1, label, pieces[-1][3])
        else:
            pieces.append((frame, frame + 1, label, switch))
    return pieces


def listing(pairs: TrackPairs, state: State) -> Listing:
    """Every switch: where, when, from which name to which, and of what kind."""
    work = SharedCache()
    rows, clear = kept_rows(pairs, work), tracked_sums(pairs, work)
    classes = max(1, pairs.metadata.size("class"))
    columns: dict[str, list[object]] = {
        name: [] for name in ("sequence", "frame", "true track", "from", "to", "kind", "frames without a match")
    }
    last: dict[tuple[int, int], tuple[int, int]] = {}  # of a true track: predicted track and frame of its last match
    used: set[tuple[int, int]] = set()
    holder: dict[tuple[int, int], int] = {}
    for place in rows.rows(None, classes)[0].tolist():
        other = int(clear.partner[place])
        if other < 0:
            continue
        run, track, frame = int(rows.truth.run[place]), int(rows.truth.track[place]), int(rows.truth.frame[place])
        name = int(rows.prediction.track[other])
        if clear.event[place] & 1:
            before, when = last[run, track]
            owner = holder.get((run, name))
            kind = "to a neighbour's id" if owner != track else "back to an old id"
            kind = kind if (run, name) in used else "to a fresh id"
            own = (rows.truth.run == run) & (rows.truth.track == track) & rows.scored[0]
            gone = rows.truth.frame[own]
            gap = int(np.count_nonzero((gone > when) & (gone < frame)))
            names = pairs.prediction["track"][rows.prediction.row[[before, other]]].tolist()
            values = (
                pairs.units[run // classes],
                frame,
                pairs.truth["track"][rows.truth.row[place]],
                *names,
                kind,
                gap,
            )
            for column, value in zip(columns, values, strict=True):
                columns[column].append(value)
        last[run, track] = (other, frame)
        used.add((run, name))
        holder[run, name] = track
    numbers = ("frame", "frames without a match")
    typed: dict[str, Array | Texts] = {
        name: np.array(values, dtype=np.int64) if name in numbers else Texts.of(values)
        for name, values in columns.items()
    }
    return Listing("switches", "Switches", typed, colour="kind", x="frame")

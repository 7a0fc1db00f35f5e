"""Both sides of tracking by sequence, class and frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from steelyard import _native
from steelyard.align.sets import SetPairs, join_sets
from steelyard.core.errors import Conflict, DuplicateKey, MissingData, OutOfRange, UnknownName, Unsupported, nearest
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.numerals import is_whole
from steelyard.core.options import Options
from steelyard.core.pairs import Array, Coverage
from steelyard.core.records import Records, constant_in_unit, distinct_values, factorize
from steelyard.core.task import Policy
from steelyard.tasks.tracking.data import MOTS, OUT, REGION, SCORED, TRUTH, TrackRecords, prepare, rows_there


class TrackSide(Frozen):
    """Rows of one side by run (sequence and class), frame, and as the source has them.

    `row` are places in the source, `run` is the unit times the number of classes plus the class; `track` counts the
    tracks of a run from 0; `mask` are packed masks, or None where there are boxes. `role` says what a row is for.
    """

    source: TrackRecords
    row: Array
    run: Array
    frame: Array
    track: Array
    mask: Array | None
    role: Array

    def take(self, rows: Array) -> TrackSide:
        """Some of the rows."""
        mask = None if self.mask is None else self.mask[rows]
        return TrackSide(
            self.source, self.row[rows], self.run[rows], self.frame[rows], self.track[rows], mask, self.role[rows]
        )

    def box(self, rows: Array | slice | list[int] = slice(None)) -> Array:
        """The boxes of some rows as left, top, right, low, made when asked for: the source has the numbers."""
        return corners_of(self.source, self.row[rows])


class TrackPairs(Frozen):
    """Both sides by run. `regions` are rows of the truth; `out` counts rows that the options left out, by side."""

    truth: TrackRecords
    prediction: TrackRecords
    units: Array
    metadata: Metadata
    coverage: Coverage
    weight: Array | None
    sides: tuple[TrackSide, TrackSide]
    regions: TrackSide
    frames: Array
    joined: SetPairs
    out: Array

    def slice_values(self, name: str) -> tuple[Array, Array]:
        """The class of every row of both sides, or a column of the truth that is constant in each sequence."""
        if name == "label" and "label" in self.metadata.holds:
            shown = np.array(self.metadata.axes["class"].display_names, dtype=object)
            runs = np.concatenate([side.run for side in self.sides])
            return shown[runs % len(shown)], runs // len(shown)
        joined = self.joined
        values = self.truth.find(name)
        own = {column.name for column in TRUTH.columns}
        if values is None or (name in own and name != "sequence"):
            if name in own and values is not None:
                raise Unsupported(
                    f"'{name}' varies inside a sequence, and slicing by it would cut tracks",
                    where=self.truth.source,
                    remedy="Slice by what holds for whole sequences (camera, light), or by label.",
                )
            columns = [*(["label"] if "label" in self.metadata.holds else []), *self.truth.other]
            raise UnknownName(
                f"tracking cannot be sliced by '{name}'", where=self.truth.source, remedy=nearest(name, columns)
            )
        first = np.full(len(self.units), -1, dtype=np.int64)
        first[joined.truth_owner[::-1]] = joined.truth_row[::-1]
        codes = factorize(values[joined.truth_row])[1][0]
        own_code = np.full(len(self.units), -1, dtype=np.int64)
        own_code[joined.truth_owner[::-1]] = codes[::-1]
        varies = np.flatnonzero(own_code[joined.truth_owner] != codes)
        if len(varies):
            row = int(joined.truth_row[varies[0]])
            raise Conflict(
                f"'{name}' varies inside sequence '{self.truth['sequence'][row]}', and slicing by it would cut tracks",
                where=self.truth.place(row),
                remedy="A column to slice by must be the same in all rows of a sequence.",
            )
        return values[first], np.arange(len(self.units))

    def select(self, keep: Array) -> TrackPairs:
        """The rows that a mask over both sides keeps, as `slice_values` gives them. All units stay."""
        if len(keep) == len(self.units) and len(keep) != sum(len(side.run) for side in self.sides):
            rows = [np.flatnonzero(keep[side.run // max(1, self.metadata.size("class"))]) for side in self.sides]
        else:
            cut = len(self.sides[0].run)
            rows = [np.flatnonzero(keep[:cut]), np.flatnonzero(keep[cut:])]
        return replace(self, sides=(self.sides[0].take(rows[0]), self.sides[1].take(rows[1])))


def corners_of(records: Records, rows: Array) -> Array:
    """Boxes as left, top, right, low. The right edge of x and w is their sum, rounded once."""
    box = np.zeros((len(rows), 4))
    if "x" not in records:
        return box
    box[:, 0], box[:, 1] = records["x"][rows], records["y"][rows]
    if "right" in records and "bottom" in records:
        box[:, 2], box[:, 3] = records["right"][rows], records["bottom"][rows]
    else:
        np.add(box[:, 0], records["w"][rows], out=box[:, 2])
        np.add(box[:, 1], records["h"][rows], out=box[:, 3])
    return box


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> TrackPairs:
    """Join by sequence, and lay the rows of both sides by class and frame."""
    return _pair(*prepare(truth, prediction, options), policy, MOTS if options.of("benchmark") == "mots" else {})


def _pair(truth: TrackRecords, prediction: TrackRecords, policy: Policy, names: Mapping[str, str]) -> TrackPairs:
    joined = join_sets(truth, prediction, "sequence", "frame", policy, weight="sample_weight")
    filled = [bool(rows_there(side).any()) for side in (truth, prediction)]
    if ("mask" in truth) != ("mask" in prediction) and all(filled):
        has, lacks = (truth, prediction) if "mask" in truth else (prediction, truth)
        raise MissingData(
            f"{has.source} has masks and {lacks.source} has none", remedy="Give masks on both sides, or boxes on both."
        )
    axis, codes = _axis(truth, prediction, all(filled), names)
    classes = max(1, len(axis))
    tracks = _tracks(truth, prediction)
    true = _side(truth, joined.truth_row, joined.truth_owner, codes[0], classes, tracks[0])
    predicted = _side(prediction, joined.prediction_row, joined.prediction_owner, codes[1], classes, tracks[1])
    out = [np.bincount(side.out, minlength=len(joined.units)) for side in (true, predicted)]
    return TrackPairs(
        truth, prediction, joined.units,
        Metadata({"class": axis}, {}, frozenset({"label"} if axis.ids != ("object",) else ())),
        joined.coverage, joined.weight, (true.rows, predicted.rows), true.regions, _frames(joined), joined,
        np.stack(out, axis=1).astype(np.float64),
    )  # fmt: skip


def _tracks(truth: Records, prediction: Records) -> tuple[Array, Array]:
    """Tracks of both sides as whole numbers: their own, or places among the texts."""
    sides = truth["track"], prediction["track"]
    if all(side.dtype.kind in "iu" for side in sides):
        return sides[0].astype(np.int64, copy=False), sides[1].astype(np.int64, copy=False)
    codes = factorize(*sides)[1]
    return codes[0], codes[1]


def _axis(
    truth: TrackRecords, prediction: TrackRecords, filled: bool, called: Mapping[str, str]
) -> tuple[Axis, list[Array]]:
    """The classes that are scored, in order, and each row's place among them (the first for rows of none).

    `called` are the names of a benchmark's classes.
    """
    named: list[set[str]] = []
    for side in (truth, prediction):
        scored = side.role == SCORED
        single = len(side.groups) == 1
        places = range(int(scored.any())) if single else distinct_values(side.group[scored]).tolist()
        named.append({side.groups[i] for i in places})
    if filled and (("" in named[0]) != ("" in named[1])) and all(named):
        has, lacks = (truth, prediction) if "" in named[1] else (prediction, truth)
        raise MissingData(
            f"{has.source} has classes and {lacks.source} has none",
            where=lacks.source,
            remedy="Give both sides a label, or neither.",
        )
    names = (named[0] | named[1]) or {""}
    if names > {""}:
        names.discard("")
    numbers = all(map(is_whole, names))
    labels = sorted(names, key=int if numbers else str)
    place = {text: i for i, text in enumerate(labels)}
    own = [np.broadcast_to(np.int64(0), len(side)) for side in (truth, prediction)]
    if len(labels) > 1:
        places = [[place.get(text, 0) for text in side.groups] or [0] for side in (truth, prediction)]
        own = [np.array(of, dtype=np.int64)[side.group] for of, side in zip(places, (truth, prediction), strict=True)]
    ids = tuple(label or "object" for label in labels)
    shown = tuple(called.get(label, label) for label in ids)
    return Axis(ids, shown if shown != ids else (), whole=True), own


def _frames(joined: SetPairs) -> Array:
    """How many frames each sequence has: as given, or up to the last row of either side."""
    units = len(joined.units)
    last, first = np.full(units, -1.0), np.full(units, np.inf)
    for records, rows, owner in (
        (joined.truth, joined.truth_row, joined.truth_owner),
        (joined.prediction, joined.prediction_row, joined.prediction_owner),
    ):
        frame = records["frame"][rows]
        starts = np.flatnonzero(np.append(True, owner[1:] != owner[:-1])) if len(owner) else np.zeros(0, np.int64)
        mine = owner[starts]
        if len(mine):  # a row that only names its sequence is not a number, which fmax and fmin leave out
            last[mine] = np.fmax(last[mine], np.fmax.reduceat(frame, starts))
            first[mine] = np.fmin(first[mine], np.fmin.reduceat(frame, starts))
    counted = np.where(first < 1, last + 1, np.maximum(last, 0))
    if "frames" not in joined.truth:
        return counted
    declared = constant_in_unit(joined.truth, "frames", joined.truth_owner, joined.truth_row, units)
    beyond = ~np.isnan(declared) & (counted > declared)
    if beyond.any():
        unit = int(np.argmax(beyond))
        raise OutOfRange(
            f"sequence '{joined.units[unit]}' has {declared[unit]:g} frames, and a row is in frame {last[unit]:g}",
            where=_last_row(joined, unit, last[unit]),
            remedy="Is it the same video, and do both sides count frames alike?",
        )
    return np.where(np.isnan(declared), counted, declared)


def _last_row(joined: SetPairs, unit: int, frame: float) -> str:
    for records, rows, owner in (
        (joined.prediction, joined.prediction_row, joined.prediction_owner),
        (joined.truth, joined.truth_row, joined.truth_owner),
    ):
        hit = np.flatnonzero((owner == unit) & (records["frame"][rows] == frame))
        if len(hit):
            return records.where(int(rows[hit[0]]), "frame")
    return joined.truth.source


class _Sorted(Frozen):
    """One side: rows that are looked at, regions, and the units of rows that the options left out."""

    rows: TrackSide
    regions: TrackSide
    out: Array


def _side(records: TrackRecords, rows: Array, owner: Array, group: Array, classes: int, track: Array) -> _Sorted:
    """The rows of one side by run and frame. A track that appears twice in a frame is an error."""
    frame = records["frame"]
    if frame.dtype.kind not in "iu":
        frame = np.where(np.isnan(frame), -1, frame).astype(np.int64)
    whole = len(rows) == len(records) and bool((rows == np.arange(len(rows))).all())
    run = owner if classes == 1 else owner * classes + (group if whole else group[rows])
    frames = frame if whole else frame[rows]
    if not _rises(run, frames):
        order = np.lexsort((frames, run))
        rows, run, frames, whole = rows[order], run[order], frames[order], False
    mask = records["mask"][rows] if "mask" in records else None
    if whole:
        every = TrackSide(records, rows, run, frames, track, mask, records.role)
    else:
        every = TrackSide(records, rows, run, frames, track[rows], mask, records.role[rows])
    gone = every.role >= REGION
    side = every.take(np.flatnonzero(~gone)) if gone.any() else every
    codes, twice = _native.tracking_codes(side.frame, side.track, run_ends(side.run, distinct(side.run)))
    if twice >= 0:
        same = (side.run == side.run[twice]) & (side.frame == side.frame[twice]) & (side.track == side.track[twice])
        before, again = (int(side.row[i]) for i in np.flatnonzero(same)[:2])
        raise DuplicateKey(
            f"track {records['track'][again]} appears twice in frame {side.frame[twice]} of sequence "
            f"'{records['sequence'][again]}', also at {records.place(before)}",
            where=records.where(again, "track"),
            remedy="A track has one box per frame. Are ids given by class? Then name the label.",
        )
    out = every.run[(every.role == OUT) & (every.frame >= 0)] // classes
    return _Sorted(replace(side, track=codes), every.take(np.flatnonzero(every.role == REGION)), out)


def distinct(ordered: Array) -> Array:
    """The values of an array that never falls, each once."""
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def run_ends(run: Array, runs: Array) -> Array:
    """Where the rows of each run end."""
    return np.searchsorted(run, runs, side="right").astype(np.int64)


def _rises(run: Array, frame: Array) -> bool:
    step = np.diff(run)
    return bool(((step > 0) | ((step == 0) & (np.diff(frame) >= 0))).all())

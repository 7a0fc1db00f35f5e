"""The events of a whole sequence at once, where ids are distinct in each frame: columns instead of frame by frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.compat.motmetrics.lap import linear_sum_assignment

TYPES = ["RAW", "FP", "MISS", "SWITCH", "MATCH", "TRANSFER", "ASCEND", "MIGRATE"]
RAW, FP, MISS, SWITCH, MATCH, TRANSFER, ASCEND, MIGRATE = range(len(TYPES))


@dataclass(frozen=True)
class Side:
    """One side of a sequence: ids of all frames one behind the other, and how many each frame has."""

    ids: Any
    sizes: Any

    def has_distinct_ids(self) -> bool:
        """Whether ids are whole numbers, none of them twice in a frame."""
        if self.ids.dtype.kind not in "iu" or not len(self.ids):
            return not len(self.ids)
        frame = np.repeat(np.arange(len(self.sizes)), self.sizes)
        order = np.lexsort((self.ids, frame))
        ids, frame = self.ids[order], frame[order]
        return not ((ids[1:] == ids[:-1]) & (frame[1:] == frame[:-1])).any()


@dataclass(frozen=True)
class Events:
    """Events in the order of the table, and what the next frame must know of the earlier ones."""

    frames: Any
    frame: Any
    number: Any
    type: Any
    objects: Any
    hypotheses: Any
    distance: Any
    m: dict[int, int]
    res_m: dict[int, int]
    last_occurrence: dict[int, int]
    last_match: dict[int, int]
    history: dict[int, int]

    def table(self) -> Any:
        """The events as a table with the index (FrameId, Event)."""
        import pandas as pd

        most = int(self.number.max(initial=-1)) + 1
        index = pd.MultiIndex(
            levels=[pd.Index(self.frames), pd.Index(np.arange(most))],
            codes=[self.frame, self.number],
            names=["FrameId", "Event"],
            verify_integrity=False,
        )
        columns = {
            "Type": pd.Categorical.from_codes(self.type, categories=TYPES),
            "OId": self.objects,
            "HId": self.hypotheses,
            "D": self.distance,
        }
        return pd.DataFrame(columns, index=index, copy=False)

    def lists(self) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        """The columns of the index and of the events as lists."""
        indices = {"FrameId": self.frames[self.frame].tolist(), "Event": self.number.tolist()}
        events = {
            "Type": [TYPES[code] for code in self.type.tolist()],
            "OId": self.objects.tolist(),
            "HId": self.hypotheses.tolist(),
            "D": self.distance.tolist(),
        }
        return indices, events


def collect_events(frames: Any, truth: Side, results: Side, flat: Any) -> Events:
    """The events of all frames; `flat` has their matrices of distances one behind the other, NaN for no pair."""
    n, m = truth.sizes, results.sizes
    starts_o, starts_h, starts = (np.cumsum(sizes) - sizes for sizes in (n, m, n * m))
    finite = np.flatnonzero(np.isfinite(flat))
    pair_frame = np.repeat(np.arange(len(n)), np.diff(np.searchsorted(finite, np.append(starts, len(flat)))))
    o, h = np.divmod(finite - starts[pair_frame], m[pair_frame])
    pairs = _Pairs(pair_frame, starts_o[pair_frame] + o, starts_h[pair_frame] + h, flat[finite])
    state = _State(truth.ids, results.ids, pairs)
    bounds = np.searchsorted(pair_frame, np.arange(len(n) + 1)).tolist()
    for t in range(len(n)):
        low, high = bounds[t], bounds[t + 1]
        if low < high and state.has_free_pairs(low, high):
            matrix = flat[starts[t] : starts[t] + n[t] * m[t]].reshape(n[t], m[t]).copy()
            state.add_pairs(t, int(starts_o[t]), int(starts_h[t]), matrix)
    return state.finish(frames, n, m)


@dataclass(frozen=True)
class _Pairs:
    """The pairs that may be made, by frame: rows of objects and hypotheses, and their distance."""

    frame: Any
    objects: Any
    hypotheses: Any
    distance: Any


class _State:
    """Who was paired with whom so far, by the code of an id; rows are those of all frames."""

    def __init__(self, objects: Any, hypotheses: Any, pairs: _Pairs) -> None:
        self.o_ids, self.o_code = np.unique(objects, return_inverse=True)
        self.h_ids, self.h_code = np.unique(hypotheses, return_inverse=True)
        self.objects, self.hypotheses, self.pairs = objects, hypotheses, pairs
        self.pair_o, self.pair_h = self.o_code[pairs.objects], self.h_code[pairs.hypotheses]
        self.partner = np.full(len(self.o_ids), -1)  # of an object: the hypothesis of its last pair
        self.owner = np.full(len(self.h_ids), -1)
        self.holders = np.zeros(len(self.h_ids), dtype=np.int64)  # how many objects have it as their partner
        self.goes_on = np.zeros(len(self.pair_o), dtype=bool)
        self.taken_o = np.zeros(len(objects), dtype=bool)
        self.taken_h = np.zeros(len(hypotheses), dtype=bool)
        self.assigned: list[tuple[int, int, int, int, float]] = []  # frame, type, rows of both sides, distance

    def has_free_pairs(self, low: int, high: int) -> bool:
        """Let the pairs of earlier frames go on in a frame; whether others can be made beside them."""
        others = self.pair_h[low:high]
        goes_on = self.partner[self.pair_o[low:high]] == others
        if (self.holders[others[goes_on]] > 1).any():  # of two objects that had it, the first goes on
            places = np.flatnonzero(goes_on)
            goes_on[:] = False
            goes_on[places[np.unique(others[places], return_index=True)[1]]] = True
        self.goes_on[low:high] = goes_on
        rows, columns = self.pairs.objects[low:high], self.pairs.hypotheses[low:high]
        self.taken_o[rows[goes_on]] = True
        self.taken_h[columns[goes_on]] = True
        return not (self.taken_o[rows] | self.taken_h[columns]).all()

    def add_pairs(self, t: int, o: int, h: int, matrix: Any) -> None:
        """Assign what is free in a frame whose rows begin at `o` and `h`."""
        rows, columns = matrix.shape
        matrix[self.taken_o[o : o + rows], :] = np.nan
        matrix[:, self.taken_h[h : h + columns]] = np.nan
        for i, j in zip(*(part.tolist() for part in linear_sum_assignment(matrix)), strict=True):
            distance = float(matrix[i, j])
            if np.isfinite(distance):
                self.assign(t, o + i, h + j, distance)

    def assign(self, t: int, row: int, other: int, distance: float) -> None:
        """A pair that is not one of the last frames."""
        o, h = int(self.o_code[row]), int(self.h_code[other])
        switches = self.partner[o] not in (-1, h)
        kinds = [ASCEND] if switches and self.owner[h] < 0 else []
        if self.owner[h] not in (-1, o):
            kinds += [TRANSFER] if self.partner[o] >= 0 else [MIGRATE, TRANSFER]
        for kind in (*kinds, SWITCH if switches else MATCH):
            self.assigned.append((t, kind, row, other, distance))
        self.taken_o[row] = self.taken_h[other] = True
        if self.partner[o] >= 0:
            self.holders[self.partner[o]] -= 1
        self.holders[h] += 1
        self.partner[o], self.owner[h] = h, o

    def finish(self, frames: Any, n: Any, m: Any) -> Events:
        """All events by frame: RAW ones, pairs that went on, new pairs, misses, false positives."""
        pairs = self.pairs
        o_frame, h_frame = (np.repeat(np.arange(len(sizes)), sizes) for sizes in (n, m))
        alone_o, alone_h = np.ones(len(o_frame), dtype=bool), np.ones(len(h_frame), dtype=bool)
        alone_o[pairs.objects] = False
        alone_h[pairs.hypotheses] = False
        blocks: list[tuple[Any, Any, Any, Any, Any]] = [(np.arange(len(n)), RAW, None, None, None)]
        blocks.append((pairs.frame, RAW, pairs.objects, pairs.hypotheses, pairs.distance))
        blocks.append((o_frame[alone_o], RAW, np.flatnonzero(alone_o), None, None))
        blocks.append((h_frame[alone_h], RAW, None, np.flatnonzero(alone_h), None))
        went_on = (pairs.objects, pairs.hypotheses, pairs.distance)
        blocks.append((pairs.frame[self.goes_on], MATCH, *(column[self.goes_on] for column in went_on)))
        if self.assigned:
            t, kind, row, other, apart = (np.array(part) for part in zip(*self.assigned, strict=True))
            blocks.append((t, kind, row, other, apart))
        missed, false = np.flatnonzero(~self.taken_o), np.flatnonzero(~self.taken_h)
        blocks.append((o_frame[missed], MISS, missed, None, None))
        blocks.append((h_frame[false], FP, None, false, None))
        frame = np.concatenate([block[0] for block in blocks])
        order = np.argsort(frame, kind="stable")
        frame = frame[order]
        number = np.arange(len(frame)) - np.searchsorted(frame, frame)
        last_match = dict(zip(self.objects[self.taken_o].tolist(), frames[o_frame[self.taken_o]].tolist(), strict=True))
        history = dict(zip(self.hypotheses[self.taken_h].tolist(), frames[h_frame[self.taken_h]].tolist(), strict=True))
        seen_o, seen_h = self.o_ids.tolist(), self.h_ids.tolist()
        return Events(
            frames,
            frame,
            number,
            _join(blocks, 1, None, np.int8)[order],
            _join(blocks, 2, self.objects, np.float64)[order],
            _join(blocks, 3, self.hypotheses, np.float64)[order],
            _join(blocks, 4, None, np.float64)[order],
            {o: seen_h[h] for o, h in zip(seen_o, self.partner.tolist(), strict=True) if h >= 0},
            {h: seen_o[o] for h, o in zip(seen_h, self.owner.tolist(), strict=True) if o >= 0},
            dict(zip(self.objects.tolist(), frames[o_frame].tolist(), strict=True)),
            last_match,
            history,
        )


def _join(blocks: list[tuple[Any, ...]], place: int, ids: Any, dtype: Any) -> Any:
    """A column of all blocks: ids of rows where there are ids, NaN where a block has nothing."""
    parts = []
    for block in blocks:
        value = block[place]
        if value is None:
            value = np.nan
        elif ids is not None:
            value = ids[value]
        parts.append(np.broadcast_to(np.asarray(value, dtype=dtype), len(block[0])))
    return np.concatenate(parts)

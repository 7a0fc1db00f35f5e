"""`MOTAccumulator`: what happens in each frame, as events."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from steelyard.compat.motmetrics.columns import TYPES, Events, Side, collect_events
from steelyard.compat.motmetrics.lap import linear_sum_assignment

_INDEX_FIELDS = ["FrameId", "Event"]
_EVENT_FIELDS = ["Type", "OId", "HId", "D"]
NAN = float("nan")
Pairs = dict[tuple[int, int], float]  # places of an object and a hypothesis: their distance


class MOTAccumulator:
    """Collects the events of frames: RAW, MATCH, SWITCH, MISS, FP, TRANSFER, ASCEND and MIGRATE."""

    def __init__(self, auto_id: bool = False, max_switch_time: float = float("inf")) -> None:
        self.auto_id = auto_id
        self.max_switch_time = max_switch_time
        self.reset()

    def reset(self) -> None:
        """Forget all frames."""
        self._columns: Events | None = None
        self._event_lists: dict[str, list[Any]] = {field: [] for field in _EVENT_FIELDS}
        self._index_lists: dict[str, list[Any]] = {field: [] for field in _INDEX_FIELDS}
        self.m: dict[Any, Any] = {}
        self.res_m: dict[Any, Any] = {}
        self.last_occurrence: dict[Any, Any] = {}
        self.last_match: dict[Any, Any] = {}
        self.hypHistory: dict[Any, Any] = {}
        self.dirty_events = True
        self.cached_events_df: Any = None

    @property
    def _events(self) -> dict[str, list[Any]]:
        self._leave_columns()
        return self._event_lists

    @property
    def _indices(self) -> dict[str, list[Any]]:
        self._leave_columns()
        return self._index_lists

    def _leave_columns(self) -> None:
        """Hold the events in lists from here on, to which `update` adds."""
        if self._columns is not None:
            self._index_lists, self._event_lists = self._columns.lists()
            self._columns = None

    def _add_sequence(self, frames: Any, truth: Side, results: Side, flat: Any) -> None:
        """The events of all frames, as the first that there are."""
        self.dirty_events = True
        events = self._columns = collect_events(frames, truth, results, flat)
        self.m, self.res_m = events.m, events.res_m
        self.last_occurrence, self.last_match = events.last_occurrence, events.last_match
        self.hypHistory = events.history

    def update(self, oids: Any, hids: Any, dists: Any, frameid: Any = None, vf: Any = "") -> Any:
        """Add a frame: ids of objects and hypotheses, and their distances, NaN for pairs that must not be made.

        Pairs of earlier frames go on where they can; the others are assigned at the lowest distance. `vf` is a file
        that errors are written to. Returns the frame's id.
        """
        self.dirty_events = True
        oids, hids = np.asarray(oids), np.asarray(hids)
        distance = np.atleast_2d(dists).astype(float).reshape(oids.shape[0], hids.shape[0]).copy()
        if frameid is None:
            assert self.auto_id, "auto-id is not enabled"
            frameid = self._indices["FrameId"][-1] + 1 if self._indices["FrameId"] else 0
        else:
            assert not self.auto_id, "Cannot provide frame id when auto-id is enabled"
        objects, hypotheses = oids.tolist(), hids.tolist()
        i, j = np.nonzero(np.isfinite(distance))
        pairs = dict(zip(zip(i.tolist(), j.tolist(), strict=True), distance[i, j].tolist(), strict=True))
        rows = _raw_events(objects, hypotheses, pairs)
        taken_o: set[int] = set()
        taken_h: set[int] = set()
        if pairs:
            rows += self._go_on(objects, hypotheses, pairs, frameid, taken_o, taken_h)
            if any(o not in taken_o and h not in taken_h for o, h in pairs):
                distance[list(taken_o), :] = np.nan
                distance[:, list(taken_h)] = np.nan
                rows += self._assign(objects, hypotheses, distance, frameid, taken_o, taken_h, vf)
        for place, o in enumerate(objects):
            if place not in taken_o:
                rows.append(("MISS", o, NAN, NAN))
                if vf != "":
                    vf.write("FN %d %d\n" % (frameid, o))  # noqa: UP031 - ids may be floats
        for place, h in enumerate(hypotheses):
            if place not in taken_h:
                rows.append(("FP", NAN, h, NAN))
                if vf != "":
                    vf.write("FP %d %d\n" % (frameid, h))  # noqa: UP031
        self.last_occurrence.update(dict.fromkeys(objects, frameid))
        for field, values in zip(_EVENT_FIELDS, zip(*rows, strict=True), strict=True):
            self._events[field] += values
        self._indices["FrameId"] += [frameid] * len(rows)
        self._indices["Event"] += range(len(rows))
        return frameid

    def _go_on(
        self,
        objects: list[Any],
        hypotheses: list[Any],
        pairs: Pairs,
        frameid: Any,
        taken_o: set[int],
        taken_h: set[int],
    ) -> list[tuple[Any, ...]]:
        """Pairs of earlier frames that are possible in this one."""
        places: dict[Any, list[int]] = {}
        for j, h in enumerate(hypotheses):
            places.setdefault(h, []).append(j)
        rows: list[tuple[Any, ...]] = []
        for i, o in enumerate(objects):
            if o not in self.m:
                continue
            h = self.m[o]
            j = next((j for j in places.get(h, ()) if j not in taken_h), -1)
            if (i, j) in pairs:
                taken_o.add(i)
                taken_h.add(j)
                self.last_match[o] = self.hypHistory[h] = frameid
                rows.append(("MATCH", o, h, pairs[i, j]))
        return rows

    def _assign(
        self,
        objects: list[Any],
        hypotheses: list[Any],
        distance: Any,
        frameid: Any,
        taken_o: set[int],
        taken_h: set[int],
        vf: Any,
    ) -> list[tuple[Any, ...]]:
        """Pairs of what is left, at the lowest distance."""
        rows: list[tuple[Any, ...]] = []
        kind = ""  # of the last such event of the frame, which is what the log names
        for i, j in zip(*(part.tolist() for part in linear_sum_assignment(distance)), strict=True):
            d = float(distance[i, j])
            if not np.isfinite(d):
                continue
            o, h = objects[i], hypotheses[j]
            switches = o in self.m and self.m[o] != h and abs(frameid - self.last_occurrence[o]) <= self.max_switch_time
            transfers = h in self.res_m and self.res_m[h] != o
            if switches and h not in self.hypHistory:
                kind = "ASCEND"
                rows.append((kind, o, h, d))
            if transfers:
                if o not in self.last_match:
                    kind = "MIGRATE"
                    rows.append((kind, o, h, d))
                rows.append(("TRANSFER", o, h, d))
            if vf != "" and switches:
                vf.write("%s %d %d %d %d %d\n" % (kind[:2], o, self.last_match[o], self.m[o], frameid, h))  # noqa: UP031
            if vf != "" and transfers:
                vf.write("%s %d %d %d %d %d\n" % (kind[:2], h, self.hypHistory[h], self.res_m[h], frameid, o))  # noqa: UP031
            self.hypHistory[h] = frameid
            self.last_match[o] = frameid
            rows.append(("SWITCH" if switches else "MATCH", o, h, d))
            taken_o.add(i)
            taken_h.add(j)
            self.m[o] = h
            self.res_m[h] = o
        return rows

    @property
    def events(self) -> Any:
        """The events as a table with the index (FrameId, Event)."""
        if self.dirty_events:
            if self._columns is not None:
                self.cached_events_df = self._columns.table()
            else:
                self.cached_events_df = MOTAccumulator.new_event_dataframe_with_data(self._indices, self._events)
            self.dirty_events = False
        return self.cached_events_df

    @property
    def mot_events(self) -> Any:
        """The events that are not RAW."""
        return self.events[self.events.Type != "RAW"]

    @staticmethod
    def new_event_dataframe() -> Any:
        """A table without events."""
        import pandas as pd

        index = pd.MultiIndex(levels=[[], []], codes=[[], []], names=_INDEX_FIELDS)
        columns: dict[str, Any] = {"Type": pd.Series(pd.Categorical([], categories=TYPES))}
        columns |= {field: pd.Series(dtype=float) for field in _EVENT_FIELDS[1:]}
        return pd.DataFrame(columns, index=index)

    @staticmethod
    def new_event_dataframe_with_data(indices: Any, events: Any) -> Any:
        """A table of events from a dict of lists for the index and one for the columns."""
        import pandas as pd

        if len(events) == 0:
            return MOTAccumulator.new_event_dataframe()
        index = pd.MultiIndex.from_arrays([indices[field] for field in _INDEX_FIELDS], names=_INDEX_FIELDS)
        columns: dict[str, Any] = {"Type": pd.Categorical(events["Type"], categories=TYPES, ordered=False)}
        columns |= {field: pd.Series(events[field], dtype=float).to_numpy() for field in _EVENT_FIELDS[1:]}
        return pd.DataFrame(columns, index=index)

    @staticmethod
    def merge_analysis(anas: Any, infomap: Any) -> Any:
        """The counts of several analyses under the ids of `merge_event_dataframes`."""
        merged: dict[str, dict[int, Any]] = {"hyp": {}, "obj": {}}
        for ana, infos in zip(anas, infomap, strict=False):
            if ana is None:
                return None
            for side in ana:
                ids = infos["hid_map" if side == "hyp" else "oid_map"]
                for missing in (np.nan, "nan"):
                    if missing in ids:
                        merged[side][int(ids[missing])] = 0
                for id_, count in ana[side].items():
                    merged[side][int(ids[id_ if id_ in ids else str(id_)])] = count
        return merged

    @staticmethod
    def merge_event_dataframes(
        dfs: Any,
        update_frame_indices: bool = True,
        update_oids: bool = True,
        update_hids: bool = True,
        return_mappings: bool = False,
    ) -> Any:
        """One table of several, with frames and ids that do not collide; with their mappings on request."""
        import pandas as pd

        new_ids = {"OId": itertools.count(), "HId": itertools.count()}
        merged = MOTAccumulator.new_event_dataframe()
        mappings = []
        for df in dfs:
            part = (df.events if isinstance(df, MOTAccumulator) else df).copy()
            infos: dict[str, Any] = {}
            if update_frame_indices:
                frames = merged.index.get_level_values(0)
                offset = max(frames.max() + 1, frames.unique().shape[0])
                offset = 0 if np.isnan(offset) else offset
                if len(part):
                    part.index = part.index.map(lambda place, offset=offset: (place[0] + offset, place[1]))
                infos["frame_offset"] = offset
            for column, name, wanted in (("OId", "oid_map", update_oids), ("HId", "hid_map", update_hids)):
                if wanted:
                    infos[name] = {id_: str(next(new_ids[column])) for id_ in part[column].dropna().unique()}
                    part[column] = part[column].map(infos[name].get, na_action="ignore")
            merged = pd.concat([merged, part]) if len(merged) else part
            mappings.append(infos)
        return (merged, mappings) if return_mappings else merged


def _raw_events(objects: list[Any], hypotheses: list[Any], pairs: Pairs) -> list[tuple[Any, ...]]:
    """One event for the frame, one for each pair that may be made, one for whatever has none."""
    rows: list[tuple[Any, ...]] = [("RAW", NAN, NAN, NAN)]
    rows += [("RAW", objects[i], hypotheses[j], distance) for (i, j), distance in pairs.items()]
    paired = {i for i, _ in pairs}, {j for _, j in pairs}
    rows += [("RAW", o, NAN, NAN) for i, o in enumerate(objects) if i not in paired[0]]
    rows += [("RAW", NAN, h, NAN) for j, h in enumerate(hypotheses) if j not in paired[1]]
    return rows

"""From paired rows to stats.

Events are rows: `truth` and `predicted` (codes, or 0 and 1 by class), `score` and `probability` (one column for each of
the classes that facts name), `weight`. Many rows without a group, weight or score are counted by cell of the confusion
matrix instead: a kind of unit with its copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.pairs import Array
from steelyard.core.stats import DeferredStats, Stats
from steelyard.metrics.labels.codes import count_codes, count_integers, ordered
from steelyard.metrics.labels.counts import MATRIX
from steelyard.metrics.labels.data import LabelPairs

COUNTED_FROM = 10_000  # rows; below, every row is a unit of its own


def measure(pairs: LabelPairs) -> Stats:
    """Rows by unit, or kinds of rows with their copies."""
    return measure_part(pairs, len(pairs))


def measure_part(pairs: LabelPairs, rows: int) -> Stats:
    """Measure as part of data that have so many rows: that decides whether they are listed or counted."""
    listed = pairs.grouped or pairs.several or rows < COUNTED_FROM or "weight" in pairs.truth
    if listed or list(pairs.prediction.columns.keys() - {"id"}) != ["label"]:
        return measure_rows(pairs)
    return measure_cells(pairs)


def measure_cells(pairs: LabelPairs) -> Stats:
    """Cells of the confusion matrix as kinds of units. They are listed only when something asks for them."""
    found = None
    if pairs.truth_row is None and pairs.declared is None:
        truth, predicted = pairs.truth["label"], pairs.prediction["label"]
        if truth.dtype == np.int64 and predicted.dtype == np.int64:
            found = count_integers(np.ascontiguousarray(truth), np.ascontiguousarray(predicted))
    if found is None:
        coded = pairs.coded
        if coded.predicted is None or (coded.predicted < 0).any():
            return measure_rows(pairs)
        table = count_codes(coded.truth, coded.predicted, len(coded.classes))
        if table is None:
            return measure_rows(pairs)
        found = (coded.classes, table)
    classes, matrix = found
    stats = DeferredStats(
        partial(_cells, classes, matrix),
        facts=_facts(classes, several=False),
        unit_count=len(pairs),
        expand=lambda: measure_rows(pairs),
    )
    stats.derived(MATRIX, lambda: matrix)
    return stats


def _cells(classes: tuple[str, ...], matrix: Array) -> Stats:
    flat = matrix.ravel()
    cells = np.flatnonzero(flat)
    truth, predicted = np.divmod(cells, max(1, len(classes)))
    return Stats(
        cells,
        {"rows": np.ones(len(cells))},
        events={"truth": truth, "predicted": predicted},
        owner=np.arange(len(cells)),
        facts=_facts(classes, several=False),
        copies=flat[cells],
        unify=unify,
    )


def measure_rows(pairs: LabelPairs) -> Stats:
    """Every row an event of its unit."""
    units, owner = pairs.owned
    coded, scores, probabilities = pairs.coded, pairs.scores, pairs.probabilities
    facts = _facts(coded.classes, several=pairs.several)
    events: dict[str, Array] = {"truth": coded.truth}
    for name, part in (("score", scores), ("probability", probabilities)):
        if part is not None:
            events[name] = part.values
            facts[name] = part.classes
            if len(part.classes) == 1:
                facts["positive"] = part.classes[0]
    predicted = coded.predicted if coded.predicted is not None else _decided(facts, events)
    facts["labelled"] = predicted is not None
    if predicted is not None:
        events["predicted"] = predicted
    weight: Array | None = None
    rows: Array = np.bincount(owner, minlength=len(units)).astype(np.float64)
    if "weight" in pairs.truth:
        events["weight"] = pairs.truth["weight"][pairs.rows]
        rows = np.bincount(owner, weights=events["weight"], minlength=len(units))
        weight = (rows > 0).astype(np.float64)
    return Stats(units, {"rows": rows}, events=events, owner=owner, facts=facts, weight=weight, unify=unify)


def _facts(classes: tuple[str, ...], *, several: bool) -> dict[str, Any]:
    single = not several and 0 < len(classes) <= 2
    return {"classes": classes, "several": several, "labelled": True, "positive": len(classes) - 1 if single else -1}


def _decided(facts: dict[str, Any], events: dict[str, Array]) -> Array | None:
    """Labels from scores: the class with the highest (the first of equals), or probability at least 0.5."""
    for name in ("probability", "score"):
        if name not in events:
            continue
        values, places = events[name], np.array(facts[name])
        if facts["several"]:
            return np.asarray(values >= 0.5, dtype=np.uint8) if name == "probability" else None
        if len(places) > 1:
            return np.asarray(places[np.argmax(values, axis=1)], dtype=np.int64)
        if name == "probability" and len(facts["classes"]) == 2:
            return np.asarray(np.where(values[:, 0] >= 0.5, places[0], 1 - places[0]))
    return None


def unify(parts: Sequence[Stats]) -> list[Stats]:
    """Stats of the same kind with one list of classes: batches and models that saw different ones."""
    first = parts[0].facts
    if any(part.facts["several"] != first["several"] for part in parts):
        raise InputError("one label a row cannot be joined with several", remedy="Give both sides in the same form.")
    common = set.intersection(*(set(part.events) for part in parts))  # labels here and scores there: neither is left
    names = ordered(list({name for part in parts for name in part.facts["classes"]}))
    place = {name: i for i, name in enumerate(names)}
    unified = []
    for part in parts:
        moved = np.array([place[name] for name in part.facts["classes"]], dtype=np.int64)
        facts = {**_facts(names, several=first["several"]), "labelled": "predicted" in common}
        events = {name: column for name, column in part.events.items() if name in common}
        for side in ("truth", "predicted"):
            if side in events:
                events[side] = _moved(events[side], moved, len(names), part.facts["several"])
        for side, lowest in (("score", -np.inf), ("probability", 0.0)):
            if side in events and len(part.facts[side]) == 1 and len(names) == 2:
                facts[side] = tuple(int(moved[i]) for i in part.facts[side])
                facts["positive"] = facts[side][0]
            elif side in events:
                wide = np.full((len(part.owner), len(names)), lowest)
                wide[:, moved[list(part.facts[side])]] = events[side]
                events[side], facts[side] = wide, tuple(range(len(names)))
        units, owner, copies, weight = part.units, part.owner, part.copies, part.weight
        if copies is not None:
            units = events["truth"] * len(names) + events["predicted"]
        own = None if part.unweighted else weight
        unified.append(
            Stats(units, part.columns, events=events, owner=owner, facts=facts, weight=own, copies=copies, unify=unify)
        )
    return unified


def _moved(values: Array, moved: Array, classes: int, several: bool) -> Array:
    if not several:
        return np.where(values >= 0, moved[values] if len(moved) else values, values)
    wide = np.zeros((len(values), classes), dtype=np.uint8)
    wide[:, moved] = values
    return wide

"""Galleries: the worst units of a report, and the units on which two models differ most, drawn over their images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core import catalogue
from steelyard.core.errors import InputError
from steelyard.core.gallery import WORST, Gallery, Layer, Shot, mark_bounds, scene_marks
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.task import Task
from steelyard.results.details import UnitTable

DIFFERENT = 8  # units of a comparison


def report_gallery(task: Task, pairs: Any, units: UnitTable, metrics: Sequence[Metric]) -> Gallery | None:
    """The worst units by the first metric that tells them apart; None where the task draws nothing over images."""
    metric = _first(units, metrics)
    places = None if metric is None or not _draws(task, pairs) else _places(pairs, units)
    if metric is None or places is None:
        return None
    values = np.asarray(units.values[str(metric)], dtype=float)
    badness = np.full(len(pairs.units), np.nan)
    badness[places] = distance_from_best(values, metric.better)
    shown, worst = (task.view("shown_units") or _worst)(pairs, badness)
    by_place = dict(zip(places.tolist(), values.tolist(), strict=True))
    shots = []
    for rank, (place, listed) in enumerate(zip(shown, _shots(task, pairs, shown, metrics), strict=True)):
        said = f"{metric.label} = {by_place[place]:.3f}"
        for shot in listed:
            layers = tuple(
                replace(layer, summary=f"{said}{layer.summary and '; '}{layer.summary}") for layer in shot.layers
            )
            shots.append(replace(shot, layers=layers, worst=rank < worst))
    sweep = task.view("sweep")
    swept = None if sweep is None else sweep(pairs)
    threshold = None if swept is None else swept.scores[swept.start]
    words = task.view("gallery_words") or ()
    return Gallery(units.unit, len(units.units), metric.label, tuple(shots), swept, threshold, words) if shots else None


def pair_gallery(
    task: Task, sides: Sequence[Any], tables: Sequence[UnitTable], metrics: Sequence[Metric]
) -> Gallery | None:
    """The units whose first score differs most between two models, with a layer for each of them."""
    metric = _first(tables[0], metrics)
    if metric is None or not all(_draws(task, pairs) for pairs in sides):
        return None
    positions = [_places(pairs, table) for pairs, table in zip(sides, tables, strict=True)]
    if any(places is None for places in positions):
        return None
    a, b = (np.asarray(table.values[str(metric)], dtype=float) for table in tables)
    change = np.abs(b - a)
    order = [i for i in np.argsort(-np.where(np.isfinite(change), change, -1), kind="stable").tolist() if change[i] > 0]
    order = order[:DIFFERENT]
    if not order:
        return None
    units = [[int(places[i]) for i in order] for places in positions if places is not None]
    frames = _shared_frames(task, sides, units)
    listed = [
        list(_shots(task, pairs, mine, metrics, more)) for pairs, mine, more in zip(sides, units, frames, strict=True)
    ]
    shots = []
    for place, mine, theirs in zip(order, *listed, strict=True):
        said = [f"{metric.label} = {values[place]:.3f}" for values in (a, b)]
        for first, second in zip(mine, theirs, strict=True):
            layers = [replace(shot.layers[0], summary=text) for shot, text in zip((first, second), said, strict=True)]
            bounds = first.bounds if first.fits else _around(first.bounds, second.bounds)
            shots.append(replace(first, layers=tuple(layers), bounds=bounds))
    sweep = task.view("sweep")
    threshold = None if sweep is None else 0.5
    words, unit = task.view("gallery_words") or (), tables[0].unit
    return Gallery(unit, len(tables[0].units), metric.label, tuple(shots), None, threshold, words) if shots else None


def distance_from_best(values: Array, better: str) -> Array:
    """How bad each value is; higher is worse."""
    return np.asarray({"higher": -values, "zero": np.abs(values), "one": np.abs(values - 1)}.get(better, values))


def _first(units: UnitTable, metrics: Sequence[Metric]) -> Metric | None:
    """The first metric that has a value of more than one unit."""
    return next((m for m in metrics if np.isfinite(np.asarray(units.values[str(m)], dtype=float)).sum() > 1), None)


def _draws(task: Task, pairs: Any) -> bool:
    return pairs is not None and hasattr(pairs, "units") and (task.view("shots") or task.scene) is not None


def _places(pairs: Any, table: UnitTable) -> Array | None:
    """The place among the pairs of every unit of a table; None where the units are groups of others."""
    known = {str(name): i for i, name in enumerate(pairs.units.tolist())}
    places = [known.get(str(name), -1) for name in table.units.tolist()]
    return None if min(places, default=-1) < 0 else np.array(places)


def _worst(pairs: Any, badness: Array) -> tuple[list[int], int]:
    order = [i for i in np.argsort(-badness, kind="stable").tolist() if np.isfinite(badness[i])][:WORST]
    return order, len(order)


def _shared_frames(task: Task, sides: Sequence[Any], units: Sequence[Sequence[int]]) -> list[tuple[Any, ...]]:
    """Of units with many pictures, those that either model would show; each side is then asked for the same."""
    frames = task.view("shown_frames")
    if frames is None:
        return [(), ()]
    first, second = (frames(pairs, mine) for pairs, mine in zip(sides, units, strict=True))
    shared = [sorted({*a[:2], *b[:2]}) for a, b in zip(first, second, strict=True)]
    return [(shared,), (shared,)]


def _shots(
    task: Task, pairs: Any, units: Sequence[int], metrics: Sequence[Metric], more: tuple[Any, ...] = ()
) -> Iterator[list[Shot]]:
    """The pictures of each unit."""
    make: Callable[..., Sequence[Shot | list[Shot]]] | None = task.view("shots")
    if make is not None:
        for shot in make(pairs, units, *more):
            yield shot if isinstance(shot, list) else [shot]
        return
    for unit in units:
        yield _scene_shot(task, pairs, unit, metrics)


def _scene_shot(task: Task, pairs: Any, unit: int, metrics: Sequence[Metric]) -> list[Shot]:
    """The picture that the task draws of one unit; none where it is made of pixels."""
    assert task.scene is not None
    first = task.view("pictured")
    specs = dict.fromkeys([*([first] if first else []), *map(str, metrics), *task.defaults])
    for spec in specs:
        try:
            scene = task.scene(pairs, unit, catalogue.parse(spec, task.name))
        except InputError:  # this metric makes no pairs
            continue
        marks = scene_marks(scene)
        name = str(pairs.units[unit])
        files = tuple(dict.fromkeys([*scene.images, *([name] if task.unit == "image" else [])]))
        if scene.rasters:
            return []
        return [Shot(name, name, scene.bounds or mark_bounds(marks), (Layer(marks, scene.summary),), files)]
    return []


def _around(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, float, float, float]:
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])

"""Plans held to what they promise: pilots plan a number of units, and test sets of that size show the difference or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core import catalogue
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.engine.compare import compare
from steelyard.engine.measure import per_unit_state
from steelyard.engine.planning import POWER, Pilot, units_for
from steelyard.engine.run import measure_sides
from steelyard.engine.sides import sides_of
from steelyard.results.score import Difference

Rng = np.random.Generator
LEVEL = 0.95


@frozen
class Study:
    """Two models of a population, one better than the other, a metric, and how many units a pilot has."""

    task: str
    metric: str
    draw: Callable[[Rng, int], tuple[Any, Any, Any]]  # truth, A, B
    pilot: int
    population: int


@frozen
class Power:
    """The median of the planned numbers of units and how often such sets show the difference; the same when cautious."""

    units: int
    shown: int
    cautious: int
    shown_cautious: int
    sets: int


def labels(rng: Rng, units: int) -> tuple[Any, Any, Any]:
    """Labels of four classes, one of them rare; B is right more often than A, and often where A is."""
    true = rng.choice(4, units, p=[0.45, 0.3, 0.17, 0.08])
    wrong, ease = (true + rng.integers(1, 4, units)) % 4, rng.random(units)
    ids, sides = np.arange(units), [true]
    for right in (0.72, 0.79):
        luck = np.where(rng.random(units) < 0.5, ease, rng.random(units))
        sides.append(np.where(luck < right, true, wrong))
    truth, a, b = ({"id": ids, "label": one} for one in sides)
    return truth, a, b


def boxes(rng: Rng, units: int) -> tuple[Any, Any, Any]:
    """Images of three boxes each of five classes; B finds more of them, and both have false alarms of lower scores."""
    image = np.repeat(np.arange(units), 3)
    count, place = len(image), 100.0 * np.tile(np.arange(3), units)
    label = rng.integers(0, 5, count)
    size = np.full(count, 40.0)
    truth = {"image": image, "label": label, "x": place, "y": np.zeros(count), "w": size, "h": size}
    ease = rng.random(count)

    def detected(share: float) -> dict[str, Any]:
        kept = 0.6 * ease + 0.4 * rng.random(count) < share
        false = rng.random(count) < 0.35
        side = {name: np.concatenate([truth[name][kept], truth[name][false]]) for name in truth}
        side["x"] = side["x"] + np.concatenate([rng.normal(0, 3, kept.sum()), np.full(false.sum(), 50.0)])
        side["score"] = np.concatenate([rng.beta(4, 2, kept.sum()), rng.beta(2, 3, false.sum())])
        return side

    return truth, detected(0.6), detected(0.64)


def tracks(rng: Rng, units: int) -> tuple[Any, Any, Any]:
    """Videos of six frames with three tracks; B loses and renames fewer of them, and often where A does not."""
    frames, tracks = 6, 3
    count = units * tracks * frames
    sequence = np.repeat(np.arange(units), tracks * frames)
    track, frame = (
        np.tile(np.repeat(np.arange(tracks), frames), units),
        np.tile(np.arange(1, frames + 1), units * tracks),
    )
    size = np.full(count, 40.0)
    truth = {"sequence": sequence, "frame": frame, "track": track, "x": 100.0 * track + 3.0 * frame}
    truth |= {"y": np.zeros(count), "w": size, "h": size, "label": np.full(count, "car")}
    ease = np.repeat(rng.random(units * tracks), frames)

    def followed(share: float) -> dict[str, Any]:
        kept = 0.5 * ease + 0.5 * rng.random(count) < share
        renamed = rng.random((units * tracks, frames)) < 0.5 * (1 - share)
        side = {name: values[kept] for name, values in truth.items()}
        side["track"] = (10 * track + renamed.cumsum(axis=1).reshape(-1))[kept]
        side["x"] = side["x"] + rng.normal(0, 3, int(kept.sum()))
        return side

    return truth, followed(0.75), followed(0.79)


STUDIES = (
    Study("labels", "accuracy", labels, 200, 20_000),
    Study("labels", "macro(f1)", labels, 200, 20_000),
    Study("boxes", "map50", boxes, 150, 3_000),
    Study("boxes", "map", boxes, 150, 3_000),
    Study("tracking", "hota", tracks, 60, 1_500),
)


def power_of(study: Study, pilots: int, sets: int, draws: int, seed: int) -> Power:
    """Plans of pilots for the difference that the population has, and what sets of the median size show of it."""
    rng = np.random.default_rng(seed)
    task, truth_and_models = catalogue.find_task(study.task), study.draw(rng, study.population)
    data = [
        measure_sides(task, Request.of(study.task, [study.metric], {}), truth_and_models[0], model)
        for model in truth_and_models[1:]
    ]
    metric = data[0].metrics[0]
    states = [per_unit_state(one.pairs, one.state, one.metrics) for one in data]

    def compared(units: int, number: int) -> Difference:
        return _compared(states, metric, units, rng, Request.of(study.task, None, {"draws": draws, "seed": number}))

    target = abs(_difference(states, metric))
    planned = []
    for k in range(pilots):
        d = compared(study.pilot, k)
        planned.append(units_for(Pilot(d.spec, d.se, d.df, study.pilot), target, LEVEL, POWER))
    sizes = [int(np.median([getattr(one, name) for one in planned])) for name in ("units", "cautious")]
    shown = [sum(compared(size, k).p < 1 - LEVEL for k in range(sets)) for size in sizes]
    return Power(sizes[0], shown[0], sizes[1], shown[1], sets)


def _difference(states: list[State], metric: Metric) -> float:
    request = Request.of("", None, {"confidence": None})
    a, b = sides_of(states, [metric], request)
    return b.scores[str(metric)].value - a.scores[str(metric)].value


def _compared(states: list[State], metric: Metric, units: int, rng: Rng, request: Request) -> Difference:
    """The models on units that are drawn with replacement; one that is drawn twice is two units."""
    times = np.bincount(rng.integers(0, len(states[0]), units), minlength=len(states[0]))
    drawn = []
    for state in states:
        parts = [state.take(np.flatnonzero(times > k)) for k in range(int(times.max()))]
        whole = State.stack(parts) if len(parts) > 1 else parts[0]
        drawn.append(replace(whole, units=replace(whole.units, ids=np.arange(units))))
    a, b = sides_of(drawn, [metric], request)
    return compare(a, b, [metric], request)[str(metric)].difference

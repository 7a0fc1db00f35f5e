"""Populations of units that test sets are drawn from, for simulations of what intervals hold.

They are harder than the drawn data of the laws: units differ in how hard they are, errors of one unit go together,
classes are rare, errors are now and then gross. Tasks without one of their own here have the laws' drawn data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard.core.frozen import frozen
from support.drawn import DRAWN
from support.drawn_common import Data
from support.drawn_objects import objects

Rng = np.random.Generator
TruthAndPredictions = tuple[Data, Data]


@frozen
class Population:
    """How to draw units, which metrics are asked for (none: all of the catalogue), and what the data need."""

    name: str
    draw: Callable[[Rng, int], TruthAndPredictions]
    metrics: tuple[str, ...] = ()
    policy: tuple[tuple[str, str], ...] = ()


def dishes(rng: Rng, units: int, *, gross: float = 0.0, student: float = 0.0) -> TruthAndPredictions:
    """Dishes of one to four items whose errors share the dish's own; a share of dishes is grossly off.

    With `student`, errors are Student's with so many degrees of freedom.
    """
    dish = np.repeat(np.arange(units), rng.integers(1, 5, units))
    first = np.flatnonzero(np.diff(dish, prepend=-1))
    item = np.arange(len(dish)) - np.repeat(first, np.diff(np.append(first, len(dish))))
    weight = rng.lognormal(4.4, 0.6, len(dish))
    noise = rng.standard_t(student, len(dish)) if student else rng.normal(0, 1, len(dish))
    factor = np.exp(rng.normal(0, 0.12, units)[dish]) * (1 + 0.12 * noise)
    factor *= np.where(rng.random(units) < gross, rng.uniform(0.3, 2.5, units), 1.0)[dish]
    weight, predicted = (
        np.where(rng.random(len(dish)) < share, 10 * np.round(values / 10), values)
        for share, values in ((0.1, weight), (0.3, weight * factor + rng.normal(2, 4, len(dish))))
    )
    keys = {"dish": dish, "item": item}
    return {**keys, "weight": weight}, {**keys, "weight": predicted}


def plates(rng: Rng, units: int, *, gross: float = 0.0) -> TruthAndPredictions:
    """Dishes of one item, weighed with an error that does not grow with them."""
    ids, weight = np.arange(units), rng.lognormal(5, 0.4, units)
    error = rng.normal(3, 25, units) + np.where(rng.random(units) < gross, rng.normal(0, 250, units), 0.0)
    return {"dish": ids, "weight": weight}, {"dish": ids, "weight": weight + error}


def meals(rng: Rng, units: int) -> TruthAndPredictions:
    """Sequences of one to six frames in which a meal is eaten; each is misjudged as a whole, and frame by frame."""
    sequence = np.repeat(np.arange(units), rng.integers(1, 7, units))
    first = np.flatnonzero(np.diff(sequence, prepend=-1))
    t = np.arange(len(sequence)) - np.repeat(first, np.diff(np.append(first, len(sequence))))
    weight = rng.lognormal(5.5, 0.5, units)[sequence] * 0.75**t
    density = rng.uniform(0.3, 3.5, units)[sequence]
    predicted = weight * np.exp(rng.normal(0, 0.15, units)[sequence] + rng.normal(0, 0.1, len(t)))
    keys = {"sequence": sequence, "t": t}
    valid = (t == 0) | (rng.random(len(t)) < 0.9)
    truth = {**keys, "weight": weight, "kcal_per_g": density, "time": 60 * t, "valid": valid}
    return truth, {**keys, "weight": predicted + rng.normal(1, 3, len(t))}


def verdicts(rng: Rng, units: int, *, share: float = 0.25, apart: float = 1.6) -> TruthAndPredictions:
    """Rows of two classes with probabilities that are a little too sure of themselves."""
    ids, label = np.arange(units), rng.random(units) < share
    logit = rng.normal(0, 1, units) + apart * (label - 0.5)
    probability = 1 / (1 + np.exp(-1.5 * (logit + 0.5 * np.log(share / (1 - share)))))
    return {"id": ids, "label": np.where(label, "yes", "no")}, {"id": ids, "probability": probability}


NAMES = np.array(["ant", "bee", "cat", "dog", "elk"])


def species(rng: Rng, units: int, *, right: float = 0.8, rare: float = 0.03) -> TruthAndPredictions:
    """Five classes, of which one is rare, with so many rows named rightly."""
    ids = np.arange(units)
    share = np.array([0.4, 0.25, 0.2, 0.15 - rare, rare])
    truth = rng.choice(5, units, p=share)
    named = np.where(rng.random(units) < right, truth, rng.choice(5, units, p=share))
    return {"id": ids, "label": NAMES[truth]}, {"id": ids, "label": NAMES[named]}


def sightings(rng: Rng, units: int) -> TruthAndPredictions:
    """Five classes of unlike sizes with probabilities."""
    ids, share = np.arange(units), np.array([0.4, 0.25, 0.2, 0.1, 0.05])
    truth = rng.choice(5, units, p=share)
    logit = rng.normal(0, 1, (units, 5)) + 2.0 * (truth[:, np.newaxis] == np.arange(5)) + np.log(share)
    probability = np.exp(1.3 * logit)
    probability /= probability.sum(axis=1, keepdims=True)
    columns = {f"probability:{name}": probability[:, i] for i, name in enumerate(NAMES)}
    return {"id": ids, "label": NAMES[truth]}, {"id": ids, **columns}


def tags(rng: Rng, units: int) -> TruthAndPredictions:
    """Rows with none to five of five classes."""
    ids, share = np.arange(units), np.array([0.5, 0.35, 0.25, 0.1, 0.05])
    has = rng.random((units, 5)) < share
    hard = rng.beta(1, 6, (units, 1))
    named = has ^ (rng.random((units, 5)) < hard * np.sqrt(share))
    truth, predicted = (["|".join(NAMES[row]) for row in side] for side in (has, named))
    return {"id": ids, "labels": truth}, {"id": ids, "labels": predicted}


def streets(rng: Rng, units: int, *, classes: int = 8) -> TruthAndPredictions:
    """Boxes of classes that are the rarer the higher their number, in images that are hard or easy as a whole."""
    count = rng.poisson(3.5, units) + (np.arange(units) % 9 > 0)
    owner = np.repeat(np.arange(units), count)
    hard = rng.beta(2, 3, units)
    share = 1 / np.arange(1, classes + 1)
    label = rng.choice(classes, len(owner), p=share / share.sum())
    size = np.exp(rng.normal(4.2, 0.9, (len(owner), 1)) + rng.normal(0, 0.3, (len(owner), 2))).clip(4, 400)
    corner = rng.random((len(owner), 2)) * 600
    result = rng.random(len(owner)) > 0.1 + 0.4 * hard[owner]
    rows = np.flatnonzero(result)
    rows = np.sort(np.concatenate([rows, rows[rng.random(len(rows)) < 0.08]]))
    box = np.concatenate([corner, size], axis=1)[rows]
    noise = rng.normal(0, 1, box.shape) * (0.02 + 0.15 * hard[owner[rows], np.newaxis]) * np.tile(size[rows], 2)
    named = np.where(rng.random(len(rows)) < 1 - 0.2 * hard[owner[rows]], label[rows], rng.choice(classes, len(rows)))
    false_owner = np.repeat(np.arange(units), rng.poisson(1.5 * hard))
    false = np.column_stack([rng.random((len(false_owner), 2)) * 600, rng.lognormal(4, 0.6, (len(false_owner), 2))])
    boxes = np.concatenate([np.column_stack([(box + noise)[:, :2], np.abs((box + noise)[:, 2:]) + 1]), false])
    score = np.concatenate([rng.beta(4, 1.5 + 2 * hard[owner[rows]]), rng.beta(2, 4, len(false_owner))])
    sides = []
    parts = ((owner, label, np.concatenate([corner, size], axis=1)), (None, None, boxes))
    for at, kinds, xywh in parts:
        at = np.concatenate([owner[rows], false_owner]) if at is None else at
        kinds = np.concatenate([named, rng.choice(classes, len(false_owner))]) if kinds is None else kinds
        side: Data = {"image": at, "label": [f"k{k}" for k in kinds.tolist()]}
        sides.append({**side, **{name: xywh[:, i] for i, name in enumerate("xywh")}})
    return sides[0], {**sides[1], "score": score}


def queries(rng: Rng, units: int) -> TruthAndPredictions:
    """Queries with one to ten relevant documents, which are hard or easy as a whole."""
    truth: Data = {"query": [], "doc": [], "relevance": []}
    run: Data = {"query": [], "doc": [], "score": []}
    for unit in range(units):
        relevant = int(rng.integers(1, 11))
        docs = [f"d{i:02d}" for i in range(30)]
        grade = np.concatenate([rng.integers(1, 4, relevant), np.zeros(20 - relevant, dtype=np.int64)])
        truth["query"] += [unit] * 20
        truth["doc"] += docs[:20]
        truth["relevance"] += grade.tolist()
        ahead = np.concatenate([np.sqrt(grade), np.zeros(10)]) * rng.gamma(2, 0.6)
        result = np.flatnonzero(rng.random(30) < rng.beta(4, 1)).tolist() or [29]
        run["query"] += [unit] * len(result)
        run["doc"] += [docs[i] for i in result]
        run["score"] += (ahead + rng.normal(0, 1, 30))[result].tolist()
    return truth, run


def scenes(rng: Rng, units: int) -> TruthAndPredictions:
    """Maps of five classes, of which one is rare; the prediction's regions are moved as far as the image is hard."""
    sides: tuple[list[Any], list[Any]] = ([], [])
    for _ in range(units):
        hard = rng.beta(2, 4)
        pair = [np.zeros((24, 24), dtype=np.uint8) for _ in range(2)]
        for _ in range(int(rng.integers(2, 6))):
            label = int(rng.choice([1, 2, 3, 4], p=[0.45, 0.3, 0.2, 0.05]))
            y, x, h, w = (int(v) for v in rng.integers([0, 0, 4, 4], [18, 18, 12, 12]))
            dy, dx = (int(v) for v in np.round(rng.normal(0, 4 * hard, 2)))
            pair[0][y : y + h, x : x + w] = label
            named = label if rng.random() > 0.5 * hard else int(rng.integers(0, 5))
            pair[1][max(0, y + dy) : max(0, y + h + dy), max(0, x + dx) : max(0, x + w + dx)] = named
        for side, grid in zip(sides, pair, strict=True):
            side.append(grid)
    image = np.arange(units)
    return {"image": image, "map": objects(sides[0])}, {"image": image, "map": objects(sides[1])}


MULTICLASS = (
    "accuracy", "balanced_accuracy", "mcc", "kappa", "macro(recall)", "macro(precision)", "macro(f1)", "micro(f1)",
    "weighted(f1)", "recall(label=elk)", "precision(label=elk)", "f1(label=elk)", "specificity(label=elk)",
)  # fmt: skip
SURE = (
    "macro(roc_auc)", "macro(ap)", "ovo(roc_auc)", "log_loss", "brier", "ece", "mce", "classwise_ece", "topk@2",
)  # fmt: skip
MULTILABEL = ("accuracy", "exact_match", "hamming", "macro(f1)", "micro(f1)", "weighted(f1)", "macro(recall)")
SKIP = (("missing", "skip"), ("extra", "skip"))
OWN: dict[str, tuple[Population, ...]] = {
    "weights": (
        Population("dishes of items", dishes),
        Population("3 % gross errors", lambda rng, units: dishes(rng, units, gross=0.03)),
    ),
    "sequences": (Population("meals", meals, policy=SKIP),),
    "labels": (
        Population("two classes, 25 % positive", verdicts),
        Population("five classes, one 3 %, 84 % right", species, MULTICLASS),
        Population("the same, 98 % right", lambda rng, units: species(rng, units, right=0.97), MULTICLASS),
        Population("five classes with probabilities", sightings, SURE),
        Population("several classes per row", tags, MULTILABEL),
    ),
    "boxes": (Population("streets of 8 classes", streets),),
    "rankings": (Population("queries hard and easy", queries),),
    "segmentation": (Population("scenes with a rare class", scenes),),
}


def of_task(task: str) -> tuple[Population, ...]:
    """The populations of a task."""
    drawn = DRAWN[task]
    policy = tuple({"missing": "worst", "extra": "skip", **drawn.policy}.items())
    return OWN.get(task) or (Population("as the laws draw it", drawn.draw, policy=policy),)

"""Drawn data, one generator a task: what the laws are tested on.

`DRAW[task](rng, units)` gives truth and predictions as `evaluate` takes them, with at least one row in each unit and
the awkward cases that the task allows. `PERFECT[task](truth)` gives predictions that are equal to the truth.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

Data = dict[str, Any]


def draw_weights(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    dish, item = [], []
    for unit in range(units):
        count = int(rng.integers(1, 5))
        dish += [f"d{unit}"] * count
        item += [f"i{i}" for i in range(count)]
    weight = np.round(rng.gamma(2.0, 60.0, len(dish)), 1)
    weight[rng.random(len(dish)) < 0.05] = 0.0
    predicted = np.round(weight * rng.uniform(0.5, 1.6, len(dish)) + rng.normal(0, 5, len(dish)), 1)
    truth = {"dish": dish, "item": item, "weight": weight, "group": [f"g{hash_of(d) % 3}" for d in dish]}
    return truth, {"dish": dish, "item": item, "weight": predicted}


def draw_sequences(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    sequence: list[str] = []
    t: list[int] = []
    density: list[float] = []
    for unit in range(units):
        count = int(rng.integers(1, 7))
        sequence += [f"s{unit}"] * count
        t += list(range(count))
        density += [float(np.round(rng.uniform(0, 4), 2))] * count
    weight = np.round(rng.gamma(2.0, 60.0, units)[[int(s[1:]) for s in sequence]] * 0.8 ** np.array(t), 1)
    valid = rng.random(len(t)) > 0.1
    first = np.flatnonzero(np.array(t) == 0)
    valid[first[::2]] = True
    for unit in range(units):  # at least one valid frame in each sequence
        rows = np.flatnonzero(np.array(sequence) == f"s{unit}")
        if not valid[rows].any():
            valid[rows[0]] = True
    predicted = np.round(weight * rng.uniform(0.5, 1.6, len(t)) + rng.normal(0, 5, len(t)), 1)
    truth = {
        "sequence": sequence, "t": t, "weight": weight, "kcal_per_g": density, "valid": valid,
        "group": [f"g{hash_of(s) % 3}" for s in sequence],
    }  # fmt: skip
    return truth, {"sequence": sequence, "t": t, "weight": predicted}


def draw_boxes(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    image: list[str] = []
    for unit in range(units):
        image += [f"i{unit:03d}"] * int(rng.integers(1, 6))
    n = len(image)
    size = np.exp(rng.normal(4.0, 1.0, (n, 2))).clip(3, 300)
    size[:3] = [[10, 10], [60, 60], [200, 200]]  # one of each area
    corner = rng.random((n, 2)) * 400
    label = rng.choice(["cat", "dog", "owl"], n)
    crowd = rng.random(n) < 0.05
    crowd[:3] = False
    truth = {
        "image": image, "label": label, "x": corner[:, 0], "y": corner[:, 1], "w": size[:, 0], "h": size[:, 1],
        "crowd": crowd, "group": [f"g{hash_of(i) % 3}" for i in image],
    }  # fmt: skip
    rows = np.flatnonzero(rng.random(n) < 0.85)
    rows = np.sort(np.concatenate([rows, rows[::7], np.arange(3)]))  # some twice
    box = np.concatenate([corner, size], axis=1)[rows]
    box = np.abs(box + rng.normal(0, 0.06, box.shape) * np.tile(size[rows], 2))
    found = np.where(rng.random(len(rows)) < 0.9, label[rows], rng.choice(["cat", "dog", "owl"], len(rows)))
    false = int(rng.integers(units, 2 * units))
    extra = np.concatenate([rng.random((false, 2)) * 400, rng.random((false, 2)) * 200 + 1], axis=1)
    box = np.concatenate([box, extra])
    return truth, {
        "image": [image[i] for i in rows] + [image[i] for i in rng.integers(0, n, false)],
        "label": np.concatenate([found, rng.choice(["cat", "dog", "owl"], false)]),
        "x": box[:, 0], "y": box[:, 1], "w": box[:, 2], "h": box[:, 3],
        "score": np.concatenate([rng.beta(4, 2, len(rows)), rng.beta(2, 3, false)]),
    }  # fmt: skip


def perfect_boxes(truth: Data) -> Data:
    """The truth itself, and below any threshold one box on nothing: a rate over wrong boxes needs one."""
    n = len(truth["image"])
    columns = {name: [*truth[name], truth[name][0]] for name in ("image", "label", "x", "y", "w", "h")}
    columns["x"][-1], columns["y"][-1] = 5000.0, 5000.0
    return {**columns, "score": [*(1 - np.arange(n) / (2 * n)), 0.01]}


def draw_masks(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """The boxes of `draw_boxes` as ellipses of pixels, in all forms that a mask may have."""
    truth, found = draw_boxes(rng, units)
    sides = []
    for side in (truth, found):
        box = np.column_stack([side[name] for name in "xywh"])
        masks = [ellipse_mask(b, i) for i, b in enumerate(box)]
        kept = {name: column for name, column in side.items() if name not in "xywh"}
        n = len(masks)
        sides.append({**kept, "mask": objects(masks), "height": [SIDE] * n, "width": [SIDE] * n})
    return sides[0], sides[1]


SIDE = 700


def objects(values: list[Any]) -> Any:
    """An array of Python objects, whatever they are."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def ellipse_mask(box: Any, form: int) -> Any:
    """An ellipse in a box, as a polygon or its JSON; or the box itself as run lengths."""
    x, y, w, h = (float(v) for v in box)
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    ring = np.stack([x + w / 2 * (1 + np.cos(angle)), y + h / 2 * (1 + np.sin(angle))], axis=1).round(2)
    polygon = [[float(v) for v in ring.ravel()]]
    if form % 3 == 0:
        return polygon
    if form % 3 == 1:
        return json.dumps(polygon)
    left, top = (min(max(int(v), 0), SIDE - 2) for v in (x, y))
    wide, high = min(max(1, int(w)), SIDE - 1 - left), min(max(1, int(h)), SIDE - 1 - top)
    counts = [left * SIDE + top, *[high, SIDE - high] * wide]
    counts[-1] = SIDE * SIDE - sum(counts[:-1])
    return {"size": [SIDE, SIDE], "counts": counts}


def perfect_masks(truth: Data) -> Data:
    """The truth itself, and a small one on nothing."""
    n = len(truth["image"])
    columns = {name: [*truth[name], truth[name][0]] for name in ("image", "label", "mask", "height", "width")}
    columns["mask"][-1] = [[SIDE - 6.0, SIDE - 6.0, SIDE - 1.0, SIDE - 6.0, SIDE - 1.0, SIDE - 1.0]]
    return {**columns, "score": [*(1 - np.arange(n) / (2 * n)), 0.01]}


def draw_keypoints(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Points inside the boxes of `draw_boxes`; some truths show none."""
    truth, found = draw_boxes(rng, units)
    # Twenty detections of a class count in an image: not more, so that a perfect model finds all.
    box = np.column_stack([truth[name] for name in "xywh"])
    rows: list[list[float]] = []
    for i, (x, y, w, h) in enumerate(box):
        xy = rng.random((17, 2)) * [w, h] + [x, y]
        seen = rng.integers(0, 3, 17) if i < 3 or rng.random() > 0.05 else np.zeros(17)
        seen[0] = 2 if i < 3 else seen[0]
        rows.append([float(v) for v in np.column_stack([xy, seen]).ravel()])
    truth["keypoints"] = objects(rows)
    nearest = {key: np.array(values) for key, values in found.items() if key in "xywh"}
    d_rows = []
    for i in range(len(found["score"])):
        # The points of the truth whose box is nearest, moved with the box.
        distance = sum((nearest[k][i] - box[:, j]) ** 2 for j, k in enumerate("xywh"))
        j = int(np.argmin(distance))
        points = np.array(rows[j]).reshape(17, 3)
        scale = np.array([nearest["w"][i], nearest["h"][i]]) / box[j, 2:]
        points[:, :2] = (points[:, :2] - box[j, :2]) * scale + [nearest["x"][i], nearest["y"][i]]
        points[:, :2] += rng.normal(0, 0.01, (17, 2)) * box[j, 2:]
        d_rows.append([float(v) for v in points.ravel()])
    columns = {name: found[name] for name in ("image", "label", "score")}
    return truth, {**columns, "keypoints": objects(d_rows)}


def perfect_keypoints(truth: Data) -> Data:
    """The truth itself, and one on nothing."""
    n = len(truth["image"])
    columns = {name: [*truth[name], truth[name][0]] for name in ("image", "label", "keypoints")}
    columns["keypoints"][-1] = [v + 5000.0 for v in truth["keypoints"][0]]
    return {**columns, "score": [*(1 - np.arange(n) / (2 * n)), 0.01]}


def draw_losses(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    image, item, target, value, logit, predicted = [], [], [], [], [], []
    for unit in range(units):
        for row in range(int(rng.integers(2, 9))):
            image.append(f"m{unit}")
            item.append(f"r{row}")
            hard = 1.0 if row == 0 else float(rng.random() < 0.2)  # at least one positive and one coordinate
            soft = float(np.round(rng.random(), 2))
            is_class, is_box = row != 1, row == 1 or rng.random() < 0.3
            target.append((soft if rng.random() < 0.2 and row else hard) if is_class else np.nan)
            logit.append(float(rng.normal(0, 4)) if is_class else np.nan)
            value.append(float(np.round(rng.normal(), 2)) if is_box else np.nan)
            predicted.append(value[-1] + float(rng.normal(0, 0.7)))
    ignore = np.array([int(i[1:]) > 1 for i in item]) & (rng.random(len(item)) < 0.1)
    truth = {
        "image": image, "item": item, "target": np.array(target), "value": np.array(value), "ignore": ignore,
        "group": [f"g{hash_of(m) % 3}" for m in image],
    }  # fmt: skip
    return truth, {"image": image, "item": item, "logit": np.array(logit), "value": np.array(predicted)}


def perfect_losses(truth: Data) -> Data:
    """Logits far out on the right side. A soft target has a loss of its own, so its row must not count."""
    soft = (truth["target"] > 0) & (truth["target"] < 1)
    truth["ignore"] = truth["ignore"] | soft
    logit = np.where(truth["target"] > 0.5, 2000.0, np.where(np.isnan(truth["target"]), np.nan, -2000.0))
    return {"image": truth["image"], "item": truth["item"], "logit": logit, "value": truth["value"]}


def draw_ellipses(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Images with none to four ellipses: found, missed, found twice, or found where there are none."""
    truth: list[tuple[Any, ...]] = []
    found: list[tuple[Any, ...]] = []
    nothing = (np.nan,) * 5
    for unit in range(units):
        image = f"i{unit}"
        many = int(rng.integers(0, 5)) if unit > 1 else 3
        own = np.column_stack(
            [rng.uniform(0, 200, (many, 2)), rng.uniform(-90, 270, many), rng.uniform(4, 40, (many, 2))]
        )
        truth += [(image, *row) for row in np.round(own, 2).tolist()] or [(image, *nothing)]
        seen = own[rng.random(many) < 0.85]
        seen = np.concatenate([seen, seen[rng.random(len(seen)) < 0.2]])
        noise = rng.normal(0, [3, 3, 6, 2, 2], seen.shape) * rng.choice([0.1, 1.0, 3.0], (len(seen), 1))
        seen = seen + noise
        false = np.column_stack([rng.uniform(0, 200, (2, 2)), rng.uniform(0, 180, 2), rng.uniform(4, 40, (2, 2))])
        seen = np.concatenate([seen, false[rng.random(2) < 0.3]])
        seen[:, 3:] = np.maximum(seen[:, 3:], 1)
        rows = [(image, *row, rng.random()) for row in seen.tolist()]
        found += rows or [(image, *nothing, np.nan)]
    names = ("image", "xc", "yc", "theta", "a", "b", "score")
    sides = [dict(zip(names, zip(*rows, strict=True), strict=False)) for rows in (truth, found)]
    sides[0]["group"] = [f"g{hash_of(i) % 3}" for i in sides[0]["image"]]
    return sides[0], sides[1]


def draw_labels(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Two classes, groups as units, ties in the probabilities, weights by row; each group holds both classes."""
    group = np.repeat([f"g{unit}" for unit in range(units)], rng.integers(2, 6, units))
    label = np.where(rng.random(len(group)) < 0.4, "yes", "no")
    first = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    label[first], label[first + 1] = "yes", "no"
    probability = np.round(np.clip(rng.normal(0.35 + 0.3 * (label == "yes"), 0.2), 0.01, 0.99), 2)
    ids = [f"r{i}" for i in range(len(group))]
    truth = {"id": ids, "label": label, "group": group, "weight": np.round(rng.uniform(0.5, 2, len(group)), 2)}
    return truth, {"id": ids, "probability": probability}


def perfect_labels(truth: Data) -> Data:
    return {"id": truth["id"], "probability": (np.asarray(truth["label"]) == "yes").astype(float)}


def draw_multiclass(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """A row a unit, four classes with probabilities, weights; every class has a row among any eight."""
    names = np.array(["ant", "bee", "cat", "dog"])
    label = np.where(np.arange(units) % 2 == 0, names[np.arange(units) // 2 % 4], rng.choice(names, units))
    probability = rng.dirichlet(np.ones(4), units) + 0.8 * (label[:, np.newaxis] == names)
    probability /= probability.sum(axis=1, keepdims=True)
    ids = [f"r{i}" for i in range(units)]
    truth = {"id": ids, "label": label, "weight": np.round(rng.uniform(0.5, 2, units), 2)}
    return truth, {"id": ids, **{f"probability:{name}": probability[:, i] for i, name in enumerate(names)}}


def draw_multilabel(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """A row a unit with none to three of four classes on either side."""
    names = np.array(["ant", "bee", "cat", "dog"])
    has = rng.random((units, 4)) < 0.45
    found = has ^ (rng.random((units, 4)) < 0.2)
    ids = [f"r{i}" for i in range(units)]
    truth, predictions = (["|".join(names[row]) for row in side] for side in (has, found))
    return {"id": ids, "labels": truth}, {"id": ids, "labels": predictions}


def draw_counted(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """So many rows of labels alone that they are counted by cell, whatever the number of units asked for."""
    names, rows = np.array(["ant", "bee", "cat"]), 10_001
    label = rng.choice(names, rows)
    ids = [f"r{i}" for i in range(rows)]
    return {"id": ids, "label": label}, {
        "id": ids,
        "label": np.where(rng.random(rows) < 0.7, label, rng.choice(names, rows)),
    }


def draw_rankings(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Ten relevant documents a query, so that every metric at 10 can be perfect; ties, and documents unjudged."""
    truth: Data = {"query": [], "doc": [], "relevance": [], "group": []}
    run: Data = {"query": [], "doc": [], "score": []}
    for unit in range(units):
        docs = [f"d{i:03d}" for i in rng.permutation(200)[:40]]
        relevance = [*rng.integers(1, 5, 10).tolist(), *rng.integers(-1, 1, 10).tolist()]
        truth["query"] += [f"q{unit}"] * 20
        truth["doc"] += docs[:20]
        truth["relevance"] += relevance
        truth["group"] += [f"g{unit % 3}"] * 20
        found = [i for i in range(40) if rng.random() < 0.8] or [0]
        run["query"] += [f"q{unit}"] * len(found)
        run["doc"] += [docs[i] for i in found]
        run["score"] += np.round(rng.normal(0, 1, len(found)) + [0.7 * (i < 10) for i in found], 1).tolist()
    return truth, run


def perfect_rankings(truth: Data) -> Data:
    return {"query": truth["query"], "doc": truth["doc"], "score": [float(x) for x in truth["relevance"]]}


_THINGS = (
    "dog",
    "cat",
    "man",
    "woman",
    "car",
    "bus",
    "table",
    "bowl",
    "horse",
    "boat",
    "kite",
    "pizza",
    "bench",
    "clock",
)
_COLORS, _SIZES, _COUNTS = (
    ("red", "blue", "black", "white"),
    ("small", "large", "tiny", "huge"),
    ("two", "three", "four"),
)
_PLACES = ("next to", "behind", "under", "near", "on", "beside")


def draw_captions(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Long captions, some images with the same reference more than once (so that a perfect candidate exists)."""

    def word(words: tuple[str, ...]) -> str:
        return words[int(rng.integers(len(words)))]

    def caption() -> str:
        clauses = [
            f"a {word(_SIZES)} {word(_COLORS)} {word(_THINGS)} {word(_PLACES)} {word(_COUNTS)} {word(_COLORS)} "
            f"{word(_THINGS)}s {word(_PLACES)} the {word(_THINGS)}"
            for _ in range(6)
        ]
        return " and ".join(clauses)

    image: list[str] = []
    references: list[str] = []
    candidates: list[str] = []
    for unit in range(units):
        text = caption()
        count = int(rng.integers(1, 4))
        image += [f"i{unit}"] * count
        references += [text] * count
        words = text.split()
        kept = [w if rng.random() > 0.15 else word(_THINGS) for w in words]
        candidates.append(" ".join(kept[: int(rng.integers(len(kept) // 2, len(kept) + 1))]))
    truth = {"image": image, "caption": references, "group": [f"g{hash_of(i) % 3}" for i in image]}
    return truth, {"image": [f"i{unit}" for unit in range(units)], "caption": candidates}


def perfect_captions(truth: Data) -> Data:
    """For every image its first reference."""
    first = dict(zip(reversed(list(truth["image"])), reversed(list(truth["caption"])), strict=True))
    return {"image": list(first), "caption": list(first.values())}


def hash_of(text: str) -> int:
    """A hash that is the same in every process."""
    return sum(ord(c) * (i + 7) for i, c in enumerate(text))


def same_columns(*names: str) -> Callable[[Data], Data]:
    """Predictions that repeat the truth's columns."""
    return lambda truth: {name: truth[name] for name in names}


DRAW: dict[str, Callable[[np.random.Generator, int], tuple[Data, Data]]] = {
    "weights": draw_weights,
    "sequences": draw_sequences,
    "boxes": draw_boxes,
    "masks": draw_masks,
    "keypoints": draw_keypoints,
    "losses": draw_losses,
    "ellipses": draw_ellipses,
    "labels": draw_labels,
    "rankings": draw_rankings,
    "captions": draw_captions,
}
# Other forms of a task's data, and the metrics that they are drawn for.
VARIANTS: dict[str, tuple[Callable[[np.random.Generator, int], tuple[Data, Data]], tuple[str, ...]]] = {
    "labels:multiclass": (
        draw_multiclass,
        ("accuracy", "balanced_accuracy", "macro(f1)", "weighted(f1)", "micro(f1)", "mcc", "kappa", "f1(label=bee)",
         "macro(roc_auc)", "macro(ap)", "micro(roc_auc)", "ovo(roc_auc)", "log_loss", "brier", "ece"),
    ),
    "labels:multilabel": (draw_multilabel, ("accuracy", "macro(f1)", "micro(f1)", "weighted(f1)", "macro(precision)")),
    "labels:counted": (draw_counted, ("accuracy", "balanced_accuracy", "macro(f1)", "mcc", "kappa", "recall(label=cat)")),
}  # fmt: skip
PERFECT: dict[str, Callable[[Data], Data]] = {
    "weights": same_columns("dish", "item", "weight"),
    "sequences": same_columns("sequence", "t", "weight"),
    "boxes": perfect_boxes,
    "masks": perfect_masks,
    "keypoints": perfect_keypoints,
    "losses": perfect_losses,
    "ellipses": lambda truth: {**same_columns("image", "xc", "yc", "theta", "a", "b")(truth), "score": truth["xc"]},
    "labels": perfect_labels,
    "rankings": perfect_rankings,
    "captions": perfect_captions,
}

"""Drawn data of boxes, masks, keypoints and ellipses: objects in images."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of, same_columns


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
    found_label = np.where(rng.random(len(rows)) < 0.9, label[rows], rng.choice(["cat", "dog", "owl"], len(rows)))
    false = int(rng.integers(units, 2 * units))
    extra = np.concatenate([rng.random((false, 2)) * 400, rng.random((false, 2)) * 200 + 1], axis=1)
    box = np.concatenate([box, extra])
    return truth, {
        "image": [image[i] for i in rows] + [image[i] for i in rng.integers(0, n, false)],
        "label": np.concatenate([found_label, rng.choice(["cat", "dog", "owl"], false)]),
        "x": box[:, 0], "y": box[:, 1], "w": box[:, 2], "h": box[:, 3],
        "score": np.concatenate([rng.beta(4, 2, len(rows)), rng.beta(2, 3, false)]),
    }  # fmt: skip


def perfect_boxes(truth: Data) -> Data:
    """The truth itself, and below any threshold one box on nothing: a rate over wrong boxes needs one."""
    n = len(truth["image"])
    columns = {name: [*truth[name], truth[name][0]] for name in ("image", "label", "x", "y", "w", "h")}
    columns["x"][-1], columns["y"][-1] = 5000.0, 5000.0
    return {**columns, "score": [*(1 - np.arange(n) / (100 * n)), 0.01]}


def draw_masks(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """The boxes of `draw_boxes` as ellipses of pixels, in all forms that a mask may have."""
    truth, predicted = draw_boxes(rng, units)
    sides = []
    for side in (truth, predicted):
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
    return {**columns, "score": [*(1 - np.arange(n) / (100 * n)), 0.01]}


def draw_keypoints(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Points inside the boxes of `draw_boxes`; some truths show none."""
    truth, predicted = draw_boxes(rng, units)
    # Twenty detections of a class count in an image: not more, so that a perfect model finds all.
    box = np.column_stack([truth[name] for name in "xywh"])
    rows: list[list[float]] = []
    for i, (x, y, w, h) in enumerate(box):
        xy = rng.random((17, 2)) * [w, h] + [x, y]
        seen = rng.integers(0, 3, 17) if i < 3 or rng.random() > 0.05 else np.zeros(17)
        seen[0] = 2 if i < 3 else seen[0]
        rows.append([float(v) for v in np.column_stack([xy, seen]).ravel()])
    truth["keypoints"] = objects(rows)
    nearest = {key: np.array(values) for key, values in predicted.items() if key in "xywh"}
    d_rows = []
    for i in range(len(predicted["score"])):
        # The points of the truth whose box is nearest, moved with the box.
        distance = sum((nearest[k][i] - box[:, j]) ** 2 for j, k in enumerate("xywh"))
        j = int(np.argmin(distance))
        points = np.array(rows[j]).reshape(17, 3)
        scale = np.array([nearest["w"][i], nearest["h"][i]]) / box[j, 2:]
        points[:, :2] = (points[:, :2] - box[j, :2]) * scale + [nearest["x"][i], nearest["y"][i]]
        points[:, :2] += rng.normal(0, 0.01, (17, 2)) * box[j, 2:]
        d_rows.append([float(v) for v in points.ravel()])
    columns = {name: predicted[name] for name in ("image", "label", "score")}
    return truth, {**columns, "keypoints": objects(d_rows)}


def perfect_keypoints(truth: Data) -> Data:
    """The truth itself, and one on nothing."""
    n = len(truth["image"])
    columns = {name: [*truth[name], truth[name][0]] for name in ("image", "label", "keypoints")}
    columns["keypoints"][-1] = [v + 5000.0 for v in truth["keypoints"][0]]
    return {**columns, "score": [*(1 - np.arange(n) / (100 * n)), 0.01]}


def draw_ellipses(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Images with none to four ellipses: found, missed, found twice, or found where there are none."""
    truth: list[tuple[Any, ...]] = []
    predicted: list[tuple[Any, ...]] = []
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
        predicted += rows or [(image, *nothing, np.nan)]
    names = ("image", "xc", "yc", "theta", "a", "b", "score")
    sides = [dict(zip(names, zip(*rows, strict=True), strict=False)) for rows in (truth, predicted)]
    sides[0]["group"] = [f"g{hash_of(i) % 3}" for i in sides[0]["image"]]
    return sides[0], sides[1]


EXTRA = {"extra": "skip"}  # an image without detections misses no row
DRAWN = {
    "boxes": Drawn(draw_boxes, perfect_boxes, policy=EXTRA),
    "masks": Drawn(draw_masks, perfect_masks, policy=EXTRA),
    "keypoints": Drawn(draw_keypoints, perfect_keypoints, policy=EXTRA),
    "ellipses": Drawn(
        draw_ellipses,
        lambda truth: {**same_columns("image", "xc", "yc", "theta", "a", "b")(truth), "score": truth["xc"]},
    ),
}


def draw_lesions(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Boxes of one class with weights of their own; one of three images has only crowds, so that it is normal."""
    truth, predicted = draw_boxes(rng, units)
    n = len(truth["image"])
    truth["crowd"] |= np.array([hash_of(image) % 3 == 0 for image in truth["image"]]) & (np.arange(n) > 2)
    truth |= {"label": ["cat"] * n, "lesion_weight": rng.uniform(0.1, 2, n)}
    return truth, {**predicted, "label": ["cat"] * len(predicted["label"])}


VARIANTS = {"boxes:lesions": (draw_lesions, ("wafroc", "wafroc1", "cpm"))}

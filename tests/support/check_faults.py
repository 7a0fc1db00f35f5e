"""Healthy data of every task, and the faults that are put into them: what to change, the finding, its severity."""

from __future__ import annotations

import copy
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from support.drawn import DRAW, Data
from support.drawn_boxes3d import perfect_frames
from support.drawn_maps import objects
from support.drawn_oriented import as_corners


def arrays(data: Data) -> Data:
    """Lists of numbers as arrays, so that faults are one line."""
    changed = {}
    for name, column in data.items():
        values = list(column)
        plain = all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in values)
        changed[name] = (
            np.array(values, dtype=None if plain else object) if not isinstance(column, np.ndarray) else column
        )
    return changed


def maps(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same change of every map."""
    return lambda column: objects([change(one) for one in column])


def as_bytes(normals: Any) -> Any:
    """Unit vectors as 0 to 255, as in an image."""
    length = np.linalg.norm(normals, axis=2, keepdims=True)
    return np.round(normals / np.where(length > 0, length, 1) * 127.5 + 127.5).astype(np.uint8)


def rim(grid: Any) -> Any:
    """The first row as void."""
    return np.concatenate([np.full_like(grid[:1], 255), grid[1:]])


def moved(segments: Any) -> Any:
    """The same segments, each of a category that nobody else has."""
    return [{**one, "category_id": one["category_id"] + 100, "name": f"n{one['category_id']}"} for one in segments]


def classified(seed: int, rows: int = 150) -> tuple[Data, Data]:
    """Four classes, a model that is right in four of five rows, with probabilities that add up."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 5, rows)
    given = np.where(rng.random(rows) < 0.8, truth, rng.integers(1, 5, rows))
    table = rng.dirichlet([1.0] * 4, rows) * 0.4
    table[np.arange(rows), given - 1] += 0.6
    ids = np.array([f"r{i}" for i in range(rows)], dtype=object)
    columns = {f"probability:{k}": table[:, k - 1] for k in range(1, 5)}
    return {"id": ids, "label": truth}, {"id": ids, "label": given, **columns}


def detector(seed: int) -> tuple[Data, Data]:
    """Losses of a detector that has learned something."""
    truth, given = map(arrays, DRAW["losses"](np.random.default_rng(seed), 80))
    rng = np.random.default_rng(seed)
    given["logit"] = np.where(
        np.isnan(given["logit"]),
        np.nan,
        4 * truth["target"] - 2 + rng.normal(0, 1.5, len(rng.random(len(truth["target"])))),
    )
    return truth, given


def described(seed: int) -> tuple[Data, Data]:
    truth, given = DRAW["captions"](np.random.default_rng(seed), 60)
    truth["caption"] = [f"{text} and tree number {i}" for i, text in enumerate(truth["caption"])]
    return truth, given


def people(seed: int) -> tuple[Data, Data]:
    """COCO's 17 points of people that stand upright, one or two per image, found with some noise."""
    rng = np.random.default_rng(seed)
    body = np.column_stack([np.repeat([0.5, 0.45], [1, 16]) + np.tile([0.0, 0.0], 9)[:17], np.linspace(0, 1, 17)])
    body[1:, 0] = 0.5 + 0.3 * np.where(np.arange(1, 17) % 2, 1, -1)
    truth: dict[str, list[Any]] = {"image": [], "label": [], "keypoints": []}
    predicted: dict[str, list[Any]] = {"image": [], "label": [], "keypoints": [], "score": []}
    for image in range(60):
        size, corner = rng.uniform(60, 200), rng.uniform(5, 300, 2)
        points = body * size + corner
        truth["image"].append(image)
        truth["label"].append(1)
        truth["keypoints"].append(np.column_stack([points, np.full(17, 2)]).ravel().tolist())
        noisy = points + rng.normal(0, 0.02 * size, points.shape)
        predicted["image"].append(image)
        predicted["label"].append(1)
        predicted["keypoints"].append(np.column_stack([noisy, np.ones(17)]).ravel().tolist())
        predicted["score"].append(float(rng.random()))
    return truth, predicted


def healthy(task: str, seed: int = 0) -> tuple[Data, Data]:
    made: dict[str, Callable[[int], tuple[Data, Data]]] = {
        "labels": classified, "losses": detector, "captions": described, "keypoints": people,
    }  # fmt: skip
    if task in made:
        return made[task](seed)
    truth, given = DRAW[task](np.random.default_rng(seed), 60)
    return (truth, given) if task == "masks" else (arrays(truth), arrays(given))


def mot_classes(data: Any) -> None:
    """The truth with the flags and classes of MOTChallenge's files, and predictions without classes."""
    count = len(data[0]["frame"])
    data[0] |= {"flag": np.ones(count, dtype=np.int64), "label": 1 + np.arange(count) % 12}
    data[1].pop("label", None)


def row_by_row(data: Any) -> None:
    """Corners of the predictions from left to right and from top to bottom, as a grid has them."""
    corners = as_corners(data[1])
    data[1].clear()
    data[1].update({**corners, "x3": corners["x4"], "y3": corners["y4"], "x4": corners["x3"], "y4": corners["y3"]})


def scaled(side: int, column: str, factor: float) -> Callable[[Any], None]:
    return lambda data: data[side].__setitem__(column, data[side][column] * factor)


def put(side: int, column: str, make: Callable[[Any], Any]) -> Callable[[Any], None]:
    def apply(data: Any) -> None:
        data[side][column] = make(data)

    return apply


def each(side: int, *edits: tuple[str, Callable[[Any], Any]]) -> Callable[[Any], None]:
    def apply(data: Any) -> None:
        new = {column: edit(data[side]) for column, edit in edits}
        data[side].update(new)

    return apply


def texts(make: Callable[[str], str]) -> Callable[[Any], Any]:
    return lambda column: np.array([make(str(v)) for v in column], dtype=object)


def rows(side: int, take: Callable[[int], Any]) -> Callable[[Any], None]:
    def apply(data: Any) -> None:
        places = take(len(next(iter(data[side].values()))))
        data[side].update(
            {name: np.array(list(column), dtype=object)[places].tolist() for name, column in data[side].items()}
        )

    return apply


def reversed_time(data: Any) -> None:
    last: dict[str, int] = {}
    for name, t in zip(data[1]["sequence"], data[1]["t"], strict=True):
        last[name] = max(last.get(name, 0), int(t))
    data[1]["t"] = np.array([last[n] - int(t) for n, t in zip(data[1]["sequence"], data[1]["t"], strict=True)])


def eaten(data: Any) -> None:
    first = dict(zip(data[0]["sequence"][::-1], data[0]["weight"][::-1], strict=True))
    data[1]["weight"] = np.array([first[n] - w for n, w in zip(data[0]["sequence"], data[1]["weight"], strict=True)])


def totals(data: Any) -> None:
    sums: dict[str, float] = {}
    for dish, weight in zip(data[0]["dish"], data[0]["weight"], strict=True):
        sums[dish] = sums.get(dish, 0) + weight
    data[1]["weight"] = np.array([1.1 * sums[dish] for dish in data[1]["dish"]])


def same_list(data: Any) -> None:
    queries = dict.fromkeys(data[0]["query"])
    data[1] = {
        "query": [q for q in queries for _ in range(6)], "doc": [f"d{i:03d}" for _ in queries for i in range(6)],
        "score": [6.0 - i for _ in queries for i in range(6)],
    }  # fmt: skip


def as_truth(*columns: str) -> Callable[[Any], None]:
    def apply(data: Any) -> None:
        given = {name: copy.deepcopy(data[0][name]) for name in columns}
        if "score" in data[1]:
            given["score"] = np.where(np.isnan(data[0]["xc"]), np.nan, 0.5)
        data[1] = given

    return apply


def mirrored(data: Any) -> None:
    order = [0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15]
    data[1]["keypoints"] = [np.array(p).reshape(17, 3)[order].ravel().tolist() for p in data[1]["keypoints"]]


def caption(make: Callable[[int, str], Any]) -> Callable[[Any], None]:
    return put(1, "caption", lambda d: [make(i, text) for i, text in enumerate(d[1]["caption"])])


def first_reference(data: Any) -> None:
    own = dict(zip(reversed(data[0]["image"]), reversed(data[0]["caption"]), strict=True))
    data[1]["caption"] = [own[i] for i in data[1]["image"]]


def hard(make: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Other labels, without probabilities, which would declare the classes."""
    return lambda data: data.__setitem__(1, {"id": data[1]["id"], "label": make(data)})


def names(data: Any) -> None:
    hard(lambda d: d[1]["label"])(data)
    data[0]["label"] = texts(lambda t: "abcd"[int(t) - 1])(data[0]["label"])


# task: fault: what is done, the finding, its severity
Fault = tuple[Callable[[Any], None], str, str]
FAULTS: dict[str, dict[str, Fault]] = {
    "weights": {
        "kilograms": (scaled(1, "weight", 1e-3), "unit-of-weight", "error"),
        "truth in kilograms": (scaled(0, "weight", 1e-3), "unit-of-weight", "error"),
        "ounces": (scaled(1, "weight", 1 / 28.35), "unit-of-weight", "error"),
        "pounds": (scaled(1, "weight", 1 / 453.6), "unit-of-weight", "error"),
        "next row": (put(1, "weight", lambda d: np.roll(d[0]["weight"] * 1.03, 1)), "rows-shifted", "error"),
        "one number": (put(1, "weight", lambda d: d[1]["weight"] * 0 + 100), "constant", "warning"),
        "the truth": (put(1, "weight", lambda d: d[0]["weight"].copy()), "copies-of-truth", "warning"),
        "below 0": (put(1, "weight", lambda d: d[1]["weight"] - 60), "negative", "note"),
        "dish totals": (totals, "totals-as-items", "error"),
        "capitals": (put(1, "dish", lambda d: texts(str.upper)(d[1]["dish"])), "ids-differ", "error"),
        "zeros in front": (put(1, "dish", lambda d: texts(lambda t: f"d{int(t[1:]):05d}")(d[1]["dish"])), "ids-differ", "error"),
        "endings": (put(1, "dish", lambda d: texts(lambda t: f"{t}.jpg")(d[1]["dish"])), "ids-differ", "error"),
        "folders": (put(1, "dish", lambda d: texts(lambda t: f"test/{t}")(d[1]["dish"])), "ids-differ", "error"),
        "twice": (rows(1, lambda n: [*range(n), 0, 1]), "repeated-rows", "error"),
        "truth twice": (rows(0, lambda n: [*range(n), 0]), "repeated-rows", "error"),
        "some missing": (rows(1, lambda n: list(range(n - 5))), "missing", "warning"),
        "some more": (rows(0, lambda n: list(range(n - 5))), "extra", "warning"),
        "a text": (put(1, "weight", lambda d: ["much"] * len(d[1]["weight"])), "unreadable", "error"),
    },
    "sequences": {
        "kilograms": (scaled(1, "weight", 1e-3), "unit-of-weight", "error"),
        "from 1": (put(1, "t", lambda d: d[1]["t"] + 1), "time-shifted", "error"),
        "milliseconds": (put(1, "t", lambda d: d[1]["t"] * 1000), "unit-of-time", "error"),
        "truth at 25 a second": (put(0, "t", lambda d: d[0]["t"] * 25), "unit-of-time", "error"),
        "turned round": (reversed_time, "time-reversed", "error"),
        "eaten": (eaten, "consumed-as-left", "error"),
        "kcal per 100 g": (scaled(0, "kcal_per_g", 100), "energy-density", "error"),
        "one number": (put(1, "weight", lambda d: d[1]["weight"] * 0 + 100), "constant", "warning"),
        "the truth": (put(1, "weight", lambda d: d[0]["weight"].copy()), "copies-of-truth", "warning"),
        "below 0": (put(1, "weight", lambda d: d[1]["weight"] - 60), "negative", "note"),
        "one number per sequence": (put(1, "weight", lambda d: 50.0 + np.unique(d[1]["sequence"], return_inverse=True)[1]), "flat-sequences", "warning"),
        "nothing eaten": (put(0, "weight", lambda d: 50.0 + np.unique(d[0]["sequence"], return_inverse=True)[1]), "flat-sequences", "note"),
        "jumps": (put(1, "weight", lambda d: d[1]["weight"] + 900.0 * (d[1]["t"] % 2)), "jumps", "note"),
        "filled again": (put(0, "weight", lambda d: 100.0 * d[0]["t"]), "rises", "note"),
        "twice": (rows(1, lambda n: [*range(n), 0, 1]), "refused", "error"),
        "capitals": (put(1, "sequence", lambda d: texts(str.upper)(d[1]["sequence"])), "ids-differ", "error"),
    },
    "ellipses": {
        "radians": (put(1, "theta", lambda d: np.radians(d[1]["theta"])), "radians-as-degrees", "error"),
        "truth in radians": (put(0, "theta", lambda d: np.radians(d[0]["theta"])), "radians-as-degrees", "error"),
        "full axes": (each(1, ("a", lambda s: s["a"] * 2), ("b", lambda s: s["b"] * 2)), "full-axes", "error"),
        "truth with full axes": (each(0, ("a", lambda s: s["a"] * 2), ("b", lambda s: s["b"] * 2)), "full-axes", "error"),
        "axes exchanged": (each(1, ("a", lambda s: s["b"]), ("b", lambda s: s["a"])), "axes-exchanged", "error"),
        "other way round": (put(1, "theta", lambda d: -d[1]["theta"]), "angle-reversed", "error"),
        "x for y": (each(1, ("xc", lambda s: s["yc"]), ("yc", lambda s: s["xc"])), "centres-exchanged", "error"),
        "fractions": (each(1, *((c, lambda s, c=c: s[c] / 250) for c in ("xc", "yc", "a", "b"))), "fractions", "error"),
        "the truth": (as_truth("image", "xc", "yc", "theta", "a", "b"), "copies-of-truth", "warning"),
        "twice": (rows(1, lambda n: [*range(n), 0]), "repeated-rows", "warning"),
        "elsewhere": (put(1, "xc", lambda d: d[1]["xc"] + 900), "nothing-fits", "warning"),
        "endings": (put(1, "image", lambda d: texts(lambda t: f"{t}.png")(d[1]["image"])), "ids-differ", "error"),
    },
    "labels": {
        "from 0": (hard(lambda d: d[1]["label"] - 1), "labels-shifted", "error"),
        "names for numbers": (names, "labels-shifted", "error"),
        "other names": (each(1, ("label", lambda s: s["label"] % 4 + 1)), "labels-exchanged", "error"),
        "unknown": (hard(lambda d: texts(lambda t: f"class {t}")(d[1]["label"])), "labels-unknown", "warning"),
        "one label": (put(1, "label", lambda d: d[1]["label"] * 0 + 1), "constant", "warning"),
        "columns in another order": (
            each(1, *((f"probability:{k}", lambda s, k=k: s[f"probability:{k % 4 + 1}"]) for k in range(1, 5))),
            "labels-against-scores", "warning",
        ),
        "all right": (put(1, "label", lambda d: d[0]["label"].copy()), "all-right", "note"),
        "the truth": (
            lambda d: d[1].update({f"probability:{k}": (d[0]["label"] == k) * 1.0 for k in range(1, 5)}),
            "copies-of-truth", "warning",
        ),
        "next row": (put(1, "label", lambda d: np.roll(d[1]["label"], 1)), "rows-shifted", "error"),
        "twice": (rows(1, lambda n: [*range(n), 0]), "repeated-rows", "error"),
        "capitals": (put(1, "id", lambda d: texts(str.upper)(d[1]["id"])), "ids-differ", "error"),
    },
    "rankings": {
        "distances": (put(1, "score", lambda d: -d[1]["score"]), "scores-reversed", "error"),
        "queries with a prefix": (put(1, "query", lambda d: texts(lambda t: f"topic-{t[1:]}")(d[1]["query"])), "queries-differ", "error"),
        "documents with an ending": (put(1, "doc", lambda d: texts(lambda t: f"{t}.jpg")(d[1]["doc"])), "documents-differ", "error"),
        "one score": (put(1, "score", lambda d: d[1]["score"] * 0), "scores-equal", "warning"),
        "twice": (rows(1, lambda n: [*range(n), 0]), "repeated-documents", "error"),
        "one list": (same_list, "constant", "warning"),
        "the truth": (
            lambda d: d.__setitem__(1, {"query": d[0]["query"], "doc": d[0]["doc"], "score": d[0]["relevance"] * 1.0}),
            "copies-of-truth", "warning",
        ),
    },
    "answers": {
        "tokens": (put(1, "answer", lambda d: [f"{text}<|im_end|>" for text in d[1]["answer"]]), "answer-tokens", "warning"),
        "label": (put(1, "answer", lambda d: [f"Answer: {text}" for text in d[1]["answer"]]), "answer-labelled", "warning"),
        "one reply": (put(1, "answer", lambda d: ["a dog" for _ in d[1]["answer"]]), "answer-constant", "warning"),
    },
    "distributions": {
        "one vector again": (
            put(1, "features", lambda d: objects([d[1]["features"][0], *d[1]["features"][:-1]])),
            "repeated-vectors", "warning",
        ),
        "real vectors": (put(1, "features", lambda d: d[0]["features"]), "shared-vectors", "warning"),
        "one side of length 1": (
            put(1, "features", lambda d: objects([[0.6 + i / 1e6, 0.8] for i in range(len(d[1]["features"]))])),
            "not-normalised", "warning",
        ),
        "a place that never changes": (
            lambda d: [each.update(features=objects([[v[0], 1.0] for v in each["features"]])) for each in d],
            "dead-columns", "note",
        ),
    },
    "depth": {
        "millimetres": (put(1, "map", lambda d: objects([1000 * grid for grid in d[1]["map"]])), "depth-unit", "error"),
        "disparity": (put(1, "map", lambda d: objects([1 / grid for grid in d[1]["map"]])), "depth-reversed", "error"),
        "turned over": (
            put(1, "map", lambda d: objects([grid[::-1] for grid in d[1]["map"]])), "depth-upside-down", "error",
        ),
        "a scale for each image": (
            put(1, "map", lambda d: objects([grid * (3 + i % 3) for i, grid in enumerate(d[1]["map"])])),
            "depth-not-aligned", "warning",
        ),
        "no truth": (
            put(0, "map", lambda d: objects([d[0]["map"][0] * 0, *d[0]["map"][1:]])), "depth-no-valid-pixel", "warning",
        ),
        "one depth": (put(1, "map", lambda d: objects([0 * grid + 3 for grid in d[1]["map"]])), "depth-constant", "warning"),
        "holes": (put(1, "map", lambda d: objects([grid + np.nan for grid in d[1]["map"]])), "depth-refused", "error"),
    },
    "normals": {
        "flipped": (put(1, "map", lambda d: objects([grid * [1, -1, -1] for grid in d[1]["map"]])), "normals-axes", "error"),
        "turned over": (
            put(1, "map", lambda d: objects([grid[::-1] for grid in d[1]["map"]])), "normals-upside-down", "error",
        ),
        "0 to 1": (
            put(1, "map", lambda d: objects([grid / np.abs(grid).max() / 2 + 0.5 for grid in d[1]["map"]])),
            "normals-not-mapped", "error",
        ),
        "bytes": (
            lambda d: [one.update(map=maps(as_bytes)(one["map"])) for one in d], "normals-not-mapped", "error",
        ),
        "holes": (put(1, "map", lambda d: objects([grid + np.nan for grid in d[1]["map"]])), "normals-refused", "error"),
    },
    "grounding": {
        "thousandths": (
            each(1, *((name, lambda d, n=name: np.asarray(d[n]) * 1000 / (24 if n in "xw" else 16)) for name in "xywh")),
            "coordinate-space", "error",
        ),
        "one box": (
            each(1, *((name, lambda d, n=place: np.full(len(d["x"]), n + 2.0)) for place, name in enumerate("xywh"))),
            "constant-boxes", "warning",
        ),
    },
    "tables": {
        "pipes": (put(1, "html", lambda d: len(d[1].pop("boxes")) and ["| a | b |\n|---|---|\n| 1 | 2 |"] * len(d[1]["html"])), "other-markup", "error"),
        "token limit": (put(1, "html", lambda d: [text.partition("</table>")[0] for text in d[1]["html"]]), "cut-off", "warning"),
        "one table": (put(1, "html", lambda d: len(d[1].pop("boxes")) and ["<table><td>a</table>" for _ in d[1]["html"]]), "same-reply", "warning"),
        "spans": (
            put(0, "html", lambda d: [text.replace("<td>", "<td colspan=x>", 1) for text in d[0]["html"]]),
            "odd-spans", "warning",
        ),
        "next table": (put(1, "html", lambda d: len(d[1].pop("boxes")) and [*d[0]["html"][1:], d[0]["html"][0]]), "replies-shifted", "error"),
    },
    "captions": {
        "next image": (put(1, "caption", lambda d: [*d[1]["caption"][1:], d[1]["caption"][0]]), "captions-shifted", "error"),
        "any image": (
            put(1, "caption", lambda d: [d[1]["caption"][(i * 17 + 23) % 60] for i in range(60)]), "nothing-fits", "warning",
        ),
        "empty": (caption(lambda i, text: "" if i == 3 else text), "empty-captions", "warning"),
        "none": (caption(lambda i, text: None if i == 3 else text), "empty-captions", "warning"),
        "words for nothing": (caption(lambda i, text: "None" if i == 3 else text), "no-caption", "warning"),
        "tokens": (caption(lambda i, text: f"<s> {text} </s>"), "special-tokens", "warning"),
        "letters": (caption(lambda i, text: f"{text} in a cafÃ©"), "encoding", "warning"),
        "references": (first_reference, "copies-of-truth", "warning"),
        "one caption": (caption(lambda i, text: "a man on a bench"), "constant", "warning"),
        "two references alike": (rows(0, lambda n: [*range(n), 0]), "repeated-references", "note"),
        "lists": (put(0, "caption", lambda d: [[t, f"{t} again"] for t in d[0]["caption"]]), "lists-of-captions", "note"),
    },
    "losses": {
        "probabilities": (put(1, "logit", lambda d: 1 / (1 + np.exp(-d[1]["logit"]))), "probabilities-as-logits", "error"),
        "other sign": (put(1, "logit", lambda d: -d[1]["logit"]), "logits-reversed", "error"),
        "pixels": (scaled(1, "value", 300), "scale-of-values", "error"),
        "one logit": (put(1, "logit", lambda d: d[1]["logit"] * 0 - 4.6), "constant-logits", "warning"),
        "the truth": (put(1, "value", lambda d: d[0]["value"].copy()), "copies-of-truth", "warning"),
    },
    "anomalies": {
        "similarities": (put(1, "map", lambda d: maps(lambda m: 1 - m)(d[1]["map"])), "scores-reversed", "warning"),
        "own scale": (
            put(1, "map", lambda d: maps(lambda m: (m - m.min()) / (m.max() - m.min()))(d[1]["map"])),
            "self-scaled-maps", "warning",
        ),
        "distances": (put(1, "map", lambda d: maps(lambda m: m * 64)(d[1]["map"])), "sigmoid-ties", "note"),
        "one score": (put(1, "map", lambda d: maps(lambda m: m * 0 + m.max())(d[1]["map"])), "constant-maps", "warning"),
        "blurred": (put(0, "mask", lambda d: maps(lambda m: m * (1 + np.arange(m.shape[1]) % 3).astype("u1"))(d[0]["mask"])), "blurred-masks", "warning"),
        "other sizes": (put(1, "map", lambda d: maps(lambda m: m[1:])(d[1]["map"])), "maps-refused", "error"),
    },
    "flow": {
        "swapped": (put(1, "map", lambda d: maps(lambda m: m[..., ::-1])(d[1]["map"])), "flow-swapped", "error"),
        "v upwards": (put(1, "map", lambda d: maps(lambda m: m * [1, -1])(d[1]["map"])), "flow-swapped", "error"),
        "backward": (put(1, "map", lambda d: maps(lambda m: -m)(d[1]["map"])), "flow-negated", "error"),
        "turned over": (put(1, "map", lambda d: maps(lambda m: m[::-1])(d[1]["map"])), "flow-upside-down", "error"),
        "scale": (put(1, "map", lambda d: maps(lambda m: m * 64)(d[1]["map"])), "flow-scale", "warning"),
        "other sizes": (put(1, "map", lambda d: maps(lambda m: m[1:])(d[1]["map"])), "flow-refused", "error"),
    },
    "disparity": {
        "negated": (put(1, "map", lambda d: maps(lambda m: -m)(d[1]["map"])), "disparity-negated", "error"),
        "turned over": (put(1, "map", lambda d: maps(lambda m: m[::-1])(d[1]["map"])), "disparity-upside-down", "error"),
        "scale": (put(1, "map", lambda d: maps(lambda m: m * 256)(d[1]["map"])), "disparity-scale", "warning"),
        "negative": (put(1, "map", lambda d: maps(lambda m: -0.1 * m)(d[1]["map"])), "disparity-negative", "warning"),
        "zeros": (put(0, "map", lambda d: maps(lambda m: np.where(m < np.nanmedian(m), 0, m))(d[0]["map"])), "disparity-zero", "warning"),
        "other sizes": (put(1, "map", lambda d: maps(lambda m: m[1:])(d[1]["map"])), "disparity-refused", "error"),
    },
    "segmentation": {
        "one off": (put(1, "map", lambda d: maps(lambda m: m + 1)(d[1]["map"])), "labels-shifted", "error"),
        "void": (put(0, "map", lambda d: maps(rim)(d[0]["map"])), "void-counted", "warning"),
        "one class": (put(1, "map", lambda d: maps(lambda m: m * 0)(d[1]["map"])), "one-class", "warning"),
        "other sizes": (put(1, "map", lambda d: maps(lambda m: m[1:])(d[1]["map"])), "maps-refused", "error"),
    },
    "volumes": {
        "other labels": (put(1, "map", lambda d: maps(lambda m: m * 10)(d[1]["map"])), "never-found", "warning"),
        "other sizes": (put(1, "map", lambda d: maps(lambda m: m[1:])(d[1]["map"])), "volumes-refused", "error"),
        "twice": (rows(1, lambda n: [*range(n), 0]), "repeated-rows", "error"),
    },
    "panoptic": {
        "no segments": (put(1, "segments", lambda d: objects([[] for _ in d[1]["segments"]])), "maps-refused", "error"),
        "other categories": (put(1, "segments", lambda d: objects([moved(one) for one in d[1]["segments"]])), "nothing-fits", "warning"),
        "twice": (rows(1, lambda n: [*range(n), 0]), "repeated-rows", "error"),
    },
    "tracking": {
        "corners": (
            each(1, ("w", lambda d: d["w"] + d["x"]), ("h", lambda d: d["h"] + d["y"])), "boxes-read-wrong", "error",
        ),
        "elsewhere": (put(1, "x", lambda d: d[1]["x"] + 9000), "nothing-overlaps", "error"),
        "one frame late": (put(1, "frame", lambda d: d[1]["frame"] + 1), "frames-shifted", "error"),
        "every third frame": (
            lambda data: rows(1, lambda n: np.flatnonzero(data[1]["frame"] % 3 == 0))(data), "frames-thinned", "warning",
        ),
        "one name for two": (
            put(1, "x", lambda d: d[1]["x"] + 900 * (d[1]["frame"] % 2)), "ids-reused", "warning",
        ),
        "the truth itself": (
            as_truth("sequence", "frame", "track", "x", "y", "w", "h", "label"), "copies-of-truth", "note",
        ),
        "names": (put(1, "sequence", lambda d: texts(str.upper)(d[1]["sequence"])), "ids-differ", "error"),
        "no benchmark": (mot_classes, "benchmark-missing", "warning"),
    },
    "oriented": {
        "the other way round": (put(1, "angle", lambda d: -d[1]["angle"]), "angle-turn", "error"),
        "degrees in a few": (
            put(1, "angle", lambda d: np.where(np.arange(len(d[1]["angle"])) == 3, 40.0, d[1]["angle"])), "angle-degrees", "warning",
        ),
        "edges": (each(1, ("w", lambda d: d["h"]), ("h", lambda d: d["w"])), "edges-exchanged", "error"),
        "row by row": (row_by_row, "corners-order", "error"),
        "no area": (put(0, "h", lambda d: np.where(np.arange(len(d[0]["h"])) == 3, 0.0, d[0]["h"])), "flat-boxes", "warning"),
        "percent": (put(1, "score", lambda d: d[1]["score"] * 100), "score-range", "error"),
        "tiles": (
            put(1, "image", lambda d: texts(lambda name: f"{name}__1__0___512")(d[1]["image"])), "tile-not-image", "error",
        ),
    },
    "boxes3d": {
        "degrees": (put(1, "yaw", lambda d: np.degrees(d[1]["yaw"])), "angle-degrees", "error"),
        "a quarter turn": (put(1, "yaw", lambda d: d[1]["yaw"] + np.pi / 2), "yaw-offset", "error"),
        "looking back": (put(1, "yaw", lambda d: d[1]["yaw"] + np.pi), "yaw-offset", "error"),
        "the other way": (put(1, "yaw", lambda d: -d[1]["yaw"]), "yaw-turn", "error"),
        "length and width": (
            each(1, ("length", lambda d: d["width"].copy()), ("width", lambda d: d["length"].copy())), "lwh-order", "error",
        ),
        "middle for bottom": (put(1, "y", lambda d: d[1]["y"] - d[1]["height"] / 2), "bottom-or-centre", "error"),
        "y and z": (each(1, ("y", lambda d: d["z"].copy()), ("z", lambda d: d["y"].copy())), "axes-read-wrong", "error"),
        "on the map": (put(1, "x", lambda d: d[1]["x"] + 900), "ego-or-global", "error"),
        "the truth itself": (lambda data: data.__setitem__(1, perfect_frames(data[0])), "copies-of-truth", "note"),
        "names": (put(1, "frame", lambda d: texts(str.upper)(d[1]["frame"])), "ids-differ", "error"),
    },
    "keypoints": {
        "left and right": (mirrored, "left-and-right", "error"),
        "not counted": (put(0, "visible", lambda d: [0] * len(d[0]["image"])), "visible-not-counted", "warning"),
        "nothing visible": (
            put(0, "keypoints", lambda d: [(np.array(p) * np.tile([1, 1, 0], 17)).tolist() for p in d[0]["keypoints"]]),
            "nothing-visible", "warning",
        ),
        "at the corner": (
            put(0, "keypoints", lambda d: [[0.0, 0.0, *p[2:]] for p in d[0]["keypoints"]]), "points-at-the-corner", "warning",
        ),
        "percent": (put(1, "score", lambda d: [100 * s for s in d[1]["score"]]), "score-range", "error"),
        "twice": (rows(1, lambda n: [*range(n), 0, 1]), "repeated", "error"),
    },
}  # fmt: skip


def every_fault() -> dict[str, dict[str, Fault]]:
    """Those above, and those that a new task brings in a module `faults_*.py` of its own."""
    modules = [import_module(f"support.{path.stem}") for path in sorted(Path(__file__).parent.glob("faults_*.py"))]
    return {**FAULTS, **{task: faults for module in modules for task, faults in module.FAULTS.items()}}

"""Fuzz masks and keypoints: the reader, the evaluator, and every native entry of theirs.

Texts are made by changing good ones, as fuzz_boxes.py does; masks and polygons by drawing odd ones. Whatever comes must
give a result or an InputError (from the native functions, a ValueError).
"""

from __future__ import annotations

import json
import random
from types import SimpleNamespace
from typing import Any

import fuzz_boxes as boxes
import numpy as np
from harness import REFUSED, Draw, target

import steelyard as sy
from steelyard import _native
from steelyard.compat.pycocotools import mask
from steelyard.core import catalogue
from steelyard.core.plan import POINT, UNITS
from steelyard.core.task import Policy
from steelyard.engine.measure import measure_state
from steelyard.io.coco import parse_coco
from steelyard.tasks.boxes.pairs import MatchRules

boxes.TOKENS += [
    b'"segmentation"', b'"keypoints"', b'"counts"', b'"size"', b'"height"', b'"num_keypoints"', b"[[", b"]]", b"oooo",
    b'{"size": [4, 4], "counts": "04"}', b"1e8", b"-2e8", b"4294967295", b"4294967296", b"[]", b"[[]]",
]  # fmt: skip


def number(rng: random.Random) -> float:
    return rng.choice([0, 1, -1, 5.5, 2e8, -2e8, 1e-300, 0.5, 2.5, rng.uniform(-20, 60), rng.randrange(40)])


def polygon(rng: random.Random) -> list[float]:
    return [number(rng) for _ in range(2 * rng.randrange(3, 9))]


def counts(rng: random.Random, height: int, width: int) -> Any:
    pixels = np.asfortranarray(np.random.default_rng(rng.randrange(1 << 30)).random((height, width)) < rng.random())
    encoded = mask.encode(pixels)
    if rng.random() < 0.5:
        return {"size": encoded["size"], "counts": encoded["counts"].decode()}
    flat = np.concatenate([[False], pixels.ravel(order="F")])
    edges = np.concatenate([[0], np.flatnonzero(np.diff(flat)), [len(flat) - 1]])
    return {"size": [height, width], "counts": [int(v) for v in np.diff(edges)]}


def good(rng: random.Random) -> tuple[bytes, bytes]:
    images, classes, points = rng.randrange(1, 4), rng.randrange(1, 3), rng.choice([17, 17, 1, 3])
    sizes = [(rng.randrange(1, 30), rng.randrange(1, 30)) for _ in range(images)]

    def thing() -> dict[str, Any]:
        image = rng.randrange(images)
        shape = counts(rng, *sizes[image]) if rng.random() < 0.5 else [polygon(rng) for _ in range(rng.randrange(1, 3))]
        body = [rng.choice([0, 1, 2, 5.5, rng.uniform(0, 30)]) for _ in range(3 * points)]
        return {"image_id": image, "category_id": rng.randrange(classes), "segmentation": shape, "keypoints": body}

    truth = {
        "images": [{"id": i, "height": h, "width": w} for i, (h, w) in enumerate(sizes)],
        "annotations": [
            {**thing(), "id": i, "area": abs(number(rng)), "iscrowd": rng.randrange(2), "bbox": [1, 2, 3, 4]}
            for i in range(rng.randrange(5))
        ],
        "categories": [{"id": i, "name": f"n{i}"} for i in range(classes)],
    }
    results = [{**thing(), "score": number(rng)} for _ in range(rng.randrange(6))]
    space = rng.choice([None, 1])
    return json.dumps(truth, indent=space).encode(), json.dumps(results, indent=space).encode()


def read(text: bytes, side: str, what: str, threads: int, truth: Any = None) -> Any:
    try:
        return parse_coco(text, side, threads=threads, what=what, truth=truth)
    except sy.InputError as error:
        if len(str(error)) > 3000:
            raise AssertionError("the message is too long") from error
        return None


@target("masks.reader")
def fuzz_reader(rng: random.Random) -> None:
    what = rng.choice(["masks", "keypoints"])
    first, second = good(rng)
    truth = read(first, "truth", what, 1)
    for side, text in (("truth", first), ("prediction", second)):
        text = boxes.changed(rng, text)
        if rng.random() < 0.02:  # over the size of a chunk
            text = boxes.changed(rng, text[:-1] + (b", " + text[1:-1]) * (1_500_000 // max(1, len(text))) + text[-1:])
        one, two = (read(text, side, what, threads, truth) for threads in (1, 3))
        assert (one is None) == (two is None), text[:2000]


@target("masks.evaluator")
def fuzz_evaluator(rng: random.Random) -> None:
    task = catalogue.find_task(rng.choice(["masks", "keypoints"]))
    first, second = good(rng)
    if rng.random() < 0.4:
        first, second = boxes.changed(rng, first), boxes.changed(rng, second)
    truth = read(first, "truth", task.name, 1)
    prediction = read(second, "prediction", task.name, 1, truth)
    if truth is None or prediction is None:
        return
    given: dict[str, Any] = {}
    if task.name == "masks" and rng.random() < 0.4:
        given = {"overlap": "boundary", "dilation": rng.choice([0.02, 0.5, 1.0])}
    if task.name == "keypoints" and rng.random() < 0.8:
        given = {"sigmas": rng.choice([0.05, [0.1] * 17, 1e-200])}
    try:
        from steelyard.io.options import resolve_options

        pairs = task.join(truth, prediction, Policy(extra="skip"), resolve_options(task, given))
        if len(pairs.units) == 0:
            return
        metrics = [metric for metric in sy.metrics(task.name) if rng.random() < 0.2]
        state = measure_state(pairs, metrics)
        for plan in (POINT, UNITS):
            for metric in metrics:
                state.totals(plan).of(metric)
        if task.tables is not None and rng.random() < 0.2:
            for table in task.tables(pairs, state).values():
                table()
    except sy.InputError:
        pass


def odd_mask(rng: random.Random) -> Any:
    side = rng.choice([0, 1, 5, 9, 1 << 16, 1 << 31, 1 << 40, -1, 2.5, float("nan"), "9", None])
    size = rng.choice([[9, 9], [side, 9], [9, side], [side, side], [side], side, [0, 0], [1, 81]])
    text = bytes(rng.randrange(40, 120) for _ in range(rng.randrange(12)))
    listed = [rng.choice([0, 1, 81, 80, 40, 41, -1, 1 << 40, float("nan"), 1.5, "a"]) for _ in range(rng.randrange(5))]
    whole = mask.encode(np.ones((9, 9), dtype=np.uint8))["counts"]
    return rng.choice([
        {"size": size, "counts": rng.choice([text, text.decode(), listed, tuple(listed), whole, None, 5])},
        {"size": [9, 9], "counts": whole}, {"size": [9, 9]}, {"counts": whole}, [], text, None, 3,
    ])  # fmt: skip


@target("masks.functions")
def fuzz_functions(rng: random.Random) -> None:
    masks = [odd_mask(rng) if rng.random() < 0.5 else counts(rng, 9, 9) for _ in range(rng.randrange(4))]
    polygons: list[Any] = [polygon(rng) for _ in range(rng.randrange(1, 4))]
    if rng.random() < 0.3:
        polygons[0] = rng.choice([[], [1], [1, 2, 3, 4, 5], [float("nan")] * 6, ["a"] * 6, None, [1e300] * 8, polygons])
    size = rng.choice([(9, 9), (0, 0), (1, 1000), (1 << 16, 1 << 17), (-1, 5), (1, (1 << 31) + 7)])
    flags = np.array([rng.randrange(2) for _ in masks[1:]], dtype=np.uint8)
    acts: list[Any] = [
        lambda: mask.frPyObjects(polygons, *size), lambda: mask.merge(masks, rng.randrange(2)),
        lambda: mask.area(masks), lambda: mask.toBbox(masks), lambda: mask.iou(masks[:1], masks[1:], flags.tolist()),
        lambda: [_native.mask_boundary(m, rng.choice([0.0, 0.02, 1.0])) for m in masks],
        lambda: _native.mask_iou(masks[:1], masks[1:], flags, 0.1),
        lambda: [_native.mask_pack(m, *rng.choice([(-1, -1), (9, 9), size])) for m in [*masks, polygons]],
        lambda: _native.mask_area([bytes(rng.randrange(256) for _ in range(rng.randrange(40)))]),
        lambda: _native.mask_sizes([bytes(rng.randrange(12))]),
        lambda: mask.decode([m for m in masks if not isinstance(m, dict) or m.get("size") in ([9, 9], [0, 0])]),
    ]  # fmt: skip
    if size[0] * size[1] > 1 << 20 and isinstance(polygons[0], list):
        acts.pop(0)  # right, and slow
    for act in acts:
        try:
            act()
        except REFUSED:
            pass


RULES = MatchRules(np.array([0.5, 0.75]), np.array([[0.0, 1e10]]), 5, partners=True, threads=2)


def objects(draw: Draw, t: int, d: int, shape: Any, d_shape: Any) -> SimpleNamespace:
    """Columns of both sides, as `BoxPairs.columns` has them, of three images and two classes."""

    def rows(n: int, prefix: str) -> dict[str, np.ndarray]:
        columns = draw.whole(3, n, kind=np.int32), draw.whole(2, n, kind=np.int32), draw.real(n, 4)
        return dict(zip((f"{prefix}image", f"{prefix}label", f"{prefix}box"), columns, strict=True))

    truth = rows(t, "") | {"area": draw.real(t), "flags": draw.whole(16, t, kind=np.uint8), "shape": shape}
    detections = rows(d, "d_") | {"d_score": draw.few(d), "d_area": draw.real(d), "d_shape": d_shape}
    return SimpleNamespace(units=3, classes=2, **truth, **detections)


@target("masks.kernels")
def fuzz_kernels(rng: random.Random) -> None:
    """Packed masks, whole and broken, through everything that takes them."""
    draw, t, d = Draw(rng), rng.randrange(4), rng.randrange(4)
    packed = [_native.mask_pack(counts(rng, 9, 9)) for _ in range(t + d)]
    if packed and rng.random() < 0.3:
        broken = np.frombuffer(packed[0], np.uint32).copy()
        broken[rng.randrange(len(broken))] = rng.choice([0, 1, 9, 1 << 31, 0xFFFFFFFF])
        packed[0] = broken.tobytes()
    truths, detections, crowd = packed[:t], packed[t:], draw.flags(t)
    share = rng.choice([0.0, 0.02, 1.0])
    draw.call(_native.masks_match, objects(draw, t, d, truths, detections), RULES, share)
    cells = 1 + draw.size(2)
    draw.call(_native.mask_iou, detections, truths, crowd, share)
    columns: list[Any] = [_native.mask_column([counts(rng, 9, 9) for _ in range(n)]) for n in (d, t)]
    if d and rng.random() < 0.3:
        part = columns[0][rng.randrange(3)]
        if part.size:
            part.flat[rng.randrange(part.size)] = rng.choice([0, 1, 9, 200])
    draw.call(_native.mask_column, packed)
    rows = [draw.whole(n, n).astype(np.int32) for n in (d, t)]
    least = rng.choice([-np.inf, 0.0, 0.5, np.nan])
    begins = draw.offsets(cells, d), draw.offsets(cells, t)
    draw.call(_native.cell_mask_ious, *begins, *rows, *columns, crowd, share, least, 2)
    for entry in (
        _native.mask_area,
        _native.mask_box,
        _native.mask_sizes,
        _native.mask_fingerprint,
        _native.mask_decode,
    ):
        draw.call(entry, packed)
    draw.call(_native.mask_merge, packed, rng.random() < 0.5)
    for one in packed[:2]:
        draw.call(_native.mask_copy, one)
        draw.call(_native.mask_boundary, one, share)
    draw.call(_native.mask_encode, np.asfortranarray(draw.whole(3, 5, 4, 2, kind=np.uint8)))
    draw.call(_native.mask_boxes, draw.real(t, 4, low=-9), 9, 9)
    polygons = [polygon(rng) for _ in range(t)]
    draw.call(_native.mask_polygons, polygons, 9, 9)
    draw.call(_native.mask_united, polygons, 9, 9)
    pairs = [_native.mask_pack(counts(rng, 9, 9)) for _ in truths]
    draw.call(_native.mask_contours, truths, pairs, rng.choice([0, 1, 3, 20, 1 << 20, -1]))


@target("keypoints.kernels")
def fuzz_keypoints(rng: random.Random) -> None:
    draw, points = Draw(rng), rng.choice([1, 3, 17, 130])
    t, d = draw.size(), draw.size()
    sigmas = draw.real(points, low=1e-6, high=2.0)
    t_points, d_points = draw.real(t, 3 * points, low=-1.0), draw.real(d, 3 * points, low=-1.0)
    draw.call(_native.oks, d_points, t_points, draw.real(t, 4), draw.real(t), sigmas)
    cells = 1 + draw.size(2)
    begins = draw.offsets(cells, d), draw.offsets(cells, t)
    rows = [draw.whole(n, n).astype(np.int32) for n in (d, t)]
    places = np.ascontiguousarray(d_points[:, : 2 * points])
    last, least = rng.randrange(cells + 2), rng.choice([-np.inf, 0.0, 0.5, np.nan])
    truths = draw.whole(9, t, 3 * points, kind=np.int16) if rng.random() < 0.3 else t_points
    draw.call(
        _native.oks_exponents, *begins, *rows, places, truths, draw.real(t, 4), draw.real(t), sigmas, least, 0, last
    )
    draw.call(_native.oks_means, draw.real(d), draw.offsets(cells, d))
    draw.call(_native.keypoints_match, objects(draw, t, d, t_points, d_points), RULES, sigmas)


@target("quads.kernels")
def fuzz_quads(rng: random.Random) -> None:
    """Quadrilaterals of any corners, whole and equal ones among them, and rectangles of any angle."""
    draw, t, d = Draw(rng), rng.randrange(5), rng.randrange(5)
    of = draw.few if rng.random() < 0.5 else draw.real
    t_quads, d_quads, crowd = of(t, 8), of(d, 8), draw.flags(t)
    draw.call(_native.quad_shapes, t_quads)
    draw.call(_native.quads_iou, d_quads, t_quads, crowd)
    d_rectangles, t_rectangles = of(d, 5), of(t, 5)
    draw.call(_native.rectangles_iou, d_rectangles, t_rectangles, crowd)
    draw.call(_native.rectangles_probiou, d_rectangles, t_rectangles)
    draw.call(_native.quads_match, objects(draw, t, d, t_quads, d_quads), RULES)
    draw.call(_native.probiou_match, objects(draw, t, d, t_rectangles, d_rectangles), RULES)

"""Fuzz the COCO reader, the evaluator of boxes and their kernels.

Texts are made by changing good ones: bytes, pieces, tokens, numbers. Whatever comes must give columns or an InputError;
what gives columns on both sides is evaluated. Kernels are given arrays of any content.
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from harness import REALS, Draw, target

import steelyard as sy
from steelyard import _native
from steelyard.core.task import Policy
from steelyard.io.coco import parse_coco
from steelyard.tasks.boxes.pairs import MatchRules, pair

TOKENS = [
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u0041", b"\\ud83d\\ude00", b"\\ud800", b"null", b"true",
    b"false",
    b"NaN", b"-Infinity", b"1e999", b"-0", b"0.1e-400", b"9" * 30, b"9" * 400, b"1" * 5000, b"\xff",
    b"\xc3\xa9", b"\x00",
    b" " * 70, b'"images"', b'"annotations"', b'"categories"', b'"bbox"', b'"score"', b'"image_id"', b'"id"', b"}, {",
    b"[[[[[[[[[[[[[[[[[[[[", b'{"a":' * 50,
]  # fmt: skip


def good(rng: random.Random) -> tuple[bytes, bytes]:
    images, classes = rng.randrange(1, 5), rng.randrange(1, 4)

    def number() -> float:
        return rng.choice([0, 1, -1, 5.5, 1e12, 1e-300, rng.uniform(0, 100), rng.randrange(100)])

    def box() -> list[float]:
        return [number(), number(), abs(number()), abs(number())]

    truth = {
        "info": {"x": [{"y": [1, "é\n"]}]},
        "images": [{"id": i, "file_name": "ä.jpg"} for i in range(images)],
        "annotations": [
            {"id": i, "image_id": rng.randrange(images), "category_id": rng.randrange(classes), "bbox": box(),
             "area": abs(number()), "iscrowd": rng.randrange(2), "segmentation": [[1.5, 2, 3]]}
            for i in range(rng.randrange(6))
        ],
        "categories": [{"id": i, "name": f"n{i}"} for i in range(classes)],
    }  # fmt: skip
    results = [
        {"image_id": rng.randrange(images), "category_id": rng.randrange(classes), "bbox": box(), "score": number()}
        for _ in range(rng.randrange(8))
    ]
    space = rng.choice([None, 1])
    return json.dumps(truth, indent=space).encode(), json.dumps(results, indent=space).encode()


def changed(rng: random.Random, text: bytes) -> bytes:
    data = bytearray(text)
    for _ in range(rng.choice([0, 1, 1, 2, 5])):
        place = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0 and data:
            data[min(place, len(data) - 1)] = rng.randrange(256)
        elif kind == 1:
            del data[place : place + rng.choice([1, 2, 10, 1000])]
        elif kind == 2:
            data[place:place] = rng.choice(TOKENS)
        elif kind == 3:
            other = rng.randrange(len(data) + 1)
            data[place:place] = data[other : other + rng.randrange(40)]
        elif kind == 4:
            del data[place:]
        else:
            data[place:place] = rng.choice(TOKENS) * rng.choice([1, 3, 300])
    return bytes(data)


def read(text: bytes, side: str, threads: int) -> object:
    try:
        return parse_coco(text, side, threads=threads)
    except sy.InputError as error:
        if len(str(error)) > 3000:
            raise AssertionError("the message is too long") from error
        return None


@target("boxes.reader")
def fuzz_reader(rng: random.Random) -> None:
    for side, text in zip(("truth", "prediction"), good(rng), strict=True):
        text = changed(rng, text)
        if rng.random() < 0.02:  # over the size of a chunk
            text = changed(rng, text[:-1] + (b", " + text[1:-1]) * (1_500_000 // max(1, len(text))) + text[-1:])
        one, two = read(text, side, 1), read(text, side, 3)
        assert (one is None) == (two is None), text[:2000]


@target("boxes.evaluator")
def fuzz_evaluator(rng: random.Random) -> None:
    truth, results = good(rng)
    if rng.random() < 0.5:
        truth, results = changed(rng, truth), changed(rng, results)
    sides = [read(truth, "truth", 1), read(results, "prediction", 1)]
    if None in sides:
        return
    try:
        pairs = pair(*sides, Policy(extra="skip"))  # type: ignore[arg-type]
        if len(pairs.units) == 0:
            return
        metrics = [m for m in sy.metrics("boxes") if rng.random() < 0.3]
        from steelyard.core.plan import POINT, UNITS
        from steelyard.core.state import State
        from steelyard.engine.measure import needs_of

        state = State.of(pairs, needs_of(metrics))
        for plan in (POINT, UNITS):
            for metric in metrics:
                state.totals(plan).of(metric)
    except sy.InputError:
        pass


@target("boxes.files")
def fuzz_files(rng: random.Random) -> None:
    """The reader of files, and the bare entries: invalid image sizes."""
    draw, (truth, results) = Draw(rng), good(rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.json")
        path.write_bytes(changed(rng, truth))
        draw.call(
            _native.coco_read, rng.choice([str(path), f"{path}\0", folder, f"{folder}/none"]), True, 2, rng.randrange(3)
        )
    ids = rng.choice([np.arange(4), ["a", "b", "c", "d"], ["\ud800"] * 4])
    draw.call(_native.coco_parse, changed(rng, results), False, 2, rng.randrange(3), ids, draw.whole(40, 4, 2))


@target("boxes.kernels")
def fuzz_kernels(rng: random.Random) -> None:
    """Arrays of any content: the kernels must refuse what they cannot take."""
    draw = Draw(rng)
    t, d, images, labels = (draw.size() for _ in range(4))
    t, d = (t, d) if images and labels else (0, 0)
    threads, most, voc, partners = 2, draw.size(4), rng.random() < 0.5, rng.random() < 0.5
    ious = draw.real(draw.size(40) if rng.random() < 0.1 else 3, low=0.05, high=1.0)
    truth = (draw.whole(images, t, kind=np.int32), draw.whole(labels, t, kind=np.int32), draw.real(t, 4), draw.real(t))
    detections = (
        draw.whole(images, d, kind=np.int32),
        draw.whole(labels, d, kind=np.int32),
        draw.real(d, 4),
        draw.few(d),
    )
    areas, flags = np.sort(draw.real(2, 2), axis=1), draw.whole(16, t, kind=np.uint8)
    names = ("image", "label", "box", "area", "d_image", "d_label", "d_box", "d_score")
    columns = dict(zip(names, (*truth, *detections), strict=True))
    objects = SimpleNamespace(units=images, classes=labels, flags=flags, d_area=None, **columns)
    m = draw.call(_native.boxes_match, objects, MatchRules(ious, areas, most, voc, partners, threads))
    if m is None:
        return
    order, rows = m["order"], m["truth_order"]
    score, counts = detections[3][order] if d else detections[3], draw.flags(t)
    ranked = draw.call(
        _native.Ranked, m["begin"], m["end"], detections[0][order], score, m["rank"], m["hit"][0], m["ignored"][0],
        m["truth_begin"], truth[0][rows], counts, len(ious), 3,
    )  # fmt: skip
    if ranked is None:
        return
    grid = np.linspace(0, 1, 101 if rng.random() < 0.9 else 7)
    draw.call(ranked.curves, draw.real(images), grid, True, threads)
    for figure in map(_native.BoxFigure, range(8)):
        weights = draw.whole(3, draw.size(40), images, kind=np.float64)
        draw.call(ranked.figures, weights, figure, grid, threads)
        drawn, count = draw.whole(256, 2, images, 32, kind=np.uint8), rng.randrange(30, 66)
        draw.call(ranked.draws, drawn, count, figure, grid, threads)
        groups = rng.randrange(1 + images)
        group = draw.whole(groups + 1, images, kind=np.int32) - 1
        draw.call(ranked.left_out, group.astype(np.int32), groups, figure, grid, threads)


@target("boxes.cells")
def fuzz_cells(rng: random.Random) -> None:
    """What the drop-in for COCO's own evaluator calls."""
    draw = Draw(rng)
    d, t, cells = draw.size(), draw.size(), 1 + draw.size(3)
    d_begin, t_begin = draw.offsets(cells, d), draw.offsets(cells, t)
    d_box, t_box, crowd = draw.real(d, 4), draw.real(t, 4), draw.flags(t)
    draw.call(_native.boxes_iou, d_box, t_box, crowd)
    rows = [draw.whole(n, n).astype(np.int32) for n in (d, t)]
    draw.call(_native.cell_box_ious, d_begin, t_begin, *rows, d_box, t_box, crowd)
    pairs = int(np.sum(np.diff(d_begin) * np.diff(t_begin)))
    thresholds = draw.few(draw.size(3))
    draw.call(
        _native.match_cells, d_begin, t_begin, draw.few(pairs), draw.flags(2, t), crowd, draw.flags(d), thresholds, 2
    )
    category = np.sort(draw.whole(3, len(d_begin) - 1))
    draw.call(
        _native.score_cells,
        d_begin,
        t_begin,
        draw.few(pairs),
        draw.flags(2, t),
        crowd,
        draw.flags(d),
        thresholds,
        category,
        draw.few(d),
        draw.flags(2, d),
        draw.flags(t),
        draw.whole(5, 2),
        draw.few(4),
        3,
        2,
    )
    values = [1, 2.5, "a", None, [1, 2, 3, 4], [1.0, 2, 3.5, True], {}, 1 << 80, float("nan")]
    names = ["image_id", "category_id", "bbox", "score", "area", "id", "segmentation"]
    results = [{name: rng.choice(values) for name in names if rng.random() < 0.9} for _ in range(d)]
    draw.call(_native.result_columns, results, bool(d % 2), bool(t % 2))
    draw.call(_native.complete_results, results)
    places = [draw.whole(4, d).astype(np.int32) for _ in range(2)]
    draw.call(_native.order_cells, *places, draw.few(d), 4, 4, bool(d % 2))
    hit, ignored, recalls = draw.flags(3, d), draw.flags(3, d), np.linspace(0, 1, 5)
    order = draw.whole(d, draw.size() if d else 0)
    draw.call(_native.reference_curves, order, draw.few(d), hit, ignored, float(t), recalls, 2)


@target("streams.parts")
def fuzz_streams(rng: random.Random) -> None:
    """Rankings in parts of any content: refused, or walked to the end."""
    draw = Draw(rng)

    def count() -> float:
        return float(rng.choice(REALS) if rng.random() < 0.1 else draw.size(9))

    figure, kind = _native.BoxFigure(rng.randrange(8)), rng.randrange(-1, 6)
    thresholds, grid = rng.randrange(1, 33), np.linspace(0, 1, rng.randrange(1, 102))
    boxes = draw.call(_native.BoxStream, thresholds, draw.size(9), figure, grid, count(), count())
    rows = draw.call(_native.LabelStream, kind, count(), count(), count())
    top = 9.0
    for _ in range(draw.size(4)):
        score = np.sort(draw.real(draw.size(20), low=top - 1, high=top))[::-1].copy()
        n, top = len(score), top - 1
        if boxes is not None:
            draw.call(boxes.feed, score, draw.whole(12, n, kind=np.uint16), draw.bits(n), draw.bits(n))
        if rows is not None:
            draw.call(rows.feed, score, draw.flags(n))
    for stream in (boxes, rows):
        if stream is not None:
            stream.result()

"""The quick part for boxes, masks and keypoints: what evaluation can see in a sample of images it has read anyway."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.checks.findings import Finding
from steelyard.core.records import Array, BoxRecords, Records
from steelyard.tasks.boxes.check_alone import FEW
from steelyard.tasks.boxes.check_geometry import OverlapSample, draw_sample, extent
from steelyard.tasks.boxes.check_pairs import class_shift, other_readings
from steelyard.tasks.boxes.check_side import CheckedSide
from steelyard.tasks.boxes.pairs import KeypointSimilarity

IMAGES = 40


AXES = ("axes-exchanged",)


def look(pairs: Any, readings: tuple[str, ...] | None = AXES, *, fit: bool = True) -> list[Finding]:
    """Findings about a sample of the pairs of an evaluation.

    `readings` are other readings of the coordinates that are tried, None for all. `fit` says whether a prediction must
    lie on its object.
    """
    if not len(pairs.prediction):
        what = "There is no prediction at all: every object is missed."
        return [Finding("no-predictions", "note", "predictions", what, 0, 0, (), "Is it the right file?")]
    findings = repeated_truth(pairs)
    if len(pairs.prediction) < FEW or len(pairs.truth) < FEW:
        return findings
    held = np.zeros(len(pairs.units), dtype=bool)
    held[pairs.image] = True
    images = np.flatnonzero(held)
    sampled = np.zeros(len(pairs.units), dtype=bool)
    sampled[images[np.linspace(0, len(images) - 1, IMAGES).astype(np.int64)]] = True
    truth = _part(pairs.truth, "truth", np.flatnonzero(sampled[pairs.image]), pairs.image)
    side = _part(pairs.prediction, "predictions", np.flatnonzero(sampled[pairs.d_image]), pairs.d_image)
    if len(truth) < FEW or len(side) < FEW or side.score is None:
        return findings
    truth.labels = pairs.labels if pairs.labels.dtype.kind in "iu" else None
    usable: Array = np.asarray((truth.box[:, 2:] > 0).all(axis=1))
    sample = draw_sample(truth.image, usable, side.image, side.score, images=IMAGES)
    if len(sample.truths) >= FEW:
        _judge(readings, fit, truth, side, sample)
    return findings + side.findings


def has_points(records: Records) -> bool:
    """Whether objects are sets of points, which stand in the column of shapes."""
    return isinstance(records, BoxRecords) and isinstance(records.similarity, KeypointSimilarity)


def _part(records: Records, name: str, rows: Array, image: Array) -> CheckedSide:
    if has_points(records):
        points = records["shape"][rows]
        seen = points[:, 2::3] > 0 if name == "truth" else np.ones((len(rows), points.shape[1] // 3), dtype=bool)
        box = extent(points, seen)
    else:
        box = np.column_stack([records[c][rows] for c in "xywh"])
    place = records.place
    side = CheckedSide(name, records.source, image[rows].astype(np.int64), records["label"][rows], box)
    side.place = lambda row: place(int(rows[row]))
    side.score = records["score"][rows] if "score" in records else None
    return side


def _judge(
    readings: tuple[str, ...] | None, fit: bool, truth: CheckedSide, side: CheckedSide, sample: OverlapSample
) -> None:
    plain = sample.rate(truth.box, side.box)
    far = np.abs(side.box).max()
    if plain < 0.05 and far <= 1.02 and np.abs(truth.box).max() > 20:
        side.report(
            "fractions", "error", "No coordinate of the predictions is above 1: they look like fractions of the image "
            "where pixels are expected.",
            np.arange(len(side)), "Multiply by the image's size.",
        )  # fmt: skip
        return
    box = side.box
    best = other_readings(side, truth, sample, plain, None, only=readings)
    if best is not None:
        box = best
    elif plain < 0.02 and fit:
        side.report(
            "nothing-fits", "warning", f"Only {plain:.1%} of the objects in a sample have a prediction of any class on "
            "them (IoU 0.5).",
            sample.truths, "Are these predictions of the same images, in pixels of the original size?",
            total=len(truth),
        )  # fmt: skip
    class_shift(truth, side, sample, box)


def repeated_truth(pairs: Any) -> list[Finding]:
    """Objects that appear twice in an image, equal in class, box and shape; in at most 1,000 images."""
    rows = np.arange(len(pairs.truth))
    if len(pairs.units) > 1000:
        sampled = np.zeros(len(pairs.units), dtype=bool)
        sampled[np.linspace(0, len(pairs.units) - 1, 1000).astype(np.int64)] = True
        rows = np.flatnonzero(sampled[pairs.image])
    if len(rows) < 2:
        return []
    key = pairs.image[rows].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    key ^= pairs.label[rows].astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    for i, name in enumerate("xywh"):
        bits = np.ascontiguousarray(pairs.truth[name][rows], dtype=np.float64).view(np.uint64)
        key = (key ^ (bits >> np.uint64(29)) ^ bits) * np.uint64(0x9E3779B97F4A7C15 + 2 * i)
    ordered = np.sort(key)
    if (ordered[1:] != ordered[:-1]).all():
        return []
    columns = [name for name in ("image", "label", *"xywh", "shape") if name in pairs.truth]
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    again = [
        int(rows[b])
        for a, b in zip(order[same].tolist(), order[same + 1].tolist(), strict=True)
        if all(np.array_equal(pairs.truth[c][rows[a]], pairs.truth[c][rows[b]]) for c in columns)
    ]
    if not again:
        return []
    subject = "1 object of the truth appears" if len(again) == 1 else f"{len(again)} objects of the truth appear"
    what = f"{subject} twice, equal in all: the second of two is a sure miss."
    examples = tuple(pairs.truth.place(row) for row in again[:3])
    return [Finding("near-duplicates", "warning", "truth", what, len(again), len(rows), examples, "Remove the copies.")]

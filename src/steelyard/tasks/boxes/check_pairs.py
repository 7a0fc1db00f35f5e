"""Checks of predictions against their truth: unknown ids, shifted classes, exchanged coordinates, missing images."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.records import Array, distinct_values
from steelyard.tasks.boxes.check_alone import FEW, MISREAD, cells, misread, places
from steelyard.tasks.boxes.check_geometry import OverlapSample, draw_sample, twins
from steelyard.tasks.boxes.check_side import CheckedSide
from steelyard.tasks.boxes.pairs import MOST_RANKED

CUT = 0.05  # a lowest score from which on low scores must have been cut off
SHIFTED = {"+1": 1, "−1": -1}


def check_scores(side: CheckedSide) -> None:
    """Scores outside 0 to 1, all alike, or cut off."""
    score = side.score
    if score is None or not len(score):
        return
    out = np.flatnonzero((score < 0) | (score > 1))
    percent = bool(score.min() >= 0 and 1 < score.max() <= 100)
    what = "Scores lie outside 0 to 1: a threshold such as 0.5 (precision, recall, F1) means something else for them."
    remedy = (
        "They look like percent: divide by 100." if percent else "They look like logits: apply the sigmoid or softmax."
    )
    side.report("score-range", "error", what, out, remedy, shown=lambda row: f"{side.place(row)}: score {score[row]:g}")
    if len(score) < FEW:
        return
    if score.min() == score.max():
        side.report(
            "score-constant", "warning", f"Every score is {score[0]:g}: there is no ranking, and AP is that of "
            f"the input's order.",
            np.arange(len(score)), "Write the model's confidence.",
            shown=lambda row: f"{side.place(row)}: score {score[row]:g}",
        )  # fmt: skip
    elif not len(out) and len(score) >= 50 and _cut_off(score):
        side.report(
            "score-cut", "warning",
            f"The lowest score is {score.min():g}: low scores seem to be cut off. AP needs the whole ranking "
            f"and is too low "
            "without its end.", np.arange(len(score)), "Export detections down to a score of 0.001 or 0.01.",
            shown=lambda row: f"lowest: {side.place(int(np.argmin(score)))}, score {score.min():g}" if row == 0 else "",
        )  # fmt: skip
    values, counts = np.unique(score, return_counts=True)
    tied = int(counts[counts > 1].sum())
    if len(score) >= 100 and tied > 0.9 * len(score) and score.min() != score.max():
        side.report(
            "score-ties", "note",
            f"{len(counts):,} different scores for {len(score):,} detections: equal ones keep the input's "
            f"order, which differs "
            "between tools.", np.flatnonzero(np.isin(score, values[counts > 1])), "Write scores with all their digits.",
            shown=lambda row: f"{side.place(row)}: score {score[row]:g}",
        )  # fmt: skip


def _cut_off(score: Array) -> bool:
    """Whether scores crowd at the lowest one, far above 0. A tail that thins out has its lowest ones far apart."""
    lowest = float(score.min())
    many = max(5, len(score) // 20)
    return lowest >= CUT and float(np.partition(score, many)[many]) - lowest < 0.25 * lowest


def check_repeats(side: CheckedSide) -> None:
    """Detections that appear twice, and boxes that no suppression has thinned."""
    score = side.score
    if score is None or not len(side):
        return
    cell = cells(side)
    order = np.lexsort((*side.box.T, score, cell))
    same = (
        (np.diff(cell[order]) == 0) & (np.diff(score[order]) == 0) & (np.diff(side.box[order], axis=0) == 0).all(axis=1)
    )
    again = np.zeros(len(side), dtype=bool)
    again[order[1:][same]] = True  # the sorts are stable: the first of equals is the first of the input
    rows = np.flatnonzero(again)
    side.report(
        "repeated", "error" if len(rows) > 0.01 * len(side) else "warning",
        "Detections that appear more than once, equal in all: each copy is a false positive.", rows,
        "Were shards or batches joined twice? Write each detection once.",
    )  # fmt: skip
    once = np.flatnonzero(~again)
    a, b = twins(cell[once], side.box[once], 0.9)
    close = np.unique(once[np.concatenate([a, b])])
    if len(once) >= FEW and len(close) > 0.3 * len(once):
        side.report(
            "no-suppression", "warning",
            "Many detections of one class lie on one another (IoU 0.9 or more): non-maximum suppression seems "
            "to be missing.",
            close, "Suppress duplicates before scoring; all but one of each object are false positives.",
        )  # fmt: skip
    _limit(side, cell, score)


def _limit(side: CheckedSide, cell: Array, score: Array) -> None:
    order = np.lexsort((-score, cell))
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    counts = np.diff(np.append(starts, len(order)))
    rank = np.arange(len(order)) - np.repeat(starts, counts)
    if len(counts) and counts.max() > MOST_RANKED:
        many = int(np.count_nonzero(counts > MOST_RANKED))
        side.report(
            "over-limit", "error",
            f"{count_text(many, 'pair', 'have', 'of image and class')} more than {MOST_RANKED:,} detections, "
            "which evaluate refuses.",
            np.sort(order[rank >= MOST_RANKED]), "Leave out the lowest scores.",
            shown=lambda row: f"{side.place(row)}: image {side.image[row]}, class {side.label[row]}",
        )  # fmt: skip
        return
    many = int(np.count_nonzero(counts > 100))
    side.report(
        "over-limit", "note",
        f"{count_text(many, 'pair', 'have', 'of image and class')} more than 100 detections: COCO's metrics "
        "leave out those of "
        f"the lowest score.",
        np.sort(order[rank >= 100]), "Nothing need be done; map(max_dets=300) counts more.",
        shown=lambda row: f"{side.place(row)}: image {side.image[row]}, class {side.label[row]}",
    )  # fmt: skip


def check_join(truth: CheckedSide, side: CheckedSide) -> Array:
    """Predictions of unknown images or classes, and images without any. Gives each prediction's image."""
    images = _known_ids(truth.images, truth.image)
    labels = _known_ids(truth.labels, truth.label)
    image, label = places(images, side.image), places(labels, side.label)
    for codes, column, truth_ids, what in (
        (image, side.image, images, "image"),
        (label, side.label, labels, "class"),
    ):
        kinds = truth_ids.dtype.kind == "i", column.dtype.kind == "i"
        mixed = "" if kinds[0] == kinds[1] or not len(column) else (
            f" Ids of the truth are {'numbers' if kinds[0] else 'texts'}, those of the predictions "
            f"{'numbers' if kinds[1] else 'texts'}."
        )  # fmt: skip
        listed = "images" if what == "image" else "classes"
        refused = what == "image" or truth.labels is not None or np.mean(codes < 0) > 0.5
        side.report(
            f"unknown-{what}", "error" if refused else "note",
            f"Predictions for {listed} that the truth does not know.{mixed}",
            np.flatnonzero(codes < 0), f"Use the {what} ids of the truth; evaluate refuses these rows unless "
            f"extra=skip.",
            shown=side.naming(what, column),
        )  # fmt: skip
    _missing_images(truth, side, images, image)
    _missing_classes(truth, side, labels, label)
    return image


def _known_ids(listed: Array | None, column: Array) -> Array:
    return distinct_values(column) if listed is None else listed


def _missing_images(truth: CheckedSide, side: CheckedSide, images: Array, image: Array) -> None:
    held = np.unique(places(images, truth.image))
    held = held[held >= 0]
    lacking = np.setdiff1d(held, image)
    if not len(lacking):
        return
    order = np.argsort(images, kind="stable") if images.dtype.kind == "i" else np.arange(len(images))
    rank = np.empty(len(images), dtype=np.int64)
    rank[order] = np.arange(len(images))
    share = len(lacking) / len(held)
    lost = np.sort(rank[lacking])
    tail = len(lacking) >= 5 and bool((np.sort(rank[held])[-len(lacking) :] == lost).all())
    severity = "warning" if tail or share > 0.2 else "note"
    where = " They are the last ones: was the last batch dropped?" if tail else ""
    side.report(
        "images-without-predictions", severity, f"Images that hold objects and have no prediction: all of these "
        f"are missed.{where}",
        lacking, "Fine where the model found nothing; else run it on all images.", total=len(held),
        shown=lambda row: f"image {images[row]}",
    )  # fmt: skip


def _missing_classes(truth: CheckedSide, side: CheckedSide, labels: Array, label: Array) -> None:
    counts = (
        np.bincount(places(labels, truth.label).clip(0), minlength=len(labels)) if len(truth) else np.zeros(len(labels))
    )
    predicted = np.bincount(label[label >= 0], minlength=len(labels))
    never = np.flatnonzero((counts >= 10) & (predicted == 0))
    names = truth.names if len(truth.names) == len(labels) else ()

    def class_text(row: int) -> str:
        return f"class {labels[row]}" + (f" ({names[row]})" if names and names[row] else "")

    if (label >= 0).any():
        side.report(
            "classes-without-predictions", "warning", "Classes with ten objects or more that are never "
            "predicted: their AP is 0.",
            never, "Does the model know these classes, and are the ids those of the "
            "truth?", total=int((counts > 0).sum()),
            shown=lambda row: f"{class_text(row)}: {count_text(int(counts[row]), 'object')}",
        )  # fmt: skip
    bare = np.flatnonzero((counts == 0) & (predicted > 0))
    side.report(
        "classes-without-truth", "note", "Classes that are predicted and have no truth: all wrong, and no AP "
        "counts them.", bare,
        "Nothing need be done; precision and the confusion matrix count them.", total=len(labels),
        shown=lambda row: f"{class_text(row)}: {count_text(int(predicted[row]), 'prediction')}",
    )  # fmt: skip


def check_fit(truth: CheckedSide, side: CheckedSide, image: Array, sizes: Array | None) -> None:
    """Whether predictions lie on the truth, and if not, whether another reading of their numbers would.

    All by statistics over a sample of images: the share of objects that some prediction of any class covers (IoU 0.5).
    """
    if side.score is None or len(side) < FEW or len(truth) < FEW or misread(truth):
        return
    codes = places(_known_ids(truth.images, truth.image), truth.image)
    crowd = np.zeros(len(truth), dtype=bool) if truth.crowd is None else truth.crowd.astype(bool)
    usable = ~crowd & (truth.box[:, 2] > 0) & (truth.box[:, 3] > 0)
    sample = draw_sample(codes, usable, image, side.score)
    if len(sample.truths) < FEW:
        return
    plain = sample.rate(truth.box, side.box)
    box = _readings(side.box, sizes).get(_misreading(side), (side.box, "", ""))[0]
    if not misread(side) and _other_reading(truth, side, sample, plain, sizes, codes, usable, image):
        follows = {"off-image", "outside-image", "zero-area"} if misread(side) else set()
        side.findings = [finding for finding in side.findings if finding.code not in follows]
        if not misread(side):
            return
        box = _readings(side.box, sizes)[_misreading(side)][0]
    if plain < 0.05 and not any(finding.code in {*MISREAD, "unknown-image"} for finding in side.findings):
        side.report(
            "nothing-fits", "warning",
            f"Only {plain:.1%} of the objects in a sample have a prediction of any class on them (IoU 0.5).",
            sample.truths, "Are these predictions of the same images, in pixels of the original size, not of the "
            "network's input?",
            total=len(truth), shown=lambda row: f"{truth.place(row)}: {truth.box_text(row)}",
        )  # fmt: skip
    class_shift(truth, side, sample, box)
    value, _ = sample.best(truth.box, box)
    if float(np.mean(value > 1 - 1e-9)) > 0.95:
        side.report(
            "copies-of-truth", "warning", "Nearly every object has a prediction that is equal to it in every digit.",
            sample.truths, "Are these predictions of a model, or the truth itself?", total=len(truth),
            shown=lambda row: f"{truth.place(row)}: {truth.box_text(row)}",
        )  # fmt: skip


def _misreading(side: CheckedSide) -> str:
    return next((finding.code for finding in side.findings if finding.code in MISREAD), "")


def _readings(box: Array, sizes: Array | None) -> dict[str, tuple[Array, str, str]]:
    """Boxes as they would be if their numbers meant something else; what that is, and how to correct it."""
    readings: dict[str, tuple[Array, str, str]] = {
        "corners-as-size": (
            np.column_stack([box[:, :2], np.clip(box[:, 2:] - box[:, :2], 0, None)]),
            "read as two corners (x1, y1, x2, y2)", "Write x2 − x1 and y2 − y1 in place of x2 and y2.",
        ),
        "centres-as-corners": (
            np.column_stack([box[:, :2] - box[:, 2:] / 2, box[:, 2:]]),
            "read as centre and size (cx, cy, width, height)", "Subtract half the width and height from x and y.",
        ),
        "axes-exchanged": (
            box[:, [1, 0, 3, 2]], "read with x and y exchanged", "Write x before y and width before height.",
        ),
    }  # fmt: skip
    if sizes is not None:
        scaled = box * np.tile(sizes, 2)
        readings["fractions"] = (scaled, "read as fractions of the image", "Multiply by the image's size.")
    return readings


def other_readings(
    side: CheckedSide,
    truth: CheckedSide,
    sample: OverlapSample,
    plain: float,
    sizes: Array | None,
    *,
    only: tuple[str, ...] | None = None,
) -> Array | None:
    """The boxes in the reading that puts predictions on many more objects, which is reported; None where none does."""
    readings = {code: read for code, read in _readings(side.box, sizes).items() if only is None or code in only}
    best = max(((sample.rate(truth.box, other[0]), code) for code, other in readings.items()), default=(0.0, ""))
    if best[0] <= max(2 * plain, plain + 0.2):
        return None
    box, reading, remedy = readings[best[1]]
    side.report(
        best[1], "error",
        f"{plain:.0%} of the objects in a sample have a prediction on them as the boxes stand, and {best[0]:.0%} where "
        f"they are {reading}.",
        np.arange(len(side)), remedy,
    )  # fmt: skip
    return box


def _other_reading(
    truth: CheckedSide,
    side: CheckedSide,
    sample: OverlapSample,
    plain: float,
    sizes: Array | None,
    codes: Array,
    usable: Array,
    image: Array,
) -> bool:
    if other_readings(side, truth, sample, plain, sizes, only=side.readings) is not None:
        return True
    for name, step in SHIFTED.items():
        moved = draw_sample(codes, usable, image, side.score if side.score is not None else np.zeros(len(side)), step)
        rate = moved.rate(truth.box, side.box) if len(moved.truth) else 0.0
        if rate > max(3 * plain, plain + 0.3):
            side.report(
                "images-shifted", "error",
                f"{plain:.0%} of the objects in a sample have a prediction on them, and {rate:.0%} where each "
                f"image gets the "
                f"predictions of its neighbour ({name}).", np.arange(len(side)), "Are the images numbered from "
                "0 on one side and from 1 "
                "on the other, or sorted in another order?",
            )  # fmt: skip
            return True
    return False


def class_shift(truth: CheckedSide, side: CheckedSide, sample: OverlapSample, box: Array) -> None:
    """Classes off by one, or places in a list where ids are expected."""
    value, partner = sample.best(truth.box, box)
    hit = np.flatnonzero((value >= 0.5) & (partner >= 0))
    labels = _known_ids(truth.labels, truth.label)
    if len(hit) < FEW or truth.label.dtype.kind != "i" or side.label.dtype.kind != "i":
        return
    right = truth.label[sample.truths[hit]]
    predicted = side.label[partner[hit]]
    ordered = np.sort(labels)

    def ids_from(first: int) -> Callable[[Array], Array]:
        return lambda ids: np.where(
            (ids >= first) & (ids < first + len(ordered)), ordered[np.clip(ids - first, 0, len(ordered) - 1)], -1
        )

    others: dict[str, Callable[[Array], Array]] = {
        "one less than the truth's": lambda ids: ids + 1,
        "one more than the truth's": lambda ids: ids - 1,
        "places in the sorted list of ids, from 0": ids_from(0),
        "places in the sorted list of ids, from 1": ids_from(1),
    }
    plain = float(np.mean(predicted == right))
    rates = {name: float(np.mean(other(predicted) == right)) for name, other in others.items()}
    best = max(rates, key=lambda name: rates[name])
    if rates[best] >= 0.5 and rates[best] > plain + 0.3:
        example = int(np.argmax(others[best](predicted) == right))
        side.report(
            "classes-shifted", "error",
            f"Of the predictions that lie on an object, {plain:.0%} have its class as the ids stand, and "
            f"{rates[best]:.0%} where "
            f"they are taken as {best}.", np.arange(len(side)), "Map the model's classes to the category ids of "
            "the truth.",
            shown=lambda row: f"{side.place(int(partner[hit[example]]))}: class {predicted[example]} on an object "
            f"of class {right[example]}"
            if row == 0 else "",
        )  # fmt: skip

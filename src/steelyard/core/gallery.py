"""Gallery: units that are worth a look, as data: what is drawn over each image, and counts by score threshold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from steelyard.core.frozen import Frozen
from steelyard.core.scene import BoxShape, EllipseShape, LineShape, PolygonShape, Scene

MarkKind = Literal["box", "rings", "ellipse", "points", "line"]
MarkRole = Literal["truth", "prediction", "pair"]
Parts = tuple[tuple[float, ...], ...]
WORST = 12  # units that a page shows first


class Mark(Frozen):
    """One object, drawn over an image. y goes down; numbers are pixels of the image.

    `parts` depend on the kind: a box is (left, top, width, height), rings are corners x1 y1 x2 y2 ... of each outline,
    an ellipse is (x, y, degrees, half axes), points are (x, y) each, a line is (x1, y1, x2, y2).

    `matched` says whether it has a partner, `counts` is False where it counts neither way. `score` is that of a
    prediction, and for a true object that of its partner: below a threshold both are gone. `tags` are the errors that
    it is part of: "error:loose box", "cell:1>2:0-40". `files` are names of an image that fills a box, as of a shot.
    """

    kind: MarkKind
    role: MarkRole
    parts: Parts
    label: str = ""
    matched: bool = True
    counts: bool = True
    score: float | None = None
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def faults(self) -> dict[str, str]:
        """What cannot be drawn, by field."""
        sizes = {"box": 4, "ellipse": 5, "points": 2, "line": 4}
        fits = all(len(part) == sizes[self.kind] if self.kind in sizes else len(part) % 2 == 0 for part in self.parts)
        finite = all(math.isfinite(value) for part in self.parts for value in part)
        return {} if fits and finite else {"parts": f"does not describe a mark of kind '{self.kind}'"}


class Layer(Frozen):
    """What one model found in an image: its marks over those of the truth, and what they add up to."""

    marks: tuple[Mark, ...]
    summary: str = ""


class Shot(Frozen):
    """An image with a layer for each model. `files` are names that its file may have, in the order of trying.

    `bounds` are left, top, right and bottom of what is shown. `fits` says that they are those of the whole image.
    """

    unit: str
    title: str
    bounds: tuple[float, float, float, float]
    layers: tuple[Layer, ...]
    files: tuple[str, ...] = ()
    fits: bool = False
    worst: bool = True

    def faults(self) -> dict[str, str]:
        """What cannot be drawn, by field."""
        left, top, right, bottom = self.bounds
        wrong = {} if 0 < right - left < math.inf and 0 < bottom - top < math.inf else {"bounds": "encloses no area"}
        return wrong if self.layers else {**wrong, "layers": "is empty"}


class Sweep(Frozen):
    """Counts at score thresholds: `scores` rise, `start` is the place of the one to show first.

    `counts` are true positives, false positives and missed objects at each. `cells` holds the confusion matrix at each:
    places in `classes` of the truth and of the prediction, and how many, one after the other; a place behind the last
    class is the background.
    """

    iou: float
    scores: tuple[float, ...]
    start: int
    counts: tuple[tuple[int, int, int], ...]
    classes: tuple[str, ...] = ()
    cells: tuple[tuple[int, ...], ...] = ()

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        if not self.start < len(self.scores) == len(self.counts) or not all(map(math.isfinite, self.scores)):
            return {"counts": "does not belong to the scores"}
        whole = not self.cells or len(self.cells) == len(self.scores)
        known = all(
            len(row) % 3 == 0 and max([*row[::3], *row[1::3]], default=0) <= len(self.classes) for row in self.cells
        )
        return {} if whole and known else {"cells": "does not belong to the scores and classes"}


class Gallery(Frozen):
    """Units to look at, the worst first; `of` is how many units there are, `by` what they are chosen by.

    `words` say what marks mean where they are not of detections: ("tp", "right"), ("fp", "wrong").
    """

    unit: str
    of: int
    by: str
    shots: tuple[Shot, ...]
    sweep: Sweep | None = None
    threshold: float | None = None
    words: tuple[tuple[str, str], ...] = ()


def round_parts(parts: Iterable[Sequence[float]]) -> Parts:
    """Numbers to a tenth of a pixel: a page shows no more."""
    return tuple(tuple(round(float(value), 1) for value in part) for part in parts)


def scene_marks(scene: Scene) -> tuple[Mark, ...]:
    """The shapes of a scene as marks."""
    marks = []
    for shape in scene.shapes:
        if isinstance(shape, BoxShape):
            marks.append(
                Mark("box", shape.role, round_parts([(shape.x, shape.y, shape.w, shape.h)]), shape.label, shape.matched)
            )
        elif isinstance(shape, PolygonShape):
            marks.append(Mark("rings", shape.role, round_parts([shape.points]), shape.label, shape.matched))
        elif isinstance(shape, EllipseShape):
            at = (shape.x, shape.y, shape.degrees, shape.a, shape.b)
            marks.append(Mark("ellipse", shape.role, round_parts([at]), shape.label, shape.matched))
        elif isinstance(shape, LineShape):
            marks.append(Mark("line", "pair", round_parts([(shape.x1, shape.y1, shape.x2, shape.y2)]), shape.label))
    return tuple(marks)


def mark_bounds(marks: Iterable[Mark]) -> tuple[float, float, float, float]:
    """A frame of 4 to 3 around all marks, with a margin; three times as wide as a single small one."""
    xs: list[float] = []
    ys: list[float] = []
    for mark in marks:
        for part in mark.parts:
            if mark.kind == "box":
                x, y, w, h = part
                xs += [x, x + w]
                ys += [y, y + h]
            elif mark.kind == "ellipse":
                x, y, degrees, a, b = part
                t = math.radians(degrees)
                w, h = math.hypot(a * math.cos(t), b * math.sin(t)), math.hypot(a * math.sin(t), b * math.cos(t))
                xs += [x - w, x + w]
                ys += [y - h, y + h]
            else:
                xs += part[::2]
                ys += part[1::2]
    if not xs:
        return 0.0, 0.0, 100.0, 60.0
    wide = max(max(xs) - min(xs), max(ys) - min(ys))
    margin = round((1.0 if wide < 100 else 0.06) * wide, 1) or 1.0
    x, y = (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2
    half = max((max(xs) - min(xs)) / 2 + margin, ((max(ys) - min(ys)) / 2 + margin) * 4 / 3)
    return round(x - half, 1), round(y - 0.75 * half, 1), round(x + half, 1), round(y + 0.75 * half, 1)

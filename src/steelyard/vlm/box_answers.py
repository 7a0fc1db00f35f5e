"""Answers that are boxes: a JSON list of `{"box": [...], "label": "cup", "score": 0.9}`, kept in pixels of the image.

Models write corners in several orders and scales; a question says which. What lies outside of the image or has no area
is not an answer.
"""

from __future__ import annotations

from typing import Any

from steelyard.core.frozen import frozen
from steelyard.vlm.schema import TYPES, read_json, spelled

FORMATS = ("xyxy", "xywh", "cxcywh", "yxyx")
SCALES = ("pixels", "shown")
BOX_KEYS = ("box", "bbox", "bbox_2d", "box_2d")
MOST = 1000  # boxes of one reply
_SLACK = 1.0  # pixels that a corner may lie outside, by rounding


@frozen
class BoxForm:
    """How boxes are written: the order of a box's numbers, and their scale.

    A scale is `pixels` of the image, `shown` (pixels of the image as it was sent, at most `max_side` long), or the
    number that stands for the whole width and height. `labels` are the classes that may be named. `width`, `height` are
    those of the image; 0 where they are not known yet.
    """

    order: str = "xyxy"
    scale: str = "pixels"
    labels: tuple[str, ...] = ()
    target_order: str = "xyxy"
    width: int = 0
    height: int = 0
    max_side: int = 0

    def read(self, text: str) -> tuple[str, str]:
        """The outcome of a reply, and the boxes in one spelling where it is `ok`."""
        try:
            return self._boxes(read_json(text), self.order, self._factors())
        except ValueError:
            return "bad_json", ""

    def truth(self, cell: str) -> str | None:
        """True boxes in one spelling: in pixels, in the target's order; None where they are none."""
        try:
            outcome, said = self._boxes(read_json(cell), self.target_order, (1.0, 1.0))
        except ValueError:
            return None
        return said if outcome == "ok" else None

    def _factors(self) -> tuple[float, float]:
        """What a number of a reply is in pixels, across and down."""
        if self.scale == "pixels" or not self.width:
            return 1.0, 1.0
        if self.scale == "shown":
            longest = max(self.width, self.height)
            shrunk = longest / min(longest, self.max_side or longest)
            return shrunk, shrunk
        return self.width / float(self.scale), self.height / float(self.scale)

    def _boxes(self, value: Any, order: str, factors: tuple[float, float]) -> tuple[str, str]:
        if not isinstance(value, list) or len(value) > MOST:
            return "schema", ""
        boxes = []
        for one in value:
            outcome, box = self._box(one, order, factors)
            if outcome != "ok":
                return outcome, ""
            boxes.append(box)
        return "ok", spelled(boxes)

    def _box(self, one: Any, order: str, factors: tuple[float, float]) -> tuple[str, dict[str, Any]]:
        keys = [key for key in BOX_KEYS if isinstance(one, dict) and key in one]
        if len(keys) != 1 or not set(one) <= {keys[0], "label", "score"}:
            return "schema", {}
        numbers, label, score = one[keys[0]], one.get("label"), one.get("score", 1)
        if not isinstance(numbers, list) or len(numbers) != 4 or not all(map(TYPES["number"], numbers)):
            return "schema", {}
        if not TYPES["number"](score) or not 0 <= score <= 1 or not isinstance(label, str) or not label.strip():
            return "schema", {}
        named = self._named(label)
        if named is None:
            return "schema", {}
        left, top, width, height = _left_top_size([float(number) for number in numbers], order)
        left, width, top, height = left * factors[0], width * factors[0], top * factors[1], height * factors[1]
        if width <= 0 or height <= 0:
            return "degenerate", {}
        right, bottom = left + width - self.width, top + height - self.height
        if self.width and (min(left, top) < -_SLACK or max(right, bottom) > _SLACK):
            return "outside", {}
        return "ok", {"box": [left, top, width, height], "label": named, "score": score}

    def _named(self, label: str) -> str | None:
        """A label as the question spells it; None where it names none of its labels."""
        plain = " ".join(label.split())
        if not self.labels:
            return plain
        return next((known for known in self.labels if known.casefold() == plain.casefold()), None)


def _left_top_size(numbers: list[float], order: str) -> tuple[float, float, float, float]:
    a, b, c, d = numbers
    if order == "xywh":
        return a, b, c, d
    if order == "cxcywh":
        return a - c / 2, b - d / 2, c, d
    if order == "yxyx":
        a, b, c, d = b, a, d, c
    return a, b, c - a, d - b

"""Replies of models, read as boxes or points, and the coordinate space that they are given in.

A reply is read as written: JSON (`[x, y, x, y]`, lists of them, objects with `bbox_2d`, `box_2d`, `bbox`, `box`,
`point_2d` or `point`), lists of four numbers in a text, `(x,y),(x,y)`, `<loc0213>` tokens, `<point x="6.5" y="4.1">`
tags, or `(x, y)` in a text without any of these. Other numbers of a text are never taken for coordinates. `null`, `[]`
and `"none"`, alone or under a key, say that nothing is there. What a model thinks aloud before `</think>` is not read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from steelyard import _native
from steelyard.core.errors import InvalidSetting
from steelyard.core.records import Array

KEYS = ("bbox_2d", "box_2d", "bbox", "box", "point_2d", "point")
NOTHING = ("none", "null", "nothing", "no object", "not found")
ORDERS = {"xyxy": (0, 1, 2, 3), "yxyx": (1, 0, 3, 2), "xywh": (0, 1, 2, 3)}
SCALES = ("1", "100", "999", "1000", "1023", "1024")
SPACES = ("pixels", "shown", *SCALES)
PADS = ("centre", "corner")
LONGEST = 1 << 16  # characters of a reply that are looked at
MOST = 1000  # boxes of a reply

_NUMBER = r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
_LIST = re.compile(rf"[\[(]\s*({_NUMBER}(?:\s*,\s*{_NUMBER}){{3}})\s*[\])]")
_CORNERS = re.compile(rf"\(\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\)\s*,?\s*\(\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\)")
_PAIR = re.compile(rf"[\[(]\s*({_NUMBER})\s*,\s*({_NUMBER})\s*[\])]")
_POINTS = re.compile(r"<points?\s[^<>]*>")
_SIDES = re.compile(r"""\b([xy])(\d*)\s*=\s*["']\s*(-?\d+(?:\.\d*)?)\s*["']""")
_THOUGHT_START = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_TOKENS = re.compile(r"<loc(\d{4})><loc(\d{4})><loc(\d{4})><loc(\d{4})>")
_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


class Reply(NamedTuple):
    """What a reply says: `ok` with boxes of four numbers or points of two, in its own space, or why it is not read."""

    outcome: str
    boxes: tuple[tuple[float, ...], ...] = ()
    scores: tuple[float, ...] = ()


UNREADABLE = Reply("unreadable")


class Replies:
    """What replies say, one after the other: the boxes of reply g are `numbers[begin[g]:begin[g + 1]]`.

    `owner` is the reply of each box. Points have two numbers and then nan; `score` is nan where none is given.
    """

    def __init__(self, texts: list[str]) -> None:
        usual = _native.usual_boxes(list[object](texts))
        rest = np.flatnonzero(np.isnan(usual[:, 0]))
        others = [read_reply(texts[place]) for place in rest.tolist()]
        count = np.ones(len(texts), dtype=np.int64)
        count[rest] = [len(reply.boxes) for reply in others]
        self.begin = np.append(0, np.cumsum(count))
        self.owner = np.repeat(np.arange(len(texts)), count)
        self.outcome = np.full(len(texts), "ok", dtype=object)
        self.outcome[rest] = [reply.outcome for reply in others]
        self.numbers = usual[self.owner]
        self.score = np.full(len(self.owner), np.nan)
        odd = np.isnan(self.numbers[:, 0])
        self.numbers[odd] = [(*box, math.nan, math.nan)[:4] for reply in others for box in reply.boxes] or usual[:0]
        self.score[odd] = [score for reply in others for score in reply.scores]

    def __getitem__(self, place: int) -> Reply:
        """One reply."""
        boxes = self.numbers[self.begin[place] : self.begin[place + 1]]
        width = 2 if np.isnan(boxes).any() else 4
        scores = self.score[self.begin[place] : self.begin[place + 1]]
        return Reply(self.outcome[place], tuple(map(tuple, boxes[:, :width].tolist())), tuple(scores.tolist()))


def read_reply(text: str) -> Reply:
    """The boxes or points of a reply, in the order in which it names them."""
    if "</" in text:
        text = _THOUGHT_END.split(text)[-1]
    text = text[:LONGEST].strip()
    if _THOUGHT_START.search(text):  # never closed: there is no answer
        return UNREADABLE
    fenced = _FENCE.search(text)
    plain = (fenced.group(1) if fenced else text).strip()
    if plain.lower().rstrip(".") in NOTHING:
        return Reply("ok")
    if plain[:1] in "[{n":
        try:
            return _read_value(json.loads(plain))
        except (ValueError, RecursionError):
            pass
        except OverflowError:  # a whole number larger than a double
            return UNREADABLE
    tokens = [tuple(map(float, match)) for match in _TOKENS.findall(text)]
    if tokens:
        return _reply(tokens)
    points = _read_points(text)
    if points is not None:
        return _reply(points) if points else UNREADABLE
    corners = [tuple(map(float, match)) for match in _CORNERS.findall(text)]
    lists = [tuple(map(float, match.split(","))) for match in _LIST.findall(text)]
    pairs = [tuple(map(float, match)) for match in _PAIR.findall(text)]
    places = corners or lists or pairs
    return _reply(places) if places else UNREADABLE


def _read_points(text: str) -> list[tuple[float, ...]] | None:
    """Points of tags such as `<points x1="6.5" y1="4.1">`; None without a tag, empty if one is incomplete."""
    tags = _POINTS.findall(text)
    if not tags:
        return None
    points: list[tuple[float, ...]] = []
    for tag in tags:
        sides = {(axis, number): float(value) for axis, number, value in _SIDES.findall(tag)}
        numbers = dict.fromkeys(number for _, number in sides)
        if not sides or any((axis, number) not in sides for number in numbers for axis in "xy"):
            return []
        points += [(sides["x", number], sides["y", number]) for number in numbers]
    return points


def _read_value(value: Any) -> Reply:
    """A value of JSON: nothing, one box, or a list of boxes."""
    if value is None or value == []:
        return Reply("ok")
    if isinstance(value, str):
        return Reply("ok") if value.strip().lower() in NOTHING else UNREADABLE
    if isinstance(value, Mapping) or _is_numbers(value):
        value = [value]
    if not isinstance(value, list):
        return UNREADABLE
    boxes, scores = [], []
    for entry in value:
        key = next((key for key in KEYS if key in entry), None) if isinstance(entry, Mapping) else None
        held = entry if key is None else entry[key]
        if key is not None and (held is None or held == []) and len(value) == 1:
            return Reply("ok")
        if not _is_numbers(held):
            return UNREADABLE
        boxes.append(tuple(map(float, held)))
        score = entry.get("score") if isinstance(entry, Mapping) else None
        scores.append(float(score) if isinstance(score, int | float) and not isinstance(score, bool) else np.nan)
    return _reply(boxes, scores)


def _is_numbers(value: Any) -> bool:
    numbers = isinstance(value, list | tuple) and len(value) in (2, 4)
    return numbers and all(isinstance(v, int | float) and not isinstance(v, bool) for v in value)


def _reply(boxes: list[tuple[float, ...]], scores: list[float] | None = None) -> Reply:
    if len(boxes) > MOST or len({len(box) for box in boxes}) != 1 or not np.isfinite(boxes).all():
        return UNREADABLE
    return Reply("ok", tuple(boxes), tuple(scores or [np.nan] * len(boxes)))


def check_space(space: str) -> None:
    """Raise where a coordinate space is not known."""
    pad, colon, scale = space.rpartition(":")
    square, _, place = pad.partition(":")
    if space in SPACES or (colon and square == "square" and place in PADS and scale in SPACES):
        return
    raise InvalidSetting(
        f"option coordinates: '{space}' is not a known space",
        remedy=f"Choose one of {', '.join(SPACES)}, or square:centre:1 and the like where images were padded.",
    )


def to_pixels(numbers: Array, space: str, size: Array, shown: Array | None = None) -> Array:
    """Boxes or points (n, 4 or 2), x before y, as pixels of images whose width and height are `size` (n, 2).

    `shown` is the size of the image as the model saw it, which the space `shown` needs.
    """
    sides = numbers.shape[1] // 2
    pad, _, scale = space.rpartition(":")
    if scale == "pixels" and not pad:
        return numbers
    extent = np.broadcast_to(size.max(axis=1, keepdims=True), size.shape) if pad else size
    if scale == "shown":
        assert shown is not None
        factor = size / shown
    elif scale == "pixels":
        factor = np.ones_like(size)
    else:
        factor = extent / float(scale)
    placed = numbers * np.tile(factor, sides)
    if pad.endswith("centre"):
        placed = placed - np.tile((extent - size) / 2, sides)
    return placed


def to_corners(numbers: Array, order: str) -> Array:
    """Boxes as x1, y1, x2, y2; points as x, y."""
    if numbers.shape[1] == 2:
        return numbers[:, ::-1] if order == "yxyx" else numbers
    boxes = numbers[:, list(ORDERS[order])]
    return np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1) if order == "xywh" else boxes

"""Why other tools print other numbers for the same replies: how they read them, and what they compare by.

lmms-eval (`refcoco_grounding`, `groundingme`) and VLMEvalKit (`RefCOCO`) choose the coordinate space reply by reply:
the first by what fits the truth better, the second by the largest number. lmms-eval's `refcoco_bbox_rec` takes all
numbers for 0-1. MDETR and TransVG compare boxes by other rules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from steelyard.core.errors import MissingColumn
from steelyard.core.explanation import Explanation
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache
from steelyard.language.coordinates import LONGEST, to_corners, to_pixels
from steelyard.tasks.grounding.data import OUTSIDE, GroundingPairs
from steelyard.tasks.grounding.overlap import RULES, Rule, overlaps
from steelyard.tasks.grounding.sums import CentreSum, chosen, require_one
from steelyard.tasks.shared.tools import Tool, explain_tool, find_tools

BOTH, GUESSED = "the better of pixels and 0-1000", "guessed from the largest number"
ANY_SPACE, UNIT = "the best of pixels, 0-1 or 0-999, and the images that MiMo and Qwen see", "0-1"
JSON_ELSE, FIRST_FOUR = "JSON, else four numbers in a row", "the first four numbers"
FIRST_LIST, LAST_FOUR = "the first list of four numbers", "bbox_2d of JSON, else the last four numbers in a row"
AS_WRITTEN, SORTED = "compared as written", "sorted and cut to the image"
BEST, ZEROS = "the box that fits the truth best", "the box [0, 0, 0, 0]"
GIOU, CUT = "generalised IoU in single precision", "IoU of boxes cut to the image, single precision"
COMPARED = {GIOU: RULES["mdetr"], CUT: RULES["transvg"]}


class GroundingConventions(Frozen):
    """How replies are read and boxes compared. The defaults are ours."""

    reading: str = field(default="JSON, lists, (x,y),(x,y) and tokens", metadata={"title": "how a reply is read"})
    space: str = field(default="as declared", metadata={"title": "coordinate space"})
    boxes: str = field(default="wrong", metadata={"title": "reversed, empty and outside boxes"})
    several: str = field(default="the best-scored or first box", metadata={"title": "several boxes"})
    silent: str = field(default="wrong", metadata={"title": "no answer"})
    rejection: str = field(default="an answer that says so", metadata={"title": "right where nothing is there"})
    compared: str = field(default="IoU", metadata={"title": "how boxes are compared"})


OURS = GroundingConventions()
TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "lmms-eval",
            "75571cf, refcoco_grounding",
            GroundingConventions(reading=JSON_ELSE, space=BOTH, boxes=AS_WRITTEN, several=BEST, silent=ZEROS),
            {
                "reading": "Tokens and (x,y),(x,y) are not read; four numbers anywhere in a text are.",
                "space": "Each box is scored in both spaces, and the one with the higher IoU is kept.",
                "boxes": "A box with reversed corners or no area still has a centre.",
                "several": "A model that lists ten boxes is right more often.",
                "silent": "Its centre is a hit where the true box begins in the corner of the image.",
            },
            ("acc@0.5", "mean_iou", "centre"),
            ("It prints IoU, ACC@0.5 and Center_ACC.",),
        ),
        Tool(
            "lmms-eval-rec",
            "75571cf, refcoco_bbox_rec",
            GroundingConventions(reading=FIRST_LIST, space=UNIT, boxes=AS_WRITTEN, silent=ZEROS),
            {
                "reading": "Only four numbers in brackets are read.",
                "space": "The prompt asks for 0-1, and numbers in another space are not converted: they score 0.",
                "boxes": "A box with reversed corners or no area still has a centre.",
                "silent": "Its centre is a hit where the true box begins in the corner of the image.",
            },
            ("acc@0.5", "mean_iou", "centre"),
        ),
        Tool(
            "groundingme",
            "lmms-eval 75571cf, groundingme",
            GroundingConventions(reading=LAST_FOUR, space=ANY_SPACE, boxes=AS_WRITTEN, rejection=ZEROS),
            {
                "reading": "Four numbers anywhere in a text are a box.",
                "space": "Each box is scored in four spaces, and the one with the highest IoU is kept.",
                "boxes": "The corners may lie outside the image.",
                "rejection": "A reply that cannot be read is that box too, and counts as a right rejection.",
            },
            ("acc@0.5", "mean_iou"),
            ("It prints IoU, ACC@0.5 and MACC. Expressions that name nothing are counted, as by our exact_set.",),
        ),
        Tool(
            "vlmevalkit",
            "e8e78f0, RefCOCO",
            GroundingConventions(reading=FIRST_FOUR, space=GUESSED, boxes=SORTED),
            {
                "reading": "Any four numbers of a text become a box.",
                "space": "Up to 1.5 it is 0-1, up to 1000 it is 0-1000, else pixels: replies in pixels of small images "
                "are read as 0-1000.",
                "boxes": "They are repaired without a word.",
            },
            ("acc@0.5", "mean_iou"),
            ("Its Average is the mean of the scores of the splits, whatever their sizes.",),
        ),
        Tool(
            "mdetr",
            "ea09acc, RefExpEvaluator",
            GroundingConventions(compared=GIOU),
            {"compared": "It is never larger than IoU, so that its P@1 is stricter than accuracy at IoU 0.5."},
            ("acc@0.5",),
        ),
        Tool(
            "transvg",
            "c862427",
            GroundingConventions(compared=CUT),
            {"compared": "A box that runs out of the image is cut, and IoU of exactly 0.5 may be a miss."},
            ("acc@0.5",),
            ("The size of each image is needed.",),
        ),
    )
}


def explain(pairs: GroundingPairs, tools: Iterable[str]) -> tuple[Explanation, ...]:
    """The numbers of other tools on these replies, and what each of their settings does."""
    named, cache = find_tools(tools, TOOLS), SharedCache()
    if set(named) - {"groundingme"} or (pairs.targets > 1).any():
        require_one(pairs)
    reads = next((name for name, tool in named.items() if tool.conventions.reading != OURS.reading), None)
    if reads and "reply" not in pairs.prediction:
        raise MissingColumn(
            f"column 'reply' is missing, and {reads} differs in how it reads replies",
            where=pairs.prediction.source,
            remedy="Give the replies as text.",
        )
    return tuple(explain_tool(tool, partial(values, pairs, cache)) for tool in named.values())


def values(pairs: GroundingPairs, cache: SharedCache, way: GroundingConventions) -> dict[str, float]:
    """Accuracy, mean IoU and centre accuracy as a tool has them."""
    weight = np.ones(len(pairs.owner)) if pairs.weight is None else pairs.weight[pairs.owner]
    same = ("reading", "space", "boxes", "silent", "rejection")
    if all(getattr(way, name) == getattr(OURS, name) for name in same):
        rule, several = COMPARED.get(way.compared, Rule()), "best" if way.several == BEST else "first"
        iou = chosen(pairs, cache, rule, several)[1]  # type: ignore[arg-type]
        centre = CentreSum(several).of_expressions(pairs, cache)  # type: ignore[arg-type]
        iou = np.where((pairs.targets == 0) & pairs.answered & (pairs.replies == 0), 1.0, iou)
    else:
        iou, centre = _reread(pairs, way, cache)
    mean = partial(np.average, weights=weight)
    return {
        "acc@0.5": float(mean(iou >= 0.5)),
        "mean_iou": float(mean(np.where(np.isnan(iou), 0.0, iou))),
        "centre": float(mean(centre)),
    }


def _reread(pairs: GroundingPairs, way: GroundingConventions, cache: SharedCache) -> tuple[Array, Array]:
    """IoU and whether the centre is a hit, of each expression, from replies that are read again."""
    size, there = pairs.size[pairs.truth_row], pairs.targets > 0
    true = np.zeros((len(there), 4))
    true[there] = pairs.true.box[pairs.true.begin[pairs.truth_row[there]]]
    numbers, owner = cache.once(("raw boxes", way.reading), lambda: _raw_boxes(pairs, way.reading))
    boxes, owner, rank = _in_pixels(pairs, numbers, owner, size, way)
    if way.boxes == SORTED:
        boxes = np.clip(boxes, 0, np.tile(size[owner], 2))
        boxes = np.concatenate([np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], axis=1)
    elif way.boxes == OURS.boxes:
        limit = np.tile(size[owner], 2) + OUTSIDE
        odd = (boxes < -OUTSIDE).any(axis=1) | (boxes > limit).any(axis=1) | (boxes[:, 2:] <= boxes[:, :2]).any(axis=1)
        counts = ~np.isin(owner, owner[odd])
        boxes, owner, rank = boxes[counts], owner[counts], rank[counts]
    reverse = (boxes[:, 2:] < boxes[:, :2]).any(axis=1, keepdims=True)
    flat = np.where(reverse, 0.0, boxes)  # reversed: no area
    value = overlaps(flat, true[owner], np.full((len(flat), 2), np.nan), Rule())
    if way.several != BEST:
        first = rank == 0
        boxes, owner, value = boxes[first], owner[first], value[first]
    order = np.lexsort((np.arange(len(owner)), -value, owner))
    best = order[np.flatnonzero(np.diff(owner[order], prepend=-1))]
    taken = np.zeros((len(true), 4)) if way.silent == ZEROS else np.full((len(true), 4), np.nan)
    iou = np.zeros(len(true))
    taken[owner[best]], iou[owner[best]] = boxes[best], value[best]
    quiet = pairs.answered & (pairs.replies == 0)
    if way.rejection == ZEROS:
        quiet = np.bincount(owner[(boxes != 0).any(axis=1)], minlength=len(true)) == 0
    iou = np.where(there, iou, quiet * 1.0)
    middle = (taken[:, :2] + taken[:, 2:]) / 2
    centre = np.asarray((true[:, :2] <= middle).all(axis=1) & (middle <= true[:, 2:]).all(axis=1))
    if way.boxes != AS_WRITTEN:
        silent = (taken == 0).all(axis=1) if way.silent == ZEROS else False
        centre = np.asarray(centre & ((taken[:, 2:] > taken[:, :2]).all(axis=1) | silent))
    return iou, centre


def _raw_boxes(pairs: GroundingPairs, reading: str) -> tuple[Array, Array]:
    """The boxes of all replies with the numbers as they were written, and the expression of each."""
    texts, groups = pairs.prediction["reply"], pairs.prediction_row.tolist()
    if reading == OURS.reading:
        read = pairs.read
        boxes = [[box for box in read[g].boxes if len(box) == 4] if read and g >= 0 else [] for g in groups]
    else:
        boxes = [_READERS[reading](str(texts[group])) if group >= 0 else [] for group in groups]
    numbers = np.array([box for own in boxes for box in own], dtype=np.float64).reshape(-1, 4)
    return numbers, np.repeat(np.arange(len(boxes)), [len(own) for own in boxes])


def _in_pixels(
    pairs: GroundingPairs, numbers: Array, owner: Array, size: Array, way: GroundingConventions
) -> tuple[Array, Array, Array]:
    """Boxes x1, y1, x2, y2 in pixels, their expressions, and their places in the replies.

    Where both spaces are tried, each box is there in both, one after the other.
    """
    sizes = size[owner]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    if way.space == UNIT:
        return to_pixels(numbers, "1", sizes), owner, rank
    if way.space == ANY_SPACE:
        unit = (numbers <= 1).all(axis=1, keepdims=True)
        spaces = [numbers, np.where(unit, to_pixels(numbers, "1", sizes), to_pixels(numbers, "999", sizes))]
        for least, most in ((8, 4096), (4, 16384)):  # MiMo's and Qwen's
            spaces.append(to_pixels(numbers, "shown", sizes, resized(sizes, least, most)))
        every = np.stack(spaces, axis=1).reshape(-1, 4)
        return every, np.repeat(owner, len(spaces)), np.repeat(rank, len(spaces))
    if way.space == BOTH:
        both = np.stack([numbers, to_pixels(numbers, "1000", sizes)], axis=1).reshape(-1, 4)
        return both, np.repeat(owner, 2), np.repeat(rank, 2)
    if way.space == GUESSED:
        largest = np.abs(numbers).max(axis=1, initial=0.0)
        scale = np.where(largest <= 1.5, 1.0, 1000.0)[:, np.newaxis]
        scaled = numbers / scale * np.tile(sizes, 2)
        return np.where((largest <= 1000)[:, np.newaxis], scaled, numbers), owner, rank
    shown = None
    if pairs.space.endswith("shown"):
        row = pairs.prediction_row[owner]
        shown = np.stack([pairs.prediction[name][row] for name in ("shown_width", "shown_height")], axis=1)
    corners = to_corners(numbers, pairs.order if way.reading == OURS.reading else "xyxy")
    return to_pixels(corners, pairs.space, sizes, shown), owner, rank


_NUMBER = r"-?\d+(?:\.\d+)?"
_IN_A_ROW = re.compile(r"\s*[,\s]\s*".join([f"({_NUMBER})"] * 4))
_ANY = r"[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?"
_BRACKETED = re.compile(r"\[\s*" + r"(?:\s*,\s*|\s+)".join([f"({_ANY})"] * 4) + r"\s*\]")
_COMMAS = re.compile(r"\[\s*" + r",\s*".join([f"({_NUMBER})"] * 4) + r"\s*\]")
_IN_A_ROW_LOOSE = re.compile(r"[\s,]+".join([f"({_NUMBER})"] * 4))
_KEYS = ("bbox_2d", "bbox", "box", "coordinates", "coord", "location", "position")
DEEPEST = 50  # levels of JSON in which boxes are looked for


def _read_json_else(text: str) -> list[Any]:
    """Boxes as lmms-eval reads them: all of the JSON, or of its outermost brackets; else four numbers in a row."""
    text = text[:LONGEST].strip()
    fenced = re.search(r"```(?:json)?\s*(.*?)\s*```", text, re.DOTALL | re.IGNORECASE)
    tried = [fenced[1]] if fenced else []
    tried.append(text)
    for first, last in ("[]", "{}"):
        if 0 <= text.find(first) < text.rfind(last):
            tried.append(text[text.find(first) : text.rfind(last) + 1])
    for part in tried:
        try:
            value = json.loads(part)
        except (ValueError, RecursionError):
            continue
        if boxes := _boxes_within(value, DEEPEST):
            return boxes
        break
    return [tuple(map(float, match)) for match in _IN_A_ROW.findall(text)]


def _boxes_within(value: Any, levels: int) -> list[Any]:
    """All boxes of a JSON value: lists of four numbers, or those under a known key."""
    if not levels:
        return []
    if isinstance(value, dict):
        own = next((value[key] for key in _KEYS if isinstance(value.get(key), list) and len(value[key]) == 4), None)
        value = [own] if own is not None else list(value.values())
    if not isinstance(value, list):
        return []
    if len(value) == 4 and all(isinstance(number, int | float) for number in value):
        return [tuple(map(float, value))]
    return [box for part in value for box in _boxes_within(part, levels - 1)]


def _read_first_four(text: str) -> list[Any]:
    """The box as VLMEvalKit reads it: four numbers in brackets, else the first four numbers of the text."""
    text = text[:LONGEST]
    bracketed = _BRACKETED.search(text)
    numbers = bracketed.groups() if bracketed else re.findall(_ANY, text)[:4]
    return [tuple(map(float, numbers))] if len(numbers) == 4 else []


def _read_first_list(text: str) -> list[Any]:
    """The box as lmms-eval's refcoco_bbox_rec reads it: the first four numbers in brackets."""
    listed = _COMMAS.search(text[:LONGEST])
    return [tuple(map(float, listed.groups()))] if listed else []


def _read_last_four(text: str) -> list[Any]:
    """The box as GroundingMe reads it: that of JSON, else the last four numbers in a row; none where it is null."""
    text = text[:LONGEST]
    first, last = text.find("{"), text.rfind("}")
    if 0 <= first < last and '"bbox_2d"' in text[first:last]:
        try:
            box = json.loads(text[first : last + 1])["bbox_2d"]
            if box is None:
                return []
            if isinstance(box, list) and len(box) == 4:
                return [tuple(map(float, box))]
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
    rows = _IN_A_ROW_LOOSE.findall(text)
    return [tuple(map(float, rows[-1]))] if rows else []


def resized(size: Array, least: int, most: int, step: int = 28) -> Array:
    """The size of images as the processors of Qwen2.5-VL and MiMo resize them.

    Sides are in whole steps, and the area is that of `least` to `most` squares with sides of a step.
    """
    whole = np.maximum(np.round(size / step), 1)
    squares, area = whole.prod(axis=1, keepdims=True), size.prod(axis=1, keepdims=True) / step**2
    smaller = np.maximum(np.floor(size / np.sqrt(area / most) / step), 1)
    larger = np.maximum(np.ceil(size * np.sqrt(least / area) / step), 1)
    return np.asarray(step * np.where(squares > most, smaller, np.where(squares < least, larger, whole)))


_READERS: dict[str, Callable[[str], list[Any]]] = {
    JSON_ELSE: _read_json_else,
    FIRST_FOUR: _read_first_four,
    FIRST_LIST: _read_first_list,
    LAST_FOUR: _read_last_four,
}

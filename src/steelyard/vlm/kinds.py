"""Kinds of answers: how a reply is read, and what a true answer must look like. Nothing is guessed.

A reply goes through the same steps as one of grams (digits folded, closed thoughts dropped, marks around it unwrapped);
then all of it must be the answer. A text keeps its characters and marks. What it says is kept in one spelling: the
option's letter, `yes`, `1250.5`.

Answers that are boxes: a JSON list of `{"box": [...], "label": "cup", "score": 0.9}`, kept in pixels of the image. A
`box` or a `point` is where one thing is that the question names: four or two numbers, or `null` where it is not there.

Models write corners in several orders and scales; a question says which. What lies outside of the image or has no area
is not an answer.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from steelyard.core.frozen import Frozen
from steelyard.language.coordinates import read_reply
from steelyard.language.replies import read_choice, read_number
from steelyard.vlm.answers import MOST_GRAMS, OUTCOMES, Answer, classify, declines, parse_reply, reply_text
from steelyard.vlm.schema import TYPES, canonical_json, read_json, violation

FORMATS = ("xyxy", "xywh", "cxcywh", "yxyx")
SCALES = ("pixels", "shown")
BOX_KEYS = ("box", "bbox", "bbox_2d", "box_2d")
MOST = 1000  # boxes of one reply
_SLACK = 1.0  # pixels that a corner may lie outside, by rounding


class Placement(NamedTuple):
    """How numbers become pixels: the size of a step across and down, and the padding left and above."""

    x: float
    y: float
    left: float = 0.0
    top: float = 0.0

    def to_pixels(self, left: float, top: float, width: float, height: float) -> tuple[float, float, float, float]:
        """The corner and the size of a box in pixels of the image."""
        return left * self.x - self.left, top * self.y - self.top, width * self.x, height * self.y


IN_PIXELS = Placement(1.0, 1.0)


class BoxForm(Frozen):
    """How boxes are written: the order of a box's numbers, and their scale.

    A scale is `pixels` of the image, `shown` (pixels of the image as it was sent, at most `max_side` long), or the
    number that stands for the whole width and height; `square:centre:1000` and `square:corner:1000` are those of an
    image that was padded to a square, with the image in the middle or in the upper left corner. Where a model's
    processor rounds both sides of what it is shown to a multiple of some pixels, that is `multiple`. `labels` are the
    classes that may be named. `width`, `height` are those of the image; 0 where they are not known yet.
    """

    order: str = "xyxy"
    scale: str = "pixels"
    labels: tuple[str, ...] = ()
    target_order: str = "xyxy"
    width: int = 0
    height: int = 0
    max_side: int = 0
    multiple: int = 0

    def read(self, text: str) -> tuple[str, str]:
        """The outcome of a reply, and the boxes in one spelling where it is `ok`."""
        try:
            return self._boxes(read_json(text), self.order, self._placement())
        except ValueError:
            return "bad_json", ""

    def truth(self, cell: str) -> str | None:
        """True boxes in one spelling: in pixels, in the target's order; None where they are none."""
        try:
            outcome, boxes = self._boxes(read_json(cell), self.target_order, IN_PIXELS)
        except ValueError:
            return None
        return boxes if outcome == "ok" else None

    def _placement(self) -> Placement:
        """How numbers of a reply become pixels, across and down."""
        if self.scale == "pixels" or not self.width:
            return IN_PIXELS
        if self.scale == "shown":
            shown = shown_size(self.width, self.height, self.max_side, self.multiple)
            return Placement(self.width / shown[0], self.height / shown[1])
        square, _, number = self.scale.rpartition(":")
        if not square:
            return Placement(self.width / float(number), self.height / float(number))
        side = max(self.width, self.height)
        padding = (side - self.width, side - self.height) if square == "square:centre" else (0, 0)
        return Placement(side / float(number), side / float(number), padding[0] / 2, padding[1] / 2)

    def read_places(self, text: str, numbers: int) -> tuple[str, str]:
        """Boxes (four numbers) or points (two) of a reply: the outcome, and a JSON list of them in pixels."""
        return self._places(text, numbers, self.order, self._placement())

    def true_boxes(self, cell: str) -> str | None:
        """True boxes as a JSON list of x1, y1, x2, y2, empty where nothing is there; None where they are none."""
        outcome, boxes = self._places(cell, 4, self.target_order, IN_PIXELS)
        return boxes if outcome == "ok" else None

    def _places(self, text: str, numbers: int, order: str, placement: Placement) -> tuple[str, str]:
        reply = read_reply(text)
        if reply.outcome != "ok":
            return "no_answer", ""
        places = []
        for place in reply.boxes:
            if len(place) != numbers:
                return "schema", ""
            if numbers == 2:
                x, y = place[::-1] if order == "yxyx" else place
                left, top, width, height = x, y, 0.0, 0.0
            else:
                left, top, width, height = _left_top_size(list(place), order)
                if width <= 0 or height <= 0:
                    return "degenerate", ""
            left, top, width, height = placement.to_pixels(left, top, width, height)
            right, bottom = left + width, top + height
            if self.width and (min(left, top) < -_SLACK or max(right - self.width, bottom - self.height) > _SLACK):
                return "outside", ""
            places.append([left, top, right, bottom][:numbers])
        return "ok", canonical_json(places)

    def _boxes(self, value: Any, order: str, placement: Placement) -> tuple[str, str]:
        if not isinstance(value, list) or len(value) > MOST:
            return "schema", ""
        boxes = []
        for entry in value:
            outcome, box = self._box(entry, order, placement)
            if outcome != "ok":
                return outcome, ""
            boxes.append(box)
        return "ok", canonical_json(boxes)

    def _box(self, entry: Any, order: str, placement: Placement) -> tuple[str, dict[str, Any]]:
        keys = [key for key in BOX_KEYS if isinstance(entry, dict) and key in entry]
        if len(keys) != 1 or not set(entry) <= {keys[0], "label", "score"}:
            return "schema", {}
        numbers, label, score = entry[keys[0]], entry.get("label"), entry.get("score", 1)
        if not isinstance(numbers, list) or len(numbers) != 4 or not all(map(TYPES["number"], numbers)):
            return "schema", {}
        if not TYPES["number"](score) or not 0 <= score <= 1 or not isinstance(label, str) or not label.strip():
            return "schema", {}
        named = self._match_label(label)
        if named is None:
            return "schema", {}
        left, top, width, height = _left_top_size([float(number) for number in numbers], order)
        left, top, width, height = placement.to_pixels(left, top, width, height)
        if width <= 0 or height <= 0:
            return "degenerate", {}
        right, bottom = left + width - self.width, top + height - self.height
        if self.width and (min(left, top) < -_SLACK or max(right, bottom) > _SLACK):
            return "outside", {}
        return "ok", {"box": [left, top, width, height], "label": named, "score": score}

    def _match_label(self, label: str) -> str | None:
        """A label as the question spells it; None where it names none of its labels."""
        plain = " ".join(label.split())
        if not self.labels:
            return plain
        return next((known for known in self.labels if known.casefold() == plain.casefold()), None)


def shown_size(width: int, height: int, max_side: int, multiple: int = 0) -> tuple[int, int]:
    """The size in which a picture is sent: its sides shrunk to at most `max_side`, in whole pixels, as Pillow does it.

    With `multiple`, both sides are then rounded to multiples of it, as the processors of some models do.
    """
    if max_side and max(width, height) > max_side:
        aspect = width / height
        if aspect <= 1:
            width, height = _nearest_side(max_side * aspect, lambda side: abs(aspect - side / max_side)), max_side
        else:
            width, height = max_side, _nearest_side(max_side / aspect, lambda side: abs(aspect - max_side / side))
    if multiple:
        return tuple(max(multiple, round(side / multiple) * multiple) for side in (width, height))  # type: ignore[return-value]
    return width, height


def _nearest_side(side: float, error: Callable[[int], float]) -> int:
    """One of the two whole numbers around a side, whichever keeps the proportions better; at least 1."""
    low, high = max(math.floor(side), 1), max(math.ceil(side), 1)
    return min(low, high, key=error)


def _left_top_size(numbers: list[float], order: str) -> tuple[float, float, float, float]:
    a, b, c, d = numbers
    if order == "xywh":
        return a, b, c, d
    if order == "cxcywh":
        return a - c / 2, b - d / 2, c, d
    if order == "yxyx":
        a, b, c, d = b, a, d, c
    return a, b, c - a, d - b


# The targets of task `nutrients` that a reply may have, beside `ingredients`.
NUTRIENTS = ("mass", "energy", "fat", "carbohydrate", "protein", "fibre", "sugar", "salt", "alcohol")
INGREDIENTS = "ingredients"
_AMOUNT = {"type": "number", "minimum": 0, "maximum": 100_000}
_INGREDIENT = {
    "type": ["string", "object"],
    "properties": {"name": {"type": "string", "minLength": 1}, "grams": _AMOUNT},
    "required": ["name"],
    "additionalProperties": False,
}


def nutrient_schema(targets: Sequence[str]) -> dict[str, Any]:
    """The schema of a reply with these targets: an object with a number for each, or a list of ingredients."""
    listed = {"type": "array", "items": _INGREDIENT, "maxItems": 1000}
    properties = {name: listed if name == INGREDIENTS else _AMOUNT for name in targets}
    return {"type": "object", "properties": properties, "required": list(targets), "additionalProperties": False}


def nutrient_cell(value: float | list[Any]) -> float | str:
    """A target of a reply as a cell of a table: ingredients as `rice=120|beans=80`."""
    if not isinstance(value, list):
        return value
    return "|".join(_ingredient_text(part) for part in value)


def _ingredient_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    return f"{part['name']}={part['grams']:.17g}" if "grams" in part else str(part["name"])


KINDS = {
    "grams": "a weight in grams",
    "number": "a number, with a unit or without",
    "integer": "a whole number from 0 up",
    "yes/no": "yes or no",
    "choice": "one of the options",
    "text": "a short text",
    "json": "JSON that keeps to the schema",
    "boxes": 'boxes: [{"box": [...], "label": "..."}]',
    "box": "the box of one thing: [10, 20, 30, 40], or null where it is not there",
    "point": "a point on one thing: [10, 20], or null where it is not there",
    "nutrients": 'numbers from 0 up: {"mass": 310, "energy": 425}, or a list of ingredients',
    "page": "all that a page says, as Markdown or HTML",
}
MEANINGS = OUTCOMES | {
    "not_integer": "a number that is not whole",
    "no_answer": "there is text, and no answer in it",
    "one_answer_in_text": "one answer, and words around it",
    "many_answers": "several answers",
    "unknown_choice": "a letter that no option has",
    "disagrees": "a letter, and the text of another option",
    "too_long": "more text than an answer has",
    "bad_json": "no single value of JSON",
    "schema": "JSON that is not what was asked for",
    "outside": "a box outside of the image",
    "degenerate": "a box without an area",
}
METRICS: dict[str, tuple[str, ...]] = {
    "grams": ("mae", "bias", "rmse", "mape", "answered"),
    "number": ("mae", "bias", "rmse", "mape", "answered"),
    "integer": ("count_exact", "count_within@1", "count_mae", "count_bias", "answered"),
    "yes/no": ("yn_accuracy", "yn_precision", "yn_recall", "yn_f1", "yes_ratio", "yes_bias", "answered"),
    "choice": ("choice", "answered"),
    "text": ("exact", "anls@0.5", "word_f1", "cer", "answered"),
    "json": ("exact(norm=as_is)", "answered"),
    "boxes": ("f1", "precision", "recall", "mean_iou", "map50"),
    "box": (),  # those of the task for what the expressions name
    "point": ("pointing", "answered"),
    "nutrients": (),  # those of the task for the targets that there are
    "page": (),  # those of the task for what the pages hold
}
LONGEST = 10_000  # characters of a text
LONGEST_PAGE = 200_000  # characters of a page
_TRUE = {"yes": "yes", "true": "yes", "1": "yes", "no": "no", "false": "no", "0": "no"}
_NUMBER = (
    r"(?P<sign>[+-]?)(?:(?P<whole>\d{1,3}(?:,\d{3})+|\d+)(?P<part>\.\d+)?|(?P<fraction>\.\d+))(?P<power>[eE][+-]?\d+)?"
)
_MONEY = "$€£¥"
_OTHER_UNIT = re.compile(rf"{_NUMBER}\s*(?:[^\W\d_][\w/²³]*|[%{_MONEY}°]\w?)\.?")
_LETTER = re.compile(r"[(\[]?[A-Za-z][)\].:]*")
_LETTER_TEXT = re.compile(r"[(\[]?([A-Za-z])[)\].:]+\s*.+", re.DOTALL)


class Kind(Frozen):
    """What a question wants: `units` are the spellings of a number's unit, `options` letters with their texts.

    `schema` is that of JSON, as text.
    """

    name: str = "grams"
    units: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    least: float = -math.inf
    most: float = math.inf
    schema: str = ""
    boxes: BoxForm = BoxForm()

    @property
    def task(self) -> str:
        """The task that such answers are scored by."""
        if self.name in ("box", "point"):
            return "grounding"
        if self.name == "page":
            return "documents"
        return self.name if self.name in ("boxes", "nutrients") else "answers"

    @property
    def numeric(self) -> bool:
        """Whether an answer is a number that can be off by some amount."""
        return self.name in ("grams", "number", "integer")

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that such answers are scored by."""
        return METRICS[self.name]

    def read(self, text: str | None, finish: str, *, mode: str = "whole", most: float = MOST_GRAMS) -> Answer:
        """Read a reply; `most` is the largest plausible weight in grams."""
        if self.name == "grams":
            answer = parse_reply(text, finish, mode=mode, most=most)
            return Answer("ok", answer.grams, answer.lenient, f"{answer.grams:.17g}") if answer.ok else answer
        plain = reply_text(
            text, finish, mode, as_is=self.name in ("text", "json", "boxes", "box", "point", "nutrients", "page")
        )
        return plain if isinstance(plain, Answer) else _READERS[self.name](self, plain)

    def truth(self, cell: str) -> str | None:
        """A true answer in one spelling; empty where it is not known, None where it is of another kind."""
        cell = cell.strip()
        if not cell or (self.numeric and cell.lower() == "nan"):
            return ""
        if self.name == "yes/no":
            return _TRUE.get(cell.lower())
        if self.name == "choice":
            return read_choice(cell, dict(self.options), "strict")
        if self.name == "boxes":
            return self.boxes.truth(cell)
        if self.name in ("box", "point"):
            return self.boxes.true_boxes(cell)
        if self.name == "nutrients":
            return _true_nutrients(cell)
        if self.name == "json":
            answer = _json(self, cell)
            return answer.said if answer.ok else None
        if not self.numeric:
            return cell
        try:
            value = float(cell)
        except ValueError:
            return None
        if "_" in cell or not math.isfinite(value) or (self.name != "number" and value < 0):
            return None
        if self.name == "integer":
            return str(int(value)) if value == int(value) else None
        return f"{value:.17g}"

    @property
    def follow_up(self) -> str:
        """The follow-up for a reply that is not such an answer; empty for grams, which have the paper's."""
        unit = f" in {self.units[0]}" if self.units else ""
        letters = ", ".join(letter for letter, _ in self.options)
        wanted = {
            "grams": "",
            "number": f"a single numeric value{unit}",
            "integer": "a single whole number",
            "yes/no": "one word: yes or no",
            "choice": f"the letter of one option ({letters})",
            "text": "the answer itself, in a few words",
            "json": "one JSON value as described",
            "boxes": 'a JSON list of {"box": [...], "label": "..."}',
            "box": "the four numbers of its box as JSON, or null if it is not there",
            "point": "the two numbers of a point on it as JSON, or null if it is not there",
            "nutrients": "one JSON object as described, with numbers without units",
            "page": "the text of the page itself",
        }[self.name]
        remark = "The previous response could not be read. Please respond with ONLY"
        return f"{remark} {wanted}. Nothing else." if wanted else ""


def _number(kind: Kind, text: str) -> Answer:
    units = "|".join(map(re.escape, kind.units))
    money = "|".join(re.escape(unit) for unit in kind.units if unit in _MONEY)
    before = rf"(?:(?:{money})\s*)?" if money else ""
    behind = rf"(?:\s*(?:{units}))?" if units else ""
    match = re.fullmatch(rf"{before}{_NUMBER}{behind}\.?", text, re.A)
    if match is None:
        if _OTHER_UNIT.fullmatch(text):
            return Answer("other_unit")
        bare = re.sub(rf"(?<=\d)\s*(?:{units})(?!\w)", "", text) if units else text
        return Answer(classify(bare, math.inf).outcome)
    return _in_range(kind, match)


def _in_range(kind: Kind, match: re.Match[str]) -> Answer:
    """The answer of a match of `_NUMBER`."""
    whole, power = match["whole"] or "0", match["power"] or ""
    if "," in whole and (power or whole.startswith("0")):
        return Answer("ambiguous_separator")
    if whole.startswith("0") and len(whole) > 1:
        return Answer("implausible")
    digits = match["sign"].replace("+", "") + whole.replace(",", "") + (match["part"] or match["fraction"] or "")
    value = float(digits + power)
    if power:
        digits = f"{value:.17g}"
    if not math.isfinite(value):
        return Answer("nonfinite")
    return Answer("ok", said=digits) if kind.least <= value <= kind.most else Answer("implausible")


def _integer(kind: Kind, text: str) -> Answer:
    bare = text.rstrip(".!")
    if bare.isalpha() and bare.lower() != "none":
        value = read_number(bare)
        if value is not None:
            fits = kind.least <= value <= kind.most
            return Answer("ok", said=str(int(value))) if fits else Answer("implausible")
    answer = _number(kind, text)
    if not answer.ok:
        return answer
    if "." in answer.said:
        return Answer("not_integer")
    return Answer("negative") if answer.said.startswith("-") else answer


def _yes_no(kind: Kind, text: str) -> Answer:
    whole = text.rstrip(".!").strip().lower()
    if whole in ("yes", "no"):
        return Answer("ok", said=whole)
    named = {word for word in re.findall(r"[^\W_]+", text.lower()) if word in ("yes", "no")}
    if named:
        return Answer("one_answer_in_text" if len(named) == 1 else "many_answers")
    return Answer("refusal" if declines(text) else "no_answer")


def _choice(kind: Kind, text: str) -> Answer:
    options = dict(kind.options)
    letter = read_choice(text, options, "strict")
    if letter is not None:
        return Answer("ok", said=letter)
    if _LETTER.fullmatch(text):
        return Answer("unknown_choice")
    begun = _LETTER_TEXT.fullmatch(text)
    if begun and begun[1].upper() in options and "\n" not in text:
        return Answer("disagrees")
    if read_choice(text, options, "stated") is not None:
        return Answer("one_answer_in_text")
    return Answer("refusal" if declines(text) else "no_answer")


def _text(kind: Kind, text: str) -> Answer:
    return Answer("ok", said=text) if len(text) <= LONGEST else Answer("too_long")


def _page(kind: Kind, text: str) -> Answer:
    return Answer("ok", said=text) if len(text) <= LONGEST_PAGE else Answer("too_long")


def _json(kind: Kind, text: str) -> Answer:
    try:
        value = read_json(text)
        said = canonical_json(value)
    except ValueError:
        return Answer("refusal" if declines(text) else "bad_json")
    if violation(value, json.loads(kind.schema)):
        return Answer("schema")
    return Answer("ok", said=said) if len(said) <= LONGEST else Answer("too_long")


def _boxes(kind: Kind, text: str) -> Answer:
    outcome, boxes = kind.boxes.read(text)
    return Answer("refusal" if outcome == "bad_json" and declines(text) else outcome, said=boxes)


def _place(kind: Kind, text: str) -> Answer:
    outcome, places = kind.boxes.read_places(text, 4 if kind.name == "box" else 2)
    return Answer("refusal" if outcome == "no_answer" and declines(text) else outcome, said=places)


def _nutrients(kind: Kind, text: str) -> Answer:
    answer = _json(kind, text)
    if not answer.ok:
        return answer
    parts = json.loads(answer.said).get(INGREDIENTS, [])
    names = [part if isinstance(part, str) else part["name"] for part in parts]
    # A name is one cell of a list, and must not look like two or like one with its grams.
    return Answer("schema") if any(not name.strip() or set("|=") & set(name) for name in names) else answer


def _true_nutrients(cell: str) -> str | None:
    """True targets, of which some may be unknown; None where one is not a number from 0 up."""
    try:
        held = read_json(cell)
    except ValueError:
        return None
    for name, value in held.items():
        if name != INGREDIENTS and not (TYPES["number"](value) and 0 <= value < math.inf):
            return None
    return canonical_json(held) if held else ""


_READERS: dict[str, Callable[[Kind, str], Answer]] = {
    "number": _number, "integer": _integer, "yes/no": _yes_no, "choice": _choice, "text": _text,
    "json": _json, "boxes": _boxes, "box": _place, "point": _place, "nutrients": _nutrients,
    "page": _page,
}  # fmt: skip

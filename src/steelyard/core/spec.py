"""The grammar of a spec: the text that names a metric with its settings.

    spec    = name [ "@" [ key "=" ] value ] [ "(" [ part { "," part } ] ")" ]
    name    = word { word }
    part    = key "=" value | value
    value   = number | range | word | quoted | list | spec
    range   = number ":" number [ ":" number ]
    list    = "[" [ value { "," value } ] "]"

`map(iou=0.5:0.95)`, `ap@10(norm=hits)`, `macro(f1)`, `precision(label="hot dog")`, `Weighted MAE`, `mAP@IoU=0.5`. The
grammar knows no metric; `core.catalogue.parse` gives the words their meaning. `render(parse_spec(text))` gives a
text of the same meaning.
"""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from dataclasses import field
from typing import Any

from steelyard.core.errors import InputError, InvalidSpec, TooLarge
from steelyard.core.frozen import Frozen

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<band>\d+(?:\.\d+)?(?:-\d+(?:\.\d+)?m|m\+)(?![\w.\-]))  # 0-20m and 40m+ are words, too
      | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![A-Za-z_]) | [-+]?inf\b)
      | (?P<quoted>"(?:[^"\\]|\\.)*")
      | (?P<word>[^\W\d][\w.\-/]*(?:(?<=\d)\+)?|[23]d\b)  # s40+ is a word
      | (?:\\(?=@))?(?P<mark>[@(),=:\[\]])  # Markdown writes \@
    )""",
    re.VERBOSE,
)
_WORD = re.compile(r"(?:[^\W\d][\w.\-/]*(?:(?<=\d)\+)?|[23]d|\d+(?:\.\d+)?(?:-\d+(?:\.\d+)?m|m\+))\Z")
LARGEST = sys.float_info.max
_CONSTANTS = {"true": True, "false": False, "none": None}
_BETWEEN = re.compile(r"[\s_\-]+")


class Range(Frozen):
    """A grid of numbers from `start` to `stop`, both included: `0.5:0.95` or `0:1:0.1`."""

    start: float
    stop: float
    step: float = 0.05

    def __post_init__(self) -> None:
        if not (math.isfinite(self.start) and math.isfinite(self.stop) and self.step > 0 and self.stop >= self.start):
            raise InvalidSpec(
                f"'{self.start}:{self.stop}:{self.step}' is not a range",
                remedy="Write START:STOP or START:STOP:STEP with START <= STOP and STEP > 0.",
            )
        if (self.stop - self.start) / self.step > 100_000:
            raise InvalidSpec(f"'{self}' has more than 100,000 values", remedy="Choose a larger step.")

    @property
    def values(self) -> tuple[float, ...]:
        """The numbers, each from the two ends, so that no rounding adds up (as numpy.linspace does)."""
        count = round((self.stop - self.start) / self.step) + 1
        if count == 1:
            return (float(self.start),)
        step = (self.stop - self.start) / (count - 1)
        return tuple([self.start + i * step for i in range(count - 1)] + [float(self.stop)])

    def __str__(self) -> str:
        text = f"{_number(self.start)}:{_number(self.stop)}"
        return text if self.step == 0.05 else f"{text}:{_number(self.step)}"


class Call(Frozen):
    """A parsed spec: a name, the value after `@` and its key if it has one, values without a key, settings by key."""

    name: str
    at: Any = None
    values: tuple[Any, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    at_key: str = ""


def fold_name(name: str) -> str:
    """A name without its case, spaces, hyphens and underscores: what two spellings of the same name share."""
    return _BETWEEN.sub("", unicodedata.normalize("NFKC", name).casefold())


def parse_spec(text: str) -> Call:
    """Parse one spec; a bare word is a Call with nothing but a name."""
    parser = _Parser(text)
    call = parser.spec()
    parser.end()
    return call


def parse_value(text: str) -> Any:
    """Parse one value as it stands behind `=`."""
    parser = _Parser(text)
    value = parser.value()
    parser.end()
    return value


def _quote_text(text: str) -> str:
    import json  # few specs have quoted texts

    return json.dumps(text, ensure_ascii=False)


def _parse_quoted(text: str) -> Any:
    import json

    return json.loads(text)


def render_value(value: Any) -> str:
    """The text of a value, such that `parse_value` gives the value back."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, str):
        plain = _WORD.match(value) and value not in _CONSTANTS and value != "inf" and value != "nan"
        return value if plain else _quote_text(value)
    if isinstance(value, tuple | list):
        return "[" + ", ".join(render_value(v) for v in value) + "]"
    return str(value)


def _number(value: float) -> str:
    return repr(float(value) if isinstance(value, float) else value)  # numpy's floats write their type


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        self.next = 0
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise self.error(f"cannot read it from '{text[position:].strip()[:20]}' on")
            kind = str(match.lastgroup)
            self.tokens.append(("word" if kind == "band" else kind, match.group(kind)))
            position = match.end()
        if len(self.tokens) > 10_000:
            raise self.error("it is too long")

    def error(self, why: str) -> InputError:
        shown = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        return InvalidSpec(f"'{shown}' is not a metric spec: {why}", remedy="Example: map(iou=0.5:0.95).")

    def peek(self, mark: str = "") -> bool:
        if self.next >= len(self.tokens):
            return False
        kind, text = self.tokens[self.next]
        return kind == "mark" and text == mark if mark else True

    def take(self) -> tuple[str, str]:
        if self.next >= len(self.tokens):
            raise self.error("it ends too early")
        self.next += 1
        return self.tokens[self.next - 1]

    def expect(self, mark: str) -> None:
        kind, text = self.take()
        if kind != "mark" or text != mark:
            raise self.error(f"'{mark}' is expected where '{text}' stands")

    def end(self) -> None:
        if self.peek():
            mark = self.tokens[self.next][1]
            several = "; give several metrics one by one, or as a list" if mark == "," else ""
            raise self.error(f"nothing may follow from '{mark}' on{several}")

    def spec(self, depth: int = 0) -> Call:
        kind, name = self.take()
        if kind != "word":
            raise self.error(f"a name is expected where '{name}' stands")
        return self.rest_of_call(self.more_words(name), depth)

    def more_words(self, name: str) -> str:
        """A name with the words that follow it."""
        while self.next < len(self.tokens) and self.tokens[self.next][0] == "word":
            name += f" {self.take()[1]}"
        return name

    def rest_of_call(self, name: str, depth: int) -> Call:
        at: Any = None
        at_key = ""
        values: list[Any] = []
        settings: dict[str, Any] = {}
        if self.peek("@"):
            self.take()
            if self.is_key():
                at_key = self.take()[1]
                self.take()
            at = self.value(depth + 1)
        if self.peek("("):
            self.take()
            while not self.peek(")"):
                self.part(values, settings, depth + 1)
                if not self.peek(")"):
                    self.expect(",")
            self.expect(")")
        return Call(name, at, tuple(values), settings, at_key)

    def is_key(self) -> bool:
        """Whether a setting's name and an equals sign come next."""
        return self.next + 1 < len(self.tokens) and self.tokens[self.next + 1] == ("mark", "=")

    def part(self, values: list[Any], settings: dict[str, Any], depth: int) -> None:
        if not self.is_key():
            value = self.value(depth)
            values.append(self.more_words(value) if isinstance(value, str) else value)
            return
        kind, key = self.take()
        if kind != "word":
            raise self.error(f"a setting's name is expected where '{key}' stands")
        self.expect("=")
        if key in settings:
            raise self.error(f"'{key}' is given twice")
        settings[key] = self.value(depth)

    def value(self, depth: int = 0) -> Any:
        if depth > 20:
            raise self.error("it is nested too deeply")
        kind, text = self.take()
        if kind == "quoted":
            try:
                return _parse_quoted(text)
            except ValueError:
                raise self.error(f"{text} is not a quoted text") from None
        if kind == "number":
            return self.range_from(_to_number(text))
        if kind == "word":
            if text in _CONSTANTS:
                return _CONSTANTS[text]
            if self.peek("(") or self.peek("@"):
                return self.rest_of_call(text, depth)
            return text
        if text == "[":
            items: list[Any] = []
            while not self.peek("]"):
                items.append(self.value(depth + 1))
                if not self.peek("]"):
                    self.expect(",")
            self.expect("]")
            return tuple(items)
        raise self.error(f"a value is expected where '{text}' stands")

    def range_from(self, start: float) -> Any:
        numbers = [start]
        while self.peek(":") and len(numbers) < 3:
            self.take()
            kind, text = self.take()
            if kind != "number":
                raise self.error(f"a number is expected where '{text}' stands")
            numbers.append(_to_number(text))
        return start if len(numbers) == 1 else Range(*numbers)


def _to_number(text: str) -> int | float:
    try:
        value: int | float = int(text)
    except ValueError:
        value = float(text)
    if abs(value) > LARGEST and "inf" not in text:
        shown = text if len(text) <= 40 else f"{text[:37]}..."
        raise TooLarge(f"'{shown}' is too large a number for a setting", remedy=f"Numbers go up to {LARGEST:g}.")
    return value

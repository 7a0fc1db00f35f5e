"""Options of a task: how its data is to be read, where a file cannot say it itself.

The unit of an angle, the direction of an axis, a list of the images: facts about the data, not settings of a metric. A
task declares them; `evaluate(..., options={"angle": "radians"})` and the command line give them; they stand in the
report. `truth.angle` and `prediction.angle` give one side its own value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from steelyard.core import registry
from steelyard.core.errors import (
    Conflict,
    DuplicateKey,
    InvalidNumber,
    InvalidSetting,
    OutOfRange,
    UnknownName,
    nearest,
)
from steelyard.core.frozen import Frozen

SIDES = ("truth", "prediction")


class Option(Frozen):
    """One option.

    Types: `choice` (one of `choices`), `number` (above `minimum`), `numbers`, `ids` (a list, or a file of it), `path`,
    `text`, `pairs` (columns with a text for each: a dict, "NAME=TEXT,NAME=TEXT" or a list of such).

    `sides` says whether truth and predictions may differ in it. `reads` marks one that the reader of files takes. The
    value of an `ids` option is read into records with one column, named `column`. `group` names the entry points whose
    names are choices too: what other packages bring.
    """

    name: str
    type: Literal["choice", "number", "numbers", "ids", "path", "text", "pairs"]
    meaning: str
    default: Any = None
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    sides: bool = True
    column: str = ""
    metavar: str = ""
    reads: bool = False
    group: str = ""

    def convert(self, value: Any) -> Any:
        """The value as the task takes it; an `ids` option is left to the reader of files."""
        if self.type == "choice" and value not in self.choices and not self._is_brought(value):
            choices = ", ".join(self.choices)
            raise InvalidSetting(
                f"option {self.name}: '{value}' is not a valid choice", remedy=f"Choose one of: {choices}."
            )
        if self.type == "numbers":
            parts = value.split(",") if isinstance(value, str) else value if hasattr(value, "__len__") else [value]
            if not len(parts):
                raise InvalidNumber(f"option {self.name}: no number is given", remedy=self.meaning)
            return tuple(self._number(part) for part in parts)
        if self.type == "pairs":
            return self._pairs(value)
        return value if self.type != "number" else self._number(value)

    def _pairs(self, value: Any) -> dict[str, str]:
        if isinstance(value, Mapping):
            items = [(str(name), str(text)) for name, text in value.items()]
        else:
            texts = value if isinstance(value, list | tuple) else [value]
            split = [part.partition("=") for text in texts for part in str(text).split(",")]
            items = [(name.strip(), text.strip()) for name, _, text in split]
        for name, text in items:
            if not name or not text:
                raise InvalidSetting(f"option {self.name}: '{value}' is not {self.metavar}", remedy=self.meaning)
        pairs = dict(items)
        if len(pairs) < len(items):
            raise DuplicateKey(f"option {self.name}: '{value}' names a column twice", remedy="Give each name once.")
        return pairs

    def _is_brought(self, value: Any) -> bool:
        return bool(self.group) and value in registry.plugins(self.group)

    def _number(self, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise InvalidNumber(f"option {self.name}: '{value}' is not a number", remedy=self.meaning) from None
        low = -math.inf if self.minimum is None else self.minimum
        if isinstance(value, bool) or not math.isfinite(number) or number <= low:
            above = "finite" if self.minimum is None else f"above {self.minimum:g}"
            raise OutOfRange(f"option {self.name}: {value} is out of range", remedy=f"It must be {above}.")
        return number


class Options(Frozen):
    """The options of one evaluation: `options.of("angle", "truth")`. `given` is what the user wrote."""

    declared: tuple[Option, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)

    def of(self, name: str, side: str = "") -> Any:
        """The value for a side: the side's own, or that of both, or the default."""
        if f"{side}.{name}" in self.values:
            return self.values[f"{side}.{name}"]
        if name in self.values:
            return self.values[name]
        return next(option.default for option in self.declared if option.name == name)


def find_option(declared: Sequence[Option], key: str, task: str) -> Option:
    """The declared option that a key names: `angle`, `truth.angle`, `y-up` for `y_up`."""
    side, dot, name = key.rpartition(".")
    chosen = next((option for option in declared if option.name == name.replace("-", "_")), None)
    if chosen is None or (dot and side not in SIDES):
        names = [option.name for option in declared]
        remedy = nearest(name, names) if names else "It takes none."
        raise UnknownName(f"task '{task}' has no option '{key}'", remedy=remedy)
    if dot and not chosen.sides:
        raise Conflict(f"option {chosen.name} is for both sides at once", remedy=f"Write {chosen.name}=...")
    return chosen

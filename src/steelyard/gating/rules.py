"""The language of rules, each saying when a gate fails.

    rule     = value operator bound [ "," "p" "<" number ]
             | value "noninferior" "baseline" ( "+" | "-" ) number [ "%" ]
    value    = score | "|" score "|"
    score    = metric [ "[" column "=" text { "," column "=" text } "]" ]
    operator = "<" | "<=" | ">" | ">="
    bound    = number | "baseline" [ ( "+" | "-" ) number [ "%" ] ]

`map < baseline, p < 0.05`, `mae > 30`, `mae[cuisine=home] > baseline + 2 %`, `|bias| > 5`. A metric is written as
everywhere (`ap(kind=step, iou=0.5)`); a slice's text may be quoted, and `*` stands for every value. Nothing is guessed:
what is not in the grammar is an error that points at the spot.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

from steelyard.core.errors import InputError, InvalidSpec, TooLarge
from steelyard.core.frozen import Frozen
from steelyard.core.spec import parse_spec

OPERATORS = ("<=", ">=", "<", ">")
EVERY = "*"
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_EXAMPLES = 'Examples: "map < baseline, p < 0.05", "mae > 30", "mae[cuisine=home] > baseline + 2 %".'
_LONGEST = 2000


class Rule(Frozen):
    """When a gate fails. `margin` is added to the baseline, as a share of its size where `percent`."""

    text: str
    metric: str
    operator: str
    bound: float | None = None  # None: the baseline
    margin: float = 0.0
    percent: bool = False
    level: float | None = None  # of p
    slice: tuple[tuple[str, str], ...] = ()
    absolute: bool = False
    noninferior: bool = False  # passes only where it is shown that no more than the margin is lost
    spent: float | None = None  # the level of this look, where looks are counted

    @property
    def on_baseline(self) -> bool:
        """Whether it compares with another result."""
        return self.bound is None

    @property
    def target(self) -> str:
        """The bound in words."""
        if self.bound is not None:
            return f"{self.bound:g}"
        if not self.margin:
            return "the baseline"
        return f"the baseline {'+' if self.margin > 0 else '−'} {abs(self.margin):g}{' %' if self.percent else ''}"

    @property
    def margin_text(self) -> str:
        """The margin as it is written: "-0.01", "+2%", nothing where there is none."""
        return f"{self.margin:+g}{'%' if self.percent else ''}" if self.margin else ""

    @property
    def threshold(self) -> float | None:
        """What p must lie below: the rule's level, or what this look may spend of it."""
        return self.level if self.level is None or self.spent is None else self.spent

    def canonical(self, spec: str) -> str:
        """The rule with its metric's spec, written in one way whatever its spaces and signs were."""
        parts = ", ".join(f"{json.dumps(column)}={json.dumps(text)}" for column, text in self.slice)
        value = f"{spec}[{parts}]" if parts else spec
        bound = f"baseline {self.margin_text}".rstrip() if self.bound is None else f"{self.bound!r}"
        level = "" if self.level is None else f", p < {self.level!r}"
        operator = "noninferior" if self.noninferior else self.operator
        return f"{f'|{value}|' if self.absolute else value} {operator} {bound}{level}"

    @property
    def relation(self) -> tuple[str, str]:
        """The operator and its opposite in words."""
        words = {"<": ("below", "at or above"), "<=": ("at or below", "above")}
        words |= {">": ("above", "at or below"), ">=": ("at or above", "below")}
        return words[self.operator]

    def holds(self, value: float, bound: float) -> bool:
        """Whether the rule's condition is true of a value: then the gate fails."""
        if self.operator == "<":
            return value < bound
        if self.operator == "<=":
            return value <= bound
        return value > bound if self.operator == ">" else value >= bound


def parse_rule(text: str) -> Rule:
    """Read one rule."""
    match = re.fullmatch(r"(.*\S)\s+noninferior\s+(baseline\b.*)", text.strip(), re.DOTALL)
    if match is None:
        return _Parser(text).rule()
    sign = match[2].removeprefix("baseline").strip()[:1]
    if sign not in ("+", "-"):
        raise _Parser(text).wrong(
            "a margin is expected behind 'baseline'", len(text), 'Example: "map noninferior baseline - 0.005".'
        )
    rule = _Parser(f"{match[1]} {'<' if sign == '-' else '>'} {match[2]}").rule()
    if rule.level is not None:
        raise _Parser(text).wrong("a margin is judged by the interval, not by p", text.rindex(","), "Leave p out.")
    return replace(rule, text=" ".join(text.split()), noninferior=True)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        if len(text) > _LONGEST:
            raise TooLarge(f"a rule of {len(text)} characters is too long", remedy=_EXAMPLES)

    def wrong(self, what: str, at: int | None = None, remedy: str = _EXAMPLES) -> InputError:
        """An error that points at a place in the rule."""
        at = self.at if at is None else at
        shown = re.sub(r"\s", " ", self.text)
        return InvalidSpec(f"rule '{shown}': {what}", remedy=f"{remedy}\n  {shown}\n  {' ' * at}^")

    def next_text(self) -> str:
        """What stands at the place, for a message."""
        rest = self.text[self.at :].strip()
        return f"'{rest.split()[0]}' stands" if rest else "the rule ends"

    def space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def mark(self, *marks: str) -> str:
        """One of the marks where it is next, else nothing."""
        self.space()
        for mark in marks:
            if self.text.startswith(mark, self.at):
                self.at += len(mark)
                return mark
        return ""

    def word(self, word: str) -> bool:
        self.space()
        match = re.compile(rf"{word}(?!\w)").match(self.text, self.at)
        if match:
            self.at = match.end()
        return match is not None

    def number(self, what: str) -> float:
        self.space()
        match = _NUMBER.match(self.text, self.at)
        if match is None:
            raise self.wrong(f"{what} is expected where {self.next_text()}")
        value = float(match[0])
        if not math.isfinite(value):
            raise self.wrong(f"{match[0]} is not finite")
        self.at = match.end()
        return value

    def rule(self) -> Rule:
        absolute = bool(self.mark("|"))
        metric = self.metric()
        parts = self.slice() if self.mark("[") else ()
        if absolute and not self.mark("|"):
            raise self.wrong(f"the closing '|' is expected where {self.next_text()}")
        operator = self.mark(*OPERATORS)
        if not operator:
            raise self.wrong(f"one of <, <=, >, >= is expected where {self.next_text()}")
        bound, margin, percent = self.bound()
        level = self.level() if self.mark(",") else None
        self.space()
        if self.at < len(self.text):
            raise self.wrong(f"nothing may follow where {self.next_text()}")
        if level is not None and bound is not None:
            raise self.wrong(
                "p compares with a baseline, and here is none",
                self.text.rindex(","),
                "A number is judged by the score's interval: leave p out.",
            )
        return Rule(" ".join(self.text.split()), metric, operator, bound, margin, percent, level, parts, absolute)

    def metric(self) -> str:
        """A spec: up to the operator, the slice or the bar, leaving out what stands in parentheses or quotes."""
        self.space()
        start, open_at = self.at, list[int]()
        while self.at < len(self.text):
            quoted = _QUOTED.match(self.text, self.at)
            if quoted:
                self.at = quoted.end()
                continue
            char = self.text[self.at]
            keyed = char == "=" and re.search(r"@\w+$", self.text[start : self.at])  # mAP@IoU=0.5
            if not open_at and char in "<>=|[," and not keyed:
                break
            if char in "([":
                open_at.append(self.at)
            elif char in ")]" and open_at:
                open_at.pop()
            self.at += 1
        if open_at:
            raise self.wrong(f"'{self.text[open_at[-1]]}' is never closed", open_at[-1])
        spec = self.text[start : self.at].strip()
        if not spec:
            self.at = start
            raise self.wrong(f"a metric is expected where {self.next_text()}")
        try:
            parse_spec(spec)
        except InputError as error:
            raise self.wrong(error.what, start) from None
        return spec

    def slice(self) -> tuple[tuple[str, str], ...]:
        parts: list[tuple[str, str]] = []
        while True:
            column = self.cell("a column", "=")
            if not self.mark("="):
                raise self.wrong(f"'=' is expected where {self.next_text()}")
            parts.append((column, self.cell("a value", ",]")))
            if self.mark("]"):
                return tuple(parts)
            if not self.mark(","):
                raise self.wrong(f"',' or ']' is expected where {self.next_text()}")

    def cell(self, what: str, until: str) -> str:
        """A text up to a mark, or in quotes."""
        self.space()
        quoted = _QUOTED.match(self.text, self.at)
        if quoted:
            try:
                text = str(json.loads(quoted[0]))
            except json.JSONDecodeError:
                raise self.wrong(f"{quoted[0]} is not a quoted text") from None
            self.at = quoted.end()
            return text
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in until + '"[]':
            self.at += 1
        text = self.text[start : self.at].strip()
        if not text:
            self.at = start
            raise self.wrong(f"{what} is expected where {self.next_text()}")
        return text

    def bound(self) -> tuple[float | None, float, bool]:
        if not self.word("baseline"):
            value = self.number("a number or 'baseline'")
            if self.mark("%"):
                raise self.wrong("a percentage stands only behind 'baseline +' or 'baseline -'", self.at - 1)
            return value, 0.0, False
        sign = self.mark("+", "-")
        if not sign:
            return None, 0.0, False
        self.space()
        at = self.at
        margin = self.number("a number")
        if self.text[at] in "+-":
            raise self.wrong("one sign is enough", at)
        percent = bool(self.mark("%"))
        return None, -margin if sign == "-" else margin, percent

    def level(self) -> float:
        if not self.word("p"):
            raise self.wrong(f"'p < 0.05' is expected where {self.next_text()}")
        if not self.mark("<") or self.text.startswith("=", self.at):
            raise self.wrong(f"'<' is expected where {self.next_text()}")
        self.space()
        at = self.at
        value = self.number("a level such as 0.05")
        if not 0 < value < 1:
            raise self.wrong(f"a level of {value:g} is not between 0 and 1", at)
        return value

"""Questions: a prompt with columns as placeholders, the column of the true answer, and the kind of answer.

What cannot be scored against the given columns is refused before the first question is asked.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError, nearest
from steelyard.core.frozen import frozen
from steelyard.io.table import Table
from steelyard.vlm.answers import MOST_GRAMS, Answer
from steelyard.vlm.kinds import KINDS, Kind
from steelyard.vlm.question_file import read_file

FOOD_NAME = "[FOOD_NAME]"
WEIGHT = "weight"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_KEYS = ("prompt", "target", "answer", "unit", "options", "min", "max", "follow_up")
_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|\[FOOD_NAME\]")


@frozen
class Prompt:
    """A named text. `[FOOD_NAME]` is filled in and, where it `fills`, `{column}`.

    `target` is the column of the true answer, `kind` what a reply must be. Where `follow_up` is empty, it is the
    paper's.
    """

    name: str
    text: str
    target: str = WEIGHT
    kind: Kind = Kind()
    follow_up: str = ""
    fills: bool = False

    @property
    def weighs(self) -> bool:
        """Whether it asks for the weight of the frame, which is scored over eating sequences or dishes."""
        return self.kind.name == "grams" and self.target == WEIGHT

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the text gives, each once."""
        if not self.fills:
            return ("food",) if FOOD_NAME in self.text else ()
        names = []
        for match in _PLACE.finditer(self.text):
            if match[0] == FOOD_NAME:
                names.append("food")
            elif match[1] is not None and not (match[1] == "options" and self.kind.options):
                names.append(match[1])
        return tuple(dict.fromkeys(names))

    @property
    def needs_name(self) -> bool:
        """Whether the text asks for the food's name."""
        return "food" in self.columns

    def render(self, food: str, column: Callable[[str], str] = lambda name: "") -> str:
        """The text that is sent; `column` gives the frame's other values."""
        if not self.fills:
            return self.text.replace(FOOD_NAME, food)

        def filled(match: re.Match[str]) -> str:
            if match[1] is None:
                return food if match[0] == FOOD_NAME else match[0][0]
            if match[1] == "options" and self.kind.options:
                return "\n".join(f"{letter}. {text}" for letter, text in self.kind.options)
            return food if match[1] == "food" else column(match[1])

        return _PLACE.sub(filled, self.text)

    def read(self, text: str | None, finish: str, *, mode: str = "whole", most: float = MOST_GRAMS) -> Answer:
        """What a reply says."""
        return self.kind.read(text, finish, mode=mode, most=most)

    @property
    def spec(self) -> dict[str, Any]:
        """The question as its file says it, without the text; empty for a plain prompt that asks for the weight."""
        if self == Prompt(self.name, self.text):
            return {}
        kind = self.kind
        given: dict[str, Any] = {"target": self.target, "answer": kind.name}
        given |= {"unit": list(kind.units)} if kind.units else {}
        given |= {"options": dict(kind.options)} if kind.options else {}
        given |= {"min": kind.least} if kind.least > -math.inf else {}
        given |= {"max": kind.most} if kind.most < math.inf else {}
        return given | ({"follow_up": self.follow_up} if self.follow_up else {})


def read_questions(path: Path) -> dict[str, Prompt]:
    """The questions of a file by name."""
    held = read_file(path)
    where = str(path)
    for key in held:
        if key not in ("questions", "follow_up"):
            remedy = nearest(key, ["questions", "follow_up"])
            raise InputError(f"'{key}' is not known in a file of questions", where=where, remedy=remedy)
    questions, follow_up = held.get("questions"), held.get("follow_up", "")
    if not isinstance(questions, dict) or not questions:
        raise InputError("holds no questions", where=where, remedy="Give each a name below 'questions:'.")
    if not isinstance(follow_up, str):
        raise InputError("follow_up is not a text", where=where, remedy="Write the text to be asked.")
    return {name: question(name, spec, where, follow_up) for name, spec in questions.items()}


def question(name: str, spec: object, where: str, follow_up: str = "") -> Prompt:
    """One question of a file, checked as far as it can be without the table."""

    def refuse(what: str, remedy: str) -> InputError:
        return InputError(f"question '{name}' {what}", where=where, remedy=remedy)

    if not name.strip():
        raise InputError("a question has no name", where=where, remedy="Give each a name below 'questions:'.")
    if not isinstance(spec, dict):
        raise refuse("is no question", "Give it a prompt, a target and an answer.")
    for key in spec:
        if key not in _KEYS:
            raise refuse(f"says '{key}', which is not known", nearest(key, _KEYS))
    for key, what in {"prompt": "its text", "target": "the column of the true answer", "answer": "its kind"}.items():
        value = spec.get(key, "")
        if not isinstance(value, str):
            raise refuse(f"has the {key} '{str(value)[:40]}', which is no text", f"Write {what} as text.")
        if not value.strip():
            known = f" Known: {', '.join(KINDS)}." if key == "answer" else ""
            raise refuse(f"has no {key}", f"Say {what}: '{key}: ...'.{known}")
    own = spec.get("follow_up", follow_up)
    if not isinstance(own, str):
        raise refuse("has a follow_up that is no text", "Write the text to be asked.")
    kind = _kind(spec, refuse)
    made = Prompt(name, spec["prompt"].strip(), spec["target"].strip(), kind, own.strip() or kind.follow_up, True)
    alone = next((m[0] for m in _PLACE.finditer(made.text) if m[0] in "{}"), None)
    if alone:
        raise refuse(f"has a '{alone}' that belongs to no placeholder", f"For a brace in the text write '{alone * 2}'.")
    if made.target in made.columns:
        raise refuse(f"gives its own target '{made.target}' in the prompt", "Take the placeholder out.")
    return made


def _kind(spec: Mapping[str, Any], refuse: Callable[[str, str], InputError]) -> Kind:
    name = spec["answer"].strip()
    if name not in KINDS:
        raise refuse(
            f"wants the answer '{name}', which is not known", f"{nearest(name, KINDS)} Known: {', '.join(KINDS)}."
        )
    for key, kinds in {"unit": ("number",), "options": ("choice",), "min": ("number", "integer"),
                       "max": ("number", "integer")}.items():  # fmt: skip
        if key in spec and name not in kinds:
            raise refuse(f"says '{key}', which an answer of '{name}' has not", f"Only {' and '.join(kinds)} have it.")
    units = spec.get("unit", [])
    units = [units] if isinstance(units, str) else units
    if not isinstance(units, list) or not all(isinstance(unit, str) and unit.strip() for unit in units):
        raise refuse("has a unit that is no text", "Write 'unit: kcal', or a list of its spellings.")
    ends = [_end(spec, key, refuse) for key in ("min", "max")]
    least = -math.inf if ends[0] is None else ends[0]
    most = math.inf if ends[1] is None else ends[1]
    if least > most:
        raise refuse(f"has a min of {least:g} above its max of {most:g}", "Exchange them.")
    options = _options(spec, refuse) if name == "choice" else ()
    return Kind(name, tuple(unit.strip() for unit in units), options, least, most)


def _end(spec: Mapping[str, Any], key: str, refuse: Callable[[str, str], InputError]) -> float | None:
    if key not in spec:
        return None
    value = spec[key]
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise refuse(f"has the {key} '{str(value)[:40]}', which is no number", f"Write '{key}: 0', for instance.")
    return number


def _options(spec: Mapping[str, Any], refuse: Callable[[str, str], InputError]) -> tuple[tuple[str, str], ...]:
    """Letters with their texts, of a list or of an object by letter."""
    given = spec.get("options")
    example = "Write 'options: [a cat, a dog]'."
    if not isinstance(given, list | dict) or not given:
        raise refuse("is a choice without options", example)
    if isinstance(given, list) and len(given) > len(LETTERS):
        raise refuse(f"has {len(given)} options", f"At most {len(LETTERS)} are taken.")
    pairs = list(given.items()) if isinstance(given, dict) else list(zip(LETTERS, given, strict=False))
    options = []
    for letter, text in pairs:
        if len(letter) != 1 or letter.upper() not in LETTERS:
            raise refuse(f"has the option '{letter[:40]}', which is no letter", "Name options by a letter from A to Z.")
        if isinstance(text, bool) or not isinstance(text, str | int | float) or not str(text).strip():
            raise refuse(f"has the option '{str(text)[:40]}', which is no text", example)
        options.append((letter.upper(), str(text).strip()))
    for what, values in (
        ("letter", [a for a, _ in options]),
        ("option", [" ".join(b.casefold().split()) for _, b in options]),
    ):
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice is not None:
            raise refuse(f"has the {what} '{twice}' twice", "Each may stand once.")
    if len(options) < 2:
        raise refuse("is a choice of one option", "Give at least two.")
    return tuple(options)


def check_table(prompts: Sequence[Prompt], table: Table, where: str) -> None:
    """Refuse questions that the table cannot fill in or score; `where` names their file."""
    for prompt in prompts:
        start = f"question '{prompt.name}'"
        for column in prompt.columns:
            if column not in table.columns:
                raise InputError(
                    f"{start} asks for the column '{column}', which {table.source} has not",
                    where=where,
                    remedy=f"{nearest(column, table.columns)} For a brace in the text write '{{{{'.",
                )
        if prompt.target not in table.columns:
            raise InputError(
                f"{start} has the target '{prompt.target}', which is no column of {table.source}",
                where=where,
                remedy=nearest(prompt.target, table.columns),
            )
        _check_truth(prompt, table, where)


def _check_truth(prompt: Prompt, table: Table, where: str) -> None:
    known = 0
    for row, value in enumerate(table.columns[prompt.target].tolist()):
        truth = prompt.kind.truth(cell_text(value))
        if truth is None:
            wanted = KINDS[prompt.kind.name]
            if prompt.kind.options:
                wanted += f" ({json.dumps(dict(prompt.kind.options), ensure_ascii=False)})"
            raise InputError(
                f"'{cell_text(value)[:40]}' is not {wanted}, which question '{prompt.name}' of {where} wants",
                where=f"{table.place(row)}, column '{prompt.target}'",
                remedy="Correct it, leave it empty where it is not known, or give the question another kind.",
            )
        known += bool(truth)
    if not known and len(table):
        raise InputError(
            f"question '{prompt.name}' has the target '{prompt.target}', which is empty in every row of {table.source}",
            where=where,
            remedy="Fill in the true answers that are known.",
        )


def cell_text(value: object) -> str:
    """A cell as text; empty where there is no value."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)

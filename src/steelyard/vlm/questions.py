"""Questions: a prompt with columns as placeholders, the column of the true answer, and the kind of answer.

What cannot be scored against the given columns is refused before the first question is asked.

The kinds of answers as a file of questions says them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.core.errors import (
    EmptyInput,
    InputError,
    InvalidSetting,
    InvalidValue,
    MissingColumn,
    MissingKey,
    UnknownName,
    Unsupported,
    nearest,
)
from steelyard.core.frozen import Frozen
from steelyard.io.table import Table
from steelyard.vlm.answers import MOST_GRAMS, Answer
from steelyard.vlm.images import Picture
from steelyard.vlm.kinds import FORMATS, INGREDIENTS, KINDS, NUTRIENTS, SCALES, BoxForm, Kind, nutrient_schema
from steelyard.vlm.question_file import read_file
from steelyard.vlm.schema import canonical_json, read_json, schema_of

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PLACED = ("boxes", "box", "point")  # kinds whose answers are places in the picture
# Which kinds have what.
_ONLY = {
    "unit": ("number",), "options": ("choice",), "options_column": ("choice",), "min": ("number", "integer"),
    "max": ("number", "integer"), "schema": ("json", "nutrients"), "format": PLACED, "scale": PLACED,
    "labels": ("boxes",), "target_format": PLACED, "multiple": PLACED,
}  # fmt: skip
KIND_KEYS = tuple(_ONLY)


def kind_of(spec: Mapping[str, Any], refuse: Callable[[str, str], InputError]) -> Kind:
    """The kind of answer that a question of a file wants."""
    name = spec["answer"].strip()
    if name not in KINDS:
        raise refuse(
            f"wants the answer '{name}', which is not known", f"{nearest(name, KINDS)} Known: {', '.join(KINDS)}."
        )
    for key, kinds in _ONLY.items():
        if key in spec and name not in kinds:
            raise refuse(f"says '{key}', which an answer of '{name}' has not", f"Only {' and '.join(kinds)} have it.")
    units = spec.get("unit", [])
    units = [units] if isinstance(units, str) else units
    if not isinstance(units, list) or not all(isinstance(unit, str) and unit.strip() for unit in units):
        raise refuse("has a unit that is not text", "Write 'unit: kcal', or a list of its spellings.")
    ends = [_end(spec, key, refuse) for key in ("min", "max")]
    least = -math.inf if ends[0] is None else ends[0]
    most = math.inf if ends[1] is None else ends[1]
    if least > most:
        raise refuse(f"has a min of {least:g} above its max of {most:g}", "Exchange them.")
    return Kind(
        name,
        tuple(unit.strip() for unit in units),
        _options(spec, refuse) if name == "choice" else (),
        least,
        most,
        _schema(spec, refuse) if name == "json" else _nutrient_schema(spec, refuse) if name == "nutrients" else "",
        _box_form(spec, refuse) if name in PLACED else BoxForm(),
    )


def kind_spec(kind: Kind) -> dict[str, Any]:
    """What a file says of a kind beside its name."""
    spec: dict[str, Any] = {"unit": list(kind.units)} if kind.units else {}
    spec |= {"options": dict(kind.options)} if kind.options else {}
    spec |= {"min": kind.least} if kind.least > -math.inf else {}
    spec |= {"max": kind.most} if kind.most < math.inf else {}
    spec |= {"schema": json.loads(kind.schema)} if kind.schema else {}
    form = kind.boxes
    if kind.name in PLACED:
        spec |= {"format": form.order, "scale": form.scale, "target_format": form.target_order}
        spec |= {"labels": list(form.labels)} if form.labels else {}
        spec |= {"multiple": form.multiple} if form.multiple else {}
    return spec


def _schema(spec: Mapping[str, Any], refuse: Callable[[str, str], InputError]) -> str:
    try:
        return canonical_json(schema_of(spec.get("schema")))
    except ValueError as error:
        example = "Write 'schema: {type: object, properties: {name: {type: string}}, required: [name]}', for instance."
        raise refuse(f"has a schema that cannot be read: {error}", example) from None


def split_targets(target: str) -> tuple[str, ...]:
    """The columns of a target that names several: `mass, energy`."""
    return tuple(name.strip() for name in target.split(",") if name.strip())


def _nutrient_schema(spec: Mapping[str, Any], refuse: Callable[[str, str], InputError]) -> str:
    """The schema of a reply with several targets: the question's own, or numbers of all targets."""
    targets = split_targets(spec["target"])
    known = (*NUTRIENTS, INGREDIENTS)
    other = next((name for name in targets if name not in known), None)
    if other is not None or not targets or len(set(targets)) < len(targets):
        what = f"has the target '{other}', which is not a nutrient" if other else "names a target twice, or none"
        raise refuse(what, f"{nearest(other or '', known)} Write some of: {', '.join(known)}.")
    if "schema" not in spec:
        return canonical_json(nutrient_schema(targets))
    schema = _schema(spec, refuse)
    if not set(targets) <= set(json.loads(schema).get("required", ())):
        raise refuse("has a schema that does not require all targets", f"Require {', '.join(targets)}.")
    return schema


def _box_form(spec: Mapping[str, Any], refuse: Callable[[str, str], InputError]) -> BoxForm:
    order = spec.get("format", "xyxy")
    orders = [order, spec.get("target_format", order)]
    for value in orders:
        if value not in FORMATS:
            raise refuse(f"has the format '{str(value)[:40]}' of boxes", f"Known: {', '.join(FORMATS)}.")
    scale = str(spec.get("scale", "pixels"))
    square, _, number = scale.rpartition(":")
    whole = number.isdecimal() and 0 < int(number[:9]) < 10**6
    if scale not in SCALES and not (whole and square in ("", "square:centre", "square:corner")):
        known = f"Known: {', '.join(SCALES)}, a number such as 1 or 1000, or square:centre:1000 and square:corner:1000."
        raise refuse(f"has the scale '{scale[:40]}'", known)
    labels = spec.get("labels", [])
    if not isinstance(labels, list) or not all(isinstance(one, str) and one.strip() for one in labels):
        raise refuse("has labels that are not strings", "Write 'labels: [cup, plate]'.")
    names = tuple(" ".join(label.split()) for label in labels)
    if len({name.casefold() for name in names}) < len(names):
        raise refuse("has a label twice", "Each may appear only once.")
    multiple = str(spec.get("multiple", 0))
    if not multiple.isdecimal() or int(multiple[:9]) > 1024:
        raise refuse(f"has the multiple '{multiple[:40]}'", "Write a number of pixels, as 28.")
    return BoxForm(orders[0], scale, names, orders[1], multiple=int(multiple))


def _end(spec: Mapping[str, Any], key: str, refuse: Callable[[str, str], InputError]) -> float | None:
    if key not in spec:
        return None
    value = spec[key]
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise refuse(f"has the {key} '{str(value)[:40]}', which is not a number", f"Write '{key}: 0', for instance.")
    return number


def _options(spec: Mapping[str, Any], refuse: Callable[[str, str], InputError]) -> tuple[tuple[str, str], ...]:
    """Letters with their texts, of a list or of an object by letter."""
    given = spec.get("options")
    column = spec.get("options_column")
    example = "Write 'options: [a cat, a dog]', or 'options_column' with the name of a column."
    if column is not None:
        if given is not None or not isinstance(column, str) or not column.strip():
            raise refuse("has an options_column beside options, or one that is not text", example)
        return ()
    if not isinstance(given, list | dict) or not given:
        raise refuse("is a choice without options", example)
    if isinstance(given, list) and len(given) > len(LETTERS):
        raise refuse(f"has {len(given)} options", f"At most {len(LETTERS)} are taken.")
    pairs = list(given.items()) if isinstance(given, dict) else list(zip(LETTERS, given, strict=False))
    options = []
    for letter, text in pairs:
        if len(letter) != 1 or letter.upper() not in LETTERS:
            raise refuse(f"has the option '{letter[:40]}', which is not a letter", "Name options by letters, A to Z.")
        if isinstance(text, bool) or not isinstance(text, str | int | float) or not str(text).strip():
            raise refuse(f"has the option '{str(text)[:40]}', which is not text", example)
        options.append((letter.upper(), str(text).strip()))
    for what, values in (
        ("letter", [a for a, _ in options]),
        ("option", [" ".join(b.casefold().split()) for _, b in options]),
    ):
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice is not None:
            raise refuse(f"has the {what} '{twice}' twice", "Each may appear only once.")
    if len(options) < 2:
        raise refuse("is a choice of one option", "Give at least two.")
    return tuple(options)


def options_of(cell: str) -> tuple[tuple[str, str], ...]:
    """The options that a cell holds."""

    def refuse(what: str, remedy: str) -> InputError:
        return InvalidValue(f"'{cell[:40]}' {what}", remedy=remedy)

    try:
        options = read_json(cell)
    except ValueError:
        options = None
    if not isinstance(options, list | dict):
        raise InvalidValue(f"'{cell[:40]}' holds no options")
    try:
        return _options({"options": options}, refuse)
    except InputError as error:
        raise InvalidValue(str(error).partition(". ")[0]) from None


FOOD_NAME = "[FOOD_NAME]"
WEIGHT, IMAGE = "weight", "image"
_KEYS = ("prompt", "target", "minus", "answer", "follow_up", "images", "frames", *KIND_KEYS)
MOST_FRAMES = 256
_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|\[FOOD_NAME\]")


class Prompt(Frozen):
    """A named text. `[FOOD_NAME]` is filled in and, where it `fills`, `{column}`.

    `target` is the column of the true answer, `kind` what a reply must be; where its options stand in a column, that is
    `options_column`. Where `follow_up` is empty, it is the paper's. `images` are the columns of the pictures that are
    shown, `frames` how many are taken of each where that is not 0. With `minus` the true answer is the target minus
    that column.
    """

    name: str
    text: str
    target: str = WEIGHT
    kind: Kind = Kind()
    follow_up: str = ""
    fills: bool = False
    options_column: str = ""
    images: tuple[str, ...] = (IMAGE,)
    frames: int = 0
    minus: str = ""

    @property
    def shots(self) -> tuple[str, ...]:
        """The columns of pictures with how many are taken of each; empty where the frame's one picture is shown."""
        if self.images == (IMAGE,) and not self.frames:
            return ()
        return tuple(f"{name}#{self.frames}" if self.frames else name for name in self.images)

    @property
    def by_row(self) -> bool:
        """Whether `about` makes another question of it for each row."""
        return bool(self.options_column) or self.kind.name in PLACED

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that are kept with a run: those that the text gives, of the truth, of options and of pictures."""
        other = (*self.targets, *filter(None, (self.options_column,)), *(self.images if self.shots else ()))
        return tuple(dict.fromkeys((*self.columns, *other)))

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns that the true answer is made of."""
        if self.kind.name == "nutrients":
            return split_targets(self.target)
        return (self.target, self.minus) if self.minus else (self.target,)

    def true_cell(self, column: Callable[[str], str]) -> str:
        """The true answer as a cell of the table would have it; `column` gives the values of a row."""
        if self.kind.name == "nutrients":
            texts = {name: column(name).strip() for name in self.targets}
            held = {name: _nutrient_value(name, text) for name, text in texts.items() if text and text != "nan"}
            return json.dumps(held) if held else ""
        if not self.minus:
            return column(self.target)
        cells = [column(name).strip() for name in self.targets]
        if not all(cells):
            return ""
        try:
            whole, part = map(float, cells)
        except ValueError:
            return f"{cells[0]} - {cells[1]}"
        return f"{whole - part:.17g}"

    def about(self, column: Callable[[str], str], picture: Picture | None = None, max_side: int = 0) -> Prompt:
        """The question about one row: with its own options, or the size of its picture. InputError says why not."""
        if self.options_column:
            kind = replace(self.kind, options=options_of(column(self.options_column)))
            return replace(self, kind=kind, follow_up=self.follow_up or kind.follow_up)
        if self.kind.name in PLACED and picture is not None:
            if picture.turned:
                remedy = "Save it upright."
                raise Unsupported("the image is turned by its EXIF data, so that boxes are ambiguous", remedy=remedy)
            form = replace(self.kind.boxes, width=picture.width, height=picture.height, max_side=max_side)
            return replace(self, kind=replace(self.kind, boxes=form))
        return self

    @property
    def of_any_row(self) -> Prompt:
        """The question without what `about` takes from a row."""
        if not self.by_row:
            return self
        kind = replace(self.kind, options=(), boxes=replace(self.kind.boxes, width=0, height=0, max_side=0))
        return replace(self, kind=kind, follow_up="")

    @property
    def weighs(self) -> bool:
        """Whether it asks for the weight of the frame, which is scored over eating sequences or dishes."""
        return self.kind.name == "grams" and self.target == WEIGHT and not self.minus

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the text gives, each once."""
        if not self.fills:
            return ("food",) if FOOD_NAME in self.text else ()
        names = []
        for match in _PLACE.finditer(self.text):
            if match[0] == FOOD_NAME:
                names.append("food")
            elif match[1] is not None and not (match[1] == "options" and (self.kind.options or self.options_column)):
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

        def fill_placeholder(match: re.Match[str]) -> str:
            if match[1] is None:
                return food if match[0] == FOOD_NAME else match[0][0]
            if match[1] == "options" and self.kind.options:
                return "\n".join(f"{letter}. {text}" for letter, text in self.kind.options)
            return food if match[1] == "food" else column(match[1])

        return _PLACE.sub(fill_placeholder, self.text)

    def read(self, text: str | None, finish: str, *, mode: str = "whole", most: float = MOST_GRAMS) -> Answer:
        """What a reply says."""
        return self.kind.read(text, finish, mode=mode, most=most)

    @property
    def spec(self) -> dict[str, Any]:
        """The question as its file says it, without the text; empty for a plain prompt that asks for the weight."""
        if self == Prompt(self.name, self.text):
            return {}
        spec: dict[str, Any] = {"target": self.target, "answer": self.kind.name, **kind_spec(self.kind)}
        spec |= {"minus": self.minus} if self.minus else {}
        spec |= {"options_column": self.options_column} if self.options_column else {}
        spec |= {"images": list(self.images)} if self.images != (IMAGE,) else {}
        spec |= {"frames": self.frames} if self.frames else {}
        return spec | ({"follow_up": self.follow_up} if self.follow_up else {})


def _nutrient_value(name: str, text: str) -> Any:
    """A cell of a nutrient: its number, its list of ingredients, or a text that is neither."""
    if name == INGREDIENTS:
        return [part.strip() for part in text.split("|") if part.strip()]
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) and "_" not in text else text


def read_questions(path: Path) -> dict[str, Prompt]:
    """The questions of a file by name."""
    held = read_file(path)
    where = str(path)
    for key in held:
        if key not in ("questions", "follow_up"):
            remedy = nearest(key, ["questions", "follow_up"])
            raise UnknownName(f"'{key}' is not known in a file of questions", where=where, remedy=remedy)
    questions, follow_up = held.get("questions"), held.get("follow_up", "")
    if not isinstance(questions, dict) or not questions:
        raise EmptyInput("holds no questions", where=where, remedy="Give each a name below 'questions:'.")
    if not isinstance(follow_up, str):
        raise InvalidValue("follow_up is not a text", where=where, remedy="Write the text to be asked.")
    return {name: question(name, spec, where, follow_up) for name, spec in questions.items()}


def question(name: str, spec: object, where: str, follow_up: str = "") -> Prompt:
    """One question of a file, checked as far as it can be without the table."""

    def refuse(what: str, remedy: str) -> InputError:
        return InvalidSetting(f"question '{name}' {what}", where=where, remedy=remedy)

    if not name.strip():
        raise MissingKey("a question has no name", where=where, remedy="Give each a name below 'questions:'.")
    if not isinstance(spec, dict):
        raise refuse("is not a question", "Give it a prompt, a target and an answer.")
    for key in spec:
        if key not in _KEYS:
            raise refuse(f"says '{key}', which is not known", nearest(key, _KEYS))
    for key, what in {"prompt": "its text", "target": "the column of the true answer", "answer": "its kind"}.items():
        value = spec.get(key, "")
        if not isinstance(value, str):
            raise refuse(f"has the {key} '{str(value)[:40]}', which is not text", f"Write {what} as text.")
        if not value.strip():
            hint = f" Known: {', '.join(KINDS)}." if key == "answer" else ""
            raise refuse(f"has no {key}", f"Say {what}: '{key}: ...'.{hint}")
    own = spec.get("follow_up", follow_up)
    if not isinstance(own, str):
        raise refuse("has a follow_up that is not text", "Write the text to be asked.")
    kind = kind_of(spec, refuse)
    column = spec.get("options_column", "")
    prompt = Prompt(
        name,
        spec["prompt"].strip(),
        spec["target"].strip(),
        kind,
        own.strip() or ("" if column else kind.follow_up),
        True,
        column.strip(),
        *_pictures(spec, refuse),
        _minus(spec, kind, refuse),
    )
    alone = next((m[0] for m in _PLACE.finditer(prompt.text) if m[0] in "{}"), None)
    if alone:
        raise refuse(f"has a '{alone}' that belongs to no placeholder", f"For a brace in the text write '{alone * 2}'.")
    revealed = next((name for name in prompt.targets if name in prompt.columns), None)
    if revealed is not None:
        raise refuse(f"gives its own target '{revealed}' in the prompt", "Take the placeholder out.")
    return prompt


def _minus(spec: Mapping[str, Any], kind: Kind, refuse: Callable[[str, str], InputError]) -> str:
    """The column that is subtracted from the target."""
    name = spec.get("minus", "")
    if not isinstance(name, str):
        raise refuse(f"has the minus '{str(name)[:40]}', which is not text", "Write the name of a column.")
    if name.strip() and not kind.numeric:
        raise refuse(f"says 'minus', which an answer of '{kind.name}' has not", "Only numbers can be subtracted.")
    return name.strip()


def _pictures(spec: Mapping[str, Any], refuse: Callable[[str, str], InputError]) -> tuple[tuple[str, ...], int]:
    """The columns of the pictures, and how many are taken of each."""
    images = spec.get("images", [IMAGE])
    images = [images] if isinstance(images, str) else images
    if not isinstance(images, list) or not images or not all(isinstance(one, str) and one.strip() for one in images):
        raise refuse("has images that are not column names", "Write 'images: [before, after]'.")
    names = tuple(name.strip() for name in images)
    if len(set(names)) < len(names):
        raise refuse("shows a column of images twice", "Name each once.")
    frames = str(spec.get("frames", "0"))
    if not frames.isdecimal() or ("frames" in spec and not 2 <= int(frames[:9]) <= MOST_FRAMES):
        raise refuse(f"has the frames '{frames[:40]}'", f"Write a number from 2 to {MOST_FRAMES}.")
    return names, int(frames)


def check_table(prompts: Sequence[Prompt], table: Table, where: str) -> None:
    """Refuse questions that the table cannot fill in or score; `where` names their file."""
    for prompt in prompts:
        start = f"question '{prompt.name}'"
        for column in prompt.columns:
            if column not in table.columns:
                raise MissingColumn(
                    f"{start} asks for the column '{column}', which {table.source} has not",
                    where=where,
                    remedy=f"{nearest(column, table.columns)} For a brace in the text write '{{{{'.",
                )
        for column in (*filter(None, (prompt.options_column,)), *(prompt.images if prompt.shots else ())):
            if column not in table.columns:
                what = "its options" if column == prompt.options_column else "its images"
                raise MissingColumn(
                    f"{start} has {what} in the column '{column}', which {table.source} has not",
                    where=where,
                    remedy=nearest(column, table.columns),
                )
        for column in prompt.targets:
            if column not in table.columns:
                raise MissingColumn(
                    f"{start} has the target '{column}', which is not a column of {table.source}",
                    where=where,
                    remedy=nearest(column, table.columns),
                )
        _check_truth(prompt, table, where)


def _check_truth(prompt: Prompt, table: Table, where: str) -> None:
    with_truth = 0
    for row in range(len(table)):
        value = prompt.true_cell(lambda name, row=row: cell_text(table.columns[name][row]))  # type: ignore[misc]
        try:
            asked = prompt.about(lambda name, row=row: cell_text(table.columns[name][row]))  # type: ignore[misc]
        except InputError as error:
            raise InvalidValue(
                f"{error}, and question '{prompt.name}' of {where} has its options there",
                where=f"{table.place(row)}, column '{prompt.options_column}'",
                remedy='Write a JSON list, as ["a cat", "a dog"], or {"A": "a cat", "B": "a dog"}.',
            ) from None
        truth = asked.kind.truth(value)
        if truth is None:
            wanted = KINDS[prompt.kind.name]
            if asked.kind.options:
                wanted += f" ({json.dumps(dict(asked.kind.options), ensure_ascii=False)})"
            raise InvalidValue(
                f"'{value[:40]}' is not {wanted}, which question '{prompt.name}' of {where} wants",
                where=f"{table.place(row)}, column '{(' - ' if prompt.minus else ', ').join(prompt.targets)}'",
                remedy="Correct it, leave it empty where it is not known, or give the question another kind.",
            )
        with_truth += bool(truth)
    if not with_truth and len(table):
        raise EmptyInput(
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

"""The kinds of answers as a file of questions says them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from steelyard.core.errors import InputError, InvalidSetting, nearest
from steelyard.vlm.box_answers import FORMATS, SCALES, BoxForm
from steelyard.vlm.kinds import KINDS, Kind
from steelyard.vlm.schema import read_json, schema_of, spelled

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Which kinds have what.
_ONLY = {
    "unit": ("number",), "options": ("choice",), "options_column": ("choice",), "min": ("number", "integer"),
    "max": ("number", "integer"), "schema": ("json",), "format": ("boxes",), "scale": ("boxes",), "labels": ("boxes",),
    "target_format": ("boxes",),
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
        raise refuse("has a unit that is no text", "Write 'unit: kcal', or a list of its spellings.")
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
        _schema(spec, refuse) if name == "json" else "",
        _box_form(spec, refuse) if name == "boxes" else BoxForm(),
    )


def kind_spec(kind: Kind) -> dict[str, Any]:
    """What a file says of a kind beside its name."""
    given: dict[str, Any] = {"unit": list(kind.units)} if kind.units else {}
    given |= {"options": dict(kind.options)} if kind.options else {}
    given |= {"min": kind.least} if kind.least > -math.inf else {}
    given |= {"max": kind.most} if kind.most < math.inf else {}
    given |= {"schema": json.loads(kind.schema)} if kind.schema else {}
    form = kind.boxes
    if kind.name == "boxes":
        given |= {"format": form.order, "scale": form.scale, "target_format": form.target_order}
        given |= {"labels": list(form.labels)} if form.labels else {}
    return given


def _schema(spec: Mapping[str, Any], refuse: Callable[[str, str], InputError]) -> str:
    try:
        return spelled(schema_of(spec.get("schema")))
    except ValueError as error:
        example = "Write 'schema: {type: object, properties: {name: {type: string}}, required: [name]}', for instance."
        raise refuse(f"has a schema that cannot be read: {error}", example) from None


def _box_form(spec: Mapping[str, Any], refuse: Callable[[str, str], InputError]) -> BoxForm:
    order = spec.get("format", "xyxy")
    orders = [order, spec.get("target_format", order)]
    for value in orders:
        if value not in FORMATS:
            raise refuse(f"has the format '{str(value)[:40]}' of boxes", f"Known: {', '.join(FORMATS)}.")
    scale = str(spec.get("scale", "pixels"))
    if scale not in SCALES and not (scale.isdecimal() and 0 < int(scale[:9]) < 10**6):
        raise refuse(f"has the scale '{scale[:40]}'", f"Known: {', '.join(SCALES)}, or a number as 1 or 1000.")
    labels = spec.get("labels", [])
    if not isinstance(labels, list) or not all(isinstance(one, str) and one.strip() for one in labels):
        raise refuse("has labels that are no texts", "Write 'labels: [cup, plate]'.")
    names = tuple(" ".join(label.split()) for label in labels)
    if len({name.casefold() for name in names}) < len(names):
        raise refuse("has a label twice", "Each may appear only once.")
    return BoxForm(orders[0], scale, names, orders[1])


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
    column = spec.get("options_column")
    example = "Write 'options: [a cat, a dog]', or 'options_column' with the name of a column."
    if column is not None:
        if given is not None or not isinstance(column, str) or not column.strip():
            raise refuse("has an options_column beside options, or one that is no text", example)
        return ()
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
            raise refuse(f"has the {what} '{twice}' twice", "Each may appear only once.")
    if len(options) < 2:
        raise refuse("is a choice of one option", "Give at least two.")
    return tuple(options)


def options_of(cell: str) -> tuple[tuple[str, str], ...]:
    """The options that a cell holds."""

    def refuse(what: str, remedy: str) -> InputError:
        return InvalidSetting(f"'{cell[:40]}' {what}", remedy=remedy)

    try:
        given = read_json(cell)
    except ValueError:
        given = None
    if not isinstance(given, list | dict):
        raise InvalidSetting(f"'{cell[:40]}' holds no options")
    try:
        return _options({"options": given}, refuse)
    except InputError as error:
        raise InvalidSetting(str(error).partition(". ")[0]) from None

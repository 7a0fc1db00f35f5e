"""How values of each type stand in JSON: a form encodes, decodes with checks, and says its schema.

`form_of(type)` gives the form of a type; a dataclass has the forms of its fields.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from steelyard.core.errors import InputError, InvalidResult
from steelyard.core.explanation import Step
from steelyard.core.figure import Figure, Listing
from steelyard.core.gallery import Gallery
from steelyard.core.pairs import Coverage
from steelyard.core.request import Request
from steelyard.core.slice import slice_key, slice_parts
from steelyard.core.table import Table
from steelyard.results import details_json
from steelyard.results import details_json as details
from steelyard.results.comparison import Standing
from steelyard.results.details import DetailsData, UnitTable
from steelyard.results.gate import Gate, Outcome, Verdict
from steelyard.results.influences import Influences
from steelyard.results.origin import SourceInfo
from steelyard.results.score import Difference, RunSpread, Score
from steelyard.results.sets import DriftGroup

HOW = "Write one with 'steelyard evaluate ... -o FILE' or Report.to_json."
INFINITE = {"inf": math.inf, "-inf": -math.inf}
# What follows from the fields: it is written beside them, for whoever reads the file without Steelyard, and not read.
# And what is plainer in a result: every metric is its spec, every option the text that was given.
WRITTEN: dict[type, dict[str, Any]] = {
    Gate: {"outcome": Outcome},
    Coverage: {"share": float},
    Standing: {"best": tuple[int, ...]},
    RunSpread: {"share_runs": float, "share_items": float},
}
# Names in files, where the Python names of fields and classes have changed: keys of the JSON, $defs of the schema.
FIELD_NAMES: dict[type, dict[str, str]] = {
    Score: {"n_excluded": "undefined", "excluded": "left_out", "undefined_reason": "why"},
    Difference: {"undefined_reason": "why", "min_detectable": "showable"},
    DriftGroup: {"excluded": "left_out"},
    Verdict: {"reason": "why"},
    Step: {"reason": "why"},
}
SCHEMA_NAMES: dict[type, str] = {SourceInfo: "Side", DetailsData: "Details"}
PLAINER: dict[type, dict[str, Any]] = {Request: {"metrics": tuple[str, ...] | None, "options": Mapping[str, str]}}


class At:
    """A place in a file: for messages."""

    def __init__(self, source: str, way: str = "") -> None:
        self.source, self.way = source, way

    def key(self, key: str) -> At:
        """The place behind a key."""
        shown = key if key.replace("_", "").replace("@", "").isalnum() else f"[{json.dumps(key)}]"
        return At(self.source, f"{self.way}.{shown}" if self.way else shown)

    def item(self, place: int) -> At:
        """The place in a list."""
        return At(self.source, f"{self.way}[{place}]")

    def wrong(self, value: Any, expected: str) -> InputError:
        """The error that a value is of another type."""
        shown = json.dumps(value, default=str)
        shown = shown if len(shown) <= 40 else shown[:37] + "..."
        return self.error(f"{self.way or 'it'} is {shown} where {expected} is expected")

    def error(self, what: str) -> InputError:
        """An error of the file."""
        return InvalidResult(what, where=self.source, remedy=HOW)


class Form(ABC):
    """How a type stands in JSON."""

    def encode(self, value: Any) -> Any:
        """The value as plain JSON."""
        return value

    @abstractmethod
    def decode(self, value: Any, at: At) -> Any:
        """The value of plain JSON, checked."""

    @abstractmethod
    def schema(self, names: dict[str, Any]) -> dict[str, Any]:
        """Its JSON schema; dataclasses go into `names`."""


class _Text(Form):
    def decode(self, value: Any, at: At) -> str:
        if not isinstance(value, str):
            raise at.wrong(value, "a text")
        if any("\ud800" <= char <= "\udfff" for char in value):  # half a character: no file can hold it
            raise at.wrong(value, "a text of whole characters")
        return value

    def schema(self, names: dict[str, Any]) -> dict[str, Any]:
        return {"type": "string"}


class _Flag(Form):
    def decode(self, value: Any, at: At) -> bool:
        if not isinstance(value, bool):
            raise at.wrong(value, "true or false")
        return value

    def schema(self, names: dict[str, Any]) -> dict[str, Any]:
        return {"type": "boolean"}


class _Count(Form):
    def encode(self, value: Any) -> int:
        return int(value)

    def decode(self, value: Any, at: At) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
            raise at.wrong(value, "a whole number from 0 up")
        return value

    def schema(self, names: dict[str, Any]) -> dict[str, Any]:
        return {"type": "integer", "minimum": 0, "exclusiveMaximum": 1 << 63}


class _Number(Form):
    """nan is null; where null means that there is nothing, nan is a text."""

    def __init__(self, nan: str | None = None) -> None:
        self.nan = nan

    def encode(self, value: Any) -> Any:
        if math.isfinite(value):
            return float(value)
        return self.nan if math.isnan(value) else "inf" if value > 0 else "-inf"

    def decode(self, value: Any, at: At) -> float:
        if value == self.nan:
            return math.nan
        if isinstance(value, str) and value in INFINITE:
            return INFINITE[value]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise at.wrong(value, "a number or null")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise at.wrong(value, "a finite number or null")
        return number

    def schema(self, names: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [{"type": "number"}, {"enum": [*INFINITE, self.nan]}]}


class _Choice(Form):
    def __init__(self, choices: Sequence[str]) -> None:
        self.choices = choices

    def decode(self, value: Any, at: At) -> Any:
        if not isinstance(value, str) or value not in self.choices:
            raise at.wrong(value, f"one of {', '.join(self.choices)}")
        return value

    def schema(self, names: dict[str, Any]) -> dict[str, Any]:
        return {"enum": list(self.choices)}


class _Maybe(Form):
    def __init__(self, inner: Form) -> None:
        self.inner = inner

    def encode(self, value: Any) -> Any:
        return None if value is None else self.inner.encode(value)

    def decode(self, value: Any, at: At) -> Any:
        return None if value is None else self.inner.decode(value, at)

    def schema(self, names: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [self.inner.schema(names), {"type": "null"}]}


class _Row(Form):
    """A tuple: of so many values, or of any number of one type."""

    def __init__(self, forms: Sequence[Form], many: bool) -> None:
        self.forms, self.many = forms, many

    def encode(self, value: Any) -> list[Any]:
        forms = self.forms if not self.many else [self.forms[0]] * len(value)
        return [form.encode(one) for form, one in zip(forms, value, strict=True)]

    def decode(self, value: Any, at: At) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise at.wrong(value, "an array")
        if not self.many and len(value) != len(self.forms):
            raise at.wrong(value, f"an array of {len(self.forms)}")
        forms = self.forms if not self.many else [self.forms[0]] * len(value)
        return tuple(form.decode(one, at.item(i)) for i, (form, one) in enumerate(zip(forms, value, strict=True)))

    def schema(self, names: dict[str, Any]) -> dict[str, Any]:
        if self.many:
            return {"type": "array", "items": self.forms[0].schema(names)}
        size = len(self.forms)
        inside = [form.schema(names) for form in self.forms]
        return {"type": "array", "prefixItems": inside, "minItems": size, "maxItems": size}


class _Named(Form):
    """A mapping from texts."""

    def __init__(self, inner: Form) -> None:
        self.inner = inner

    def encode(self, value: Any) -> dict[str, Any]:
        return {str(key): self.inner.encode(one) for key, one in value.items()}

    def decode(self, value: Any, at: At) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise at.wrong(value, "an object")
        text = form_of(str)
        return {text.decode(key, at): self.inner.decode(one, at.key(key)) for key, one in value.items()}

    def schema(self, names: dict[str, Any]) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.inner.schema(names)}


class _Slices(Form):
    """Scores by slice. A slicing that has no slice is one entry without a value."""

    def __init__(self, inner: Form) -> None:
        self.inner, self.names = inner, _Row([form_of(str)], many=True)

    def encode(self, value: Any) -> list[Any]:
        return [
            {"by": list(slice_parts(by)), "value": list(slice_parts(one)) if parts else [], "scores": scores}
            for by, parts in value.items()
            for one, scores in ([(k, self.inner.encode(v)) for k, v in parts.items()] or [("", {})])
        ]

    def decode(self, value: Any, at: At) -> dict[Any, Any]:
        if not isinstance(value, list):
            raise at.wrong(value, "an array")
        slices: dict[Any, dict[Any, Any]] = {}
        for i, entry in enumerate(value):
            place = at.item(i)
            if not isinstance(entry, Mapping):
                raise place.wrong(entry, "an object")
            for key in ("by", "value", "scores"):
                if key not in entry:
                    raise at.error(f"'{place.way}.{key}' is missing")
            by, values = (self.names.decode(entry[key], place.key(key)) for key in ("by", "value"))
            if not by or (values and len(values) != len(by)):
                raise place.key("value").wrong(entry["value"], f"a value for each of {len(by)} columns")
            parts = slices.setdefault(slice_key(by), {})
            if values and slice_key(values) in parts:
                raise place.error(f"'{place.way}' gives a slice twice")
            if values:
                parts[slice_key(values)] = self.inner.decode(entry["scores"], place.key("scores"))
        return slices

    def schema(self, names: dict[str, Any]) -> dict[str, Any]:
        texts = self.names.schema(names)
        inside = {"by": texts, "value": texts, "scores": self.inner.schema(names)}
        return {"type": "array", "items": {"type": "object", "required": list(inside), "properties": inside}}


class _Own(Form):
    """A type that has a form of its own; what it refuses with ValueError is wrong in the file."""

    def __init__(self, encode: Callable[[Any], Any], decode: Callable[[Any], Any], schema: dict[str, Any]) -> None:
        self.write, self.read, self.described = encode, decode, schema

    def encode(self, value: Any) -> Any:
        return self.write(value)

    def decode(self, value: Any, at: At) -> Any:
        try:
            return self.read(value)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, IndexError) as error:
            what = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else str(error)
            raise at.error(f"'{at.way}' is broken: {what}") from None

    def schema(self, names: dict[str, Any]) -> dict[str, Any]:
        return self.described


def _holds_influences(hint: Any) -> bool:
    return hint is Influences or any(_holds_influences(one) for one in get_args(hint))


def _stands_last(hint: Any) -> int:
    return 2 if _holds_influences(hint) else int(isinstance(form_of(hint), _Slices))


class _Data(Form):
    """A dataclass: an object with its fields, and what `WRITTEN` says beside them.

    Slices and influences, which may be long, stand last: a list of many files reads the heads alone.
    """

    def __init__(self, cls: type) -> None:
        self.made = cls
        hints = {**get_type_hints(cls), **PLAINER.get(cls, {})}
        self.fields = {f.name: f for f in dataclasses.fields(cls) if f.name != "details"}
        self.hints = {name: hints[name] for name in self.fields}
        self.shown = WRITTEN.get(cls, {})
        self.saved = {name: FIELD_NAMES.get(cls, {}).get(name, name) for name in (*self.hints, *self.shown)}

    def encode(self, value: Any) -> dict[str, Any]:
        hints = {**self.shown, **self.hints}
        data = {name: getattr(value, name) for name in hints}
        return {
            self.saved[name]: form_of(hints[name]).encode(one)
            for name, one in sorted(data.items(), key=lambda item: _stands_last(hints[item[0]]))
            if not (one is None and self._absent(name))
        }

    def _absent(self, name: str) -> bool:
        """Whether None is left out: what is large, and rarely there."""
        inside = get_args(resolve_alias(self.hints[name])) if name in self.fields else ()
        return any(
            get_origin(resolve_alias(one)) is np.ndarray or _holds_influences(one) or one is Gallery for one in inside
        )

    def decode(self, value: Any, at: At) -> Any:
        if not isinstance(value, Mapping):
            raise at.wrong(value, "an object")
        values = {}
        for name, field in self.fields.items():
            key = self.saved[name]
            if key in value:
                values[name] = form_of(self.hints[name]).decode(value[key], at.key(key))
            elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
                raise at.error(f"'{at.key(key).way}' is missing")
        instance = self.made(**values)
        if isinstance(instance, Request):
            try:
                instance.check()
            except InputError as error:
                raise at.error(f"'{at.way}' is broken: {error.what}") from None
        for name, what in instance.faults().items() if hasattr(instance, "faults") else ():
            raise at.error(f"'{at.way}.{self.saved.get(name, name)}' {what}")
        return instance

    def schema(self, names: dict[str, Any]) -> dict[str, Any]:
        name = SCHEMA_NAMES.get(self.made, self.made.__name__)
        if name not in names:
            names[name] = {}  # a class may hold itself
            required = [self.saved[key] for key, field in self.fields.items() if not self._default(field)]
            inside = {self.saved[key]: form_of(hint).schema(names) for key, hint in self.hints.items()}
            inside |= {key: form_of(hint).schema(names) for key, hint in self.shown.items()}
            about = (self.made.__doc__ or "").partition("\n")[0]
            described = {"description": about, "type": "object", "required": required, "properties": inside}
            names[name] = described
        return {"$ref": f"#/$defs/{name}"}

    @staticmethod
    def _default(field: dataclasses.Field[Any]) -> bool:
        return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


PACKED = {"type": "string", "contentEncoding": "base64"}
OWN: dict[Any, tuple[Callable[[Any], Any], Callable[[Any], Any], dict[str, Any]]] = {
    np.ndarray: (details.pack_floats, details.unpack_floats, PACKED),
    Listing: (details.pack_exactly, details_json.unpack, PACKED),
    UnitTable: (details.pack_units, details.unpack_units, PACKED),
    Figure: (details.figure_dict, details.figure_of, {"type": "object"}),
    Table: (Table.to_dict, details.table_of, {"type": "object"}),
}


def resolve_alias(hint: Any) -> Any:
    """The type behind a type alias; any other type is returned unchanged.

    `NDArray` is an alias object on Python 3.12 and later with NumPy 2.5 and later, and a plain generic class elsewhere.
    """
    alias = get_origin(hint) or hint
    if not hasattr(alias, "__value__"):
        return hint
    inside = get_args(hint)
    return resolve_alias(alias.__value__[inside] if inside else alias.__value__)


@cache
def form_of(hint: Any) -> Form:
    """The form of a type."""
    hint = resolve_alias(hint)
    origin, inside = get_origin(hint), get_args(hint)
    if hint in OWN or origin in OWN:
        return _Own(*OWN[hint if hint in OWN else origin])
    plain: dict[Any, Callable[[], Form]] = {str: _Text, int: _Count, float: _Number, bool: _Flag}
    if hint in plain:
        return plain[hint]()
    if origin is Literal:
        return _Choice(inside)
    if origin in (Union, types.UnionType) and len(inside) == 2 and type(None) in inside:
        inner = next(one for one in inside if one is not type(None))
        return _Maybe(_Number("nan") if inner is float else form_of(inner))
    if origin is tuple:
        many = len(inside) == 2 and inside[1] is Ellipsis
        return _Row([form_of(one) for one in (inside[:1] if many else inside)], many)
    if origin is Mapping:
        return _Named(form_of(inside[1])) if inside[0] is str else _Slices(form_of(get_args(inside[1])[1]))
    if dataclasses.is_dataclass(hint):
        return _Data(hint)  # type: ignore[arg-type]
    raise TypeError(f"a result cannot hold {hint}")

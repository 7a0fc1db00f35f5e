"""Results read back from their JSON form. A file that is not one says what is wrong with it, and where."""

from __future__ import annotations

import base64
import binascii
import json
import math
import os
from collections.abc import Mapping
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.pairs import Coverage
from steelyard.core.slice import Slice, slice_key
from steelyard.io.json import parse_json
from steelyard.io.text import read_bytes
from steelyard.results.details import figure_of, listing_of, table_of, units_of
from steelyard.results.json import COMPARISON_SCHEMA, REPORT_SCHEMA
from steelyard.results.model import Comparison, Provenance, Report, Side
from steelyard.results.score import Difference, Score

T = TypeVar("T")
HOW = "Write one with: steelyard evaluate TASK TRUTH PREDICTIONS -o result.json."


def read_result(data: str | PathLike[str] | Mapping[str, Any], source: str = "result") -> Report | Comparison:
    """A report or a comparison from its JSON file, or from what `to_dict` gave."""
    if isinstance(data, Mapping):
        return _result(_Part(data, source))
    if not isinstance(data, str | PathLike):
        raise InputError(f"{data!r} is no result", where=source, remedy="Give a path, or what `to_dict` gave.")
    source = fspath(data)
    path = Path(data)
    if not os.path.exists(path):
        raise InputError("no such file", where=source, remedy=HOW)
    try:
        text = read_bytes(path, source).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", where=source, remedy=HOW) from None
    return parse_result(parse_json(text, source, HOW), source)


def parse_result(data: Any, source: str) -> Report | Comparison:
    """A report or a comparison from what JSON said. No path is taken: what is no object is refused."""
    try:
        return _result(_Part(data, source))
    except RecursionError:
        raise InputError("the JSON is nested too deeply", where=source, remedy=HOW) from None


class _Part:
    """A value inside the file, with the way that leads to it."""

    def __init__(self, value: Any, source: str, way: str = "") -> None:
        self.value, self.source, self.way = value, source, way

    def wrong(self, expected: str) -> InputError:
        shown = json.dumps(self.value, default=str)
        shown = shown if len(shown) <= 40 else shown[:37] + "..."
        return InputError(f"{self.way or 'it'} is {shown} where {expected} is expected", where=self.source, remedy=HOW)

    def __getitem__(self, key: str) -> _Part:
        if not isinstance(self.value, Mapping):
            raise self.wrong("an object")
        if key not in self.value:
            raise InputError(f"'{self._at(key)}' is missing", where=self.source, remedy=HOW)
        return _Part(self.value[key], self.source, self._at(key))

    def _at(self, key: str) -> str:
        return f"{self.way}.{key}" if self.way else key

    def items(self) -> list[_Part]:
        if not isinstance(self.value, list):
            raise self.wrong("an array")
        return [_Part(value, self.source, f"{self.way}[{i}]") for i, value in enumerate(self.value)]

    def text(self, default: str | None = None) -> str:
        if self.value is None and default is not None:
            return default
        if not isinstance(self.value, str):
            raise self.wrong("a text")
        if any("\ud800" <= char <= "\udfff" for char in self.value):  # half a character: no file can hold it
            raise self.wrong("a text of whole characters")
        return self.value

    def number(self) -> float:
        """A number; null is undefined."""
        if self.value is None:
            return math.nan
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.wrong("a number or null")
        try:
            number = float(self.value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.wrong("a finite number or null")
        return number

    def probability(self) -> float:
        """A number from 0 to 1; null is undefined."""
        value = self.number()
        if not math.isnan(value) and not 0 <= value <= 1:
            raise self.wrong("a number from 0 to 1, or null,")
        return value

    def count(self) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not 0 <= self.value < 1 << 63:
            raise self.wrong("a whole number from 0 up")
        return self.value

    def interval(self) -> tuple[float, float] | None:
        if self.value is None:
            return None
        ends = [end.number() for end in self.items()]
        if len(ends) != 2:
            raise self.wrong("an array of two numbers")
        # An end that is not finite is written as null: nothing is known on that side.
        low, high = -math.inf if math.isnan(ends[0]) else ends[0], math.inf if math.isnan(ends[1]) else ends[1]
        if low > high:
            raise self.wrong("an array of two numbers, the lower first")
        return low, high

    def texts(self) -> tuple[str, ...]:
        return tuple(item.text() for item in self.items())

    def mapping(self) -> dict[str, str]:
        if not isinstance(self.value, Mapping):
            raise self.wrong("an object")
        return {str(key): self[key].text() for key in self.value}


def _result(part: _Part) -> Report | Comparison:
    schema = part["schema"].text()
    if schema == REPORT_SCHEMA:
        return _report(part)
    if schema == COMPARISON_SCHEMA:
        return _comparison(part)
    raise part["schema"].wrong(f"'{REPORT_SCHEMA}' or '{COMPARISON_SCHEMA}'")


def _report(part: _Part) -> Report:
    provenance = _provenance(part["provenance"])
    details = _details(part["details"]) if "details" in part.value else {}
    slices: dict[Slice, dict[Slice, dict[str, Score]]] = {}
    for entry in part["slices"].items():
        found = slices.setdefault(slice_key(entry["by"].texts()), {})
        found[slice_key(entry["value"].texts())] = _scores(entry["scores"], provenance.draws)
    return Report(
        task=part["task"].text(),
        unit=part["unit"].text(),
        item="row",
        scores=_scores(part["scores"], provenance.draws),
        slices=slices,
        coverage=_coverage(part["counts"], provenance.missing),
        provenance=provenance,
        notes=part["notes"].texts(),
        **details,
    )


def _details(part: _Part) -> dict[str, Any]:
    """What a page shows beside scores, as the fields of a report that give it."""
    try:
        tables = [table_of(entry.value) for entry in part["tables"].items()]
        figures = [figure_of(entry.value) for entry in part["figures"].items()]
        units, rows = (listing_of(part[name].value) for name in ("units", "rows"))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        said = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"'{part.way}' is broken: {said}", where=part.source, remedy=HOW) from None
    return {
        "unit_table": None if units is None else partial(units_of, units),
        "table_makers": {table.name: partial(_same, table) for table in tables},
        "figure_makers": lambda: {figure.name: partial(_same, figure) for figure in figures},
        "listing_maker": None if rows is None else partial(_same, rows),
    }


def _same(value: T) -> T:
    return value


def _comparison(part: _Part) -> Comparison:
    provenance = {side: _provenance(part["provenance"][side]) for side in "ab"}
    found = [_difference(entry) for entry in part["differences"].items()]
    return Comparison(
        task=part["task"].text(),
        unit=part["unit"].text(),
        differences={difference.spec: difference for difference in found},
        coverage_a=_coverage(part["counts"]["a"], provenance["a"].missing),
        coverage_b=_coverage(part["counts"]["b"], provenance["b"].missing),
        provenance_a=provenance["a"],
        provenance_b=provenance["b"],
        notes=part["notes"].texts(),
    )


def _scores(part: _Part, draws: int) -> dict[str, Score]:
    scores: dict[str, Score] = {}
    for entry in part.items():
        score = _score(entry, draws)
        if score.spec in scores:
            raise InputError(f"'{entry.way}' gives '{score.spec}' twice", where=part.source, remedy=HOW)
        scores[score.spec] = score
    return scores


def _score(part: _Part, draws: int = 0) -> Score:
    return Score(
        spec=part["metric"].text(),
        label=part["label"].text(),
        value=part["value"].number(),
        interval=part["interval"].interval(),
        units=part["units"].count(),
        undefined=part["undefined"].count(),
        left_out=part["left_out"].text(""),
        why=part["why"].text(""),
        notes=part["notes"].texts(),
        better=_direction(part["better"]),
        measure=part["measure"].text(""),
        draws=_draws(part["draws"], draws) if "draws" in part.value else None,
    )


def _draws(part: _Part, count: int) -> Any:
    try:
        values = np.frombuffer(base64.b64decode(part.text(), validate=True), dtype="<f8").astype(np.float64)
    except (binascii.Error, ValueError):
        raise part.wrong("base64 of 64-bit floats") from None
    if len(values) != count or np.isinf(values).any():
        raise InputError(
            f"'{part.way}' holds {len(values)} values where provenance.settings.draws says {count}",
            where=part.source,
            remedy=HOW,
        )
    return values


def _direction(part: _Part) -> str:
    known = ("lower", "higher", "zero", "one", "none")
    if part.value not in known:
        raise part.wrong(f"one of {', '.join(known)}")
    return part.text()


def _difference(part: _Part) -> Difference:
    return Difference(
        spec=part["metric"].text(),
        label=part["label"].text(),
        a=_score(part["a"]),
        b=_score(part["b"]),
        difference=part["difference"].number(),
        interval=part["interval"].interval(),
        p=part["p"].probability(),
        p_holm=part["p_holm"].probability(),
        verdict=part["verdict"].text(),
        units=part["units"].count(),
        why=part["why"].text(""),
        better=_direction(part["better"]),
        measure=part["measure"].text(""),
    )


def _coverage(part: _Part, policy: str) -> Coverage:
    counts = {key: part[key].count() for key in ("truth", "predictions", "matched", "missing", "extra")}
    return Coverage(**counts, policy=policy)


def _side(part: _Part) -> Side:
    return Side(part["source"].text(), part["rows"].count(), part["digest"].text())


def _provenance(part: _Part) -> Provenance:
    settings = part["settings"]
    confidence = settings["confidence"].number()
    if confidence == confidence and not 0 < confidence < 1:
        raise settings["confidence"].wrong("a number between 0 and 1, or null,")
    return Provenance(
        truth=_side(part["truth"]),
        predictions=_side(part["predictions"]),
        metrics=settings["metrics"].texts(),
        by=tuple(names.texts() for names in settings["by"].items()),
        confidence=None if math.isnan(confidence) else confidence,
        draws=settings["draws"].count(),
        seed=settings["seed"].count(),
        missing=settings["missing"].text(),
        extra=settings["extra"].text(),
        columns=settings["columns"].mapping(),
        options=settings["options"].mapping(),
        version=part["steelyard"].text(),
    )

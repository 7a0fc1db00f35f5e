"""Computing stored results again from their data, and finding where two results differ."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from steelyard import api
from steelyard.core import catalogue
from steelyard.core.counts import count_text
from steelyard.core.frozen import Frozen
from steelyard.core.request import Request
from steelyard.gating.gate import gate
from steelyard.gating.models import model_names
from steelyard.io.beside import in_file
from steelyard.io.text import sheet_path
from steelyard.results.codec import EDITED, decode, encode
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.forms import FIELD_NAMES
from steelyard.results.gate import Gate
from steelyard.results.origin import Model, Sources
from steelyard.results.report import Report
from steelyard.results.result import Result, details_of
from steelyard.results.vlm import VlmScore

Paths = Mapping[str, str]  # where each source lies now
TOLERANCE = 1e-9  # of a number's size: the last digits of sums differ between machines
SMALLEST = 1e-3  # numbers below it are compared as if they were as large
NOT_REPEATED = {
    "vlm-score": "it was computed from a folder of replies, which the result does not name",
    "plan": "a plan does not name the files that it was made from",
    "pool": "a pool does not name the files that it was made from",
    "drift": "a drift does not name the files that it was made from",
}
# Fields that say where and by what a result was computed, by class; digests say whether the data are the same.
NOT_COMPARED = {"Sources": ("version",), "SourceInfo": ("source",), "ModelRun": ("source",)}
FROM_INFLUENCES = "Made from the influences of the units on both results"  # how a note of such a comparison begins
FROM_RESULTS = "it was computed from stored results, not from data"


def inputs_of(result: Result) -> tuple[tuple[str, ...], str]:
    """What a result was computed from, by the names that it has for them; and why it cannot be computed again."""
    if isinstance(result, Gate):
        gated = (result.result, *([result.baseline] if result.baseline else []))
        return gated, "its ledger, which counts looks at the test set, is not in the pack" if result.ledger else ""
    if isinstance(result, Report):
        models = [(result.request, result.sources)]
    elif isinstance(result, Comparison | Lineup):
        comparisons = result.comparisons if isinstance(result, Lineup) else (result,)
        if any(map(_is_from_results, comparisons)):
            return (), FROM_RESULTS
        sides = [comparisons[0].a, *(one.b for one in comparisons)]
        models = [(side.request, side.sources) for side in sides]
    else:
        return (), NOT_REPEATED.get(result.kind, "results of this kind are not computed again")
    names = dict.fromkeys(name for request, sources in models for name in _model_inputs(request, sources))
    return tuple(names), ""


def _is_from_results(comparison: Comparison) -> bool:
    """Whether a comparison was made from two stored results: by their intervals, draws or influences."""
    methods = {d.p_method for d in comparison.differences.values()}
    return bool(methods & {"draws", "intervals"}) or any(note.startswith(FROM_INFLUENCES) for note in comparison.notes)


def _model_inputs(request: Request, sources: Sources) -> Iterator[str]:
    by_truth = request.runs is not None and request.runs.factor == "annotators"
    if not (sources.runs and by_truth):
        yield sources.truth.source
    yield from (run.source for run in sources.runs)
    if not (sources.runs and not by_truth):
        yield sources.predictions.source
    if sources.proxy is not None and not _proxy_is_column(sources):
        yield sources.proxy.source
    for name in _columns_named(request):
        beside = in_file(name)
        if beside is not None:
            yield beside[1]
    yield from (str(request.options[name]) for name in _path_options(request))


def _proxy_is_column(sources: Sources) -> bool:
    return sources.proxy is not None and sources.proxy.source == sources.truth.source


def _columns_named(request: Request) -> Iterator[str]:
    yield from (name for columns in request.by for name in columns)
    yield from (name for name in (request.cluster, request.strata) if name)


def _path_options(request: Request) -> Iterator[str]:
    """The options whose values are paths; one that lists ids may name a file of them."""
    types = {option.name: option.type for option in catalogue.find_task(request.task).options}
    for name, value in request.options.items():
        kind = types.get(name.rpartition(".")[2])
        if kind == "path" or (kind == "ids" and os.path.splitext(str(value))[1]):
            yield name


def at_sheet(path: str, source: str) -> str:
    """The absolute path, with the sheet of a workbook that the source names: `book.xlsx#sheet`."""
    return f"{os.path.abspath(path)}{source[len(sheet_path(source)[0]) :]}"


def repeat(result: Result, paths: Paths) -> Result:
    """The same result, computed from data that lie in other places."""
    if isinstance(result, Gate):
        return _repeat_gate(result, paths)
    if isinstance(result, Report):
        request = _moved(result.request, paths)
        truth, predictions, proxy = _sides(result.request, result.sources, paths)
        again: Result = api.evaluate_request(
            request, truth, predictions, proxy, request.judge_correction, request.label_probability
        )
    else:
        assert isinstance(result, Comparison | Lineup)
        again = _repeat_comparison(result, paths)
    return again if details_of(result) is None else again.with_details()


def _repeat_comparison(result: Comparison | Lineup, paths: Paths) -> Result:
    comparisons = result.comparisons if isinstance(result, Lineup) else (result,)
    models: list[Model] = [comparisons[0].a, *(one.b for one in comparisons)]
    request = _moved(models[1].request, paths)
    truth, _, proxy = _sides(models[0].request, models[0].sources, paths)
    given = [_sides(model.request, model.sources, paths)[1] for model in models]
    if request.runs is not None:
        return api.compare_request(request, truth, given[0], given[1])
    names = [model.name for model in models]
    named = dict(zip(names, given, strict=True)) if all(names) else given
    lineup = api.compare_request(request, truth, named, proxy=proxy)
    assert isinstance(lineup, Lineup)
    return lineup if isinstance(result, Lineup) else lineup.comparisons[0]


def _sides(request: Request, sources: Sources, paths: Paths) -> tuple[Any, Any, Any]:
    """Truth, predictions and proxy, where they lie now."""
    truth: Any = paths.get(sources.truth.source)
    predictions: Any = paths.get(sources.predictions.source)
    if sources.runs and request.runs is not None:
        runs = {run.name: paths[run.source] for run in sources.runs}
        truth, predictions = (runs, predictions) if request.runs.factor == "annotators" else (truth, runs)
    proxy = None
    if sources.proxy is not None:
        proxy = request.proxy if _proxy_is_column(sources) else paths[sources.proxy.source]
    return truth, predictions, proxy


def _moved(request: Request, paths: Paths) -> Request:
    """The request with the files that it names in their present places."""

    def column(name: str) -> str:
        beside = in_file(name)
        return name if beside is None else f"{beside[0]}@{paths[beside[1]]}"

    return replace(
        request,
        by=tuple(tuple(map(column, names)) for names in request.by),
        cluster=None if request.cluster is None else column(request.cluster),
        strata=None if request.strata is None else column(request.strata),
        options={**request.options, **{name: paths[str(request.options[name])] for name in _path_options(request)}},
    )


def _repeat_gate(held: Gate, paths: Paths) -> Gate:
    rules = list(dict.fromkeys(verdict.rule for verdict in held.verdicts))
    subject = api.load(paths[held.result])
    if isinstance(subject, Lineup) and len(subject) == 1 and _named_model(held.result, subject) is None:
        subject = subject[0]
    baseline = None if held.baseline is None or isinstance(subject, Comparison) else paths[held.baseline]
    model = None
    if isinstance(subject, Lineup | VlmScore):
        model = _named_model(held.result, subject)
        if held.baseline is not None and baseline == paths[held.result]:
            baseline = _named_model(held.baseline, subject)
    # It was made, so other truth was allowed where truths differ.
    return gate(paths[held.result], rules, baseline=baseline, model=model, other_truth=baseline is not None)


def _named_model(name: str, held: Lineup | VlmScore) -> str | None:
    """The model that a gate names with its file, as in "small of results.json", or what else it is held against."""
    controls = [] if isinstance(held, Lineup) else ["constant", *(name for row in held.rows for name in row.controls)]
    known = [*model_names(held), *controls]
    return max((model for model in known if name.startswith(f"{model} of ")), key=len, default=None)


def packed_name(source: str, names: Collection[str]) -> str:
    """The stored result that a gate calls so: of those with this file name the one whose folders are most alike."""
    steps = source.replace(os.sep, "/").split("/")[::-1]

    def alike(name: str) -> int:
        same = [
            step == own or step.endswith(f" of {own}") for step, own in zip(steps, name.split("/")[::-1], strict=False)
        ]
        return [*same, False].index(False)

    best = max(names, key=alike, default="")
    return best if best and alike(best) else ""


class Change(Frozen):
    """A place where a result and the same result computed again differ: `scores.mae.value`, and both values."""

    result: str
    place: str
    packed: str
    repeated: str

    def __str__(self) -> str:
        return f"{self.result}: {self.place} is {self.packed} in the pack, and {self.repeated} computed again"


def changes_between(
    packed: Result, repeated: Result, name: str, paths: Paths, tolerance: float, keys: Collection[str]
) -> Iterator[Change | None]:
    """Every value of a result that differs from that computed again; None for each value that does not.

    Texts that name a file are compared by the names in the packed result. Sources are compared by their digests, and
    the version of Steelyard is not compared, nor fields that the packed result does not have: `keys` are those of its
    JSON, and later versions may write more.
    """
    if isinstance(packed, Gate) and isinstance(repeated, Gate):
        paths = dict(_gated_files(packed, repeated, paths))
    back = {path: source for source, path in paths.items()}
    every = re.compile("|".join(map(re.escape, sorted(back, key=len, reverse=True))) or "(?!)")

    def clean(text: str) -> str:
        return every.sub(lambda match: back[match[0]], text)

    shown = _Walk(name, clean, tolerance, keys)
    repeated = decode(encode(repeated), name)  # as it would be stored
    yield from shown.values(without_edits(packed), repeated, "")
    details = details_of(packed)
    if details is not None:
        yield from shown.values(details, details_of(repeated), "details")


def _gated_files(packed: Gate, repeated: Gate, paths: Paths) -> Iterator[tuple[str, str]]:
    """The files that a gate names, without the model before them, and where they lie now."""
    for name, again in ((packed.result, repeated.result), (packed.baseline, repeated.baseline)):
        if name is not None and again is not None and name in paths:
            yield name.removeprefix(again.removesuffix(paths[name])), paths[name]


def keys_of(values: Any) -> frozenset[str]:
    """All keys of the objects in a JSON value."""
    keys: set[str] = set()
    left = [values]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            keys.update(value)
            left += value.values()
        elif isinstance(value, list):
            left += value
    return frozenset(keys)


def without_edits(result: Any) -> Any:
    """The result without the note that says it was changed, which is said elsewhere."""
    return replace(result, notes=tuple(note for note in result.notes if note != EDITED))


class _Walk:
    """Goes through two results side by side."""

    def __init__(self, name: str, clean: Callable[[str], str], tolerance: float, keys: Collection[str]) -> None:
        self.name, self.clean, self.tolerance, self.keys = name, clean, tolerance, keys

    def values(self, a: Any, b: Any, place: str) -> Iterator[Change | None]:
        """The differences of two values."""
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            yield from self._arrays(a, b, place)
        elif isinstance(a, Mapping) and isinstance(b, Mapping):
            yield from self._mappings(a, b, place)
        elif isinstance(a, tuple | list) and isinstance(b, tuple | list):
            yield from self._rows(a, b, place)
        elif is_dataclass(a) and type(a) is type(b):
            for field in fields(a):
                saved = FIELD_NAMES.get(type(a), {}).get(field.name, field.name)
                skipped = NOT_COMPARED.get(type(a).__name__, ("details",))
                if field.name not in skipped and (saved in self.keys or self._is_set(a, field.name)):
                    inside = f"{place}.{field.name}" if place else field.name
                    yield from self.values(getattr(a, field.name), getattr(b, field.name), inside)
        else:
            yield None if self._same(a, b) else self._change(place, a, b)

    @staticmethod
    def _is_set(value: Any, name: str) -> bool:
        """Whether a field has a value: those of packed columns are not keys of the JSON."""
        held = getattr(value, name)
        return held is not None and not (isinstance(held, tuple | Mapping | str) and not held)

    def _rows(self, a: Sequence[Any], b: Sequence[Any], place: str) -> Iterator[Change | None]:
        if len(a) != len(b):
            yield self._change(place, count_text(len(a), "value"), count_text(len(b), "value"))
        for i, (one, other) in enumerate(zip(a, b, strict=False)):
            yield from self.values(one, other, f"{place}[{i}]")

    def _mappings(self, a: Mapping[Any, Any], b: Mapping[Any, Any], place: str) -> Iterator[Change | None]:
        others = {self.clean(_key_text(key)): value for key, value in b.items()}
        for key, value in a.items():
            inside = f"{place}.{_key_text(key)}"
            if _key_text(key) in others:
                yield from self.values(value, others.pop(_key_text(key)), inside)
            else:
                yield self._change(inside, "present", "missing")
        for left in others:
            yield self._change(f"{place}.{left}", "missing", "present")

    def _arrays(self, a: Any, b: Any, place: str) -> Iterator[Change | None]:
        if a.shape != b.shape:
            yield self._change(place, f"of shape {a.shape}", f"of shape {b.shape}")
            return
        for index, one in np.ndenumerate(a):
            other = b[index]
            one, other = (x.item() if hasattr(x, "item") else x for x in (one, other))
            yield from self.values(one, other, f"{place}[{', '.join(map(str, index))}]")

    def _same(self, a: Any, b: Any) -> bool:
        if isinstance(a, str) and isinstance(b, str):
            return a == self.clean(b)
        if type(a) is not type(b) and not (_is_number(a) and _is_number(b)):
            return False
        if isinstance(a, bool) or not _is_number(a):
            return bool(a == b)
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return bool(a == b) or abs(a - b) <= self.tolerance * max(abs(a), abs(b), SMALLEST)

    def _change(self, place: str, a: Any, b: Any) -> Change:
        return Change(self.name, place, _shown(a), self.clean(_shown(b)))


def _key_text(key: Any) -> str:
    return ",".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else "undefined" if value is None else repr(value)
    return text if len(text) <= 200 else f"{text[:199]}…"

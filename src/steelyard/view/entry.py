"""Entry: what the list shows of one file, taken from the head of a result and checked as far as it is shown."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from steelyard.core.frozen import Frozen

INFINITE = {"inf": math.inf, "-inf": -math.inf, None: math.nan, "nan": math.nan}
_DIRECTIONS = frozenset(("lower", "higher", "zero", "one", "none"))


class Shown(NamedTuple):
    """A score as a list shows it."""

    value: float
    interval: tuple[float, float] | None
    better: str
    measured_in: str
    label: str


class Entry(Frozen):
    """A file of the folder.

    `kind` is that of the result; empty where the file is none, and then `problem` says why. `date` is that of the tag
    `date`, else when the file was written. `truth` is the digest of the truth: runs with the same one can be compared
    pairwise.
    """

    id: str
    name: str
    changed: float
    kind: str = ""
    problem: str = ""
    foreign: bool = False
    task: str = ""
    models: tuple[str, ...] = ()
    data: str = ""
    truth: str = ""
    units: int = 0
    about: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, Shown] = field(default_factory=dict)
    date: float = math.nan

    @property
    def model(self) -> str:
        """The model, or all of them in one text."""
        return ", ".join(self.models)

    @property
    def title(self) -> str:
        """What the run is called: its tag `model`, else its file."""
        return (self.tags.get("model") if self.kind == "report" else "") or self.name

    @property
    def haystack(self) -> str:
        """All that a search looks through, in lower case."""
        tags = [part for name, value in self.tags.items() for part in (f"{name}={value}",)]
        parts = [self.name, self.kind, self.task, *self.models, self.data, self.about, self.problem, *tags]
        return "\n".join(parts).casefold()


def entry_of(file: Entry, kind: str, body: Mapping[str, Any]) -> Entry:
    """The entry of a result of that kind. Raises ValueError, KeyError or TypeError where it is not what it must be."""
    facts = _KINDS[kind](body)
    tags = facts.get("tags", {})
    if kind == "report" and "model" in tags:
        facts["models"] = (tags["model"],)
    if "data" in tags:
        facts["data"] = tags["data"]
    date = date_of(tags, file.changed)
    return Entry(id=file.id, name=file.name, changed=file.changed, kind=kind, date=date, **facts)


def date_of(tags: Mapping[str, str], otherwise: float) -> float:
    """Seconds of the tag `date` in ISO 8601, which is UTC where it names no zone."""
    try:
        date = datetime.fromisoformat(tags.get("date", ""))
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return otherwise


def moment(seconds: float, form: str = "%Y-%m-%d %H:%M UTC") -> str:
    """A time as a text; a file system may hold one that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime(form)
    except (OverflowError, OSError, ValueError):
        return "at an unknown time"


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    if not value.isascii():
        value.encode("utf-8")  # half a character cannot be shown
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError("no count")
    return value


def _number(value: Any) -> float:
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is not int:
        return INFINITE[value]
    return float(value)


def _score(score: Mapping[str, Any]) -> Shown:
    value, ends, better, label = score["value"], score["interval"], score["better"], score["label"]
    if better not in _DIRECTIONS:
        raise ValueError("no direction")
    if type(value) is not float or not math.isfinite(value):
        value = _number(value)
    interval = None if ends is None else (_number(ends[0]), _number(ends[1]))
    return Shown(value, interval, better, _text(score["measured_in"]), _text(label))


def _tags(request: Mapping[str, Any]) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in request.get("tags", {}).items()}


def _stem(source: str) -> str:
    """What a model is called that nobody named: its file without the folder and the ending."""
    return posixpath.basename(source.replace("\\", "/")).partition(".")[0] or source


def _report(body: Mapping[str, Any]) -> dict[str, Any]:
    request, sources = body["request"], body["sources"]
    source, truth = _text(sources["predictions"]["source"]), sources["truth"]
    scores = {_text(spec): _score(score) for spec, score in body["scores"].items()}
    units = max((_count(score["units"]) for score in body["scores"].values()), default=0)
    _text(body["task_facts"]["unit"])
    return {
        "task": _text(request["task"]), "models": (_stem(source),), "data": _text(truth["source"]),
        "truth": _text(truth["digest"]), "units": units, "about": source, "tags": _tags(request), "scores": scores,
    }  # fmt: skip


def _model(model: Mapping[str, Any]) -> str:
    return _text(model.get("name", "")) or _stem(_text(model["sources"]["predictions"]["source"]))


def _comparisons(many: list[Mapping[str, Any]]) -> dict[str, Any]:
    first = many[0]
    models = [_model(first["a"]), *(_model(one["b"]) for one in many)]
    truth = first["b"]["sources"]["truth"]
    units = max((_count(d["units"]) for one in many for d in one["differences"].values()), default=0)
    word = "a comparison" if len(many) == 1 else f"a comparison of {len(models)} models"
    return {
        "task": _text(first["b"]["request"]["task"]), "models": tuple(models), "data": _text(truth["source"]),
        "truth": _text(truth["digest"]), "units": units, "tags": _tags(first["b"]["request"]),
        "about": f"{word}: {', '.join(models[1:])} against {models[0]}",
    }  # fmt: skip


def _lineup(body: Mapping[str, Any]) -> dict[str, Any]:
    return _comparisons(body["comparisons"])


def _vlm(body: Mapping[str, Any]) -> dict[str, Any]:
    models = tuple(dict.fromkeys(_text(row["model"]) for row in body["rows"]))
    about = "a score of vision-language models"
    return {"task": _text(body["task"]), "models": models, "units": _count(body["frames"]), "about": about}


def _gate(body: Mapping[str, Any]) -> dict[str, Any]:
    about = f"a gate: {_text(body['outcome'])}"
    models = (_stem(_text(body["result"])),)
    return {"task": _text(body["task"]), "models": models, "units": _count(body["units"]), "about": about}


def _plan(body: Mapping[str, Any]) -> dict[str, Any]:
    about = f"a plan of a test set, from {_text(body['pilot'])}" if body.get("pilot") else "a plan of a test set"
    return {"task": _text(body["task"]), "models": (), "units": _count(body["units"]), "about": about}


def _pool(body: Mapping[str, Any]) -> dict[str, Any]:
    sets = body["sets"]
    about = f"{len(sets)} test sets, pooled: {', '.join(_text(one['name']) for one in sets)}"
    units = sum(_count(one["units"]) for one in sets)
    return {"task": _text(body["task"]), "models": (), "units": units, "about": about}


def _drift(body: Mapping[str, Any]) -> dict[str, Any]:
    about = f"drift from {_text(body['old'])} to {_text(body['new'])}"
    return {"task": _text(body["task"]), "models": (), "units": _count(body["units"][1]), "about": about}


_KINDS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "report": _report,
    "comparison": lambda body: _comparisons([body]),
    "lineup": _lineup,
    "vlm-score": _vlm,
    "gate": _gate,
    "plan": _plan,
    "pool": _pool,
    "drift": _drift,
}

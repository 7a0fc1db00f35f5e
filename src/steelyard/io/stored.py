"""The declared types of what a state stores beside its arrays, checked field by field when it is read."""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, NotRequired, TypedDict, Union, get_args, get_origin, get_type_hints, is_typeddict

from steelyard.io.container import unfit

Value = str | int | float | bool | None
Texts = tuple[str, ...]
_NAMES: dict[Any, str] = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null",
}  # fmt: skip


class StoredRequest(TypedDict):
    """The settings of an accumulator. What an option may hold is checked by the task that declares it."""

    by: tuple[Texts, ...]
    missing: str | None
    extra: str | None
    columns: Mapping[str, str]
    options: Mapping[str, Any]
    confidence: float | None
    draws: int
    seed: int
    save_draws: bool
    cluster: NotRequired[str | None]
    strata: NotRequired[str | None]
    sequence: NotRequired[str | None]
    tags: NotRequired[Mapping[str, str]]
    save_influences: NotRequired[bool]


class StoredSide(TypedDict):
    """The records of one side."""

    shape: Literal["rows", "boxes", "rankings"]
    source: str
    names: Mapping[str, str]
    label_names: NotRequired[Texts]
    zero_id: NotRequired[int]


class StoredBlock(TypedDict):
    """One block of measurements; `about` depends on the kind."""

    kind: Literal["sum", "moments", "cells", "ranking", "rows"]
    about: Mapping[str, Any]


class StoredState(TypedDict):
    """What was measured, by unit."""

    axes: Mapping[str, tuple[tuple[str | int | float, ...], Texts, bool]]
    flags: Mapping[str, Value]
    mappings: NotRequired[Mapping[str, Mapping[str, str]]]
    holds: Texts
    blocks: Mapping[str, StoredBlock]


class StoredSums(TypedDict):
    """What an accumulator keeps once it is compacted."""

    task: str
    specs: Texts
    policy: tuple[str, str]
    columns: Mapping[str, str]
    options: Mapping[str, str]
    state: StoredState
    slices: tuple[tuple[Texts, tuple[tuple[Texts, StoredState], ...]], ...]
    coverage: tuple[int, int, int, int, int, str]
    rows: tuple[int, int]
    notes: Texts


class StoredAccumulator(TypedDict):
    """The state of an accumulator."""

    task: str
    steelyard: str
    request: StoredRequest
    unlike: str
    notes: Texts
    truth: NotRequired[StoredSide]
    prediction: NotRequired[StoredSide]
    sums: NotRequired[StoredSums]


class StoredShard(TypedDict):
    """The state of a shard."""

    rows: tuple[int, int]
    notes: NotRequired[Texts]
    repeated: NotRequired[int]
    truth: StoredSide
    prediction: StoredSide


class StoredUnits(TypedDict):
    """The units of all shards together."""

    units: int


class SumAbout(TypedDict):
    """A block of sums."""

    axis: NotRequired[str]


class MomentsAbout(TypedDict):
    """A block of moments says nothing more."""


class CellsAbout(TypedDict):
    """A block of counts in cells."""

    axes: tuple[str | int, ...]
    size: int


class RankingAbout(TypedDict):
    """A block of a ranking."""

    axis: str


class RowsAbout(TypedDict):
    """A block of rows."""

    need: str


# What a block says of itself, by its kind.
ABOUT: dict[str, Any] = {
    "sum": SumAbout, "moments": MomentsAbout, "cells": CellsAbout, "ranking": RankingAbout, "rows": RowsAbout,
}  # fmt: skip


def check_stored(value: Any, hint: Any, name: str, source: str) -> None:
    """Raise InputError, with the file and the field, where a stored value is not of its declared type.

    A tuple may be stored as a list; unknown keys of a mapping are left alone.
    """
    if hint is Any:
        return
    if is_typeddict(hint):
        _check_keys(value, hint, name, source)
        return
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Mapping:
        _check_type(isinstance(value, Mapping), value, "a mapping", name, source)
        for key, item in value.items():
            _check_type(isinstance(key, str), key, "a text", f"a key of {name}", source)
            check_stored(item, inside[1], f"{name}.{key}", source)
    elif origin is tuple:
        many = inside[-1] is Ellipsis
        size = "" if many else f" of {len(inside)} values"
        fits = isinstance(value, tuple | list) and (many or len(value) == len(inside))
        _check_type(fits, value, f"a list{size}", name, source)
        for i, item in enumerate(value):
            check_stored(item, inside[0] if many else inside[i], f"{name}[{i}]", source)
    elif origin is Literal:
        _check_type(value in inside, value, f"one of {', '.join(inside)}", name, source)
    else:
        choices = inside if origin in (Union, types.UnionType) else (hint,)
        words = " or ".join(_NAMES[item] for item in choices)
        _check_type(any(_is(value, item) for item in choices), value, words, name, source)


def _check_keys(value: Any, hint: Any, name: str, source: str) -> None:
    _check_type(isinstance(value, Mapping), value, "a mapping", name, source)
    start = f"{name}." if name != FACTS else ""
    for key, inner in _hints(hint).items():
        optional = get_origin(inner) is NotRequired
        if key in value:
            check_stored(value[key], get_args(inner)[0] if optional else inner, f"{start}{key}", source)
        elif not optional:
            raise unfit(source, f"the field '{start}{key}' is missing")


FACTS = "the facts"


@cache
def _hints(hint: Any) -> dict[str, Any]:
    return get_type_hints(hint, include_extras=True)


def _is(value: Any, kind: Any) -> bool:
    if kind is float:
        return type(value) in (int, float)
    return type(value) is kind


def _check_type(fits: bool, value: Any, expected: str, name: str, source: str) -> None:
    if not fits:
        shown = repr(value)
        shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
        raise unfit(source, f"the field '{name}' is {shown}, and {expected} is expected")

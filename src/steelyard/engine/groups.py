"""Groups of units: clusters resampled together, strata whose shares are kept, and the columns that may define them.

A column that names them stands in the truth and is the same in all rows of a unit, or lies in a file of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.draws import unit_keys
from steelyard.core.errors import Conflict, EmptyCell, InputError, MissingColumn, Unmatched, first_few, nearest
from steelyard.core.pairs import Array, Countable
from steelyard.core.records import as_object, sounds_like_a_group
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.core.task import Task
from steelyard.core.units import Units
from steelyard.engine.slices import text_of
from steelyard.io.beside import in_file, values_beside

HEAVY = 0.2  # of all weight
FEW_CLUSTERS = 20  # below, the standard error of clusters is rough


def with_groups(task: Task, request: Request, pairs: Any, state: State) -> State:
    """What was measured of pairs, whose units know the groups that a request names, or else may be in."""
    if state.units.deduplicated:
        return state
    cluster, stratum = (
        None if name is None else unit_column(task, pairs, name, option)
        for name, option in ((request.cluster, "cluster"), (request.strata, "strata"))
    )
    units = replace(state.units, cluster=cluster, stratum=stratum)
    check_nested(units, request)
    return replace(state, units=units if cluster is not None else replace(units, groups=_suspected_groups(task, pairs)))


def by_unit(request: Request, pairs: Any) -> Any:
    """The pairs with every unit listed, if clusters, strata, a proxy or a slice file need them."""
    beside = any(in_file(name) is not None for names in request.by for name in names)
    asked = request.has_design or request.proxy is not None or beside
    return pairs.per_unit() if asked and isinstance(pairs, Countable) else pairs


def check_nested(units: Units, request: Request) -> None:
    """Raise where a cluster lies in two strata: resampling it could not keep the shares of both."""
    if units.cluster is None or units.stratum is None:
        return
    seen: dict[str, str] = {}
    for cluster, stratum in zip(units.cluster.tolist(), units.stratum.tolist(), strict=True):
        if seen.setdefault(cluster, stratum) != stratum:
            raise Conflict(
                f"{request.cluster} '{cluster}' lies in two strata, '{seen[cluster]}' and '{stratum}' of "
                f"'{request.strata}'",
                remedy="A cluster must lie in one stratum: name a wider column as strata, or leave `strata` out.",
            )


def unit_column(task: Task, pairs: Any, name: str, option: str) -> Array:
    """The value of a column in each unit, as text."""
    truth = pairs.truth
    name = truth.own_name(name)
    values, file = truth.find(name), in_file(name)
    if values is None and file is not None:
        beside = values_beside(task, pairs.units.tolist(), name, option)
        _check_filled(
            task, file[0], option, file[1], [str(u) for u, t in zip(pairs.units, beside, strict=True) if not t]
        )
        return beside
    of_units = pairs.unit_values(name) if values is None and hasattr(pairs, "unit_values") else None
    if of_units is not None:
        filled = as_object(_texts(of_units))
        _check_filled(
            task, name, option, truth.source, [str(u) for u, t in zip(pairs.units, filled, strict=True) if not t]
        )
        return filled
    if values is None:
        raise MissingColumn(
            f"column '{name}' is missing, which `{option}` names",
            where=truth.source,
            remedy=nearest(name, truth.source_names),
        )
    rows, owner = _rows(task, pairs, name, option == "strata")
    texts = _texts(rows)
    empty = [i for i, text in enumerate(texts) if not text]
    units = list(dict.fromkeys(str(pairs.units[owner[i]]) for i in empty))
    _check_filled(task, name, option, truth.source, units)
    groups = np.full(len(pairs.units), None, dtype=object)
    for i, text in zip(owner.tolist(), texts, strict=True):
        if groups[i] is None:
            groups[i] = text
        elif groups[i] != text:
            raise Conflict(
                f"{task.unit} '{pairs.units[i]}' has both '{groups[i]}' and '{text}' in column '{name}', which "
                f"`{option}` names",
                where=truth.source,
                remedy=f"It must be the same in all rows of a {task.unit}.",
            )
    lacking = [str(unit) for unit, text in zip(pairs.units.tolist(), groups.tolist(), strict=True) if text is None]
    if lacking:
        raise Unmatched(
            f"{task.unit} '{lacking[0]}' has no row that says its '{name}', which `{option}` names" + _more(lacking),
            where=truth.source,
            remedy=f"Give every {task.unit} a row with one.",
        )
    return groups


def _check_filled(task: Task, column: str, option: str, source: str, empty: Sequence[str]) -> None:
    """Raise where units have an empty cell."""
    if empty:
        raise EmptyCell(
            f"{task.unit} '{empty[0]}' has no value in column '{column}', which `{option}` names" + _more(empty),
            where=source,
            remedy=f"Give every {task.unit} one; a {task.unit} that stands alone takes its own id.",
        )


def _rows(task: Task, pairs: Any, name: str, strata: bool = False) -> tuple[Array, Array]:
    """A column's values and the unit of each; of units that lost all rows to the policy too, from the truth."""
    values, owner = (getattr(pairs, "stratum_values", pairs.slice_values) if strata else pairs.slice_values)(name)
    owner = np.asarray(owner, dtype=np.int64)
    seen = np.zeros(len(pairs.units), dtype=bool)
    seen[owner] = True
    key = "group" if getattr(pairs, "grouped", False) else task.truth.key[0]
    ids = pairs.truth.find(key)
    if seen.all() or ids is None:
        return values, owner
    place = {str(pairs.units[i]): i for i in np.flatnonzero(~seen).tolist()}
    lost = np.array([place.get(str(one), -1) for one in ids.tolist()], dtype=np.int64)
    rest = pairs.truth.find(name)[lost >= 0]
    return as_object([*values.tolist(), *rest.tolist()]), np.concatenate([owner, lost[lost >= 0]])


def _suspected_groups(task: Task, pairs: Any) -> dict[str, Array]:
    """Columns that are named as groups are, constant in each unit and shared by several; as keys of their values."""
    if isinstance(pairs, Countable) and pairs.distinct_units is not None:
        return {}
    columns = {}
    for name in (*pairs.truth.columns, *pairs.truth.other):
        if not sounds_like_a_group(name):
            continue
        try:
            values, owner = _rows(task, pairs, name)
        except InputError:
            continue
        keys = unit_keys(np.array(_texts(values), dtype=object))
        of_unit = np.zeros(len(pairs.units), np.uint64)
        seen = np.zeros(len(pairs.units), bool)
        of_unit[owner[::-1]], seen[owner] = keys[::-1], True
        if seen.all() and (of_unit[owner] == keys).all():
            columns[name] = of_unit
    return columns


def _texts(values: Array) -> list[str]:
    if values.dtype.kind in "iu":
        return [str(value) for value in values.tolist()]
    return [text_of(value) for value in values.tolist()]


def _more(names: Sequence[str]) -> str:
    return f" ({len(names)} are so: {first_few(names)})" if len(names) > 1 else ""


def plan_notes(task: Task, state: State, request: Request) -> tuple[str, ...]:
    """What a reader must know of clusters and strata."""
    units, notes = state.units, []
    if units.cluster is not None:
        drawn = (
            f"{count_text(units.n_resampled, 'cluster')} of {count_text(units.count, task.unit)} by '{request.cluster}'"
        )
        if units.n_resampled < 2:
            notes.append(f"An interval needs at least two clusters; there is one by '{request.cluster}'.")
        elif units.n_resampled < FEW_CLUSTERS:
            notes.append(
                f"Only {drawn}: below {FEW_CLUSTERS} clusters an interval is rough and tends to be too narrow."
            )
        else:
            notes.append(f"Drawn as {drawn}.")
    joined = units.strata[2]
    if joined:
        what = task.unit if units.cluster is None else "cluster"
        if len(joined) == 1:
            notes.append(f"Stratum '{joined[0]}' has one {what} only and is joined to the next.")
        else:
            notes.append(f"{len(joined)} strata have one {what} only and are joined to the next: {first_few(joined)}.")
    return tuple(notes)


def weight_notes(task: Task, units: Units) -> tuple[str, ...]:
    """How many units of equal weight the weighed ones are worth (Kish 1965), and whether one is most of them."""
    weights = units.own[units.own > 0]
    if units.weight is None or len(weights) < 2 or (weights == weights[0]).all():
        return ()
    total, worth = float(weights.sum()), float(weights.sum() ** 2 / (weights**2).sum())
    notes = [
        f"The weights are unequal: {count_text(len(weights), task.unit)} are worth {worth:,.1f} equal ones (Kish)."
    ]
    heavy = int(np.argmax(units.own))
    if units.own[heavy] > HEAVY * total:
        named = f"{task.unit} '{units.ids[heavy]}' has {100 * units.own[heavy] / total:.0f} % of all weight"
        notes.append(f"{named[0].upper()}{named[1:]}: the scores rest on it.")
    return tuple(notes)

"""Which units to label next, and what labels chosen with unequal probabilities say.

A unit is chosen with a probability that grows with how unsure its score is. With the judge's score f on all N units
and truth y on the chosen ones, the mean is estimated by `mean f + sum (y - f) / probability / N` (Horvitz and Thompson
1952; Zrnic and Candes 2024), which is right on average whatever the judge does wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core import catalogue
from steelyard.core.counts import count_text, share_text
from steelyard.core.draws import unit_keys
from steelyard.core.errors import (
    DuplicateKey,
    EmptyInput,
    InvalidNumber,
    InvalidSetting,
    InvalidValue,
    MissingColumn,
    OutOfRange,
    Unmatched,
    Unsupported,
    first_few,
    nearest,
)
from steelyard.core.metric import Metric
from steelyard.core.plan import JACKKNIFE, POINT
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.core.units import Units
from steelyard.core.weights import Array, Floats
from steelyard.engine.intervals import Estimate, UnitSample, by_range
from steelyard.engine.measure import unit_values
from steelyard.engine.quantiles import t_quantile
from steelyard.engine.run import measure_sides, metrics_of
from steelyard.io.read import read_table
from steelyard.io.table import Table

GOLDEN = 0x9E3779B97F4A7C15  # the steps of SplitMix64


def label_next(
    predictions: Any, proxy: Any, budget: float, *, task: str | None = None, metric: str | None = None,
    id_column: str = "id", judge_probability: str = "probability", seed: int = 0,
) -> dict[str, Array]:  # fmt: skip
    """The units to label, by id, and the probability of each; `steelyard.label_next` says it all."""
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not 0 < budget < math.inf:
        raise InvalidNumber(f"a budget of {budget!r} is not a number of labels", remedy="Give a number above 0.")
    if task is None:
        ids, unsure = _by_probability(predictions, proxy, id_column, judge_probability)
    else:
        ids, unsure = _by_scores(predictions, proxy, task, metric)
    if budget > len(ids):
        raise OutOfRange(
            f"a budget of {budget:g} exceeds the {count_text(len(ids), 'unit')}", remedy="Label all of them."
        )
    probability = label_probabilities(unsure, float(budget))
    chosen = unit_coins(ids, seed) < probability
    return {"id": ids[chosen], "probability": probability[chosen]}


def label_probabilities(unsure: Floats, budget: float) -> Floats:
    """The probability of each unit to be labelled: half by how unsure its score is, half the same for all."""
    total = float(unsure.sum())
    share = unsure / total if total > 0 else np.full(len(unsure), 1 / len(unsure))
    probability: Floats = np.minimum(1.0, budget * (0.5 * share + 0.5 / len(unsure)))
    return probability


def unit_coins(ids: Array, seed: int) -> Floats:
    """A number from 0 to 1 for each unit, from the seed and its id alone (SplitMix64)."""
    mask = (1 << 64) - 1
    with np.errstate(over="ignore"):
        x = unit_keys(ids) + np.uint64((seed * GOLDEN + GOLDEN) & mask)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
    coins: Floats = (x >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return coins


def _by_probability(predictions: Any, proxy: Any, id_column: str, column: str) -> tuple[Array, Floats]:
    """The units of predictions, and the spread of a judge's right or wrong by its own probability."""
    tables = [read_table(one, side) for one, side in ((predictions, "predictions"), (proxy, "proxy"))]
    ids, judged = (_ids(table, id_column) for table in tables)
    table = tables[1]
    if column not in table.columns:
        raise MissingColumn(
            f"column '{column}' is missing, how likely the judge takes a prediction to be right",
            where=table.source,
            remedy=f"{nearest(column, table.columns)} Or name a task and a metric, to score its labels.",
        )
    shares = _shares(table.columns[column], table, column)
    place = {one: i for i, one in enumerate(judged)}
    lacking = [one for one in ids if one not in place]
    if lacking:
        raise Unmatched(
            f"{share_text(len(lacking), len(ids), 'unit', 'have')} no row: {first_few(lacking)}",
            where=table.source,
            remedy="The judge must have seen every unit.",
        )
    f = shares[[place[one] for one in ids]]
    return _as_array(ids), np.sqrt(f * (1 - f))


def _ids(table: Table, column: str) -> list[str]:
    if column not in table.columns:
        raise MissingColumn(f"column '{column}' is missing", where=table.source, remedy=nearest(column, table.columns))
    ids = list(map(str, table.columns[column].tolist()))
    if not ids:
        raise EmptyInput("there are no rows", where=table.source, remedy="Give the units that may be labelled.")
    seen: set[str] = set()
    for i, id_ in enumerate(ids):
        if id_ in seen:
            raise DuplicateKey(f"id '{id_}' is a duplicate", where=table.place(i), remedy="Give each unit one row.")
        seen.add(id_)
    return ids


def _as_array(ids: Sequence[str]) -> Array:
    array = np.empty(len(ids), dtype=object)
    array[:] = ids
    return array


def _shares(values: Array, table: Table, column: str) -> Floats:
    """Numbers from 0 to 1."""
    shares = np.empty(len(values))
    for i, value in enumerate(values.tolist()):
        try:
            shares[i] = table.number(value)
        except (TypeError, ValueError):
            shares[i] = math.nan
        if not 0 <= shares[i] <= 1:
            raise InvalidValue(
                f"'{value}' is not a probability",
                where=f"{table.place(i)}, column '{column}'",
                remedy="Give a number from 0 to 1.",
            )
    return shares


def _by_scores(predictions: Any, proxy: Any, task: str, metric: str | None) -> tuple[Array, Floats]:
    """The units, and how far the score of each by the judge lies from the mean."""
    definition = catalogue.find_task(task)
    if metric is None:
        raise InvalidSetting(
            f"task '{definition.name}' needs a metric to choose units by", remedy="Name one, as accuracy."
        )
    (chosen,) = metrics_of(definition, [metric])
    state = measure_sides(definition, Request(definition.name, (metric,), proxy="judge"), proxy, predictions).state
    values = unit_scores(chosen, state)
    return _as_array(list(map(str, state.units.ids.tolist()))), np.abs(values - values.mean())


def unit_scores(metric: Metric, state: State) -> Floats:
    """The score of each unit, where the metric is their mean."""
    values = unit_values(state, [metric])[str(metric)]
    plain = state.units.unweighted and not np.isnan(values).any()
    if not plain or not math.isclose(
        float(state.totals(POINT).of(metric)[0]), float(values.mean()), rel_tol=1e-9, abs_tol=1e-12
    ):
        raise Unsupported(
            f"'{metric}' is not a mean of unit scores, which is all that labels chosen with probabilities estimate",
            remedy="Name such a metric, as accuracy of labels or mae of weights.",
        )
    return np.asarray(values)


def probabilities_of(texts: Sequence[str], units: Sequence[str], where: str) -> dict[str, float]:
    """The probability with which each labelled unit was chosen, by its id."""
    probabilities: dict[str, float] = {}
    never = 0
    for unit, text in zip(units, texts, strict=True):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value <= 1:
            raise InvalidValue(
                f"'{text}' of unit '{unit}' is not a probability", where=where, remedy="Give a number above 0, up to 1."
            )
        never += value == 0
        probabilities[unit] = value
    if never:
        raise OutOfRange(
            f"{count_text(never, 'unit')} could never be chosen",
            where=where,
            remedy="Their probability is 0, and no label speaks for them. Give every unit a probability above 0.",
        )
    return probabilities


def chosen_mean(
    metric: Metric, labelled: State, judged: State, others: State, probability: Mapping[str, float], request: Request
) -> tuple[float, Estimate, float, Estimate]:
    """The mean of unit scores by labels chosen with probabilities and a judge on all, and by the labels alone."""
    y, f, rest = (unit_scores(metric, state) for state in (labelled, judged, others))
    weight = 1 / np.array([probability[str(unit)] for unit in labelled.units.ids.tolist()])
    z = np.concatenate([f + weight * (y - f), rest])
    low, high = metric.range
    value = min(max(float(z.mean()), low), high)
    alone = float((weight * y).sum() / weight.sum())
    if request.confidence is None or len(y) < 2:
        return value, Estimate(), alone, Estimate()
    units = Units.stack([labelled.units, others.units])
    drawn, left = ((rows @ z) / (rows @ np.ones(len(z))) for rows in (request.plan.bind(units), JACKKNIFE.bind(units)))
    estimate = by_range(value, drawn, left, metric.range, UnitSample(len(y)), request.confidence)
    n, moved = len(y), weight * (y - alone)
    se = math.sqrt(n / (n - 1) * float((moved**2).sum())) / float(weight.sum())
    reach = t_quantile((1 + request.confidence) / 2, n - 1) * se
    return value, estimate, alone, Estimate((max(alone - reach, low), min(alone + reach, high)), se, n - 1)

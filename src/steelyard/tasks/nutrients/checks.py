"""Checks of `nutrients`: units, energy against macronutrients, mass, portions, and columns in the wrong place."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations

import numpy as np

from steelyard.checks.check import FEW, CheckData, Checks, Problem, Test, some_rows
from steelyard.checks.ids import with_ids
from steelyard.checks.numbers import constant, copies, negative, rows_shifted, unit_of_weight
from steelyard.core.records import Array, Records, median
from steelyard.tasks.nutrients.data import IN_GRAMS, IN_KILOCALORIES, KILOJOULES, OWN, TARGETS

CHECKS = with_ids(Checks())
KCAL_PER_GRAM = {"protein": 4.0, "carbohydrate": 4.0, "fat": 9.0, "alcohol": 7.0}
NEEDED = ("energy", "protein", "carbohydrate", "fat")  # of which energy is checked
TOLERANCE = 0.25  # of the energy: factors of single foods differ, and labels are rounded
LEAST = 25.0  # kcal that a small dish may be off
MANY = 0.1  # share of the rows from which a fault is systematic
DAY_ENERGY, DAY_MASS = 1500.0, 1500.0  # kcal and grams that half of all dishes do not have

# What names of columns say of their unit.
NAMED_UNITS = {
    "kJ": r"kj|kilojoules?|joules?",
    "oz": r"oz|ounces?",
    "lb": r"lbs?|pounds?",
    "kg": r"kg|kilograms?",
    "mg": r"mg|milligrams?",
    "ml": r"ml|millilit(?:er|re)s?|volume|litres?|liters?|fl_oz",
}


def common_targets(data: CheckData) -> list[str]:
    """The columns of the targets that both sides have."""
    if data.pairs is None:
        return []
    return [name if name in TARGETS else OWN + name for name in data.pairs.measured_in]


def amounts(data: CheckData, side: str) -> dict[str, Array]:
    """Grams and kilocalories of one side's targets, for the rows that are looked at."""
    if data.pairs is None:
        return {}
    records: Records = data.pairs.truth if side == "truth" else data.pairs.prediction
    rows = data.paired_rows[0 if side == "truth" else 1]
    result = {}
    for name, unit in data.pairs.measured_in.items():
        factor = (IN_KILOCALORIES if name == "energy" else IN_GRAMS).get(unit)
        if name in TARGETS and factor is not None:
            result[name] = records[name][rows] * factor
    return result


def places(data: CheckData, side: str, mask: Array, column: str) -> tuple[str, ...]:
    """Where some of the rows stand."""
    records = data.pairs.truth if side == "truth" else data.pairs.prediction
    return some_rows(records, data.paired_rows[0 if side == "truth" else 1][mask], column)


def of_each(test: Callable[[CheckData, str], Problem | None]) -> Test:
    """The first problem that a test has with one of the targets."""

    def looked(data: CheckData) -> Problem | None:
        return next(filter(None, (test(data, column) for column in common_targets(data))), None)

    return looked


def _shown(column: str) -> str:
    return column.removeprefix(OWN)


def log_distance(truth: Array, predicted: Array) -> Array:
    """Logarithms of the ratio of predicted to true amounts that are above 0."""
    use = (truth > 0) & (predicted > 0)
    return np.asarray(np.log(predicted[use] / truth[use]))


CHECKS.add(
    "unit-of-amount",
    "error",
    "kilograms, milligrams, ounces or pounds where the unit is another",
    "Give both sides in the same unit, or name it with the option target.",
)(of_each(lambda data, name: unit_of_weight(data, name, f"predictions of {_shown(name)}")))


@CHECKS.add(
    "kilojoules",
    "error",
    "kilojoules where kilocalories are expected, or the other way round",
    "Name the unit with the option target (energy=kJ), for one side: prediction.target=energy=kJ.",
)
def kilojoules(data: CheckData) -> Problem | None:
    """Energies that are 4.184 times those of the other side, or of the macronutrients."""
    truth, predicted = data.numbers("energy", "energy")
    distance = log_distance(truth, predicted)
    if len(distance) < FEW:
        return None
    middle, factor = median(distance), float(np.log(KILOJOULES))
    spread = median(np.abs(distance - middle))
    if abs(abs(middle) - factor) > 0.25 or spread > 0.5:
        return None
    which = "predictions" if middle > 0 else "truth"
    other = "truth" if middle > 0 else "predictions"
    return Problem(
        f"Half of the predicted energies are {np.exp(middle):.2g} times the true ones or more: the numbers of the "
        f"{which} look like kilojoules, and those of the {other} like kilocalories.",
        len(distance),
        len(truth),
        places(data, "prediction", np.arange(len(truth)), "energy"),
    )


@CHECKS.add(
    "unit-in-name",
    "warning",
    "a column whose name says another unit than the one it is read in: kJ, ounces, millilitres",
    "Name the unit with the option target, or convert the column. Millilitres are not grams.",
    side="truth",
)
def unit_in_name(data: CheckData) -> Problem | None:
    """Names of columns such as weight_oz, energy_kj or volume_ml, read as grams or kilocalories."""
    for records, side in ((data.truth, "truth"), (data.prediction, "prediction")):
        if records is None:
            continue
        named = (data.options.of("target", side) if data.options is not None else None) or {}
        for column, name in records.names.items():
            own = _shown(column)
            if own not in TARGETS and not column.startswith(OWN):
                continue
            unit = named.get(own) or (TARGETS[own][0] if own in TARGETS else "")
            for said, pattern in NAMED_UNITS.items():
                if said != unit and unit and re.search(rf"(?:^|[\W_])(?:{pattern})(?:$|[\W_])", name, re.IGNORECASE):
                    return Problem(
                        f"Column '{name}' of {records.source} is read as {own} in {unit}, and its name says {said}.",
                        len(records),
                        len(records),
                    )
    return None


@CHECKS.add(
    "energy-of-macronutrients",
    "warning",
    "energy that is not 4 protein + 4 carbohydrate + 9 fat (+ 7 alcohol): a wrong unit, or columns in the wrong place",
    "Look at the units and at the order of the columns.",
    side="truth",
)
def energy_of_macronutrients(data: CheckData) -> Problem | None:
    """Rows whose energy is more than a quarter off that of their macronutrients."""
    for side in ("truth", "prediction"):
        values = amounts(data, side)
        if not all(name in values for name in NEEDED):
            continue
        expected = sum(values[name] * kcal for name, kcal in KCAL_PER_GRAM.items() if name in values)
        energy = values["energy"]
        known = ~np.isnan(energy + expected)
        off = known & (np.abs(energy - expected) > np.maximum(TOLERANCE * np.maximum(energy, expected), LEAST))
        count = int(off.sum())
        if count < 3 or count <= MANY * known.sum():
            continue
        middle = median((energy / expected)[known & (expected > 0)])
        unit = " That is the factor of kilojoules." if abs(np.log(max(middle, 1e-9) / KILOJOULES)) < 0.15 else ""
        return Problem(
            f"The energy of the {_name(side)} is {middle:.2g} times that of the macronutrients in the middle.{unit}",
            count,
            int(known.sum()),
            places(data, side, off, "energy"),
        )
    return None


def _name(side: str) -> str:
    return "truth" if side == "truth" else "predictions"


@CHECKS.add(
    "mass-below-macronutrients",
    "error",
    "a dish that weighs less than its fat, carbohydrate, protein and alcohol together",
    "Is the mass in grams, and are the nutrients those of the portion?",
    side="truth",
)
def mass_below_macronutrients(data: CheckData) -> Problem | None:
    """Rows whose macronutrients weigh more than the dish."""
    for side in ("truth", "prediction"):
        values = amounts(data, side)
        parts = [values[name] for name in KCAL_PER_GRAM if name in values]
        if "mass" not in values or not parts:
            continue
        total = np.nansum(parts, axis=0)
        above = total > 1.02 * values["mass"] + 1
        count = int(above.sum())
        if not count:
            continue
        few = count <= max(2, 0.02 * len(total))
        return Problem(
            f"The macronutrients of the {_name(side)} weigh more than the whole dish.",
            count,
            len(total),
            places(data, side, above, "mass"),
            severity="warning" if few else "",
        )
    return None


@CHECKS.add(
    "per-100-grams",
    "error",
    "amounts per 100 g where those of the portion are expected",
    "Multiply by the mass of the portion and divide by 100.",
)
def per_100_grams(data: CheckData) -> Problem | None:
    """Predictions that fit the truth once they are multiplied by the true mass."""
    values = amounts(data, "truth")
    if "mass" not in values:
        return None
    mass = values["mass"]
    for column in common_targets(data):
        if column == "mass":
            continue
        truth, predicted = data.numbers(column, column)
        plain, portions = log_distance(truth, predicted), log_distance(truth, predicted * mass / 100)
        if min(len(plain), len(portions)) < FEW:
            continue
        far, near = (median(np.abs(distance)) for distance in (plain, portions))
        if far > 0.5 and near < far / 2.5 and near < 0.4:
            return Problem(
                f"Half of the predictions of {_shown(column)} are off by a factor of {np.exp(far):.2g} or more, and of "
                f"{np.exp(near):.2g} or more if they are per 100 g.",
                len(plain),
                len(truth),
                places(data, "prediction", np.arange(len(truth)), column),
            )
    return None


@CHECKS.add(
    "whole-days",
    "warning",
    "amounts of a whole day where those of a dish are expected",
    "Divide the day into dishes, or say in the report that the unit is a day.",
    side="truth",
)
def whole_days(data: CheckData) -> Problem | None:
    """Dishes of which half have the energy or the mass of a day."""
    for side in ("truth", "prediction"):
        values = amounts(data, side)
        for name, limit, unit in (("energy", DAY_ENERGY, "kcal"), ("mass", DAY_MASS, "g")):
            known = values.get(name, np.zeros(0))
            known = known[~np.isnan(known)]
            if len(known) >= FEW and (middle := median(known)) > limit:
                return Problem(
                    f"Half of the dishes of the {_name(side)} have {middle:,.0f} {unit} or more.",
                    int((known > limit).sum()),
                    len(known),
                )
    return None


@CHECKS.add(
    "targets-swapped",
    "error",
    "two targets in each other's column",
    "Look at the order and the names of the columns.",
)
def targets_swapped(data: CheckData) -> Problem | None:
    """Two targets that fit the truth far better once they are exchanged."""
    columns = common_targets(data)
    for one, other in combinations(columns, 2):
        (a, p), (b, q) = data.numbers(one, one), data.numbers(other, other)
        use = ~np.isnan(a) & ~np.isnan(b)
        if use.sum() < FEW:
            continue
        scale = float(np.mean(np.abs(a[use] - b[use])))
        plain = float(np.mean(np.abs(p[use] - a[use])) + np.mean(np.abs(q[use] - b[use])))
        swapped = float(np.mean(np.abs(q[use] - a[use])) + np.mean(np.abs(p[use] - b[use])))
        if swapped < plain / 2 and swapped < scale:
            return Problem(
                f"The predictions of {_shown(one)} fit {_shown(other)} and the other way round: exchanged, the errors "
                f"are {swapped / plain:.0%} of what they are.",
                int(use.sum()),
                len(use),
                places(data, "prediction", use, one),
            )
    return None


@CHECKS.add(
    "rows-shifted",
    "error",
    "each row has its neighbour's prediction",
    "Join predictions by id, not by their order.",
    quick=False,
)
def shifted(data: CheckData) -> Problem | None:
    """Whether predictions of the first target fit a neighbour's row."""
    columns = [column for column in common_targets(data) if not np.isnan(data.numbers(column, column)[0]).any()]
    return rows_shifted(data, columns[0]) if columns else None


CHECKS.add("constant", "warning", "all predictions are the same number", "Are these the model's answers?")(
    of_each(lambda data, name: constant(name, name)(data))
)
CHECKS.add("copies-of-truth", "warning", "predictions that are the truth itself", "Are these predictions of a model?")(
    of_each(lambda data, name: copies(name, name)(data))
)
CHECKS.add(
    "negative",
    "note",
    "amounts below 0 for more than 5 % of the rows",
    "Cut them off at 0 where they are meant to be 0.",
    quick=False,
)(of_each(lambda data, name: negative(data, name, f"amounts of {_shown(name)}")))


@CHECKS.add(
    "ingredients-and-mass",
    "note",
    "ingredients whose grams do not add up to the mass of the dish",
    "Are all ingredients listed, and in grams?",
    side="truth",
    quick=False,
)
def ingredients_and_mass(data: CheckData) -> Problem | None:
    """Lists with grams whose sum is more than a tenth off the mass."""
    if data.pairs is None or not data.pairs.has_ingredients or "mass" not in amounts(data, "truth"):
        return None
    for place, side in enumerate(("truth", "prediction")):
        rows = data.paired_rows[place]
        listed = data.pairs.listed[place]
        sums = np.array([sum(listed[row].values()) if listed[row] else np.nan for row in rows.tolist()])
        mass = amounts(data, side)["mass"]
        known = ~np.isnan(sums) & ~np.isnan(mass)
        off = known & (np.abs(sums - mass) > 0.1 * mass + 1)
        if off.sum() >= 3 and off.sum() > 0.2 * known.sum():
            return Problem(
                f"The ingredients of the {_name(side)} do not add up to the mass.",
                int(off.sum()),
                int(known.sum()),
                places(data, side, off, "mass"),
            )
    return None

"""Task `nutrients`: the data, from what was read to rows with several targets.

Conventions
    A row is a dish, or an item of a dish where both sides have the column `item`. The unit is the dish.
    Targets: `mass`, `energy`, `fat`, `carbohydrate`, `protein`, `fibre`, `sugar`, `salt`, `alcohol`, and the columns
    that the option `target` names, which records keep as `target:NAME`. A target is scored where both sides have it.
    An empty cell of the truth leaves the row out of that target. A row of predictions with an empty cell is a missing
    prediction; one that the policy keeps counts as 0 of everything.
    Units: grams and kilocalories, unless the option says otherwise. Predictions are converted to the truth's unit.
    `ingredients` is a list of names, each with its grams if they are known: `rice=120|beans=80`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property

import numpy as np

from steelyard.align.join import join_rows
from steelyard.core.errors import Incompatible, InvalidValue, MissingColumn, OutOfRange
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import LARGEST, Column, Records, Schema, weight_column
from steelyard.core.task import Policy

# The targets that every table may have: their units, and what else files call them.
TARGETS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "mass": ("g", ("total_mass", "weight", "total_weight", "total_food_weight", "grams")),
    "energy": ("kcal", ("calories", "total_calories", "calorie", "kcal", "energy_kcal")),
    "fat": ("g", ("total_fat", "fats", "total_fats")),
    "carbohydrate": (
        "g",
        ("carb", "carbs", "total_carb", "total_carbs", "carbohydrates", "total_carbohydrate", "total_carbohydrates"),
    ),
    "protein": ("g", ("total_protein", "proteins", "total_proteins")),
    "fibre": ("g", ("fiber", "total_fiber", "dietary_fiber")),
    "sugar": ("g", ("sugars", "total_sugar", "total_sugars")),
    "salt": ("g", ("total_salt",)),
    "alcohol": ("g", ("ethanol",)),
}
OWN = "target:"  # how records call a column that the option `target` names
MEAN = "mean"

# What one unit is in grams or in kilocalories.
KILOJOULES = 4.184  # in a kilocalorie
IN_GRAMS = {"g": 1.0, "mg": 1e-3, "µg": 1e-6, "ug": 1e-6, "mcg": 1e-6, "kg": 1e3, "oz": 28.349523125, "lb": 453.59237}
IN_KILOCALORIES = {"kcal": 1.0, "kJ": 1 / KILOJOULES}


def _targets(predicted: bool) -> tuple[Column, ...]:
    low = -LARGEST if predicted else 0
    columns = []
    for name, (unit, aliases) in TARGETS.items():
        beside = f"predicted_{name}" if predicted else ""
        meaning = f"{'predicted ' if predicted else ''}{name}, {unit} unless the option target says otherwise"
        columns.append(Column(name, "number", False, low, LARGEST, True, meaning, aliases=aliases, beside=beside))
    beside = "predicted_target" if predicted else ""
    meaning = "a column that the option target names"
    columns.append(Column("target", "number", False, low, LARGEST, True, meaning, "number", beside=beside))
    return tuple(columns)


TRUTH = Schema(
    key=("dish", "item"),
    columns=(
        Column("dish", "id", aliases=("dish_id", "meal", "image"), meaning="the dish, which is the unit"),
        Column("item", "id", required=False, meaning="the food item inside the dish"),
        *_targets(predicted=False),
        Column("ingredients", "labels", required=False, meaning="names, or name=grams, with | between them"),
        weight_column("dish"),
    ),
)
PREDICTION = Schema(
    key=("dish", "item"),
    columns=(
        Column("dish", "id", aliases=("dish_id", "meal", "image"), meaning="as in the truth"),
        Column("item", "id", required=False, meaning="as in the truth"),
        *_targets(predicted=True),
        Column("ingredients", "labels", required=False, meaning="as in the truth", beside="predicted_ingredients"),
    ),
)
FORMATS = ("auto", "table", "nutrition5k")
OPTIONS = (
    Option(
        "target",
        "pairs",
        "A target with its unit: a column of your own (vitamin_c=mg), or another unit (energy=kJ). May be repeated.",
        metavar="NAME=UNIT",
        reads=True,
    ),
    Option(
        "format",
        "choice",
        "Format of the files: a table with names of columns, or Nutrition5k's CSV without.",
        default="auto",
        choices=FORMATS,
        reads=True,
    ),
    Option(
        "synonyms",
        "path",
        "A table with the columns name and same_as: ingredients that count as the same.",
        sides=False,
        metavar="FILE",
        reads=True,
    ),
)


class NutrientPairs(Pairs):
    """Rows with their targets. `measured_in` is the unit of each target that both sides have, in their order."""

    measured_in: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def metadata(self) -> Metadata:
        """The targets, their units, and whether ingredients are listed, and with grams."""
        units = ",".join(f"{name}={unit}" for name, unit in self.measured_in.items())
        holds = set()
        if self.has_ingredients:
            holds.add("ingredients")
            if all(np.isfinite(grams) for side in self.listed for row in side for grams in row.values()):
                holds.add("ingredient masses")
        return Metadata({"target": Axis(tuple(self.measured_in))}, {"units": units}, frozenset(holds))

    @property
    def has_ingredients(self) -> bool:
        """Whether both sides list ingredients."""
        return "ingredients" in self.truth and "ingredients" in self.prediction

    def both(self, target: str) -> tuple[Array, Array]:
        """True and predicted amounts of a target, row by row. The truth is nan where it is not known."""
        name = target if target in TARGETS else OWN + target
        truth = self.truth_column(name)
        return truth, self.prediction_column(name, missing=0.0)

    def target_rows(self, target: str, scaled: str = "") -> tuple[Array, Array, Array]:
        """True and predicted amounts of the rows whose truth is known, and the unit of each.

        Scaled by mass, a prediction is times the true by the predicted mass; a row without a positive predicted mass,
        or whose true mass is not known, is left out.
        """
        truth, predicted = self.both(target)
        use = ~np.isnan(truth)
        if scaled:
            true_mass, mass = self.both(scaled)
            use &= ~np.isnan(true_mass) & (mass > 0)
            predicted = predicted * np.divide(true_mass, mass, out=np.zeros(len(mass)), where=use)
        return truth[use], predicted[use], self.owner[use]

    @cached_property
    def listed(self) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
        """The ingredients of both sides with their grams, by row of the records."""
        return ingredients_of(self.truth), ingredients_of(self.prediction)


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> NutrientPairs:
    """Join rows by dish and item, and bring predictions to the units of the truth."""
    units = [units_of(options, side) for side in ("truth", "prediction")]
    names = [[_shown(name) for name in side.columns if _is_target(name)] for side in (truth, prediction)]
    ordered = [name for name in TARGETS if name in names[0]] + [name for name in names[0] if name not in TARGETS]
    common = [name for name in ordered if name in names[1]]
    if not common and not ("ingredients" in truth and "ingredients" in prediction):
        has = [", ".join(one) or "none" for one in names]
        raise MissingColumn(
            f"truth and predictions have no target in common: the truth has {has[0]}, the predictions have {has[1]}",
            where=prediction.source,
            remedy=f"Known targets: {', '.join(TARGETS)}. Name your own column with the option `target=NAME=UNIT`.",
        )
    factors = {name: factor_between(name, units[1].get(name, ""), units[0].get(name, "")) for name in common}
    columns = dict(prediction.columns)
    for name, factor in factors.items():
        if factor != 1.0:
            columns[_column(name)] = columns[_column(name)] * factor
    pairs = join_rows(truth, replace(prediction, columns=columns), TRUTH.key, policy, weight="sample_weight")
    own = {name: getattr(pairs, name) for name in Pairs.__annotations__}
    return NutrientPairs(**own, measured_in={name: units[0].get(name, "") for name in common})


def _is_target(name: str) -> bool:
    return name in TARGETS or name.startswith(OWN)


def _shown(name: str) -> str:
    return name.removeprefix(OWN)


def _column(name: str) -> str:
    return name if name in TARGETS else OWN + name


def units_of(options: Options, side: str) -> dict[str, str]:
    """The unit of every target that has one: its own, or what the option says."""
    return {name: unit for name, (unit, _) in TARGETS.items()} | (options.of("target", side) or {})


def factor_between(name: str, unit: str, other: str) -> float:
    """What a number in one unit is multiplied by to be in another."""
    if unit == other:
        return 1.0
    for known in (IN_GRAMS, IN_KILOCALORIES):
        if unit in known and other in known:
            return known[unit] / known[other]
    raise Incompatible(
        f"{name} is in '{unit}' in the predictions and in '{other}' in the truth, which cannot be converted",
        remedy=f"Units that can: {', '.join(IN_GRAMS)}; {', '.join(IN_KILOCALORIES)}.",
    )


def ingredients_of(records: Records) -> list[dict[str, float]]:
    """The listed ingredients of each row with their grams: nan where a name has none. Names in lower case."""
    rows = []
    for row, parts in enumerate(records["ingredients"].tolist()):
        grams: dict[str, float] = {}
        for part in parts:
            if "|" in part:  # a text is divided there; in a list it is the text of several
                raise InvalidValue(
                    f"'{part[:40]}' names several ingredients",
                    where=records.where(row, "ingredients"),
                    remedy="Give a list with one ingredient per entry, or one text with | between them.",
                )
            name, equals, amount = part.rpartition("=") if "=" in part else (part, "", "")
            name = " ".join(name.split()).casefold()
            if not name:
                raise InvalidValue(
                    f"'{part}' has no name",
                    where=records.where(row, "ingredients"),
                    remedy="Write name, or name=grams.",
                )
            grams[name] = grams.get(name, 0.0) + (_grams(amount, records, row) if equals else np.nan)
        rows.append(grams)
    return rows


def _grams(text: str, records: Records, row: int) -> float:
    try:
        grams = float(text) if text.isascii() and "_" not in text else np.nan
    except ValueError:
        grams = np.nan
    if not 0 <= grams <= LARGEST:
        raise OutOfRange(
            f"'{text.strip()[:40]}' is not a mass in grams",
            where=records.where(row, "ingredients"),
            remedy="Write name=grams with a number from 0 up, or the name alone.",
        )
    return grams

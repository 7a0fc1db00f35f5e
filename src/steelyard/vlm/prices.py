"""What tokens and pictures cost: a table that the user gives. None is shipped: prices change, and differ by contract.

models:
  some-model: {input: 2.5, cached: 0.25, output: 10, image: 0, per: 1000000, currency: USD}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from steelyard.core.errors import Conflict, EmptyInput, InvalidValue, MissingKey, OutOfRange, UnknownName, nearest
from steelyard.core.frozen import Frozen
from steelyard.vlm.question_file import read_file

AMOUNTS = ("input", "output", "cached", "image", "per")
KEYS = (*AMOUNTS, "currency", "as_of")
EXAMPLE = "Example: models: {some-model: {input: 2.5, output: 10, per: 1000000, currency: USD}}."


class Price(Frozen):
    """What a model costs: for `per` tokens that go in, that it had already and that come out, and for one picture."""

    input: float
    output: float
    cached: float
    image: float = 0.0
    per: float = 1e6

    @property
    def free(self) -> bool:
        """Whether nothing costs anything."""
        return not (self.input or self.output or self.cached or self.image)

    def cost(self, input: int = 0, cached: int = 0, output: int = 0, images: int = 0) -> float:
        """What so many tokens and pictures cost; `cached` is a part of `input`."""
        tokens = (input - cached) * self.input + cached * self.cached + output * self.output
        return tokens / self.per + images * self.image


class Prices(Frozen):
    """A table of prices in one currency, by the model's name or its whole spec."""

    source: str
    models: Mapping[str, Price]
    currency: str

    def of(self, model: str, label: str = "") -> Price:
        """The price of a model; `model` is its spec, `label` the name in it."""
        for name in (model, label):
            if name in self.models:
                return self.models[name]
        asked = label or model
        free = "A model that costs nothing has input: 0 and output: 0."
        raise UnknownName(
            f"there is no price of the model '{asked}'",
            where=self.source,
            remedy=f"{nearest(asked, self.models)} {free}",
        )


def read_prices(path: str | PathLike[str]) -> Prices:
    """Read a table of prices: YAML, TOML or JSON."""
    where = str(path)
    data = read_file(Path(path), "prices", "Begin it with 'models:'.")
    unknown = next((name for name in data if name != "models"), None)
    if unknown is not None:
        raise UnknownName(f"'{unknown}' is not known", where=where, remedy=nearest(unknown, ["models"]))
    models = data.get("models")
    if not isinstance(models, dict) or not models:
        raise EmptyInput("holds no prices", where=where, remedy=EXAMPLE)
    prices, currencies = {}, {}
    for name, entry in models.items():
        prices[name], currencies[name] = _price(name, entry, where)
    first = next(iter(currencies))
    other = next((name for name in currencies if currencies[name] != currencies[first]), None)
    if other is not None:
        raise Conflict(
            f"'{first}' is priced in {currencies[first]} and '{other}' in {currencies[other]}",
            where=where,
            remedy="Give all prices in one currency.",
        )
    return Prices(where, prices, currencies[first])


def _price(name: str, entry: Any, where: str) -> tuple[Price, str]:
    if not isinstance(entry, dict):
        raise InvalidValue(f"the price of '{name}' is {entry!r}", where=where, remedy=EXAMPLE)
    for key in entry:
        if key not in KEYS:
            raise UnknownName(f"the price of '{name}' has '{key}'", where=where, remedy=nearest(key, KEYS))
    for key in ("input", "output"):
        if key not in entry:
            raise MissingKey(f"the price of '{name}' has no '{key}'", where=where, remedy=EXAMPLE)
    amounts = {key: _amount(name, key, entry[key], where) for key in AMOUNTS if key in entry}
    amounts.setdefault("cached", amounts["input"])
    if amounts.get("per") == 0:
        raise OutOfRange(f"the price of '{name}' is for 0 tokens", where=where, remedy="Write per: 1000000.")
    currency = entry.get("currency", "USD")
    if not isinstance(currency, str) or not (currency.isprintable() and 0 < len(currency.strip()) <= 12):
        raise InvalidValue(f"the price of '{name}' is in {currency!r}", where=where, remedy="Write currency: USD.")
    return Price(**amounts), currency.strip()


def _amount(name: str, key: str, value: Any, where: str) -> float:
    try:
        amount = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        amount = math.nan
    if not 0 <= amount < math.inf:
        raise InvalidValue(f"the price of '{name}' has {key} {value!r}", where=where, remedy="Give a number from 0 up.")
    return amount

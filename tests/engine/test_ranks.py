"""Ranks of several models: sets of ranks that hold for all models together, in every form of a lineup."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.draws import unit_keys
from steelyard.engine.flips import Coins, Influence
from steelyard.engine.paired import MetricTraits
from steelyard.engine.ranks import standing
from steelyard.results.comparison import Lineup, Standing

jsonschema = lazy("jsonschema")

MAE = catalogue.parse("mae", "weights")
ACCURACY = catalogue.parse("accuracy", "labels")


def influences(scores: Any) -> list[Influence]:
    """The influences of each column's mean, under shared coins."""
    coins = Coins(unit_keys(np.arange(len(scores))), 0, 499)
    psi = scores - scores.mean(axis=0)
    sums = coins.sums(psi)
    return [Influence(coins, psi[:, k], sums[:, k]) for k in range(scores.shape[1])]


def test_ranks_by_hand() -> None:
    """Three models, lower is better, of 8 units. B lies 10 above A in every unit by about 1, C half a unit by turns.

    The gaps of about 10 are shown: of all 256 flips of eight gaps of one sign two are as extreme, .008. A gap that is
    as often positive as negative is not. So A and C may be first or second, and B is third.
    """
    turns = np.tile([-1.0, 1.0], 4)
    units = np.stack([5 + turns / 4, 15 - turns / 3, 5 - turns / 4 + 0.01], axis=1)
    standings = standing(MetricTraits.of(MAE), units.mean(axis=0).tolist(), influences(units), 0.95)
    assert standings == Standing("mae", ((1, 2), (3, 3), (1, 2)), 0.95, ("a", "b", "a"))
    assert standings.best == (0, 2)
    assert [standings.text(i) for i in range(3)] == ["1-2", "3", "1-2"]


def test_a_model_without_a_value_has_no_rank() -> None:
    rng = np.random.default_rng(0)
    values = [0.5, float("nan"), 0.9]
    each = influences(rng.normal([0.5, 0.0, 0.9], 0.1, (60, 3)))
    standings = standing(MetricTraits.of(ACCURACY), values, each, 0.95)
    assert standings is not None
    assert standings.ranks == ((2, 2), (0, 0), (1, 1))
    assert (standings.best, standings.text(1)) == ((2,), "–")
    assert standing(MetricTraits.of(ACCURACY), [0.5, float("nan")], each[:2], 0.95) is None
    assert standing(MetricTraits.of(catalogue.parse("best_threshold", "labels")), values, each, 0.95) is None


@pytest.mark.filterwarnings("error")
def test_a_model_with_an_infinite_value_may_have_any_rank() -> None:
    rng = np.random.default_rng(0)
    each = influences(rng.normal([0.5, 0.0, 0.9], 0.1, (60, 3)))
    standings = standing(MetricTraits.of(ACCURACY), [0.5, math.inf, 0.9], each, 0.95)
    assert standings is not None
    assert standings.ranks == ((2, 3), (1, 3), (1, 2))
    assert standings.letters == ("b", "ab", "a")


def test_equal_models_keep_all_ranks() -> None:
    """200 test sets of 100 units, 8 equal models: every one may have every rank in at least 93 % of them, by design;
    180 is what chance allows."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(200):
        errors = np.abs(rng.standard_t(5, (100, 8)) + rng.normal(0, 1, (100, 1)))
        standings = standing(MetricTraits.of(MAE), errors.mean(axis=0).tolist(), influences(errors), 0.95)
        held += standings.ranks == ((1, 8),) * 8
    assert held >= 180


def test_two_groups_are_told_apart_and_no_rank_is_lost() -> None:
    """Four models right in 75 % and four in 60 % of 500 units: the true ranks, 1 to 4 and 5 to 8, lie in their sets."""
    rng = np.random.default_rng(2)
    held, size = 0, 0.0
    for _ in range(80):
        hard = rng.normal(0, 1, (500, 1))
        right = (hard + rng.normal(0, 1, (500, 8)) < [0.954] * 4 + [0.358] * 4).astype(float)  # sqrt 2 times z
        standings = standing(MetricTraits.of(ACCURACY), right.mean(axis=0).tolist(), influences(right), 0.95)
        held += all(a <= 1 and b >= 4 for a, b in standings.ranks[:4]) and all(
            a <= 5 and b >= 8 for a, b in standings.ranks[4:]
        )
        size += np.mean([b - a + 1 for a, b in standings.ranks]) / 80
    assert held >= 72
    assert size < 5


def lineup(**settings: Any) -> Lineup:
    rng = np.random.default_rng(3)
    truth = rng.uniform(100, 400, 80)
    ids = np.arange(80)
    sides = [{"dish": ids, "weight": truth + rng.normal(0, spread, 80)} for spread in (20, 20, 2)]
    data = {"dish": ids, "weight": truth}
    return sy.compare("weights", data, [*sides, sides[0]], metrics=["mae", "bias", "r2"], draws=200, **settings)


def test_standings_of_a_lineup() -> None:
    """The third is far better; the fourth is the first again, and ties with it."""
    result = lineup()
    assert result.standings["mae"].best == (2,)
    assert result.standings["mae"].ranks[2] == (1, 1)
    assert result.standings["mae"].ranks[0] == result.standings["mae"].ranks[3] == (2, 4)
    assert set(result.standings) == {"mae", "bias", "r2"}
    two = sy.compare("weights", *_two(), metrics="mae", draws=100)
    assert two.standings == {}


def _two() -> tuple[Any, Any]:
    side = {"dish": [1, 2, 3], "weight": [1.0, 2.0, 3.0]}
    return side, [side, {**side, "weight": [1.0, 2.5, 3.0]}]


def test_ranks_stand_in_every_form() -> None:
    result = lineup()
    data = json.loads(result.to_json())
    jsonschema.validate(data, json.loads((files("steelyard") / "results" / "schema" / "result-2.json").read_text()))
    assert data["body"]["standings"]["mae"]["ranks"] == [[2, 4], [2, 4], [1, 1], [2, 4]]
    assert data["body"]["standings"]["mae"]["best"] == [2]
    assert sy.load(data) == result
    text = str(result)
    assert "weights: 80 dishes, 4 models" in text
    assert "mae: C;" in text.replace("\n  ", " ")
    assert "2-4" in text
    assert "C − A" in result.to_text(pairs=True)
    markdown = result.to_markdown()
    assert "`mae` ↓ | rank |" in markdown
    assert "| 2-4 b |" in markdown
    page = result.to_html()
    assert "rank 2-4, group b</small>" in page
    assert "not shown to be worse than the best" in page
    narrow = result.to_text(40)
    assert "more metrics: choose with -m" in narrow


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ranks": [[1, 5], [1, 1], [1, 1], [1, 1]]}, ("E-invalid-result", "result")),
        ({"ranks": [[2, 1], [1, 1], [1, 1], [1, 1]]}, ("E-invalid-result", "result")),
        ({"ranks": [[1, 1], [1, 1]]}, ("E-invalid-result", "2", "ranks", "4")),
        ({"spec": "rmse"}, ("E-invalid-result", "'mae'")),
        ({"ranks": [[1, "x"]]}, ("E-invalid-result", "0")),
    ],
)
def test_standings_that_no_run_gave(change: dict[str, Any], message: tuple[str, ...]) -> None:
    data = lineup().to_dict()
    data["body"]["standings"]["mae"] |= change
    with refuses(*message):
        sy.load(data)

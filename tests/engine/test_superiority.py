"""On how many units B is better than A: by hand, against scipy's binomial test, and what cannot have it."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from support.lazy import lazy

import steelyard as sy
from steelyard.cli.main import cli

scipy_stats = lazy("scipy.stats")


def compared(a: Any, b: Any, metrics: Any = "mae", **more: Any) -> Any:
    """Two models by their errors in dishes of 100 g."""
    ids = [f"d{k:03d}" for k in range(len(a))]
    truth = {"dish": ids, "weight": np.full(len(ids), 100.0), **more.pop("truth", {})}
    sides = [{"dish": ids, "weight": 100.0 + np.asarray(errors)} for errors in (a, b)]
    return sy.compare("weights", truth, *sides, metrics, superiority=True, **more)


def test_by_hand() -> None:
    """|errors|: B is nearer in 4, farther in 1 and as near in 1 of 6 dishes: 4.5 of 6. Of 2^5 signs 12 are as far."""
    of = compared([5, -5, 5, 5, 1, 3], [1, 2, -3, 4, 9, -3])["mae"].superiority
    assert (of.share, of.better, of.worse, of.ties, of.excluded) == (0.75, 4, 1, 1, 0)
    assert of.p == pytest.approx(12 / 32)
    assert of.interval[0] < 0.75 < of.interval[1]


def test_values_that_differ_by_rounding_are_equal() -> None:
    of = compared([0.1 + 0.2, 1.0, 1.0], [0.3, 2.0, 0.5])["mae"].superiority
    assert (of.better, of.worse, of.ties) == (1, 1, 1)


def test_all_units_agree() -> None:
    """12 of 12 are [0.735, 1], Clopper-Pearson's one end, and p is that of 12 heads or 12 tails."""
    of = compared(np.full(12, 5.0) + np.arange(12), np.arange(12) * 0.1)["mae"].superiority
    assert of.share == 1.0
    assert of.interval == pytest.approx((0.025 ** (1 / 12), 1.0))
    assert of.p == pytest.approx(2.0**-11)


def test_all_units_are_equal() -> None:
    of = compared([1.0, -2, 3, 4], [-1.0, 2, -3, -4])["mae"].superiority
    assert (of.share, of.p, of.ties) == (0.5, 1.0, 4)


@pytest.mark.parametrize("seed", range(8))
def test_p_is_the_binomial_test_of_units_that_are_not_equal(seed: int) -> None:
    """All worlds of 12 units: the sign test, exactly."""
    rng = np.random.default_rng(seed)
    of = compared(rng.integers(0, 4, 12), rng.integers(0, 3, 12))["mae"].superiority
    expected = scipy_stats.binomtest(of.better, of.better + of.worse).pvalue if of.better + of.worse else 1.0
    assert of.p == pytest.approx(expected)
    assert of.share == pytest.approx((of.better + of.ties / 2) / 12)


def test_many_units() -> None:
    """58 of 80 better: the binomial test says 7.0e-5; drawn worlds and the bound of the tail stay below 0.001."""
    a, b = np.full(80, 5.0), np.where(np.arange(80) < 58, 1.0, 9.0)
    of = compared(a, b)["mae"].superiority
    assert of.share == 58 / 80
    assert of.p < 0.001
    # The interval of a share on the logit: 0.725 with a standard error of 0.0499 is [0.617, 0.812] by Wald's on the logit.
    assert of.interval == pytest.approx((0.617, 0.812), abs=0.02)


@pytest.mark.parametrize(("spec", "better"), [("bias", 3), ("within@10", 1)], ids=["nearer to zero", "higher"])
def test_direction_of_metrics(spec: str, better: int) -> None:
    """Errors −20, 3, 3, −3 against 5, −1, 4, 0: nearer to zero in three; within 10 % where A is not in one."""
    of = compared([-20.0, 3, 3, -3], [5.0, -1, 4, 0], spec)[spec].superiority
    assert of.better == better


def test_weights_of_units() -> None:
    """The share is weighted: 3 of 4 by weight; counts are of units."""
    of = compared([5.0, 5], [1.0, 9], truth={"sample_weight": [3.0, 1.0]})["mae"].superiority
    assert (of.share, of.better, of.worse) == (0.75, 1, 1)


def test_clusters_are_resampling_units() -> None:
    rng = np.random.default_rng(1)
    a, b = np.full(60, 5.0), rng.choice([1.0, 9.0], 10, p=[0.8, 0.2]).repeat(6)
    alone = compared(a, b)["mae"].superiority
    grouped = compared(a, b, truth={"plate": np.arange(60) // 6}, cluster="plate")["mae"].superiority
    assert grouped.share == alone.share
    assert grouped.interval[1] - grouped.interval[0] > alone.interval[1] - alone.interval[0]
    assert grouped.p > alone.p
    assert grouped.p == pytest.approx(scipy_stats.binomtest(int(grouped.share * 10 + 0.5), 10).pvalue)


def test_units_without_a_value_are_left_out_and_counted() -> None:
    """Images without objects have no recall: three remain, B is better in two."""
    n = 5
    truth = {"image": ["a", "b", "c"], "label": ["x"] * 3, "images": list("abcde")}
    truth |= {"x": [0.0] * 3, "y": [0.0] * 3, "w": [10.0] * 3, "h": [10.0] * 3}
    rows = {name: truth[name] for name in ("image", "label", "x", "y", "w", "h")}
    first = {**{k: v[2:] for k, v in rows.items()}, "score": [0.9]}
    second = {**{k: v[:2] for k, v in rows.items()}, "score": [0.9, 0.9]}
    of = sy.compare("boxes", truth, first, second, "recall", superiority=True)["recall"].superiority
    assert (of.better, of.worse, of.ties, of.excluded) == (2, 1, 0, n - 3)
    assert of.share == pytest.approx(2 / 3)


def test_in_slices_and_lineups() -> None:
    rng = np.random.default_rng(2)
    ids = np.arange(40)
    truth = {"dish": ids, "weight": np.full(40, 100.0), "size": np.where(ids < 20, "small", "large")}
    models = {name: {"dish": ids, "weight": 100 + rng.normal(0, s, 40)} for name, s in (("a", 9), ("b", 5), ("c", 1))}
    lineup = sy.compare("weights", truth, models, metrics="mae", by=["size"], superiority=True)
    for one in lineup.comparisons:
        parts = [one.slices["size"][value]["mae"].superiority for value in ("small", "large")]
        assert np.mean([part.share for part in parts]) == pytest.approx(one["mae"].superiority.share)


def test_not_asked_for() -> None:
    ids = np.arange(4)
    side = {"dish": ids, "weight": [1.0, 2, 3, 4]}
    assert sy.compare("weights", side, side, side, "mae")["mae"].superiority is None


@pytest.mark.parametrize(
    ("metrics", "more", "message"),
    [
        ("r2", {}, "superiority of 'r2' is not defined: the metric has no value for a single dish"),
        ("mae", {"superiority": 1}, "superiority is 1"),
        ("mae", {"sequence": "approximate"}, "`superiority` cannot be combined with `sequence`"),
    ],
)
def test_refused(metrics: str, more: dict[str, Any], message: str) -> None:
    ids = np.arange(40)
    truth, first = {"dish": ids, "weight": np.arange(40) + 1.0}, {"dish": ids, "weight": np.arange(40) + 2.0}
    with pytest.raises(sy.InputError, match=message):
        sy.compare("weights", truth, first, first, metrics, **{"superiority": True, **more})


def test_a_metric_without_direction_is_refused() -> None:
    ids = [0, 1, 2]
    truth = {"id": ids, "label": [1, 0, 1]}
    predictions = {"id": ids, "score": [0.2, 0.5, 0.9]}
    with pytest.raises(sy.InputError, match="'best_threshold' is not defined: the metric has no better direction"):
        sy.compare("labels", truth, predictions, predictions, "best_threshold", superiority=True)


def test_default_metrics_without_it_are_named() -> None:
    made = compared([1.0, 2, 3, 5], [2.0, 1, 1, 1], None)
    assert "Superiority is not defined for 2 metrics: r2, pearson." in made.notes
    assert made["r2"].superiority is None


def written(folder: Path) -> list[str]:
    a, b = np.full(80, 5.0), np.where(np.arange(80) < 49, 1.0, 9.0)
    for name, errors in (("truth", np.zeros(80)), ("a", a), ("b", b)):
        rows = "".join(f"d{k},{100 + e}\n" for k, e in enumerate(errors))
        (folder / f"{name}.csv").write_text(f"dish,weight\n{rows}")
    return [str(folder / f"{name}.csv") for name in ("truth", "a", "b")]


def test_console_json_and_page(tmp_path: Path) -> None:
    files, page, stored = written(tmp_path), tmp_path / "page.html", tmp_path / "compared.json"
    command = ["compare", "weights", *files, "-m", "mae", "--superiority"]
    made = CliRunner().invoke(cli, [*command, "--html", str(page), "-o", str(stored)])
    assert made.exit_code == 0, made.output
    said = "mae: B is better than A on 61 % [50, 71] of 80 dishes (49 better, 31 worse, 0 equal; p ="
    assert said in " ".join(made.output.split())
    assert "mae: B is better than A on 61 % [50, 71] of 80 dishes" in page.read_text(encoding="utf-8")
    of = json.loads(stored.read_text(encoding="utf-8"))["body"]["differences"]["mae"]["superiority"]
    assert (of["share"], of["better"], of["worse"]) == (0.6125, 49, 31)
    read = sy.load(stored)
    assert read["mae"].superiority == sy.compare("weights", *files, "mae", superiority=True)["mae"].superiority


def test_stored_results_are_refused(tmp_path: Path) -> None:
    files = written(tmp_path)
    for name in ("a", "b"):
        sy.evaluate("weights", files[0], str(tmp_path / f"{name}.csv"), "mae").to_json(tmp_path / f"{name}.json")
    made = CliRunner().invoke(cli, ["compare", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "--superiority"])
    assert isinstance(made.exception, sy.InputError)
    assert "which stored results do not hold" in str(made.exception)


def test_one_unit_has_no_interval() -> None:
    of = compared([5.0], [1.0])["mae"].superiority
    assert (of.share, of.interval) == (1.0, None)
    assert math.isnan(of.p)


SETS = int(os.environ.get("STEELYARD_SETS", "60"))


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "share"), [(1.0, 0.5), (0.3, None)])
def test_level_and_coverage(scale: float, share: float | None) -> None:
    """Lognormal errors of 40 dishes: the share of intervals that hold the population's, and how often p is below 0.05.

    ln a - ln b is normal with variance 2, so B is better with chance Phi(-ln(scale) / sqrt 2).
    """
    share = float(scipy_stats.norm.cdf(-math.log(scale) / math.sqrt(2))) if share is None else share
    rng, held, rejected = np.random.default_rng(8), 0, 0
    for _ in range(SETS):
        of = compared(rng.lognormal(size=40), scale * rng.lognormal(size=40), draws=200)["mae"].superiority
        held, rejected = held + (of.interval[0] <= share <= of.interval[1]), rejected + (of.p <= 0.05)
    assert held >= scipy_stats.binom.ppf(0.001, SETS, 0.945)
    if scale == 1:
        assert rejected <= scipy_stats.binom.ppf(0.999, SETS, 0.055)
    else:
        assert rejected >= 0.85 * SETS

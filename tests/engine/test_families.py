"""p-values of families: max-T, Holm, the false discovery rate and the tail bound; margins; planning."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy
from steelyard.api import measure
from steelyard.core.plan import POINT
from steelyard.engine.families import false_discovery, max_t
from steelyard.engine.flips import tail_bound
from steelyard.engine.margins import margin_verdict
from steelyard.engine.planning import Pilot, cautious_se, min_detectable, reach_with, smallest_shown, units_for
from steelyard.gating.plan import plan
from steelyard.render.page.plan import plan_figures
from steelyard.render.plan import plan_text

scipy_stats = lazy("scipy.stats")


def dishes(truth: Any, predicted: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    ids = np.arange(len(truth))
    return {"dish": ids, "weight": truth}, {"dish": ids, "weight": predicted}


def test_max_t_by_hand() -> None:
    """Four worlds, three metrics, spreads 1. Largest first: 3, then 2, then 1; by hand from the definition."""
    worlds = [np.float32([0.5, 3.5, 1.0, 0.2]), np.float32([2.5, 0.1, 1.0, 0.3]), np.float32([1.5, 0.5, 0.5, 1.2])]
    # max over all: 2.5 3.5 1.0 1.2 -> one is as large as 3; over the last two: 2.5 .5 1 1.2 -> one of 2; last: two of 1
    assert max_t([3.0, 2.0, 1.0], worlds, [1.0, 1.0, 1.0]) == [2 / 5, 2 / 5, 3 / 5]
    assert max_t([1.0, 3.0, 2.0], [worlds[2], worlds[0], worlds[1]], [1.0] * 3) == [3 / 5, 2 / 5, 2 / 5]


def test_false_discovery_is_scipys() -> None:
    p = [0.001, 0.03, 0.04, 0.2, 0.9, 0.0004]
    assert false_discovery(p) == pytest.approx(scipy_stats.false_discovery_control(p).tolist())
    assert math.isnan(false_discovery([0.5, math.nan])[1])


def test_the_tail_bound_is_never_below_the_exact_p() -> None:
    """All 2 ** 20 sign flips of 40 vectors, where fewer than 10 of 999 worlds would be as extreme.

    Turning all signs leaves the size of a sum as it is, so the first sign may stay.
    """
    rng = np.random.default_rng(1)
    seen = 0
    for k in range(40):
        x = rng.standard_t(3, 20) if k % 2 else rng.lognormal(0, 1, 20)
        sums = x[:1]
        for one in x[1:]:
            sums = np.concatenate([sums + one, sums - one])
        sums = np.abs(sums)
        assert len(sums) == 2**19
        places = [int(share * (len(sums) - 1)) for share in (0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99999, 1.0)]
        for size in np.partition(sums, places)[places]:
            exact = np.count_nonzero(sums >= size * (1 - 1e-12)) / len(sums)
            assert tail_bound(size / math.sqrt((x**2).sum())) >= exact
            seen += 1
    assert seen == 280


def test_what_is_glaring_has_no_floor() -> None:
    """100 dishes, all of which B weighs 10 times better: p is far below 1 / 1001, and holds in any family."""
    rng = np.random.default_rng(2)
    truth = rng.uniform(100, 500, 100)
    data, a = dishes(truth, truth + rng.normal(0, 50, 100))
    b = {**a, "weight": truth + rng.normal(0, 5, 100)}
    comparison = sy.compare("weights", data, a, b, ["mae", "rmse"], adjust="holm")
    assert comparison["mae"].p < 1e-6
    assert comparison["mae"].p_method == "tail bound"
    assert (comparison["mae"].family, comparison["mae"].adjust, comparison["mae"].verdict) == (2, "holm", "better")


def test_many_models_and_slices_still_have_verdicts() -> None:
    """8 other models and 60 slices: what is glaring is shown; under max-T the smallest p is that of the draws."""
    rng = np.random.default_rng(3)
    truth = rng.uniform(100, 500, 1800)
    data, first = dishes(truth, truth + rng.normal(0, 47, 1800))
    data["part"] = np.repeat(np.arange(60), 30)
    others = [{**first, "weight": truth + rng.normal(0, spread, 1800)} for spread in (2.4, *[47.0] * 7)]
    lineup = sy.compare("weights", data, [first, *others], metrics="mae", by=["part"], draws=499)
    assert lineup[0]["mae"].verdict == "better"
    assert lineup[0]["mae"].p_adjusted == 1 / 500
    assert lineup[0]["mae"].family == 8
    shown = [slices["mae"] for slices in lineup[0].slices["part"].values()]
    assert shown[0].family == 8 * 60
    assert sum(d.verdict == "better" for d in shown) >= 50


def test_too_few_units_are_said() -> None:
    """Four dishes have eight worlds that differ in size, so one in eight is the most extreme: nothing can be shown."""
    data, a = dishes(np.full(4, 100.0), np.array([110.0, 120.0, 130.0, 140.0]))
    comparison = sy.compare("weights", data, a, {**a, "weight": np.full(4, 101.0)}, "mae", draws=4000)
    assert comparison["mae"].verdict == "cannot be shown"
    assert "too few units to test" in comparison.to_markdown()
    assert "cannot be shown" in comparison.to_json()
    assert comparison["mae"].smallest_p == 1 / 8
    assert "With 4 dishes no difference can be shown, whatever the truth" in str(comparison).replace("\n  ", " ")


def test_a_family_of_nothing_keeps_its_level() -> None:
    """Pairs of equal models, 6 metrics: in about 5 % any is shown; the exact binomial 99.9 % range."""
    rng = np.random.default_rng(4)
    false, pairs = 0, int(os.environ.get("STEELYARD_SETS", "40"))
    for k in range(pairs):
        truth = np.full(40, 300.0)
        data, a = dishes(truth, truth + rng.normal(0, 20, 40))
        b = {**a, "weight": truth + rng.normal(0, 20, 40)}
        metrics = ["mae", "rmse", "within@10", "within@5", "mape", "wmae_total"]
        comparison = sy.compare("weights", data, a, b, metrics, draws=199, seed=k)
        false += any(d.verdict in ("better", "worse") for d in comparison.differences.values())
    assert false <= scipy_stats.binom.ppf(0.9995, pairs, 0.05)


def test_flagged_is_no_verdict() -> None:
    rng = np.random.default_rng(5)
    truth = np.full(60, 300.0)
    data, a = dishes(truth, truth + rng.normal(0, 30, 60))
    b = {**a, "weight": truth + rng.normal(0, 10, 60)}
    assert sy.compare("weights", data, a, b, "mae", adjust="fdr")["mae"].verdict == "flagged"
    assert sy.compare("weights", data, a, b, "mae", adjust="none")["mae"].verdict == "better"
    with refuses("E-invalid-setting", "'bonferroni'"):
        sy.compare("weights", data, a, b, "mae", adjust="bonferroni")


@pytest.mark.parametrize(
    ("gain", "expected"),
    [
        ((-0.5, 0.5), "equivalent"),
        ((-0.5, 1.5), "not worse"),
        ((0.5, 1.5), "not worse"),
        ((-3.0, -1.2), "worse beyond margin"),
        ((-1.5, -0.5), "undecided"),
        ((-2.0, 2.0), "undecided"),
        ((-1.0, 0.5), "undecided"),
    ],
)
def test_margin_verdicts(gain: tuple[float, float], expected: str) -> None:
    """At a margin of 1: from where the interval of the gain lies."""
    low, high = gain
    assert margin_verdict((low + 1, high + 1), (low - 1, high - 1)) == expected


def test_margins_of_a_comparison() -> None:
    """The margin is held against the shown interval, turned so that a gain is better."""
    rng = np.random.default_rng(6)
    truth = rng.uniform(100, 400, 300)
    data, a = dishes(truth, truth + rng.normal(0, 20, 300))
    b = {**a, "weight": truth + rng.normal(0, 20.5, 300)}
    d = sy.compare("weights", data, a, b, ["mae", "r2"], margin={"mae": 4, "r2": 0.0001})
    low, high = d["mae"].interval
    assert max(high, -low) < 4
    assert d["mae"].margin_verdict == "equivalent"
    assert (d["mae"].margin, d["mae"].margin_level) == (4.0, pytest.approx(0.025))
    assert d["r2"].margin_verdict == "undecided"
    share = sy.compare("weights", data, a, b, "mae", margin={"mae": "25%"})["mae"]
    assert share.margin == pytest.approx(0.25 * share.a.value)
    assert (share.margin_relative, share.margin_verdict) == (0.25, "equivalent")
    worse = sy.compare("weights", data, a, {**a, "weight": truth + 60}, "mae", margin={"mae": 5})
    assert worse["mae"].margin_verdict == "worse beyond margin"
    assert "worse by more than 5.0 g" in str(worse).replace("\n  ", " ")


@pytest.mark.parametrize(
    ("margin", "message"),
    [
        ({"mae": -1}, ("E-out-of-range", "'mae'", "0", "margin")),
        ({"mae": 0}, ("E-out-of-range", "0")),
        ({"mae": "2 %%"}, ("E-invalid-setting", "'mae'", "'2 %%'")),
        ({"mae": "nan"}, ("E-invalid-setting", "'mae'", "'nan'")),
        ({"rmse": 1}, ("E-unknown-name", "'rmse'")),
        ([1], ("E-invalid-setting", "margins")),
    ],
)
def test_margins_that_are_none(margin: Any, message: tuple[str, ...]) -> None:
    data, a = dishes(np.full(4, 100.0), np.full(4, 101.0))
    with refuses(*message):
        sy.compare("weights", data, a, a, "mae", margin=margin)


def test_planning_by_hand() -> None:
    """A standard error of 2 from 100 units: t(50) is 2.0086, z of 80 % is .8416, so 5.70 is shown."""
    pilot = Pilot("mae", 2.0, 50.0, 100)
    reach = scipy_stats.t.ppf(0.975, 50) + scipy_stats.norm.ppf(0.8)
    assert min_detectable(2.0, 50.0, 0.95) == pytest.approx(reach * 2)
    careful = 2 * math.sqrt(50 / scipy_stats.chi2.ppf(0.2, 50))
    assert cautious_se(pilot) == pytest.approx(careful)
    assert smallest_shown(pilot, 400, 0.95, 0.8) == pytest.approx((reach * 1, reach * careful / 2))
    planned = units_for(pilot, 1.0, 0.95, 0.8)
    assert planned.units == math.ceil(100 * (reach * 2) ** 2)
    assert planned.cautious == math.ceil(100 * (reach * careful) ** 2)
    assert math.isnan(min_detectable(0.0, 50.0, 0.95))


def test_a_planned_number_of_units_has_its_power() -> None:
    """From a pilot of 100 dishes: planned units show the difference in about 80 % of test sets, by simulation."""
    rng = np.random.default_rng(7)

    def compared(n: int, seed: int) -> Any:
        truth = np.full(n, 500.0)
        data, a = dishes(truth, truth + rng.normal(0, 20, n))
        return sy.compare(
            "weights", data, a, {**a, "weight": truth + rng.normal(0, 17, n)}, "mae", draws=199, seed=seed
        )

    target = (20 - 17) * math.sqrt(2 / math.pi)
    pilots = [compared(100, k)["mae"] for k in range(41)]
    needed = [units_for(Pilot("mae", d.se, d.df, 100), target, 0.95, 0.8).units for d in pilots]
    n = int(np.median(needed))
    shown = sum(compared(n, k)["mae"].verdict == "better" for k in range(120))
    assert 0.66 <= shown / 120 <= 0.92


def compared(tmp_path: Path, units: int = 80) -> Path:
    rng = np.random.default_rng(8)
    truth = rng.uniform(100, 400, units)
    data, a = dishes(truth, truth + rng.normal(0, 20, units))
    comparison = sy.compare("weights", data, a, {**a, "weight": truth + rng.normal(0, 18, units)}, ["mae", "r2"])
    comparison.to_json(tmp_path / "pilot.json")
    return tmp_path / "pilot.json"


def test_a_plan_from_a_comparison(tmp_path: Path) -> None:
    """The plan's numbers are those of the formulas, from the standard error that the comparison holds."""
    path = compared(tmp_path)
    d = sy.load(path)["mae"]
    planned = plan(path, targets={"mae": 1.0})
    one = next(metric for metric in planned.metrics if metric.spec == "mae")
    reach = scipy_stats.t.ppf(0.975, d.df) + scipy_stats.norm.ppf(0.8)
    assert one.needed.units == math.ceil(80 * (reach * d.se) ** 2)
    assert one.curve[2][:2] == (160, pytest.approx(reach * d.se / math.sqrt(2)))
    assert d.min_detectable == pytest.approx(reach * d.se)
    text = plan_text(planned).replace("\n  ", " ")
    numbers = one.needed
    assert f"mae of 1 g: {numbers.units:,} units from this pilot; plan for {numbers.cautious:,}" in text
    assert f"10–90 % of such pilots say {numbers.low:,} to {numbers.high:,}." in text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"targets": {"map": 1.0}}, ("E-missing-data", "'map'")),
        ({"targets": {"mae": -1.0}}, ("E-out-of-range", "'mae'")),
        ({"power": 1.5}, ("E-out-of-range", "power", "1.5")),
        ({"baseline": "x.json"}, ("E-conflict", "baseline")),
        ({"width": {"map": 1.0}}, ("E-missing-data", "'map'")),
        ({"width": 0.0}, ("E-out-of-range", "'mae'", "0", "width")),
        ({"family": 0}, ("E-out-of-range", "family", "0")),
        ({"family": True}, ("E-out-of-range", "family")),
        ({"slice": "fog"}, ("E-invalid-setting", "'fog'", "slice")),
        ({"slice": "weather=fog"}, ("E-missing-data", "'weather'")),
        ({"cluster": "video"}, ("E-missing-data", "'video'")),
        ({"runs": [1]}, ("E-out-of-range", "1", "runs")),
        ({"runs": [3]}, ("E-missing-data", "runs")),
        ({"labels": True}, ("E-missing-data", "pilot.json")),
    ],
)
def test_plans_that_are_none(given: dict[str, Any], message: tuple[str, ...], tmp_path: Path) -> None:
    with refuses(*message):
        plan(compared(tmp_path), **given)


def test_plans_for_families_slices_and_widths(tmp_path: Path) -> None:
    """By hand from the numbers of the comparison, in the API and on the console."""
    rng = np.random.default_rng(8)
    truth = rng.uniform(100, 400, 80)
    data, a = dishes(truth, truth + rng.normal(0, 20, 80))
    data |= {"weather": np.where(np.arange(80) % 4 == 0, "fog", "sun")}
    b = {**a, "weight": truth + rng.normal(0, 18, 80)}
    pilot = sy.compare("weights", data, a, b, ["mae", "wape"], by=["weather"], draws=200)
    d, z = pilot["mae"], scipy_stats.norm.ppf(0.8)
    reach = scipy_stats.t.ppf(1 - 0.05 / 24, d.df) + z
    family = sy.plan(pilot, targets={"mae": 2.0}, family=12)
    assert family.metrics[0].needed.units == math.ceil(80 * (reach * d.se / 2) ** 2)
    assert (family.family_method, family.level) == ("Bonferroni", pytest.approx(0.05 / 12))
    assert "12 tests together by Bonferroni: 0.42 % each" in " ".join(str(family).split())
    width = sy.plan(pilot, width={"mae": 2.0}).metrics[0]
    assert width.needed_for_width.units == math.ceil(80 * ((d.interval[1] - d.interval[0]) / 2) ** 2)
    fog = pilot.slices["weather"]["fog"]["mae"]
    part = sy.plan(pilot, targets={"mae": 2.0}, slice="weather=fog")
    needed = part.metrics[0].needed.units
    assert needed == math.ceil(20 * ((scipy_stats.t.ppf(0.975, fog.df) + z) * fog.se / 2) ** 2)
    assert (part.units, part.share) == (20, 0.25)
    assert f"In all, {4 * needed:,} units" in " ".join(str(part).split())
    # mae and wape are nearly one: with influences max-T asks for fewer units than Bonferroni's method.
    kept = sy.compare("weights", data, a, b, ["mae", "wape"], draws=200, save_influences=True)
    by_max_t = sy.plan(sy.load(kept.to_dict()), targets={"mae": 2.0}, family=2)
    assert by_max_t.family_method == "max-T"
    assert 0.03 < by_max_t.level < 0.0501
    assert by_max_t.metrics[0].needed.units < sy.plan(pilot, targets={"mae": 2.0}, family=2).metrics[0].needed.units


def test_plans_from_several_runs() -> None:
    """What seeds make does not shrink with units: the curve has V(n', R), and the table V(n', R')."""
    rng = np.random.default_rng(9)
    ids = np.arange(80)
    truth = {"id": ids, "label": np.ones(80, int)}
    runs = [{"id": ids, "label": (rng.random(80) < right).astype(int)} for right in (0.6, 0.7, 0.8, 0.75)]
    report = sy.evaluate("labels", truth, runs, "accuracy", runs="seeds", draws=100)
    spread = report["accuracy"].runs
    planned = sy.plan(report, width=0.1, runs=[3, 8]).metrics[0]
    widths = [reach_with(spread, times, 4, 0.95, None) for times in (0.5, 1, 2, 4, 8, 16)]
    assert [shown for _, shown, _ in planned.curve] == pytest.approx(widths)
    assert (planned.table.rows, planned.table.columns) == ((40, 80, 160, 320), (3, 8))
    assert planned.table.cells[2][1][0] == pytest.approx(reach_with(spread, 2.0, 8, 0.95, None))
    assert "more than any test set has" in str(sy.plan(report, width=0.001))


def test_a_gate_of_not_worse(tmp_path: Path) -> None:
    """It passes only where the interval of the loss lies below the margin, and fails where it lies above."""
    path = compared(tmp_path)
    low, high = sy.load(path)["mae"].interval
    for margin, expected in ((high + 0.5, "pass"), ((low + high) / 2, "undecided")):
        if margin > 0:
            assert sy.gate(path, f"mae noninferior baseline + {margin:.6f}").outcome == expected
    for rule, message in (
        ("mae noninferior baseline - 1", ("E-invalid-spec", "wrong")),
        ("mae noninferior baseline", ("E-invalid-spec", "expected")),
        ("mae noninferior baseline + 1, p < 0.05", ("E-invalid-spec", "interval")),
    ):
        with refuses(*message):
            sy.gate(path, rule)


def test_parts_are_what_the_metric_is_the_mean_of() -> None:
    """Accuracy, balanced accuracy and macro averages declare proportions whose plain mean is their value."""
    rng = np.random.default_rng(9)
    truth = rng.integers(0, 4, 90)
    named = np.where(rng.random(90) < 0.7, truth, rng.integers(0, 4, 90))
    specs = ["accuracy", "balanced_accuracy", "macro(f1)", "macro(recall)", "macro(precision)"]
    data = measure("labels", {"id": np.arange(90), "label": truth}, {"id": np.arange(90), "label": named}, specs)
    totals = data.state.totals(POINT)
    for metric in data.metrics:
        hits, of = (np.atleast_2d(part.T).T for part in metric.proportions(totals.only(metric.requirements())))
        assert float((hits / of).mean()) == pytest.approx(float(totals.of(metric)[0])), str(metric)


def test_balanced_accuracy_of_perfect_labels_is_not_sure() -> None:
    """Two classes of 10 right rows each, by hand: each end is .025 ** (1 / 10), two independent parts over two."""
    truth = np.repeat([0, 1], 10)
    side = {"id": np.arange(20), "label": truth}
    report = sy.evaluate("labels", side, side, ["balanced_accuracy", "accuracy"])
    below = 1 - 0.025 ** (1 / 10)
    assert report["balanced_accuracy"].interval == pytest.approx((1 - below / math.sqrt(2), 1.0))
    assert report["accuracy"].interval == pytest.approx((0.025 ** (1 / 20), 1.0))


def test_a_plan_as_a_page_and_as_figures(tmp_path: Path, steelyard: Any) -> None:
    """The page has the numbers of the table, and a curve per metric; figures are files."""
    compared(tmp_path)
    done = steelyard("plan", "pilot.json", "--target", "mae=1", "--html", "plan.html", "--figures", "curves")
    assert done.returncode == 0, done.stderr
    study = plan(tmp_path / "pilot.json", targets={"mae": 1.0})
    page = (tmp_path / "plan.html").read_text(encoding="utf-8")
    mae = study.metrics[0]
    assert f'<td class=n data-v="{mae.needed.cautious}">{mae.needed.cautious:,}</td>' in page
    assert page.count('class="picture') == 2
    assert {p.name for p in (tmp_path / "curves").iterdir()} == {
        f"plan_{k}.{kind}" for k in (1, 2) for kind in ("svg", "png", "pdf")
    }
    figure = plan_figures(study)[0]
    # The curve goes through the table: it falls with the square root of the units.
    for n, shown, careful in mae.curve:
        at = np.exp(np.interp(math.log(n), np.log(figure.columns["x"]), np.log(figure.columns["y"])))
        assert at == pytest.approx(shown)
        high = np.exp(np.interp(math.log(n), np.log(figure.columns["x"]), np.log(figure.columns["high"])))
        assert high == pytest.approx(careful)
    assert plan_figures(plan(tmp_path / "pilot.json", units=[100])) == []

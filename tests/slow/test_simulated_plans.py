"""What plans promise, by simulation. `make simulate` draws 40 pilots and 300 test sets; the suite draws few.

The band is that of the design at full size, and as much wider as chance allows for the number of sets.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.planning import STUDIES, Study, power_of

import steelyard as sy
from steelyard.core.units import Units
from steelyard.engine.families import max_t
from steelyard.engine.flips import Coins, Influence, flip_test
from steelyard.engine.planning import Pilot, family_level, units_for, variance_with
from steelyard.engine.together import one_way
from steelyard.results.score import RunSpread

scipy_stats = lazy("scipy.stats")

FULL = int(os.environ.get("STEELYARD_SETS", "40")) >= 400
PILOTS, SETS = (40, 300) if FULL else (6, 24)
ASKED = STUDIES if FULL else (*STUDIES[1:3], STUDIES[-1])


@pytest.mark.slow
@pytest.mark.parametrize("study", ASKED, ids=lambda study: study.metric)
def test_planned_units_show_the_difference_four_times_in_five(study: Study) -> None:
    """For shares, macro averages, average precision and HOTA alike; the cautious number shows it no more seldom."""
    power = power_of(study, PILOTS, SETS, 199 if FULL else 100, 41)
    assert scipy_stats.binom.ppf(0.001, SETS, 0.72) <= power.shown <= scipy_stats.binom.ppf(0.999, SETS, 0.90)
    assert power.units < power.cautious
    assert power.shown_cautious >= scipy_stats.binom.ppf(0.001, SETS, 0.72)


@pytest.mark.slow
def test_planned_units_have_the_planned_width() -> None:
    """Pilots of 100 labels plan for intervals .1 wide, of accuracies of .85: sets of that size are .09 to .11 wide.

    The cautious number is narrower, and eight of ten pilots say a number in the range of pilots.
    """
    rng = np.random.default_rng(3)

    def scored(n: int) -> Any:
        right = (rng.random(n) < 0.85).astype(int)
        return sy.evaluate("labels", {"id": np.arange(n), "label": np.ones(n, int)}, {"id": np.arange(n), "label": right},
                           "accuracy", draws=100)  # fmt: skip

    pilots = [sy.plan(scored(100), width=0.1).metrics[0].needed_for_width for _ in range(20)]
    middle = sorted(pilots, key=lambda one: one.units)[10]
    reached = [[np.ptp(scored(n)["accuracy"].interval) for _ in range(20)] for n in (middle.units, middle.cautious)]
    assert 0.09 <= np.mean(reached[0]) <= 0.11
    assert np.mean(reached[1]) < np.mean(reached[0])
    inside = sum(middle.low <= one.units <= middle.high for one in pilots)
    assert inside >= 12


@pytest.mark.slow
def test_a_family_planned_by_max_t_has_its_power() -> None:
    """Five differences that go together by .8, corrected by max-T: units planned from a pilot show one in 4 of 5 sets.

    Bonferroni's plan needs more units.
    """
    rng = np.random.default_rng(4)
    size, pilot_units = 0.3, 150

    def drawn(n: int) -> Any:
        return size + np.sqrt(0.8) * rng.normal(0, 1, (n, 1)) + np.sqrt(0.2) * rng.normal(0, 1, (n, 5))

    planned, by_bonferroni = [], []
    for _ in range(15):
        x = drawn(pilot_units)
        psi = x - x.mean(axis=0)
        pilot = Pilot("m", float(psi[:, 0].std(ddof=1)) / np.sqrt(pilot_units), pilot_units - 1, pilot_units)
        planned.append(units_for(pilot, size, 1 - family_level(0.05, 5, list(psi.T))[0], 0.8).units)
        by_bonferroni.append(units_for(pilot, size, 1 - 0.05 / 5, 0.8).units)
    n = int(np.median(planned))
    assert n < np.median(by_bonferroni)
    shown, sets, coins = 0, 200, Coins.of(Units(np.arange(n)), 0, 999)
    for _ in range(sets):
        x = drawn(n)
        psi, means = x - x.mean(axis=0), x.mean(axis=0)
        tests = [
            flip_test(float(means[k]), Influence(coins, psi[:, k], coins.sums(psi[:, k : k + 1])[:, 0]), 0.95)
            for k in range(5)
        ]
        together = max_t([t.size for t in tests], [t.worlds for t in tests], [t.spread for t in tests])
        shown += together[0] <= 0.05
    assert 0.70 <= shown / sets <= 0.90


@pytest.mark.slow
def test_clusters_are_planned_with_the_error_that_they_have() -> None:
    """30 videos of 6 images plan for 60 of 12: the error foreseen is that of such sets, within 12 %."""
    rng = np.random.default_rng(5)

    def drawn(clusters: int, each: int) -> Any:
        group = np.repeat(np.arange(clusters), each)
        return rng.normal(0, 1, clusters)[group] + rng.normal(0, 2, clusters * each), group

    foreseen = []
    for _ in range(60):
        x, group = drawn(30, 6)
        parts = one_way(x - x.mean(), group, 30)
        foreseen.append((parts.between + parts.within * 6 / 12) * 30 / 60)
    true = 1 / 60 + 4 / (60 * 12)
    assert np.mean(foreseen) == pytest.approx(true, rel=0.12)
    assert np.var([drawn(60, 12)[0].mean() for _ in range(2000)]) == pytest.approx(true, rel=0.1)


@pytest.mark.slow
def test_clusters_of_a_comparison_are_found() -> None:
    """By the engine: a difference with half of its variance between videos has about half there."""
    rng = np.random.default_rng(6)
    clusters, each = 60, 5
    group = np.repeat(np.arange(clusters), each)
    n, shares = clusters * each, []
    for _ in range(10):
        right = rng.normal(0, 1, clusters)[group] + rng.normal(0, np.sqrt(each), n)  # within / m = between
        truth = {"dish": np.arange(n), "weight": np.full(n, 500.0), "video": group.astype(str)}
        a, b = ({"dish": np.arange(n), "weight": 500.0 + moved} for moved in (np.zeros(n) + 50, 50 + right))
        d = sy.compare("weights", truth, a, b, "mae", cluster="video", draws=100)["mae"]
        shares.append(d.cluster_variance.between / (d.cluster_variance.between + d.cluster_variance.within))
        assert d.cluster_variance.between + d.cluster_variance.within == pytest.approx(d.se**2, rel=0.05)
    assert np.mean(shares) == pytest.approx(0.5, abs=0.08)


@pytest.mark.slow
def test_runs_are_planned_with_the_variance_that_they_have() -> None:
    """4 seeds on 150 images plan for 8 on 450: the variance foreseen is that of such studies, within 15 %."""
    rng = np.random.default_rng(7)
    of_seeds, of_images, of_both = 0.02, 1.0, 0.5

    def study(runs: int, units: int) -> Any:
        return (
            rng.normal(0, np.sqrt(of_seeds), (runs, 1))
            + rng.normal(0, np.sqrt(of_images), (1, units))
            + rng.normal(0, np.sqrt(of_both), (runs, units))
        )

    foreseen = []
    for _ in range(300):
        x = study(4, 150)
        psi = x - x.mean(axis=1, keepdims=True)
        sigma = psi @ psi.T / (150 * 149)
        own, both = np.trace(sigma) / 4, (sigma.sum() - np.trace(sigma)) / 12
        parts = RunSpread(
            "seeds", tuple(x.mean(axis=1)), 4, 150, float(sigma.sum() / 16), float(x.mean(axis=1).var(ddof=1) / 4),
            float((own - both) / 4),
        )  # fmt: skip
        foreseen.append(sum(variance_with(parts, 450 / 150, 8)))
    true = of_seeds / 8 + of_images / 450 + of_both / (8 * 450)
    assert np.mean(foreseen) == pytest.approx(true, rel=0.15)


@pytest.mark.slow
def test_labels_are_planned_with_the_width_that_they_have() -> None:
    """60 labels and 600 judged plan for 120 and 1,200: the width foreseen is that of such sets, within 10 %."""
    rng = np.random.default_rng(8)

    def scored(labels: int, judged: int) -> Any:
        n = labels + judged
        right = rng.random(n) < 0.8
        judge = np.where(rng.random(n) < 0.9, right, ~right).astype(int)
        ids, ones = np.arange(n), np.ones(n, int)
        truth = {"id": ids[:labels], "label": right[:labels].astype(int)}
        return sy.evaluate("labels", truth, {"id": ids, "label": ones}, "accuracy", proxy={"id": ids, "label": judge},
                           draws=100)  # fmt: skip

    cells = [sy.plan(scored(60, 600), labels=True).metrics[0].table.cells[2][2][0] for _ in range(20)]
    reached = [np.ptp(scored(120, 1200)["accuracy"].interval) for _ in range(20)]
    assert np.mean(cells) == pytest.approx(np.mean(reached), rel=0.1)

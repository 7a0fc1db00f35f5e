"""What clusters, strata and proxies promise, by simulation. `make simulate` draws 400 test sets; the suite draws few.

A band is that of the design at full size, and as much wider as chance allows for the number of sets.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

import steelyard as sy

scipy_stats = lazy("scipy.stats")

SETS = int(os.environ.get("STEELYARD_SETS", "40"))
DRAWS = 300


def at_least(count: int, share: float) -> bool:
    """Whether so many of the sets are no fewer than chance gives a share."""
    return count >= scipy_stats.binom.ppf(0.001, SETS, share)


def at_most(count: int, share: float) -> bool:
    """Whether so many of the sets are no more than chance gives a share."""
    return count <= scipy_stats.binom.ppf(0.999, SETS, share)


def holds(score: Any, value: float) -> bool:
    return bool(score.interval[0] <= value <= score.interval[1])


def videos(rng: np.random.Generator, correlation: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """50 videos of ten images, four of five right; a latent normal score goes together in a video."""
    video = np.repeat(np.arange(50), 10)
    latent = np.sqrt(correlation) * rng.normal(size=50)[video] + np.sqrt(1 - correlation) * rng.normal(size=500)
    label = rng.integers(0, 2, 500)
    named = np.where(latent < scipy_stats.norm.ppf(0.8), label, 1 - label)
    return {"id": np.arange(500), "label": label, "video": video}, {"id": np.arange(500), "label": named}


@pytest.mark.slow
def test_clusters_hold_where_units_do_not_and_are_warned_of() -> None:
    rng = np.random.default_rng(21)
    units = clusters = warned = 0
    for k in range(SETS):
        data = videos(rng, 0.3)
        alone = sy.evaluate("labels", *data, ["accuracy"], draws=DRAWS, seed=k)
        together = sy.evaluate("labels", *data, ["accuracy"], draws=DRAWS, seed=k, cluster="video")
        units += holds(alone["accuracy"], 0.8)
        clusters += holds(together["accuracy"], 0.8)
        warned += any("Resample by 'video'" in note for note in alone.notes)
    assert at_most(units, 0.85)
    assert at_least(clusters, 0.92)
    assert at_most(clusters, 0.98)
    assert at_least(warned, 0.9)


@pytest.mark.slow
def test_units_that_do_not_go_together_are_seldom_warned_of() -> None:
    rng = np.random.default_rng(22)
    reports = [sy.evaluate("labels", *videos(rng, 0.0), ["accuracy"], draws=100, seed=k) for k in range(SETS)]
    assert at_most(sum(any("(cluster)" in note for note in one.notes) for one in reports), 0.05)


@pytest.mark.slow
def test_strata_hold_with_narrower_intervals() -> None:
    """Four unlike strata of 50: the spread between them is not an error where their sizes are fixed."""
    rng = np.random.default_rng(23)
    site = np.repeat(np.arange(4), 50)
    held, width = 0, {"units": 0.0, "strata": 0.0}
    for k in range(SETS):
        truth = {"dish": np.arange(200), "weight": np.full(200, 500.0), "tray": site}
        predictions = {"dish": np.arange(200), "weight": 500 + rng.normal(6.0 * (site - 1.5), 10)}
        for name, chosen in (("units", {}), ("strata", {"strata": "tray"})):
            score = sy.evaluate("weights", truth, predictions, ["bias"], draws=DRAWS, seed=k, **chosen)["bias"]
            assert score.interval is not None
            width[name] += score.interval[1] - score.interval[0]
        held += holds(score, 0.0)
    assert at_least(held, 0.92)
    assert at_most(held, 0.98)
    # sqrt(100 / (100 + 36 * 1.25)): the share of the variance that is inside strata
    assert width["strata"] / width["units"] == pytest.approx(0.83, abs=0.04)


RECALL = np.array([0.9, 0.75, 0.6, 0.5])


def judged(rng: np.random.Generator, count: int) -> tuple[Any, Any, Any]:
    """Labels of four classes, predictions with the recalls above, and a judge that is right nine times in ten."""
    true = rng.choice(4, count, p=[0.4, 0.3, 0.2, 0.1])
    named = np.where(rng.random(count) < RECALL[true], true, (true + rng.integers(1, 4, count)) % 4)
    said = np.where(rng.random(count) < 0.9, true, (true + rng.integers(1, 4, count)) % 4)
    return true, named, said


@pytest.mark.slow
def test_few_labels_and_a_judge_hold_with_a_smaller_error() -> None:
    rng = np.random.default_rng(24)
    held, ratio, alone = 0, [], 0
    ids, labelled = np.arange(3000), 300
    for k in range(SETS):
        true, named, said = judged(rng, len(ids))
        truth = {"id": ids[:labelled], "label": true[:labelled]}
        score = sy.evaluate(
            "labels", truth, {"id": ids, "label": named}, ["macro(recall)"], proxy={"id": ids, "label": said},
            draws=DRAWS, seed=k,
        )["macro(recall)"]  # fmt: skip
        assert score.few_labels is not None
        held += holds(score, RECALL.mean())
        ratio.append(score.se / score.few_labels.labels_se)
        alone += abs(score.few_labels.proxy_alone - RECALL.mean()) < 0.02
    assert at_least(held, 0.91)
    assert at_most(held, 0.985)
    assert np.mean(ratio) <= 0.8
    assert alone < SETS / 4  # the judge by itself is off


@pytest.mark.slow
def test_few_labels_of_whole_clusters_hold_by_cluster() -> None:
    """50 of 300 clusters of six have truth, and answers of one cluster go together: draws of units hold too seldom."""
    rng = np.random.default_rng(26)
    ids, cluster, labelled = np.arange(1800), np.repeat(np.arange(300), 6), 300
    held = {"cluster": 0, "units": 0}
    for k in range(SETS):
        easy = np.clip(rng.beta(1.6, 0.7, 300), 0, 1)[cluster]  # the mean is 0.696
        right = (rng.random(len(ids)) < easy).astype(int)
        judge = np.where(rng.random(len(ids)) < 0.85, right, 1 - right)
        truth = {"id": ids[:labelled], "label": right[:labelled], "person": cluster[:labelled]}
        proxy = {"id": ids, "label": judge, "person": cluster}
        for way in held:
            score = sy.evaluate(
                "labels", truth, {"id": ids, "label": np.ones(len(ids), int)}, ["accuracy"], proxy=proxy,
                cluster="person" if way == "cluster" else None, draws=DRAWS, seed=k,
            )["accuracy"]  # fmt: skip
            held[way] += holds(score, 1.6 / 2.3)
    assert at_least(held["cluster"], 0.91)
    assert at_most(held["cluster"], 0.985)
    assert at_most(held["units"], 0.9)


@pytest.mark.slow
def test_rates_hold_where_labelled_units_have_another_share() -> None:
    """Half of the labelled answers are right and three quarters of all: rates hold, the difference does not."""
    rng = np.random.default_rng(25)
    ids = np.arange(1200)
    held = {"rates": 0, "difference": 0}
    for k in range(SETS):
        right = np.concatenate([rng.random(200) < 0.5, rng.random(1000) < 0.75])
        judge = np.where(rng.random(1200) < np.where(right, 0.9, 0.8), right, ~right)
        truth = {"id": ids[:200], "label": right[:200].astype(int)}
        predictions, proxy = {"id": ids, "label": np.ones(1200, int)}, {"id": ids, "label": judge.astype(int)}
        for correction in held:
            score = sy.evaluate(
                "labels",
                truth,
                predictions,
                ["accuracy"],
                proxy=proxy,
                judge_correction=correction,
                draws=DRAWS,
                seed=k,
            )["accuracy"]
            held[correction] += holds(score, 0.75)
    assert at_least(held["rates"], 0.92)
    assert at_most(held["difference"], 0.5)

"""What p and intervals of differences promise, by simulation. `make simulate` draws 400 test sets; the suite draws fewer.

The bands are those of docs/statistics.md, widened by what chance allows in so many sets.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

import steelyard as sy

scipy_stats = lazy("scipy.stats")

SETS = int(os.environ.get("STEELYARD_SETS", "60"))


def low_ps(draw: Callable[[np.random.Generator], Any], specs: list[str], sets: int = SETS) -> dict[str, int]:
    """How often p of each metric is at most 0.05."""
    rng = np.random.default_rng(20)
    low = dict.fromkeys(specs, 0)
    for k in range(sets):
        compared = sy.compare(*draw(rng), specs, seed=k, draws=499, adjust="none")
        for spec in specs:
            d = compared[spec]
            low[spec] += d.p <= 0.05
            if d.interval is not None and not np.isnan(d.p):  # one statement
                assert (d.p <= 0.05) == (not d.interval[0] <= 0 <= d.interval[1]), (spec, d)
    return low


def at_most(count: int, share: float, sets: int = SETS) -> bool:
    return bool(count <= scipy_stats.binom.ppf(0.999, sets, share))


def at_least(count: int, share: float, sets: int = SETS) -> bool:
    return bool(count >= scipy_stats.binom.ppf(0.001, sets, share))


def weighed(n: int, first: Any, second: Any) -> Any:
    """Dishes with errors drawn by two functions of (rng, n)."""

    def draw(rng: np.random.Generator) -> Any:
        truth = rng.uniform(100, 500, n)
        data = {"dish": np.arange(n), "weight": truth}
        return "weights", data, *({**data, "weight": truth + error(rng, n)} for error in (first, second))

    return draw


def normal(mean: float, spread: float) -> Any:
    return lambda rng, n: rng.normal(mean, spread, n)


@pytest.mark.slow
def test_equal_distances_of_biases_are_not_told_apart() -> None:
    """+5 and -5 of 60 dishes: at most 7 %. +8 and +2 of 200: at least 88 %."""
    assert at_most(low_ps(weighed(60, normal(5, 10), normal(-5, 10)), ["bias"])["bias"], 0.055)
    assert at_least(low_ps(weighed(200, normal(8, 15), normal(2, 15)), ["bias"])["bias"], 0.9)


@pytest.mark.slow
def test_equal_models_of_weights() -> None:
    low = low_ps(weighed(60, normal(0, 20), normal(0, 20)), ["mae", "rmse", "pearson", "r2"])
    for spec, count in low.items():
        assert at_most(count, 0.065), spec


def scored(n: int, gain: tuple[float, float], scale: float = 1.0) -> Any:
    """Binary labels with scores; the second model's scores are divided by `scale`."""

    def draw(rng: np.random.Generator) -> Any:
        truth = (rng.random(n) < 0.4).astype(int)
        data = {"id": np.arange(n), "label": truth}
        sides = [truth * one + rng.normal(0, 1, n) for one in gain]
        sides = [1 / (1 + np.exp(-sides[0])), 1 / (1 + np.exp(-sides[1] / scale))]
        return "labels", data, *({"id": data["id"], "score": one} for one in sides)

    return draw


@pytest.mark.slow
def test_ranked_metrics_whatever_the_scale() -> None:
    """Equal models are told apart in 5 %, also where B's scores are on another scale; better ones are found."""
    low = low_ps(scored(60, (1.3, 1.3), 10.0), ["roc_auc", "ap"])
    assert at_most(low["roc_auc"], 0.06)
    assert at_most(low["ap"], 0.06)
    assert at_least(low_ps(scored(200, (1.3, 2.1), 10.0), ["roc_auc"], SETS // 2)["roc_auc"], 0.93, SETS // 2)


@pytest.mark.slow
def test_equal_classifiers() -> None:
    def draw(rng: np.random.Generator) -> Any:
        truth = rng.choice(3, 60, p=[0.5, 0.3, 0.2])
        data = {"id": np.arange(60), "label": truth}
        sides = [np.where(rng.random(60) < 0.75, truth, rng.choice(3, 60)) for _ in range(2)]
        return "labels", data, *({"id": data["id"], "label": one} for one in sides)

    for spec, count in low_ps(draw, ["accuracy", "macro(f1)", "kappa", "mcc"]).items():
        assert at_most(count, 0.06), spec


def detectors(rng: np.random.Generator, images: int = 1200, classes: int = 20) -> Any:
    """Two detectors with the same chances in every image, which is hard or easy for both."""
    shares = 1 / (np.arange(classes) + 1) ** 1.2
    shares /= shares.sum()
    image = np.repeat(np.arange(images), rng.poisson(3, images) + 1)
    label = rng.choice(classes, len(image), p=shares)
    x = 100.0 * (np.arange(len(image)) - np.searchsorted(image, image))
    hard = rng.random(images)

    def boxes(image: Any, label: Any, x: Any, **more: Any) -> dict[str, Any]:
        size = np.full(len(x), 50.0)
        return {"image": image, "label": [f"k{k}" for k in label], "x": x, "y": 0 * x, "w": size, "h": size, **more}

    def detections() -> dict[str, Any]:
        hits = np.flatnonzero(rng.random(len(image)) < 0.9 - 0.4 * hard[image])
        false = len(image)
        return boxes(
            np.concatenate([image[hits], rng.choice(images, false)]),
            np.concatenate([label[hits], rng.choice(classes, false, p=shares)]),
            np.concatenate([x[hits] + rng.exponential(8, len(hits)), 5000 + 1000 * rng.random(false)]),
            score=np.concatenate([rng.beta(4, 2, len(hits)), rng.beta(2, 4, false)]),
        )

    return "boxes", boxes(image, label, x), detections(), detections()


@pytest.mark.slow
def test_equal_detectors_on_many_images() -> None:
    """With more than 1,000 images the influences on a ranking are those of first order."""
    low = low_ps(detectors, ["map", "map50", "ap(kind=step)", "best_f1"])
    assert all(at_most(count, 0.05) for count in low.values()), low

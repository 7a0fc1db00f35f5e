"""What intervals of means over classes hold, by simulation: the mean of the present classes' population values.

`make simulate` draws 300 test sets; the suite draws fewer, and allows what chance does around the bands.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.drawn_objects import objects
from support.lazy import lazy
from support.populations import Population, Rng
from support.sampling import drawn_set, measured

from steelyard.core.plan import POINT
from steelyard.core.request import Request
from steelyard.engine.score import score

scipy_stats = lazy("scipy.stats")

SETS = min(int(os.environ.get("STEELYARD_SETS", "60")), 300)


def patches(rng: Rng, units: int, *, rare: float = 0.06, spread: float = 0.0) -> Any:
    """Maps with a patch of class 1, and one of class 2 in a share of them; what is predicted is moved, or missed.

    With `spread` some patches are many times as large as others.
    """
    sides: tuple[list[Any], list[Any]] = ([], [])
    for _ in range(units):
        hard = rng.beta(2, 4)
        pair = [np.zeros((16, 16), dtype=np.uint8) for _ in range(2)]
        for label in [1, 2] if rng.random() < rare else [1]:
            size = np.exp(rng.normal(1.2, spread, 2)) if spread else rng.integers(4, 11, 2)
            h, w = (int(v) for v in np.clip(size, 1, 15))
            y, x = int(rng.integers(0, 17 - h)), int(rng.integers(0, 17 - w))
            dy, dx = (int(v) for v in np.round(rng.normal(0, 4 * hard, 2)))
            pair[0][y : y + h, x : x + w] = label
            if rng.random() > 0.3 * hard:
                pair[1][max(0, y + dy) : max(0, y + h + dy), max(0, x + dx) : max(0, x + w + dx)] = label
        for side, grid in zip(sides, pair, strict=True):
            side.append(grid)
    image = np.arange(units)
    return {"image": image, "map": objects(sides[0])}, {"image": image, "map": objects(sides[1])}


def named(rng: Rng, units: int, *, share: tuple[float, ...] = (0.5, 0.3, 0.14, 0.06)) -> Any:
    """Classes of unlike sizes with probabilities."""
    ids, label = np.arange(units), rng.choice(len(share), units, p=share)
    logit = (
        rng.normal(0, 1, (units, len(share))) + 2.0 * (label[:, np.newaxis] == np.arange(len(share))) + np.log(share)
    )
    probability = np.exp(logit) / np.exp(logit).sum(axis=1, keepdims=True)
    columns = {f"probability:c{k}": probability[:, k] for k in range(len(share))}
    return {"id": ids, "label": [f"c{k}" for k in label]}, {"id": ids, **columns}


ZIPF = tuple((1 / np.arange(1, 9) / (1 / np.arange(1, 9)).sum()).tolist())


def covered(task: str, draw: Any, specs: tuple[str, ...], units: int, population: int) -> dict[str, Any]:
    """For each metric: whether each set's interval holds its target, and how few units a class of it rests on."""
    state, metrics = measured(task, Population("", draw, specs), population, 5)
    whole: dict[str, Any] = {str(m): m.class_scores(state.totals(POINT).only(m.requirements())) for m in metrics}
    rng, outcomes = np.random.default_rng(6), {str(m): np.zeros((SETS, 2)) for m in metrics}
    for k in range(SETS):
        drawn = drawn_set(state, units, rng)
        scores = score(drawn, metrics, Request.of("", None, {"draws": 100, "seed": k}))
        for metric in metrics:
            here: Any = metric.class_scores(drawn.totals(POINT).only(metric.requirements()))
            inside = ~np.isnan(here[0])
            target = whole[str(metric)][0][inside].mean()
            low, high = scores[str(metric)].interval or (1, 0)
            few = metric.part_units(drawn)
            assert few is not None
            outcomes[str(metric)][k] = low <= target <= high, few[inside].min()
    return outcomes


def at_least(held: Any, share: float) -> bool:
    return bool(held.sum() >= scipy_stats.binom.ppf(0.001, len(held), share))


@pytest.mark.slow
@pytest.mark.parametrize("units", [30, 60])
def test_a_class_in_few_images(units: int) -> None:
    """A class in 6 % of images: at least 95 % of all sets, and of those where one or two images have it."""
    for spec, outcomes in covered("segmentation", patches, ("miou", "mdice"), units, 2000).items():
        held, few = outcomes[:, 0], outcomes[:, 1] <= 2
        assert few.sum() >= SETS / 6, spec
        assert at_least(held, 0.95), (spec, held.mean())
        assert at_least(held[few], 0.95), (spec, held[few].mean())


@pytest.mark.slow
def test_images_of_unlike_weight() -> None:
    """Patches that differ by far in size: no fewer than 93 %. With as many effective units as images it is 91 to 93."""
    outcomes = covered("segmentation", partial(patches, rare=0.3, spread=1.2), ("miou",), 100, 2000)["miou"]
    assert at_least(outcomes[:, 0], 0.93), outcomes[:, 0].mean()


@pytest.mark.slow
@pytest.mark.parametrize(("units", "share"), [(100, (0.5, 0.3, 0.14, 0.06)), (100, ZIPF), (400, ZIPF)])
def test_classes_of_unlike_size(units: int, share: tuple[float, ...]) -> None:
    """The area under the ROC curve is held more often than it should be: its intervals are too wide."""
    specs = ("macro(f1)", "macro(recall)", "macro(ap)", "macro(roc_auc)")
    for spec, outcomes in covered("labels", partial(named, share=share), specs, units, 6000).items():
        assert at_least(outcomes[:, 0], 0.92), (spec, outcomes[:, 0].mean())

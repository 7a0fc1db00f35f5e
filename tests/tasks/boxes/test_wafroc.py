"""wAFROC: numbers by hand, and against the definition written out with loops."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.drawn_objects import draw_lesions
from support.lazy import lazy
from support.paths import TESTS
from support.refusal import refuses
from support.scale_help import files, write_shards

import steelyard as sy
from steelyard.scale import evaluate_shards

scipy_stats = lazy("scipy.stats")

GOLDEN = json.loads((TESTS / "goldens" / "statistics2.json").read_text(encoding="utf-8"))["wafroc"]
SPECS = ["wafroc", "wafroc1"]
Marks = list[tuple[str, float, float]]  # image, left edge, score


def boxes(places: list[tuple[str, float]], label: str = "nodule") -> dict[str, list[Any]]:
    """Squares of 10 pixels of one class, by image and left edge."""
    n = len(places)
    same: dict[str, list[Any]] = {"y": [0.0] * n, "w": [10.0] * n, "h": [10.0] * n, "label": [label] * n}
    return {"image": [image for image, _ in places], "x": [x for _, x in places], **same}


def sides(
    images: list[str], lesions: list[tuple[str, float]], marks: Marks, **more: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    truth = {**boxes(lesions), "images": images, **more}
    return truth, {**boxes([mark[:2] for mark in marks]), "score": [mark[2] for mark in marks]}


def values(truth: dict[str, Any], predictions: dict[str, Any], specs: list[str] = SPECS) -> list[float]:
    report = sy.evaluate("boxes", truth, predictions, specs, confidence=None)
    return [float(score.value) for score in report.scores.values()]


def by_definition(
    lesions: list[list[float]], weights: list[list[float]], false: list[list[float]], diseased: int
) -> list[float]:
    """Both areas from ratings by image, -inf where a lesion has no mark; the first `diseased` images have lesions."""
    highest = [max(marks, default=-math.inf) for marks in false]
    areas = []
    for others in (highest[diseased:], highest):
        total = 0.0
        for ratings, shares in zip(lesions, weights, strict=True):
            for rating, share in zip(ratings, shares, strict=True):
                for other in others:
                    total += share / sum(shares) * (1.0 if rating > other else 0.5 if rating == other else 0.0)
        areas.append(total / (len(lesions) * len(others)) if others else math.nan)
    return areas


def test_golden() -> None:
    """Three diseased and four normal cases, from the definition written out: 6.5 of 12 pairs, and 11.5 of 21."""
    images, lesions, marks = [], [], []
    for case, ratings in enumerate(GOLDEN["lesions"]):
        images.append(f"d{case}")
        lesions += [(f"d{case}", 100.0 * k) for k in range(len(ratings))]
        marks += [(f"d{case}", 100.0 * k, z) for k, z in enumerate(ratings) if z is not None]
    for letter, rows in (("d", GOLDEN["false_on_diseased"]), ("n", GOLDEN["false_on_normal"])):
        for case, ratings in enumerate(rows):
            images += [f"{letter}{case}"] if letter == "n" else []
            marks += [(f"{letter}{case}", 5000.0 + 100 * k, z) for k, z in enumerate(ratings)]
    made = values(*sides(images, lesions, marks))
    assert made == pytest.approx([6.5 / 12, 11.5 / 21], abs=1e-12)
    assert made == pytest.approx([GOLDEN["wafroc"], GOLDEN["wafroc1"]], abs=1e-12)


def test_no_mark_at_all_is_a_half() -> None:
    """-inf against -inf counts a half."""
    assert values(*sides(["a", "b"], [("a", 0.0)], [])) == [0.5, 0.5]


def test_equal_scores_count_half() -> None:
    """A lesion at .5 against false marks of .5 (b) and .9 (c), and no false mark in a: .5 of 2, and 1.5 of 3."""
    marks = [("a", 0.0, 0.5), ("b", 0.0, 0.5), ("c", 0.0, 0.9)]
    assert values(*sides(["a", "b", "c"], [("a", 0.0)], marks)) == pytest.approx([0.25, 0.5])


def test_a_lesion_takes_its_highest_mark_and_others_on_it_count_neither_way() -> None:
    marks = [("a", 0.0, 0.4), ("a", 1.0, 0.8), ("b", 0.0, 0.6)]
    assert values(*sides(["a", "b"], [("a", 0.0)], marks)) == [1.0, 1.0]


def test_only_the_highest_false_mark_of_an_image_counts() -> None:
    marks = [("a", 0.0, 0.5), ("b", 0.0, 0.6), ("b", 100.0, 0.1), ("b", 200.0, 0.2)]
    assert values(*sides(["a", "b"], [("a", 0.0)], marks)) == [0.0, 0.5]


def test_images_weigh_the_same_however_many_lesions_they_have() -> None:
    """a has four lesions, three of them found; b has one, which is not: (3/4 + 1/4 · 1/2 + 1/2) / 2 against c."""
    lesions = [*(("a", 100.0 * k) for k in range(4)), ("b", 0.0)]
    marks = [("a", 100.0 * k, 0.9) for k in range(3)]
    assert values(*sides(["a", "b", "c"], lesions, marks))[0] == pytest.approx((0.875 + 0.5) / 2)


def test_lesion_weights() -> None:
    """Of weights 3 and 1 the heavier lesion is found, above c's false mark: 3/4, then 1/4 below it. b: 1."""
    lesions = [("a", 0.0), ("a", 100.0), ("b", 0.0)]
    marks = [("a", 0.0, 0.9), ("b", 0.0, 0.8), ("c", 0.0, 0.5)]
    truth, predictions = sides(["a", "b", "c"], lesions, marks, lesion_weight=[3.0, 1.0, 7.0])
    assert values(truth, predictions)[0] == pytest.approx((0.75 + 1) / 2)


def test_weights_that_add_up_to_nothing_are_refused() -> None:
    truth, predictions = sides(["a", "b"], [("a", 0.0), ("a", 50.0)], [], lesion_weight=[0.0, 0.0])
    with refuses("E-invalid-value", "'a'", "'nodule'", "0"):
        values(truth, predictions)


def test_without_normal_images() -> None:
    """wafroc is undefined with its reason, wafroc1 is not: .9 above a's own .2 and below b's .95; .8 the same."""
    marks = [("a", 0.0, 0.9), ("a", 100.0, 0.2), ("b", 0.0, 0.8), ("b", 100.0, 0.95)]
    report = sy.evaluate("boxes", *sides(["a", "b"], [("a", 0.0), ("b", 0.0)], marks), SPECS)
    assert math.isnan(report["wafroc"].value)
    assert report["wafroc"].undefined_reason.startswith("every image has lesions: there is no normal image")
    assert report["wafroc1"].value == 0.5
    assert report["wafroc1"].interval is not None


def test_without_lesions() -> None:
    truth, predictions = sides(["a", "b"], [("a", 0.0)], [("a", 0.0, 0.5)], crowd=[True])
    report = sy.evaluate("boxes", truth, predictions, SPECS, confidence=None)
    assert [score.undefined_reason for score in report.scores.values()] == ["no class has lesions"] * 2


def test_marks_on_ignored_objects_count_neither_way() -> None:
    """b holds only a crowd: it is normal, and the mark on the crowd is not false."""
    lesions, marks = [("a", 0.0), ("b", 0.0)], [("a", 0.0, 0.5), ("b", 0.0, 0.9)]
    assert values(*sides(["a", "b"], lesions, marks, crowd=[False, True])) == [1.0, 1.0]


def test_a_mark_matches_its_own_class_and_classes_are_averaged() -> None:
    """x: a is found at .9, b has a false x at .8: 1. y: b's lesion has no mark, a has a false y: 0."""
    truth = {**boxes([("a", 0.0), ("b", 0.0)]), "label": ["x", "y"]}
    predictions = {
        **boxes([("a", 0.0), ("b", 0.0), ("a", 0.0)]), "label": ["x", "x", "y"], "score": [0.9, 0.8, 0.7],
    }  # fmt: skip
    report = sy.evaluate("boxes", truth, predictions, SPECS)
    assert [score.value for score in report.scores.values()] == [0.5, pytest.approx((1 + 0.25) / 2)]


def test_classes_without_a_normal_image_are_left_out_and_counted() -> None:
    truth = {**boxes([("a", 0.0), ("b", 0.0), ("b", 100.0)]), "label": ["x", "x", "y"]}
    report = sy.evaluate("boxes", truth, {**boxes([("b", 100.0)], "y"), "score": [0.5]}, SPECS, confidence=None)
    assert report["wafroc"].value == 1.0
    assert (report["wafroc"].n_excluded, report["wafroc"].excluded) == (1, "classes with lesions in every image")
    assert report["wafroc1"].n_excluded == 0


def drawn(rng: np.random.Generator, n: int, share: float, gain: float = 1.5) -> tuple[Any, ...]:
    """Cases with ratings of 0.1 steps: lesions of diseased ones, weights, false marks by image; diseased ones first."""
    diseased = int(np.clip(rng.binomial(n, share), 1, n))
    lesions = [
        [float(z) if rng.random() < 0.8 else -math.inf for z in rng.normal(gain, 1, rng.integers(1, 4)).round(1)]
        for _ in range(diseased)
    ]
    weights = [rng.uniform(0.2, 1, len(ratings)).tolist() for ratings in lesions]
    false = [rng.normal(0, 1, rng.poisson(0.8)).round(1).tolist() for _ in range(n)]
    return lesions, weights, false, diseased


def as_boxes(lesions: Any, weights: Any, false: Any, diseased: int) -> tuple[dict[str, Any], dict[str, Any]]:
    images = [f"i{k:04d}" for k in range(len(false))]
    places = [(images[c], 100.0 * k) for c, ratings in enumerate(lesions) for k in range(len(ratings))]
    marks = [
        (images[c], 100.0 * k, z) for c, ratings in enumerate(lesions) for k, z in enumerate(ratings) if z > -math.inf
    ]
    marks += [(images[c], 5000.0 + 100 * k, z) for c, ratings in enumerate(false) for k, z in enumerate(ratings)]
    return sides(images, places, marks, lesion_weight=[w for row in weights for w in row])


@pytest.mark.parametrize("seed", range(20))
def test_against_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cases = drawn(rng, int(rng.integers(2, 40)), rng.uniform(0.2, 0.9))
    expected = by_definition(*cases)
    made = values(*as_boxes(*cases))
    assert made == pytest.approx(expected, abs=1e-12, nan_ok=True)


def placements(cases: Any, column: int) -> tuple[float, list[float], list[float]]:
    """The area, and what each diseased and each normal case moves it by, from the definition."""
    lesions, weights, false, diseased = cases
    highest = [max(marks, default=-math.inf) for marks in false]

    def rated(case: int, other: float) -> float:
        pairs = zip(lesions[case], weights[case], strict=True)
        return sum(w * (1.0 if z > other else 0.5 if z == other else 0.0) for z, w in pairs) / sum(weights[case])

    against = list(range(diseased, len(false))) if column == 0 else list(range(len(false)))
    area = float(np.mean([[rated(c, highest[k]) for k in against] for c in range(diseased)]))
    of_lesions = [float(np.mean([rated(c, highest[k]) for k in against])) - area for c in range(diseased)]
    of_images = [float(np.mean([rated(c, other) for c in range(diseased)])) - area for other in highest]
    if column == 1:
        of_lesions = [own + diseased / len(false) * of_images[c] for c, own in enumerate(of_lesions)]
    return area, of_lesions, of_images[diseased:]


@pytest.mark.parametrize("spec", SPECS)
def test_the_interval_is_that_of_placements(spec: str) -> None:
    """The ends by Clopper-Pearson and Jeffreys at the effective number of cases, with scipy's quantiles."""
    cases = drawn(np.random.default_rng(5), 60, 0.4)
    column = SPECS.index(spec)
    area, of_lesions, of_images = placements(cases, column)
    m, k, binomial = len(of_lesions), len(of_images), area * (1 - area)
    part = 1.0 if column == 0 else k / (m + k)
    variance = (sum(v**2 for v in of_lesions) + 4 * binomial) / (m + 11) / m
    variance += part**2 * (sum(v**2 for v in of_images) + 4 * binomial) / (k + 11) / k
    n = min(max(binomial / variance, min(m, k) if column == 0 else m), m + k)
    x, y = area * n, (1 - area) * n
    beta = scipy_stats.beta.ppf
    low = (beta(0.025, x, y + 1) + beta(0.025, x + 0.5, y + 0.5)) / 2
    high = (beta(0.975, x + 1, y) + beta(0.975, x + 0.5, y + 0.5)) / 2
    score = sy.evaluate("boxes", *as_boxes(*cases), [spec], draws=100)[spec]
    assert score.value == pytest.approx(area)
    assert score.interval == pytest.approx((low, high), rel=1e-6)


def test_few_normal_images_are_named() -> None:
    lesions = [("a", 0.0), ("b", 0.0), ("c", 0.0)]
    marks = [("a", 0.0, 0.9), ("b", 0.0, 0.8), ("c", 0.0, 0.7)]
    report = sy.evaluate("boxes", *sides(["a", "b", "c", "d"], lesions, marks), SPECS, draws=100)
    assert "wafroc rests on 1 normal image." in report["wafroc"].notes
    assert report["wafroc"].interval == pytest.approx((0.025, 1.0))
    assert "wafroc1 rests on 3 diseased images." in report["wafroc1"].notes


def test_comparison_by_flips_does_not_depend_on_the_scale_of_scores() -> None:
    rng = np.random.default_rng(3)
    truth, first = as_boxes(*drawn(rng, 60, 0.5))
    second = {**first, "score": [z + float(rng.normal(0, 1)) for z in first["score"]]}
    scaled = {**second, "score": [math.exp(z) for z in second["score"]]}
    one, other = (sy.compare("boxes", truth, first, b, ["wafroc", "wafroc1"], draws=200) for b in (second, scaled))
    for spec in SPECS:
        assert (one[spec].difference, one[spec].p) == (other[spec].difference, other[spec].p)
        assert one[spec].interval == other[spec].interval
        assert (one[spec].p <= 0.05) == (not one[spec].interval[0] <= 0 <= one[spec].interval[1])


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_shards_and_batches_give_the_same_as_all_at_once(confidence: float | None, tmp_path: Path) -> None:
    """The placements too: the interval is the same, for one class and for two."""
    truth, predictions = draw_lesions(np.random.default_rng(11), 30)
    for labels in (truth["label"], ["cat" if image < "i015" else "dog" for image in truth["image"]]):
        folder, whole = tmp_path / labels[-1], {**truth, "label": labels}
        write_shards("boxes", folder, 3, 3, data=(whole, predictions))
        more: dict[str, Any] = {"confidence": confidence, "draws": 100}
        expected = sy.Accumulator("boxes", **more)
        expected.update(whole, predictions)
        report = evaluate_shards("boxes", *files(folder), SPECS, work=folder / "work", workers=1, **more)
        assert report.scores == expected.report(SPECS).scores
        assert report.scores == sy.evaluate("boxes", whole, predictions, SPECS, **more).scores


SETS = int(os.environ.get("STEELYARD_SETS", "60"))


def population(rng: np.random.Generator, n: int, share: float, gain: float) -> tuple[Any, ...]:
    """Images differ in how easy they are: lesions are rated higher there, and false marks lower."""
    easy = 0.7 * rng.normal(size=n)
    diseased = max(1, int(rng.binomial(n, share)))
    lesions = [
        [float(z) if rng.random() < 0.85 else -math.inf for z in rng.normal(gain + easy[c], 1, rng.integers(1, 4))]
        for c in range(diseased)
    ]
    false = [(rng.normal(0, 1, rng.poisson(0.8)) - 0.7 * easy[c]).tolist() for c in range(n)]
    return lesions, [[1.0] * len(ratings) for ratings in lesions], false, diseased


def area_of(cases: Any, column: int) -> float:
    """An area by sorting, for many cases."""
    lesions, _, false, diseased = cases
    highest = np.sort([max(marks, default=-1e9) for marks in (false[diseased:] if column == 0 else false)])
    ratings = [np.maximum(one, -1e9) for one in lesions]
    below = [np.searchsorted(highest, one, "left") + np.searchsorted(highest, one, "right") for one in ratings]
    return float(np.mean([one.mean() for one in below])) / (2 * len(highest))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "share"), [(60, 0.15), (150, 0.4)])
def test_coverage(n: int, share: float) -> None:
    """The share of intervals that hold the area of 20,000 cases: at least 94 %, as chance allows for so many sets."""
    many = population(np.random.default_rng(4), 20_000, share, 1.5)
    areas = [area_of(many, column) for column in (0, 1)]
    rng, held = np.random.default_rng(5), np.zeros(2)
    for _ in range(SETS):
        report = sy.evaluate("boxes", *as_boxes(*population(rng, n, share, 1.5)), SPECS, draws=100)
        for column, spec in enumerate(SPECS):
            low, high = report[spec].interval or (math.nan, math.nan)
            held[column] += low <= areas[column] <= high
    assert held.min() >= scipy_stats.binom.ppf(0.001, SETS, 0.94)

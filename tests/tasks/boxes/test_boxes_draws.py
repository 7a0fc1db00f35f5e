"""Boxes under draws of images: against the reference on repeated images, and the two ways of counting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.coco_reference import TWELVE, draw, pairs_of, reference
from support.drawn import draw_boxes, perfect_boxes

import steelyard as sy
from steelyard import _native
from steelyard.core import catalogue
from steelyard.core.draws import BootstrapDraws, unit_keys
from steelyard.core.options import Options
from steelyard.core.plan import JACKKNIFE
from steelyard.core.request import Request
from steelyard.core.state import State, Totals
from steelyard.core.task import Policy
from steelyard.core.weights import Counts, Floats, Role, Weights
from steelyard.engine.measure import needs_of
from steelyard.engine.score import score
from steelyard.io.sources import read_sides
from steelyard.tasks.boxes.ranking import FIGURES, MANY_GROUPS, RankingFigure, detections
from steelyard.tasks.boxes.settings import STANDARD

Data = dict[str, Any]
SINGLE = 2.0**-23  # what a figure of counted rows may be off by


class Rows(Weights):
    """Rows of weights, as real numbers or, with `drawn`, as counts."""

    role = Role.DRAWS

    def __init__(self, weights: Floats, *, drawn: bool) -> None:
        self.weights, self.drawn = weights, drawn
        self.rows, self.units = weights.shape

    def blocks(self) -> Iterator[Floats]:
        yield self.weights

    def counts(self) -> Iterator[Counts] | None:
        if not self.drawn:
            return None
        table = np.zeros((-(-self.rows // 32) * 32, self.units), np.uint8)
        table[: self.rows] = self.weights
        return iter([np.ascontiguousarray(table.reshape(-1, 32, self.units).transpose(0, 2, 1))])


def repeated(data: Data, results: list[Data], times: dict[int, int]) -> tuple[Data, list[Data]]:
    """The data set in which each image stands so many times."""
    big: Data = {"images": [], "annotations": [], "categories": data["categories"]}
    collected = []
    for image, count in times.items():
        for copy in range(count):
            new = image * 10 + copy
            big["images"].append({"id": new})
            big["annotations"] += [
                {**a, "image_id": new, "id": len(big["annotations"]) + 1 + j}
                for j, a in enumerate(x for x in data["annotations"] if x["image_id"] == image)
            ]
            collected += [{**r, "image_id": new} for r in results if r["image_id"] == image]
    return big, collected


def without_ties(seed: int) -> tuple[Data, list[Data]]:
    """Drawn data whose scores differ: copies of an image would order equal ones again."""
    data, results = draw(seed)
    for result, place in zip(results, np.random.default_rng(seed).permutation(len(results)), strict=True):
        result["score"] = float(place + 1) / 1000
    return data, results


@pytest.mark.parametrize("block", range(4))
def test_draws_are_what_the_reference_gives_for_repeated_images(block: int) -> None:
    """A row of whole weights against pycocotools on a data set in which images stand that often."""
    used = 0
    for seed in range(11 + 10 * block, 21 + 10 * block):
        data, results = without_ties(seed)
        metrics = [catalogue.parse(name, "boxes") for name in TWELVE]
        state = State.of(pairs_of(data, results), needs_of(metrics))
        counts = np.random.default_rng(seed + 100).integers(0, 4, len(state))
        big, result = repeated(data, results, dict(zip(state.units.ids.tolist(), counts.tolist(), strict=True)))
        if not result:
            continue
        used += 1
        expected = reference(big, result).stats
        weights = np.stack([counts, counts]).astype(float)
        for metric, wanted in zip(metrics, expected, strict=True):
            want = np.nan if wanted == -1 else wanted
            for drawn, tolerance in ((False, 1e-12), (True, SINGLE)):
                values = Totals(state, Rows(weights, drawn=drawn)).of(metric)
                np.testing.assert_allclose(values, [want, want], atol=tolerance)
    assert used > 5


RANKING = detections(STANDARD, "all", "coco")[0]


def measured(truth: Data, predictions: Data) -> State:
    kind = catalogue.find_task("boxes")
    return State.of(kind.join(*read_sides(kind, truth, predictions, {}), Policy(), Options(kind.options)), [RANKING])


@pytest.mark.parametrize("kind", ["coco", "voc11", "step", "recall"])
@pytest.mark.parametrize("seed", range(5))
def test_counting_agrees_with_adding_real_weights(kind: str, seed: int) -> None:
    """Over many draws and images."""
    state = measured(*draw_boxes(np.random.default_rng(seed), 250))
    drawn = BootstrapDraws(unit_keys(state.units.ids), state.units.own, seed, 70)
    real = Rows(np.concatenate(list(drawn.blocks())), drawn=False)
    curve = RankingFigure(RANKING, kind)
    read = [Totals(state, weights)[curve] for weights in (drawn, real)]
    counted, exact = ((one.figure, one.recall) for one in read)
    for one, other in zip(counted, exact, strict=True):
        assert one.shape == (70, 10)
        np.testing.assert_allclose(one, other, rtol=0, atol=0 if kind == "step" else SINGLE)


def counted_by_hand(columns: tuple[Any, ...], rows: Floats, points: int) -> tuple[Floats, Floats]:
    """The figure on the grid and the recall of one class, as rows of counts are read: precision is a quotient in single
    precision, cut to a multiple of 2^-24, and a recall that lies on a point reaches it if the point is not rounded up."""
    image, hit, ignored, truth_image, thresholds = columns[2], columns[5], columns[6], columns[8], columns[10]
    figure, recall = np.full((2, len(rows), thresholds), np.nan)
    last = points - 1
    missed = np.array([r / last < r * (1 / last) for r in range(points)])
    for i, row in enumerate(rows.astype(np.int64)):
        positives = int(row[truth_image].sum())
        if not positives:
            continue
        for t in range(thresholds):
            hits, others = (hit >> t) & 1 == 1, (ignored >> t) & 1 == 0
            found_weight = np.cumsum(np.where(hits, row[image], 0))[hits]
            ranked = np.maximum(np.cumsum(np.where(hits | others, row[image], 0))[hits], 1)
            precision = (found_weight.astype(np.float32) * np.float32(2**24) / ranked.astype(np.float32)).astype(
                np.int64
            )
            best = np.maximum.accumulate(precision[::-1])[::-1]
            nearest = found_weight * last // positives
            reached = nearest + 1 - ((nearest * positives == found_weight * last) & missed[nearest])
            steps = np.diff(reached, prepend=0)
            figure[i, t] = int((best * steps).sum()) / (points * 2**24)
            recall[i, t] = (int(found_weight[-1]) if len(found_weight) else 0) / positives
    return figure, recall


@pytest.mark.parametrize("truths", [1, 7, 20, 50, 100, 140, 400, 1000, 9_990, 10_010, 20_000])
def test_counts_are_read_as_by_hand(truths: int) -> None:
    """To the bit: on points of the grid that a recall does not reach by their rounding, with ignored detections, with
    runs of hits short and long, under rows of which one half takes what the other leaves out, in a part that is not
    full, and where floats no longer tell the points of the grid apart."""
    rng = np.random.default_rng(truths)
    n, bits = 2 * truths, 0b111
    image = rng.permutation(np.arange(n) % truths).astype(np.int32)
    first = np.zeros(n, bool)
    first[np.unique(image, return_index=True)[1]] = True
    hit = np.where(first & (rng.random(n) < 0.9), rng.integers(1, 8, n), 0).astype(np.uint32)
    hit[: n // 4] |= np.where(first[: n // 4], 4, 0).astype(np.uint32)
    ignored = np.where(rng.random(n) < 0.1, rng.integers(1, 8, n) & ~hit & bits, 0).astype(np.uint32)
    score = np.sort(rng.random(n))[::-1].copy()
    columns = (
        np.array([0]), np.array([n]), image, score, np.zeros(n, np.uint16), hit, ignored,
        np.array([0, truths]), np.arange(truths, dtype=np.int32), np.ones(truths, np.uint8), 3, 100,
    )  # fmt: skip
    counts = np.ones((5, truths, 32), np.uint8)  # every truth once, whose number is then that of all lanes
    counts[1] = rng.poisson(1.0, (truths, 32))
    counts[0, :, 7] = 0  # a row without truth
    coins = rng.integers(0, 2, (2, truths, 16))
    counts[2:4] = np.concatenate([coins, 1 - coins], axis=2)
    counts[4] = np.where(rng.random((truths, 32)) < 0.01, 255, 1)  # heavy ones
    rows = counts.transpose(0, 2, 1).reshape(160, truths)[:150]
    some = np.arange(150) if truths <= 1000 else np.r_[0, 7, 32:36, 64, 80, 128:132]
    for figure, points in (("coco", 101), ("voc11", 11), ("recall", 2)):
        value, recall = _native.Ranked(*columns).draws(counts, 150, FIGURES[figure], np.linspace(0, 1, points))
        by_hand = counted_by_hand(columns, rows[some], points)
        if figure != "recall":
            assert np.array_equal(value[some], by_hand[0], equal_nan=True)
        assert np.array_equal(recall[some], by_hand[1], equal_nan=True)


@pytest.mark.parametrize("kind", ["coco", "recall"])
def test_rows_that_cannot_be_counted_are_read_by_the_reference(kind: str) -> None:
    """Sums above 2^24, and more hits than truths, beside rows whose numbers stay the same to the bit."""
    rng = np.random.default_rng(3)
    n, units = 70_000, 400
    image, truths = np.append(rng.integers(0, units - 1, n - 1), units - 1), np.arange(units)  # the last is a hit
    hit = np.zeros(n, bool)
    hit[np.unique(image, return_index=True)[1]] = True
    counts = rng.poisson(1.0, (2, units, 32)).astype(np.uint8)
    grid, code = np.linspace(0, 1, 101 if kind == "coco" else 2), FIGURES[kind]
    for heavy, more_hits in ((255, False), (3, True)):
        columns = (*one_class(hit | (more_hits & (image == 0)), image, truths), 1, 100)
        mixed = np.where(truths[:, np.newaxis] == 0, 0, counts).astype(np.uint8)
        plain = _native.Ranked(*columns).draws(mixed, 64, code, grid)
        mixed[1, :, 5] = np.where((truths == 0) & (not more_hits), 0, heavy)
        value = _native.Ranked(*columns).draws(mixed, 64, code, grid)
        row = mixed[1, :, 5].astype(float)[np.newaxis]
        exact = _native.Ranked(*columns).figures(row, FIGURES["tide"] if kind == "coco" else code, grid)
        for one, before, alone in zip(value, plain, exact, strict=True):
            assert np.array_equal(np.delete(one, 37, axis=0), np.delete(before, 37, axis=0))
            np.testing.assert_allclose(one[37], alone[0], rtol=1e-15)


@pytest.mark.parametrize("levels", [3, 100, 100_000])  # scores that differ: all are equal, some, or none
@pytest.mark.parametrize("fall", [0.3, 2.0, 5.0])  # how fast hits get rarer: the best F1 is at the end, or near the top
def test_the_best_f1_of_counted_rows_is_that_of_real_weights(levels: int, fall: float) -> None:
    """To the bit, though stretches that cannot hold it are passed over: with equal scores and ignored detections."""
    rng = np.random.default_rng(levels)
    truths, n = 900, 6000
    image = rng.integers(0, truths, n).astype(np.int32)
    hit = (rng.random(n) < 0.6 * np.exp(-fall * np.arange(n) / n)).astype(np.uint32)
    ignored = np.where(rng.random(n) < 0.1, 1 - hit, 0).astype(np.uint32)
    score = np.sort(rng.integers(0, levels, n) / levels)[::-1].copy()
    columns = (
        np.array([0]), np.array([n]), image, score, np.zeros(n, np.uint16), hit, ignored,
        np.array([0, 2 * truths]), np.arange(2 * truths, dtype=np.int32) // 2, np.ones(2 * truths, np.uint8), 1, 100,
    )  # fmt: skip
    counts = np.ones((3, truths, 32), np.uint8)
    counts[0] = rng.poisson(1.0, (truths, 32))
    counts[1:, np.arange(truths), np.arange(truths) % 32] = 0  # few units are left out
    rows = counts.transpose(0, 2, 1).reshape(96, truths).astype(float)
    real = _native.Ranked(*columns).figures(rows, FIGURES["best_f1"], np.linspace(0, 1, 2))[0]
    for part, expected in ((counts[:1], real[:32]), (counts[1:], real[32:]), (counts, real)):
        counted = _native.Ranked(*columns).draws(part, 32 * len(part), FIGURES["best_f1"], np.linspace(0, 1, 2))[0]
        assert np.array_equal(counted, expected)


def one_class(hit: Floats, image: Floats, truths: Floats, ignored: Floats | None = None) -> tuple[Any, ...]:
    """The columns of a class with falling scores, without the thresholds and the most of an image."""
    n, bits = len(hit), np.zeros(len(hit), np.uint32) if ignored is None else ignored
    return (
        np.array([0]), np.array([n]), image.astype(np.int32), -np.arange(n, dtype=float), np.zeros(n, np.uint16),
        hit.astype(np.uint32), bits, np.array([0, len(truths)]), truths.astype(np.int32), np.ones(len(truths), np.uint8),
    )  # fmt: skip


def test_what_an_image_moves_by_hand() -> None:
    """A false positive above 40 hits, each in an image of its own: precision is at most 40 / 41, at the end, and all hits
    have that envelope. Without an image the area is (40 p - what it moves) / truths, with p = 40 / 41."""
    hit, image = np.arange(41) > 0, np.arange(41)
    columns, grid = one_class(hit, image, np.arange(1, 41)), np.linspace(0, 1, 101)
    value, recall = _native.Ranked(*columns, 1, 100).left_out(image.astype(np.int32), 41, FIGURES["coco"], grid)
    p = 40 / 41
    without_miss = (40 * p + 40 * p / 41) / 40
    without_hit = (40 * p - p - (1 - p) * 40 / 41) / 39
    np.testing.assert_allclose(value[:, 0], [without_miss] + [without_hit] * 40, rtol=1e-14)
    np.testing.assert_allclose([without_miss, without_hit], [1, 39 / 40], atol=1e-3)  # what they are in truth
    assert np.array_equal(recall, np.ones((41, 1)))
    value, _ = _native.Ranked(*columns, 1, 100).left_out(image.astype(np.int32), 41, FIGURES["best_f1"], grid)
    np.testing.assert_allclose(value[:, 0], [80 / 80] + [2 * 39 / (40 + 39)] * 40, rtol=1e-15)


@pytest.mark.parametrize("kind", ["coco", "step", "best_f1", "recall"])
def test_what_groups_of_images_move_is_near_what_is_read_without_them(kind: str) -> None:
    """The area under the envelope, which the figure on the grid moves with, and the others, with ignored detections."""
    rng = np.random.default_rng(4)
    units, truths, n = 1500, 3000, 9000
    image, owner = rng.integers(0, units, n), np.sort(rng.integers(0, units, truths))
    hit = np.zeros((n, 3), bool)
    hit[:, 0] = rng.random(n) < 0.9 * np.exp(-4 * np.arange(n) / n)
    hit[:, 1] = hit[:, 0] & (rng.random(n) < 0.7)
    hit[:, 2] = hit[:, 1] & (rng.random(n) < 0.5)
    bits = (hit @ [1, 2, 4]).astype(np.uint32)
    ignored = np.where(rng.random(n) < 0.05, 7 & ~bits, 0).astype(np.uint32)
    columns = (*one_class(bits, image, owner, ignored), 3, 100)
    group = rng.integers(-1, 500, units).astype(np.int32)
    grid = np.linspace(0, 1, 101)
    value, recall = _native.Ranked(*columns).left_out(group, 500, FIGURES[kind], grid)
    rows = (group != np.arange(500)[:, np.newaxis]).astype(float)
    exact, exact_recall = _native.Ranked(*columns).figures(rows, FIGURES["voc" if kind == "coco" else kind], grid)
    if kind == "coco":
        whole = [
            _native.Ranked(*columns).figures(np.ones((1, units)), FIGURES[name], grid)[0] for name in ("coco", "voc")
        ]
        exact += whole[0] - whole[1]
    if kind != "best_f1":
        np.testing.assert_allclose(recall, exact_recall, rtol=1e-14)
    if kind != "recall":
        spread = exact.std(axis=0)
        if kind == "best_f1":  # it is read where it is best with all images, and may be better elsewhere
            assert (value <= exact + 1e-15).all()
            assert (np.abs(value - exact) < 1e-15).mean() > 0.5
        else:
            assert (np.sqrt(((value - exact) ** 2).mean(axis=0)) < 0.1 * spread).all()
        np.testing.assert_allclose(value.std(axis=0), spread, rtol=0.05)
        np.testing.assert_allclose(value.mean(axis=0), exact.mean(axis=0), rtol=2e-4)


@pytest.mark.parametrize("kind", ["coco", "voc11", "step", "best_f1", "recall"])
def test_classes_of_few_images_are_read_without_each_group(kind: str) -> None:
    """To the bit what rows of counts give, whose mean is over the classes that keep truth."""
    rng = np.random.default_rng(9)
    parts = []
    for _ in range(12):
        truths = rng.integers(0, 40, rng.integers(0, 4))
        image = np.concatenate([truths, rng.integers(0, 40, rng.integers(0, 6))])
        hit = np.where(np.arange(len(image)) < len(truths), rng.integers(0, 4, len(image)), 0)
        order = rng.permutation(len(image))
        parts.append(one_class(hit[order], image[order], truths))
    begin = np.cumsum([0] + [len(part[2]) for part in parts])
    first = np.cumsum([0] + [len(part[8]) for part in parts])
    joined = [np.concatenate([part[i] for part in parts]) for i in range(10)]
    columns = (begin[:-1], begin[1:], *joined[2:7], first, *joined[8:], 2, 100)
    group = rng.integers(-1, 30, 40).astype(np.int32)
    counts = np.ones((1, 40, 32), np.uint8)
    counts[0, group >= 0, group[group >= 0]] = 0
    grid = np.linspace(0, 1, {"coco": 101, "voc11": 11}.get(kind, 2))
    expected = _native.Ranked(*columns).draws(counts, 30, FIGURES[kind], grid)
    for one, other in zip(_native.Ranked(*columns).left_out(group, 30, FIGURES[kind], grid), expected, strict=True):
        assert np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("kind", ["coco", "step", "best_f1", "recall"])
def test_classes_apart_give_the_jackknife_of_all(kind: str) -> None:
    """To the bit, as workers that hold a class each need it: 1,200 images are left out in groups."""
    state = measured(*draw_boxes(np.random.default_rng(6), 1200))
    curve, weights = RankingFigure(RANKING, kind), JACKKNIFE.bind(state.units)
    block = state.blocks[RANKING]
    assert weights.rows >= MANY_GROUPS
    whole = curve.read(block, weights, state.metadata)
    joined = curve.join(curve.read_group(block.one(k), weights) for k in range(block.groups))
    assert np.array_equal(whole.figure, joined.figure)
    assert np.array_equal(whole.recall, joined.recall, equal_nan=True)


def test_pieces_are_the_same_draws() -> None:
    keys = unit_keys(np.arange(40_000))
    drawn = BootstrapDraws(keys, np.ones(len(keys)), 3, 200)
    pieces = list(drawn.pieces())
    assert len(pieces) > 1
    for way in ("blocks", "counts"):
        whole = [np.concatenate(list(getattr(one, way)())) for one in (drawn, *pieces)]
        assert np.array_equal(whole[0], np.concatenate(whole[1:]))
    counts = np.concatenate(list(drawn.counts() or ()))  # (groups, units, 32), padded with further draws
    rows = counts.transpose(0, 2, 1).reshape(-1, len(keys))[:200]
    assert np.array_equal(rows, np.concatenate(list(drawn.blocks())))


def test_what_is_found_without_error_is_one_in_every_draw() -> None:
    truth, _ = draw_boxes(np.random.default_rng(1), 60)
    truth["crowd"] = np.zeros(len(truth["image"]), bool)
    report = sy.evaluate("boxes", truth, perfect_boxes(truth), ["map", "map50", "ar@100"], draws=200, save_draws=True)
    for name in ("map", "map50", "ar@100"):
        assert (report[name].draws == 1).all()
        assert report[name].interval == pytest.approx((0.025 ** (1 / 60), 1.0))  # 60 images that agree


def test_weights_of_images_are_not_counted() -> None:
    keys = unit_keys(np.arange(300))
    assert BootstrapDraws(keys, np.full(300, 0.5), 0, 100).counts() is None
    assert BootstrapDraws(keys, np.ones(300), 0, 100, copies=np.full(300, 2)).counts() is None


def test_a_model_against_itself_has_no_difference() -> None:
    truth, predicted = draw_boxes(np.random.default_rng(2), 220)
    difference = sy.compare("boxes", truth, predicted, predicted, ["map", "ar@10"], draws=100)
    for name in ("map", "ar@10"):
        assert (difference[name].difference, difference[name].p) == (0, 1.0)
        assert difference[name].interval == (0.0, 0.0)


def test_bad_counts_are_refused() -> None:
    state = measured(*draw_boxes(np.random.default_rng(0), 20))
    counts, grid = np.ones((1, 20, 32), np.uint8), np.linspace(0, 1, 101)
    good, coco = RankingFigure(RANKING, "coco").native_ranking(state.blocks[RANKING]), FIGURES["coco"]
    for message, *arguments in (
        ("32 rows side by side", np.ones((1, 20, 16), np.uint8), 16, coco, grid),
        ("out of range", np.ones((1, 19, 32), np.uint8), 32, coco, grid),
        ("so many rows", counts, 33, coco, grid),
        ("so many rows", counts, 0, coco, grid),
        ("cannot be counted", counts, 32, FIGURES["voc"], grid),
        ("too many points", counts, 32, coco, np.linspace(0, 1, 128)),
        ("must be even", counts, 32, coco, grid**2),
    ):
        with pytest.raises(ValueError, match=message):
            good.draws(*arguments)
    with pytest.raises(TypeError):
        good.draws(counts.astype(float), 32, coco, grid)


def test_the_interval_of_map_holds_what_other_test_sets_score() -> None:
    """Drawn test sets of a population with many rare classes, where draws of mAP all lean upward."""
    rng = np.random.default_rng(5)
    images, classes, sets, size = 6000, 40, 60, 300
    image = np.repeat(np.arange(images), rng.poisson(4, images))
    label = rng.choice(classes, len(image))
    x = 100.0 * (np.arange(len(image)) - np.searchsorted(image, image))  # apart from each other
    truth = {"image": image, "label": label, "x": x, "y": 0 * x, "w": 0 * x + 50, "h": 0 * x + 50}
    result = np.flatnonzero(rng.random(len(image)) < 0.7)
    false = rng.choice(image, len(image))
    pred = {
        "image": np.concatenate([image[result], false]),
        "label": np.concatenate([label[result], rng.choice(classes, len(false))]),
        "x": np.concatenate([x[result] + rng.exponential(8, len(result)), np.full(len(false), 5000.0)]),
        "score": np.concatenate([rng.beta(4, 2, len(result)), rng.beta(2, 4, len(false))]),
    }
    pred |= {"y": 0 * pred["x"], "w": 0 * pred["x"] + 50, "h": 0 * pred["x"] + 50}
    whole = measured(truth, pred)
    metric = catalogue.parse("map", "boxes")
    values, intervals, leaning = [], [], 0
    for k in range(sets):
        part = whole.take(np.sort(rng.choice(len(whole), size, replace=False)))
        one = score(part, [metric], Request("boxes", draws=200, seed=k, save_draws=True))["map"]
        values.append(one.value)
        intervals.append(one.interval)
        leaning += float(np.mean(one.draws)) > one.value
    low, high = np.array(intervals).T
    assert leaning == sets
    # 95 % of 60 are 57; chance alone gives fewer than 52 once in 100 times.
    assert np.count_nonzero((low <= np.mean(values)) & (np.mean(values) <= high)) >= 52

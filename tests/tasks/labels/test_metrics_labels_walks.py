"""Walks down rankings of labels, beside a walk written out: under all kinds of weights, in parts, and by histograms."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from support.made import in_turn, pairs_of

from steelyard.core.plan import POINT, UNITS, WeightPlan
from steelyard.core.ranking import RankingBlock
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.weights import EachUnit, LeaveGroupOut, Role
from steelyard.tasks.labels import walks
from steelyard.tasks.labels.walks import NotedWalk, PairWalk, Ranked, Scores, Walk, positive_place, walk_rankings

READINGS = ["ap", "auc", "best_f1", "best_threshold", "tpr"]
ROWS = 24


def written_out(reading: str, score: Any, positive: Any, weight: Any, limit: float = 0.0) -> float:
    """A reading by its definition: over the distinct scores, from the highest down."""
    hits, others = weight[positive].sum(), weight[~positive].sum()
    if hits <= 0 or (others <= 0 and reading in ("auc", "tpr")):
        return math.nan
    area, best, at, share, before = 0.0, -1.0, math.nan, 0.0, (0.0, 0.0)
    for threshold in sorted(set(score[weight > 0].tolist()), reverse=True):
        tp, fp = weight[positive & (score >= threshold)].sum(), weight[~positive & (score >= threshold)].sum()
        if reading == "ap":
            area += (tp - before[0]) / hits * tp / (tp + fp)
        elif reading == "auc":
            area += (fp - before[1]) / others * (tp + before[0]) / 2 / hits
        f1 = 2 * tp / (tp + fp + hits)
        if f1 > best + 1e-12:
            best, at = f1, threshold
        if others > 0 and fp / others <= limit + 1e-12:
            share = tp / hits
        before = tp, fp
    return float({"ap": area, "auc": area, "best_f1": best, "best_threshold": at, "tpr": share}[reading])


def drawn(weights: bool, grouped: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Rows of three classes with scores of one digit, so that many are equal."""
    rng = np.random.default_rng(5)
    label = rng.integers(0, 3, ROWS)
    scores = np.round(rng.normal(size=(ROWS, 3)) + np.eye(3)[label], 1)
    truth: dict[str, Any] = {"label": [f"c{code}" for code in label]}
    if weights:
        truth["weight"] = rng.integers(0, 4, ROWS) / 2
    if grouped:
        truth["group"] = np.sort(rng.integers(0, 8, ROWS))
    return truth, {f"score:c{code}": scores[:, code] for code in range(3)}


PLANS = [POINT, UNITS, WeightPlan(Role.JACKKNIFE), WeightPlan(Role.DRAWS, seed=3, rows=40)]


@pytest.mark.parametrize("reading", READINGS)
def test_walks(reading: Any) -> None:
    for weights, grouped in itertools.product([False, True], [False, True]):
        check_walks(reading, weights, grouped)


def check_walks(reading: Any, weights: bool, grouped: bool) -> None:
    truth, predicted = drawn(weights, grouped)
    pairs = pairs_of("labels", truth, predicted)
    label = np.array(truth["label"])[pairs.rows]
    given = {name: np.array(column)[pairs.rows] for name, column in predicted.items()}
    own = np.array(truth.get("weight", np.ones(ROWS)))[pairs.rows]
    limit = 0.3
    one, each, pooled = (Walk(Scores(*of), reading, limit) for of in (("one", "c1"), ("each",), ("pooled",)))
    by_pair = PairWalk(Scores("pairs"), reading, limit)
    state = State.of(pairs, [walk.ranking for walk in (one, each, pooled, by_pair)])
    for plan in PLANS:
        totals = state.totals(plan)
        rows = np.concatenate(list(plan.bind(state.units).blocks())) if plan is not UNITS else np.eye(len(state))
        assert totals[each].shape == (len(rows), 3)
        assert totals[by_pair].shape == (len(rows), 3, 3)
        for k in {0, len(rows) // 2}:
            weight = rows[k][pairs.owned_pairs[1]] * own
            expected = [
                written_out(reading, given[f"score:{c}"], label == c, weight, limit) for c in ("c0", "c1", "c2")
            ]
            close = {"rel": 1e-6, "abs": 1e-6, "nan_ok": True}
            assert totals[each][k].tolist() == pytest.approx(expected, **close)
            assert float(totals[one][k]) == pytest.approx(expected[1], **close)
            score = np.stack([given[f"score:c{code}"] for code in range(3)], axis=1).ravel()
            positive = np.stack([label == f"c{code}" for code in range(3)], axis=1).ravel()
            together = written_out(reading, score, positive, np.repeat(weight, 3), limit)
            assert float(totals[pooled][k]) == pytest.approx(together, **close)
            for a, b in ((0, 1), (1, 0), (2, 0), (1, 1)):
                kept = np.isin(label, [f"c{a}", f"c{b}"])
                alone = written_out(
                    reading, given[f"score:c{a}"][kept], label[kept] == f"c{a}", weight[kept], limit
                ) if a != b else math.nan  # fmt: skip
                if weight[label == f"c{b}"].sum() > 0:
                    assert float(totals[by_pair][k, a, b]) == pytest.approx(alone, **close)


def rankings(labels: list[str], scores: list[float], of: Any = "one", **more: Any) -> tuple[Any, RankingBlock]:
    """The ranking of rows of two classes by the score of b."""
    pairs = pairs_of("labels", {"label": labels, **more}, {"score": scores})
    return pairs, Scores(of).measure(pairs, SharedCache())


def test_the_ranking() -> None:
    pairs, block = rankings(["b", "a", "b", "a"], [1.0, 3.0, 3.0, -1.0], weight=[1.0, 2.0, 3.0, 4.0])
    assert positive_place(pairs) == 1
    events = block.events
    assert (events.begin.tolist(), events.unit.tolist()) == ([0, 4], [1, 2, 0, 3])
    assert {name: column.tolist() for name, column in events.columns.items()} == {
        "score": [3, 3, 1, -1], "positive": [0, 1, 1, 0], "weight": [2, 3, 1, 4],
    }  # fmt: skip
    assert (block.axis, events.unit.dtype, len(block.positives)) == ("", np.int32, 0)
    each = Scores("each").measure(pairs, SharedCache())
    assert (each.axis, each.events.begin.tolist()) == ("class", [0, 4, 8])
    assert each.events.columns["score"].tolist() == [1, -1, -3, -3, 3, 3, 1, -1]
    assert each.events.columns["positive"].tolist() == [1, 0, 1, 0, 0, 1, 1, 0]
    assert each.events.unit.tolist() == [3, 0, 1, 2, 1, 2, 0, 3]
    with_code = Scores("pairs").measure(pairs, SharedCache())
    assert with_code.events.columns["code"].tolist() == [0, 1, 0, 1, 0, 1, 1, 0]
    pooled = Scores("pooled").measure(pairs, SharedCache())
    assert pooled.events.columns["score"].tolist() == [3, 3, 1, 1, -1, -1, -3, -3]
    assert pooled.events.unit.tolist() == [1, 2, 0, 3, 0, 3, 1, 2]
    assert pooled.events.columns["positive"].tolist() == [0, 1, 1, 1, 0, 0, 1, 0]
    assert pooled.events.columns["weight"].tolist() == [2, 3, 1, 4, 1, 4, 2, 3]


def test_rankings_of_nothing() -> None:
    labels = pairs_of("labels", {"label": ["a", "b", "c"]}, {"label": ["a", "b", "c"]})
    assert positive_place(labels) == -1
    for of, groups, axis in (("one", 1, ""), ("pooled", 1, ""), ("each", 3, "class"), ("pairs", 3, "class")):
        block = Scores(of).measure(labels, SharedCache())  # type: ignore[arg-type]
        assert (block.axis, block.events.begin.tolist()) == (axis, [0] * (groups + 1))
        assert sorted(block.events.columns) == ["positive", "score"]
    scored = pairs_of("labels", {"label": ["a", "b", "c"]}, {f"score:{c}": [1.0, 0.0, 0.0] for c in "abc"})
    assert len(Scores("one").measure(scored, SharedCache()).events) == 0
    assert len(Scores("one", "a").measure(scored, SharedCache()).events) == 3
    unknown = Scores("one", "z").measure(scored, SharedCache()).events
    assert unknown.columns["score"].tolist() == [-math.inf] * 3
    sets = pairs_of("labels", {"labels": ["a", "b"]}, {"score:a": [1.0, 0.0], "score:b": [1.0, 0.0]})
    assert positive_place(sets) == -1
    assert len(Scores("pairs").measure(sets, SharedCache()).events) == 0
    assert len(Scores("each").measure(sets, SharedCache()).events) == 4
    for walk in (Walk(Scores("each"), "ap"), PairWalk(Scores("pairs"), "ap")):
        state = State.of(labels, [walk.ranking])
        assert np.isnan(state.totals(POINT)[walk]).all()


def test_the_threshold_is_the_highest_of_equals() -> None:
    """F1 is 2/3 at 3, with one of two hits, and at 1, with both and two others."""
    pairs, _ = rankings(["b", "a", "a", "b"], [3.0, 2.0, 2.0, 1.0])
    for walk in (Walk(Scores(), "best_threshold"), NotedWalk(Scores(), "best_threshold")):
        assert State.of(pairs, [walk.ranking]).totals(POINT)[walk].tolist() == [3]
    assert (Walk.drawn, NotedWalk.drawn) == (True, False)
    alone, _ = rankings(["a", "a"], [3.0, 2.0])
    walk = Walk(Scores("one", "b"), "best_threshold")
    assert np.isnan(State.of(alone, [walk.ranking]).totals(POINT)[walk]).all()


def test_walks_of_no_ranking() -> None:
    weights = POINT.bind(State.of(rankings(["a", "b"], [1.0, 2.0])[0], [Scores()]).units)
    assert walk_rankings([], weights, 0, 0.0).shape == (1, 0)


def test_ends_of_equal_scores() -> None:
    columns = {"score": np.array([3.0, 3.0, 1.0]), "positive": np.array([1, 0, 1], np.uint8)}
    ranked = Ranked(np.array([5, 6, 7], np.int32), columns)
    assert ranked.last.tolist() == [0, 1, 1]
    assert (len(ranked.value), ranked.owner.dtype, ranked.owner.tolist()) == (0, np.int64, [5, 6, 7])
    assert Ranked(ranked.unit, {**columns, "weight": np.array([1.0, 2.0, 3.0])}).value.tolist() == [1, 2, 3]


def test_large_rankings_are_walked_with_real_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = pairs_of("labels", *drawn(False, False))
    walk = Walk(Scores("each"), "auc")
    state = State.of(pairs, [walk.ranking])
    for plan in (WeightPlan(Role.JACKKNIFE), WeightPlan(Role.DRAWS, seed=1, rows=50)):
        counted = state.totals(plan)[walk]
        assert counted.shape == (plan.rows or ROWS, 3)
        monkeypatch.setattr(walks, "MOST_COUNTED", ROWS)
        np.testing.assert_allclose(state.totals(plan)[walk], counted, rtol=1e-6)
        monkeypatch.undo()
    assert (walks.MOST_COUNTED, walks.COUNTED) == (1 << 24, (0, 1))
    assert walks.READINGS == {"ap": 0, "auc": 1, "best_f1": 2, "best_threshold": 3, "tpr": 4}


@in_turn("reading", READINGS)
def test_groups_left_out_and_some_units(reading: Any) -> None:
    truth, predicted = drawn(False, True)
    pairs = pairs_of("labels", truth, predicted)
    state = State.of(pairs, [Scores("each")])
    walk, block = Walk(Scores("each"), reading, 0.3), state.blocks[Scores("each")]
    assert isinstance(block, RankingBlock)
    units = len(state)
    label = np.array(truth["label"])[pairs.rows]
    given = {name: np.array(column)[pairs.rows] for name, column in predicted.items()}

    def expected(row: Any) -> list[float]:
        weight = row[pairs.owned_pairs[1]]
        return [written_out(reading, given[f"score:{c}"], label == c, weight, 0.3) for c in ("c0", "c1", "c2")]

    group = np.arange(units, dtype=np.int32) % 4 - 1
    left_out = LeaveGroupOut(np.ones(units), group, 3)
    values = walk.read(block, left_out, state.metadata)
    assert values.shape == (3, 3)
    for k in range(3):
        assert values[k].tolist() == pytest.approx(expected((group != k).astype(float)), nan_ok=True)
    some = walk.read(block, EachUnit(units, 2, 5), state.metadata)
    assert some.shape == (3, 3)
    for k in range(3):
        assert some[k].tolist() == pytest.approx(expected(np.eye(units)[2 + k]), nan_ok=True)


class Sizes:
    """What is known of a group before its events come."""

    def __init__(self, block: RankingBlock) -> None:
        self.tables = {"event": block.events, "positive": block.positives}

    def rows(self, table: str) -> int:
        return len(self.tables[table])

    def sum(self, table: str, column: str) -> int:
        return int(self.tables[table].columns[column].sum())


@in_turn(("of", "reading"), list(itertools.product(["each", "pairs"], READINGS)))
def test_rankings_in_parts(of: Any, reading: Any) -> None:
    """Cut between scores that differ, at every third such place: the same as the whole gives."""
    pairs = pairs_of("labels", *drawn(False, False))
    curve: Any = Walk(Scores(of), reading, 0.3) if of == "each" else PairWalk(Scores(of), reading, 0.3)
    state = State.of(pairs, [curve.ranking])
    block: Any = state.blocks[curve.ranking]
    whole, weights = state.totals(POINT)[curve], POINT.bind(state.units)
    answers = []
    for k in range(3):
        one = block.one(k)
        stream = curve.stream(Sizes(one), ROWS)
        if of == "pairs" and reading not in ("ap", "auc"):
            assert stream is None
            return
        score = one.events.columns["score"]
        cuts = [0, *(np.flatnonzero(score[1:] != score[:-1]) + 1)[::3].tolist(), len(score)]
        for start, stop in itertools.pairwise(cuts):
            stream.feed({name: column[start:stop] for name, column in one.events.columns.items()})
        answers.append(stream.result())
        (alone,) = curve.read_group(one, weights)
        np.testing.assert_allclose(answers[-1][0], alone, rtol=1e-14)
    np.testing.assert_allclose(curve.join(iter(answers)), whole, rtol=1e-14)


def test_pairs_of_classes_in_parts_by_hand() -> None:
    """Rows a, b, a, c, b by falling score of a, then more: against b both hits stand above one of two."""
    for reading, against_b, against_c in (("auc", (2 + 1) / 4, 1.0), ("ap", (1 + 2 / 3) / 2, 1.0)):
        stream: Any = PairWalk(Scores("pairs"), reading).stream(Sizes(rankings(["a", "b"], [1.0, 2.0])[1]), 5)  # type: ignore[arg-type]
        parts = [([5.0], [1], [0]), ([4.0], [0], [1]), ([3.0], [1], [0]), ([2.0, 1.0], [0, 0], [2, 1])]
        for score, positive, code in parts:
            stream.feed({"score": np.array(score), "positive": np.array(positive), "code": np.array(code)})
        (values,) = stream.result()
        assert values.tolist() == [[pytest.approx(math.nan, nan_ok=True), pytest.approx(against_b), against_c]]
    nothing: Any = PairWalk(Scores("pairs"), "ap").stream(Sizes(rankings(["a", "b"], [1.0, 2.0])[1]), 0)
    assert nothing.result()[0].shape == (1, 0)


def test_histograms() -> None:
    """Two bins: above one half stand b and a, below a and b; the ends are those of all orders inside a bin."""
    pairs = pairs_of("labels", {"label": ["b", "a", "a", "b"]}, {"probability": [0.9, 0.6, 0.4, 0.1]})
    one = Walk(Scores(), "auc")
    block = State.of(pairs, [one.ranking]).blocks[one.ranking]
    assert isinstance(block, RankingBlock)
    counts = one.histogram(block, 2)
    assert {name: column.tolist() for name, column in counts.items()} == {"counts": [[[1, 1], [1, 1]]]}
    facts = pairs.metadata
    assert [one.bound_reading(counts, facts, upper).tolist() for upper in (False, True)] == [[1 / 4], [3 / 4]]
    average = Walk(Scores(), "ap")
    # all others first: 1/2 and 2/4; all hits first: 1 and 2/3
    assert [average.bound_reading(counts, facts, upper).tolist() for upper in (False, True)] == [
        [pytest.approx(1 / 2)], [pytest.approx(5 / 6)],
    ]  # fmt: skip
    both = PairWalk(Scores("pairs"), "auc")
    paired = State.of(pairs, [both.ranking]).blocks[both.ranking]
    assert isinstance(paired, RankingBlock)
    by_class = both.histogram(paired, 2)
    assert by_class["counts"].tolist() == [[[1, 1], [1, 1]], [[1, 1], [1, 1]]]
    ends = both.bound_reading(by_class, facts, True)
    assert ends.shape == (1, 2, 2)
    assert ends[0, 0, 1] == ends[0, 1, 0] == 3 / 4
    assert np.isnan(ends[0, 0, 0])
    each = Walk(Scores("each"), "auc")
    group = State.of(pairs, [each.ranking]).blocks[each.ranking]
    assert isinstance(group, RankingBlock)
    assert each.bound_reading(each.histogram(group, 2), facts, False).tolist() == [[1 / 4, 1 / 4]]


@in_turn("reading", READINGS)
def test_what_histograms_bound(reading: Any) -> None:
    for curve in (Walk(Scores(), reading), PairWalk(Scores("pairs"), reading)):
        assert curve.approximate is (reading in ("ap", "auc"))


def test_a_class_without_rows_has_no_pair() -> None:
    """c has a column and no row: no value stands in its row or its column."""
    truth = {"label": ["a", "b", "b"]}
    given = {"score:a": [0.9, 0.2, 0.1], "score:b": [0.1, 0.8, 0.2], "score:c": [0.0, 0.0, 0.7]}
    pairs = pairs_of("labels", truth, given)
    curve = PairWalk(Scores("pairs"), "auc")
    state = State.of(pairs, [curve.ranking])
    nan = math.nan
    values = state.totals(POINT)[curve][0]
    np.testing.assert_array_equal(values, [[nan, 1, nan], [1, nan, nan], [nan, nan, nan]])
    counts = curve.histogram(state.blocks[curve.ranking], 10)  # type: ignore[arg-type]
    np.testing.assert_array_equal(curve.bound_reading(counts, pairs.metadata, False)[0], values)

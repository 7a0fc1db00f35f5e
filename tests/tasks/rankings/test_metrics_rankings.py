"""Metrics of rankings: settings, labels, numbers by hand, and what is said beside them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.made import (
    by_unit,
    check_alone,
    check_choices,
    check_left_out,
    check_range,
    examples,
    in_turn,
    labels,
    metric,
    pairs_of,
    state_of,
    values,
)
from support.refusal import refuses
from support.shown import agree

import steelyard as sy
from steelyard.core.plan import POINT
from steelyard.core.statistic import SharedCache
from steelyard.tasks.rankings import views as figures
from steelyard.tasks.rankings.sums import ALL, FORMULAS, Answerable, Hits, QueryCount

TRUTH: dict[str, Any] = {
    "q1": {"a": 2, "b": 0, "c": 1, "d": -1},
    "q2": {"a": 1},
    "q3": {"a": 0, "b": -1},
    "q4": {"z": 3},
}
RUN: dict[str, Any] = {
    "q1": {"b": 0.9, "a": 0.8, "x": 0.7, "c": 0.6, "d": 0.5},
    "q2": {"a": 0.5},
    "q3": {"a": 0.5, "b": 0.1},
}
EVERY = [
    "ap",
    "map",
    "precision",
    "recall",
    "f1",
    "hit",
    "success",
    "mrr",
    "rprec",
    "bpref",
    "ndcg",
    "rbp",
    "err",
    "judged",
]


def test_examples() -> None:
    assert examples("rankings") == {
        "ap": ["ap", "ap@10", "ap@10(norm=min)", "ap@10(norm=hits)"],
        "map": ["map", "map@10", "map@10(norm=min)", "map@10(norm=hits)"], "precision": ["precision@10"],
        "recall": ["recall", "recall@10"], "f1": ["f1@10"], "hit": ["hit", "hit@10"], "success": ["success", "success@10"],
        "mrr": ["mrr", "mrr@10"], "rprec": ["rprec"], "bpref": ["bpref"],
        "ndcg": ["ndcg", "ndcg@10", "ndcg@10(gain=exponential)"], "rbp": ["rbp"], "err": ["err"], "judged": ["judged@10"],
        "minp": ["minp"], "map_trapezoid": ["map_trapezoid"], "precision_to_last": ["precision_to_last@10"],
        "tpir": ["tpir@0.01"], "fnir": ["fnir@0.01"],
    }  # fmt: skip


def test_labels() -> None:
    assert labels("rankings", "map", "map@5", "ndcg", "ndcg@3", "err", "err@20", "judged", "judged@7", "rbp", "hit@1") == [
        "Mean average precision", "Mean average precision at 5", "Normalised discounted gain", "Normalised discounted gain at 3",
        "Expected reciprocal rank", "Expected reciprocal rank at 20", "Judged share at 10", "Judged share at 7",
        "Rank-biased precision", "Hit rate at 1",
    ]  # fmt: skip
    assert metric("rankings", "judged").label == "Judged share at 10"


@in_turn("name", EVERY)
def test_what_all_have(name: str) -> None:
    check_choices("rankings", f"{name}(empty={{}})", "empty", "skip", "zero")
    rules = ("id", "input", "single", *(["pooled"] if name == "map" else []))
    check_choices("rankings", f"{name}(ties={{}})", "ties", *rules)
    if name not in ("rprec", "bpref", "rbp"):
        remedy = "It must be a whole number from 1 up."
        taken, not_taken = ["1", "1000", str(ALL - 1)], ["0", "-1", "1.5", "true", "x", str(ALL)]
        check_range("rankings", f"{name}@{{}}", "k", taken, not_taken, remedy)
    if name not in ("err", "judged"):
        check_range(
            "rankings", f"{name}(level={{}})", "level", ["0", "0.5", "9"], ["-1", "x"], "It must be a number from 0 up."
        )


def test_what_some_have() -> None:
    for name in ("ap", "map"):
        check_choices("rankings", f"{name}(norm={{}})", "norm", "relevant", "min", "hits")
    check_choices("rankings", "ndcg(gain={})", "gain", "linear", "exponential")
    check_choices("rankings", "rbp(gain={})", "gain", "binary", "graded")
    check_range(
        "rankings", "rbp(p={})", "p", ["0.01", "0.99"], ["0", "1.5", "x"], "It must be a number above 0 and at most 1."
    )
    with refuses("E-invalid-spec", "'rbp'", "1"):
        metric("rankings", "rbp(p=1)")  # fmt: skip
    check_range("rankings", "err(max={})", "max", ["1", "60"], ["0", "61", "x"], "It must be a number from 1 to 60.")


LOG3, LOG5 = math.log2(3), math.log2(5)
FIRST = {  # of q1: b is not relevant, a has 2, x nothing, c has 1, d is not judged
    "map": (1 / 2 + 2 / 4) / 2, "map@2": (1 / 2) / 2, "map@1(norm=min)": 0, "map@2(norm=min)": (1 / 2) / 2,
    "map@2(norm=hits)": 1 / 2, "map(level=2)": 1 / 2, "precision": 2 / 5, "precision@2": 1 / 2, "precision@10": 2 / 10,
    "recall": 1, "recall@2": 1 / 2, "f1": 4 / (5 + 2), "f1@2": 2 / (2 + 2), "hit": 1, "hit@1": 0, "success@2": 1, "mrr": 1 / 2,
    "mrr@1": 0, "rprec": 1 / 2, "bpref": (0 + 0) / 2, "ndcg": (2 / LOG3 + 1 / LOG5) / (2 + 1 / LOG3),
    "ndcg@2": (2 / LOG3) / (2 + 1 / LOG3), "ndcg(gain=exponential)": (3 / LOG3 + 1 / LOG5) / (3 + 1 / LOG3),
    "ndcg(level=2)": (2 / LOG3) / 2, "rbp": 0.2 * (0.8 + 0.8**3), "rbp(p=0.5)": 0.5 * (0.5 + 0.5**3),
    "rbp(gain=graded)": 0.2 * (2 * 0.8 + 0.8**3), "rbp(level=2)": 0.2 * 0.8,
    "err": (3 / 16) / 2 + (1 / 16) / 4 * (13 / 16), "err@2": (3 / 16) / 2, "err(max=3)": (3 / 8) / 2 + (1 / 8) / 4 * (5 / 8),
    "judged@10": 3 / 5, "judged@2": 1, "judged@4": 3 / 4,
}  # fmt: skip


@in_turn("spec", FIRST)
def test_numbers(spec: str) -> None:
    """q2 is perfect, q3 has nothing relevant and no value, q4 is not in the run and has 0."""
    first, second, third, fourth = by_unit("rankings", TRUTH, RUN, spec)
    assert first == pytest.approx(FIRST[spec])
    assert fourth == 0
    if spec.startswith("judged"):
        assert third == 1 / 2
    else:
        assert math.isnan(third)
    best = {"rbp": 0.2, "rbp(p=0.5)": 0.5, "rbp(gain=graded)": 0.2, "err": 1 / 16, "err@2": 1 / 16, "err(max=3)": 1 / 8,
            "precision@2": 1 / 2, "precision@10": 1 / 10, "f1@2": 2 / 3}.get(spec, 1.0)  # fmt: skip
    if spec.endswith("level=2)"):
        assert math.isnan(second)
    else:
        assert second == pytest.approx(best)


def test_lists_without_a_cut() -> None:
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    truth = {"q": {"a": 1, "z": 1, "b": 0}}
    assert values("rankings", truth, run, "precision", "f1", "ap(norm=min)", "bpref", "judged") == pytest.approx(
        [1 / 3, 2 / 5, 1 / 2, 1 / 2, 2 / 3]
    )


def test_formulas() -> None:
    hits = Hits(*(np.array(column, dtype=float) for column in ([4, 0], [2, 0], [1.5, 0], [2, 0], [7, 3])), 5)  # type: ignore[arg-type]
    expected = {
        "ap": 1.5 / 4, "ap_min": 1.5 / 4, "ap_hits": 1.5 / 2, "precision": 2 / 5, "recall": 2 / 4, "f1": 4 / 9, "hit": 1,
        "mrr": 1 / 2, "judged": 2 / 5,
    }  # fmt: skip
    assert list(FORMULAS) == list(expected)
    for name, value in expected.items():
        first, second = FORMULAS[name](hits)
        assert first == pytest.approx(value), name
        assert math.isnan(second), name
    whole = Hits(hits.relevant, hits.hits, hits.precisions, hits.first, hits.retrieved, None)
    assert whole.length.tolist() == [7, 3]
    assert (FORMULAS["judged"](whole)[0], FORMULAS["precision"](whole)[0]) == (2 / 7, 2 / 7)
    few = Hits(hits.relevant, hits.hits, hits.precisions, hits.first, hits.retrieved, 3)
    assert (FORMULAS["ap_min"](few)[0], few.length) == (0.5, 3)
    nothing = Hits(np.array([1.0]), np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1), None)
    for name in FORMULAS:
        assert FORMULAS[name](nothing).tolist() == [0], name


def test_queries_without_a_relevant_document() -> None:
    assert values("rankings", TRUTH, RUN, "recall", "recall(empty=zero)") == pytest.approx([2 / 3, 2 / 4])
    report = sy.evaluate("rankings", TRUTH, RUN, ["recall", "recall(empty=zero)", "judged"], confidence=None)
    assert [report[spec].n_excluded for spec in report.scores] == [1, 0, 0]
    assert report["recall"].excluded == "queries without a relevant document"
    assert report["recall"].notes == ("1 query is not in the run, which counts as 0.",)
    full = {**RUN, "q4": {"y": 1.0}}
    assert sy.evaluate("rankings", TRUTH, full, ["recall"], confidence=None)["recall"].notes == ()


@in_turn(
    ("spec", "rule", "second"),
    [
        ("mrr", "document id, the larger first", 1 / 2),
        ("mrr(ties=input)", "the order of the input", 1),
        ("mrr(ties=single)", "document id, after rounding to single precision", 1 / 2),
    ],
)
def test_ties(spec: str, rule: str, second: float) -> None:
    truth, run = {"p": {"a": 1}, "q": {"a": 1}}, {"p": {"a": 0.5, "b": 0.5}, "q": {"a": 1.0, "b": 0.5}}
    report = sy.evaluate("rankings", truth, run, [spec], confidence=None)
    assert report[spec].notes == (f"In 1 query judged documents share their score with others; ordered by {rule}.",)
    assert report.units().values[spec].tolist() == [second, 1]
    near = {"p": {"a": 0.5 + 1e-12, "b": 0.5}}
    assert values("rankings", {"p": {"a": 1}}, near, "mrr", "mrr(ties=single)") == [1, 1 / 2]


def test_what_is_kept_of_queries() -> None:
    pairs, work = pairs_of("rankings", TRUTH, RUN), SharedCache()
    assert QueryCount("queries").measure(pairs, work).values.tolist() == [1, 1, 1, 1]
    assert QueryCount("missing").measure(pairs, work).values.tolist() == [0, 0, 0, 1]
    assert QueryCount("tied").measure(pairs, work).values.tolist() == [0, 0, 0, 0]
    for need, expected in (
        (Answerable(1), [1, 1, 0, 1]), (Answerable(0), [1, 1, 1, 1]), (Answerable(2), [1, 0, 0, 1]),
        (Answerable(0, "linear"), [1, 1, 0, 1]), (Answerable(0, "exponential"), [1, 1, 0, 1]), (Answerable(3, "linear"), [0, 0, 0, 1]),
    ):  # fmt: skip
        assert need.measure(pairs, work).values.tolist() == expected
    none = pairs.select(pairs.owner != 1)
    assert Answerable(0).measure(none, SharedCache()).values.tolist() == [1, 0, 1, 1]


def test_degrees_above_the_highest() -> None:
    with refuses("E-out-of-range", "'err'", "2.5", "max=2"):
        sy.evaluate("rankings", {"q": {"a": 2.5}}, {"q": {"a": 1.0}}, ["err(max=2)"], confidence=None)  # fmt: skip
    assert values("rankings", {"q": {"a": 2}}, {"q": {"a": 1.0}}, "err(max=2)") == [3 / 4]
    half = (2**0.5 - 1) / 16
    assert values("rankings", {"q": {"a": 0.5}}, {"q": {"a": 1.0}}, "err", "ndcg") == pytest.approx([half, 1])


def test_hits_are_a_proportion() -> None:
    asked = metric("rankings", "hit@1")
    made = asked.proportions(state_of(pairs_of("rankings", TRUTH, RUN), asked).totals(POINT).only(asked.requirements()))
    assert made is not None
    assert [part.tolist() for part in made] == [[1], [3]]
    assert metric("rankings", "mrr").proportions(None) is None


def test_each_query_left_out() -> None:
    columns = [(q, d, r) for q, docs in TRUTH.items() for d, r in docs.items()]
    truth = {
        "query": [q for q, _, _ in columns],
        "doc": [d for _, d, _ in columns],
        "relevance": [r for _, _, r in columns],
    }
    rows = [(q, d, s) for q, docs in RUN.items() for d, s in docs.items()]
    run = {"query": [q for q, _, _ in rows], "doc": [d for _, d, _ in rows], "score": [s for _, _, s in rows]}
    specs = ["map", "ndcg@2", "recall@2(empty=zero)", "hit@1", "err", "rbp", "judged", "bpref", "rprec", "f1@3"]
    check_left_out("rankings", truth, run, "query", specs)
    check_alone("rankings", truth, run, "query", specs)


def test_depths() -> None:
    """The depths of 1, 2, 3, 5, 10, ... that the longest list reaches."""
    assert figures.DEPTHS == (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
    assert (figures.MOST_QUERIES, figures.MOST_BARS) == (400, 40)
    shown = figures.depth(pairs_of("rankings", TRUTH, RUN))
    assert shown.columns["x"] == [1, 2, 3, 5] * 4
    assert shown.facts["ticks"] == [1, 2, 3, 5]
    recall = shown.columns["y"][4:8]
    assert recall == pytest.approx([(0 + 1 + 0) / 3, (1 / 2 + 1) / 3, (1 / 2 + 1) / 3, (1 + 1) / 3])
    none = figures.depth(pairs_of("rankings", {"q": {"a": 1}}, {"p": {"a": 1.0}}))
    assert (none.columns["x"], none.columns["y"]) == ([1] * 4, [0] * 4)
    weighted = {"query": ["p", "q"], "doc": ["a", "a"], "relevance": [1, 1], "sample_weight": [3.0, 1.0]}
    assert figures.depth(pairs_of("rankings", weighted, {"p": {"a": 1.0}, "q": {"b": 1.0}})).columns["y"] == [0.75] * 4


def test_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = metric("rankings", "mrr")
    state = state_of(pairs_of("rankings", TRUTH, RUN), asked)
    shown = figures.queries(state, asked)
    agree(shown.columns, {"name": ["q4", "q1", "q2"], "value": [0, 1 / 2, 1]})
    monkeypatch.setattr(figures, "MOST_BARS", 3)
    assert figures.queries(state, asked).chart == "bars"
    monkeypatch.setattr(figures, "MOST_BARS", 2)
    monkeypatch.setattr(figures, "MOST_QUERIES", 2)
    agree(figures.queries(state, asked).columns, {"x": [1, 3], "y": [0, 1], "query": ["q4", "q2"]})
    empty = state.take(np.zeros(0, dtype=np.int64))
    assert figures.figures(pairs_of("rankings", TRUTH, RUN), empty, [asked]) == {}

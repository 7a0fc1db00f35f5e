"""Rows of labels as they are measured, by hand: codes, scores by class, what the data hold, and what a state keeps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.made import in_turn, pairs_of, state_of

from steelyard.core.plan import UNITS
from steelyard.core.state import State
from steelyard.core.statistic import RankingReader, SharedCache, Statistic
from steelyard.core.task import Policy
from steelyard.tasks.labels.counts import class_units
from steelyard.tasks.labels.hard import Precision, Recall
from steelyard.tasks.labels.statistics import (
    ClassBins,
    ClassCounts,
    ClassProbabilitySum,
    ConfidenceBins,
    Confusion,
    LabelDistance,
    LabelRows,
    NoChance,
    Present,
    ProbabilitySum,
    RowSum,
    TopHits,
    WeightedRows,
)

FOUR = ["0", "1", "2", "3"]
TRUTH: dict[str, Any] = {"id": FOUR, "label": ["c", "a", "b", "a"]}
GIVEN = {
    "probability:b": [0.2, 0.5, 0.25, 0.0],
    "probability:a": [0.5, 0.3, 0.25, 1.0],
    "probability:c": [0.3, 0.2, 0.5, 0.0],
}
SETS: dict[str, Any] = {"id": FOUR, "labels": ["a|b", "b", "", "a"]}
SOME = Policy("worst", "skip")


def total(pairs: Any, need: Statistic) -> list[Any]:
    """The values of units."""
    return State.of(pairs, [need]).totals(UNITS)[need].tolist()


def read(pairs: Any, curve: RankingReader) -> list[Any]:
    return State.of(pairs, [curve.ranking]).totals(UNITS)[curve].tolist()


def scores(pairs: Any) -> list[Any]:
    given = pairs.scores
    return [given.classes, given.values.tolist()]


def test_codes() -> None:
    pairs = pairs_of("labels", TRUTH, {"id": FOUR[::-1], "label": ["a", "d", "b", "c"]})
    assert pairs.classes == ("a", "b", "c", "d")
    assert pairs.coded_labels.truth.tolist() == [2, 0, 1, 0]
    assert pairs.coded_labels.predicted.tolist() == [2, 1, 3, 0]
    assert pairs.predicted_labels is pairs.coded_labels.predicted
    assert (pairs.scores, pairs.probabilities, pairs.several, pairs.grouped) == (None, None, False, False)
    lacking = pairs_of("labels", TRUTH, {"id": ["1", "9"], "label": ["b", "a"]}, SOME)
    assert lacking.coded_labels.predicted.tolist() == [-1, 1, -1, -1]
    nothing = pairs_of("labels", TRUTH, {"id": [], "label": []}, SOME)
    assert nothing.coded_labels.predicted.tolist() == [-1] * 4


def test_codes_of_sets() -> None:
    pairs = pairs_of("labels", SETS, {"id": FOUR, "labels": ["a", "b", "d", "a"]})
    assert pairs.several
    assert pairs.classes == ("a", "b", "d")
    assert pairs.coded_labels.truth.tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]]
    assert pairs.coded_labels.predicted.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    missing = pairs_of("labels", SETS, {"id": ["1"], "labels": ["b"]}, SOME)
    assert missing.coded_labels.predicted.tolist() == [[0, 0], [0, 1], [1, 1], [0, 1]]  # all that is wrong
    nothing = pairs_of("labels", SETS, {"id": [], "labels": []}, SOME)
    assert nothing.coded_labels.predicted.tolist() == [[0, 0], [1, 0], [1, 1], [0, 1]]
    columns = pairs_of("labels", {"id": FOUR, "label:b": [1, 1, 0, 0], "label:a": [1, 0, 0, 1]}, SETS)
    assert columns.classes == ("a", "b")
    assert (
        columns.coded_labels.truth.tolist()
        == columns.coded_labels.predicted.tolist()
        == [[1, 1], [0, 1], [0, 0], [1, 0]]
    )
    single = pairs_of("labels", {"id": FOUR, "label:b": [1, 1, 0, 0]}, {"id": FOUR, "score:b": [3.0, 2.0, 1.0, 0.0]})
    assert (single.classes, single.predicted_labels) == (("b",), None)
    assert scores(single) == [(0,), [[3], [2], [1], [0]]]


def test_scores_in_the_order_of_classes() -> None:
    pairs = pairs_of("labels", TRUTH, {"id": FOUR, **GIVEN})
    given = pairs.probabilities
    assert given.classes == (0, 1, 2)
    assert given.values.tolist() == [[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.25, 0.25, 0.5], [1, 0, 0]]
    assert pairs.predicted_labels.tolist() == [0, 1, 2, 0]
    assert pairs.metadata.holds == {"labels", "probability:all", "ranked:probability:all"}
    assert pairs.metadata.flags == {"several labels": False}
    assert pairs.metadata.axes["class"].ids == ("a", "b", "c")
    assert pairs.metadata.axes["class"].whole
    both = {"id": FOUR, **GIVEN, "score:a": [1.0, 2.0, 3.0, 4.0], "score:b": [0.0] * 4, "score:c": [9.0, 0.0, 9.0, 9.0]}
    two = pairs_of("labels", TRUTH, both)
    assert two.metadata.holds == {"labels", "probability:all", "ranked:score:all"}
    assert two.predicted_labels.tolist() == [0, 1, 2, 0]  # the probabilities decide
    assert LabelRows(two).ranked_by == "score"
    assert LabelRows(pairs).ranked_by == "probability"


@in_turn(
    ("labels", "predicted", "holds", "decided"),
    [
        (["no", "yes"], {"probability": [0.5, 0.25]},
         {"labels", "probability:yes:2", "ranked:probability:yes:2", "positive:yes"}, [1, 0]),
        (["no", "yes"], {"probability:no": [0.5, 0.25]},
         {"labels", "probability:no:2", "ranked:probability:no:2", "positive:no"}, [0, 1]),
        (["no", "yes"], {"score": [0.5, 0.25]}, {"ranked:score:yes:2", "positive:yes"}, None),
        (["no", "yes"], {"score:no": [0.5, 0.25], "probability": [0.5, 0.75]},
         {"labels", "ranked:score:no:2", "probability:yes:2", "positive:yes"}, [1, 1]),
        (["no", "yes"], {"score:no": [0.5, 0.25], "score:yes": [0.5, 0.75]}, {"labels", "ranked:score:all"}, [0, 1]),
        ([1, 1], {"probability": [0.5, 0.25]},
         {"labels", "probability:1:2", "ranked:probability:1:2", "positive:1"}, [1, 0]),
        (["yes", "yes"], {"probability": [0.5, 0.25]},
         {"probability:yes:1", "ranked:probability:yes:1", "positive:yes"}, None),
    ],
)  # fmt: skip
def test_what_the_data_hold(labels: list[Any], predicted: dict[str, Any], holds: set[str], decided: Any) -> None:
    pairs = pairs_of("labels", {"label": labels}, predicted)
    assert pairs.metadata.holds == holds
    assert (None if pairs.predicted_labels is None else pairs.predicted_labels.tolist()) == decided


def test_sets_from_probabilities() -> None:
    given = {"id": FOUR, "probability:a": [0.5, 0.4, 0.9, 0.0], "probability:b": [0.9, 0.5, 0.1, 0.49]}
    pairs = pairs_of("labels", SETS, given)
    assert pairs.predicted_labels.tolist() == [[1, 1], [0, 1], [1, 0], [0, 0]]
    assert pairs.metadata.holds == {"labels", "probability:all", "ranked:probability:all"}
    by_score = pairs_of(
        "labels", SETS, {name.replace("probability", "score"): column for name, column in given.items()}
    )
    assert by_score.predicted_labels is None
    assert by_score.metadata.holds == {"ranked:score:all"}
    assert by_score.metadata.flags == {"several labels": True}
    assert LabelRows(by_score).predicted_labels.tolist() == [[0, 0]] * 4
    assert total(by_score, ClassCounts()) == [[[0, 0], [a, b], [0, 0]] for a, b in ([1, 1], [0, 1], [0, 0], [1, 0])]


def test_what_is_missing_is_as_bad_as_can_be() -> None:
    inf = math.inf
    one = pairs_of("labels", TRUTH, {"id": ["1"], "score:a": [1.0], "score:b": [2.0], "score:c": [3.0]}, SOME)
    assert scores(one)[1] == [[inf, inf, -inf], [1, 2, 3], [inf, -inf, inf], [-inf, inf, inf]]
    given = pairs_of("labels", TRUTH, {"id": ["1"], **{name: column[1:2] for name, column in GIVEN.items()}}, SOME)
    assert given.probabilities.values.tolist() == [[1, 1, 0], [0.3, 0.5, 0.2], [1, 0, 1], [0, 1, 1]]
    sets = pairs_of("labels", SETS, {"id": ["3"], "score:a": [1.0], "score:b": [2.0]}, SOME)
    assert scores(sets)[1] == [[-inf, -inf], [inf, -inf], [inf, inf], [1, 2]]
    none = pairs_of("labels", TRUTH, {"id": [], "probability:a": [], "probability:b": [], "probability:c": []}, SOME)
    assert none.probabilities.values.tolist() == [[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 1, 1]]
    all_there = pairs_of("labels", TRUTH, {"id": FOUR[::-1], **GIVEN})
    assert all_there.probabilities.values[0].tolist() == [1, 0, 0]


def test_rows_and_classes() -> None:
    rows = LabelRows(pairs_of("labels", {"label": ["no", "yes", "yes"]}, {"probability:no": [0.25, 0.5, 1.0]}))
    assert [rows.place(name) for name in ("no", "yes", "other", 3)] == [0, 1, -1, -1]
    assert rows.scores(0, "probability").tolist() == [0.25, 0.5, 1]
    assert rows.scores(1, "probability").tolist() == [0.75, 0.5, 0]
    assert rows.scores(-1, "probability").tolist() == [0, 0, 0]
    assert rows.matrix("probability").tolist() == [[0.25, 0.75], [0.5, 0.5], [1, 0]]
    assert rows.is_class(1).tolist() == [0, 1, 1]
    assert rows.is_class(-1).tolist() == [0, 0, 0]
    assert rows.at_least(0, 0.5).tolist() == [0, 1, 1]
    assert rows.at_least(1, 0.5).tolist() == [1, 0, 0]
    scored = LabelRows(pairs_of("labels", {"label": ["no", "yes", "yes"]}, {"score": [0.25, 0.5, 1.0]}))
    assert scored.scores(0, "score").tolist() == [-0.25, -0.5, -1]
    assert scored.scores(-1, "score").tolist() == [-math.inf] * 3
    assert scored.at_least(1, 0.5).tolist() == [0, 1, 1]
    assert scored.predicted_labels.tolist() == [-1, -1, -1]
    assert scored.alone


GROUPS = {"id": FOUR, "label": ["a", "b", "a", "b"], "group": ["p", "q", "p", "p"], "weight": [2.0, 0.0, 0.5, 1.0]}
GUESSED = {"id": FOUR, "label": ["a", "a", "b", "b"]}


def test_rows_of_groups() -> None:
    pairs = pairs_of("labels", GROUPS, GUESSED)
    assert pairs.units.tolist() == ["p", "q"]
    assert (pairs.rows.tolist(), pairs.owned_pairs[1].tolist()) == ([0, 2, 3, 1], [0, 0, 0, 1])
    assert pairs.weight.tolist() == [1, 0]
    assert (pairs.plain, pairs.own_units, pairs.kept_statistics) == (False, False, ())
    rows = LabelRows(pairs)
    assert (rows.units, rows.owner.tolist(), rows.alone) == (2, [0, 0, 0, 1], False)
    assert rows.weight is not None
    assert rows.weight.tolist() == [2, 0.5, 1, 0]
    assert total(pairs, RowSum("rows")) == [3.5, 0]
    assert total(pairs, RowSum("right")) == [3, 0]
    assert total(pairs, RowSum("wrong")) == [0.5, 0]
    assert total(pairs, WeightedRows()) == [3, 0]
    assert total(pairs, ClassCounts()) == [[[2, 1], [0.5, 0], [0, 0.5]], [[0, 0], [0, 0], [0, 0]]]
    assert read(pairs, Present(ClassCounts())) == [[[1, 1], [1, 0], [0, 1]], [[0, 0], [0, 0], [0, 0]]]
    part = pairs.select(np.array([False, True, False, True]))
    assert (part.rows.tolist(), part.units.tolist(), part.owned_pairs[1].tolist()) == ([2, 1], ["p", "q"], [0, 1])
    assert (part.classes, part.prediction_rows.tolist()) == (("a", "b"), [2, 1])
    assert total(part, RowSum("rows")) == [0.5, 0]
    plain = pairs_of("labels", {"label": ["a", "b"]}, {"label": ["b", "b"]}).select(np.array([False, True]))
    assert (plain.rows.tolist(), plain.prediction_rows.tolist(), plain.units.tolist()) == ([1], [1], [0, 1])
    assert total(plain, RowSum("right")) == [0, 1]


def test_sums_without_weights() -> None:
    pairs = pairs_of("labels", {name: GROUPS[name] for name in ("id", "label", "group")}, GUESSED)
    assert pairs.weight is None
    assert total(pairs, RowSum("rows")) == [3, 1]
    assert total(pairs, RowSum("right")) == [2, 0]
    assert total(pairs, WeightedRows()) == [3, 1]
    sets = pairs_of("labels", SETS, {"id": FOUR, "labels": ["a|b", "b", "a", "b"]})
    assert total(sets, RowSum("right")) == [1, 1, 0, 0]
    assert total(sets, RowSum("wrong")) == [0, 0, 1, 1]
    assert total(sets, ClassCounts()) == [
        [[1, 1], [0, 0], [0, 0]], [[0, 1], [0, 0], [0, 0]], [[0, 0], [0, 0], [1, 0]], [[0, 0], [1, 0], [0, 1]],
    ]  # fmt: skip
    assert total(sets, Confusion()) == [[[[0, 0], [0, 0]]] * 2] * 4
    assert total(sets, TopHits(1)) == [0] * 4


def test_units_behind_a_class() -> None:
    """p has rows of a and of b, and predicts both; q has one of b and predicts a, but weighs nothing."""
    asked = Recall()
    state = state_of(pairs_of("labels", {**GROUPS, "weight": [2.0, 1.0, 0.5, 1.0]}, GUESSED), asked)
    each = class_units(state, None, asked.fraction)
    assert each is not None
    assert each.tolist() == [1, 2]
    claimed = class_units(state, None, Precision().fraction)
    assert claimed is not None
    assert claimed.tolist() == [2, 1]
    together = class_units(state, None, Precision().fraction, pooled=True)
    assert together is not None
    assert together.tolist() == [2]
    light = state_of(pairs_of("labels", GROUPS, GUESSED), asked)
    one = class_units(light, None, asked.fraction)
    assert one is not None
    assert one.tolist() == [1, 1]


def test_pairs_of_labels() -> None:
    pairs = pairs_of("labels", TRUTH, {"id": ["0", "1", "3"], "label": ["a", "a", "c"]}, SOME)
    assert pairs.kept_statistics == (Confusion(),)
    none = [[0] * 3 for _ in range(3)]
    assert total(pairs, Confusion()) == [
        [[[0, 0, 0], [0, 0, 0], [1, 0, 0]], none], [[[1, 0, 0], [0, 0, 0], [0, 0, 0]], none],
        [none, [[0, 0, 0], [0, 1, 0], [0, 0, 0]]], [[[0, 0, 1], [0, 0, 0], [0, 0, 0]], none],
    ]  # fmt: skip
    assert read(pairs, LabelDistance(Confusion())) == [
        2,
        0,
        2,
        2,
    ]  # b is the second class, and nothing the one before a
    assert read(pairs, LabelDistance(Confusion(), squared=True)) == [4, 0, 4, 4]


def test_among_the_first() -> None:
    """c scores 3, a 5 and b 2: second; a 3 of 5, 2 and 3; b and a share the first place; a stands first."""
    given = {"score:a": [5.0, 3.0, 2.0, 1.0], "score:b": [2.0, 5.0, 2.0, 0.0], "score:c": [3.0, 3.0, 0.0, 0.0]}
    pairs = pairs_of("labels", TRUTH, {"id": FOUR, **given})
    assert total(pairs, TopHits(1)) == [0, 0, 0, 1]
    assert total(pairs, TopHits(1, "last")) == [0, 0, 1, 1]
    assert total(pairs, TopHits(2)) == [1, 1, 1, 1]
    assert total(pairs, TopHits(2, "last")) == [1, 0, 1, 1]
    assert total(pairs_of("labels", TRUTH, TRUTH), TopHits(1)) == [0] * 4


def test_probabilities() -> None:
    pairs = pairs_of("labels", TRUTH, {"id": FOUR, **GIVEN})
    logs = [-math.log(p) for p in (0.3, 0.3, 0.25)]
    assert total(pairs, ProbabilitySum("surprise")) == pytest.approx([*logs, 0])
    squared = [0.5**2 + 0.2**2 + 0.7**2, 0.7**2 + 0.5**2 + 0.2**2, 0.25**2 + 0.75**2 + 0.5**2, 0]
    assert total(pairs, ProbabilitySum("squared")) == pytest.approx(squared)
    of_a = [0.5, 0.3, 0.75, 1.0]  # what was given to a where it is a, and to the others where it is not
    assert total(pairs, ProbabilitySum("surprise", "a")) == pytest.approx([-math.log(p) for p in of_a], abs=1e-12)
    assert total(pairs, ProbabilitySum("squared", "a")) == pytest.approx([(1 - p) ** 2 for p in of_a], abs=1e-12)
    assert np.array(total(pairs, ClassProbabilitySum("squared")))[:, 0].tolist() == pytest.approx(
        [(1 - p) ** 2 for p in of_a], abs=1e-12
    )
    assert np.array(total(pairs, ClassProbabilitySum("squared"))).shape == (4, 3)
    assert total(pairs, NoChance()) == [0] * 4
    labels = pairs_of("labels", TRUTH, TRUTH)
    for need in (ProbabilitySum("squared"), ProbabilitySum("surprise", "a"), NoChance()):
        assert total(labels, need) == [0] * 4
    assert total(labels, ClassProbabilitySum("surprise")) == [[0, 0, 0]] * 4


def test_no_chance() -> None:
    pairs = pairs_of("labels", {"label": ["a", "b", "b"]}, {"probability": [1.0, 0.0, 1e-17]})
    assert total(pairs, NoChance()) == [1, 1, 1]
    assert total(pairs, ProbabilitySum()) == pytest.approx([-math.log(2.0**-52)] * 3)
    sets = pairs_of("labels", SETS, {"id": FOUR, "probability:a": [0.0] * 4, "probability:b": [1.0] * 4})
    assert total(sets, NoChance()) == [0] * 4
    assert total(sets, ProbabilitySum("squared")) == [0] * 4
    assert total(sets, ProbabilitySum("squared", "a")) == [1, 0, 0, 1]
    single = pairs_of(
        "labels", {"id": FOUR, "label:a": [1, 0, 1, 0]}, {"id": FOUR, "probability:a": [1.0, 0.5, 0.5, 0.0]}
    )
    assert total(single, ProbabilitySum("squared")) == [0, 0.25, 0.25, 0]


def test_bins_of_confidence() -> None:
    """One half is in the first of two bins, with all below; the label a is right in the second row and the last."""
    pairs = pairs_of("labels", TRUTH, {"id": FOUR, **GIVEN})
    # the most likely: a 0.5 (is c), b 0.5 (is a), c 0.5 (is b), a 1 (is a)
    assert total(pairs, ConfidenceBins(2)) == [
        [[0, 0], [0.5, 0], [1, 0]], [[0, 0], [0.5, 0], [1, 0]], [[0, 0], [0.5, 0], [1, 0]], [[0, 1], [0, 1], [0, 1]],
    ]  # fmt: skip
    of_a = [
        [[0, 0], [0.5, 0], [1, 0]],
        [[1, 0], [0.3, 0], [1, 0]],
        [[0, 0], [0.25, 0], [1, 0]],
        [[0, 1], [0, 1], [0, 1]],
    ]
    assert total(pairs, ConfidenceBins(2, "a")) == of_a
    by_class = np.array(total(pairs, ClassBins(2)))
    assert by_class.shape == (4, 3, 3, 2)
    assert by_class[:, 0].tolist() == of_a
    assert by_class[:, 1, 0].tolist() == [[0, 0], [0, 0], [1, 0], [0, 0]]
    assert by_class[:, 2, 1].tolist() == [[0.3, 0], [0.2, 0], [0.5, 0], [0, 0]]
    labels = pairs_of("labels", TRUTH, TRUTH)
    assert total(labels, ConfidenceBins(1)) == [[[0], [0], [0]]] * 4
    assert total(labels, ClassBins(1)) == [[[[0]] * 3] * 3] * 4
    sets = pairs_of("labels", SETS, {"id": FOUR, "probability:a": [0.0] * 4, "probability:b": [1.0] * 4})
    assert total(sets, ConfidenceBins(1)) == [[[0], [0], [0]]] * 4
    assert total(sets, ConfidenceBins(1, "b")) == [[[1], [1], [1]], [[1], [1], [1]], [[0], [1], [1]], [[0], [1], [1]]]
    single = pairs_of(
        "labels", {"id": FOUR, "label:a": [1, 0, 1, 0]}, {"id": FOUR, "probability:a": [1.0, 0.5, 0.5, 0.0]}
    )
    assert total(single, ConfidenceBins(1)) == [[[1], [1], [1]], [[0], [0.5], [1]], [[1], [0.5], [1]], [[0], [0], [1]]]


def test_bins_of_weighted_rows() -> None:
    truth = {"label": ["a", "b"], "weight": [3.0, 0.5]}
    pairs = pairs_of("labels", truth, {"probability:a": [0.75, 0.75]})
    assert total(pairs, ConfidenceBins(1)) == [[[3], [2.25], [3]], [[0], [0.375], [0.5]]]


def test_counts_at_a_threshold() -> None:
    pairs = pairs_of("labels", {"label": ["a", "b"]}, {"score:a": [1.0, 2.0], "score:b": [3.0, 0.0]})
    assert total(pairs, ClassCounts(2.0)) == [[[0, 0], [1, 0], [0, 1]], [[0, 0], [0, 1], [1, 0]]]
    assert total(pairs_of("labels", TRUTH, TRUTH), ClassCounts(0.5)) == [[[0] * 3] * 3] * 4


def test_nothing_has_a_class() -> None:
    pairs = pairs_of("labels", {"labels": ["", ""]}, {"labels": ["", ""]})
    rows = LabelRows(pairs)
    assert (pairs.classes, rows.classes) == ((), 0)
    block = rows.sums(np.zeros((2, 0)))
    assert (block.values.shape, block.axis) == ((2, 0), "class")
    assert ClassProbabilitySum().measure(pairs, SharedCache()).axis == "class"
    scored = pairs_of("labels", TRUTH, {"id": FOUR, **GIVEN})
    assert ClassProbabilitySum().measure(scored, SharedCache()).axis == "class"


def test_work_is_shared() -> None:
    pairs, work = pairs_of("labels", TRUTH, {"id": FOUR, **GIVEN}), SharedCache()
    TopHits(1).measure(pairs, work)
    made = work._made["ranks", "first"]
    TopHits(2).measure(pairs, work)
    assert work._made["ranks", "first"] is made
    assert made.tolist() == [1, 1, 2, 0]

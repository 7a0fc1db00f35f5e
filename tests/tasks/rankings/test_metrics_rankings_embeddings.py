"""Rankings from embeddings, by hand: who is near whom, who is like whom, ids, and what is refused in whole messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.made import by_unit, in_turn, pairs_of, refusal, values

from steelyard.core.embeddings import Embeddings
from steelyard.core.options import Options
from steelyard.core.pairs import Coverage
from steelyard.core.rankings import Rankings
from steelyard.core.records import Records
from steelyard.core.task import Policy
from steelyard.tasks.rankings import embeddings
from steelyard.tasks.rankings.embeddings import OPTIONS, _by_unit, _pack_ids, _text_order, prepare, ranked_pairs
from steelyard.tasks.rankings.task import TASK, join

LINE = np.array([[0.0, 1.0], [1.0, 1.0], [3.0, 1.0], [7.0, 1.0]])  # on a line: 0, 1, 3, 7


def side(name: str = "truth", **columns: Any) -> Embeddings:
    arrays = {key: np.asarray(column) for key, column in columns.items()}
    return Embeddings(name, {key: a.astype(object) if a.dtype.kind == "U" else a for key, a in arrays.items()})


def joined(truth: Embeddings, predicted: Embeddings, **options: Any) -> Any:
    return ranked_pairs(truth, predicted, Policy("worst", "skip"), Options(OPTIONS, options))


def test_options() -> None:
    assert [(o.name, o.type, o.default, o.choices, o.minimum, o.sides) for o in OPTIONS] == [
        ("distance", "choice", "cosine", ("cosine", "l2"), None, False), ("depth", "number", 1000, (), 0, False),
        (
            "protocol", "choice", None, ("market1501", "torchreid", "layumi", "open-reid", "oxford", "revisited-easy",
            "revisited-medium", "revisited-hard"), None, False,
        ),
        ("gallery", "choice", "max", ("max", "template"), None, False),
    ]  # fmt: skip
    assert TASK.defaults == (
        "map", "map@10", "ndcg", "ndcg@10", "precision@10", "recall@10", "recall@100", "mrr", "hit@1", "hit@10", "rprec",
    )  # fmt: skip
    assert TASK.policy == Policy("worst", "skip")


def test_among_themselves() -> None:
    """By distance on a line: the like of 0 is 3, second nearest behind 1; that of 1 is 7, the last; and back."""
    pairs = joined(side(query_label=[0, 1, 0, 1]), side("predictions", query=LINE), distance="l2")
    assert pairs.units.tolist() == ["0", "1", "2", "3"]
    assert (pairs.owner.tolist(), pairs.row.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3])
    assert pairs.rank.tolist() == pairs.rank_input.tolist() == pairs.rank_single.tolist() == [2, 3, 2, 2]
    assert pairs.relevance.tolist() == [1, 1, 1, 1]
    assert pairs.retrieved.tolist() == [3, 3, 3, 3]
    assert (pairs.missing.tolist(), pairs.tied.tolist()) == ([0] * 4, [False] * 4)
    assert pairs.coverage == Coverage(4, 4, 4, 0, 0, "worst")
    assert pairs.weight is None
    assert pairs.truth.documents[pairs.row[0]] == "2"
    assert pairs.truth.place(0) == "truth, query '0'"
    near = joined(side(query_label=[0, 1, 0, 1]), side("predictions", query=LINE), distance="l2", depth=2)
    assert near.rank.tolist() == [2, 0, 2, 2]
    assert near.retrieved.tolist() == [2] * 4
    one = joined(side(query_label=[0, 1, 0, 1]), side("predictions", query=LINE), distance="l2", depth=0.5)
    assert one.retrieved.tolist() == [1] * 4


def test_cosine() -> None:
    """Directions of 0, 50, 80 and 90 degrees, of any length."""
    angles = np.radians([0, 50, 80, 90])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1) * [[1], [100], [0.01], [5]]
    pairs = joined(side(query_label=["x", "y", "x", "y"]), side("predictions", query=vectors))
    assert pairs.rank.tolist() == [2, 2, 3, 2]


def test_a_gallery() -> None:
    """Without ids the parts are different things; with ids a query does not find itself."""
    truth = side(query_label=[0, 1], gallery_label=[0, 1, 0])
    predicted = side("predictions", query=LINE[:2], gallery=LINE[:3])
    pairs = joined(truth, predicted, distance="l2")
    assert (pairs.owner.tolist(), pairs.rank.tolist()) == ([0, 0, 1], [1, 3, 1])
    assert pairs.retrieved.tolist() == [3, 3]
    named = side(query_label=[0, 1], gallery_label=[0, 1, 0], query_id=["a", "z"], gallery_id=["a", "b", "c"])
    known = joined(named, predicted, distance="l2")
    assert known.units.tolist() == ["a", "z"]
    assert (known.owner.tolist(), known.rank.tolist(), known.retrieved.tolist()) == ([0, 1], [2, 1], [2, 3])
    assert [known.truth.documents[row] for row in known.row.tolist()] == ["c", "b"]
    only = side(query_label=[0, 1], gallery_label=[0, 1, 0], gallery_id=[0, 1, 2])
    assert joined(only, predicted, distance="l2").rank.tolist() == [1, 3, 1]


def test_rows_by_rank() -> None:
    """The documents of a query stand by rank, and what is beyond the depth last."""
    truth = side(query_label=[0], gallery_label=[0, 0, 0])
    predicted = side("predictions", query=[[0.0]], gallery=[[5.0], [1.0], [3.0]])
    pairs = joined(truth, predicted, distance="l2", depth=2)
    assert (pairs.rank.tolist(), pairs.row.tolist()) == ([1, 2, 0], [1, 2, 0])
    order, owner = _by_unit(np.array([0, 2, 3]), np.array([1, 0]), np.array([9, 4, 7]))
    assert (order.tolist(), owner.tolist()) == ([2, 1, 0], [0, 1, 1])
    single = _by_unit(np.array([0, 1, 2]), np.array([1, 0]), np.array([5, 6]))
    assert [part.tolist() for part in single] == [[1, 0], [0, 1]]


def test_equal_scores() -> None:
    """The larger id stands first, as a text: "9" before "10"."""
    truth = side(query_label=[0], gallery_label=[0, 1], gallery_id=[10, 9], query_id=[7])
    pairs = joined(truth, side("predictions", query=[[0.0]], gallery=[[1.0], [1.0]]), distance="l2")
    assert (pairs.rank.tolist(), pairs.tied.tolist()) == ([2], [True])


@in_turn(
    "ids",
    [
        [10, 9, 1, 100, 0, 12],
        [3, -1, -20, 20],
        [10**18, 5],
        [10**17, 5, 10**16],
        [],
        list("cab"),
        [10**17 - 1, 10**16, 10],
    ],
)
def test_the_order_of_ids_as_texts(ids: list[Any]) -> None:
    array = np.array(ids, dtype=object) if ids and isinstance(ids[0], str) else np.array(ids, dtype=np.int64)
    assert [str(ids[i]) for i in _text_order(array).tolist()] == sorted(map(str, ids))


def test_units_stand_in_the_order_of_texts() -> None:
    ids = [10, 9, 100]
    pairs = joined(side(query_label=[0, 0, 1], query_id=ids), side("predictions", query=LINE[:3]), distance="l2")
    assert pairs.units.tolist() == ["10", "100", "9"]
    assert (pairs.owner.tolist(), pairs.row.tolist(), pairs.rank.tolist()) == ([0, 2], [0, 1], [1, 1])


def test_one_side_of_vectors() -> None:
    """Judgements beside vectors, or a run beside labels: lists are made, as long as the depth."""
    truth = {"0": {"1": 1}, "2": {"0": 1, "3": 1}}
    assert by_unit("rankings", truth, {"query": LINE}, "mrr", options={"distance": "l2"}) == [1, 1 / 2]
    assert values("rankings", truth, {"query": LINE}, "recall", options={"distance": "l2", "depth": 1}) == [1 / 2]
    run = {"0": {"1": 0.5, "2": 0.25}, "1": {"3": 1.0}}
    assert by_unit("rankings", {"query_label": [0, 1, 0, 1]}, run, "mrr", missing="worst") == [1 / 2, 1, 0, 0]
    lists = prepare(
        Records("truth", {}), side("predictions", query=LINE), Options(OPTIONS, {"distance": "l2", "depth": 2})
    )
    assert isinstance(lists[1], Rankings)
    assert lists[1].queries.tolist() == ["0", "1", "2", "3"]
    assert lists[1].starts.tolist() == [0, 2, 4, 6, 8]
    assert [lists[1].documents[i] for i in range(8)] == ["1", "2", "0", "2", "1", "0", "2", "1"]
    assert lists[1].values.tolist() == [-1, -3, -1, -2, -2, -3, -4, -6]
    assert lists[1].place(3) == "predictions, query '1'"
    plain = Records("truth", {}), Records("predictions", {})
    assert prepare(*plain, Options(OPTIONS)) == plain


def test_both_ways_agree() -> None:
    labels = [0, 1, 0, 1]
    pairs = pairs_of("rankings", {"query_label": labels}, {"query": LINE}, distance="l2")
    truth = {str(i): {str(j): 1 for j in range(4) if j != i and labels[j] == labels[i]} for i in range(4)}
    listed = pairs_of("rankings", truth, {"query": LINE}, distance="l2")
    assert pairs.rank.tolist() == listed.rank.tolist()
    made = join(
        side(query_label=labels),
        side("predictions", query=LINE),
        Policy("worst", "skip"),
        Options(OPTIONS, {"distance": "l2"}),
    )
    assert made.rank.tolist() == pairs.rank.tolist()


LABELS, VECTORS = "The truth of embeddings is labels.", "The predictions are vectors."
GIVEN = side("predictions", query=LINE)
BAD: list[tuple[Embeddings, Embeddings, list[str]]] = [
    (side(query_id=[1]), GIVEN, ["array 'query_label' is missing; the arrays are 'query_id'", "truth", LABELS]),
    (side(), GIVEN, ["array 'query_label' is missing; the arrays are none", "truth", LABELS]),
    (side(query_label=[0] * 4), side("predictions", gallery=LINE, gallery_id=[1, 2, 3, 4]),
     ["array 'query' is missing; the arrays are 'gallery', 'gallery_id'", "predictions", VECTORS]),
    (side(query_label=[0] * 3), GIVEN,
     ["the sides differ in the number of query vectors: 3 in truth and 4 in predictions", "", "Give the same ones."]),
    (side(query_label=[0] * 4, gallery_label=[0, 1]), side("predictions", query=LINE, gallery=LINE),
     ["the sides differ in the number of gallery vectors: 2 in truth and 4 in predictions", "", "Give the same ones."]),
    (side(query_label=[0] * 4), side("predictions", query=LINE, gallery=LINE),
     ["array 'gallery_label' is missing; the arrays are 'query_label'", "truth", "The gallery needs labels too."]),
    (side(query_label=[0] * 4, gallery_label=[0, 1]), GIVEN,
     ["array 'gallery' is missing; the arrays are 'query'", "predictions", "The labels have a gallery."]),
    (side(query_label=[0] * 4, query_id=[1, 2, 3, 4]), side("predictions", query=LINE, query_id=[1, 2, 3, 5]),
     ["'query_id' differs between truth and predictions", "", "Give it on one side."]),
    (side(query_label=[0] * 4, query_id=[1, 2, 3, 2]), GIVEN, ["'query_id' names a vector twice", "truth", "Ids appear only once."]),
    (side(query_label=[0] * 4, query_id=[1, 2, 3, 4]), side("predictions", query=LINE, query_id=np.array(list("1234"), dtype=object)), []),
]  # fmt: skip


@in_turn("case", range(len(BAD)))
def test_refused(case: int) -> None:
    truth, predicted, said = BAD[case]
    if said:
        assert refusal(joined, truth, predicted) == said
    else:
        assert len(joined(truth, predicted).units) == 4


def test_refused_beside_lists() -> None:
    options = Options(OPTIONS)
    records = Records("other", {})
    assert refusal(prepare, side(query_id=[1]), records, options) == [
        "array 'query_label' is missing; the arrays are 'query_id'", "truth", LABELS,
    ]  # fmt: skip
    assert refusal(prepare, records, side("predictions", gallery=LINE), options) == [
        "array 'query' is missing; the arrays are 'gallery'", "predictions", VECTORS,
    ]  # fmt: skip
    policy = Policy("wurst", "skip")
    assert (
        refusal(ranked_pairs, side(query_label=[0] * 4), GIVEN, policy, options)[0]
        == "missing='wurst' is not a valid policy"
    )


def test_ids_that_cannot_be_packed() -> None:
    assert refusal(_pack_ids, np.array(["a", "b" * 70_000], dtype=object)) == [
        "the id in row 1 is not text, or too long", "", "Give every vector a short id.",
    ]  # fmt: skip


def test_too_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert embeddings.MOST_ROWS == 1 << 30
    monkeypatch.setattr(embeddings, "MOST_ROWS", 1024)
    at_most = side(query_label=[0] * 32), side("predictions", query=np.eye(32))
    assert len(joined(*at_most).rank) == 32 * 31
    assert refusal(joined, side(query_label=[0] * 33), side("predictions", query=np.eye(33))) == [
        "1,089 pairs have the same label, more than 1,024", "truth", "Score a sample of the queries.",
    ]  # fmt: skip


def test_no_query() -> None:
    parts = embeddings._Parts([side(query_label=np.zeros(0, np.int64), gallery_label=[1, 2])])
    assert (parts.itself.tolist(), parts.query.tolist(), parts.gallery.tolist()) == ([], [], [0, 1])
    none = embeddings._Parts([side(query_label=[1, 2], gallery_label=np.zeros(0, np.int64), query_id=["a", "b"])])
    assert (none.itself.tolist(), none.gallery.tolist()) == ([-1, -1], [])


def test_a_part_that_is_not_there() -> None:
    assert refusal(embeddings._Parts, [side("x", gallery_label=[1])]) == [
        "there is no 'query'", "x", "Give it on both sides.",
    ]  # fmt: skip

"""The drop-in for ranx against ranx, and by hand."""

from __future__ import annotations

import gzip
import math
import random

import numpy as np
import pandas as pd
import pytest
from support.refusal import refuses

from steelyard import compat
from steelyard.compat import ranx
from steelyard.compat.ranx.meta.evaluate import METRICS

CUTS = [f"{name}{cut}" for name in METRICS if name not in ("rbp", "bpref", "r-precision") for cut in ("", "@1", "@5")]
WANTED = [*CUTS, "r-precision", "rbp.95", "rbp@5", "map-l2", "ndcg@5-l2", "hits@3-l2", "r-precision-l2", "rbp.8-l2"]
QRELS = {"q2": {"a": 1, "x": 2}, "q1": {"a": 2, "b": 1, "c": 0, "d": 1}}
RUN = {"q1": {"c": 5, "a": 4.0, "z": 3.0, "b": 2.0}, "q2": {"y": 1.0, "x": 0.5}}


def draw(seed: int, queries: int, ties: bool) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    rng = random.Random(seed)
    qrels, run = {}, {}
    for q in range(queries):
        docs = [f"d{i}" for i in rng.sample(range(40), rng.randint(1, 14))]
        run[f"q{q}"] = {doc: float(rng.randint(0, 4)) if ties else rng.random() for doc in docs}
        judged = [f"d{i}" for i in rng.sample(range(40), rng.randint(1, 14))]
        qrels[f"q{q}"] = {doc: rng.randint(-1, 3) for doc in judged}
    return qrels, run


def flatten(report: dict[str, object]) -> dict[str, float]:
    """The numbers of nested dicts by their paths."""
    return {k: v for k, v in pd.json_normalize(report).iloc[0].items() if isinstance(v, int | float)}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of numba, which compiles ranx, and of constant differences
def test_ranx_gives_the_same() -> None:
    theirs = pytest.importorskip("ranx")
    compared = 0
    for seed in range(40):
        qrels, run = draw(seed, 12, ties=seed % 2 == 0)
        mine, real = ranx.Run(run), theirs.Run(run)
        values = ranx.evaluate(ranx.Qrels(qrels), mine, WANTED, return_mean=False)
        expected = theirs.evaluate(theirs.Qrels(qrels), real, WANTED, return_mean=False)
        plain = ranx.evaluate(qrels, run, WANTED, return_mean=False)
        plain_expected = theirs.evaluate(qrels, run, WANTED, return_mean=False)
        for name in WANTED:
            assert values[name] == pytest.approx(expected[name], rel=1e-13, abs=1e-13), name
            assert plain[name] == pytest.approx(plain_expected[name], rel=1e-13, abs=1e-13), name
            compared += len(values[name])
        assert mine.mean_scores == pytest.approx(real.mean_scores, rel=1e-13)
        assert {n: list(row) for n, row in mine.scores.items()} == {n: list(row) for n, row in real.scores.items()}
        assert (str(mine), mine.to_dict()) == (str(real), real.to_dict())
        assert ranx.Qrels(qrels).to_dict() == theirs.Qrels(qrels).to_dict()
        judged = {q: {doc: i % 2 for i, doc in enumerate(row)} | {"other": 0, "d": 1} for q, row in qrels.items()}
        bpref = ranx.evaluate(judged, run, "bpref", return_mean=False)
        assert bpref == pytest.approx(theirs.evaluate(judged, run, "bpref", return_mean=False), rel=1e-13)
        assert ranx.evaluate(ranx.Qrels(qrels), mine, "map", return_std=True) == pytest.approx(
            theirs.evaluate(theirs.Qrels(qrels), real, "map", return_std=True)
        )
    assert compared > 15_000


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of numba, which compiles ranx, and of constant differences
@pytest.mark.parametrize("test", ["student", "tukey"])
def test_reports_of_ranx_are_the_same(test: str) -> None:
    theirs = pytest.importorskip("ranx")
    for seed in range(6):
        qrels, _ = draw(seed, 30, ties=False)
        runs = [draw(seed, 30, ties=False)[1], qrels, {q: {"d1": 1.0, "d2": 0.5} for q in qrels}]
        names = ["first_run", None, "2"] if seed % 2 else ["1", "2", "33"]
        settings = {
            "stat_test": test,
            "max_p": 0.05,
            "rounding_digits": 3 + seed % 2,
            "show_percentages": seed % 3 == 0,
        }
        metrics = ["map@100", "mrr", "ndcg@10-l2", "hits", "rbp.95", "hit_rate@1"][: 1 + seed]
        real, mine = (
            package.compare(
                package.Qrels(qrels),
                [package.Run(run, name) for run, name in zip(runs, names, strict=True)],
                metrics,
                **settings,
            )
            for package in (theirs, ranx)
        )
        assert str(mine) == str(real)
        assert mine.to_latex() == real.to_latex()
        assert flatten(mine.to_dict()) == pytest.approx(flatten(real.to_dict()), rel=1e-9)  # p-values of rounded scores
        pd.testing.assert_frame_equal(mine.to_dataframe(), real.to_dataframe(), rtol=1e-13)


def test_values_by_hand() -> None:
    qrels, run = ranx.Qrels(QRELS), ranx.Run(RUN)
    assert list(qrels.keys()) == ["q1", "q2"]
    values = ranx.evaluate(qrels, run, WANTED, return_mean=False)
    # q1 has hits at ranks 2 and 4 of three relevant documents, q2 one at rank 2 of two
    by_hand = {
        "hits": [2, 1],
        "hit_rate@1": [0, 0],
        "precision": [2 / 4, 1 / 2],
        "precision@5": [2 / 5, 1 / 5],
        "recall": [2 / 3, 1 / 2],
        "f1@5": [4 / 8, 2 / 7],
        "r-precision": [1 / 3, 1 / 2],
        "mrr": [1 / 2, 1 / 2],
        "map": [(1 / 2 + 2 / 4) / 3, 1 / 4],
        "map-l2": [1 / 2, 1 / 2],
        "dcg": [2 / math.log2(3) + 1 / math.log2(5), 2 / math.log2(3)],
        "dcg_burges": [3 / math.log2(3) + 1 / math.log2(5), 3 / math.log2(3)],
        "rbp.95": [0.05 * (2 * 0.95 + 0.95**3), 0.05 * 2 * 0.95],
    }
    for name, expected in by_hand.items():
        assert values[name] == pytest.approx(expected), name
    ideal = [2 + 1 / math.log2(3) + 1 / 2, 2 + 1 / math.log2(3)]
    assert values["ndcg"] == pytest.approx(np.divide(by_hand["dcg"], ideal))
    assert run.scores["map"] == {"q1": pytest.approx(1 / 3), "q2": pytest.approx(1 / 4)}
    assert ranx.evaluate(qrels, run, "map") == run.mean_scores["map"] == pytest.approx(7 / 24)
    # one non-relevant document is judged, and it comes before both hits of q1; q2 has none, where ranx has nan
    assert ranx.evaluate({"q": QRELS["q1"]}, {"q": RUN["q1"]}, "bpref") == 0
    assert ranx.evaluate({"q": {"a": 0, "b": 0}}, {"q": {"a": 1.0}}, "bpref") == 0  # as ranx
    assert math.isnan(ranx.evaluate({"q": QRELS["q2"]}, {"q": RUN["q2"]}, "bpref"))


def test_equal_scores() -> None:
    tied = {"q": {"a": 1.0, "b": 1.0}}
    assert ranx.evaluate(ranx.Qrels({"q": {"a": 1}}), ranx.Run(tied), "mrr") == 1
    assert ranx.evaluate({"q": {"a": 1}}, tied, "mrr") == 1 / 2  # of plain dicts the last comes first


def test_missing_queries() -> None:
    run = ranx.Run({"q1": {"a": 1.0}, "other": {"a": 1.0}})
    with refuses(AssertionError, "make_comparable"):
        ranx.evaluate(ranx.Qrels(QRELS), run, "map")
    assert ranx.evaluate(ranx.Qrels(QRELS), run, "map", make_comparable=True) == pytest.approx(1 / 6)
    assert (list(run.keys()), run["q2"]) == (["q1", "q2"], {})


def test_files_and_frames(tmp_path) -> None:
    qrels, run = ranx.Qrels(QRELS), ranx.Run(RUN, name="bm25")
    for kind in ("json", "trec", "txt"):
        qrels.save(str(tmp_path / f"qrels.{kind}"))
        run.save(str(tmp_path / f"run.{kind}"))
        assert ranx.Qrels.from_file(str(tmp_path / f"qrels.{kind}")).to_dict() == QRELS
        assert ranx.Run.from_file(str(tmp_path / f"run.{kind}")).to_dict() == RUN
    assert (tmp_path / "run.trec").read_text().splitlines()[0] == "q1 Q0 c 1 5.0 bm25"
    assert ranx.Run.from_file(str(tmp_path / "run.trec")).name == "bm25"
    with gzip.open(tmp_path / "run.trec.gz", "wt") as file:
        file.write((tmp_path / "run.trec").read_text())
    assert ranx.Run.from_file(str(tmp_path / "run.trec.gz")).to_dict() == RUN
    assert ranx.Qrels.from_df(qrels.to_dataframe()).to_dict() == QRELS
    assert ranx.Run.from_df(run.to_dataframe()).to_dict() == RUN
    with pytest.raises(AssertionError):
        ranx.Run.from_df(pd.DataFrame({"q_id": ["a"], "doc_id": ["b"], "score": [1]}))
    with pytest.raises(AssertionError):
        ranx.Run.from_file("run.csv")
    with refuses("E-unsupported", "run.lz4"):
        ranx.Run.from_file("run.lz4")


def test_adding_scores() -> None:
    qrels = ranx.Qrels()
    qrels.add_score("q2", "a", 1)
    qrels.add("q1", ["a", "b"], [1, 3])
    assert (str(qrels), len(qrels), qrels.size) == ("{q1: {b: 3, a: 1}, q2: {a: 1}}", 2, 2)
    qrels.set_relevance_level(2)
    assert qrels.to_dict() == {"q1": {"b": 2, "a": 0}, "q2": {"a": 0}}


def test_table_by_hand() -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(8)}
    good = {q: {"a": 2.0 - i % 2, "b": 1.5} for i, q in enumerate(qrels)}
    bad = {q: {"b": 2.0, "c": 1.0 + i / 10} for i, q in enumerate(qrels)}
    report = ranx.compare(ranx.Qrels(qrels), [ranx.Run(good, "good"), ranx.Run(bad, "bad")], ["mrr", "recall@1"])
    # reciprocal ranks 1 and 1/2 in turn against none: t is about 7.9; of the first documents half are hits: t is 2.6
    assert str(report).splitlines() == [
        "#    Model    MRR       Recall@1",
        "---  -------  ------  ----------",
        "a    good     0.750ᵇ         0.5",
        "b    bad      0.000          0",
    ]
    assert report.to_dict()["good"]["win_tie_loss"]["bad"]["mrr"] == {"W": 8, "T": 0, "L": 0}


def test_refusals() -> None:
    runs = [ranx.Run(RUN, "a"), ranx.Run(RUN, "b")]
    with refuses("E-unsupported", "fisher"):
        ranx.compare(ranx.Qrels(QRELS), runs, "map", stat_test="fisher")
    with pytest.raises(NotImplementedError):
        ranx.compare(ranx.Qrels(QRELS), runs, "map", stat_test="other")
    for metric in ("auc", "rbp"):
        with refuses(ValueError, metric.upper() if metric == "rbp" else metric):
            ranx.evaluate(QRELS, RUN, metric)
    with pytest.raises(TypeError):
        ranx.evaluate(np.zeros(3), RUN, "map")
    with refuses("E-unsupported"):
        compat.report(ranx.Run(RUN))


def test_report_has_the_same_means() -> None:
    run = ranx.Run(RUN)
    metrics = ["map", "ndcg@5", "ndcg_burges", "precision@5", "recall", "f1@5", "mrr@1", "hit_rate", "r-precision"]
    values = ranx.evaluate(ranx.Qrels(QRELS), run, metrics)
    report = compat.report(run, confidence=None)
    assert [score.value for score in report.scores.values()] == pytest.approx(list(values.values()))


def test_lists_of_arrays_by_hand() -> None:
    """A column of ids and one of numbers for each query; a run counts in the order in which it is given."""
    qrels = [np.array([[1, 2], [4, 1], [5, 1], [6, 1]]), np.array([[1, 1], [4, 1], [6, 1]])]
    run = [np.array([[2, 1], [1, 9], [4, 3]]), np.array([[7, 1], [8, 1], [9, 1], [6, 5]])]
    assert ranx.evaluate(qrels, run, "hits@3") == (2 + 0) / 2
    assert ranx.evaluate(qrels, run, ["mrr", "recall"], return_mean=False)["mrr"].tolist() == [1 / 2, 1 / 4]
    assert ranx.evaluate(np.array([qrels[1]]), np.array([run[1]]), "precision@2") == 0
    for wrong in ([qrels, run[:1]], [[[1, 2]], [[1, 2]]], [None, run], ["text", "text"]):
        with pytest.raises(TypeError):
            ranx.evaluate(*wrong, "map")


def test_the_kind_of_a_file() -> None:
    from steelyard.compat.ranx.data_structures.run import get_file_kind

    kinds = {"a.json": "json", "a.txt": "trec", "a.trec": "trec", "a.gz": "gz", "a.lz4": "lz4", "a.parq": "parquet"}
    assert {name: get_file_kind(name) for name in kinds} == kinds
    with pytest.raises(AssertionError):
        get_file_kind("a.csv")

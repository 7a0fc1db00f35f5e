"""The drop-in for ranx against ranx, and by hand."""

from __future__ import annotations

import gzip
import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.refusal import refuses

from steelyard import compat
from steelyard.compat import ranx
from steelyard.compat.ranx.data_structures import FrozensetDict, Report
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


JUDGED = {"q1": {"a": 2, "b": 1}, "q2": {"a": 1}, "q3": {"c": 1, "d": 1}, "q4": {"e": 1}}
STRONG = {
    "q1": {"a": 3.0, "b": 2.0, "c": 1.0},
    "q2": {"a": 2.0, "b": 1.0},
    "q3": {"c": 3.0, "x": 2.0, "d": 1.0},
    "q4": {"e": 1.0, "f": 0.5},
}
WEAK = {
    "q1": {"c": 3.0, "b": 2.0, "a": 1.0},
    "q2": {"b": 2.0, "a": 1.0},
    "q3": {"x": 3.0, "y": 2.0, "z": 1.0},
    "q4": {"f": 1.0, "e": 0.5},
}
MIDDLE = {
    "q1": {"a": 3.0, "z": 2.0},
    "q2": {"z": 2.0, "a": 1.0},
    "q3": {"d": 3.0, "x": 2.0},
    "q4": {"f": 1.0, "e": 0.5},
}


def compare_three(**settings: Any) -> Report:
    runs = [ranx.Run(STRONG, "strong_model"), ranx.Run(WEAK), ranx.Run(MIDDLE, "c")]
    return ranx.compare(ranx.Qrels(JUDGED), runs, ["mrr", "ndcg"], **{"max_p": 0.05, **settings})


def test_latex_as_ranx_writes_it() -> None:
    """The text that ranx 0.3.21 gave for these runs."""
    lines = compare_three().to_latex().splitlines()
    assert lines[:8] == [
        "========================",
        "% Add in preamble",
        r"\usepackage{graphicx}",
        r"\usepackage{booktabs}",
        "========================",
        "",
        "",
        "% To change the table size, act on the resizebox argument `0.8`.",
    ]
    assert lines[8:] == [
        r"\begin{table*}[ht]",
        r"\centering",
        r"\caption{",
        "Overall effectiveness of the models.",
        "The best results are highlighted in boldface.",
        r"Superscripts denote significant differences in paired Student's t-test with $p \le 0.05$.",
        "}",
        r"\resizebox{0.8\textwidth}{!}{",
        r"\begin{tabular}{c|l|c|c}",
        r"\toprule",
        r"\textbf{\#}",
        r"& \textbf{Model}",
        r"& \textbf{MRR}",
        r"& \textbf{NDCG} \\ ",
        r"\midrule",
        "a &",
        r"strong\_model &",
        r"\textbf{1.000}$^{b}$\hphantom{$^{c}$} &",
        r"\textbf{0.980}$^{bc}$\hphantom{} \\",
        "b &",
        r"run\_2 &",
        r"0.375\hphantom{$^{ac}$} &",
        r"0.470\hphantom{$^{ac}$} \\",
        "c &",
        "c &",
        r"0.750\hphantom{$^{ab}$} &",
        r"0.659\hphantom{$^{ab}$} \\",
        r"\bottomrule",
        r"\end{tabular}",
        "}",
        r"\label{tab:results}",
        r"\end{table*}",
    ]


@pytest.mark.parametrize(
    ("test", "against_second", "against_third"),
    [
        ("student", [0.015392438073302294, 0.03368642030573276], [0.18169011381620936, 0.0018921675722624613]),
        ("tukey", [0.007758848232150672, 0.009708404622540412], [0.2931249348764057, 0.08748010576380782]),
    ],
)
def test_comparisons_of_three_runs(test: str, against_second: list[float], against_third: list[float]) -> None:
    """The p-values are those of ranx 0.3.21; wins are counted by hand."""
    content = compare_three(stat_test=test).to_dict()
    assert content["stat_test"] == test
    assert content["model_names"] == ["strong_model", "run_2", "c"]
    first = content["strong_model"]
    assert list(first["comparisons"]["run_2"].values()) == pytest.approx(against_second, rel=1e-9)
    assert list(first["comparisons"]["c"].values()) == pytest.approx(against_third, rel=1e-9)
    for other in ("run_2", "c"):
        assert content[other]["comparisons"]["strong_model"] == first["comparisons"][other]
    # ranks of the first relevant document: 1 in all queries; 2, 2, none, 2; 1, 2, 1, 2
    assert first["win_tie_loss"]["run_2"]["mrr"] == {"W": 4, "T": 0, "L": 0}
    assert first["win_tie_loss"]["c"]["mrr"] == {"W": 2, "T": 2, "L": 0}
    assert content["c"]["win_tie_loss"]["run_2"]["mrr"] == {"W": 2, "T": 2, "L": 0}
    letters = {"student": "0.980ᵇᶜ", "tukey": "0.980ᵇ"}
    assert str(compare_three(stat_test=test)).splitlines()[2].split() == ["a", "strong_model", "1.000ᵇ", letters[test]]


def test_a_report_as_frame_file_and_print(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = compare_three()
    frame = report.to_dataframe()
    assert list(frame) == ["model_names", "mrr", "ndcg"]
    assert frame["model_names"].tolist() == ["strong_model", "run_2", "c"]
    assert frame["mrr"].tolist() == [1, 3 / 8, 3 / 4]
    report.save(str(tmp_path / "report.json"))
    assert json.loads((tmp_path / "report.json").read_text()) == report.to_dict()
    report.print_results()
    printed = json.loads(capsys.readouterr().out)
    assert printed == {row["model_names"]: {"mrr": row["mrr"], "ndcg": row["ndcg"]} for _, row in frame.iterrows()}


@pytest.mark.parametrize(
    ("digits", "cells"),
    [(4, ["100.00ᵇ", "37.50", "75.00"]), (3, ["100.0ᵇ", "37.5", "75.0"]), (1, ["100ᵇ", "38", "75"])],
)
def test_percentages(digits: int, cells: list[str]) -> None:
    """Two digits fewer than of fractions, and none below two, where ranx fails."""
    rows = str(compare_three(rounding_digits=digits, show_percentages=True)).splitlines()[2:]
    assert [row.split()[2] for row in rows] == cells


def test_any_persistence_has_a_heading() -> None:
    """ranx computes rank-biased precision at each persistence, and fails to print those that are not in 1 to 99."""
    metrics = ["rbp.80", "rbp@5", "rbp.955", "rbp.05-l2", "precision@2-l2"]
    report = ranx.compare(ranx.Qrels(JUDGED), [ranx.Run(STRONG, "a"), ranx.Run(WEAK, "b")], metrics)
    headings = [report.get_metric_label(metric) for metric in metrics]
    assert headings == ["RBP.80", "RBP@5", "RBP.955", "RBP.05-l2", "P@2-l2"]
    assert str(report).splitlines()[0].split() == ["#", "Model", *headings]
    first = ranx.evaluate({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, "rbp.955")
    assert first == pytest.approx((1 - 0.955) * 0.955)


def test_pairs_in_any_order() -> None:
    pairs = FrozensetDict({("a", "b"): 1})
    pairs["c", "a"] = 2
    assert (pairs["b", "a"], pairs["a", "c"], len(pairs)) == (1, 2, 2)
    del pairs["b", "a"]
    assert list(pairs) == [frozenset(("a", "c"))]


def test_packed_files_are_read_back(tmp_path: Path) -> None:
    """A file that is called .gz is packed; ranx writes plain text there, which neither can read."""
    run, qrels = tmp_path / "run.trec.gz", tmp_path / "qrels.gz"
    ranx.Run(STRONG, "bm25").save(str(run))
    ranx.Qrels(JUDGED).save(str(qrels))
    assert gzip.decompress(run.read_bytes()).decode().splitlines()[:2] == ["q1 Q0 a 1 3.0 bm25", "q1 Q0 b 2 2.0 bm25"]
    assert ranx.Run.from_file(str(run), name="other").name == "other"
    assert ranx.Run.from_file(str(run)).to_dict() == STRONG
    assert ranx.Qrels.from_file(str(qrels)).to_dict() == JUDGED


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    run, qrels = str(tmp_path / "run.parq"), str(tmp_path / "qrels.parquet")
    ranx.Run(STRONG).save(run)
    ranx.Qrels(JUDGED).save(qrels)
    assert ranx.Run.from_parquet(run, name="bm25").to_dict() == STRONG
    assert ranx.Qrels.from_parquet(qrels, pd_kwargs={"engine": "pyarrow"}).to_dict() == JUDGED


def test_runs_are_sorted_when_they_are_used(tmp_path: Path) -> None:
    run = ranx.Run()
    for query, document, score in (("q2", "a", 1), ("q2", "b", 3), ("q1", "a", 2)):
        run.add_score(query, document, score)
    assert (str(run), run.get_query_ids()) == ("{q2: {a: 1.0, b: 3.0}, q1: {a: 2.0}}", ["q2", "q1"])
    assert run.get_doc_ids_and_scores() == [{"a": 1.0, "b": 3.0}, {"a": 2.0}]
    run.save(str(tmp_path / "run.trec"))
    assert (tmp_path / "run.trec").read_text() == "q1 Q0 a 1 2.0 None\nq2 Q0 b 1 3.0 None\nq2 Q0 a 2 1.0 None"
    run.add_score("q1", "b", 9)
    assert ranx.evaluate(ranx.Qrels({"q1": {"a": 1}, "q2": {"b": 1}}), run, "mrr") == (1 / 2 + 1) / 2
    assert str(run) == "{q1: {b: 9.0, a: 2.0}, q2: {b: 3.0, a: 1.0}}"


def test_metrics_that_cannot_be_read() -> None:
    for metric in ("map@", "map-l", "map@x", "ndcg-lx", "rbp.x"):
        with pytest.raises(ValueError, match=r"invalid|convert"):
            ranx.evaluate(QRELS, RUN, metric)
    with pytest.raises(AssertionError):
        ranx.evaluate(QRELS, RUN, "map@-1")
    with pytest.raises(AssertionError):
        ranx.evaluate(QRELS, RUN, ["map", 3])
    with refuses(TypeError, "dict", "list"):
        ranx.evaluate(QRELS, [[[1, 2.0]]], "map")


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

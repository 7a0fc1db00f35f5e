"""The drop-in for pytrec_eval against values that pytrec_eval gave, and by hand."""

from __future__ import annotations

import json
import math

import pytest
from support.paths import ROOT

from steelyard import compat
from steelyard.compat import pytrec_eval

GOLDENS = json.loads((ROOT / "tests" / "goldens" / "rankings_pytrec_eval.json").read_text(encoding="utf-8"))
RARER = json.loads((ROOT / "tests" / "goldens" / "rankings_trec_eval.json").read_text(encoding="utf-8"))
CUT = {"map_cut.5,10", "P.5,10", "recall_5,10", "success.1,5", "ndcg_cut.5", "ndcg_cut_10"}
WANTED = (
    CUT
    | {"G", "binG", "Rndcg", "ndcg_rel", "infAP", "Rprec_mult.0.4,1,1.8", "relstring"}
    | {"map", "recip_rank", "ndcg", "Rprec", "bpref", "set_P", "set_recall", "set_F"}
)
QRELS = {"q1": {"a": 2, "b": 1, "c": 0, "x": 1, "n": -1}, "q2": {"a": 1}, "q3": {"a": 1}, "q4": {}}
RUN = {"q2": {}, "q1": {"c": 5, "a": 4.0, "z": 3.0, "b": 2.0, "n": 1.0}, "q4": {"a": 1.0}, "other": {"a": 1.0}}


def test_goldens_of_pytrec_eval() -> None:
    compared = 0
    for case in GOLDENS["cases"] + RARER["cases"]:
        qrels = {query: {doc: int(value) for doc, value in row.items()} for query, row in case["qrels"].items()}
        for level, measures in case["values"].items():
            values = pytrec_eval.RelevanceEvaluator(qrels, WANTED, relevance_level=int(level)).evaluate(case["run"])
            for name, expected in measures.items():
                for query, value in expected.items():
                    assert values[query][name] == pytest.approx(value, rel=1e-12, abs=1e-12)
                    compared += 1
    assert compared > 3000


def test_counts_and_interpolated_precision_by_hand() -> None:
    evaluator = pytrec_eval.RelevanceEvaluator(
        QRELS, {"official", "set", "11pt_avg", "num_nonrel_judged_ret", "gm_bpref"}
    )
    values = evaluator.evaluate(RUN)
    assert list(values) == ["q2", "q1", "q4"]  # of the run, without judgements left out
    first = values["q1"]
    counts = {"num_q": 1, "num_ret": 5, "num_rel": 3, "num_rel_ret": 2, "num_nonrel_judged_ret": 1, "runid": 0}
    assert {name: first[name] for name in counts} == counts
    # hits at ranks 2 and 4, of three relevant documents: precisions 1/2 and 2/4
    assert first["map"] == pytest.approx((1 / 2 + 2 / 4) / 3)
    assert first["gm_map"] == pytest.approx(math.log(1 / 3))
    recalls = [first[f"iprec_at_recall_{i / 10:.2f}"] for i in range(11)]
    assert recalls == [0.5] * 8 + [0.0] * 3  # 0.7 * 3 + 0.9 is just below 3; the third is not found
    assert first["11pt_avg"] == pytest.approx(4 / 11)
    assert (first["set_map"], first["utility"]) == (pytest.approx(2 / 5 * 2 / 3), 2 - 3)
    assert first["set_relative_P"] == pytest.approx(2 / 3)
    assert [first[f"P_{k}"] for k in (5, 10)] == [2 / 5, 2 / 10]
    assert values["q2"]["gm_map"] == values["q4"]["gm_bpref"] == math.log(0.00001)
    assert values["q4"]["num_ret"] == 1
    assert values["q2"]["num_rel"] == 0  # trec_eval counts none where nothing was retrieved
    assert math.isnan(values["q2"]["iprec_at_recall_0.50"])


def test_gains_and_inferred_precision_by_hand() -> None:
    """Gains 0, 2, 0, 1, 0 were retrieved, of which 2, 1, 1 are the best: one document with a gain of 1 is missing."""
    measures = {"G", "binG", "Rndcg", "ndcg_rel", "infAP", "Rprec_mult.0.3,1,2", "relstring.3"}
    first = pytrec_eval.RelevanceEvaluator(QRELS, measures).evaluate(RUN)["q1"]
    log = math.log2
    # what is lost before a document: 2 + 1 - 2 at rank 2, 2 + 1 + 1 + 1 - 3 at rank 4
    assert first["G"] == pytest.approx((2 / log(2 + 1) + 1 / log(2 + 2)) / 4)
    assert first["binG"] == pytest.approx((1 / log(3) + 1 / log(4)) / 3)  # one and two documents are not relevant
    dcg, best = [0, 2 / log(3), 2 / log(3) + 1 / log(5)], [2, 2 + 1 / log(3) + 1 / log(4)]
    # the ideal gain changes behind ranks 1 and 3; the list ends later
    assert first["Rndcg"] == pytest.approx((0 / best[0] + dcg[1] / best[1] + dcg[2] / best[1]) / 3)
    at_two = dcg[1] / (2 + 1 / log(3))
    assert first["ndcg_rel"] == pytest.approx((at_two + dcg[2] / best[1] + dcg[2] / best[1]) / 3)
    # rank 2 has one judged document above it, rank 4 two judged ones of three, of which one is relevant
    small = 0.00001
    second = 1 / 2 + 1 / 2 * (1 / 1) * (0 + small) / (1 + 2 * small)
    fourth = 1 / 4 + 3 / 4 * (2 / 3) * (1 + small) / (2 + 2 * small)
    assert first["infAP"] == pytest.approx((second + fourth) / 3)
    assert [first[f"Rprec_mult_{m}"] for m in ("0.30", "1.00", "2.00")] == [0 / 1, 1 / 3, 2 / 6]
    assert first["relstring"] == 0


def test_relative_precision() -> None:
    values = pytrec_eval.RelevanceEvaluator(QRELS, {"relative_P.2,5"}).evaluate(RUN)["q1"]
    assert values == {"relative_P_2": pytest.approx(1 / 2), "relative_P_5": pytest.approx(2 / 3)}


def test_equal_scores_are_ordered_by_id_in_single_precision() -> None:
    run = {"q": {"a": 1.0, "b": 1.0 + 1e-12, "c": 1.0}}
    for document, rank in (("c", 1), ("b", 2), ("a", 3)):
        values = pytrec_eval.RelevanceEvaluator({"q": {document: 1}}, {"recip_rank"}).evaluate(run)
        assert values == {"q": {"recip_rank": pytest.approx(1 / rank)}}


def test_nothing_to_evaluate() -> None:
    assert pytrec_eval.RelevanceEvaluator(QRELS, {"map"}).evaluate({}) == {}
    assert pytrec_eval.RelevanceEvaluator({}, {"map"}).evaluate(RUN) == {}
    assert pytrec_eval.RelevanceEvaluator(QRELS, set()).evaluate({"q1": {"a": 1.0}}) == {"q1": {}}
    assert pytrec_eval.RelevanceEvaluator(QRELS, {"map"}).evaluate({"q2": {}}) == {"q2": {"map": 0.0}}


def test_files() -> None:
    run = pytrec_eval.parse_run(["q1 Q0 a 1 2.5 me\n", "q1 Q0 b 2 1 me\n"])
    assert (run, pytrec_eval.parse_qrel(["q1 0 a 1\n"])) == ({"q1": {"a": 2.5, "b": 1.0}}, {"q1": {"a": 1}})
    with pytest.raises(AssertionError):
        pytrec_eval.parse_qrel(["q1 0 a 1", "q1 0 a 0"])


def test_aggregates() -> None:
    assert pytrec_eval.compute_aggregated_measure("num_ret", [1, 2]) == 3
    assert pytrec_eval.compute_aggregated_measure("gm_map", [0.0, math.log(4)]) == pytest.approx(2)
    assert pytrec_eval.compute_aggregated_measure("map", [0.5, 1.0]) == 0.75


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        (ValueError, (QRELS, {"infAP.5"})),
        (ValueError, (QRELS, {"prefs_simp"})),
        (ValueError, (QRELS, {"map.5"})),
        (TypeError, ([], {"map"})),
        (TypeError, (QRELS, {"map"}, 0)),
        (TypeError, ({"q": {"a": 1.5}}, {"map"})),
        (TypeError, ({1: {}}, {"map"})),
    ],
)
def test_what_is_rejected(error, arguments) -> None:
    with pytest.raises(error):
        pytrec_eval.RelevanceEvaluator(*arguments)
    for run in ([1], {"q1": {"a": "1"}}, {"q1": {1: 1.0}}):
        with pytest.raises(TypeError):
            pytrec_eval.RelevanceEvaluator(QRELS, {"map"}).evaluate(run)


def test_a_report_has_the_means_with_intervals() -> None:
    case = GOLDENS["cases"][0]
    qrels = {query: {doc: int(value) for doc, value in row.items()} for query, row in case["qrels"].items()}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut.10", "num_ret"}, relevance_level=1)
    values = evaluator.evaluate(case["run"]).values()
    scores = list(compat.report(evaluator, draws=100).scores.values())
    means = sorted(sum(row[name] for row in values) / len(values) for name in ("map", "ndcg_cut_10"))
    assert sorted(score.value for score in scores) == pytest.approx(means)

"""Rankings against other implementations: values they gave for drawn inputs, and themselves where they are installed."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from support.paths import ROOT

import steelyard as sy

GOLDENS = ROOT / "tests" / "goldens"

# the reference's measure: ours
TREC = {
    "map": "map", "map_cut_5": "map@5", "map_cut_10": "map@10", "P_5": "precision@5", "P_10": "precision@10",
    "recall_5": "recall@5", "recall_10": "recall@10", "success_1": "hit@1", "success_5": "success@5", "recip_rank": "mrr",
    "ndcg": "ndcg", "ndcg_cut_5": "ndcg@5", "ndcg_cut_10": "ndcg@10", "Rprec": "rprec", "bpref": "bpref",
    "set_P": "precision", "set_recall": "recall", "set_F": "f1",
}  # fmt: skip
RANX = {
    "map": "map", "map@5": "map@5", "map@10": "map@10", "precision@5": "precision@5", "precision@10": "precision@10",
    "recall@5": "recall@5", "recall@10": "recall@10", "f1@5": "f1@5", "f1@10": "f1@10", "hit_rate@1": "hit@1",
    "hit_rate@5": "hit@5", "mrr": "mrr", "mrr@5": "mrr@5", "ndcg": "ndcg", "ndcg@5": "ndcg@5", "ndcg@10": "ndcg@10",
    "ndcg_burges@5": "ndcg@5(gain=exponential)", "ndcg_burges@10": "ndcg@10(gain=exponential)", "r-precision": "rprec",
    "rbp.80": "rbp(gain=graded)", "rbp.95": "rbp(p=0.95, gain=graded)", "bpref": "bpref",
}  # fmt: skip
GDEVAL = {
    "ERR@5": "err@5", "ERR@20": "err@20",
    "nDCG(dcg='exp-log2')@5": "ndcg@5(gain=exponential)", "nDCG(dcg='exp-log2')@20": "ndcg@20(gain=exponential)",
}  # fmt: skip
WITHOUT_LEVEL = {"pytrec_eval": ("ndcg",), "ranx": ("rbp",), "gdeval": ("ndcg", "err")}  # there, not with us


def ours(case: dict[str, Any], spec: str, ties: str, level: int = 1) -> dict[str, float]:
    """Our value of each query, with 0 for a query without a relevant document, as the references give."""
    settings = ["empty=zero", f"ties={ties}"]
    if level > 1:
        settings.append(f"level={level}")
    spec = f"{spec[:-1]}, {', '.join(settings)})" if spec.endswith(")") else f"{spec}({', '.join(settings)})"
    table = sy.evaluate("rankings", case["qrels"], case["run"], [spec], confidence=None).units()
    return dict(zip(table.units.tolist(), next(iter(table.values.values())).tolist(), strict=True))


def check(reference: str, data: dict[str, Any], names: dict[str, str], ties: str, tolerance: float = 1e-12) -> int:
    compared = 0
    for case in data["cases"]:
        for level, measures in case["values"].items():
            assert measures.keys() == names.keys()
            for name, expected in measures.items():
                has_level = not names[name].startswith(WITHOUT_LEVEL[reference])
                result = ours(case, names[name], ties, int(level) if has_level else 1)
                for query, value in expected.items():
                    if np.isnan(value):  # ranx divides 0 by 0 in bpref
                        continue
                    where = (case["kind"], case["seed"], level, name, query)
                    assert result[query] == pytest.approx(value, rel=tolerance, abs=tolerance), where
                    compared += 1
    return compared


def golden(name: str) -> dict[str, Any]:
    return json.loads((GOLDENS / f"rankings_{name}.json").read_text(encoding="utf-8"))


def test_pytrec_eval_golden() -> None:
    assert check("pytrec_eval", golden("pytrec_eval"), TREC, "single") > 2000


def test_pytrec_eval_golden_on_scores_as_they_are() -> None:
    """Where no two scores are equal in single precision only, our default is trec_eval's rule."""
    data = golden("pytrec_eval")
    data["cases"] = [case for case in data["cases"] if case["kind"] != "close"]
    assert check("pytrec_eval", data, TREC, "id") > 1500


def test_single_precision_matters() -> None:
    """The case that the setting is for: trec_eval sees ties that are none."""
    data = golden("pytrec_eval")
    case = next(case for case in data["cases"] if case["kind"] == "close")
    expected = case["values"]["1"]["map"]
    exact = ours(case, "map", "id")
    assert any(abs(exact[query] - value) > 1e-3 for query, value in expected.items())


def test_ranx_golden() -> None:
    assert check("ranx", golden("ranx"), RANX, "id") > 500


def test_gdeval_golden() -> None:
    """The script prints five decimals."""
    assert check("gdeval", golden("gdeval"), GDEVAL, "id", 5.1e-6) > 50


def fresh(reference: str, seeds: int) -> dict[str, Any]:
    """New cases, with the reference in a process of its own."""
    code = (
        "import sys, json, random; sys.path.insert(0, sys.argv[1]); import make_ranking_goldens as m\n"
        "how, _, kinds = m.REFERENCES[sys.argv[2]]\n"
        "cases = []\n"
        "for kind, levels in kinds.items():\n"
        "    for seed in range(100, 100 + int(sys.argv[3])):\n"
        "        qrels, run = m.draw(random.Random(f'{kind} {seed}'), kind)\n"
        "        values = {str(level): how(qrels, run, level) for level in levels}\n"
        "        cases.append(dict(kind=kind, seed=seed, qrels=qrels, run=run, values=values))\n"
        "print(json.dumps({'cases': cases}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT / "tools"), reference, str(seeds)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},  # plain Python: no minutes of compiling
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize(
    ("reference", "names", "ties"),
    [("pytrec_eval", TREC, "single"), pytest.param("ranx", RANX, "id", marks=pytest.mark.slow)],
)
def test_installed_reference(reference: str, names: dict[str, str], ties: str) -> None:
    if importlib.util.find_spec(reference) is None:
        pytest.skip(f"{reference} is not installed here (the goldens hold its values)")
    assert check(reference, fresh(reference, 3), names, ties) > 500


def test_mean_over_queries_is_the_mean() -> None:
    """trec_eval's summary over queries, with and without those that have no relevant document."""
    case = golden("pytrec_eval")["cases"][0]
    values = case["values"]["1"]["map"]
    relevant = [q for q, row in case["qrels"].items() if max(row.values()) >= 1]
    report = sy.evaluate("rankings", case["qrels"], case["run"], ["map", "map(empty=zero)"], confidence=None)
    assert report["map(empty=zero)"].value == pytest.approx(np.mean(list(values.values())), rel=1e-12)
    assert report["map"].value == pytest.approx(np.mean([values[q] for q in relevant]), rel=1e-12)
    assert report["map"].n_excluded == len(values) - len(relevant) > 0

"""Make the golden values of rankings with a reference implementation: never with our own code.

Run, once for each reference, where it is installed:

    python tools/make_ranking_goldens.py pytrec_eval tests/goldens/rankings_pytrec_eval.json
    python tools/make_ranking_goldens.py trec_eval tests/goldens/rankings_trec_eval.json
    NUMBA_DISABLE_JIT=1 python tools/make_ranking_goldens.py ranx tests/goldens/rankings_ranx.json
    python tools/make_ranking_goldens.py gdeval tests/goldens/rankings_gdeval.json

trec_eval stands for its less common measures, with pytrec_eval 0.5, compiled so that products and sums are not fused
(-ffp-contract=off): where they are, as on some processors, Rprec_mult takes another rank. The inputs are drawn with
Python's own generator and stand in the file beside the values. gdeval is the script of the TREC web track that the
package ir_measures carries; it needs Perl, and prints five decimals.
"""

from __future__ import annotations

import json
import random
import sys
from importlib.metadata import version
from typing import Any

Nested = dict[str, dict[str, float]]


def draw(rng: random.Random, kind: str, queries: int = 12) -> tuple[Nested, Nested]:
    """Judgements and a run. Kinds: plain, ties, close (equal in single precision only), negative."""
    qrels: Nested = {}
    run: Nested = {}
    for q in range(queries):
        docs = [f"d{i:03d}" for i in rng.sample(range(300), 45)]
        judged = docs[: rng.randint(1, 25)]
        grades = [-2, -1, 0, 0, 1, 2] if kind == "negative" else [0, 0, 1, 1, 2, 3, 4]
        grades = [0] if q == 1 else grades  # a query without a relevant document
        qrels[f"q{q}"] = {doc: rng.choice(grades) for doc in judged}
        retrieved = [doc for doc in docs if rng.random() < (0.1 if q == 2 else 0.7)] or [docs[-1]]
        rng.shuffle(retrieved)
        run[f"q{q}"] = {doc: score(rng, kind) for doc in retrieved}
    return qrels, run


def score(rng: random.Random, kind: str) -> float:
    """A score; among ties and close ones many are equal, or nearly so."""
    if kind == "ties":
        return float(rng.randint(0, 5))
    if kind == "close":
        return rng.randint(1, 4) + rng.randint(0, 9) * 1e-10
    return round(rng.uniform(-5, 15), 6)


def by_pytrec_eval(qrels: Nested, run: Nested, level: int) -> dict[str, dict[str, float]]:
    """Values by measure and query."""
    import pytrec_eval

    wanted = {
        "map", "map_cut.5,10", "P.5,10", "recall.5,10", "success.1,5", "recip_rank", "ndcg", "ndcg_cut.5,10", "Rprec",
        "bpref", "set_P", "set_recall", "set_F",
    }  # fmt: skip
    whole = {q: {doc: int(value) for doc, value in row.items()} for q, row in qrels.items()}
    values = pytrec_eval.RelevanceEvaluator(whole, wanted, relevance_level=level).evaluate(run)
    return turned(values)


def by_trec_eval(qrels: Nested, run: Nested, level: int) -> dict[str, dict[str, float]]:
    """Values by measure and query of the measures that are asked for less often."""
    import pytrec_eval

    wanted = {"G", "binG", "Rndcg", "ndcg_rel", "infAP", "Rprec_mult.0.4,1,1.8", "relstring"}
    whole = {q: {doc: int(value) for doc, value in row.items()} for q, row in qrels.items()}
    return turned(pytrec_eval.RelevanceEvaluator(whole, wanted, relevance_level=level).evaluate(run))


def by_ranx(qrels: Nested, run: Nested, level: int) -> dict[str, dict[str, float]]:
    """Values by measure and query."""
    from ranx import Qrels, Run, evaluate

    names = [
        "map", "map@5", "map@10", "precision@5", "precision@10", "recall@5", "recall@10", "f1@5", "f1@10", "hit_rate@1",
        "hit_rate@5", "mrr", "mrr@5", "ndcg", "ndcg@5", "ndcg@10", "ndcg_burges@5", "ndcg_burges@10", "r-precision",
        "rbp.80", "rbp.95", "bpref",
    ]  # fmt: skip
    names = [f"{name}-l{level}" if level > 1 and not name.startswith("rbp") else name for name in names]
    whole = Qrels({q: {doc: int(value) for doc, value in row.items()} for q, row in qrels.items()})
    listed = Run(run)
    evaluate(whole, listed, names, return_mean=False)
    return {name.removesuffix(f"-l{level}"): {q: float(v) for q, v in listed.scores[name].items()} for name in names}


def by_gdeval(qrels: Nested, run: Nested, level: int) -> dict[str, dict[str, float]]:
    """Values by measure and query."""
    import ir_measures
    from ir_measures import ERR, nDCG

    wanted = [ERR @ 5, ERR @ 20, nDCG(dcg="exp-log2") @ 5, nDCG(dcg="exp-log2") @ 20]
    whole = {q[1:]: {doc: int(value) for doc, value in row.items()} for q, row in qrels.items()}  # it wants numbers
    listed = {q[1:]: row for q, row in run.items()}
    result: dict[str, dict[str, float]] = {}
    for metric in ir_measures.providers.registry["gdeval"].evaluator(wanted, whole).iter_calc(listed):
        if metric.query_id != "amean":
            result.setdefault(str(metric.measure), {})[f"q{metric.query_id}"] = metric.value
    return result


def turned(by_query: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """From query, measure to measure, query."""
    result: dict[str, dict[str, float]] = {}
    for query, values in by_query.items():
        for name, value in values.items():
            result.setdefault(name, {})[query] = value
    return result


ALL_KINDS = {"plain": [1, 2], "ties": [1], "close": [1], "negative": [1]}
REFERENCES: dict[str, tuple[Any, str, dict[str, list[int]]]] = {
    # reference: measure, package, levels of relevance by kind of data
    "pytrec_eval": (by_pytrec_eval, "pytrec-eval-terrier", ALL_KINDS),
    "trec_eval": (by_trec_eval, "pytrec_eval", ALL_KINDS),
    "ranx": (by_ranx, "ranx", {"plain": [1, 2]}),
    "gdeval": (by_gdeval, "ir-measures", {"plain": [1]}),
}


def main(reference: str, path: str) -> None:
    """Draw, ask the reference, write."""
    measure, package, kinds = REFERENCES[reference]
    cases = []
    for kind, levels in kinds.items():
        for seed in (1, 2):
            qrels, run = draw(random.Random(f"{kind} {seed}"), kind)
            values = {str(level): measure(qrels, run, level) for level in levels}
            cases.append({"kind": kind, "seed": seed, "qrels": qrels, "run": run, "values": values})
    about = f"python tools/make_ranking_goldens.py {reference} PATH"
    data = {"made_by": about, "reference": f"{package} {version(package)}", "cases": cases}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

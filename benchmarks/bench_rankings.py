"""Rankings against ranx, pytrec_eval and ir-measures: from memory, and from a TREC file.

    python benchmarks/bench_rankings.py [--lines 2000000]

From memory: mAP@100 and nDCG@100 of 2,000 queries x 1,000 documents with string ids. The time is that of one call in a
fresh process, so there is no warm-up: imports come before it, a first compilation does not. Each candidate gets the
data in the form it takes: nested dicts for pytrec_eval and ir-measures, ranx's own Run; ours in several forms. From a
file: a run of two million lines read and scored, the whole process.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from measure import Run, measure, sized, table

QUERIES, DOCUMENTS = sized(2_000, 50), sized(1_000, 40)
DRAW = """
import random
def draw(queries, documents):
    rng = random.Random(0)
    qrels, run = {}, {}
    for q in range(queries):
        docs = [f"doc{i:07d}" for i in rng.sample(range(5_000_000), documents)]
        run[f"query{q}"] = {doc: rng.random() for doc in docs}
        qrels[f"query{q}"] = {doc: rng.randint(0, 3) for doc in docs[::40]} | {f"other{i}": 1 for i in range(25)}
    return qrels, run
"""
STORE = f"""{DRAW}
import pickle
with open(PATH, "wb") as file:
    pickle.dump(draw({QUERIES}, {DOCUMENTS}), file, protocol=5)
"""
# Drawn once: to draw two million documents takes longer than any of the candidates.
MEMORY = """
import gc, pickle
gc.disable()
with open(PATH, "rb") as file:
    qrels, run = pickle.load(file)
gc.enable()
"""
FLAT = """
import numpy as np
def flat(nested, number):
    rows = [(q, d, v) for q, row in nested.items() for d, v in row.items()]
    columns = dict(zip(("query", "doc", number), map(list, zip(*rows))))
    return {name: np.array(values, dtype=float if name == number else object) for name, values in columns.items()}
truth, run = flat(qrels, "relevance"), flat(run, "score")
del qrels
"""
ARROW = "import pyarrow\ntruth, run = pyarrow.table(truth), pyarrow.table(run)\n"
SPECS = '["map@100", "ndcg@100"]'
OURS = f'report = sy.evaluate("rankings", %s, run, {SPECS}, confidence=%s); print(report["map@100"].value)'
# What is imported late is imported by a first evaluation.
IMPORT = f"""import steelyard as sy
sy.evaluate("rankings", {{"q": {{"d": 1}}}}, {{"q": {{"d": 1.0}}}}, {SPECS}, confidence=None)
"""


def from_memory() -> None:
    """One call on data that is there already."""
    with tempfile.TemporaryDirectory() as folder:
        path = repr(str(Path(folder) / "drawn.pickle"))
        made = measure(STORE.replace("PATH", path), repeat=1)
        if isinstance(made, str):
            raise SystemExit(made)
        runs = in_memory(MEMORY.replace("PATH", path))
    table(
        f"mAP@100 + nDCG@100, {QUERIES:,} queries x {DOCUMENTS:,} documents, string ids, from memory",
        next(iter(runs)),
        runs,
    )


def in_memory(drawn: str) -> dict[str, Run | str]:
    """Ours, and the peers."""
    return {
        "steelyard, nested dicts": measure(OURS % ("qrels", None), drawn + IMPORT),
        "steelyard, nested dicts, with intervals": measure(OURS % ("qrels", 0.95), drawn + IMPORT),
        "steelyard, columns of Python strings": measure(OURS % ("truth", None), drawn + FLAT + IMPORT),
        "steelyard, pyarrow table": measure(OURS % ("truth", None), drawn + FLAT + ARROW + IMPORT),
        "ranx, its own Run, compiling included": measure(
            'evaluate(Qrels_, Run_, ["map@100", "ndcg@100"])',
            drawn + "from ranx import Qrels, Run, evaluate\nQrels_, Run_ = Qrels(qrels), Run(run)\n",
            repeat=1,
        ),
        "ranx, its own Run, second call": measure(
            'evaluate(Qrels_, Run_, ["map@100", "ndcg@100"])',
            drawn + "from ranx import Qrels, Run, evaluate\nQrels_, Run_ = Qrels(qrels), Run(run)\n"
            'evaluate(Qrels_, Run_, ["map@100", "ndcg@100"])\n',
            repeat=1,
        ),
        "steelyard.compat.ranx, its Run, first call": measure(
            'evaluate(Qrels_, Run_, ["map@100", "ndcg@100"])',
            drawn + "from steelyard.compat.ranx import Qrels, Run, evaluate\nQrels_, Run_ = Qrels(qrels), Run(run)\n",
        ),
        "steelyard.compat.pytrec_eval, nested dicts": measure(
            'pytrec_eval.RelevanceEvaluator(qrels, {"map_cut.100", "ndcg_cut.100"}).evaluate(run)',
            drawn + "from steelyard.compat import pytrec_eval\n",
        ),
        "pytrec_eval, nested dicts": measure(
            'pytrec_eval.RelevanceEvaluator(qrels, {"map_cut.100", "ndcg_cut.100"}).evaluate(run)',
            drawn + "import pytrec_eval\n",
            repeat=1,
        ),
        "ir-measures, nested dicts": measure(
            "ir_measures.calc_aggregate([AP @ 100, nDCG @ 100], qrels, run)",
            drawn + "import ir_measures, pytrec_eval\nfrom ir_measures import AP, nDCG\n",
            repeat=1,
        ),
    }


def from_file(lines: int) -> None:
    """The whole process: start, read, score."""
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = Path(folder) / "bench.qrels", Path(folder) / "bench.run"
        write = f"""{DRAW}
with open({str(run)!r}, "w") as listed, open({str(qrels)!r}, "w") as judged:
    for part in range({lines // 1000} // 100):
        truth, runs = draw(100, 1_000)
        for q, row in runs.items():
            ordered = sorted(row.items(), key=lambda item: -item[1])
            listed.writelines(f"{{part}}{{q}} Q0 {{d}} {{i}} {{s:.6f}} bench\\n" for i, (d, s) in enumerate(ordered, 1))
            judged.writelines(f"{{part}}{{q}} 0 {{d}} {{r}}\\n" for d, r in truth[q].items())
"""
        made = measure(write, repeat=1)
        if isinstance(made, str):
            raise SystemExit(made)
        print(f"\n{run.name}: {lines:,} lines, {run.stat().st_size / 1e6:.0f} MB")
        paths = f"qrels, run = {str(qrels)!r}, {str(run)!r}\n"
        peers = {
            "ranx": 'from ranx import Qrels, Run, evaluate\nevaluate(Qrels.from_file(qrels, kind="trec"), '
            'Run.from_file(run, kind="trec"), ["map@100", "ndcg@100"])',
            "pytrec_eval": "import pytrec_eval\nwith open(qrels) as f: judged = pytrec_eval.parse_qrel(f)\n"
            "with open(run) as f: listed = pytrec_eval.parse_run(f)\n"
            'pytrec_eval.RelevanceEvaluator(judged, {"map_cut.100", "ndcg_cut.100"}).evaluate(listed)',
            "ir-measures": "import ir_measures, pytrec_eval\nfrom ir_measures import AP, nDCG\n"
            "ir_measures.calc_aggregate([AP @ 100, nDCG @ 100], ir_measures.read_trec_qrels(qrels), "
            "ir_measures.read_trec_run(run))",
            "ir-measures, reading the run alone": "import ir_measures\nfor _ in ir_measures.read_trec_run(run): pass",
        }
        ours = "import steelyard as sy\n" + OURS
        runs = {
            "steelyard": measure(ours % ("qrels", None), paths, whole=True),
            "steelyard, with intervals": measure(ours % ("qrels", 0.95), paths, whole=True),
            **{name: measure(code, paths, repeat=1, whole=True) for name, code in peers.items()},
        }
        table(f"TREC run of {lines:,} lines read and scored, whole process", "steelyard", runs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=sized(2_000_000, 100_000))
    parser.add_argument("--only", choices=("memory", "file"))
    chosen = parser.parse_args()
    if chosen.only != "file":
        from_memory()
    if chosen.only != "memory":
        from_file(chosen.lines)

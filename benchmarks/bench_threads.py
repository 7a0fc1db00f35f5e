"""Wall-clock time of boxes on many cores: from files to numbers in a fresh process, by the number of threads.

Peers choose their own number of threads. The least of the runs counts; it is meaningful only on a machine without other
work.

    python benchmarks/bench_threads.py [S] [M] [L] [--rounds 3] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import tempfile
from pathlib import Path

from bench_boxes import NUMBERS, OURS, PEERS, SIZES, make_data, measure
from measure import QUICK, Run, record

COUNTS = [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= (os.cpu_count() or 1)]
THREADS = "import steelyard as sy\nsy.use_threads(COUNT)\n"
OURS_ROWS = {
    "twelve numbers": OURS,
    "twelve numbers, 1,000 draws": OURS.replace("confidence=None", "confidence=0.95, draws=1000"),
    "all defaults, 1,000 draws": 'import steelyard as sy\nprint(sy.evaluate("boxes", TRUTH, RESULTS)["map"].value)\n',
    "drop-in for pycocotools": PEERS["steelyard, drop-in"][1],
}
FAST_PEERS = ("hotcoco", "ultrafast-pycocotools")


def fastest(code: str, rounds: int) -> Run | str:
    """The run that ended first; a text says why there is none."""
    runs = []
    for _ in range(1 if QUICK else rounds):
        try:
            runs.append(Run(*measure(code)[:3], rounds))
        except RuntimeError as error:
            return f"failed: {error}"
    return min(runs, key=lambda run: run.wall)


def run_size(size: str, folder: Path, rounds: int) -> None:
    truth, results = make_data(size, folder)
    prelude = f"TRUTH, RESULTS, NUMBERS = {str(truth)!r}, {str(results)!r}, {NUMBERS!r}\n"
    group = f"boxes {size} by the clock"
    print(f"\n{group}, seconds with {', '.join(map(str, COUNTS))} threads")
    print(f"  {'import steelyard':32}", _cell(fastest("import steelyard\nprint(1)\n", rounds)))
    for name, code in OURS_ROWS.items():
        cells = []
        for count in COUNTS:
            run = fastest(prelude + THREADS.replace("COUNT", str(count)) + code, rounds)
            record(group, f"steelyard, {name}, {count} threads", run)
            cells.append(_cell(run))
        print(f"  {name:32}", " ".join(cells))
    for name in FAST_PEERS:
        module, code = PEERS[name]
        run = "not installed" if importlib.util.find_spec(module) is None else fastest(prelude + code, rounds)
        record(group, name, run)
        print(f"  {name:32}", _cell(run))


def _cell(run: Run | str) -> str:
    return run if isinstance(run, str) else f"{run.wall:6.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", default=[], choices=[*SIZES, []], help="S and M")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="keep the data in this folder")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for size in asked.sizes or (["Q"] if QUICK else ["S", "M"]):
            run_size(size, folder, asked.rounds)


if __name__ == "__main__":
    main()

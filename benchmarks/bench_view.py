"""The viewer over 2,000 results: CPU seconds until the first page is made, of the page again, and of a chart of them.

    python benchmarks/bench_view.py [RESULTS]

Target: the first page within 1 s. Half of the results are of boxes (11 KB), half of weights with slices (29 KB); one in
a hundred was written with --details. They are read from the page cache, as files are that were just written.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from measure import Run, measure, record, sized

import steelyard as sy

SAMPLES = Path(sy.__file__).parent / "samples"
GROUP = "The viewer over 2,000 results"
SETUP = """
import steelyard.view.connections, steelyard.view.server
from steelyard.view.folder import Folder
from steelyard.view.listing import list_page
from steelyard.view.query import parse_query
from steelyard.view.runs import Runs
from steelyard.view.frame import Site
from steelyard.view.units import Images

def page(query=""):
    return list_page(site, runs.index.entries(), runs.folder.root, parse_query(query)[0])

runs = Runs(Folder({folder!r}))
site = Site("/token", Images(runs))
"""
AGAIN = "page()\n"


def write(folder: Path, results: int) -> None:
    """Results of two tasks, with tags."""
    made = []
    for task, ending, by in (("boxes", "json", []), ("weights", "csv", ["cuisine"])):
        sides = (SAMPLES / task / f"{name}.{ending}" for name in ("truth", "model_a"))
        report = sy.evaluate(task, *sides, by=by)
        made.append((report.to_dict(), report.to_dict(details=True)))
    for i in range(results):
        data = made[i % 2][i % 100 == 0]
        days = {"date": f"2026-{1 + i // 28 % 12:02}-{1 + i % 28:02}"}
        data["body"]["request"]["tags"] = {"model": f"m{i % 7}", "step": str(i), **days}
        (folder / f"run_{i:04}.json").write_text(json.dumps(data, indent=2), encoding="utf-8")


def main() -> None:
    results = int(sys.argv[1]) if len(sys.argv) > 1 else sized(2000, 50)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), results)
        setup = SETUP.format(folder=folder)
        rows = {
            "steelyard, the first page": measure("page()", setup),
            "steelyard, the first page, with Python's start and all imports": measure(setup + "page()", whole=True),
            "steelyard, the page again": measure("page()", setup + AGAIN),
            "steelyard, a metric over time by model": measure("page('metric=map&group=model')", setup + AGAIN),
        }
    for name, run in rows.items():
        record(GROUP, name, run)
        shown = f"{run.cpu:6.2f} s CPU, {run.peak_mb:5.0f} MB" if isinstance(run, Run) else run
        print(f"{results:,} results: {name:64} {shown}")


if __name__ == "__main__":
    main()

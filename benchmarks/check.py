"""Compare a run of the benchmarks with an earlier one, and name the rows of Steelyard that got worse by more than 10 %.

    python benchmarks/check.py [NEW] [OLD]

NEW is out/bench/table.json, and OLD the newest table of benchmarks/results/. Exit 1 where a row got worse. Only tables
of the same kind of processor can be compared. Below 5 ms nothing is said: the clock of processes is too coarse.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

WORSE = 1.10
LEAST_SECONDS = 0.005
RESULTS = Path(__file__).parent / "results"


def newest() -> Path | None:
    """The last table that was committed: their names begin with the date."""
    return max(RESULTS.glob("*_bench.json"), default=None, key=lambda path: path.name)


def ours(result: dict[str, Any]) -> dict[tuple[str, str, str], float]:
    """CPU seconds of our own rows."""
    rows = [row for row in result["rows"] if "cpu" in row]
    return {(row["script"], row["group"], row["name"]): row["cpu"] for row in rows if "steelyard" in row["name"]}


def compare(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    """A line for each row that got worse."""
    before, lines = ours(old), []
    for key, now in ours(new).items():
        then = before.get(key)
        if then is None or max(now, then) < LEAST_SECONDS or now <= WORSE * then:
            continue
        lines.append(f"{key[0].removeprefix('bench_')}: {key[1]}: {key[2]}: {then:.4f} -> {now:.4f} CPU s")
    return lines


def main() -> int:
    given = [Path(argument) for argument in sys.argv[1:]]
    new = given[0] if given else Path("out/bench/table.json")
    old = given[1] if len(given) > 1 else newest()
    if not new.exists() or old is None:
        print(f"{new} is not there: run make bench" if old is not None else "no earlier table in benchmarks/results/")
        return 2
    tables = [json.loads(path.read_text(encoding="utf-8")) for path in (new, old)]
    kinds = [(table["machine"]["processor"], table["quick"]) for table in tables]
    if kinds[0] != kinds[1]:
        print(f"not the same: {kinds[0]} and {kinds[1]} of {old.name}")
        return 2
    lines = compare(*tables)
    shared = len(ours(tables[0]).keys() & ours(tables[1]).keys())
    print("\n".join([*lines, f"{len(lines)} of {shared} rows got worse by more than 10 % since {old.name}"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

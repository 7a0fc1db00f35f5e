"""Compare a run of the benchmarks with an earlier one, and name the rows of Steelyard that got worse by more than 10 %.

    python benchmarks/check.py [NEW] [OLD]

NEW is out/bench/table.json, and OLD the newest table of benchmarks/results/ of the same processor and the same size of
data. Exit 1 where a row got worse. Below 5 ms nothing is said: the clock of processes is too coarse. Rows that are new,
and rows that are not there any more, are named and change nothing else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

WORSE = 1.10
LEAST_SECONDS = 0.005
SHOWN = 8  # rows of a kind that are named
RESULTS = Path(__file__).parent / "results"


def read(path: Path) -> dict[str, Any]:
    """A table of benchmarks."""
    return dict(json.loads(path.read_text(encoding="utf-8")))


def sort_of(result: dict[str, Any]) -> tuple[str, bool]:
    """What two tables must share to be compared: the processor, and whether the data are those of a smoke run."""
    return result["machine"]["processor"], result["quick"]


def newest(new: dict[str, Any]) -> Path | None:
    """The last table that was committed and can be compared: their names begin with the date."""
    paths = sorted(RESULTS.glob("*_bench*.json"), reverse=True)
    return next((path for path in paths if sort_of(read(path)) == sort_of(new)), None)


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


def apart(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    """A line for the rows that are in one table alone, and one for those that did not run this time."""
    now, then = ours(new).keys(), ours(old).keys()
    failed = {(row["script"], row["group"], row["name"]) for row in new["rows"] if "not_run" in row}
    groups = {"new": now - then, "not there any more": then - now - failed, "not run": failed & then}
    return [f"{title}: {_listed(keys)}" for title, keys in groups.items() if keys]


def _listed(keys: set[tuple[str, str, str]]) -> str:
    names = sorted(f"{script.removeprefix('bench_')}: {group}: {name}" for script, group, name in keys)
    return "; ".join(names[:SHOWN]) + (f"; and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def main() -> int:
    given = [Path(argument) for argument in sys.argv[1:]]
    path = given[0] if given else Path("out/bench/table.json")
    if not path.exists():
        print(f"{path} is not there: run make bench")
        return 2
    new = read(path)
    old = given[1] if len(given) > 1 else newest(new)
    if old is None:
        size = "small" if new["quick"] else "whole"
        print(f"no earlier table in benchmarks/results/ of {size} data on {new['machine']['processor']}")
        return 2
    before = read(old)
    if sort_of(new) != sort_of(before):
        print(f"not the same: {sort_of(new)} and {sort_of(before)} of {old.name}")
        return 2
    lines, other = compare(new, before), apart(new, before)
    shared = len(ours(new).keys() & ours(before).keys())
    print("\n".join([*other, *lines, f"{len(lines)} of {shared} rows got worse by more than 10 % since {old.name}"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

"""What `tools/mutants.py` writes of the verdicts: the share of each room, each file, and what no test noticed."""

from __future__ import annotations

import difflib
import json
import math
from dataclasses import dataclass
from pathlib import Path

NOTICED = {1, 3, 24, -24, 36, 152, 255, -14}  # failed, crashed, or ran out of time
UNTESTED = 33
FEWEST = 5  # mutants of a file that a sample takes at least
CONFIDENT = 1.96  # standard errors that an interval of 95 % reaches to either side
ROOMS = "| room | mutants | run | noticed | share | standard error | from | to |"
FILES = "| file | mutants | run | noticed | untested | survived | share |"


@dataclass(frozen=True)
class File:
    """A file: how many mutants it has, and how the tests of those that were run ended."""

    name: str
    path: Path
    mutants: int
    codes: dict[str, int]

    @property
    def noticed(self) -> int:
        return sum(code in NOTICED for code in self.codes.values())

    @property
    def untested(self) -> int:
        return sum(code == UNTESTED for code in self.codes.values())

    @property
    def share(self) -> float:
        return self.noticed / len(self.codes)

    def row(self) -> str:
        survived = len(self.codes) - self.noticed - self.untested
        counts = [self.mutants, len(self.codes), self.noticed, self.untested, survived]
        return f"| {self.name} | {' | '.join(map(str, counts))} | {self.share:.1%} |"


def table(rooms: dict[str, list[File]], seed: int | None) -> tuple[str, dict[str, float]]:
    """The table of the rooms, that of the files, what was not noticed, and the share of each room."""
    rows, shares = [], {}
    for room, files in rooms.items():
        mutants = sum(file.mutants for file in files)
        run = sum(len(file.codes) for file in files)
        share, error = estimate(files)
        shares[room] = share
        low, high = max(0.0, share - CONFIDENT * error), min(1.0, share + CONFIDENT * error)
        cells = [str(mutants), str(run), str(sum(file.noticed for file in files)), f"{share:.1%}"]
        rows.append(f"| {' | '.join([room, *cells, f'{error:.2%}', f'{low:.1%}', f'{high:.1%}'])} |")
    every = [file for files in rooms.values() for file in files]
    lost = [change(file.path, name) for file in every for name, code in file.codes.items() if code not in NOTICED]
    drawn = "Every mutant is run." if seed is None else f"A sample is run, drawn by file with seed {seed}."
    parts = [
        "# Mutants",
        drawn,
        "\n".join([ROOMS, "|---" * 8 + "|", *rows]),
        "\n".join([FILES, "|---" * 7 + "|", *(file.row() for file in every)]),
        "## Not noticed",
        "\n\n".join(lost),
    ]
    return "\n\n".join(parts) + "\n", shares


def estimate(files: list[File]) -> tuple[float, float]:
    """The share of a room that is noticed, each file weighed by all of its mutants, and the standard error of it.

    Files of which fewer than `FEWEST` were run are taken together.
    """
    strata = [(f.mutants, len(f.codes), f.noticed) for f in files if len(f.codes) >= min(FEWEST, f.mutants)]
    small = [f for f in files if len(f.codes) < min(FEWEST, f.mutants)]
    if small:
        run = sum(len(f.codes) for f in small)
        strata.append((sum(f.mutants for f in small), run, sum(f.noticed for f in small)))
    total = max(1, sum(mutants for mutants, _, _ in strata))
    share, variance = 0.0, 0.0
    for mutants, run, noticed in strata:
        part, weight = noticed / run, mutants / total
        share += weight * part
        if 1 < run < mutants:
            variance += weight**2 * part * (1 - part) / (run - 1) * (1 - run / mutants)
    return share, math.sqrt(variance)


def change(path: Path, key: str) -> str:
    """The lines that a mutant changes, under its name."""
    name = key.rpartition(".")[2]
    original = f"{name.partition('__mutmut_')[0]}__mutmut_orig"
    spans = json.loads(path.with_name(f"{path.name}.spans").read_text(encoding="utf-8"))["spans"]
    lines = path.read_text(encoding="utf-8").splitlines()
    sources = []
    for function in (original, name):
        first, last = spans.get(function, (1, 0))
        sources.append([line.replace(function, "f") for line in lines[first - 1 : last]])
    changed = [line for line in difflib.ndiff(*sources) if line[:2] in ("- ", "+ ")]
    return "\n".join([f"- {key}", *(f"      {line}" for line in changed)])

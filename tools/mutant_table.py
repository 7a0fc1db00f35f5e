"""What `tools/mutants.py` writes of the verdicts: the shares of each package, each file, and what no test noticed."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mutant_words import changes_words_only

NOTICED = {1, 3, 24, -24, 36, 152, 255, -14}  # failed, crashed, or ran out of time
UNTESTED = 33
FEWEST = 5  # mutants of a file that a sample takes at least
CONFIDENT = 1.96  # standard errors that an interval of 95 % reaches to either side
ROOMS = "| package | mutants | run | noticed | share | standard error | from | to |"
FILES = "| file | mutants | run | noticed | untested | survived | share | words only | share of the others |"
BEHAVIOUR = " without words"  # follows the name of a package whose row leaves out the changes of words
EXPLAINED = """Rows "without words" leave out the mutants that change words only: the function's syntax tree is the
original's except for strings that contain white space, that are raised or end as a sentence does, and that no source
compares, looks up, splits or formats. Tests assert the codes of errors, not their sentences. A message that is removed,
or replaced by None, is not left out."""


@dataclass(frozen=True)
class File:
    """A file: how many mutants it has, how the tests of those that were run ended, and which change words only."""

    name: str
    path: Path
    mutants: int
    codes: dict[str, int]
    words: frozenset[str] = frozenset()

    @property
    def noticed(self) -> int:
        return sum(code in NOTICED for code in self.codes.values())

    @property
    def untested(self) -> int:
        return sum(code == UNTESTED for code in self.codes.values())

    @property
    def share(self) -> float:
        return self.noticed / len(self.codes) if self.codes else math.nan

    @property
    def lost(self) -> list[str]:
        return [name for name, code in self.codes.items() if code not in NOTICED]

    def without_words(self) -> File:
        """The file with the mutants alone that change what the code does."""
        codes = {name: code for name, code in self.codes.items() if name not in self.words}
        return File(self.name, self.path, self.mutants - len(self.words), codes)

    def row(self) -> str:
        survived = len(self.codes) - self.noticed - self.untested
        counts = [self.mutants, len(self.codes), self.noticed, self.untested, survived]
        others = self.without_words()
        words = f"{len(self.codes) - len(others.codes)} | {others.share:.1%}".replace("nan%", "")
        return f"| {self.name} | {' | '.join(map(str, counts))} | {self.share:.1%} | {words} |"


def table(rooms: dict[str, list[File]], seed: int | None) -> tuple[str, dict[str, float]]:
    """The tables of packages and of files, what was not noticed, and the share of each package without words."""
    rows, shares = [], {}
    for room, files in rooms.items():
        without = [file.without_words() for file in files]
        rows += [row(room, files), row(room + BEHAVIOUR, without)]
        shares[room] = estimate(without)[0]
    every = [file for files in rooms.values() for file in files]
    words = [change(file.path, name) for file in every for name in file.lost if name in file.words]
    others = [change(file.path, name) for file in every for name in file.lost if name not in file.words]
    drawn = "Every mutant is run." if seed is None else f"A sample is run, drawn by file with seed {seed}."
    parts = [
        "# Mutants",
        drawn,
        "\n".join([ROOMS, "|---" * 8 + "|", *rows]),
        EXPLAINED,
        "\n".join([FILES, "|---" * 9 + "|", *(file.row() for file in every)]),
        "## Not noticed",
        *others,
        "## Not noticed, words only",
        *words,
    ]
    return "\n\n".join(parts) + "\n", shares


def row(name: str, files: list[File]) -> str:
    """The row of a package."""
    share, error = estimate(files)
    low, high = max(0.0, share - CONFIDENT * error), min(1.0, share + CONFIDENT * error)
    counts = [
        sum(file.mutants for file in files),
        sum(len(file.codes) for file in files),
        sum(f.noticed for f in files),
    ]
    return f"| {' | '.join([name, *map(str, counts), f'{share:.1%}', f'{error:.2%}', f'{low:.1%}', f'{high:.1%}'])} |"


def estimate(files: list[File]) -> tuple[float, float]:
    """The share of a room that is noticed, each file weighed by all of its mutants, and the standard error of it.

    Files of which fewer than `FEWEST` were run are taken together.
    """
    strata = [(f.mutants, len(f.codes), f.noticed) for f in files if 0 < min(FEWEST, f.mutants) <= len(f.codes)]
    small = [f for f in files if len(f.codes) < min(FEWEST, f.mutants)]
    run = sum(len(f.codes) for f in small)
    if run:
        strata.append((sum(f.mutants for f in small), run, sum(f.noticed for f in small)))
    total = max(1, sum(mutants for mutants, _, _ in strata))
    share, variance = 0.0, 0.0
    for mutants, run, noticed in strata:
        part, weight = noticed / run, mutants / total
        share += weight * part
        if 1 < run < mutants:
            variance += weight**2 * part * (1 - part) / (run - 1) * (1 - run / mutants)
    return share, math.sqrt(variance)


class Mutated:
    """A file with the sources of its mutants."""

    def __init__(self, path: Path) -> None:
        self.spans = json.loads(path.with_name(f"{path.name}.spans").read_text(encoding="utf-8"))["spans"]
        self.lines = path.read_text(encoding="utf-8").split("\n")

    def sources(self, key: str) -> tuple[list[str], list[str]]:
        """The lines of the function that a mutant is one of, and those of the mutant, both under the name f."""
        name = key.rpartition(".")[2]
        original = f"{name.partition('__mutmut_')[0]}__mutmut_orig"
        return self.function(original), self.function(name)

    def function(self, name: str) -> list[str]:
        first, last = self.spans.get(name, (1, 0))
        return [line.replace(name, "f") for line in self.lines[first - 1 : last]]


def words_only(path: Path, keys: Iterable[str], names: frozenset[str]) -> frozenset[str]:
    """Those mutants of a file that change words only."""
    file = Mutated(path)
    changed = set()
    for key in keys:
        if changes_words_only(*map("\n".join, file.sources(key)), names):
            changed.add(key)
    return frozenset(changed)


def change(path: Path, key: str) -> str:
    """The lines that a mutant changes, under its name."""
    changed = [line for line in difflib.ndiff(*Mutated(path).sources(key)) if line[:2] in ("- ", "+ ")]
    return "\n".join([f"- {key}", *(f"      {line}" for line in changed)])

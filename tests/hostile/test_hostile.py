"""Hostile input, a row each, over all tasks and commands: one message, the right exit code, and nothing else.

0 signals, 0 tracebacks, 0 hangs, 0 silent. Every row runs in a process of its own with a limit of memory and a deadline.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile import ROWS
from hostile.harness import Runner, contents, faults, lay_out
from hostile.rows import MAP_TASKS, TASKS, Row
from steelyard.cli.main import cli

LEAST = 1700
# Rows that take seconds, each like another that does not: bombs of other formats, files of shards, imports of PyTorch.
SLOW = {
    "packed: JSON of nothing but spaces",
    "path: states from a pipe",
    "segmentation: shards of a damaged map",
    "server: answers a megabyte of digits",
    "server: drips",
    "server: sends a bomb",
    "special: shards, p0.csv is a named pipe",
    "special: shards, p0.csv is an endless device",
    "special: shards, t0.csv is a link to itself",
    "special: shards, t0.csv is a link to nothing",
    "special: shards, t0.csv is an endless device",
    "volumes: NIfTI packed with a gigabyte behind its voxels",
    "volumes: an archive of 300 MB in a few kB",
    "weights in memory: tensor of bfloat16",
    "weights: Parquet bomb of 8 GB",
}


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    made = Runner(tmp_path_factory.mktemp("streams"))
    yield made
    made.close()


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row.name, marks=[pytest.mark.slow] if row.name in SLOW else []) for row in ROWS]
)
def test_row(row: Row, tmp_path: Path, runner: Runner) -> None:
    lay_out(row, tmp_path)
    before = contents(tmp_path)
    ended = runner.run(row, tmp_path)
    wrong = faults(row, ended, before, contents(tmp_path))
    assert not wrong, f"{row.name}: {'; '.join(wrong)}\n{ended}"
    if row.after is not None:
        row.after(tmp_path)


def test_rows() -> None:
    """Many, each once, each with words to look for; every task and every command."""
    assert len(ROWS) >= LEAST
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert [row.name for row in ROWS if not row.says and row.code != 0] == []
    assert {row.name for row in ROWS} >= SLOW
    assert {row.task for row in ROWS} >= {*TASKS, *MAP_TASKS}
    commands = {name for name in cli.commands if name != "vlm"}
    commands |= {f"vlm {name}" for name in cli.commands["vlm"].commands}  # type: ignore[attr-defined]
    assert {row.command for row in ROWS} >= commands

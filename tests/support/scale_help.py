"""Shards to evaluate, and a driver that can be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from steelyard.core import catalogue
from support.drawn import DRAW

Data = dict[str, Any]


def plain(column: Any) -> list[Any]:
    """Values as a file can hold them: what is more than a number or a text, as JSON."""
    values = [v.item() if isinstance(v, np.generic) else v for v in column]
    if not any(isinstance(v, list | dict | np.ndarray) for v in values):
        return values
    return [v if isinstance(v, str) else json.dumps(v, default=lambda array: array.tolist()) for v in values]


def write_shards(
    task: str,
    folder: Path,
    truths: int,
    predictions: int,
    units: int = 24,
    seed: int = 1,
    data: tuple[Data, Data] | None = None,
) -> tuple[Data, Data]:
    """Drawn data as Parquet files, truth in so many and predictions in so many; gives the whole."""
    sides = data or DRAW[task](np.random.default_rng(seed), units)
    key = catalogue.find_task(task).truth.key[0]
    ids = list(dict.fromkeys(map(str, sides[0][key])))
    order = np.random.default_rng(seed + 1).permutation(len(ids))  # no shard is a run of ids
    for name, side, count in (("truth", sides[0], truths), ("pred", sides[1], predictions)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            mine = {ids[i] for i in order[number::count]}
            rows = [i for i, unit in enumerate(side[key]) if str(unit) in mine]
            columns = {column: [plain(values)[i] for i in rows] for column, values in side.items()}
            pq.write_table(pa.table(columns), folder / name / f"{number:02d}.parquet")
    return sides


def files(folder: Path) -> tuple[str, str]:
    return str(folder / "truth" / "*.parquet"), str(folder / "pred" / "*.parquet")


ZYGOTE = """
import json, os, sys
from steelyard.core import catalogue
catalogue.find_task(sys.argv[1])
import steelyard.scale.run
if sys.argv[2] == "dask":
    import distributed, pyarrow.parquet
for line in sys.stdin:
    args = json.loads(line)
    pid = os.fork()
    if pid == 0:
        try:
            report = steelyard.scale.evaluate_shards(*args["args"], **args["named"])
            report.to_json(args["out"])
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(3)
    print(json.dumps({"pid": pid}), flush=True)
    print(json.dumps({"status": os.waitpid(pid, 0)[1]}), flush=True)
"""


class Driver:
    """A process that has imported all there is, and forks a fresh driver for every run: imports are paid for once."""

    def __init__(self, task: str, engine: str) -> None:
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - a pipe that nobody reads would fill up
        self.process = subprocess.Popen(
            [sys.executable, "-c", ZYGOTE, task, engine],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )  # fmt: skip

    def start(self, out: Path, *args: Any, **named: Any) -> int:
        """Start a run; gives the pid of its driver."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"args": args, "named": named, "out": str(out)}) + "\n")
        self.process.stdin.flush()
        return int(self._line()["pid"])

    def wait(self) -> int:
        """How the run ended: 0, or the signal."""
        return int(self._line()["status"])

    def _line(self) -> dict[str, int]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            raise AssertionError(self.log.read())
        return dict(json.loads(line))

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
        for stream in (self.process.stdout, self.log):
            if stream is not None:
                stream.close()

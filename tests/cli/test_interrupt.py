"""Ctrl-C is answered soon, however many draws there are: native work is done in calls that are short, with equal bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from support.forked import started

from steelyard.core import draws as drawing
from steelyard.core.draws import BootstrapDraws, unit_keys
from steelyard.core.weights import Entries, Weights

WITHIN = 5.0  # seconds of CPU, by one thread; it takes half a one, and without the cuts it would be twenty or more
UNITS = 30_000

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")

DRAWN = f"""
import numpy as np
from steelyard.core.weights import Entries
from steelyard.core.draws import BootstrapDraws
from steelyard.engine.threads import use_threads
use_threads(1)
keys, ones = np.arange({UNITS}, dtype=np.uint64), np.ones({UNITS})
weights = BootstrapDraws(keys, ones, 0, 1_000_000)
owner = np.arange({UNITS})
print("ready", flush=True)
WHAT
"""
ASKED = {
    "totals": "weights @ owner",
    "entries": "weights.scatter(Entries(owner, (owner % 3).astype(np.int32), None, 3))",
}


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    """What a running process has used; a machine under load does not add to it."""
    used = psutil.Process(process.pid).cpu_times()
    return float(used.user + used.system)


def interrupted(process: subprocess.Popen[str], after: float) -> float:
    """Send Ctrl-C once the process has used so many seconds of CPU; gives those it uses until it has ended."""
    while (before := cpu_seconds(process)) < after:
        assert process.poll() is None, "it has ended before"
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime - before


@posix
@pytest.mark.parametrize("what", list(ASKED))
def test_a_million_draws_can_be_interrupted(what: str) -> None:
    code = DRAWN.replace("WHAT", ASKED[what])
    command = [sys.executable, "-c", code]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        took = interrupted(process, cpu_seconds(process) + 0.3)
        assert "KeyboardInterrupt" in process.stderr.read()
    assert took < WITHIN


@posix
def test_the_command_says_that_it_was_interrupted(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    for side in ("truth", "pred"):
        rows = "".join(f"{i},0,{weight:.4f}\n" for i, weight in enumerate(rng.uniform(50, 500, UNITS)))
        (tmp_path / f"{side}.csv").write_text(f"dish,frame,weight\n{rows}", encoding="utf-8")
    command = [sys.executable, "-m", "steelyard", "evaluate", "weights", "truth.csv", "pred.csv", "-m", "mae"]
    command += ["--draws", "1000000", "--threads", "1"]
    with started(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        took = interrupted(process, 3)
        assert (process.returncode, process.stdout.read()) == (130, "")
        assert process.stderr.read().strip() == "steelyard: interrupted"
    assert took < WITHIN


def values(weights: Weights) -> list[bytes]:
    """All that can be asked of draws, to the bit."""
    rng = np.random.default_rng(3)
    table, owner = rng.normal(size=(weights.units, 5)), np.sort(rng.integers(0, weights.units, 900))
    code, value = rng.integers(0, 7, 900).astype(np.int32), rng.normal(size=900)
    totals = [
        weights @ table,
        weights.scatter(Entries(owner, code, None, 7)),
        weights.scatter(Entries(owner, code, value, 7)),
        np.concatenate(list(weights.blocks())),
    ]
    counts = weights.counts()
    return [array.tobytes() for array in (*totals, *([] if counts is None else [np.concatenate(list(counts))]))]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda keys, base: BootstrapDraws(keys, base, 5, 1000),
        lambda keys, base: BootstrapDraws(keys, base, 5, 1000, first=64),
        lambda keys, base: BootstrapDraws(keys, base, 5, 1000, np.arange(1, len(keys) + 1)),
    ],
)
def test_calls_give_the_bits_of_one(make, weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = unit_keys(np.arange(300))
    base = np.random.default_rng(4).uniform(0.5, 2, 300) if weighted else np.ones(300)
    for name in ("CALL_WORK", "CALL_DRAWS", "CALL_ROWS"):
        monkeypatch.setattr(drawing, name, 1 << 60)
    whole = values(make(keys, base))
    for name, few in (("CALL_WORK", 1), ("CALL_DRAWS", 96), ("CALL_ROWS", 64)):
        monkeypatch.setattr(drawing, name, few)
    assert values(make(keys, base)) == whole

"""Ctrl-C is answered soon, however many draws there are: native work is done in calls that are short, with equal bits."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from steelyard.core import draws as drawing
from steelyard.core.draws import BootstrapDraws, unit_keys
from steelyard.core.weights import Entries, Weights

WITHIN = 5.0  # seconds; half a one where nothing else runs, and without the cuts it would be twenty or more
UNITS = 30_000

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")

DRAWN = f"""
import numpy as np
from steelyard.core.weights import Entries
from steelyard.core.draws import BootstrapDraws
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


def interrupted(process: subprocess.Popen[str], after: float) -> float:
    """Send Ctrl-C; gives the seconds until the process has ended."""
    time.sleep(after)
    assert process.poll() is None, "it has ended before"
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=4 * WITHIN)
    finally:
        process.kill()
    return time.monotonic() - begin


@posix
@pytest.mark.parametrize("what", list(ASKED))
def test_a_million_draws_can_be_interrupted(what: str) -> None:
    code = DRAWN.replace("WHAT", ASKED[what])
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        took = interrupted(process, 0.3)
        assert "KeyboardInterrupt" in process.stderr.read()
    assert took < WITHIN


@posix
def test_the_command_says_that_it_was_interrupted(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    for side in ("truth", "pred"):
        rows = "".join(f"{i},0,{weight:.4f}\n" for i, weight in enumerate(rng.uniform(50, 500, UNITS)))
        (tmp_path / f"{side}.csv").write_text(f"dish,frame,weight\n{rows}", encoding="utf-8")
    command = [sys.executable, "-m", "steelyard", "evaluate", "weights", "truth.csv", "pred.csv", "-m", "mae"]
    command += ["--draws", "1000000"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        took = interrupted(process, 3)
        assert process.stdout is not None
        assert process.stderr is not None
        assert (process.returncode, process.stdout.read()) == (130, "")
        assert process.stderr.read().strip() == "steelyard: interrupted"
    assert took < WITHIN


def values(weights: Weights) -> list[bytes]:
    """All that can be asked of draws, to the bit."""
    rng = np.random.default_rng(3)
    table, owner = rng.normal(size=(weights.units, 5)), np.sort(rng.integers(0, weights.units, 900))
    code, value = rng.integers(0, 7, 900).astype(np.int32), rng.normal(size=900)
    totals = [
        weights @ table, weights.scatter(Entries(owner, code, None, 7)), weights.scatter(Entries(owner, code, value, 7)),
        np.concatenate(list(weights.blocks())),
    ]  # fmt: skip
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

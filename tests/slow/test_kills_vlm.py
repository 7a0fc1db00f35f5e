"""`vlm run` killed without warning at random moments: nothing lost, nothing mixed, resumed exactly, nothing left behind."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.forked import started
from support.vlm_help import completion, frames_csv, sent_grey, serving

from steelyard.vlm.frames import read_frames
from steelyard.vlm.journal import NAME, read_journal
from steelyard.vlm.prompts import PROMPTS

KILLS = int(os.environ.get("STEELYARD_KILLS", "3"))
A_ROUND = 5  # kills before a run is let to its end
WORKERS = 3


@pytest.mark.slow
def test_a_run_killed_in_the_middle_goes_on_exactly(tmp_path: Path) -> None:
    frames_csv(tmp_path, sequences=5, length=3)
    weights = {frame.picture.digest: frame.weight for frame in read_frames(tmp_path / "frames.csv")}
    drawn = random.Random(KILLS)
    killed = rounds = 0
    while killed < KILLS:
        rounds += 1
        killed += one_round(tmp_path, tmp_path / f"run{rounds}", weights, drawn, min(A_ROUND, KILLS - killed))
    print(f"{killed} kills came in time")


def one_round(folder: Path, out: Path, weights: dict[str, float], drawn: random.Random, kills: int) -> int:
    """Kill a run so many times, then let it end; the number of kills that found it alive."""
    total = len(weights) * len(PROMPTS)

    def answer(handler, number, body) -> None:
        time.sleep(0.02)
        handler.send(completion(str(sent_grey(body))))

    with serving(answer) as server:
        command = [
            sys.executable, "-m", "steelyard", "vlm", "run", "frames.csv", "--model", f"openai:m@{server.url}", "--out",
            str(out), "--concurrency", str(WORKERS),
        ]  # fmt: skip
        held: dict[str, str] = {}
        killed = 0
        for _ in range(kills):
            asked = len(server.requests)
            with started(command, cwd=folder, stderr=subprocess.PIPE) as process:
                # Half of the kills fall while the command starts and writes its plan, half among the answers.
                wanted = asked + drawn.choice((0, drawn.randint(1, total // kills)))
                while process.poll() is None and len(server.requests) < wanted:
                    time.sleep(0.001)
                time.sleep(drawn.uniform(0, 0.1 if wanted > asked else 1.5))
                process.kill()
                killed += process.wait() != 0
                assert b"Traceback" not in process.communicate()[1]
            held = check(out, held, weights)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=120)
        assert done.returncode == 0, done.stderr
        assert len(check(out, held, weights)) == total
        assert f"{total} readings, {len(held)} held already, {total - len(held)} asked" in done.stderr
        # What a kill finds in flight is asked again, and nothing else.
        assert total <= len(server.requests) <= total + killed * (WORKERS + 2)
    assert sorted(path.name for path in out.iterdir()) == ["frames.csv", NAME, "run.json"]  # no temporary file
    return killed


def check(out: Path, before: dict[str, str], weights: dict[str, float]) -> dict[str, str]:
    """The replies by key: every one that was there still is, and each belongs to its own picture."""
    if not (out / NAME).exists():
        assert not before
        return {}
    by_name = {}
    for reading in read_journal(out).values():
        assert not reading.error
        assert float(reading.turns[0].reply) == weights[reading.image]
        by_name[reading.key] = reading.turns[0].reply
    assert before.items() <= by_name.items()
    return by_name

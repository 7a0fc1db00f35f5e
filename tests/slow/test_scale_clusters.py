"""Real clusters: a Dask scheduler with two worker processes on loopback, and a local Ray; workers and drivers are killed.

Processes are ended by their own pid. Ray listens on all interfaces whatever its settings say, so it runs in a network
namespace of its own where the system allows one, and asks for a token in any case.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from support.dying import dies_at_three
from support.paths import TESTS
from support.scale_help import Driver, files, write_shards

import steelyard as sy
from steelyard.scale import evaluate_shards

KILLS = int(os.environ.get("STEELYARD_KILLS", "5"))  # `make kills` asks for 20
SLOW_KILLS = int(os.environ.get("STEELYARD_KILLS", "2"))  # where a kill takes seconds
METRICS = ["map", "map50", "precision", "recall"]


def read_until(process: subprocess.Popen[Any], log: Path, pattern: str) -> str:
    """What a pattern finds in a log; a file, since a pipe that nobody reads fills up and stops its writer."""
    while process.poll() is None:
        result = re.search(pattern, log.read_text(encoding="utf-8"))
        if result:
            return result[1]
        time.sleep(0.05)
    raise AssertionError(log.read_text(encoding="utf-8"))


def ended(process: subprocess.Popen[Any]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler and two workers, each a process with a nanny that starts it again when it dies."""
    pytest.importorskip("distributed")  # installed by requirements/test.txt
    env = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": str(TESTS), "PYTHONUNBUFFERED": "1"}
    part = [sys.executable, "-m", "distributed.cli.{}", "--host", "127.0.0.1", "--no-dashboard"]
    log = tmp_path_factory.mktemp("scheduler") / "log"
    with log.open("w") as file:
        command = [word.format("dask_scheduler") for word in part] + [
            "--port",
            "0",
            "--dashboard-address",
            "127.0.0.1:0",
        ]
        running: list[subprocess.Popen[Any]] = [subprocess.Popen(command, stderr=file, env=env)]
    try:
        address = read_until(running[0], log, r"Scheduler at:\s+(tcp://127\.0\.0\.1:\d+)")
        command = [word.format("dask_worker") for word in part] + ["--nthreads", "1", "--death-timeout", "600", address]
        running += [subprocess.Popen(command, stderr=subprocess.DEVNULL, env=env) for _ in range(2)]
        import distributed

        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=600)
        yield address
    finally:
        for process in reversed(running):
            ended(process)


def worker_pids(address: str) -> list[int]:
    import distributed

    with distributed.Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=600)
        return list(client.run(os.getpid).values())


def reference(folder: Path) -> tuple[str, dict[str, bytes]]:
    report = evaluate_shards("boxes", *files(folder), METRICS, work=folder / "whole", workers=1, draws=100)
    return report.to_json(), states(folder / "whole")


def states(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "states").glob("[!.]*"))}


def test_dask_gives_the_same_bytes(scheduler: str, tmp_path: Path) -> None:
    write_shards("boxes", tmp_path, 4, 3)
    seen: list[tuple[str, int, int]] = []
    report = evaluate_shards(
        "boxes", *files(tmp_path), METRICS, work=tmp_path / "work", engine="dask", address=scheduler, draws=100,
        progress=lambda *now: seen.append(now),
    )  # fmt: skip
    expected, kept = reference(tmp_path)
    assert report.to_json() == expected
    assert states(tmp_path / "work") == kept
    assert {stage for stage, _, _ in seen} == {"split", "join", "facts", "sums", "match", "walk"}
    assert all(done <= all_ for _, done, all_ in seen)


@pytest.mark.slow
def test_dask_names_a_poison_shard_and_goes_on_if_asked(scheduler: str, tmp_path: Path) -> None:
    write_shards("weights", tmp_path, 4, 4)
    (tmp_path / "truth" / "01.parquet").write_bytes(b"PAR1")
    named: dict[str, Any] = {"work": tmp_path / "work", "engine": "dask", "address": scheduler, "draws": 100}
    with pytest.raises(sy.InputError, match=r"truth.01\.parquet"):
        evaluate_shards("weights", *files(tmp_path), "mae", **named)
    report = evaluate_shards("weights", *files(tmp_path), "mae", skip_bad_shards=True, extra="skip", **named)
    assert "truth/01.parquet" in report.notes[-1]


@pytest.mark.slow
def test_a_shard_that_kills_its_worker_is_named(scheduler: str) -> None:
    from steelyard.scale.engines import Dask, Failure

    engine = Dask(2, scheduler)
    try:
        result = dict(engine.run(dies_at_three, list(range(5))))
    finally:
        engine.close()
    assert result[3] == Failure("its worker died again and again")
    assert [result[i] for i in (0, 1, 2, 4)] == [0, 1, 2, 4]
    assert len(worker_pids(scheduler)) == 2


def wait_for_states(work: Path, wanted: int) -> None:
    deadline = time.monotonic() + 60
    while len(list(work.glob("states/[!.]*"))) < wanted and time.monotonic() < deadline:
        time.sleep(0.002)


class Killed:
    """Runs of one evaluation in which somebody is killed when some states are there."""

    def __init__(self, folder: Path, driver: Driver, seed: int, **settings: Any) -> None:
        write_shards("boxes", folder, 6, 6)
        self.folder, self.driver, self.settings = folder, driver, {"draws": 100, **settings}
        self.expected, self.kept = reference(folder)
        self.rng = np.random.default_rng(seed)
        self.in_time = 0  # now and then a run is over before the signal comes

    def turn(self, number: int, victim: Callable[[int], int]) -> None:
        """One run: `victim(driver)` is killed; if that is the driver, the run is started again. Same bytes out."""
        work, out = self.folder / f"work{number}", self.folder / f"{number}.json"
        args = (out, "boxes", *files(self.folder), METRICS)
        pid = self.driver.start(*args, work=str(work), **self.settings)
        wait_for_states(work, 1 + int(self.rng.integers(len(self.kept) - 4)))
        dead = victim(pid)
        over = out.exists()
        with contextlib.suppress(ProcessLookupError):
            os.kill(dead, signal.SIGKILL)
            self.in_time += not over
        status = self.driver.wait()
        if dead == pid:
            assert status in (0, signal.SIGKILL)
            self.driver.start(*args, work=str(work), **self.settings)
            status = self.driver.wait()
        assert status == 0
        assert out.read_text(encoding="utf-8") == self.expected
        assert states(work) == self.kept


def enough(turns: int) -> int:
    """How many kills must have come in time, of so many runs."""
    return 3 * turns // 4


def pool_worker(driver: int) -> int:
    """A process of the local engine's pool."""
    for child in psutil.Process(driver).children():
        if any("spawn_main" in word for word in child.cmdline()):
            return int(child.pid)
    return 0x7FFFFFFF  # no such process: the pool is not there any more


@pytest.mark.slow
def test_workers_killed_in_the_middle(scheduler: str, tmp_path: Path) -> None:
    """Several runs; in each a worker is killed when some states are there. The report and every state are the same."""
    with Driver("boxes", "dask") as driver:
        runs = Killed(tmp_path, driver, 2, engine="dask", address=scheduler)
        for turn in range(KILLS):
            pids = worker_pids(scheduler)
            runs.turn(turn, lambda _, pid=pids[turn % 2]: pid)  # type: ignore[misc]
    assert runs.in_time >= enough(KILLS)


@pytest.mark.slow
def test_drivers_killed_in_the_middle(scheduler: str, tmp_path: Path) -> None:
    """Several drivers are killed when some states are there, and each run is resumed to the same bytes."""
    with Driver("boxes", "dask") as driver:
        runs = Killed(tmp_path, driver, 3, engine="dask", address=scheduler)
        for turn in range(KILLS):
            runs.turn(turn, lambda pid: pid)
    assert runs.in_time >= enough(KILLS)


@pytest.mark.slow
def test_drivers_of_one_machine_killed_in_the_middle(tmp_path: Path) -> None:
    with Driver("boxes", "local") as driver:
        runs = Killed(tmp_path, driver, 1, engine="local", workers=1)
        for turn in range(KILLS):
            runs.turn(turn, lambda pid: pid)
    assert runs.in_time >= enough(KILLS)


@pytest.mark.slow
def test_workers_of_one_machine_killed_in_the_middle(tmp_path: Path) -> None:
    """Every run starts two processes of its own, which is slow: `make kills` does it twenty times."""
    with Driver("boxes", "local") as driver:
        runs = Killed(tmp_path, driver, 4, engine="local", workers=2)
        for turn in range(SLOW_KILLS):
            runs.turn(turn, pool_worker)
    assert runs.in_time >= enough(SLOW_KILLS)


def with_ray(*args: object) -> str:
    """What scale_ray.py prints."""
    pytest.importorskip("ray")  # installed by requirements/test.txt
    env = {
        **os.environ, "PYTHONPATH": str(TESTS), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16), "PYTHONWARNINGS": "ignore",
        "RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }  # fmt: skip
    command = [sys.executable, str(TESTS / "support" / "scale_ray.py"), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_ray_gives_the_same_bytes(tmp_path: Path) -> None:
    write_shards("boxes", tmp_path, 4, 3)
    with_ray("whole", tmp_path, json.dumps(METRICS))
    expected, kept = reference(tmp_path)
    assert (tmp_path / "ray.json").read_text(encoding="utf-8") == expected
    assert states(tmp_path / "ray") == kept


@pytest.mark.slow
def test_workers_and_drivers_of_ray_killed_in_the_middle(tmp_path: Path) -> None:
    """`make kills` does it twenty times each."""
    write_shards("boxes", tmp_path, 6, 6)
    expected, kept = reference(tmp_path)
    kills = json.loads(with_ray("kills", tmp_path, json.dumps(METRICS), SLOW_KILLS).splitlines()[-1])
    for who, killed in kills.items():
        assert killed >= enough(SLOW_KILLS)
        for turn in range(SLOW_KILLS):
            assert (tmp_path / f"{who}{turn}.json").read_text(encoding="utf-8") == expected
            assert states(tmp_path / f"{who}{turn}") == kept

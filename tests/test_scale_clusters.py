"""Real clusters: a Dask scheduler with two worker processes on loopback, and a local Ray; workers and drivers are killed.

Processes are ended by their own pid. Ray listens on all interfaces whatever it is told, so it runs in a network namespace
of its own where the system allows one, and asks for a token in any case.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scale_help import Driver, files, write_shards

import steelyard as sy
from steelyard.scale import evaluate_shards

KILLS = 20
METRICS = ["map", "map50", "precision", "recall"]


def read_until(process: subprocess.Popen[Any], log: Path, pattern: str, seconds: float = 60) -> str:
    """What a pattern finds in a log; a file, since a pipe that nobody reads fills up and stops its writer."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(pattern, log.read_text(encoding="utf-8"))
        if found:
            return found[1]
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
    env = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": str(Path(__file__).parent), "PYTHONUNBUFFERED": "1"}
    command = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
    ]
    log = tmp_path_factory.mktemp("scheduler") / "log"
    with log.open("w") as file:
        running: list[subprocess.Popen[Any]] = [subprocess.Popen(command, stderr=file, env=env)]
    try:
        address = read_until(running[0], log, r"Scheduler at:\s+(tcp://127\.0\.0\.1:\d+)")
        for _ in range(2):
            command = [
                sys.executable,
                "-m",
                "distributed.cli.dask_worker",
                address,
                "--host",
                "127.0.0.1",
                "--nthreads",
                "1",
            ]
            command += ["--no-dashboard", "--death-timeout", "60"]
            running.append(subprocess.Popen(command, stderr=subprocess.DEVNULL, env=env))
        import distributed

        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        yield address
    finally:
        for process in reversed(running):
            ended(process)


def worker_pids(address: str) -> list[int]:
    import distributed

    with distributed.Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        return list(client.run(os.getpid).values())


def reference(folder: Path) -> tuple[str, dict[str, bytes]]:
    report = evaluate_shards("boxes", *files(folder), METRICS, work=folder / "whole", workers=1, draws=100)
    return report.to_json(), states(folder / "whole")


def states(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "states").glob("[!.]*"))}


def test_dask_gives_the_same_bytes(scheduler: str, tmp_path: Path) -> None:
    write_shards("boxes", tmp_path, 4, 3)
    told: list[tuple[str, int, int]] = []
    report = evaluate_shards(
        "boxes", *files(tmp_path), METRICS, work=tmp_path / "work", engine="dask", address=scheduler, draws=100,
        progress=lambda *now: told.append(now),
    )  # fmt: skip
    expected, kept = reference(tmp_path)
    assert report.to_json() == expected
    assert states(tmp_path / "work") == kept
    assert {stage for stage, _, _ in told} == {"split", "join", "facts", "sums", "match", "walk"}
    assert all(done <= all_ for _, done, all_ in told)


def test_dask_names_a_poison_shard_and_goes_on_if_asked(scheduler: str, tmp_path: Path) -> None:
    write_shards("weights", tmp_path, 4, 4)
    (tmp_path / "truth" / "01.parquet").write_bytes(b"PAR1")
    named: dict[str, Any] = {"work": tmp_path / "work", "engine": "dask", "address": scheduler, "draws": 100}
    with pytest.raises(sy.InputError, match=r"truth.01\.parquet"):
        evaluate_shards("weights", *files(tmp_path), "mae", **named)
    report = evaluate_shards("weights", *files(tmp_path), "mae", skip_bad_shards=True, extra="skip", **named)
    assert "truth/01.parquet" in report.notes[-1]


def test_a_shard_that_kills_its_worker_is_named(scheduler: str) -> None:
    from steelyard.scale.engines import Dask, Failure

    engine = Dask(2, scheduler)
    try:
        found = dict(engine.run(dies_at_three, list(range(5))))
    finally:
        engine.close()
    assert found[3] == Failure("its worker died again and again")
    assert [found[i] for i in (0, 1, 2, 4)] == [0, 1, 2, 4]
    assert len(worker_pids(scheduler)) == 2


def dies_at_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def wait_for_states(work: Path, wanted: int) -> None:
    deadline = time.monotonic() + 60
    while len(list(work.glob("states/[!.]*"))) < wanted and time.monotonic() < deadline:
        time.sleep(0.002)


@pytest.mark.slow
def test_workers_killed_in_the_middle(scheduler: str, tmp_path: Path) -> None:
    """Twenty runs; in each a worker is killed when some states are there. The report and every state are the same."""
    write_shards("boxes", tmp_path, 6, 6)
    expected, kept = reference(tmp_path)
    rng = np.random.default_rng(2)
    killed = 0
    with Driver("boxes", "dask") as driver:
        for turn in range(KILLS):
            work, out = tmp_path / f"work{turn}", tmp_path / f"{turn}.json"
            pids = worker_pids(scheduler)
            driver.start(
                out, "boxes", *files(tmp_path), METRICS, work=str(work), engine="dask", address=scheduler, draws=100
            )
            wait_for_states(work, 1 + int(rng.integers(len(kept) - 4)))
            killed += not out.exists()
            os.kill(pids[turn % 2], signal.SIGKILL)
            assert driver.wait() == 0
            assert out.read_text(encoding="utf-8") == expected
            assert states(work) == kept
    assert killed >= 15


@pytest.mark.slow
def test_drivers_killed_in_the_middle(scheduler: str, tmp_path: Path) -> None:
    """Twenty drivers are killed when some states are there, and each run is resumed to the same bytes."""
    write_shards("boxes", tmp_path, 6, 6)
    expected, kept = reference(tmp_path)
    rng = np.random.default_rng(3)
    killed = 0
    with Driver("boxes", "dask") as driver:
        for turn in range(KILLS):
            work, out = tmp_path / f"work{turn}", tmp_path / f"{turn}.json"
            run: dict[str, Any] = {"work": str(work), "engine": "dask", "address": scheduler, "draws": 100}
            pid = driver.start(out, "boxes", *files(tmp_path), METRICS, **run)
            wait_for_states(work, 1 + int(rng.integers(len(kept) - 4)))
            os.kill(pid, signal.SIGKILL)
            killed += driver.wait() == signal.SIGKILL and not out.exists()
            driver.start(out, "boxes", *files(tmp_path), METRICS, **run)
            assert driver.wait() == 0
            assert out.read_text(encoding="utf-8") == expected
            assert states(work) == kept
    assert killed >= 15


RAY = """
import ctypes, fcntl, json, os, signal, socket, struct, sys, threading, time
try:  # a network of its own: nobody else can reach what Ray opens
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x40000000 | (0 if os.geteuid() == 0 else 0x10000000)) == 0:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            request = struct.pack("16sh14x", b"lo", 0x1 | 0x40 | 0x8)
            fcntl.ioctl(s.fileno(), 0x8914, request)
except (OSError, AttributeError):
    pass
from pathlib import Path
from steelyard.scale import evaluate_shards
from steelyard.scale.engines import Failure, Ray

def dies_at_one(number):
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number

def dies_once(path):
    if path and not os.path.exists(path):
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path

folder = Path(sys.argv[1])
report = evaluate_shards("boxes", str(folder / "truth" / "*.parquet"), str(folder / "pred" / "*.parquet"), json.loads(sys.argv[2]),
                         work=folder / "ray", engine="ray", workers=2, draws=100)
report.to_json(folder / "ray.json")
engine = Ray(2, None)
poison = dict(engine.run(dies_at_one, [0, 1, 2]))
assert poison == {0: 0, 1: Failure("its worker died again and again"), 2: 2}, poison
once = dict(engine.run(dies_once, [str(folder / "once"), ""]))
assert once == {0: str(folder / "once"), 1: ""}, once
engine.close()
"""


@pytest.mark.slow
def test_ray_gives_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("ray")  # installed by requirements/test.txt
    write_shards("boxes", tmp_path, 4, 3)
    env = {
        **os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16), "PYTHONWARNINGS": "ignore",
        "RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }  # fmt: skip
    command = [sys.executable, "-c", RAY, str(tmp_path), json.dumps(METRICS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    expected, kept = reference(tmp_path)
    assert (tmp_path / "ray.json").read_text(encoding="utf-8") == expected
    assert states(tmp_path / "ray") == kept

"""Run in a process of its own by test_scale_clusters: a real Ray, in a network that nobody else can reach.

python scale_ray.py whole FOLDER METRICS        one evaluation, a poison job, a worker that dies once
python scale_ray.py kills FOLDER METRICS TIMES  workers killed in the middle of runs so many times, then drivers
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.scale import evaluate_shards
from steelyard.scale.engines import Failure, Ray, run_guarded

NEW_NETWORK, NEW_USER = 0x40000000, 0x10000000  # of unshare(2)
SET_FLAGS = 0x8914  # SIOCSIFFLAGS: up, running, loopback

DRIVER = """
import json, sys
from steelyard.scale import evaluate_shards
args, named, out = json.loads(sys.argv[1])
evaluate_shards(*args, **named).to_json(out)
"""


def leave_the_network() -> None:
    """Where the system allows it; Ray asks for a token in any case."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_NETWORK | (0 if os.geteuid() == 0 else NEW_USER)) == 0:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket.fileno(), SET_FLAGS, struct.pack("16sh14x", b"lo", 0x1 | 0x40 | 0x8))


def shards(folder: Path) -> tuple[str, str]:
    return str(folder / "truth" / "*.parquet"), str(folder / "pred" / "*.parquet")


def dies_at_one(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def dies_once(path: str) -> str:
    if path and not os.path.exists(path):
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path


def whole(folder: Path, metrics: list[str]) -> None:
    report = evaluate_shards("boxes", *shards(folder), metrics, work=folder / "ray", engine="ray", workers=2, draws=100)
    report.to_json(folder / "ray.json")
    engine = Ray(2, None)
    poison = dict(engine.run(dies_at_one, [0, 1, 2]))
    assert poison == {0: 0, 1: Failure("its worker died again and again"), 2: 2}, poison
    once = dict(engine.run(dies_once, [str(folder / "once"), ""]))
    assert once == {0: str(folder / "once"), 1: ""}, once
    engine.close()


def busy_worker() -> int:
    """A process that runs a job, or 0."""
    import psutil

    for process in psutil.Process().children(recursive=True):
        try:
            if process.cmdline()[:1] == [f"ray::{run_guarded.__name__}"]:
                return int(process.pid)
        except psutil.Error:
            continue
    return 0


def kills(folder: Path, metrics: list[str], times: int) -> None:
    """One Ray for all runs; each run's driver is a process of its own, and writes its report beside the others."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    address = ray.get_runtime_context().gcs_address
    rng = np.random.default_rng(5)
    reference = len(list((folder / "whole" / "states").glob("[!.]*")))
    killed: dict[str, int] = {"worker": 0, "driver": 0}
    for who in killed:
        for turn in range(times):
            work, out = folder / f"{who}{turn}", folder / f"{who}{turn}.json"
            named: dict[str, Any] = {"work": str(work), "engine": "ray", "address": address, "draws": 100}
            command = [sys.executable, "-c", DRIVER, json.dumps([("boxes", *shards(folder), metrics), named, str(out)])]
            driver = subprocess.Popen(command)
            wanted, deadline = 1 + int(rng.integers(reference - 4)), time.monotonic() + 60
            while len(list(work.glob("states/[!.]*"))) < wanted and time.monotonic() < deadline:
                time.sleep(0.002)
            while not out.exists() and driver.poll() is None:
                victim = driver.pid if who == "driver" else busy_worker()
                if victim:
                    os.kill(victim, signal.SIGKILL)
                    killed[who] += 1
                    break
            if driver.wait() == -signal.SIGKILL:
                driver = subprocess.Popen(command)
            assert driver.wait() == 0, driver.returncode
    ray.shutdown()
    print(json.dumps(killed))


if __name__ == "__main__":
    leave_the_network()
    place, wanted_metrics = Path(sys.argv[2]), json.loads(sys.argv[3])
    if sys.argv[1] == "whole":
        whole(place, wanted_metrics)
    else:
        kills(place, wanted_metrics, int(sys.argv[4]))

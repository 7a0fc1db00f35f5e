"""Scale: one process against two workers, the overhead of a shard, and detections by the hundred million.

    python benchmarks/bench_scale.py                      64 shards on every engine; a shard's overhead; states' sizes
    python benchmarks/bench_scale.py intervals N FOLDER   N detections with 1,000 draws, in one process
    python benchmarks/bench_scale.py big [N] [FOLDER]     N detections (default 100 million) out of core, in one process

Prints CPU seconds of the driver and all processes below it, wall seconds, and peak memory.
"""

from __future__ import annotations

import contextlib
import os
import resource
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure import QUICK, Run, record, sized

ENGINES = (("local", 1), ("local", 2), ("dask", 2), ("ray", 2))[: 2 if QUICK else 4]  # a cluster takes long to start
TESTS = Path(__file__).resolve().parent.parent / "tests"
CLASSES = 80
PER_IMAGE = 100  # detections
TRUTHS = 7


def shard(number: int, images: int, folder: Path, per_image: int = PER_IMAGE) -> None:
    """COCO-like data as two Parquet files: a truth is found by one or two detections, the rest is on nothing."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng([7, number])
    share = 1 / np.arange(1, CLASSES + 1)  # one class has a fifth of all, as persons have in COCO
    share /= share.sum()
    n = images * TRUTHS
    first = number * images
    image = np.repeat(np.arange(first, first + images, dtype=np.int32), TRUTHS)
    label = rng.choice(CLASSES, n, p=share).astype(np.int16)
    size = np.exp(rng.normal(4.0, 0.9, (n, 2))).astype(np.float32)
    corner = (rng.random((n, 2), dtype=np.float32)) * 500
    box = np.concatenate([corner, size], axis=1)

    def table(image: Any, label: Any, box: Any, **more: Any) -> Any:
        columns = {"image": image, "label": label, **{c: box[:, i] for i, c in enumerate("xywh")}, **more}
        return pa.table({name: pa.array(np.ascontiguousarray(column)) for name, column in columns.items()})

    pq.write_table(table(image, label, box), folder / f"truth{number:04d}.parquet", compression="none")
    detected = np.flatnonzero(rng.random(2 * n) < 0.45) % n
    false = images * per_image - len(detected)
    moved = box[detected] + rng.normal(0, 0.08, (len(detected), 4)).astype(np.float32) * np.tile(size[detected], 2)
    moved[:, 2:] = np.abs(moved[:, 2:])
    noise = np.concatenate([rng.random((false, 2)) * 500, np.exp(rng.normal(4.0, 0.9, (false, 2)))], axis=1)
    d_image = np.concatenate([image[detected], rng.integers(first, first + images, false)])
    order = np.argsort(d_image, kind="stable")
    pq.write_table(
        table(
            d_image.astype(np.int32)[order],
            np.concatenate([label[detected], rng.choice(CLASSES, false, p=share)]).astype(np.int16)[order],
            np.concatenate([moved, noise]).astype(np.float32)[order],
            score=np.concatenate([rng.beta(3, 2, len(detected)), rng.beta(1, 4, false)]).astype(np.float32)[order],
        ),
        folder / f"predicted{number:04d}.parquet",
        compression="none",
    )


def make(folder: Path, shards: int, images: int, per_image: int = PER_IMAGE) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(shards):
        if not (folder / f"predicted{number:04d}.parquet").exists():
            shard(number, images, folder, per_image)


def cpu() -> float:
    mine, theirs = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def timed(name: str, work: Callable[[], Any]) -> Any:
    before, wall = cpu(), time.perf_counter()
    result = work()
    record("Shards", f"steelyard, {name}", Run(cpu() - before, time.perf_counter() - wall, 0))
    print(f"{name:<44} {cpu() - before:7.2f} CPU s  {time.perf_counter() - wall:7.2f} s wall", flush=True)
    return result


ONE = """
import sys, resource, time, json
import steelyard as sy
from steelyard.scale import evaluate_shards
folder, work, engine, workers, confidence, draws, task = sys.argv[1:8]
stages, start, last = {}, time.perf_counter(), time.process_time()
def progress(stage, done, all_):
    global last
    now = time.process_time()
    name = stage if done else "driver"  # between two stages it is the driver that works
    stages[name], last = stages.get(name, 0.0) + now - last, now
    if done % 20 == 0 or done == all_:
        print(f"  {stage} {done}/{all_}  {time.perf_counter() - start:.0f} s, peak "
              f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB", file=sys.stderr, flush=True)
report = evaluate_shards(task, f"{folder}/truth*.*", f"{folder}/predicted*.*", work=work, engine=engine,
                         workers=int(workers), confidence=None if confidence == "none" else float(confidence),
                         draws=int(draws), progress=progress if len(sys.argv) > 8 else None)
if len(sys.argv) > 8:
    print(report)
    progress("report", 0, 0)
    for stage, spent in stages.items():
        print(f"{stage:<8} {spent:8.1f} CPU s")
usage = resource.getrusage(resource.RUSAGE_SELF)
first = next(iter(report.scores.values()))
print(json.dumps({"map": first.value, "interval": first.interval, "cpu": usage.ru_utime + usage.ru_stime,
                  "wall": time.perf_counter() - start, "self_mb": usage.ru_maxrss >> 10}))
"""


def watched(command: list[str], environment: dict[str, str]) -> tuple[str, dict[int, tuple[float, int]]]:
    """What a command prints, and CPU seconds and peak memory of each process below it, looked at now and then."""
    import psutil

    seen: dict[int, tuple[float, int]] = {}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        started = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
        root = psutil.Process(started.pid)
        while started.poll() is None:
            with contextlib.suppress(psutil.Error):
                for process in root.children(recursive=True):
                    with contextlib.suppress(psutil.Error):
                        times, memory = process.cpu_times(), process.memory_info().rss
                        before = seen.get(process.pid, (0.0, 0))
                        seen[process.pid] = times.user + times.system, max(before[1], memory)
            time.sleep(0.1)
        out.seek(0)
        err.seek(0)
        if started.returncode:
            raise subprocess.CalledProcessError(started.returncode, command, out.read(), err.read())
        return out.read(), seen


def run(
    folder: Path,
    work: Path,
    engine: str,
    workers: int,
    confidence: str = "0.95",
    draws: int = 1000,
    task: str = "boxes",
) -> dict[str, Any]:
    import json

    command = [sys.executable, "-c", ONE, str(folder), str(work), engine, str(workers), confidence, str(draws), task]
    if engine == "ray":  # it listens on all interfaces: in a network of its own, where the system allows one
        head = f"import sys; sys.path.insert(0, {str(TESTS)!r}); from support import scale_ray\n"
        head += "scale_ray.leave_the_network()\n"
        command[2] = head + ONE
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONWARNINGS": "ignore"}
    environment |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16)}
    printed, below = watched(command, environment)
    measured = dict(json.loads(printed.splitlines()[-1]))
    measured["cpu"] += sum(cpu for cpu, _ in below.values())
    measured["child_mb"] = max((memory for _, memory in below.values()), default=0) >> 20
    return measured


def small() -> None:
    shards, images = sized(64, 4), sized(250, 25)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "data"
        make(folder, shards, images, 20)
        print(f"{shards} shards, {shards * images:,} images, {shards * images * 20:,} detections, 1,000 draws")
        print(f"{'':<34} {'CPU s':>8} {'wall s':>8} {'peak MB':>8} {'worker':>8}")
        seen = set()
        for engine, workers in ENGINES:
            work = Path(place) / f"{engine}{workers}"
            try:
                first = run(folder, work, engine, workers)
                again = run(folder, work, engine, workers)
            except subprocess.CalledProcessError as error:
                why = (error.stderr.strip().splitlines() or [f"exit code {error.returncode}"])[-1]
                print(f"{engine}, {workers} workers: not run: {why}")
                record("Shards", f"steelyard, {engine}, {workers} workers", why)
                continue
            for name, one in (("", first), (", resumed: all states there", again)):
                print(
                    f"{engine}, {workers} workers{name:<20}".ljust(34),
                    f"{one['cpu']:8.2f} {one['wall']:8.2f} {one['self_mb']:8} {one['child_mb']:8}",
                    flush=True,
                )
                record(
                    "Shards",
                    f"steelyard, {engine}, {workers} workers{name}",
                    Run(one["cpu"], one["wall"], one["self_mb"]),
                )
                seen.add((one["map"], tuple(one["interval"])))
            shutil.rmtree(work)
        print(f"the same score and interval from all: {len(seen) == 1} {seen}")
        whole = timed("one process, all data at once", lambda: at_once(folder))
        print(f"  {whole['map'].value} {whole['map'].interval}")
        overhead(Path(place))


def at_once(folder: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    import steelyard as sy

    sides = [
        pa.concat_tables([pq.read_table(p) for p in sorted(folder.glob(f"{name}*"))]) for name in ("truth", "predicted")
    ]
    return sy.evaluate("boxes", *sides, draws=1000)


def overhead(place: Path) -> None:
    """What a shard costs that holds next to nothing: the slope from 64 shards to 320."""
    counts = sized(64, 4), sized(320, 12)
    print(f"a shard of one row, from {counts[0]} and {counts[1]} of them:")
    for count in counts:
        folder = place / f"tiny{count}"
        folder.mkdir()
        for i in range(count):
            for side in ("truth", "predicted"):
                (folder / f"{side}{i:03d}.csv").write_text(f"dish,item,weight\nd{i},0,{100 + i}\n")
    for engine, workers in ENGINES:
        try:
            few, many = (
                run(
                    place / f"tiny{count}", place / f"work{engine}{workers}{count}", engine, workers, "none", 100,
                    "weights",
                )
                for count in counts
            )  # fmt: skip
        except subprocess.CalledProcessError:  # the table of engines says why
            continue
        spent, passed = ((many[name] - few[name]) / (counts[1] - counts[0]) for name in ("cpu", "wall"))
        record("One more shard of one row", f"steelyard, {engine}, {workers} workers", Run(spent, passed, 0))
        line = f"{1e3 * spent:.1f} CPU ms, {1e3 * passed:.1f} ms wall"
        print(f"{engine}, {workers} workers".ljust(34), line, flush=True)


def sizes() -> None:
    """Bytes per unit of states and of sums, by task, for the drawn data of the tests."""
    sys.path.insert(0, str(TESTS))
    from support.drawn import DRAW

    import steelyard as sy
    from steelyard.core import catalogue
    from steelyard.core.errors import InputError

    print(f"{'task':<12} {'rows per unit':>12} {'state, B':>10} {'sums, B':>10}   metrics kept as sums")
    for task in catalogue.TASKS:
        units = sized(300, 20)
        truth, predictions = DRAW[task](np.random.default_rng(0), units)
        state = sy.Accumulator(task)
        state.update(truth, predictions)
        whole = len(state.to_bytes())
        kept = []
        for spec in catalogue.find_task(task).defaults:
            try:
                trial = sy.Accumulator.from_bytes(state.to_bytes())
                trial.compact(spec)
                kept.append(spec)
            except InputError:
                continue
        compacted = "–"
        if kept:
            state.compact(kept)
            compacted = f"{len(state.to_bytes()) / units:.0f}"
        rows = len(next(iter(truth.values()))) + len(next(iter(predictions.values())))
        print(f"{task:<12} {rows / units:12.1f} {whole / units:10.0f} {compacted:>10}   {len(kept)} of the default set")


def big(detections: int, folder: Path, confidence: str = "none", draws: str = "1000") -> None:
    shards = max(1, detections // 500_000)
    timed(f"make {detections:,} detections in {shards} shards", lambda: make(folder, shards, 500_000 // PER_IMAGE))
    done = subprocess.run(
        [
            sys.executable, "-c", ONE, str(folder), str(folder / "work"), "local", "1", confidence, draws, "boxes",
            "tell",
        ],
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    print(done.stdout)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if sys.argv[1:2] == ["intervals"]:
        big(int(sys.argv[2]), Path(sys.argv[3]), "0.95")
    elif sys.argv[1:2] == ["big"]:
        big(
            int(sys.argv[2]) if len(sys.argv) > 2 else 100_000_000,
            Path(sys.argv[3]) if len(sys.argv) > 3 else Path(tempfile.gettempdir()) / "steelyard-big",
            *sys.argv[4:6],
        )
    else:
        small()
        sizes()

"""Scale: one process against two workers, the overhead of a shard, and detections by the hundred million.

    python benchmarks/bench_scale.py                      64 shards; local processes, Dask; states' sizes
    python benchmarks/bench_scale.py big [N] [FOLDER]     N detections (default 100 million) out of core, in one process

Prints CPU seconds of this process and its children, wall seconds, and peak memory.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

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
    found = np.flatnonzero(rng.random(2 * n) < 0.45) % n
    false = images * per_image - len(found)
    moved = box[found] + rng.normal(0, 0.08, (len(found), 4)).astype(np.float32) * np.tile(size[found], 2)
    moved[:, 2:] = np.abs(moved[:, 2:])
    noise = np.concatenate([rng.random((false, 2)) * 500, np.exp(rng.normal(4.0, 0.9, (false, 2)))], axis=1)
    d_image = np.concatenate([image[found], rng.integers(first, first + images, false)])
    order = np.argsort(d_image, kind="stable")
    pq.write_table(
        table(
            d_image.astype(np.int32)[order],
            np.concatenate([label[found], rng.choice(CLASSES, false, p=share)]).astype(np.int16)[order],
            np.concatenate([moved, noise]).astype(np.float32)[order],
            score=np.concatenate([rng.beta(3, 2, len(found)), rng.beta(1, 4, false)]).astype(np.float32)[order],
        ),
        folder / f"found{number:04d}.parquet",
        compression="none",
    )


def make(folder: Path, shards: int, images: int, per_image: int = PER_IMAGE) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(shards):
        if not (folder / f"found{number:04d}.parquet").exists():
            shard(number, images, folder, per_image)


def cpu() -> float:
    mine, theirs = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def timed(name: str, work: Callable[[], Any]) -> Any:
    before, wall = cpu(), time.perf_counter()
    result = work()
    print(f"{name:<44} {cpu() - before:7.2f} CPU s  {time.perf_counter() - wall:7.2f} s wall", flush=True)
    return result


ONE = """
import sys, resource, time, json
import steelyard as sy
from steelyard.scale import evaluate_shards
folder, work, engine, workers, confidence, draws = sys.argv[1:7]
stages, start, last = {}, time.perf_counter(), time.process_time()
def progress(stage, done, all_):
    global last
    now = time.process_time()
    name = stage if done else "driver"  # between two stages it is the driver that works
    stages[name], last = stages.get(name, 0.0) + now - last, now
    if done % 20 == 0 or done == all_:
        print(f"  {stage} {done}/{all_}  {time.perf_counter() - start:.0f} s, peak "
              f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB", file=sys.stderr, flush=True)
report = evaluate_shards("boxes", f"{folder}/truth*.parquet", f"{folder}/found*.parquet", work=work, engine=engine,
                         workers=int(workers), confidence=None if confidence == "none" else float(confidence),
                         draws=int(draws), progress=progress if len(sys.argv) > 7 else None)
if len(sys.argv) > 7:
    print(report)
    progress("report", 0, 0)
    for stage, spent in stages.items():
        print(f"{stage:<8} {spent:8.1f} CPU s")
usage = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps({"map": report["map"].value, "interval": report["map"].interval,
                  "cpu": sum(u.ru_utime + u.ru_stime for u in usage), "wall": time.perf_counter() - start,
                  "self_mb": usage[0].ru_maxrss >> 10, "child_mb": usage[1].ru_maxrss >> 10}))
"""


def run(
    folder: Path, work: Path, engine: str, workers: int, confidence: str = "0.95", draws: int = 1000
) -> dict[str, Any]:
    import json

    done = subprocess.run(
        [sys.executable, "-c", ONE, str(folder), str(work), engine, str(workers), confidence, str(draws)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout.splitlines()[-1]))


def small() -> None:
    import steelyard as sy

    shards, images = 64, 250
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "data"
        make(folder, shards, images, 20)
        print(f"{shards} shards, {shards * images:,} images, {shards * images * 20:,} detections, 1,000 draws")
        print(f"{'':<34} {'CPU s':>8} {'wall s':>8} {'peak MB':>8} {'a worker':>8}")
        seen = set()
        for engine, workers in (("local", 1), ("local", 2), ("dask", 2), ("ray", 2)):
            work = Path(place) / f"{engine}{workers}"
            try:
                first = run(folder, work, engine, workers)
                again = run(folder, work, engine, workers)
            except subprocess.CalledProcessError as error:
                print(f"{engine}, {workers} workers: {error.stderr.splitlines()[-1]}")
                continue
            for name, one in (("", first), (", resumed: all states there", again)):
                print(
                    f"{engine}, {workers} workers{name:<20}".ljust(34),
                    f"{one['cpu']:8.2f} {one['wall']:8.2f} {one['self_mb']:8} {one['child_mb']:8}",
                )
                seen.add((one["map"], tuple(one["interval"])))
            shutil.rmtree(work)
        print(f"the same score and interval from all: {len(seen) == 1} {seen}")
        whole = timed("one process, all data at once", lambda: at_once(folder))
        print(f"  {whole['map'].value} {whole['map'].interval}")
        empty_shard(Path(place), sy)


def at_once(folder: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    import steelyard as sy

    sides = [
        pa.concat_tables([pq.read_table(p) for p in sorted(folder.glob(f"{name}*"))]) for name in ("truth", "found")
    ]
    return sy.evaluate("boxes", *sides, draws=1000)


def empty_shard(place: Path, sy: Any) -> None:
    """What a shard costs that holds next to nothing."""
    from steelyard.scale import evaluate_shards

    folder = place / "tiny"
    folder.mkdir()
    for i in range(64):
        for side, more in (("truth", ""), ("pred", "")):
            (folder / f"{side}{i:02d}.csv").write_text(f"dish,item,weight{more}\nd{i},0,{100 + i}\n")
    before, wall = cpu(), time.perf_counter()
    evaluate_shards("weights", str(folder / "truth*"), str(folder / "pred*"), ["mae"], work=place / "t", workers=1)
    spent, passed = (cpu() - before) / 64 * 1e3, (time.perf_counter() - wall) / 64 * 1e3
    print(f"a shard of one row: {spent:.1f} CPU ms, {passed:.1f} ms wall")


def sizes() -> None:
    """Bytes a unit of states and of sums, by task, for the drawn data of the tests."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from drawn import DRAW

    import steelyard as sy
    from steelyard.core.errors import InputError
    from steelyard.metrics import catalogue

    print(f"{'task':<12} {'rows a unit':>12} {'state, B':>10} {'sums, B':>10}   metrics kept as sums")
    for task in catalogue.TASKS:
        units = 300
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
        [sys.executable, "-c", ONE, str(folder), str(folder / "work"), "local", "1", confidence, draws, "tell"],
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    print(done.stdout)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if sys.argv[1:2] == ["big"]:
        big(
            int(sys.argv[2]) if len(sys.argv) > 2 else 100_000_000,
            Path(sys.argv[3]) if len(sys.argv) > 3 else Path(tempfile.gettempdir()) / "steelyard-big",
            *sys.argv[4:6],
        )
    else:
        small()
        sizes()

"""Keep what a released version writes and promises, so that every later one can be held to it.

    python tools/keep_release.py

Writes tests/released/VERSION: a report and both states (rows, sums) of every task's sample, one result of each other
kind, and public.json with the names, parameters, metrics and fields that are public. Run once when a version is
released, and never again for that version: the files are what that version wrote. Then delete the states that differ
from those of an earlier version in nothing but the version and the digest, except those of boxes and weights.
tests/results/test_promises.py reads them.
"""

from __future__ import annotations

import csv
import inspect
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import steelyard as sy
from steelyard.cli.demo import copy_sample
from steelyard.core import catalogue
from steelyard.results import codec

ROOT = Path(__file__).parent.parent
RELEASED = ROOT / "tests" / "released"
DRAWS = 100


def parameters(value: Any) -> list[str]:
    """Names of parameters, or of public attributes and methods of a class."""
    if inspect.isclass(value):
        return sorted({name for name in dir(value) if not name.startswith("_")} | set(fields(value)))
    return list(inspect.signature(value).parameters) if callable(value) else []


def fields(value: Any) -> list[str]:
    return [name for name in getattr(value, "__annotations__", {}) if not name.startswith("_")]


def public() -> dict[str, Any]:
    """What is promised by name, deprecated names too."""
    return {
        "names": {name: parameters(getattr(sy, name)) for name in (*sy.__all__, *sy._DEPRECATED)},
        "metrics": {task: [str(metric) for metric in catalogue.metrics(task)] for task in catalogue.built_in()},
        "schema": codec.schema(),
    }


def keep_vlm(folder: Path) -> None:
    """The score of the small model that comes with the package, on a few frames."""
    from steelyard.vlm import run as runner
    from steelyard.vlm.backend import ModelOptions
    from steelyard.vlm.frames import read_frames
    from steelyard.vlm.models import open_backend
    from steelyard.vlm.prompts import PROMPTS
    from steelyard.vlm.score import score

    sample = ROOT / "src" / "steelyard" / "samples" / "vlm"
    backend = open_backend(f"hf:{sample / 'model'}", ModelOptions(device="cpu"))
    prompts = tuple(PROMPTS.values())[:1]
    runner.run(read_frames(sample / "frames.csv"), backend, prompts, "run", model="hf:model", controls=True)
    backend.close()
    score("run", draws=DRAWS).to_json(folder / "vlm-score.json")


def keep_sets(folder: Path, truth: str, predictions: str) -> None:
    """The two halves of the dishes, pooled, and the second half against the first."""
    tables = []
    for name in (truth, predictions):
        with open(name, encoding="utf-8") as file:
            tables.append(list(csv.DictReader(file)))
    dishes = sorted({row["dish"] for row in tables[0]})
    halves = []
    for chosen in (dishes[::2], dishes[1::2]):
        sides = [
            {name: [row[name] for row in rows if row["dish"] in chosen] for name in ("dish", "item", "weight")}
            for rows in tables
        ]
        for side in sides:
            side["weight"] = [float(value) for value in side["weight"]]
        halves.append(sy.evaluate("weights", *sides, ["mae", "bias"], draws=DRAWS, save_influences=True))
    sy.pool(halves).to_json(folder / "pool.json")
    sy.drift(*halves).to_json(folder / "drift.json")


def maps(place: Path) -> bool:
    """Whether a task's data are files beside a table, which a state of rows names and does not hold."""
    return any(path.is_dir() for path in place.iterdir())


def keep(folder: Path) -> None:
    """Write everything of this version."""
    with tempfile.TemporaryDirectory() as raw:
        for task, sample in catalogue.samples().items():
            place = Path(raw) / task
            place.mkdir()
            copy_sample(sample, place)
            os.chdir(place)  # a result names its files as they were given
            truth, a, b, options = sample.truth, sample.a, sample.b, dict(sample.options)
            report = sy.evaluate(task, truth, a, options=options, draws=DRAWS)
            report.to_json(folder / f"{task}.report.json")
            accumulator = sy.Accumulator(task, options=options)
            accumulator.update(truth, a)
            if not maps(place):
                accumulator.save(folder / f"{task}.rows.state")
            accumulator.compact()
            accumulator.save(folder / f"{task}.sums.state")
            if task == "weights":
                comparison = sy.compare(task, truth, a, b, draws=DRAWS)
                comparison.to_json(folder / "comparison.json")
                sy.compare(task, truth, {"a": a, "b": b, "c": a}, draws=DRAWS).to_json(folder / "lineup.json")
                sy.gate(report, ["mae < 30"]).to_json(folder / "gate.json")
                keep_sets(folder, truth, a)
                command = [sys.executable, "-m", "steelyard", "plan", "comparison.json", "-o", "plan.json"]
                subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        os.chdir(raw)
        keep_vlm(folder)
        os.chdir(ROOT)
    text = json.dumps(public(), indent=1, sort_keys=True)
    (folder / "public.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    target = RELEASED / sy.__version__
    if target.exists():
        sys.exit(f"{target} is there: what a version wrote is not written again")
    target.mkdir(parents=True)
    keep(target)
    print(f"{target}: {sum(path.stat().st_size for path in target.iterdir()):,} bytes")

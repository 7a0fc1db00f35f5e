"""A folder of runs for the tests of the viewer: a week of two models, and one file of each other kind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import steelyard as sy
from steelyard.gating.plan import plan
from steelyard.results.sets import Drift, Pool, PooledSet
from steelyard.results.vlm import PromptScore, VlmScore

DISHES = 12
METRICS = ["mae", "bias"]
BROKEN = '{"format": "steelyard", "version": 2, "kind": "report", "body": {}}'


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def table(weights: Any) -> str:
    return "dish,weight\n" + "".join(f"d{i},{weight:.3f}\n" for i, weight in enumerate(weights))


def make_week(folder: Path, days: int = 7, **more: Any) -> None:
    """Runs `small_1.json` to `large_7.json`: each day's errors are smaller, and the large model's are half as large."""
    rng = np.random.default_rng(3)
    truth = rng.uniform(50, 200, DISHES)
    (folder / "truth.csv").write_text(table(truth))
    with inside(folder):
        for day in range(1, days + 1):
            for model, size in (("small", 24.0), ("large", 12.0)):
                name = f"{model}_{day}"
                (folder / f"{name}.csv").write_text(table(truth + size * (1 - 0.1 * day) * rng.normal(0, 1, DISHES)))
                tags = {"model": model, "date": f"2026-03-{day:02}", "lr": f"{day}e-4"}
                sy.evaluate("weights", "truth.csv", f"{name}.csv", METRICS, tags=tags, **more).to_json(f"{name}.json")


def make_kinds(folder: Path) -> None:
    """One file of each other kind, a broken one and a foreign one."""
    with inside(folder):
        files = [f"{name}.csv" for name in ("small_1", "large_1", "small_2")]
        comparison = sy.compare("weights", "truth.csv", *files[:2], METRICS)
        comparison.to_json("comparison.json")
        sy.compare("weights", "truth.csv", files, metrics=METRICS).to_json("lineup.json")
        report = sy.evaluate("weights", "truth.csv", files[0], METRICS)
        sy.gate(report, "mae > 30").to_json("gate.json")
        plan(comparison).to_json("plan.json")
        Pool("weights", "dish", 0.95, (PooledSet("a", 12, 1.0),)).to_json("pool.json")
        Drift("weights", "dish", 0.95, "a", "b", (12, 12), {}).to_json("drift.json")
        row = PromptScore("a-model", "plain", report, 9, 9, 0, {}, {}, {}, comparison, 100.0, {})
        VlmScore("weights", (row,), (), 9, 0.95, 1).to_json("vlm-score.json")
        sy.check("weights", "truth.csv", files[0]).to_json("checked.json")
    (folder / "broken.json").write_text(BROKEN)
    (folder / "foreign.json").write_text('{"learning_rate": 0.1}')

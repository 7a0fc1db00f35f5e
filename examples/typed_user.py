"""A user's program, as type checkers see it: `make lint` runs mypy over it, `make types` pyright too.

`assert_type` holds what an editor will show. Run it as well: it scores the sample that comes with the package.
"""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import numpy as np

import steelyard as sy


def one_number(truth: Path, model: Path) -> float:
    """A score for a loop."""
    value = sy.score("weights", truth, model, "mae")
    assert_type(value, float)
    return value


def decide(truth: Path, old: Path, new: Path) -> str:
    """A report, a comparison, a gate."""
    report = sy.evaluate("weights", truth, new, ["mae", "mape"], by=["cuisine"], draws=200)
    assert_type(report, sy.Report)
    score = report["mae"]
    assert_type(score.value, float)
    assert_type(score.interval, tuple[float, float] | None)
    comparison = sy.compare("weights", truth, old, new, "mae", draws=200)
    assert_type(comparison, sy.Comparison)
    gate = sy.gate(report, ["mae < 30"])
    assert_type(gate, sy.Gate)
    assert_type(gate.exit_code, int)
    return comparison["mae"].verdict


def batches() -> sy.Report:
    """Arrays in batches."""
    accumulator = sy.Accumulator("labels", draws=100)
    rng = np.random.default_rng(0)
    for start in range(0, 30, 10):
        names = [str(i) for i in range(start, start + 10)]
        truth = rng.integers(0, 3, 10)
        accumulator.update({"id": names, "label": truth}, {"id": names, "label": rng.integers(0, 3, 10)})
    report = accumulator.report(["accuracy"])
    assert_type(report, sy.Report)
    return report


def wrong(folder: Path) -> str:
    """What a user can cause has one type."""
    try:
        sy.evaluate("weights", folder / "nothing.csv", folder / "nothing.csv")
    except sy.InputError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    sample = Path(sy.__file__).parent / "samples" / "weights"
    print(one_number(sample / "truth.csv", sample / "model_a.csv"))
    print(decide(sample / "truth.csv", sample / "model_a.csv", sample / "model_b.csv"))
    print(batches()["accuracy"].value)
    print(wrong(sample))

"""How often the viewer's rule for changes flags a series that has none, and how soon it finds a change.

    python tools/simulate_trends.py [SERIES]

Every series has 30 runs. A unit's value is its own difficulty plus an error of the run; the rule looks after every run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from steelyard.view.trend import Change, Reading, find_changes

RUNS = 30
ERRORS: dict[str, Callable[[np.random.Generator, int], NDArray[np.float64]]] = {
    "normal": lambda rng, units: rng.normal(0, 1, units),
    "skewed (exponential)": lambda rng, units: rng.exponential(1, units) - 1,
    "heavy-tailed (Student's t, 3 df)": lambda rng, units: rng.standard_t(3, units) / np.sqrt(3),
}


def draw_series(
    rng: np.random.Generator, units: int, errors: str, paired: bool, runs: int = RUNS, step: float = 0.0, at: int = 0
) -> list[Change]:
    """The changes flagged in one series, whose mean rises by `step` at run `at`."""
    difficulty, readings = rng.normal(0, 1, units), []
    for run in range(runs):
        values = difficulty + ERRORS[errors](rng, units) + step * (run >= at)
        mean, se = float(values.mean()), float(values.std(ddof=1)) / units**0.5
        psi = values - values.mean()
        readings.append(Reading(mean, se, units - 1, "same", psi) if paired else Reading(mean, se, units - 1))
    return find_changes(readings)


def false_alarms(series: int, units: int, errors: str, paired: bool, seed: int = 1) -> float:
    """The share of series without a change in which one is flagged."""
    rng = np.random.default_rng([seed, units, paired])
    return sum(bool(draw_series(rng, units, errors, paired)) for _ in range(series)) / series


def main() -> None:
    series = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"False alarms in {series:,} series of {RUNS} runs")
    for errors in ERRORS:
        for units in (12, 60, 500):
            shares = [100 * false_alarms(series, units, errors, paired) for paired in (True, False)]
            print(
                f"  {errors:34} {units:4} units: paired {shares[0]:.1f} %, by intervals {shares[1]:.1f} %", flush=True
            )
    print("Runs until a step at run 10 is flagged, 200 units, normal errors, paired (step in standard deviations)")
    for step in (0.1, 0.2, 0.3):
        rng = np.random.default_rng(7)
        delays = []
        for _ in range(series // 5):
            later = [c for c in draw_series(rng, 200, "normal", True, step=step, at=10) if c.place + c.after > 10]
            delays.append(later[0].place + later[0].after - 10 if later else np.inf)
        print(f"  {step:g}: {np.mean(np.isfinite(delays)):.0%} found in 20 runs, median after {np.median(delays):g}")


if __name__ == "__main__":
    main()

"""The quick checks that `evaluate` runs: their CPU time beside that of the whole evaluation without intervals.

python benchmarks/bench_checks.py [detections]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from measure import Run, record, sized

from steelyard import api


def drawn(n: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Boxes in 4,000 images, of 80 classes."""
    rng = np.random.default_rng(5)
    box = {
        "x": rng.uniform(0, 500, n),
        "y": rng.uniform(0, 400, n),
        "w": rng.uniform(5, 99, n),
        "h": rng.uniform(5, 99, n),
    }
    given = {"image": rng.integers(0, 4000, n), "label": rng.integers(0, 80, n), **box, "score": rng.random(n)}
    truth = {name: column[: n * 3 // 10] for name, column in given.items() if name != "score"}
    return truth, given


def least(run: Callable[[], object], rounds: int = 5) -> float:
    spent = []
    for _ in range(rounds):
        begin = time.process_time()
        run()
        spent.append(time.process_time() - begin)
    return min(spent)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else sized(100_000, 1_000)
    truth, given = drawn(count)
    settings = {"extra": "skip"}
    measured = api.measure("boxes", truth, given, "map", **settings)
    quick = least(lambda: api.findings(measured, "boxes"))
    whole = least(lambda: api.evaluate("boxes", truth, given, "map", confidence=None, **settings))
    base = Run(whole, whole, 0)
    record("Quick checks of boxes", "steelyard, the whole evaluation", base)
    record("Quick checks of boxes", "steelyard, the quick checks alone", Run(quick, quick, 0), base)
    print(f"boxes, {count:,} detections: quick checks {quick:.4f} CPU s of {whole:.4f} ({100 * quick / whole:.1f} %)")


if __name__ == "__main__":
    main()

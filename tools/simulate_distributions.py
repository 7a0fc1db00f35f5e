"""Coverage of the intervals of `distributions`: sets of vectors from normal distributions with a known distance.

Vectors have variances 1/i along their axes; the generated ones are shifted and narrower. `fid_corrected` is compared
with the true distance, the difference of two generators with the true difference, and `kid`, `precision`, `recall`,
`density` and `coverage`, which have no closed form, with the mean over all sets.

    python tools/simulate_distributions.py --dimensions 8 --per-dimension 20 --sets 200
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import steelyard as sy

MEANS = ("kid", "precision", "recall", "density", "coverage")
MODELS = ((0.15, 0.75), (0.25, 0.9))  # shift and spread of two generators


def draw_set(rng: np.random.Generator, rows: int, dimensions: int, shift: float, spread: float) -> np.ndarray:
    """Vectors with variances 1/i, moved along all axes and scaled."""
    scale = spread / np.sqrt(1 + np.arange(dimensions))
    return rng.standard_normal((rows, dimensions)) * scale + shift


def true_distance(dimensions: int, shift: float, spread: float) -> float:
    """The Fréchet distance of the distributions, whose covariances share their axes."""
    roots = 1 / np.sqrt(1 + np.arange(dimensions))
    return float(dimensions * shift**2 + ((roots - spread * roots) ** 2).sum())


def simulate(dimensions: int, per_dimension: int, sets: int, seed: int = 1) -> dict[str, tuple[float, float]]:
    """By name: the share of intervals that hold the true value, and the mean standard error over the true spread."""
    rng, rows = np.random.default_rng(seed), dimensions * per_dimension
    values: dict[str, list[float]] = {}
    intervals: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(sets):
        real = draw_set(rng, rows, dimensions, 0.0, 1.0)
        first, second = (draw_set(rng, rows, dimensions, *model) for model in MODELS)
        report = sy.evaluate("distributions", real, first, ["fid_corrected", *MEANS], draws=100)
        compared = sy.compare("distributions", real, first, second, ["fid", "precision"], draws=1000)
        shown = [(spec, score.value, score.interval, score.se) for spec, score in report.scores.items()]
        for spec, gap in compared.differences.items():
            shown.append((f"{spec}, difference", gap.difference, gap.interval, gap.se))
        for name, value, interval, error in shown:
            values.setdefault(name, []).append(value)
            if interval is not None:
                intervals.setdefault(name, []).append((*interval, error))
    first_true, second_true = (true_distance(dimensions, *model) for model in MODELS)
    truth = {"fid_corrected": first_true, "fid, difference": second_true - first_true}
    shares = {}
    for name, ends in intervals.items():
        low, high, error = np.array(ends).T
        at = truth.get(name, float(np.mean(values[name])))
        shares[name] = (float(((low <= at) & (at <= high)).mean()), float(error.mean() / np.std(values[name], ddof=1)))
    return shares


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimensions", type=int, default=8)
    parser.add_argument("--per-dimension", type=int, nargs="+", default=[5, 20])
    parser.add_argument("--sets", type=int, default=200)
    chosen = parser.parse_args(arguments)
    for count in chosen.per_dimension:
        print(f"{chosen.dimensions} dimensions, {count} vectors per dimension and side, {chosen.sets} sets")
        for name, (share, ratio) in simulate(chosen.dimensions, count, chosen.sets).items():
            print(f"  {name:24}{100 * share:6.1f} % hold, standard error / spread {ratio:.2f}")


if __name__ == "__main__":
    main()

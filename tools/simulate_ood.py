"""Coverage of intervals of OOD sets: the mean over several sets of what each has against all rows in distribution.

Scores in distribution are normal with mean 0, those of each OOD set with a mean of its own (`SETS`). The true mean of
ROC AUC and of FPR95 has a closed form; that of AUPR is read from large sets of the same shares.

    python tools/simulate_ood.py --sets 400
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

import steelyard as sy

METRICS = ("sources(roc_auc)", "sources(fpr@95(positive=ood))", "sources(aupr(positive=ood))")
KNOWN = 200
SETS = {"far": (2.5, 80), "middle": (2.0, 40), "near": (1.2, 120)}  # mean and rows
OPTIONS = {"ood": "unknown", "higher": "ood"}


def draw_rows(rng: np.random.Generator, times: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """Truth and predictions of one data set, or of one `times` as large."""
    source = np.repeat(["", *SETS], [times * KNOWN, *(times * rows for _, rows in SETS.values())])
    mean = np.repeat([0.0, *(mean for mean, _ in SETS.values())], [times * n for n in (KNOWN, *_rows())])
    label = np.where(source == "", "known", "unknown")
    return {"label": label, "source": source}, {"score": rng.normal(mean, 1.0)}


def _rows() -> list[int]:
    return [rows for _, rows in SETS.values()]


def true_values(rng: np.random.Generator) -> list[float]:
    """The means over sets in the population."""
    normal = NormalDist()
    areas = [normal.cdf(mean / 2**0.5) for mean, _ in SETS.values()]
    alarms = [1 - normal.cdf(mean + normal.inv_cdf(0.05)) for mean, _ in SETS.values()]
    large = draw_rows(rng, 2000)
    precision = sy.evaluate("labels", *large, METRICS[2:], confidence=None, options=OPTIONS)[METRICS[2]].value
    return [float(np.mean(areas)), float(np.mean(alarms)), precision]


def covered(sets: int, seed: int = 0, draws: int = 500) -> list[float]:
    """The share of 95 % intervals that hold the population's value, by metric."""
    rng = np.random.default_rng(seed)
    values, hits = true_values(rng), np.zeros(len(METRICS))
    for _ in range(sets):
        report = sy.evaluate("labels", *draw_rows(rng), METRICS, draws=draws, options=OPTIONS)
        ends = [report[metric].interval or (np.nan, np.nan) for metric in METRICS]
        hits += [low <= value <= high for (low, high), value in zip(ends, values, strict=True)]
    return [float(share) for share in hits / sets]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    for metric, share in zip(METRICS, covered(chosen.sets, chosen.seed), strict=True):
        print(f"{metric:32} {100 * share:.1f} %")


if __name__ == "__main__":
    main()

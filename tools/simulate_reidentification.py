"""Coverage of intervals of re-identification: queries of one person go together, resampled as queries and as people.

Each set has so many people with four queries and six gallery images each. A person's quality moves all of that person's
distances, and how alike two people look moves all distances between them, so queries of one person are not independent.
For each set the 95 % intervals are computed with queries and with people as units, and compared with the mean over many
sets of the same size.

    python tools/simulate_reidentification.py --people 25 --sets 200
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

import steelyard as sy

METRICS = ("map", "hit@1", "minp")
UNITS = ("query", "person")
QUERIES, IMAGES = 4, 6
MEAN, QUALITY, ALIKE, NOISE = 1.8, 0.7, 0.5, 0.8
TruthAndDistances = tuple[dict[str, Any], dict[str, Any]]


def draw_set(rng: np.random.Generator, people: int) -> TruthAndDistances:
    """Queries of one camera and gallery images of another."""
    query, gallery = np.repeat(np.arange(people), QUERIES), np.repeat(np.arange(people), IMAGES)
    quality, alike = rng.normal(0, QUALITY, people), rng.normal(0, ALIKE, (people, people))
    same = query[:, None] == gallery
    near = np.where(same, MEAN + quality[query][:, None], alike[query][:, gallery])
    truth = {
        "query_label": query,
        "gallery_label": gallery,
        "query_camera": np.zeros(len(query), dtype=int),
        "gallery_camera": np.ones(len(gallery), dtype=int),
    }
    return truth, {"distance": rng.normal(0, NOISE, same.shape) - near}


def expected_values(rng: np.random.Generator, people: int, sets: int) -> list[float]:
    """The mean of each metric over so many sets."""
    reports = [sy.evaluate("rankings", *draw_set(rng, people), METRICS, confidence=None) for _ in range(sets)]
    return [float(np.mean([report[metric].value for report in reports])) for metric in METRICS]


def covered(sets: int, people: int, seed: int = 0, draws: int = 500, of: int = 1000) -> dict[str, list[float]]:
    """The share of intervals that contain the expected value, by unit and metric; that is the mean over `of` sets."""
    rng = np.random.default_rng(seed)
    values = expected_values(rng, people, of)
    hits = {unit: np.zeros(len(METRICS)) for unit in UNITS}
    for _ in range(sets):
        data = draw_set(rng, people)
        for unit in UNITS:
            report = sy.evaluate("rankings", *data, METRICS, draws=draws, cluster=unit)
            ends = [report[metric].interval or (np.nan, np.nan) for metric in METRICS]
            hits[unit] += [low <= value <= high for (low, high), value in zip(ends, values, strict=True)]
    return {unit: (count / sets).tolist() for unit, count in hits.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=25)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    for unit, shares in covered(chosen.sets, chosen.people, chosen.seed).items():
        text = ", ".join(f"{metric} {100 * share:.0f} %" for metric, share in zip(METRICS, shares, strict=True))
        print(f"{unit:7} {text}")


if __name__ == "__main__":
    main()

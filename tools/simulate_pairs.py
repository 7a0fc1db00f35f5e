"""Coverage of intervals of verification: pairs that share people, resampled as pairs and as people.

Each set has so many people with four pictures each, and all pairs of pictures. A person's quality moves all of that
person's scores, so pairs are not independent. For each set the 95 % intervals of TAR and EER are computed with rows and
with people as units, and compared with the value of the population.

    python tools/simulate_pairs.py --people 25 --sets 150
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

import steelyard as sy

METRICS = ("tar@0.01", "tar@0.001", "eer")
PICTURES = 4
MEAN, QUALITY, NOISE = 1.8, 0.5, 0.6
TruthAndScores = tuple[dict[str, Any], dict[str, Any]]


def draw_scores(rng: np.random.Generator, first: Any, second: Any, same: Any) -> Any:
    """Scores of pairs of people with these qualities; the quality of both moves genuine pairs up and others down."""
    return MEAN * same + (first + second) * np.where(same, 0.5, -0.4) + rng.normal(0, NOISE, len(first))


def draw_pairs(rng: np.random.Generator, people: int) -> TruthAndScores:
    """All pairs of the pictures of so many people."""
    quality = rng.normal(0, QUALITY, people)
    person = np.repeat(np.arange(people), PICTURES)
    a, b = (person[side] for side in np.triu_indices(len(person), 1))
    truth = {"label": (a == b).astype(int), "person_a": a, "person_b": b}
    return truth, {"score": draw_scores(rng, quality[a], quality[b], a == b)}


def population(rng: np.random.Generator, size: int = 2_000_000) -> list[float]:
    """The values of a population, from independent pairs."""
    own, first, second = (rng.normal(0, QUALITY, size) for _ in range(3))
    genuine = draw_scores(rng, own, own, np.ones(size, bool))
    impostor = draw_scores(rng, first, second, np.zeros(size, bool))
    score = np.concatenate([genuine, impostor])
    report = sy.evaluate("labels", {"label": np.repeat([1, 0], size)}, {"score": score}, METRICS, confidence=None)
    return [report[metric].value for metric in METRICS]


def covered(sets: int, people: int, seed: int = 0, draws: int = 500) -> dict[str, list[float]]:
    """The share of intervals that hold the population's value, by unit and metric."""
    rng = np.random.default_rng(seed)
    values = population(rng)
    hits = {"pairs": np.zeros(len(METRICS)), "people": np.zeros(len(METRICS))}
    for _ in range(sets):
        truth, predictions = draw_pairs(rng, people)
        for unit, options in (("pairs", {}), ("people", {"people": "person_a,person_b"})):
            report = sy.evaluate("labels", truth, predictions, METRICS, draws=draws, options=options)
            ends = [report[metric].interval or (np.nan, np.nan) for metric in METRICS]
            hits[unit] += [low <= value <= high for (low, high), value in zip(ends, values, strict=True)]
    return {unit: (count / sets).tolist() for unit, count in hits.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=25)
    parser.add_argument("--sets", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    for unit, shares in covered(chosen.sets, chosen.people, chosen.seed).items():
        text = ", ".join(f"{metric} {100 * share:.0f} %" for metric, share in zip(METRICS, shares, strict=True))
        print(f"{unit:7} {text}")


if __name__ == "__main__":
    main()

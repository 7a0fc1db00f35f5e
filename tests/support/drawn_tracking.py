"""Drawn videos: tracks that are found, missed, renamed, followed with noise, and tracks where nothing is."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of

BOX = ("sequence", "frame", "track", "x", "y", "w", "h", "label")


def draw_tracks(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Sequences of four to seven frames with cars and people; some names change, some tracks break off."""
    truth: list[tuple[Any, ...]] = []
    predicted: list[tuple[Any, ...]] = []
    for unit in range(units):
        sequence, frames = f"v{unit}", int(rng.integers(4, 8))
        for track in range(int(rng.integers(2, 5))):
            label = "car" if track == 0 else "person"
            x, y, w, h = *rng.uniform(0, 300, 2), *rng.uniform(20, 60, 2)
            step, name = rng.uniform(-6, 6, 2), f"t{track}"
            for frame in range(1, frames + 1):
                box = np.round([x + frame * step[0], y + frame * step[1], w, h], 2)
                truth.append((sequence, frame, 10 + track, *box, label))
                if rng.random() < 0.15:
                    name = f"t{track}.{frame}"
                if rng.random() < 0.8 or frame == 1:
                    noise = rng.normal(0, 2.5, 4) * rng.choice([0.2, 1.0, 3.0])
                    moved = np.round(box + noise, 3)
                    predicted.append((sequence, frame, name, *moved[:2], *np.maximum(moved[2:], 1), label))
        for frame in range(1, frames):
            if rng.random() < 0.3:
                false = np.round([*rng.uniform(0, 300, 2), *rng.uniform(20, 60, 2)], 2)
                predicted.append((sequence, frame, "f", *false, "person"))
    sides = [dict(zip(BOX, map(list, zip(*rows, strict=True)), strict=True)) for rows in (truth, predicted)]
    sides[0]["group"] = [f"g{hash_of(name) % 3}" for name in sides[0]["sequence"]]
    return sides[0], sides[1]


DRAWN = {"tracking": Drawn(draw_tracks, lambda truth: {name: truth[name] for name in BOX})}

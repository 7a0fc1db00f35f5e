"""Fuzz the matching of blocks of pages with pieces of replies."""

from __future__ import annotations

import random

import numpy as np
from harness import Draw, target

from steelyard import _native


def side(draw: Draw, pages: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Texts of few symbols, so that many are alike: the symbols, their ends, the glue and the ends of the pages."""
    texts = draw.size(draw.rng.choice([2, 8, 30])) if pages else 0
    symbols = draw.size(draw.rng.choice([10, 200])) if texts else 0
    glue = draw.whole(2, texts, kind=np.uint32) * np.uint32(32)
    letters = draw.whole(4, symbols, kind=np.uint32) + np.uint32(97)
    return letters, draw.offsets(texts, symbols)[1:], glue, draw.offsets(pages, texts)[1:]


@target("documents.runs")
def fuzz_runs(rng: random.Random) -> None:
    """Runs lie on one page and are disjoint, edits stay below the longer text, and threads change nothing."""
    draw = Draw(rng)
    pages = draw.size(4)
    true, reply = side(draw, pages), side(draw, pages)
    limits = (rng.choice([1.0, 1.5, 16.0]), rng.choice([0.0, 8.0, 4096.0]), rng.choice([0.0, 0.7, 1.0]))
    matches = _native.match_runs(*true, *reply, *limits, 1)
    if not np.array_equal(matches, _native.match_runs(*true, *reply, *limits, 3)):
        raise AssertionError("the number of threads changed a match")
    for first, last, (_, _, _, ends) in ((0, 1, true), (2, 3, reply)):
        runs = matches[np.argsort(matches[:, first], kind="stable")][:, [first, last]]
        if len(runs) and (runs[0, 0] < 0 or runs[-1, 1] >= ends[-1] or (runs[:, 0] > runs[:, 1]).any()):
            raise AssertionError("a run is not inside the texts")
        if (runs[1:, 0] <= runs[:-1, 1]).any():
            raise AssertionError("two runs share a text")
        if not np.array_equal(*(np.searchsorted(ends, runs[:, i], side="right") for i in (0, 1))):
            raise AssertionError("a run goes over the end of a page")
    if (matches[:, 4] < 0).any() or (matches[:, 4] > matches[:, 5]).any():
        raise AssertionError("the edits are out of range")
    draw.call(_native.match_runs, *true, *reply, *limits, 2)

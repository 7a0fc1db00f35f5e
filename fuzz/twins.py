"""Compare what the chosen set of instructions gives with the baseline's, to the bit.

    python fuzz/twins.py

The machine's best kernels and those of STEELYARD_SIMD=baseline parse the same drawn texts (sentences of all lengths and
unknown words among them) and walk the same drawn rankings; every tag, head, relation and number must be the same.
Run by `make fuzz`.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys

import numpy

TEXTS = 2_000


def trees() -> bytes:
    from fuzz_captions import block, text

    from steelyard import _native
    from steelyard.language import tables

    rng = random.Random(0)
    drawn = [text(rng) for _ in range(TEXTS)]
    return bytes(_native.caption_trees(tables.parser(), *block(drawn), 1)[0])


def numbers() -> bytes:
    """Figures of drawn boxes and rows, under drawn weights, whole and not."""
    from steelyard import _native

    rng = numpy.random.default_rng(0)
    n, units, thresholds = 3_000, 200, 10
    score = numpy.round(numpy.sort(rng.random(n))[::-1], 2)
    hit = ((1 << numpy.where(rng.random(n) < 0.3, rng.integers(0, thresholds + 1, n), 0)) - 1).astype(numpy.uint32)
    ignored = numpy.where(rng.random(n) < 0.1, rng.integers(0, 1 << thresholds, n), 0).astype(numpy.uint32) & ~hit
    image, truth_image = (rng.integers(0, units, size).astype(numpy.int32) for size in (n, n // 3))
    rank, counts = rng.integers(0, 120, n).astype(numpy.uint16), numpy.ones(n // 3, numpy.uint8)
    spans = (numpy.array([0, n // 2]), numpy.array([n // 2, n]), numpy.array([0, n // 7, n // 3]))
    columns = (
        spans[0],
        spans[1],
        image,
        numpy.ascontiguousarray(score),
        rank,
        hit,
        ignored,
        spans[2],
        truth_image,
        counts,
    )
    keys, grid = rng.integers(0, 2**63, units).astype(numpy.uint64), numpy.linspace(0, 1, 101)
    drawn, real = _native.poisson_counts(keys, 1, 0, 96), rng.random((50, units))
    out = [_native.poisson_weights(keys, 1, 0, 96), drawn]
    ranked = _native.Ranked(*columns, thresholds, 100)
    figures = list(_native.BoxFigure)[:7]
    for figure in figures:
        for weights in (real, out[0]):
            out += ranked.figures(weights, figure, grid)
    for figure in (figures[0], figures[1], figures[3], figures[6]):
        out += ranked.draws(drawn, 96, figure, grid)
    last = numpy.append(score[1:] != score[:-1], True).astype(numpy.uint8)
    positive = (hit > 0).astype(numpy.uint8)
    for kind in range(5):
        for value in (numpy.zeros(0), rng.random(n)):
            out.append(_native.ranked(real, image.astype(numpy.int64), positive, last, value, kind, 0.1))
    for kind in range(2):
        out.append(
            _native.ranked_draws(drawn, 96, numpy.array([0, n]), image.astype(numpy.int32), positive, last, kind)
        )
    return b"".join(array.tobytes() for array in out)


def made(simd: str) -> bytes:
    """What a process of its own gives, with that set of instructions or the machine's best."""
    environment = {**os.environ, "STEELYARD_SIMD": simd}
    return subprocess.run([sys.executable, __file__, "--make"], env=environment, check=True, capture_output=True).stdout


def main() -> None:
    if sys.argv[1:] == ["--make"]:
        from steelyard import _native

        sys.stderr.write(_native.simd())
        sys.stdout.buffer.write(trees() + numbers())
        return
    own, plain = made(""), made("baseline")
    if own != plain:
        sys.exit("the baseline gives something else")
    print(f"{len(own)} bytes of trees and numbers: the same from the baseline")


if __name__ == "__main__":
    main()

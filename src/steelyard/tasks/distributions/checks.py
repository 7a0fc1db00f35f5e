"""Checks of `distributions`: vectors that are copied, repeated, dead or not of the length that they should have."""

from __future__ import annotations

import numpy as np

from steelyard.checks.check import CheckData, Checks, Problem, some_rows
from steelyard.core.counts import share_text
from steelyard.core.records import Array, Records
from steelyard.tasks.distributions.data import FINGERPRINT, row_hashes

CHECKS = Checks()
MOST = 50_000  # vectors of a side that are looked at
ODD_LENGTHS = 0.05  # share of vectors off length 1, up to which the rest is taken to be meant so


def _rows(records: Records | None) -> Array | None:
    features = None if records is None else records.columns.get("features")
    return None if features is None or features.ndim != 2 or not features.size else features[:MOST]


def _repeated(records: Records | None, side: str) -> Problem | None:
    rows = _rows(records)
    if rows is None or records is None:
        return None
    _, first, counts = np.unique(row_hashes(rows), return_index=True, return_counts=True)
    copies = int(len(rows) - len(counts))
    if not copies:
        return None
    return Problem(
        f"{share_text(copies, len(rows), f'{side} vector', 'repeat')} another one of the set.",
        copies,
        len(rows),
        some_rows(records, first[counts > 1]),
    )


@CHECKS.add(
    "repeated-vectors",
    "warning",
    "repeated vectors raise kid, and make radii of neighbours 0",
    "Leave out copies.",
    side="truth",
    quick=False,
)
def repeated_real(data: CheckData) -> Problem | None:
    """Real vectors that occur more than once."""
    return _repeated(data.truth, "real")


@CHECKS.add(
    "repeated-vectors",
    "warning",
    "repeated vectors raise kid, and make radii of neighbours 0",
    "Does the generator repeat itself, or was a batch saved twice?",
    quick=False,
)
def repeated_generated(data: CheckData) -> Problem | None:
    """Generated vectors that occur more than once."""
    return _repeated(data.prediction, "generated")


@CHECKS.add(
    "shared-vectors",
    "warning",
    "generated vectors that are real ones make every number better",
    "Is it the same file? Did the generator copy training images?",
    quick=False,
)
def shared_vectors(data: CheckData) -> Problem | None:
    """Generated vectors that equal a real one."""
    real, generated = _rows(data.truth), _rows(data.prediction)
    if real is None or generated is None or data.prediction is None or real.shape[1] != generated.shape[1]:
        return None
    same = np.flatnonzero(np.isin(row_hashes(generated), row_hashes(real)))
    if not len(same):
        return None
    return Problem(
        f"{share_text(len(same), len(generated), 'generated vector', 'are')} equal to a real one.",
        len(same),
        len(generated),
        some_rows(data.prediction, same),
    )


@CHECKS.add(
    "dead-columns",
    "note",
    "numbers that never change say nothing, and covariances are singular",
    "Is the last layer dead, or padded?",
    quick=False,
)
def dead_columns(data: CheckData) -> Problem | None:
    """Places of the vector that have one value in both sets."""
    real, generated = _rows(data.truth), _rows(data.prediction)
    if real is None or generated is None or real.shape[1] != generated.shape[1] or min(len(real), len(generated)) < 3:
        return None
    dead = np.flatnonzero((np.ptp(real, axis=0) == 0) & (np.ptp(generated, axis=0) == 0))
    if not len(dead):
        return None
    named = ", ".join(map(str, dead[:3].tolist()))
    return Problem(
        f"{share_text(len(dead), real.shape[1], 'place', 'are')} the same in all vectors: {named}.",
        len(dead),
        real.shape[1],
    )


@CHECKS.add(
    "not-normalised",
    "warning",
    "some vectors have length 1 and others do not: cosine metrics and cmmd mix both",
    "Normalise all vectors, or none.",
)
def not_normalised(data: CheckData) -> Problem | None:
    """Vectors off length 1 where the most have it, or a side that has it while the other does not."""
    real, generated = _rows(data.truth), _rows(data.prediction)
    if real is None or generated is None:
        return None
    off = [np.abs(np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=float)) - 1) > 1e-3 for rows in (real, generated)]
    shares = [float(side.mean()) for side in off]
    if max(shares) == 0 or min(shares) > ODD_LENGTHS:
        return None
    count = int(off[0].sum() + off[1].sum())
    return Problem(
        f"{shares[0]:.0%} of the real and {shares[1]:.0%} of the generated vectors do not have length 1.",
        count,
        len(real) + len(generated),
    )


@CHECKS.add(
    "extractor-unknown",
    "note",
    "distances of two extractors cannot be compared",
    "Name it: extractor=inception-2048.",
    quick=False,
)
def extractor_unknown(data: CheckData) -> Problem | None:
    """No side says where its vectors come from."""
    named = data.options is not None and (data.options.of("extractor") or data.options.of("fingerprint"))
    if named or data.prediction is None:
        return None
    if any(name in side.other for side in (data.truth, data.prediction) for name in FINGERPRINT):
        return None
    return Problem("No extractor is named.", 1, 1)

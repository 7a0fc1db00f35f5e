"""Fingerprints of embeddings, and small helpers of pages."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import numpy as np
import pytest

from steelyard.core.embeddings import DeviceEmbeddings
from steelyard.core.figure import worst_and_best

ODD = (0x1E3779B97F4A7C15, 0x3F58476D1CE4E5B9, 0x14D049BB133111EB, 0x2545F4914F6CDD1D)


def signed(value: int) -> int:
    """A number modulo 2^64, as a signed one."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def fingerprint(matrix: list[list[int]]) -> list[int]:
    """The products and sums of a matrix of bits, in whole numbers."""
    sums = [0, 0]
    for row, bits in enumerate(matrix):
        each = 0
        for column, value in enumerate(bits):
            mixed = signed((value + signed((column + 1) * ODD[0])) * ODD[1])
            each = signed(each + (mixed ^ (mixed >> 31)) * ODD[2])
        for k in (0, 1):
            value = signed((each + (row + 1) * ODD[0]) * ODD[2 + k])
            sums[k] = (sums[k] + (value ^ (value >> 29)) * ODD[1 - k]) % (1 << 64)
    return sums


@pytest.mark.parametrize(("dtype", "formats"), [("float32", "<fi"), ("float64", "<dq"), ("float16", "<fi")])
def test_a_digest_of_embeddings_is_that_of_their_bits(
    dtype: str, formats: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch: Any = pytest.importorskip("torch")
    monkeypatch.setattr("steelyard.core.embeddings._ROWS", 2)
    values = [[0.5, -1.25, 3.0], [0.0, 2.0, -0.5], [1.0, 1.0, 8.0], [-4.0, 0.25, 1.5], [7.0, 6.0, -5.0]]
    bits = [[struct.unpack(f"<{formats[2]}", struct.pack(f"<{formats[1]}", v))[0] for v in row] for row in values]
    made = DeviceEmbeddings(
        "p", {"query": torch.tensor(values, dtype=getattr(torch, dtype)), "id": np.array(["a", "é"])}
    )
    total = hashlib.sha256()
    total.update("id:(2,):a\x1fé".encode())
    total.update(f"query:(5, 3):torch.{dtype}:{fingerprint(bits)}".encode())
    assert made.digest() == f"sha256-device:{total.hexdigest()}"


def test_both_ends_of_many() -> None:
    assert worst_and_best(range(24)) == (list(range(24)), "")
    kept, said = worst_and_best(range(1025))
    assert kept == [*range(12), *range(1013, 1025)]
    assert said == " The worst 12 and the best 12 of 1,025; the table has all."
    assert worst_and_best([3, 1, 2], 2)[0] == [3, 2]

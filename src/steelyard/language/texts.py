"""Texts as the native core takes them: one block of bytes and the end of each text in it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

Block = tuple[bytes, NDArray[np.int64]]


def pack(texts: Sequence[str]) -> Block:
    """A block of texts. What is no Unicode (a lone surrogate) becomes a question mark."""
    encoded = [text.encode("utf-8", "replace") for text in texts]
    ends = np.fromiter(accumulate(map(len, encoded)), dtype=np.int64, count=len(encoded))
    return b"".join(encoded), ends


def unpack(block: bytes, ends: NDArray[Any]) -> list[str]:
    """The texts of a block."""
    texts = []
    start = 0
    for end in ends.tolist():
        texts.append(block[start:end].decode("utf-8", "replace"))
        start = end
    return texts

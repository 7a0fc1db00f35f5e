"""The texts of two dicts, as the native core reads them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.tasks.captions.ngrams import overlap

Texts = Mapping[Any, list[str]]
Captions = tuple[list[str], list[str], NDArray[np.int64]]  # candidates, all references, where those of an image begin


def read_texts(gts: Texts, res: Texts, images: Sequence[Any] | None = None) -> Captions:
    """One candidate and the references of each image, in the order of `gts` or of `images`."""
    if gts.keys() != res.keys():
        raise AssertionError("gts and res have different images")
    candidates, references, counts = [], [], [0]
    for image in gts if images is None else images:
        candidate, texts = res[image], gts[image]
        if type(candidate) is not list or len(candidate) != 1:
            raise AssertionError(f"res has no list of one caption for image {image!r}")
        if type(texts) is not list or not texts:
            raise AssertionError(f"gts has no list of captions for image {image!r}")
        candidates += candidate
        references += texts
        counts.append(len(texts))
    return candidates, references, np.fromiter(itertools.accumulate(counts), np.int64, len(counts))


def count_overlap(texts: Captions) -> dict[str, NDArray[np.float64]]:
    """Counts and scores of each image, where words are separated by any white space."""
    candidates, references, starts = texts
    return overlap([" ".join(t.split()) for t in candidates], [" ".join(t.split()) for t in references], starts)

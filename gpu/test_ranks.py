"""Ranks from embeddings on a GPU: those of the CPU, ties and near-ties included.

Run by `make gpu-test` on a machine with CUDA and Triton.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import steelyard as sy
from steelyard.match import ranks_gpu
from steelyard.match.ranks import RankQueries, exact_ranks

CASES = ["drawn", "whole", "twice", "near", "large", "alike"]


def vectors(case: str, queries: int, gallery: int, width: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(CASES.index(case))
    a, b = rng.normal(size=(queries, width)), rng.normal(size=(gallery, width))
    if case == "whole":  # many scores are equal
        a, b = np.round(a), np.round(b)
        a[:, 0], b[:, 0] = 1, 1
    if case == "twice":
        b = b[rng.integers(0, gallery // 3, gallery)]
    if case == "near":  # apart by less than half precision, and less than single precision
        b = b[rng.integers(0, 40, gallery)] * (1 + 10.0 ** -rng.integers(3, 9, (gallery, width)))
    if case == "large":
        a, b = a * 1e20, b * 1e20
    if case == "alike":
        b[:] = b[0]
    return a.astype(np.float32), b.astype(np.float32)


def wanted(queries: int, gallery: int, most: int, depth: int) -> RankQueries:
    rng = np.random.default_rng(9)
    exclude = np.where(rng.random(queries) < 0.5, -1, rng.integers(0, gallery, queries))
    chosen = [np.sort(rng.permutation(gallery)[: rng.integers(0, most + 1)]) for _ in range(queries)]
    chosen = [row[row != exclude[i]] for i, row in enumerate(chosen)]
    starts = np.append(0, np.cumsum([len(row) for row in chosen])).astype(np.int64)
    return RankQueries(starts, np.concatenate(chosen).astype(np.int64), exclude, rng.permutation(gallery), depth)


@pytest.mark.parametrize("distance", ["cosine", "l2"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("most", "depth"), [(1, 1000), (3, 50), (12, 3000)])
def test_ranks_are_those_of_the_cpu(case: str, distance: str, most: int, depth: int) -> None:
    width, gallery = (96, 2600) if most > 1 else (7, 2048)
    a, b = vectors(case, 150, gallery, width)
    asked = wanted(150, gallery, most, depth)
    expected = exact_ranks(a, b, asked, distance, "")
    given = ranks_gpu.ranks_on_gpu(torch.tensor(a).cuda(), torch.tensor(b).cuda(), asked, distance, "")
    for name in ("rank", "single", "tied"):
        np.testing.assert_array_equal(getattr(given, name), getattr(expected, name), err_msg=name)


def test_lists_that_overflow_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks_gpu, "ROOM", 700)
    a, b = vectors("near", 300, 5000, 96)
    asked = wanted(300, 5000, 2, 1000)
    given = ranks_gpu.ranks_on_gpu(torch.tensor(a).cuda(), torch.tensor(b).cuda(), asked, "cosine", "")
    np.testing.assert_array_equal(given.rank, exact_ranks(a, b, asked, "cosine", "").rank)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_a_report_of_tensors_is_that_of_arrays(dtype: torch.dtype) -> None:
    a, b = (torch.tensor(side).to(dtype) for side in vectors("drawn", 200, 3000, 64))
    rng = np.random.default_rng(1)
    labels = {"query_label": rng.integers(0, 300, 200), "gallery_label": rng.integers(0, 300, 3000)}
    metrics = ["map@100", "ndcg@100", "recall@100", "mrr", "map(ties=single)"]
    on_gpu = sy.evaluate("rankings", labels, {"query": a.cuda(), "gallery": b.cuda()}, metrics)
    on_cpu = sy.evaluate("rankings", labels, {"query": a, "gallery": b}, metrics)
    assert on_gpu.scores == on_cpu.scores
    assert on_gpu.notes == on_cpu.notes


def test_wrong_tensors_are_refused() -> None:
    labels = {"query_label": [0, 1], "gallery_label": [0, 1]}
    good = torch.ones(2, 3).cuda()
    for wrong, message in (
        (torch.zeros(2, 3).cuda(), "a vector of zeros has no direction"),
        (torch.full((2, 3), torch.nan).cuda(), "a number that is not finite"),
        (torch.ones(2, 4).cuda(), "differ in length"),
        (torch.ones(2, 0).cuda(), "has shape"),
    ):
        with pytest.raises(sy.InputError, match=message):
            sy.evaluate("rankings", labels, {"query": wrong, "gallery": good}, "mrr")

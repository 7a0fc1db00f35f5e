"""Moments of feature vectors on a GPU: the Fréchet distance of the CPU, and no waiting for the GPU before the report.

Run by `make gpu-test` on a machine with CUDA.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
import torch

import steelyard as sy


def test_distance_is_that_of_the_cpu_and_nothing_waits() -> None:
    rng = np.random.default_rng(5)
    real, generated = (rng.normal(size=(2000, 64)).astype(np.float32) + shift for shift in (10.0, 10.1))
    expected = sy.score("distributions", real, generated, "fid")
    on_gpu = torch.tensor(real).cuda(), torch.tensor(generated).cuda()
    there = list(zip(*(rows.split(200) for rows in on_gpu), strict=True))
    sy.Accumulator("distributions", device="cuda").update(*there[0])  # kernels are loaded
    torch.cuda.synchronize()
    gathered = sy.Accumulator("distributions", device="cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the mode is a prototype
        torch.cuda.set_sync_debug_mode("error")  # a call that waits raises
    try:
        for truth, predicted in there:
            gathered.update(truth, predicted)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert gathered.report()["fid"].value == pytest.approx(expected, rel=1e-9)


def test_time_of_fid_50k() -> None:
    """Printed, not judged: 50,000 vectors of 2,048 numbers on either side."""
    gathered = sy.Accumulator("distributions", device="cuda")
    rows = torch.randn(500, 2048, device="cuda")
    gathered.update(rows, rows)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(100):
        gathered.update(rows, rows)
    torch.cuda.synchronize()
    print(f"\ndistributions: 2 × 50,000 × 2,048 in {time.perf_counter() - begin:.2f} s")

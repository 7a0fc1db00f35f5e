"""Counts on a GPU: the reports of the CPU to the bit, and no waiting for the GPU before the report.

Run by `make gpu-test` on a machine with CUDA.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch.profiler import ProfilerActivity, profile

import steelyard as sy

WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "Memcpy DtoH", "aten::item")
BATCHES = 12


def label_batches() -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 100, (BATCHES, 4096))
    scores = rng.normal(size=(BATCHES, 4096, 100)).astype(np.float32)
    return [(torch.tensor(t), torch.tensor(s)) for t, s in zip(truth, scores, strict=True)]


def map_batches() -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(4)
    batches = []
    for k in range(BATCHES):
        names = [f"{k}.{i}" for i in range(4)]
        truth = torch.tensor(np.where(rng.random((4, 64, 96)) < 0.1, 255, rng.integers(0, 19, (4, 64, 96))))
        scores = torch.tensor(rng.normal(size=(4, 19, 64, 96)).astype(np.float32))
        batches.append(({"image": names, "map": truth}, {"image": names, "map": scores}))
    return batches


def moved(side: Any) -> Any:
    if isinstance(side, dict):
        return {name: moved(values) for name, values in side.items()}
    return side.cuda() if isinstance(side, torch.Tensor) else side


CASES = {
    "labels": ({}, label_batches),
    "segmentation": ({"options": {"classes": 19, "ignore": 255}}, map_batches),
}


@pytest.mark.parametrize("task", CASES)
def test_counts_are_those_of_the_cpu_and_nothing_waits(task: str) -> None:
    settings, make = CASES[task]
    batches = make()
    on_cpu = sy.Accumulator(task, device="cpu", **settings)
    for truth, predicted in batches:
        on_cpu.update(truth, predicted)
    expected = on_cpu.report()
    there = [(moved(truth), moved(predicted)) for truth, predicted in batches]
    sy.Accumulator(task, device="cuda", **settings).update(*there[0])  # kernels are loaded
    torch.cuda.synchronize()
    gathered = sy.Accumulator(task, device="cuda", **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the mode is a prototype
        torch.cuda.set_sync_debug_mode("error")  # a call that waits raises
    try:
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], acc_events=True) as trace:
            for truth, predicted in there:
                gathered.update(truth, predicted)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    names = [event.name for event in trace.events()]
    kernels = [name for name in names if "cudaLaunchKernel" in name]
    assert kernels, "the trace is empty"
    # The profiler itself waits once when it ends.
    waits = [name for name in names if any(wait in name for wait in WAITS)]
    assert [name for name in waits if name != "cudaDeviceSynchronize"] == []
    assert waits.count("cudaDeviceSynchronize") <= 1
    report = gathered.report()
    assert report.scores == expected.scores
    print(f"\n{task}: {BATCHES} batches, {len(kernels)} launches, waits before the report: none")

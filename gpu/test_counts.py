"""Counts and sums on a GPU: the reports of the CPU, and no waiting for the GPU before the report.

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


def field_batches(task: str) -> list[tuple[Any, Any]]:
    """Fields with holes in the truth, and errors on both sides of the usual thresholds."""
    rng = np.random.default_rng(5)
    batches = []
    for k in range(BATCHES):
        names = [f"{k}.{i}" for i in range(4)]
        channels = {"flow": (2,), "normals": (3,)}.get(task, ())
        truth = rng.normal(0, 20, (4, *channels, 96, 160))
        predicted = truth + rng.standard_t(2, truth.shape)
        if task in ("depth", "disparity"):
            truth = np.abs(truth) + 0.5
            predicted = truth * rng.lognormal(0, 0.2, truth.shape)
        mask = torch.tensor(rng.random((4, 96, 160)) < 0.8)
        sides = [torch.tensor(side.astype(np.float32)) for side in (truth, predicted)]
        batches.append(({"image": names, "map": sides[0], "mask": mask}, {"image": names, "map": sides[1]}))
    return batches


def moved(side: Any) -> Any:
    if isinstance(side, dict):
        return {name: moved(values) for name, values in side.items()}
    return side.cuda() if isinstance(side, torch.Tensor) else side


def fields(task: str, **options: Any) -> tuple[str, dict[str, Any], Any]:
    return task, {"options": options}, lambda: field_batches(task)


CASES = {
    "labels": ("labels", {}, label_batches),
    "segmentation": ("segmentation", {"options": {"classes": 19, "ignore": 255}}, map_batches),
    "flow": fields("flow"),
    "flow, kitti": fields("flow", preset="kitti2015"),
    "disparity": fields("disparity", scale=3, max_disparity=30),
    "disparity, eth3d": fields("disparity", preset="eth3d"),
    "depth": fields("depth", max=80),
    "depth, median": fields("depth", align="median", max=80, crop="garg"),
    "depth, affine": fields("depth", align="affine", align_in="disparity", max=80, align_size=100),
    "normals": fields("normals"),
    "normals, images": fields("normals", preset="marigold_normals"),
}
EXACT = ("labels", "segmentation")  # whole numbers; sums of fields are made in another order


def assert_same(task: str, report: sy.Report, expected: sy.Report) -> None:
    """The same scores: to the bit where they are made of counts, else to 1e-11."""
    if task in EXACT:
        assert report.scores == expected.scores
        return
    assert list(report.scores) == list(expected.scores)
    for spec, score in expected.scores.items():
        ours, theirs = ([one.value, *one.interval] for one in (report[spec], score))
        assert ours == pytest.approx(theirs, rel=1e-11), spec


@pytest.mark.parametrize("case", CASES)
def test_counts_are_those_of_the_cpu_and_nothing_waits(case: str) -> None:
    task, settings, make = CASES[case]
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
    assert_same(task, report, expected)
    print(f"\n{case}: {BATCHES} batches, {len(kernels)} launches, waits before the report: none")

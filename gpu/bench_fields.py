"""Depth and flow in a validation loop: what an update costs while the maps are on the GPU.

python gpu/bench_fields.py

Four ways to score the same batches of 8 maps of 480 × 640: Steelyard on the device, Steelyard on the CPU after a copy of
each batch, the usual formulas in PyTorch on the device with `.item()` for each figure (AbsRel, RMSE, RMSE log, SILog and
three δ; EPE, Fl and 1 px), and the same formulas without intervals or images kept apart. Each way runs once before it
is timed. Printed are milliseconds per batch by the clock, the report included.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import steelyard as sy

BATCHES, SIZE, HEIGHT, WIDTH = 40, 8, 480, 640


def batches(task: str) -> list[tuple[Any, Any, list[str]]]:
    torch.manual_seed(1)
    made = []
    for k in range(BATCHES):
        names = [f"{k}.{i}" for i in range(SIZE)]
        if task == "depth":
            truth = torch.rand(SIZE, HEIGHT, WIDTH, device="cuda") * 79 + 0.5
            predicted = truth * torch.exp(0.1 * torch.randn_like(truth))
        else:
            truth = 20 * torch.randn(SIZE, 2, HEIGHT, WIDTH, device="cuda")
            predicted = truth + torch.randn_like(truth)
        made.append((truth, predicted, names))
    torch.cuda.synchronize()
    return made


def ours(task: str, device: str, data: list[tuple[Any, Any, list[str]]]) -> dict[str, float]:
    gathered = sy.Accumulator(task, device=device, options={"max": 80} if task == "depth" else {})
    for truth, predicted, names in data:
        if device == "cpu":
            truth, predicted = truth.cpu(), predicted.cpu()
        gathered.update({"image": names, "map": truth}, {"image": names, "map": predicted})
    return {spec: score.value for spec, score in gathered.report().scores.items()}


def depth_figures(g: torch.Tensor, p: torch.Tensor) -> dict[str, float]:
    keep = (g > 0.001) & (g < 80)
    g, p = g[keep], p[keep].clamp(0.001, 80)
    ratio, logs = torch.maximum(p / g, g / p), torch.log(p) - torch.log(g)
    figures = {"abs_rel": ((p - g).abs() / g).mean().item(), "rmse": (p - g).square().mean().sqrt().item()}
    figures["rmse_log"] = logs.square().mean().sqrt().item()
    figures["silog"] = 100 * (logs.square().mean() - logs.mean().square()).sqrt().item()
    return figures | {f"delta@{k}": (ratio < 1.25**k).float().mean().item() for k in (1, 2, 3)}


def flow_figures(g: torch.Tensor, p: torch.Tensor) -> dict[str, float]:
    error, size = (p - g).square().sum(0).sqrt(), g.square().sum(0).sqrt()
    outlier = (error > 3) & (error > 0.05 * size)
    return {
        "epe": error.mean().item(),
        "fl": outlier.float().mean().item(),
        "bad@1": (error > 1).float().mean().item(),
    }


def formulas(task: str, data: list[tuple[Any, Any, list[str]]], each: bool) -> dict[str, float]:
    figures = depth_figures if task == "depth" else flow_figures
    rows = []
    for truth, predicted, _ in data:
        if each:
            rows += [figures(g, p) for g, p in zip(truth, predicted, strict=True)]
        else:
            rows.append(
                figures(truth.movedim(1, 0), predicted.movedim(1, 0)) if task == "flow" else figures(truth, predicted)
            )
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def main() -> None:
    print(torch.cuda.get_device_name(), torch.__version__)
    for task in ("depth", "flow"):
        data = batches(task)
        ways: dict[str, Callable[[], dict[str, float]]] = {
            "Steelyard on the device, with intervals": lambda task=task, data=data: ours(task, "cuda", data),
            "Steelyard in PyTorch on the CPU, copied": lambda task=task, data=data: ours(task, "cpu", data),
            "formulas in PyTorch, per image": lambda task=task, data=data: formulas(task, data, True),
            "formulas in PyTorch, per batch": lambda task=task, data=data: formulas(task, data, False),
        }
        for name, run in ways.items():
            run()
            torch.cuda.synchronize()
            started = time.perf_counter()
            values = run()
            torch.cuda.synchronize()
            spent = (time.perf_counter() - started) / BATCHES
            shown = ", ".join(f"{spec} {value:.6f}" for spec, value in list(values.items())[:3])
            print(f"{task:6} {name:42} {1000 * spent:8.2f} ms per batch   {shown}", flush=True)


if __name__ == "__main__":
    main()

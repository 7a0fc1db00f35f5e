"""Losses, forward and backward: seconds and peak memory beside effdet's and torchvision's own, in the same run.

    python benchmarks/bench_losses.py [--device cpu|cuda] [--batch 16] [--effdet path/to/effdet/loss.py]

The shape is EfficientDet's at 512 pixels: 49,104 anchors on five levels, 90 classes. Each contender runs in a process
of its own, on the same drawn tensors, and its peak of memory is counted from where the tensors stand ready. On a CPU
the time is CPU time (user and system, all threads), and wall time beside it; on a GPU that between two events. effdet
is not installed (it pulls in torchvision): its sdist is fetched with pip and its loss.py is read from there.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import importlib.util
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import QUICK, Run, record, sized

SIDES, ANCHORS_PER_CELL, CLASSES = (8, 4) if QUICK else (64, 32, 16, 8, 4), 9, 90
EFFDET = "effdet==0.4.1"


def fetch_effdet(folder: Path) -> Path | None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", EFFDET]
    if subprocess.run([*command, "--dest", str(folder)], capture_output=True, check=False).returncode:
        return None
    with tarfile.open(next(folder.glob("effdet-*.tar.gz"))) as archive:
        member = next(m for m in archive.getmembers() if m.name.endswith("effdet/loss.py"))
        (folder / "loss.py").write_bytes(archive.extractfile(member).read())  # type: ignore[union-attr]
    return folder / "loss.py"


def load(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("effdet_loss", path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


class Data:
    """Drawn outputs in effdet's layout (batch, anchors x numbers, height, width), by level, and their targets."""

    def __init__(self, batch: int, device: str) -> None:
        import torch

        torch.manual_seed(0)
        a, c = ANCHORS_PER_CELL, CLASSES
        self.logits, self.boxes, self.labels, self.box_targets = [], [], [], []
        for side in SIDES:
            draw = torch.rand(batch, side, side, a)
            label = torch.full(draw.shape, -1)
            label[draw < 0.003] = torch.randint(0, c, (int((draw < 0.003).sum()),))
            label[draw > 0.99] = -2
            self.labels.append(label.to(device))
            target = torch.randn(batch, side, side, a * 4) * 0.2 * (label >= 0).repeat_interleave(4, -1)
            self.box_targets.append(target.to(device))
            self.logits.append((torch.randn(batch, a * c, side, side) * 1.5 - 4.6).to(device).requires_grad_())
            self.boxes.append((torch.randn(batch, a * 4, side, side) * 0.2).to(device).requires_grad_())
        self.positives = sum((label >= 0).flatten(1).sum(1) for label in self.labels).float()  # type: ignore[union-attr]

    def levels(self) -> tuple[Any, ...]:
        """The same tensors as (batch, height, width, anchors, numbers), without a copy."""

        def apart(level: Any, numbers: int) -> Any:
            batch, _, side, _ = level.shape
            return level.view(batch, ANCHORS_PER_CELL, numbers, side, side).permute(0, 3, 4, 1, 2)

        return (
            [apart(level, CLASSES) for level in self.logits],
            [apart(level, 4) for level in self.boxes],
            self.labels,
            [target.view(*target.shape[:-1], ANCHORS_PER_CELL, 4) for target in self.box_targets],
        )


def contender(name: str, data: Data, effdet_path: str) -> tuple[Callable[[], Any], list[Any]]:
    """A function that gives the loss, and the tensors that its gradient goes to."""
    import torch

    if name.startswith("effdet"):
        effdet = load(effdet_path)
        function = effdet.loss_jit if name == "effdet, jitted" else effdet.loss_fn
        return lambda: function(
            data.logits, data.boxes, data.labels, data.box_targets, data.positives, num_classes=CLASSES,
            alpha=0.25, gamma=1.5, delta=0.1, box_loss_weight=50.0,
        )[0], data.logits + data.boxes  # fmt: skip

    from steelyard import losses

    if name == "steelyard, as effdet, one array":
        logits, boxes, labels, targets = (
            torch.cat([one.detach().flatten(1, 3) for one in of], 1) for of in data.levels()
        )
        leaves = [logits.requires_grad_(), boxes.requires_grad_()]
        data.logits, data.boxes = [], []
        return lambda: losses.effdet(*leaves, labels, targets, positives=data.positives)[0], leaves
    if name.startswith("steelyard, as effdet"):
        function = losses.effdet
        if name.endswith("compiled"):
            function = torch.compile(lambda *arguments, positives: losses.effdet(*arguments, positives=positives))
        if name.endswith(("compiled", "views")):
            return lambda: function(*data.levels(), positives=data.positives)[0], data.logits + data.boxes
        planes = data.logits, data.boxes, data.labels, data.box_targets
        return lambda: function(*planes, positives=data.positives, anchors=ANCHORS_PER_CELL)[0], (
            data.logits + data.boxes
        )

    labels = torch.cat([label.flatten(1) for label in data.labels], 1)
    logits = torch.cat([level.detach().flatten(1, 3) for level in data.levels()[0]], 1).requires_grad_()
    data.logits, data.boxes = [], []
    if name == "steelyard, focal of labels":
        return lambda: losses.focal_loss(logits, labels, gamma=2.0, reduction="sum"), [logits]
    dense = (labels[..., None] == torch.arange(CLASSES, device=labels.device)).to(logits.dtype)
    if name == "steelyard, focal of dense targets":
        return lambda: losses.focal_loss(logits, dense, gamma=2.0, reduction="sum"), [logits]
    from torchvision.ops import sigmoid_focal_loss

    return lambda: sigmoid_focal_loss(logits, dense, reduction="sum"), [logits]


class HostPeak:
    """The peak of this process' resident memory while it runs, above where it stood."""

    def __enter__(self) -> HostPeak:
        gc.collect()
        with contextlib.suppress(AttributeError):  # what is free but still held would hide what is taken from it
            ctypes.CDLL(None).malloc_trim(0)
        self.start = self.peak = self.resident()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def resident(self) -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def watch(self) -> None:
        while not self.done.wait(0.001):
            self.peak = max(self.peak, self.resident())

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.thread.join()


def measure(name: str, device: str, batch: int, repeats: int, effdet_path: str) -> dict[str, Any]:
    import torch

    data = Data(batch, device)
    function, leaves = contender(name, data, effdet_path)

    def step() -> float:
        for leaf in leaves:
            leaf.grad = None
        loss = function()
        loss.backward()
        return loss.detach()

    if device == "cuda":
        for _ in range(20):
            loss = step()
        for leaf in leaves:
            leaf.grad = None
        torch.cuda.synchronize()
        base = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        step()
        torch.cuda.synchronize()
        peak = torch.cuda.max_memory_allocated() - base
        times = []
        for _ in range(repeats):
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            step()
            stop.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(stop) / 1000)
        walls = times
    else:
        for leaf in leaves:
            leaf.grad = None
        with HostPeak() as watch:
            loss = step()
        peak = watch.peak - watch.start
        step()  # the second call is where the jit makes its plans
        times, walls = [], []
        for _ in range(repeats):
            start_wall, start_cpu = time.perf_counter(), time.process_time()
            step()
            times.append(time.process_time() - start_cpu)
            walls.append(time.perf_counter() - start_wall)
    middle = sorted(times)[len(times) // 2]
    return {"seconds": min(times), "median": middle, "wall": min(walls), "peak": peak, "loss": float(loss)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--batch", type=int, default=sized(16, 1))
    parser.add_argument("--repeats", type=int, default=sized(3, 1))
    parser.add_argument("--effdet", default="", help="path of effdet's loss.py; fetched with pip where not given")
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print("losses: not run, PyTorch is not installed")
        record("losses", "steelyard", "PyTorch is not installed")
        return 0
    if arguments.worker:
        print(json.dumps(measure(
            arguments.worker, arguments.device, arguments.batch, arguments.repeats, arguments.effdet
        )))  # fmt: skip
        return 0

    import torch

    device = arguments.device or ("cuda" if torch.cuda.is_available() else "cpu")
    repeats = arguments.repeats * (10 if device == "cuda" else 1)
    anchors = sum(side * side for side in SIDES) * ANCHORS_PER_CELL
    where = torch.cuda.get_device_name() if device == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(f"{arguments.batch} x {anchors} anchors x {CLASSES} classes, float32, PyTorch {torch.__version__}, {where}")
    with tempfile.TemporaryDirectory() as folder:
        effdet = arguments.effdet or ("" if QUICK else str(fetch_effdet(Path(folder)) or ""))
        groups = {
            "classes and boxes": [
                "steelyard, as effdet",
                "steelyard, as effdet, views",
                "steelyard, as effdet, one array",
                "steelyard, as effdet, compiled",
                "effdet, jitted",
                "effdet",
            ],
            "focal, γ = 2": ["steelyard, focal of labels", "steelyard, focal of dense targets", "torchvision"],
        }
        for title, names in groups.items():
            print(f"\n{title:34}{'ms':>10}{'ratio':>8}{'median':>10}{'wall':>10}{'peak MiB':>10}{'ratio':>8}  loss")
            first: dict[str, Any] = {}
            for name in names:
                missing = "compiling takes a minute" if QUICK and name.endswith("compiled") else ""
                if name.startswith("effdet") and not effdet:
                    missing = "not fetched in a smoke run" if QUICK else "the sdist could not be fetched"
                if name == "torchvision" and importlib.util.find_spec("torchvision") is None:
                    missing = "not installed"
                if missing:
                    print(f"{name:34}not run: {missing}")
                    record(f"{title}, {device}", name, missing)
                    continue
                command = [sys.executable, __file__]
                command += ["--worker", name, "--device", device, "--batch", str(arguments.batch)]
                command += ["--repeats", str(repeats), "--effdet", effdet]
                run = subprocess.run(command, capture_output=True, text=True, check=False)
                if run.returncode:
                    why = (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[-1]
                    print(f"{name:34}not run: {why}")
                    record(f"{title}, {device}", name, why)
                    continue
                result = json.loads(run.stdout.splitlines()[-1])
                first = first or result
                rows = [Run(one["seconds"], one["wall"], one["peak"] / 2**20) for one in (result, first)]
                record(f"{title}, {device}", name, *rows)
                print(
                    f"{name:34}{1000 * result['seconds']:10.2f}{result['seconds'] / first['seconds']:8.2f}"
                    f"{1000 * result['median']:10.2f}{1000 * result['wall']:10.2f}"
                    f"{result['peak'] / 2**20:10.0f}{result['peak'] / first['peak']:8.2f}  {result['loss']:.6g}"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())

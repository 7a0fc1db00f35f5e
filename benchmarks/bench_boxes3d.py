"""Boxes in space from files to all numbers: KITTI's validation set and a tenth of nuScenes', drawn, beside their kits.

`nuscenes-devkit` is left out where it is not installed; its time is that of `accumulate` alone, its boxes made before.
KITTI's kit is a C++ program that nobody packages: name one in STEELYARD_KITTI_EVAL, called as `PROGRAM truth results`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import Run, measure, sized, table

FRAMES, SAMPLES = sized(3769, 60), sized(600, 12)
SIZES = {"Car": (1.5, 1.6, 3.9), "Pedestrian": (1.75, 0.6, 0.8), "Cyclist": (1.7, 0.6, 1.8), "Van": (2.0, 1.9, 5.0)}
NAMES = (
    "car", "truck", "bus", "trailer", "construction_vehicle", "pedestrian", "motorcycle", "bicycle", "traffic_cone",
    "barrier",
)  # fmt: skip
SHARES = (0.35, 0.08, 0.02, 0.03, 0.02, 0.2, 0.02, 0.02, 0.13, 0.13)


def kitti_line(rng: np.random.Generator, kind: str, noise: float, x: float, z: float, yaw: float) -> str:
    """A line from the type to rotation_y, with so much noise."""
    n = rng.normal(0, noise, 12)
    height, width, length = SIZES[kind]
    tall, u, v = 720 * height / z, 610 + 720 * x / z, 170 + 720 * 1.65 / z
    box = np.array([u - tall / 2, v - tall, u + tall / 2, v]) + 2 * n[:4]
    sizes = np.array([height, width, length]) * (1 + 0.03 * n[4:7])
    values = [yaw - np.arctan2(x, z) + 0.1 * n[7], *box[:2], *np.maximum(box[2:], box[:2]), *sizes]
    values += [x + 0.15 * n[8], 1.65 + 0.05 * n[9], z + 0.2 * n[10], yaw + 0.1 * n[11]]
    return " ".join(f"{value:.2f}" for value in values)


def write_kitti(folder: Path) -> None:
    """About 5.5 truths and 6.8 detections per frame."""
    rng = np.random.default_rng(1)
    for side in ("label_2", "data"):
        (folder / side).mkdir(parents=True)
    for frame in range(FRAMES):
        truth, predicted = [], []
        for number in range(int(rng.poisson(5.5)) + int(rng.poisson(2.4))):
            kind = str(rng.choice(list(SIZES), p=(0.75, 0.12, 0.05, 0.08)))
            where = rng.uniform(-20, 20), rng.uniform(5, 60), rng.uniform(-3.1, 3.1)
            real = number < 5.5
            if real:
                hidden = f"{rng.choice([0, 0, 0.2, 0.4]):.2f} {rng.choice(4, p=(0.5, 0.25, 0.2, 0.05))}"
                truth.append(f"{kind} {hidden} {kitti_line(rng, kind, 0, *where)}")
            if kind != "Van" and (not real or rng.random() < 0.85):
                score = rng.uniform(0.2, 1) if real else rng.uniform(0, 0.6)
                predicted.append(f"{kind} -1 -1 {kitti_line(rng, kind, 1, *where)} {score:.4f}")
        if frame % 2:
            truth.append("DontCare -1 -1 -10 500 150 600 200 -1 -1 -1 -1000 -1000 -1000 -10")
        (folder / "label_2" / f"{frame:06d}.txt").write_text("\n".join(truth) + "\n")
        (folder / "data" / f"{frame:06d}.txt").write_text("\n".join(predicted) + "\n")


def write_nuscenes(folder: Path) -> None:
    """31 truths and about 150 results per sample."""
    rng = np.random.default_rng(2)
    truth: dict[str, list[object]] = {}
    results: dict[str, list[object]] = {}
    ego = {}
    for number in range(SAMPLES):
        sample = f"{rng.integers(1 << 62):016x}{number:016x}"
        middle = rng.uniform(0, 2000, 2)
        ego[sample] = [*middle.tolist(), 0.0]

        def box(name: str, at: np.ndarray, *, score: float | None, sample: str = sample) -> dict[str, object]:
            yaw = rng.uniform(-3.1, 3.1) / 2
            one = {
                "sample_token": sample, "translation": [*at.tolist(), 1.0], "size": [1.9, 4.5, 1.7],
                "rotation": [float(np.cos(yaw)), 0.0, 0.0, float(np.sin(yaw))],
                "velocity": rng.normal(0, 1, 2).tolist(), "detection_name": name, "attribute_name": "",
            }  # fmt: skip
            return {**one, "num_pts": 5} if score is None else {**one, "detection_score": score}

        truth[sample], results[sample] = [], []
        for name in rng.choice(NAMES, 31, p=SHARES).tolist():
            at = middle + rng.uniform(-25, 25, 2)
            truth[sample].append(box(name, at, score=None))
            for _ in range(int(rng.poisson(1.3))):
                results[sample].append(box(name, at + rng.normal(0, 0.6, 2), score=float(rng.uniform(0.1, 1))))
        for name in rng.choice(NAMES, 110).tolist():
            results[sample].append(box(name, middle + rng.uniform(-35, 35, 2), score=float(rng.uniform(0, 0.4))))
    (folder / "truth.json").write_text(json.dumps({"meta": {}, "results": truth, "ego": ego}))
    (folder / "results.json").write_text(json.dumps({"meta": {}, "results": results}))


OURS = """
import steelyard as sy
sy.use_threads(1)
box = {name: [1, 1] for name in ("x", "y", "z", "length", "width", "height", "yaw", "score")}
box |= {"frame": ["a", "b"], "label": ["car"] * 2}
sy.evaluate("boxes3d", box, box, draws=100)  # what is imported late is not counted
"""
KITTI = """
specs = [f"kitti_ap(view={v}, level={l}, label={c})" for c in ("Car", "Pedestrian", "Cyclist")
         for v in ("bbox", "bev", "3d") for l in ("easy", "moderate", "hard")]
specs += [f"aos(level={l}, label={c})" for c in ("Car", "Pedestrian", "Cyclist") for l in ("easy", "moderate", "hard")]
sy.evaluate("boxes3d", folder + "/label_2", folder + "/data", specs, confidence=None)
"""
NUSCENES = "sy.evaluate('boxes3d', folder + '/truth.json', folder + '/results.json', confidence=None)"
BOXES = """
import json
from nuscenes.eval.common.data_classes import EvalBoxes
from nuscenes.eval.common.utils import center_distance
from nuscenes.eval.detection.algo import accumulate
from nuscenes.eval.detection.constants import DETECTION_NAMES
from nuscenes.eval.detection.data_classes import DetectionBox
sides = []
for side in ("truth", "results"):
    boxes = EvalBoxes()
    for sample, predicted in json.load(open(folder + f"/{side}.json"))["results"].items():
        boxes.add_boxes(sample, [DetectionBox.deserialize({"detection_score": -1.0, **one}) for one in predicted])
    sides.append(boxes)
"""
ACCUMULATE = "[accumulate(*sides, name, center_distance, at) for name in DETECTION_NAMES for at in (0.5, 1, 2, 4)]"


def kit(program: str, folder: Path) -> Run:
    """What the program takes, as the system counts it."""
    import resource  # of Unix alone, as the kit is

    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, str(folder / "label_2"), str(folder)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(cpu, time.perf_counter() - begin, after.ru_maxrss / 1024)


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    given = f"folder = {str(folder)!r}\n"
    try:
        write_kitti(folder)
        write_nuscenes(folder)
        runs: dict[str, Run | str] = {"steelyard": measure(KITTI, given + OURS)}
        if os.environ.get("STEELYARD_KITTI_EVAL"):
            runs["KITTI's kit (C++)"] = kit(os.environ["STEELYARD_KITTI_EVAL"], folder)
        table(
            f"KITTI: {FRAMES} frames, 3 classes, views and levels, and AOS (goal: 0.15 of the kit)", "steelyard", runs
        )
        table(
            f"nuScenes: {SAMPLES} samples, 10 classes, 4 distances, reading included (goal: 0.02 of accumulate)",
            "steelyard",
            {
                "steelyard": measure(NUSCENES, given + OURS),
                "nuscenes-devkit": measure(ACCUMULATE, given + BOXES, repeat=1),
            },
        )
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

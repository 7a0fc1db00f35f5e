"""Boxes: COCO JSON in, the twelve numbers out, against every installed peer.

Each tool runs as a fresh process (import, load both files, evaluate, summarise), in turn, several times; the least CPU
time counts, which is the figure that does not depend on what else the machine does. The data is made here, shaped like
COCO val2017 (S and M: 5,000 images, 36,000 truths with polygons; L: 80,000 images, 365 classes, a million truths).

    python benchmarks/bench_boxes.py [S] [M] [L] [--rounds 2] [--no-draws] [--all] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import QUICK, Run, record

SIZES = {
    "Q": {"images": 20, "classes": 5, "truths": 150, "detections": 300},  # a smoke run
    "S": {"images": 5000, "classes": 80, "truths": 36_484, "detections": 37_452},
    "M": {"images": 5000, "classes": 80, "truths": 36_484, "detections": 500_000},
    "L": {"images": 80_000, "classes": 365, "truths": 1_030_000, "detections": 1_200_000},
}

KIND = "boxes"
OURS = """
import steelyard as sy
report = sy.evaluate("boxes", TRUTH, RESULTS, NUMBERS, confidence=None)
print(",".join(f"{report[name].value:.6f}" for name in NUMBERS))
"""
NUMBERS = [
    "map", "map50", "map75", "map(area=small)", "map(area=medium)", "map(area=large)",
    "ar@1", "ar@10", "ar@100", "ar@100(area=small)", "ar@100(area=medium)", "ar@100(area=large)",
]  # fmt: skip
COCO = """
import contextlib, io
from MODULE import COCO, COCOeval
with contextlib.redirect_stdout(io.StringIO()):
    truth = COCO(TRUTH)
    e = COCOeval(truth, truth.loadRes(RESULTS), "bbox")
    e.evaluate(); e.accumulate(); e.summarize()
print(",".join(f"{v:.6f}" for v in e.stats))
"""
VERNIER = """
import vernier.instance as v
truth = v.CocoDataset.from_json(open(TRUTH, "rb").read())
e = v.Evaluator(iou_type=v.IouType.bbox()) if hasattr(v, "IouType") else v.Evaluator()
s = e.evaluate(truth, open(RESULTS, "rb").read())
print(",".join(f"{x:.6f}" for x in s.stats))
"""
PEERS = {
    "pycocotools": ("pycocotools", COCO.replace("from MODULE import COCO, COCOeval",
                    "from pycocotools.coco import COCO\nfrom pycocotools.cocoeval import COCOeval")),
    "faster-coco-eval": ("faster_coco_eval", COCO.replace("MODULE import COCO, COCOeval",
                         "faster_coco_eval import COCO, COCOeval_faster as COCOeval")),
    "hotcoco": ("hotcoco", COCO.replace("MODULE", "hotcoco")),
    "ultrafast-pycocotools": ("ultrafast_pycocotools", COCO.replace("MODULE", "ultrafast_pycocotools")),
    "vernier": ("vernier", VERNIER),
    "steelyard, drop-in": ("steelyard", COCO.replace("MODULE", "steelyard.compat.pycocotools")),
}  # fmt: skip
SLOW = {"pycocotools", "faster-coco-eval"}  # left out at L, and run once
LEFT_OUT = {"L": SLOW, "M": SLOW}  # unless they are asked for by --all: a minute and more


def make_data(size: str, folder: Path) -> tuple[Path, Path]:
    """Write truth and results of the given size, or take what is there."""
    truth_path, results_path = folder / f"{size}_truth.json", folder / f"{size}_results.json"
    if truth_path.exists() and results_path.exists():
        return truth_path, results_path
    shape = SIZES[size]
    rng = np.random.default_rng(17)
    n, k, truths, detections = shape["images"], shape["classes"], shape["truths"], shape["detections"]
    image_ids = np.sort(rng.choice(600_000, n, replace=False)) + 1
    category_ids = np.sort(rng.choice(k + k // 8, k, replace=False)) + 1
    popular = rng.permutation(1.0 / (np.arange(k) + 3))
    image = np.sort(rng.integers(0, n, truths))
    # Objects of an image tend to be of few classes.
    favourite = rng.choice(k, (n, 3), p=popular / popular.sum())
    label = np.where(rng.random(truths) < 0.8, favourite[image, rng.integers(0, 3, truths)],
                     rng.choice(k, truths, p=popular / popular.sum()))  # fmt: skip
    side = np.exp(rng.normal(4.1, 1.0, (truths, 2))).clip(4, 420)
    corner = rng.random((truths, 2)) * (np.array([640.0, 480.0]) - side).clip(1, None)
    box = np.round(np.concatenate([corner, side], axis=1), 2)
    crowd = rng.random(truths) < 0.01
    area = np.round(box[:, 2] * box[:, 3] * rng.uniform(0.4, 0.9, truths), 4)

    with open(truth_path, "w") as file:
        file.write('{"info": {"description": "COCO-shaped"}, "licenses": [], "images": [')
        file.write(", ".join(
            f'{{"license": 4, "file_name": "{i:012d}.jpg", "coco_url": "images/{i:012d}.jpg", "height": 480, '
            f'"width": 640, "date_captured": "2013-11-14 17:02:52", "id": {i}}}' for i in image_ids
        ))  # fmt: skip
        file.write('], "annotations": [')
        step = 50_000
        for start in range(0, truths, step):
            rows = range(start, min(start + step, truths))
            points = rng.integers(5, 32, len(rows))
            texts = []
            for row, count in zip(rows, points, strict=True):
                x, y, w, h = box[row]
                ring = np.round(rng.random((count, 2)) * (w, h) + (x, y), 2)
                numbers = ring.ravel().tolist()
                seg = f"[{numbers}]"
                if crowd[row]:
                    seg = f'{{"counts": {[int(str(v).replace(".", "")) for v in numbers]}, "size": [480, 640]}}'
                texts.append(
                    f'{{"segmentation": {seg}, "area": {area[row]}, "iscrowd": {int(crowd[row])}, "image_id": '
                    f'{image_ids[image[row]]}, "bbox": [{x}, {y}, {w}, {h}], "category_id": '
                    f'{category_ids[label[row]]}, "id": {row + 1}}}'
                )
            file.write((", " if start else "") + ", ".join(texts))
        file.write('], "categories": [')
        file.write(", ".join(f'{{"supercategory": "thing", "id": {c}, "name": "class {c}"}}' for c in category_ids))
        file.write("]}")

    detected = rng.choice(truths, min(int(truths * 0.8), detections), replace=False)
    jitter = rng.normal(0, 0.08, (len(detected), 4)) * box[detected][:, [2, 3, 2, 3]]
    near = (box[detected] + jitter).clip(1, None)
    wrong = rng.random(len(detected)) < 0.06
    near_label = np.where(wrong, rng.integers(0, k, len(detected)), label[detected])
    near_score = rng.beta(4, 2, len(detected))
    others = detections - len(detected)
    far_image = rng.integers(0, n, others)
    far_label = np.where(rng.random(others) < 0.5, favourite[far_image, rng.integers(0, 3, others)],
                         rng.choice(k, others, p=popular / popular.sum()))  # fmt: skip
    far_side = np.exp(rng.normal(4.1, 1.0, (others, 2))).clip(4, 420)
    far = np.concatenate([rng.random((others, 2)) * (640, 480), far_side], axis=1)
    d_image = np.concatenate([image[detected], far_image])
    d_label = np.concatenate([near_label, far_label])
    d_box = np.concatenate([near, far])
    d_score = np.concatenate([near_score, rng.beta(1, 8, others)])
    order = np.lexsort((-d_score, d_image))
    with open(results_path, "w") as file:
        file.write("[")
        step = 100_000
        for start in range(0, detections, step):
            rows = order[start : start + step]
            boxes = d_box[rows].astype(np.float32).astype(float).tolist()
            scores = d_score[rows].tolist()
            texts = [
                f'{{"image_id": {i}, "category_id": {c}, "bbox": [{b[0]:.2f}, {b[1]:.2f}, {b[2]:.2f}, {b[3]:.2f}], '
                f'"score": {s!r}}}'
                for i, c, b, s in zip(image_ids[d_image[rows]], category_ids[d_label[rows]], boxes, scores, strict=True)
            ]
            file.write((", " if start else "") + ", ".join(texts))
        file.write("]")
    return truth_path, results_path


def measure(code: str) -> tuple[float, float, float, str]:
    """CPU seconds, wall seconds, peak megabytes and last printed line of a fresh process."""
    # Compiled modules are kept, as they are where packages are installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(err.strip().splitlines()[-1] if err.strip() else f"exit {process.returncode}")
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, out.strip().splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", default=[], choices=[*SIZES, []], help="S and M")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--no-draws", dest="draws", action="store_false", help="leave out 1,000 bootstrap draws")
    parser.add_argument("--skip", nargs="*", default=[], help="peers to leave out")
    parser.add_argument("--all", action="store_true", help="peers that take long too")
    parser.add_argument("--keep", type=Path, help="keep the data in this folder")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for size in asked.sizes or (["Q"] if QUICK else ["S", "M"]):
            run_size(size, folder, asked)


def run_size(size: str, folder: Path, asked: argparse.Namespace) -> None:
    truth, results = make_data(size, folder)
    megabytes = [path.stat().st_size / 1e6 for path in (truth, results)]
    print(f"{size}: {json.dumps(SIZES[size])}, truth {megabytes[0]:.0f} MB, results {megabytes[1]:.0f} MB")
    prelude = f"TRUTH, RESULTS, NUMBERS = {str(truth)!r}, {str(results)!r}, {NUMBERS!r}\n"
    tools = {"steelyard": prelude + OURS}
    for name, (module, code) in PEERS.items():
        if name in asked.skip or (name in LEFT_OUT.get(size, ()) and not asked.all):
            print(f"  {name}: left out")
            record(f"{KIND} {size}", name, "takes long: asked for by --all")
        elif importlib.util.find_spec(module) is None:
            print(f"  {name}: not installed, skipped")
            record(f"{KIND} {size}", name, "not installed")
        else:
            tools[name] = prelude + code
    best: dict[str, tuple[float, float, float, str]] = {}
    failed: dict[str, str] = {}
    runs = dict.fromkeys(tools, 0)
    for turn in range(1 if QUICK else asked.rounds):
        for name, code in tools.items():
            if turn and name in SLOW:
                continue
            try:
                taken = measure(code)
            except RuntimeError as error:
                print(f"  {name}: failed: {error}")
                failed[name] = f"failed: {error}"
                continue
            runs[name] += 1
            known = best.get(name)
            best[name] = taken if known is None else (*map(min, known[:3], taken[:3]), taken[3])
    ours = best.get("steelyard")
    for name in tools:
        taken = best.get(name)
        row = failed[name] if taken is None else Run(*taken[:3], runs[name])
        record(f"{KIND} {size}", name, row, None if ours is None else Run(*ours[:3]))
    peers = {name: taken for name, taken in best.items() if not name.startswith("steelyard")}
    fastest = [min((taken[i] for taken in peers.values()), default=float("nan")) for i in range(3)]
    print(f"  {'':22} {'CPU s':>8} {'ratio':>6} {'wall s':>8} {'ratio':>6} {'MB':>7} {'ratio':>6}   mAP")
    for name, taken in sorted(best.items(), key=lambda pair: pair[1][0]):
        cells = " ".join(f"{taken[i]:8.3f} {taken[i] / fastest[i]:6.2f}" for i in range(2))
        print(f"  {name:22} {cells} {taken[2]:7.0f} {taken[2] / fastest[2]:6.2f}   {taken[3].split(',')[0]}")
    if asked.draws:
        code = prelude + OURS.replace("confidence=None", "confidence=0.95, draws=1000")
        taken = measure(code)
        record(f"{KIND} {size}", "steelyard, with intervals of 1,000 draws", Run(*taken[:3]))
        print(f"  steelyard, all twelve with intervals of 1,000 draws: {taken[0]:.2f} CPU s, {taken[2]:.0f} MB")


if __name__ == "__main__":
    main()

"""Masks: COCO JSON with polygons and compressed masks in, the twelve numbers out, against every installed peer.

The data are those of bench_boxes.py (COCO val2017's shape): objects are smooth outlines in their boxes, crowds are run
lengths, and each detection's box becomes a compressed mask, as detectors write them. Each tool runs as a fresh process
(import, load both files, evaluate, summarise), in turn, several times; the least CPU time counts.

    python benchmarks/bench_masks.py [S] [M] [L] [--rounds 2] [--no-draws] [--all] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import bench_boxes as boxes
import numpy as np
from measure import QUICK

HEIGHT, WIDTH = 480, 640
Maker = Callable[[str, Path], tuple[Path, Path]]
OURS = boxes.OURS.replace('"boxes"', '"masks"')
PEERS = {name: (module, code.replace('"bbox"', '"segm"')) for name, (module, code) in boxes.PEERS.items()}
PEERS["vernier"] = ("vernier", """
import vernier.instance as v
truth = v.CocoDataset.from_json(open(TRUTH, "rb").read())
s = v.Evaluator(iou=v.Segm()).evaluate(truth, open(RESULTS.replace("results", "boxed"), "rb").read())
print(",".join(f"{x:.6f}" for x in s.stats))
""")  # fmt: skip


def outlines(rng: np.random.Generator, box: np.ndarray, points: np.ndarray) -> list[list[float]]:
    """A closed outline in each box, of as many points, as annotators draw them."""
    rings = []
    for (x, y, w, h), count in zip(box, points, strict=True):
        angle = (np.arange(count) + rng.random()) * (2 * np.pi / count)
        reach = 0.72 + 0.28 * rng.random(count)
        px = np.clip(x + w / 2 * (1 + reach * np.cos(angle)), 0, WIDTH)
        py = np.clip(y + h / 2 * (1 + reach * np.sin(angle)), 0, HEIGHT)
        rings.append(np.round(np.column_stack([px, py]).ravel(), 2).tolist())
    return rings


def make_data(size: str, folder: Path) -> tuple[Path, Path]:
    """Write truth and results with masks, or take what is there."""
    from steelyard import _native

    truth_path, results_path = folder / f"{size}_masks_truth.json", folder / f"{size}_masks_results.json"
    if truth_path.exists() and results_path.exists():
        return truth_path, results_path
    truth, results = (json.loads(path.read_text()) for path in boxes.make_data(size, folder))
    rng = np.random.default_rng(23)
    annotations = truth["annotations"]
    box = np.array([a["bbox"] for a in annotations])
    rings = outlines(rng, box, rng.integers(8, 40, len(box)))
    for annotation, ring in zip(annotations, rings, strict=True):
        if annotation["iscrowd"]:
            mask = _native.mask_polygons([ring], HEIGHT, WIDTH)[0]
            annotation["segmentation"] = {"size": mask["size"], "counts": counts_of(mask)}
        else:
            annotation["segmentation"] = [ring]
    truth_path.write_text(json.dumps(truth))
    # A detection of an object draws much the same outline: the nearest truth's, moved into the detection's box.
    by_image: dict[int, list[int]] = {}
    for row, annotation in enumerate(annotations):
        by_image.setdefault(annotation["image_id"], []).append(row)
    given, parts = [result["bbox"] for result in results], []
    for result in results:
        x, y, w, h = given[len(parts)]
        del result["bbox"]
        near = by_image.get(result["image_id"], [])
        ring = np.array(rings[near[int(np.argmin(np.abs(box[near] - [x, y, w, h]).sum(axis=1)))]] if near else rings[0])
        tx, ty, tw, th = box[near[int(np.argmin(np.abs(box[near] - [x, y, w, h]).sum(axis=1)))]] if near else box[0]
        px = np.clip((ring[0::2] - tx) / max(tw, 1) * w + x, 0, WIDTH)
        py = np.clip((ring[1::2] - ty) / max(th, 1) * h + y, 0, HEIGHT)
        mask = _native.mask_polygons([np.column_stack([px, py]).ravel().tolist()], HEIGHT, WIDTH)[0]
        result["segmentation"] = {"size": mask["size"], "counts": mask["counts"].decode()}
        parts.append(result)
    results_path.write_text(json.dumps(parts))
    # vernier asks for a box beside each mask; with one, pycocotools would take the box's area for the mask's.
    boxed = [{**part, "bbox": box} for part, box in zip(parts, given, strict=True)]
    (folder / results_path.name.replace("results", "boxed")).write_text(json.dumps(boxed))
    return truth_path, results_path


def counts_of(mask: dict[str, object]) -> list[int]:
    """Uncompressed counts, as COCO writes crowds."""
    from steelyard import _native

    flat = np.concatenate([[0], _native.mask_decode([mask])[0].ravel()])
    edges = np.concatenate([[0], np.flatnonzero(np.diff(flat)), [len(flat) - 1]])
    return [int(v) for v in np.diff(edges)]


def run_kind(kind: str, ours: str, peers: dict[str, tuple[str, str]], maker: Maker, text: str | None) -> None:
    """Run the benchmark of boxes on another kind of data."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("sizes", nargs="*", default=[], choices=[*boxes.SIZES, []], help="S and M")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--no-draws", dest="draws", action="store_false", help="leave out 1,000 bootstrap draws")
    parser.add_argument("--skip", nargs="*", default=[], help="peers to leave out")
    parser.add_argument("--all", action="store_true", help="peers that take long too")
    parser.add_argument("--keep", type=Path, help="keep the data in this folder")
    asked = parser.parse_args()
    boxes.LEFT_OUT |= {"S": {"pycocotools"}}
    boxes.KIND, boxes.OURS, boxes.PEERS, boxes.make_data = kind, ours, peers, _replaced(boxes.make_data, maker)
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for size in asked.sizes or (["Q"] if QUICK else ["S", "M"]):
            boxes.run_size(size, folder, asked)


def _replaced(of_boxes: Maker, maker: Maker) -> Maker:
    """The maker of another kind of data, which needs the maker of boxes under its own name."""

    def make(size: str, folder: Path) -> tuple[Path, Path]:
        boxes.make_data = of_boxes
        try:
            return maker(size, folder)
        finally:
            boxes.make_data = make

    return make


if __name__ == "__main__":
    run_kind("masks", OURS, PEERS, make_data, __doc__)

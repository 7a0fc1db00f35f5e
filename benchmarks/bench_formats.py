"""Files of annotations: CPU seconds of reading, converting, checking and explaining, beside what others take.

    python benchmarks/bench_formats.py

Drawn data: 2,000 images, 20 classes, 16,000 objects, 50,000 detections. Peers run in the same run: Pillow for sizes of
pictures, the standard library's ElementTree for VOC (parsing alone, no checks), pycocotools for one evaluation, beside
an evaluation that explains three tools.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from measure import Run, record, sized

import steelyard as sy
from steelyard.io.formats.convert import read_dataset
from steelyard.io.formats.format import ReadOptions
from steelyard.io.formats.sizes import picture_size

IMAGES, CLASSES, OBJECTS, DETECTIONS = sized(2_000, 20), 20, sized(16_000, 160), sized(50_000, 500)
PICTURES = sized(500, 10)


def cpu(run: Callable[[], Any]) -> float:
    """The least CPU seconds of two runs."""
    spent = []
    for _ in range(2):
        before = time.process_time()
        run()
        spent.append(time.process_time() - before)
    return min(spent)


def draw(folder: Path) -> None:
    rng = np.random.default_rng(0)

    def rows(n: int, scored: bool) -> list[dict[str, Any]]:
        box = np.column_stack([rng.uniform(0, 400, (n, 2)), rng.uniform(10, 80, (n, 2))]).round(2).tolist()
        image, label = rng.integers(1, IMAGES + 1, n).tolist(), rng.integers(1, CLASSES + 1, n).tolist()
        made = [{"image_id": i, "category_id": k, "bbox": b} for i, k, b in zip(image, label, box, strict=True)]
        for i, row in enumerate(made):
            row |= (
                {"score": float(rng.beta(1, 5))}
                if scored
                else {"id": i + 1, "area": box[i][2] * box[i][3], "iscrowd": 0}
            )
        return made

    truth = {
        "images": [{"id": i, "file_name": f"{i}.jpg", "width": 640, "height": 480} for i in range(1, IMAGES + 1)],
        "annotations": rows(OBJECTS, False),
        "categories": [{"id": k, "name": f"kind {k}"} for k in range(1, CLASSES + 1)],
    }
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "predictions.json").write_text(json.dumps(rows(DETECTIONS, True)))


def show(what: str, ours: float, peer: str = "", theirs: float = 0.0) -> None:
    base = Run(ours, ours, 0)
    record(what, "steelyard", base)
    if peer:
        record(what, peer, Run(theirs, theirs, 0), base)
    beside = f"   {peer} {theirs:7.3f} s, ratio {ours / theirs:5.2f}" if peer else ""
    print(f"{what:44s} {ours:7.3f} s{beside}")


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        draw(folder)
        truth, predictions = folder / "truth.json", folder / "predictions.json"
        for target, name in (
            ("voc", "voc"),
            ("yolo", "yolo"),
            ("cvat", "cvat.xml"),
            ("csv", "t.csv"),
            ("lvis", "l.json"),
        ):
            out = folder / name
            spent = cpu(
                lambda out=out, target=target: sy.convert(truth, out, to_format=target, pixels="edges", force=True)
            )
            reading = ReadOptions(format=target, pixels="edges")
            show(f"convert COCO to {target} ({OBJECTS:,} objects)", spent)
            read = cpu(lambda out=out, reading=reading: read_dataset(out, reading))
            if target == "voc":
                files = sorted(out.rglob("*.xml"))
                show(
                    "read voc",
                    read,
                    "ElementTree, parsing alone",
                    cpu(lambda files=files: [ElementTree.parse(f) for f in files]),
                )
            else:
                show(f"read {target}", read)
        pictures(folder)
        show(f"check ({DETECTIONS:,} detections)", cpu(lambda: sy.check("boxes", truth, predictions)))
        tools = ("pycocotools", "torchmetrics", "ultralytics")
        ours = cpu(lambda: sy.evaluate("boxes", truth, predictions, "map", confidence=None, explain=tools))
        show(
            "evaluate and explain three tools",
            ours,
            "pycocotools, one evaluation",
            cpu(lambda: reference(truth, predictions)),
        )
    finally:
        shutil.rmtree(folder)


def pictures(folder: Path) -> None:
    from PIL import Image

    paths = []
    for i in range(PICTURES):
        path = folder / f"{i}.jpg"
        Image.new("RGB", (640, 480), (i % 255, 0, 0)).save(path)
        paths.append(path)

    def pillow() -> None:
        for path in paths:
            with Image.open(path) as picture:
                assert picture.size == (640, 480)

    show(f"sizes of {PICTURES} JPEG files", cpu(lambda: [picture_size(path) for path in paths]), "Pillow", cpu(pillow))


def reference(truth: Path, predictions: Path) -> None:
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):
        data = COCO(str(truth))
        e = COCOeval(data, data.loadRes(str(predictions)), "bbox")
        e.evaluate()
        e.accumulate()
        e.summarize()


if __name__ == "__main__":
    main()

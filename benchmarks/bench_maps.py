"""Label maps: folders of PNG files, panoptic JSON and a volume in, numbers out, against every installed peer.

C: 40 pairs of 2048×1024 with 19 classes (a twelfth of Cityscapes val); A: 200 pairs of 683×512 with 150 classes (a
tenth of ADE20K val); P: 200 pairs of 640×480 with 14 segments (a twenty-fifth of COCO val); V: one case of 155×240×240
with three structures. Maps are drawn: curved regions, and predictions with moved edges. Each tool runs as a fresh
process, imports included; the least CPU time counts.

    python benchmarks/bench_maps.py [C] [A] [P] [V] [--rounds 3] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measure import QUICK, measure, table
from PIL import Image

SHAPES = {"C": (40, 1024, 2048, 19, 60), "A": (200, 512, 683, 150, 25), "P": (200, 480, 640, 133, 14)}
if QUICK:
    SHAPES = {"C": (4, 128, 256, 19, 12), "A": (6, 64, 86, 150, 10), "P": (6, 96, 128, 133, 8)}
VOLUME_SIDES, SMALLER = ((20, 40, 40), 6) if QUICK else ((155, 240, 240), 1)


def drawn(rng: np.random.Generator, height: int, width: int, regions: int) -> Any:
    """A map of curved regions, each a number from 0."""
    grid = np.zeros((height, width), dtype=np.uint16)
    for region in range(1, regions):
        top, left, turn = rng.random() * height, rng.random() * width, rng.random() * 3
        high, wide = rng.random() * height / 3 + 8, rng.random() * width / 4 + 8
        reach = int(1.2 * max(high, wide))
        first, start = max(0, int(top) - reach), max(0, int(left) - reach)
        part = grid[first : int(top) + reach, start : int(left) + reach]
        y, x = np.mgrid[first : first + part.shape[0], start : start + part.shape[1]].astype(np.float32)
        u = (x - left) * np.cos(turn) + (y - top) * np.sin(turn)
        v = (y - top) * np.cos(turn) - (x - left) * np.sin(turn)
        part[(u / wide) ** 2 + (v / high) ** 2 + 0.2 * np.sin(u / 17) <= 1] = region
    return grid


def moved(rng: np.random.Generator, grid: Any) -> Any:
    """The same map with its edges moved by waves."""
    height, width = grid.shape
    y, x = np.mgrid[:height, :width]
    wave = 3 * np.sin(x / 23 + rng.random() * 6) + 2 * np.sin(y / 17 + rng.random() * 6)
    return grid[np.clip(y + wave.astype(int), 0, height - 1), np.clip(x - wave.astype(int), 0, width - 1)]


def make(size: str, folder: Path) -> None:
    """Write the data of a size, if they are not there."""
    if (folder / size).exists():
        return
    rng = np.random.default_rng(7)
    (folder / size).mkdir(parents=True)
    if size == "V":
        z, y, x = np.mgrid[tuple(slice(side) for side in VOLUME_SIDES)] * SMALLER
        sides = []
        for shift in (0, 2):
            grid = np.zeros(VOLUME_SIDES, dtype=np.uint8)
            for label, radius in ((2, 40), (1, 28), (3, 16)):
                wave = 3 * np.sin(x / 7 + label) * np.sin(y / 9)
                inside = ((z - 80 - shift) / 0.95) ** 2 + (y - 120) ** 2 + (x - 118 + shift) ** 2 <= (
                    radius + wave
                ) ** 2
                grid[inside] = label
            sides.append(grid)
        for name, grid in zip(("t", "p"), sides, strict=True):
            np.save(folder / size / f"{name}.npy", grid[np.newaxis])
        return
    count, height, width, classes, regions = SHAPES[size]
    contents: dict[str, list[Any]] = {"t": [], "p": []}
    for number in range(count):
        regions_map = drawn(rng, height, width, regions)
        labels = rng.integers(0, classes, regions)
        for name, grid in (("t", regions_map), ("p", moved(rng, regions_map))):
            (folder / size / name).mkdir(exist_ok=True)
            path = folder / size / name / f"i{number:04d}.png"
            if size != "P":
                Image.fromarray(labels[grid].astype(np.uint8)).save(path)
                continue
            ids = grid.astype(np.int64) * 1000 + 1
            Image.fromarray(np.stack([ids & 255, ids >> 8 & 255, ids >> 16], axis=2).astype(np.uint8)).save(path)
            segments = [
                {"id": int(v), "category_id": int(labels[v // 1000]) + 1, "iscrowd": 0, "area": int((ids == v).sum())}
                for v in np.unique(ids)
            ]
            contents[name].append({"image_id": number, "file_name": path.name, "segments_info": segments})
    if size == "P":
        categories = [{"id": k + 1, "name": f"c{k}", "isthing": int(k < 80)} for k in range(classes)]
        images = [{"id": k, "file_name": f"i{k:04d}.png", "height": height, "width": width} for k in range(count)]
        for name, annotations in contents.items():
            content = {"images": images, "annotations": annotations, "categories": categories}
            (folder / size / f"{name}.json").write_text(json.dumps(content))


def semantic(folder: Path, classes: int) -> dict[str, str]:
    """Programs that score folders of semantic maps."""
    where = f'"{folder}/t", "{folder}/p"'
    asked = f'["miou", "fwiou", "macc", "accuracy"], options={{"classes": {classes}}}'
    ours = f'import steelyard as sy\nr = sy.evaluate("segmentation", {where}, {asked}'
    return {
        "steelyard": f"{ours}, confidence=None)\n_v = r['miou'].value",
        "steelyard, 1000 draws": f"{ours})\n_v = r['miou'].value",
        "steelyard, boundary IoU too": ours.replace('"accuracy"]', '"accuracy", "mbiou"]') + ", confidence=None)",
        "hotcoco": f"from hotcoco import semantic\ne = semantic.SemanticEval({classes}, ignore_index=None)\n"
        f"e.update_folders({where})\n_v = e.results()",
        "Pillow and numpy.bincount": f"""
import os
import numpy as np
from PIL import Image
total = np.zeros({classes} ** 2, dtype=np.int64)
for name in sorted(os.listdir("{folder}/t")):
    a, b = (np.asarray(Image.open(f"{folder}/{{side}}/{{name}}")).astype(np.int64) for side in "tp")
    total += np.bincount((a * {classes} + b).ravel(), minlength={classes} ** 2)
""",
    }


# In one process: what panopticapi's others cost would not be counted.
PANOPTICAPI = """
import contextlib, io, json
from MODULE.evaluation import pq_compute_single_core
truth, predicted = (json.load(open(f"{folder}/{{side}}.json")) for side in "tp")
by_image = {{one["image_id"]: one for one in predicted["annotations"]}}
pairs = [(one, by_image[one["image_id"]]) for one in truth["annotations"]]
categories = {{one["id"]: one for one in truth["categories"]}}
with contextlib.redirect_stdout(io.StringIO()):
    stat = pq_compute_single_core(0, pairs, "{folder}/t", "{folder}/p", categories)
_v = stat.pq_average(categories, isthing=None)[0]["pq"]
"""


def panoptic(folder: Path) -> dict[str, str]:
    """Programs that score panoptic JSON."""
    return {
        "steelyard": "import steelyard as sy\n"
        f'r = sy.evaluate("panoptic", "{folder}/t.json", "{folder}/p.json", confidence=None)\n_v = r["pq"].value',
        "steelyard, 1000 draws": "import steelyard as sy\n"
        f'r = sy.evaluate("panoptic", "{folder}/t.json", "{folder}/p.json")\n_v = r["pq"].value',
        "steelyard, drop-in for panopticapi": PANOPTICAPI.replace("MODULE", "steelyard.compat.panopticapi").format(
            folder=folder
        ),
        "panopticapi": PANOPTICAPI.replace("MODULE", "panopticapi").format(folder=folder),
        "hotcoco": "from hotcoco import panoptic\n"
        f'e = panoptic.PanopticEval("{folder}/t.json", "{folder}/p.json")\ne.evaluate()\n_v = e.results()["All"]["pq"]',
    }


VOLUME = """
import numpy as np
t, p = (np.load(f"{FOLDER}/{side}.npy")[0] for side in "tp")
"""
OURS_V = """
r = sy.evaluate("volumes", t[None], p[None], ["hd", "hd@95", "asd", "nsd"], confidence=None,
                options={"regions": "WT=1,2,3; TC=1,3; ET=3", "spacing": "1,1,1"})
"""
THEIRS_V = """
for labels in ((1, 2, 3), (1, 3), (3,)):
    distances = s.compute_surface_distances(np.isin(t, labels), np.isin(p, labels), (1, 1, 1))
    s.compute_robust_hausdorff(distances, 100), s.compute_robust_hausdorff(distances, 95)
    s.compute_average_surface_distance(distances), s.compute_surface_dice_at_tolerance(distances, 1)
"""
# The package's last release names parts of SciPy and NumPy that are gone.
IMPORT_V = """
import types
import numpy as np, scipy.ndimage as n
np.Inf = np.inf
n.filters, n.morphology = n, n
import surface_distance as s
"""


def main() -> None:
    """Measure the sizes that are asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*", default=["C", "A", "P", "V"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        for size in asked.sizes:
            make(size, folder)
            if size == "V":
                load = VOLUME.replace("{FOLDER}", str(folder / size))
                runs = {
                    "steelyard": measure(OURS_V, f"import steelyard as sy\n{load}", repeat=asked.rounds),
                    "surface-distance": measure(THEIRS_V, IMPORT_V + load, repeat=asked.rounds),
                }
                table("V: HD, HD95, ASD and NSD of three structures, work alone", "steelyard", runs)
                continue
            programs = panoptic(folder / size) if size == "P" else semantic(folder / size, SHAPES[size][3])
            runs = {name: measure(code, repeat=asked.rounds, whole=True) for name, code in programs.items()}
            table(f"{size}: {SHAPES[size][0]} pairs, whole process", "steelyard", runs)


if __name__ == "__main__":
    main()

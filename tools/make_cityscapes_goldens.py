"""What cityscapesscripts 2.3.0 itself computes for drawn data; FOLDER is where it is installed.

python -m pip install --no-deps --target FOLDER cityscapesscripts==2.3.0
python tools/make_cityscapes_goldens.py FOLDER
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
SEEDS = range(6)
SETTINGS: list[dict[str, Any]] = [
    {},
    {"evalPixelAccuracy": True, "normalized": False},
    {"evalInstLevelScore": False},
    {"colorized": True, "bold": "\033[1m", "nocol": "\033[0m", "printRow": 7},
]


def pixel_case(seed: int) -> dict[str, Any]:
    """The JSON file and the printed text of one drawn set."""
    from support.cityscapes_drawn import draw_cityscapes

    module: Any = import_module("cityscapesscripts.evaluation.evalPixelLevelSemanticLabeling")
    settings = SETTINGS[seed % len(SETTINGS)]
    before = dict(vars(module.args))
    vars(module.args).update(settings)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as text:
        module.args.exportFile = f"{folder}/out/result.json"
        module.evaluateImgLists(*draw_cityscapes(seed, Path(folder)), module.args)
        written = json.loads(Path(module.args.exportFile).read_text().replace(folder, "FOLDER"))
    vars(module.args).update(before)
    return {"seed": seed, "settings": settings, "written": compact(written), "printed": text.getvalue()}


def compact(written: dict[str, Any]) -> dict[str, Any]:
    """The results with the counts of the confusion matrix that are not 0, as [true, predicted, count]."""
    matrix = np.array(written["confMatrix"])
    cells = [[int(i), int(j), int(matrix[i, j])] for i, j in np.argwhere(matrix)]
    return {**written, "confMatrix": cells}


def panoptic_case(seed: int) -> dict[str, Any]:
    """The results of one drawn set and the printed table."""
    from support.panoptic_drawn import draw_panoptic

    module: Any = import_module("cityscapesscripts.evaluation.evalPanopticSemanticLabeling")
    module.multiprocessing.cpu_count = lambda: 2
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as text:
        truth, predicted = draw_panoptic(seed, Path(folder))
        module.evaluatePanoptic(truth, truth[:-5], predicted, predicted[:-5], f"{folder}/result.json")
        written = Path(folder, "result.json").read_text()
    return {"seed": seed, "written": written, "printed": text.getvalue().splitlines()[-13:-1]}


def main() -> None:
    sys.path.append(sys.argv[1])
    versions = [d.version for d in distributions(path=[sys.argv[1]]) if d.name.lower() == "cityscapesscripts"]
    quaternions = ModuleType("pyquaternion")
    quaternions.Quaternion = None  # type: ignore[attr-defined]  # only 3D boxes need it
    sys.modules["pyquaternion"] = quaternions
    # NumPy 2.4 removed a function that the package calls, and counts in a type that the package cannot write as JSON.
    counted = np.count_nonzero
    vars(np).update(in1d=np.isin, count_nonzero=lambda values: int(counted(values)))
    from cityscapesscripts.helpers.labels import labels

    goldens = {
        "cityscapesscripts": versions[0],
        "labels": [list(label) for label in labels],
        "pixels": [pixel_case(seed) for seed in SEEDS],
        "panoptic": [panoptic_case(seed) for seed in (0, 1)],
    }
    path = ROOT / "tests" / "goldens" / "cityscapesscripts.json"
    path.write_text(json.dumps(goldens, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

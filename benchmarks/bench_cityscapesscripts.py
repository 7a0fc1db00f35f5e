"""cityscapesscripts: `evaluateImgLists` of the drop-in beside the package itself.

40 drawn images of 1024 × 2048 pixels with 19 classes and 50 instances each, in PNG files; without imports. The package
is measured where it is installed, with the function of NumPy that 2.4 removed.

    python benchmarks/bench_cityscapesscripts.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from measure import measure, sized, table
from PIL import Image

IDS = (7, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33)
SETUP = """
import sys
from types import ModuleType
import numpy as np
np.in1d = np.isin
sys.modules["pyquaternion"] = ModuleType("pyquaternion")  # of which 3D boxes alone have need
sys.modules["pyquaternion"].Quaternion = None
from PACKAGE.evaluation import evalPixelLevelSemanticLabeling as module
names = [f"FOLDER/aachen_000000_{i:06d}" for i in range(IMAGES)]
module.args.quiet, module.args.JSONOutput = True, False
"""
WORK = """
predicted, truth = ([f"{name}_{kind}.png" for name in names] for kind in ("pred", "gtFine_labelIds"))
print(module.evaluateImgLists(predicted, truth, module.args)["averageScoreClasses"])
"""
PACKAGES = {"drop-in": "steelyard.compat.cityscapesscripts", "cityscapesscripts": "cityscapesscripts"}


def make_data(folder: Path, images: int, block: int) -> None:
    """Write labels, instances and predictions."""
    rng = np.random.default_rng(4)
    for number in range(images):
        coarse = rng.choice(IDS, (16, 16))
        labels = coarse.repeat(block, axis=0).repeat(2 * block, axis=1)
        parts = np.where((coarse >= 24) & (rng.random(coarse.shape) < 0.5), rng.integers(0, 5, coarse.shape), -1)
        parts = parts.repeat(block, axis=0).repeat(2 * block, axis=1)
        instances = np.where(parts >= 0, labels * 1000 + parts, labels)
        predicted = np.where(rng.random((16, 1)).repeat(block, axis=0) < 0.8, labels, np.roll(labels, 9, axis=1))
        name = f"{folder}/aachen_000000_{number:06d}"
        Image.fromarray(labels.astype(np.uint8)).save(f"{name}_gtFine_labelIds.png")
        Image.fromarray(instances.astype(np.uint16)).save(f"{name}_gtFine_instanceIds.png")
        Image.fromarray(predicted.astype(np.uint8)).save(f"{name}_pred.png")


def main() -> None:
    images, block = sized(40, 2), sized(64, 4)
    with tempfile.TemporaryDirectory() as folder:
        make_data(Path(folder), images, block)
        setup = SETUP.replace("FOLDER", folder).replace("IMAGES", str(images))
        runs = {name: measure(WORK, setup.replace("PACKAGE", package)) for name, package in PACKAGES.items()}
    table(f"evaluateImgLists: {images} images of {16 * block} × {32 * block}", "drop-in", runs)


if __name__ == "__main__":
    main()

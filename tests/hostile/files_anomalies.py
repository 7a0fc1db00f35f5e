"""Maps of scores, masks and folders of anomalies that are spoiled, do not fit each other, or are not there."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import numpy as np

from hostile.files_maps import npy, png
from hostile.rows import Row, row

MASK = np.array([[0, 0, 255], [0, 0, 0]], dtype=np.uint8)
SCORES = np.array([[0.1, 0.2, 0.9], [0.1, 0.3, 0.2]], dtype=np.float32)
GOOD = np.array([[0.1, 0.2, 0.3], [0.1, 0.3, 0.2]], dtype=np.float32)
FILES: dict[str, Any] = {
    "t/test/good/0.png": png(MASK * 0),
    "t/test/bent/0.png": png(MASK * 0),
    "t/ground_truth/bent/0_mask.png": png(MASK),
    "p/good/0.npy": npy(GOOD),
    "p/bent/0.npy": npy(SCORES),
}
TABLE = {"t.csv": "image,label\na,0\nb,1\n", "p.csv": "image,score\na,0.1\nb,0.9\n"}
CONFIG = [{"defect_name": "bent", "pixel_value": 255, "saturation_threshold": 1, "relative_saturation": True}]


def tiff(
    values: Any = SCORES, *, compression: int = 1, predictor: int = 1, cut: int = 0, bits: int = 0, **more: Any
) -> bytes:
    """A TIFF of one strip; `cut` bytes of its pixels are missing."""
    height, width = values.shape[:2]
    raw = values.tobytes()
    data = zlib.compress(raw) if compression == 8 else raw
    data = data[: len(data) - cut]
    form = {"f": 3, "u": 1, "i": 2}[values.dtype.kind]
    samples = values.shape[2] if values.ndim == 3 else 1
    tags = {
        256: width,
        257: height,
        258: bits or 8 * values.dtype.itemsize,
        259: compression,
        262: 1,
        273: 8,
        277: samples,
        278: height,
        279: len(data),
        317: predictor,
        339: form,
        **more.get("tags", {}),
    }
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in sorted(tags.items()))
    return b"II*\0" + struct.pack("<I", 8 + len(data)) + data + struct.pack("<H", len(tags)) + entries + b"\0\0\0\0"


def folder(name: str, *says: str, options: str = "", without: tuple[str, ...] = (), **files: Any) -> Row:
    """The healthy folders with some files changed: `p__bent__0__npy` is p/bent/0.npy."""
    changed = {key.replace("__", "/", key.count("__") - 1).replace("__", "."): value for key, value in files.items()}
    held = {key: value for key, value in {**FILES, **changed}.items() if key not in without}
    return row(f"anomalies: {name}", f"evaluate anomalies t p {options} --ci none", *says, files=held)


def prediction(name: str, data: bytes, *says: str, end: str = "npy", options: str = "") -> Row:
    """The map of the defective image."""
    held = {key: value for key, value in FILES.items() if key != "p/bent/0.npy"} | {f"p/bent/0.{end}": data}
    return row(f"anomalies: {name}", f"evaluate anomalies t p {options} --ci none", *says, files=held)


def table(name: str, *says: str, truth: str = TABLE["t.csv"], scores: str = TABLE["p.csv"], options: str = "") -> Row:
    files = {"t.csv": truth, "p.csv": scores}
    return row(f"anomalies: {name}", f"evaluate anomalies t.csv p.csv {options} --ci none", *says, files=files)


def loco(name: str, *says: str, config: Any = CONFIG, **masks: bytes) -> Row:
    """A folder of MVTec LOCO with the masks of one image."""
    files = {key: value for key, value in FILES.items() if not key.startswith("t/ground_truth")}
    files["t/defects_config.json"] = config if isinstance(config, str) else json.dumps(config)
    files |= {f"t/ground_truth/bent/0/{key}.png": value for key, value in masks.items()}
    return row(f"anomalies, LOCO: {name}", "evaluate anomalies t p --ci none", *says, files=files)


NAN, INFINITE = SCORES.copy(), SCORES.copy()
NAN[0, 1], INFINITE[1, 2] = np.nan, np.inf

ROWS = [
    prediction("a map smaller than its mask", npy(SCORES[:1]), "0.npy", "3×1", "3×2", "--resize bilinear"),
    prediction("a map larger than its mask", npy(np.tile(SCORES, (2, 2))), "0.npy", "6×4", "3×2"),
    prediction("nan in a map", npy(NAN), "0.npy", "1 value", "row 0, column 1"),
    prediction("infinity in a map", npy(INFINITE), "0.npy", "row 1, column 2"),
    prediction("three channels", npy(np.dstack([SCORES] * 3)), "0.npy", "coloured picture"),
    prediction("a coloured PNG", png(np.dstack([MASK] * 3), colour=2), "0.png", "coloured picture", end="png"),
    prediction("a coloured TIFF", tiff(np.dstack([MASK] * 3), tags={262: 2}), "0.tiff", "coloured picture", end="tiff"),
    prediction("texts", npy(np.array([["a", "b", "c"]] * 2)), "0.npy", "not numbers"),
    prediction("complex numbers", npy(SCORES.astype(np.complex64)), "0.npy", "not numbers"),
    prediction("whole numbers that no float holds", npy(np.full((2, 3), 2**60)), "0.npy", "2⁵³"),
    prediction("one axis", npy(SCORES.ravel()), "0.npy", "height × width"),
    prediction("no pixel", npy(np.zeros((0, 3))), "0.npy", "height × width"),
    prediction("an empty file", b"", "0.npy"),
    prediction("a file that is cut off", npy(SCORES)[:-5], "0.npy", "ends before"),
    prediction("a pickle", npy(np.array([{"a": 1}], dtype=object)), "0.npy", "pickled"),
    prediction("a PNG in name only", b"GIF89a" * 9, "0.png", "not a PNG", end="png"),
    prediction("a TIFF in name only", b"GIF89a" * 9, "0.tiff", "not a TIFF", end="tiff"),
    prediction("a TIFF without its last pixels", tiff(cut=4), "0.tiff", "ends before", end="tiff"),
    prediction("a TIFF whose packed pixels are damaged", tiff(compression=5), "0.tiff", end="tiff"),
    prediction("a TIFF packed with zstd", tiff(compression=50000), "0.tiff", "zstd", end="tiff"),
    prediction("a TIFF with predictor 9", tiff(predictor=9), "0.tiff", "predictor 9", end="tiff"),
    prediction("a TIFF of 24 bits", tiff(bits=24), "0.tiff", "24", end="tiff"),
    prediction("a TIFF of a billion pixels", tiff(compression=8, tags={256: 40000, 257: 40000}), "0.tiff", end="tiff"),
    prediction("a TIFF of no pixel", tiff(tags={256: 0}), "0.tiff", end="tiff"),
    prediction("two arrays in a .npz", b"PK\x05\x06" + bytes(18), "0.npz", "no array", end="npz"),
    folder("a defective image without a map", "bent/0", without=("p/bent/0.npy",)),
    folder("a map that counts as the worst", "worst", without=("p/bent/0.npy",), options="--missing worst"),
    folder("a map without an image", "bent/9", **{"p__bent__9__npy": npy(SCORES)}),
    folder("two endings for one image", "bent/0", "0.npy", "0.tiff", **{"p__bent__0__tiff": tiff()}),
    folder("a mask without an image", "bent/7", **{"t__ground_truth__bent__7_mask__png": png(MASK)}),
    folder(
        "a defective image with an empty mask",
        "bent/0",
        "--empty-mask good",
        **{"t__ground_truth__bent__0_mask__png": png(MASK * 0)},
    ),
    folder(
        "a defective image without a mask",
        "bent/0",
        "no mask",
        options="-m pixel_auroc",
        without=("t/ground_truth/bent/0_mask.png",),
    ),
    folder("a mask that is damaged", "0_mask.png", **{"t__ground_truth__bent__0_mask__png": png(MASK)[:40]}),
    folder("a limit of 0", "limit", "above 0", options="-m aupro@0"),
    folder("a limit above 1", "limit", "at most 1", options="-m aupro@1.5"),
    folder("a low end above the high one", "low=0.1", "high=0.01", options="-m 'aupimo(low=0.1, high=0.01)'"),
    folder("thresholds without their tool", "mvtec3d", options="-m 'aupro(thresholds=100)'"),
    folder("an old anomalib", "like", options="-m 'aupro(like=anomalib2.2)'"),
    folder("a tool that is not known", "mmad", options="--explain mmad"),
    folder("a column that is not there", "'colour'", options="--by colour"),
    folder("a slice that only LOCO has", "'type'", "LOCO", options="--by type"),
    table("sizes of regions without masks", "t.csv", "masks", options="--by region_size"),
    folder("a table of scores without one", "bent/0", options="--scores s.csv", s__csv="image,score\ngood/0,1\n"),
    row(
        "anomalies: an empty folder of maps",
        "evaluate anomalies t p --ci none",
        "p",
        files={**{k: v for k, v in FILES.items() if k[0] == "t"}, "p/readme.md": "x"},
    ),
    row(
        "anomalies: JPEG maps",
        "evaluate anomalies t p --ci none",
        ".jpg",
        files={**{k: v for k, v in FILES.items() if k[0] == "t"}, "p/bent/0.jpg": b"\xff\xd8"},
    ),
    row("anomalies: no such folder", "evaluate anomalies t nowhere --ci none", "nowhere", files=FILES),
    table("a label that is neither", "'maybe'", "line 3", truth="image,label\na,0\nb,maybe\n"),
    table("neither a mask nor a label", "'a'", "label", truth="image,note\na,x\nb,y\n"),
    table("neither a map nor a score", "map", "score", scores="image,note\na,x\nb,y\n"),
    table("a score that is not a number", "p.csv", "line 3", scores="image,score\na,0.1\nb,high\n"),
    table("an image twice", "'a'", "twice", truth="image,label\na,0\na,1\nb,1\n"),
    table("a mask that is not there", "nowhere.png", truth="image,mask\na,nowhere.png\nb,nowhere.png\n"),
    loco("two values in a mask", "a.png", "255", "7", a=png(np.array([[0, 7, 255], [0, 0, 0]], dtype=np.uint8))),
    loco("a value that the configuration lacks", "a.png", "9", "255", a=png((MASK > 0).astype(np.uint8) * 9)),
    loco("an empty mask", "a.png", "empty", a=png(MASK * 0)),
    loco("masks of two sizes", "b.png", "3×1", "3×2", a=png(MASK), b=png(MASK[:1])),
    loco("a configuration that is not JSON", "defects_config.json", config="{", a=png(MASK)),
    loco("a configuration without a key", "defects_config.json", config=[{"pixel_value": 255}], a=png(MASK)),
    loco(
        "a saturation of 0",
        "defects_config.json",
        "saturation_threshold",
        config=[{**CONFIG[0], "saturation_threshold": 0}],
        a=png(MASK),
    ),
]

"""Tracks, and label maps and segments of the wrong form: files and arrays that are refused, or read with a note."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np

from hostile.files_maps import CATEGORIES, GRID, IDS, SEGMENTS, npy, png
from hostile.rows import Row, program, row

MOT = "1,1,0,0,10,10,1,1,1\n2,1,0,0,10,10,1,1,1\n"
MOT_P = "1,1,0,0,10,10,1,-1,-1,-1\n2,1,0,0,10,10,1,-1,-1,-1\n"
KITTI = "0 1 Car 0 0 -1 0 0 10 10 1 1 1 1 1 1 0\n"


def tracks(
    name: str, *says: str, truth: Any = MOT, predicted: Any = MOT_P, options: str = "", code: int = 2, more: Any = None
) -> Row:
    files = {"t/s.txt": truth, "p/s.txt": predicted, **(more or {})}
    return row(
        f"tracking: {name}",
        f"evaluate tracking t p --ci none {options}",
        *says,
        files=files,
        code=code,
        task="tracking",
    )


def archive(*members: tuple[str, str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as made:
        for name, text in members:
            made.writestr(name, text)
    return buffer.getvalue()


def zipped(name: str, data: bytes, *says: str, env: Any = None) -> Row:
    return row(
        f"tracking: {name}", "evaluate tracking t.zip t.zip -o out.json", *says, files={"t.zip": data},
        task="tracking", env=env or {},
    )  # fmt: skip


def array(name: str, truth: str, prediction: str, *says: str, options: str = "{}", code: int = 2) -> Row:
    source = (
        "import numpy as np\n"
        "rng = np.random.default_rng(0)\n"
        f"t, p = {truth}, {prediction}\n"
        f'report = sy.evaluate("segmentation", t, p, ["miou"], options={options}, confidence=None)\n'
        "print(report)\n"
    )
    return program(f"segmentation: {name}", source, *says, task="segmentation", code=code)


def segmented(name: str, *says: str, truth: Any = None, predicted: Any = None, options: str = "", **files: Any) -> Row:
    annotation = {"image_id": 7, "file_name": "a.png", "segments_info": SEGMENTS}
    whole = {"annotations": [annotation], "categories": CATEGORIES}
    every = {
        "t.json": json.dumps(whole if truth is None else truth),
        "p.json": json.dumps(whole if predicted is None else predicted),
        "t/a.png": png(IDS, colour=2), "p/a.png": png(IDS, colour=2), **files,
    }  # fmt: skip
    return row(f"panoptic: {name}", f"evaluate panoptic t.json p.json {options} -o out.json", *says, files=every)


LISTED = {"image_id": 7, "file_name": "a.png", "segments_info": SEGMENTS}
SEQUENCE = (
    '{"sequence": ["a", "a"], "frame": [1, 2], "track": [1, 1], "x": [0, 0], "y": [0, 0], "w": [9, 9], "h": [9, 9]}'
)


def boxes(name: str, change: str, *says: str) -> Row:
    source = (
        "import numpy as np\n"
        f"good = {SEQUENCE}\n"
        f"bad = {{**good, {change}}}\n"
        'sy.evaluate("tracking", good, bad, ["hota"], confidence=None)\n'
    )
    return program(f"tracking: {name}", source, *says, task="tracking")


LABEL = "rng.integers(0, 2, (2, 6, 7))"
ROWS: list[Row] = [
    array("one channel of probabilities", LABEL, "rng.random((2, 1, 6, 7))", "column 'map'", "is not a class", "threshold"),
    array("logits that are all nan", LABEL, "np.full((2, 2, 6, 7), np.nan)", "42 pixels", "not finite"),
    array("a score of infinity", LABEL, "np.where(np.eye(6, 7) > 0, np.inf, 0) + rng.random((2, 2, 6, 7))", "6 pixels", "not finite"),
    array("a truth of scores", "rng.random((2, 2, 6, 7))", LABEL, "truth, row 0", "a true map of shape 2×6×7"),
    array("a truth that is one-hot", "np.eye(2)[rng.integers(0, 2, (2, 6, 7))].transpose(0, 3, 1, 2)", LABEL, "a true map of shape 2×6×7"),
    array("fewer channels than classes", LABEL, "rng.random((2, 2, 6, 7))", "2 channels", "need 3", options='{"classes": 3}'),
    array("more channels than classes", LABEL, "rng.random((2, 5, 6, 7))", "5 channels", "need 3", options='{"classes": 3}'),
    array("a photo in place of a map", LABEL, "rng.integers(0, 255, (2, 6, 7, 3)).astype(np.uint8)", "channels of uint8", "not one-hot"),
    array("five axes", "rng.integers(0, 2, (2, 1, 1, 6, 7))", LABEL, "a map of shape 1×1×6×7"),
    array("maps without images", "rng.integers(0, 2, (6, 7))", LABEL, "shape 6×7", "images × height × width"),
    array("a threshold for labels", LABEL, LABEL, "labels", "`threshold` is for scores", options='{"threshold": 0.5}'),
    array("a threshold that is nan", LABEL, "rng.random((2, 6, 7))", "threshold", options='{"threshold": float("nan")}'),
    array("complex numbers", LABEL, "rng.random((2, 6, 7)) * 1j", "complex128"),
    array("texts", LABEL, 'np.full((2, 6, 7), "road")', "column 'map'", "not numbers"),
    array("no pixels", "np.zeros((2, 0, 7), int)", "np.zeros((2, 0, 7), int)", "no pixel"),
    array("scores of one class", LABEL, "rng.integers(0, 2, (2, 1, 6, 7))", "miou", code=0),
    row("segmentation: scores in files with a wrong number of channels", "evaluate segmentation t p --classes 3 -o out.json",
        "p/a.npy", "2 channels", "need 3", files={"t/a.png": png(), "p/a.npy": npy(np.ones((2, *GRID.shape)))}),
    row("segmentation: a threshold for PNG files", "evaluate segmentation t p --threshold 0.5 -o out.json", "p/a.png",
        "--threshold is for scores", files={"t/a.png": png(), "p/a.png": png()}),
    row("segmentation: a threshold that is a word", "evaluate segmentation t p --threshold half -o out.json", "threshold",
        "'half' is not a number", files={"t/a.png": png(), "p/a.png": png()}),
    segmented("no categories", "t.json", "the key 'categories' is missing", truth={"annotations": [LISTED]}),
    segmented("categories of null", "t.json", "the key 'categories' is missing", truth={"annotations": [LISTED], "categories": None}),
    segmented("a category without isthing", "t.json, categories[0]", "'isthing' is missing", truth={"annotations": [LISTED], "categories": [{"id": 1, "name": "car"}]}),
    segmented("an isthing of 7", "t.json, categories[0]", "'isthing' is 7", truth={"annotations": [LISTED], "categories": [{"id": 1, "name": "car", "isthing": 7}]}),
    segmented("a category that is listed twice", "t.json, categories[2]", "category 1 is listed twice", truth={"annotations": [LISTED], "categories": [*CATEGORIES, {"id": 1, "name": "cow", "isthing": 1}]}),
    segmented("categories that is an object", "t.json", "'categories' is an object", truth={"annotations": [LISTED], "categories": {"1": "car"}}),
    segmented("an area of a half", "p.json, annotations[0]", "'area' is 0.5", predicted={"annotations": [{**LISTED, "segments_info": [{**SEGMENTS[0], "area": 0.5}]}]}),
    segmented("no file_name", "p.json, annotations[0]", "'file_name' is missing", predicted={"annotations": [{"image_id": 7, "segments_info": SEGMENTS}]}),
    segmented("a folder that is not there", "p.json", "no folder 'gone'", "prediction.folder", options="-O prediction.folder=gone"),
    segmented("a folder that is a file", "p.json", "no folder 't.json'", options="-O prediction.folder=t.json"),
    segmented("a file of categories that is none", "c.json", "not valid JSON", options="--categories c.json", **{"c.json": "road\n"}),
    segmented("a file of categories that is gone", "c.json", "no such file", options="--categories c.json"),
    tracks("an unknown class", "there is no class 'cat'", options='-m "hota(label=cat)"'),
    tracks("classes of a benchmark that is not named", "benchmark=mot17", "benchmark-missing", truth=MOT + "3,2,5,5,9,9,1,7,1\n", code=0),
    tracks("frames of KITTI-MOTS", "t/s.txt, line 1", "frame 0", "first_frame=0", truth="0 1 1 1 1 01\n", options="-O format=mots"),
    tracks("frames below zero", "t/s.txt, line 1", "frame -1", "0 or more", truth=KITTI.replace("0 1 Car", "-1 1 Car"), predicted=KITTI),
    tracks("a way over classes that is none", "over cannot be mean", options='-m "mota(over=mean)"'),
    tracks("counts in the way of TrackEval", "over cannot be trackeval", options='-m "fp(over=trackeval)"'),
    tracks("a mask that is none", "t/s.txt, line 1", "no mask", truth="1 1 1 4 4 \x7f\n", options="-O format=mots"),
    zipped("an archive that unpacks to far more", archive(("s.txt", MOT * 40_000)), "t.zip", "once unpacked", env={"STEELYARD_UNPACK_LIMIT": "1MB"}),
    zipped("an archive with one file twice", archive(("a/s.txt", MOT), ("b/s.txt", MOT)), "sequence 's'"),
    zipped("an archive cut off", archive(("s.txt", MOT))[:-9], "t.zip"),
    zipped("an archive of nothing", archive(), "t.zip", "holds no .txt files"),
    boxes("boxes as rows of rows", '"x": np.zeros((2, 1))', "column 'x'"),
    boxes("frames of two numbers", '"frame": np.ones((2, 2), int)', "column 'frame'"),
    boxes("tracks of two numbers", '"track": [[1, 2], [3, 4]]', "column 'track'"),
    boxes("a width of infinity", '"w": [9, float("inf")]', "column 'w'"),
]  # fmt: skip

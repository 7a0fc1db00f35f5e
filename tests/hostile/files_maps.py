"""Label maps, panoptic segments and volumes: files that are spoiled, do not fit each other, or are not there."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zlib
from typing import Any

import numpy as np

from hostile.rows import Row, row

GRID = np.array([[0, 1, 1], [0, 2, 2]], dtype=np.uint8)


def png(grid: Any = GRID, *, raw: bytes | None = None, depth: int = 8, colour: int = 0, size: Any = None) -> bytes:
    """A PNG without filters; `raw` are its lines, `size` what its header says."""
    height, width = size or grid.shape[:2]
    lines = b"".join(b"\0" + line.tobytes() for line in grid) if raw is None else raw
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def maps(
    name: str, prediction: bytes | str, *says: str, truth: bytes = b"", options: str = "", end: str = "png"
) -> Row:
    files = {"t/a.png": truth or png(), f"p/a.{end}": prediction, "colours.txt": "black=000000\n"}
    return row(f"segmentation: {name}", f"evaluate segmentation t p {options} -o out.json", *says, files=files)


SEGMENTS = [{"id": 1, "category_id": 1}, {"id": 2, "category_id": 2}]
CATEGORIES = [{"id": 1, "name": "car", "isthing": 1}, {"id": 2, "name": "sky", "isthing": 0}]
IDS = np.dstack([np.where(GRID == 0, 1, GRID), GRID * 0, GRID * 0]).astype(np.uint8)


def panoptic(name: str, *says: str, segments: Any = None, ids: Any = IDS, text: str = "", png_of: bytes = b"") -> Row:
    sides = {}
    for side, listed in (("t", SEGMENTS), ("p", SEGMENTS if segments is None else segments)):
        annotation = {"image_id": 7, "file_name": "a.png", "segments_info": listed}
        sides[f"{side}.json"] = json.dumps({"annotations": [annotation], "categories": CATEGORIES})
    files: dict[str, Any] = {**sides, "t/a.png": png(IDS, colour=2), "p/a.png": png_of or png(ids, colour=2)}
    files |= {"p.json": text} if text else {}
    return row(f"panoptic: {name}", "evaluate panoptic t.json p.json -o out.json", *says, files=files)


def nifti(grid: Any, spacing: Any = (1.0, 1.0, 1.0)) -> bytes:
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *grid.shape[::-1], 1, 1, 1, 1)
    struct.pack_into("<h", header, 70, 2)
    struct.pack_into("<8f", header, 76, 1.0, *spacing[::-1], 0, 0, 0, 0)
    struct.pack_into("<3f", header, 108, 352.0, 1.0, 0.0)
    header[344:348] = b"n+1\0"
    return bytes(header) + grid.astype(np.uint8).tobytes()


CUBE = np.ones((2, 3, 4), dtype=np.uint8)


def volume(name: str, prediction: bytes, *says: str, options: str = "", end: str = "nii") -> Row:
    files = {"t/a.nii": nifti(CUBE), f"p/a.{end}": prediction}
    return row(f"volumes: {name}", f"evaluate volumes t p {options} -o out.json", *says, files=files)


TABLE = {"t.csv": "image,map\nx,t/x.png\n", "t/x.png": png()}
ROWS: list[Row] = [
    maps("sizes that differ", png(GRID[:1]), "t/a.png", "3×2", "p/a.png has 3×1", "Resize"),
    maps("a class that is not named", png(GRID + 7), "p/a.png", "value 7", "--unknown wrong", options="--classes 3"),
    maps("a truth that is not named", png(), "t/a.png", "value 34", "--ignore 34", truth=png(GRID + 34), options="--classes 3"),
    maps("a colour that no class has", png(np.dstack([GRID] * 3), colour=2), "p/a.png", "colour #010101", "is not a class",
         truth=png(np.zeros((2, 3, 3), np.uint8), colour=2), options="--palette colours.txt"),
    maps("an RGB map", png(np.dstack([GRID] * 3), colour=2), "p/a.png", "three channels", "prediction.palette"),
    maps("an empty file", b"", "p/a.png", "is not a PNG file"),
    maps("a file cut off", png()[:40], "p/a.png", "ends at byte 40", "damaged"),
    maps("a checksum that is wrong", png()[:-20] + b"xxxx" + png()[-16:], "p/a.png", "checksum", "damaged"),
    maps("too few lines", png(raw=bytes(4)), "p/a.png", "not those of 3×2", "damaged"),
    maps("too many lines", png(raw=bytes(4000)), "p/a.png", "not those of 3×2", "damaged"),
    maps("a filter that does not exist", png(raw=b"\x09" + bytes(7)), "p/a.png", "filter that does not exist"),
    maps("a header of a trillion pixels", png(size=(1 << 20, 1 << 20)), "p/a.png", "1,048,576×1,048,576 pixels"),
    maps("data that are not deflated", png().replace(b"x\x9c", b"zz"), "p/a.png", "checksum"),
    maps("transparent pixels", png(np.zeros((2, 3, 4), np.uint8), colour=6), "p/a.png", "three channels"),
    maps("a JPEG", b"\xff\xd8\xff", "JPEG changes labels", "Write PNG", end="jpg"),
    maps("labels that are not whole", npy(GRID + 0.5), "a.npy", "0.5", "is not a class", end="npy"),
    maps("labels below zero", npy(GRID.astype(int) - 3), "a.npy", "-3", "out of range", end="npy"),
    maps("pickled objects", npy(np.array([{"a": 1}], dtype=object)), "a.npy", "cannot be read", end="npy"),
    row("segmentation: a missing partner", "evaluate segmentation t p -o out.json", "1 of 2 rows of the truth", "b",
        files={"t/a.png": png(), "t/b.png": png(), "p/a.png": png()}),
    row("segmentation: an empty folder", "evaluate segmentation t p -o out.json", "p", "no file ends in .png",
        files={"t/a.png": png(), "p/readme.txt": "nothing"}),
    row("segmentation: no folder", "evaluate segmentation t q -o out.json", "q", "no such folder", files={"t/a.png": png()}),
    row("segmentation: a table that names no file", "evaluate segmentation t.csv p.csv -o out.json", "p.csv, line 2",
        "x.png", files={**TABLE, "p.csv": "image,map\nx,gone/x.png\n"}),
    row("segmentation: a table without a map", "evaluate segmentation t.csv p.csv -o out.json", "p.csv, line 2", "'map'",
        files={**TABLE, "p.csv": "image,map\nx,\n"}),
    panoptic("a segment that the PNG does not have", "p.json, image 7", "segment 5 (car) has no pixel",
             segments=[*SEGMENTS, {"id": 5, "category_id": 1}]),
    panoptic("an id that the JSON does not have", "p.json, image 7", "id 2 in the map (2 pixels)", segments=SEGMENTS[:1]),
    panoptic("an id that appears twice", "segment 1 is listed twice", segments=[*SEGMENTS, SEGMENTS[0]]),
    panoptic("a category that is not listed", "p.json", "category 9", segments=[{"id": 1, "category_id": 9}]),
    panoptic("an id that is a text", "p.json, annotations[0]", "'id' is 'one'", segments=[{"id": "one", "category_id": 1}]),
    panoptic("segments that are null", "p.json", "annotations[0]", text=json.dumps({"annotations": [{"image_id": 7, "file_name": "a.png", "segments_info": None}]})),
    panoptic("no JSON", "p.json", "is not valid JSON", text="[1, 2"),
    panoptic("a JSON that is nested deeply", "p.json", "is not valid JSON", text="[" * 200_000),
    panoptic("a damaged PNG", "p/a.png", "is not a PNG file", png_of=b"GIF89a"),
    panoptic("sizes that differ", "t/a.png", "3×2", "3×1", ids=IDS[:1]),
    volume("a spacing of zero", nifti(CUBE, (1, 0, 1)), "p/a.nii", "spacing 1×0×1", "above zero"),
    volume("a spacing of nan", nifti(CUBE, (1, float("nan"), 1)), "p/a.nii", "spacing", "above zero"),
    volume("another spacing", nifti(CUBE, (3, 1, 1)), "t/a.nii", "3×1×1 mm in the prediction"),
    volume("another size", nifti(CUBE[:1]), "t/a.nii", "2×3×4", "1×3×4"),
    volume("a header cut off", nifti(CUBE)[:90], "p/a.nii", "header is cut off"),
    volume("voxels cut off", nifti(CUBE)[:-3], "p/a.nii", "ends before its 24 voxels"),
    volume("no NIfTI", b"hello", "p/a.nii", "is not a NIfTI file"),
    volume("an archive cut off", gzip.compress(nifti(CUBE))[:-9], "a.nii.gz", "cannot be unpacked", end="nii.gz"),
    volume("regions that are none", nifti(CUBE), "'WT' is not a valid region", options="--regions WT"),
    volume("an option spacing of zero", nifti(CUBE), "option spacing", options="--spacing 0,1,1"),
    volume("a percentile above 100", nifti(CUBE), "percentile cannot be 120", options="-m hd@120"),
]  # fmt: skip

"""Maps of depth and normals that are damaged, of another kind or size, and options that do not fit."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
from support.field_files import png

from hostile.rows import Row, row

DEPTH = np.arange(24, dtype=np.float32).reshape(4, 6) + 2
UP = np.tile(np.array([0, 0, 1], dtype=np.float32), (4, 6, 1))


def npy(array: Any) -> bytes:
    """An array as a .npy file."""
    file = io.BytesIO()
    np.save(file, np.asarray(array))
    return file.getvalue()


def pfm(text: bytes, values: Any) -> bytes:
    return text + np.asarray(values, dtype="<f4").tobytes()


def dpt(width: int, height: int, count: int, tag: bytes = b"PIEH") -> bytes:
    return tag + struct.pack("<ii", width, height) + bytes(4 * count)


GREY = png((DEPTH * 256).astype(np.uint16))
COLOUR = png(np.full((4, 6, 3), 200, dtype=np.uint8))
HOLES = DEPTH.copy()
HOLES[1, 2] = np.nan


def depth(name: str, prediction: bytes, *says: str, ending: str = "npy", options: str = "", **more: Any) -> Row:
    """A prediction of depth that is spoiled."""
    files = {"truth/a.png": GREY, f"model/a.{ending}": prediction}
    return row(f"depth, {name}", f"evaluate depth truth model {options}", *says, files=files, task="depth", **more)


def truth(name: str, data: bytes, *says: str, ending: str = "png", options: str = "", **more: Any) -> Row:
    """A true map of depth that is spoiled."""
    files = {f"truth/a.{ending}": data, "model/a.npy": npy(DEPTH)}
    return row(f"true depth, {name}", f"evaluate depth truth model {options}", *says, files=files, task="depth", **more)


def option(name: str, line: str, *says: str) -> Row:
    return depth(f"option, {name}", npy(DEPTH), *says, options=line)


def normals(name: str, prediction: bytes, *says: str, ending: str = "npy", options: str = "", **more: Any) -> Row:
    """A prediction of normals that is spoiled."""
    files = {"truth/a.npy": npy(UP), f"model/a.{ending}": prediction}
    return row(
        f"normals, {name}", f"evaluate normals truth model {options}", *says, files=files, task="normals", **more
    )


def axes(name: str, line: str, *says: str) -> Row:
    return normals(f"option, {name}", npy(UP), *says, options=line)


MAPS = {
    "an empty file": (b"", ("model/a.npy",), "npy"),
    "an array that is cut off": (npy(DEPTH)[:-8], ("model/a.npy",), "npy"),
    "a header that is cut off": (npy(DEPTH)[:20], ("model/a.npy",), "npy"),
    "pickled objects": (npy(np.array([{"a": 1}], dtype=object)), ("model/a.npy",), "npy"),
    "texts": (npy(np.array([["a", "b"]])), ("model/a.npy",), "npy"),
    "complex numbers": (npy(DEPTH.astype(np.complex64)), ("model/a.npy",), "npy"),
    "an array without a pixel": (npy(np.zeros((0, 6))), ("model/a.npy",), "npy"),
    "an array of five axes": (npy(np.zeros((1, 1, 1, 4, 6))), ("model/a.npy",), "npy"),
    "a zip that is none": (b"PK\x03\x04xxxx", ("model/a.npz",), "npz"),
    "a PNG that is text": (b"hello", ("model/a.png", "PNG"), "png"),
    "a PNG that is cut off": (GREY[:-30], ("model/a.png",), "png"),
    "a PNG with a flipped byte": (GREY[:50] + bytes([GREY[50] ^ 255]) + GREY[51:], ("model/a.png",), "png"),
    "a PNG of 8 bits of grey": (png(np.ones((4, 6), np.uint8)), ("model/a.png", "8 bits"), "png"),
    "a PFM that is text": (b"PX\n6 4\n-1\n", ("model/a.pfm",), "pfm"),
    "a PFM that is cut off": (pfm(b"Pf\n6 4\n-1\n", np.ones(5)), ("model/a.pfm", "bytes"), "pfm"),
    "a PFM of 2^60 pixels": (b"Pf\n999999999 999999999\n-1\n", ("model/a.pfm",), "pfm"),
    "a PFM without a scale": (b"Pf\n6 4\n0\n", ("model/a.pfm", "scale"), "pfm"),
    "a JPEG": (b"\xff\xd8\xff\xe0", ("model",), "jpg"),
    "an EXR": (b"v/1\x01", ("model",), "exr"),
}

ROWS = [
    *(depth(name, data, *says, ending=ending) for name, (data, says, ending) in MAPS.items()),
    *(normals(name, data, *says, ending=ending) for name, (data, says, ending) in MAPS.items()),
    depth("another size", npy(DEPTH[:3]), "6×4", "6×3", "resize"),
    depth("three channels", npy(UP), "model/a.npy", "height × width"),
    depth("colours", COLOUR, "model/a.png", "3 channels", ending="png"),
    depth("a pixel that is nan", npy(HOLES), "row 1, column 2", "holes"),
    depth("infinite pixels", npy(DEPTH + np.inf), "row 0, column 0", "24"),
    depth("a suffix that no file has", npy(DEPTH), "model", "_x", options="-O prediction.suffix=_x"),
    depth("a .dpt with another tag", dpt(6, 4, 24, b"HEIP"), "model/a.dpt", "PIEH", ending="dpt"),
    depth("a .dpt that is cut off", dpt(6, 4, 23), "model/a.dpt", "bytes", ending="dpt"),
    depth("a .dpt of a negative size", dpt(-6, 4, 24), "model/a.dpt", ending="dpt"),
    truth("no valid pixel", png(np.zeros((4, 6), np.uint16)), "no valid pixel", "min 0.001"),
    truth("8 bits", png(np.ones((4, 6), np.uint8)), "truth/a.png", "8 bits"),
    truth("a palette", png(np.ones((4, 6), np.uint8), colour=3), "truth/a.png"),
    truth("beyond max", GREY, "no valid pixel", "max 1", options="--max 1"),
    option("min above max", "--min 5 --max 4", "min", "5", "4"),
    option("a min below 0", "--min -1", "min"),
    option("a max that is a text", "--max far", "max", "far"),
    option("an unknown crop", "--crop grag", "grag", "garg"),
    option("the crop of another size", "--crop nyu", "6×4", "640×480"),
    option("a crop larger than the map", "--crop benchmark", "1216×352"),
    option("an unknown preset", "--preset kiti", "kiti"),
    option("an unknown alignment", "--align mean", "mean"),
    option("a fit of all without a fit", "--align-per dataset", "align-per"),
    option("a median of a sequence", "--align median --align-per sequence", "median"),
    option("a factor beside a fit", "--align affine --scale-by 2", "scale-by"),
    option("a scale of 0", "--scale 0", "scale"),
    option("an unknown resize", "--resize cubic", "cubic"),
    option("a mask that is not there", "--mask nowhere", "nowhere"),
    option("a region that is not there", "--region near=nowhere", "nowhere"),
    option("a region that nobody named", '-m "abs_rel(of=near)"', "near"),
    option("a band that ends before it begins", '-m "abs_rel(of=d20-10)"', "d20-10"),
    option("a band of metres that ends before it begins", '-m "abs_rel(of=20-10m)"', "20-10m"),
    option("a number for a part", '-m "abs_rel(of=20)"', "20"),
    option("a fit in disparity without a fit", "--align-in disparity", "align_in"),
    option("a smaller fit without a fit", "--align-size 100", "align_size"),
    option("a fit of half a pixel", "--align affine --align-size 0.5", "align_size"),
    option("fewer than no pixels", "--min-pixels -1", "min_pixels"),
    option("a resized disparity of one size", "--resize-in disparity", "resize_in"),
    depth("a disparity of 0", npy(0 * DEPTH), "infinitely far", "max", options="--prediction disparity"),
    depth("a median of 0", npy(0 * DEPTH), "median", "align", options="--align median"),
    option("a threshold of 1", '-m "delta(threshold=1)"', "threshold"),
    option("a power of 0", "-m delta@0", "power"),
    option("a weight of 2", '-m "silog(weight=2)"', "weight"),
    option("an unknown tool", "--explain raft", "raft"),
    normals("another size", npy(UP[:2]), "6×4", "6×2", "resize"),
    normals("one channel", npy(DEPTH), "model/a.npy"),
    normals("two channels", npy(UP[:, :, :2]), "model/a.npy"),
    normals("grey", GREY, "model/a.png", ending="png"),
    normals("a pixel that is nan", npy(np.where(np.arange(24).reshape(4, 6, 1) == 8, np.nan, UP)), "row 1, column 2"),
    normals("channels that may be first or last", npy(np.ones((3, 4, 3))), "3×4×3", "channels"),
    axes("two axes", "--axes 'x y'", "x y"),
    axes("an axis twice", "--axes 'x y y'", "x y y"),
    axes("an unknown axis", "--axes 'x y w'", "x y w"),
    axes("an unknown preset", "--preset dsin", "dsin"),
    axes("a limit of 0", "-m within@0", "limit"),
    axes("a limit beyond 180", "-m within@181", "limit"),
    axes("a region that nobody named", "-m 'angle(of=near)'", "near"),
    axes("an average of rows", "-m 'angle(average=row)'", "row"),
    axes("an unknown resize", "--resize cubic", "cubic"),
]

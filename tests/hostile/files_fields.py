"""Flow and disparity: files that are spoiled, do not fit each other or the task, and options that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.field_files import flo, kitti_disparity, kitti_flow, pfm, png

from hostile.files_maps import npy
from hostile.rows import Row, row

FLOW = np.arange(24.0).reshape(3, 4, 2)
PLANE = 1 + np.arange(12.0).reshape(3, 4)
GOOD = {"flow": ("flo", flo(FLOW)), "disparity": ("pfm", pfm(PLANE))}
GREY8, GREY16, RGB8, RGB16 = (
    png(np.full(shape, 9, kind))
    for kind, shape in ((np.uint8, (3, 4)), (np.uint16, (3, 4)), (np.uint8, (3, 4, 3)), (np.uint16, (3, 4, 3)))
)


def field(
    task: str, name: str, data: bytes | str, *says: str, end: str = "npy", side: str = "p", options: str = ""
) -> Row:
    """A prediction, or a truth, that is spoiled."""
    ending, good = GOOD[task]
    files = {f"t/a.{ending}": good, f"p/a.{ending}": good}
    files = {path: content for path, content in files.items() if not path.startswith(side)}
    return row(
        f"{task}: {name}", f"evaluate {task} t p {options} -o out.json", *says, files={**files, f"{side}/a.{end}": data}
    )


def option(task: str, name: str, line: str, *says: str) -> Row:
    """Good files, and an option or a metric that does not fit."""
    ending, good = GOOD[task]
    return field(task, f"option, {name}", good, *says, end=ending, options=line)


def both(name: str, flow: bytes, disparity: bytes, *says: str, **more: Any) -> list[Row]:
    """The same fault in both tasks."""
    return [field("flow", name, flow, *says, **more), field("disparity", name, disparity, *says, **more)]


WHOLE_FLO, WHOLE_PFM, COLOURS = flo(FLOW), pfm(PLANE), pfm(np.dstack([FLOW, PLANE]))
ROWS = [
    *both("an empty file", b"", b"", "a.npy", "cannot be read"),
    *both("half an array", npy(FLOW)[:-9], npy(PLANE)[:-9], "a.npy", "ends before"),
    *both("texts", npy(np.array([["a"]])), npy(np.array([["a"]])), "a.npy", "not numbers"),
    *both("complex numbers", npy(FLOW * 1j), npy(PLANE * 1j), "a.npy", "not numbers"),
    *both("no pixel", npy(FLOW[:0]), npy(PLANE[:0]), "a.npy", "no pixel"),
    *both("another size", npy(FLOW[:, :3]), npy(PLANE[:, :3]), "4×3", "3×3", "--resize"),
    *both("another size of the truth", npy(FLOW[:, :3]), npy(PLANE[:, :3]), "3×3", "4×3", side="t"),
    *both("one number", npy(np.float64(1)), npy(np.float64(1)), "a.npy", "shape"),
    *both("four axes", npy(np.ones((1, 3, 4, 2))), npy(np.ones((1, 3, 4, 1))), "a.npy", "shape"),
    *both("an array of the other task", npy(PLANE), npy(FLOW), "a.npy", "shape"),
    *both("pickled objects", npy(np.array([None])), npy(np.array([None])), "a.npy", "pickled"),
    *both("a PNG of 8 bits", GREY8, GREY8, "a.png", "8 bits", end="png"),
    *both("a PNG of 8-bit colours", RGB8, RGB8, "a.png", "3 channels of 8 bits", end="png"),
    *both(
        "a palette",
        png(np.zeros((3, 4), np.uint8), colour=3),
        png(np.zeros((3, 4), np.uint8), colour=3),
        "a.png",
        "palette",
        end="png",
    ),
    *both(
        "an interlaced PNG",
        png(np.ones((3, 4, 3), np.uint16), interlaced=1),
        png(np.ones((3, 4), np.uint16), interlaced=1),
        "a.png",
        "interlaced",
        end="png",
    ),
    *both("a damaged PNG", kitti_flow(FLOW)[:-30], kitti_disparity(PLANE)[:-30], "a.png", end="png"),
    *both(
        "a changed PNG",
        kitti_flow(FLOW).replace(b"IDAT", b"IDAX"),
        kitti_disparity(PLANE).replace(b"IDAT", b"IDAX"),
        "a.png",
        "checksum",
        end="png",
    ),
    *both("a GIF as PNG", b"GIF89a", b"GIF89a", "a.png", "not a PNG", end="png"),
    *both("a photograph", b"\xff\xd8", b"\xff\xd8", "JPEG", end="jpg"),
    *both("another format", b"v/1", b"v/1", "no file ends in", end="exr"),
    *both("a .flo of another tag", b"PIEX" + WHOLE_FLO[4:], b"PIEX" + WHOLE_FLO[4:], "a.flo", "PIEH", end="flo"),
    *both("half a .flo", WHOLE_FLO[:-1], WHOLE_FLO[:-1], "a.flo", "bytes", end="flo"),
    *both("a header alone", WHOLE_FLO[:9], WHOLE_FLO[:9], "a.flo", "header", end="flo"),
    *both(
        "2³¹ pixels",
        WHOLE_FLO[:4] + b"\xff\xff\xff\x7f" * 2,
        WHOLE_FLO[:4] + b"\xff\xff\xff\x7f" * 2,
        "a.flo",
        "pixels",
        end="flo",
    ),
    *both("half a PFM", COLOURS[:-1], WHOLE_PFM[:-1], "a.pfm", "bytes", end="pfm"),
    *both("a PFM of text", b"P3\n1 1\n", b"P3\n1 1\n", "a.pfm", "'Pf' or 'PF'", end="pfm"),
    *both("a PFM of the other task", WHOLE_PFM, COLOURS, "a.pfm", "channel", end="pfm"),
    *both("HDF5 in name only", b"HDF", b"HDF", "a.flo5", end="flo5"),
    field("flow", "grey of 16 bits", GREY16, "a.png", "1 channel of 16 bits", end="png"),
    field("flow", "channels first or last", npy(np.ones((2, 4, 2))), "a.npy", "--channels"),
    field("flow", "u and v of two sizes", b"PK", "a.npz", end="npz"),
    field("disparity", "colours of 16 bits", RGB16, "a.png", "3 channels of 16 bits", end="png"),
    field("disparity", "a .flo", WHOLE_FLO, "a.flo", "shape", end="flo"),
    field("disparity", "Sintel without colours", GREY16, "a.png", "Sintel", end="png", options="--preset sintel"),
]
for name in ("flow", "disparity"):
    ROWS += [
        option(name, "holes", "--holes worst", "holes", "worst"),
        option(name, "preset", "--preset kitti", "preset", "kitti"),
        option(name, "a scale of 0", "--scale 0", "scale"),
        option(name, "no such mask", "--mask nowhere", "nowhere"),
        option(name, "no such region", "--region noc=nowhere -m epe(of=noc)", "nowhere"),
        option(name, "a region without a name", "--region nowhere", "region"),
        option(name, "a region that is not given", "-m epe(of=noc)", "noc"),
        option(name, "an empty range", "-m epe(of=s40-10)", "s40-10"),
        option(name, "a negative threshold", "-m bad@-1", "threshold"),
        option(name, "a quantile of 100", "-m a@100", "percent"),
    ]

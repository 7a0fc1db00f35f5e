"""Lists and arrays of images that are spoiled, and options that do not fit."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

from hostile.rows import Row, row


def png(width: int, height: int, depth: int = 8, colour: int = 0, data: bytes | None = None, **more: bytes) -> bytes:
    """A PNG whose rows have no filter."""
    each = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour] * depth // 8
    raw = b"".join(b"\0" + bytes(width * each) for _ in range(min(height, 64))) if data is None else data
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)), (b"IDAT", zlib.compress(raw)))
    extra = tuple((name.encode(), body) for name, body in more.items())
    text = b"\x89PNG\r\n\x1a\n"
    for name, body in (chunks[0], *extra, chunks[1], (b"IEND", b"")):
        text += struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return text


GRAY, RGB, WIDE = png(12, 12), png(12, 12, 8, 2), png(12, 12, 16)
LIST = "image,truth,prediction\na,a.png,b.png\n"


def both(name: str, first: bytes, second: bytes, *says: str, options: str = "", **more: Any) -> Row:
    """Two files."""
    line = f"evaluate images a.png b.png {options}"
    return row(f"images, {name}", line, *says, files={"a.png": first, "b.png": second}, **more)


def listed(name: str, text: str, *says: str, options: str = "", **more: Any) -> Row:
    """A list of both sides."""
    files = {"list.csv": text, "a.png": GRAY, "b.png": GRAY}
    return row(f"list of images, {name}", f"evaluate images list.csv {options}", *says, files=files, **more)


def arrays(name: str, first: Any, second: Any, *says: str, options: str = "", **more: Any) -> Row:
    """Lists of numbers in JSON."""
    files = {
        f"{side}.json": json.dumps([{"image": "a", "pixels": value}]) for side, value in (("t", first), ("p", second))
    }
    return row(f"arrays of images, {name}", f"evaluate images t.json p.json {options}", *says, files=files, **more)


def video(name: str, data: bytes, *says: str, options: str = "", ending: str = "y4m", **more: Any) -> Row:
    """A video against itself."""
    line = f"evaluate images a.{ending} b.{ending} {options}"
    return row(f"video, {name}", line, *says, files={f"a.{ending}": data, f"b.{ending}": data}, **more)


FLAT = [[7] * 12] * 12
HALF = [[0.5] * 12] * 12
Y4M = b"YUV4MPEG2 W4 H4 F25:1 C420jpeg\nFRAME\n" + bytes(24)

ROWS = [
    both("sizes that differ", png(12, 12), png(12, 13), "12×12", "12×13", "crop"),
    both("gray against colours", GRAY, RGB, "gray", "three channels"),
    both("16 bits against 8", WIDE, GRAY, "16 bits", "8 bits"),
    both("a file that is cut off", GRAY, GRAY[:40], "b.png", "ends"),
    both("data that are too short", GRAY, png(12, 12, data=b"\0" * 5), "b.png", "the data"),
    both("a filter that does not exist", GRAY, png(12, 12, data=(b"\x09" + bytes(12)) * 12), "b.png", "filter"),
    both("not a PNG", GRAY, b"hello", "b.png", "PNG"),
    both("an empty file", GRAY, b"", "b.png", "PNG"),
    both("a size of 0", GRAY, png(0, 12), "b.png", "pixels"),
    both("a size beyond all bounds", GRAY, png(1 << 30, 1 << 30, data=b"\0"), "b.png", "pixels"),
    both("transparent pixels", RGB, png(12, 12, 8, 6), "b.png", "transparent", "alpha"),
    both("a palette without colours", GRAY, png(12, 12, 8, 3), "b.png", "palette"),
    both("too small for SSIM", png(10, 20), png(10, 20), "10×20", "11×11", options="-m ssim"),
    both("too small for MS-SSIM", GRAY, GRAY, "12×12", "161×161", options="-m ms_ssim"),
    both("too small for VIF", GRAY, GRAY, "12×12", "41×41", options="-m vif"),
    both("one band for SAM", GRAY, GRAY, "sam", options="-m sam"),
    both("gray for colour differences", GRAY, GRAY, "delta_e", options="-m delta_e"),
    both("gray for FSIMc", GRAY, GRAY, "fsimc", options="-m fsimc"),
    both("a border as wide as the image", GRAY, GRAY, "border", options="--border 6"),
    both("a border of half a pixel", GRAY, GRAY, "border", options="--border 0.5"),
    both("a range of 1 for 8 bits", png(12, 12, data=(b"\0" + b"\xff" * 12) * 12), GRAY, "range", options="--range 1"),
    both("a range beyond 8 bits", GRAY, GRAY, "1023", "8 bits", options="--range 1023"),
    both("a tool that is not known", GRAY, GRAY, "photoshop", options="--explain photoshop"),
    row(
        "images, colours of 16 bits that Pillow cuts",
        "evaluate images a.ppm a.ppm",
        "a.ppm",
        "16 bits",
        files={"a.ppm": b"P6\n2 2\n65535\n" + bytes(24)},
    ),
    row(
        "images, a header of a huge size",
        "evaluate images a.ppm a.ppm",
        "a.ppm",
        "pixels",
        files={"a.ppm": b"P6\n60000 60000\n255\nabc"},
    ),
    row(
        "images, a picture that is cut off",
        "evaluate images a.ppm a.ppm",
        "a.ppm",
        "read",
        files={"a.ppm": b"P6\n20 20\n255\nabc"},
    ),
    row(
        "images, a unit that is not there",
        "draw images a.png b.png --unit x",
        "'x'",
        files={"a.png": GRAY, "b.png": GRAY},
    ),
    both("a preset that does not exist", GRAY, GRAY, "preset", options="--preset photoshop"),
    both("a preset of SSIM that does not exist", GRAY, GRAY, "preset", options="-m ssim(preset=x)"),
    both("a plane of an image", GRAY, GRAY, "plane u", options="--channels u"),
    both("a column that is missing", GRAY, GRAY, "'lpips'", options="-m column(lpips)"),
    both("a region without a map", GRAY, GRAY, "'region'", options="-m psnr(region=sky)"),
    both("a cap of pooled PSNR", GRAY, GRAY, "cap", options="-m psnr(level=pooled,cap=50)"),
    both("clips without a column", GRAY, GRAY, "'clip'", options="--resample clip"),
    both("missing as worst", GRAY, GRAY, "worst", options="--missing worst"),
    listed("no prediction", "image,truth\na,a.png\n", "list.csv", "predicted"),
    listed("a file that is missing", LIST.replace("b.png", "c.png"), "c.png"),
    listed("an image twice", LIST + "a,b.png,a.png\n", "'a'", "twice"),
    listed("an empty path", "image,truth,prediction\na,,b.png\n", "line 2", "empty"),
    listed("a header alone", LIST.partition("\n")[0] + "\n", "list.csv"),
    arrays("floating point without a range", HALF, HALF, "0.5", "range"),
    arrays("rows of different lengths", [[1, 2], [3]], FLAT, "rows"),
    arrays("texts", [["a"] * 12] * 12, FLAT, "t.json"),
    arrays("axes that may be anything", [[[1] * 3] * 5] * 3, [[[1] * 3] * 5] * 3, "layout"),
    video("a header that is not one", b"RIFF" + bytes(40), "a.y4m", "Y4M"),
    video("a frame that is cut off", Y4M[:-3], "a.y4m", "bytes"),
    video("a sampling that is not known", Y4M.replace(b"C420jpeg", b"C411"), "a.y4m", "411"),
    video("colours of a video", Y4M, "a.y4m", "Y, U and V", options="--channels rgb"),
    video(
        "a plane that gray has not", Y4M[:-8].replace(b"C420jpeg", b"Cmono"), "a.y4m", "plane u", options="--channels u"
    ),
    video("a width of 0", Y4M.replace(b"W4", b"W0"), "a.y4m"),
    video("raw frames of unknown size", bytes(24), "a.yuv", "size", ending="yuv"),
    video(
        "raw frames of another size", bytes(25), "a.yuv", "bytes", ending="yuv", options="--size 4x4 --format yuv420p"
    ),
]

"""Formats of maps and volumes: headers that lie, sizes that nothing could hold, encodings and files that are not there."""

from __future__ import annotations

import gzip
import io
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hostile.files_maps import CUBE, GRID, nifti, npy, png
from hostile.rows import Make, Row, program, row

VOXELS = CUBE.tobytes()
LONG = 1 << 20


def volume(name: str, *says: str, files: Mapping[str, Make] | None = None, options: str = "", **more: Any) -> Row:
    """Evaluate a good truth with predictions that are spoiled."""
    every: dict[str, Make] = {"t/a.nii": nifti(CUBE), **(files or {})}
    return row(f"volumes: {name}", f"evaluate volumes t p {options} -o out.json", *says, files=every, **more)


def header(changes: Mapping[int, bytes], content: bytes = VOXELS) -> bytes:
    """A NIfTI file whose header has other bytes at some places."""
    data = bytearray(nifti(CUBE)[:352])
    for at, part in changes.items():
        data[at : at + len(part)] = part
    return bytes(data) + content


def nrrd(body: bytes = VOXELS, **changes: str | None) -> bytes:
    fields: dict[str, str | None] = {
        "type": "uint8", "dimension": "3", "sizes": "4 3 2", "encoding": "raw", "endian": "little",
    }  # fmt: skip
    fields |= {name.replace("_", " "): value for name, value in changes.items()}
    lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return ("NRRD0004\n" + "\n".join(lines) + "\n\n").encode() + body


def meta(body: bytes = VOXELS, **changes: str | None) -> bytes:
    fields: dict[str, str | None] = {
        "ObjectType": "Image", "NDims": "3", "DimSize": "4 3 2", "ElementType": "MET_UCHAR", "ElementSpacing": "1 1 1",
    }  # fmt: skip
    fields |= changes
    fields.setdefault("ElementDataFile", "LOCAL")
    last = fields.pop("ElementDataFile")
    lines = [f"{name} = {value}" for name, value in fields.items() if value is not None]
    return ("\n".join([*lines, *([f"ElementDataFile = {last}"] if last else [])]) + "\n").encode() + body


def tiff(changes: Mapping[int, tuple[int, int, int]] | None = None, body: bytes = GRID.tobytes(), **more: int) -> bytes:
    """A TIFF of one strip; tags are (type, count, value)."""
    tags = {
        256: (3, 1, 3), 257: (3, 1, 2), 258: (3, 1, 8), 259: (3, 1, 1), 262: (3, 1, 1), 273: (4, 1, 8), 277: (3, 1, 1),
        278: (3, 1, 2), 279: (4, 1, len(body)), **(changes or {}),
    }  # fmt: skip
    at = 8 + len(body)
    entries = b"".join(struct.pack("<HHII", tag, *value) for tag, value in sorted(tags.items()))
    following = more.get("following", 0)
    return (
        struct.pack("<2sHI", b"II", 42, more.get("first", at)) + body + struct.pack("<H", len(tags)) + entries
        + struct.pack("<I", at if following == -1 else following)
    )  # fmt: skip


def image(name: str, content: bytes, *says: str, end: str = "tif") -> Row:
    files: dict[str, Make] = {"t/a.png": png(), f"p/a.{end}": content}
    return row(f"segmentation: TIFF {name}", "evaluate segmentation t p -o out.json", "p/a.tif", *says, files=files)


def npz(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def lying(shape: str, dtype: str = "|u1", body: bytes = b"") -> bytes:
    """An array whose header declares what it does not hold."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + body


def folder(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def made(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)

    return made


FIFO = folder(lambda path: os.mkfifo(path))
NOWHERE = folder(lambda path: os.symlink("nowhere", path))
ITSELF = folder(lambda path: os.symlink(path.name, path))
ENDLESS = folder(lambda path: os.symlink("/dev/zero", path))
HUGE = struct.pack("<8h", 3, 32767, 32767, 32767, 1, 1, 1, 1)
DEEP = struct.pack("<8h", 3, 1200, 1200, 1200, 1, 1, 1, 1)
PACKED = zlib.compress(VOXELS)
ROWS: list[Row] = [
    volume("NIfTI of 35 trillion voxels", "p/a.nii", "32767×32767×32767 voxels", files={"p/a.nii": header({40: HUGE})}),
    volume("NIfTI packed that declares 1.7 GB", "p/a.nii.gz", "once unpacked", files={"p/a.nii.gz": gzip.compress(header({40: DEEP}))}),
    volume("NIfTI packed with a gigabyte behind its voxels", "p/a.nii.gz", "cannot be unpacked",
           files={"p/a.nii.gz": folder(lambda path: path.write_bytes(gzip.compress(nifti(CUBE)) + gzip.compress(bytes(64 << 20)) * 16))}),
    volume("NIfTI with no axis", "p/a.nii", "has 0 axes", files={"p/a.nii": header({40: struct.pack("<h", 0)})}),
    volume("NIfTI with an axis of zero", "p/a.nii", "axes of type", files={"p/a.nii": header({42: struct.pack("<h", 0)})}),
    volume("NIfTI with a negative axis", "p/a.nii", "axes of type", files={"p/a.nii": header({42: struct.pack("<h", -4)})}),
    volume("NIfTI of six axes", "p/a.nii", "5 axes longer than 1",
           files={"p/a.nii": header({40: struct.pack("<8h", 5, 2, 1, 3, 2, 2, 1, 1)})}),
    volume("NIfTI of complex numbers", "p/a.nii", "type 32", files={"p/a.nii": header({70: struct.pack("<h", 32)})}),
    volume("NIfTI with an infinite scale", "p/a.nii", "scl_slope", files={"p/a.nii": header({112: struct.pack("<2f", 1, float("inf"))})}),
    volume("NIfTI in gzip of nothing", "p/a.nii.gz", "is not a NIfTI file", files={"p/a.nii.gz": gzip.compress(b"")}),
    volume("NIfTI in gzip of a damaged start", "p/a.nii.gz", "cannot be unpacked", files={"p/a.nii.gz": b"\x1f\x8b\x08\x00junkjunkjunk"}),
    volume("a pair without its image", "p/a.hdr", "no data file 'a.img'",
           files={"p/a.hdr": header({344: b"ni1\0", 108: bytes(4)}, b"")}),
    volume("a pair whose image is too short", "p/a.img", "ends before its 24 voxels",
           files={"p/a.hdr": header({344: b"ni1\0", 108: bytes(4)}, b""), "p/a.img": b"123"}),
    volume("a pair whose header is a whole file", "p/a.hdr", "is a whole NIfTI file", files={"p/a.hdr": nifti(CUBE), "p/a.img": VOXELS}),
    volume("a pair whose image is a pipe", "p/a.img", "named pipe",
           files={"p/a.hdr": header({344: b"ni1\0", 108: bytes(4)}, b""), "p/a.img": FIFO}),
    volume("a header of another program", "p/a.hdr", "is not a NIfTI file", files={"p/a.hdr": "ENVI\nsamples = 4\n", "p/a.img": VOXELS}),
    volume("NRRD without a size", "p/a.nrrd", "'sizes' is ''", files={"p/a.nrrd": nrrd(sizes=None)}),
    volume("NRRD of 10^33 voxels", "p/a.nrrd", "voxels", files={"p/a.nrrd": nrrd(sizes="99999999999 99999999999 99999999999")}),
    volume("NRRD with two axes of three sizes", "p/a.nrrd", "3 sizes for 2 axes", files={"p/a.nrrd": nrrd(dimension="2")}),
    volume("NRRD of blocks", "p/a.nrrd", "the type is 'block'", files={"p/a.nrrd": nrrd(type="block")}),
    volume("NRRD in hexadecimal", "p/a.nrrd", "the encoding is 'hex'", files={"p/a.nrrd": nrrd(encoding="hex")}),
    volume("NRRD whose header never ends", "p/a.nrrd", "header does not end", files={"p/a.nrrd": b"NRRD0004\n" + b"#" * LONG}),
    volume("NRRD of words without an endian", "p/a.nrrd", "the endian is ''", files={"p/a.nrrd": nrrd(type="int16", endian=None)}),
    volume("NRRD with directions of nan", "p/a.nrrd", "not finite",
           files={"p/a.nrrd": nrrd(space="left-posterior-superior", space_directions="(nan,0,0) (0,1,0) (0,0,1)")}),
    volume("NRRD with directions of two numbers", "p/a.nrrd", "'space directions'",
           files={"p/a.nrrd": nrrd(space="left-posterior-superior", space_directions="(1,0) (0,1,0) (0,0,1)")}),
    volume("NRRD packed that holds more", "p/a.nrrd", "holds more than the 24 bytes",
           files={"p/a.nrrd": nrrd(gzip.compress(bytes(LONG)), encoding="gzip")}),
    volume("NRRD packed that declares 8 GB", "p/a.nrrd", "once unpacked",
           files={"p/a.nrrd": nrrd(gzip.compress(VOXELS), encoding="gzip", sizes="1000 1000 1000", type="double")}),
    volume("NRRD that skips a billion lines", "p/a.nrrd", "lines to skip", files={"p/a.nrrd": nrrd(line_skip="999999999")}),
    volume("NRRD whose data lie in the root", "p/a.nhdr", "outside its folder", files={"p/a.nhdr": nrrd(b"", data_file="/etc/passwd")}),
    volume("NRRD whose data lie above", "p/a.nhdr", "outside its folder", files={"p/a.nhdr": nrrd(b"", data_file="../t/a.nii")}),
    volume("NRRD whose data are a list", "p/a.nhdr", "several data files", files={"p/a.nhdr": nrrd(b"", data_file="LIST")}),
    volume("NRRD whose data are itself", "p/a.nhdr", "ends before its 24,000 voxels",
           files={"p/a.nhdr": nrrd(b"", data_file="a.nhdr", sizes="40 30 20")}),
    volume("NRRD whose data are a pipe", "p/a.raw", "named pipe", files={"p/a.nhdr": nrrd(b"", data_file="a.raw"), "p/a.raw": FIFO}),
    volume("NRRD with a field twice", "p/a.nrrd", "duplicate field 'sizes'",
           files={"p/a.nrrd": nrrd().replace(b"\n\n", b"\nsizes: 1 1 1\n\n", 1)}),
    volume("MetaImage without data", "p/a.mha", "no ElementDataFile", files={"p/a.mha": meta(b"", ElementDataFile=None)}),
    volume("MetaImage of letters", "p/a.mha", "DimSize is 'a b c'", files={"p/a.mha": meta(DimSize="a b c")}),
    volume("MetaImage of an unknown type", "p/a.mha", "MET_STRING", files={"p/a.mha": meta(ElementType="MET_STRING")}),
    volume("MetaImage as text", "p/a.mha", "as text", files={"p/a.mha": meta(b"1 2 3", BinaryData="False")}),
    volume("MetaImage packed that ends early", "p/a.mha", "less than the 24 bytes", files={"p/a.mha": meta(PACKED[:-6], CompressedData="True")}),
    volume("MetaImage packed that is not", "p/a.mha", "cannot be unpacked", files={"p/a.mha": meta(VOXELS, CompressedData="True")}),
    volume("MetaImage packed that declares 4 TB", "p/a.mha", "voxels",
           files={"p/a.mha": meta(PACKED, CompressedData="True", DimSize="16000 16000 16000")}),
    volume("MetaImage with a matrix of two numbers", "p/a.mha", "TransformMatrix", files={"p/a.mha": meta(TransformMatrix="1 0", Offset="0 0 0")}),
    volume("MetaImage of a negative header", "p/a.mha", "HeaderSize is '-7'", files={"p/a.mha": meta(HeaderSize="-7")}),
    volume("MetaImage whose data are gone", "p/a.mhd", "no data file 'a.raw'", files={"p/a.mhd": meta(b"", ElementDataFile="a.raw")}),
    volume("MetaImage whose data are a pattern", "p/a.mhd", "several data files", files={"p/a.mhd": meta(b"", ElementDataFile="a%03d.raw 1 9 1")}),
    volume("MetaImage of zero bytes", "p/a.mha", "is not a MetaImage file", files={"p/a.mha": b"\0" * 4096}),
    volume("an RGB PNG", "p/a.png", "three channels", files={"p/a.png": png(np.dstack([GRID] * 3), colour=2)}),
    volume("one case in two formats", "'a'", "several files", files={"p/a.nii": nifti(CUBE), "p/a.mha": meta()}),
    row("volumes: a flat folder that may mean two", "evaluate volumes t p -o out.json", "'a' may be 'b/a' or 'c/a'",
        files={"t/b/a.nii": nifti(CUBE), "t/c/a.nii": nifti(CUBE), "p/a.nii": nifti(CUBE)}),
    volume("an array of x, y, z", "4×3×2", "prediction.axes=xyz", files={"p/a.npy": npy(CUBE.T)}),
    volume("channels of nan", "p/a.npy", "not finite", files={"p/a.npy": npy(np.full((2, 2, 3, 4), np.nan))}),
    volume("channels that overlap", "p/a.npy", "several of its 2 channels", files={"p/a.npy": npy(np.ones((2, 2, 3, 4)))}),
    volume("an array of seven axes", "p/a.npy", "1×1×1×1×1×1×1 values", files={"p/a.npy": npy(np.ones((1,) * 7))}),
    volume("an array that declares a petabyte", "p/a.npy", "ends before", files={"p/a.npy": lying("(100000, 100000, 100000)")}),
    volume("an array of a negative size", "p/a.npy", files={"p/a.npy": lying("(-1, -3, 8)", body=VOXELS)}),
    volume("an array whose header is code", "p/a.npy", "cannot be read", files={"p/a.npy": lying("__import__('os')")}),
    volume("an archive whose array declares a petabyte", "a.npz::x", "ends before",
           files={"p/a.npz": npz({"x.npy": lying("(100000, 100000, 100000)")})}),
    volume("an archive of 300 MB in a few kB", "p/a.npz", "once unpacked",
           files={"p/a.npz": folder(lambda path: path.write_bytes(npz({"x.npy": lying("(300, 1000, 1000)") + bytes(300_000_000)})))}),
    volume("an archive of two arrays", "p/a.npz", "2 arrays",
           files={"p/a.npz": npz({"x.npy": npy(CUBE), "y.npy": npy(CUBE)})}),
    volume("an archive without members", "p/a.npz", "holds no array", files={"p/a.npz": npz({})}),
    volume("an archive of text", "p/a.npz", "cannot be read", files={"p/a.npz": npz({"readme.txt": b"hello"})}),
    volume("a pipe in a folder", "p/a.nii", "named pipe", files={"p/a.nii": FIFO}),
    volume("a link to nothing", "p/a.nii", "no such file", files={"p/a.nii": NOWHERE}),
    volume("a link to itself", "p/a.nrrd", files={"p/a.nrrd": ITSELF}),
    volume("a link to an endless device", "p/a.mha", "is a device", files={"p/a.mha": ENDLESS}),
    volume("a folder that is named as a file", "p", "no file ends in", files={"p/a.nii/x.txt": "1"}),
    row("volumes: a single file that is a pipe", "evaluate volumes t/a.nii p.nii -o out.json", "p.nii", "named pipe",
        files={"t/a.nii": nifti(CUBE), "p.nii": FIFO}),
    row("boxes3d: a pipe in a folder of KITTI", "evaluate boxes3d t p -o out.json", "t/000000.txt", "named pipe",
        files={"t/000000.txt": FIFO, "p/000000.txt": "Car 0 0 0.1 0 0 60 50 1.5 1.6 4 0 1.6 20 0.1 0.9\n"}, task="boxes3d"),
    row("volumes: a single file that is gone", "evaluate volumes t/a.nii p.nii.gz -o out.json", "p.nii.gz", "no such file",
        files={"t/a.nii": nifti(CUBE)}),
    row("volumes: a table with a zero byte in a path", "evaluate volumes t p.csv -o out.json", "p.csv, line 2", "there is no file",
        files={"t/a.nii": nifti(CUBE), "p.csv": "case,map\na,x\0.nii\n"}),
    program("volumes: half a surrogate in a path",
            'import numpy\nsy.evaluate("volumes", {"case": [1], "map": [numpy.ones((2, 2))]}, {"case": [1], "map": ["\\ud800.nii"]}, ["dice"])',
            "\\ud800.nii", "there is no file", task="volumes"),
    row("volumes: shards with a pipe", "evaluate volumes t p --work w -o out.json", "p/a.nii", "named pipe",
        files={"t/a.nii": nifti(CUBE), "p/a.nii": FIFO}, writes=("w",)),
    row("segmentation: shards of a damaged map", "evaluate segmentation 't/*.png' 'p/*.png' -o out.json", "p/a.png", "is not a PNG",
        files={"t/a.png": png(), "t/b.png": png(), "p/a.png": b"GIF89a", "p/b.png": png()}),
    row("segmentation: a palette of one side without colours", "evaluate segmentation t p -O truth.palette=c.txt -o out.json",
        "t/a.png", "has no colours", "prediction.palette", files={"t/a.png": png(), "p/a.png": png(), "c.txt": "a=000000\n"}),
    image("in name only", b"GIF89a" + bytes(40), "is not a TIFF file"),
    image("cut off", tiff()[:20], "page 1 is cut off"),
    image("whose pages form a loop", tiff(following=-1), "form a loop"),
    image("that begins behind its end", tiff(first=LONG), "page 1 is cut off"),
    image("of four billion pixels", tiff({256: (4, 1, 65535), 257: (4, 1, 65535)}), "65535×65535"),
    image("whose strip lies behind the end", tiff({273: (4, 1, LONG)}), "ends before its pixels"),
    image("with more strips than it has", tiff({278: (3, 1, 1)}), "has 1 part, not 2"),
    image("as JPEG", tiff({259: (3, 1, 7)}), "JPEG changes labels"),
    image("in an unknown packing", tiff({259: (3, 1, 999)}), "packed with 999"),
    image("with white as zero", tiff({262: (3, 1, 0)}), "white is zero"),
    image("of 12 bits", tiff({258: (3, 1, 12)}), "bits"),
    image("packed in LZW that is none", tiff({259: (3, 1, 5)}, b"\xff" * 40), "unpacked"),
    image("packed in deflate that is none", tiff({259: (3, 1, 8)}, b"\xff" * 40), "cannot be unpacked"),
    image("packed that declares a gigabyte", tiff({256: (4, 1, 40000), 257: (4, 1, 30000), 278: (4, 1, 30000), 259: (3, 1, 8)}, PACKED), "once unpacked"),
    image("of tiles without a width", tiff({324: (4, 1, 8), 325: (4, 1, 6)}), "parts of"),
    image("of two pages", tiff(following=0)[:-4] + struct.pack("<I", 14), "p/a.tif"),
    image("in colours", tiff({277: (3, 1, 3), 262: (3, 1, 2)}, bytes(18)), "three channels", "prediction.palette"),
]  # fmt: skip

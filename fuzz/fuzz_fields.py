"""Fuzz dense fields: samples of PNG files, other files of fields, errors and filled gaps."""

from __future__ import annotations

import random
import struct
import tempfile
import zlib
from pathlib import Path

import numpy as np
from fuzz_maps import drawn_lines
from harness import Draw, target

from steelyard import _native
from steelyard.core.errors import InputError
from steelyard.maps.fields import Reading, open_field
from steelyard.maps.png import SIGNATURE

READINGS = (Reading("flow", 2), Reading("disparity"), Reading("depth"), Reading("normals", 3), Reading("mask"))


def drawn_png(rng: random.Random) -> tuple[bytes, tuple[int, int, int]]:
    """A file, some of them damaged behind right checksums, and its height, width and channels."""
    height, width = 1 + rng.randrange(6), 1 + rng.randrange(30)
    depth, channels = rng.choice([8, 16, 16]), rng.choice([1, 1, 2, 3, 3, 4])
    packed = bytearray(zlib.compress(b"".join(drawn_lines(rng, height, width, depth, channels, rng.choice([5, 5, 6])))))
    if rng.random() < 0.4:
        packed[rng.randrange(len(packed))] = rng.randrange(256)
    cut = rng.randrange(len(packed) + 1)
    head = struct.pack(
        ">IIBBBBB", width, height, depth, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, rng.choice([0, 0, 0, 1])
    )
    chunks = [(b"IHDR", head), (b"IDAT", bytes(packed[:cut])), (b"IDAT", bytes(packed[cut:])), (b"IEND", b"")]
    data = SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )
    return data, (height, width, channels)


@target("fields.files")
def fuzz_files(rng: random.Random) -> None:
    """Whole files and damaged ones: the values of the size that the file says, or refused."""
    draw = Draw(rng)
    data, shape = drawn_png(rng)
    if rng.random() < 0.3:
        data = data[: rng.randrange(len(data) + 1)]
    draw.call(_native.png_kind, data)
    samples = draw.call(_native.png_samples, data)
    if samples is not None and samples.shape != shape:
        raise AssertionError("the samples are not of the size that the header says")
    draw.call(_native.png_grey, data, rng.choice([1.0, 256.0, 0.0, float("nan")]), rng.random() < 0.5)
    draw.call(_native.png_flow, data)
    height, width, _ = shape
    other = rng.choice(
        [
            b"PIEH" + struct.pack("<ii", width, height) + rng.randbytes(8 * width * height),
            b"Pf\n%d %d\n-1.0\n" % (width, height) + rng.randbytes(4 * width * height),
            b"PF\n%d %d\n1\n" % (width, height) + rng.randbytes(12 * width * height),
        ]
    )
    broken = bytearray(other)
    for _ in range(rng.choice([0, 0, 1, 2])):
        broken[rng.randrange(min(len(broken), 30))] = rng.randrange(256)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("a.png", data), ("a.flo", broken), ("a.dpt", broken), ("a.pfm", broken)):
            path = Path(folder) / name
            path.write_bytes(bytes(content))
            try:
                field = open_field(str(path), rng.choice(READINGS))
                if field.ndim not in (2, 3) or field.dtype.kind != "f":
                    raise AssertionError("a field is not what it should be")
            except InputError:
                pass


@target("fields.errors")
def fuzz_errors(rng: random.Random) -> None:
    """Sums of errors of drawn fields with values of every kind, and gaps that are filled."""
    draw = Draw(rng)
    kind, channels = rng.choice([np.float32, np.float64]), rng.choice([1, 2])
    height, width, several = 1 + draw.size(5), 1 + draw.size(40), rng.choice([1, 1, 4])
    shape = (height, width) if channels == 1 else (height, width, 2)
    truth, predicted = (draw.real(*size, low=-60).astype(kind) for size in ((*shape, several), shape))
    odd = np.array([np.nan, np.inf, -np.inf, 1e9, -2e9, 1e30, 0.0], dtype=kind)
    for values in (truth, predicted):
        values.reshape(-1)[draw.whole(values.size, draw.size(9))] = rng.choice(odd.tolist())
    bits = draw.bits(height, width) if rng.random() < 0.5 else np.zeros(0, np.uint32)
    groups = draw.size(4)
    regions = draw.whole(33, groups, kind=np.int32) - 1 if bits.size else np.full(groups, -1, np.int32)
    speeds = np.sort(draw.real(groups, 2), axis=1)
    limits = draw.real(draw.size(3))
    flags = [rng.random() < 0.5 for _ in range(4)]
    result = draw.call(_native.field_errors, truth, predicted, bits, channels, regions, speeds, limits, *flags)
    if result is not None and np.isnan(result[0]).any():
        raise AssertionError("a sum is nan")
    draw.call(_native.fill_rows, predicted, rng.choice([-1.0, 0.0]))
    if np.isnan(_native.fill_rows(predicted, -1.0)).any():
        raise AssertionError("a gap is left")

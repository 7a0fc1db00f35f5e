"""Fuzz dense fields: samples of PNG files, other files of fields, errors and filled gaps, depth and normals."""

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


def drawn_pair(draw: Draw, *shape: int) -> tuple[np.ndarray, np.ndarray]:
    """Two maps of one type, with some values of every kind."""
    kind = draw.rng.choice([np.float32, np.float64])
    pair = [draw.real(*shape, low=-1.0, high=9.0).astype(kind) for _ in range(2)]
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, 1e-40], dtype=kind)
    for values in pair:
        values.reshape(-1)[draw.whole(values.size, draw.size(6))] = draw.rng.choice(odd.tolist())
    return pair[0], pair[1]


@target("fields.depth")
def fuzz_depth(rng: random.Random) -> None:
    """Valid pixels of a box in two maps, what is fitted to them, their sums, and edges."""
    draw = Draw(rng)
    height, width = 1 + draw.size(9), 1 + draw.size(30)
    truth, predicted = drawn_pair(draw, height, width)
    mask = rng.choice([None, draw.flags(height, width)])
    (top, bottom), (left, right) = (sorted(rng.randrange(size + 1) for _ in range(2)) for size in (height, width))
    box = (top, bottom, left, right)
    draw.call(_native.depth_pack, truth, predicted, mask, *box, 0.001, 80.0, rng.random() < 0.5)
    g, x, bad, first = _native.depth_pack(truth, predicted, mask, *box, 0.001, 80.0, False)
    if len(g) != len(x) or len(g) > (bottom - top) * (right - left) or (g <= 0.001).any() or (g >= 80).any():
        raise AssertionError("the valid pixels are not those of the box and range")
    if bad and not first < height * width:
        raise AssertionError("the first bad pixel lies outside the map")
    draw.call(_native.depth_fit, x, g, rng.random() < 0.5, rng.random() < 0.5)
    thresholds, flags = draw.real(draw.size(3), high=2.0), [rng.random() < 0.5 for _ in range(2)]
    change = (rng.choice([1.0, -2.0]), rng.choice([0.0, 0.3]), 0.01, 0.001, 80.0)
    draw.call(_native.depth_sums, g, x, *flags, *change, thresholds)
    _, _, below = _native.depth_sums(g, x, *flags, *change, thresholds)
    if (below < 0).any() or (below > len(g)).any():
        raise AssertionError("a count is out of range")
    ratios = np.sort(draw.real(draw.size(4), low=1.0, high=1.3))
    wide = (truth.astype(np.float64), predicted.astype(np.float64))
    draw.call(_native.depth_edges, *wide, mask, ratios)
    edges = _native.depth_edges(*wide, mask, ratios)
    if edges.shape != (4, 3, len(ratios) + 1) or (edges < 0).any() or edges.max() > height * width:
        raise AssertionError("a number of edges is out of range")


@target("fields.normals")
def fuzz_normals(rng: random.Random) -> None:
    """Angles of drawn vectors lie from 0 to 180 degrees, and each is in one bin."""
    draw = Draw(rng)
    height, width = 1 + draw.size(9), 1 + draw.size(30)
    truth, predicted = drawn_pair(draw, height, width, 3)
    mask = rng.choice([None, draw.flags(height, width)])
    draw.call(_native.normal_angles, truth, predicted, mask)
    angles, zero, bad, first = _native.normal_angles(truth, predicted, mask)
    if not ((angles >= 0) & (angles <= 180)).all() or max(zero, bad) > len(angles):
        raise AssertionError("an angle is out of range")
    if bad and not first < height * width:
        raise AssertionError("the first bad pixel lies outside the map")
    limits = draw.real(draw.size(3), high=180.0)
    draw.call(_native.angle_sums, angles, limits)
    _, below, bins = _native.angle_sums(angles, limits)
    if bins.sum() != len(angles) or (below > len(angles)).any():
        raise AssertionError("a count is out of range")

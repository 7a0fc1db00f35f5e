"""Files of dense fields: what references read from the same bytes, every filter of a PNG, and what is refused."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.field_files import flo, kitti_disparity, kitti_flow, pfm, png
from support.refusal import refuses

from steelyard.core.errors import (
    Conflict,
    InputError,
    InvalidFile,
    InvalidNumber,
    OutOfRange,
    ShapeMismatch,
    UnknownFormat,
)
from steelyard.maps.fields import Reading, as_field, field_digest, open_field, pack_field

GOLDENS = json.loads((Path(__file__).parent.parent / "goldens" / "field_files.json").read_text(encoding="utf-8"))
FLOW, DISPARITY, NORMALS = Reading("flow", 2), Reading("disparity"), Reading("normals", 3)
RNG = np.random.default_rng(4)


def numbers(value: Any) -> np.ndarray:
    return np.array(value, dtype=object).astype(np.float64)


def saved(folder: Path, name: str, data: bytes) -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("name", [name for name in GOLDENS if name.endswith(".pfm")])
def test_pfm_as_raft_reads_it(tmp_path: Path, name: str) -> None:
    field = open_field(saved(tmp_path, name, base64.b64decode(GOLDENS[name]["base64"])), DISPARITY)
    np.testing.assert_array_equal(field, numbers(GOLDENS[name]["raft"]))


def test_flo_as_flow_library_reads_it(tmp_path: Path) -> None:
    field = open_field(saved(tmp_path, "a.flo", base64.b64decode(GOLDENS["a.flo"]["base64"])), FLOW)
    expected = numbers(GOLDENS["a.flo"]["flow_library"])
    missing = np.isnan(expected).any(axis=2)  # one channel of a pixel that is missing makes it missing
    np.testing.assert_array_equal(np.isnan(field).all(axis=2), missing)
    np.testing.assert_array_equal(field[~missing], expected[~missing].astype(np.float32))


@pytest.mark.parametrize(("name", "reading"), [("flow.png", FLOW), ("disp.png", DISPARITY)])
def test_png_as_flow_library_reads_it(tmp_path: Path, name: str, reading: Reading) -> None:
    field = open_field(saved(tmp_path, name, base64.b64decode(GOLDENS[name]["base64"])), reading)
    np.testing.assert_array_equal(field, numbers(GOLDENS[name]["flow_library"]))


@pytest.mark.parametrize("row_filter", range(5))
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_every_filter_keeps_all_bits(tmp_path: Path, row_filter: int, channels: int, kind: type) -> None:
    samples = RNG.integers(0, np.iinfo(kind).max, (7, 11, channels), endpoint=True).astype(kind)
    path = saved(tmp_path, "a.png", png(samples, row_filter))
    if channels == 1:
        field = open_field(path, Reading("mask"))
        np.testing.assert_array_equal(field, samples[:, :, 0])
    else:
        field = open_field(path, Reading("normals", 3, zero=False))
        np.testing.assert_allclose(field, samples / np.iinfo(kind).max * 2 - 1, atol=2e-7)
    if channels == 1 and kind is np.uint16:
        expected = np.where(samples == 0, np.nan, samples / 256)[:, :, 0]
        np.testing.assert_array_equal(open_field(path, DISPARITY), expected)
        np.testing.assert_allclose(
            open_field(path, Reading("depth", scale=1000.0, zero=False)), samples[:, :, 0] / 1000, rtol=1e-7
        )


def test_sintel_disparity_is_widened_before_it_is_multiplied(tmp_path: Path) -> None:
    """4 R of 8 bits wraps from 256 px on."""
    samples = np.array([[[64, 0, 0], [255, 63, 128], [0, 0, 0]]], dtype=np.uint8)
    field = open_field(saved(tmp_path, "a.png", png(samples)), Reading("disparity", sintel=True))
    np.testing.assert_array_equal(field, [[256.0, 1020 + 63 / 64 + 128 / 16384, np.nan]])


def test_normals_of_a_png(tmp_path: Path) -> None:
    samples = np.array([[[255, 0, 255], [0, 0, 0], [127, 128, 127], [255, 128, 128]]], dtype=np.uint8)
    field = open_field(saved(tmp_path, "a.png", png(samples)), NORMALS)
    np.testing.assert_allclose(field[0, 0], [1, -1, 1], atol=1e-6)
    assert np.isnan(field[0, 1:3]).all()
    np.testing.assert_allclose(field[0, 3], [1, 1 / 255, 1 / 255], atol=1e-6)


@pytest.mark.parametrize("kind", ["<f2", "<f4", ">f4", "<f8", "<i4", "<u2"])
def test_arrays_keep_their_values(tmp_path: Path, kind: str) -> None:
    values = RNG.integers(-300, 300, (4, 5, 2)).astype(np.float64)
    values = np.abs(values) if "u" in kind else values
    for name, array in (("last", values), ("first", np.moveaxis(values, 2, 0)), ("fortran", np.asfortranarray(values))):
        np.save(tmp_path / f"{name}.npy", array.astype(kind))
        field = open_field(str(tmp_path / f"{name}.npy"), FLOW)
        np.testing.assert_array_equal(field, values)
        assert field.dtype == (np.float64 if kind in ("<f8", "<i4") else np.float32)
    np.testing.assert_array_equal(open_field(pack_field(values.astype(kind)), FLOW), values)
    np.savez(tmp_path / "viper.npz", u=values[:, :, 0], v=values[:, :, 1])
    np.testing.assert_array_equal(open_field(str(tmp_path / "viper.npz"), FLOW), values)
    np.savez(tmp_path / "one.npz", flow=values)
    np.testing.assert_array_equal(open_field(str(tmp_path / "one.npz"), FLOW), values)
    assert field_digest(str(tmp_path / "one.npz")) != field_digest(str(tmp_path / "viper.npz"))


def test_viper_drops_large_values(tmp_path: Path) -> None:
    field = open_field(
        pack_field(np.array([[[1.0, 2.0], [513.0, 0.0]]])), Reading("flow", 2, limit=512.0, order="last")
    )
    np.testing.assert_array_equal(field, [[[1, 2], [np.nan, np.nan]]])


def test_spring(tmp_path: Path) -> None:
    import h5py

    values = RNG.normal(size=(4, 6, 2)).astype(np.float32)
    for name, data, reading in (("a.flo5", values, FLOW), ("a.dsp5", values[:, :, 0], DISPARITY)):
        with h5py.File(tmp_path / name, "w") as file:
            file["flow" if name.endswith("flo5") else "disparity"] = data
        np.testing.assert_array_equal(open_field(str(tmp_path / name), reading), data)
    with refuses("E-missing-data", "disparity"):
        (tmp_path / "b.dsp5").write_bytes((tmp_path / "a.flo5").read_bytes())
        open_field(str(tmp_path / "b.dsp5"), DISPARITY)


def test_round_trips(tmp_path: Path) -> None:
    flow = np.round(RNG.normal(0, 40, (6, 7, 2)) * 64) / 64
    flow[2, 3] = np.nan
    np.testing.assert_array_equal(open_field(saved(tmp_path, "a.png", kitti_flow(flow)), FLOW), flow)
    np.testing.assert_array_equal(open_field(saved(tmp_path, "a.flo", flo(flow)), FLOW), flow)
    three = np.dstack([flow, np.zeros(flow.shape[:2])])
    np.testing.assert_array_equal(open_field(saved(tmp_path, "a.pfm", pfm(three, little=False)), FLOW), flow)
    disparity = np.abs(flow[:, :, 0]) + 1
    np.testing.assert_array_equal(
        open_field(saved(tmp_path, "d.png", kitti_disparity(disparity)), DISPARITY), disparity
    )
    np.testing.assert_array_equal(
        open_field(saved(tmp_path, "d.dpt", flo(disparity)), Reading("depth")), disparity.astype(np.float32)
    )


GREY8, GREY16 = png(np.full((3, 4), 9, np.uint8)), png(np.full((3, 4), 9, np.uint16))
RGB8, RGB16 = png(np.full((3, 4, 3), 9, np.uint8)), png(np.full((3, 4, 3), 9, np.uint16))
WHOLE_FLO, WHOLE_PFM = flo(np.zeros((2, 3, 2))), pfm(np.zeros((2, 3)))


def bomb() -> bytes:
    """A PNG of 16000 x 16000 pixels in a few bytes."""
    small = png(np.zeros((1, 1), np.uint16))
    head = b"\x00\x00\x3e\x80\x00\x00\x3e\x80\x10\x00\x00\x00\x00"
    return small[:16] + head + zlib.crc32(b"IHDR" + head).to_bytes(4, "big") + small[33:]


@pytest.mark.parametrize(
    ("name", "data", "reading", "kind"),
    [
        ("a.png", GREY8, DISPARITY, InvalidFile),
        ("a.png", GREY8, Reading("depth"), InvalidFile),
        ("a.png", RGB8, FLOW, ShapeMismatch),
        ("a.png", GREY16, FLOW, ShapeMismatch),
        ("a.png", RGB16, DISPARITY, ShapeMismatch),
        ("a.png", RGB8, DISPARITY, ShapeMismatch),
        ("a.png", GREY16, Reading("disparity", sintel=True), ShapeMismatch),
        ("a.png", GREY16, NORMALS, ShapeMismatch),
        ("a.png", png(np.zeros((3, 4), np.uint8), colour=3), DISPARITY, InvalidFile),
        ("a.png", png(np.zeros((3, 4), np.uint16), interlaced=1), DISPARITY, InvalidFile),
        ("a.png", b"GIF89a", FLOW, InvalidFile),
        ("a.png", RGB16[:-20], FLOW, InvalidFile),
        ("a.png", bomb(), DISPARITY, InputError),
        ("a.flo", b"", FLOW, InvalidFile),
        ("a.flo", b"PIEX" + WHOLE_FLO[4:], FLOW, InvalidFile),
        ("a.flo", WHOLE_FLO[:-1], FLOW, InvalidFile),
        ("a.flo", WHOLE_FLO + b"\0", FLOW, InvalidFile),
        ("a.flo", WHOLE_FLO[:4] + b"\xff\xff\xff\xff\x02\0\0\0", FLOW, OutOfRange),
        ("a.flo", WHOLE_FLO[:4] + b"\xff\xff\xff\x7f\xff\xff\xff\x7f", FLOW, OutOfRange),
        ("a.flo", WHOLE_FLO, DISPARITY, ShapeMismatch),
        ("a.dpt", flo(np.zeros((2, 3))), FLOW, ShapeMismatch),
        ("a.pfm", b"P6\n3 2\n255\n", DISPARITY, InvalidFile),
        ("a.pfm", WHOLE_PFM[:-1], DISPARITY, InvalidFile),
        ("a.pfm", WHOLE_PFM + b"\0", DISPARITY, InvalidFile),
        ("a.pfm", WHOLE_PFM.replace(b"-1.0", b"zero"), DISPARITY, InvalidFile),
        ("a.pfm", WHOLE_PFM.replace(b"-1.0", b"0.00"), DISPARITY, InvalidFile),
        ("a.pfm", WHOLE_PFM.replace(b"-1.0", b"1e+-"), DISPARITY, InvalidFile),
        ("a.pfm", b"Pf\n99999999 99999999\n-1.0\n", DISPARITY, OutOfRange),
        ("a.pfm", WHOLE_PFM, FLOW, ShapeMismatch),
        ("a.pfm", pfm(np.zeros((2, 3, 3))), DISPARITY, ShapeMismatch),
        ("a.npy", b"\x93NUMPY", FLOW, InvalidFile),
        ("a.jpg", b"", FLOW, UnknownFormat),
        ("a.exr", b"", FLOW, UnknownFormat),
        ("a.mat", b"", FLOW, UnknownFormat),
        ("a.dsp5", b"HDF", DISPARITY, InputError),
    ],
)
def test_refused_files(tmp_path: Path, name: str, data: bytes, reading: Reading, kind: type[InputError]) -> None:
    path = saved(tmp_path, name, data)
    with pytest.raises(kind) as caught:
        open_field(path, reading)
    assert path in caught.value.where
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("array", "reading", "kind"),
    [
        (np.zeros((2, 2, 2)), FLOW, Conflict),
        (np.zeros((4, 5)), FLOW, ShapeMismatch),
        (np.zeros((4, 5, 3)), FLOW, ShapeMismatch),
        (np.zeros((4, 5, 2)), DISPARITY, ShapeMismatch),
        (np.zeros((0, 5)), DISPARITY, InvalidFile),
        (np.zeros((4, 5), complex), DISPARITY, InvalidNumber),
        (np.zeros((4, 5), bool), DISPARITY, InvalidNumber),
        (np.array([["a", "b"]]), DISPARITY, InvalidNumber),
        (np.zeros(5), DISPARITY, ShapeMismatch),
    ],
)
def test_refused_arrays(array: np.ndarray, reading: Reading, kind: type[InputError]) -> None:
    with pytest.raises(kind) as caught:
        as_field(array, reading, "here")
    assert caught.value.where == "here"


def test_channels_are_said_where_the_shape_does_not(tmp_path: Path) -> None:
    array = np.arange(8.0).reshape(2, 2, 2)
    np.testing.assert_array_equal(as_field(array, Reading("flow", 2, order="last"), ""), array)
    np.testing.assert_array_equal(as_field(array, Reading("flow", 2, order="first"), ""), np.moveaxis(array, 0, 2))
    np.testing.assert_array_equal(as_field(np.ones((1, 4, 5)), DISPARITY, ""), np.ones((4, 5)))


MASK = Reading("mask")


def test_masks_of_every_kind_of_file(tmp_path: Path) -> None:
    """Not 0 counts: in grey of 1 and of 8 bits, in any colour of 8 bits, and in the last of KITTI's three of 16.

    Alpha does not.
    """
    inside = np.array([[True, False], [False, True]])
    Image.fromarray(inside).save(tmp_path / "bits.png")
    colours, flow = np.zeros((2, 2, 3), np.uint8), np.full((2, 2, 3), 7, np.uint16)
    colours[:, :, 1] = inside
    flow[:, :, 2] = inside
    np.save(tmp_path / "first.npy", inside[np.newaxis])
    np.save(tmp_path / "last.npy", inside[:, :, np.newaxis])
    paths = [str(tmp_path / name) for name in ("bits.png", "first.npy", "last.npy")]
    opaque = np.full((2, 2, 1), 255, np.uint8)
    kinds = {"grey": inside.astype(np.uint8), "rgb": colours, "kitti": flow, "rgba": np.dstack([colours, opaque])}
    kinds["grey with alpha"] = np.dstack([inside.astype(np.uint8), opaque])
    for name, samples in ((f"{kind}.png", samples) for kind, samples in kinds.items()):
        paths.append(saved(tmp_path, name, png(samples)))
    for path in paths:
        np.testing.assert_array_equal(open_field(path, MASK) != 0, inside, err_msg=path)


def test_fields_inside_files_of_numpy(tmp_path: Path) -> None:
    """A place of an array of several, both parts of a flow by name, and the array of the kind among others."""
    u, v = np.arange(6.0).reshape(2, 3), np.arange(6.0, 12).reshape(2, 3)
    np.save(tmp_path / "both.npy", np.stack([u, v]))
    np.savez(tmp_path / "flow.npz", u=u, v=v, other=np.zeros(4))
    np.savez(tmp_path / "one.npz", disparity=v, other=u)
    np.savez(tmp_path / "unlike.npz", u=u, v=v[:1])
    np.testing.assert_array_equal(open_field(f"{tmp_path / 'both.npy'}::1", DISPARITY), v)
    np.testing.assert_array_equal(open_field(str(tmp_path / "flow.npz"), FLOW), np.dstack([u, v]))
    np.testing.assert_array_equal(open_field(str(tmp_path / "one.npz"), DISPARITY), v)
    np.testing.assert_array_equal(open_field(f"{tmp_path / 'one.npz'}::other", DISPARITY), u)
    with refuses("E-shape-mismatch", "unlike.npz", "2×3", "1×3"):
        open_field(str(tmp_path / "unlike.npz"), FLOW)
    with refuses("E-invalid-file", "flow.npz"):
        open_field(str(tmp_path / "flow.npz"), DISPARITY)

"""Maps and volumes that few programs write, and folders of them: whole grids, or a whole message."""

from __future__ import annotations

import gzip
import struct
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.read_help import write
from support.refusal import refused, refuses

import steelyard as sy
from steelyard.core import catalogue
from steelyard.io.dialect import reading_notes
from steelyard.io.sources import read_side
from steelyard.maps.load import as_grid, load_volume, open_map
from steelyard.maps.metaimage import meta_volume
from steelyard.maps.nifti import nifti_volume
from steelyard.maps.nrrd import nrrd_volume
from steelyard.maps.png import png_cells, png_file
from steelyard.maps.scores import ScoreRules
from steelyard.maps.tiff import tiff_pages

GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(width: int, bits: int, colour: int, rows: bytes, interlaced: int = 1) -> bytes:
    """A PNG of height 1. Interlaced, its second pixel is a row of its own."""
    head = struct.pack(">IIBBBBB", width, 1, bits, colour, 0, 0, interlaced)
    palette = chunk(b"PLTE", bytes(12)) if colour == PALETTE else b""
    parts = chunk(b"IHDR", head) + palette + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


INTERLACED: dict[str, tuple[bytes, list[list[int]]]] = {
    "grey of 1 bit": (png(2, 1, GREY, b"\0\x80\0\0"), [[1, 0]]),
    "grey of 2 bits": (png(2, 2, GREY, b"\0\xc0\0\x40"), [[3, 1]]),
    "grey of 4 bits": (png(2, 4, GREY, b"\0\xf0\0\x20"), [[15, 2]]),
    "grey of 8 bits": (png(2, 8, GREY, b"\0\5\0\7"), [[5, 7]]),
    "grey of 16 bits": (png(2, 16, GREY, b"\0\1\5\0\0\7"), [[261, 7]]),
    "palette of 2 bits": (png(2, 2, PALETTE, b"\0\xc0\0\x40"), [[3, 1]]),
    "colours": (png(2, 8, RGB, b"\0\1\2\3\0\4\5\6"), [[1 + 2 * 256 + 3 * 65536, 4 + 5 * 256 + 6 * 65536]]),
    "opaque colours": (png(1, 8, RGBA, b"\0\1\2\3\xff"), [[1 + 2 * 256 + 3 * 65536]]),
    "opaque grey": (png(1, 8, GREY_ALPHA, b"\0\5\xff"), [[5]]),
}


@pytest.mark.parametrize("name", INTERLACED)
def test_interlaced_files_give_their_values(name: str) -> None:
    """As plain files do: grey of 2 bits has the values 0 to 3, not 0 to 255."""
    data, expected = INTERLACED[name]
    assert png_file(data, "a.png").map().tolist() == expected


def test_png_files_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = "a.png: has colours of 16 bits. Write a PNG of 8 bits per channel."
    for data, message in (
        (png(1, 16, RGB, b"\0\0\1\0\2\0\3", 0), ("E-invalid-file", str(deep))),
        (png(1, 16, RGBA, b"\0\0\1\0\2\0\3\xff\xff", 0), ("E-invalid-file", str(deep))),
        (png(1, 8, RGBA, b"\0\1\2\3\x10"), ("E-invalid-file", "a.png")),
        (png(1, 8, GREY_ALPHA, b"\0\1\x10"), ("E-invalid-file", "a.png")),
    ):
        with refuses(*message):
            png_file(data, "a.png").map()
    monkeypatch.setitem(sys.modules, "PIL", None)
    with refuses("E-not-installed", "a.png"):
        png_file(INTERLACED["colours"][0], "a.png").map()


def test_cells_of_an_interlaced_and_a_plain_file() -> None:
    one = png_file(INTERLACED["grey of 2 bits"][0], "a.png")
    two = png_file(png(2, 8, GREY, b"\0\x09\x08", 0), "b.png")
    pairs = sorted(zip(*(column.tolist() for column in png_cells(one, two)), strict=True))
    assert pairs == [(1, 8, 1), (3, 9, 1)]


def test_true_of_an_image_of_one_bit_is_label_1() -> None:
    """Pillow stores True as the byte 255."""
    grid = as_grid(np.asarray(Image.fromarray(np.array([[True, False]]))), "x")
    assert (grid.dtype, grid.tolist()) == (np.uint8, [[1, 0]])


def test_maps_that_are_no_maps() -> None:
    with refuses("E-unknown-format", "a/b.jpg"):
        open_map("a/b.jpg")
    with refuses("E-unknown-format", "a/b.bmp", "'.bmp'"):
        open_map("a/b.bmp")
    with refuses("E-invalid-file", "a packed map"):
        open_map(b"no runs")
    grid = as_grid(np.array([[True, False]]), "x")
    assert (grid.dtype, grid.tolist()) == (np.uint8, [[1, 0]])


def nifti2(shape: tuple[int, ...], voxels: bytes, **more: Any) -> bytes:
    """A NIfTI-2 file of bytes, with a quaternion where it is given."""
    head = bytearray(540)
    struct.pack_into("<i", head, 0, 540)
    head[4:12] = b"n+2\0\r\n\x1a\n"
    struct.pack_into("<h", head, 12, 2)
    struct.pack_into("<8q", head, 16, len(shape), *shape, *[1] * (7 - len(shape)))
    struct.pack_into("<8d", head, 104, more.get("sign", 1.0), 2.0, 3.0, 4.0, 1.0, 1.0, 1.0, 1.0)
    struct.pack_into("<q", head, 168, 544)
    struct.pack_into("<2d", head, 176, more.get("slope", 1.0), 0.0)
    struct.pack_into("<2i", head, 344, int("quatern" in more), 0)
    struct.pack_into("<6d", head, 352, *more.get("quatern", (0.0,) * 6))
    return bytes(head) + bytes(4) + voxels


def test_the_second_version_of_nifti() -> None:
    """Axes of length 1 behind the third are none; the fastest axis is the last of the grid."""
    volume = nifti_volume(nifti2((3, 1, 2, 1, 1), bytes(range(6))), "a.nii")
    assert volume.grid.tolist() == [[[0, 1, 2]], [[3, 4, 5]]]
    assert volume.spacing == (4.0, 3.0, 2.0)
    assert volume.affine is None
    assert nifti_volume(nifti2((1, 1, 1, 1, 2), bytes([3, 4])), "a.nii").grid.tolist() == [[[[3]]], [[[4]]]]
    with refuses("E-shape-mismatch", "a.nii", "5", "1"):
        nifti_volume(nifti2((1, 1, 1, 2, 2), bytes(4)), "a.nii")
    doubled = nifti_volume(nifti2((2, 1, 1), bytes([1, 2]), slope=2.0), "a.nii")
    assert doubled.grid.tolist() == [[[2.0, 4.0]]]


@pytest.mark.parametrize(("sign", "last"), [(1.0, 4.0), (-1.0, -4.0)])
def test_a_place_by_a_quaternion(sign: float, last: float) -> None:
    """A half turn about z: x and y change their signs, and z is turned by the sign of the first size."""
    volume = nifti_volume(nifti2((1, 1, 1), bytes(1), sign=sign, quatern=(0.0, 0.0, 1.0, 10.0, 20.0, 30.0)), "a.nii")
    assert volume.affine is not None
    assert volume.affine.tolist() == [[-2, 0, 0, 10], [0, -3, 0, 20], [0, 0, last, 30], [0, 0, 0, 1]]


def ids(path: Path) -> list[str]:
    names: list[str] = read_side(catalogue.find_task("segmentation"), path, {}, "truth")["image"].tolist()
    return names


def test_folders_of_maps(tmp_path: Path) -> None:
    """Hidden files say nothing; of Cityscapes' files those of labels are taken where others lie beside them."""
    write(tmp_path, {"a/x.png": "", "a/.y.png": "", "a/b/z.npy": ""})
    assert ids(tmp_path / "a") == ["b/z", "x"]
    write(tmp_path, {"c/x_labelIds.png": "", "c/x_instanceIds.png": "", "d/x_labelIds.png": ""})
    assert ids(tmp_path / "c") == ["x_labelIds"]
    assert ids(tmp_path / "d") == ["x_labelIds"]
    write(tmp_path, {"e/x.png": "", "e/x.npy": "", "f/x.JPG": "", "g/x.txt": ""})
    for name, message in (
        ("e", "{}: 'x' stands there as several files (.npy, .png). Keep one of them."),
        ("f", "{}/x.JPG: JPEG changes labels. Write PNG."),
        ("g", "{}: no file ends in .png, .npy, .npz, .tif, .tiff. Is it the right folder?"),
    ):
        folder = tmp_path / name
        assert refused(lambda folder=folder: ids(folder)).replace("\\", "/") == message.format(folder.as_posix())


@pytest.mark.parametrize(("task", "ending", "key"), [("segmentation", "png", "image"), ("volumes", "nii.gz", "case")])
@pytest.mark.parametrize("name", ["probabilities", "softmax"])
def test_scores_of_nnunet_beside_label_maps_are_ignored_with_a_note(
    task: str, ending: str, key: str, name: str, tmp_path: Path
) -> None:
    """`case.npz` and `case.pkl` beside `case.nii.gz`, as --npz and --save_probabilities write them."""
    for case in ("a", "b", "c"):
        write(tmp_path, {f"{case}.{ending}": "", f"{case}.pkl": ""})
        if case != "c":
            np.savez_compressed(tmp_path / f"{case}.npz", **{name: np.zeros((2, 1, 1), np.float16)})
    with reading_notes() as notes:
        records = read_side(catalogue.find_task(task), tmp_path, {}, "prediction")
    assert records[key].tolist() == ["a", "b", "c"]
    assert all(file.endswith(ending) for file in records["map"])
    said = "class probabilities beside a label map of the same name are ignored."
    assert notes == [f"{tmp_path}: a.npz and 1 other: {said}"]


def test_other_arrays_beside_label_maps_are_refused(tmp_path: Path) -> None:
    """An .npz of labels may be the map that is meant."""
    write(tmp_path, {"a.png": ""})
    np.savez_compressed(tmp_path / "a.npz", labels=np.zeros((1, 1), np.uint8))
    with refuses("E-duplicate-key", "'a'", "npz", "png"):
        ids(tmp_path)


def test_a_suffix_in_other_letters(tmp_path: Path) -> None:
    """A name ends in the suffix to the letter."""
    grid = np.zeros((1, 1), np.uint8)
    for name in ("x_mask", "y_MASK"):
        (tmp_path / "t").mkdir(exist_ok=True)
        np.save(tmp_path / "t" / f"{name}.npy", grid)
    np.save(tmp_path / "p.npy", grid[None])
    message = refused(
        lambda: sy.evaluate(
            "segmentation", tmp_path / "t", {"image": ["z"], "map": [grid]}, options={"suffix": "_mask"}
        )
    )
    assert "'x'" in message
    assert "y" not in message.partition("'x'")[2].partition(".")[0]


def test_files_of_numpy_and_tables_without_maps(tmp_path: Path) -> None:
    task = catalogue.find_task("segmentation")
    write(tmp_path, {"a.npz": "no archive", "t.csv": "image,maps\na,b\n", "e.csv": "image,map\n"})
    with refuses("E-unreadable-file", str(tmp_path / "a.npz")):
        ids(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as packed:
        packed.writestr("x.npy", b"")
        packed.writestr("w.npy", b"")
    assert ids(tmp_path / "b.npz") == ["w", "x"]
    with refuses("E-missing-column", str(tmp_path / "t.csv"), "'map'"):
        read_side(task, tmp_path / "t.csv", {}, "truth")
    with refuses("E-empty-input", str(tmp_path / "e.csv"), "maps"):
        sy.evaluate("segmentation", tmp_path / "e.csv", {"image": ["a"], "map": [[[1]]]})


def mha(*lines: str, voxels: bytes = bytes(range(8)), name: str = "LOCAL") -> bytes:
    """A MetaImage of 2×2×2 bytes; lines of the same field replace those of the header."""
    fields = {"ObjectType": "Image", "NDims": "3", "DimSize": "2 2 2", "ElementType": "MET_UCHAR"}
    fields |= dict(line.split(" = ") for line in lines)
    return "".join(f"{key} = {value}\n" for key, value in fields.items()).encode() + (
        f"ElementDataFile = {name}\n".encode() + voxels
    )


def meta(data: bytes) -> Any:
    return meta_volume(data, "a.mha", lambda name: (bytes(3) + bytes(range(8)), name))


CUBE = np.arange(8, dtype=np.uint8).reshape(2, 2, 2).tolist()


def test_where_the_voxels_of_a_metaimage_begin() -> None:
    """Behind so many bytes of their file, or with -1 so that they end with it; without a spacing nothing is known."""
    for lines, voxels in (((), bytes(range(8))), (("HeaderSize = 3",), bytes(3) + bytes(range(8)))):
        volume = meta(mha(*lines, voxels=voxels))
        assert (volume.grid.tolist(), volume.spacing) == (CUBE, None)
    assert meta(mha("HeaderSize = -1", name="a.raw", voxels=b"")).grid.tolist() == CUBE
    packed = meta(mha("CompressedData = True", "HeaderSize = 2", voxels=b"ab" + zlib.compress(bytes(range(8)))))
    assert packed.grid.tolist() == CUBE


def test_axes_of_a_metaimage_in_space() -> None:
    """Its rows are the axes' directions in left, posterior, superior: x and y change their signs."""
    turn = "TransformMatrix = 0 1 0 -1 0 0 0 0 1"
    volume = meta(mha("ElementSpacing = 2 3 4", turn, "Offset = 10 20 30"))
    assert volume.spacing == (4.0, 3.0, 2.0)
    assert volume.affine.tolist() == [[0, 3, 0, -10], [-2, 0, 0, -20], [0, 0, 4, 30], [0, 0, 0, 1]]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        *((f"HeaderSize = {size}", "E-invalid-file") for size in ("inf", "nan", "1.5", "-2", "x", "1e3")),
        ("HeaderSize = 9", "E-invalid-file"),
        ("NDims = 2", "E-shape-mismatch"),
        ("DimSize = 2 0 2", "E-invalid-file"),
        ("DimSize = 999999 999999 2", "E-out-of-range"),
        ("ElementType = MET_STRING", "E-invalid-file"),
        ("ElementSpacing = 1 1", "E-shape-mismatch"),
        ("ElementSpacing = 1 x 1", "E-invalid-file"),
        ("BinaryData = False", "E-invalid-file"),
        ("BinaryDataByteOrderMSB = maybe", "E-invalid-file"),
        ("CompressedData = True", "E-unreadable-file"),
    ],
)
def test_metaimages_that_are_refused(line: str, code: str) -> None:
    with refuses(code, "a.mha"):
        meta(mha(line))


def test_a_metaimage_says_nothing_twice() -> None:
    with refuses("E-duplicate-key", "a.mha", "'NDims'"):
        meta(mha().replace(b"NDims = 3\n", b"NDims = 3\nNDims = 3\n"))


def nrrd(*lines: str, voxels: bytes = bytes(range(8))) -> bytes:
    """An NRRD of 2×2×2 bytes; lines of the same field replace those of the header."""
    fields = {"type": "uchar", "dimension": "3", "sizes": "2 2 2", "encoding": "raw"}
    fields |= dict(line.split(": ") for line in lines)
    return b"NRRD0004\n" + "".join(f"{key}: {value}\n" for key, value in fields.items()).encode() + b"\n" + voxels


def read_nrrd(data: bytes) -> Any:
    return nrrd_volume(data, "a.nrrd", lambda name: (b"", name))


def test_where_the_voxels_of_an_nrrd_begin() -> None:
    """Lines are skipped before bytes; -1 is the end of the file less the voxels. Bytes of gzip count unpacked."""
    voxels = bytes(range(8))
    for lines, data in (
        (("line skip: 2", "byte skip: 1"), b"one\ntwo\n?" + voxels),
        (("byte skip: -1",), b"anything" + voxels),
        (("encoding: gzip", "byte skip: 3"), gzip.compress(b"abc" + voxels)),
    ):
        assert read_nrrd(nrrd(*lines, voxels=data)).grid.tolist() == CUBE, lines


def test_units_and_signs_of_an_nrrd() -> None:
    """Spacings of cm and of an unknown unit; a space that counts to the left and to the back changes x and y."""
    plain = read_nrrd(nrrd('units: "cm" "mm" "foot"', "spacings: 1 -2 3"))
    assert (plain.spacing, list(plain.remarks)) == ((3.0, 2.0, 10.0), ["units"])
    directions = "space directions: (2,0,0) (0,3,0) (0,0,4)"
    placed = read_nrrd(nrrd("space: left-posterior-superior", directions, "space origin: (10,20,30)"))
    assert placed.affine.tolist() == [[-2, 0, 0, -10], [0, -3, 0, -20], [0, 0, 4, 30], [0, 0, 0, 1]]
    assert placed.spacing == (4.0, 3.0, 2.0)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (("sizes: 2 2",), "E-shape-mismatch"),
        (("sizes: 2 0 2",), "E-out-of-range"),
        (("type: block",), "E-invalid-file"),
        (("encoding: bzip2",), "E-invalid-file"),
        (("type: short", "endian: middle"), "E-invalid-file"),
        (("line skip: 5",), "E-invalid-file"),
        (("byte skip: -2",), "E-invalid-file"),
        (("encoding: gzip", "byte skip: -1"), "E-invalid-file"),
        (("spacings: 1 2",), "E-invalid-file"),
        (("space directions: (1,0,0) (0,1) (0,0,1)",), "E-invalid-file"),
        (("space directions: (1,0,0) (0,1,0) (0,0,x)",), "E-invalid-file"),
        (("space directions: (1,0,0) (0,1,0) (0,0,nan)",), "E-invalid-file"),
        (("space: RAS", "space directions: (1,0,0) (0,1,0) (0,0,1)", "space origin: (1,2)"), "E-invalid-file"),
        (("space: RAS", "space directions: (1,0,0) (0,1,0) (0,0,1)", "space origin: (1,2,nan)"), "E-invalid-number"),
    ],
)
def test_nrrds_that_are_refused(lines: tuple[str, ...], code: str) -> None:
    with refuses(code, "a.nrrd"):
        read_nrrd(nrrd(*lines))


@pytest.mark.parametrize("kind", [np.uint64, np.int64, np.uint8, np.bool_, np.float16])
def test_one_hot_channels_of_any_type_are_labels(tmp_path: Path, kind: Any) -> None:
    """Channels that cover every voxel are labels from 0."""
    labels = np.array([[[0, 2], [1, 1]]])
    np.save(tmp_path / "a.npy", np.stack([labels == label for label in range(3)]).astype(kind))
    assert load_volume(str(tmp_path / "a.npy")).grid.tolist() == labels.tolist()


def test_arrays_without_channels_hold_nothing(tmp_path: Path) -> None:
    """No channels are not background everywhere."""
    np.save(tmp_path / "a.npy", np.zeros((0, 2, 2, 2), np.uint8))
    with refuses("E-invalid-file", "a.npy"):
        load_volume(str(tmp_path / "a.npy"))
    for shape in ((0, 2, 2), (3, 0, 2)):
        with refuses("E-invalid-file", "a map"):
            ScoreRules().prediction(np.zeros(shape), "a map")


def tiff(body: bytes = bytes([1, 2, 3, 4]), following: int = 0, **tags: int) -> bytes:
    """A TIFF of 2×2 bytes in one strip; `t259=5` sets tag 259. `following` is where it says that the next page is."""
    fields = {256: 2, 257: 2, 258: 8, 259: 1, 262: 1, 273: 8, 277: 1, 278: 2, 279: len(body)}
    fields |= {int(name[1:]): value for name, value in tags.items()}
    table = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in sorted(fields.items()))
    head = b"II*\0" + struct.pack("<I", 8 + len(body))
    return head + body + struct.pack("<H", len(fields)) + table + struct.pack("<I", following)


def test_packings_and_colours_of_tiffs() -> None:
    """Runs of PackBits: 128 does nothing, 1 is two bytes as they are, 255 is a byte twice. Colours are one number."""
    runs = bytes([128, 1, 7, 8, 255, 9])
    for data, expected in (
        (tiff(runs, t259=32773), [[7, 8], [9, 9]]),
        (tiff(bytes([0x80, 0x40]), t258=1), [[1, 0], [0, 1]]),
        (tiff(bytes(range(12)), t262=2, t277=3), [[0x020100, 0x050403], [0x080706, 0x0B0A09]]),
        (tiff(bytes([1, 2, 3, 255] * 4), t262=2, t277=4), [[0x030201] * 2] * 2),
    ):
        (page,), _ = tiff_pages(data, "a.tif")
        assert page.tolist() == expected


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (tiff(following=12), "E-invalid-file"),
        (tiff(following=4000), "E-invalid-file"),
        (tiff(t254=1), "E-empty-input"),
        (tiff(t256=0), "E-out-of-range"),
        (tiff(t277=0), "E-shape-mismatch"),
        (tiff(t277=2), "E-shape-mismatch"),
        (tiff(bytes(16), t262=2, t277=4), "E-invalid-file"),
        (tiff(t258=12), "E-invalid-file"),
        (tiff(t262=0), "E-invalid-file"),
        (tiff(t262=6), "E-invalid-file"),
        (tiff(t266=2), "E-invalid-file"),
        (tiff(t317=3), "E-invalid-file"),
        (tiff(t273=4000), "E-invalid-file"),
        (tiff(t279=3), "E-invalid-file"),
        (tiff(t278=1), "E-invalid-file"),
        (tiff(t322=0, t323=0, t324=8, t325=4), "E-shape-mismatch"),
        (tiff(t259=7), "E-invalid-file"),
        (tiff(t259=50000), "E-invalid-file"),
        (tiff(t259=8), "E-unreadable-file"),
        (tiff(t256=1 << 15, t257=1 << 15, t259=8), "E-too-large"),
    ],
)
def test_tiffs_that_are_refused(data: bytes, code: str) -> None:
    with refuses(code, "a.tif"):
        tiff_pages(data, "a.tif")

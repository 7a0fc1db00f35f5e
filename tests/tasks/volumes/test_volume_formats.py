"""Volumes from every format: values, spacing and place as the packages that write such files read them; file names."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.paths import TESTS
from support.refusal import refused
from test_volumes import nifti

import steelyard as sy
from steelyard.maps.load import load_volume, map_digest
from steelyard.maps.png import png_file
from steelyard.scale import evaluate_shards

GOLDENS = json.loads((TESTS / "goldens" / "volume_formats.json").read_text(encoding="utf-8"))
FACTS: dict[str, Any] = GOLDENS["facts"]
ITK = [name for name in FACTS if name.startswith("itk")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("formats")
    for name, data in GOLDENS["files"].items():
        (path / name).write_bytes(base64.b64decode(data))
    return path


def evaluate(truth: Any, prediction: Any, metrics: Any = ("dice",), **options: Any) -> sy.Report:
    return sy.evaluate("volumes", truth, prediction, list(metrics), options=options, confidence=None)


def value(truth: Any, prediction: Any, metric: str = "dice", **options: Any) -> float:
    return float(evaluate(truth, prediction, [metric], **options)[metric].value)


@pytest.mark.parametrize("name", FACTS)
def test_files_are_read_as_their_own_packages_read_them(name: str, folder: Path) -> None:
    volume, facts = load_volume(str(folder / name)), FACTS[name]
    assert volume.grid.tolist() == facts["grid"]
    if facts["spacing"] is None:
        assert volume.spacing is None
    else:
        np.testing.assert_allclose(volume.spacing, facts["spacing"], rtol=1e-6)
    if facts["affine"] is not None:
        assert volume.affine is not None
        np.testing.assert_allclose(volume.affine, facts["affine"], atol=1e-5)


@pytest.mark.parametrize("name", ITK)
def test_two_single_files_of_any_two_formats(name: str, folder: Path) -> None:
    """The same image of ITK in another format lies at the same place; the case has the name of the truth."""
    report = evaluate(folder / "itk.nii.gz", folder / name, ["dice", "hd"])
    assert [score.value for score in report.scores.values()] == [1.0, 0.0]
    assert report.units().units.tolist() == ["itk"]


def test_a_data_file_beside_a_header_counts_in_the_digest(folder: Path, tmp_path: Path) -> None:
    header, data = (folder / "itk.mhd").read_bytes(), (folder / "itk.raw").read_bytes()
    (tmp_path / "itk.mhd").write_bytes(header)
    sums = []
    for content in (data, data[::-1]):
        (tmp_path / "itk.raw").write_bytes(content)
        sums.append(map_digest(str(tmp_path / "itk.mhd")))
    assert sums[0] != sums[1]


CUBE = np.zeros((4, 5, 4), np.uint8)  # z, y, x
CUBE[0, :2] = 1


def test_arrays_are_z_y_x_and_a_reversed_one_is_noticed(tmp_path: Path) -> None:
    """An array as nibabel gives it is x, y, z: 8 voxels on each side, 2 of them shared as it is read."""
    nifti(tmp_path / "t" / "a.nii", CUBE)
    (tmp_path / "p").mkdir()
    np.save(tmp_path / "p" / "a.npy", CUBE)
    assert value(tmp_path / "t", tmp_path / "p") == 1.0
    np.save(tmp_path / "p" / "a.npy", CUBE.T)
    report = evaluate(tmp_path / "t", tmp_path / "p")
    assert report["dice"].value == 2 * 2 / 16
    assert any("prediction.axes=xyz" in note and "1.00 instead of 0.25" in note for note in report.notes)
    turned = evaluate(tmp_path / "t", tmp_path / "p", **{"prediction.axes": "xyz"})
    assert turned["dice"].value == 1.0
    assert not any("axes" in note for note in turned.notes)


def test_other_shapes_name_the_order_of_the_axes(tmp_path: Path) -> None:
    nifti(tmp_path / "t" / "a.nii", CUBE[:3])
    (tmp_path / "p").mkdir()
    np.save(tmp_path / "p" / "a.npy", CUBE[:3].T)
    message = refused(lambda: evaluate(tmp_path / "t", tmp_path / "p"))
    assert "3×5×4 voxels" in message
    assert "has 4×5×3 (z×y×x)" in message
    assert message.endswith("Their axes are in opposite orders: set the option `prediction.axes=xyz`.")
    assert value(tmp_path / "t", tmp_path / "p", **{"prediction.axes": "xyz"}) == 1.0


def test_the_spacing_of_an_array_is_of_its_own_axes() -> None:
    """Two voxels one step apart along x, which is 3 mm wide: the first axis of an array x, y, z."""
    sides = np.zeros((2, 1, 4, 2, 2), np.uint8)
    sides[0, 0, 1], sides[1, 0, 2] = 1, 1
    assert value(*sides, "hd(surface=voxels)", axes="xyz", spacing="3,1,1") == 3.0


def two_voxels(path: Path, header: dict[int, bytes]) -> None:
    """A truth and a prediction with one voxel each, one step apart along x; some bytes of their headers are changed."""
    for side, x in (("t", 1), ("p", 2)):
        grid = np.zeros((2, 3, 4), np.uint8)
        grid[0, 0, x] = 1
        nifti(path / side / "a.nii", grid, kind="<u1", code=2)
        data = bytearray((path / side / "a.nii").read_bytes())
        for at, part in header.items():
            data[at : at + len(part)] = part
        (path / side / "a.nii").write_bytes(data)


SFORM = struct.pack("<12f", 2.5, 0, 0, 0, 0, 2.5, 0, 0, 0, 0, 2.5, 0)
QFORM = struct.pack("<2h6f", 1, 0, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("header", "distance"),
    [
        ({}, 1.0),
        ({280: SFORM}, 2.5),
        ({280: SFORM, 123: b"\3"}, 0.0025),
        ({280: SFORM, 123: b"\1"}, 2500.0),
        ({252: QFORM, 280: SFORM, 80: struct.pack("<f", 1.5)}, 1.5),
        ({252: struct.pack("<2h", 0, 0), 280: SFORM}, 1.0),
        ({252: struct.pack("<2h", 0, 0), 123: b"\3"}, 0.001),
    ],
    ids=["pixdim", "sform", "micron", "meter", "qform", "no code", "pixdim in micron"],
)
def test_distances_are_in_mm_by_the_affine_in_use(header: dict[int, bytes], distance: float, tmp_path: Path) -> None:
    two_voxels(tmp_path, header)
    report = evaluate(tmp_path / "t", tmp_path / "p", ["hd(surface=voxels)"])
    assert report["hd(surface=voxels)"].value == pytest.approx(distance, rel=1e-12)
    differs = [note for note in report.notes if "spacing-differs" in note]
    assert bool(differs) == (280 in header and 252 not in header)
    if differs:
        assert "the sform counts" in differs[0]


def test_axes_that_are_not_perpendicular_and_unknown_units_are_said(tmp_path: Path) -> None:
    two_voxels(tmp_path, {280: struct.pack("<12f", 1, 0.5, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0)})
    findings = sy.check("volumes", tmp_path / "t", tmp_path / "p").findings
    examples = [example for finding in findings if finding.code == "spacing-differs" for example in finding.examples]
    assert any("not perpendicular" in example for example in examples)
    two_voxels(tmp_path, {123: b"\5"})
    assert any("code 5" in note and "mm is assumed" in note for note in evaluate(tmp_path / "t", tmp_path / "p").notes)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({108: struct.pack("<f", np.nan)}, "vox_offset is nan, and voxels begin at byte 352 or later"),
        ({108: struct.pack("<f", np.inf)}, "vox_offset is inf"),
        ({108: struct.pack("<f", 0)}, "vox_offset is 0"),
        ({108: struct.pack("<f", 340)}, "vox_offset is 340"),
        ({108: struct.pack("<f", 352.5)}, "vox_offset is 352.5"),
        ({108: struct.pack("<f", 1e30)}, "vox_offset is 1e+30"),
        ({344: b"junk"}, "the magic bytes of the header are 'junk', not those of NIfTI"),
        ({344: b"\0\0\0\0"}, "the magic bytes of the header are ''"),
        ({344: b"n+2\0"}, "the magic bytes of the header are 'n+2'"),
        ({344: b"ni1\0"}, "is the header of a pair, without voxels"),
        ({280: struct.pack("<f", np.nan)}, "the sform holds a number that is not finite"),
        ({252: QFORM, 256: struct.pack("<f", np.nan)}, "the qform holds a number that is not finite"),
        ({112: struct.pack("<2f", np.inf, 0)}, "scl_slope is inf"),
        ({40: struct.pack("<2h", 1, 24)}, "has one axis"),
    ],
)  # fmt: skip
def test_headers_that_are_refused(header: dict[int, bytes], message: str, tmp_path: Path) -> None:
    two_voxels(tmp_path, header)
    assert message in refused(lambda: evaluate(tmp_path / "t", tmp_path / "p"))


def test_a_scale_of_nan_is_none(tmp_path: Path) -> None:
    """As nibabel and the library of NIfTI take it."""
    two_voxels(tmp_path, {112: struct.pack("<2f", np.nan, np.nan)})
    assert value(tmp_path / "t", tmp_path / "p") == 0.0


def one_hot(grid: Any, labels: int) -> Any:
    return np.stack([grid == label for label in range(labels)]).astype(np.uint8)


LABELS = np.array([[[0, 1, 2], [2, 1, 0]], [[0, 0, 1], [1, 2, 2]]], np.uint8)


def test_channels_become_labels(tmp_path: Path) -> None:
    """One-hot channels with and without background, probabilities of a prediction: all are the same labels."""
    channels = one_hot(LABELS, 3)
    probable = channels * 0.8 + (1 - channels) * 0.1
    (tmp_path / "p").mkdir()
    np.save(tmp_path / "p" / "a.npy", channels)
    for given in (channels, channels[1:], probable, channels.astype(bool), channels[1:].astype(np.float32)):
        report = evaluate([LABELS], [given])
        assert report["dice"].value == 1.0
        assert any("channels" in note for note in report.notes)
        np.save(tmp_path / "p" / "a.npy", given)
        report = evaluate({"case": ["a"], "map": [LABELS]}, tmp_path / "p")
        assert report["dice"].value == 1.0
        assert any("channels-as-labels" in note for note in report.notes)
    assert value([channels], [channels[1:]]) == 1.0
    assert value([LABELS[None]], [LABELS]) == 1.0  # a channel axis of 1


def test_channels_that_are_refused() -> None:
    channels = one_hot(LABELS, 3).astype(float)
    nan = channels.copy()
    nan[1, 0, 0, 0] = np.nan
    both = channels.copy()
    both[1] = 1
    for sides, message in (
        (([channels * 0.9 + 0.1 / 3], [LABELS]), "are probabilities, and a truth holds labels"),
        (([LABELS], [channels * 5 - 2]), "neither one-hot nor probabilities that add up to 1"),
        (([LABELS], [nan]), "channel 1 holds numbers that are not finite"),
        (([LABELS], [both]), "voxels belong to several of its 3 channels"),
        (([LABELS], [np.repeat(channels, 100, axis=0)]), "has 300 channels"),
    ):
        assert message in refused(lambda sides=sides: evaluate(*sides))


SHAPES: list[tuple[tuple[int, ...], str]] = [
    ((), "the maps have shape"),
    ((2,), "the maps have shape 2"),
    ((2, 3), "the maps have shape 2×3"),
    ((2, 3, 4), ""),
    ((2, 3, 4, 5), ""),
    ((2, 1, 3, 4, 5), ""),
    ((2, 3, 4, 5, 6), "its 3 channels are neither one-hot nor probabilities"),
    ((2, 1, 3, 4, 5, 6), "a volume of shape 1×3×4×5×6"),
]


@pytest.mark.parametrize(("shape", "message"), SHAPES, ids=[str(shape) for shape, _ in SHAPES])
@pytest.mark.parametrize("form", ["array", "list", "mapping", "npy", "npz"])
def test_one_axis_more_and_one_less(shape: tuple[int, ...], message: str, form: str, tmp_path: Path) -> None:
    """Every way to give arrays, with every number of axes: a score of 1, or one sentence."""
    array = np.full(shape, 2, np.uint8)
    given: Any = array
    if form == "list" and shape:
        given = list(array)
    elif form == "mapping":
        given = {"case": range(len(array)) if shape else [0], "map": array}
    elif form == "npy":
        given = tmp_path / "a.npy"
        np.save(given, array)
    elif form == "npz":
        given = tmp_path / "a.npz"
        np.savez(given, **{str(i): one for i, one in enumerate(array)} if shape else {"0": array})
    if not message:
        report = evaluate(given, given)
        assert report["dice"].value == 1.0
        flat = len(shape) == 3 and form in ("array", "npy")
        assert any("is taken as 2 cases of 3×4; one volume is 1×2×3×4" in note for note in report.notes) == flat
        return
    text = refused(lambda: evaluate(given, given))
    assert len(text) < 300
    if form == "array":
        assert message in text


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.full((1, 2, 2), np.nan), "nan"),
        (np.full((1, 2, 2), np.inf), "inf"),
        (np.full((1, 2, 2), 0.5), "0.5"),
        (np.full((1, 2, 2), -1), "-1 is out of range"),
        (np.full((1, 2, 2), 1 << 40), "out of range"),
        (np.full((1, 2, 2), "a"), "not numbers"),
        (np.full((1, 2, 2), 1j), "complex128"),
        (np.full((1, 2, 0), 1), "has no pixel"),
        (np.full((1, 2, 2), None), "no map"),
    ],
)  # fmt: skip
def test_values_that_are_no_labels(array: Any, message: str) -> None:
    good = np.ones((1, 2, 2), np.uint8)
    for sides in ((array, good), (good, array), (list(array), list(good))):
        assert message in refused(lambda sides=sides: evaluate(*sides))


def test_folders_of_npz(tmp_path: Path) -> None:
    """One array per file, whatever its name; several are refused with their names."""
    for side in ("t", "p"):
        (tmp_path / side).mkdir()
        for number in range(2):
            np.savez_compressed(tmp_path / side / f"case{number}.npz", seg=LABELS)
    assert value(tmp_path / "t", tmp_path / "p") == 1.0
    for side in ("t", "p"):
        for number in range(2):
            np.savez(tmp_path / side / f"case{number}.npz", LABELS[number])
    report = sy.evaluate("segmentation", tmp_path / "t", tmp_path / "p", ["miou"], confidence=None)
    assert report["miou"].value == 1.0
    np.savez(tmp_path / "p" / "case0.npz", image=LABELS, label=LABELS)
    message = refused(lambda: evaluate(tmp_path / "t", tmp_path / "p"))
    assert "case0.npz: holds 2 arrays: 'image', 'label'. Keep one per file" in message
    (tmp_path / "p.csv").write_text("case,map\ncase0,p/case0.npz::label\ncase1,p/case1.npz\n")
    np.savez(tmp_path / "t" / "case0.npz", LABELS)
    assert value(tmp_path / "t", tmp_path / "p.csv") == 1.0


def test_members_of_archives_that_are_refused(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    path = tmp_path / "p" / "a.npz"
    np.savez_compressed(path, LABELS)
    whole = path.read_bytes()
    central = whole.index(b"PK\1\2")
    spoiled = {
        "it is encrypted": [(6, b"\1"), (central + 8, b"\1")],
        "compression": [(8, b"\x63"), (central + 10, b"\x63")],
        "cannot be unpacked": [(60, b"\xff\xff\xff\xff")],
    }
    for message, parts in spoiled.items():
        data = bytearray(whole)
        for at, part in parts:
            data[at : at + len(part)] = part
        path.write_bytes(data)
        assert message in refused(lambda: evaluate({"case": ["a"], "map": [LABELS]}, tmp_path / "p"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "a.npy", b"\x93NUMPY\1\0v\0{'descr': '|u1', 'fortran_order': False, 'shape': (99999, 99999), }"
        )
    assert "cannot be read" in refused(lambda: evaluate({"case": ["a"], "map": [LABELS]}, tmp_path / "p"))


def lay(root: Path, *names: str) -> Path:
    for name in names:
        path = root / f"{name}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, LABELS)
    return root


def test_names_of_nnunet(tmp_path: Path) -> None:
    truth = lay(tmp_path / "t", "case_01", "case_02")
    prediction = lay(tmp_path / "p", "case_01_0000", "case_02_0000")
    for sides in ((truth, prediction), (prediction, truth)):
        report = evaluate(*sides)
        assert report["dice"].value == 1.0
        assert any("'_0000' at the end of 2 names is nnU-Net's channel" in note for note in report.notes)
    lay(tmp_path / "p", "case_01")  # then the name that is equal counts, and the other is left over
    assert "case_01_0000" in refused(lambda: evaluate(truth, prediction))


def test_a_flat_folder_beside_a_nested_one(tmp_path: Path) -> None:
    nested = lay(tmp_path / "t", "day/a", "night/b", "c")
    flat = lay(tmp_path / "p", "a", "b", "c")
    for sides in ((nested, flat), (flat, nested)):
        report = evaluate(*sides)
        assert report["dice"].value == 1.0
        assert any("2 files are joined by their names alone, without the subfolder" in note for note in report.notes)
        assert report.units().units.tolist() == sorted(
            ["day/a", "night/b", "c"] if sides[0] == nested else ["a", "b", "c"]
        )
    assert evaluate(nested, nested).notes == ()
    twice, one = lay(tmp_path / "u", "day/a", "night/a"), lay(tmp_path / "q", "a")
    message = refused(lambda: evaluate(twice, one))
    assert message.endswith("q: 'a' may be 'day/a' or 'night/a'. Lay both sides out in the same subfolders.")


def test_shards_of_folders_and_of_patterns(tmp_path: Path) -> None:
    """The report is that of all data at once; a map that changes is measured again; what does not join is refused."""
    rng = np.random.default_rng(0)
    for side in ("t", "p"):
        for number in range(70):
            path = tmp_path / side / ("day" if number % 2 else "night") / f"{number:03}.npy"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, rng.integers(0, 3, (2, 3, 4)).astype(np.uint8))
    (tmp_path / "u" / "day").mkdir(parents=True)

    def sharded(truth: str, prediction: str) -> sy.Report:
        sides = (str(tmp_path / truth), str(tmp_path / prediction))
        return evaluate_shards("volumes", *sides, ["dice"], work=tmp_path / "work", workers=1, by="folder", seed=1)

    def whole() -> sy.Report:
        return sy.evaluate("volumes", tmp_path / "t", tmp_path / "p", ["dice"], by="folder", seed=1)

    def numbers(report: sy.Report) -> Any:
        slices = [[score["dice"].value for score in by.values()] for by in report.slices.values()]
        return report["dice"].value, report["dice"].interval, slices

    for truth, prediction in (("t", "p"), ("t/*/*.npy", "p/*/*.npy"), ("t", "p/*/*.npy")):
        assert numbers(sharded(truth, prediction)) == numbers(whole())
    np.save(tmp_path / "p" / "day" / "001.npy", np.full((2, 3, 4), 9, np.uint8))
    assert numbers(sharded("t", "p")) == numbers(whole())
    (tmp_path / "p" / "day" / "001.npy").unlink()
    assert "the first is case 'day/001'" in refused(lambda: sharded("t", "p"))
    assert "no file ends in" in refused(lambda: sharded("t", "u"))


@pytest.mark.parametrize("name", FACTS)
def test_spoiled_files_are_read_or_refused(name: str, folder: Path, tmp_path: Path) -> None:
    """Bytes changed, cut out and put in, mostly in the header: voxels or one sentence, never another error."""
    rng = np.random.default_rng(sum(name.encode()))
    whole = (folder / name).read_bytes()
    for other in folder.glob(f"{name.partition('.')[0]}.*"):
        (tmp_path / other.name).write_bytes(other.read_bytes())
    for _ in range(12):
        data = bytearray(whole)
        for at in rng.integers(0, min(len(data), 600), rng.integers(1, 6)).tolist():
            kind = rng.integers(4)
            if kind == 0:
                data[at : at + 3] = b""
            elif kind == 1:
                data[at:at] = bytes(rng.integers(0, 256, 3).tolist())
            else:
                data[at : at + 1] = bytes([int(rng.choice([0, 1, 127, 128, 255]))])
        (tmp_path / name).write_bytes(data)
        with suppress(sy.InputError):
            load_volume(str(tmp_path / name), scores=True)


def test_maps_of_tiff(folder: Path, tmp_path: Path) -> None:
    """Labels of any width, colours by a palette, and several pages that no label map has."""
    for side in ("t", "p"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "a.tif").write_bytes((folder / "bits.tif").read_bytes())
    score = sy.evaluate("segmentation", tmp_path / "t", tmp_path / "p", ["miou"], confidence=None)["miou"]
    assert score.value == 1.0
    (tmp_path / "p" / "a.tif").write_bytes((folder / "plain.tif").read_bytes())
    message = refused(lambda: sy.evaluate("segmentation", tmp_path / "t", tmp_path / "p", ["miou"]))
    assert message.endswith("a.tif: has 3 pages. A label map is one page.")


def test_large_interlaced_files_are_refused_before_pillow_sees_them() -> None:
    """Pillow warns from 89 million pixels and raises an error of its own from 179 million."""
    for side in (10_000, 14_000):
        head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 1)
        chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(100))), (b"IEND", b"")]
        data = b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
            for name, body in chunks
        )
        message = refused(lambda data=data: png_file(data, "a.png").map())
        assert message.startswith(f"a.png: is interlaced and has {side:,}×{side:,} pixels. Write a plain PNG")


def test_sizes_that_are_declared_are_checked_before_unpacking(tmp_path: Path) -> None:
    """A header that declares 2 GB in a small file: nothing behind it is unpacked."""
    head = bytearray(352)
    struct.pack_into("<i", head, 0, 348)
    struct.pack_into("<8h", head, 40, 3, 1400, 1400, 1000, 1, 1, 1, 1)
    struct.pack_into("<h", head, 70, 2)
    struct.pack_into("<3f", head, 108, 352.0, 1.0, 0.0)
    head[344:348] = b"n+1\0"
    path = tmp_path / "p" / "a.nii.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(bytes(head) + bytes(1 << 20)))
    message = refused(lambda: evaluate({"case": ["a"], "map": [LABELS]}, tmp_path / "p"))
    assert "holds more than 256 MB once unpacked" in message


def nrrd(path: Path, body: bytes, **fields: str) -> str:
    """An NRRD file of 24 bytes, x fastest."""
    every = {"type": "uint8", "dimension": "3", "sizes": "4 3 2", "encoding": "raw"}
    every |= {name.replace("_", " "): text for name, text in fields.items()}
    path.write_bytes(("NRRD0005\n" + "".join(f"{k}: {v}\n" for k, v in every.items()) + "\n").encode() + body)
    return str(path)


def test_units_kinds_and_skips_of_nrrd(tmp_path: Path) -> None:
    body = bytes(range(24))
    directions = {
        "space": "RAS",
        "space_directions": "(2000,0,0) (0,3000,0) (0,0,5000)",
        "space_units": '"um" "um" "um"',
    }
    volume = load_volume(nrrd(tmp_path / "a.nrrd", body, **directions))
    assert volume.spacing == (5.0, 3.0, 2.0)
    volume = load_volume(nrrd(tmp_path / "a.nrrd", body, spacings="1 2 3", units='"cm" "cm" "cm"'))
    assert volume.spacing == (30.0, 20.0, 10.0)
    volume = load_volume(nrrd(tmp_path / "a.nrrd", body, spacings="1 2 3", units='"foot" "mm" "mm"'))
    assert volume.spacing == (3.0, 2.0, 1.0)
    assert volume.remarks == {"units": "the unit 'foot' is not known: mm is assumed"}
    for skip, start in (("-1", b"some bytes"), ("7", b"1234567")):
        volume = load_volume(nrrd(tmp_path / "a.nrrd", start + body, byte_skip=skip))
        assert volume.grid.ravel().tolist() == list(body)
    volume = load_volume(nrrd(tmp_path / "a.nrrd", b"one\ntwo\n" + body, line_skip="2"))
    assert volume.grid.ravel().tolist() == list(body)
    channels = one_hot(np.arange(24).reshape(2, 3, 4) % 3, 3)
    for sizes, kinds, voxels in (
        ("3 4 3 2", "list domain domain domain", np.moveaxis(channels, 0, -1)),
        ("4 3 2 3", "domain domain domain list", channels),
    ):
        data = np.ascontiguousarray(voxels).tobytes()
        volume = load_volume(nrrd(tmp_path / "a.nrrd", data, dimension="4", sizes=sizes, kinds=kinds))
        assert volume.grid.ravel().tolist() == [i % 3 for i in range(24)]
    message = refused(lambda: load_volume(nrrd(tmp_path / "a.nrrd", bytes(72), dimension="4", sizes="3 4 3 2")))
    assert "does not say which of them are channels" in message


def test_a_metaimage_with_bytes_before_its_voxels(tmp_path: Path) -> None:
    """HeaderSize -1: the voxels are the last bytes of the file."""
    header = "ObjectType = Image\nNDims = 2\nDimSize = 3 2\nElementType = MET_USHORT\nElementByteOrderMSB = True\n"
    (tmp_path / "a.mhd").write_text(f"{header}HeaderSize = -1\nElementSpacing = 0.5 2\nElementDataFile = a.raw\n")
    (tmp_path / "a.raw").write_bytes(b"anything" + np.arange(6, dtype=">u2").tobytes())
    volume = load_volume(str(tmp_path / "a.mhd"))
    assert volume.grid.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert volume.spacing == (2.0, 0.5)

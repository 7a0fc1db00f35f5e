"""Bad input that few people give: each is refused with its own message, and with nothing else."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.align.join import check_policy
from steelyard.cli.options import parse_tags
from steelyard.compat.pycocotools import mask as coco_mask
from steelyard.core import catalogue
from steelyard.core.task import Policy
from steelyard.integrations.evaluate import with_intervals
from steelyard.integrations.ultralytics import Evaluation
from steelyard.io.container import Reader, container_bytes, is_whole, parse_container, read_facts
from steelyard.io.formats.detect import detect
from steelyard.io.points import parse_points
from steelyard.io.shapes import pack_mask
from steelyard.maps.load import numpy_file
from steelyard.maps.nifti import nifti_volume
from steelyard.match.conic import fit_ellipse
from steelyard.view.folder import Folder, Outside
from steelyard.vlm.ordinary import read_ordinary


def refused(act: Callable[[], Any], message: str, kind: type[Exception] = sy.InputError) -> None:
    with pytest.raises(kind, match=message):
        act()


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def container(header: Any, arrays: bytes = b"") -> bytes:
    """A container of a header by hand, with a checksum that fits."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    head = struct.pack("<8sIIQ", b"STEELYRD", 1, 0, len(text)) + text
    data = head.ljust(-(-len(head) // 64) * 64, b"\0") + arrays
    return data + hashlib.sha256(data).digest()


def entry(**changed: Any) -> dict[str, Any]:
    return {"name": "a", "code": "json", "type": "", "shape": [1], "at": 0, "bytes": 3, **changed}


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ([], b"", "the header cannot be read"),
        (b"{", b"", "the header cannot be read"),
        ({"kind": "k", "facts": [], "arrays": []}, b"", "the facts are no mapping"),
        ({"kind": "k", "facts": {"x": 1}, "arrays": []}, b"", "an unknown value 'x'"),
        ({"kind": "k", "facts": {"m": []}, "arrays": [entry(shape=[2])]}, b"[1]", "values are missing"),
        ({"kind": "k", "facts": {"m": []}, "arrays": [entry(), entry()]}, b"[1]", "the name 'a' of an array"),
        ({"kind": "k", "facts": {"m": []}, "arrays": [entry(at=-1)]}, b"[1]", "the sizes of 'a'"),
        ({"kind": "k", "facts": {"m": []}, "arrays": [entry(bytes=9)]}, b"[1]", "goes beyond the end"),
        ({"kind": "k", "facts": {"m": []}, "arrays": [entry(code="plain", type="<f8")]}, b"[1]", "the type or the size"),
        ({"kind": "k", "facts": {"m": []}, "arrays": [entry(code="zip")]}, b"[1]", "the code or the size"),
        ({"kind": "k", "facts": {"m": []}, "arrays": [entry(code="text", bytes=9)]}, bytes(9), "texts are cut off"),
    ],
)  # fmt: skip
def test_a_container_whose_checksum_fits(header: Any, arrays: bytes, message: str) -> None:
    refused(lambda: parse_container(container(header, arrays), "x.state"), f"(?s)x.state.*{message}")


def test_containers(tmp_path: Path) -> None:
    refused(lambda: parse_container("text", "x"), "str where bytes are expected")  # type: ignore[arg-type]
    refused(lambda: container_bytes("k", {}, {"a": np.array([object()])}), "cannot be saved: a value of type object")
    values: dict[str, Any] = {"t": (1, "é"), "a": np.ones((2, 1)), "m": {1: [None]}, "n": np.int64(7)}
    kind, facts, _ = parse_container(container_bytes("k", values, {}), "x")
    assert (kind, facts["t"], facts["m"], facts["n"]) == ("k", (1, "é"), {1: [None]}, 7)
    assert facts["a"].tolist() == [[1.0], [1.0]]
    file = write(tmp_path / "x.state", container_bytes("k", {"b": 1}, {"a": np.arange(5)}))
    assert Reader(file).rows("a", 1, 3).tolist() == [1, 2]
    refused(lambda: Reader(file).rows("a", 3, 9), "'a' has no rows from 3 to 9")
    assert read_facts(file) == {"b": 1}
    assert is_whole(file)
    assert not is_whole(tmp_path / "none")
    for read in (read_facts, Reader):
        refused(lambda read=read: read(tmp_path / "none"), "there is no such file")  # type: ignore[misc]


def test_accumulators() -> None:
    state = sy.Accumulator("labels")
    state.update({"id": [1, 2], "label": ["a", "b"]}, {"id": [1, 2], "label": ["a", "a"]})
    refused(lambda: state.report(missing="skip"), "'missing' is said when the accumulator is made", TypeError)  # type: ignore[call-arg]
    kind, facts, arrays = parse_container(state.to_bytes(), "x")
    other = container_bytes(kind, {**facts, "task": "tea"}, arrays)
    refused(lambda: sy.Accumulator.from_bytes(other, "x.state"), "the state is of task 'tea', which is unknown")
    refused(lambda: sy.Accumulator.from_bytes(container_bytes("tea", facts, arrays), "x"), "the state is one of 'tea'")


def test_ellipses_that_no_points_have() -> None:
    line = np.column_stack([np.arange(9.0), 2 * np.arange(9.0)])
    refused(lambda: fit_ellipse(line[:3]), "different points", ValueError)
    refused(lambda: fit_ellipse(line), "lie on a line|no ellipse fits", ValueError)


def test_policies_and_names() -> None:
    refused(lambda: check_policy(Policy(missing="skp", extra="error")), "missing='skp' is no policy.*'skip'")
    refused(lambda: parse_tags(["a=1", "a=2"]), "names 'a' twice")
    refused(lambda: parse_tags(["a"]), "'a' is not")
    refused(lambda: sy.convert("a", "b", pixels="half"), "pixels cannot be 'half'")
    refused(lambda: sy.evaluate("labels", {}, {}, "f1(0.5)"), "'f1' takes settings by name only")
    refused(lambda: sy.evaluate("labels", {}, {}, "accuracy@3"), "takes no '@'")
    refused(lambda: catalogue.find_task("tea"), "there is no task 'tea'")


def test_what_takes_the_place_of_pycocotools() -> None:
    rle = {"size": [2, 2], "counts": [0, 4]}
    refused(lambda: coco_mask.iou([[0, 0, 1, 1]], [rle], [0]), "detections are boxes and truths are masks")
    refused(lambda: coco_mask.iou([rle], [rle], [0, 1]), "2 crowd flags for 1 truths")
    refused(lambda: coco_mask.iou(["x"], ["x"], [0]), "are neither boxes nor masks")
    assert coco_mask.iou([], [rle], [0]) == []


def test_formats(tmp_path: Path) -> None:
    refused(lambda: detect(write(tmp_path / "a.tea", "x"), "a.tea"), "'.tea' is no ending of a known format")
    refused(lambda: detect(write(tmp_path / "a.xml", "<tea/>"), "a.xml"), "the root element is 'tea'")
    refused(lambda: detect(write(tmp_path / "b.xml", "tea"), "b.xml"), "not readable as XML")
    refused(lambda: detect(tmp_path / "none.xyz", "none"), "no such file or folder")
    write(tmp_path / "cvat" / "a.xml", "<annotations/>")
    refused(lambda: detect(tmp_path / "cvat", "cvat"), "the folder holds a CVAT file")
    write(tmp_path / "both" / "a.xml", "<annotation/>")
    write(tmp_path / "both" / "labels" / "a.txt", "0 0.5 0.5 0.1 0.1\n")
    refused(lambda: detect(tmp_path / "both", "both"), "both XML and text files")
    (tmp_path / "empty").mkdir()
    refused(lambda: detect(tmp_path / "empty", "empty"), "neither XML files")


def test_points_and_pixels(tmp_path: Path) -> None:
    refused(lambda: parse_points([1, 2, 3]), "3 numbers make no pairs", ValueError)
    refused(lambda: parse_points([[1, 2, 3]]), "its shape is 1 x 3, not points x 2", ValueError)
    refused(lambda: parse_points([1, np.inf]), "a coordinate is not finite", ValueError)
    assert parse_points(" ") is None
    assert parse_points(None) is None
    refused(lambda: pack_mask(np.ones((2, 2))), "pixels of type float64 with 2 dimensions", ValueError)
    refused(lambda: pack_mask(np.ones(2, bool)), "pixels of type bool with 1 dimensions", ValueError)
    np.savez(tmp_path / "a.npz", maps=np.zeros((2, 2)))
    refused(lambda: numpy_file(str(tmp_path / "a.npz"), "map"), "holds no array 'map'.*'maps'")
    assert numpy_file(str(tmp_path / "a.npz"), "maps").shape == (2, 2)
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 4, 2, 2, 2, 3, 1, 1, 1)
    struct.pack_into("<hh", header, 70, 2, 8)
    struct.pack_into("<f", header, 108, 352.0)
    header[344:348] = b"n+1\0"
    refused(lambda: nifti_volume(bytes(header), "a.nii"), "a.nii: ends before its 24 voxels do")
    refused(lambda: nifti_volume(bytes(header[:99]), "a.nii"), "the header is cut off")
    refused(lambda: nifti_volume(b"no", "a.nii"), "is not a NIfTI file")
    refused(lambda: nifti_volume(b"\x1f\x8bno", "a.nii.gz"), "cannot be unpacked")


def test_other_libraries(tmp_path: Path) -> None:
    module = SimpleNamespace(compute=lambda predictions, references: {"a": 1.0})
    refused(lambda: with_intervals(module, [1, 2], [1]), "there are 2 predictions and 1 references")
    refused(lambda: with_intervals(module, [1], [1]), "1 rows and 500 draws make no interval")
    refused(lambda: with_intervals(module, [1, 2], [1, 2], draws=9), "2 rows and 9 draws make no interval")
    refused(lambda: Evaluation(tmp_path / "t.json")(SimpleNamespace(jdict=[])), "the validation kept no predictions")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (7, "not a name"), ("", "not a name"), ("a" * 5000, "not a name"), ("a\x07", "control characters"),
        ("a\\b", "not relative"), ("c:a", "not relative"), ("/a", "not relative"), ("~a", "not relative"),
        ("./", "not a file"), ("a/" * 99 + "b", "not a file"), (".a", "hidden"), ("a/../b", "hidden"), ("a. ", "hidden"),
        ("a ", "hidden"), ("é" * 200, "hidden"),
    ],
)  # fmt: skip
def test_names_outside_a_folder(tmp_path: Path, name: Any, why: str) -> None:
    refused(lambda: Folder(tmp_path).parts(name), why, Outside)


def test_folders_and_files(tmp_path: Path) -> None:
    refused(lambda: Folder(tmp_path / "none"), "is no folder")
    folder = Folder(tmp_path)
    assert folder.relative("b//c", "a") == "a/b/c"
    assert folder.relative(f"{folder.root}/a/b") == "a/b"
    refused(lambda: folder.relative("/elsewhere/a"), "absolute", Outside)
    refused(lambda: read_ordinary(tmp_path, 9, "picture"), "the picture is a folder|the picture cannot be read")
    refused(lambda: read_ordinary(tmp_path / "none", 9, "picture"), "there is no such picture")
    refused(lambda: read_ordinary(write(tmp_path / "a", "0123456789"), 9, "picture"), "picture")

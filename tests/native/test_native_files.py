"""Files and columns as the native core reads and writes them: values as Python reads them, and every fault that it names."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from steelyard import _native
from steelyard.io.parquet import Frame

NAN = math.nan


# Tables for data frames, read back by pyarrow.
def test_tables_are_read_by_pyarrow() -> None:
    """Texts, numbers and counts, of more than eight rows, as bits of what is there come eight to a byte."""
    columns: dict[str, tuple[str, list[Any]]] = {
        "text": ("u", ["a", None, "é€😀", "", *"bcdefg"]),
        "number": ("g", [0.5, None, NAN, -1.0, *map(float, range(6))]),
        "count": ("l", [1, None, -3, 2**62, *range(6)]),
        "whole": ("l", list(range(10))),
    }
    table = pa.RecordBatchReader.from_stream(Frame(columns)).read_all()
    assert table.schema == pa.schema(
        [("text", pa.large_string()), ("number", pa.float64()), ("count", pa.int64()), ("whole", pa.int64())]
    )
    wanted = {name: cells for name, (_, cells) in columns.items()}
    wanted["number"] = [None if cell is None or math.isnan(cell) else cell for cell in wanted["number"]]
    assert table.to_pydict() == wanted
    assert [column.null_count for column in table.columns] == [1, 2, 1, 0]


def test_tables_without_rows_or_columns() -> None:
    assert pa.table(Frame({"a": ("u", []), "b": ("g", [])})).to_pydict() == {"a": [], "b": []}
    assert pa.table(Frame({})).num_columns == 0
    assert type(Frame({"a": ("u", ["b"])}).__arrow_c_stream__()).__name__ == "PyCapsule"  # nobody takes it


# Where ids stand.
def test_places_of_ids_far_apart() -> None:
    rng = np.random.default_rng(3)
    ids = rng.choice(2**62, 300, replace=False)
    others = rng.integers(0, 2**62, 300)
    known = {int(value): place for place, value in enumerate(ids)}
    assert _native.places(ids, others).tolist() == [known.get(int(value), -1) for value in others]
    assert _native.places(ids, ids[::-1].copy()).tolist() == list(range(299, -1, -1))
    assert _native.places(ids[:0], others[:2]).tolist() == [-1, -1]


def test_the_first_row_whose_id_repeats() -> None:
    assert _native.first_repeated(np.array([5, 7, 7, 5, 7])) == 2
    assert _native.first_repeated(np.array([5, 1 << 60, 5, 1 << 60])) == 2
    assert _native.first_repeated(np.array([5, 6])) == -1


# Rows of numbers.
NUMBERS = [
    "5",
    "-5",
    "+5",
    "0.25",
    "-.5",
    "7.",
    "1e5",
    "1e-5",
    "12345678901234567",
    "0.12345678901234567",
    "1e999",
    "-1e999",
    "1e-999",
]
NO_NUMBERS = ["", "x", "+", "-", ".", "0x10", "1_0", "1e999x", "1e999z", "1e", "1.5.5", "--1"]


def test_rows_of_numbers() -> None:
    text = "\ufeff" + "\n".join(f"{number} ,\t{number},7" for number in NUMBERS) + "\r\n\n 3\t4"
    rows, values, fields, line, *wrong = _native.number_rows(text.encode(), 2)
    assert (rows, wrong) == (len(NUMBERS) + 1, [0, 0, b""])
    wanted = [float(number) for number in NUMBERS]
    assert values[:, :rows].tolist() == [[*wanted, 3.0], [*wanted, 4.0]]
    assert fields[:rows].tolist() == [3] * len(NUMBERS) + [2]
    assert line[:rows].tolist() == [*range(1, len(NUMBERS) + 1), len(NUMBERS) + 2]


def test_a_row_that_is_too_short_and_one_that_is_long() -> None:
    rows, values, fields, _, *wrong = _native.number_rows(b"1\n" + b"2," * 300, 3)
    assert (rows, fields.tolist()[:2], wrong) == (2, [1, 255], [0, 0, b""])
    np.testing.assert_array_equal(values[:, :2], [[1, 2], [NAN, 2], [NAN, 2]])


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_in_a_row(text: str) -> None:
    assert _native.number_rows(f"1,2\n3,{text},4".encode(), 3)[4:] == (2, 1, text.encode())


# TREC.
NOTHING, FIELDS, NUMBER, NOT_FINITE, TOO_LONG = range(5)


def trec(text: str | bytes, threads: int = 1) -> tuple[Any, ...]:
    """Values, rows at which another query begins, and what is wrong."""
    data = np.frombuffer(text.encode() if isinstance(text, str) else text, np.uint8)
    _, _, values, rows, _, wrong = _native.read_trec(data, 4, 3, threads)
    return values.tolist(), rows.tolist(), wrong


@pytest.mark.parametrize(
    "number",
    [
        *NUMBERS[:10], "1E+5", "1e22", "1e23", "1.5e-22", "1e-23", "123456789012345678901", "0.1e-30", "9007199254740993",
        "1e-400", "4e-320", "1e400", "1e99999", "nan", "inf", "-Infinity", "N", "i", "infx", "nanx", ".", "-", "+", "e5", "1e",
        "1e+", "1e5x", "1x", "--1", "1.5.5", "-.",
    ],
)  # fmt: skip
def test_numbers_of_trec_files(number: str) -> None:
    try:
        value = float(number)
    except ValueError:
        assert trec(f"q 0 d {number}\n")[2] == (NUMBER, 0, 3)
        return
    if math.isfinite(value):
        assert trec(f"q 0 d {number}\n") == ([value], [0], (NOTHING, 0, 0))
    else:
        assert trec(f"q 0 d {number}\n")[2] == (NOT_FINITE, 0, 3)


def test_lines_of_trec_files() -> None:
    assert trec("\ufeffq\t0  d 1 \r\n\n \nq 0 e 2\nr 0 d 3") == ([1, 2, 3], [0, 2], (NOTHING, 0, 0))
    assert trec("q 0 d 1\nq 0 d\n")[2] == (FIELDS, 8, 3)
    assert trec("q 0 d 1 5 6\n")[2] == (FIELDS, 0, 6)
    long = "x" * (1 << 16)
    assert [trec(f"{query} 0 {document} 1")[2][0] for query, document in ((long, "d"), ("q", long), ("q", "d"))] == [
        TOO_LONG, TOO_LONG, NOTHING,
    ]  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
def test_trec_files_of_several_pieces(threads: int) -> None:
    """A piece is 4 MiB: of lines without a word, or all of it inside one line."""
    piece = 1 << 22
    assert trec("q 0 d 1\n" + "\n" * (2 * piece) + "q 0 e 2\nr 0 d 3\n", threads) == ([1, 2, 3], [0, 2], (0, 0, 0))
    assert trec("q 0 d 1\nq 0 e" + " " * (2 * piece) + "2", threads) == ([1, 2], [0], (0, 0, 0))
    assert trec("q 0 d x\n" + "\n" * piece + "q 0 e\n", threads)[2] == (NUMBER, 0, 3)


# nuScenes.
BOX: dict[str, Any] = {
    "sample_token": "s", "translation": [1, 2, 3], "size": [4, 5, 6], "rotation": [1, 0, 0, 0], "velocity": [0.5, None],
    "ego_translation": [7, 8, 9], "detection_name": "car", "detection_score": 0.25, "attribute_name": "vehicle.parked",
    "num_pts": 3,
}  # fmt: skip


def parsed(text: str, results: bool = True) -> Any:
    return _native.parse_nuscenes(text.encode(), results)


def nuscenes(box: Any, results: bool = True, **more: Any) -> Any:
    return parsed(json.dumps({"results": {"s": box}, **more}), results)


def test_a_nuscenes_file() -> None:
    """Keys that nobody asked for, behind all the others and in front; another order of keys; what is not known."""
    bare = {key: BOX[key] for key in ("detection_name", "rotation", "size", "translation")}
    boxes = [{**BOX, "other": [1, {}]}, {"other": None, **bare, "velocity": None, "num_pts": NAN}]
    answer = nuscenes(boxes, results=False, meta={"a": 1}, ego={"s": [1, 2, 3]}, scene={"s": "night"})
    columns = {key: value.tolist() if hasattr(value, "tolist") else value for key, value in answer.items()}
    for key in ("velocity", "ego_offset", "score", "points"):
        columns[key] = np.nan_to_num(columns[key], nan=-1).tolist()
    assert columns == {
        "samples": [b"s"], "begin": [0, 2], "translation": [[1, 2, 3]] * 2, "size": [[4, 5, 6]] * 2,
        "rotation": [[1, 0, 0, 0]] * 2, "velocity": [[0.5, -1], [-1, -1]], "ego_offset": [[7, 8, 9], [-1, -1, -1]],
        "score": [0.25, -1], "points": [3, -1], "name": [0, 0], "names": [b"car"], "attribute": [0, 1],
        "attributes": [b"vehicle.parked", b""], "ego_samples": [b"s"], "ego": [[1, 2, 3]], "scene_samples": [b"s"],
        "scenes": [b"night"],
    }  # fmt: skip
    assert parsed('{"results": {}}')["begin"].tolist() == [0]


LIST = " where a list of 3 numbers is expected"


@pytest.mark.parametrize(
    ("parts", "what", "key"),
    [
        ({"translation": None}, "null" + LIST, "translation"),
        ({"translation": [1, None, 3]}, "null where a number is expected", "translation"),
        ({"translation": [1, NAN, 3]}, "NaN is not a number", "translation"),
        ({"translation": [1, "2", 3]}, "a text where a number is expected", "translation"),
        ({"size": []}, "0 numbers" + LIST, "size"),
        ({"size": [1, 2, 3, 4]}, "4 numbers" + LIST, "size"),
        ({"detection_score": None}, "null where a number is expected", "detection_score"),
        ({"sample_token": "t"}, "another sample than the one that the box stands under", "sample_token"),
    ],
)  # fmt: skip
def test_boxes_of_nuscenes_that_are_wrong(parts: dict[str, Any], what: str, key: str) -> None:
    assert nuscenes([{**BOX, **parts}])[1:] == (False, what, b"s", key, 0)


@pytest.mark.parametrize("key", ["translation", "size", "rotation", "velocity", "detection_name", "detection_score"])
def test_boxes_of_nuscenes_that_lack_a_key(key: str) -> None:
    assert nuscenes([BOX, {name: BOX[name] for name in BOX if name != key}])[1:] == (
        False,
        "the key is missing",
        b"s",
        key,
        1,
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"results": {}, "results": {}}', (False, "'results' appears twice", b"", "", -1)),
        ('{"results": {"s": [], "s": []}}', (False, "the sample appears twice", b"s", "", -1)),
        ("{}", (False, "'results' is missing", b"", "results", -1)),
        ("{7: 1}", (True, "a key in quotes is expected", b"", "", -1)),
        ('{"results": {"s": [{7: 1}]}}', (True, "a key in quotes is expected", b"s", "", 0)),
        ('{"results": {"s": [{}]}}', (False, "the key is missing", b"s", "translation", 0)),
        ('{"results": {"s": [{"num_pts": Nan}]}}', (True, "an unknown word", b"s", "", 0)),
        ('{"results": {"s": [{"num_pts": 1, "num_pts": 1}]}}', (False, "the key appears twice", b"s", "num_pts", 0)),
        ('{"results": {}} x', (True, "something stands behind the end", b"", "", -1)),
    ],
)
def test_nuscenes_files_that_are_wrong(text: str, wanted: tuple[Any, ...]) -> None:
    assert parsed(text)[1:] == wanted


# KITTI.
def read(*paths: str) -> Any:
    return _native.read_kitti(list(paths), False, 1)


def kitti(path: Path, *texts: str) -> Any:
    paths = [str(path / f"{number:03}.txt") for number in range(len(texts))]
    for name, text in zip(paths, texts, strict=True):
        Path(name).write_bytes(text.encode())
    return read(*paths)


LINE = " ".join(["{}", *map(str, range(14))])


def test_kitti_files_with_marks_and_blanks(tmp_path: Path) -> None:
    text = (
        "\ufeff " + LINE.format("Car").replace(" ", "\t") + " \r\n\r\n\n" + LINE.format("Van").replace(" 13", "  1e999")
    )
    answer = kitti(tmp_path, text, "", LINE.format("Car"))
    assert [column.tolist() for column in answer["numbers"]] == [
        *([float(n)] * 3 for n in range(13)),
        [13, math.inf, 13],
        [],  # a result's score
    ]
    assert {key: answer[key].tolist() for key in ("type", "line", "begin")} == {
        "type": [0, 1, 0], "line": [1, 4, 1], "begin": [0, 2, 2, 3],
    }  # fmt: skip
    assert answer["types"] == [b"Car", b"Van"]


def test_kitti_files_read_by_several(tmp_path: Path) -> None:
    """128 files are read at a time; types that both know are one."""
    answer = kitti(tmp_path, LINE.format("Van"), *[LINE.format("Car")] * 128)
    assert (answer["types"], answer["type"].tolist()) == ([b"Van", b"Car"], [0] + [1] * 128)


def test_kitti_files_that_are_wrong(tmp_path: Path) -> None:
    """File, line, field, how many fields there are, and the text."""
    good = LINE.format("Car")
    assert kitti(tmp_path, good, good + "\n" + good.replace(" 5", " x")) == (1, 2, 5, 0, b"x")
    assert kitti(tmp_path, good + " 14 15") == (0, 1, -1, 17, b"Car")
    assert read(str(tmp_path / "none")) == (0, 0, -1, 0, b"cannot be opened")
    assert read(str(tmp_path))[0] == 0

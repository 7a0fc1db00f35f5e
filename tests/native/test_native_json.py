"""The reader of COCO files against Python's own JSON: texts, numbers that nobody asked for, files of several pieces."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import _native

BOXES, MASKS, KEYPOINTS, ROTATED = range(4)
PIECE = 1 << 20  # bytes that are read at a time


def parse(text: str | bytes, truth: bool = False, what: int = BOXES, threads: int = 1) -> Any:
    return _native.coco_parse(text.encode() if isinstance(text, str) else text, truth, threads, what)


def with_name(written: bytes) -> bytes:
    return b'{"images": [], "annotations": [], "categories": [{"id": 1, "name": ' + written + b"}]}"


@pytest.mark.parametrize(
    "written",
    [
        r'"\"\\\/\b\f\n\r\t"', r'"\u0041\u00e9\u00E9\u20ac\ud83d\ude00\uD83D\uDE00"', r'"\n plain behind an escape"',
        r'"\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\udbff\udfff"', '"\\té€😀"', '"é€😀\\t"', '"\\n\\"\\\\"', '""',
    ],
)  # fmt: skip
def test_texts_are_those_of_json(written: str) -> None:
    assert parse(with_name(written.encode()), truth=True)["names"] == [json.loads(written)]


@pytest.mark.parametrize("before", [b"", b"\\n"])
@pytest.mark.parametrize(
    "data",
    [
        b"\xc2\x80", b"\xdf\xbf", b"\xe0\xa0\x80", b"\xed\x9f\xbf", b"\xee\x80\x80", b"\xef\xbf\xbf", b"\xf0\x90\x80\x80",
        b"\xf4\x8f\xbf\xbf", b"\xc1\x81", b"\xc2(", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xe2(\xa1", b"\xe2\x82(",
        b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf0(\x8c\xbc", b"\xf0\x90(\xbc", b"\xf0\x90\x8c(", b"\xf5\x80\x80\x80",
    ],
)  # fmt: skip
def test_utf_8_is_what_python_takes(data: bytes, before: bytes) -> None:
    answer = parse(with_name(b'"' + before + data + b'"'), truth=True)
    try:
        wanted = (before.replace(b"\\n", b"\n") + data).decode()
    except UnicodeDecodeError:
        assert answer[1] == "bytes that are not UTF-8"
    else:
        assert answer["names"] == [wanted]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (b'"\\n\x01"', "a control character inside a text"),
        (rb'"\ud800\ue000"', "half of a surrogate pair"),
        (rb'"\ud800\n"', "half of a surrogate pair"),
        (rb'"\u00eG"', "four hexadecimal digits are expected behind \\u"),
    ],
)
def test_texts_that_are_none(written: bytes, words: str) -> None:
    assert parse(with_name(written), truth=True)[1] == words


RESULT = {"image_id": 1, "category_id": 2, "bbox": [0.0, 0.0, 1.0, 1.0], "score": 0.5}


def result(**more: str) -> str:
    return json.dumps(RESULT)[:-1] + "".join(f', "{key}": {value}' for key, value in more.items()) + "}"


@pytest.mark.parametrize("number", ["1e+5", "1E-52", "-0.5", "0", "12345678901.25e0", "-7"])
def test_numbers_that_are_passed_over(number: str) -> None:
    answer = parse(f"[{result(other=number, more='[' + number + ']')}]")
    assert (answer["image"].tolist(), answer["score"].tolist()) == ([1], [0.5])


def test_what_is_no_number_or_lacks() -> None:
    assert parse(f"[{result(other='-x')}]")[1] == "a digit is expected"
    assert parse("[{}]")[1:] == ("the key is missing", False, "results", 0, "image_id")
    assert parse(f"[{result()}]", what=ROTATED)[1:] == ("the key is missing", False, "results", 0, "obb")
    assert parse("{}", truth=True)[1] == "'images' is missing"


@pytest.mark.parametrize(
    ("what", "lacks"),
    [
        (BOXES, "category_id"), (BOXES, "bbox"), (BOXES, "score"), (MASKS, "segmentation"), (KEYPOINTS, "keypoints"),
        (ROTATED, "obb"),
    ],
)  # fmt: skip
def test_keys_that_are_missing(what: int, lacks: str) -> None:
    """In front of it stand keys that are as long as others, and mean nothing."""
    shapes = {"segmentation": {"size": [1, 1], "counts": [0, 1]}, "keypoints": [1, 2, 2], "obb": [1, 2, 3, 4, 5]}
    others = {"x" * size: size for size in range(1, 30)}
    record = {key: value for key, value in {**others, **RESULT, **shapes}.items() if key != lacks}
    assert parse(json.dumps([record]), what=what)[1:] == ("the key is missing", False, "results", 0, lacks)
    assert parse(json.dumps([{**record, **RESULT, **shapes}]), what=what)["score"].tolist() == [0.5]


def test_what_ends_in_the_middle() -> None:
    """Of a file that is cut anywhere nothing is read, and no number is taken for whole."""
    text = f"[{result(other='[1.5e3, null]')}]"
    assert isinstance(parse(text), dict)
    assert {parse(text[:end])[1] for end in range(1, len(text))} == {"the file ends in the middle"}
    images = '{"images": [{}], "annotations": [], "categories": []}'
    assert parse(images, True)[1:] == ("the key is missing", False, "images", 0, "id")


def test_records_of_many_keys() -> None:
    """More keys than places are remembered, in front of those that count."""
    many = {f"k{i}": "0" for i in range(40)}
    record = "{" + ", ".join(f'"{key}": {value}' for key, value in many.items()) + ", " + json.dumps(RESULT)[1:]
    answer = parse(f"[{record}, {record}]")
    assert (answer["label"].tolist(), answer["box"].tolist()) == ([2, 2], [RESULT["bbox"]] * 2)


def truth(annotations: str, image: str = "") -> str:
    return (
        f'{{"images": [{{"id": 1{image}}}], "annotations": [{annotations}], "categories": [{{"id": 2, "name": "a"}}]}}'
    )


def test_keypoints_without_box_area_and_number() -> None:
    """The box goes around the points that are labelled, (1, 2) and (3, 8); its area is 2 times 6."""
    points = '"image_id": 1, "category_id": 2, "keypoints": [1, 2, 2, 5, 60, 0, 3, 8, 1]'
    answer = parse(truth(f'{{"id": null, {points}}}, {{"id": "x", {points}, "num_keypoints": 2}}'), True, KEYPOINTS)
    assert answer["box"].tolist() == [[1, 2, 2, 6]] * 2
    assert answer["area"].tolist() == [12, 12]
    assert (answer["id"].tolist(), answer["visible"].tolist()) == ([-1, -1], [-1, 2])
    assert parse(truth(f'{{{points}, "num_keypoints": 0.5}}'), True, KEYPOINTS)[5] == "num_keypoints"


def test_lists_and_sizes_that_are_not_known() -> None:
    image = ', "neg_category_ids": null, "not_exhaustive_category_ids": [2, "b"], "height": null, "width": 4'
    answer = parse(truth("", image), True, MASKS)
    assert answer["canvas"].tolist() == [[-1, 4]]
    assert [column.tolist() for column in (*answer["vain"], *answer["unsure"])] == [[], [-1], [], [-1]]
    keys = ("neg_category_ids", "not_exhaustive_category_ids", "height", "width")
    assert [parse(truth("", f', "{key}": [1 2]'), True, MASKS)[5] for key in keys] == list(keys)
    classes = '{"images": [], "annotations": [], "categories": [{"id": 1, "%s": %s}]}'
    assert [parse(classes % pair, True)[5] for pair in (("name", "7"), ("frequency", '"\\x"'))] == ["name", "frequency"]
    assert parse(classes % ("frequency", "7"), True)["names"] == [""]


def padded(size: int, *rest: str) -> str:
    """An array of records whose first one ends at that byte."""
    first = result(other='""')
    return "[" + result(other='"' + "x" * (size - len(first) - 1) + '"') + "," + ",".join(rest) + "]"


def test_records_are_cut_anywhere() -> None:
    """The end of a piece falls on every byte of a record, and between two."""
    record = result(other='"\\u00e9é€😀\\n"', more="[1e5, -20.25, null, true]")
    for at in range(len(record) + 3):
        text = padded(PIECE - at, record, result())
        for threads in (1, 2):
            answer = parse(text, threads=threads)
            assert answer["score"].tolist() == [0.5] * 3, at
            assert answer["box"].tolist() == [RESULT["bbox"]] * 3


def test_a_record_longer_than_pieces() -> None:
    text = padded(PIECE // 2, result(other='"' + "y" * (3 * PIECE) + '"'), result())
    for threads in (1, 2):
        assert parse(text, threads=threads)["image"].tolist() == [1, 1, 1]
    assert parse(text[:-1] + "}", threads=2)[1] == "',' or ']' is expected"


@pytest.mark.parametrize("key", ["image_id", "category_id"])
def test_kinds_of_ids_differ_between_pieces(key: str) -> None:
    texts = json.dumps({**RESULT, key: "a"})
    for first, second in ((result(), texts), (texts, result())):
        text = "[" + first[:-1] + ', "other": "' + "x" * PIECE + '"},' + second + "]"
        assert parse(text)[1] == "some ids are numbers and some are texts"


@pytest.mark.parametrize("section", ["images", "categories"])
def test_kinds_of_ids_differ_between_pieces_of_the_truth(section: str) -> None:
    whole = {"images": [], "annotations": [], "categories": [], section: [{"id": 1, "x": "x" * PIECE}, {"id": "a"}]}
    assert parse(json.dumps(whole), True)[1] == "some ids are numbers and some are texts"


def test_numbers_of_keypoints_differ_between_pieces() -> None:
    one, two = (json.dumps({**RESULT, "keypoints": [1, 2, 1] * n}) for n in (1, 2))
    answer = parse("[" + one[:-1] + ', "other": "' + "x" * PIECE + '"},' + two + "]", what=KEYPOINTS)
    assert answer[1:] == ("2 keypoints where others have 1", False, "", -1, "keypoints")


def test_polygons_in_images_that_are_named() -> None:
    """A polygon needs the size of its image: of one that is not there nothing is known."""
    polygon = '"category_id": 2, "score": 1, "segmentation": [[0, 0, 2, 0, 2, 2, 0, 2]]'
    texts = [f'[{{"image_id": "{name}", {polygon}}}]'.encode() for name in ("a", "b")]
    sizes = (["a"], np.array([[4, 4]]))
    known: Any
    unknown: Any
    known, unknown = (_native.coco_parse(text, False, 1, MASKS, *sizes) for text in texts)
    assert (known["area"].tolist(), known["box"].tolist()) == ([4.0], [[0, 0, 2, 2]])
    assert unknown[1] == "a polygon needs the height and width of its image, which the truth does not give"


def test_masks_of_a_truth_whose_images_are_named() -> None:
    """Two squares of two by two make one object of eight pixels; a mask must be as large as its image, where that is known."""
    images = '{"id": "a", "height": 5, "width": 4}, {"id": "b", "height": 2, "width": null}'
    squares = "[[0, 0, 2, 0, 2, 2, 0, 2], [2, 2, 4, 2, 4, 4, 2, 4]]"
    full = '{"size": [2, 2], "more": [], "counts": [0, 4]}'
    text = (
        f'{{"images": [{images}], "categories": [{{"id": 2}}], "annotations": ['
        f'{{"image_id": "a", "category_id": 2, "segmentation": {squares}}}, '
        f'{{"image_id": "b", "category_id": 2, "area": 3, "segmentation": {full}}}, '
        f'{{"image_id": "a", "category_id": 2, "segmentation": {squares}}}]}}'
    )
    answer = parse(text, True, MASKS)
    assert answer["area"].tolist() == [8, 3, 8]
    assert answer["box"].tolist() == [[0, 0, 4, 4], [0, 0, 2, 2], [0, 0, 4, 4]]
    for side in ("[5, 3]", "[4, 4]"):
        other = text.replace('"b", "category_id"', '"a", "category_id"').replace('[2, 2], "more"', f'{side}, "more"')
        rows, columns = json.loads(side)
        wrong = parse(other.replace("[0, 4]", f"[0, {rows * columns}]"), True, MASKS)
        assert wrong[1:] == (
            f"the mask is {rows} x {columns} and its image 5 x 4",
            False,
            "annotations",
            1,
            "segmentation",
        )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes in folders")
def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = padded(PIECE, result())
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    answer: Any = _native.coco_read(str(pipe), False, 1)
    writer.join()
    assert answer["score"].tolist() == [0.5, 0.5]


def test_a_folder_is_refused_and_leaves_nothing_open(tmp_path: Path) -> None:
    def free() -> int:
        number = os.open(os.devnull, os.O_RDONLY)
        os.close(number)
        return number

    before = free()
    for name in (str(tmp_path), str(tmp_path / "none"), "a\0b"):
        with pytest.raises(ValueError, match=r"cannot be (read|opened)"):
            _native.coco_read(name, False, 1)
    assert free() == before

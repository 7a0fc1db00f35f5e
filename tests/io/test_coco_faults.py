"""Every fault that the reader of COCO files can name: the place, the words and the key, straight from the native core."""

from __future__ import annotations

import numpy as np
import pytest
from support.refusal import refuses

from steelyard import _native

BOXES, MASKS, KEYPOINTS, ROTATED = range(4)


def read(text: str | bytes, truth: bool = False, what: int = BOXES, threads: int = 1) -> object:
    return _native.coco_parse(text.encode() if isinstance(text, str) else text, truth, threads, what)


def result(**parts: str) -> str:
    """One result whose values are written as they are given; None leaves a key out."""
    whole = {"image_id": "1", "category_id": "1", "score": "0.5", **parts}
    return "[{" + ", ".join(f'"{key}": {value}' for key, value in whole.items() if value) + "}]"


def mask(size: str = "[2, 2]", counts: str = "[0, 4]") -> str:
    return f'{{"size": {size}, "counts": {counts}}}'


DEEP = "[" * 2000 + "]" * 2000
FAULTS: list[tuple[int, str, str, str]] = [
    (BOXES, result(bbox="7"), "a number where an array of four numbers is expected", "bbox"),
    (BOXES, result(bbox="[]"), "0 numbers where four (x, y, width, height) are expected", "bbox"),
    (BOXES, result(bbox="[1, 2, 3, 4, 5]"), "5 numbers where four (x, y, width, height) are expected", "bbox"),
    (BOXES, result(bbox="[1, 2, -3, 4]"), "a negative width or height", "bbox"),
    (BOXES, result(bbox="[1, 2, 3, -4]"), "a negative width or height", "bbox"),
    (BOXES, result(bbox="[1e13, 2, 3, 4]"), "a coordinate or size beyond 1e12", "bbox"),
    (BOXES, result(bbox="[1, -1e13, 3, 4]"), "a coordinate or size beyond 1e12", "bbox"),
    (BOXES, result(bbox="[1, 2, 3, 4"), "',' or ']' is expected", "bbox"),
    (BOXES, result(bbox='[1, 2, 3, "4"]'), "a text where a number is expected", "bbox"),
    (BOXES, result(bbox="[1.e5, 2, 3, 4]"), "a digit is expected behind the decimal point", "bbox"),
    (BOXES, result(bbox="[1e, 2, 3, 4]"), "a digit is expected in the exponent", "bbox"),
    (BOXES, result(bbox="[1e999, 2, 3, 4]"), "the number is too large", "bbox"),
    (BOXES, result(bbox="[-, 2, 3, 4]"), "a digit is expected", "bbox"),
    (BOXES, result(bbox="[1, 2, 3, 4]", score="Infinity"), "NaN and Infinity are not numbers in JSON", "score"),
    (BOXES, result(bbox="[1, 2, 3, 4]", score="-Infinity"), "NaN and Infinity are not numbers in JSON", "score"),
    (BOXES, result(bbox="[1, 2, 3, 4]", image_id="1.5"), "an id must be a whole number or a text", "image_id"),
    (BOXES, result(bbox="[1, 2, 3, 4]", image_id="1e16"), "an id must be a whole number or a text", "image_id"),
    (BOXES, result(bbox="[1, 2, 3, 4]", image_id="[1]"),
     "an array where an id (a whole number or a text) is expected", "image_id"),
    (BOXES, result(bbox="[1, 2, 3, 4]", image_id='"a\x01"'), "a control character inside a text", "image_id"),
    (BOXES, result(bbox="[1, 2, 3, 4]", image_id=r'"a\x"'), "an unknown escape", "image_id"),
    (BOXES, result(bbox="[1, 2, 3, 4]", image_id=r'"a\u12g4"'), "four hexadecimal digits are expected behind \\u", "image_id"),
    (BOXES, result(bbox="[1, 2, 3, 4]", image_id=r'"\ud800x"'), "half of a surrogate pair", "image_id"),
    (BOXES, result(bbox="[1, 2, 3, 4]", image_id=r'"\ud800\u0041"'), "half of a surrogate pair", "image_id"),
    (BOXES, result(bbox="[1, 2, 3, 4]", image_id=r'"\udc00"'), "half of a surrogate pair", "image_id"),
    (BOXES, result(bbox="[1, 2, 3, 4]", other=DEEP), "nested too deeply", ""),
    (BOXES, result(bbox="[1, 2, 3, 4]", other='{"a": ' * 2000 + "1" + "}" * 2000), "nested too deeply", ""),
    (BOXES, result(bbox="[1, 2, 3, 4]", other="{7: 1}"), "a key in quotes is expected", ""),
    (BOXES, result(bbox="[1, 2, 3, 4]", other="nuln"), "an unknown word", ""),
    (BOXES, result(bbox="[1, 2, 3, 4]", other="?"), "a value is expected", ""),
    (BOXES, result(bbox="[1, 2, 3, 4]", other="1."), "a digit is expected behind the decimal point", ""),
    (BOXES, result(bbox="[1, 2, 3, 4]", other="1e+"), "a digit is expected in the exponent", ""),
    (BOXES, result(bbox="[1, 2, 3, 4]", other='"\x02"'), "a control character inside a text", ""),
    (BOXES, '[{"bbox": [1, 2, 3, 4], "bbox": [1, 2, 3, 4]}]', "the key appears twice", "bbox"),
    (BOXES, result(), "the key is missing", "bbox"),
    (BOXES, result(bbox="[1, 2, 3, 4]") + "x", "nothing may follow the end of the JSON", ""),
    (BOXES, "", "the file is empty", ""),
    (BOXES, "{}", "an object where an array of results is expected", ""),
    (BOXES, "[7]", "a number where an object is expected", ""),
    (BOXES, result(bbox="[1, 2, 3, 4]")[:-1] + "{}", "',' or ']' is expected", ""),
    (BOXES, "[{7: 1}]", "a key in quotes is expected", ""),
    (BOXES, '[{"score"', "the file ends in the middle", ""),
    (MASKS, result(segmentation="7"),
     "a number where polygons (an array) or a mask (an object with size and counts) is expected", "segmentation"),
    (MASKS, result(segmentation="[]"), "there is no polygon", "segmentation"),
    (MASKS, result(segmentation="[7]"), "a number where a polygon (an array of numbers) is expected", "segmentation"),
    (MASKS, result(segmentation="[[]]"), "a polygon of 0 points: it needs three", "segmentation"),
    (MASKS, result(segmentation="[[1, 1, 2]]"), "a polygon of 3 numbers: x and y come in pairs", "segmentation"),
    (MASKS, result(segmentation="[[1, 1, 2, 2]]"), "a polygon of 2 points: it needs three", "segmentation"),
    (MASKS, result(segmentation="[[1, 1, 3e8, 2, 3, 3]]"), "a polygon's coordinate is beyond 2e8", "segmentation"),
    (MASKS, result(segmentation="[[1, 1, -3e8, 2, 3, 3]]"), "a polygon's coordinate is beyond 2e8", "segmentation"),
    (MASKS, result(segmentation="{}"), "the mask lacks 'size'", "segmentation"),
    (MASKS, result(segmentation='{"size": [2, 2]}'), "the mask lacks 'counts'", "segmentation"),
    (MASKS, result(segmentation="{7: 2}"), "a key in quotes is expected", "segmentation"),
    (MASKS, result(segmentation='{"size": [2, 2], "size": [2, 2]}'), "the mask's size appears twice", "segmentation"),
    (MASKS, result(segmentation='{"counts": [], "counts": []}'), "the mask's counts appear twice", "segmentation"),
    (MASKS, result(segmentation=mask(size="4")),
     "a number where the mask's size, an array of height and width, is expected", "segmentation"),
    (MASKS, result(segmentation=mask(size="[2.5, 2]")), "the mask's size is not whole", "segmentation"),
    (MASKS, result(segmentation=mask(size="[2, 2, 2]")), "the mask's size has 3 numbers, not 2", "segmentation"),
    (MASKS, result(segmentation=mask(size="[-2, 2]")), "a mask's size is negative: -2 x 2", "segmentation"),
    (MASKS, result(segmentation=mask(counts="7")),
     "a number where the mask's counts, a text or an array, are expected", "segmentation"),
    (MASKS, result(segmentation=mask(counts="[1.5]")),
     "a count of the mask is not a whole number from 0 to 2^32", "segmentation"),
    (MASKS, result(segmentation=mask(counts="[-1]")),
     "a count of the mask is not a whole number from 0 to 2^32", "segmentation"),
    (MASKS, result(segmentation=mask(counts="[4294967296]")),
     "a count of the mask is not a whole number from 0 to 2^32", "segmentation"),
    (MASKS, result(segmentation=mask(counts="[]")), "the counts add up to 0 pixels, the size 2 x 2 has 4", "segmentation"),
    (MASKS, result(segmentation="[[1, 1, 5, 1, 5, 5]]"),
     "a polygon needs the height and width of its image, which the truth does not give", "segmentation"),
    (KEYPOINTS, result(keypoints="7"), "a number where an array of x, y and v for each keypoint is expected", "keypoints"),
    (KEYPOINTS, result(keypoints="[]"), "0 numbers where x, y and v for each keypoint are expected", "keypoints"),
    (KEYPOINTS, result(keypoints="[1, 2]"), "2 numbers where x, y and v for each keypoint are expected", "keypoints"),
    (KEYPOINTS, result(keypoints="[1e13, 2, 1]"), "a keypoint beyond 1e12", "keypoints"),
    (KEYPOINTS, result(keypoints="[1, -1e13, 1]"), "a keypoint beyond 1e12", "keypoints"),
    (KEYPOINTS, result(keypoints="[1, 2, 1]")[:-1] + "," + result(keypoints="[1, 2, 1, 1, 2, 1]")[1:],
     "2 keypoints where others have 1", "keypoints"),
    (ROTATED, result(obb="7"), "a number where an array of centre x, centre y, width, height and angle is expected", "obb"),
    (ROTATED, result(obb="[]"), "0 numbers where 5 are expected: centre, width, height, angle", "obb"),
    (ROTATED, result(obb="[1, 2, -3, 4, 0]"), "a negative width or height", "obb"),
    (ROTATED, result(obb="[1, 2, 3, -4, 0]"), "a negative width or height", "obb"),
    (ROTATED, result(obb="[1e13, 2, 3, 4, 0]"), "a number beyond 1e12", "obb"),
    (ROTATED, result(obb="[1, -1e13, 3, 4, 0]"), "a number beyond 1e12", "obb"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "text", "words", "key"), FAULTS, ids=[f"{row[3]}-{row[2][:40]}" for row in FAULTS])
def test_results(what: int, text: str, words: str, key: str) -> None:
    answer = read(text, what=what)
    assert isinstance(answer, tuple)
    assert (answer[1], answer[5]) == (words, key)
    assert 0 <= answer[0] <= len(text.encode())


IMAGE, CLASS = '{"id": 1, "height": 9, "width": 9}', '{"id": 1, "name": "a"}'


def truth(images: str = f"[{IMAGE}]", annotations: str = "[]", categories: str = f"[{CLASS}]", more: str = "") -> str:
    return f'{{"images": {images}, "annotations": {annotations}, "categories": {categories}{more}}}'


def one(**parts: str) -> str:
    whole = {
        "id": "1",
        "image_id": "1",
        "category_id": "1",
        "bbox": "[1, 2, 3, 4]",
        "area": "4",
        "iscrowd": "0",
        **parts,
    }
    return "[{" + ", ".join(f'"{key}": {value}' for key, value in whole.items()) + "}]"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "an array where an object with images, annotations and categories is expected"),
        ("7", "a number where an object with images, annotations and categories is expected"),
        ("{7}", "a key in quotes is expected"),
        ('{"images": []]', "',' or '}' is expected"),
        ('{"images": []}', "'annotations' is missing"),
        ('{"images": [], "images": []}', "'images' appears twice"),
        (truth(images="{}"), "an object where an array is expected"),
        (truth(annotations=one(iscrowd="2")), "0 or 1 is expected"),
        (truth(annotations=one(area="-1")), "an area must be from 0 to 1e24"),
        (truth(annotations=one(area="1e25")), "an area must be from 0 to 1e24"),
        (truth(images='[{"id": 1}, {"id": "b"}]'), "some ids are numbers and some are texts"),
    ],
)  # fmt: skip
def test_truth(text: str, words: str) -> None:
    answer = read(text, truth=True)
    assert isinstance(answer, tuple)
    assert answer[1] == words


@pytest.mark.parametrize("size", ['"height": -1, "width": 9', '"height": 9, "width": 4294967296'])
def test_sizes_of_images(size: str) -> None:
    answer = read(truth(images=f'[{{"id": 1, {size}}}]'), truth=True, what=MASKS)
    assert isinstance(answer, tuple)
    assert answer[1] == "a height or width must be a whole number from 0 to 2^32"


def test_what_is_not_needed_is_passed_over() -> None:
    """Unknown sections and keys, sizes that are not known, flags in words, ids as whole numbers in another spelling."""
    extra = ', "info": {"a": [1, -2.5e-3, true, false, null, "\\u00e9\\n", {}], "b": []}, "licenses": []'
    image = '[{"id": 1.0, "height": null, "width": null}]'
    for flag, expected in (("true", 1), ("false", 0), ("1", 1), ("0.0", 0)):
        answer = read(truth(images=image, annotations=one(iscrowd=flag), more=extra), truth=True)
        assert isinstance(answer, dict)
        assert answer["crowd"].tolist() == [expected]
        assert answer["box"].tolist() == [[1, 2, 3, 4]]


def test_a_mask_and_its_image_must_agree() -> None:
    sizes = (np.array([1]), np.array([[3, 3]]))
    answer = _native.coco_parse(result(segmentation=mask()).encode(), False, 1, MASKS, *sizes)
    assert answer[1] == "the mask is 2 x 2 and its image 3 x 3"
    with refuses(ValueError, "keypoints"):
        read("[]", what=4)
    with refuses(ValueError, "image"):
        _native.coco_parse(b"[]", False, 1, MASKS, np.array([1, 2]), sizes[1])


def test_bytes_that_are_not_utf_8() -> None:
    for text in (b"\x80", b"\xc3(", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82", b"\xc0\xaf"):
        answer = read(b'[{"image_id": "' + text + b'"}]')
        assert isinstance(answer, tuple)
        assert answer[1] == "bytes that are not UTF-8"
    whole = '"é", "€", "😀"'
    for name in whole.split(", "):
        answer = read(result(image_id=name, bbox="[1, 2, 3, 4]"))
        assert isinstance(answer, dict)

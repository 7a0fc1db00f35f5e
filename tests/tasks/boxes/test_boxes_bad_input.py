"""What can be wrong with boxes, and what the message must say. Never a crash, never a silent number."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusal import refused, refuses

import steelyard as sy

TRUTH: dict[str, Any] = {
    "images": [{"id": 1}, {"id": 2}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0, 10, 10], "area": 100, "iscrowd": 0},
        {"id": 2, "image_id": 2, "category_id": 3, "bbox": [5, 5, 20, 20], "area": 400, "iscrowd": 0},
    ],
    "categories": [{"id": 3, "name": "cat"}],
}
RESULTS = [
    {"image_id": 1, "category_id": 3, "bbox": [0, 0, 10, 10], "score": 0.9},
    {"image_id": 2, "category_id": 3, "bbox": [5, 5, 20, 21], "score": 0.8},
]
GOOD = json.dumps(RESULTS)


def result(**changed: Any) -> str:
    return json.dumps([RESULTS[0], {**RESULTS[1], **changed}])


def truth(**changed: Any) -> str:
    data = json.loads(json.dumps(TRUTH))
    data["annotations"][1].update(changed)
    return json.dumps(data)


# results text, what the message must contain
BAD_RESULTS = {
    "empty file": ("", ["results.json", "the file is empty"]),
    "only blanks": (" \n ", ["the file is empty"]),
    "truncated": (GOOD[:-30], ["not valid JSON", "record 1", "ends in the middle", "to its end"]),
    "ends in a number": (GOOD[: GOOD.rindex("0.8") + 3], ["not valid JSON", "record 1", "ends in the middle"]),
    "ends in a text": ('[{"image_id": "ab', ["ends in the middle"]),
    "ends in a word": ('[{"image_id": 1, "other": tr', ["ends in the middle"]),
    "trailing comma": (GOOD[:-1] + ",]", ["not valid JSON"]),
    "two documents": (GOOD + GOOD, ["nothing may follow"]),
    "no comma": (GOOD.replace("}, {", "} {"), ["',' or ']' is expected"]),
    "single quotes": (GOOD.replace('"', "'"), ["a key in quotes is expected"]),
    "not an array": ('{"a": 1}', ["an object where an array of results is expected"]),
    "a number": ("12", ["a number where an array of results is expected"]),
    "a record that is a number": ("[1, 2]", ["record 0", "a number where an object is expected"]),
    "NaN score": (result(score=float("nan")), ["record 1", "key 'score'", "NaN"]),
    "infinite score": (result(score=float("inf")), ["record 1", "key 'score'", "Infinity"]),
    "minus infinity": (result(score=float("-inf")), ["record 1", "key 'score'", "Infinity"]),
    "missing score": (json.dumps([{k: v for k, v in RESULTS[0].items() if k != "score"}]),
                      ["record 0", "key 'score'", "missing"]),
    "missing bbox": (json.dumps([{k: v for k, v in RESULTS[0].items() if k != "bbox"}]), ["key 'bbox'", "missing"]),
    "text score": (result(score="0.5"), ["record 1", "key 'score'", "a text where a number is expected"]),
    "null score": (result(score=None), ["record 1", "key 'score'", "null where a number is expected"]),
    "text box": (result(bbox="0 0 1 1"), ["record 1", "key 'bbox'", "a text where"]),
    "text in box": (result(bbox=[0, "0", 1, 1]), ["record 1", "key 'bbox'", "a text where a number"]),
    "three numbers": (result(bbox=[0, 0, 1]), ["record 1", "key 'bbox'", "3 numbers where four"]),
    "five numbers": (result(bbox=[0, 0, 1, 1, 1]), ["record 1", "key 'bbox'", "5 numbers where four"]),
    "negative width": (result(bbox=[0, 0, -1, 1]), ["record 1", "key 'bbox'", "negative"]),
    "negative height": (result(bbox=[0, 0, 1, -1]), ["record 1", "key 'bbox'", "negative"]),
    "1e308": (result(bbox=[0, 0, 1e308, 1]), ["record 1", "key 'bbox'", "beyond 1e12"]),
    "1e999": (GOOD.replace("0.8", "1e999"), ["record 1", "key 'score'", "too large"]),
    "1e308 digits behind nothing": (GOOD.replace("0.8", "0." + "0" * 400 + "1e800"), ["record 1", "too large"]),
    "a million digits": (GOOD.replace("0.8", "9" * 1_000_000), ["record 1", "key 'score'", "too large"]),
    "text id mixed with numbers": (result(image_id="1"), ["numbers and some are texts"]),
    "fractional id": (result(image_id=1.5), ["record 1", "key 'image_id'", "whole number"]),
    "id is a list": (result(image_id=[1]), ["record 1", "key 'image_id'", "an array where an id"]),
    "id is null": (result(image_id=None), ["record 1", "key 'image_id'", "null where an id"]),
    "id beyond 64 bits": (GOOD.replace('"image_id": 2', '"image_id": 99999999999999999999'), ["key 'image_id'"]),
    "unknown image": (result(image_id=99), ["record 1", "image '99' is not in", "`extra='skip'`"]),
    "unknown category": (result(category_id=99), ["record 1", "class '99' is not in", "`extra='skip'`"]),
    "key twice": (GOOD.replace('"score": 0.8', '"score": 0.8, "score": 0.1'), ["key 'score'", "appears twice"]),
    "leading zero": (GOOD.replace("0.8", "00.8"), ["not valid JSON"]),
    "bare point": (GOOD.replace("0.8", ".8"), ["not valid JSON"]),
    "point without digits": (GOOD.replace("0.8", "0."), ["a digit is expected"]),
    "plus sign": (GOOD.replace("0.8", "+0.8"), ["not valid JSON"]),
    "hexadecimal": (GOOD.replace("0.8", "0x10"), ["not valid JSON"]),
    "exponent without digits": (GOOD.replace("0.8", "8e"), ["exponent"]),
    "comment": (GOOD.replace("[", "[/* all */", 1), ["not valid JSON"]),
    "control character": (GOOD.replace("image_id", "image\x01id"), ["control character"]),
    "bad escape": (GOOD.replace('"score"', r'"sc\qore"'), ["escape"]),
    "half a surrogate": (GOOD.replace('"score"', r'"\ud800", "score"'), ["surrogate"]),
    "NUL inside": (GOOD.replace("0.8", "0\x00.8"), ["not valid JSON"]),
    "nesting bomb in a record": ('[{"image_id": 1, "x": ' + "[" * 100_000, ["nested too deeply"]),
    "nesting bomb of objects": ('[{"image_id": 1, "x": ' + '{"a":' * 100_000, ["nested too deeply"]),
    "nesting bomb outside": ("[" * 1_000_000, ["record 0", "an array where an object is expected"]),
}  # fmt: skip
BAD_TRUTH = {
    "an array": (GOOD, ["E-invalid-file", "truth.json"]),
    "no images": ('{"annotations": [], "categories": []}', ["E-invalid-file", "'images'", "missing"]),
    "no annotations": ('{"images": [], "categories": []}', ["E-invalid-file", "'annotations'"]),
    "no categories": ('{"images": [], "annotations": []}', ["E-invalid-file", "'categories'"]),
    "no image at all": ('{"images": [], "annotations": [], "categories": []}', ["E-empty-input", "truth.json"]),
    "section twice": ('{"images": [], "images": [], "annotations": [], "categories": []}', ["E-invalid-file", "'images'", "appears"]),
    "section is an object": ('{"images": {}, "annotations": [], "categories": []}', ["E-invalid-file", "'images'", "object"]),
    "duplicate annotation id": (truth(id=1), ["E-duplicate-key", "annotation 1", "id 1"]),
    "duplicate image": (json.dumps({**TRUTH, "images": [{"id": 1}, {"id": 1}]}), ["E-duplicate-key", "image 1", "id 1"]),
    "duplicate category": (json.dumps({**TRUTH, "categories": [{"id": 3}, {"id": 3}]}), ["E-duplicate-key", "category 1"]),
    "image without id": (json.dumps({**TRUTH, "images": [{"name": "a"}]}), ["E-invalid-file", "image 0", "'id'"]),
    "unknown image": (truth(image_id=7), ["E-unknown-name", "annotation 1", "'7'", "image"]),
    "unknown category": (truth(category_id=7), ["E-unknown-name", "annotation 1", "'7'", "class"]),
    "negative width": (truth(bbox=[0, 0, -3, 3]), ["E-invalid-file", "annotation 1", "'bbox'"]),
    "negative area": (truth(area=-1), ["E-invalid-file", "annotation 1", "'area'", "area"]),
    "NaN area": (truth(area=float("nan")), ["E-invalid-file", "annotation 1", "'area'", "NaN"]),
    "crowd is 2": (truth(iscrowd=2), ["E-invalid-file", "annotation 1", "'iscrowd'", "0", "1"]),
    "crowd is a text": (truth(iscrowd="yes"), ["E-invalid-file", "annotation 1", "'iscrowd'"]),
    "huge box": (truth(bbox=[0, 0, 1e300, 1e300]), ["E-invalid-file", "annotation 1", "1e12"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_RESULTS)
def test_bad_results(name: str, tmp_path: Path) -> None:
    text, expected = BAD_RESULTS[name]
    (tmp_path / "truth.json").write_text(json.dumps(TRUTH))
    (tmp_path / "results.json").write_text(text)
    said = refused(lambda: sy.evaluate("boxes", tmp_path / "truth.json", tmp_path / "results.json"))
    for part in expected:
        assert part in said, said
    assert len(said) < 600


@pytest.mark.parametrize("name", BAD_TRUTH)
def test_bad_truth(name: str, tmp_path: Path) -> None:
    text, expected = BAD_TRUTH[name]
    (tmp_path / "truth.json").write_text(text)
    (tmp_path / "results.json").write_text(GOOD)
    with refuses(*expected):
        sy.evaluate("boxes", tmp_path / "truth.json", tmp_path / "results.json")


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(GOOD)
    for garbage in (b"\xff\xfe", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82"):
        text = json.dumps(TRUTH).encode().replace(b'"cat"', b'"' + garbage + b'"')
        (tmp_path / "truth.json").write_bytes(text)
        with refuses("E-invalid-file", "UTF-8", "category 0"):
            sy.evaluate("boxes", tmp_path / "truth.json", tmp_path / "results.json")


def test_the_place_is_named_by_line_and_column(tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_text(json.dumps(TRUTH))
    text = json.dumps(RESULTS, indent=2).replace("0.8", "zero")
    (tmp_path / "results.json").write_text(text)
    line = next(i for i, row in enumerate(text.splitlines(), 1) if "zero" in row)
    column = text.splitlines()[line - 1].index("zero") + 1
    with refuses("E-invalid-file", f"line {line}", f"column {column}"):
        sy.evaluate("boxes", tmp_path / "truth.json", tmp_path / "results.json")


def test_a_fault_far_into_a_large_file_is_counted_from_its_start(tmp_path: Path) -> None:
    """Chunks are parsed side by side; the record's number is that in the file."""
    rows = [json.dumps(RESULTS[i % 2]) for i in range(60_000)]
    rows[54_321] = rows[54_321].replace("bbox", "box")
    (tmp_path / "truth.json").write_text(json.dumps(TRUTH))
    (tmp_path / "results.json").write_text("[" + ", ".join(rows) + "]")
    with refuses("E-invalid-file", "record 54321", "'bbox'"):
        sy.evaluate("boxes", tmp_path / "truth.json", tmp_path / "results.json")


def test_texts_that_look_like_gaps_between_records(tmp_path: Path) -> None:
    """A chunk may start in the middle of a text that looks like JSON: it must not be taken for it."""
    trap = json.dumps([{"image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1], "score": 0.5}] * 40)
    rows = [json.dumps({**RESULTS[i % 2], "note": trap, "more": [{"a": 1}, {"b": [2]}]}) for i in range(2500)]
    (tmp_path / "truth.json").write_text(json.dumps(TRUTH))
    (tmp_path / "results.json").write_text("[" + ",\n".join(rows) + "]")
    report = sy.evaluate("boxes", tmp_path / "truth.json", tmp_path / "results.json", "map", confidence=None)
    assert report.sources.predictions.rows == 2500


def test_skip_leaves_unknown_out_and_says_so() -> None:
    results = [*RESULTS, {**RESULTS[0], "image_id": 99}]
    report = sy.evaluate("boxes", TRUTH, results, "map", extra="skip", confidence=None)
    assert report.coverage.extra == 1
    assert "1 prediction without truth left out" in str(report)


def test_more_detections_than_can_be_ranked() -> None:
    boxes = np.tile([0.0, 0.0, 5.0, 5.0], (65536, 1))
    boxes += np.stack([np.arange(65536) % 256, np.arange(65536) // 256] * 2, axis=1) * 20.0
    labels = np.full(65536, 3)
    truth = [{"image": 1, "boxes": [[0, 0, 5, 5]], "labels": [3]}]
    rows = {"image": 1, "boxes": boxes, "labels": labels, "scores": np.linspace(0, 1, 65536)}
    with refuses("E-too-large", "'1'", "65,536", "'3'", "65,535"):
        sy.evaluate("boxes", truth, [rows], "map", confidence=None)
    [finding] = [one for one in sy.check("boxes", truth, [rows]).findings if one.code == "over-limit"]
    assert (finding.severity, finding.count) == ("error", 1)
    fewer = {name: column if name == "image" else column[1:] for name, column in rows.items()}
    assert sy.evaluate("boxes", truth, [fewer], "map", confidence=None)["map"].value == 0.0


BAD_SETTINGS = {
    "map(iou=0)": ("E-invalid-spec", "0"),
    "map(iou=1.5)": ("E-invalid-spec", "1.5"),
    "map(iou=0.1:1:0.01)": ("E-invalid-spec", "iou"),
    "map(area=tiny)": ("E-invalid-spec", "tiny"),
    "map(area=[5, 1])": ("E-invalid-spec",),
    "map(max_dets=0)": ("E-invalid-spec", "max_dets", "0"),
    "ar@1.5": ("E-invalid-spec", "max_dets", "1.5"),
    "ap(kind=area)": ("E-invalid-spec", "kind"),
    "ap(rule=best)": ("E-invalid-spec", "rule"),
    "ap(label=catt)": ("E-unknown-name", "'catt'", "'cat'"),
    "precision(score=high)": ("E-invalid-spec", "high"),
}


@pytest.mark.parametrize("spec", BAD_SETTINGS)
def test_bad_settings(spec: str) -> None:
    with refuses(*BAD_SETTINGS[spec]):
        sy.evaluate("boxes", TRUTH, RESULTS, spec)


BAD_BATCHES: dict[str, tuple[Any, Any, str]] = {
    "not a dict": ([1], [], ("E-invalid-value", "item 0")),
    "unknown key": ([{"image": 1, "boxes": [], "labels": [], "box": 1}], [], ("E-unknown-name", "'box'", "'boxes'")),
    "no labels": ([{"image": 1, "boxes": []}], [], ("E-missing-key", "'labels'")),
    "three columns": ([{"image": 1, "boxes": [[1, 2, 3]], "labels": [1]}], [], ("E-shape-mismatch", "1", "3")),
    "two labels": ([{"image": 1, "boxes": [[1, 2, 3, 4]], "labels": [1, 2]}], [], ("E-shape-mismatch", "1", "2")),
    "NaN box": ([{"image": 1, "boxes": [[1, float("nan"), 3, 4]], "labels": [1]}], [], ("E-invalid-number", "'y'")),
    "negative size": ([{"image": 1, "boxes": [[1, 2, -3, 4]], "labels": [1]}], [], ("E-out-of-range", "'w'")),
    "images that are no list": (
        {"images": 3, "image": [1], "label": [1], "x": [0], "y": [0], "w": [1], "h": [1]},
        [],
        ("E-shape-mismatch", "'images'"),
    ),
    "images of several lengths": (
        {"images": [[1], [1, 2]], "image": [1], "label": [1], "x": [0], "y": [0], "w": [1], "h": [1]},
        [],
        ("E-shape-mismatch", "'images'"),
    ),
    "no predictions": (
        {"image": [1], "label": [1], "x": [0], "y": [0], "w": [1], "h": [1]},
        None,
        ("E-missing-data", "truth"),
    ),
}


@pytest.mark.parametrize("name", BAD_BATCHES)
def test_bad_batches(name: str) -> None:
    given, predictions, expected = BAD_BATCHES[name]
    with refuses(*expected):
        sy.evaluate("boxes", given, predictions)


def test_changed_bytes_never_crash() -> None:
    """Any change to a file gives a report or an InputError; `make fuzz` does this for longer, under sanitizers."""
    rng = random.Random(5)
    sides = [json.dumps(TRUTH).encode(), GOOD.encode()]
    from steelyard.io.coco import parse_coco

    outcomes = {"read": 0, "refused": 0}
    for _ in range(4000):
        side = rng.randrange(2)
        text = bytearray(sides[side])
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(len(text))
            kind = rng.randrange(6)
            if kind == 0:
                text[place] = rng.randrange(256)
            elif kind == 1:
                del text[place : place + rng.randrange(1, 9)]
            elif kind == 2:
                text[place:place] = rng.choice(
                    [b"{", b"[", b'"', b"1e999", b"-", b"null", b"\\u12", b"\xc3", b"\x00", b","]
                )
            elif kind >= 4:
                digits = [i for i, c in enumerate(text) if chr(c).isdigit()]
                if digits:
                    text[rng.choice(digits)] = rng.choice(b"123456789")
            else:
                del text[place:]
                if not text:
                    text = bytearray(b" ")
        try:
            parse_coco(bytes(text), ["truth", "prediction"][side])
            outcomes["read"] += 1
        except sy.InputError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 100


def test_thousands_of_boxes_on_one_another_are_all_found() -> None:
    """The work grows with their number, not with its square."""
    labels, boxes = np.full(1500, 3), np.tile([0.0, 0.0, 5.0, 5.0], (1500, 1))
    truth = [{"image": 1, "boxes": boxes, "labels": labels}]
    rows = {"image": 1, "boxes": boxes + np.linspace(0, 0.01, 1500)[:, None], "labels": labels}
    findings = sy.check("boxes", truth, [{**rows, "scores": np.linspace(0, 1, 1500)}]).findings
    counts = {finding.code: finding.count for finding in findings}
    assert (counts["near-duplicates"], counts["no-suppression"]) == (1499, 1500)

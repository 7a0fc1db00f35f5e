"""What can be wrong with masks and keypoints, and what the message must say. Never a crash, never a silent number."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.io.coco import parse_coco

RING = [1.0, 1.0, 9.0, 1.0, 9.0, 9.0]
MASK = {"size": [20, 30], "counts": "Q13Q100000bN"}
COUNTS = {"size": [20, 30], "counts": [100, 20, 480]}
POINTS = [5.0, 5.0, 2.0] * 17
TRUTH: dict[str, Any] = {
    "images": [{"id": 1, "height": 20, "width": 30}, {"id": 2, "height": 20, "width": 30}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 3, "segmentation": [RING], "area": 30, "iscrowd": 0, "keypoints": POINTS,
         "num_keypoints": 17, "bbox": [0, 0, 9, 9]},
        {"id": 2, "image_id": 2, "category_id": 3, "segmentation": COUNTS, "area": 20, "iscrowd": 0, "keypoints": POINTS,
         "num_keypoints": 17, "bbox": [0, 0, 9, 9]},
    ],
    "categories": [{"id": 3, "name": "cat"}],
}  # fmt: skip
RESULTS = [
    {"image_id": 1, "category_id": 3, "segmentation": [RING], "keypoints": POINTS, "score": 0.9},
    {"image_id": 2, "category_id": 3, "segmentation": COUNTS, "keypoints": POINTS, "score": 0.8},
]
NAN = float("nan")


def result(**changed: Any) -> Any:
    return TRUTH, [RESULTS[0], {**RESULTS[1], **changed}]


def truth(**changed: Any) -> Any:
    data = json.loads(json.dumps(TRUTH))
    data["annotations"][1].update(changed)
    return data, RESULTS


def image(**changed: Any) -> Any:
    data = json.loads(json.dumps(TRUTH))
    data["images"][0] = {"id": 1, **changed}
    return data, RESULTS


def lacking(key: str) -> Any:
    return TRUTH, [{k: v for k, v in RESULTS[0].items() if k != key}]


BAD: dict[str, tuple[str, Any, list[str]]] = {
    "no mask": ("masks", lacking("segmentation"), ["results.json, record 0", "'segmentation'", "missing"]),
    "short counts": ("masks", result(segmentation={"size": [20, 30], "counts": [100, 20]}),
                     ["record 1", "add up to 120 pixels", "20 x 30 has 600"]),
    "overlong counts": ("masks", result(segmentation={"size": [20, 30], "counts": [100, 20, 4800]}),
                        ["record 1", "4920 pixels"]),
    "broken text": ("masks", result(segmentation={"size": [20, 30], "counts": "Q1o"}),
                    ["record 1", "in the middle of a number"]),
    "a character that is none": ("masks", result(segmentation={"size": [20, 30], "counts": "Q1 é"}),
                                 ["record 1", "character"]),
    "a run below zero": ("masks", result(segmentation={"size": [20, 30], "counts": "O"}), ["-1 pixels"]),
    "a huge size": ("masks", result(segmentation={"size": [2000000, 3000000], "counts": [600]}), ["too large"]),
    "a size beyond 64 bits": ("masks", result(segmentation={"size": [10**30, 3], "counts": [600]}), ["not whole"]),
    "a negative size": ("masks", result(segmentation={"size": [-20, 30], "counts": [600]}), ["negative"]),
    "a size of one": ("masks", result(segmentation={"size": [20], "counts": [600]}), ["1 number, not 2"]),
    "another size than the image": ("masks", result(segmentation={"size": [30, 20], "counts": [600]}),
                                    ["record 1", "30 x 20 and its image 20 x 30"]),
    "no counts": ("masks", result(segmentation={"size": [20, 30]}), ["lacks 'counts'"]),
    "counts that are a number": ("masks", result(segmentation={"size": [20, 30], "counts": 7}), ["a number where"]),
    "counts with a fraction": ("masks", result(segmentation={"size": [20, 30], "counts": [1.5]}), ["whole number"]),
    "counts twice": ("masks", '[{"segmentation": {"counts": [1], "counts": [1]}}]', ["counts appear twice"]),
    "a mask that is null": ("masks", result(segmentation=None), ["record 1", "null where polygons"]),
    "a mask that is a text": ("masks", result(segmentation="abc"), ["a text where polygons"]),
    "no polygon": ("masks", result(segmentation=[]), ["there is no polygon"]),
    "an empty polygon": ("masks", result(segmentation=[[]]), ["0 points"]),
    "two points": ("masks", result(segmentation=[[1, 2, 3, 4]]), ["2 points: it needs three"]),
    "an odd number": ("masks", result(segmentation=[[1, 2, 3, 4, 5, 6, 7]]), ["7 numbers", "pairs"]),
    "a flat polygon": ("masks", result(segmentation=RING), ["a number where a polygon"]),
    "nan in a polygon": ("masks", result(segmentation=[[*RING, NAN, 1]]), ["NaN", "not valid JSON"]),
    "far away": ("masks", result(segmentation=[[*RING, 1e9, 1]]), ["beyond 2e8"]),
    "polygon in truth": ("masks", truth(segmentation=[[1, 2, 3]]), ["truth.json, annotation 1", "'segmentation'", "3 numbers"]),
    "image without size": ("masks", image(), ["annotation 0", "needs the height and width of its image"]),
    "image with a negative size": ("masks", image(height=-5, width=4), ["image 0", "key 'height'", "from 0"]),
    "image of a huge size": ("masks", image(height=4000000000, width=4000000000), ["annotation 0", "too large"]),
    "nan score": ("masks", result(score=NAN), ["record 1", "'score'", "NaN"]),
    "unknown image": ("masks", result(image_id=9), ["image '9' is not in"]),
    "boundary beyond one": ("masks --overlap boundary --dilation 2", result(), ["dilation: 2 is out of range"]),
    "no keypoints": ("keypoints", lacking("keypoints"), ["record 0", "'keypoints'", "missing"]),
    "two thirds of a keypoint": ("keypoints", result(keypoints=POINTS[:-1]), ["record 1", "50 numbers"]),
    "fewer keypoints": ("keypoints", result(keypoints=POINTS[:-3]), ["16 keypoints where others have 17"]),
    "no keypoint": ("keypoints", result(keypoints=[]), ["0 numbers"]),
    "nan keypoint": ("keypoints", result(keypoints=[NAN, *POINTS[1:]]), ["NaN"]),
    "keypoint far away": ("keypoints", result(keypoints=[1e13, *POINTS[1:]]), ["record 1", "beyond 1e12"]),
    "keypoint that is a text": ("keypoints", result(keypoints=["1", *POINTS[1:]]), ["a text where a number"]),
    "keypoints that are a text": ("keypoints", result(keypoints="1 2 3"), ["a text where an array"]),
    "sigmas of another number": ("keypoints --sigmas 0.1,0.2", result(), ["2 sigmas for 17 keypoints"]),
    "a sigma of zero": ("keypoints --sigmas 0", result(), ["sigmas: 0 is out of range"]),
    "a sigma next to zero": ("keypoints --sigmas 1e-200", result(), ["sigma of 1e-200", "1e-6"]),
    "a sigma that is a text": ("keypoints --sigmas a", result(), ["'a' is not a number"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from steelyard.cli.main import main

    task, given, parts = BAD[case]
    data, results = (json.dumps(TRUTH), given) if isinstance(given, str) else map(json.dumps, given)
    (tmp_path / "truth.json").write_text(data)
    (tmp_path / "results.json").write_text(results)
    name, *options = task.split()
    files = [str(tmp_path / "truth.json"), str(tmp_path / "results.json")]
    monkeypatch.setattr("sys.argv", ["steelyard", "evaluate", name, *files, "--ci", "none", *options])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    printed = capsys.readouterr().err
    assert "Traceback" not in printed
    for part in parts:
        assert part in printed, printed


TABLES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "pixels of floats": ("masks", {"mask": [np.ones((20, 30))]}, ["E-invalid-value", "row 0", "float64"]),
    "a cell that is not JSON": ("masks", {"mask": ["[[1, 2"]}, ["E-invalid-value", "predictions, row 0, column 'mask'"]),
    "a mask of another size": ("masks", {"mask": [np.ones((20, 31), bool)]}, ["E-shape-mismatch", "20", "31", "30"]),
    "a cell that is nan": ("masks", {"mask": [float("nan")]}, ["E-empty-cell", "predictions, row 0, column 'mask'"]),
    "a score that is nan": ("masks", {"mask": [np.ones((20, 30), bool)], "score": [float("nan")]}, ["E-invalid-number", "predictions, row 0, column 'score'"]),
    "a keypoint that is nan": ("keypoints", {"keypoints": [[float("nan")] * 51]}, ["E-invalid-value", "predictions, row 0, column 'keypoints'"]),
    "other keypoints than the truth": ("keypoints", {"keypoints": [[1.0] * 48]}, ["E-shape-mismatch", "48", "51"]),
    "a cell without numbers": ("keypoints", {"keypoints": ["x"]}, ["E-invalid-value", "keypoints"]),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
def test_bad_tables_are_named(case: str) -> None:
    task, changed, parts = TABLES[case]
    shape = {"mask": [np.ones((20, 30), bool)]} if task == "masks" else {"keypoints": [POINTS]}
    good = {"image": [1], "label": [1], **shape}
    with refuses(*parts):
        sy.evaluate(task, good, {**good, "score": [0.5], **changed}, "map", confidence=None)


def test_lists_of_no_keypoint_are_named() -> None:
    side = {"image": [1], "label": [1], "keypoints": [[]]}
    with refuses("E-empty-cell", "keypoints"):
        sy.evaluate("keypoints", side, {**side, "score": [0.5]}, "map", options={"sigmas": [0.1]}, confidence=None)


def test_one_sigma_where_there_is_no_object(tmp_path: Path) -> None:
    """Found by fuzzing: there was then no sigma either."""
    truth, results = tmp_path / "truth.json", tmp_path / "results.json"
    truth.write_text('{"images": [{"id": 1}], "annotations": [], "categories": [{"id": 1, "name": "p"}]}')
    results.write_text("[]")
    report = sy.evaluate("keypoints", truth, results, ["map", "fppi"], options={"sigmas": [0.1]}, confidence=None)
    assert np.isnan(report["map"].value)
    assert report["fppi"].value == 0


@pytest.mark.parametrize(
    ("item", "part"),
    [
        ({"image": 1, "masks": [], "labels": [1], "scores": []}, ("E-shape-mismatch", "0", "1")),
        ({"image": 1, "masks": [], "labels": []}, ("E-missing-key", "'scores'")),
        ({"image": 1, "mask": [], "labels": [], "scores": []}, ("E-unknown-name", "'mask'")),
        (5, ("E-invalid-value", "predictions, item 0")),
    ],
)
def test_bad_batches_are_named(item: Any, part: tuple[str, ...]) -> None:
    good = [{"image": 1, "masks": [COUNTS], "labels": [1]}]
    with refuses(*part):
        sy.evaluate("masks", good, [item], "map", confidence=None)


@pytest.mark.parametrize("what", ["masks", "keypoints"])
def test_threads_and_chunks_change_nothing(what: str) -> None:
    """A file of several chunks, whatever the number of threads; and where it is wrong, the same record is named."""
    rng = random.Random(3)
    results = [
        {"image_id": rng.choice([1, 2]), "category_id": 3, "score": rng.random(), "keypoints": [round(rng.random(), 3)] * 51,
         "segmentation": {"size": [20, 30], "counts": [rng.randrange(100), 5, *[1] * 40, 400 - rng.randrange(100)]}}
        for _ in range(6000)
    ]  # fmt: skip
    for r in results:
        counts = r["segmentation"]["counts"]
        counts.append(600 - sum(counts))
    text = json.dumps(results).encode()
    assert len(text) > 2_000_000
    one, other = (parse_coco(text, "prediction", threads=n, what=what) for n in (1, 3))
    for name in one.columns:
        assert np.array_equal(one[name], other[name])
    assert len(one) == 6000
    results[4321]["segmentation"]["counts"][0] += 1
    results[4321]["keypoints"] = [1]
    text = json.dumps(results).encode()
    messages = []
    for n in (1, 3):
        with refuses("E-invalid-file", "record 4321") as error:
            parse_coco(text, "prediction", threads=n, what=what)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_nothing_found_is_a_score_of_zero() -> None:
    for task in ("masks", "keypoints"):
        assert sy.evaluate(task, TRUTH, [], "map", confidence=None)["map"].value == 0

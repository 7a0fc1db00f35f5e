"""Tracks that cannot be scored: each is refused with what, where and the remedy, or accepted where it may be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy

GOLDENS = json.loads((TESTS / "goldens" / "tracking.json").read_text())["bad"]
GT = "1,1,0,0,10,10,1,1,1\n2,1,0,0,10,10,1,1,1\n"
FOUND = "1,1,0,0,10,10,1,-1,-1,-1\n2,1,0,0,10,10,1,-1,-1,-1\n"


def files(folder: Path, truth: str, predicted: str, frames: int | None = 2) -> tuple[Path, Path]:
    place = folder / "truth" / "s"
    (place / "gt").mkdir(parents=True)
    (place / "gt" / "gt.txt").write_text(truth)
    if frames is not None:
        (place / "seqinfo.ini").write_text(f"[Sequence]\nseqLength={frames}\n")
    (folder / "found").mkdir()
    (folder / "found" / "s.txt").write_text(predicted)
    return folder / "truth", folder / "found"


# What the reference's own goldens of faulty input come to: a part of the message, or None where they are accepted.
REFUSED: dict[str, str | None] = {
    "duplicate_prediction_id": ("E-duplicate-key", "line 2", "'track'", "track 1", "frame 1"),
    "duplicate_truth_id": ("E-duplicate-key", "line 2", "'track'", "track 1", "frame 1"),
    "duplicate_id_on_ignored_truth": ("E-duplicate-key", "track 1", "frame 1"),
    "frame_0": ("E-out-of-range", "line 1", "column 1", "frame 0"),
    "frame_past_end": ("E-out-of-range", "2", "frame 3"),
    "prediction_class_2": ("E-unknown-name", "class 2"),
    "truth_without_class": ("E-missing-data", "mot17"),
    "truth_class_minus_1": ("E-unknown-name", "class -1", "8"),
    "truth_class_14_frame_without_prediction": ("E-unknown-name", "line 2", "'label'", "class 14"),
    "truth_conf_is_a_score": ("E-invalid-value", "column 7", "0.9"),
    "truth_conf_minus_1": None,
    "nan_box": ("E-invalid-number", "line 1", "column 3"),
    "inf_box": ("E-invalid-number", "line 1", "column 5"),
    "negative_width": ("E-out-of-range", "line 1", "'w'", "0"),
    "two_negative_sides": ("E-out-of-range", "s.txt, line 1, column 'w'"),
    "fractional_id": ("E-invalid-number", "line 1", "column 2", "track 1.2"),
    "negative_id": ("E-invalid-value", "track -1"),
    "negative_and_other_id": ("E-invalid-value", "line 1", "track -1"),
    "negative_id_collides": ("E-invalid-value", "line 1", "track -1"),
    "fractional_frame": ("E-invalid-number", "line 1", "column 1", "frame 1.9"),
    "unsorted_frames": None,
    "six_columns": None,
    "header": ("E-invalid-number", "line 1", "column 1", "'frame'"),
    "blank_line_inside": None,
    "spaces": None,
    "ragged_rows": ("E-invalid-file", "line 2", "7"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_faulty_files(name: str, tmp_path: Path) -> None:
    case, message = GOLDENS[name], REFUSED[name]
    truth, predicted = files(tmp_path, case["gt"], case["tracker"], case["frames"])
    options = {"benchmark": "mot17"}
    if message is not None:
        with refuses(*message, str(tmp_path)):
            sy.evaluate("tracking", truth, predicted, "hota", options=options)
        return
    report = sy.evaluate("tracking", truth, predicted, ["hota", "mota", "idsw"], options=options, confidence=None)
    golden = case.get("accepted", {"HOTA": 1.0, "MOTA": 1.0, "IDSW": 0})  # the reference refuses blank lines and blanks
    assert report["hota"].value == pytest.approx(golden["HOTA"], abs=1e-12)
    assert report["mota"].value == golden["MOTA"]
    assert report["idsw"].value == golden["IDSW"]


def test_every_golden_is_looked_at() -> None:
    assert set(REFUSED) | {"xyxy_by_mistake", "mots_overlap"} == set(GOLDENS)


def test_corners_for_width_and_height_are_found(tmp_path: Path) -> None:
    rows = [(f, 1 + i, 100 + 40 * i + f, 100, 30, 60) for f in range(1, 21) for i in range(4)]
    truth = "".join(f"{f},{i},{x},{y},{w},{h},1,1,1\n" for f, i, x, y, w, h in rows)
    predicted = "".join(f"{f},{i},{x},{y},{x + w},{y + h},1\n" for f, i, x, y, w, h in rows)
    report = sy.check("tracking", *files(tmp_path, truth, predicted, 20))
    assert [finding.code for finding in report.errors] == ["boxes-read-wrong"]
    assert "as corners" in report.errors[0].what


def drawn(shift: int = 0, every: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(5)
    rows = [(f, i, 60 * i + 9 * f, 40 + i, 30, 60) for f in range(1, 41) for i in range(5)]
    names = ("frame", "track", "x", "y", "w", "h")
    truth = {"sequence": ["s"] * len(rows), **{n: [r[k] for r in rows] for k, n in enumerate(names)}}
    kept = [r for r in rows if r[0] % every == 0]
    predicted = {"sequence": ["s"] * len(kept), **{n: [r[k] for r in kept] for k, n in enumerate(names)}}
    predicted["frame"] = [f + shift for f in predicted["frame"]]
    predicted["x"] = [x + float(rng.normal(0, 1)) for x in predicted["x"]]
    return truth, predicted


def test_shifted_frames_are_found() -> None:
    truth, predicted = drawn(shift=1)
    codes = [finding.code for finding in sy.check("tracking", truth, predicted).errors]
    assert codes == ["frames-shifted"]
    assert not sy.check("tracking", *drawn()).errors


def test_every_second_frame_is_found() -> None:
    assert [f.code for f in sy.check("tracking", *drawn(every=2)).warnings] == ["frames-thinned"]


def test_an_id_for_two_objects_is_found() -> None:
    truth, predicted = drawn()
    predicted["track"] = [
        i if f % 4 < 2 else 4 - i for f, i in zip(predicted["frame"], predicted["track"], strict=True)
    ]
    predicted["x"] = [x * 12 for x in predicted["x"]]
    truth["x"] = [x * 12 for x in truth["x"]]
    assert "ids-reused" in [finding.code for finding in sy.check("tracking", truth, predicted).warnings]


ALIKE = "1,1,0,0,10,10,1,1,1\n2,1,0,0,10,10,1,{},1\n"


@pytest.mark.parametrize(
    ("name", "last", "options", "line"),
    [
        ("MOT17-02-FRCNN", 12, {}, "the option benchmark=mot17."),
        ("MOT20-05", 7, {}, "the option benchmark=mot20."),
        ("town", 7, {}, "the option benchmark=mot17 (or mot16, mot20)."),
        ("town", 1, {}, ""),
        ("town", 14, {}, ""),
        ("town", 7, {"benchmark": "none"}, ""),
        ("town", 7, {"benchmark": "mot17"}, ""),
        ("town", 7, {"classes": ["1"]}, ""),
    ],
)
def test_a_benchmark_that_is_not_named(name: str, last: int, options: Any, line: str, tmp_path: Path) -> None:
    truth = tmp_path / "t" / name / "gt"
    truth.mkdir(parents=True)
    (truth / "gt.txt").write_text(ALIKE.format(last))
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / f"{name}.txt").write_text("1,1,0,0,10,10,1,-1,-1,-1\n2,1,0,0,10,10,1,-1,-1,-1\n")
    sides = tmp_path / "t", tmp_path / "p"
    notes = sy.evaluate("tracking", *sides, ["hota"], options=options, confidence=None).notes
    said = [note for note in notes if "(benchmark-missing)" in note]
    findings = sy.check("tracking", *sides, options=options)
    assert ("benchmark-missing" in findings, len(said)) == (bool(line), int(bool(line)))
    if line:
        assert f"for its numbers use {line.rstrip('.')}" in said[0]
        assert f"classes 1 to {last} of MOTChallenge" in said[0]
        assert line.rstrip(".") in findings["benchmark-missing"].remedy


def test_kitti_without_its_benchmark(tmp_path: Path) -> None:
    row = "{} 1 {} 0 0 -1 0 0 10 10 1 1 1 1 1 1 0{}\n"
    (tmp_path / "t.txt").write_text(row.format(0, "Car", "") + row.format(1, "Van", ""))
    (tmp_path / "p.txt").write_text(row.format(0, "Car", " 1"))
    sides = tmp_path / "t.txt", tmp_path / "p.txt"
    settings: Any = {"confidence": None, "missing": "worst", "extra": "skip"}
    notes = sy.evaluate("tracking", *sides, ["hota"], **settings).notes
    assert any("use the option benchmark=kitti (benchmark-missing)" in note for note in notes)
    notes = sy.evaluate("tracking", *sides, ["hota"], options={"benchmark": "kitti"}, **settings).notes
    assert not any("benchmark-missing" in note for note in notes)


def test_kitti_mots_counts_frames_from_zero(tmp_path: Path) -> None:
    for side in ("t", "p"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "0002.txt").write_text("0 2001 2 1 1 01\n1 2001 2 1 1 01\n")
    sides = tmp_path / "t", tmp_path / "p"
    with refuses("E-out-of-range", "frame 0", "1", "first_frame=0"):
        sy.evaluate("tracking", *sides, ["hota"], options={"format": "mots"})
    options = {"format": "mots", "benchmark": "mots", "first_frame": 0}
    report = sy.evaluate("tracking", *sides, ["hota(label=pedestrian)"], options=options, confidence=None)
    assert report["hota(label=pedestrian)"].value == 1.0


def test_nothing_overlaps() -> None:
    truth, predicted = drawn()
    predicted["x"] = [x + 5000 for x in predicted["x"]]
    report = sy.check("tracking", truth, predicted)
    assert [finding.code for finding in report.errors] == ["nothing-overlaps"]
    assert "30 × 60 in the truth" in report.errors[0].what


SEQUENCE = {"sequence": ["a"], "frame": [1], "track": [1], "x": [0], "y": [0], "w": [9], "h": [9]}


@pytest.mark.parametrize(
    ("truth", "predicted", "message"),
    [
        (SEQUENCE, {**SEQUENCE, "sequence": ["b"]}, ("E-unmatched", "'b'")),
        (SEQUENCE, {**SEQUENCE, "frame": [-1]}, ("E-out-of-range", "'frame'", "'-1'")),
        (SEQUENCE, {**SEQUENCE, "frame": [1.5]}, ("E-out-of-range", "'frame'", "'1.5'")),
        (SEQUENCE, {**SEQUENCE, "track": [""]}, ("E-empty-cell", "'track'")),
        (SEQUENCE, {**SEQUENCE, "x": [np.nan]}, ("E-empty-cell", "'x'")),
        (SEQUENCE, {**SEQUENCE, "w": [np.inf]}, ("E-out-of-range", "'inf'")),
        (SEQUENCE, {**SEQUENCE, "h": [0]}, ("E-out-of-range", "0")),
        (SEQUENCE, {**SEQUENCE, "label": ["car"]}, ("E-missing-data", "truth")),
        ({**SEQUENCE, "label": ["car"]}, SEQUENCE, ("E-missing-data", "predictions")),
        (SEQUENCE, {k: v for k, v in SEQUENCE.items() if k != "w"}, ("E-missing-column", "'w'")),
        (SEQUENCE, [{"sequence": "a", "frame": 1, "tracks": [1]}], ("E-conflict", "item 0")),
        (SEQUENCE, [{"sequence": "a", "frame": 1, "boxes": [[0, 0, 1, 1]]}], ("E-missing-key", "item 0", "'tracks'")),
        (SEQUENCE, [{"sequence": "a", "frame": 1, "tracks": [1], "boxes": [[0, 0, 1]]}], ("E-shape-mismatch", "1", "3")),
        (SEQUENCE, [{"sequence": "a", "frame": 1, "tracks": [1, 2], "boxes": [[0, 0, 1, 1]]}], ("E-shape-mismatch", "2", "tracks", "1", "'x'")),
        (SEQUENCE, [{"sequence": "a", "frame": 1, "track": [1], "boxes": []}], ("E-unknown-name", "'track'")),
        (SEQUENCE, [{"sequence": "a", "frame": 1, "tracks": 1, "boxes": []}], ("E-invalid-value", "predictions, item 0", "int")),
        (SEQUENCE, [{"sequence": "a", "frame": 1, "tracks": [1], "boxes": [[1, 2], [3]]}], ("E-invalid-value", "predictions, item 0", "boxes")),
        ([], SEQUENCE, ("E-empty-input", "truth")),
        (SEQUENCE, [{"sequence": "a", "frame": 1, "tracks": [1], "masks": [np.ones((4, 4), bool)]}], ("E-missing-data", "masks")),
    ],
)  # fmt: skip
def test_faulty_rows(truth: Any, predicted: Any, message: tuple[str, ...]) -> None:
    with refuses(*message):
        sy.evaluate("tracking", truth, predicted, "hota")


def test_options_mend_files(tmp_path: Path) -> None:
    predicted = "0,1,0,0,10,10,1\n1,1,0,0,10,10,1\n1,-1,50,0,10,10,1\n"
    truth, given = files(tmp_path, GT, predicted)
    options = {"prediction.first_frame": 0, "prediction.untracked": "skip"}
    assert sy.evaluate("tracking", truth, given, "hota", options=options, confidence=None)["hota"].value == 1.0


def test_a_sequence_of_one_side(tmp_path: Path) -> None:
    truth, predicted = files(tmp_path, GT, FOUND)
    (predicted / "t.txt").write_text(FOUND)
    with refuses("E-unmatched", "'t'"):
        sy.evaluate("tracking", truth, predicted, "hota")
    assert sy.evaluate("tracking", truth, predicted, "hota", extra="skip", confidence=None)["hota"].value == 1.0
    (predicted / "s.txt").unlink()
    with refuses("E-unmatched", "'s'"):
        sy.evaluate("tracking", truth, predicted, "hota", extra="skip")
    worst = sy.evaluate("tracking", truth, predicted, "recall", extra="skip", missing="worst", confidence=None)
    assert worst["recall"].value == 0.0


def test_overlapping_masks_of_mots_are_refused(tmp_path: Path) -> None:
    case = GOLDENS["mots_overlap"]
    with refuses("E-conflict", "frame 1"):
        sy.evaluate("tracking", *files(tmp_path, case["gt"], case["tracker"], 6), "hota")


def test_slices_do_not_cut_tracks() -> None:
    truth, predicted = drawn()
    with refuses("E-unsupported", "truth"):
        sy.evaluate("tracking", {**truth, "flag": [1.0] * len(truth["x"])}, predicted, "hota", by=["flag"])
    varied = {**truth, "light": ["day" if f < 9 else "night" for f in truth["frame"]]}
    with refuses("E-conflict", "'light'", "'s'"):
        sy.evaluate("tracking", varied, predicted, "hota", by=["light"])

"""Boxes in space from one format into another: nothing changes that a number depends on, and losses are said."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT
from support.solid_files import nuscenes_box, write_nuscenes
from support.solid_release import HEAD, LINE, release

import steelyard as sy

SAMPLE = ROOT / "src" / "steelyard" / "samples" / "boxes3d"


def scores(truth: Any, predictions: Any, specs: list[str], **options: Any) -> list[float]:
    report = sy.evaluate("boxes3d", truth, predictions, specs, confidence=None, options=options)
    return [score.value for score in report.scores.values()]


def test_columns_to_kitti_and_back(tmp_path: Path) -> None:
    """The sample as label files has the same numbers to the bit, and as a table again the same text."""
    for name, side in (("truth", "label_2"), ("model_a", "data")):
        done = sy.convert(SAMPLE / f"{name}.csv", tmp_path / side, to_format="kitti", force=True)
        assert [loss.what for loss in done.losses] == (["'road'"] if name == "truth" else [])
        assert (done.unit, done.images) == ("frames", 60)
    specs = ["kitti_ap", "kitti_ap(view=bev, level=hard)", "kitti_ap(view=bbox, level=easy)", "aos"]
    plain = scores(SAMPLE / "truth.csv", SAMPLE / "model_a.csv", specs)
    assert scores(tmp_path / "label_2", tmp_path / "data", specs) == plain
    for side in ("label_2", "data"):
        done = sy.convert(tmp_path / side, tmp_path / f"{side}.csv", from_format="kitti")
        assert done.lossless
        assert done.predictions == (side == "data")
    assert scores(tmp_path / "label_2.csv", tmp_path / "data.csv", specs) == plain
    again = tmp_path / "again"
    sy.convert(tmp_path / "label_2.csv", again, to_format="kitti")
    for file in (tmp_path / "label_2").iterdir():
        assert (again / file.name).read_text() == file.read_text()


def test_axes_by_hand(tmp_path: Path) -> None:
    """A car 10 m ahead and 2 m to the right, its bottom 1.5 m below the camera, that looks to the right."""
    (tmp_path / "label_2").mkdir()
    (tmp_path / "label_2" / "000000.txt").write_text(
        f"{LINE}\nDontCare -1 -1 -10 1 1 2 2 -1 -1 -1 -1000 -1000 -1000 -10\n"
    )
    (tmp_path / "label_2" / "000001.txt").write_text("")
    done = sy.convert(tmp_path / "label_2", tmp_path / "t.json", from_format="kitti")
    made = json.loads((tmp_path / "t.json").read_text())["results"]
    (box,) = made["000000"]
    assert made["000001"] == []
    assert box["translation"] == [10.0, -2.0, -0.75]  # ahead, left, up: the middle is 0.75 above the bottom
    assert box["size"] == [1.6, 4.0, 1.5]
    assert box["rotation"] == pytest.approx([math.cos(math.pi / 4), 0, 0, -math.sin(math.pi / 4)])  # to the right
    assert box["detection_name"] == "car"
    kinds = {loss.what: loss.kind for loss in done.losses}
    assert kinds["places and headings"] == kinds["names of classes"] == "changed"
    assert kinds["'alpha'"] == kinds["'left'"] == kinds["DontCare"] == "lost"
    back = sy.convert(tmp_path / "t.json", tmp_path / "back", from_format="nuscenes", to_format="kitti")
    assert "boxes in the image" in [loss.what for loss in back.losses]
    fields = (tmp_path / "back" / "000000.txt").read_text().split()
    assert fields[:8] == ["car", "-1", "-1", "-10", "-1", "-1", "-1", "-1"]
    assert [float(one) for one in fields[8:14]] == pytest.approx([1.5, 1.6, 4, 2, 1.5, 10])
    assert math.cos(float(fields[14])) == pytest.approx(1.0)
    assert (tmp_path / "back" / "000001.txt").read_text() == ""


def test_nuscenes_to_columns_and_back(tmp_path: Path) -> None:
    """Filters by the car's place, points, velocities and attributes count as before."""
    truth = {
        "s": [nuscenes_box(), nuscenes_box(translation=[30.0, 1, 1], num_pts=0), nuscenes_box(translation=[80.0, 1, 1])],
        "u": [nuscenes_box("u", rotation=[0.8, 0, 0, 0.6], velocity=[float("nan")] * 2)], "v": [],
    }  # fmt: skip
    predictions: dict[str, Any] = {
        "s": [nuscenes_box(detection_score=0.5, translation=[0.3, 0, 1]), nuscenes_box(detection_score=0.9, size=[2, 3, 2])],
        "u": [nuscenes_box("u", detection_score=0.4, velocity=[2.0, 1.0])], "v": [],
    }  # fmt: skip
    paths = write_nuscenes(tmp_path / "d", truth, predictions, ego={name: [1.0, 1.0, 0.0] for name in truth})
    specs = ["nds", "map", "mate", "mase", "maoe", "mave", "maae"]
    plain = scores(*paths, specs)
    for i, path in enumerate(paths):
        done = sy.convert(path, tmp_path / f"{i}.csv", from_format="nuscenes")
        assert [(loss.what, loss.count) for loss in done.losses] == ([("places of the car", 1)] if i == 0 else [])
        assert (done.images, done.predictions) == (3, i == 1)
    assert scores(tmp_path / "0.csv", tmp_path / "1.csv", specs) == pytest.approx(plain, abs=1e-12)
    for i in range(2):
        sy.convert(tmp_path / f"{i}.csv", tmp_path / f"{i}.json", to_format="nuscenes")
    assert scores(tmp_path / "0.json", tmp_path / "1.json", specs) == pytest.approx(plain, abs=1e-12)


def test_tilted_boxes_are_counted(tmp_path: Path) -> None:
    truth = {"s": [nuscenes_box(rotation=[0.9, 0.1, 0.0, 0.4])]}
    path, _ = write_nuscenes(tmp_path / "d", truth, {"s": []})
    done = sy.convert(path, tmp_path / "t.csv", from_format="nuscenes")
    assert [(loss.kind, loss.count) for loss in done.losses] == [("lost", 1)]
    with pytest.raises(sy.InputError, match="Nothing was written"):
        sy.convert(path, tmp_path / "u.csv", from_format="nuscenes", strict=True)
    assert not (tmp_path / "u.csv").exists()


FAULTS: dict[str, tuple[str, dict[str, str], str]] = {
    "another format": ("t.csv", {"to_format": "yolo", "from_format": "kitti"}, "cannot be written as 'yolo'"),
    "no such file": ("gone.csv", {"to_format": "kitti"}, "gone.csv"),
    "no place": ("image.csv", {"to_format": "nuscenes"}, "column 'x' is missing"),
    "a space": ("space.csv", {"to_format": "kitti"}, "line 2: class 'big car' has a space"),
    "a frame elsewhere": ("outside.csv", {"to_format": "kitti"}, "cannot be a file of the target"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_bad_input(fault: str, tmp_path: Path) -> None:
    name, settings, words = FAULTS[fault]
    (tmp_path / "t.csv").write_text(f"{HEAD}a,car,1,2,3,4,2,1,0\n")
    (tmp_path / "image.csv").write_text("frame,label,left,top,right,bottom\na,car,1,2,3,4\n")
    (tmp_path / "space.csv").write_text(f"{HEAD}a,big car,1,2,3,4,2,1,0\n")
    (tmp_path / "outside.csv").write_text(f"{HEAD}../a,car,1,2,3,4,2,1,0\n")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(sy.InputError, match=words):
        sy.convert(tmp_path / name, tmp_path / "out", **settings)
    assert sorted(tmp_path.iterdir()) == before


def test_a_release_by_hand(tmp_path: Path) -> None:
    done = sy.convert(release(tmp_path / "v1.0-mini"), tmp_path / "t.json", from_format="nuscenes")
    assert (done.images, done.boxes, done.classes) == (3, 4, 2)
    made = json.loads((tmp_path / "t.json").read_text())
    cars = [next(box for box in boxes if box["detection_name"] == "car") for boxes in made["results"].values()]
    assert cars[0]["velocity"] == [4.0, 0.0]  # 2 m in 0.5 s
    assert cars[1]["velocity"] == [4.0, 0.0]  # 10 m in 2.5 s, which is within 3 s
    assert all(math.isnan(one) for one in cars[2]["velocity"])  # 2 s from the one before
    assert [box["detection_name"] for box in made["results"]["s0"]] == ["car", "bicycle_rack"]
    assert cars[0]["num_pts"] == 4
    assert made["ego"] == {"s0": [0.0, 0.0, 0.0], "s1": [1.0, 0.0, 0.0], "s2": [2.0, 0.0, 0.0]}
    results = {"s1": [nuscenes_box("s1", translation=[12.0, 5.0, 1.0], detection_score=0.5, velocity=[4.0, 0.0])]}
    (tmp_path / "p.json").write_text(json.dumps({"meta": {}, "results": results}))
    folder = release(tmp_path / "v1.0-mini")
    sy.convert(folder, tmp_path / "t.json", from_format="nuscenes", like=tmp_path / "p.json", force=True)
    values = scores(tmp_path / "t.json", tmp_path / "p.json", ["map(label=car)", "mave(label=car)", "maae(label=car)"])
    assert values == pytest.approx([1.0, 0.0, 0.0])


RELEASES: dict[str, tuple[dict[str, Any], str]] = {
    "no table": ({}, "there is no ego_pose.json"),
    "no list": ({"scene": {}}, "scene.json: is not a list"),
    "no key": ({"category": [{"token": "vehicle.car"}]}, "category.json, row 0: the key 'name' is missing"),
    "an unknown token": ({"instance": []}, "sample_annotation 'b0': there is no instance 'car'"),
    "no lidar": ({"sample_data": []}, "sample 's0' has no sample_data of LIDAR_TOP"),
}


@pytest.mark.parametrize("fault", RELEASES)
def test_damaged_releases(fault: str, tmp_path: Path) -> None:
    folder = release(tmp_path / "v", **RELEASES[fault][0])
    if fault == "no table":
        (folder / "ego_pose.json").unlink()
    with pytest.raises(sy.InputError, match=RELEASES[fault][1]):
        sy.convert(folder, tmp_path / "t.json", from_format="nuscenes")
    assert not (tmp_path / "t.json").exists()

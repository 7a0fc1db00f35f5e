"""Boxes in space that cannot be scored: each is refused with what, where and the remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.solid_files import columns, nuscenes_box, write_nuscenes

import steelyard as sy

LINE = "Car 0.00 0 0.1 0 0 60 50 1.5 1.6 4.0 0.0 1.6 20.0 0.1"
FOUND = LINE + " 0.9"


def kitti(folder: Path, truth: str = LINE, predicted: str = FOUND) -> tuple[Path, Path]:
    for name, text in (("label_2", truth), ("data", predicted)):
        (folder / name).mkdir()
        (folder / name / "000012.txt").write_text(text)
    return folder / "label_2", folder / "data"


KITTI = {
    "no score": (
        {"predicted": LINE},
        r"data.000012.txt, line 1: 15 columns are truth; a result needs a 16th, the score",
    ),
    "score in the truth": ({"truth": FOUND}, r"label_2.000012.txt, line 1: 16 columns are a result"),
    "14 columns": (
        {"truth": LINE.rsplit(" ", 1)[0]},
        r"line 1: 14 columns where 15 are expected. A line is: type truncated",
    ),
    "17 columns": ({"predicted": f"\n{FOUND} 1"}, "line 2: 17 columns where 16 are expected"),
    "no number": ({"truth": LINE.replace("60", "6O")}, r"line 1, field 'right': '6O' is not a number"),
    "no length": (
        {"truth": LINE.replace("4.0", "-4.0")},
        r"line 1, column 'length': the length is -4. Sizes are metres",
    ),
    "no place": ({"truth": "Car 0 0 0 0 0 60 50 -1 -1 -1 -1000 -1000 -1000 -10"}, "a Car without a place in space"),
    "turned around in the image": ({"predicted": FOUND.replace(" 60 ", " -60 ")}, "the width in the image is -60"),
    "nan": ({"predicted": FOUND.replace("20.0", "nan")}, "line 1, column 'z': 'z' is empty or nan"),
    "nan score": ({"predicted": LINE + " nan"}, "the score is empty or nan. Give a number"),
}


@pytest.mark.parametrize("name", list(KITTI))
def test_kitti(name: str, tmp_path: Path) -> None:
    files, message = KITTI[name]
    with pytest.raises(sy.InputError, match=message) as raised:
        sy.evaluate("boxes3d", *kitti(tmp_path, **files))
    assert str(tmp_path) in str(raised.value)


def test_kitti_folders(tmp_path: Path) -> None:
    truth, predicted = kitti(tmp_path)
    (truth / "000013.txt").write_text("")
    with pytest.raises(sy.InputError, match=r"frame '000013' has no prediction.*`missing="):
        sy.evaluate("boxes3d", truth, predicted)
    assert sy.evaluate("boxes3d", truth, predicted, "map", missing="worst", confidence=None)["map"].units == 2
    (predicted / "000014.txt").write_text(FOUND)
    with pytest.raises(sy.InputError, match="frame '000014' is not in the truth"):
        sy.evaluate("boxes3d", truth, predicted)
    (tmp_path / "empty").mkdir()
    with pytest.raises(sy.InputError, match=r"holds no label files. Give label_2"):
        sy.evaluate("boxes3d", tmp_path / "empty", predicted)
    with pytest.raises(sy.InputError, match="Give the folder"):
        sy.evaluate("boxes3d", truth / "000012.txt", predicted, options={"truth.format": "kitti"})


def test_empty_frames_are_frames(tmp_path: Path) -> None:
    truth, predicted = kitti(tmp_path)
    for number, folder in ((1, truth), (1, predicted), (20, truth), (20, predicted)):
        (folder / f"{number:06d}.txt").write_text("\n")
    report = sy.evaluate("boxes3d", truth, predicted, "kitti_ap(positions=11)", confidence=None)
    assert report["kitti_ap(positions=11)"].units == 3
    assert report["kitti_ap(positions=11)"].value == pytest.approx(100 / 11)


def changed(side: str, **values: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    sides = {"truth": {"s": [nuscenes_box()]}, "results": {"s": [nuscenes_box(detection_score=0.5)]}}
    box = sides[side]["s"][0]
    for key, value in values.items():
        if value is None:
            del box[key]
        else:
            box[key] = value
    return sides["truth"], sides["results"]


NUSCENES = {
    "unknown class": (changed("results", detection_name="cars"), r"p.json, sample 's', box 0: 'cars' is not a nuScenes class. Did you mean 'car'"),
    "rack in results": (changed("results", detection_name="bicycle_rack"), "'bicycle_rack' is not a nuScenes class"),
    "attribute of another class": (
        changed("results", attribute_name="pedestrian.moving"), "attribute 'pedestrian.moving' is not one of car. Did you mean 'vehicle.moving'",
    ),
    "unknown attribute": (changed("truth", attribute_name="vehicle.flying"), "t.json.*'vehicle.flying' is not an attribute. Did you mean"),
    "attribute of a cone": (
        changed("truth", detection_name="traffic_cone"), "attribute 'vehicle.moving' is not one of traffic_cone. A traffic_cone has none",
    ),
    "no size": (changed("results", size=[2.0, 0.0, 1.5]), r"sample 's', box 0, column 'length': the length is 0. Sizes are metres"),
    "negative size": (changed("truth", size=[-2.0, 4.0, 1.5]), "column 'width': the width is -2"),
    "no quaternion": (changed("truth", rotation=[0.0, 0, 0, 0]), "the quaternion 'rotation' has length 0. It is w, x, y, z"),
    "two numbers": (changed("truth", translation=[1.0, 2.0]), "key 'translation': 2 numbers where a list of 3 numbers is expected. 'translation' is a list: x, y, z"),
    "a text": (changed("truth", size="large"), "key 'size': a text where a list of 3 numbers is expected"),
    "no velocity": (changed("truth", velocity=None), "box 0, key 'velocity': the key is missing"),
    "no score": (changed("results", detection_score=None), "p.json, sample 's', box 0, key 'detection_score': the key is missing"),
    "points in results": (changed("results", num_pts=0), "a result with 'num_pts'.*Leave the key out"),
    "another sample": (changed("results", sample_token="t"), "key 'sample_token': another sample than the one that the box stands under"),
    "501 results": (
        ({"s": [nuscenes_box()]}, {"s": [nuscenes_box(detection_score=0.5)] * 501}), "sample 's' has 501 results, and nuScenes allows 500",
    ),
    "samples differ": (({"s": [nuscenes_box()]}, {"t": [nuscenes_box("t", detection_score=0.5)]}), "frame 't' is not in the truth"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(NUSCENES))
def test_nuscenes(name: str, tmp_path: Path) -> None:
    (truth, results), message = NUSCENES[name]
    with pytest.raises(sy.InputError, match=message) as raised:
        sy.evaluate("boxes3d", *write_nuscenes(tmp_path / "d", truth, results))
    assert str(tmp_path) in str(raised.value)


def test_car_without_a_place(tmp_path: Path) -> None:
    truth = {"s": [nuscenes_box()], "u": [nuscenes_box("u")]}
    results = {name: [{**boxes[0], "detection_score": 0.5}] for name, boxes in truth.items()}
    with pytest.raises(sy.InputError, match=r'no place of the car. Add "ego"'):
        sy.evaluate("boxes3d", *write_nuscenes(tmp_path / "d", truth, results, ego={"s": [0, 0, 0]}))


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "the file ends in the middle|is empty"), ('{"results": 1}', "a number where an object by sample"), ('{"meta": {}}', "'results' is missing"),
     ('{"results": {"s": [}}', r"not JSON"), ('{"results": {"s": []}} x', "something stands behind the end"),
     ('{"results": {"s": [], "s": []}}', "sample 's': the sample appears twice")],
)  # fmt: skip
def test_damaged_json(text: str, message: str, tmp_path: Path) -> None:
    truth, results = write_nuscenes(tmp_path / "d", *changed("truth"))
    results.write_text(text)
    with pytest.raises(sy.InputError, match=message) as raised:
        sy.evaluate("boxes3d", truth, results, options={"prediction.format": "nuscenes"})
    assert "p.json" in str(raised.value)


def test_velocities_that_are_not_known(tmp_path: Path) -> None:
    """NaN, as Python writes it, and null."""
    for unknown in (float("nan"), None):
        truth = {"s": [nuscenes_box(velocity=[unknown, unknown])]}
        results = {"s": [nuscenes_box(detection_score=0.5)]}
        report = sy.evaluate(
            "boxes3d", *write_nuscenes(tmp_path / "d", truth, results), ["mave(label=car)"], confidence=None
        )
        assert report["mave(label=car)"].value == 1


TABLES = {
    "no place": ({"x": None}, {}, r"column 'x' is missing"),
    "no length": ({"length": [0.0]}, {}, r"row 0, column 'length': the length is 0"),
    "empty yaw": ({"yaw": [float("nan")]}, {}, r"column 'yaw': 'yaw' is empty or nan"),
    "infinite": ({}, {"x": [float("inf")]}, r"predictions, row 0, column 'x': 'inf' is not allowed"),
    "far away": ({"x": [1e10]}, {}, "is not allowed here"),
    "no score": ({}, {"score": [float("nan")]}, "the score is empty or nan"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(TABLES))
def test_tables(name: str) -> None:
    sides = []
    for changes, more in zip(TABLES[name][:2], ({}, {"score": [0.5]}), strict=True):
        data = {**columns(), **more, **changes}
        sides.append({key: value for key, value in data.items() if value is not None})
    if name == "no place":
        sides[0] = {key: value for key, value in sides[0].items() if key not in ("left", "top", "right", "bottom")}
    with pytest.raises(sy.InputError, match=TABLES[name][2]):
        sy.evaluate("boxes3d", *sides)


def test_packed_json(tmp_path: Path) -> None:
    import gzip

    truth, results = write_nuscenes(tmp_path / "d", *changed("truth"))
    packed = tmp_path / "p.json.gz"
    packed.write_bytes(gzip.compress(results.read_bytes()))
    assert sy.evaluate("boxes3d", truth, packed, "map(label=car)", confidence=None)["map(label=car)"].value == 1
    assert json.loads(results.read_text())

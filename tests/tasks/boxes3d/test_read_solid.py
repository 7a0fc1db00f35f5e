"""Boxes in space from files that few people have: whole texts of what they become, or a whole message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.read_help import contents, write
from support.refusal import refused, refuses
from support.solid_files import nuscenes_box, write_nuscenes
from support.solid_release import HEAD, LINE, release

import steelyard as sy
from steelyard.core import catalogue
from steelyard.io.sources import read_side

ROW = "a,car,1,2,3,4,2,1,0\n"


def losses(done: Any) -> list[str]:
    return [loss.text() for loss in done.losses]


@pytest.mark.parametrize(
    ("texts", "predictions"), [(("", LINE), False), (("\n", f"{LINE} 0.5"), True), (("", ""), False)]
)
def test_kitti_files_whose_first_has_no_line(texts: tuple[str, str], predictions: bool, tmp_path: Path) -> None:
    """Whether the files have scores is seen in the first line that there is; without any they are truth."""
    write(tmp_path, {"k/000000.txt": texts[0], "k/000001.txt": texts[1]})
    done = sy.convert(tmp_path / "k", tmp_path / "t.csv", from_format="kitti")
    assert (done.predictions, done.images, done.boxes) == (predictions, 2, int(bool(texts[1])))


def test_nuscenes_keeps_places_of_the_car_and_scenes(tmp_path: Path) -> None:
    """What is written is what was read; a table loses the place of the car of a sample without boxes."""
    more = {"ego": {"s": [1.0, 2.0, 0.0], "t": [3.0, 4.0, 0.0]}, "scene": {"s": "one", "t": "two"}}
    boxes = {"s": [nuscenes_box(num_pts=3)], "t": []}
    path, _ = write_nuscenes(tmp_path / "n", boxes, {}, **more)
    done = sy.convert(path, tmp_path / "again.json", from_format="nuscenes")
    assert losses(done) == []
    made = json.loads((tmp_path / "again.json").read_text())
    assert made == {
        "meta": {},
        "results": {"s": [nuscenes_box(num_pts=3, rotation=[1.0, 0.0, 0.0, 0.0])], "t": []},
        **more,
    }
    done = sy.convert(path, tmp_path / "t.csv", from_format="nuscenes")
    assert losses(done) == ["lost: places of the car (1): a table has them beside boxes, and these samples have none"]


def test_turns_about_another_axis_are_lost(tmp_path: Path) -> None:
    """A quarter turn about x, besides: KITTI has one heading, and no place for scenes."""
    box = nuscenes_box(rotation=[0.5**0.5, 0.5**0.5, 0.0, 0.0], velocity=[0.0, 0.0])
    path, _ = write_nuscenes(tmp_path / "n", {"s": [box]}, {}, scene={"s": "one"})
    assert losses(sy.convert(path, tmp_path / "k", from_format="nuscenes", to_format="kitti")) == [
        "lost: 'vx' (1): kitti has no place for it",
        "lost: 'vy' (1): kitti has no place for it",
        "lost: 'attribute' (1): kitti has no place for it",
        "lost: 'scene' (1): kitti has no place for it",
        "lost: turns that are not about the vertical axis (1): a heading is one number",
        "changed: places and headings (1): the same boxes with x right, y down, z ahead, from the middle of the bottom",
        "changed: boxes in the image (1): not known, written as -1: score them with level=all",
    ]
    turn = "lost: turns that are not about the vertical axis (1): a heading is one number"
    assert losses(sy.convert(path, tmp_path / "t.csv", from_format="nuscenes")) == [turn]


def test_regions_and_names_in_nuscenes(tmp_path: Path) -> None:
    """DontCare is lost, names become small; a table's own column has no place."""
    region = "DontCare -1 -1 -10 1 1 2 2 -1 -1 -1 -1000 -1000 -1000 -10"
    write(tmp_path, {"k/000000.txt": f"{LINE}\n{region}\n"})
    done = sy.convert(tmp_path / "k", tmp_path / "n.json", from_format="kitti")
    assert [text for text in losses(done) if "DontCare" in text or "names" in text] == [
        "lost: DontCare (1): nuScenes has no regions",
        "changed: names of classes (1): nuScenes writes them small",
    ]
    assert [box["detection_name"] for box in json.loads((tmp_path / "n.json").read_text())["results"]["000000"]] == [
        "car"
    ]
    write(tmp_path, {"t.csv": HEAD.replace("yaw", "yaw,scene,road") + ROW.replace(",0\n", ",0,one,wet\n")})
    done = sy.convert(tmp_path / "t.csv", tmp_path / "m.json", to_format="nuscenes")
    assert losses(done) == ["lost: 'road' (1): nuscenes has no place for it"]
    assert json.loads((tmp_path / "m.json").read_text())["scene"] == {"a": "one"}


def test_releases_that_are_refused(tmp_path: Path) -> None:
    folder = release(tmp_path / "v")
    target = tmp_path / "t.json"

    def message(goal: Path = target, **more: Any) -> str:
        return refused(lambda: sy.convert(folder, goal, from_format="nuscenes", **more))

    csv = tmp_path / "t.csv"
    assert message(csv) == f"{csv}: tables of a release become a .json file. Convert that one further."
    write(tmp_path, {"like.json": "[]", "other.json": '{"results": {"z": [], "y": []}}'})
    like = tmp_path / "like.json"
    assert message(like=like) == f"{like}: has no 'results'. Give the JSON of a submission."
    assert message(like=tmp_path / "other.json") == f"{folder}: sample 'y' is not in the release. Is it that one?"
    boxes = json.loads((folder / "sample_annotation.json").read_text())
    write(folder, {"sample_annotation.json": json.dumps([{**boxes[0], "attribute_tokens": ["a", "a"]}])})
    assert message() == f"{folder}, sample_annotation 'b0': 2 attributes. A box has one at most."
    write(folder, {"sample_annotation.json": json.dumps([{**boxes[0], "size": [1, 2]}])})
    assert message() == f"{folder / 'sample_annotation.json'}, row 0: 'size' has 2 numbers, not 3. Is it whole?"
    assert not target.exists()


def test_sides_of_boxes_in_space_that_are_refused(tmp_path: Path) -> None:
    table = {"frame": ["a"], "label": ["car"], "score": [0.5], **{n: [1.0] for n in HEAD.strip().split(",")[2:]}}
    with refuses("E-missing-data", "'boxes3d'"):
        sy.evaluate("boxes3d", table)
    nothing = {name: [] for name in table if name != "score"}
    with refuses("E-empty-input", "truth"):
        sy.evaluate("boxes3d", nothing, table)
    (tmp_path / "k" / "000000.txt").mkdir(parents=True)
    write(tmp_path, {"p/000000.txt": f"{LINE} 0.5\n"})
    shown = tmp_path / "k" / "000000.txt"
    with refuses("E-unreadable-file", str(shown)):
        sy.evaluate("boxes3d", tmp_path / "k", tmp_path / "p")


def test_points_of_results(tmp_path: Path) -> None:
    """The development kit writes -1 for results; any other count would drop them."""
    box = nuscenes_box(detection_score=0.5)
    path, other = write_nuscenes(tmp_path / "n", {"s": [{**box, "num_pts": -1}]}, {"s": [{**box, "num_pts": 2}]})
    task = catalogue.find_task("boxes3d")
    read = read_side(task, path, {}, "prediction")
    assert read["score"].tolist() == [0.5]
    assert "points" not in read
    with refuses("E-invalid-value", str(other), "'s'", "0", "'num_pts'"):
        read_side(task, other, {}, "prediction")


def test_kitti_of_a_table(tmp_path: Path) -> None:
    """A box of nuScenes' axes 1 m ahead, 2 m to the left and 3 m up, of height 1: its bottom is 2.5 m above."""
    write(tmp_path, {"t.csv": HEAD + ROW})
    sy.convert(tmp_path / "t.csv", tmp_path / "k", to_format="kitti")
    assert contents(tmp_path / "k") == {"a.txt": "car -1 -1 -10 -1 -1 -1 -1 1 2 4 -2 -2.5 1 -1.5707963267948966\n"}

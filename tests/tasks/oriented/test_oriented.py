"""Oriented boxes: the worked examples of references, formats, conventions of angles, what is refused, and pictures."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.drawn_oriented import CORNERS, as_corners, draw_oriented
from support.paths import ROOT, TESTS

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.options import Options
from steelyard.core.quads import CONVENTIONS, corners_of, forbidden, from_convention, smallest_rectangles, to_convention
from steelyard.core.task import Policy
from steelyard.render.svg import scene_svg
from steelyard.tasks.boxes.precision import reference_arrays
from steelyard.tasks.oriented.task import TASK

CASES = json.loads((TESTS / "goldens" / "oriented.json").read_text(encoding="utf-8"))["cases"]
DOTA = [case for case in CASES if case["group"] == "dota_ap"]
ANGLES = [case for case in CASES if case["group"] == "angle_conventions" and "polygon" in case["input"]]
SMALL = next(case for case in CASES if case["id"] == "obb_coco/small")


def only(report: Any) -> float:
    """The one score of a report."""
    (score,) = report.scores.values()
    return float(score.value)


def dota_sides(case: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    data = case["input"]
    objects = [(image, o) for image, listed in data["truth"].items() for o in listed]
    truth = {
        "image": [image for image, _ in objects], "label": [o["class"] for _, o in objects],
        "difficult": [bool(o["difficult"]) for _, o in objects], "images": list(data["truth"]),
    }  # fmt: skip
    predictions = {
        "image": [d["image"] for d in data["detections"]], "label": [data["class"]] * len(data["detections"]),
        "score": [d["score"] for d in data["detections"]],
    }  # fmt: skip
    for i, name in enumerate(CORNERS):
        truth[name] = [o["polygon"][i] for _, o in objects]
        predictions[name] = [d["polygon"][i] for d in data["detections"]]
    return truth, predictions


def dota_ap(case: dict[str, Any]) -> float:
    data = case["input"]
    kind = "voc11" if data["m07"] else "voc"
    spec = f"ap(kind={kind}, rule=dota, iou={data.get('thr', 0.5)}, label={data['class']})"
    return only(sy.evaluate("oriented", *dota_sides(case), spec, confidence=None))


@pytest.mark.parametrize("case", [c for c in DOTA if "moved" not in c["id"]], ids=lambda case: case["id"])
def test_dota_devkit(case: dict[str, Any]) -> None:
    assert dota_ap(case) == pytest.approx(case["expected"]["ap"], abs=1e-12)


def test_an_iou_of_a_half_is_no_hit_wherever_it_lies() -> None:
    """The devkit's overlap of the same boxes, moved by 40 pixels, is 0.5000000000000009; theirs is a hit, ours is none."""
    moved = next(case for case in DOTA if "moved" in case["id"])
    assert moved["expected"]["ap"] == pytest.approx(1.0)
    assert dota_ap(moved) == 0.0
    truth, predictions = dota_sides(moved)
    assert only(sy.evaluate("oriented", truth, predictions, "ap(kind=voc11)", confidence=None)) == 1.0


def test_coco_form_is_pycocotools_with_the_iou_replaced() -> None:
    specs = ["map", "map50", "map75", "map(area=small)", "map(area=medium)", "map(area=large)",
             "ar@1", "ar@10", "ar@100", "ar(max_dets=100, area=small)"]  # fmt: skip
    report = sy.evaluate("oriented", SMALL["input"]["truth"], SMALL["input"]["results"], specs, confidence=None)
    expected = SMALL["expected"]["stats"][:10]
    for score, value in zip(report.scores.values(), expected, strict=True):
        if value == -1:
            assert math.isnan(score.value)
        else:
            assert score.value == pytest.approx(value, abs=SMALL["tolerance"])


def test_upright_boxes_have_the_numbers_of_boxes_to_the_bit_of_the_matches() -> None:
    """With angle 0 the task is `boxes` but for the limit of detections, which no image here reaches."""
    truth, predictions = draw_oriented(np.random.default_rng(3), 25)
    for side in (truth, predictions):
        side["angle"] = np.zeros(len(side["image"]))
    upright = [
        {**{k: v for k, v in side.items() if k not in ("cx", "cy", "angle")},
         "x": side["cx"] - side["w"] / 2, "y": side["cy"] - side["h"] / 2} for side in (truth, predictions)
    ]  # fmt: skip
    specs = ["map", "map50", "ap(kind=voc11)", "ap(kind=step)", "precision", "recall", "f1", "dap(error=loc)",
             "precision_at(recall=0.4)", "recall_at(precision=0.8)", "dece", "laece", "olrp", "olrp(part=loc)", "cpm",
             "sensitivity@1", "fbeta(beta=2)"]  # fmt: skip
    ours = sy.evaluate("oriented", truth, predictions, specs, confidence=None)
    theirs = sy.evaluate("boxes", *upright, specs, confidence=None)
    for a, b in zip(ours.scores.values(), theirs.scores.values(), strict=True):
        assert a.value == pytest.approx(b.value, abs=1e-12), a.spec


def test_more_than_100_detections_count() -> None:
    """150 ships in an image, all found: COCO's limit would leave 50 out."""
    n = 150
    truth = {"image": ["a"] * n, "label": ["ship"] * n, "cx": np.arange(n) * 20.0, "cy": np.zeros(n), "w": np.full(n, 15.0),
             "h": np.full(n, 5.0), "angle": np.full(n, 0.3)}  # fmt: skip
    predictions = {**truth, "score": np.linspace(0.9, 0.1, n)}
    report = sy.evaluate(
        "oriented", truth, predictions, ["map", "recall(score=0)", "map(max_dets=100)"], confidence=None
    )
    assert [round(score.value, 4) for score in report.scores.values()] == [
        1.0,
        1.0,
        0.6634,
    ]  # 67 of 101 recalls are reached
    classes = sy.evaluate("oriented", truth, predictions, "map", confidence=None).table("classes")
    assert classes.values[0, 2] == 1.0


@pytest.mark.parametrize("case", ANGLES, ids=lambda case: case["id"])
def test_conventions_are_those_of_mmrotate(case: dict[str, Any]) -> None:
    rectangle = smallest_rectangles(np.array([case["input"]["polygon"]], dtype=float))
    for name, expected in case["expected"].items():
        made = to_convention(rectangle, name)
        np.testing.assert_allclose(made[0], expected, rtol=0, atol=case["tolerance"])
        assert not forbidden(made, name).any()


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_convention_reads_what_it_writes(name: str) -> None:
    """Written and read again, boxes cover the same ground: their corners are the same ones, from another start on."""
    rng = np.random.default_rng(4)
    rectangles = np.column_stack([rng.uniform(0, 100, (200, 2)), rng.uniform(1, 50, (200, 2)), rng.uniform(-9, 9, 200)])
    rectangles[:5, 4] = [0, math.pi / 2, -math.pi / 2, math.pi, -math.pi]
    written = to_convention(rectangles, name)
    assert not forbidden(written, name).any()
    again = corners_of(from_convention(written, name)).reshape(-1, 4, 2)
    first = corners_of(rectangles).reshape(-1, 4, 2)
    turned = np.stack([np.roll(again, k, axis=1) for k in range(4)])
    off = np.abs(turned - first).max(axis=(2, 3)).min(axis=0)
    assert off.max() < 1e-9


def reports_alike(truth: Any, predictions: Any, expected: Any, **options: Any) -> None:
    report = sy.evaluate("oriented", truth, predictions, ["map", "map50"], confidence=None, options=options)
    for score in report.scores.values():
        assert score.value == pytest.approx(expected[score.spec].value, abs=1e-9)


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any, Any]:
    truth, predictions = draw_oriented(np.random.default_rng(5), 12)
    truth.pop("crowd")
    return truth, predictions, sy.evaluate("oriented", truth, predictions, ["map", "map50"], confidence=None)


@pytest.mark.parametrize("name", [name for name in CONVENTIONS if name != "radians"])
def test_every_convention_gives_the_same_report(name: str, data: tuple[Any, Any, Any]) -> None:
    sides = []
    for side in data[:2]:
        rows = np.column_stack([side[c] for c in ("cx", "cy", "w", "h", "angle")])
        sides.append({**side, **dict(zip(("cx", "cy", "w", "h", "angle"), to_convention(rows, name).T, strict=True))})
    reports_alike(*sides, data[2], angle=name)
    reports_alike(sides[0], data[1], data[2], **{"truth.angle": name})


def test_turn_is_the_other_way_round(data: tuple[Any, Any, Any]) -> None:
    mirrored = {**data[1], "angle": -np.asarray(data[1]["angle"])}
    reports_alike(data[0], mirrored, data[2], **{"prediction.turn": "y-to-x"})


def per_image(side: Any, corners: bool) -> list[dict[str, Any]]:
    listed = []
    names = CORNERS if corners else ("cx", "cy", "w", "h", "angle")
    side = as_corners(side) if corners else side
    for image in dict.fromkeys(side["image"]):
        rows = [i for i, name in enumerate(side["image"]) if name == image]
        item = {"image": image, "corners" if corners else "boxes": np.column_stack([np.asarray(side[n])[rows] for n in names]),
                "labels": [side["label"][i] for i in rows]}  # fmt: skip
        if "score" in side:
            item["scores"] = np.asarray(side["score"])[rows]
        if "difficult" in side:
            item["difficult"] = np.asarray(side["difficult"])[rows]
        listed.append(item)
    return listed


def dota_folder(folder: Path, side: Any) -> Path:
    folder.mkdir()
    side = as_corners(side)
    corners = np.column_stack([side[name] for name in CORNERS]).tolist()
    lines: dict[str, list[str]] = {}
    for i, numbers in enumerate(corners):
        text = " ".join(map(repr, numbers))
        if "score" in side:
            lines.setdefault(f"Task1_{side['label'][i]}", []).append(
                f"{side['image'][i]} {float(side['score'][i])!r} {text}"
            )
        else:
            lines.setdefault(side["image"][i], ["imagesource:drawn", "gsd:0.1"]).append(
                f"{text} {side['label'][i]} {int(side['difficult'][i])}"
            )
    for name, rows in lines.items():
        (folder / f"{name}.txt").write_text("\n".join(rows) + "\n")
    return folder


def yolo_folder(folder: Path, side: Any) -> Path:
    (folder / "labels").mkdir(parents=True)
    side, names = as_corners(side), ["cat", "dog", "owl"]
    lines: dict[str, list[str]] = {}
    for i, image in enumerate(side["image"]):
        shares = " ".join(repr(float(side[name][i]) / (640 if name[0] == "x" else 480)) for name in CORNERS)
        score = f" {float(side['score'][i])!r}" if "score" in side else ""
        lines.setdefault(image, []).append(f"{names.index(side['label'][i])} {shares}{score}")
    for image, rows in lines.items():
        (folder / "labels" / f"{image}.txt").write_text("\n".join(rows) + "\n")
    (folder / "data.yaml").write_text("names: [cat, dog, owl]\n")
    (folder / "image_sizes.csv").write_text("image,width,height\n" + "".join(f"{i},640,480\n" for i in lines))
    return folder


def coco(side: Any, truth: bool, key: str) -> Any:
    corners = as_corners(side)
    rows = []
    for i, image in enumerate(side["image"]):
        five = [float(side[name][i]) for name in ("cx", "cy", "w", "h", "angle")]
        eight = [float(corners[name][i]) for name in CORNERS]
        shape = {"obb": five, "rbox": five, "poly": eight, "segmentation": [eight],
                 "bbox": [*five[:4], -math.degrees(five[4])]}[key]  # fmt: skip
        row = {"image_id": image, "category_id": str(side["label"][i]), key: shape}
        row |= {"id": i + 1, "difficult": bool(side["difficult"][i])} if truth else {"score": float(side["score"][i])}
        rows.append(row)
    if not truth:
        return rows
    return {"images": [{"id": v} for v in dict.fromkeys(side["image"])], "annotations": rows,
            "categories": [{"id": v, "name": v} for v in ("cat", "dog", "owl")]}  # fmt: skip


def json_file(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


FORMS: dict[str, Any] = {
    "corners": lambda p, t, f: (as_corners(t), as_corners(f)),
    "dicts of boxes": lambda p, t, f: (per_image(t, False), per_image(f, False)),
    "dicts of corners": lambda p, t, f: (per_image(t, True), per_image(f, True)),
    "dota": lambda p, t, f: (dota_folder(p / "t", t), dota_folder(p / "f", f)),
    "dota truth, table found": lambda p, t, f: (dota_folder(p / "t", t), f),
    "coco truth, dota found": lambda p, t, f: (coco(t, True, "obb"), dota_folder(p / "f", f)),
    **{f"coco {key}": lambda p, t, f, key=key: (json_file(p / "t.json", coco(t, True, key)), json_file(p / "f.json", coco(f, False, key)))
       for key in ("obb", "rbox", "poly", "segmentation", "bbox")},
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_report(form: str, tmp_path: Path, data: tuple[Any, Any, Any]) -> None:
    reports_alike(*FORMS[form](tmp_path, *data[:2]), data[2])


def test_yolo_has_no_difficult_objects(tmp_path: Path, data: tuple[Any, Any, Any]) -> None:
    counted = sy.evaluate("oriented", *data[:2], ["map", "map50"], confidence=None, options={"difficult": "count"})
    assert counted["map"].value != data[2]["map"].value
    reports_alike(yolo_folder(tmp_path / "t", data[0]), yolo_folder(tmp_path / "f", data[1]), counted)


HRSC = """<HRSC_Image><Img_SizeWidth>800</Img_SizeWidth><Img_SizeHeight>600</Img_SizeHeight><HRSC_Objects>
<HRSC_Object><Class_ID>100000005</Class_ID><difficult>{difficult}</difficult><mbox_cx>100</mbox_cx><mbox_cy>80</mbox_cy>
<mbox_w>{w}</mbox_w><mbox_h>20</mbox_h><mbox_ang>{angle}</mbox_ang></HRSC_Object></HRSC_Objects></HRSC_Image>"""


def test_hrsc(tmp_path: Path) -> None:
    for name, difficult in (("a", 0), ("b", 1)):
        (tmp_path / f"{name}.xml").write_text(HRSC.format(difficult=difficult, w=60, angle=0.5))
    predictions = {"image": ["a", "b"], "label": ["ship"] * 2, "cx": [100.0] * 2, "cy": [80.0] * 2, "w": [60.0] * 2, "h": [20.0] * 2,
             "angle": [0.5] * 2, "score": [0.9, 0.8]}  # fmt: skip
    report = sy.evaluate("oriented", tmp_path, predictions, ["ap(kind=voc, rule=dota)", "recall"], confidence=None)
    assert [score.value for score in report.scores.values()] == [1.0, 1.0]


SAMPLE = ROOT / "src" / "steelyard" / "samples" / "oriented"


def test_convert_tables(tmp_path: Path) -> None:
    """Rotated boxes of a table in every form give the same number; a table of them keeps its columns."""
    truth, predictions = SAMPLE / "truth.csv", SAMPLE / "model_a.csv"
    plain = sy.evaluate("oriented", truth, predictions, "map", confidence=None)["map"].value
    for form, name in (("dota", ""), ("coco", ".json"), ("csv", ".csv")):
        for side, path in (("t", truth), ("p", predictions)):
            sy.convert(path, tmp_path / f"{side}_{form}{name}", to_format=form)
        sides = (tmp_path / f"{side}_{form}{name}" for side in "tp")
        assert sy.evaluate("oriented", *sides, "map", confidence=None)["map"].value == pytest.approx(plain, abs=1e-12)
    assert (tmp_path / "p_csv.csv").read_text() == re.sub(r"\.0(?=[,\n])", "", predictions.read_text())
    sy.convert(tmp_path / "t_dota", tmp_path / "corners.csv", from_format="dota")
    assert (tmp_path / "corners.csv").read_text().startswith("image,label,x1,y1,x2,y2,x3,y3,x4,y4,difficult\n")
    report = sy.evaluate("oriented", tmp_path / "corners.csv", predictions, "map", confidence=None)
    assert report["map"].value == pytest.approx(plain, abs=1e-12)
    for rows, words in (("a,b,1,1,2,1,90\n", "line 2: angle 90 looks like degrees"), ("a,b,1,1,-2,1,0\n", "negative")):
        (tmp_path / "bad.csv").write_text(f"image,label,cx,cy,w,h,angle\n{rows}")
        with pytest.raises(sy.InputError, match=words):
            sy.convert(tmp_path / "bad.csv", tmp_path / "bad", to_format="dota")


def test_convert_there_and_back(tmp_path: Path, data: tuple[Any, Any, Any]) -> None:
    """DOTA to COCO, to YOLO-OBB with sizes, and back: the same report."""
    truth, predictions = dota_folder(tmp_path / "t", data[0]), dota_folder(tmp_path / "f", data[1])
    done = sy.convert(truth, tmp_path / "t.json", from_format="dota")
    assert (done.source_format, done.target_format, done.boxes) == ("dota", "coco", len(data[0]["image"]))
    sy.convert(predictions, tmp_path / "f.json", from_format="dota", like=tmp_path / "t.json")
    reports_alike(tmp_path / "t.json", tmp_path / "f.json", data[2])
    back = sy.convert(tmp_path / "t.json", tmp_path / "back", to_format="dota")
    assert back.lossless
    reports_alike(tmp_path / "back", predictions, data[2])
    with pytest.raises(sy.InputError, match="read only"):
        sy.convert(tmp_path / "t.json", tmp_path / "x", to_format="hrsc")
    with pytest.raises(sy.InputError, match="the size of image '1' is not known"):
        sy.convert(tmp_path / "t.json", tmp_path / "y", to_format="yolo-obb")


LINE = "0 0 10 0 10 5 0 5 ship 0"


def dota_error(tmp_path: Path, text: str, name: str = "P1.txt", side: str = "truth") -> str:
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / name).write_text(text)
    good = tmp_path / "good"
    good.mkdir()
    (good / ("P1.txt" if side != "truth" else "Task1_ship.txt")).write_text(
        LINE if side != "truth" else f"P1 0.9 {LINE[:-7]}\n"
    )
    sides = (folder, good) if side == "truth" else (good, folder)
    with pytest.raises(sy.InputError) as caught:
        sy.evaluate("oriented", *sides, "map", options={"format": "dota"})
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "name", "side", "parts"),
    [
        ("gsd:1\n0 0 10 0 10 5 0 5 ship 0 7\n", "P1.txt", "truth", ["P1.txt, line 2", "11 fields; 9 or 10 are expected"]),
        ("0 0 10 0 10 5 0 x ship 0\n", "P1.txt", "truth", ["line 1", "a coordinate is 'x'", "four corners"]),
        ("0 0 10 10 10 0 0 10 ship 0\n", "P1.txt", "truth", ["line 1", "crosses itself", "in order around"]),
        ("0 0 nan 0 10 5 0 5 ship 0\n", "P1.txt", "truth", ["line 1", "are not corners"]),
        ("0 0 10 0 10 5 0 5 ship hard\n", "P1.txt", "truth", ["line 1", "difficult is 'hard'"]),
        (f"P1 0.9 {LINE[:-7]}\n", "Task1_ship.txt", "truth", ["Task1_ship.txt", "results where truth is expected"]),
        (f"P1 high {LINE[:-7]}\n", "Task1_ship.txt", "prediction", ["line 1", "the score is 'high'"]),
        ("P1 0.9 0 0 10 5\n", "Task1_ship.txt", "prediction", ["6 fields", "'boxes'"]),
        (f"P9 0.9 {LINE[:-7]}\n", "Task1_ship.txt", "prediction", ["image 'P9' is not in"]),
        (LINE, "P1.txt", "prediction", ["P1.txt", "not a file of results"]),
    ],
)  # fmt: skip
def test_bad_dota(tmp_path: Path, text: str, name: str, side: str, parts: list[str]) -> None:
    message = dota_error(tmp_path, text, name, side)
    for part in parts:
        assert part in message


ROW = {"image": ["a"], "label": ["ship"], "cx": [10.0], "cy": [10.0], "w": [8.0], "h": [4.0], "angle": [0.2]}
FOUND = {**ROW, "score": [0.9]}


@pytest.mark.parametrize(
    ("truth", "predictions", "options", "parts"),
    [
        ({**ROW, "w": [-8.0]}, FOUND, {}, ["truth, row 0, column 'w'", "'-8.0' is not allowed", "at least 0"]),
        ({**ROW, "angle": [37.5]}, FOUND, {}, ["angle 37.5 looks like degrees", "`angle=degrees`"]),
        (ROW, {**FOUND, "angle": [800.0]}, {"prediction.angle": "degrees"}, ["800 is more than a full turn"]),
        (ROW, {**FOUND, "angle": [2.0]}, {"prediction.angle": "le90"}, ["angle 2, width 8", "not of 'le90'"]),
        (ROW, {**FOUND, "w": [2.0]}, {"prediction.angle": "le135"}, ["width 2 and height 4 are not of 'le135'"]),
        (ROW, {**FOUND, "angle": [float("nan")]}, {}, ["predictions, row 0", "column 'angle'", "'nan' is not allowed"]),
        ({k: v for k, v in ROW.items() if k != "angle"}, FOUND, {}, ["column 'angle' is missing", "x1, y1 to x4, y4"]),
        ([{"image": 1, "boxes": [[1, 2, 3, 4]], "labels": ["a"]}], [], {}, ["item 0", "boxes are 1 × 4", "n × 5"]),
        ([{"image": 1, "box": [], "labels": ["a"]}], [], {}, ["an unknown key 'box'"]),
        ({"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": [{"image_id": 1, "category_id": 1, "obb": [1, 2, 3]}]},
         [], {}, ["annotation 0, key 'obb'", "3 numbers where 5"]),
        ({"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}]},
         [], {}, ["annotation 0", "no oriented box"]),
        ({"images": [{"id": 1}, {"id": 1}], "categories": [], "annotations": []}, [], {}, ["image 1", "id 1 appears twice"]),
        (ROW, [{"image_id": "a", "category_id": "ship", "score": 0.5, "obb": [1, 1, "2", 2, 0]}], {}, ["record 0", "'2' is not a number"]),
    ],
)  # fmt: skip
def test_bad_columns_and_json(truth: Any, predictions: Any, options: dict[str, str], parts: list[str]) -> None:
    with pytest.raises(sy.InputError) as caught:
        sy.evaluate("oriented", truth, predictions, "map", options=options)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("w", "angle", "part"), [(-3, 0.1, "negative size"), (60, 45, "looks like degrees"), ("x", 0, "<mbox_w> is 'x'")]
)
def test_bad_hrsc(tmp_path: Path, w: Any, angle: Any, part: str) -> None:
    (tmp_path / "a.xml").write_text(HRSC.format(difficult=0, w=w, angle=angle))
    with pytest.raises(sy.InputError, match=part):
        sy.evaluate("oriented", tmp_path, FOUND, "map")


def test_a_few_angles_beyond_a_turn_are_reduced(data: tuple[Any, Any, Any]) -> None:
    n = 120
    rng = np.random.default_rng(6)
    truth = {"image": [f"i{k % 9}" for k in range(n)], "label": ["a"] * n, "cx": np.arange(n) * 50.0, "cy": np.zeros(n),
             "w": np.full(n, 30.0), "h": np.full(n, 8.0), "angle": rng.uniform(-1, 1, n)}  # fmt: skip
    predictions = {**truth, "score": rng.random(n), "angle": truth["angle"] + np.append(np.zeros(n - 1), 4 * math.pi)}
    report = sy.evaluate("oriented", truth, predictions, "map", confidence=None)
    assert report["map"].value == 1.0
    assert "angle-degrees" in sy.check("oriented", truth, predictions)


def test_radians_where_degrees_are_said(data: tuple[Any, Any, Any]) -> None:
    report = sy.check("oriented", *data[:2], options={"angle": "degrees"})
    assert report["angle-radians"].severity == "error"
    assert "angle-radians" not in sy.check("oriented", *data[:2])


def test_probiou_is_said(data: tuple[Any, Any, Any]) -> None:
    report = sy.evaluate("oriented", *data[:2], "map50", confidence=None, options={"overlap": "probiou"})
    assert "probIoU" in report.to_text()
    assert sy.check("oriented", *data[:2], options={"overlap": "probiou"})["probiou"].severity == "note"
    # A square that is turned fits as one that lies right does.
    square = {**ROW, "w": [8.0], "h": [8.0], "angle": [0.0]}
    turned = {**FOUND, "w": [8.0], "h": [8.0], "angle": [math.pi / 4]}
    for overlap, value in (("iou", 0.0), ("probiou", 1.0)):
        made = sy.evaluate("oriented", square, turned, "ap(iou=0.9)", confidence=None, options={"overlap": overlap})
        assert made["ap(iou=0.9)"].value == pytest.approx(value, abs=1e-12)


def test_smallest_rectangles_stand_for_polygons() -> None:
    """A triangle and its rectangle: half of the area as corners, all of it as rectangles."""
    truth = {
        "image": ["a"],
        "label": ["s"],
        "x1": [0.0],
        "y1": [0.0],
        "x2": [10.0],
        "y2": [0.0],
        "x3": [10.0],
        "y3": [0.0],
        "x4": [0.0],
        "y4": [6.0],
    }
    predictions = {**truth, "x3": [10.0], "y3": [6.0], "score": [0.9]}
    for polygons, value in (("corners", 0.5), ("rectangle", 1.0)):
        report = sy.evaluate(
            "oriented", truth, predictions, "mean_iou(iou=0.3)", confidence=None, options={"polygons": polygons}
        )
        assert report["mean_iou(iou=0.3)"].value == pytest.approx(value, abs=1e-12)


def test_explain_repeats_other_tools() -> None:
    """150 equal ships: hotcoco's limit of 100 leaves a third of the recall."""
    n = 150
    truth = {"image": ["a"] * n, "label": ["ship"] * n, "cx": np.arange(n) * 20.0, "cy": np.zeros(n), "w": np.full(n, 15.0),
             "h": np.full(n, 5.0), "angle": np.full(n, 0.3)}  # fmt: skip
    predictions = {**truth, "score": np.linspace(0.9, 0.1, n)}
    report = sy.evaluate(
        "oriented", truth, predictions, "map", confidence=None, explain="hotcoco, dota, mmrotate, ultralytics"
    )
    tools = {e.tool: e for e in report.explanations}
    assert tools["hotcoco"].ours["map"] == 1.0
    assert tools["hotcoco"].theirs["map"] == pytest.approx(67 / 101)
    assert tools["dota"].theirs == {"ap(kind=voc11, rule=dota)": 1.0}
    assert [step.setting for step in tools["mmrotate"].steps][:1] == ["how boxes are compared"]
    with pytest.raises(sy.InputError, match="'yolo' cannot be explained"):
        sy.evaluate("oriented", truth, predictions, "map", explain="yolo")


def test_picture_has_outlines_and_says_how_well_they_fit(data: tuple[Any, Any, Any]) -> None:
    truth = {**ROW, "angle": [0.0]}
    predictions = {**FOUND, "cx": [11.0], "angle": [math.radians(3)]}
    pairs = TASK.join(*_records(truth, predictions), Policy(), Options(TASK.options))
    scene = TASK.scene(pairs, 0, catalogue.parse("f1", "oriented"))
    first, second = scene.shapes
    assert first.points == (6.0, 8.0, 14.0, 8.0, 14.0, 12.0, 6.0, 12.0)
    assert "IoU 0.7" in second.facts
    assert "angle off by 3.0°" in second.facts
    svg = scene_svg(scene)
    assert svg.count("<polygon") == 2
    assert svg.count("stroke-dasharray") == 2  # false positives and missed ones of the legend: here both are matched
    assert [look in svg for look in ('stroke-width="1" pointer', 'stroke-width="2" pointer')] == [True, True]
    figure = TASK.view("figures")(pairs, None, ())["angles"]()
    assert sum(figure.columns["count"]) == 1


def _records(truth: Any, predictions: Any) -> Any:
    from steelyard.io.sources import read_sides

    return read_sides(TASK, truth, predictions, {})


def test_reference_arrays_of_oriented_boxes(data: tuple[Any, Any, Any]) -> None:
    """The room of boxes serves both: the whole arrays of the reference come from the same matches."""
    pairs = TASK.join(*_records(*data[:2]), Policy(extra="skip"), Options(TASK.options))
    arrays = reference_arrays(pairs, quirks=False, most=(100,))
    precision = arrays["precision"][:, :, :, 0, 0]
    assert float(precision[precision > -1].mean()) == pytest.approx(data[2]["map"].value, abs=1e-12)

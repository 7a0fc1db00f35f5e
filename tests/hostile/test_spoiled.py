"""Values of every JSON file and of every column, put wrong one at a time: a message or a result, never another error."""

from __future__ import annotations

import copy
import json
import os
import random
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.answer_logs import KIT, archive, options, sample
from support.drawn import DRAWN
from support.paths import ROOT, TESTS
from support.solid_files import nuscenes_box
from support.solid_release import release

import steelyard as sy
from steelyard.core.request import Settings
from steelyard.vlm.prices import read_prices
from steelyard.vlm.questions import read_questions

JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    3,
    0.5,
    1e308,
    float("nan"),
    10**30,
    "",
    "x",
    "-",
    [],
    [[]],
    [None],
    ["a", 1],
    {},
    {"a": []},
)
SAMPLES = ROOT / "src" / "steelyard" / "samples"
RELEASED = TESTS / "released" / "0.1.0"


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every value in a document; of long lists the first two and the last."""
    yield at
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*at, key))
    elif isinstance(value, list):
        for i in sorted({0, 1, len(value) - 1} & set(range(len(value)))):
            yield from places(value[i], (*at, i))


def spoiled(value: Any, at: tuple[Any, ...], junk: Any) -> Any:
    """The document with another value at a place; `...` takes the key out."""
    if not at:
        return junk
    made = copy.deepcopy(value)
    inner = made
    for key in at[:-1]:
        inner = inner[key]
    if junk is ...:
        del inner[at[-1]]
    else:
        inner[at[-1]] = junk
    return made


def cases(documents: dict[str, Any]) -> list[tuple[str, tuple[Any, ...], Any]]:
    return [
        (name, at, junk)
        for name, document in documents.items()
        for at in places(document)
        for junk in (*JUNK, *([...] if at else []))
    ]


Use = Callable[[Path], Any]


def small(path: Path, most: int = 3) -> Any:
    """A COCO file of few images."""
    data = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(data, list):
        return data
    data["images"] = data["images"][:most]
    ids = {image["id"] for image in data["images"]}
    data["annotations"] = [one for one in data["annotations"] if one["image_id"] in ids][: 2 * most]
    return data


def coco(task: str) -> dict[str, Any]:
    truth = small(SAMPLES / task / "truth.json")
    ids = {image["id"] for image in truth["images"]}
    results = [one for one in small(SAMPLES / task / "model_a.json") if one["image_id"] in ids][:4]
    return {"t.json": truth, "p.json": results}


def evaluates(task: str, truth: str = "t.json", predictions: str | None = "p.json", **options: Any) -> Use:
    def use(folder: Path) -> Any:
        second = None if predictions is None else folder / predictions
        return sy.evaluate(task, folder / truth, second, confidence=None, options=options)

    return use


def tables() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as raw:
        folder = release(Path(raw) / "v")
        return {f"v/{path.name}": json.loads(path.read_text()) for path in folder.iterdir()}


def lvis() -> dict[str, Any]:
    made = coco("boxes")
    for image in made["t.json"]["images"]:
        image |= {"neg_category_ids": [1], "not_exhaustive_category_ids": [2]}
    for category in made["t.json"]["categories"]:
        category["frequency"] = "f"
    return made


NUSCENES = {
    "t.json": {"meta": {}, "results": {"s": [nuscenes_box(num_pts=3)], "u": []}, "ego": {"s": [0.0, 0, 0], "u": [1.0, 0, 0]}},
    "p.json": {"meta": {}, "results": {"s": [nuscenes_box(detection_score=0.5)], "u": []}},
}  # fmt: skip
VQA = {
    "t.json": {"annotations": [{"question_id": 1, "image_id": 9, "answer_type": "x", "answers": [{"answer": "yes"}] * 3}]},
    "p.json": [{"question_id": 1, "answer": "yes"}],
}  # fmt: skip


def lm_eval(form: str) -> Use:
    def use(folder: Path) -> Any:
        rows = json.loads((folder / "rows.json").read_text())
        text = "".join(json.dumps(row) + "\n" for row in rows) if isinstance(rows, list) else json.dumps(rows)
        (folder / "samples_x_2026.jsonl").write_text(text)
        return sy.evaluate("answers", folder / "samples_x_2026.jsonl", confidence=None, options={"format": form})

    return use


def inspected(folder: Path) -> Any:
    held = {name: json.loads((folder / name).read_text()) for name in ("header.json", "samples/1_epoch_1.json")}
    (folder / "run.eval").write_bytes(archive(held))
    return sy.evaluate("answers", folder / "run.eval", confidence=None)


INSPECT = {
    "header.json": {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}},
    "samples/1_epoch_1.json": sample(1, "4", "4", "C"),
}
HARNESS = [{"doc_id": 0, "target": "yes", "filtered_resps": ["yes"], "acc": {"score": 1.0, "question_id": 7}}]
TREE = {"LabelName": "root", "Subcategory": [{"LabelName": "/m/a", "Subcategory": [{"LabelName": "/m/b"}]}]}
CAPTIONS = {
    "t.json": {"images": [{"id": 1}], "annotations": [{"id": 1, "image_id": 1, "caption": "a cat sits"}]},
    "p.json": [{"image_id": 1, "caption": "the cat sits"}],
}
ORIENTED = {
    "t.json": {
        "images": [{"id": 1}], "categories": [{"id": 1, "name": "ship"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "obb": [10, 10, 4, 2, 0.5], "difficult": 0}],
    },
    "p.json": [{"image_id": 1, "category_id": 1, "obb": [10, 10, 4, 2, 0.4], "score": 0.5}],
}  # fmt: skip
RUN = {"t.json": {"q1": {"d1": 1, "d2": 0}}, "p.json": {"q1": {"d1": 0.5, "d3": 0.25}}}
PRICES = {"models": {"m": {"input": 2.5, "cached": 0.25, "output": 10, "image": 0, "per": 1e6, "currency": "USD"}}}
QUESTIONS = {
    "questions": {
        "dog": {"prompt": "Is there a {animal}?", "target": "present", "answer": "yes/no"},
        "kcal": {"prompt": "How much?", "target": "kcal", "answer": "number", "unit": ["kcal"], "min": 0},
        "colour": {"prompt": "Which?\n{options}", "target": "c", "answer": "choice", "options": ["grey", "white"]},
        "plate": {"prompt": "What?", "target": "p", "answer": "json", "schema": {"type": "object", "properties": {"a": {"type": "number"}}}},
    }
}  # fmt: skip


def open_images(folder: Path) -> Any:
    (folder / "t.csv").write_text("ImageID,LabelName,XMin,YMin,XMax,YMax\ni,/m/b,0.1,0.1,0.5,0.5\n")
    (folder / "p.csv").write_text("ImageID,LabelName,XMin,YMin,XMax,YMax,Score\ni,/m/b,0.1,0.1,0.5,0.5,0.9\n")
    asked = {"format": "openimages", "hierarchy": str(folder / "tree.json")}
    return sy.evaluate("boxes", folder / "t.csv", folder / "p.csv", confidence=None, options=asked)


def segments(folder: Path) -> Any:
    for side in ("truth", "model_a"):
        for picture in (SAMPLES / "panoptic" / side).iterdir():
            (folder / side).mkdir(exist_ok=True)
            (folder / side / picture.name).write_bytes(picture.read_bytes())
    return sy.evaluate("panoptic", folder / "truth.json", folder / "model_a.json", confidence=None)


def panoptic() -> dict[str, Any]:
    made = {name: json.loads((SAMPLES / "panoptic" / name).read_text()) for name in ("truth.json", "model_a.json")}
    for one in made.values():
        one["annotations"] = one["annotations"][:2]
    return made


def gated(folder: Path) -> Any:
    report = sy.load(RELEASED / "weights.report.json")
    return sy.gate(report, "mae < 1000", ledger=folder / "looks.json", looks=20)


def looks() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as raw:
        gated(Path(raw))
        return {"looks.json": json.loads((Path(raw) / "looks.json").read_text())}


def converts(source: str, target: str, **settings: Any) -> Use:
    return lambda folder: sy.convert(folder / source, folder / target, force=True, **settings)


def result_of(name: str) -> dict[str, Any]:
    return {"r.json": json.loads((RELEASED / name).read_text(encoding="utf-8"))}


def reads(folder: Path) -> Any:
    made = sy.load(folder / "r.json")
    return made.to_text(), made.to_markdown()


DISHES = [
    {"dish": f"d{i}", "mass": 100.0 + i, "energy": 150.0, "iron": 2, "ingredients": ["rice=60", "egg"]}
    for i in range(3)
]
NUTRIENTS = {"t.json": DISHES, "p.json": DISHES}

# name -> (files by name, what is done with them)
READ: dict[str, tuple[dict[str, Any], Use]] = {
    "release of nuScenes": (tables(), converts("v", "t.json", from_format="nuscenes")),
    "nuScenes": (NUSCENES, evaluates("boxes3d", format="nuscenes")),
    "nuScenes, converted": (NUSCENES, converts("p.json", "out", from_format="nuscenes", to_format="kitti")),
    "nuScenes, as a table": (NUSCENES, converts("t.json", "out.csv", from_format="nuscenes", to_format="csv")),
    "boxes": (coco("boxes"), evaluates("boxes")),
    "boxes, converted": (coco("boxes"), converts("t.json", "out", to_format="yolo")),
    "boxes, checked": (coco("boxes"), lambda f: sy.check("boxes", f / "t.json", f / "p.json").to_text()),
    "masks": (coco("masks"), evaluates("masks")),
    "keypoints": (coco("keypoints"), evaluates("keypoints")),
    "LVIS": (lvis(), evaluates("boxes", **{"truth.format": "lvis"})),
    "OpenImages' hierarchy": ({"tree.json": TREE}, open_images),
    "oriented": (ORIENTED, evaluates("oriented")),
    "panoptic": (panoptic(), segments),
    "captions": (CAPTIONS, evaluates("captions")),
    "rankings": (RUN, evaluates("rankings")),
    "VQA": (VQA, evaluates("answers")),
    "nutrients": (NUTRIENTS, evaluates("nutrients", target="iron=mg")),
    "lm-eval": ({"rows.json": [options("2", 1.0), options("1", 0.0)]}, lm_eval("lm-eval")),
    "lmms-eval": ({"rows.json": HARNESS}, lm_eval("lmms-eval")),
    "VLMEvalKit": ({"t.json": KIT}, evaluates("answers", predictions=None, format="vlmevalkit")),
    "inspect": (INSPECT, inspected),
    "prices": ({"prices.json": PRICES}, lambda folder: read_prices(folder / "prices.json")),
    "questions": ({"q.json": QUESTIONS}, lambda folder: read_questions(folder / "q.json")),
    "ledger": (looks(), gated),
    **{f"result {path.name}": (result_of(path.name), reads) for path in sorted(RELEASED.glob("*.json")) if path.name != "public.json"},
}  # fmt: skip
MOST = int(os.environ.get("STEELYARD_SPOILED", "30"))  # wrong values of each, drawn from all


@pytest.mark.parametrize("name", READ)
def test_a_wrong_value_is_a_message(name: str, tmp_path: Path) -> None:
    documents, use = READ[name]
    for file, document in documents.items():
        (tmp_path / file).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / file).write_text(json.dumps(document), encoding="utf-8")
    use(tmp_path)
    wrong = cases(documents)
    faults = []
    for file, at, junk in random.Random(0).sample(wrong, min(MOST, len(wrong))):
        text = json.dumps(spoiled(documents[file], at, junk))
        (tmp_path / file).write_text(text, encoding="utf-8")
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("error")
                use(tmp_path)
        except sy.InputError:
            pass
        except Exception as error:
            faults.append(f"{file} {'/'.join(map(str, at))} = {junk!r}: {error!r}")
        (tmp_path / file).write_text(json.dumps(documents[file]), encoding="utf-8")
    assert not faults, "\n".join(faults)


CELLS: tuple[Any, ...] = (
    None, True, -1, 3, 0.5, float("nan"), float("inf"), 10**30, "", "x", "1,5", [], [[]], [None], ["a", 1], {}, {"a": []},
    b"x", object(), np.array([1, 2]), np.array([]), np.float32(3), "\x00", "\ud800", "a" * 70_000, complex(1, 2),
)  # fmt: skip


@pytest.mark.parametrize("task", DRAWN)
def test_a_wrong_cell_is_a_message(task: str) -> None:
    """One cell of a column, or all of them, of data in memory."""
    drawn, faults = DRAWN[task], []
    sides = [{name: list(column) for name, column in side.items()} for side in drawn.draw(np.random.default_rng(1), 5)]
    wrong = [(s, name, i, every) for s in (0, 1) for name in sides[s] for i in range(len(CELLS)) for every in (0, 1)]
    for s, name, i, every in random.Random(0).sample(wrong, min(MOST // 2, len(wrong))):
        made = [dict(side) for side in sides]
        length = len(sides[s][name])
        made[s][name] = [CELLS[i] if every or k == length // 2 else sides[s][name][k] for k in range(length)]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                sy.evaluate(task, *made, confidence=None, **drawn.policy).to_json()
        except sy.InputError:
            pass
        except Exception as error:
            faults.append(f"{('truth', 'predictions')[s]} {name} = {CELLS[i]!r:.40}: {error!r}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("value", [1e308, 2.0**53 + 2, -(2.0**60)])
def test_ids_that_a_float_cannot_tell_apart_are_refused(value: float) -> None:
    truth = {"dish": np.array([1.0, value]), "item": ["a", "a"], "weight": [1.0, 2.0]}
    with pytest.raises(sy.InputError, match=r"truth, row 1, column 'dish': .* does not hold every whole number"):
        sy.evaluate("weights", truth, truth, "mae")


def test_ids_beyond_64_bits_are_texts() -> None:
    """They meet, whatever type holds them."""
    ids = np.array([2**63 + 1, 2**63 + 2], dtype=np.uint64)
    truth = {"dish": ids, "item": ["a", "a"], "weight": [1.0, 2.0]}
    said = {"dish": [str(2**63 + 2), str(2**63 + 1)], "item": ["a", "a"], "weight": [2.5, 1.0]}
    assert sy.evaluate("weights", truth, said, "mae", confidence=None)["mae"].value == 0.25


SETTINGS: tuple[Any, ...] = (
    None,
    True,
    -1,
    0.5,
    float("nan"),
    10**30,
    "",
    "x",
    [],
    [[]],
    [None],
    {"a": []},
    object(),
    int,
)


@pytest.mark.parametrize("name", sorted(Settings.__annotations__))
def test_a_wrong_setting_is_a_message(name: str) -> None:
    truth = {"dish": ["a", "b", "c"], "item": ["i"] * 3, "weight": [1.0, 2.0, 4.0]}
    faults = []
    for value in SETTINGS:
        try:
            sy.evaluate("weights", truth, truth, "mae", **{"draws": 100, name: value}).to_json()  # type: ignore[misc]
        except sy.InputError:
            pass
        except Exception as error:
            faults.append(f"{name} = {value!r}: {error!r}")
    assert not faults, "\n".join(faults)


def test_wrong_rules_and_specs_are_messages() -> None:
    report = sy.load(RELEASED / "weights.report.json")
    assert isinstance(report, sy.Report)
    for rule in (None, 3, [None], [["mae > 3"]]):
        with pytest.raises(sy.InputError, match="is not a rule"):
            sy.gate(report, rule)  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="3 is not a metric"):
        report[3]  # type: ignore[index]


@pytest.mark.parametrize("data", [[], {"images": [], "annotations": [], "categories": []}])
def test_oriented_truth_without_an_image_is_refused(data: Any) -> None:
    with pytest.raises(sy.InputError, match="truth: there is no image"):
        sy.evaluate("oriented", data, [])

"""Task `grounding`: the files of data sets, and logs of harnesses."""

from __future__ import annotations

import json
import math
import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.grounding_sides import GOLDENS, scores
from support.refusal import refuses

import steelyard as sy
from steelyard.tasks.grounding.pickles import read_pickle


@pytest.fixture
def flickr(tmp_path: Path) -> tuple[Path, Path]:
    """The phrases of the goldens in the files of Flickr30k Entities."""
    part, folder = GOLDENS["phrases"], tmp_path / "flickr"
    for name in ("Sentences", "Annotations"):
        (folder / name).mkdir(parents=True)
    for image, boxes in part["boxes"].items():
        (folder / "Sentences" / f"{image}.txt").write_text("\n".join(part["sentences"][image]) + "\n")
        objects = "".join(
            f"<object><name>{name}</name><bndbox><xmin>{b[0]}</xmin><ymin>{b[1]}</ymin><xmax>{b[2]}</xmax>"
            f"<ymax>{b[3]}</ymax></bndbox></object>"
            for name, several in boxes.items()
            for b in several
        )
        size = "<size><width>320</width><height>240</height></size>"
        (folder / "Annotations" / f"{image}.xml").write_text(f"<annotation>{size}{objects}</annotation>")
    (tmp_path / "found.json").write_text(json.dumps(part["predictions"]))
    return folder, tmp_path / "found.json"


def test_phrases_as_mdetr(flickr: tuple[Path, Path]) -> None:
    expected = GOLDENS["phrases"]["expected"]
    for protocol, key in (("any", "MDETR any box"), ("merged", "MDETR merged boxes")):
        specs = [f"recall@{k}(boxes={protocol})" for k in (1, 5, 10, 0)]
        assert scores(*flickr, *specs) == [expected[key][k]["all"] for k in ("1", "5", "10", "all")]


def test_phrases_by_type(flickr: tuple[Path, Path]) -> None:
    """A phrase with two types counts in both, in the table and as a setting of the metric."""
    expected = GOLDENS["phrases"]["expected"]
    for protocol, key in (("any", "MDETR any box"), ("merged", "MDETR merged boxes")):
        for k in (1, 5, 10):
            by_type = {name: value for name, value in expected[key][str(k)].items() if name != "all"}
            specs = [f"recall@{k}(boxes={protocol}, type={name})" for name in by_type]
            assert scores(*flickr, *specs) == list(by_type.values())
    table = sy.evaluate("grounding", *flickr, ["recall@1(boxes=any)"], confidence=None).table("by_type")
    rows = dict(zip(table.rows, table.values.tolist(), strict=True))
    assert {name: row[1:] for name, row in rows.items()} == {
        name: [expected[f"MDETR {rule}"][k][name] for rule in ("any box", "merged boxes") for k in ("1", "5", "10")]
        for name in expected["MDETR any box"]["1"]
    }
    spec = "recall@1(boxes=any, type=animal)"
    none = sy.evaluate("grounding", *flickr, [spec], confidence=None)[spec]
    assert math.isnan(none.value)
    assert "'animal'" in none.undefined_reason


def test_a_type_may_be_missing_in_a_slice_or_a_batch() -> None:
    """One of two phrases of people is a hit; slices and batches without people add nothing."""
    truth: dict[str, list[Any]] = {
        "image": list("aabb"),
        "expression": list("wxyz"),
        "x": [0] * 4,
        "y": [0] * 4,
        "w": [9] * 4,
        "h": [9] * 4,
    }
    truth["type"] = ["people", "people", "animals", "animals"]
    boxes = {**truth, "w": [9, 2, 9, 9]}
    spec = "recall@1(type=people)"
    report = sy.evaluate("grounding", truth, boxes, [spec], by="type", confidence=None)
    assert report[spec].value == 1 / 2
    sliced = {name: part[spec].value for name, part in report.slices["type"].items()}
    assert sliced["people"] == 1 / 2
    assert math.isnan(sliced["animals"])
    batches = sy.Accumulator("grounding", confidence=None)
    for rows in ([0, 1], [2, 3]):
        batches.update(*({name: [column[i] for i in rows] for name, column in side.items()} for side in (truth, boxes)))
    assert batches.compute([spec])[spec].value == 1 / 2


def test_phrases_that_the_protocol_decides(tmp_path: Path) -> None:
    """By hand: one of two men is results, which is a hit of any box and none of the box around both."""
    names = {"image": ["a"] * 2, "expression": ["0/0"] * 2, "text": ["two men"] * 2, "type": ["people"] * 2}
    truth = names | {"x": [0, 90], "y": [0, 0], "w": [10, 10], "h": [10, 10]}
    results = {"image": ["a"], "expression": ["0/0"], "x": [0], "y": [0], "w": [10], "h": [10]}
    problem = sy.check("grounding", truth, results)["several-true-boxes"]
    assert (problem.severity, problem.count) == ("note", 1)
    assert "several-true-boxes" not in sy.check("grounding", truth, results | {"w": [100]} | {"x": [-45]})


def flickr_folder(folder: Path, sentence: str, boxes: dict[str, list[int]]) -> Path:
    """A folder of Flickr30k Entities with one sentence of image 7, of its split `test`."""
    for name in ("Sentences", "Annotations"):
        (folder / name).mkdir(parents=True)
    (folder / "Sentences" / "7.txt").write_text(sentence + "\n")
    corners = ("xmin", "ymin", "xmax", "ymax")
    objects = "".join(
        f"<object><name>{name}</name><bndbox>"
        + "".join(f"<{corner}>{value}</{corner}>" for corner, value in zip(corners, box, strict=True))
        + "</bndbox></object>"
        for name, box in boxes.items()
    )
    (folder / "Annotations" / "7.xml").write_text(f"<annotation>{objects}</annotation>")
    (folder / "test.txt").write_text("7\n")
    return folder


def test_phrases_without_a_box_have_no_place(tmp_path: Path) -> None:
    """By hand, as MDETR does: predictions list the phrases that have boxes, and the field is not one of them."""
    sentence = "In [/EN#9/scene a field] [/EN#1/people a man] walks [/EN#2/animals a dog] ."
    folder = flickr_folder(tmp_path / "flickr", sentence, {"1": [10, 10, 60, 110], "2": [80, 15, 130, 120]})
    results = tmp_path / "found.json"
    entry = {"image_id": "7", "sentence_id": 0}
    results.write_text(json.dumps([{**entry, "boxes": [[[10, 10, 60, 110]], [[80, 15, 130, 120]]]}]))
    assert scores(folder, results, "recall@1", options={"split": "test"}) == [1]
    results.write_text(json.dumps([{**entry, "boxes": [[], [[10, 10, 60, 110]], [[80, 15, 130, 120]]]}]))
    with refuses("E-shape-mismatch", "3 phrases", "2 phrases"):
        scores(folder, results, "recall@1")
    results.write_text(json.dumps([{**entry, "boxes": [[], []]}] * 2))
    with refuses("E-duplicate-key", "entry 1"):
        scores(folder, results, "recall@1")


def test_concepts_from_files(tmp_path: Path) -> None:
    part = GOLDENS["concepts"]["drawn"]
    paths = []
    for who, truth in enumerate((part["truth"], part["second"])):
        images = [
            {"id": i, "width": 1024, "height": 128, "text_input": "cup", "is_instance_exhaustive": exhaustive[who]}
            for i, exhaustive in part["prompts"]
        ]
        boxes = [{"image_id": int(i), "bbox": box[:4], "iscrowd": 0} for i, own in truth.items() for box in own]
        paths.append(tmp_path / f"gold_{who}.json")
        paths[who].write_text(json.dumps({"images": images, "annotations": boxes}))
    predicted = tmp_path / "found.json"
    predicted.write_text(json.dumps([{"image_id": i, "bbox": box, "score": s} for i, box, s in part["predictions"]]))
    for truth, key in ((paths[0], "one annotator"), ([str(path) for path in paths], "two annotators (oracle)")):
        assert scores(truth, predicted, "cgf1(like=sam3)") == pytest.approx([part["expected"][key]["cgF1"]], rel=1e-14)
    report = sy.evaluate("grounding", paths[0], predicted, confidence=None, options={"annotators": str(paths[1])})
    assert report["cgf1"].value == scores([str(path) for path in paths], predicted, "cgf1")[0]
    report = sy.evaluate("grounding", paths[0], predicted, confidence=None)
    assert list(report.scores) == ["cgf1", "pmf1", "il_mcc", "item_f1"]


def solid_mask(box: list[float]) -> dict[str, Any]:
    """The pixels of a box, in columns from the left, in an image of 1024 by 128: run lengths that begin with zeros."""
    pixels = np.zeros((128, 1024), dtype=bool)
    x, y, w, h = (int(side) for side in box)
    pixels[y : y + h, x : x + w] = True
    flat = pixels.ravel(order="F")
    changes = np.flatnonzero(np.diff(flat, prepend=False))
    return {"size": [128, 1024], "counts": np.diff([0, *changes, len(flat)]).tolist()}


def test_concepts_of_masks_from_files(tmp_path: Path) -> None:
    part = GOLDENS["concepts"]["drawn"]
    size = {"width": 1024, "height": 128}
    images = [{"id": i, **size, "text_input": "cup", "is_instance_exhaustive": e[0]} for i, e in part["prompts"]]
    objects = [
        {"image_id": int(i), "bbox": box[:4], "iscrowd": int(len(box) > 4), "segmentation": solid_mask(box[:4])}
        for i, own in part["truth"].items()
        for box in own
    ]
    said = [
        {"image_id": i, "bbox": box, "score": score, "segmentation": solid_mask(box)}
        for i, box, score in part["predictions"]
    ]
    truth, predicted = tmp_path / "gold.json", tmp_path / "segments.json"
    truth.write_text(json.dumps({"images": images, "annotations": objects}))
    predicted.write_text(json.dumps(said))
    expected = part["expected"]["one annotator, masks"]
    specs = [f"{metric}(like=sam3)" for metric in ("cgf1", "pmf1", "il_mcc", "item_f1")]
    keys = ("cgF1", "positive_micro_F1", "IL_MCC", "positive_macro_F1")
    assert scores(truth, predicted, *specs) == pytest.approx([expected[key] for key in keys], rel=1e-14)


def test_a_pickle_with_code_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "instances.json").write_text(json.dumps({"images": [], "annotations": []}))
    (tmp_path / "refs(unc).p").write_bytes(pickle.dumps(Path("never")))
    with refuses("E-unsupported"):
        scores(tmp_path, {"image": [7], "expression": [1], "reply": ["null"]}, "acc@0.5")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_plain_data_are_read_as_they_are(protocol: int) -> None:
    """Texts of any length and writing, numbers of all lengths, and as many places of the memo as a pickle can have."""
    texts = ["", "a", "x" * 127, "x" * 128, "y" * 255, "z" * 256, "é" * 70_000, "line\nand \\ 'quotes'", "\U0001f600"]
    numbers = [0, 1, 255, 256, 65_536, -1, 2**31, -(2**31) - 1, 2**40, 2**63 - 1, -(2**63), 0.1, -1e300, True, False]
    listed = [[f"{number}"] for number in range(70_000)]
    data = [{"text": texts, "number": numbers, "none": None, "listed": listed, "again": listed, "empty": [{}, []]}]
    assert read_pickle(pickle.dumps(data, protocol), "refs.p") == data


def test_pickles_of_python_2_are_read() -> None:
    assert read_pickle(
        b"(lp1\n(dp2\nS'sent'\np3\nS'left \\x41'\np4\nsS'id'\nI7\nsS'n'\nL8L\nsS'f'\nF0.5\nsa.", "refs.p"
    ) == [{"sent": "left A", "id": 7, "n": 8, "f": 0.5}]
    assert read_pickle(b"\x80\x02]q\x01}q\x02U\x04sentq\x03T\x03\x00\x00\x00cupsa.", "refs.p") == [{"sent": "cup"}]


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02]r\x00\x00\x00\x01.",
        b"(lp10000000\n.",
        b"\x80\x04\x8d\x00\x00\x00\x04\x00\x00\x00\x00.",
        b"\x80\x02T\x00\x00\x00\x04.",
    ],
)
def test_a_pickle_cannot_ask_for_more_memory_than_its_size_needs(data: bytes) -> None:
    tracemalloc.start()
    try:
        with refuses("E-invalid-file"):
            read_pickle(data, "refs.p")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_references_of_refcoco(tmp_path: Path) -> None:
    """By hand: two sentences of one object and one that names nothing."""
    images = [{"id": 7, "width": 640, "height": 480}]
    (tmp_path / "instances.json").write_text(
        json.dumps({"images": images, "annotations": [{"id": 1, "bbox": [100, 100, 100, 100]}]})
    )
    sentences = [{"sent_id": 1, "sent": "left cup"}, {"sent_id": 2, "sent": "the cup"}]
    references = [
        {"image_id": 7, "ann_id": [1], "split": "val", "sentences": sentences},
        {
            "image_id": 7,
            "ann_id": [-1],
            "no_target": True,
            "split": "val",
            "sentences": [{"sent_id": 3, "sent": "dog"}],
        },
    ]
    (tmp_path / "refs(unc).p").write_bytes(pickle.dumps(references))
    predicted = {"image": [7] * 3, "expression": [1, 2, 3], "reply": ["[100, 100, 200, 200]", "[0, 0, 10, 10]", "none"]}
    assert scores(tmp_path, predicted, "exact_set", "n_acc", "t_acc", by=["split"]) == pytest.approx([2 / 3, 1, 1])


def references(folder: Path, name: str, *splits: str) -> Path:
    """References of one image for each split, of two cups of which the first is meant."""
    box = [100, 100, 100, 100]
    annotations, images, refs = [], [], []
    for image, split in enumerate(splits):
        images.append({"id": image, "width": 640, "height": 480, "file_name": f"{image}.jpg"})
        annotations += [{"id": 2 * image + i, "image_id": image, "category_id": 47, "bbox": box} for i in range(2)]
        sentences = [{"sent_id": image, "sent": "left cup"}]
        refs.append({"image_id": image, "ann_id": 2 * image, "split": split, "sentences": sentences})
    (folder / "instances.json").write_text(json.dumps({"images": images, "annotations": annotations}))
    (folder / name).write_bytes(pickle.dumps(refs))
    return folder / name


def test_one_split_of_refcoco(tmp_path: Path) -> None:
    """By hand: predictions for val alone, of which one is right; other expressions of the file are not missing."""
    path = references(tmp_path, "refs(unc).p", "train", "val", "val", "testA")
    predicted = {"image": [1, 2], "expression": [1, 2], "reply": ["[100, 100, 200, 200]", "[0, 0, 9, 9]"]}
    report = sy.evaluate("grounding", path, predicted, ["acc"], options={"split": "val"}, by=["same_class"], draws=100)
    assert (report["acc"].value, report["acc"].units) == (0.5, 2)
    assert report.slices["same_class"]["2"]["acc"].value == 0.5
    assert report.table("by_same_class").values.tolist() == [[2, 0.5, 0.5]]
    every = {"image": [0, 1, 2, 3], "expression": [0, 1, 2, 3], "reply": ["[100, 100, 200, 200]"] * 4}
    assert scores(path, every, "acc", options={"split": "testA"}) == [1]
    with refuses("E-unknown-name", "testA"):
        scores(path, every, "acc", options={"split": "testC"})
    with refuses("E-missing-column", "split"):
        scores(
            {"image": [1], "expression": [1], "x": [0], "y": [0], "w": [9], "h": [9]},
            every,
            "acc",
            options={"split": "val"},
        )


def test_boxes_on_another_object_of_the_class(tmp_path: Path) -> None:
    """By hand: no expression names the second cup, and a reply that marks it is not elsewhere."""
    path = references(tmp_path, "refs(unc).p", "val", "val")
    instances = json.loads((tmp_path / "instances.json").read_text())
    instances["annotations"][1]["bbox"] = [300, 300, 50, 50]
    (tmp_path / "instances.json").write_text(json.dumps(instances))
    predicted = {"image": [0, 1], "expression": [0, 1], "reply": ["[300, 300, 350, 350]", "[300, 300, 350, 350]"]}
    table = sy.evaluate("grounding", path, predicted, ["acc"], confidence=None).table("errors")
    counts = dict(zip(table.rows, table.values[:, 0].tolist(), strict=True))
    assert (counts["on another object"], counts["elsewhere"]) == (1, 1)


def test_references_without_their_instances(tmp_path: Path) -> None:
    path = references(tmp_path, "refs(unc).p", "val")
    predicted = {"image": [0], "expression": [0], "reply": ["[100, 100, 200, 200]"]}
    references(tmp_path, "refs(google).p", "val")
    with refuses("E-conflict", "refs(google).p", "refs(unc).p"):
        scores(tmp_path, predicted, "acc")
    assert scores(path, predicted, "acc") == [1]
    (tmp_path / "instances.json").unlink()
    with refuses("E-missing-data", "instances.json"):
        scores(path, predicted, "acc")


def test_sizes_from_a_file(tmp_path: Path) -> None:
    """By hand: replies from 0 to 1000, where the size of the image is in another file."""
    truth = {"image": ["a.jpg"], "expression": ["cup"], "x": [64], "y": [48], "w": [64], "h": [48]}
    said = {"image": ["a.jpg"], "expression": ["cup"], "reply": ["[100, 100, 200, 200]"]}
    instances, table = tmp_path / "instances.json", tmp_path / "sizes.csv"
    instances.write_text(json.dumps({"images": [{"id": 1, "file_name": "a.jpg", "width": 640, "height": 480}]}))
    table.write_text("image,width,height\na.jpg,640,480\n")
    for sizes in (instances, table):
        assert scores(truth, said, "mean_iou", options={"coordinates": "1000", "sizes": str(sizes)}) == [1]
    with refuses("E-missing-column", "width and height"):
        scores(truth, said, "mean_iou", options={"coordinates": "1000"})
    table.write_text("image,wide\na.jpg,640\n")
    with refuses("E-missing-column", "sizes.csv", "width"):
        scores(truth, said, "mean_iou", options={"coordinates": "1000", "sizes": str(table)})


def test_boxes_of_saco_that_are_divided_by_the_size(tmp_path: Path) -> None:
    """By hand: in the published files boxes are from 0 to 1; the masks beside them say where the objects are."""
    mask = solid_mask([200, 10, 100, 50])
    image = {"id": 1, "width": 1024, "height": 128, "text_input": "cup", "is_instance_exhaustive": 1}
    own = {"image_id": 1, "bbox": [200 / 1024, 10 / 128, 100 / 1024, 50 / 128], "segmentation": mask}
    truth, results = tmp_path / "gold.json", tmp_path / "found.json"
    truth.write_text(json.dumps({"images": [image], "annotations": [own]}))
    results.write_text(json.dumps([{**own, "score": 0.9}]))
    assert scores(truth, results, "pmf1", "box_f1") == [1, 1]
    results.write_text(json.dumps([{"image_id": 1, "bbox": own["bbox"], "score": 0.9}]))
    assert scores(truth, results, "pmf1", "box_f1", options={"coordinates": "1"}) == [1, 1]
    mdetr = tmp_path / "mdetr.json"
    mdetr.write_text(json.dumps({"images": [{"id": 1, "caption": "cup"}], "annotations": []}))
    with refuses("E-unsupported", "mdetr.json"):
        scores([str(truth), str(mdetr)], results, "pmf1")


@pytest.mark.parametrize("value", [2, "yes", None, []])
@pytest.mark.parametrize("key", ["iscrowd", "is_instance_exhaustive"])
def test_flags_of_saco_are_true_or_false(tmp_path: Path, key: str, value: Any) -> None:
    image = {"id": 1, "width": 64, "height": 48, "text_input": "cup", "is_instance_exhaustive": 1}
    own = {"image_id": 1, "bbox": [1, 2, 3, 4], "iscrowd": 0}
    (image if key in image else own)[key] = value
    truth, results = tmp_path / "gold.json", tmp_path / "found.json"
    truth.write_text(json.dumps({"images": [image], "annotations": [own]}))
    results.write_text("[]")
    with refuses("E-invalid-value", "gold.json", f"'{key}'", str(value)):
        scores(truth, results, "pmf1")


def write_lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_log_holds_both_sides(tmp_path: Path) -> None:
    """By hand: two objects of one picture, which the log names by object; one box from 0 to 1000 is right."""
    logged = [{"answer": ["cup"], "bbox": box} for box in ([64, 48, 128, 96], [0, 0, 64, 48])]
    log = write_lines(
        tmp_path / "samples.jsonl",
        *(
            {
                "doc_id": number,
                "doc": {"file_name": f"COCO_train2014_000000000009_{number}.jpg"},
                "filtered_resps": ["[100, 100, 200, 200]"],
                "refcoco_grounding_IoU": own,
            }
            for number, own in enumerate(logged)
        ),
    )
    sizes = tmp_path / "sizes.csv"
    sizes.write_text("image,width,height\nCOCO_train2014_000000000009.jpg,640,480\n")
    options = {"coordinates": "1000", "sizes": str(sizes)}
    report = sy.evaluate("grounding", log, None, ["acc"], options=options, confidence=None)
    assert (report["acc"].value, report["acc"].units) == (0.5, 1)
    with refuses("E-missing-data"):
        scores({"image": [1], "expression": [1], "x": [0], "y": [0], "w": [9], "h": [9]}, None, "acc")


def test_logs_of_other_tasks_of_lmms_eval(tmp_path: Path) -> None:
    """By hand: refcoco_bbox_rec logs boxes from 0 to 1, with or without the size; GroundingMe's rejections have none."""
    logged = {"answer": "left cup", "pred": [0, 0, 0, 0], "bbox": [0.1, 0.1, 0.2, 0.2]}
    sample = {"doc_id": 0, "doc": {}, "filtered_resps": ["[0.1, 0.1, 0.2, 0.16]"], "refcoco_IoU": logged}
    sized = {**sample, "doc_id": 1, "doc": {"image_width": 640, "image_height": 480}}
    log = write_lines(tmp_path / "rec.jsonl", sample, sized)
    assert scores(log, None, "acc", "mean_iou", options={"coordinates": "1"}) == pytest.approx([1, 0.6])
    cases = [("Rejection", [0, 0, 0, 0], '{"bbox_2d": null}'), ("Rejection", [0, 0, 0, 0], "none of my business")]
    cases.append(("Spatial", [100, 100, 200, 200], '{"bbox_2d": [100, 100, 200, 200]}'))
    log = write_lines(
        tmp_path / "me.jsonl",
        *(
            {
                "doc_id": number,
                "doc": {"width": 640, "height": 480},
                "filtered_resps": [reply],
                "groundingme_IoU": {"subtask_l1": kind, "subtask_l2": "", "description": "cup", "bbox": box},
            }
            for number, (kind, box, reply) in enumerate(cases)
        ),
    )
    assert scores(log, None, "n_acc", "t_acc", "exact_set", by=["subtask_l1"]) == pytest.approx([0.5, 1, 2 / 3])


def test_logs_of_harnesses(tmp_path: Path) -> None:
    """Replies that were asked for elsewhere are scored again: half the first box is results, the second is exact."""
    boxes, said = [[100, 100, 200, 200], [10, 20, 30, 60]], ["[100, 100, 200, 150]", '[{"bbox_2d": [10, 20, 30, 60]}]']
    lmms, qwen, kit = (tmp_path / name for name in ("samples_refcoco_grounding_val.jsonl", "val.jsonl", "model.tsv"))
    with lmms.open("w") as log, qwen.open("w") as lines, kit.open("w") as sheet:
        sheet.write("index\tquestion\tanswer\twidth\theight\tsplit\tprediction\n")
        for number, (box, reply) in enumerate(zip(boxes, said, strict=True)):
            logged = {"answer": ["left cup", "cup"], "bbox": box, "pred": box, "pred_boxes": []}
            sample = {
                "doc_id": number,
                "doc": {"file_name": "a.jpg", "bbox": box, "width": 640, "height": 480},
                "filtered_resps": [reply],
                "refcoco_grounding_IoU": logged,
            }
            log.write(json.dumps(sample) + "\n")
            line = {"image": "a.jpg", "sent": f"cup {number}", "bbox": box, "width": 640, "height": 480}
            lines.write(json.dumps(line) + "\n")
            sheet.write(f"{number}\tfind it\t{box}\t640\t480\tRefCOCO_val\t{reply}\n".replace('"', "'"))
    names = ("acc@0.5", "acc@0.6", "mean_iou")
    assert scores(lmms, lmms, *names) == [1, 0.5, 0.75]
    assert sy.evaluate("grounding", lmms, lmms, ["acc"], confidence=None)["acc"].units == 1
    replied = {"image": ["a.jpg"] * 2, "expression": ["cup 0", "cup 1"], "reply": said}
    assert scores(qwen, replied, *names) == [1, 0.5, 0.75]
    assert scores(kit, kit, *names) == [1, 0.5, 0.75]
    (tmp_path / "other.jsonl").write_text('{"doc_id": 0, "resps": [["[1, 2, 3, 4]"]], "refcoco_IoU": 0.5}\n')
    with refuses("E-unsupported"):
        scores(tmp_path / "other.jsonl", tmp_path / "other.jsonl", "acc")


def test_a_sentence_ends_at_a_line_feed_alone(tmp_path: Path) -> None:
    """As MDETR reads it: what separates lines elsewhere (U+0085, U+2028) is a letter, and the next line is sentence 1."""
    lines = "[/EN#1/people a man]\x85 and\u2028 so\n[/EN#1/people a person] walks"
    folder = flickr_folder(tmp_path / "flickr", "", {"1": [10, 10, 60, 110]})
    (folder / "Sentences" / "7.txt").write_text(lines + "\n", encoding="utf-8")
    results = tmp_path / "found.json"
    entries = [{"image_id": "7", "sentence_id": number, "boxes": [[[10, 10, 60, 110]]]} for number in (0, 1)]
    results.write_text(json.dumps(entries))
    report = sy.evaluate("grounding", folder, results, ["recall@1"], confidence=None)
    assert report["recall@1"].value == 1
    assert report.listing().columns["expression"].names == ["a man", "a person"]


@pytest.mark.parametrize(
    "text",
    ["<annotation><object>", "<!DOCTYPE a><annotation/>", "<annotation><size><width>wide</width></size></annotation>"],
)
def test_annotations_that_are_not_xml(text: str, tmp_path: Path) -> None:
    folder = flickr_folder(tmp_path / "flickr", "[/EN#1/people a man]", {"1": [10, 10, 60, 110]})
    (folder / "Annotations" / "7.xml").write_text(text)
    with refuses("E-invalid-file", "7.xml"):
        scores(folder, {"image": ["7"], "expression": ["0/0"], "x": [0], "y": [0], "w": [9], "h": [9]}, "recall@1")


def test_boxes_in_columns_of_vlmevalkit(tmp_path: Path) -> None:
    """By hand: corners in columns of their own; one reply is exact, the other half the box, and one is empty."""
    names = "index\timage_path\tquestion\tbbox_x1\tbbox_y1\tbbox_x2\tbbox_y2\tprediction\n"
    rows = ["0\ta.jpg\tcup\t10\t20\t30\t60\t[10, 20, 30, 60]", "1\ta.jpg\tdish\t0\t0\t10\t10\t[0, 0, 10, 5]"]
    path = tmp_path / "model.tsv"
    path.write_text(names + "\n".join([*rows, "2\tb.jpg\tfork\t0\t0\t10\t10\t"]) + "\n")
    report = sy.evaluate("grounding", path, None, ["acc", "mean_iou", "answered"], confidence=None)
    values = [report[name].value for name in ("acc", "mean_iou", "answered")]
    assert values == pytest.approx([2 / 3, 0.5, 2 / 3])
    assert report["acc"].units == 2


def test_images_of_masks_in_which_nothing_was_found(tmp_path: Path) -> None:
    """By hand: of two phrases of an image of 8 by 4 one has the mask that was found, and nothing was found of the other."""
    size, whole = {"width": 8, "height": 4}, {"size": [4, 8], "counts": [0, 32]}
    images = [{"id": i, "file_name": "a.jpg", **size, "text_input": "cup", "is_instance_exhaustive": 1} for i in (1, 2)]
    truth, results = tmp_path / "gold.json", tmp_path / "found.json"
    truth.write_text(json.dumps({"images": images, "annotations": [{"image_id": 1, "segmentation": whole}]}))
    results.write_text(json.dumps([{"image_id": 1, "segmentation": whole, "score": 0.9}]))
    assert scores(truth, results, "cgf1", "il_mcc") == [1, 1]
    table = sy.evaluate("grounding", truth, results, ["pmf1"], confidence=None).table("concepts")
    assert table.values.tolist() == [[1, 0, 0, 1, 1, 1]] * 10

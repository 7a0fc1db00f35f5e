"""Which task files are for, from small files in every format."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.core import catalogue
from steelyard.io.guess import guess

ANNOTATION = {"id": 1, "image_id": 1, "category_id": 1}
BOX = {"bbox": [0, 0, 4, 4]}
POLYGON = {"segmentation": [[0, 0, 4, 0, 4, 4]]}
POINTS = {"keypoints": [1, 1, 2]}
RESULT = {"image_id": 1, "category_id": 1, "score": 0.5}


def coco(*keys: dict[str, Any]) -> dict[str, Any]:
    merged = ANNOTATION | {name: value for key in keys for name, value in key.items()}
    return {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [merged]}


def results(*keys: dict[str, Any]) -> list[dict[str, Any]]:
    return [RESULT | {name: value for key in keys for name, value in key.items()}]


def write(folder: Path, name: str, content: Any) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


@pytest.mark.parametrize("task", catalogue.MODULES)
def test_samples_of_all_tasks(task: str) -> None:
    sample = catalogue.samples()[task]
    paths = [str(Path(str(sample.folder)) / name) for name in (sample.truth, sample.a, sample.b)]
    assert guess(paths).tasks == (task,)
    assert guess(paths[:2]).tasks == (task,)


JSON = [
    (coco(BOX, POLYGON), results(BOX), ("boxes",)),
    (coco(BOX, POLYGON), results(POLYGON), ("masks",)),
    (coco(BOX, POLYGON), results(BOX, POLYGON), ("boxes", "masks")),
    (coco(BOX, POLYGON, POINTS), results(POINTS), ("keypoints",)),
    (coco(BOX), results(BOX, POLYGON), ("boxes",)),
    (coco({"obb": [5, 5, 4, 2, 0.1]}), results({"obb": [5, 5, 4, 2, 0.1]}), ("oriented",)),
    (coco({"bbox": [5, 5, 4, 2, 30]}), results({"bbox": [5, 5, 4, 2, 30]}), ("oriented",)),
    (coco(BOX, POLYGON), [], ("boxes", "masks")),
    (coco({"caption": "a cat"}), [{"image_id": 1, "caption": "a dog"}], ("captions",)),
    (coco({"segments_info": []}), coco({"segments_info": []}), ("panoptic",)),
    ({"q": {"d": 1}}, {"q": {"d": 0.5}}, ("rankings",)),
    ({"meta": {}, "results": {"s": []}}, {"meta": {}, "results": {"s": []}}, ("boxes3d",)),
    (
        {"annotations": [{"question_id": 1, "answers": [{"answer": "yes"}]}]},
        [{"question_id": 1, "answer": "yes"}],
        ("answers",),
    ),
]


@pytest.mark.parametrize(("truth", "predictions", "tasks"), JSON)
def test_json(tmp_path: Path, truth: Any, predictions: Any, tasks: tuple[str, ...]) -> None:
    guessed = guess([write(tmp_path, "t.json", truth), write(tmp_path, "p.json", predictions)])
    assert guessed.tasks == tasks
    assert guessed.truth == 0


def test_annotations_behind_many_images(tmp_path: Path) -> None:
    truth = coco(BOX)
    truth["images"] = [{"id": i, "file_name": "x" * 100} for i in range(20_000)]  # 2.5 MB
    assert guess([write(tmp_path, "t.json", truth), write(tmp_path, "p.json", results(BOX))]).tasks == ("boxes",)


def test_truth_that_is_named_last(tmp_path: Path) -> None:
    paths = [write(tmp_path, "p.json", results(BOX)), write(tmp_path, "t.json", coco(BOX))]
    guessed = guess(paths)
    assert (guessed.tasks, guessed.truth) == (("boxes",), 1)


TABLES = [
    ("dish,item,weight", "dish,item,weight", ("weights",)),
    ("dish,mass,energy", "dish,kcal", ("nutrients",)),
    ("dish,weight,energy", "dish,weight,energy", ("weights", "nutrients")),
    ("sequence,t,weight", "sequence,t,weight", ("sequences",)),
    ("id;label", "id;label", ("labels",)),
    ("id,label,group", "id,score", ("labels",)),
    ("id,label:cat,label:dog", "id,probability:cat,probability:dog", ("labels",)),
    ("image,label,x,y,w,h", "image,label,x,y,w,h,score", ("boxes",)),
    ("table,html", "table,html", ("tables",)),
    ("id,f0,f1,f2", "id,f0,f1,f2", ("distributions",)),
    ("image,expression,x,y,w,h", "image,expression,reply", ("grounding",)),
    ("page,block,type,text,order", "page,markdown", ("documents",)),
    ("image,mask,object", "image,map,score", ("anomalies",)),
    ("image,label,cx,cy,w,h,angle", "image,label,cx,cy,w,h,angle,score", ("oriented",)),
    ("image,xc,yc,a,b,theta", "image,xc,yc,a,b,theta", ("ellipses",)),
    ("image,target", "image,logit", ("losses",)),
    ("query,doc,relevance", "query,doc,score", ("rankings",)),
    ("image_id,caption", "image_id,caption", ("captions",)),
    ("question,answer,image", "question,answer", ("answers",)),
    ("sequence,frame,track,x,y,w,h,label", "sequence,frame,track,x,y,w,h,label", ("tracking",)),
    ("frame,label,x,y,z,length,width,height,yaw", "frame,label,x,y,z,length,width,height,yaw,score", ("boxes3d",)),
    ("case,map", "case,map", ("volumes",)),
    ("image,map", "image,map", ("segmentation",)),
    ("plate,grams", "plate,guess", ()),
]


@pytest.mark.parametrize(("truth", "predictions", "tasks"), TABLES)
def test_columns(tmp_path: Path, truth: str, predictions: str, tasks: tuple[str, ...]) -> None:
    paths = [write(tmp_path, "t.csv", truth + "\n"), write(tmp_path, "p.csv.gz", predictions + "\n")]
    assert guess(paths).tasks == tasks


def test_own_names_of_columns(tmp_path: Path) -> None:
    paths = [write(tmp_path, "t.csv", "plate,grams\n"), write(tmp_path, "p.csv", "plate,guess\n")]
    columns = {"dish": "plate", "truth.weight": "grams", "prediction.weight": "guess"}
    assert guess(paths, columns).tasks == ("weights",)
    near = guess([write(tmp_path, "t.csv", "dish,weight\n"), paths[1]]).near
    assert near == {"weights": {"prediction.dish": "", "prediction.weight": ""}}


NEAR = [
    ("dish_no,weight_g", "dish_no,weight_pred", {"weights": {"dish": "dish_no", "truth.weight": "weight_g", "prediction.weight": "weight_pred"}}),
    ("filename,true_label", "filename,predicted", {"labels": {"truth.label": "true_label", "prediction.label": "predicted"}}),
    ("image,class_label", "image,prediction", {"labels": {"truth.label": "class_label", "prediction.label": "prediction"}}),
    ("foo,bar", "foo,baz", {}),
]  # fmt: skip


@pytest.mark.parametrize(("truth", "predictions", "near"), NEAR)
def test_columns_that_may_be_meant(
    tmp_path: Path, truth: str, predictions: str, near: dict[str, dict[str, str]]
) -> None:
    paths = [write(tmp_path, "t.csv", truth + "\n"), write(tmp_path, "p.csv", predictions + "\n")]
    assert guess(paths).near == near


def test_a_table_of_both_sides(tmp_path: Path) -> None:
    assert guess([write(tmp_path, "a.csv", "dish,weight,prediction\n")]).tasks == ("weights",)
    assert guess([write(tmp_path, "a.csv", "sequence,t,weight,prediction\n")]).tasks == ("sequences",)
    assert guess([write(tmp_path, "a.csv", "id,label,prediction\n")]).tasks == ("labels",)
    assert guess([write(tmp_path, "a.csv", "dish,weight\n")]).tasks == ()


def test_json_lines(tmp_path: Path) -> None:
    row = '{"query": 1, "doc": 2, "relevance": 3}\n'
    paths = [write(tmp_path, "t.jsonl", row), write(tmp_path, "p.jsonl", row.replace("relevance", "score"))]
    assert guess(paths).tasks == ("rankings",)


FOLDERS = [
    ("gt/a/gt/gt.txt", "1,1,10,10,5,5,1,1,1\n", "p/a.txt", "1,1,10,10,5,5,0.9,-1,-1,-1\n", ("tracking",)),
    ("gt/0.txt", "0 1 Car 0 0 0 1 2 3 4 5 6 7 8 9 1 2\n", "p/0.txt", f"0 1 Car{' 1' * 15}\n", ("tracking",)),
    ("gt/0.txt", "1 1 1 375 1242 WSV:2d;1O10000O\n", "p/0.txt", "1 1 1 375 1242 WSV:2d;1O10000O\n", ("tracking",)),
    ("gt/000000.txt", f"Car{' 0.5' * 14}\n", "p/000000.txt", f"Car{' 0.5' * 15}\n", ("boxes3d",)),
    ("gt/a.txt", "1 1 5 1 5 5 1 5 ship 0\n", "p/Task1_ship.txt", "a 0.9 1 1 5 1 5 5 1 5\n", ("oriented",)),
    ("gt/a.txt", "gsd:0.1\n1 1 5 1 5 5 1 5 ship 0\n", "p/Task1_ship.txt", "", ("oriented",)),
    ("gt/labels/a.txt", "0 0.5 0.5 0.1 0.1\n", "p/a.txt", "0 0.5 0.5 0.1 0.1 0.9\n", ("boxes",)),
    ("gt/a.txt", "0 .1 .1 .2 .1 .2 .2 .1 .2\n", "p/a.txt", "0 .1 .1 .2 .1 .2 .2 .1 .2 .9\n", ("oriented", "boxes")),
    ("gt/a.xml", "<annotation></annotation>", "p/a.xml", "<annotation></annotation>", ("boxes",)),
    ("gt/a.xml", "<HRSC_Image></HRSC_Image>", "p/a.xml", "<HRSC_Image></HRSC_Image>", ("oriented",)),
    ("gt/a.png", "", "p/a.png", "", ("segmentation",)),
    ("gt/x/a.nii.gz", "", "p/x/a.nii.gz", "", ("volumes",)),
    ("gt/a.doc", "", "p/a.doc", "", ()),
]


@pytest.mark.parametrize(("truth", "first", "predictions", "second", "tasks"), FOLDERS)
def test_folders(tmp_path: Path, truth: str, first: str, predictions: str, second: str, tasks: tuple[str, ...]) -> None:
    write(tmp_path, truth, first)
    write(tmp_path, predictions, second)
    assert guess([str(tmp_path / "gt"), str(tmp_path / "p")]).tasks == tasks


def test_notes_beside_labels(tmp_path: Path) -> None:
    write(tmp_path, "classes.txt", "cat\ndog\n")
    write(tmp_path, "labels/a.txt", "")
    write(tmp_path, "labels/b.txt", "0 0.5 0.5 0.1 0.1\n")
    assert guess([str(tmp_path)] * 2).tasks == ("boxes",)


def test_single_files(tmp_path: Path) -> None:
    def tasks(name: str, text: str) -> tuple[str, ...]:
        path = write(tmp_path, name, text)
        return guess([path, path]).tasks

    assert tasks("a.qrels", "q1 0 d1 2\n") == ("rankings",)
    assert tasks("a.run", "q1 Q0 d1 1 0.5 tag\n") == ("rankings",)
    assert tasks("a.txt", "1,1,10,10,5,5,1,1,1\n") == ("tracking",)
    assert tasks("a.xml", "<annotations><image/></annotations>") == ("boxes",)
    assert tasks("a.xml", "<annotations><track/></annotations>") == ("tracking", "boxes")
    assert tasks("data.yaml", "names: [a]\n") == ("boxes",)
    assert tasks("a.json", '{"format": "steelyard", "version": 2}') == ()
    assert guess([str(tmp_path / "a.json")]).seen[0].is_result


LINES = [
    # KITTI's development kits: 17 fields of tracks and a score of results, 15 of objects and a score.
    ("0 1 Car 0 0 -1.57 1 2 3 4 1.5 1.6 4 1 1 9 0.1", ("tracking",)),
    ("0 1 Car -1 -1 -10 1 2 3 4 1.5 1.6 4 1 1 9 0.1 0.98", ("tracking",)),
    ("Car 0.00 0 -1.57 1 2 3 4 1.5 1.6 4 1 1 9 0.1", ("boxes3d",)),
    # DOTA: eight corners, the class and whether it is difficult.
    ("2753 2408 2861 2385 2888 2468 2805 2502 plane 0", ("oriented",)),
    # MOTS: frame, id, class, height, width and the run lengths.
    ("52 1005 1 375 1242 WSV:2d;1O10000O", ("tracking",)),
    # MOTChallenge in both numbers of fields.
    ("1,-1,794.2,47.5,71.2,174.8,67.5", ("tracking",)),
    ("1,-1,794.2,47.5,71.2,174.8,67.5,-1,-1,-1", ("tracking",)),
    # YOLO: a box, a box with a confidence, a polygon.
    ("0 0.5 0.5 0.1 0.1", ("boxes",)),
    ("0 0.5 0.5 0.1 0.1 0.9", ("boxes",)),
    ("0 .1 .1 .2 .1 .2 .2", ("boxes",)),
    # TREC: judgements and a run.
    ("401 0 FBIS3-10001 -1", ("rankings",)),
    ("401 Q0 FBIS3-10001 1 23.5 tag", ("rankings",)),
    ("a single sentence", ()),
    ("1,2,3", ()),
]


@pytest.mark.parametrize(("line", "tasks"), LINES)
def test_lines_of_text(tmp_path: Path, line: str, tasks: tuple[str, ...]) -> None:
    """What the first line of a file without a known ending is, by the formats' own descriptions."""
    assert guess([write(tmp_path, "a.txt", f"\n{line}\n")]).tasks == tasks


def test_maps_by_their_heads(tmp_path: Path) -> None:
    """PFM of one channel is disparity; a PNG of 16 bits in grey may be three things, and in colour is KITTI's flow."""

    def head(bits: int, colour: int) -> bytes:
        return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (4).to_bytes(4, "big") * 2 + bytes([bits, colour, 0, 0, 0])

    for name, content, tasks in (
        ("a.pfm", b"Pf\n4 4\n-1\n", ("disparity",)),
        ("b.pfm", b"PF\n4 4\n-1\n", ("flow", "normals")),
        ("a.png", head(16, 0), ("segmentation", "depth", "disparity")),
        ("b.png", head(16, 2), ("flow",)),
        ("a.flo", b"", ("flow",)),
        ("a.y4m", b"", ("images",)),
        ("a.zip", b"", ("tracking",)),
        ("a.eval", b"", ("answers",)),
    ):
        (tmp_path / name).write_bytes(content)
        assert guess([str(tmp_path / name)]).tasks == tasks, name


def test_folders_of_one_kind(tmp_path: Path) -> None:
    for name, tasks in (
        ("a/set/test/bad/1.png", ()),
        ("flow/1.flo", ("flow",)),
        ("film/1.mp4.yuv", ("images",)),
        ("photos/1.jpg", ("images",)),
        ("logs/x.eval", ("answers",)),
        ("logs2/samples_gsm8k.jsonl", ("answers",)),
        ("odd/1.foo", ()),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
        if tasks or name.startswith("odd"):
            assert guess([str(tmp_path / name.partition("/")[0])]).tasks == tasks, name
    (tmp_path / "a" / "set" / "ground_truth").mkdir()
    assert guess([str(tmp_path / "a")]).tasks == ("anomalies",)


def test_json_that_is_none_of_coco(tmp_path: Path) -> None:
    for text, tasks in (
        ('{"results": {"token": [{"translation": [1, 2, 3]}]}}', ("boxes3d",)),
        ('{"q1": {"d1": 2, "d2": 0}}', ("rankings",)),
        ('{"version": 2, "eval": {"task": "gsm8k"}}', ("answers",)),
        ('{"annotations": [{"question_id": 1, "answers": []}]}', ("answers",)),
        ('{"annotations": [{"image_id": 1, "segments_info": []}]}', ("panoptic",)),
        ('{"annotations": [{"image_id": 1, "caption": "a dog"}]}', ("captions",)),
        ('{"a": [1, 2]}', ()),
        ("no JSON", ()),
    ):
        assert guess([write(tmp_path, "a.json", text)]).tasks == tasks, text


def test_arrays_of_maps_and_vectors(tmp_path: Path) -> None:
    for array, tasks in (
        (np.zeros((5, 8)), ("distributions",)),
        (np.zeros((2, 4, 4)), ("segmentation", "depth")),
        (np.zeros((2, 4, 4, 3)), ("volumes", "segmentation", "normals")),
        (np.zeros(3), ()),
    ):
        np.save(tmp_path / "a.npy", array)
        assert guess([str(tmp_path / "a.npy")]).tasks == tasks, array.shape
    for names, tasks in ((("mu", "sigma"), ("distributions",)), (("depth",), ("depth",)), ((), ())):
        np.savez(tmp_path / "a.npz", **{name: np.zeros((4, 4)) for name in names})
        assert guess([str(tmp_path / "a.npz")]).tasks == tasks, names


def test_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", query=np.zeros((2, 3)), gallery=np.zeros((4, 3)))
    np.save(tmp_path / "maps.npy", np.zeros((2, 3, 3), dtype=np.uint8))
    np.save(tmp_path / "solid.npy", np.zeros((2, 3, 3, 3), dtype=np.uint8))
    for name, tasks in (
        ("v.npz", ("rankings",)),
        ("maps.npy", ("segmentation",)),
        ("solid.npy", ("volumes", "segmentation")),
    ):
        assert guess([str(tmp_path / name)] * 2).tasks == tasks


def test_patterns_and_missing_files(tmp_path: Path) -> None:
    write(tmp_path, "t/1.csv", "dish,weight\n")
    pattern = str(tmp_path / "t" / "*.csv")
    assert guess([pattern, pattern]).tasks == ("weights",)
    with refuses("E-missing-file", "none.json"):
        guess([pattern, "none.json"])

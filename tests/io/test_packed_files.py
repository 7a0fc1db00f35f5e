"""Files as they come: packed, with a byte-order mark, in another encoding or dialect; and data in memory."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.io.text import ending, read_bytes

BOM = b"\xef\xbb\xbf"
TRUTH = "dish,item,weight\nA,1,100\nA,2,50\nB,1,200\nB,2,10\n"
PRED = "dish,item,weight\nA,1,110\nA,2,40\nB,1,150\nB,2,30\n"
ROWS = [dict(zip(["dish", "item", "weight"], line.split(","), strict=True)) for line in TRUTH.splitlines()[1:]]
TABLES = {
    ".csv": TRUTH,
    ".tsv": TRUTH.replace(",", "\t"),
    ".json": json.dumps(ROWS),
    ".jsonl": "\n".join(map(json.dumps, ROWS)),
    ".ndjson": "\n".join(map(json.dumps, ROWS)),
}
BOXES = {
    "images": [{"id": 1, "width": 99, "height": 99, "neg_category_ids": [], "not_exhaustive_category_ids": []}],
    "categories": [{"id": 1, "name": "a"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 50, 50], "area": 2500, "iscrowd": 0}],
}
FOUND = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 50, 50], "score": 0.9}]


def mae(truth: Any, predictions: Any) -> float:
    return sy.evaluate("weights", truth, predictions, ["mae"], confidence=None)["mae"].value


def map50(truth: Any, predictions: Any, **more: Any) -> float:
    value = sy.evaluate("boxes", truth, predictions, ["map50"], confidence=None, **more)["map50"].value
    return round(value, 12)  # COCO divides by a little more than the count


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("form", ["packed", "packed under a plain name", "BOM", "packed BOM"])
def test_tables_are_read(tmp_path: Path, kind: str, form: str) -> None:
    data = (BOM if "BOM" in form else b"") + TABLES[kind].encode()
    path = tmp_path / f"t{kind}{'' if 'plain' in form or form == 'BOM' else '.gz'}"
    path.write_bytes(gzip.compress(data) if "packed" in form else data)
    (tmp_path / "p.csv").write_text(PRED)
    assert mae(path, tmp_path / "p.csv") == 22.5  # (10 + 10 + 50 + 20) / 4


@pytest.mark.parametrize("form", ["packed", "packed under a plain name", "BOM", "packed BOM"])
def test_coco_is_read(tmp_path: Path, form: str) -> None:
    paths = []
    for name, data in (("t", BOXES), ("p", FOUND)):
        raw = (BOM if "BOM" in form else b"") + json.dumps(data).encode()
        paths.append(tmp_path / f"{name}.json{'' if 'plain' in form or form == 'BOM' else '.gz'}")
        paths[-1].write_bytes(gzip.compress(raw) if "packed" in form else raw)
    assert map50(*paths) == 1.0
    assert map50(*paths, options={"format": "lvis"}) == 1.0
    sy.convert(paths[0], tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().count("\n") == 2


@pytest.mark.parametrize("packed", [False, True])
def test_check_reads_what_is_packed(tmp_path: Path, packed: bool) -> None:
    """The same findings, whether a file is packed or not: in a table with its own names, and beside another format."""

    def laid(name: str, text: str) -> Path:
        path = tmp_path / (f"{name}.gz" if packed else name)
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
        return path

    weights = sy.check("weights", laid("t.csv", TRUTH), laid("p.csv", PRED.replace("A,2,40\n", "")))
    assert [(finding.code, finding.count) for finding in weights.findings] == [("missing", 1)]
    table = "picture,label,x,y,w,h\n1,a,0,0,50,50\n"
    boxes = sy.check(
        "boxes",
        laid("t1.csv", table),
        laid("p1.csv", table.replace("h\n", "h,score\n").replace("50\n", "50,0.9\n")),
        columns={"image": "picture"},
    )
    assert not boxes.errors, boxes
    coco = {**BOXES, "images": [{**BOXES["images"][0], "file_name": "one.jpg"}]}
    named = sy.check(
        "boxes", laid("t2.json", json.dumps(coco)), laid("p2.csv", "image,label,x,y,w,h,score\n1,1,0,0,50,50,1\n")
    )
    assert not named.errors, named


def test_trec_is_read(tmp_path: Path) -> None:
    (tmp_path / "q.qrels").write_bytes(BOM + b"q1 0 d1 1\n")
    (tmp_path / "r.run").write_bytes(gzip.compress(b"q1 Q0 d2 1 0.9 x\nq1 Q0 d1 2 0.5 x\n"))
    (tmp_path / "r.run.gz").write_bytes((tmp_path / "r.run").read_bytes())
    for name in ("r.run", "r.run.gz"):
        report = sy.evaluate("rankings", tmp_path / "q.qrels", tmp_path / name, ["mrr"], confidence=None)
        assert report["mrr"].value == 0.5


def test_a_result_is_read(tmp_path: Path) -> None:
    for name, data in (("t.csv", TRUTH), ("p.csv", PRED)):
        (tmp_path / name).write_text(data)
    report = sy.evaluate("weights", tmp_path / "t.csv", tmp_path / "p.csv", ["mae"], confidence=None)
    raw = report.to_json().encode()
    for data in (BOM + raw, gzip.compress(raw)):
        (tmp_path / "r.json").write_bytes(data)
        assert sy.load(tmp_path / "r.json")["mae"].value == 22.5


FOREIGN = {
    "UTF-16": (TRUTH.encode("utf-16"), ("E-invalid-text", "UTF-16")),
    "UTF-16 of the other order": (b"\xfe\xff" + TRUTH.encode("utf-16-be"), ("E-invalid-text", "UTF-16")),
    "UTF-16 without a mark": (TRUTH.encode("utf-16-le"), ("E-invalid-text", "UTF-16")),
    "packed UTF-16": (gzip.compress(TRUTH.encode("utf-16")), ("E-invalid-text", "UTF-16")),
    "bzip2": (b"BZh91AY&SY", ("E-invalid-file", "bzip2")),
    "xz": (b"\xfd7zXZ\x00\x00\x04", ("E-invalid-file", "xz")),
    "zstd": (b"\x28\xb5\x2f\xfd\x00\x00", ("E-invalid-file", "zstd")),
    "cut off": (gzip.compress(TRUTH.encode())[:-12], ("E-unreadable-file",)),
    "not packed": (b"\x1f\x8b\x08\x00rubbish-and-more", ("E-unreadable-file",)),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("task", ["weights", "boxes", "rankings", "a result"])
@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_what_cannot_be_read_is_named(tmp_path: Path, kind: str, task: str, suffix: str) -> None:
    data, said = FOREIGN[kind]
    path = tmp_path / f"t{suffix}"
    path.write_bytes(data)
    with refuses(*said, str(path)):
        sy.load(path) if task == "a result" else sy.evaluate(task, path, path)


@pytest.mark.parametrize("name", ["t.zip", "t.json", "t.csv"])
@pytest.mark.parametrize("task", ["weights", "boxes"])
def test_an_archive_is_named(tmp_path: Path, name: str, task: str) -> None:
    with zipfile.ZipFile(tmp_path / name, "w") as file:
        file.writestr("t.csv", TRUTH)
    with refuses("E-invalid-file", "ZIP"):
        sy.evaluate(task, tmp_path / name, tmp_path / name)


def test_a_small_file_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_UNPACK_LIMIT", "1MB")
    for name in ("t.csv.gz", "t.json.gz", "t.qrels.gz"):
        (tmp_path / name).write_bytes(gzip.compress(b" " * (4 << 20)))  # a thousandth of it
        with refuses("E-too-large", "1 MB"):
            read_bytes(tmp_path / name, name)
    for task, name in (("weights", "t.csv.gz"), ("boxes", "t.json.gz"), ("rankings", "t.qrels.gz")):
        with refuses("E-too-large", "1 MB"):
            sy.evaluate(task, tmp_path / name, tmp_path / name)
    (tmp_path / "fine.gz").write_bytes(gzip.compress(np.random.default_rng(0).bytes(2 << 20)))
    assert len(read_bytes(tmp_path / "fine.gz", "fine")) == 2 << 20


DIALECTS = {
    "semicolons and commas": ("dish;item,weight\nA;1,3.5\n", ("E-conflict", "t.csv, line 1")),
    "tabs": ("dish\titem\tweight\nA\t1\t3.5\n", ("E-invalid-file", "t.csv, line 1", "tabs")),
    "bars": ("dish|item|weight\nA|1|3.5\n", ("E-invalid-file", "'|'")),
    "a decimal comma": ("dish,item,weight\nA,1,3,5\n", ("E-invalid-file", "t.csv, line 2", "'3,5'", "3.5")),
    "a quoted one": ('dish,item,weight\nA,1,"3,5"\n', ("E-invalid-number", "'3,5'")),
    "one field too many": ("dish,item,weight\nA,1,x,y\n", ("E-invalid-file", "t.csv, line 2")),
}


@pytest.mark.parametrize("kind", DIALECTS)
def test_dialects_are_named(tmp_path: Path, kind: str) -> None:
    data, said = DIALECTS[kind]
    (tmp_path / "t.csv").write_text(data)
    (tmp_path / "p.csv").write_text(PRED)
    with refuses(*said):
        mae(tmp_path / "t.csv", tmp_path / "p.csv")


@pytest.mark.parametrize(
    ("name", "is_"),
    [("a.JSON", ".json"), ("a.csv.gz", ".csv"), ("a.GZ", ".gz"), ("a.gz", ".gz"), ("a", ""), ("x.y/a.gz", ".gz")],
)
def test_endings(name: str, is_: str) -> None:
    assert ending(name) == is_


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_a_number_of_5000_digits(tmp_path: Path, suffix: str) -> None:
    row = '{"dish": "A", "item": 1, "weight": ' + "9" * 5000 + "}"
    path = tmp_path / f"t{suffix}"
    path.write_text(row if suffix == ".jsonl" else f"[{row}]")
    (tmp_path / "p.csv").write_text(PRED)
    for task in ("weights", "rankings", "labels"):
        with refuses("E-too-large", "4,300"):
            sy.evaluate(task, path, tmp_path / "p.csv")
    with refuses("E-too-large", "4,300"):
        sy.load(path)


def test_two_equal_columns() -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pandas.DataFrame([["A", 1, 2.0, 3.0]], columns=["dish", "item", "weight", "weight"])
    table = pyarrow.table([["A"], [1], [2.0], [3.0]], names=["dish", "item", "weight", "weight"])
    for data in (frame, table):
        with refuses("E-duplicate-key", "'weight'"):
            mae(data, data)
    frame.columns = ["query", "document", "relevance", "relevance"]
    with refuses("E-duplicate-key", "'relevance'"):
        sy.evaluate("rankings", frame, frame)


def test_tensors_of_every_kind() -> None:
    torch = pytest.importorskip("torch")
    truth = {"dish": ["A", "A", "B", "B"], "item": [1, 2, 1, 2], "weight": torch.tensor([100.0, 50, 200, 10])}
    for values in (
        torch.tensor([110.0, 40, 150, 30], requires_grad=True),
        torch.tensor([110.0, 40, 150, 30], dtype=torch.bfloat16),
        torch.tensor([110.0, 40, 150, 30], dtype=torch.float16, requires_grad=True),
    ):
        assert mae(truth, {**truth, "weight": values}) == 22.5
    box = [{"image": 1, "boxes": torch.tensor([[0, 0, 50, 50.0]]), "labels": torch.tensor([1])}]
    boxes = [{**box[0], "boxes": box[0]["boxes"].bfloat16().requires_grad_(), "scores": torch.tensor([0.5]).bfloat16()}]
    assert map50(box, boxes) == 1.0
    chances = torch.tensor([[0.75, 0.25], [0.25, 0.75]], dtype=torch.bfloat16, requires_grad=True)
    report = sy.evaluate(
        "labels", {"id": [1, 2], "label": ["0", "1"]}, {"id": [1, 2], "score": chances}, ["accuracy"], confidence=None
    )
    assert report["accuracy"].value == 1.0
    result = sy.evaluate(
        "rankings", {"query_label": ["a", "b"], "gallery_label": ["a", "b"]}, {"query": chances, "gallery": chances},
        ["mrr"], confidence=None,
    )  # fmt: skip
    assert result["mrr"].value == 1.0

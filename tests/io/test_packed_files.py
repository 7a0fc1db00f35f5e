"""Files as they come: packed, with a byte-order mark, in another encoding or dialect; and data in memory."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
    "UTF-16": (TRUTH.encode("utf-16"), "is UTF-16 text. Save the file as UTF-8."),
    "UTF-16 of the other order": (b"\xfe\xff" + TRUTH.encode("utf-16-be"), "is UTF-16 text. Save the file as UTF-8."),
    "UTF-16 without a mark": (TRUTH.encode("utf-16-le"), "is UTF-16 text. Save the file as UTF-8."),
    "packed UTF-16": (gzip.compress(TRUTH.encode("utf-16")), "is UTF-16 text. Save the file as UTF-8."),
    "bzip2": (b"BZh91AY&SY", "is packed with bzip2. Unpack it, or pack it with gzip."),
    "xz": (b"\xfd7zXZ\x00\x00\x04", "is packed with xz. Unpack it, or pack it with gzip."),
    "zstd": (b"\x28\xb5\x2f\xfd\x00\x00", "is packed with zstd. Unpack it, or pack it with gzip."),
    "cut off": (gzip.compress(TRUTH.encode())[:-12], "cannot be unpacked"),
    "not packed": (b"\x1f\x8b\x08\x00rubbish-and-more", "cannot be unpacked"),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("task", ["weights", "boxes", "rankings", "a result"])
@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_what_cannot_be_read_is_named(tmp_path: Path, kind: str, task: str, suffix: str) -> None:
    data, said = FOREIGN[kind]
    path = tmp_path / f"t{suffix}"
    path.write_bytes(data)
    with pytest.raises(sy.InputError) as caught:
        sy.load(path) if task == "a result" else sy.evaluate(task, path, path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["t.zip", "t.json", "t.csv"])
@pytest.mark.parametrize("task", ["weights", "boxes"])
def test_an_archive_is_named(tmp_path: Path, name: str, task: str) -> None:
    with zipfile.ZipFile(tmp_path / name, "w") as file:
        file.writestr("t.csv", TRUTH)
    with pytest.raises(sy.InputError, match=r"is a ZIP archive\. Unpack it, and give the file inside"):
        sy.evaluate(task, tmp_path / name, tmp_path / name)


def test_a_small_file_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_UNPACK_LIMIT", "1MB")
    for name in ("t.csv.gz", "t.json.gz", "t.qrels.gz"):
        (tmp_path / name).write_bytes(gzip.compress(b" " * (4 << 20)))  # a thousandth of it
        with pytest.raises(sy.InputError, match="far more than its size says"):
            read_bytes(tmp_path / name, name)
    for task, name in (("weights", "t.csv.gz"), ("boxes", "t.json.gz"), ("rankings", "t.qrels.gz")):
        with pytest.raises(sy.InputError, match="far more than its size says"):
            sy.evaluate(task, tmp_path / name, tmp_path / name)
    (tmp_path / "fine.gz").write_bytes(gzip.compress(np.random.default_rng(0).bytes(2 << 20)))
    assert len(read_bytes(tmp_path / "fine.gz", "fine")) == 2 << 20


DIALECTS = {
    "semicolons and commas": ("dish;item,weight\nA;1,3.5\n", "the header has both commas and semicolons. Say which"),
    "tabs": ("dish\titem\tweight\nA\t1\t3.5\n", "the fields are separated by tabs. Name the file .tsv"),
    "bars": ("dish|item|weight\nA|1|3.5\n", "the fields are separated by '|'. Set `delimiter='|'`"),
    "a decimal comma": ("dish,item,weight\nA,1,3,5\n", "Is '3,5' a number with a decimal comma? Write a point: 3.5."),
    "a quoted one": ('dish,item,weight\nA,1,"3,5"\n', "'3,5' is not a number. It has a comma: write a decimal point"),
    "one field too many": ("dish,item,weight\nA,1,x,y\n", "Quote fields that hold the separator."),
}


@pytest.mark.parametrize("kind", DIALECTS)
def test_dialects_are_named(tmp_path: Path, kind: str) -> None:
    data, said = DIALECTS[kind]
    (tmp_path / "t.csv").write_text(data)
    (tmp_path / "p.csv").write_text(PRED)
    with pytest.raises(sy.InputError) as caught:
        mae(tmp_path / "t.csv", tmp_path / "p.csv")
    assert said in str(caught.value)
    assert "line" in str(caught.value)


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
        with pytest.raises(sy.InputError, match=r"a whole number of more than 4,300 digits"):
            sy.evaluate(task, path, tmp_path / "p.csv")
    with pytest.raises(sy.InputError, match=r"a whole number of more than 4,300 digits"):
        sy.load(path)


def test_two_equal_columns() -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pandas.DataFrame([["A", 1, 2.0, 3.0]], columns=["dish", "item", "weight", "weight"])
    table = pyarrow.table([["A"], [1], [2.0], [3.0]], names=["dish", "item", "weight", "weight"])
    for data in (frame, table):
        with pytest.raises(sy.InputError, match=r"truth: column 'weight' appears twice\. Rename one of them\."):
            mae(data, data)
    frame.columns = ["query", "document", "relevance", "relevance"]
    with pytest.raises(sy.InputError, match="column 'relevance' appears twice"):
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

"""Data in memory and options that few people give: whole values, or a whole message."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from support.lazy import lazy
from support.read_help import write
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.records import Records, as_object
from steelyard.io.coco import first_repeated
from steelyard.io.digest import digest
from steelyard.io.frames import arrow_text, lazy_frame
from steelyard.io.read import is_empty
from steelyard.io.sources import read_side, read_sides
from steelyard.io.text import read_bytes
from steelyard.tasks.oriented.reader import detect
from steelyard.tasks.rankings.reader import to_embeddings
from steelyard.vlm.nutrition5k import read_dishes

pandas = lazy("pandas")
torch = lazy("torch")

OBB = [1, 2, 4, 2, 0.0]


def result(**more: Any) -> dict[str, Any]:
    return {"image_id": 1, "category_id": 1, "score": 0.5, "obb": OBB, **more}


def image(**more: Any) -> dict[str, Any]:
    return {"image": "a", "boxes": [OBB], "labels": [1], "scores": [0.5], **more}


def without(item: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in names}


CORNERS = [[0, 0, 1, 0, 1, 1, 0, 1]]
EIGHT = "Give n × 5: centre x, centre y, width, height and angle."
ORIENTED: dict[str, tuple[Any, str]] = {
    "no score": ([result(), without(result(), "score")], ("E-missing-key", "record 1", "'score'")),
    "too large": ([result(), result(obb=[10**400, 0, 1, 1, 0])], ("E-out-of-range", "record 1", "'obb'")),
    "a word": (
        [result(), result(obb=[1, 2, "x", 2, 0])],
        ("E-invalid-number", "record 1", "'obb'", "'x'"),
    ),
    "four numbers": (
        [result(), result(obb=[1, 2, 3, 4])],
        ("E-shape-mismatch", "record 1", "'obb'", "4", "5"),
    ),
    "a negative size": (
        [without(result(bbox=[1, 2, -3, 4, 5]), "obb")],
        ("E-out-of-range", "record 0", "'bbox'", "1.0", "2.0", "4.0", "5.0"),
    ),
    "no dict": ([1], ("E-invalid-value", "item 0")),
    "no labels": ([without(image(), "labels")], ("E-missing-key", "item 0", "'labels'")),
    "two labels": ([image(labels=[1, 2])], ("E-shape-mismatch", "item 0", "1", "2")),
    "words": ([image(boxes=[["x"] * 5])], ("E-invalid-value", "item 0", "'x'")),
    "three numbers": ([image(boxes=[[1, 2, 3]])], ("E-shape-mismatch", "item 0", "1", "3")),
    "boxes and corners": (
        [image(), without(image(corners=CORNERS), "boxes")],
        ("E-conflict", "predictions"),
    ),
    "some areas": ([image(), image(area=[1])], ("E-missing-key", "'area'")),
}  # fmt: skip


@pytest.mark.parametrize("name", ORIENTED)
def test_oriented_boxes_in_memory(name: str) -> None:
    data, message = ORIENTED[name]
    task = catalogue.find_task("oriented")
    with refuses(*message):
        read_side(task, data, {}, "prediction")


def test_formats_of_oriented_boxes(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "", "a.xml": "", "a.abc": ""})
    assert [detect(tmp_path / f"a.{ending}", "") for ending in ("txt", "xml", "json", "csv")] == [
        "dota",
        "hrsc",
        "coco",
        "csv",
    ]
    none = tmp_path / "none"
    with refuses("E-missing-file", str(none)):
        detect(none, str(none))
    with refuses("E-unknown-format", "a.abc", "'.abc'"):
        detect(tmp_path / "a.abc", "a.abc")


@pytest.mark.parametrize("task", ["oriented", "panoptic", "rankings", "segmentation", "captions"])
def test_one_side_is_not_enough(task: str) -> None:
    with refuses("E-missing-data", f"'{task}'"):
        sy.evaluate(task, {"image": ["a"]})


def test_parts_of_images_that_differ() -> None:
    item = {"image": 1, "boxes": [[0, 0, 1, 1]], "labels": [1]}
    mask = {"image": 1, "masks": [np.ones((2, 2), dtype=bool)], "labels": [1]}
    for task, one in (("boxes", item), ("masks", mask)):
        data = [{**one, "crowd": [0]}, {**one, "image": 2}]
        with refuses("E-missing-key", "'crowd'"):
            read_side(catalogue.find_task(task), data, {}, "truth")


def test_images_without_a_label_of_numbers() -> None:
    """nan for a label names an image without objects."""
    table = {"image": [1, 2], "label": [3.0, np.nan], **{name: [1.0, np.nan] for name in "xywh"}}
    read: Any = read_side(catalogue.find_task("boxes"), table, {}, "truth")
    assert read["image"].tolist() == [1]
    assert read.images.tolist() == [1, 2]


def test_embeddings_that_are_refused() -> None:
    vectors = np.ones((2, 3))
    with refuses("E-shape-mismatch", "'query_label'", "2"):
        to_embeddings({"query": vectors, "query_label": [["a"], ["b"]]}, "x")
    with refuses("E-incompatible", "'query'", "2", "'query_id'", "1"):
        to_embeddings({"query": vectors, "query_id": ["a"]}, "x")


def test_embeddings_of_a_device_are_checked_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.tasks.rankings.reader.find_spec", lambda name: object())

    class OnDevice(torch.Tensor):
        """A tensor that says that it lies on a GPU."""

        is_cuda = True

    def made(values: Any) -> Any:
        return to_embeddings({"query": torch.tensor(values).as_subclass(OnDevice)}, "x")

    assert made([[1.0, 2.0]])["query"].tolist() == [[1.0, 2.0]]
    whole = made([[1, 2]])["query"]
    assert (whole.dtype, whole.tolist()) == (torch.float64, [[1.0, 2.0]])
    with refuses("E-shape-mismatch", "'query'", "1", "torch.float32"):
        made([1.0])


def test_rankings_of_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of Arrow in any layout give what lists give; other kinds and empty cells are left to the reader of tables."""
    for kind in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()):
        table = pyarrow.table({"d": pyarrow.array(["ab", "c"], kind)})
        lying = arrow_text(table, "d")
        assert lying is not None
        assert (bytes(lying[0])[:3], lying[1].tolist()) == (b"abc", [0, 2, 3])
    numbers = pyarrow.table({"d": pyarrow.array([1, 2])})
    assert arrow_text(numbers, "d") is None
    assert arrow_text(pyarrow.table({"d": pyarrow.array(["a", None])}), "d") is None
    assert arrow_text({"d": ["a"]}, "d") is None
    assert len(lazy_frame(numbers, "x").columns) == 1
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert arrow_text(pandas.DataFrame({"d": ["a"]}), "d") is None


def test_rankings_of_other_files(tmp_path: Path) -> None:
    task = catalogue.find_task("rankings")
    write(tmp_path, {"a.abc": "x"})
    with refuses("E-unknown-format", str(tmp_path / "a.abc"), "'.abc'"):
        read_side(task, tmp_path / "a.abc", {}, "truth")
    read = read_side(task, {"q": {"d": 1.0}}, {}, "truth")
    assert read_side(task, read, {}, "truth") is read


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (" ", ("E-empty-cell", "truth, row 1, column 'doc'")),
        (
            "x" * 70_000,
            ("E-invalid-text", "65,535", "UTF-8"),
        ),
    ],
    ids=["empty", "long"],
)
def test_an_id_that_cannot_be_taken_as_it_lies(name: str, what: tuple[str, ...]) -> None:
    """The reader of tables says what is wrong with it, of lists and of a frame of Arrow alike."""
    lists = {"query": ["q", "q"], "doc": ["d", name], "relevance": [1.0, 0.0]}
    task = catalogue.find_task("rankings")
    for data in (lists, pyarrow.table(lists)):
        with refuses(*what, "row 1", "'doc'"):
            read_side(task, data, {}, "truth")


def texts(values: Any, dtype: Any = object) -> str:
    column = as_object(values) if dtype is object else np.array(values)
    return digest(Records("x", {"label": column}, {}))


def test_the_digest_of_many_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same for the same texts, however they lie and in long runs too; and another for another order."""
    monkeypatch.setattr("steelyard.io.digest.MANY", 2)
    mixed = ["b", "a", "b", "c"]
    runs = ["b"] * 20 + ["a"] * 20 + ["b"]
    for values in (mixed, runs):
        assert texts(values) == texts(values, str)
        assert texts(values) != texts(values[::-1][1:] + values[:1])
        assert texts(values) != texts(sorted(values))
    assert texts(["1", "2", "1", "x"]) == texts([1, 2, 1, "x"])
    assert texts(["", "", ""], str) == texts(["", "", ""])


def test_the_digest_of_few_texts_and_many_rows() -> None:
    """65,537 rows are many: which text stands where enters by a fingerprint of the places."""
    values = ["a", "b"] * 32_769
    assert texts(values) == texts(values, str)
    assert texts(values) != texts(values[1:] + ["a"])


def test_options_that_are_refused() -> None:
    data = {"sequence": ["s"], "frame": [1], "track": [1], "x": [0], "y": [0], "w": [1], "h": [1]}
    for options, message in (
        ({"first_frame": 0, "first-frame": 1}, ("E-duplicate-key", "first_frame")),
        ({"classes": 5}, ("E-invalid-setting", "5")),
    ):
        with refuses(*message):
            sy.evaluate("tracking", data, data, options=options)


def test_readers_of_tasks() -> None:
    """Records are what they are; a reader that nobody knows is named."""
    task = catalogue.find_task("boxes")
    records = Records("x", {}, {})
    assert read_sides(task, records, records, {}) == (records, records)
    with refuses("E-unknown-name", "'boxes'", "reader", "'maps2'"):
        read_side(replace(task, reader="maps2"), {}, {}, "truth")


def test_scores_of_a_class_in_a_column_of_any_name() -> None:
    """`score:cat` may be mapped: both rows are right, by hand."""
    truth = {"id": ["a", "b"], "label": ["cat", "dog"]}
    predictions = {"id": ["a", "b"], "c": [0.9, 0.2], "score:dog": [0.1, 0.8]}
    report = sy.evaluate("labels", truth, predictions, "accuracy", columns={"score:cat": "c"}, confidence=None)
    assert [score.value for score in report.scores.values()] == [1.0]


def test_cells_that_hold_nothing() -> None:
    cells = [None, " ", np.zeros(0), float("nan"), pandas.NA]
    assert [is_empty(value) for value in cells] == [True] * 5
    assert [is_empty(value) for value in (0, "a", np.zeros(1))] == [False] * 3


def test_texts_that_repeat() -> None:
    assert first_repeated(as_object(["a", "b", "a"])) == 2
    assert first_repeated(as_object(["a", "b"])) == -1


def test_dishes_with_blank_rows_and_empty_fields(tmp_path: Path) -> None:
    row = "d1,100,50,1,2,3,ingr_1,rice,50,100,1,2,3"
    write(tmp_path, {"a.csv": f"{row}\n\n{row.replace('d1', 'd2')},, \n"})
    one, two = read_dishes(tmp_path / "a.csv")
    assert (one.kcal, one.mass) == (two.kcal, two.mass) == (100.0, 50.0)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
def test_paths_that_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with refuses("E-unreadable-file", "x", "regular"):
        read_bytes(Path("/dev/null"), "x")
    write(tmp_path, {"a": "x"})
    monkeypatch.setattr("os.access", lambda *args: False)
    with refuses("E-unreadable-file", "x", "Permission"):
        read_bytes(tmp_path / "a", "x")

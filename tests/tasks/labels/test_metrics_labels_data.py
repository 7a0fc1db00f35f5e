"""Labels from what is given to codes: what is refused, in whole messages; words and numbers; bare arrays; defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made import in_turn, pairs_of, refused
from support.refusal import refuses

import steelyard as sy
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.records import Records
from steelyard.core.task import Policy
from steelyard.tasks.labels import codes as labels_codes
from steelyard.tasks.labels import task as labels_task
from steelyard.tasks.labels.codes import class_columns, order_classes
from steelyard.tasks.labels.counts import positive
from steelyard.tasks.labels.preparation import alike
from steelyard.tasks.labels.task import defaults_for
from steelyard.tasks.labels.walks import positive_place

IDS = ["r0", "r1"]
ONE: dict[str, Any] = {"id": IDS, "label": ["a", "b"]}
MAPPED = "Rename the column, or map it: `columns={'label': 'YOUR_COLUMN'}`."
THREE: dict[str, Any] = {"id": ["0", "1", "2"], "label": ["a", "b", "c"]}
SIX = {"id": list("123456"), "label": list("abcdef")}
SETS: dict[str, Any] = {"id": IDS, "labels": ["a|b", "b"]}
BAD: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "no label": (
        {"id": IDS, "class": ["a", "b"]}, ONE,
        ["E-missing-column", "'id'", "'class'", "'YOUR_COLUMN'"],
    ),
    "nothing predicted": (
        ONE, {"id": IDS, "class": ["a", "b"]},
        ["E-missing-column", "'id'", "'class'", "'YOUR_COLUMN'", "probability"],
    ),
    "both": (
        {**ONE, "labels": ["a", "b"]}, ONE,
        ["E-conflict", "'label'", "'labels'"],
    ),
    "sets and columns": (
        SETS, {**SETS, "label:a": [1, 0]},
        ["E-conflict", "'label'", "'labels'"],
    ),
    "a label and columns": (
        ONE, {**ONE, "label:a": [1, 0], "label:b": [0, 1]},
        ["E-conflict", "'label'"],
    ),
    "several for one": (
        ONE, SETS,
        ["E-incompatible", "'labels'", "labels"],
    ),
    "columns for one": (
        ONE, {"id": IDS, "label:a": [1, 0], "label:b": [0, 1]},
        ["E-incompatible", "'labels'", "labels"],
    ),
    "one for several": (
        SETS, ONE,
        ["E-incompatible", "'labels'", "label"],
    ),
    "no ids": (
        {"label": ["a", "b"]}, {"label": ["a"]},
        ["E-unmatched", "1", "2", "'id'"],
    ),
    "an empty label in the truth": (
        {"id": IDS, "label": ["a", " "]}, ONE,
        ["E-empty-cell", "row 1", "'label'"],
    ),
    "an empty label": (
        ONE, {"id": IDS, "label": ["", "b"]},
        ["E-unmatched", "row 0", "'label'"],
    ),
    "columns of other classes": (
        {"id": IDS, "label:a": [1, 0], "label:b": [0, 1]}, {"id": IDS, "score:a": [1.0, 0.0], "score:c": [0.0, 1.0]},
        ["E-missing-column", "'score'", "'b'", "'c'"],
    ),
    "a label without a column": (
        THREE, {"id": THREE["id"], "probability:a": [1.0, 0, 0], "probability:b": [0, 1.0, 1.0]},
        ["E-unknown-name", "'c'", "'a'", "'b'", "row 2", "'label'"],
    ),
    "a label without a column, of many": (
        {"id": list("1234567"), "label": list("abcdefg")},
        {"id": list("1234567"), **{f"score:{c}": [1.0] * 7 for c in "abcdef"}},
        ["E-unknown-name", "'g'", "'a'", "'b'", "'c'", "'d'", "'e'", "1", "row 6", "'label'"],
    ),
    "a set without a column": (
        {"id": IDS, "labels": ["cat", "cat|dgo"]}, {"id": IDS, "score:cat": [0.0, 1.0], "score:dog": [0.0, 1.0]},
        ["E-unknown-name", "'dgo'", "'cat'", "'dog'", "row 1", "'labels'"],
    ),
    "score twice": (
        ONE, {"id": IDS, "score": [1.0, 2.0], "score:a": [1.0, 2.0]},
        ["E-conflict", "'score'", "'score:a'"],
    ),
    "one score of six classes": (
        SIX, {"id": SIX["id"], "score": [1.0] * 6},
        ["E-missing-column", "'score'", "6", "'a'", "'b'", "'c'", "'d'", "'e'", "1"],
    ),
    "one probability of sets": (
        SETS, {"id": IDS, "probability": [0.5, 0.5]},
        ["E-missing-column", "'probability'", "2", "'a'", "'b'"],
    ),
    "one column of six classes": (
        SIX, {"id": SIX["id"], "probability:a": [1.0] * 6},
        ["E-missing-column", "probability", "6", "'a'", "'b'", "'c'", "'d'", "'e'", "1"],
    ),
    "sums": (
        ONE, {"id": IDS, "probability:a": [0.5, 0.5], "probability:b": [0.25, 0.5]},
        ["E-invalid-value", "0.75", "1", "0.001", "row 0"],
    ),
    "sums of two": (
        THREE, {"id": THREE["id"], "probability:a": [1.0, 0.9, 0.8], "probability:b": [0, 0, 0], "probability:c": [0, 0, 0]},
        ["E-invalid-value", "0.9", "1", "0.001", "row 1"],
    ),
    "scores for labels": (
        {"label": [1, 0, 1]}, {"label": ["1", "0.25", "0"]},
        ["E-invalid-value", "'0.25'", "row 1", "'label'", "'score'", "'probability'"],
    ),
}  # fmt: skip


@in_turn("case", BAD)
def test_refused(case: str) -> None:
    truth, predicted, said = BAD[case]
    with refuses(*said):
        sy.evaluate("labels", truth, predicted, confidence=None)


def test_declared_classes() -> None:
    pairs = pairs_of("labels", ONE, {"id": IDS, "label": ["b", "b"]})
    assert pairs.classes == ("a", "b")
    sides = {"id": IDS, "label": ["cat", "dog"]}, {"id": IDS, "label": ["cat", "dgo"]}
    options = {"classes": ["dog", "cat", "cow", "dog"]}
    with refuses("E-unknown-name", "'dgo'", "'dog'", "'cat'", "'cow'", "row 1", "'label'"):
        sy.evaluate("labels", *sides, confidence=None, options=options)  # fmt: skip
    report = sy.evaluate("labels", sides[0], sides[0], ["per_class(f1)"], options=options, confidence=None)
    assert list(report.scores) == ["f1(label=dog)", "f1(label=cat)", "f1(label=cow)"]
    with refuses("E-empty-input", "classes"):
        sy.evaluate("labels", *sides, confidence=None, options={"classes": []})


def test_declared_classes_and_columns() -> None:
    given = {"id": IDS, "score:a": [1.0, 0.0], "score:b": [0.0, 1.0]}
    with refuses("E-missing-column", "'score:c'", "predictions"):
        sy.evaluate("labels", ONE, given, confidence=None, options={"classes": ["a", "b", "c"]})  # fmt: skip
    sets = {"id": IDS, "labels": ["a", "b"]}
    lone = {"id": IDS, "probability:a": [1.0, 0.0]}
    with refuses("E-missing-column", "'probability:b'"):
        sy.evaluate("labels", sets, lone, confidence=None, options={"classes": ["a", "b"]})


def test_rows_that_are_left_out() -> None:
    pairs = pairs_of("labels", ONE, {"id": ["r1"], "label": ["a"]}, Policy("skip", "skip"))
    assert (len(pairs), len(pairs.truth), pairs.coded_labels.truth.tolist()) == (1, 2, [1])


def test_no_declared_class() -> None:
    said = refused("labels", ONE, ONE, options={"classes": []})
    assert [said[0], said[2]] == ["no class is declared", "Name at least one."]


def test_by_position() -> None:
    pairs = pairs_of("labels", {"label": ["a", "b", "a"]}, {"label": ["a", "a", "a"]})
    assert (pairs.truth_row, pairs.prediction_row, len(pairs)) == (None, None, 3)
    assert pairs.units.tolist() == [0, 1, 2]
    assert (pairs.rows.tolist(), pairs.prediction_rows.tolist()) == ([0, 1, 2], [0, 1, 2])
    coverage = pairs.coverage
    assert [coverage.truth, coverage.predictions, coverage.matched, coverage.missing, coverage.extra] == [3, 3, 3, 0, 0]
    with refuses("E-invalid-setting", "missing='some'"):
        pairs_of("labels", {"label": ["a"]}, {"label": ["a"]}, Policy("some", "skip"))  # fmt: skip


def test_slices() -> None:
    pairs = pairs_of("labels", {**ONE, "site": ["x", "y"]}, {"id": IDS[::-1], "label": ["b", "a"], "camera": [7, 8]})
    assert [part.tolist() for part in pairs.slice_values("site")] == [["x", "y"], [0, 1]]
    assert [part.tolist() for part in pairs.slice_values("camera")] == [[8, 7], [0, 1]]
    with refuses("E-missing-column", "'sight'", "truth", "'site'"):
        pairs.slice_values("sight")  # fmt: skip
    with refuses("E-missing-column", "'#'", "truth"):
        pairs.slice_values("#")  # fmt: skip
    lacking = pairs_of("labels", ONE, {"id": ["r0"], "label": ["b"], "camera": [7]}, Policy("worst", "skip"))
    with refuses("E-missing-column", "'camera'"):
        lacking.slice_values("camera")


@in_turn(
    ("names", "expected"),
    [
        (["10", "9", "-1"], ("-1", "9", "10")), (["10", "9", "x"], ("10", "9", "x")), (["10", "9", "01"], ("01", "10", "9")),
        (["b", "a"], ("a", "b")), ([], ()),
    ],
)  # fmt: skip
def test_the_order_of_classes(names: list[str], expected: tuple[str, ...]) -> None:
    assert order_classes(names) == expected


def test_columns_of_classes() -> None:
    columns = {name: np.zeros(1) for name in ("id", "score", "score:a", "score:b:c", "scores:d", "my score:e")}
    assert class_columns(Records("x", columns), "score") == ["a", "b:c"]


def test_words_and_numbers() -> None:
    """True and False beside 1 and 0, whichever side has the words; in any case, with blanks."""
    numbers, words = {"label": [1, 0, 1]}, {"label": ["True", " false", "TRUE"]}
    for sides in ((numbers, words), (words, numbers)):
        pairs = pairs_of("labels", *sides)
        assert pairs.classes == ("0", "1")
        assert (pairs.coded_labels.truth.tolist(), pairs.coded_labels.predicted.tolist()) == ([1, 0, 1], [1, 0, 1])
        assert pairs.prediction["label"].dtype == pairs.truth["label"].dtype
    for mixed in (["true", "no", "false"], ["no", "true", "false"]):
        assert pairs_of("labels", numbers, {"label": mixed}).classes == ("0", "1", *sorted(mixed))
    texts = pairs_of("labels", {"label": ["true", "x", "y"]}, {"label": ["true", "false", "true"]})
    assert texts.classes == ("false", "true", "x", "y")


def side(*labels: Any, name: str = "label") -> Records:
    array = np.array(labels) if all(isinstance(label, int) for label in labels) else np.array(labels, dtype=object)
    return Records("side", {name: array})


def test_sides_that_are_alike_stay_as_they_are() -> None:
    for truth, predicted in (
        (side(1, 2), side(1, 1)), (side("a"), side("b")), (side("1.5", "2"), side("2.5", "2")),
        (side(1), side(0.5, name="score")), (side("a", name="labels"), side("a")), (side(1, 2, 3, 4), side("1", "2", "3", "0.5")),
        (side("inf", "x"), side("nan", "inf")), (side(0, 1), side("2.0", "1")),
    ):  # fmt: skip
        made = alike(truth, predicted)
        assert made[0] is truth
        assert made[1] is predicted


def test_fractions_are_no_labels() -> None:
    for truth in (side(0, 1), side("a", "b")):
        for labels, row in ((("0.5", "1"), 0), (("1", "x", "-2.5"), 2)):
            with refuses("E-invalid-value", f"'{labels[row]}'", f"row {row}", "'label'"):
                alike(truth, side(*labels))
    assert alike(side("a", "0.5"), side("0.25", "1"))[1]["label"].tolist() == ["0.25", "1"]


def array_sides(truth: Any, predicted: Any) -> list[Any]:
    made = labels_task.plain_sides(truth, predicted)
    assert made is not None
    return [
        {name: column.tolist() for name, column in made[0].items()},
        {name: column.tolist() for name, column in made[1].items()}, list(made[2]),
    ]  # fmt: skip


TAKEN = "Predictions without a name are taken for"


def test_bare_arrays() -> None:
    assert labels_task.plain_sides({"label": ["a"]}, {"label": ["a"]}) is None
    assert array_sides(["a", "b"], ["b", "b"]) == [{"label": ["a", "b"]}, {"label": ["b", "b"]}, []]
    whole = array_sides(np.array([0, 1]), np.array([1.0, 0.0]))
    assert whole == [{"label": [0, 1]}, {"label": [1, 0]}, []]
    assert isinstance(whole[1]["label"][0], int)
    assert array_sides(np.array([0.5, 1.0]), np.array([0.5, 2.0]))[1] == {"label": [0.5, 2.0]}
    assert array_sides(np.array([True, False]), np.array([0.25, 1.0])) == [
        {"label": [True, False]}, {"probability": [0.25, 1.0]}, [f"{TAKEN} probabilities: they lie from 0 to 1."],
    ]  # fmt: skip
    assert array_sides([0, 1], [-0.25, 1.0])[1:] == [
        {"score": [-0.25, 1.0]}, [f"{TAKEN} scores: they do not lie from 0 to 1."],
    ]  # fmt: skip
    assert array_sides([0, 1], [0.25, 1.5])[2] == [f"{TAKEN} scores: they do not lie from 0 to 1."]
    assert array_sides(np.array([0, 1], dtype=np.uint8), [[0.25, 0.75], [1.0, 0.0009]])[1:] == [
        {"probability": [[0.25, 0.75], [1.0, 0.0009]]}, [f"{TAKEN} probabilities: each row adds up to 1."],
    ]  # fmt: skip
    assert array_sides(["a", "b"], [[0.25, 0.75], [1.0, 0.002]])[1:] == [
        {"score": [[0.25, 0.75], [1.0, 0.002]]}, [f"{TAKEN} scores: rows do not add up to 1."],
    ]  # fmt: skip
    with refuses("E-shape-mismatch", "2", "truth"):
        labels_task.plain_sides([[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]])  # fmt: skip


def test_what_other_tools_call_them() -> None:
    assert labels_task.SPELLINGS["recall_weighted"] == "weighted(recall)"
    assert labels_task.SPELLINGS["matthews_corrcoef"] == "mcc"
    report = sy.evaluate("labels", [0, 1, 1], [0, 1, 0], ["f1_macro", "cohen_kappa_score"], confidence=None)
    assert list(report.scores) == ["macro(f1)", "kappa"]


def facts(classes: int, *holds: str, several: bool = False) -> Metadata:
    return Metadata({"class": Axis(tuple(map(str, range(classes))))}, {"several labels": several}, frozenset(holds))


def test_the_positive_class() -> None:
    """The only one or the last of two; of more none, but for one that alone has scores."""
    places = [positive(facts(many)) for many in range(4)]
    assert places == [-1, 0, 1, -1]
    assert positive(facts(2, several=True)) == -1
    assert positive(facts(2, "labels", "positive:0")) == 0
    assert positive(facts(3, "positive:1")) == 1
    one = pairs_of("labels", {"label": ["a"]}, {"label": ["a"]})
    assert (positive_place(one), positive(one.metadata)) == (0, 0)
    colon = pairs_of("labels", {"label": ["x:y", "z"]}, {"score:x:y": [1.0, 0.0]})
    assert (colon.classes, positive_place(colon), positive(colon.metadata)) == (("x:y", "z"), 0, 0)
    report = sy.evaluate("labels", {"label": ["no", "yes"]}, {"score:no": [1.0, 0.0]}, ["roc_auc"], confidence=None)
    assert report["roc_auc"].notes == ("The positive class is 'no'.",)


def test_labels_of_zero_and_one() -> None:
    """One score is for both, whichever of them stands in the truth."""
    assert pairs_of("labels", {"label": [1]}, {"score": [0.5]}).classes == ("0", "1")
    assert pairs_of("labels", {"label": [2]}, {"score": [0.5]}).classes == ("2",)
    assert pairs_of("labels", {"label": [0]}, {"label": [0]}).classes == ("0",)
    assert pairs_of("labels", {"label": [1]}, {"score": [0.5], "label": [0]}).classes == ("0", "1")
    assert pairs_of("labels", {"label": ["x"]}, {"score:y": [0.5], "probability:x": [0.5]}).classes == ("x", "y")


AVERAGED = ("macro(precision)", "macro(recall)", "macro(f1)", "micro(f1)", "weighted(f1)")
AGREED = ("balanced_accuracy", "mcc", "kappa")


@in_turn(
    ("data", "expected"),
    [
        (facts(2, "labels"), ("accuracy", *AVERAGED, "precision", "recall", "f1", *AGREED)),
        (facts(3, "labels"), ("accuracy", *AVERAGED, *AGREED)),
        (facts(2, "labels", several=True), ("exact_match", "hamming", *AVERAGED)),
        (facts(2, "ranked:score:1:2"), ("roc_auc", "ap", "best_f1")),
        (facts(5, "ranked:score:all"), ("macro(roc_auc)", "macro(ap)")),
        (facts(6, "ranked:score:all"), ("macro(roc_auc)", "macro(ap)", "topk@5")),
        (facts(6, "ranked:score:all", several=True), ("macro(roc_auc)", "macro(ap)")),
        (facts(3, "probability:all"), ("log_loss", "brier", "ece")),
        (facts(3, "probability:all", several=True), ()),
        (facts(2, "labels", "ranked:probability:1:2", "probability:1:2"),
         ("accuracy", *AVERAGED, "precision", "recall", "f1", *AGREED, "roc_auc", "ap", "best_f1", "log_loss", "brier",
          "ece")),
    ],
)  # fmt: skip
def test_what_is_shown_if_nothing_is_asked(data: Metadata, expected: tuple[str, ...]) -> None:
    assert defaults_for(data) == expected


def test_tables_of_many_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (labels_codes.MOST_IN_A_TABLE, labels_codes.SUM_TOLERANCE, labels_task.NEAR) == (4096, 1e-3, 1e-3)
    monkeypatch.setattr(labels_codes, "MOST_IN_A_TABLE", 3)
    one = np.array([0, 1, 2, 0])
    two = np.array([0, 1, 1, 2])
    table = labels_codes.count_codes(one, two, 3)
    assert table is not None
    assert table.tolist() == [[1, 0, 1], [0, 1, 0], [0, 1, 0]]
    assert labels_codes.count_codes(one, two, 4) is None
    counted = labels_codes.count_integers(one + 7, two + 7)
    assert counted is not None
    assert counted.classes == ("7", "8", "9")
    assert counted.matrix.tolist() == table.tolist()
    assert labels_codes.count_integers(one * 2, two) is None  # from 0 to 4
    between = labels_codes.count_integers(np.array([-1, 1]), np.array([1, 1]))
    assert between is not None
    assert between.classes == ("-1", "1")
    assert between.matrix.tolist() == [[0, 1], [0, 1]]
    assert between.rows(0)["label"].tolist() == [-1, 1]
    assert between.rows(1)["label"].tolist() == [1, 1]
    assert between.rows(0)["label"].dtype == np.int8


def test_a_label_that_the_first_rows_do_not_have() -> None:
    """The range is guessed from the first 65536 rows, and looked for where the guess fails."""
    truth = np.zeros(65537, dtype=np.int64)
    predicted = truth.copy()
    truth[-1], predicted[-1] = 5, -2
    counted = labels_codes.count_integers(truth, predicted)
    assert counted is not None
    assert counted.classes == ("-2", "0", "5")
    assert counted.matrix.tolist() == [[0, 0, 0], [0, 65536, 0], [1, 0, 0]]
    truth[-1] = 4096
    assert labels_codes.count_integers(truth, predicted) is None
    truth[0], predicted[-1] = 4096, 0
    assert labels_codes.count_integers(truth, predicted) is None


def test_files_of_arrays_are_the_arrays(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    truth = {"label": rng.integers(0, 3, 40), "id": np.array([f"r{i}" for i in range(40)])}
    predictions = {"id": truth["id"][::-1], "probability": rng.dirichlet([1, 1, 1], 40)}
    np.savez(tmp_path / "t.npz", **truth)
    np.savez(tmp_path / "p.npz", **predictions)
    files = tmp_path / "t.npz", tmp_path / "p.npz"
    settings: dict[str, Any] = {"metrics": ["accuracy", "log_loss"], "confidence": None}
    assert (
        sy.evaluate("labels", *files, **settings).scores == sy.evaluate("labels", truth, predictions, **settings).scores
    )
    assert sy.check("labels", *files).counts == {"rows": 40, "predictions": 40}
    np.savez(tmp_path / "short.npz", label=truth["label"][:7], id=truth["id"])
    with refuses("E-shape-mismatch", "short.npz", "7", "40"):
        sy.evaluate("labels", tmp_path / "t.npz", tmp_path / "short.npz")
    np.savez(tmp_path / "deep.npz", probability=np.zeros((40, 3, 2)))
    with refuses("E-shape-mismatch", "deep.npz", "3"):
        sy.evaluate("labels", tmp_path / "t.npz", tmp_path / "deep.npz")
    np.savez(tmp_path / "other.npz", embeddings=np.zeros((40, 3)))
    with refuses("E-missing-key", "other.npz", "embeddings", "vector", "probability"):
        sy.evaluate("labels", tmp_path / "t.npz", tmp_path / "other.npz")


def test_rows_without_ids_that_stand_in_another_order() -> None:
    """A column of both sides tells; joined row by row all three would be wrong."""
    images = ["a.jpg", "b.jpg", "c.jpg"]
    truth = {"image": images, "label": ["x", "y", "z"]}
    turned = {"image": images[::-1], "label": ["z", "y", "x"]}

    def accuracy(truth: dict[str, Any], predictions: dict[str, Any], **settings: Any) -> float:
        return sy.evaluate("labels", truth, predictions, ["accuracy"], confidence=None, **settings)["accuracy"].value

    with refuses("E-conflict", "predictions, row 0, column 'image'", "a.jpg", "c.jpg", "columns={'id': 'image'}"):
        accuracy(truth, turned)
    with refuses("E-conflict", "d.jpg"):
        accuracy(truth, turned | {"image": ["d.jpg", "b.jpg", "a.jpg"]})
    with refuses("E-conflict", "video"):
        accuracy({"video": ["v", "v", "w"], "label": [0, 1, 0]}, {"video": ["w", "v", "v"], "label": [0, 1, 0]})
    with refuses("E-unmatched", "columns={'id': 'image'}"):
        accuracy(truth, {name: column[:2] for name, column in turned.items()})
    assert accuracy(truth, turned, columns={"id": "image"}) == 1
    assert accuracy(truth, truth) == 1
    seconds = {"seconds": [0.1, 0.2, 0.3], "label": ["z", "y", "x"]}
    assert accuracy(truth | {"seconds": [5.0, 6.0, 7.0]}, seconds) == 1 / 3, "a column of other values says nothing"

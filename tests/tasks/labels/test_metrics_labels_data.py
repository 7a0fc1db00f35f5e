"""Labels from what is given to codes: what is refused, in whole messages; words and numbers; bare arrays; defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.made import in_turn, pairs_of, refusal, refused

import steelyard as sy
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.records import Records
from steelyard.core.task import Policy
from steelyard.tasks.labels import data as labels_data
from steelyard.tasks.labels import task as labels_task
from steelyard.tasks.labels.alike import alike
from steelyard.tasks.labels.counts import positive
from steelyard.tasks.labels.data import class_columns, ordered
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
        ["there is no column of label or labels; the columns are 'id', 'class'", "truth", MAPPED],
    ),
    "nothing predicted": (
        ONE, {"id": IDS, "class": ["a", "b"]},
        ["there is no column of label or labels or score or probability; the columns are 'id', 'class'", "predictions",
         MAPPED],
    ),
    "both": (
        {**ONE, "labels": ["a", "b"]}, ONE,
        ["there are both 'label' and 'labels'", "truth", "Keep 'labels' for several per row."],
    ),
    "sets and columns": (
        SETS, {**SETS, "label:a": [1, 0]},
        ["there are both 'label' and 'labels'", "predictions", "Keep 'labels' for several per row."],
    ),
    "a label and columns": (
        ONE, {**ONE, "label:a": [1, 0], "label:b": [0, 1]},
        ["there are both 'label' and a column per class", "predictions", "Keep one of them."],
    ),
    "several for one": (
        ONE, SETS,
        ["the predictions hold several labels per row and the truth one", "predictions",
         "Give the truth in a column 'labels' too."],
    ),
    "columns for one": (
        ONE, {"id": IDS, "label:a": [1, 0], "label:b": [0, 1]},
        ["the predictions hold several labels per row and the truth one", "predictions",
         "Give the truth in a column 'labels' too."],
    ),
    "one for several": (
        SETS, ONE,
        ["the predictions hold one label per row and the truth several", "predictions",
         "Give the predictions in a column 'labels' too."],
    ),
    "no ids": (
        {"label": ["a", "b"]}, {"label": ["a"]},
        ["has 1 rows and truth has 2; without ids they cannot be joined", "predictions", "Give both sides a column 'id'."],
    ),
    "an empty label in the truth": (
        {"id": IDS, "label": ["a", " "]}, ONE,
        ["the label is empty", "truth, row 1, column 'label'", "Give every row a label."],
    ),
    "an empty label": (
        ONE, {"id": IDS, "label": ["", "b"]},
        [
            "the cell is empty or nan, so the prediction is missing", "predictions, row 0, column 'label'",
            "Give every row a value, or choose `missing='worst'` or `missing='skip'`.",
        ],
    ),
    "columns of other classes": (
        {"id": IDS, "label:a": [1, 0], "label:b": [0, 1]}, {"id": IDS, "score:a": [1.0, 0.0], "score:c": [0.0, 1.0]},
        ["columns of 'score' and others are not of the same classes: 'b', 'c' is missing in one", "predictions",
         "Give one column for each class wherever there is one per class."],
    ),
    "a label without a column": (
        THREE, {"id": THREE["id"], "probability:a": [1.0, 0, 0], "probability:b": [0, 1.0, 1.0]},
        ["label 'c' was never declared; the classes are 'a', 'b'", "truth, row 2, column 'label'", "Known: a, b."],
    ),
    "a label without a column, of many": (
        {"id": list("1234567"), "label": list("abcdefg")},
        {"id": list("1234567"), **{f"score:{c}": [1.0] * 7 for c in "abcdef"}},
        ["label 'g' was never declared; the classes are 'a', 'b', 'c', 'd', 'e' and 1 more",
         "truth, row 6, column 'label'", "Known: a, b, c, d, e, f."],
    ),
    "a set without a column": (
        {"id": IDS, "labels": ["cat", "cat|dgo"]}, {"id": IDS, "score:cat": [0.0, 1.0], "score:dog": [0.0, 1.0]},
        ["label 'dgo' was never declared; the classes are 'cat', 'dog'", "truth, row 1, column 'labels'",
         "Did you mean 'dog'?"],
    ),
    "score twice": (
        ONE, {"id": IDS, "score": [1.0, 2.0], "score:a": [1.0, 2.0]},
        ["there are both 'score' and 'score:a'", "predictions", "Keep one of them."],
    ),
    "one score of six classes": (
        SIX, {"id": SIX["id"], "score": [1.0] * 6},
        ["one column 'score' is for two classes, and there are 6: 'a', 'b', 'c', 'd', 'e' and 1 more", "predictions",
         "Give a column for each class: score:CLASS."],
    ),
    "one probability of sets": (
        SETS, {"id": IDS, "probability": [0.5, 0.5]},
        ["one column 'probability' is for two classes, and there are 2: 'a', 'b'", "predictions",
         "Give a column for each class: probability:CLASS."],
    ),
    "one column of six classes": (
        SIX, {"id": SIX["id"], "probability:a": [1.0] * 6},
        ["there is one column of probability and 6 classes: 'a', 'b', 'c', 'd', 'e' and 1 more", "predictions",
         "Give a column for each class: probability:CLASS."],
    ),
    "sums": (
        ONE, {"id": IDS, "probability:a": [0.5, 0.5], "probability:b": [0.25, 0.5]},
        ["the probabilities add up to 0.75, not to 1 (within 0.001)", "predictions, row 0",
         "Normalise them, or name the columns score:CLASS."],
    ),
    "sums of two": (
        THREE, {"id": THREE["id"], "probability:a": [1.0, 0.9, 0.8], "probability:b": [0, 0, 0], "probability:c": [0, 0, 0]},
        ["the probabilities add up to 0.9, not to 1 (within 0.001); so do 1 other rows'", "predictions, row 1",
         "Normalise them, or name the columns score:CLASS."],
    ),
    "scores for labels": (
        {"label": [1, 0, 1]}, {"label": ["1", "0.25", "0"]},
        ["'0.25' is not a label: it looks like a score", "predictions, row 1, column 'label'",
         "Scores go in a column 'score', probabilities in 'probability'."],
    ),
}  # fmt: skip


@in_turn("case", BAD)
def test_refused(case: str) -> None:
    truth, predicted, said = BAD[case]
    assert refused("labels", truth, predicted) == said


def test_declared_classes() -> None:
    pairs = pairs_of("labels", ONE, {"id": IDS, "label": ["b", "b"]})
    assert pairs.classes == ("a", "b")
    sides = {"id": IDS, "label": ["cat", "dog"]}, {"id": IDS, "label": ["cat", "dgo"]}
    options = {"classes": ["dog", "cat", "cow", "dog"]}
    assert refused("labels", *sides, options=options) == [
        "label 'dgo' was never declared; the classes are 'dog', 'cat', 'cow'", "predictions, row 1, column 'label'",
        "Did you mean 'dog'?",
    ]  # fmt: skip
    report = sy.evaluate("labels", sides[0], sides[0], ["per_class(f1)"], options=options, confidence=None)
    assert list(report.scores) == ["f1(label=dog)", "f1(label=cat)", "f1(label=cow)"]
    assert refused("labels", *sides, options={"classes": []})[0] == "no class is declared"


def test_declared_classes_and_columns() -> None:
    given = {"id": IDS, "score:a": [1.0, 0.0], "score:b": [0.0, 1.0]}
    assert refused("labels", ONE, given, options={"classes": ["a", "b", "c"]}) == [
        "there is no column 'score:c'", "predictions", "Every class needs one, and only classes.",
    ]  # fmt: skip
    sets = {"id": IDS, "labels": ["a", "b"]}
    lone = {"id": IDS, "probability:a": [1.0, 0.0]}
    assert refused("labels", sets, lone, options={"classes": ["a", "b"]})[0] == "there is no column 'probability:b'"


def test_rows_that_are_left_out() -> None:
    pairs = pairs_of("labels", ONE, {"id": ["r1"], "label": ["a"]}, Policy("skip", "skip"))
    assert (len(pairs), len(pairs.truth), pairs.coded.truth.tolist()) == (1, 2, [1])


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
    assert refusal(pairs_of, "labels", {"label": ["a"]}, {"label": ["a"]}, Policy("some", "skip")) == [
        "missing='some' is not a valid policy", "", "Known: error, skip, worst.",
    ]  # fmt: skip


def test_slices() -> None:
    pairs = pairs_of("labels", {**ONE, "site": ["x", "y"]}, {"id": IDS[::-1], "label": ["b", "a"], "camera": [7, 8]})
    assert [part.tolist() for part in pairs.slice_values("site")] == [["x", "y"], [0, 1]]
    assert [part.tolist() for part in pairs.slice_values("camera")] == [[8, 7], [0, 1]]
    assert refusal(pairs.slice_values, "sight") == [
        "column 'sight' is missing, which the slices are by", "truth", "Did you mean 'site'?",
    ]  # fmt: skip
    assert refusal(pairs.slice_values, "#") == [
        "column '#' is missing, which the slices are by", "truth", "Known: id, label, site.",
    ]  # fmt: skip
    lacking = pairs_of("labels", ONE, {"id": ["r0"], "label": ["b"], "camera": [7]}, Policy("worst", "skip"))
    assert refusal(lacking.slice_values, "camera")[0] == "column 'camera' is missing, which the slices are by"


@in_turn(
    ("names", "expected"),
    [
        (["10", "9", "-1"], ("-1", "9", "10")), (["10", "9", "x"], ("10", "9", "x")), (["10", "9", "01"], ("01", "10", "9")),
        (["b", "a"], ("a", "b")), ([], ()),
    ],
)  # fmt: skip
def test_the_order_of_classes(names: list[str], expected: tuple[str, ...]) -> None:
    assert ordered(names) == expected


def test_columns_of_classes() -> None:
    columns = {name: np.zeros(1) for name in ("id", "score", "score:a", "score:b:c", "scores:d", "my score:e")}
    assert class_columns(Records("x", columns), "score") == ["a", "b:c"]


def test_words_and_numbers() -> None:
    """True and False beside 1 and 0, whichever side has the words; in any case, with blanks."""
    numbers, words = {"label": [1, 0, 1]}, {"label": ["True", " false", "TRUE"]}
    for sides in ((numbers, words), (words, numbers)):
        pairs = pairs_of("labels", *sides)
        assert pairs.classes == ("0", "1")
        assert (pairs.coded.truth.tolist(), pairs.coded.predicted.tolist()) == ([1, 0, 1], [1, 0, 1])
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
            said = refusal(alike, truth, side(*labels))
            assert said[0] == f"'{labels[row]}' is not a label: it looks like a score"
            assert said[1].endswith(f"row {row}, column 'label'")
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
    assert refusal(labels_task.plain_sides, [[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]]) == [
        "truth has 2 columns", "truth", "Several labels per row need names: {'label': {'cat': [...], 'dog': [...]}}.",
    ]  # fmt: skip


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
    assert (positive_place(one), positive(one.facts)) == (0, 0)
    colon = pairs_of("labels", {"label": ["x:y", "z"]}, {"score:x:y": [1.0, 0.0]})
    assert (colon.classes, positive_place(colon), positive(colon.facts)) == (("x:y", "z"), 0, 0)
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
    assert (labels_data.MOST_IN_A_TABLE, labels_data.SUM_TOLERANCE, labels_task.NEAR) == (4096, 1e-3, 1e-3)
    monkeypatch.setattr(labels_data, "MOST_IN_A_TABLE", 3)
    one = np.array([0, 1, 2, 0])
    two = np.array([0, 1, 1, 2])
    table = labels_data.count_codes(one, two, 3)
    assert table is not None
    assert table.tolist() == [[1, 0, 1], [0, 1, 0], [0, 1, 0]]
    assert labels_data.count_codes(one, two, 4) is None
    counted = labels_data.count_integers(one + 7, two + 7)
    assert counted is not None
    assert counted.classes == ("7", "8", "9")
    assert counted.matrix.tolist() == table.tolist()
    assert labels_data.count_integers(one * 2, two) is None  # from 0 to 4
    between = labels_data.count_integers(np.array([-1, 1]), np.array([1, 1]))
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
    counted = labels_data.count_integers(truth, predicted)
    assert counted is not None
    assert counted.classes == ("-2", "0", "5")
    assert counted.matrix.tolist() == [[0, 0, 0], [0, 65536, 0], [1, 0, 0]]
    truth[-1] = 4096
    assert labels_data.count_integers(truth, predicted) is None
    truth[0], predicted[-1] = 4096, 0
    assert labels_data.count_integers(truth, predicted) is None

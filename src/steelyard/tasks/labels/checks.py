"""Checks of `labels`: names of classes, scores and probabilities."""

from __future__ import annotations

from collections import Counter

import numpy as np

from steelyard.checks.check import FEW, CheckData, Checks, Problem, some_rows
from steelyard.checks.ids import with_ids
from steelyard.checks.numbers import lower_is_better, surely_reversed
from steelyard.core.numerals import is_whole
from steelyard.core.records import Array

CHECKS = with_ids(Checks())


def _labels(data: CheckData) -> tuple[list[str], list[str]] | None:
    """One label per row of both sides, as texts."""
    if "labels" not in data.read:
        pairs = data.pairs
        data.read["labels"] = None
        if pairs is not None and "label" in pairs.truth and "label" in pairs.prediction:
            rows, places = data.paired_rows
            sides = pairs.truth["label"][rows], pairs.prediction["label"][places]
            data.read["labels"] = tuple([str(v).strip() for v in side.tolist()] for side in sides)
    labels: tuple[list[str], list[str]] | None = data.read["labels"]
    return labels


def _share(right: list[str], predicted: list[str]) -> float:
    return sum(a == b for a, b in zip(right, predicted, strict=True)) / max(1, len(right))


def _plain(text: str) -> str:
    return " ".join(text.casefold().replace("_", " ").replace("-", " ").split())


@CHECKS.add(
    "labels-spelt-apart", "error", "labels that differ by case, blanks or hyphens are two classes",
    "Spell each class in one way.",
)  # fmt: skip
def spelt_apart(data: CheckData) -> Problem | None:
    """Labels of both sides that are one to a reader. Whole numbers are spelt in one way."""
    sides = _labels(data)
    if sides is None or all(side["label"].dtype.kind == "i" for side in (data.pairs.truth, data.pairs.prediction)):
        return None
    names = Counter(sides[0]) + Counter(sides[1])
    groups: dict[str, set[str]] = {}
    for name in names:
        groups.setdefault(_plain(name), set()).add(name)
    apart = {name for group in groups.values() if len(group) > 1 for name in group}
    if not apart:
        return None
    rows = [i for i, name in enumerate(sides[1]) if name in apart]
    return Problem(
        "Labels differ only by case, blanks or hyphens: " + ", ".join(f"'{name}'" for name in sorted(apart)[:4]) + ".",
        len(rows), len(sides[1]), some_rows(data.pairs.prediction, data.paired_rows[1][rows], "label"),
    )  # fmt: skip


@CHECKS.add(
    "true-and-false",
    "note",
    "True and False beside 1 and 0 are read as the same",
    "Write labels in one way on both sides.",
)
def true_and_false(data: CheckData) -> Problem | None:
    """Words of truth on one side, numbers on the other."""
    prediction = data.prediction
    if prediction is None or "label" not in data.truth or "label" not in prediction:
        return None
    words = [_are_words(side["label"]) for side in (data.truth, prediction)]
    numbers = [side["label"].dtype.kind == "i" for side in (data.truth, prediction)]
    if not ((words[0] and numbers[1]) or (words[1] and numbers[0])):
        return None
    return Problem(
        "Labels are True and False on one side and 1 and 0 on the other, and are read as the same.",
        len(prediction), len(prediction), some_rows(prediction, [0], "label"),
    )  # fmt: skip


def _are_words(column: Array) -> bool:
    if column.dtype.kind not in "OU" or not len(column):
        return False
    return str(column[0]).strip().lower() in ("true", "false") and {
        str(v).strip().lower() for v in column.tolist()
    } <= {"true", "false"}


@CHECKS.add(
    "labels-shifted", "error", "labels off by one, or places in a list where names are expected",
    "Map the model's classes to the labels of the truth.",
)  # fmt: skip
def shifted_labels(data: CheckData) -> Problem | None:
    """Whether another reading of the predicted labels is right far more often."""
    sides = _labels(data)
    if sides is None or len(sides[0]) < FEW or len(set(sides[0])) < 2:
        return None
    right, predicted = sides
    plain = _share(right, predicted)
    if plain > 0.6 or not all(is_whole(text, 17, signed=True) for text in set(predicted)):
        return None
    numbers = [int(text) for text in predicted]
    names = sorted(set(right), key=lambda t: (0, int(t), t) if is_whole(t, 17, signed=True) else (1, 0, t))
    readings = {
        "one less than the truth's": [str(n + 1) for n in numbers],
        "one more than the truth's": [str(n - 1) for n in numbers],
        "places in the sorted list of labels, from 0": [names[n] if 0 <= n < len(names) else "" for n in numbers],
        "places in the sorted list of labels, from 1": [names[n - 1] if 0 < n <= len(names) else "" for n in numbers],
    }
    shares = {name: _share(right, read) for name, read in readings.items()}
    best = max(shares, key=lambda name: shares[name])
    common = max(Counter(right).values()) / len(right)
    if shares[best] < max(0.5, plain + 0.3) or shares[best] < common + 0.1:
        return None
    return Problem(
        f"{plain:.0%} of the labels are right as they stand, and {shares[best]:.0%} where they are taken as {best}.",
        len(predicted), len(predicted), some_rows(data.pairs.prediction, data.paired_rows[1], "label"),
    )  # fmt: skip


@CHECKS.add(
    "labels-exchanged",
    "error",
    "classes are named in another order",
    "Map the model's classes to the labels of the truth.",
)
def exchanged_labels(data: CheckData) -> Problem | None:
    """Labels that say which class is which, under other names."""
    sides = _labels(data)
    if sides is None or len(sides[0]) < FEW:
        return None
    right, predicted = sides
    plain, classes = _share(right, predicted), len(set(right))
    if plain > 0.4 or classes < 2 or classes > 100 or len(set(predicted)) < 2:
        return None
    taken: dict[str, str] = {}
    for (label, meant), _ in Counter(zip(predicted, right, strict=True)).most_common():
        if label not in taken and meant not in taken.values():
            taken[label] = meant
    share = _share(right, [taken.get(text, "") for text in predicted])
    common = max(Counter(right).values()) / len(right)
    if share < max(0.75, common + 0.15) or share < plain + 0.4:
        return None
    shown = ", ".join(f"'{label}' for '{meant}'" for label, meant in list(taken.items())[:3] if label != meant)
    return Problem(
        f"{plain:.0%} of the labels are right, and {share:.0%} under other names: {shown}.",
        len(predicted), len(predicted), some_rows(data.pairs.prediction, data.paired_rows[1], "label"),
    )  # fmt: skip


@CHECKS.add(
    "labels-unknown", "warning", "most predicted labels never stand in the truth", "Use the labels of the truth."
)
def unknown(data: CheckData) -> Problem | None:
    """Predicted labels without truth."""
    sides = _labels(data)
    if sides is None or len(sides[0]) < FEW:
        return None
    true_names = set(sides[0])
    rows = [i for i, name in enumerate(sides[1]) if name not in true_names]
    if len(rows) < 0.5 * len(sides[1]):
        return None
    return Problem(
        f"{len(rows) / len(sides[1]):.0%} of the predicted labels do not stand in the truth at all.",
        len(rows), len(sides[1]), some_rows(data.pairs.prediction, data.paired_rows[1][rows], "label"),
    )  # fmt: skip


@CHECKS.add("constant", "warning", "all predictions are the same", "Are these the model's answers?")
def constant(data: CheckData) -> Problem | None:
    """One label, or one score, for every row."""
    rows, places = data.paired_rows
    if data.pairs is None or len(rows) < 50:
        return None
    sides = _labels(data)
    if sides is not None and len(set(sides[1])) == 1 and len(set(sides[0])) > 1:
        return Problem(f"Every label is '{sides[1][0]}'.", len(places), len(places))
    for name in ("score", "probability"):
        columns = [c for c in data.pairs.prediction.columns if c == name or c.startswith(f"{name}:")]
        values = [data.pairs.prediction[c][places] for c in columns]
        if values and all((v == v[0]).all() for v in values):
            return Problem(f"Every row has the same {name}.", len(places), len(places))
    return None


def _scores(data: CheckData) -> list[tuple[str, Array, Array]]:
    """Classes with a column of scores: its name, the scores, and which rows are of the class."""
    pairs = data.pairs
    rows, places = data.paired_rows
    if pairs is None or "label" not in pairs.truth or len(rows) < FEW:
        return []
    if not any(column.partition(":")[0] in ("score", "probability") for column in pairs.prediction.columns):
        return []
    truth = np.array([str(v).strip() for v in pairs.truth["label"][rows].tolist()], dtype=object)
    classes = sorted(set(truth.tolist()), key=lambda t: (0, int(t), t) if is_whole(t, 17) else (1, 0, t))
    scores = []
    for name in ("score", "probability"):
        if name in pairs.prediction and len(classes) == 2:
            scores.append((classes[-1], pairs.prediction[name][places], truth == classes[-1]))
        for column in [c for c in pairs.prediction.columns if c.startswith(f"{name}:")][:10]:
            label = column.partition(":")[2]
            scores.append((label, pairs.prediction[column][places], truth == label))
    return scores


@CHECKS.add(
    "scores-reversed", "error", "the lower score is the surer one, or scores are those of the other class",
    "Negate the scores (distances, losses), or give those of the positive class.",
)  # fmt: skip
def scores_reversed(data: CheckData) -> Problem | None:
    """Areas under the ROC curve far below one half, in every class."""
    areas = [(name, lower_is_better(s, is_one), is_one) for name, s, is_one in _scores(data)]
    sure = [surely_reversed(area, int(p.sum()), int((~p).sum())) for _, area, p in areas if area == area]
    if not sure or sum(sure) < 0.6 * len(sure):
        return None
    name, area, positive = min(areas, key=lambda one: one[1])
    return Problem(
        f"A row of class '{name}' has the higher score than another row in {area:.0%} of the pairs: worse than chance.",
        int(positive.sum()), len(positive), some_rows(data.pairs.prediction, data.paired_rows[1]),
    )  # fmt: skip


@CHECKS.add(
    "labels-against-scores", "warning", "the label is not the class of the highest score: columns in another order?",
    "Name the columns of scores by their classes.",
)  # fmt: skip
def against_scores(data: CheckData) -> Problem | None:
    """Rows whose label has not the highest score."""
    sides = _labels(data)
    if sides is None or len(sides[0]) < FEW:
        return None
    places = data.paired_rows[1]
    for name in ("probability", "score"):
        columns = [c for c in data.pairs.prediction.columns if c.startswith(f"{name}:")]
        if len(columns) < 2:
            continue
        table = np.column_stack([data.pairs.prediction[c][places] for c in columns])
        classes = [c.partition(":")[2] for c in columns]
        highest = table.max(axis=1)
        place = {label: i for i, label in enumerate(classes)}
        labelled = np.array([place.get(text, -1) for text in sides[1]])
        differs = np.flatnonzero((labelled < 0) | (table[np.arange(len(labelled)), labelled] < highest))
        if len(differs) > 0.3 * len(labelled):
            return Problem(
                f"In {len(differs) / len(labelled):.0%} of the rows the label is not the class of the highest {name}.",
                len(differs), len(labelled), some_rows(data.pairs.prediction, places[differs], "label"),
            )  # fmt: skip
    return None


@CHECKS.add(
    "copies-of-truth", "warning", "probabilities of 0 and 1 that are all right: the truth itself",
    "Are these predictions of a model?",
)  # fmt: skip
def copies(data: CheckData) -> Problem | None:
    """Scores that are 1 where the class is, and 0 elsewhere."""
    scores = _scores(data)
    if not scores or not all((values == of_class).all() for _, values, of_class in scores):
        return None
    if len(scores[0][1]) < 50:
        return None
    return Problem("Every score is 1 for the true class and 0 for all others.", len(scores[0][1]), len(scores[0][1]))


@CHECKS.add(
    "all-right",
    "note",
    "every label is right: rare for a model, usual for a copy",
    "Are these predictions of a model?",
    quick=False,
)
def all_right(data: CheckData) -> Problem | None:
    """Labels that are the truth's."""
    sides = _labels(data)
    if sides is None or len(sides[0]) < 50 or sides[0] != sides[1]:
        return None
    return Problem("Every predicted label is that of the truth.", len(sides[0]), len(sides[0]))


@CHECKS.add(
    "rows-shifted", "error", "each row has its neighbour's prediction",
    "Join rows by a column 'id', not by their order.",
)  # fmt: skip
def rows_shifted(data: CheckData) -> Problem | None:
    """Labels that fit the row before or after."""
    sides = _labels(data)
    if sides is None or len(sides[0]) < FEW or len(data.pairs.truth) > len(sides[0]):
        return None
    order = np.argsort(data.paired_rows[0], kind="stable").tolist()
    right, predicted = ([side[i] for i in order] for side in sides)
    plain = _share(right, predicted)
    moved = {"after": _share(right[:-1], predicted[1:]), "before": _share(right[1:], predicted[:-1])}
    best = max(moved, key=lambda name: moved[name])
    if moved[best] < max(0.6, plain + 0.3):
        return None
    return Problem(
        f"{plain:.0%} of the labels are right, and {moved[best]:.0%} where each row gets the prediction "
        f"of the row {best}.",
        len(right), len(right), some_rows(data.pairs.prediction, data.paired_rows[1], "label"),
    )  # fmt: skip


@CHECKS.add(
    "folds-of-one-kind",
    "warning",
    "a fold with pairs of one kind: the spread over folds says little",
    "Mix genuine and impostor pairs in every fold, as LFW's list does.",
)
def folds_of_one_kind(data: CheckData) -> Problem | None:
    """A list of pairs that is sorted by what they are, and cut into folds."""
    pairs = data.pairs
    folds = None if pairs is None else pairs.truth.find("fold")
    if pairs is None or folds is None or pairs.several or len(pairs.classes) != 2:
        return None
    names = np.array([str(value) for value in folds[pairs.rows].tolist()])
    label = pairs.coded_labels.truth
    alone = [name for name in np.unique(names).tolist() if len(np.unique(label[names == name])) == 1]
    if not alone:
        return None
    rows = int(np.isin(names, alone).sum())
    return Problem(f"Folds {', '.join(alone[:4])} hold pairs of one kind.", rows, len(names))

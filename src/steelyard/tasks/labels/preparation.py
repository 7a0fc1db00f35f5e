"""Truth and predictions of `labels` before they are joined.

Labels of two sides may be written in two ways: True beside 1, and scores where labels are expected. Rows may be pairs
of people, or be in and out of distribution.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard import _native
from steelyard.core.errors import (
    Conflict,
    EmptyCell,
    EmptyInput,
    InvalidSetting,
    InvalidValue,
    MissingColumn,
    nearest,
)
from steelyard.core.options import Options
from steelyard.core.pairs import Array
from steelyard.core.records import Records, as_object, factorize
from steelyard.io.dialect import note
from steelyard.tasks.labels.codes import class_columns

WORDS = {"true": 1, "false": 0}


def alike(truth: Records, prediction: Records) -> tuple[Records, Records]:
    """Both sides with labels that can be compared.

    Where one side has the words True and False and the other has integers, the words are read as 1 and 0. Fractions
    where the truth has none are scores, and refused.
    """
    if "label" not in truth or "label" not in prediction:
        return truth, prediction
    mine, theirs = truth["label"], prediction["label"]
    if mine.dtype.kind == "i" and _words(theirs):
        prediction = _number_labels(prediction)
    elif theirs.dtype.kind == "i" and _words(mine):
        truth = _number_labels(truth)
    elif theirs.dtype.kind in "OU":
        _refuse_scores(mine, prediction)
    return truth, prediction


def _words(column: Array) -> bool:
    """Whether labels are the words True and False; most columns show it in their first row."""
    if column.dtype.kind not in "OU" or not len(column) or str(column[0]).strip().lower() not in WORDS:
        return False
    return {str(value).strip().lower() for value in column.tolist()} <= WORDS.keys()


def _number_labels(records: Records) -> Records:
    numbers = np.array([WORDS[str(value).strip().lower()] for value in records["label"].tolist()], dtype=np.int64)
    return replace(records, columns={**records.columns, "label": numbers})


def _fraction(value: object) -> bool:
    try:
        number = float(str(value))
    except ValueError:
        return False
    return number != int(number) if np.isfinite(number) else False


def _refuse_scores(truth: Array, prediction: Records) -> None:
    labels = prediction["label"]
    row = next((row for row in range(min(3, len(labels))) if _fraction(labels[row])), None)
    if row is None:
        return
    labels_seen = set(map(str, np.unique(truth).tolist() if truth.dtype.kind == "i" else truth.tolist()))
    if not any(map(_fraction, labels_seen)):
        raise InvalidValue(
            f"'{labels[row]}' is not a label: it looks like a score",
            where=prediction.where(row, "label"),
            remedy="Scores go in a column 'score', probabilities in 'probability'.",
        )


class DeclaredRecords(Records):
    """Records of truth with the classes that the user declared."""

    classes: tuple[str, ...] = ()


PEOPLE = ("person_a", "person_b")


class PairRecords(Records):
    """A list of pairs whose people are known."""


def label_texts(labels: Array) -> Array:
    """Labels as texts without blanks around them; each distinct one is made once."""
    code, distinct = None, labels
    if labels.dtype.kind in "iu":
        distinct, (code,) = factorize(labels)
    elif labels.dtype == object and (part := _native.factor_texts(labels.tolist())) is not None:
        code, distinct = part[0], labels[part[1]]
    texts = as_object([str(value).strip() for value in distinct.tolist()])
    return texts if code is None else texts[code]


KNOWN, UNKNOWN = "id", "ood"


def declare_unknowns(truth: Records, prediction: Records, options: Options) -> tuple[Records, Records]:
    """Two classes, in distribution and out of it, with the score of the second; labels stay under `known`."""
    label, higher = options.of("ood"), options.of("higher")
    if higher is None:
        raise Conflict(
            "nothing says whether rows in distribution or rows out of it score higher",
            where=prediction.source,
            remedy="Set the option `higher=id` for a confidence, or `higher=ood` for a novelty score.",
        )
    if "score" not in prediction:
        raise MissingColumn(
            "there is no column 'score', which tells rows in distribution from others",
            where=prediction.source,
            remedy="Rename the column, or map it: `columns={'score': 'YOUR_COLUMN'}`.",
        )
    unknown = _unknown_rows(truth, label)
    if not unknown.any() or unknown.all():
        kind = "in" if unknown.any() else "out of"
        named = f": none has label '{label}'" if label is not None and not unknown.any() else ""
        raise EmptyInput(
            f"no row is {kind} distribution{named}",
            where=truth.source,
            remedy="Name the label of rows that are out of distribution.",
        )
    sides = []
    for records in (truth, prediction):
        columns = {name: values for name, values in records.columns.items() if not name.startswith("probability")}
        labels = columns.pop("label", None)
        sides.append((records, columns if labels is None else columns | {"known": label_texts(labels)}))
    if label is not None and "known" in sides[1][1]:
        rows = np.flatnonzero(sides[1][1]["known"] == str(label))
        if len(rows):
            raise Conflict(
                f"the predictions name the OOD label '{label}' as a class",
                where=prediction.where(int(rows[0]), "label"),
                remedy="Predict a known class for every row; the score says which are out of distribution.",
            )
    classes = np.array([KNOWN, UNKNOWN], dtype=object)[unknown.astype(np.int64)]
    declared = DeclaredRecords(
        truth.source, sides[0][1] | {"label": classes}, truth.other, truth.place, truth.names, (KNOWN, UNKNOWN)
    )
    if higher == KNOWN:
        note(
            "Rows out of distribution are the positive class, so scores are negated: a threshold t of your scores is "
            "-t here, in settings and in results."
        )
    score = sides[1][1]["score"]
    return declared, replace(prediction, columns=sides[1][1] | {"score": -score if higher == KNOWN else score})


def _unknown_rows(truth: Records, label: object) -> Array:
    """Whether each row of truth is out of distribution."""
    if label is not None:
        if "label" not in truth:
            raise MissingColumn("there is no column 'label'", where=truth.source, remedy="Give one label per row.")
        return np.asarray(label_texts(truth["label"]) == str(label))
    flags = truth.find(UNKNOWN)
    if flags is None:
        raise MissingColumn(
            "nothing says which rows are out of distribution",
            where=truth.source,
            remedy="Name their label with the option `ood=LABEL`, or add a column 'ood' of 0 and 1.",
        )
    words = label_texts(flags)
    for row, word in enumerate(words.tolist()):
        if word.lower() not in ("0", "1", "true", "false"):
            raise InvalidValue(f"'{word}' is not 0 or 1", where=truth.where(row, UNKNOWN), remedy="Use 0 and 1.")
    return np.array([word.lower() in ("1", "true") for word in words.tolist()])


IMAGES = ("a", "b")  # columns of the two sides of a pair
SHARED = "If rows are pairs that share people, intervals are too narrow: name the people with option people."


def people_columns(options: Options) -> tuple[str, str] | None:
    """The columns of the people of a pair, where they are named."""
    text = options.of("people")
    if text is None:
        return None
    names = [name.strip() for name in str(text).split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise InvalidSetting(
            f"option people: '{text}' does not name two columns", remedy="Example: `people=person_a,person_b`."
        )
    return names[0], names[1]


def known_people(truth: Records) -> tuple[str, str] | None:
    """The columns of people without the option: those of a list of pairs, and those that alone say what is genuine."""
    if isinstance(truth, PairRecords):
        return PEOPLE
    states = any(name.partition(":")[0] in ("label", "labels", "same") for name in (*truth.columns, *truth.other))
    return None if states or any(name not in truth.other for name in PEOPLE) else PEOPLE


def prepare_people(truth: Records, prediction: Records, people: tuple[str, str]) -> tuple[Records, Records]:
    """Pairs with the label that their people give, an id from the two sides of a pair, and none of an image alone."""
    sides = []
    for name in people:
        values = truth.find(name)
        if values is None:
            raise MissingColumn(
                f"there is no column '{name}', which the option `people` names",
                where=truth.source,
                remedy=nearest(name, [*truth.names.values(), *truth.other]),
            )
        texts = label_texts(values)
        empty = np.flatnonzero(texts == "")
        if len(empty):
            raise EmptyCell("the person is empty", where=truth.where(int(empty[0]), name), remedy="Name both people.")
        sides.append(texts)
    same = np.asarray(sides[0] == sides[1])
    stated = truth.find("same") if "label" not in truth else truth["label"]
    if stated is None:
        label: Array = same.astype(np.int64)
    else:
        label = _genuine(truth, stated)
        wrong = np.flatnonzero(label != same)
        if len(wrong):
            row = int(wrong[0])
            a, b = (side[row] for side in sides)
            raise Conflict(
                f"the pair of '{a}' and '{b}' is labelled {'the same person' if label[row] else 'different people'}",
                where=truth.place(row),
                remedy="Correct the label or the people.",
            )
    columns = {**truth.columns, "label": label}
    other = {**truth.other, people[0]: sides[0], people[1]: sides[1]}
    return replace(truth, columns=columns, other=other), prediction


def joined_by_images(truth: Records, prediction: Records, ordered: bool) -> tuple[Records, Records]:
    """Both sides with an id of each pair, where neither has one and both name the two images, in either order."""
    if "id" in truth or "id" in prediction:
        return truth, prediction
    keys = [_pair_keys(records, ordered) for records in (truth, prediction)]
    if keys[0] is None or keys[1] is None:
        return truth, prediction
    return _with_ids(truth, keys[0]), _with_ids(prediction, keys[1])


def with_stated_pairs(truth: Records) -> Records:
    """Truth with the label that its column `same` gives, where it has no other."""
    stated = truth.find("same")
    if stated is None or any(name.partition(":")[0] in ("label", "labels") for name in truth.columns):
        return truth
    return replace(truth, columns={**truth.columns, "label": _genuine(truth, stated)})


def _with_ids(records: Records, ids: Array) -> Records:
    return replace(records, columns={**records.columns, "id": ids})


def _pair_keys(records: Records, ordered: bool) -> Array | None:
    """One text for each pair of images, whichever comes first unless `ordered`; None where no columns name them."""
    first, second = (records.find(name) for name in IMAGES)
    if first is None or second is None:
        return None
    pairs = zip(label_texts(first).tolist(), label_texts(second).tolist(), strict=True)
    return np.array([f"{a} | {b}" if ordered or a <= b else f"{b} | {a}" for a, b in pairs], dtype=object)


def _genuine(truth: Records, stated: Array) -> Array:
    """Whether pairs are said to be of one person: 0 and 1, or the words."""
    texts = label_texts(stated)
    meanings = {"1": 1, "true": 1, "0": 0, "false": 0}
    for row, text in enumerate(texts.tolist()):
        if text.lower() not in meanings:
            raise InvalidValue(
                f"'{text}' does not say whether a pair is of one person",
                where=truth.place(row),
                remedy="Use 1 for one person and 0 for two.",
            )
    return np.array([meanings[text.lower()] for text in texts.tolist()], dtype=np.int64)


def prepare(truth: Records, prediction: Records, options: Options) -> tuple[Records, Records]:
    """Read labels alike on both sides, and give the truth the classes that were declared."""
    truth, prediction = alike(truth, prediction)
    if options.of("ood") is not None or options.of("higher") is not None:
        return declare_unknowns(truth, prediction, options)
    given = options.of("classes")
    if given is None:
        return truth, prediction
    classes = tuple(dict.fromkeys(str(name) for name in given["label"].tolist()))
    if not classes:
        raise EmptyInput("no class is declared", where=given.source, remedy="Name at least one.")
    declared = DeclaredRecords(truth.source, truth.columns, truth.other, truth.place, truth.names, classes)
    return declared, _with_named_columns(prediction, classes)


def _with_named_columns(prediction: Records, classes: tuple[str, ...]) -> Records:
    """The predictions, of which columns without names (those of a matrix) are the classes in their declared order."""
    numbers = [str(place) for place in range(len(classes))]
    if sorted(classes) == sorted(numbers):
        return prediction
    renamed: dict[str, str] = {}
    for kind in ("score", "probability"):
        if class_columns(prediction, kind) == numbers:
            renamed |= {f"{kind}:{number}": f"{kind}:{name}" for number, name in zip(numbers, classes, strict=True)}
            note(f"The columns of {kind} are the classes in their declared order: {', '.join(classes)}.")
    if not renamed:
        return prediction
    return replace(prediction, columns={renamed.get(name, name): c for name, c in prediction.columns.items()})

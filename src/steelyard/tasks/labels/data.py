"""The two sides of `labels`, and how they become codes of classes.

Conventions
    A row is one thing that was labelled. Truth: `id`, and `label` (one per row), or `labels` (a set), or `label:cat`,
    `label:dog`, ... (0 or 1, one column per class). `group` is the unit where rows belong together (the images of a
    patient); without it every row is a unit. `sample_weight`, or `weight`, is the weight of a row.
    Predictions: `id`, and labels in any of those forms, or `score:cat`, ... or `probability:cat`, ... (one column per
    class), or one column `score` or `probability` for the positive class of two.
    Without an `id` on both sides rows are joined by position, and both must have as many.
    Classes are the labels that occur on either side, or the columns where there is one per class. They are ordered as
    integers where all are integers, else as texts; the positive class of two is the last.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from steelyard.align.codes import codes
from steelyard.align.join import check_policy, join_rows
from steelyard.core.errors import InputError, nearest
from steelyard.core.frozen import frozen
from steelyard.core.kinds import KINDS_FROM, KindUnits
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array, Countable, Coverage
from steelyard.core.records import Column, Records, Schema
from steelyard.core.task import Policy
from steelyard.tasks.labels.alike import alike
from steelyard.tasks.labels.codes import (
    Coded,
    Counted,
    Scored,
    class_columns,
    code_several,
    code_single,
    count_rows,
    scored,
)
from steelyard.tasks.labels.statistics import Confusion

_LABEL = Column("label", "label", required=False, many="flag", meaning="the class: text or an integer")
_LABELS = Column("labels", "labels", required=False, meaning="several classes: a list, or texts between |")

TRUTH = Schema(
    key=("id",),
    columns=(
        Column("id", "id", required=False, meaning="the row; without it sides are joined by position"),
        _LABEL,
        _LABELS,
        Column("group", "id", required=False, meaning="the unit, where rows belong together"),
        Column(
            "weight",
            "number",
            required=False,
            flags=True,
            minimum=0,
            aliases=("sample_weight",),
            meaning="the weight of the row, also called sample_weight",
        ),
    ),
)
PREDICTION = Schema(
    key=("id",),
    columns=(
        Column("id", "id", required=False, meaning="as in the truth"),
        replace(_LABEL, beside="prediction"),
        replace(_LABELS, beside="predictions"),
        Column(
            "score",
            "number",
            required=False,
            many="number",
            flags=True,
            meaning="of the positive class, or score:CLASS",
            beside="score",
        ),
        Column(
            "probability",
            "number",
            required=False,
            minimum=0,
            maximum=1,
            many="number",
            flags=True,
            meaning="of the positive class, or probability:CLASS",
            beside="probability",
        ),
    ),
)


OPTIONS = (
    Option(
        "classes", "ids", "the classes that there are, in their order; any other label is an error",
        sides=False, column="label", metavar="FILE",
    ),
)  # fmt: skip


@frozen
class DeclaredRecords(Records):
    """Records of truth with the classes that the user declared."""

    classes: tuple[str, ...] = ()


@frozen
class CountedRecords(Records):
    """Labels of which the pairs were counted where they were made: rows stand in the order of the counts."""

    counted: Counted | None = None


def prepare(truth: Records, prediction: Records, options: Options) -> tuple[Records, Records]:
    """Read labels alike on both sides, and give the truth the classes that were declared."""
    truth, prediction = alike(truth, prediction)
    given = options.of("classes")
    if given is None:
        return truth, prediction
    classes = tuple(dict.fromkeys(str(name) for name in given["label"].tolist()))
    if not classes:
        raise InputError("no class is declared", where=given.source, remedy="Name at least one.")
    declared = DeclaredRecords(truth.source, truth.columns, truth.other, truth.place, truth.names, classes)
    return declared, prediction


@frozen
class LabelPairs(Countable):
    """Rows of truth with their predictions. `truth_row` and `prediction_row` are None where row i goes with row i.

    `declared` are the classes of the whole, kept when a slice is taken. `among` is how many rows the whole has where
    these are a part of it: many plain rows are counted, and not listed.
    """

    truth: Records
    prediction: Records
    truth_row: Array | None
    prediction_row: Array | None
    coverage: Coverage
    declared: tuple[str, ...] | None = None
    among: int | None = None

    def __len__(self) -> int:
        return len(self.truth) if self.truth_row is None else len(self.truth_row)

    @cached_property
    def rows(self) -> Array:
        """Places in the truth, one per pair."""
        return np.arange(len(self.truth)) if self.truth_row is None else self.truth_row

    @cached_property
    def prediction_rows(self) -> Array:
        """Places in the predictions, one per pair; -1 where there is none."""
        return np.arange(len(self.truth)) if self.prediction_row is None else self.prediction_row

    @property
    def grouped(self) -> bool:
        """Whether the unit is more than the row."""
        return "group" in self.truth

    @property
    def several(self) -> bool:
        """Whether a row may have several labels."""
        return "label" not in self.truth

    @property
    def units(self) -> Array:
        """Ids of the units: groups, ids, or positions."""
        return self.owned[0]

    @property
    def named_units(self) -> Array | None:
        """The groups, or the ids of the rows; None where rows have no ids."""
        if self.grouped:
            return self.units
        return self.truth.columns.get("id")

    @cached_property
    def owned(self) -> tuple[Array, Array]:
        """Ids of the units, and the unit of each pair."""
        if self.grouped:
            units, (code,) = codes(self.truth["group"])
            return units, code[self.rows]
        ids = self.truth["id"] if "id" in self.truth else np.arange(len(self.truth))
        if self.truth_row is None:
            return ids, np.arange(len(ids))
        units, (code,) = codes(ids)
        return units, code[self.rows]

    def slice_values(self, name: str) -> tuple[Array, Array]:
        """A column of the truth, or else of the predictions, one value per pair."""
        for records, rows in ((self.truth, self.rows), (self.prediction, self.prediction_rows)):
            values = records.find(name)
            if values is not None and (len(rows) == 0 or rows.min() >= 0):
                return values[rows], self.owned[1]
        known = [*self.truth.columns, *self.truth.other]
        raise InputError(
            f"column '{name}' is missing, which the slices are by", where=self.truth.source, remedy=nearest(name, known)
        )

    def select(self, keep: Array) -> LabelPairs:
        """The pairs that a mask keeps. All units and all classes stay."""
        part = replace(
            self, truth_row=self.rows[keep], prediction_row=self.prediction_rows[keep], declared=self.classes
        )
        part.__dict__["owned"] = (self.owned[0], self.owned[1][keep])
        return part

    @property
    def plain(self) -> bool:
        """Whether rows of the same two labels are alike: each is a unit, without weights and scores."""
        bare = not self.grouped and not self.several and "weight" not in self.truth
        return bare and list(self.prediction.columns.keys() - {"id"}) == ["label"]

    @cached_property
    def counted(self) -> Counted | None:
        """How many rows there are of each pair of labels; None where they are few, or not plain: they are listed."""
        many = (len(self) if self.among is None else self.among) >= KINDS_FROM
        return count_rows(self) if many and self.plain else None

    @property
    def kinds(self) -> KindUnits | None:
        """The pairs of labels, where rows are counted."""
        return None if self.counted is None else KindUnits(self.counted.matrix)

    @property
    def kept(self) -> tuple[Confusion, ...]:
        """The pair of labels of each plain row."""
        return (Confusion(),) if self.plain else ()

    @property
    def own_units(self) -> bool:
        """Whether each row is a unit."""
        return not self.grouped

    def listed(self) -> LabelPairs:
        """The same rows, each a unit."""
        return replace(self, among=0)

    def part_of(self, facts: Metadata, rows: int) -> LabelPairs:
        """The same rows with the classes of the whole."""
        return replace(self, declared=facts.axes["class"].ids, among=rows)

    @cached_property
    def weight(self) -> Array | None:
        """1 for units with a weight, and 0 for others; None where rows have no weights."""
        if "weight" not in self.truth:
            return None
        units, owner = self.owned
        total = np.bincount(owner, weights=self.truth["weight"][self.rows], minlength=len(units))
        return (total > 0).astype(np.float64)

    @cached_property
    def facts(self) -> Metadata:
        """The classes, whether a row has several, and what the predictions hold.

        "labels"; "ranked:..." where there is something to rank by, and "probability:...", both with the name of the
        class and the number of classes where only one has a column; "positive:..." with the name of that class.
        """
        classes, holds = self.classes, set()
        if self.counted is not None or self.predicted is not None:
            holds.add("labels")
        for kind, given in (("score", self.scores), ("probability", self.probabilities)):
            if given is None:
                continue
            alone = len(given.classes) == 1
            of = f"{classes[given.classes[0]]}:{len(classes)}" if alone else "all"
            if kind == "probability":
                holds.add(f"probability:{of}")
            if kind == "score" or self.scores is None:
                holds.add(f"ranked:{kind}:{of}")
            if alone:
                holds = {hold for hold in holds if not hold.startswith("positive:")}
                holds.add(f"positive:{classes[given.classes[0]]}")
        return Metadata({"class": Axis(classes, whole=True)}, {"several labels": self.several}, frozenset(holds))

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in their order."""
        return self.coded.classes if self.counted is None else self.counted.classes

    @cached_property
    def predicted(self) -> Array | None:
        """Labels as they are given; else from scores: the class with the highest (the first of equals), or a
        probability of at least 0.5.
        """
        if self.coded.predicted is not None:
            return self.coded.predicted
        for kind, given in (("probability", self.probabilities), ("score", self.scores)):
            if given is None:
                continue
            if self.several:
                return np.asarray(given.values >= 0.5, dtype=np.uint8) if kind == "probability" else None
            if len(given.classes) > 1:
                return np.asarray(np.array(given.classes)[np.argmax(given.values, axis=1)], dtype=np.int64)
            if kind == "probability" and len(self.classes) == 2:
                place = given.classes[0]
                return np.asarray(np.where(given.values[:, 0] >= 0.5, place, 1 - place))
        return None

    @cached_property
    def coded(self) -> Coded:
        """Labels as places in the list of classes."""
        return code_several(self) if self.several else code_single(self)

    @cached_property
    def scores(self) -> Scored | None:
        """Scores by class."""
        return scored(self, "score")

    @cached_property
    def probabilities(self) -> Scored | None:
        """Probabilities by class."""
        return scored(self, "probability")


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> LabelPairs:
    """Join by id, or by position where neither side has one; then check what the labels and scores are."""
    if isinstance(truth, CountedRecords):
        return _counted_pairs(truth, prediction, policy)
    truth, prediction = prepare(truth, prediction, options)
    _require_labels(truth, prediction)
    if "id" in truth or "id" in prediction:
        joined = join_rows(truth, prediction, ("id",), policy)
        rows, places = joined.truth_row, joined.prediction_row
        straight = rows is places
        pairs = LabelPairs(truth, prediction, None if straight else rows, None if straight else places, joined.coverage)
    else:
        check_policy(policy)
        if len(truth) != len(prediction):
            raise InputError(
                f"has {len(prediction)} rows and {truth.source} has {len(truth)}; without ids they cannot be joined",
                where=prediction.source,
                remedy="Give both sides a column 'id'.",
            )
        pairs = _by_position(truth, prediction, policy)
    if isinstance(truth, DeclaredRecords):
        pairs = replace(pairs, declared=truth.classes)
    if pairs.grouped:  # the rows of a group stand together
        order = np.argsort(pairs.owned[1], kind="stable")
        pairs = replace(pairs, truth_row=pairs.rows[order], prediction_row=pairs.prediction_rows[order])
    return pairs


def _by_position(truth: Records, prediction: Records, policy: Policy) -> LabelPairs:
    whole = Coverage(len(truth), len(truth), len(truth), 0, 0, policy.missing)
    return LabelPairs(truth, prediction, None, None, whole)


def _counted_pairs(truth: CountedRecords, prediction: Records, policy: Policy) -> LabelPairs:
    check_policy(policy)
    pairs = _by_position(truth, prediction, policy)
    pairs.__dict__["counted"] = truth.counted
    return pairs


def _require_labels(truth: Records, prediction: Records) -> None:
    for records, kinds in ((truth, ("label", "labels")), (prediction, ("label", "labels", "score", "probability"))):
        given = [k for k in kinds if k in records or class_columns(records, k)]
        has = ", ".join(f"'{c}'" for c in (*records.names.values(), *records.other)) or "none"
        if not given:
            raise InputError(
                f"there is no column of {' or '.join(kinds)}; the columns are {has}",
                where=records.source,
                remedy="Rename the column, or map it: --map label=YOUR_COLUMN.",
            )
        if "labels" in records and ("label" in records or class_columns(records, "label")):
            raise InputError(
                "there are both 'label' and 'labels'", where=records.source, remedy="Keep 'labels' for several per row."
            )
        if "label" in records and class_columns(records, "label"):
            raise InputError(
                "there are both 'label' and a column per class", where=records.source, remedy="Keep one of them."
            )
    if "label" in truth and ("labels" in prediction or class_columns(prediction, "label")):
        raise InputError(
            "the predictions hold several labels per row and the truth one",
            where=prediction.source,
            remedy="Give the truth in a column 'labels' too.",
        )
    if "label" not in truth and "label" in prediction:
        raise InputError(
            "the predictions hold one label per row and the truth several",
            where=prediction.source,
            remedy="Give the predictions in a column 'labels' too.",
        )

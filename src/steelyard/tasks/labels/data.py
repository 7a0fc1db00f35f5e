"""The two sides of `labels`, and how they are joined.

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

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.align.join import check_policy, codes, join_rows
from steelyard.core import ranking
from steelyard.core.counts import count_text
from steelyard.core.distinct import DISTINCT_FROM, DistinctUnits
from steelyard.core.errors import (
    Conflict,
    Incompatible,
    MissingColumn,
    Unmatched,
    Unsupported,
)
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.options import Options
from steelyard.core.pairs import Array, Countable, Coverage, no_slice_column
from steelyard.core.records import Records
from steelyard.core.task import Policy
from steelyard.core.units import Units
from steelyard.io.dialect import note
from steelyard.tasks.labels.codes import (
    Coded,
    Counted,
    CountedRecords,
    Scored,
    class_columns,
    code_several,
    code_single,
    count_rows,
    scored_rows,
)
from steelyard.tasks.labels.preparation import (
    IMAGES,
    KNOWN,
    PEOPLE,
    SHARED,
    UNKNOWN,
    DeclaredRecords,
    joined_by_images,
    known_people,
    label_texts,
    people_columns,
    prepare,
    prepare_people,
    with_stated_pairs,
)
from steelyard.tasks.labels.statistics import Confusion
from steelyard.tasks.labels.vectors import AllPairs, ManyPairs

SOURCES = ("source", "source_group")  # columns of the sets of rows out of distribution, and of groups of sets


class LabelPairs(Frozen, Countable):
    """Rows of truth with their predictions. `truth_row` and `prediction_row` are None where row i goes with row i.

    `declared` are the classes of the whole, kept when a slice is taken. `among` is how many rows the whole has where
    these are a part of it: many plain rows are counted, and not listed. `people` are the columns of the two owners of
    each row, where people are the units.
    """

    truth: Records
    prediction: Records
    truth_row: Array | None
    prediction_row: Array | None
    coverage: Coverage
    declared: tuple[str, ...] | None = None
    among: int | None = None
    people: tuple[str, str] | None = None

    def __len__(self) -> int:
        return len(self.truth) if self.truth_row is None else len(self.truth_row)

    @property
    def pair_count(self) -> int:
        """How many pairs there are, listed or not."""
        return len(self)

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
        return self.owned_pairs[0]

    @property
    def named_units(self) -> Array | None:
        """The groups, or the ids of the rows; None where rows have no ids."""
        if self.grouped or self.people is not None:
            return self.units
        return self.truth.columns.get("id")

    @cached_property
    def owned_pairs(self) -> tuple[Array, Array]:
        """Ids of the units, and the unit of each pair, or the first of its two."""
        if self.people is not None:
            return self.owners[0], self.owners[1][self.rows]
        if self.grouped:
            units, (code,) = codes(self.truth["group"])
            return units, code[self.rows]
        ids = self.truth["id"] if "id" in self.truth else np.arange(len(self.truth))
        if self.truth_row is None:
            return ids, np.arange(len(ids))
        units, (code,) = codes(ids)
        return units, code[self.rows]

    @cached_property
    def owners(self) -> tuple[Array, Array, Array]:
        """People, and the first and second of each row of truth."""
        units, (a, b) = codes(*(self.truth.other[name] for name in self.people or ()))
        order = np.argsort(units, kind="stable")
        place = np.argsort(order, kind="stable")
        return units[order], place[a], place[b]

    @property
    def second_owner(self) -> Array | None:
        """The second unit of each pair, where pairs have two."""
        return None if self.people is None else self.owners[2][self.rows]

    def _sources(self, name: str) -> tuple[Array, Array] | None:
        """Distinct values of a column in rows out of distribution, and the place of each row; -1 for others.

        None where the column is not there, or no rows are declared out of distribution.
        """
        values = self.truth.find(name) if name in SOURCES else None
        if values is None or self.declared != (KNOWN, UNKNOWN) or not isinstance(self.truth, DeclaredRecords):
            return None
        unknown = self.coded_labels.truth == 1
        names, code = np.unique(label_texts(values[self.rows[unknown]]), return_inverse=True)
        place = np.full(len(unknown), -1, dtype=np.int64)
        place[unknown] = code
        return names, place

    @cached_property
    def sources(self) -> tuple[tuple[str, ...], Array] | None:
        """Names of the sources of rows out of distribution, behind "" for rows in it, and the place of each row."""
        sets = self._sources("source")
        if sets is None:
            return None
        return ("", *(str(name) or "(none)" for name in sets[0].tolist())), sets[1] + 1

    def _by_source(self, name: str) -> tuple[Array, Array] | None:
        """Pairs and their values of a column of sources; a pair in distribution stands there for every value."""
        sets = self._sources(name)
        if sets is None:
            return None
        names, own = sets
        times = np.where(own >= 0, 1, len(names))
        pair = np.repeat(np.arange(len(times)), times)
        place = np.arange(len(pair)) - np.repeat(np.cumsum(times) - times, times)
        return pair, names[np.where(own[pair] >= 0, own[pair], place)]

    def stratum_values(self, name: str) -> tuple[Array, Array]:
        """A column of strata, one value per pair; all rows in distribution are one stratum beside the sources."""
        sets = self._sources(name)
        if sets is None:
            return self.slice_values(name)
        names, own = sets
        return np.append(names, f"({KNOWN})").astype(object)[own], self.owned_pairs[1]

    def interval_notes(self, cluster: str | None) -> tuple[str, ...]:
        """What a reader of intervals must know about what is resampled."""
        notes = [self._episode_note(cluster)]
        if self.people is None and cluster is None and self._rows_are_pairs:
            notes.append(SHARED)
        if self.people is not None and self.pair_count > ranking.MOST_DRAWN:
            many = count_text(self.pair_count, "pair", "are")
            notes.append(f"{many} too many for draws: intervals are those of the jackknife over people.")
        return tuple(filter(None, notes))

    @property
    def _rows_are_pairs(self) -> bool:
        """Whether columns name the people of each row, or both sides have the columns of the images of a pair."""

        def both(records: Records, names: tuple[str, str]) -> bool:
            return all(records.find(name) is not None for name in names)

        return both(self.truth, PEOPLE) or (both(self.truth, IMAGES) and both(self.prediction, IMAGES))

    def _episode_note(self, cluster: str | None) -> str:
        """Which question intervals answer where rows are query images of few-shot episodes; else nothing."""
        held = [name for name in ("class", "image") if self.truth.find(name) is not None]
        if self.truth.find("episode") is None or not held:
            return ""
        if cluster == "episode":
            these = "these classes" if "class" in held else "these images"
            return f"Intervals are about new episodes of {these}. For new classes resample the column 'class'."
        if cluster in held:
            kind = "classes" if cluster == "class" else "images"
            return f"Intervals are about new {kind}, not about new episodes of these {kind}."
        if cluster is None and not self.grouped:
            return (
                "Rows of an episode are resampled one by one, so intervals are too narrow: resample episodes "
                "(cluster=episode) for new episodes of these classes, or classes (cluster=class) for new classes."
            )
        return ""

    def slice_values(self, name: str) -> tuple[Array, Array]:
        """A column of the truth, or else of the predictions, one value per pair; of sources see `_by_source`."""
        by_source = self._by_source(name)
        if by_source is not None:
            return by_source[1], self.owned_pairs[1][by_source[0]]
        for records, rows in ((self.truth, self.rows), (self.prediction, self.prediction_rows)):
            values = records.find(name)
            if values is not None and (len(rows) == 0 or rows.min() >= 0):
                return values[rows], self.owned_pairs[1]
        raise no_slice_column(self.truth, name)

    def select(self, keep: Array) -> LabelPairs:
        """The pairs that a mask keeps, or those of the sources that it keeps. All units and all classes stay."""
        for by_source in map(self._by_source, SOURCES) if len(keep) != len(self) else ():
            if by_source is not None and len(by_source[0]) == len(keep):
                chosen = np.zeros(len(self), dtype=bool)
                chosen[by_source[0][keep]] = True
                return self.select(chosen)
        part = replace(
            self, truth_row=self.rows[keep], prediction_row=self.prediction_rows[keep], declared=self.classes
        )
        part.__dict__["owned_pairs"] = (self.owned_pairs[0], self.owned_pairs[1][keep])
        return part

    @property
    def plain(self) -> bool:
        """Whether rows of the same two labels are alike: each is a unit, without weights and scores."""
        bare = not self.grouped and not self.several and "weight" not in self.truth and self.people is None
        return bare and list(self.prediction.columns.keys() - {"id"}) == ["label"]

    @cached_property
    def aggregated(self) -> Counted | None:
        """How many rows there are of each pair of labels; None where they are few, or not plain: they are listed."""
        many = (len(self) if self.among is None else self.among) >= DISTINCT_FROM
        return count_rows(self) if many and self.plain else None

    @property
    def distinct_units(self) -> DistinctUnits | None:
        """The pairs of labels, where rows are counted."""
        return None if self.aggregated is None else DistinctUnits(self.aggregated.matrix)

    @property
    def kept_statistics(self) -> tuple[Confusion, ...]:
        return (Confusion(),) if self.plain else ()

    @property
    def own_units(self) -> bool:
        return not self.grouped and self.people is None

    def per_unit(self) -> LabelPairs:
        return replace(self, among=0) if self.people is None else self

    def part_of(self, metadata: Metadata, rows: int) -> LabelPairs:
        return replace(self, declared=metadata.axes["class"].ids, among=rows)

    @cached_property
    def weight(self) -> Array | None:
        """1 for units with a weight, and 0 for others; None where rows have no weights."""
        if "weight" not in self.truth or self.people is not None:
            return None
        units, owner = self.owned_pairs
        total = np.bincount(owner, weights=self.truth["weight"][self.rows], minlength=len(units))
        return (total > 0).astype(np.float64)

    @cached_property
    def metadata(self) -> Metadata:
        """The classes, whether a row has several, and what the predictions hold.

        "labels"; "ranked:..." where there is something to rank by, and "probability:...", both with the name of the
        class and the number of classes where only one has a column; "positive:..." with the name of that class.
        """
        classes, holds = self.classes, set()
        if self.aggregated is not None or self.predicted_labels is not None:
            holds.add("labels")
        for kind, table in (("score", self.scores), ("probability", self.probabilities)):
            if table is None:
                continue
            alone = len(table.classes) == 1
            of = f"{classes[table.classes[0]]}:{len(classes)}" if alone else "all"
            if kind == "probability":
                holds.add(f"probability:{of}")
            if kind == "score" or self.scores is None:
                holds.add(f"ranked:{kind}:{of}")
            if alone:
                holds = {hold for hold in holds if not hold.startswith("positive:")}
                holds.add(f"positive:{classes[table.classes[0]]}")
        if "confidence" in self.prediction:
            holds.add("confidence")
        if self.right is not None:
            holds.add("right")
        if self.declared == (KNOWN, UNKNOWN) and "known" in self.truth:
            holds.add("unknowns")
        flags = {"several labels": self.several} | ({} if self.people is None else {"people": True})
        axes = {"class": Axis(classes, whole=True)}
        if self.sources is not None:
            axes["source"] = Axis(self.sources[0])
        return Metadata(axes, flags, frozenset(holds))

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in their order."""
        return self.coded_labels.classes if self.aggregated is None else self.aggregated.classes

    @cached_property
    def predicted_labels(self) -> Array | None:
        """Labels as they are given; else from scores: the class with the highest (the first of equals), or a
        probability of at least 0.5.
        """
        if self.coded_labels.predicted is not None:
            return self.coded_labels.predicted
        for kind, table in (("probability", self.probabilities), ("score", self.scores)):
            if table is None:
                continue
            if self.several:
                return np.asarray(table.values >= 0.5, dtype=np.uint8) if kind == "probability" else None
            if len(table.classes) > 1:
                return np.asarray(np.array(table.classes)[np.argmax(table.values, axis=1)], dtype=np.int64)
            if kind == "probability" and len(self.classes) == 2:
                place = table.classes[0]
                return np.asarray(np.where(table.values[:, 0] >= 0.5, place, 1 - place))
        return None

    @cached_property
    def confidence(self) -> Array | None:
        """How sure each row's label is: its column, or the highest probability. A missing prediction is sure."""
        if "confidence" in self.prediction:
            values = self.prediction["confidence"]
            rows = self.prediction_rows
            taken = values[rows] if len(values) else np.zeros(len(rows))
            return np.where(rows >= 0, taken, np.inf)
        table = self.probabilities
        if table is None or self.several:
            return None
        alone = len(table.classes) == 1
        return np.asarray(np.maximum(table.values[:, 0], 1 - table.values[:, 0]) if alone else table.values.max(axis=1))

    @cached_property
    def right(self) -> Array | None:
        """Where rows out of distribution are declared: whether the label of each row is right."""
        if "known" not in self.truth or "known" not in self.prediction:
            return None
        rows, labels = self.prediction_rows, self.prediction["known"]
        taken = labels[rows] if len(labels) else np.full(len(rows), None, dtype=object)
        return np.asarray((taken == self.truth["known"][self.rows]) & (rows >= 0))

    @cached_property
    def coded_labels(self) -> Coded:
        """Labels as places in the list of classes."""
        return code_several(self) if self.several else code_single(self)

    @cached_property
    def scores(self) -> Scored | None:
        """Scores by class."""
        return scored_rows(self, "score")

    @cached_property
    def probabilities(self) -> Scored | None:
        """Probabilities by class."""
        return scored_rows(self, "probability")


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> LabelPairs:
    """Join by id, or by position where neither side has one; then check what the labels and scores are."""
    if isinstance(truth, CountedRecords):
        return _counted_pairs(truth, prediction, policy)
    if isinstance(truth, AllPairs):
        return _every_pair(truth, prediction, policy)
    if isinstance(truth, ManyPairs):
        return _many_pairs(truth, prediction, policy)
    people = people_columns(options) or known_people(truth)
    if people is not None:
        truth, prediction = prepare_people(truth, prediction, people)
    truth, prediction = joined_by_images(with_stated_pairs(truth), prediction, options.of("pairing") == "ordered")
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
            names = [name for name in truth.other if name in prediction.other]
            mapped = f", or map one that has them: `columns={{'id': '{names[0]}'}}`" if names else ""
            raise Unmatched(
                f"has {len(prediction)} rows and {truth.source} has {len(truth)}; without ids they cannot be joined",
                where=prediction.source,
                remedy=f"Give both sides a column 'id'{mapped}.",
            )
        _refuse_another_order(truth, prediction)
        pairs = _by_position(truth, prediction, policy)
    if isinstance(truth, DeclaredRecords):
        pairs = replace(pairs, declared=truth.classes)
    if people is not None:
        return _with_people(pairs, people)
    if pairs.grouped:  # the rows of a group stand together
        order = np.argsort(pairs.owned_pairs[1], kind="stable")
        pairs = replace(pairs, truth_row=pairs.rows[order], prediction_row=pairs.prediction_rows[order])
    return pairs


def _every_pair(truth: AllPairs, prediction: Records, policy: Policy) -> LabelPairs:
    """All pairs of images, with the people and the codes of the labels that are known."""
    pairs = replace(_by_position(truth, prediction, policy), people=("person", "person"), declared=("0", "1"))
    pairs.__dict__["owners"] = truth.people, *truth.owners
    pairs.__dict__["coded_labels"] = Coded(("0", "1"), truth["label"], None)
    return pairs


class UnlistedPairs(LabelPairs):
    """All pairs of images where they are too many to list."""

    @property
    def pair_count(self) -> int:
        return self.coverage.matched

    @property
    def kept_statistics(self) -> tuple[Confusion, ...]:
        raise Unsupported(
            f"{count_text(self.pair_count, 'pair', 'are')} too many to be kept in a state",
            remedy="Give fewer, or a list of some of them.",
        )

    @cached_property
    def counts(self) -> Any:
        """Genuine pairs by score, and impostors counted at these scores."""
        from steelyard.tasks.labels.counted import PairCounts  # few have so many pairs

        truth, scorer = self.truth, getattr(self.prediction, "scorer", None)
        assert isinstance(truth, ManyPairs)
        assert scorer is not None
        return PairCounts(scorer, truth.person, Units(self.units))

    def answered(self, requirements: Sequence[Any]) -> Mapping[Any, Any]:
        from steelyard.tasks.labels.counted import answered_blocks

        return answered_blocks(self.counts, requirements, self.metadata)


def _many_pairs(truth: ManyPairs, prediction: Records, policy: Policy) -> UnlistedPairs:
    """All pairs of images, none of which has a row."""
    check_policy(policy)
    whole = Coverage(truth.pairs, truth.pairs, truth.pairs, 0, 0, policy.missing)
    pairs = UnlistedPairs(truth, prediction, None, None, whole, declared=("0", "1"), people=("person", "person"))
    none = np.zeros(0, dtype=np.int64)
    pairs.__dict__["owners"] = truth.people, none, none
    pairs.__dict__["coded_labels"] = Coded(("0", "1"), none, None)
    return pairs


def _with_people(pairs: LabelPairs, people: tuple[str, str]) -> LabelPairs:
    """Pairs whose units are people; a picture that is paired with itself is left out."""
    pairs = replace(pairs, people=people)
    images = [pairs.truth.find(name) for name in IMAGES]
    if images[0] is None or images[1] is None:
        return pairs
    itself = np.asarray(label_texts(images[0]) == label_texts(images[1]))[pairs.rows]
    if not itself.any():
        return pairs
    note(f"{pairs.truth.source}: {count_text(int(itself.sum()), 'pair', 'are')} of an image with itself, and left out.")
    return pairs.select(~itself)


def _refuse_another_order(truth: Records, prediction: Records) -> None:
    """Raise where a column of both sides shows that rows at the same position are not of one thing."""
    for name in truth.other:
        if name not in prediction.other:
            continue
        first, second = label_texts(truth.other[name]), label_texts(prediction.other[name])
        apart = np.flatnonzero(first != second)
        if not len(apart):
            continue
        (mine, many), (theirs, others) = (np.unique(side.astype(str), return_counts=True) for side in (first, second))
        named = many.max() == others.max() == 1 and len(np.intersect1d(mine, theirs)) > 0
        if named or (np.array_equal(mine, theirs) and np.array_equal(many, others)):
            row = int(apart[0])
            raise Conflict(
                f"the sides have no ids and are joined row by row, but '{name}' is '{first[row]}' in the truth and "
                f"'{second[row]}' in the predictions",
                where=prediction.where(row, name),
                remedy=f"Map the column of ids: `columns={{'id': '{name}'}}`. Or bring the rows into one order.",
            )


def _by_position(truth: Records, prediction: Records, policy: Policy) -> LabelPairs:
    whole = Coverage(len(truth), len(truth), len(truth), 0, 0, policy.missing)
    return LabelPairs(truth, prediction, None, None, whole)


def _counted_pairs(truth: CountedRecords, prediction: Records, policy: Policy) -> LabelPairs:
    check_policy(policy)
    pairs = _by_position(truth, prediction, policy)
    pairs.__dict__["aggregated"] = truth.aggregated
    return pairs


def _require_labels(truth: Records, prediction: Records) -> None:
    for records, kinds in ((truth, ("label", "labels")), (prediction, ("label", "labels", "score", "probability"))):
        present = [k for k in kinds if k in records or class_columns(records, k)]
        has = ", ".join(f"'{c}'" for c in (*records.names.values(), *records.other)) or "none"
        if not present:
            raise MissingColumn(
                "there is no column '" + "' or '".join(kinds) + f"'; the columns are {has}",
                where=records.source,
                remedy="Rename the column, or map it: `columns={'label': 'YOUR_COLUMN'}`.",
            )
        if "labels" in records and ("label" in records or class_columns(records, "label")):
            raise Conflict(
                "there are both 'label' and 'labels'", where=records.source, remedy="Keep 'labels' for several per row."
            )
        if "label" in records and class_columns(records, "label"):
            raise Conflict(
                "there are both 'label' and a column per class", where=records.source, remedy="Keep one of them."
            )
    if "label" in truth and ("labels" in prediction or class_columns(prediction, "label")):
        raise Incompatible(
            "the predictions hold several labels per row and the truth one",
            where=prediction.source,
            remedy="Give the truth in a column 'labels' too.",
        )
    if "label" not in truth and "label" in prediction:
        raise Incompatible(
            "the predictions hold one label per row and the truth several",
            where=prediction.source,
            remedy="Give the predictions in a column 'labels' too.",
        )

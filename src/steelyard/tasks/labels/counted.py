"""All pairs of images where they are too many to list: impostors are counted at the scores of genuine pairs.

A figure that is read at genuine scores needs only the number of impostors at each of them and between two. Leaving out
a person takes away the genuine and the impostor pairs of that person, so the jackknife needs such counts by person.
Scores are computed tile by tile and counted at once, and a table holds the counts of some people at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.by_group import AnsweredBlock
from steelyard.core.errors import Unsupported
from steelyard.core.metadata import Metadata
from steelyard.core.pairs import Array
from steelyard.core.plan import left_out_rows
from steelyard.core.ranking import RankingBlock
from steelyard.core.records import first_of_runs
from steelyard.core.statistic import RankingReader, Statistic
from steelyard.core.units import Units
from steelyard.core.weights import Floats, Plain, Role
from steelyard.tasks.labels.vectors import Scorer
from steelyard.tasks.labels.walks import Scores, Walk
from steelyard.tasks.shared.rates import FIGURES, Rates, events_at_hits, figure_parameters

TILE = 512  # images of a side of a tile. A pair has the same tile, and so the same score to the bit, in every pass
BATCH = 1 << 22  # scores that are counted at a time
TABLE = 1 << 25  # counts that are held at a time
EVEN = Plain(np.ones(1), even=True)


class PairCounts:
    """Genuine pairs by score, and impostor pairs counted at these scores, in all and without each group of people."""

    def __init__(self, scorer: Scorer, person: Array, units: Units) -> None:
        group = left_out_rows(units)[person]
        order = np.lexsort((person, group))
        self.scorer, self.person, self.group = scorer.take(order), person[order], group[order].astype(np.int32)
        self.people = len(units)
        first, second = self._genuine()
        score = self.scorer.listed(first, second)
        self.thresholds, self.place = np.unique(score, return_inverse=True)
        self.owner, self.hit_group = self.person[first], self.group[first]
        self.hits = np.bincount(self.place, minlength=len(self.thresholds))

    def _genuine(self) -> tuple[Array, Array]:
        """Both sides of all pairs of one person: images of a person stand together."""
        begin = first_of_runs(self.person)
        sizes = np.diff(np.append(begin, len(self.person)))
        sides = [np.stack(np.triu_indices(size, 1)) + start for start, size in zip(begin, sizes, strict=True)]
        first, second = np.concatenate(sides, axis=1)
        return first, second

    def whole(self) -> Iterator[RankingBlock]:
        """The ranking of all pairs."""
        yield events_at_hits(self.thresholds, self.hits, self._every)

    def left_out(self) -> Iterator[RankingBlock]:
        """The rankings without the pairs of each group of people, one after the other."""
        every, width = self._every, 2 * len(self.thresholds) + 1
        groups, step = int(self.group.max()) + 1, max(1, TABLE // width)
        for start in range(0, groups, step):
            counts = np.zeros((min(step, groups - start), width), dtype=np.int64)
            inside = (self.group >= start) & (self.group < start + step)
            self._count(np.where(inside, self.group - start, -1).astype(np.int32), counts)
            for row, own in enumerate(counts):
                hits = self.hits - self._hits(self.hit_group == start + row)
                yield events_at_hits(self.thresholds, hits, every - own)

    def alone(self) -> Iterator[RankingBlock]:
        """The rankings of each person's own pairs, which are genuine."""
        nothing = np.zeros(2 * len(self.thresholds) + 1, dtype=np.int64)
        for person in range(self.people):
            yield events_at_hits(self.thresholds, self._hits(self.owner == person), nothing)

    def _hits(self, rows: Array) -> Array:
        return np.bincount(self.place[rows], minlength=len(self.thresholds))

    @cached_property
    def _every(self) -> Array:
        """All impostor pairs, counted."""
        counts = np.zeros((1, 2 * len(self.thresholds) + 1), dtype=np.int64)
        self._count(np.zeros(len(self.person), dtype=np.int32), counts)
        return np.asarray(counts[0])

    def _count(self, row: Array, counts: Array) -> None:
        """Add impostor pairs to the rows of counts of their images; a negative row is none."""
        waiting: list[tuple[Array, Array, Array]] = []
        size = 0
        for tile in self._tiles(row):
            waiting.append(tile)
            size += len(tile[0])
            if size >= BATCH:
                self._add(waiting, counts)
                waiting, size = [], 0
        if waiting:
            self._add(waiting, counts)

    def _add(self, tiles: Sequence[tuple[Array, Array, Array]], counts: Array) -> None:
        score, first, second = (np.concatenate(columns) for columns in zip(*tiles, strict=True))
        _native.count_at(self.thresholds, score, first, second, counts)

    def _tiles(self, row: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Scores of the tiles that hold an image with a row, and the rows of both sides; of genuine pairs none."""
        many = len(self.person)
        parts = [slice(start, min(start + TILE, many)) for start in range(0, many, TILE)]
        held = [bool((row[part] >= 0).any()) for part in parts]
        place = np.arange(many)
        for k, a in enumerate(parts):
            for j in range(k, len(parts)):
                if not (held[k] or held[j]):
                    continue
                b = parts[j]
                counted = self.person[a, np.newaxis] != self.person[b]
                if j == k:
                    counted &= place[b] > place[a, np.newaxis]
                score = self.scorer.tile(a, b).ravel()
                first = np.where(counted, row[a, np.newaxis], np.int32(-1)).ravel()
                yield score, first, np.where(counted, row[b], np.int32(-1)).ravel()


class PairAnswers(Mapping[tuple[Any, Role], Any]):
    """What readers of a ranking of pairs give, by reader and role of the weights; those of a role are read together."""

    def __init__(self, counts: PairCounts, readers: Sequence[RankingReader], metadata: Metadata) -> None:
        self.counts, self.readers, self.metadata = counts, readers, metadata
        self.made: dict[Role, dict[RankingReader, Any]] = {}

    def __getitem__(self, key: tuple[Any, Role]) -> Any:
        reader, role = key
        if role not in self.made:
            rankings = {
                Role.POINT: self.counts.whole,
                Role.JACKKNIFE: self.counts.left_out,
                Role.UNITS: self.counts.alone,
            }
            if role not in rankings:
                raise KeyError(key)
            values: dict[RankingReader, list[Floats]] = {one: [] for one in self.readers}
            for block in rankings[role]():
                for one in self.readers:
                    values[one].append(one.read(block, EVEN, self.metadata))
            self.made[role] = {one: np.concatenate(parts) for one, parts in values.items()}
        return self.made[role][reader]

    def __iter__(self) -> Iterator[tuple[Any, Role]]:
        for role in (Role.POINT, Role.JACKKNIFE, Role.UNITS):
            yield from ((reader, role) for reader in self.readers)

    def __len__(self) -> int:
        return 3 * len(self.readers)


def answered_blocks(counts: PairCounts, requirements: Sequence[Any], metadata: Metadata) -> dict[Statistic, Any]:
    """Blocks that stand for the rankings of these readers; an error where one needs every score."""
    by_ranking: dict[Statistic, list[RankingReader]] = {}
    for wanted in requirements:
        if not _read_at_hits(wanted):
            raise Unsupported(
                "one of the metrics needs every score, and these pairs are too many to list",
                remedy="Choose among tar, frr, eer, min_dcf, best_accuracy and roc_auc, or give a list of pairs.",
            )
        by_ranking.setdefault(wanted.ranking, []).append(wanted)
    return {
        ranking: AnsweredBlock(PairAnswers(counts, list(dict.fromkeys(readers)), metadata))
        for ranking, readers in by_ranking.items()
    }


def _read_at_hits(wanted: Any) -> bool:
    """Whether a metric needs genuine scores alone, beside how many impostors lie between them."""
    ranking = getattr(wanted, "ranking", None)
    if not isinstance(ranking, Scores) or ranking.of != "one" or ranking.label not in (None, 1, "1"):
        return False
    if isinstance(wanted, Walk):
        return wanted.ties == "step" and not wanted.loop
    return isinstance(wanted, Rates) and _native.rates_read_at_hits(
        FIGURES[wanted.figure], figure_parameters(wanted.parameters)
    )

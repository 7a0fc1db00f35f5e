"""Single-gallery-shot CMC, as for CUHK03: the gallery has one image of each identity, drawn at random.

The references draw a few times, and print another number each time. Here it is exact. For one right image, an image of
another identity is nearer with the share of that identity's images that are nearer, independently of the others; the
number of nearer ones is a sum of such yes-or-no events, whose distribution is added up identity by identity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard.core.errors import Unsupported
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache
from steelyard.core.weights import Floats
from steelyard.tasks.rankings.sums import QueryValue


class Gallery(Frozen):
    """All gallery images: their identities, what orders equal distances, and distances from a query.

    `query` and `place` are those of each judged row; `identity` is a code per image and `query_identity` one per query.
    `names` are those of queries and images, `out` says which images are out of a query's list, `unit_query` is the
    query of each unit. Of vectors `distances` are only what orders them: minus the cosine, or the square (`vectors` is
    "cosine" or "l2"). `under` ranks the images under another protocol, and `shown` is the gallery with its junk.
    """

    distances: Callable[[int], Array]
    query_identity: Array
    identity: Array
    tie: Array
    query: Array
    place: Array
    names: tuple[Array, Array]
    out: Callable[[int], Array]
    unit_query: Array
    under: Callable[[str], Any] | None = None
    cameras: bool = False
    vectors: str | None = None
    shown: Callable[[], Any] | None = None


def shares_nearer(line: Array, tie: Array, identity: Array, own: int, place: int) -> Array:
    """For each other identity the share of its images that are nearer than the one at a place."""
    value = line[place]
    nearer = (line < value) | ((line == value) & (tie > tie[place]))
    others = identity != own
    count = np.bincount(identity[others], minlength=int(identity.max()) + 1)
    above = np.bincount(identity[others & nearer], minlength=len(count))
    return np.asarray(above[count > 0] / count[count > 0])


def at_most(shares: Array, most: int) -> float:
    """The chance that at most so many independent events of these chances happen."""
    certain = int(np.count_nonzero(shares == 1))
    room = most - certain
    if room < 0:
        return 0.0
    chance = np.zeros(room + 1)
    chance[0] = 1.0
    for share in shares[(shares > 0) & (shares < 1)].tolist():
        chance[1:] = chance[1:] * (1 - share) + chance[:-1] * share
        chance[0] *= 1 - share
    return float(min(1.0, chance.sum()))


class SingleShotValue(QueryValue):
    """The chance that the right image is among the first k, with one image of each identity in the gallery."""

    name = "rankings.single_shot"

    k: int

    def values(self, pairs: Any, cache: SharedCache) -> Floats:
        gallery: Gallery | None = pairs.gallery
        if gallery is None:
            raise Unsupported(
                "shot=single needs the distances of all gallery images",
                remedy="Give labels as truth, and vectors or an array 'distance' as predictions.",
            )
        total, count = np.zeros(len(pairs.units)), np.zeros(len(pairs.units))
        line, before = np.zeros(0), -1
        for unit, row in zip(pairs.owner.tolist(), pairs.row.tolist(), strict=True):
            query, place = int(gallery.query[row]), int(gallery.place[row])
            if query != before:
                line, before = gallery.distances(query), query
            shares = shares_nearer(line, gallery.tie, gallery.identity, int(gallery.identity[place]), place)
            total[unit] += at_most(shares, self.k - 1)
            count[unit] += 1
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

"""Cut records by unit: the rows, and what a row cannot say (images without any), of some units only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from steelyard.align.gather_rankings import as_rows, is_ranked, ranked_again
from steelyard.core.records import Array, BoxRecords, Records


def cut(records: Records, key: tuple[str, ...], part: Callable[[Array], Array], parts: int) -> list[Records]:
    """Records in parts: `part` gives the part that each of some unit ids belongs to."""
    ranked = is_ranked(records)
    rows = as_rows(records, key) if ranked else records
    of_row = part(rows[key[0]])
    images = records.images if isinstance(records, BoxRecords) else None
    of_image = None if images is None else part(images)
    pieces: list[Records] = []
    for number in range(parts):
        mine = np.flatnonzero(of_row == number)
        one = rows.take(mine)
        if isinstance(records, BoxRecords):
            lost = np.flatnonzero(mine == records.zero_id)
            one = replace(
                records,
                columns=one.columns,
                other=one.other,
                place=one.place,
                images=None if images is None or of_image is None else images[of_image == number],
                zero_id=int(lost[0]) if records.zero_id >= 0 and len(lost) else -1,
            )
        pieces.append(ranked_again(one, key) if ranked else one)
    return pieces


def nothing_of(records: Records, key: tuple[str, ...]) -> Records:
    """The same records without any unit."""
    return cut(records, key, lambda ids: np.ones(len(ids), dtype=np.int64), 1)[0]

"""Public names of earlier versions keep working and warn with the new name."""

from __future__ import annotations

import pytest

import steelyard.extend as extend

EXTEND = {
    "Curve": "RankingReader",
    "Data": "CheckData",
    "Facts": "Metadata",
    "Manner": "WriteOptions",
    "Need": "Statistic",
    "Plan": "WeightPlan",
    "Reading": "ReadOptions",
    "Totals": "TotalsView",
    "Wanted": "Requirement",
    "Work": "SharedCache",
    "lent": "registered",
}


@pytest.mark.parametrize(("old", "new"), EXTEND.items())
def test_old_names_of_extend_warn(old: str, new: str) -> None:
    with pytest.warns(
        DeprecationWarning, match=rf"^steelyard\.extend\.{old} is deprecated, use steelyard\.extend\.{new}$"
    ):
        assert getattr(extend, old) is getattr(extend, new)
    assert new in extend.__all__
    assert old not in dir(extend)


def test_names_that_never_existed_are_errors() -> None:
    with pytest.raises(AttributeError, match=r"^module 'steelyard\.extend' has no attribute 'Nothing'$"):
        _ = extend.Nothing

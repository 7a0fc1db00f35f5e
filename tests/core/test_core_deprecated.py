"""Public names of earlier versions keep working and warn with the new name."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from support.refusal import refuses

import steelyard.extend as extend
from steelyard.core.metric import Metric
from steelyard.core.statistic import Cells
from steelyard.results.score import Difference, Score

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
    with refuses(AttributeError, "'steelyard.extend'", "'Nothing'"):
        _ = extend.Nothing


SCORE = Score("mae", "MAE", float("nan"), n_excluded=3, excluded="rows", undefined_reason="no rows")
DIFFERENCE = Difference(
    "mae", "MAE", SCORE, SCORE, 0.0, None, 1.0, 1.0, "undefined", 0, undefined_reason="no pairs", min_detectable=5.0
)


@pytest.mark.parametrize(
    ("value", "old", "new", "wanted"),
    [
        (SCORE, "undefined", "n_excluded", 3),
        (SCORE, "left_out", "excluded", "rows"),
        (SCORE, "why", "undefined_reason", "no rows"),
        (DIFFERENCE, "why", "undefined_reason", "no pairs"),
        (DIFFERENCE, "showable", "min_detectable", 5.0),
    ],
)
def test_old_fields_warn(value: Any, old: str, new: str, wanted: Any) -> None:
    kind = type(value).__name__
    with pytest.warns(DeprecationWarning, match=rf"^{kind}\.{old} is deprecated, use {kind}\.{new}$"):
        assert getattr(value, old) == wanted
    assert getattr(value, new) == wanted


class Base(Metric):
    """A metric of today."""

    name: ClassVar[str] = "deprecated_base"
    title: ClassVar[str] = "base"
    range: ClassVar[tuple[float, float]] = (0, 1)

    def requirements(self) -> tuple[Any, ...]:
        return ()

    def reduce(self, totals: Any) -> Any:
        return totals

    def undefined_reason(self, *totals: Any, **none: Any) -> str:
        return "of the base"


def test_a_metric_that_defines_old_names_works() -> None:
    """Its methods are found by the new names, and `super()` by the old name reaches the class above."""
    with pytest.warns(DeprecationWarning, match="is deprecated, use Metric") as warned:

        class Old(Base):
            few = "t"

            def why(self, totals: Any) -> str:
                return f"old, {super().why(totals)}"

            def left_out(self, totals: Any) -> tuple[float, str]:
                return 2, "units"

            def parts(self, totals: Any) -> Any:
                return totals, totals

    messages = sorted(str(one.message) for one in warned)
    assert messages == [
        f"Metric.{old} (defined by test_a_metric_that_defines_old_names_works.<locals>.Old) is deprecated, use Metric.{new}"
        for old, new in (
            ("few", "small_sample"),
            ("left_out", "excluded"),
            ("parts", "proportions"),
            ("why", "undefined_reason"),
        )
    ]
    made: Any = Old()
    assert made.small_sample == "t"
    with pytest.warns(DeprecationWarning, match=r"^Metric\.why is deprecated, use Metric\.undefined_reason$"):
        assert made.undefined_reason(None) == "old, of the base"
    assert made.excluded(None) == (2, "units")
    assert made.proportions(1) == (1, 1)


def test_old_methods_of_a_metric_warn() -> None:
    class Today(Base):
        def excluded(self, *totals: Any, **none: Any) -> tuple[float, str]:
            return 1, "rows"

    with pytest.warns(DeprecationWarning, match=r"^Metric\.left_out is deprecated, use Metric\.excluded$"):
        assert Today().left_out() == (1, "rows")


def test_cells_that_define_kinds_are_distinct() -> None:
    with pytest.warns(DeprecationWarning, match=r"^Cells\.kinds \(defined by .*\) is deprecated, use Cells\.distinct$"):

        class Old(Cells):
            kinds = True

    assert Old.distinct is True

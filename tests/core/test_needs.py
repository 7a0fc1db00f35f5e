"""Names of what states keep: they do not change when a Python field is renamed, and what is not known is named.

The golden file lists what the metrics of the catalogue declare. A line changes only when what is kept changes its
meaning, and then its version rises: states that were saved before are refused by name, not misread.
"""

from __future__ import annotations

import dataclasses
from dataclasses import field
from typing import Any

from support.paths import TESTS
from support.refusal import refuses

from steelyard.core import catalogue
from steelyard.core.block import SumBlock
from steelyard.core.frozen import frozen
from steelyard.core.statistic import SharedCache, Statistic, Sum
from steelyard.engine.measure import needs_of

GOLDEN = TESTS / "goldens" / "needs.txt"


def declared() -> list[Statistic]:
    """What the metrics of tasks that declare their needs keep, each once."""
    metrics = [m for task in catalogue.TASKS for m in catalogue.metrics(task)]
    return needs_of(metrics)


def test_names_in_saved_states_do_not_change() -> None:
    listed = GOLDEN.read_text(encoding="utf-8").splitlines()
    assert sorted(map(str, declared())) == sorted(listed)  # a new need is a new line


def test_names_of_older_states_are_still_read() -> None:
    older = (GOLDEN.parent / "needs_older.txt").read_text(encoding="utf-8").splitlines()
    assert len(older) >= 13
    for name in older:
        assert str(Statistic.parse(name)) == name


def test_every_name_gives_its_need_again() -> None:
    for need in declared():
        assert Statistic.parse(str(need)) == need


class _Nothing(Sum):
    """Measures nothing."""

    def measure(self, pairs: Any, cache: SharedCache) -> SumBlock:
        raise TypeError("nothing is measured")


def test_a_renamed_field_keeps_its_name_in_states() -> None:
    @frozen
    class Before(_Nothing):
        name = "test.renamed"
        of: str = "rows"

    assert str(Before("mass")) == "test.renamed/1(of=mass)"

    @frozen
    class After(_Nothing):
        name = "test.renamed"
        quantity: str = dataclasses.field(default="rows", metadata={"spec": "of"})

    assert str(After("mass")) == "test.renamed/1(of=mass)"
    assert Statistic.parse("test.renamed/1(of=mass)") == After("mass")


def test_another_version_and_the_unknown_are_named() -> None:
    @frozen
    class Newer(_Nothing):
        name = "test.newer"
        version = 2

    assert str(Newer()) == "test.newer/2"
    with refuses("E-invalid-result", "'test.newer'", "version 1", "version 2"):
        Statistic.parse("test.newer/1")
    with refuses("E-invalid-result", "'test.never/1(of=rows)'"):
        Statistic.parse("test.never/1(of=rows)")
    with refuses("E-invalid-result", "'test.newer/2(of=rows)'"):
        Statistic.parse("test.newer/2(of=rows)")


def test_a_setting_that_was_added_leaves_the_name_at_its_default() -> None:
    @frozen
    class Added(_Nothing):
        name = "test.added"
        of: str
        rule: str = field(default="any", metadata={"added": True})

    assert [str(Added("x")), str(Added("x", "one"))] == ["test.added/1(of=x)", "test.added/1(of=x, rule=one)"]
    assert [Statistic.parse(str(need)) for need in (Added("x"), Added("x", "one"))] == [Added("x"), Added("x", "one")]
    with refuses("E-invalid-result", "whose"):
        Statistic.parse("test.added/1(rule=one)")

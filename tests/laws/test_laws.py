"""The laws of `steelyard.testing` for every metric of every task. None is named here: a new one is tested by being listed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.drawn import DRAWN, VARIANTS
from support.drawn_labels import OF_OWN_DATA

from steelyard.core import catalogue
from steelyard.core.state import State
from steelyard.tasks.labels.data import LabelPairs
from steelyard.testing import Case, Drawn, Law
from steelyard.testing.collect import laws_of

# Many units of these take long to match or to read; their kernels are those of other tasks.
SLOW = ("masks", "keypoints", "oriented", "captions")
# What variants of a task's data are drawn for: the laws about weights and merging.
OF_VARIANTS = {
    "merge_of_cut_state", "merge_is_measuring_at_once", "take_is_weights_of_zero_and_one", "whole_weights_are_repetition",
    "scale_of_weights", "jackknife_leaves_one_unit_out", "every_role_is_plain_rows", "counts_agree_with_rows",
}  # fmt: skip
COUNTED = "labels:counted"  # a row stands for many units, which cannot be taken one by one


class BuiltIn(Case):
    """A case of a built-in task."""

    rows: int | None = None

    def pairs(self, sides: Any) -> Any:
        """Parts know how many rows there are in all, where that decides what is kept."""
        pairs = super().pairs(sides)
        return replace(pairs, among=self.rows) if isinstance(pairs, LabelPairs) else pairs

    def parts(self, seed: int) -> tuple[State, list[State]]:
        """Parts of data with so many rows."""
        self.rows = len(self.draw(seed)[0][self.task.truth.key[0]])
        parts = super().parts(seed)
        self.rows = None
        return parts


def cases() -> list[Any]:
    every: list[tuple[str, Law]] = []
    for name, task in catalogue.built_in().items():
        without = ["report_can_be_shown"]  # which test_pages looks at in a browser
        without += ["counts_agree_with_rows"] if name in SLOW else []
        others = {spec for task_name, *specs in OF_OWN_DATA if task_name == name for spec in specs}
        metrics = [metric for metric in catalogue.metrics(name) if str(metric) not in others]
        every += [(name, law) for law in laws_of(BuiltIn(task, DRAWN[name], metrics), without)]
    for (name, *specs), drawn in OF_OWN_DATA.items():
        metrics = [catalogue.parse(spec, name) for spec in specs]
        case = BuiltIn(catalogue.find_task(name), drawn, metrics)
        every += [(f"{name}:own", law) for law in laws_of(case, ["report_can_be_shown"])]
    for name, (draw, specs) in VARIANTS.items():
        task = name.partition(":")[0]
        metrics = [catalogue.parse(spec, task) for spec in specs]
        case = BuiltIn(catalogue.find_task(task), Drawn(draw, DRAWN[task].perfect, weight=DRAWN[task].weight), metrics)
        wanted = {"merge_is_measuring_at_once"} if name == COUNTED else OF_VARIANTS
        every += [(name, law) for law in laws_of(case) if law.name in wanted]
    return [pytest.param(law, id=f"{name}-{law}") for name, law in every]


@pytest.mark.parametrize("law", cases())
def test_law(law: Law) -> None:
    law()


def test_every_task_has_drawn_data() -> None:
    assert set(catalogue.MODULES) <= set(DRAWN)

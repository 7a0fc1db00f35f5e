"""All laws of a task, to be called one by one or by pytest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from steelyard.core.catalogue import registered
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.task import Task
from steelyard.testing.case import Case
from steelyard.testing.drawn import Drawn
from steelyard.testing.laws import METRIC_LAWS, TASK_LAWS


class Law(Frozen):
    """One law for one metric, or for the task as a whole. Calling it raises AssertionError where it does not hold."""

    case: Case
    test: Callable[..., None]
    metric: Metric | None = None

    @property
    def name(self) -> str:
        """The law's name."""
        return self.test.__name__

    @property
    def meaning(self) -> str:
        """What must hold."""
        return self.test.__doc__ or ""

    def __call__(self) -> None:
        """Test it."""
        with registered(self.case.task):
            self.test(*((self.case,) if self.metric is None else (self.case, self.metric)))

    def __str__(self) -> str:
        return self.name if self.metric is None else f"{self.name}-{self.metric}"


def laws(
    task: Task, drawn: Drawn, metrics: Sequence[Metric] | None = None, without: Collection[str] = ()
) -> tuple[Law, ...]:
    """The laws of a task and of its metrics, without those that are named. The task need not be installed."""
    return laws_of(Case(task, drawn, metrics), without)


def laws_of(case: Case, without: Collection[str] = ()) -> tuple[Law, ...]:
    """The laws of a case."""
    own = [Law(case, test, metric) for test in METRIC_LAWS for metric in case.metrics]
    return tuple(law for law in (*own, *(Law(case, test) for test in TASK_LAWS)) if law.name not in without)


def as_test(every: Sequence[Law]) -> Any:
    """The laws as one parametrised test of pytest: `test_laws = as_test(laws(TASK, DRAWN))`."""
    import pytest

    @pytest.mark.parametrize("law", every, ids=str)
    def test(law: Law) -> None:
        law()

    return test

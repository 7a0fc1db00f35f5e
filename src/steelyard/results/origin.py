"""Where numbers come from: what the task is, what was read, what one model of a comparison was given."""

from __future__ import annotations

from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Coverage
from steelyard.core.request import Request
from steelyard.core.sketch import UnitSketch
from steelyard.version import __version__


class TaskFacts(Frozen):
    """What a reader calls things: the task's title, its unit (dish, image) and the item that is counted in one."""

    title: str
    unit: str
    item: str


class SourceInfo(Frozen):
    """What was read for one side."""

    source: str
    rows: int
    digest: str


class ModelRun(Frozen):
    """One of several runs (seeds, readers, annotators, replies): its name, and what was read for it."""

    name: str
    source: str
    rows: int
    digest: str


class Sources(Frozen):
    """Both sides, the version of Steelyard that made the numbers, and the proxy of truth where there is one.

    `truth_units` is a sketch of the units that have truth, by which a ledger knows a test set again after it grew. Of
    several models it is given once, and it is None where units have no ids.
    `runs` are the runs behind the predictions, or behind the truth where annotators are the runs.
    """

    truth: SourceInfo
    predictions: SourceInfo
    version: str = __version__
    proxy: SourceInfo | None = None
    truth_units: UnitSketch | None = None
    runs: tuple[ModelRun, ...] = ()


class Model(Frozen):
    """One model of a comparison: what was asked for, what was read, how much of it joined, and its name.

    Two models that nobody named have none, and are called A and B.
    """

    request: Request
    sources: Sources
    coverage: Coverage
    name: str = ""

"""The catalogue: every task and its metrics. Gives the words of a spec their meaning.

Built-in tasks stand in a table. Other packages bring theirs as entry points `steelyard.tasks`: `NAME = "module:TASK"`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from steelyard.core import registry
from steelyard.core.errors import InputError, nearest
from steelyard.core.metric import Metric, spec_name
from steelyard.core.sample import Sample, find_sample
from steelyard.core.spec import Call, parse_spec
from steelyard.core.task import Task

# One line per task: the module that holds its TASK. A module is imported when its task is first asked for.
MODULES = {
    "weights": "steelyard.metrics.weights",
    "sequences": "steelyard.metrics.sequences",
    "boxes": "steelyard.metrics.boxes",
    "masks": "steelyard.metrics.masks",
    "keypoints": "steelyard.metrics.keypoints",
    "oriented": "steelyard.metrics.oriented",
    "losses": "steelyard.metrics.losses",
    "ellipses": "steelyard.metrics.ellipses.task",
    "labels": "steelyard.metrics.labels",
    "rankings": "steelyard.metrics.rankings.task",
    "captions": "steelyard.metrics.captions.task",
    "segmentation": "steelyard.metrics.segmentation.task",
    "tracking": "steelyard.metrics.tracking.task",
    "panoptic": "steelyard.metrics.panoptic.task",
    "volumes": "steelyard.metrics.volumes.task",
    "answers": "steelyard.metrics.answers.task",
    "boxes3d": "steelyard.metrics.boxes3d.task",
}


_LENT: dict[str, Task] = {}


@contextmanager
def lent(task: Task) -> Iterator[None]:
    """Have a task found by its name for a while, in this process, though no package that is installed brings it."""
    before = _LENT.get(task.name)
    _LENT[task.name] = task
    try:
        yield
    finally:
        if before is None:
            del _LENT[task.name]
        else:
            _LENT[task.name] = before


class _Tasks(Mapping[str, Task]):
    """Tasks by name, each loaded when it is looked up: the built-in ones, then those that other packages bring."""

    def __getitem__(self, name: str) -> Task:
        if name in _LENT:
            return _LENT[name]
        if name in MODULES:
            task: Task = import_module(MODULES[name]).TASK
            return task
        if name not in registry.brought(registry.TASKS):
            raise KeyError(name)
        return registry.load(registry.TASKS, name, Task, "task")

    def __contains__(self, name: object) -> bool:
        return name in _LENT or name in MODULES or name in registry.brought(registry.TASKS)

    def __iter__(self) -> Iterator[str]:
        yield from MODULES
        yield from (name for name in registry.brought(registry.TASKS) if name not in MODULES)

    def __len__(self) -> int:
        return sum(1 for _ in self)


TASKS: Mapping[str, Task] = _Tasks()


def find_task(name: str) -> Task:
    """The task of that name."""
    if name not in TASKS:
        raise InputError(f"there is no task '{name}'", remedy=nearest(str(name), TASKS))
    return TASKS[name]


def loaded() -> tuple[dict[str, Task], tuple[str, ...]]:
    """Every task that can be loaded, and a sentence for each that cannot."""
    tasks: dict[str, Task] = {}
    problems = list(registry.hidden(registry.TASKS, MODULES, "task"))
    for name in TASKS:
        try:
            tasks[name] = TASKS[name]
        except InputError as error:
            problems.append(str(error))
    return tasks, tuple(problems)


def built_in() -> dict[str, Task]:
    """The tasks of this package, loaded."""
    return {name: TASKS[name] for name in MODULES}


def samples() -> dict[str, Sample]:
    """The samples of all tasks that have one."""
    every = {**MODULES, **{n: p[0].module for n, p in registry.brought(registry.TASKS).items() if n not in MODULES}}
    samples = {name: find_sample(module, name) for name, module in every.items()}
    return {name: sample for name, sample in samples.items() if sample is not None}


def metrics(task: str) -> tuple[Metric, ...]:
    """The metrics of a task, each with its default settings."""
    return tuple(metric for cls in find_task(task).metrics for metric in cls.examples())


def parse(spec: str, task: str) -> Metric:
    """The metric that a spec names: `parse(str(m), task) == m`."""
    return parse_for(spec, find_task(task))


def parse_for(spec: str, task: Task) -> Metric:
    """The metric of a task that a spec names."""
    return _build(_spelled(parse_spec(spec), task), task)


def _spelled(call: Call, task: Task) -> Call:
    """A metric by the name that another tool gives it; settings may follow where that is a name of ours and no more."""
    ours = task.spellings.get(call.name)
    if ours is None:
        return call
    meant = parse_spec(ours)
    settled = call == Call(call.name)
    if not settled and meant != Call(meant.name):
        raise InputError(f"'{call.name}' is '{ours}' and takes no settings", remedy=f"Write them into '{ours}'.")
    return meant if settled else dataclasses.replace(call, name=meant.name)


def _build(call: Call, task: Task) -> Metric:
    classes = {name: cls for cls in task.metrics for name in (cls.name, *cls.aliases)}
    cls = classes.get(call.name)
    if cls is None:
        raise InputError(f"task '{task.name}' has no metric '{call.name}'", remedy=nearest(call.name, classes))
    fields = {field.name: field for field in dataclasses.fields(cls)}
    named = {spec_name(field): field.name for field in dataclasses.fields(cls)}
    settings: dict[str, Any] = {}
    if call.at is not None:
        if cls.at is None:
            raise InputError(f"metric '{call.name}' takes no '@'", remedy=_settings_of(cls))
        settings[cls.at] = call.at
    wrapped = [name for name, field in fields.items() if field.type in ("Metric", Metric)]
    if len(call.values) > len(wrapped):
        raise InputError(f"metric '{call.name}' takes settings by name only", remedy=_settings_of(cls))
    for name, value in zip(wrapped, call.values, strict=False):
        settings[name] = _build(value if isinstance(value, Call) else Call(str(value)), task)
    for name, value in call.settings.items():
        if name not in named or named[name] in settings:
            raise InputError(f"metric '{call.name}' has no setting '{name}'", remedy=_settings_of(cls))
        settings[named[name]] = value
    lacking = [name for name in wrapped if name not in settings]
    if lacking:
        raise InputError(
            f"metric '{call.name}' wraps another metric", remedy=f"Example: {call.name}({task.defaults[0]})."
        )
    metric = cls(**settings)
    metric.check()
    return metric


def _settings_of(cls: type[Metric]) -> str:
    names = [spec_name(field) for field in dataclasses.fields(cls)]
    return f"Its settings: {', '.join(names)}." if names else "It has no settings."

"""The catalogue: every task and its metrics. Gives the words of a spec their meaning.

Built-in tasks stand in a table. Other packages bring theirs as entry points `steelyard.tasks`: `NAME = "module:TASK"`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from steelyard.core import registry
from steelyard.core.errors import DuplicateKey, InputError, InvalidSpec, UnknownMetric, UnknownTask, nearest, nearest_of
from steelyard.core.metric import Metric, spec_aliases, spec_name
from steelyard.core.sample import Sample, find_sample
from steelyard.core.spec import Call, fold_name, parse_spec, render_value
from steelyard.core.task import Task

# One line per task: the module that holds its TASK. A module is imported when its task is first asked for.
MODULES = {
    "weights": "steelyard.tasks.weights.task",
    "sequences": "steelyard.tasks.sequences.task",
    "boxes": "steelyard.tasks.boxes.task",
    "masks": "steelyard.tasks.masks.task",
    "keypoints": "steelyard.tasks.keypoints.task",
    "oriented": "steelyard.tasks.oriented.task",
    "losses": "steelyard.tasks.losses.task",
    "ellipses": "steelyard.tasks.ellipses.task",
    "labels": "steelyard.tasks.labels.task",
    "rankings": "steelyard.tasks.rankings.task",
    "captions": "steelyard.tasks.captions.task",
    "segmentation": "steelyard.tasks.segmentation.task",
    "tracking": "steelyard.tasks.tracking.task",
    "panoptic": "steelyard.tasks.panoptic.task",
    "volumes": "steelyard.tasks.volumes.task",
    "answers": "steelyard.tasks.answers.task",
    "boxes3d": "steelyard.tasks.boxes3d.task",
    "nutrients": "steelyard.tasks.nutrients.task",
    "grounding": "steelyard.tasks.grounding.task",
    "tables": "steelyard.tasks.tables.task",
    "documents": "steelyard.tasks.documents.task",
    "anomalies": "steelyard.tasks.anomalies.task",
    "distributions": "steelyard.tasks.distributions.task",
    "depth": "steelyard.tasks.depth.task",
    "normals": "steelyard.tasks.normals.task",
    "images": "steelyard.tasks.images.task",
    "flow": "steelyard.tasks.flow.task",
    "disparity": "steelyard.tasks.disparity.task",
}

# What people call the tasks, in any case and with spaces, hyphens or underscores.
SYNONYMS = {
    "weights": ("regression", "food weights", "weight", "food weight", "food"),
    "sequences": ("eating sequences", "dietary tracking", "sequence"),
    "boxes": ("detection", "object detection", "bbox", "box", "detections", "bounding boxes"),
    "masks": ("instance", "instance segmentation", "segm", "mask", "instances", "instance masks"),
    "keypoints": ("pose", "pose estimation", "keypoint", "keypoint detection", "human pose"),
    "oriented": (
        "obb",
        "rotated",
        "rotated boxes",
        "oriented boxes",
        "oriented detection",
        "oriented object detection",
        "rotated detection",
    ),
    "losses": ("detection loss", "loss", "training loss"),
    "ellipses": ("ellipse detection", "ellipse"),
    "labels": (
        "classification",
        "multilabel",
        "label",
        "image classification",
        "multiclass",
        "tagging",
        "verification",
        "face verification",
        "ood",
        "ood detection",
        "selective classification",
    ),
    "rankings": (
        "retrieval",
        "search",
        "ranking",
        "image retrieval",
        "recommendation",
        "information retrieval",
        "reid",
        "re-identification",
        "person re-identification",
    ),
    "captions": ("captioning", "caption", "image captioning", "image captions"),
    "segmentation": ("semantic", "semseg", "semantic segmentation", "pixels"),
    "tracking": ("mot", "mots", "tracks", "multi-object tracking", "object tracking", "track"),
    "panoptic": ("panoptic segmentation",),
    "volumes": ("medical", "3d segmentation", "volume", "medical segmentation", "volume segmentation"),
    "answers": ("vqa", "ocr", "qa", "answer", "question answering", "visual question answering", "docvqa"),
    "boxes3d": ("3d detection", "3d", "3d boxes", "3d object detection", "detection 3d", "lidar"),
    "nutrients": ("nutrition", "calories", "nutrient", "food nutrition", "nutrition estimation", "macronutrients"),
    "documents": ("document parsing", "omnidocbench", "ocr pages", "page ocr", "pdf parsing", "pdf to markdown"),
    "anomalies": ("anomaly detection", "mvtec", "anomaly", "defects", "anomaly localization", "loco"),
    "distributions": ("fid", "generative models", "generation", "image generation", "feature distributions"),
    "grounding": (
        "visual grounding",
        "refcoco",
        "referring expressions",
        "phrase grounding",
        "referring segmentation",
        "referring",
    ),
    "tables": ("table recognition", "table structure", "table", "teds", "grits", "pubtabnet"),
    "depth": ("depth estimation", "monocular depth", "depth maps", "monodepth", "mde"),
    "normals": ("surface normals", "normal estimation", "normal maps", "surface normal estimation"),
    "images": ("image quality", "restoration", "super resolution", "image restoration", "psnr", "image"),
    "flow": ("optical flow", "motion", "scene flow"),
    "disparity": ("stereo", "stereo matching", "stereo disparity", "disparities"),
}


_LENT: dict[str, Task] = {}


@contextmanager
def registered(task: Task) -> Iterator[None]:
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
        if name not in registry.plugins(registry.TASKS):
            raise KeyError(name)
        return registry.load(registry.TASKS, name, Task, "task")

    def __contains__(self, name: object) -> bool:
        return name in _LENT or name in MODULES or name in registry.plugins(registry.TASKS)

    def __iter__(self) -> Iterator[str]:
        yield from MODULES
        yield from (name for name in registry.plugins(registry.TASKS) if name not in MODULES)

    def __len__(self) -> int:
        return sum(1 for _ in self)


TASKS: Mapping[str, Task] = _Tasks()


def task_name(name: str) -> str | None:
    """The name of the task that is meant: its own in any spelling, or a synonym; None where there is none."""
    if name in TASKS:
        return name
    key = fold_name(str(name))
    own = next((task for task in TASKS if fold_name(task) == key), None)
    return own or next((task for task, words in SYNONYMS.items() if key in map(fold_name, words)), None)


def find_task(name: str) -> Task:
    """The task of that name, or of that synonym."""
    meant = task_name(name)
    if meant is None:
        raise UnknownTask(
            f"there is no task '{name}'", remedy=_closest(str(name), _task_words(TASKS)) or nearest("", TASKS)
        )
    return TASKS[meant]


def _task_words(tasks: Iterable[str], what: str = "") -> dict[str, str]:
    """What each task may be called, and the task as a message names it."""
    return {fold_name(word): f"{what}'{task}'" for task in tasks for word in (*SYNONYMS.get(task, ()), task)}


def _closest(name: str, words: Mapping[str, str]) -> str:
    """A question for the word that a name is likely a misspelling of, or nothing."""
    close = nearest_of(fold_name(name), words, cutoff=0.5 if len(name) < 4 else 0.6)
    return f"Did you mean {words[close]}?" if close else ""


def loaded_tasks() -> tuple[dict[str, Task], tuple[str, ...]]:
    """Every task that can be loaded, and a sentence for each that cannot."""
    tasks: dict[str, Task] = {}
    problems = list(registry.hidden_names(registry.TASKS, MODULES, "task"))
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
    every = {**MODULES, **{n: p[0].module for n, p in registry.plugins(registry.TASKS).items() if n not in MODULES}}
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
    return _build(parse_spec(spec), task)


def meanings(name: str, task: Task) -> tuple[str, ...]:
    """The specs that a name may stand for in a task; none where it is unknown, several where it is ambiguous.

    Names of metrics come before their aliases and the task's spellings, and these before titles. Case, spaces, hyphens
    and underscores do not count.
    """
    key = fold_name(name)
    for words in (
        [(cls.name, cls.name) for cls in task.metrics],
        [*((alias, cls.name) for cls in task.metrics for alias in cls.aliases), *task.spellings.items()],
        [(cls.title, cls.name) for cls in task.metrics],
    ):
        specs = dict.fromkeys(spec for word, spec in words if fold_name(word) == key)
        if specs:
            return tuple(specs)
    return ()


def _canonical_call(call: Call, task: Task) -> Call:
    """A call by the metric's own name, whatever it was called: `Macro-F1` is `macro(f1)`."""
    if any(cls.name == call.name for cls in task.metrics):
        return call
    specs = meanings(call.name, task)
    if not specs:
        raise UnknownMetric(f"task '{task.name}' has no metric '{call.name}'", remedy=_suggestion(call.name, task))
    if len(specs) > 1:
        listed = f"{', '.join(specs[:-1])} or {specs[-1]}"
        raise InvalidSpec(f"'{call.name}' can mean {listed} in task '{task.name}'", remedy="Write one of these names.")
    meant = parse_spec(specs[0])
    own = meant.settings.keys() & call.settings.keys()
    if (meant.values and call.values) or (meant.at is not None and call.at is not None) or own:
        raise DuplicateKey(
            f"'{call.name}' is '{specs[0]}', which has that setting already",
            remedy=f"Write '{specs[0]}' and change it.",
        )
    at, key = (call.at, call.at_key) if meant.at is None else (meant.at, "")
    return Call(meant.name, at, meant.values or call.values, {**meant.settings, **call.settings}, key)


def suggestion(name: str, tasks: Mapping[str, Task], *, or_task: bool = False) -> str:
    """A sentence that says what a name may be meant for among the metrics of tasks, by meaning, then by letters.

    With `or_task` the name may be a task's, too.
    """
    elsewhere = {task.name: specs[0] for task in tasks.values() if (specs := meanings(name, task))}
    if elsewhere:
        spec = next(iter(elsewhere.values()))
        return f"'{spec}' is a metric of {_tasks_text([task for task, other in elsewhere.items() if other == spec])}."
    words = {
        fold_name(word): f"'{cls.name}'{f' of task {task.name!r}' if len(tasks) > 1 else ''}"
        for task in reversed(list(tasks.values()))
        for cls in reversed(task.metrics)
        for word in (cls.title, *cls.aliases, cls.name)
    }
    return _closest(name, words | (_task_words(tasks, "the task ") if or_task else {}))


def _tasks_text(tasks: list[str]) -> str:
    quoted = [f"'{task}'" for task in tasks]
    return f"task {quoted[0]}" if len(quoted) == 1 else f"the tasks {', '.join(quoted[:-1])} and {quoted[-1]}"


def _suggestion(name: str, task: Task) -> str:
    """What a name that a task does not have may be meant for: elsewhere by meaning, here by letters, or elsewhere."""
    others = {other: found_task for other, found_task in loaded_tasks()[0].items() if other != task.name}
    elsewhere = any(meanings(name, other) for other in others.values())
    here = "" if elsewhere else suggestion(name, {task.name: task})
    all_names = f"Known: {', '.join(sorted(cls.name for cls in task.metrics))}."
    return here or suggestion(name, others) or all_names


def _build(written: Call, task: Task) -> Metric:
    call = _canonical_call(written, task)
    cls = next(cls for cls in task.metrics if cls.name == call.name)
    member = _member(call, cls)
    if member is not None:
        return _build(member, task)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    named = {
        fold_name(word): field.name for field in fields.values() for word in (spec_name(field), *spec_aliases(field))
    }
    settings: dict[str, Any] = {}
    if call.at is not None:
        at = named.get(fold_name(call.at_key)) if call.at_key else cls.at or cls.also_at
        meant_at = task.spellings.get(f"{call.name}@")  # another metric, where a value is given behind @
        if at is None and meant_at is not None:
            return _build(dataclasses.replace(call, name=meant_at), task)
        if at is None or at not in (cls.at, cls.also_at):
            raise InvalidSpec(f"metric '{call.name}' takes no '@{call.at_key}'", remedy=_settings_of(cls))
        own = task.spellings.get(f"{call.name}@{render_value(call.at)}")
        if own is not None:
            return _build(dataclasses.replace(call, name=own, at=None, at_key=""), task)
        settings[at] = call.at
    wrapped = [name for name, field in fields.items() if field.type in ("Metric", Metric)]
    if cls.bare and call.values and not wrapped and cls.bare not in call.settings:
        settings[cls.bare] = str(call.values[0])
        call = dataclasses.replace(call, values=call.values[1:])
    values = (
        call.values if wrapped else [value for value in call.values if not _same_metric(value, written, call, task)]
    )
    if len(values) > len(wrapped):
        raise InvalidSpec(f"metric '{call.name}' takes settings by name only", remedy=_settings_of(cls))
    settings |= zip(wrapped, values, strict=False)
    for name, value in call.settings.items():
        meant = named.get(fold_name(name))
        if meant is None:
            raise InvalidSpec(f"metric '{call.name}' has no setting '{name}'", remedy=_settings_of(cls))
        if meant in settings:
            raise DuplicateKey(f"metric '{call.name}': '{name}' is given twice", remedy="Give it once.")
        settings[meant] = value
    for name in settings.keys() & set(wrapped):
        value = settings[name]
        settings[name] = _build(value if isinstance(value, Call) else Call(str(value)), task)
    lacking = [name for name in wrapped if name not in settings]
    if lacking:
        raise InvalidSpec(
            f"metric '{call.name}' wraps another metric", remedy=f"Example: {call.name}({task.defaults[0]})."
        )
    metric = cls(**settings)
    metric.check_settings()
    return metric


def _members(cls: type[Metric]) -> Mapping[str, Mapping[str, str]]:
    members: Mapping[str, Mapping[str, str]] = vars(cls).get("members", {})
    return members


def _member(call: Call, cls: type[Metric]) -> Call | None:
    """A call of the member of a family that a setting asks for, by its own name: `wer(part=s)` is `wer_s`."""
    for name, value in call.settings.items():
        known = _members(cls).get(name)
        if known is not None:
            if value not in known:
                raise InvalidSpec(
                    f"metric '{call.name}': {name} cannot be {render_value(value)}",
                    remedy=f"Choose one of: {', '.join(known)}.",
                )
            others = {other: given for other, given in call.settings.items() if other != name}
            return dataclasses.replace(call, name=known[value], settings=others)
    return None


def _same_metric(value: Any, written: Call, call: Call, task: Task) -> bool:
    """Whether a value in brackets is another name of the metric, as in `Mean Absolute Error (MAE)`."""
    other = isinstance(value, str) and fold_name(value) != fold_name(written.name)
    return other and meanings(value, task) == (call.name,)


def _settings_of(cls: type[Metric]) -> str:
    names = [*(spec_name(field) for field in dataclasses.fields(cls)), *_members(cls)]
    return f"Its settings: {', '.join(names)}." if names else "It has no settings."

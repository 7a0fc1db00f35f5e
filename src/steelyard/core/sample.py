"""Sample: small data that come with a task, for `steelyard demo` and for tests.

A sample is a folder `samples/TASK` in the package that holds the task: `truth.*`, `model_a.*` and `model_b.*`, in any
format that the task reads, and `sample.json`, which names the column to slice by: {"by": "cuisine"}.
"""

from __future__ import annotations

import json
from importlib.resources import files
from importlib.resources.abc import Traversable

from steelyard.core.frozen import frozen

ABOUT = "sample.json"


@frozen
class Sample:
    """The files of a sample by name, and what to slice by. `a` and `b` are the predictions of two models."""

    folder: Traversable
    truth: str
    a: str
    b: str
    by: str = ""

    @property
    def files(self) -> tuple[Traversable, ...]:
        """What a reader of the sample needs."""
        return tuple(file for file in self.folder.iterdir() if file.is_file() and file.name != ABOUT)


def find_sample(module: str, task: str) -> Sample | None:
    """The sample of the task that a module holds, or None where its package has none."""
    folder = files(module.partition(".")[0]) / "samples" / task
    if not folder.is_dir():
        return None
    named = {file.name.rpartition(".")[0]: file.name for file in folder.iterdir() if file.name != ABOUT}
    if not {"truth", "model_a", "model_b"} <= named.keys():
        return None
    about = folder / ABOUT
    by = json.loads(about.read_text(encoding="utf-8"))["by"] if about.is_file() else ""
    return Sample(folder, named["truth"], named["model_a"], named["model_b"], by)

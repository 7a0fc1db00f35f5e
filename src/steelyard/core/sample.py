"""Sample: small data that come with a task, for `steelyard demo` and for tests.

A sample is a folder `samples/TASK` in the package that holds the task: `truth.*`, `model_a.*` and `model_b.*`, in any
format that the task reads (or folders of those names), and `sample.json`, which names the column to slice by, and the
options that the task needs: {"by": "city", "options": {"names": "names.txt"}}.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from steelyard.core.frozen import Frozen

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

ABOUT = "sample.json"


class Sample(Frozen):
    """The files of a sample by name, and what to slice by. `a` and `b` are the predictions of two models.

    An option that names a file of the sample means that file.
    """

    folder: Traversable
    truth: str
    a: str
    b: str
    by: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def files(self) -> tuple[tuple[str, Traversable], ...]:
        """What a reader of the sample needs, by its path in the folder."""
        return tuple((path, file) for path, file in _files(self.folder, "") if path != ABOUT)


def _files(folder: Traversable, under: str) -> Iterator[tuple[str, Traversable]]:
    for file in folder.iterdir():
        if file.is_dir():
            yield from _files(file, f"{under}{file.name}/")
        else:
            yield f"{under}{file.name}", file


def find_sample(module: str, task: str) -> Sample | None:
    """The sample of the task that a module holds, or None where its package has none."""
    import json
    from importlib.resources import files  # a demo alone needs them

    try:
        folder = files(module.partition(".")[0]) / "samples" / task
    except Exception:  # a single module holds no files before Python 3.12; and a foreign package may not import
        return None
    if not folder.is_dir():
        return None
    entries = sorted(folder.iterdir(), key=lambda file: file.is_file())  # a file goes before a folder of its name
    named = {file.name.rpartition(".")[0] or file.name: file.name for file in entries if file.name != ABOUT}
    if not {"truth", "model_a", "model_b"} <= named.keys():
        return None
    about = folder / ABOUT
    settings = json.loads(about.read_text(encoding="utf-8")) if about.is_file() else {}
    sides = named["truth"], named["model_a"], named["model_b"]
    return Sample(folder, *sides, settings.get("by", ""), settings.get("options", {}))

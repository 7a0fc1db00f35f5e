"""Metadata: what holds for a whole measurement, such as its classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.deprecated import Renamed
from steelyard.core.errors import Conflict, Incompatible
from steelyard.core.frozen import Frozen
from steelyard.core.numerals import is_whole

Codes = NDArray[np.int64]


class Axis(Frozen):
    """Ids that codes count along, in a fixed order: the classes. `names` are what they are called, if not by their ids.

    Numbers are ordered as numbers and texts as texts; with `whole`, texts that are all whole numbers as those.
    """

    ids: tuple[Any, ...]
    names: tuple[str, ...] = ()
    whole: bool = False
    shown = Renamed("display_names")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def display_names(self) -> tuple[str, ...]:
        """What a reader sees: the names, or else the ids."""
        return self.names or tuple(map(str, self.ids))

    def find(self, label: object) -> int:
        """The code of a class that a user names by its name or its id; -1 where there is none."""
        for names in (self.display_names, tuple(map(str, self.ids))):
            if str(label) in names:
                return names.index(str(label))
        return -1

    @staticmethod
    def union(parts: Sequence[Axis]) -> tuple[Axis, list[Codes]]:
        """One axis with all ids, and for each part the code there of each of its own. Equal axes keep their order."""
        if all(part == parts[0] for part in parts):
            return parts[0], [np.arange(len(part), dtype=np.int64) for part in parts]
        every = {i for part in parts for i in part.ids}
        whole = parts[0].whole
        ids: tuple[Any, ...]
        if all(isinstance(i, int) for i in every):
            ids = tuple(sorted(every))
        else:
            texts = {str(i) for i in every}
            ids = tuple(sorted(texts, key=int if whole and all(map(_is_whole, texts)) else str))
        place = {str(i): code for code, i in enumerate(ids)}
        shown: dict[str, str] = {}
        for part in parts:
            for label, name in zip(part.ids, part.display_names, strict=True):
                if shown.setdefault(str(label), name) != name:
                    raise Conflict(
                        f"class '{label}' is called '{shown[str(label)]}' and '{name}'", remedy="Name each class alike."
                    )
        named = any(part.names for part in parts)
        axis = Axis(ids, tuple(shown[str(i)] for i in ids) if named else (), whole)
        return axis, [np.array([place[str(i)] for i in part.ids], dtype=np.int64) for part in parts]


def _is_whole(text: str) -> bool:
    return is_whole(text, signed=True) and str(int(text)) == text


class Metadata(Frozen):
    """What holds for all units: `axes` by name, `flags` that must be equal in what is merged, and what the data hold.

    `holds` names what every part has: scores, labels. Merged facts hold what all parts do.
    """

    axes: Mapping[str, Axis] = field(default_factory=dict)
    flags: Mapping[str, Any] = field(default_factory=dict)
    holds: frozenset[str] = frozenset()

    def size(self, axis: str) -> int:
        """How many ids an axis has."""
        return len(self.axes[axis])

    @staticmethod
    def merge(parts: Sequence[Metadata]) -> tuple[Metadata, list[Mapping[str, Codes]]]:
        """Metadata of all parts, and for each part the new codes along each axis."""
        first = parts[0]
        # A part without units may not know a flag: None.
        flags = {n: next((p.flags[n] for p in parts if p.flags.get(n) is not None), None) for n in first.flags}
        for part in parts[1:]:
            if part.axes.keys() != first.axes.keys():
                raise Incompatible("measurements of different tasks cannot be merged", remedy="Give parts of one task.")
            for name, value in flags.items():
                if name not in part.flags or part.flags[name] not in (value, None):
                    raise Incompatible(
                        f"measurements that differ in '{name}' cannot be merged: {value} and {part.flags.get(name)}",
                        remedy="Give all parts in the same form.",
                    )
        moved: list[dict[str, Codes]] = [{} for _ in parts]
        axes: dict[str, Axis] = {}
        for name in first.axes:
            axes[name], codes = Axis.union([part.axes[name] for part in parts])
            for mine, code in zip(moved, codes, strict=True):
                mine[name] = code
        holds = frozenset.intersection(*(part.holds for part in parts))
        return Metadata(axes, flags, holds), list(moved)

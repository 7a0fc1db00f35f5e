"""Old public names: they keep working, and each use gives a DeprecationWarning that says the new name."""

from __future__ import annotations

import warnings
from typing import Any


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn that a public name has a new name."""
    warnings.warn(f"{old} is deprecated, use {new}", DeprecationWarning, stacklevel=stacklevel)


class Renamed:
    """A deprecated attribute: reading it returns the attribute that has the new name."""

    def __init__(self, new: str) -> None:
        self.new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self.old, self.owner = name, owner.__name__

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        warn_renamed(f"{self.owner}.{self.old}", f"{self.owner}.{self.new}")
        return getattr(instance, self.new)

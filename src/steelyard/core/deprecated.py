"""Old public names: they keep working, and each use gives a DeprecationWarning that says the new name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn that a public name has a new name."""
    warnings.warn(f"{old} is deprecated, use {new}", DeprecationWarning, stacklevel=stacklevel)


def adopt_renamed(cls: type, base: type, renamed: Mapping[str, str]) -> None:
    """Let a subclass that defines an attribute under its old name provide the new one, with a warning.

    `Renamed` lets its calls of `super()` by the old name reach the classes above it.
    """
    for old, new in renamed.items():
        own: Any = cls.__dict__.get(old)
        if old not in cls.__dict__ or new in cls.__dict__:
            continue
        warn_renamed(f"{base.__name__}.{old} (defined by {cls.__qualname__})", f"{base.__name__}.{new}", stacklevel=4)
        setattr(cls, new, own)


class RenamedKeywords(type):
    """Metaclass of values whose constructor accepts the old names of fields (`Renamed`), with a warning."""

    def __call__(cls, *values: Any, **named: Any) -> Any:
        """Make an instance, with old names of fields replaced by the new ones."""
        for old in [name for name in named if isinstance(getattr(cls, name, None), Renamed)]:
            new = getattr(cls, old).new
            warn_renamed(f"{cls.__name__}({old}=...)", f"{cls.__name__}({new}=...)")
            named[new] = named.pop(old)
        return super().__call__(*values, **named)


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
        classes = type(instance).__mro__
        adopted = [i for i, cls in enumerate(classes) if cls.__dict__.get(self.old, self) is not self]
        if not adopted:
            return getattr(instance, self.new)
        above = next(cls for cls in classes[adopted[-1] + 1 :] if self.new in cls.__dict__)  # `super()` of an old name
        value: Any = above.__dict__[self.new]
        return value.__get__(instance, type(instance)) if hasattr(value, "__get__") else value

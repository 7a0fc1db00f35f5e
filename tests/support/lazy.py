"""Packages that take long to import, imported by the first test that uses them instead of by every collection."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Lazy:
    """A module that is imported when an attribute of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") or attribute in ("_mock_name", "pytestmark"):  # collection asks for these
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)


def lazy(name: str) -> Any:
    """`torch = lazy("torch")` at the top of a test file stands for `import torch`."""
    return Lazy(name)

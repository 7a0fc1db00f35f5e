"""Putting drop-ins in the place of the packages that they replace."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

from steelyard.compat.packages import DROP_INS
from steelyard.core.errors import UnknownName, nearest

_installed: dict[str, str] = {}  # module of the package: module of ours
_before: dict[str, ModuleType] = {}  # what such a module was when it was replaced


class _Loader:
    """Load a module of ours under the name of the module that it replaces.

    The base classes of `importlib.abc` are left out: importing them costs a tenth of a small evaluation.
    """

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = import_module(_installed[name])


class _Finder:
    """Answer imports of the modules that are replaced, so that a drop-in is loaded when it is imported, not before."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, cast(Any, _Loader())) if fullname in _installed else None


_FINDER = _Finder()


def install(*packages: str) -> None:
    """From here on importing these packages gives Steelyard's drop-ins; without names, all that `DROP_INS` lists.

    Call it before the code that uses a package is imported: a name that was imported already stays what it was.
    Calling it again changes nothing.
    """
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    for package in packages or DROP_INS:
        for name, ours in _modules(package).items():
            _installed[name] = ours
            module = sys.modules.get(name)
            if module is not None and module.__name__ != ours:
                _before[name] = module
                _replace(name, import_module(ours))


def uninstall(*packages: str) -> None:
    """Undo `install`: later imports give the real packages again, where they are installed."""
    for package in packages or DROP_INS:
        for name in _modules(package):
            if _installed.pop(name, None) is None:
                continue
            _replace(name, _before.pop(name, None))
    if not _installed and _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)


def _modules(package: str) -> dict[str, str]:
    if package not in DROP_INS:
        raise UnknownName(f"there is no drop-in for '{package}'", remedy=nearest(package, DROP_INS))
    names = (package + part for part in DROP_INS[package].modules)
    return {name: f"steelyard.compat.{name}" for name in names}


def _replace(name: str, module: ModuleType | None) -> None:
    """Let imports give this module, or forget the one that is loaded."""
    parent, _, child = name.rpartition(".")
    loaded = sys.modules.get(parent)
    if module is not None:
        sys.modules[name] = module
        if loaded is not None:
            setattr(loaded, child, module)
    else:
        sys.modules.pop(name, None)
        if loaded is not None and not loaded.__name__.startswith("steelyard.") and hasattr(loaded, child):
            delattr(loaded, child)


def install_pycocotools() -> None:
    """Install the drop-in for pycocotools: `install("pycocotools")`."""
    install("pycocotools")


def uninstall_pycocotools() -> None:
    """Undo `install_pycocotools`."""
    uninstall("pycocotools")

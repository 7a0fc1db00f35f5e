"""Putting a drop-in in the place of the package that it stands for."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

MODULES = ("", ".coco", ".cocoeval", ".mask")
_before: dict[str, ModuleType | None] = {}


def install_pycocotools() -> None:
    """From here on `import pycocotools` and its modules give Steelyard's.

    Call it before the code that uses pycocotools is imported: a name that was imported already stays what it was.
    Calling it again changes nothing.
    """
    for part in MODULES:
        name = f"pycocotools{part}"
        ours = import_module(f"steelyard.compat.pycocotools{part}")
        if sys.modules.get(name) is not ours:
            _before.setdefault(name, sys.modules.get(name))
            sys.modules[name] = ours


def uninstall_pycocotools() -> None:
    """Undo `install_pycocotools`: later imports give the real package again, where it is installed."""
    for name, module in _before.items():
        if module is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = module
    _before.clear()

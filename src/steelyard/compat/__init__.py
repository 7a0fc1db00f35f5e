"""Steelyard under other packages' names, so that code written for them runs unchanged."""

from steelyard.compat.install import install, install_pycocotools, uninstall, uninstall_pycocotools
from steelyard.compat.packages import DROP_INS, DropIn
from steelyard.compat.report import report

__all__ = ["DROP_INS", "DropIn", "install", "install_pycocotools", "report", "uninstall", "uninstall_pycocotools"]

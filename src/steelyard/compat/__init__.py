"""Steelyard under other tools' names, so that code written for them runs unchanged."""

from steelyard.compat.install import install_pycocotools, uninstall_pycocotools

__all__ = ["install_pycocotools", "uninstall_pycocotools"]

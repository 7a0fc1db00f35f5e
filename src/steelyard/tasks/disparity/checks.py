"""Checks of `disparity`: see `tasks.fields.checks`."""

from __future__ import annotations

from steelyard.tasks.fields.checks import disparity_checks

CHECKS = disparity_checks()

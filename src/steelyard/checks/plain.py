"""Checks of a task that brings none of its own: ids that do not meet. Rows that may not appear twice are its join's."""

from __future__ import annotations

from steelyard.checks.check import Checks
from steelyard.checks.ids import with_ids

CHECKS = with_ids(Checks(), repeats=False)

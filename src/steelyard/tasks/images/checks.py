"""Checks of `images`: channels that are swapped, images that are shifted, and settings that hide an error."""

from __future__ import annotations

from steelyard.checks.check import Checks
from steelyard.checks.ids import with_ids

CHECKS = with_ids(Checks(), repeats=False)

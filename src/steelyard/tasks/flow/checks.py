"""Checks of `flow`: see `tasks.fields.checks`."""

from __future__ import annotations

from steelyard.tasks.fields.checks import flow_checks

CHECKS = flow_checks()

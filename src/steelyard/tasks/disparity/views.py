"""What is shown beside the scores of `disparity`: see `tasks.fields.views`."""

from __future__ import annotations

from steelyard.tasks.fields.explain import explain
from steelyard.tasks.fields.views import figures, listing, scene, tables

__all__ = ["explain", "figures", "listing", "scene", "tables"]

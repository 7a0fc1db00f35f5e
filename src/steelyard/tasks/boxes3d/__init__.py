"""Boxes in space: see `task`."""

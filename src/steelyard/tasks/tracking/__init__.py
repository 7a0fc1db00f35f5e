"""Tracking: see `task`."""

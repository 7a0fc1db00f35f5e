"""Task `flow`: see `task`."""

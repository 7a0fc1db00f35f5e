"""Task `disparity`: see `task`."""

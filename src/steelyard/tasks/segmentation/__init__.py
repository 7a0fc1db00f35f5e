"""Task `segmentation`: semantic label maps."""

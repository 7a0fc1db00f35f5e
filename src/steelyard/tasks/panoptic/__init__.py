"""Task `panoptic`: segments of things and stuff."""

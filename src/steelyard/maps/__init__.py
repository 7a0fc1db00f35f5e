"""Maps: a file or an array of pixels or voxels as a grid of whole numbers. Not for records, classes or scores."""

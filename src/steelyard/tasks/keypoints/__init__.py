"""Task `keypoints`: objects found in images, each a set of named points with a class and a score."""

"""Task `oriented`: objects found in images, each a rotated box or a quadrilateral with a class and a score."""

"""Task `masks`: objects found in images, each a mask with a class and a score."""

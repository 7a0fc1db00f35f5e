"""Task `grounding`: objects that a text names in an image, and the boxes, masks or points of the reply."""

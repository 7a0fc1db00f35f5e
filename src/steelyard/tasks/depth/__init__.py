"""Task `depth`: the distance of each pixel, measured or up to a scale and a shift."""

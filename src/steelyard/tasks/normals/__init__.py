"""Task `normals`: the direction of the surface at each pixel."""

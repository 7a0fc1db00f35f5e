"""Task `distributions`: sets of feature vectors of real and of generated images, compared as wholes."""

"""Task `sequences`: the weight of a food while it is eaten, frame by frame."""

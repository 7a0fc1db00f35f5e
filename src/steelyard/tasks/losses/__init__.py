"""Task `losses`: what a detector was trained with, as numbers of a report, image by image."""

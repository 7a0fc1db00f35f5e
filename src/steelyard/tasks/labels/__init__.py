"""Task `labels`: which class each row has; one label per row, or several."""

"""Task `images`: images against a reference."""

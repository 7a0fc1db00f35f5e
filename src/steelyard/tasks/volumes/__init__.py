"""Task `volumes`: masks of structures in two or three dimensions."""

"""Task `tables`: tables as HTML, compared as trees (TEDS) and as grids (GriTS)."""

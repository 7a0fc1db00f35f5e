"""Evidence packs: results with all that is needed to check them, in one archive."""

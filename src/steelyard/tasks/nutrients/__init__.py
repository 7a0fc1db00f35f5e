"""Task `nutrients`: several targets per dish, such as mass, energy and protein, and lists of ingredients."""

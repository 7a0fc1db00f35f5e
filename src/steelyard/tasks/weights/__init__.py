"""Task `weights`: the grams of each food item, dish by dish."""

"""Checks of data before a number is believed: what makes scores silently wrong, found by rules and by statistics."""

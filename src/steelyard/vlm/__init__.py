"""The vision-language runner: shows a frame, asks for the grams that are left, and keeps every reply."""

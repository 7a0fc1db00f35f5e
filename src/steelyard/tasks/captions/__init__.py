"""Metrics of captions: scene graphs (SPICE) in one file, n-grams in another, the task beside them."""

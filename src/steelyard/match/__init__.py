"""Similarity of objects and their assignment."""

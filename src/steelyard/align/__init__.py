"""Joining truth and predictions by id. Nothing is dropped in silence."""

"""Intervals, slices and comparisons for every metric at once. Knows Stats and Metric, no task."""

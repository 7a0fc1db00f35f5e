"""Evaluation over shards, on the cores of this machine or on a cluster, with a bit-identical report."""

from steelyard.scale.run import evaluate_shards

__all__ = ["evaluate_shards"]

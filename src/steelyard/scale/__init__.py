"""The same evaluation over shards, on the cores of this machine or on a cluster: same report, to the bit."""

from steelyard.scale.run import evaluate_shards

__all__ = ["evaluate_shards"]

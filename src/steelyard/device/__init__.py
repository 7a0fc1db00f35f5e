"""Counts on a device: what an accumulator adds up where the tensors are, and brings to the CPU for a report only.

A task names its module in `Task.device`; the module has `counter(options, device)`, which gives a `Counter`.
"""

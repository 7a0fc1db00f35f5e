"""Parts of the data: what an accumulator gathers, what is left of it once compacted, and counts on a device.

A task that counts on a device names its module in `Task.device`; the module has `counter(options, device)`, which
returns a `Counter` (see `tensors`).
"""

"""Accumulators of the processes of a distributed training, brought together over torch.distributed.

>>> from steelyard.torch import sync
>>> report = sync(accumulator).report()  # doctest: +SKIP

Exact whatever the batches of the ranks: uneven ones, none at all, and the units that a padded sampler repeats, which
are known by their id and count once.
"""

from __future__ import annotations

from typing import Any

from steelyard.core.errors import InputError, MissingExtra, ShapeMismatch, UnknownName
from steelyard.partial.accumulator import Accumulator

CHUNK = 1 << 26  # bytes of one message


def sync(accumulator: Accumulator, *, to: int | None = None, group: Any = None) -> Accumulator:
    """What the accumulators of all ranks hold together: on every rank, or on rank `to` only.

    Every rank of the group must call it, whether or not it has seen a batch; the others of `to` get back an empty
    accumulator. The given ones stay as they are. Works over gloo (CPU) and nccl (the tensors go through the current
    GPU). Without an initialised process group it gives what this process holds.
    """
    try:
        import torch
        import torch.distributed as dist
    except ImportError:
        raise MissingExtra("steelyard.torch", "torch") from None
    if not dist.is_available() or not dist.is_initialized():
        return Accumulator.from_bytes(accumulator.to_bytes())
    size, rank = dist.get_world_size(group), dist.get_rank(group)
    if to is not None and not 0 <= to < size:
        raise UnknownName(f"there is no rank {to} among {size}")
    device = _device(group)
    mine, problem = b"", None
    try:
        mine = accumulator.to_bytes()
    except InputError as error:  # sent to all ranks: else they would wait for this one
        problem = error
    sizes = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(size)]
    dist.all_gather(sizes, torch.tensor([-1 if problem else len(mine)], dtype=torch.int64, device=device), group=group)
    lengths = [int(one.item()) for one in sizes]
    if problem is not None:
        raise problem
    if min(lengths) < 0:
        raise ShapeMismatch(
            f"the accumulator of rank {lengths.index(-1)} cannot be gathered", remedy="See its message."
        )
    whole = accumulator.empty()
    for source in range(size):  # in the order of the ranks, one at a time: memory for one state more
        state = _broadcast(mine, lengths[source], source, rank, device, group)
        if to is None or to == rank:
            part = Accumulator.from_bytes(state, f"the state of rank {source}")
            if part.compacted is not None and not len(whole) and whole.compacted is None:
                whole = part
            else:
                whole.merge(part)
    return whole


def _device(group: Any) -> Any:
    """Where tensors must be for a group's backend: nccl moves only what is on a GPU; a rank's is the current one."""
    import torch
    import torch.distributed as dist

    on_gpu = dist.get_backend(group) == "nccl"
    return torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")


def _broadcast(mine: bytes, length: int, source: int, rank: int, device: Any, group: Any) -> bytes:
    """The bytes of one rank, on all."""
    import torch
    import torch.distributed as dist

    parts = []
    for start in range(0, length, CHUNK):
        count = min(CHUNK, length - start)
        if rank == source:
            part = torch.frombuffer(bytearray(mine[start : start + count]), dtype=torch.uint8).to(device)
        else:
            part = torch.empty(count, dtype=torch.uint8, device=device)
        dist.broadcast(part, src=dist.get_global_rank(group, source) if group is not None else source, group=group)
        parts.append(part.cpu().numpy().tobytes())
    return b"".join(parts)

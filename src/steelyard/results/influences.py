"""Influences kept in a result: what each resampling unit contributes to each value, and by what key it is known.

They are all that a test of a difference needs, so finished results are compared, planned from and pooled without their
data, with the p and the interval that the data would give.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.core.counts import count_text
from steelyard.core.frozen import Frozen
from steelyard.results.same import equal

ResamplingUnit = Literal["units", "clusters", "groups"]


class MetricInfluence(Frozen):
    """The influences `psi` of the resampling units on a metric's `value`, in the order of their keys.

    `lost` counts the units without which the metric has no value; their influence is 0. `range` is the metric's own,
    `total` says that it is a plain count, and `curve` that it reads a ranking, whose influences are scaled by the draws
    of the score. `resting` is how many units have a value of their own, and `sizes` are their weights or the sizes of
    their clusters where these differ.
    """

    value: float
    psi: NDArray[Any]
    range: tuple[float, float]
    resting: int
    lost: int = 0
    total: bool = False
    curve: bool = False
    sizes: NDArray[Any] | None = None

    __eq__ = equal

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        if not np.isfinite(self.psi).all():
            return {"psi": "holds a value that is not finite"}
        if not self.range[0] < self.range[1]:
            return {"range": f"goes from {self.range[0]:g} to {self.range[1]:g}"}
        if self.sizes is not None and not (len(self.sizes) and (self.sizes > 0).all()):
            return {"sizes": "holds a size that is not above 0"}
        return {}


class Influences(Frozen):
    """The influences of one model, or of the two of a comparison: `models[0]["mae"].psi`.

    `of` says what is resampled: units, clusters, or from 1,001 of these on a thousand groups of them. `keys` are their
    64-bit keys as base64 (unsigned, little endian), and `digest` is the SHA-256 of these. `units` is how many units or
    clusters there are.
    """

    of: ResamplingUnit
    units: int
    digest: str
    keys: str
    models: tuple[Mapping[str, MetricInfluence], ...]

    __eq__ = equal

    @cached_property
    def unit_keys(self) -> NDArray[np.uint64]:
        """The keys as numbers."""
        return unpack_keys(self.keys)

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        try:
            unpack_keys(self.keys)
        except ValueError as error:
            return {"keys": str(error)}
        if self.digest != digest_of_keys(self.unit_keys):
            return {"digest": "does not match the keys"}
        if len(np.unique(self.unit_keys)) != len(self.unit_keys):
            return {"keys": "holds a key twice"}
        for model in self.models:
            for spec, influence in model.items():
                if len(influence.psi) != len(self.unit_keys):
                    return {
                        "models": (
                            f"has {count_text(len(influence.psi), 'influence')} of {spec} "
                            f"for {len(self.unit_keys)} keys"
                        )
                    }
        return {} if self.models else {"models": "is empty"}


def pack_keys(keys: NDArray[Any]) -> str:
    """Keys as base64 of 64-bit unsigned integers, little endian."""
    return base64.b64encode(np.asarray(keys, dtype="<u8").tobytes()).decode("ascii")


def unpack_keys(text: str) -> NDArray[np.uint64]:
    """The keys of a text that `pack_keys` made. Raises ValueError where it is not one."""
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), dtype="<u8").astype(np.uint64)
    except (binascii.Error, ValueError):
        raise ValueError("is not base64 of 64-bit integers") from None


def digest_of_keys(keys: NDArray[Any]) -> str:
    """The digest of keys in their order."""
    import hashlib  # few results keep influences

    return f"sha256:{hashlib.sha256(np.asarray(keys, dtype='<u8').tobytes()).hexdigest()}"

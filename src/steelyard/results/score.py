"""Score: a number that says how sure it is."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Any

from steelyard.core.frozen import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray


@frozen
class Score:
    """A metric's value with its interval, on how many units it stands, and what was left out.

    `value` is nan where undefined, and then `why` says the reason. `interval` is None when it was not asked for or
    cannot be had; `undefined` counts what the metric had to leave out, and `left_out` says what that was. `draws` are
    the values under the bootstrap draws of units, where they were asked to be kept: those of two models on the same
    truth are paired.
    """

    spec: str
    label: str
    value: float
    interval: tuple[float, float] | None = None
    units: int = 0
    undefined: int = 0
    left_out: str = ""
    why: str = ""
    notes: tuple[str, ...] = ()
    better: str = "higher"
    measure: str = ""
    draws: NDArray[Any] | None = field(default=None, repr=False, compare=False)

    @property
    def defined(self) -> bool:
        """Whether there is a number."""
        return not math.isnan(self.value)

    def __float__(self) -> float:
        return self.value


@frozen
class Difference:
    """Model B against model A on the same units: `difference` is B minus A.

    For a metric whose best value is zero (bias) the difference is that of the distances from zero. `p` is the
    two-sided p-value of a paired randomisation over units, `p_holm` the same corrected for all metrics shown.
    """

    spec: str
    label: str
    a: Score
    b: Score
    difference: float
    interval: tuple[float, float] | None
    p: float
    p_holm: float
    verdict: str
    units: int
    why: str = ""
    better: str = "higher"
    measure: str = ""

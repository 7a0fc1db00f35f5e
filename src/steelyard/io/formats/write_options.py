"""Loss and WriteOptions: what a format cannot hold, and how it is written where it leaves a choice."""

from __future__ import annotations

from steelyard.core.frozen import frozen


@frozen
class Loss:
    """Something that the target cannot hold (`lost`), or holds in another way (`changed`)."""

    kind: str
    what: str
    count: int
    why: str

    def text(self) -> str:
        """One line."""
        return f"{self.kind}: {self.what} ({self.count:,}): {self.why}"


@frozen
class WriteOptions:
    """How a data set is to be written, where a format leaves a choice."""

    pixels: str = "inclusive"
    whole: bool = False
    polygons: bool = False

"""ReadOptions: what a user states about a source that the source does not say itself."""

from __future__ import annotations

from steelyard.core.frozen import frozen


@frozen
class ReadOptions:
    """How a source is to be read.

    `images` is the folder of the pictures, `names` a file of class names, `pixels` how VOC counts, `verified` the file
    of OpenImages' labels of whole images, `hierarchy` that of its classes.
    """

    format: str = "auto"
    images: str | None = None
    names: str | None = None
    pixels: str = "inclusive"
    verified: str | None = None
    hierarchy: str | None = None

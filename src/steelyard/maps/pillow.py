"""Pictures that Pillow decodes: JPEG, WebP, BMP, PPM, and what else it reads."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.counts import count_text
from steelyard.core.errors import InputError, InvalidFile, NotInstalled, TooLarge, Unsupported
from steelyard.maps.png import MOST_PIXELS

Array = NDArray[Any]
_MODES = {"L": (1, False), "RGB": (3, False), "LA": (2, True), "RGBA": (4, True)}


def pillow_version() -> str:
    """The version of Pillow, or nothing where it is not installed."""
    try:
        from PIL import __version__
    except ImportError:
        return ""
    return str(__version__)


def pillow_pixels(data: bytes, path: str) -> tuple[Array, bool]:
    """Pixels (height, width, channels) of 8 or 16 bits, and whether the last channel is transparency."""
    try:
        from io import BytesIO

        from PIL import Image
    except ImportError:
        raise NotInstalled(
            f"{os.path.splitext(path)[1][1:].upper()} files are read by Pillow, which is not installed",
            where=path,
            remedy="Install it: pip install 'steelyard[pictures]'.",
        ) from None
    try:
        with Image.open(BytesIO(data)) as opened:
            width, height = opened.size
            if width * height > min(MOST_PIXELS, Image.MAX_IMAGE_PIXELS or MOST_PIXELS):
                raise TooLarge(f"has {width:,}×{height:,} pixels", where=path, remedy="Cut it into tiles.")
            frames = getattr(opened, "n_frames", 1)
            if frames > 1:
                raise InvalidFile(f"holds {count_text(frames, 'picture')}", where=path, remedy="Give one per file.")
            mode, image = opened.mode, opened
            if mode == "P":
                image = opened.convert("RGBA" if "transparency" in opened.info else "RGB")
            elif mode == "1":
                image = opened.convert("L")
            elif mode not in _MODES and not mode.startswith("I;16"):
                raise Unsupported(f"has pixels of the kind {mode}", where=path, remedy="Write gray, RGB or RGBA.")
            pixels, mode = np.asarray(image), image.mode
    except InputError:
        raise
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        reason = str(error).splitlines()[0][:150] if str(error) else type(error).__name__
        remedy = "The file is damaged: write it again."
        raise InvalidFile(f"cannot be read: {reason}", where=path, remedy=remedy) from None
    if mode.startswith("I;16"):
        return np.ascontiguousarray(pixels.astype(np.uint16)[:, :, np.newaxis]), False
    channels, alpha = _MODES[mode]
    return np.ascontiguousarray(pixels.reshape(height, width, channels)), alpha

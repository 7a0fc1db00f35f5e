"""Pictures that Pillow decodes: JPEG, WebP, BMP, PPM, and what else it reads."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.counts import count_text
from steelyard.core.errors import InputError, InvalidFile, NotInstalled, TooLarge, Unsupported
from steelyard.core.opening import open_regular
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


def _stored(opened: Any) -> tuple[Any, ...]:
    """How Pillow says that pixels lie in the file."""
    parts = opened.tile[0][3] if getattr(opened, "tile", None) else ()
    return parts if isinstance(parts, tuple) else (parts,)


def _loses_bits(opened: Any) -> bool:
    """Whether a file of 16 bits per channel would be read with 8: colours in TIFF, PPM and PNG."""
    parts = _stored(opened)
    deep = opened.format == "PPM" and any(isinstance(part, int) and part > 255 for part in parts)
    return deep or any(isinstance(part, str) and ";16" in part for part in parts)


def pillow_size(path: str) -> tuple[int, int] | None:
    """Height and width from the head of a file; None where Pillow is not installed or does not know the file."""
    try:
        from PIL import Image

        with open_regular(path) as file, Image.open(file) as opened:
            return int(opened.height), int(opened.width)
    except ImportError:
        return None
    except Exception:  # of a damaged file, decoders raise what Python does
        return None


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
            if mode in _MODES and _loses_bits(opened):
                remedy = "Write it as PNG, or as .npy."
                raise Unsupported("has 16 bits per channel, of which Pillow keeps 8", where=path, remedy=remedy)
            if mode == "P":
                image = opened.convert("RGBA" if "transparency" in opened.info else "RGB")
            elif mode == "1":
                image = opened.convert("L")
            elif mode not in _MODES and not mode.startswith("I;16") and _stored(opened) != ("I;16B",):
                raise Unsupported(f"has pixels of the kind {mode}", where=path, remedy="Write gray, RGB or RGBA.")
            pixels, mode = np.asarray(image), image.mode
            if mode == "I":  # of 16 bits in the file
                mode = "I;16"
    except InputError:
        raise
    except Image.DecompressionBombError:
        raise TooLarge("has too many pixels", where=path, remedy="Cut it into tiles.") from None
    except Exception as error:  # of a damaged file, decoders raise what Python does
        reason = str(error).partition(" <")[0].splitlines()[0][:150] if str(error) else type(error).__name__
        remedy = "The file is damaged: write it again."
        raise InvalidFile(f"cannot be read: {reason}", where=path, remedy=remedy) from None
    if mode.startswith("I;16"):
        return np.ascontiguousarray(pixels.astype(np.uint16)[:, :, np.newaxis]), False
    channels, alpha = _MODES[mode]
    return np.ascontiguousarray(pixels.reshape(height, width, channels)), alpha

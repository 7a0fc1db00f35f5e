"""Pictures as a model is shown them: read whole or refused, turned upright, without transparency, of a stated size.

A picture is known by the SHA-256 of its file's bytes; that is what the journal keeps. Pillow is imported when a
picture is first opened.

However many threads ask, the pixels that are decoded at one time are bounded (`PIXELS_AT_ONCE`): a small file may hold
a hundred million. Sizes are known from the header, before a pixel is decoded.
"""

from __future__ import annotations

import hashlib
import io
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steelyard.core.errors import Conflict, InputError, InvalidFile, MissingExtra, NotInstalled, TooLarge
from steelyard.core.frozen import Frozen
from steelyard.vlm.ordinary import read_ordinary

MAX_SIDE = 1024
MOST_PIXELS = 100_000_000
MOST_BYTES = 256 * 2**20
PIXELS_AT_ONCE = 100_000_000
FORMATS = ("JPEG", "MPO", "PNG", "WEBP", "BMP", "GIF", "TIFF", "HEIF", "AVIF")  # those that run no other program
GREY = (128, 128, 128)
_ORIENTATION = 274  # EXIF


class Picture(Frozen):
    """A picture by its digest; `path` is None for a blank one.

    Width and height are those of the file; `turned` says that they are exchanged when it is shown upright.
    """

    digest: str
    width: int
    height: int
    path: Path | None = None
    turned: bool = False

    def load(self, max_side: int = MAX_SIDE) -> Any:
        """The upright RGB image, its longer side at most `max_side`. Waits while too many pixels are being decoded."""
        with _flight.hold(self.width * self.height, PIXELS_AT_ONCE):
            return self._load(max_side)

    def _load(self, max_side: int) -> Any:
        pil = _pillow()
        if self.path is None:
            image = pil.new("RGB", (self.width, self.height), GREY)
        else:
            data = _read_checked(self.path, self.digest)
            image = _upright(data, str(self.path))
            del data
        if max(image.size) > max_side:
            image.thumbnail((max_side, max_side), pil.Resampling.LANCZOS)
        return image

    def png(self, max_side: int = MAX_SIDE) -> bytes:
        """The image as a PNG file: lossless, so that the model sees what was measured."""
        buffer = io.BytesIO()
        self.load(max_side).save(buffer, format="PNG", compress_level=3)
        return buffer.getvalue()

    def jpeg(self, max_side: int = MAX_SIDE) -> bytes:
        """The image as a JPEG file: the original bytes if usable as they are, otherwise quality 95."""
        if self.path is not None and max(self.width, self.height) <= max_side:
            data = _read_checked(self.path, self.digest)
            image = _open(data, str(self.path))
            if image.format == "JPEG" and image.mode in ("RGB", "L") and image.getexif().get(_ORIENTATION, 1) == 1:
                image.close()
                self.load(max_side)  # a damaged one is named here, not by the server
                return data
        buffer = io.BytesIO()
        self.load(max_side).save(buffer, format="JPEG", quality=95, subsampling=0)
        return buffer.getvalue()


class _Flight:
    """Pixels that are decoded just now, by all threads together."""

    def __init__(self) -> None:
        self.held = 0
        self._free = threading.Condition()

    @contextmanager
    def hold(self, pixels: int, most: int) -> Iterator[None]:
        """Wait until so many more are allowed; one picture alone always is."""
        with self._free:
            self._free.wait_for(lambda: not self.held or self.held + pixels <= most)
            self.held += pixels
        try:
            yield
        finally:
            with self._free:
                self.held -= pixels
                self._free.notify_all()


_flight = _Flight()


def read_picture(path: Path) -> Picture:
    """Hash a file and read its header; raise if it is not an image. The pixels are read when they are shown."""
    data = _read(path)
    image = _open(data, str(path))
    width, height = image.size
    try:
        turned = image.getexif().get(_ORIENTATION) in (5, 6, 7, 8)
    except Exception:  # damaged EXIF data: said when the picture is shown
        turned = False
    return Picture(hashlib.sha256(data).hexdigest(), width, height, path, turned)


def blank(like: Picture) -> Picture:
    """A grey picture of the same size: what a model says without seeing anything."""
    return Picture(f"blank:{like.width}x{like.height}", like.width, like.height)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtra("reading images", "vlm") from None
    return Image


def _read(path: Path) -> bytes:
    return read_ordinary(path, MOST_BYTES, "image")


def _read_checked(path: Path, digest: str) -> bytes:
    """The bytes of a file that must be those of the digest."""
    data = _read(path)
    if hashlib.sha256(data).hexdigest() != digest:
        raise Conflict("the image changed while the run was under way", where=str(path))
    return data


def _open(data: bytes, where: str) -> Any:
    pil = _pillow()
    try:
        from pillow_heif import register_heif_opener
    except ImportError:
        heif = False
    else:
        register_heif_opener()
        heif = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # our own limit is below Pillow's, and an error
            image = pil.open(io.BytesIO(data), formats=[name for name in FORMATS if name in _known_formats(pil)])
    except pil.DecompressionBombError as error:
        count = re.search(r"\d+", str(error))
        raise _too_large(where, f"{int(count[0]):,} pixels" if count else "too many pixels") from None
    except Exception:  # whatever a damaged header makes Pillow raise
        if data[4:8] == b"ftyp" and not heif:
            remedy = "Install it: pip install pillow-heif."
            raise NotInstalled("HEIC images need pillow-heif", where=where, remedy=remedy) from None
        remedy = "Known: JPEG, PNG, WebP, HEIC with pillow-heif."
        raise InvalidFile("the image does not decode", where=where, remedy=remedy) from None
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise _too_large(where, f"{width:,} × {height:,} pixels")
    return image


def _known_formats(pil: Any) -> Any:
    """The formats that this Pillow can open."""
    pil.init()
    return pil.OPEN


def _too_large(where: str, what: str) -> InputError:
    remedy = f"At most {MOST_PIXELS // 1_000_000} million are opened."
    return TooLarge(f"the image has {what}, which may be a decompression bomb", where=where, remedy=remedy)


def _upright(data: bytes, where: str) -> Any:
    from PIL import ImageOps

    image = _open(data, where)
    try:
        image.load()
        image = ImageOps.exif_transpose(image)
        if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
            seen = image.convert("RGBA")
            ground = _pillow().new("RGBA", seen.size, (255, 255, 255, 255))
            image = _pillow().alpha_composite(ground, seen)
        return image.convert("RGB")
    except Exception as error:  # truncated or damaged pixels: Pillow raises many kinds
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidFile(f"the image is damaged or truncated ({reason})", where=where) from None

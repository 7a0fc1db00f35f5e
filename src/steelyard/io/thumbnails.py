"""Thumbnails of image files, to be embedded in pages."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from steelyard.core.errors import MissingFile, NotInstalled
from steelyard.core.frozen import Frozen

ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF")
MOST_PIXELS = 100_000_000
SIDE, QUALITY = 480, 72
ORIENTATION = 0x0112  # EXIF


class Thumbnail(Frozen):
    """An image made small: its bytes and media type, and the size of the file that it shows."""

    media: str
    data: bytes
    width: int
    height: int


class ImageFolder:
    """A folder of images; names are looked up in it and below it."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder).resolve()
        if not self.folder.is_dir():
            raise MissingFile("the folder of the images was not found", where=str(folder), remedy="Check the path.")
        try:
            import PIL.Image  # noqa: F401
        except ImportError:
            raise NotInstalled("thumbnails need Pillow", remedy="Install it: pip install pillow.") from None

    def find(self, names: Sequence[str]) -> Path | None:
        """The first file with one of the names; a name may lack its ending, or have another one."""
        for name in names:
            for candidate in dict.fromkeys([name, Path(name.replace("\\", "/")).name]):
                base = candidate if not candidate.lower().endswith(ENDINGS) else candidate.rpartition(".")[0]
                for path in (candidate, *(base + ending for ending in ENDINGS)):
                    inside = self._inside(path)
                    if inside is not None:
                        return inside
        return None

    def _inside(self, name: str) -> Path | None:
        if not name.lower().endswith(ENDINGS) or "\0" in name:
            return None
        try:
            path = (self.folder / name).resolve()
            return path if path.is_relative_to(self.folder) and path.is_file() else None
        except OSError:
            return None

    def thumbnail(self, names: Sequence[str], side: int = SIDE) -> Thumbnail | None:
        """The image small and upright; None where no file has the name, or it is not an image."""
        path = self.find(names)
        return None if path is None else _read_thumbnail(path, side)


def _read_thumbnail(path: Path, side: int) -> Thumbnail | None:
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path, formats=[name for name in FORMATS if name in _formats(Image)]) as file:
                width, height = file.size
                if width * height > MOST_PIXELS:
                    return None
                turned = file.getexif().get(ORIENTATION) in (5, 6, 7, 8)
                full = (height, width) if turned else (width, height)
                file.draft("RGB", (2 * side, 2 * side))
                image: Any = ImageOps.exif_transpose(file)
                image = image.convert("RGB")
    except Exception:  # whatever a damaged file makes Pillow raise: the page then has no thumbnail of it
        return None
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    return Thumbnail("image/jpeg", buffer.getvalue(), *full)


def _formats(image: Any) -> Any:
    image.init()
    return image.OPEN

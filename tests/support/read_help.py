"""Small files to read, and the whole message of what is refused."""

from __future__ import annotations

import struct
from pathlib import Path


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Files by their names inside a folder, which is given back."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def contents(folder: Path) -> dict[str, str]:
    """Texts of the files of a folder and of those below, by name."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes().decode()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def png(width: int, height: int) -> bytes:
    """The first bytes of a picture, which say its size."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)

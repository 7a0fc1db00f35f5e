"""A server's key, and how it is kept out of whatever is printed or written.

A server may send the key back: in plain, cut short, split by spaces or line ends, URL-encoded, in hexadecimal or in
base64. A text is scrubbed before it is shortened, so that no half of a key is left over.
"""

from __future__ import annotations

import base64
from itertools import pairwise
from urllib.parse import quote

SHOWN = "[key]"
PIECE = 8  # so many letters and digits of a key on end are taken for a part of it
SHORT = 8  # a key below this length (`EMPTY`, `none`) is hardly a secret: it is looked for as it stands


class Secret:
    """A key that can be scrubbed out of texts."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._pieces: frozenset[str] = frozenset()
        self._size = PIECE
        plain = _letters(key)[0]
        if len(plain) >= SHORT:
            self._size = min(PIECE, max(4, len(plain) // 2))
            forms = [_letters(form)[0] for form in _forms(key)]
            self._pieces = frozenset(
                form[i : i + self._size] for form in forms for i in range(len(form) - self._size + 1)
            )

    def __repr__(self) -> str:
        return "Secret()"

    def scrub(self, text: str) -> str:
        """The text with `[key]` where the key or a part of it stood, in any of its forms."""
        if not self._pieces:
            return text.replace(self.key, SHOWN) if len(self.key) >= 4 and not self.key.isdigit() else text
        letters, places = _letters(text)
        size, pieces = self._size, self._pieces
        hits = [i for i in range(len(letters) - size + 1) if letters[i : i + size] in pieces]
        if not hits:
            return text
        starts = [hits[0], *(b for a, b in pairwise(hits) if b > a + size)]
        ends = [*(a + size for a, b in pairwise(hits) if b > a + size), hits[-1] + size]
        kept, place = [], 0
        for start, end in zip(starts, ends, strict=True):
            kept.append(text[place : places[start]])
            place = places[end - 1] + 1
        return SHOWN.join([*kept, text[place:]])


def _letters(text: str) -> tuple[str, list[int]]:
    """ASCII letters (small) and digits alone, and the place of each: what splitting and escaping leave as it is."""
    places = [i for i, c in enumerate(text) if c.isascii() and c.isalnum()]
    return "".join(text[i] for i in places).lower(), places


def _forms(key: str) -> list[str]:
    """The key as it may come back; base64 in its three alignments, since something may stand before it."""
    raw = key.encode()
    forms = [key, quote(key, safe=""), raw.hex(), "".join(f"\\u{ord(c):04x}" for c in key)]
    for before in range(3):
        text = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        # Letters at both ends that also hold bits of what stands beside the key are left out.
        end = len(text) - (1 if (before + len(raw)) % 3 else 0)
        forms.append(text[(0, 2, 3)[before] : end])
    return forms

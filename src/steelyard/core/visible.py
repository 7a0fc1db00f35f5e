"""Text from a server or a file, made fit to be shown: what would steer a terminal is written out instead."""

from __future__ import annotations

import re

# Control characters but line ends and tabs; marks that turn the direction of writing; separators of lines and
# paragraphs; halves of surrogate pairs, which no stream can carry.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with each steering character as its escape, `\\u001b`. JSON stays the same JSON."""
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)

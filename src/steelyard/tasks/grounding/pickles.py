"""Pickles of lists, dicts, texts and numbers, read without running what they hold and in bounded memory.

A pickle is a program: before it is loaded, its opcodes are compared with those that such data need. Left out are
classes and functions; tuples, whose hashes can take forever where they hold each other; whole numbers of more than 64
bits; and places of the memo and lengths beyond the size of the file, for which memory would be set aside.
"""

from __future__ import annotations

import io
import pickle
import re
from typing import Any

from steelyard.core.errors import InvalidFile, Unsupported

_SHORT = 128  # characters of a text that the expression itself skips
_LENGTHS = {b"T": 4, b"X": 4, b"U": 1, b"\x8c": 1, b"\x8d": 8}  # bytes of a text's length
_KNOWN = b".(NIJKMLGFSVTXUldsaeugphjqr]}\x80\x88\x89\x8a\x8c\x8d\x94\x95"


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler that knows no class and no function."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}")


def read_pickle(data: bytes, source: str) -> Any:
    """The lists, dicts, texts and numbers of a pickle; everything else is refused before it is loaded."""
    _check_opcodes(data, source)
    try:
        return _PlainUnpickler(io.BytesIO(data), encoding="utf-8").load()
    except Exception as error:  # a damaged pickle may raise anything
        words = str(error)[:60] or type(error).__name__
        raise InvalidFile(f"not a valid pickle: {words}", where=source, remedy="Copy the file again.") from None


def _check_opcodes(data: bytes, source: str) -> None:
    """Raise where a pickle holds more than lists, dicts, texts and numbers, or asks for more than it can need."""
    run, place = _plain_run(len(data)), 0
    while True:
        place = run.match(data, place).end()  # type: ignore[union-attr]  # it matches nothing at the least
        code = data[place : place + 1]
        if code in (b".", b""):  # the end, or a file that is cut off
            return
        if code not in _KNOWN:
            raise Unsupported(
                f"the pickle holds more than lists, dicts, texts and numbers (opcode {code!r} at byte {place}); it is "
                "not loaded",
                where=source,
                remedy="Write it as JSON with the tool that made it.",
            )
        begin = place + 1 + _LENGTHS.get(code, 0)
        end = begin + int.from_bytes(data[place + 1 : begin], "little")
        if code not in _LENGTHS or end > len(data):
            raise InvalidFile(
                f"not a valid pickle: a number, length or place at byte {place} is cut off or too large for the file",
                where=source,
                remedy="Copy the file again.",
            )
        place = end


def _plain_run(size: int) -> re.Pattern[bytes]:
    """An expression of plain opcodes, one after the other. Whatever is put in the memo takes two bytes or more, so that
    half the size of a file bounds its places, here up to the next power of two or the next first digit.
    """
    largest = max(size // 2, 255)
    first, others = str(largest)[:1], len(str(largest)) - 1
    octets = largest.to_bytes(4, "little") if largest < 1 << 32 else b"\xff" * 4
    top = max(place for place in range(4) if octets[place])
    index = b"".join(
        b"." if place < top else b"[\\x00-\\x%02x]" % octets[place] if place == top else b"\\x00" for place in range(4)
    )
    texts = [b"\\x%02x%%s.{%d}" % (length, length) for length in range(_SHORT)]
    one, four = (b"|".join(text % zeros for text in texts) for zeros in (b"", b"\\x00{3}"))
    whole = b"|".join(b"\\x%02x.{%d}" % (length, length) for length in range(9))
    plain = (
        b"p(?:[0-9]{1,%d}|[1-%s][0-9]{%d})\n" % (others, first.encode(), others),
        b"[SV][^\n]*+\n",
        rb"[(Nldsaeu\]}\x88\x89\x94]",
        rb"[Khq\x80].",
        rb"r" + index,
        b"X(?:" + four + b")",
        rb"[U\x8c](?:" + one + b")",
        rb"M..",
        rb"[Jj].{4}",
        rb"G.{8}",
        b"[gIL]-?[0-9]{1,20}L?\n",
        b"F[^\n]{1,40}\n",
        rb"\x8a(?:" + whole + b")",
        rb"\x95.{8}",
    )
    return re.compile(b"(?:" + b"|".join(plain) + b")*+", re.DOTALL)

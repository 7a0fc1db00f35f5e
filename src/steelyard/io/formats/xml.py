"""XML files into small trees, safely: a document type is refused, so there are no entities to expand or to fetch.

Neither VOC nor CVAT declares one. What is left of the standard cannot grow: five named characters and numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from steelyard.core.errors import CannotWrite, EmptyInput, InputError, InvalidFile, TooLarge
from steelyard.core.opening import open_regular

DEEPEST = 50


@dataclass
class Node:
    """An element: its name, attributes, text, children, and the line where it begins."""

    name: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list[Node] = field(default_factory=list)

    def find(self, name: str) -> Node | None:
        """The first child of that name."""
        return next((child for child in self.children if child.name == name), None)

    def all(self, name: str) -> Iterator[Node]:
        """The children of that name."""
        return (child for child in self.children if child.name == name)

    def value(self, name: str, default: str = "") -> str:
        """The text of the first child of that name."""
        child = self.find(name)
        return default if child is None else child.text.strip()


def read_xml(path: Path, source: str) -> Node:
    """The root of a file's tree."""
    with open_regular(path, source, pipes=True) as file:
        return parse_xml(file.read(), source)


def parse_xml(text: bytes, source: str) -> Node:
    """Parse XML from bytes in memory."""
    builder = _Builder(source)
    builder.feed(text)
    return builder.root


def root_name(path: Path) -> str:
    """The name of a file's root element, from its first kilobytes; empty where it is not XML."""
    builder = _Builder(str(path), names_only=True)
    try:
        with open_regular(path) as file:
            builder.feed(file.read(1 << 16), whole=False)
    except (OSError, InputError):
        pass
    except _Found:
        return builder.root.name
    return ""


class _Found(Exception):
    """The root's name is known."""


class _Builder:
    def __init__(self, source: str, *, names_only: bool = False) -> None:
        self.source, self.names_only = source, names_only
        self.root = Node("", {}, 0)
        self.stack: list[Node] = []
        self.parts: list[list[str]] = []
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.ExternalEntityRefHandler = self._refuse
        self.parser = parser

    def feed(self, text: bytes, *, whole: bool = True) -> None:
        if not text.strip():
            raise EmptyInput("the file is empty", where=self.source, remedy="It needs an XML document.")
        try:
            self.parser.Parse(text, whole)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code)
            raise InvalidFile(
                f"not valid XML: {what}", where=f"{self.source}, line {error.lineno}, column {error.offset + 1}"
            ) from None
        except (LookupError, ValueError) as error:  # an encoding that Python does not know
            raise InvalidFile(f"not readable as XML: {error}", where=self.source, remedy="Save it as UTF-8.") from None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        node = Node(name, attributes, self.parser.CurrentLineNumber)
        if self.stack:
            self.stack[-1].children.append(node)
        else:
            self.root = node
            if self.names_only:
                raise _Found
        if len(self.stack) >= DEEPEST:
            raise TooLarge("the elements are nested too deeply", where=f"{self.source}, line {node.line}")
        self.stack.append(node)
        self.parts.append([])

    def _end(self, name: str) -> None:
        self.stack.pop().text = "".join(self.parts.pop())

    def _text(self, text: str) -> None:
        self.parts[-1].append(text)

    def _refuse(self, *_: Any) -> int:
        raise InvalidFile(
            "a document type or an entity is declared, which is not taken",
            where=f"{self.source}, line {self.parser.CurrentLineNumber}",
            remedy="Annotations need none: remove the lines from <!DOCTYPE to its end.",
        )


def escape(text: object) -> str:
    """Text for the inside of an element."""
    from xml.sax.saxutils import escape  # it loads what opens addresses, and OpenSSL: only writers need it

    return escape(_check_characters(str(text)))


def quote_attribute(text: object) -> str:
    """Text as the value of an attribute, with its quotes."""
    from xml.sax.saxutils import quoteattr

    return quoteattr(_check_characters(str(text)), {"\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})


def _check_characters(text: str) -> str:
    """XML has no way to write most control characters, nor half a surrogate."""
    for character in text:
        code = ord(character)
        if (code < 32 and character not in "\t\n\r") or 0xD800 <= code <= 0xDFFF or code in (0xFFFE, 0xFFFF):
            raise CannotWrite(f"{text!r} holds a character that XML cannot hold", remedy="Rename it.")
    return text

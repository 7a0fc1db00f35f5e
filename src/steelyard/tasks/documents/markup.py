"""Markdown and HTML of a page, cut into pieces: lines of text, titles, tables and formulas, in their order."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Literal

from steelyard.core.frozen import Frozen

Kind = Literal["text", "title", "formula", "table", "left_out"]


class Piece(Frozen):
    """A piece of a page: its kind, its text and where it begins."""

    kind: Kind
    text: str
    place: int


class Cut(Frozen):
    """The pieces of a page, and what was odd about it: a fence around it, a table without an end."""

    pieces: tuple[Piece, ...]
    odd: frozenset[str] = frozenset()


_FENCE = re.compile(r"\A\s*```[\w-]*[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_HTML = re.compile(r"\s*(?:```html\s*)?<(?:!doctype html|html|body)\b", re.IGNORECASE)
_IMAGE = re.compile(r"!\[[^\]\n]*\]\([^)\n]*\)|<img\b[^>]*>", re.IGNORECASE)
_TABLE_TAG = re.compile(r"<(/?)table\b[^>]*>", re.IGNORECASE)
_TABULAR = re.compile(r"\\begin\{(table\*?|tabular\*?|tabularx|longtable)\}.*?\\end\{\1\}", re.DOTALL)
_FORMULA = re.compile(
    r"\$\$(.+?)\$\$|\\\[(.+?)\\\]|\\begin\{((?:equation|align|gather|multline|eqnarray|displaymath)\*?)\}.*?\\end\{\3\}",
    re.DOTALL,
)
_RULE = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*$")
_BOLD = re.compile(r"\*\*(\S(?:.*?\S)?)\*\*")
_CODE_FENCE = re.compile(r"^\s*(```|~~~)[\w+-]*\s*$")
_TAG = re.compile(
    r"</?(?:a|abbr|article|aside|b|big|blockquote|body|br|caption|center|cite|code|dd|del|div|dl|dt|em|figcaption|"
    r"figure|font|footer|h[1-6]|head|header|hr|html|i|ins|kbd|li|link|main|mark|meta|nav|ol|p|pre|q|s|samp|section|"
    r"small|span|strike|strong|sub|sup|tbody|td|tfoot|th|thead|title|tr|tt|u|ul|var|wbr|page|doctype)\b[^>]*>|"
    r"<!DOCTYPE[^>]*>",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HIDDEN = re.compile(r"<(script|style|title)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_BLOCK_TAG = re.compile(
    r"<(/?)(article|aside|blockquote|br|center|dd|div|dl|dt|figcaption|figure|footer|h[1-6]|header|hr|li|main|nav|ol|p|"
    r"pre|section|tr|ul|caption)\b[^>]*>",
    re.IGNORECASE,
)
_LEFT_OUT_TAGS = ("header", "footer", "figcaption", "caption", "aside")


def form_of(text: str) -> str:
    """HTML where a page begins with <html>, <body> or a document type; else Markdown, which may contain tags, too."""
    return "html" if _HTML.match(text) else "markdown"


def is_fenced(text: str) -> bool:
    """Whether a code fence lies around the whole page."""
    return _FENCE.match(text.replace("\r\n", "\n")) is not None


def cut_page(text: str, form: str = "markdown") -> Cut:
    """Cut a page at every line feed; tables and display formulas are pieces of their own."""
    odd = set()
    text = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    if fence := _FENCE.match(text):
        odd.add("fence")
        text = " " * fence.start(1) + fence.group(1)
    if form == "html":
        text = _blank(_HIDDEN, _blank(_COMMENT, text))
    pieces: list[Piece] = []
    text = _take_tables(text, pieces, odd)
    for pattern, kind in ((_TABULAR, "table"), (_FORMULA, "formula")):
        text = _take(pattern, kind, text, pieces)
    text = _IMAGE.sub(lambda match: " " * len(match.group(0)), text)
    lines = _html_lines(text) if form == "html" else _markdown_lines(text, pieces)
    pieces.extend(lines)
    if "\\begin{tabular" in "".join(piece.text for piece in pieces if piece.kind == "table"):
        odd.add("latex table")
    return Cut(tuple(sorted(pieces, key=lambda piece: piece.place)), frozenset(odd))


def _spaces(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group(0))


def _blank(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(_spaces, text)


def _take(pattern: re.Pattern[str], kind: str, text: str, pieces: list[Piece]) -> str:
    """Take what a pattern finds out of the text; blanks and a line feed stay, so that places remain as they are."""

    def convert(match: re.Match[str]) -> str:
        pieces.append(Piece(kind, match.group(0).strip(), match.start()))  # type: ignore[arg-type]
        return "\n" + " " * (len(match.group(0)) - 1)

    return pattern.sub(convert, text)


def _take_tables(text: str, pieces: list[Piece], odd: set[str]) -> str:
    """Take the outermost tables out of the text; one without an end goes to the end of the page."""
    spans: list[tuple[int, int]] = []
    depth = start = 0
    for tag in _TABLE_TAG.finditer(text):
        if not tag.group(1):
            start = tag.start() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                spans.append((start, tag.end()))
    if depth:
        odd.add("open table")
        spans.append((start, len(text)))
    parts, last = [], 0
    for start, end in spans:
        pieces.append(Piece("table", text[start:end], start))
        parts += [text[last:start], "\n", " " * (end - start - 1)]
        last = end
    return "".join([*parts, text[last:]])


def _plain(line: str) -> str:
    """A line without tags, entities and marks of bold text."""
    if "<" in line:
        line = _TAG.sub(" " if _BLOCK_TAG.search(line) else "", line)
    line = html.unescape(line) if "&" in line else line
    return _BOLD.sub(r"\1", line).strip()


def _markdown_lines(text: str, pieces: list[Piece]) -> Iterator[Piece]:
    lines, places, place = text.split("\n"), [], 0
    for line in lines:
        places.append(place)
        place += len(line) + 1
    at = 0
    while at < len(lines):
        line = lines[at]
        if "|" in line and at + 1 < len(lines) and "-" in lines[at + 1] and _RULE.match(lines[at + 1]):
            end = at + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            if "|" in lines[at + 1] or "|" in line.strip()[1:-1]:
                pieces.append(Piece("table", pipe_table(lines[at:end]), places[at]))
                at = end
                continue
        heading = _HEADING.match(line)
        if not _CODE_FENCE.match(line):
            plain = _plain(heading.group(1) if heading else line)
            if plain:
                yield Piece("title" if heading else "text", plain, places[at])
        at += 1


def pipe_table(lines: list[str]) -> str:
    """A table of pipes as HTML."""
    rows = [_pipe_cells(line) for at, line in enumerate(lines) if at != 1]
    cells = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"


def _pipe_cells(line: str) -> list[str]:
    line = line.strip().removeprefix("|")
    cells = re.split(r"(?<!\\)\|", line)
    if len(cells) > 1 and not cells[-1].strip():
        cells = cells[:-1]
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _html_lines(text: str) -> Iterator[Piece]:
    """Texts between tags that begin a block; the tag says the kind."""
    kinds: list[str] = []
    last = 0
    for tag in _BLOCK_TAG.finditer(text):
        yield from _html_text(text, last, tag.start(), kinds)
        last, name = tag.end(), tag.group(2).lower()
        if name in ("br", "hr"):
            continue
        if tag.group(1):
            while kinds and kinds.pop() != name:
                pass
        else:
            kinds.append(name)
    yield from _html_text(text, last, len(text), kinds)


def _html_text(text: str, start: int, end: int, kinds: list[str]) -> Iterator[Piece]:
    kind: Kind = "text"
    if any(name in _LEFT_OUT_TAGS for name in kinds[-8:]):
        kind = "left_out"
    elif kinds and re.fullmatch("h[1-6]", kinds[-1]):
        kind = "title"
    place = start
    lines = text[start:end].split("\n") if "pre" in kinds[-2:] else [text[start:end]]
    for line in lines:
        plain = " ".join(_plain(line).split())
        if plain:
            yield Piece(kind, plain, place)
        place += len(line) + 1

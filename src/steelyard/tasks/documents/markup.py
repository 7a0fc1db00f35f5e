"""Markdown and HTML of a page, cut into pieces: lines of text, titles, tables and formulas, in their order."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Literal

from steelyard.core.frozen import Frozen

Kind = Literal["text", "title", "formula", "table", "left_out"]


class Piece(Frozen):
    """A piece of a page: its kind, its text, where it begins, and of tables and formulas where it ends."""

    kind: Kind
    text: str
    place: int
    end: int = -1


class Cut(Frozen):
    """The pieces of a page, what was odd about it (a fence around it, a table without an end), and what they are of."""

    pieces: tuple[Piece, ...]
    odd: frozenset[str] = frozenset()
    page: str = ""

    def without_tables_and_formulas(self, keep_pipes: bool = False) -> str:
        """The page with blanks where tables and display formulas are, optionally with tables of pipes as they are."""
        parts, last = [], 0
        for piece in self.pieces:
            if piece.end > last and not (keep_pipes and self.page[piece.place] not in "<\\$"):
                parts += [self.page[last : piece.place], " " * (piece.end - max(piece.place, last))]
                last = piece.end
        return "".join([*parts, self.page[last:]])


# No pattern below may take quadratic time: a reply that loops repeats what would begin a match thousands of times.
_FENCE = re.compile(r"\s*```[\w-]*[ \t]*\n")
_HTML = re.compile(r"\s*(?:```html\s*)?<(?:!doctype html|html|body)\b", re.IGNORECASE)
_IMAGE_TAG = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)
_TABLE_TAG = re.compile(r"<(/?)table\b[^<>]*>", re.IGNORECASE)
_TABULAR = re.compile(r"\\begin\{(table\*?|tabular\*?|tabularx|longtable)\}")
_FORMULA = re.compile(
    r"\$\$|\\\[|\\begin\{((?:equation|align|gather|multline|eqnarray|displaymath)\*?)\}",
)
_BOLD = re.compile(r"\*\*(?=\S)((?:[^*]|\*(?!\*))*)(?<=\S)\*\*")
_CODE_FENCE = re.compile(r"^\s*(```|~~~)[\w+-]*\s*$")
_TAG = re.compile(
    r"</?(?:a|abbr|article|aside|b|big|blockquote|body|br|caption|center|cite|code|dd|del|div|dl|dt|em|figcaption|"
    r"figure|font|footer|h[1-6]|head|header|hr|html|i|ins|kbd|li|link|main|mark|meta|nav|ol|p|pre|q|s|samp|section|"
    r"small|span|strike|strong|sub|sup|tbody|td|tfoot|th|thead|title|tr|tt|u|ul|var|wbr|page|doctype)\b[^<>]*>|"
    r"<!DOCTYPE[^<>]*>",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HIDDEN = re.compile(r"<(script|style|title)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_BLOCK_TAG = re.compile(
    r"<(/?)(article|aside|blockquote|br|center|dd|div|dl|dt|figcaption|figure|footer|h[1-6]|header|hr|li|main|nav|ol|p|"
    r"pre|section|tr|ul|caption)\b[^<>]*>",
    re.IGNORECASE,
)
_LEFT_OUT_TAGS = ("header", "footer", "figcaption", "caption", "aside")


def form_of(text: str) -> str:
    """HTML where a page begins with <html>, <body> or a document type; else Markdown, which may contain tags, too."""
    return "html" if _HTML.match(text) else "markdown"


def _fence(text: str) -> tuple[int, int] | None:
    """Where the page inside a code fence around all of it begins and ends."""
    start, end = _FENCE.match(text), len(text.rstrip()) - 3
    return (start.end(), end) if start and end >= start.end() and text.startswith("```", end) else None


def is_fenced(text: str) -> bool:
    """Whether a code fence lies around the whole page."""
    return _fence(text.replace("\r\n", "\n")) is not None


def cut_page(text: str, form: str = "markdown") -> Cut:
    """Cut a page at every line feed; tables and display formulas are pieces of their own."""
    odd = set()
    text = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    if fence := _fence(text):
        odd.add("fence")
        text = " " * fence[0] + text[fence[0] : fence[1]]
    if form == "html":
        text = _blank(_HIDDEN, _blank(_COMMENT, text))
    page, pieces = text, list[Piece]()
    text = _take_tables(text, pieces, odd)
    text = _take(_TABULAR, "table", text, pieces)
    text = _take(_FORMULA, "formula", text, pieces)
    text = _blank(_IMAGE_TAG, _blank_images(text))
    lines = _html_lines(text) if form == "html" else _markdown_lines(text, pieces)
    pieces.extend(lines)
    if any("\\begin{tabular" in piece.text for piece in pieces if piece.kind == "table"):
        odd.add("latex table")
    return Cut(tuple(sorted(pieces, key=lambda piece: piece.place)), frozenset(odd), page)


def _spaces(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group(0))


def _blank(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(_spaces, text)


def _take(begins: re.Pattern[str], kind: Kind, text: str, pieces: list[Piece]) -> str:
    """Take what `begins` and its end enclose out of the text, so that all other places remain as they are."""
    spans = []
    lost: set[str] = set()  # ends that the rest of the text does not have
    last = 0
    for begin in begins.finditer(text):
        if begin.start() < last:
            continue
        end = {"$$": "$$", "\\[": "\\]"}.get(begin[0], f"\\end{{{begin[1]}}}")
        at = -1 if end in lost else text.find(end, begin.end() + (begin[1] is None))
        if at < 0:
            lost.add(end)
            continue
        last = at + len(end)
        spans.append((begin.start(), last))
        pieces.append(Piece(kind, text[begin.start() : last].strip(), begin.start(), last))
    return _cut_out(text, spans)


def _cut_out(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with a line feed and blanks where the spans are."""
    parts, last = [], 0
    for start, end in spans:
        parts += [text[last:start], "\n", " " * (end - start - 1)]
        last = end
    return "".join([*parts, text[last:]])


def _blank_images(text: str) -> str:
    """The text with blanks for `![...](...)`."""
    parts, last, at = [], 0, text.find("![")
    while at >= 0:
        line = text.find("\n", at) % (len(text) + 1)  # -1 is the end of the text
        middle = text.find("](", at, line)
        end = text.find(")", middle, line) if middle >= 0 else -1
        if end < 0:  # nor does anything behind it on this line
            at = text.find("![", line)
            continue
        parts += [text[last:at], " " * (end + 1 - at)]
        last = end + 1
        at = text.find("![", last)
    return "".join([*parts, text[last:]])


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
    pieces += [Piece("table", text[start:end], start, end) for start, end in spans]
    return _cut_out(text, spans)


def _is_rule(line: str) -> bool:
    """Whether a line parts the head of a table of pipes from its rows: `|---|:-:|`."""
    line = line.strip()
    return set(line) <= set("-:| \t") and all(
        cell.strip(" \t").strip(":").strip("-") == "" and "-" in cell
        for cell in line.removeprefix("|").removesuffix("|").split("|")
    )


def _heading(line: str) -> str | None:
    """The text of a heading with `#`, None for any other line."""
    inner = line.lstrip()
    text = inner.lstrip("#")
    if len(line) - len(inner) > 3 or not 1 <= len(inner) - len(text) <= 6 or not text[:1].isspace():
        return None
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if bare[-1:].isspace() or not bare else text


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
        if "|" in line and at + 1 < len(lines) and _is_rule(lines[at + 1]):
            end = at + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            if "|" in lines[at + 1] or "|" in line.strip()[1:-1]:
                pieces.append(
                    Piece("table", pipe_table(lines[at:end]), places[at], places[end - 1] + len(lines[end - 1]))
                )
                at = end
                continue
        heading = _heading(line)
        if not _CODE_FENCE.match(line):
            plain = _plain(line if heading is None else heading)
            if plain:
                yield Piece("text" if heading is None else "title", plain, places[at])
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

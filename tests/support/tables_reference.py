"""TEDS and GriTS in plain Python, by their definitions: what the native core is compared with."""

from __future__ import annotations

import html as entities
import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

import numpy as np

from steelyard.core.frozen import Frozen
from steelyard.core.records import Array
from steelyard.tasks.tables.omnidocbench import normalised_table

Rules = Literal["clean", "pubtabnet", "omnidocbench", "microsoft"]
MOST_COLUMNS = 1000  # that a cell spans, as in HTML
MOST_CELLS = 20_000  # of a table
SECTIONS = ("thead", "tbody", "tfoot")
CELLS = ("td", "th")
VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"))
RAW = frozenset(("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"))
BLOCKS = frozenset(
    (
        "br",
        "p",
        "div",
        "li",
        "ul",
        "ol",
        "dl",
        "dt",
        "dd",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "pre",
        "blockquote",
        "table",
        "tr",
        "td",
        "th",
        "caption",
    )
)
_NAME = re.compile(r"[^\s/>]+")
_ATTRIBUTE = re.compile(r"""[\s/]*([^\s/>=]+)(?:\s*=\s*("[^"]*"?|'[^']*'?|[^\s>]*))?""")
_NUMBER = re.compile(r"[ \t\n\f\r]*\+?([0-9]+)")


class Cell(Frozen):
    """A cell: the row and column of its first place, its spans, its text, and whether it is a header."""

    row: int
    column: int
    rowspan: int
    colspan: int
    text: str
    header: bool


class Table(Frozen):
    """A table as it is compared by default: its source, its cells, how many rows and columns it has, and notes."""

    html: str
    cells: tuple[Cell, ...]
    rows: int
    columns: int
    notes: tuple[str, ...]


class Grits(Frozen):
    """GriTS of two tables: F, precision, recall and the upper bound of F."""

    f: float
    precision: float
    recall: float
    bound: float


class _Element:
    """An element: its tag, attributes, children and texts in their order."""

    def __init__(self, tag: str, attributes: dict[str, str], start: int = 0) -> None:
        self.tag, self.attributes, self.start, self.end = tag, attributes, start, start
        self.children: list[_Element | str] = []
        self.stray = False  # lies in a table where no such element may lie
        self.implied = False  # not written, but meant
        self.closed = False

    @property
    def elements(self) -> list[_Element]:
        return [child for child in self.children if isinstance(child, _Element)]


def _tokens(text: str) -> Iterator[tuple[str, str, dict[str, str], int, int]]:
    """Kinds (start, end, text), names or texts, attributes, and where each begins and ends."""
    place, size = 0, len(text)
    while place < size:
        if text[place] != "<":
            end = text.find("<", place)
            end = size if end < 0 else end
            yield "text", entities.unescape(text[place:end]), {}, place, end
            place = end
        elif text.startswith("<!--", place):
            end = text.find("-->", place + 4)
            place = size if end < 0 else end + 3
        elif text[place + 1 : place + 2] in ("!", "?"):
            end = text.find(">", place)
            place = size if end < 0 else end + 1
        else:
            closing = text[place + 1 : place + 2] == "/"
            name = _NAME.match(text, place + 1 + closing)
            if name is None or not name[0][0].isascii() or not name[0][0].isalpha():
                yield "text", "<", {}, place, place + 1
                place += 1
                continue
            attributes: dict[str, str] = {}
            end = name.end()
            while end < size and text[end] != ">":
                match = _ATTRIBUTE.match(text, end)
                if match is None:
                    end += 1
                    continue
                value = match[2] or ""
                if value[:1] in ("'", '"'):
                    value = value[1:].removesuffix(value[0])
                attributes.setdefault(match[1].lower(), entities.unescape(value))
                end = match.end()
            end = min(end + 1, size)
            tag = name[0].lower()
            yield "end" if closing else "start", tag, attributes, place, end
            place = end
            if not closing and tag in RAW:
                close = re.compile(f"</{tag}", re.IGNORECASE).search(text, place)
                stop = size if close is None else close.start()
                yield "text", text[place:stop], {}, place, stop
                place = stop


class _Document:
    """The elements of a text, repaired by the HTML standard's rules for tables."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root = _Element("", {})
        self.stack = [self.root]
        self.tables: list[_Element] = []  # that lie in no other
        for kind, name, attributes, start, end in _tokens(text):
            if kind == "text":
                self._add_text(name)
            elif kind == "start":
                self._open(name, attributes, start)
            else:
                self._close(name, end)
        while len(self.stack) > 1:
            self._pop(len(text))

    def _pop(self, end: int) -> _Element:
        element = self.stack.pop()
        element.end = end
        return element

    def _push(self, element: _Element) -> None:
        self.stack[-1].children.append(element)
        if element.tag not in VOID:
            self.stack.append(element)

    def _add_text(self, text: str) -> None:
        children = self.stack[-1].children
        if children and isinstance(children[-1], str):
            children[-1] += text  # a comment or a sign lay between
        else:
            children.append(text)

    def _scope(self) -> int:
        """Where the innermost open table stands on the stack; 0 without one."""
        return next((i for i in range(len(self.stack) - 1, 0, -1) if self.stack[i].tag == "table"), 0)

    def _find(self, names: Sequence[str], above: int) -> int:
        """Where the innermost of these elements stands above a place; 0 without one."""
        return next((i for i in range(len(self.stack) - 1, above, -1) if self.stack[i].tag in names), 0)

    def _cut(self, size: int, end: int) -> None:
        while len(self.stack) > size:
            self._pop(end)

    def _open(self, tag: str, attributes: dict[str, str], start: int) -> None:
        table = self._scope()
        inside = self._find((*CELLS, "caption"), table) if table else 0
        element = _Element(tag, attributes, start)
        if tag in ("html", "head", "body"):
            return
        if tag == "table":
            if table and not inside:
                self._cut(table, start)
                table = self._scope()
            if not table:
                self.tables.append(element)
                at = self._find(("p",), 0)
                if at:
                    self._cut(at, start)
            self._push(element)
        elif not table:
            if tag in BLOCKS and (at := self._find(("p",), 0)):
                self._cut(at, start)
            self._push(element)
        elif tag in (*SECTIONS, "caption", "colgroup"):
            self._cut(table + 1, start)
            self._push(element)
        elif tag == "tr":
            section = self._find(SECTIONS, table)
            self._cut((section or table) + 1, start)
            self._push(element)
        elif tag in CELLS:
            row = self._find(("tr",), table)
            if not row:
                section = self._find(SECTIONS, table)
                self._cut((section or table) + 1, start)
                implied = _Element("tr", {}, start)
                implied.implied = True
                self._push(implied)
                row = len(self.stack) - 1
            self._cut(row + 1, start)
            self._push(element)
        elif inside:
            if tag in BLOCKS and (at := self._find(("p",), inside)):
                self._cut(at, start)
            if tag == "li" and (at := self._find(("li",), inside)):
                self._cut(at, start)
            self._push(element)
        else:
            element.stray = tag != "col"
            self._push(element)

    def _close(self, tag: str, end: int) -> None:
        table = self._scope()
        if tag in ("html", "body", "head"):
            return
        if tag == "table":
            if table:
                self.stack[table].closed = True
                self._cut(table, end)
            return
        limit = table
        if tag not in (*CELLS, *SECTIONS, "tr", "caption", "colgroup"):
            limit = max(table, self._find((*CELLS, "caption"), table))
        at = self._find((tag,), limit)
        if at:
            self._cut(at, end)


def _span(value: str | None) -> tuple[int, bool]:
    """A span as the HTML standard reads it, 1 where it cannot be read; and whether it was read."""
    if value is None:
        return 1, True
    match = _NUMBER.match(value)
    if match is None:
        return 1, False
    number = int(match[1][:9])
    return max(number, 1), number > 0


def _fold(text: str) -> str:
    return " ".join(text.split())


def _content(element: _Element, tokens: bool) -> list[str]:
    """Letters of an element, and its inner tags as one token each where they are asked for."""
    out: list[str] = []
    for child in element.children:
        if isinstance(child, str):
            out.extend(child)
            continue
        if tokens:
            out.append(f"<{child.tag}>")
        elif child.tag in BLOCKS:
            out.append(" ")
        out.extend(_content(child, tokens))
        if tokens:
            out.append(f"</{child.tag}>")
        elif child.tag in BLOCKS:
            out.append(" ")
    return out


def _fold_tokens(tokens: Sequence[str]) -> tuple[str, ...]:
    """Tokens with blanks folded, and none at the ends."""
    out: list[str] = []
    for token in tokens:
        if token.isspace():
            if out and out[-1] != " ":
                out.append(" ")
        else:
            out.append(token)
    return tuple(out[:-1] if out and out[-1] == " " else out)


class _Node:
    """A node of a tree that is compared."""

    def __init__(self, label: tuple[Any, ...], content: tuple[str, ...] | None = None) -> None:
        self.label, self.content = label, content
        self.children: list[_Node] = []


def _rows(table: _Element) -> list[tuple[_Element, bool]]:
    """Rows of a table in their order, and whether they are in its head; nested tables are parts of their cells."""
    rows = []
    for child in table.elements:
        if child.tag == "tr":
            rows.append((child, False))
        elif child.tag in SECTIONS:
            rows.extend((row, child.tag == "thead") for row in child.elements if row.tag == "tr")
    return rows


def _place(rows: Sequence[Sequence[tuple[int, int]]], clip: bool) -> list[list[tuple[int, int, int, int]]]:
    """Row, column and spans of each cell: it takes the first free column of its row, then its span."""
    taken: dict[int, set[int]] = {}
    placed = []
    for r, row in enumerate(rows):
        own = []
        for rowspan, colspan in row:
            high = min(rowspan, len(rows) - r) if clip else rowspan
            occupied = taken.setdefault(r, set())
            column = 0
            while column in occupied:
                column += 1
            for i in range(r, r + high):
                taken.setdefault(i, set()).update(range(column, column + colspan))
            own.append((r, column, high, colspan))
        placed.append(own)
    return placed


def _read_table(table: _Element, source: str) -> tuple[Table, list[list[_Element]], list[bool]]:
    notes: list[str] = []
    if not table.closed:
        notes.append("the table is cut off")
    rows = _rows(table)
    cells = [[cell for cell in row.elements if cell.tag in CELLS] for row, _ in rows]
    spans = []
    for r, row in enumerate(cells):
        own = []
        for cell in row:
            high, read = _span(cell.attributes.get("rowspan"))
            wide, also = _span(cell.attributes.get("colspan"))
            if not (read and also):
                notes.append("a span cannot be read and counts as 1")
            if wide > MOST_COLUMNS:
                notes.append(f"a colspan is above {MOST_COLUMNS} and counts as {MOST_COLUMNS}")
            if high > len(rows) - r:
                notes.append("a rowspan ends behind the last row and is cut there")
            own.append((high, min(wide, MOST_COLUMNS)))
        spans.append(own)
    placed = _place(spans, True)
    made = []
    for row, where in zip(cells, placed, strict=True):
        for cell, (r, c, high, wide) in zip(row, where, strict=True):
            text = _fold("".join(_content(cell, False)))
            made.append(Cell(r, c, high, wide, text, cell.tag == "th" or rows[r][1]))
    columns = max((cell.column + cell.colspan for cell in made), default=0)
    shown = Table(source, tuple(made), len(rows), columns, tuple(dict.fromkeys(notes)))
    return shown, cells, [head for _, head in rows]


def parse_tables(text: str) -> list[Table]:
    """Tables of a text, each with its cells; tables inside cells are parts of these."""
    document = _Document(text)
    return [_read_table(table, text[table.start : table.end])[0] for table in document.tables]


def _clean_tree(table: _Element, header: bool, inline: str) -> _Node:
    shown, cells, heads = _read_table(table, "")
    root = _Node(("table",))
    places = iter(shown.cells)
    head: _Node | None = None
    for row, in_head in zip(cells, heads, strict=True):
        above = root
        if header and in_head:
            if head is None:
                head = _Node(("thead",))
                root.children.append(head)
            above = head
        else:
            head = None
        node = _Node(("tr",))
        above.children.append(node)
        for element in row:
            cell = next(places)
            content = _fold_tokens(_content(element, True)) if inline == "tokens" else tuple(cell.text)
            label = (element.tag if header else "td", cell.colspan, cell.rowspan)
            node.children.append(_Node(label, content))
    return root


def _published_tree(element: _Element, ignore: frozenset[str]) -> tuple[_Node, int]:
    """The tree of PubTabNet's code, and how many elements it counts below the table."""
    count = 0

    def build(element: _Element) -> _Node:
        nonlocal count
        node = _Node((element.tag, None, None))
        for child in _unwrapped(element, ignore):
            count += 1
            if child.tag != "td":
                node.children.append(build(child))
                continue
            tokens = _published_tokens(child, ignore)
            count += sum(1 for token in tokens if len(token) > 2 and token[0] == "<" and token[1] != "/")
            spans = [int(child.attributes.get(name, "1")) for name in ("colspan", "rowspan")]
            node.children.append(_Node(("td", *spans), tuple(tokens)))
        return node

    return build(element), count


def _unwrapped(element: _Element, ignore: frozenset[str]) -> Iterator[_Element]:
    for child in element.elements:
        if child.implied or child.tag in ignore:
            yield from _unwrapped(child, ignore)
        else:
            yield child


def _published_tokens(element: _Element, ignore: frozenset[str]) -> list[str]:
    out: list[str] = []
    for child in element.children:
        if isinstance(child, str):
            out.extend(child)
        elif child.tag in ignore or child.implied:
            out.extend(_published_tokens(child, ignore))
        else:
            out.append(f"<{child.tag}>")
            out.extend(_published_tokens(child, ignore))
            if child.tag != "unk":
                out.append(f"</{child.tag}>")
    return out


def _levenshtein(a: Sequence[str], b: Sequence[str]) -> int:
    before = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
        before = row
    return before[-1]


def _tree_distance(a: _Node, b: _Node, rename: Callable[[_Node, _Node], float]) -> float:
    """The least cost of edits that make a tree the other (Zhang and Shasha)."""
    first, left1, roots1 = _postorder(a)
    second, left2, roots2 = _postorder(b)
    tree = np.zeros((len(first), len(second)))
    for i in roots1:
        for j in roots2:
            low, side = left1[i], left2[j]
            forest = np.zeros((i - low + 2, j - side + 2))
            forest[:, 0] = np.arange(i - low + 2)
            forest[0] = np.arange(j - side + 2)
            for x in range(low, i + 1):
                for y in range(side, j + 1):
                    p, q = x - low + 1, y - side + 1
                    cost = min(forest[p - 1, q], forest[p, q - 1]) + 1
                    if left1[x] == low and left2[y] == side:
                        cost = min(cost, forest[p - 1, q - 1] + rename(first[x], second[y]))
                        tree[x, y] = cost
                    else:
                        cost = min(cost, forest[left1[x] - low, left2[y] - side] + tree[x, y])
                    forest[p, q] = cost
    return float(tree[-1, -1])


def _postorder(root: _Node) -> tuple[list[_Node], list[int], list[int]]:
    nodes: list[_Node] = []
    left: list[int] = []

    def visit(node: _Node) -> int:
        first = [visit(child) for child in node.children]
        nodes.append(node)
        left.append(first[0] if first else len(nodes) - 1)
        return left[-1]

    visit(root)
    last = {low: place for place, low in enumerate(left)}
    return nodes, left, sorted(last.values())


def teds(
    truth: str,
    reply: str,
    *,
    rules: Rules = "clean",
    structure: bool = False,
    header: bool = False,
    inline: Literal["drop", "tokens"] = "drop",
    ignore: Sequence[str] = (),
) -> float:
    """TEDS of the first table of both texts: 1 less the edit distance of the trees by the nodes of the larger.

    `structure` leaves out texts. Under the rules `clean`, `header` charges `th` for `td` and a lost `thead`, and
    `inline=tokens` compares tags inside cells. Under `pubtabnet`, `ignore` names tags that are taken out.
    """
    if not truth or not reply:
        return 0.0
    if rules == "omnidocbench":
        truth, reply = normalised_table(truth), normalised_table(reply)
    elements = [_find_table(text, rules) for text in (truth, reply)]
    if elements[0] is None or elements[1] is None:
        return 0.0
    if rules in ("clean", "microsoft"):
        trees = [_clean_tree(element, header, inline) for element in elements if element is not None]
        size = max(len(_postorder(tree)[0]) - 1 for tree in trees)
    else:
        built = [_published_tree(element, frozenset(ignore)) for element in elements if element is not None]
        trees, size = [tree for tree, _ in built], max(count for _, count in built)
    if not size:
        return 1.0 if rules == "clean" else 0.0

    def rename(a: _Node, b: _Node) -> float:
        if a.label != b.label:
            return 1.0
        if structure or not (a.content or b.content):
            return 0.0
        first, second = a.content or (), b.content or ()
        return _levenshtein(first, second) / max(len(first), len(second))

    return 1.0 - _tree_distance(trees[0], trees[1], rename) / size


def teds_struct(truth: str, reply: str, **settings: Any) -> float:
    """TEDS without the texts of cells."""
    return teds(truth, reply, structure=True, **settings)


def _find_table(text: str, rules: str) -> _Element | None:
    document = _Document(text)
    if rules == "clean":
        return document.tables[0] if document.tables else None
    if re.match(r"\s*<(?:html|!doctype)", text, re.IGNORECASE) is None:
        return None
    return next((child for child in document.root.elements if child.tag == "table"), None)


Grid = tuple[list[list[Any]], list[list[str]]]  # relative spans and texts by place


def _grid(text: str, rules: str) -> Grid:
    if rules == "microsoft":
        document = _Document(text)
        rows: list[list[_Element]] = []

        def visit(element: _Element) -> None:
            for child in element.elements:
                if child.tag == "tr":
                    rows.append([])
                if child.tag in CELLS:
                    rows[-1].append(child)
                visit(child)

        visit(document.root)
        spans = [[tuple(_span(cell.attributes.get(n))[0] for n in ("rowspan", "colspan")) for cell in r] for r in rows]
        texts = [[" ".join(_texts(cell)) for cell in row] for row in rows]
        placed = _place(spans, False)  # type: ignore[arg-type]
        cells = [Cell(*p, t, False) for a, b in zip(placed, texts, strict=True) for p, t in zip(a, b, strict=True)]
        high, wide = max((c.row + c.rowspan for c in cells), default=0), 0
    else:
        tables = parse_tables(normalised_table(text) if rules == "omnidocbench" else text)
        if not tables:
            return [], []
        cells, high, wide = list(tables[0].cells), tables[0].rows, tables[0].columns
    wide = max((c.column + c.colspan for c in cells), default=wide)
    top: list[list[Any]] = [[(0, 0, 1, 1)] * wide for _ in range(high)]
    con = [[""] * wide for _ in range(high)]
    for c in cells:
        for i in range(c.row, c.row + c.rowspan):
            for j in range(c.column, c.column + c.colspan):
                top[i][j] = (c.column - j, c.row - i, c.column + c.colspan - j, c.row + c.rowspan - i)
                con[i][j] = c.text
    return top, con


def _texts(element: _Element) -> Iterator[str]:
    for child in element.children:
        if isinstance(child, str):
            yield child
        else:
            yield from _texts(child)


def box_overlap(a: Sequence[float], b: Sequence[float], overlap: str = "hull") -> float:
    """The share of two boxes' intersection in the smallest box around both, or in their union."""
    a, b = ([float(np.float32(v)) for v in box] for box in (a, b))
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    flat_a, flat_b = (box[2] < box[0] or box[3] < box[1] for box in (a, b))
    common = max(wide, 0.0) * max(high, 0.0) if not (flat_a or flat_b) else 0.0
    areas = [max(box[2] - box[0], 0.0) * max(box[3] - box[1], 0.0) for box in (a, b)]
    if overlap == "union":
        whole = sum(areas) - common
    elif flat_a or flat_b:
        whole = max(areas)
    else:
        whole = (max(a[2], b[2]) - min(a[0], b[0])) * (max(a[3], b[3]) - min(a[1], b[1]))
    return common / whole if whole > 0 else 0.0


def _lcs(a: str, b: str) -> int:
    before = [0] * (len(b) + 1)
    for x in a:
        row = [0]
        for j, y in enumerate(b, 1):
            row.append(before[j - 1] + 1 if x == y else max(before[j], row[-1]))
        before = row
    return before[-1]


def text_similarity(a: str, b: str, text: str = "lcs") -> float:
    """Twice the common letters by all letters: of the longest common subsequence, or as difflib finds them."""
    if not a and not b:
        return 1.0
    if text == "difflib":
        return 2 * sum(block.size for block in SequenceMatcher(None, a, b).get_matching_blocks()) / (len(a) + len(b))
    return 2 * _lcs(a, b) / (len(a) + len(b))


def _align(rewards: Array) -> tuple[float, list[tuple[int, int]]]:
    """The best alignment of two rows: a pair before a skip of the truth before a skip of the reply."""
    n, m = rewards.shape
    score = np.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            score[i, j] = max(score[i - 1, j - 1] + rewards[i - 1, j - 1], score[i - 1, j], score[i, j - 1])
    pairs = []
    i, j = n, m
    while i and j:
        if score[i, j] == score[i - 1, j - 1] + rewards[i - 1, j - 1]:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif score[i, j] == score[i - 1, j]:
            i -= 1
        else:
            j -= 1
    return float(score[n, m]), pairs[::-1]


def _f(score: float, truth: int, reply: int) -> tuple[float, float, float]:
    precision, recall = score / reply if reply else 1.0, score / truth if truth else 1.0
    return (2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0), precision, recall


def grits_of_grids(truth: Sequence[Sequence[Any]], reply: Sequence[Sequence[Any]], like: Any) -> Grits:
    """GriTS of two grids, by the similarity of two places."""
    rows, columns = len(truth), len(truth[0]) if truth else 0
    high, wide = len(reply), len(reply[0]) if reply else 0
    reward = np.zeros((rows, columns, high, wide))
    seen: dict[Any, float] = {}
    for r, c, i, j in np.ndindex(*reward.shape):
        key = truth[r][c], reply[i][j]
        if key not in seen:
            seen[key] = like(*key)
        reward[r, c, i, j] = seen[key]
    scores, aligned = [], []
    for along in (reward, reward.transpose(1, 0, 3, 2)):
        inner = np.zeros((along.shape[0], along.shape[2]))
        for r, i in np.ndindex(*inner.shape):
            inner[r, i] = _align(along[r, :, i, :])[0]
        score, pairs = _align(inner)
        scores.append(score)
        aligned.append(pairs)
    total = sum(float(reward[r, c, i, j]) for r, i in aligned[0] for c, j in aligned[1])
    sizes = rows * columns, high * wide
    return Grits(*_f(total, *sizes), _f(min(scores), *sizes)[0])


def grits_top(truth: str, reply: str, *, rules: Rules = "clean", overlap: str = "hull") -> Grits:
    """GriTS of topology: places by the spans of their cells."""
    a, b = _grid(truth, rules)[0], _grid(reply, rules)[0]
    return grits_of_grids(a, b, lambda x, y: box_overlap(x, y, overlap))


def grits_con(truth: str, reply: str, *, rules: Rules = "clean", text: str = "lcs") -> Grits:
    """GriTS of content: places by the texts of their cells."""
    a, b = _grid(truth, rules)[1], _grid(reply, rules)[1]
    return grits_of_grids(a, b, lambda x, y: text_similarity(x, y, text))

"""Task `documents`: the data, from what was read to pages with the blocks of both sides.

Conventions
    A row is a block of a page: `page`, `type`, `text` (or `html`, `latex`), and `order`, its place among the others.
    A row with `markdown` holds a whole page, which is cut at every line feed; `form=html` says that it is HTML.
    A page without text is a row with an empty text. The unit is the page. A page without a reply counts as empty.
    Blocks of eleven kinds (captions, headers, footers, page numbers, footnotes, algorithms) are matched like all others
    and left out of the scores with what they take.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import Any

import numpy as np

from steelyard.align.join import codes, join_rows
from steelyard.core.errors import Conflict, DuplicateKey, InvalidValue, MissingColumn, TooLarge, nearest
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array, Coverage, Pairs
from steelyard.core.records import Column, Records, Schema, as_object, constant_in_unit, weight_column
from steelyard.core.task import Policy
from steelyard.language import edits
from steelyard.tasks.documents.markup import cut_page, form_of
from steelyard.tasks.documents.matching import (
    FORMULA,
    KINDS,
    LEFT_OUT,
    SKIPPED,
    TABLE,
    TEXT,
    TITLE,
    Blocks,
    Groups,
    Matches,
    TableMatches,
    match_runs,
    match_tables,
)
from steelyard.tasks.documents.quick import match_quick
from steelyard.tasks.documents.texts import Norm
from steelyard.tasks.tables.trees import parse_tables

# Columns that the reader of OmniDocBench's own results adds.
REPLY, TEDS, ORDERS = (f"omnidocbench.{name}" for name in ("reply", "teds", "orders"))
MOST_TABLE = 1 << 20  # characters of a true table
MOST_PAGE = 1 << 21  # characters of a page in Markdown or HTML

TYPES = {
    **dict.fromkeys(("text", "text_block", "paragraph", "plain text", "list", "reference", "list_item"), TEXT),
    **dict.fromkeys(("code", "code_txt", "code_txt_caption", "quote"), TEXT),
    **dict.fromkeys(("title", "heading", "section_header"), TITLE),
    **dict.fromkeys(("formula", "equation", "equation_isolated", "isolate_formula"), FORMULA),
    "table": TABLE,
    **dict.fromkeys(
        ("figure_caption", "figure_footnote", "table_caption", "table_footnote", "code_algorithm"), LEFT_OUT
    ),
    **dict.fromkeys(("code_algorithm_caption", "header", "footer", "page_footnote", "page_number"), LEFT_OUT),
    **dict.fromkeys(("equation_caption", "caption", "footnote", "left_out", "page_header", "page_footer"), LEFT_OUT),
    **dict.fromkeys(
        ("figure", "image", "picture", "blank", "abandon", "need_mask", "text_mask", "table_mask"), SKIPPED
    ),
    **dict.fromkeys(("organic_chemical_formula_mask", "algorithm_mask", "unknown_mask", "chart", "seal"), SKIPPED),
    **dict.fromkeys(("equation_ignore", "equation_semantic", "equation_explanation", "chart_mask"), SKIPPED),
}
NAMES = (
    Column("page", "id", aliases=("image", "image_path", "page_id"), meaning="the page"),
    Column("block", "id", required=False, aliases=("block_id", "anno_id"), meaning="the block on its page"),
)
CONTENT = (
    Column(
        "type", "text", required=False, aliases=("category_type",), meaning="text, title, table, formula, header ..."
    ),
    Column(
        "text", "text", required=False, meaning="the text; of a table its HTML, of a formula its LaTeX", lists=False
    ),
    Column("html", "text", required=False, meaning="the HTML of a table", lists=False),
    Column("latex", "text", required=False, meaning="the LaTeX of a formula", lists=False),
    Column("order", "number", False, None, None, empty=True, meaning="place in the reading order"),
    Column(
        "markdown", "text", required=False, meaning="the whole page as Markdown or HTML, instead of blocks", lists=False
    ),
    Column(
        "form",
        "text",
        required=False,
        meaning="what `markdown` holds: markdown, or html; by default html where it begins with <html> or <body>",
    ),
)
TRUTH = Schema(
    key=("page",),
    columns=(
        *NAMES,
        *CONTENT,
        Column("ignore", "flag", required=False, meaning="whether the block is left out of the scores"),
        Column("document", "id", required=False, meaning="the document of the page, for clusters"),
        weight_column("page"),
    ),
)
PREDICTION = Schema(
    key=("page",),
    columns=(
        *NAMES,
        *(replace(c, aliases=("reply", "response")) if c.name == "markdown" else c for c in CONTENT),
        Column("cdm", "number", False, 0, 1, empty=True, meaning="CDM of the page's formulas, by OmniDocBench"),
    ),
)
OPTIONS = (
    Option("match", "choice", "How blocks are matched with the reply.", "runs", ("runs", "quick"), sides=False),
    Option("preset", "choice", "Metrics and matching of another tool.", "none", ("none", "omnidocbench"), sides=False),
    Option(
        "scores", "path", "OmniDocBench's *_per_sample_CDM.json, for overall.", metavar="FILE", sides=False, reads=True
    ),
)


class Memo:
    """Matches of all pages by normalisation: pages are matched once, whatever part of them a slice looks at."""

    def __init__(self) -> None:
        self.matches: dict[Any, Any] = {}


NO_BLOCKS = Blocks(
    np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, object), np.zeros(0, np.int64), np.zeros(0)
)


class DocumentPairs(Pairs):
    """Pages with the blocks of both sides. A row is a true block: `blocks` are its places in `true`.

    The blocks of unit u are those of page u of `true` and `reply`. `ordered` says of each page whether its reading
    order is known, `left` of each true block whether it is left out of the scores, and `cdm` of each page the mean CDM
    of its formulas, nan where it is not known.
    """

    true: Blocks = NO_BLOCKS
    reply: Blocks = NO_BLOCKS
    blocks: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    ordered: Array = field(default_factory=lambda: np.zeros(0, bool))
    left: Array = field(default_factory=lambda: np.zeros(0, bool))
    match: str = "runs"
    preset: str = "none"
    cdm: Array = field(default_factory=lambda: np.zeros(0))
    memo: Memo = field(default_factory=Memo, repr=False, compare=False)

    @property
    def metadata(self) -> Metadata:
        """Which kinds of blocks there are decides what is shown."""
        kinds = self.true.kind.tolist()
        holds = {name for code, name in ((TABLE, "tables"), (FORMULA, "formulas")) if code in kinds}
        holds |= {"order"} if self.ordered.any() else set()
        holds |= set() if np.isnan(self.cdm).all() else {"cdm"}
        holds |= {"omnidocbench"} if self.preset == "omnidocbench" or self.match == "results" else set()
        return Metadata(flags={"match": self.match}, holds=frozenset(holds))

    def matches(self, norm: Norm) -> Matches:
        """The matches of all pages, made once."""
        if self.match == "results" and norm != "omnidocbench":
            raise Conflict(
                f"the results of OmniDocBench hold texts that it has normalised, and norm={norm} is asked for",
                where=self.truth.source,
                remedy="Use norm=omnidocbench, or give the truth and the replies themselves.",
            )
        if norm not in self.memo.matches:
            if self.match == "quick":
                pages = None if "markdown" not in self.prediction else self.prediction["markdown"][self.reply.row]
                forms = None if "form" not in self.prediction else self.prediction["form"][self.reply.row]
                matches = match_quick(self.true, self.reply, norm, self.units, self.left, pages, forms)
            else:
                matches = match_runs(self.true, self.reply, norm, self.units)
            self.memo.matches[norm] = matches
        made: Matches = self.memo.matches[norm]
        return made

    def table_matches(self) -> TableMatches:
        """The tables of both sides, matched once."""
        if "tables" not in self.memo.matches:
            self.memo.matches["tables"] = match_tables(self.true, self.reply, self.units)
        made: TableMatches = self.memo.matches["tables"]
        return made

    @property
    def present(self) -> Array:
        """Of each true block whether a slice keeps it."""
        mask = np.zeros(len(self.true.kind), dtype=bool)
        mask[self.blocks] = True
        return mask

    @property
    def whole(self) -> Array:
        """Of each page whether it has all its blocks: what belongs to no block counts there alone."""
        kept = np.bincount(self.true.page[self.blocks], minlength=len(self.units))
        whole: Array = (kept == np.diff(self.true.begin)) & (kept > 0)
        return whole

    def unit_values(self, name: str) -> Array | None:
        """The document of each page by the page's name, where the truth does not have that column."""
        if name != "document" or self.truth.find(name) is not None:
            return None
        return as_object([document_of(str(page)) for page in self.units.tolist()])

    def column_note(self, name: str) -> str:
        """What a report says of a column to group by that the truth does not have."""
        if name != "document" or self.truth.find(name) is not None:
            return ""
        return (
            "The truth has no column 'document': a document is what the names of its pages have in common before "
            "`_page`, `.pdf_` or the number of the page."
        )

    def select(self, keep: Array) -> DocumentPairs:
        return replace(super().select(keep), blocks=self.blocks[keep])


_PAGE_SUFFIX = re.compile(r"(?:\.pdf)?[_-]?(?:page|p)?[_-]?\d+$", re.IGNORECASE)


def document_of(page: str) -> str:
    """The document that a page's name names: what stands before `_page` or `.pdf_N`."""
    stem = re.sub(r"\.(png|jpe?g|tiff?|webp|bmp|md|html?)$", "", page, flags=re.IGNORECASE)
    return _PAGE_SUFFIX.sub("", stem) or stem


class _Side(Frozen):
    """One side with a row for each block: the records, and kind and text of each row."""

    records: Records
    kind: Array
    text: Array
    left: Array
    place: Array  # the order, nan where it is not known
    from_page: Array  # whether the row was cut from a page

    __eq__, __hash__ = object.__eq__, object.__hash__


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> DocumentPairs:
    """Join the pages of both sides by name, and order the blocks of each."""
    if truth.find(REPLY) is not None:
        return _join_results(truth)
    true_side, reply_side = _spread(truth), _spread(prediction)
    _check_tables(true_side)
    true_order, true_begin = _group_rows(true_side)
    reply_order, reply_begin = _group_rows(reply_side)
    _refuse_repeats(true_side.records, true_order, true_begin)
    first_true = true_side.records.take(true_order[true_begin[:-1]])
    first_reply = reply_side.records.take(reply_order[reply_begin[:-1]])
    pages = join_rows(first_true, first_reply, ("page",), policy, "sample_weight")
    # Every unit is a page of the truth; those that a policy leaves out have no blocks.
    count = len(pages.units)
    true_page, reply_page = np.full(count, -1), np.full(count, -1)
    true_page[pages.owner], reply_page[pages.owner] = pages.truth_row, pages.prediction_row
    true = _blocks(true_side, true_order, true_begin, true_page)
    reply = _blocks(reply_side, reply_order, reply_begin, reply_page)
    rows = np.arange(len(true.row))
    if "sample_weight" in true_side.records:  # one weight for all blocks of a page
        constant_in_unit(true_side.records, "sample_weight", true.page, true.row, count)
    return DocumentPairs(
        true_side.records,
        reply_side.records,
        pages.units,
        true.page,
        true.row,
        np.full(len(rows), -1, dtype=np.int64),
        pages.partial,
        pages.coverage,
        pages.weight,
        true,
        reply,
        rows,
        _ordered(true, true_side),
        true_side.left[true.row],
        "quick" if options.of("preset") == "omnidocbench" else str(options.of("match")),
        str(options.of("preset")),
        _mean_cdm(reply_side.records, reply),
    )


def _join_results(truth: Records) -> DocumentPairs:
    """Pages of OmniDocBench's results: every row is a match of its own."""
    side = _spread(truth)
    order, begin = _group_rows(side)
    first = truth.take(order[begin[:-1]])
    true = Blocks(begin, side.kind[order], side.text[order], order, np.arange(len(order)))
    said = as_object([str(text or "") for text in truth.other[REPLY][order].tolist()])
    reply = Blocks(begin, np.where(said == "", SKIPPED, true.kind), said, order, true.place)
    count = len(first)
    lists = truth.other[ORDERS].tolist() if ORDERS in truth.other else []
    by_page = {page: value for page, value in zip(truth["page"].tolist(), lists, strict=False) if value}
    orders = [by_page.get(page, [[], []]) for page in first["page"].tolist()]
    memo = Memo()
    memo.matches |= {"omnidocbench": _result_matches(true, reply), "tables": _result_tables(true, reply)}
    memo.matches["orders"] = tuple([list(map(int, one[i])) for one in orders] for i in range(2))
    scores = truth.other[TEDS][order[memo.matches["tables"].true]].tolist()
    for place, name in enumerate(("teds", "teds_struct")):
        values = [np.nan if pair is None or pair[place] is None else float(pair[place]) for pair in scores]
        memo.matches["table scores", name, "omnidocbench"] = np.array(values, dtype=np.float64)
    rows = np.arange(len(true.row))
    return DocumentPairs(
        truth,
        truth.take(np.zeros(0, dtype=np.int64)),
        first["page"],
        true.page,
        true.row,
        np.full(len(rows), -1, dtype=np.int64),
        np.zeros(count, dtype=bool),
        Coverage(count, count, count, 0, 0, "worst"),
        None,
        true,
        reply,
        rows,
        np.array([bool(a or b) for a, b in orders], dtype=bool),
        side.left[true.row],
        "results",
        cdm=_mean_cdm(truth, true),
        memo=memo,
    )


def _result_matches(true: Blocks, reply: Blocks) -> Matches:
    texts = [np.where((true.kind == TABLE) | (true.kind == SKIPPED), "", side.text) for side in (true, reply)]
    left, right = (text.tolist() for text in texts)
    length, size = (np.fromiter(map(len, side), np.int64, len(side)) for side in (left, right))
    both = np.flatnonzero((length > 0) & (size > 0))
    edited = edits.text_distances([left[i] for i in both.tolist()], [right[i] for i in both.tolist()])
    runs = Groups.of_runs(np.stack([both, both], axis=1))
    nothing = np.zeros(0, dtype=np.int64)
    return Matches(
        runs,
        runs,
        reply.place[both],
        edited,
        np.maximum(length, size)[both],
        np.flatnonzero((length > 0) & (size == 0)),
        nothing,
        nothing.astype(bool),
        np.where((true.kind == TABLE) | (true.kind == SKIPPED), -1, length),
        np.where((reply.kind == TABLE) | (reply.kind == SKIPPED), -1, size),
    )


def _result_tables(true: Blocks, reply: Blocks) -> TableMatches:
    is_table = true.kind == TABLE
    matched = np.flatnonzero(is_table & (reply.kind == TABLE))
    return TableMatches(matched, matched, np.flatnonzero(is_table & (reply.kind != TABLE)), np.zeros(0, dtype=np.int64))


def _spread(records: Records) -> _Side:
    """A row for each block: pages that are given whole are cut."""
    if "markdown" not in records:
        kinds = _kinds(records)
        texts = _texts(records, kinds)
        place = records["order"].astype(float) if "order" in records else np.full(len(records), np.nan)
        left = (kinds == LEFT_OUT) | (kinds == SKIPPED)
        left |= records["ignore"].astype(bool) if "ignore" in records else False
        return _Side(records, kinds, texts, left, place, np.zeros(len(records), bool))
    if "text" in records or "html" in records or "latex" in records:
        raise Conflict(
            "columns 'markdown' and 'text' are both there",
            where=records.source,
            remedy="Give whole pages in 'markdown', or blocks in 'text'.",
        )
    first: dict[str, int] = {}
    for row, name in enumerate(records["page"].tolist()):
        if first.setdefault(str(name), row) != row:
            raise DuplicateKey(
                f"page '{name}' has another text at {records.place(first[str(name)])}",
                where=records.where(row, "markdown"),
                remedy="Give a whole page in one row.",
            )
    rows, kinds_of, texts_of, places = [], [], [], []
    forms = records["form"].tolist() if "form" in records else [""] * len(records)
    for row, (page, form) in enumerate(zip(records["markdown"].tolist(), forms, strict=True)):
        if form and form not in ("markdown", "html"):
            raise InvalidValue(
                f"'{form}' is not a form of pages", where=records.where(row, "form"), remedy="Say markdown or html."
            )
        if len(str(page)) > MOST_PAGE:
            raise TooLarge(
                f"page '{records['page'][row]}' has {len(str(page)):,} characters",
                where=records.where(row, "markdown"),
                remedy=f"A page may have {MOST_PAGE:,}.",
            )
        cut = cut_page(str(page), str(form or form_of(str(page))))
        for piece in cut.pieces or (None,):
            rows.append(row)
            kinds_of.append(SKIPPED if piece is None else KINDS.index(piece.kind))
            texts_of.append("" if piece is None else piece.text)
            places.append(0.0 if piece is None else float(piece.place))
    kinds = np.array(kinds_of, dtype=np.int64)
    left = (kinds == LEFT_OUT) | (kinds == SKIPPED)
    taken = records.take(np.array(rows, dtype=np.int64))
    return _Side(taken, kinds, as_object(texts_of), left, np.array(places), np.ones(len(rows), bool))


def _check_tables(side: _Side) -> None:
    """Refuse a true table that is not one: its score would be 0 whatever a model says."""
    for row in np.flatnonzero((side.kind == TABLE) & ~side.left).tolist():
        text = str(side.text[row])
        if len(text) > MOST_TABLE:
            raise TooLarge(
                f"a table of page '{side.records['page'][row]}' has {len(text):,} characters",
                where=side.records.place(row),
                remedy=f"A table may have {MOST_TABLE:,}.",
            )
        if not re.search(r"<table\b", text, re.IGNORECASE) or not parse_tables(text):
            raise InvalidValue(
                f"a table of page '{side.records['page'][row]}' is not HTML with a <table>: '{text[:60]}'",
                where=side.records.place(row),
                remedy="Give its HTML, or give the block the type text.",
            )


FIRST = {TABLE: ("html", "text", "latex"), FORMULA: ("latex", "text", "html")}  # where the content of a kind is


def _texts(records: Records, kinds: Array) -> Array:
    """The content of each row: the first of its columns that is not empty."""
    columns = {name: records[name].tolist() for name in ("text", "html", "latex") if name in records}
    if not columns:
        raise MissingColumn(
            "column 'text' is missing", where=records.source, remedy="Give blocks in 'text', or pages in 'markdown'."
        )
    texts = []
    for row, kind in enumerate(kinds.tolist()):
        held = (columns[name][row] for name in FIRST.get(kind, ("text", "html", "latex")) if name in columns)
        texts.append(next((str(text) for text in held if text not in (None, "")), ""))
    return as_object(texts)


def _kinds(records: Records) -> Array:
    if "type" not in records:
        return np.full(len(records), TEXT, dtype=np.int64)
    values = records["type"].tolist()
    codes_of: dict[str, int] = {}
    for row, value in enumerate(values):
        if value in codes_of:
            continue
        name = re.sub(r"[\s-]+", "_", str(value or "").strip().lower())
        if name in TYPES or name.replace("_", " ") in TYPES:
            codes_of[value] = TYPES.get(name, TYPES.get(name.replace("_", " "), TEXT))
        elif not name:
            codes_of[value] = TEXT
        else:
            raise InvalidValue(
                f"'{value}' is not a type of blocks",
                where=records.where(row, "type"),
                remedy=nearest(name, ("text", "title", "table", "formula", "header", "footer", "caption", "figure")),
            )
    return np.array([codes_of[value] for value in values], dtype=np.int64)


def _group_rows(side: _Side) -> tuple[Array, Array]:
    """The rows by page and then by reading order, and where those of each page begin."""
    _, (page,) = codes(side.records["page"])
    place = np.where(np.isnan(side.place), -np.inf, side.place)
    keys = [np.arange(len(page)), place, page]
    if "block" in side.records:  # so that no order of rows decides
        keys.insert(1, codes(side.records["block"])[1][0])
    order = np.lexsort(keys)
    heads = np.flatnonzero(np.diff(page[order], prepend=-1))
    return order, np.append(heads, len(order)).astype(np.int64)


def _refuse_repeats(records: Records, order: Array, begin: Array) -> None:
    if "block" not in records:
        return
    names = records["block"].tolist()
    for first, last in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True):
        seen: dict[Any, int] = {}
        for row in order[first:last].tolist():
            if names[row] in seen and "markdown" not in records:
                raise Conflict(
                    f"page '{records['page'][row]}' has a second block '{names[row]}'; the first is at "
                    f"{records.place(seen[names[row]])}",
                    where=records.where(row, "block"),
                    remedy="Give each block of a page its own name.",
                )
            seen[names[row]] = row


def _blocks(side: _Side, order: Array, begin: Array, page_of_unit: Array) -> Blocks:
    """The blocks of the pages of all units, without those that have nothing to compare in replies."""
    counts = np.where(page_of_unit >= 0, np.diff(begin)[page_of_unit], 0) if len(begin) > 1 else page_of_unit * 0
    ends = np.cumsum(counts)
    start = np.repeat(begin[np.maximum(page_of_unit, 0)] - (ends - counts), counts)
    row = order[start + np.arange(int(ends[-1]) if len(ends) else 0)]
    place = np.where(side.from_page[row], side.place[row], np.arange(len(row)))
    return Blocks(np.append(0, ends).astype(np.int64), side.kind[row], side.text[row], row, place)


def _mean_cdm(records: Records, blocks: Blocks) -> Array:
    """The mean of column `cdm` over the rows of each page; nan where it has none."""
    values = records["cdm"][blocks.row] if "cdm" in records else np.full(len(blocks.row), np.nan)
    there, count = ~np.isnan(values), len(blocks.begin) - 1
    total = np.bincount(blocks.page[there], weights=values[there], minlength=count)
    rows = np.bincount(blocks.page[there], minlength=count)
    means: Array = np.divide(total, rows, out=np.full(count, np.nan), where=rows > 0)
    return means


def _ordered(true: Blocks, side: _Side) -> Array:
    """Of each page whether all scored blocks have an order of their own."""
    place, scored = side.place[true.row], ~side.left[true.row]
    result = np.zeros(len(true.begin) - 1, dtype=bool)
    for page, (first, last) in enumerate(zip(true.begin[:-1].tolist(), true.begin[1:].tolist(), strict=True)):
        values = place[first:last][scored[first:last]]
        result[page] = len(values) > 0 and not np.isnan(values).any() and len(set(values.tolist())) == len(values)
    return result

"""What is kept of pages, added up over units."""

from __future__ import annotations

from typing import Literal

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache, Sum
from steelyard.language import edits
from steelyard.tasks.documents.data import DocumentPairs
from steelyard.tasks.documents.matching import FORMULA, LEFT_OUT, SKIPPED, TABLE, TEXT, TITLE, Matches
from steelyard.tasks.documents.texts import FOLD, Norm, join_texts, normalise
from steelyard.tasks.tables.trees import grits_con, parse_tables, teds

EDITS, LONGER, MISSING, SURPLUS, REPEATED, TRUE, REPLY, BLOCKS, SHARES, SURPLUS_BLOCKS = range(10)
CHARGED, CHARGED_PAGES, FREE, FREE_PAGES = range(10, 14)


class Scored:
    """The matches of a normalisation by page: which pairs are of texts, of formulas, or left out, in this slice."""

    def __init__(self, pairs: DocumentPairs, norm: Norm) -> None:
        matches: Matches = pairs.matches(norm)
        true, present = pairs.true, pairs.present
        scored = ~pairs.left & (matches.length > 0)
        self.matches = matches
        self.kind = np.full(len(matches.edits), LEFT_OUT, dtype=np.int64)
        self.first = matches.block.first.copy()
        text = scored & ((true.kind == TEXT) | (true.kind == TITLE))
        for kind, mask in ((FORMULA, scored & (true.kind == FORMULA)), (TEXT, text)):
            place = matches.block.first_where(mask)
            self.kind[place >= 0] = kind
            self.first[place >= 0] = place[place >= 0]
        self.present = present[self.first]
        self.page = true.page[self.first]
        self.missing = {
            kind: matches.missing[(mask & present)[matches.missing]]
            for kind, mask in ((TEXT, text), (FORMULA, scored & (true.kind == FORMULA)))
        }
        self.surplus_page = pairs.reply.page[matches.surplus]
        formula = pairs.reply.kind[matches.surplus] == FORMULA
        whole = pairs.whole[self.surplus_page]
        self.surplus = {TEXT: whole & ~formula, FORMULA: whole & formula}

    def of(self, kind: int) -> Array:
        """Pairs of a kind that the slice keeps."""
        chosen: Array = (self.kind == kind) & self.present
        return chosen


def scored_of(pairs: DocumentPairs, cache: SharedCache, norm: Norm) -> Scored:
    """The matches of a slice, made once for all statistics."""
    return cache.once(("documents scored", norm), lambda: Scored(pairs, norm))


def _by_page(page: Array, count: int, values: Array | None = None) -> Array:
    return np.bincount(page, weights=values, minlength=count).astype(np.float64)


class CdmSums(Sum):
    """Of each page with a formula: its mean CDM, 1, and whether it has no score, which counts as 0."""

    name = "documents.cdm"

    def measure(self, pairs: DocumentPairs, cache: SharedCache) -> SumBlock:
        whole = pairs.whole & (not np.isnan(pairs.cdm).all())
        formulas = (pairs.true.kind == FORMULA) & ~pairs.left
        held = np.bincount(pairs.true.page[formulas], minlength=len(pairs.units)) > 0
        counted = whole & (held | ~np.isnan(pairs.cdm))
        scores = np.where(counted, np.nan_to_num(pairs.cdm), 0.0)
        return SumBlock(np.stack([scores, counted, counted & np.isnan(pairs.cdm)], axis=1))


class TextSums(Sum):
    """Of each page: edits and longer lengths of matched texts (or formulas), what is missing, surplus and repeated, all
    true and all reply characters, blocks and the sum of their shares, surplus blocks; the page's own share with surplus
    and without it, and whether it has one.
    """

    name = "documents.text"

    norm: Norm = "words"
    of: str = "text"

    def measure(self, pairs: DocumentPairs, cache: SharedCache) -> SumBlock:
        kind, count = (TEXT if self.of == "text" else FORMULA), len(pairs.units)
        scored = scored_of(pairs, cache, self.norm)
        matches, chosen = scored.matches, scored.of(kind)
        page, edited, longer = scored.page[chosen], matches.edits[chosen], matches.longer[chosen]
        missing, extra = scored.missing[kind], scored.surplus[kind]
        lost, lost_page = matches.length[missing], pairs.true.page[missing]
        more, more_page = matches.size[matches.surplus[extra]], scored.surplus_page[extra]
        columns = np.zeros((count, 14))
        columns[:, EDITS], columns[:, LONGER] = _by_page(page, count, edited), _by_page(page, count, longer)
        columns[:, MISSING], columns[:, SURPLUS] = _by_page(lost_page, count, lost), _by_page(more_page, count, more)
        columns[:, REPEATED] = _by_page(more_page, count, more * matches.repeated[extra])
        columns[:, TRUE] = self._true_letters(pairs, scored, kind)
        columns[:, REPLY] = self._reply_letters(pairs, scored, kind)
        columns[:, BLOCKS] = _by_page(page, count) + _by_page(lost_page, count)
        columns[:, SHARES] = _by_page(page, count, edited / np.maximum(longer, 1)) + _by_page(lost_page, count)
        columns[:, SURPLUS_BLOCKS] = _by_page(more_page, count)
        wrong, length = columns[:, EDITS] + columns[:, MISSING], columns[:, LONGER] + columns[:, MISSING]
        for share, pages, more_letters in ((CHARGED, CHARGED_PAGES, columns[:, SURPLUS]), (FREE, FREE_PAGES, 0.0)):
            total = length + more_letters
            columns[:, share] = np.divide(wrong + more_letters, total, out=np.zeros(count), where=total > 0)
            columns[:, pages] = total > 0
        return SumBlock(columns)

    @staticmethod
    def _true_letters(pairs: DocumentPairs, scored: Scored, kind: int) -> Array:
        kinds = (TEXT, TITLE) if kind == TEXT else (FORMULA,)
        mask = ~pairs.left & pairs.present & np.isin(pairs.true.kind, kinds)
        return _by_page(pairs.true.page[mask], len(pairs.units), np.maximum(scored.matches.length[mask], 0))

    @staticmethod
    def _reply_letters(pairs: DocumentPairs, scored: Scored, kind: int) -> Array:
        if pairs.match == "results":  # which do not hold what was not matched
            return np.zeros(len(pairs.units))
        is_formula = pairs.reply.kind == FORMULA
        mask = (
            (scored.matches.size > 0) & (is_formula if kind == FORMULA else ~is_formula) & pairs.whole[pairs.reply.page]
        )
        return _by_page(pairs.reply.page[mask], len(pairs.units), scored.matches.size[mask])


class PageEdits(Sum):
    """Of each page: edits between all text in order, the longer length, their share, and whether it has text."""

    name = "documents.page"

    norm: Norm = "words"

    def measure(self, pairs: DocumentPairs, cache: SharedCache) -> SumBlock:
        sides = []
        scored = scored_of(pairs, cache, self.norm)
        said = pairs.whole[pairs.reply.page]
        piece = scored.matches.piece
        said[piece.place[np.repeat(scored.kind == LEFT_OUT, np.diff(piece.end, prepend=0))]] = False
        for blocks, mask in ((pairs.true, ~pairs.left & pairs.present), (pairs.reply, said)):
            page_of = blocks.page
            pages: list[list[str]] = [[] for _ in pairs.units]
            for place in np.flatnonzero(mask & (blocks.kind != TABLE) & (blocks.kind != SKIPPED)).tolist():
                text = normalise(blocks.text[place], self.norm)
                if text:
                    pages[page_of[place]].append(text)
            sides.append([join_texts(page, self.norm) for page in pages])
        distance = edits.text_distances(*sides) if len(pairs.units) else np.zeros(0)
        longer = np.array([max(len(a), len(b)) for a, b in zip(*sides, strict=True)], dtype=float)
        share = np.divide(distance, longer, out=np.zeros(len(longer)), where=longer > 0)
        return SumBlock(np.stack([distance.astype(float), longer, share, longer > 0], axis=1))


class MatchedEdits(Sum):
    """Characters or words of matched texts that are kept, substituted, deleted and inserted, with blanks folded."""

    name = "documents.matched"

    by: str = "characters"
    norm: Norm = "words"

    def measure(self, pairs: DocumentPairs, cache: SharedCache) -> SumBlock:
        scored = scored_of(pairs, cache, self.norm)
        chosen = np.flatnonzero(scored.of(TEXT))
        sides = []
        for blocks, groups, size in (
            (pairs.true, scored.matches.block, scored.matches.length),
            (pairs.reply, scored.matches.piece, scored.matches.size),
        ):
            texts = []
            lists = groups.lists()
            for match in chosen.tolist():
                parts = [FOLD(blocks.text[i]) for i in lists[match] if size[i] > 0]
                texts.append(join_texts(parts, "words"))
            sides.append(texts)
        if self.by == "characters":
            counts = edits.text_counts(*sides) if len(chosen) else np.zeros((0, 4))
        else:
            words = edits.words(*([text.split() for text in side] for side in sides))
            counts = edits.edit_counts(*words) if len(chosen) else np.zeros((0, 4))
        page, units = scored.page[chosen], len(pairs.units)
        return SumBlock(np.stack([_by_page(page, units, counts[:, i]) for i in range(4)], axis=1))


Table = Literal["teds", "teds_struct", "grits_con"]


class TableSums(Sum):
    """Of each page: true tables, the sum of their scores, lost and surplus tables; the mean of the page with surplus
    tables as 0 and without them, and whether it has one.
    """

    name = "documents.tables"

    score: Table = "teds"
    rules: Literal["clean", "omnidocbench"] = "clean"

    def measure(self, pairs: DocumentPairs, cache: SharedCache) -> SumBlock:
        matches, count = pairs.table_matches(), len(pairs.units)
        scored, page = ~pairs.left & pairs.present, pairs.true.page
        matched = scored[matches.true]
        lost = matches.lost[scored[matches.lost]]
        more_page = pairs.reply.page[matches.surplus]
        more_page = more_page[pairs.whole[more_page]]
        values = table_scores(pairs, self.score, self.rules)[matched]
        columns = np.zeros((count, 8))
        columns[:, 0] = _by_page(page[matches.true[matched]], count) + _by_page(page[lost], count)
        columns[:, 1] = _by_page(page[matches.true[matched]], count, values)
        columns[:, 2], columns[:, 3] = _by_page(page[lost], count), _by_page(more_page, count)
        for place, more in ((4, columns[:, 3]), (6, 0.0)):
            total = columns[:, 0] + more
            columns[:, place] = np.divide(columns[:, 1], total, out=np.zeros(count), where=total > 0)
            columns[:, place + 1] = total > 0
        return SumBlock(columns)


def table_scores(pairs: DocumentPairs, score: Table, rules: Literal["clean", "omnidocbench"]) -> Array:
    """The score of each matched pair of tables, made once for all slices."""
    key = ("table scores", score, rules)
    if key not in pairs.memo.matches:
        matches = pairs.table_matches()
        texts = zip(pairs.true.text[matches.true].tolist(), pairs.reply.text[matches.reply].tolist(), strict=True)
        pairs.memo.matches[key] = np.array([_table_score(a, b, score, rules) for a, b in texts], dtype=np.float64)
    values: Array = pairs.memo.matches[key]
    return np.nan_to_num(values)  # a table of OmniDocBench's results that it did not score is 0 there


def _table_score(truth: str, reply: str, score: Table, rules: Literal["clean", "omnidocbench"]) -> float:
    if score == "grits_con":
        return float(grits_con(truth, reply).f) if parse_tables(reply) else 0.0
    return teds(truth, reply, rules=rules, structure=score == "teds_struct")


Order = Literal["all", "first_table_lost"]


class OrderSums(Sum):
    """Of each page: edits of the order lists, the longer list, blocks matched, the longest rising run of them; the
    page's two shares, and whether it has an order, and matched blocks.
    """

    name = "documents.order"

    norm: Norm = "words"
    order: Order = "all"

    def measure(self, pairs: DocumentPairs, cache: SharedCache) -> SumBlock:
        true_lists, said_lists = order_lists(pairs, cache, self.norm, self.order)
        columns = np.zeros((len(pairs.units), 8))
        if len(pairs.units):
            encoded = [_encode(lists) for lists in (true_lists, said_lists)]
            columns[:, 0] = edits.distances(*encoded)
        longer = np.array([max(len(a), len(b)) for a, b in zip(true_lists, said_lists, strict=True)], dtype=float)
        matched = np.array([len(said) for said in said_lists], dtype=float)
        rising = np.array([longest_rising(said) for said in said_lists], dtype=float)
        known = pairs.ordered & (longer > 0)
        columns[:, 1], columns[:, 2], columns[:, 3] = longer, matched, rising
        columns[:, 4] = np.divide(columns[:, 0], longer, out=np.zeros(len(longer)), where=longer > 0)
        columns[:, 5] = known
        columns[:, 6] = np.divide(matched - rising, matched, out=np.zeros(len(longer)), where=matched > 0)
        columns[:, 7] = known & (matched > 0)
        return SumBlock(columns * known[:, np.newaxis])


def _encode(lists: list[list[int]]) -> tuple[Array, Array]:
    flat = np.array([rank for ranks in lists for rank in ranks], dtype=np.uint32)
    return flat, np.cumsum([len(ranks) for ranks in lists], dtype=np.int64)


def order_lists(
    pairs: DocumentPairs, cache: SharedCache, norm: Norm, order: Order = "all"
) -> tuple[list[list[int]], list[list[int]]]:
    """Of each page: the scored blocks in true order, and the matched ones in the order of the reply.

    `first_table_lost` repeats two faults of OmniDocBench: the first table of a reply counts as none, and a text of
    which nothing is left hands its place in the order to the next text.
    """

    def make() -> tuple[list[list[int]], list[list[int]]]:
        if "orders" in pairs.memo.matches:  # of OmniDocBench's own results
            lists = pairs.memo.matches["orders"]
            true, reply = ([p if w else [] for p, w in zip(side, pairs.whole, strict=True)] for side in lists)
            return true, reply
        matches, units = scored_of(pairs, cache, norm).matches, len(pairs.units)
        is_table = pairs.true.kind == TABLE
        counted = ~pairs.left & pairs.present & ((matches.length > 0) | is_table)
        pages, tables = pairs.true.page, pairs.table_matches()
        rank = np.arange(len(pages)) if order == "all" else _shifted_ranks(pairs, matches)
        pieces = tables.reply if order == "all" else np.where(_is_first(pairs), -1, tables.reply)
        said: list[list[tuple[float, int]]] = [[] for _ in range(units)]
        for place, piece in zip(tables.true.tolist(), pieces.tolist(), strict=True):
            if counted[place] and piece >= 0:
                said[pages[place]].append((float(pairs.reply.place[piece]), int(rank[place])))
        for group, position in zip(matches.block.lists(), matches.position.tolist(), strict=True):
            for place in group:
                if counted[place] and not is_table[place]:
                    said[pages[place]].append((position, int(rank[place])))
        true_lists: list[list[int]] = [[] for _ in range(units)]
        for place in np.flatnonzero(counted).tolist():
            true_lists[pages[place]].append(int(rank[place]))
        return [sorted(page) for page in true_lists], [[place for _, place in sorted(page)] for page in said]

    return cache.once(("documents order", norm, order), make)


def _is_first(pairs: DocumentPairs) -> Array:
    """Of each matched table whether it is the first table of its reply."""
    reply, tables = pairs.reply, pairs.table_matches().reply
    places = np.flatnonzero(reply.kind == TABLE)
    return np.isin(tables, places[np.flatnonzero(np.diff(reply.page[places], prepend=-1))])


def _shifted_ranks(pairs: DocumentPairs, matches: Matches) -> Array:
    """The place of each block, where texts of a page that are not empty take the places of all texts in turn."""
    rank = np.arange(len(pairs.true.kind))
    is_text = (pairs.true.kind != TABLE) & (pairs.true.kind != SKIPPED)
    for first, last in zip(pairs.true.begin[:-1].tolist(), pairs.true.begin[1:].tolist(), strict=True):
        texts = first + np.flatnonzero(is_text[first:last])
        filled = texts[matches.length[texts] > 0]
        rank[filled] = texts[: len(filled)]
    return rank


def longest_rising(values: list[int]) -> int:
    """The length of the longest rising subsequence."""
    tails: list[int] = []
    for value in values:
        at = int(np.searchsorted(tails, value))
        tails[at : at + 1] = [value]
    return len(tails)

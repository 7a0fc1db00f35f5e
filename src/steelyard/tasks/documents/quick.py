"""`match=quick`: texts of a page matched as the quick_match of OmniDocBench 1.6.0 matches them.

1. A reply is cut at empty lines, or at every line feed if there is no empty line. Display formulas are items of their
   own; inline formulas are items, too, and stay in the text.
2. Blocks that are left out of the scores take all items that are nearer than 0.25 to one of them.
3. For blocks and items without a partner nearer than 0.25, neighbouring items are merged as long as that brings them
   nearer to a block; of merges that overlap, those with the least mean distance are kept.
4. Blocks and items are assigned at the least total distance. A distance above 0.7 does not match.
5. A block without a match that is found inside an item, nearer than 0.4, joins it.
6. What is left is assigned once more, whatever its distance.
7. Titles, and long texts, that are further than 0.45 look for a better run of free items nearby.

Faults are kept: an item of which normalisation leaves nothing shifts the positions of those behind it, and positions of
texts do not count the empty lines between them. Left out are its time limits and its repairs of formulas, which are
matched by runs.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np

from steelyard import _native
from steelyard.core.errors import TooLarge
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.language import edits
from steelyard.tasks.documents.markup import cut_page, form_of
from steelyard.tasks.documents.matching import (
    FORMULA,
    SKIPPED,
    TABLE,
    TITLE,
    Blocks,
    Groups,
    Matches,
    match_runs,
    normalised,
)
from steelyard.tasks.documents.texts import (
    Norm,
    inline_to_unicode,
    normalise,
    normalise_formula,
    strip_delimiters,
)

SAME, NO_MATCH, INSIDE, PART = 0.25, 0.7, 0.4, 0.6  # distances: steps 2 and 3, step 4, step 5, a part in step 3
MOST_MERGED = 160  # items
FAR, BETTER, NEAR, NEAR_FORMULA = 0.45, 0.2, 0.35, 0.45  # of step 7: from where, by how much, up to where
AROUND, LONG, SPAN, SPAN_FORMULA = 8, 80, 4, 8  # of step 7: items on both sides, letters of a long text, items of a run
MOST_CELLS = 1 << 16  # blocks times items of a page
_INLINE = re.compile(r"\$(?!\$)([^$]+)\$|\\\(((?:(?!\\\().)*?)\\\)", re.DOTALL)
_INLINE_OF_LINE = re.compile(r"\$([^$\n]*)\$|\\\(((?:(?!\\[()])[^\n])*)\\\)")
_IMAGE = re.compile(r"!\[[^\[\]\n]*\]\([^()\n]*\)")
_FENCE = re.compile(r"^```(?:markdown|html|latex)\n?|```\n?$", re.MULTILINE)
_HINT = re.compile(r"\$[^$]+\$|\\\([^()]*\\\)|\\(?:frac|sum|int|sqrt|left)")
_STRONG = re.compile(r"[=<>≤≥≈≠^+/-]|\\(?:cdot|frac|sqrt|sum|int|times|div|approx|neq|leq|geq)")
_LABEL = re.compile(r"[A-Za-z0-9ΓγλμνMN._,-]+")
_ARROW = ("\\xrightarrow", "\\longrightarrow")
MOST_LABEL = 24  # letters of an inline formula that is taken for a label and dropped


class Item(Frozen):
    """An item of a reply: its text, what is compared of it, where it stands, and the pieces that it covers."""

    text: str
    norm: str
    formula: bool
    position: float
    pieces: tuple[int, ...]


class Truth(Frozen):
    """A true block: its place, its text, what is compared of it, its kind, and whether it is left out of the scores."""

    place: int
    text: str
    norm: str
    kind: int
    left: bool


class Match(Frozen):
    """Places of blocks and items, what is compared of both, and the distance that the next step goes by.

    `text` is that of the blocks, with inline formulas as Unicode where a text is compared with a formula. `moved` says
    that step 7 found the items: their places are among all items, not among those of which something is left.
    """

    blocks: tuple[int, ...]
    items: tuple[int, ...]
    text: str
    truth: str
    said: str
    share: float
    moved: bool = False


def match_quick(
    true: Blocks, reply: Blocks, norm: Norm, names: Array, left: Array, pages: Array | None, forms: Array | None
) -> Matches:
    """Matches of all pages. `pages` and `forms` have the page of each piece as it was written, None for blocks.

    `names` are those of the pages, for messages, and `left` says which blocks are left out of the scores.
    """
    runs = match_runs(true, reply, norm, names)
    texts = normalised(true, norm)
    blocks: list[list[int]] = []
    pieces: list[list[int]] = []
    positions: list[float] = []
    sides: tuple[list[str], list[str]] = ([], [])
    vanished: list[int] = []
    for page, name in enumerate(names.tolist()):
        first, last = int(true.begin[page]), int(true.begin[page + 1])
        own = [
            Truth(place, str(true.text[place]), texts[place], int(true.kind[place]), bool(left[place]))
            for place in range(first, last)
            if texts[place]
        ]
        pool = _items(reply, page, norm, pages, forms)
        filled = [item for item in pool if item.norm]
        if len(own) * len(filled) > MOST_CELLS:
            raise TooLarge(
                f"page '{name}': there are {len(own):,} blocks and {len(filled):,} paragraphs",
                remedy=f"`match=quick` takes {MOST_CELLS:,} pairs of them; choose `match=runs`.",
            )
        for match in _match_page(own, pool, norm):
            kinds = [own[block].kind for block in match.blocks]
            places = [own[block].place for block in match.blocks if own[block].kind != FORMULA]
            if Counter(kinds).most_common(1)[0][0] == FORMULA:  # its texts are in no score
                vanished += places
                continue
            blocks.append(places)
            among = pool if match.moved else filled
            pieces.append(sorted({piece for item in match.items for piece in among[item].pieces}))
            positions.append(pool[match.items[0]].position)
            sides[0].append(match.truth)
            sides[1].append(match.said)
    formulas = _of_formulas(runs, true, left)
    lists = [runs.block.lists(), runs.piece.lists()]
    blocks += [lists[0][match] for match in formulas]
    pieces += [lists[1][match] for match in formulas]
    distance = edits.text_distances(*sides) if sides[0] else np.zeros(0, dtype=np.int64)
    longer = np.array([max(len(one), len(other)) for one, other in zip(*sides, strict=True)], dtype=np.int64)
    matched, used = np.zeros(len(true.kind), dtype=bool), np.zeros(len(reply.kind), dtype=bool)
    groups = Groups.of_lists(blocks), Groups.of_lists(pieces)
    matched[groups[0].place], used[groups[1].place] = True, True
    matched[vanished] = True
    surplus = np.flatnonzero(~used & (runs.size > 0))
    again = runs.surplus[runs.repeated]
    return Matches(
        *groups,
        np.append(np.array(positions, dtype=np.float64), runs.position[formulas]),
        np.append(distance, runs.edits[formulas]),
        np.append(longer, runs.longer[formulas]),
        np.flatnonzero(~matched & (runs.length > 0)),
        surplus,
        np.isin(surplus, again),
        runs.length,
        runs.size,
    )


def _of_formulas(runs: Matches, true: Blocks, left: Array) -> Array:
    """The matches of runs that are of scored formulas and of no text."""
    formula, text = (runs.block.first_where(~left & mask) for mask in (true.kind == FORMULA, true.kind != FORMULA))
    return np.flatnonzero((formula >= 0) & (text < 0))


# Items of a reply ---------------------------------------------------------------------------------------------------
def _items(reply: Blocks, page: int, norm: Norm, pages: Array | None, forms: Array | None) -> list[Item]:
    """What a reply is cut into: texts and display formulas as they stand, and then inline formulas."""
    first, last = int(reply.begin[page]), int(reply.begin[page + 1])
    chosen = [place for place in range(first, last) if reply.kind[place] not in (TABLE, SKIPPED)]
    if not chosen:
        return []
    text = None if pages is None else str(pages[first])
    form = "" if forms is None else str(forms[first] or "")
    if text is None or (form or form_of(text)) == "html":
        return [_item(str(reply.text[i]), reply.kind[i] == FORMULA, norm, float(reply.place[i]), (i,)) for i in chosen]
    cut = cut_page(text)
    rest, with_pipes = (
        _FENCE.sub(_blanks, _IMAGE.sub(_blanks, cut.without_tables_and_formulas(pipes))) for pipes in (False, True)
    )
    items = [
        _item(str(reply.text[i]), True, norm, float(reply.place[i]), (i,)) for i in chosen if reply.kind[i] == FORMULA
    ]
    begins = reply.place[chosen].tolist()
    gap = "\n\n" if "\n\n" in rest else "\n"
    start = position = 0
    for part in rest.split(gap):
        lines = [line.strip() for line in part.split("\n")]
        if any(lines):
            inside = chosen[bisect_left(begins, start) : bisect_left(begins, start + len(part))]
            nearest = chosen[max(bisect_left(begins, start) - 1, 0)]
            covered = tuple(i for i in inside if reply.kind[i] != FORMULA) or (nearest,)
            items.append(_item("\n".join(filter(None, lines)), False, norm, position, covered))
        start += len(part) + len(gap)
        position += len(part)
    items.sort(key=lambda item: item.position)
    for match in _INLINE.finditer(with_pipes):
        inner = " ".join((match[1] or match[2] or "").split("\n"))
        if not _is_label(inner):
            nearest = chosen[max(bisect_left(begins, match.start() + 1) - 1, 0)]
            items.append(_item(f"\\[{inner}\\]", True, norm, match.start(), (nearest,)))
    return items


def _blanks(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _item(text: str, formula: bool, norm: Norm, position: float, pieces: tuple[int, ...]) -> Item:
    return Item(text, (normalise_formula if formula else normalise)(text, norm), bool(formula), position, pieces)


def _is_label(formula: str) -> bool:
    """Whether an inline formula is a name or an arrow, which is not an item."""
    bare = re.sub(r"\s+", "", formula)
    if bare.startswith(_ARROW):
        return True
    return 0 < len(bare) <= MOST_LABEL and not _STRONG.search(formula) and _LABEL.fullmatch(bare) is not None


# Steps --------------------------------------------------------------------------------------------------------------
def _distance(one: str, other: str) -> float:
    longer = max(len(one), len(other))
    return int(edits.text_distances([one], [other])[0]) / longer if longer else 0.0


def _distances(truths: Sequence[str], items: Sequence[str]) -> Array:
    """The distance of each text from each item, as a share of the longer one."""
    cells = list(product(truths, items))
    if not cells:
        return np.zeros((len(truths), len(items)))
    longer = np.array([max(len(one), len(other), 1) for one, other in cells])
    table: Array = (edits.text_distances(*zip(*cells, strict=True)) / longer).reshape(len(truths), len(items))
    return table


def _match_page(truths: Sequence[Truth], pool: Sequence[Item], norm: Norm) -> list[Match]:
    """The matches of a page: places in `truths`, and in the items of which something is left."""
    items = [item for item in pool if item.norm]
    if not truths or not items:
        return []
    if len(truths) == len(items) == 1:
        return [_match((0,), (0,), truths, items, _distance(truths[0].norm, items[0].norm))]
    outer = [i for i, truth in enumerate(truths) if truth.left]
    near = _distances([truths[i].norm for i in outer], [item.norm for item in items]) < SAME
    taken = [(i, int(np.flatnonzero(row)[-1])) for i, row in zip(outer, near, strict=True) if row.any()]
    inner = [i for i, truth in enumerate(truths) if not truth.left]
    rest = np.flatnonzero(~near.any(axis=0)).tolist()
    assigned = (
        _Assignment([truths[i] for i in inner], [items[i].norm for i in rest]).matches() if inner and rest else []
    )
    matches = [
        _match(tuple(inner[i] for i in blocks), tuple(rest[j] for j in said), truths, items, share)
        for blocks, said, share in assigned
    ]
    matches = [_as_text(match, truths, pool, items, norm) for match in matches]
    matches += [_match((i,), (j,), truths, items, 0.0) for i, j in taken]
    return _repair(matches, truths, pool, norm)


def _match(
    blocks: tuple[int, ...], said: tuple[int, ...], truths: Sequence[Truth], items: Sequence[Item], share: float
) -> Match:
    own, other = "".join(truths[i].norm for i in blocks), "".join(items[j].norm for j in said)
    return Match(blocks, said, "".join(truths[i].text for i in blocks), own, other, share)


def _kind(match: Match, truths: Sequence[Truth]) -> int:
    return Counter(truths[i].kind for i in match.blocks).most_common(1)[0][0]


def _as_text(match: Match, truths: Sequence[Truth], pool: Sequence[Item], items: Sequence[Item], norm: Norm) -> Match:
    """A match of a text and a formula compares both as texts."""
    formula, said_formula = _kind(match, truths) == FORMULA, pool[match.items[0]].formula
    if formula == said_formula:
        return match
    parts = [items[j].text for j in match.items]
    if said_formula and len(parts) > 1:  # OmniDocBench writes them as the lines of an array
        lines = " \\\\ ".join(f"{{{strip_delimiters(part)}}}" for part in parts)
        parts = [f"\\begin{{array}}{{l}} {lines} \\end{{array}}"]
    sides = ("".join(truths[i].text for i in match.blocks), "".join(parts))
    text, said = (
        inline_to_unicode(strip_delimiters(text) if of_formula else text)
        for text, of_formula in zip(sides, (formula, said_formula), strict=True)
    )
    one, other = normalise(text, norm), normalise(said, norm)
    return Match(match.blocks, match.items, text, one, other, _distance(one, other))


class _Assignment:
    """Steps 3 to 6, for the blocks that are scored and the items that are left for them."""

    def __init__(self, truths: Sequence[Truth], items: Sequence[str]) -> None:
        self.truths, self.items = truths, items
        self.norms = [truth.norm for truth in truths]
        self.windows: dict[tuple[str, str], float] = {}

    def matches(self) -> list[tuple[tuple[int, ...], tuple[int, ...], float]]:
        """Blocks, items and distance of each match."""
        table = _distances(self.norms, self.items)
        merged = self._merge(table)
        if any(len(run) > 1 for run in merged):
            table = _distances(self.norms, [" ".join(self.items[j] for j in run) for run in merged])
        column = _native.assign_scipy(np.ascontiguousarray(table)).tolist()
        chosen: dict[tuple[int, ...], list[int]] = {}
        lost = []
        for block, place in enumerate(column):
            if place < 0 or table[block, place] > NO_MATCH:
                lost.append(block)
            else:
                chosen[merged[place]] = [block]
        self._add_inside(chosen, lost)
        result = [(tuple(sorted(blocks)), said, self._share(blocks, said)) for said, blocks in chosen.items() if blocks]
        blocks = sorted(set(range(len(self.norms))) - {i for own, _, _ in result for i in own})
        free = sorted(set(range(len(self.items))) - {j for said in chosen for j in said})
        if blocks and free:
            table = _distances([self.norms[i] for i in blocks], [self.items[j] for j in free])
            for block, place in zip(blocks, _native.assign_scipy(table).tolist(), strict=True):
                if place >= 0:
                    result.append(((block,), (free[place],), 1.0))
        return result

    def _share(self, blocks: Sequence[int], said: tuple[int, ...]) -> float:
        if len(blocks) > 1:
            return _distance("".join(self.norms[i] for i in sorted(blocks)), self.items[said[0]])
        return _distance(self.norms[blocks[0]], " ".join(self.items[j] for j in said))

    def _add_inside(self, chosen: dict[tuple[int, ...], list[int]], lost: Sequence[int]) -> None:
        """Step 5: blocks without a match join the first item that they are found in."""
        joined: set[int] = set()
        for place, item in enumerate(self.items):
            inside = [
                i for i in lost if self.truths[i].kind != FORMULA and self._window(item, self.norms[i], INSIDE) < INSIDE
            ]
            if inside:
                chosen.setdefault((place,), []).extend(i for i in inside if i not in joined)
                joined.update(inside)

    def _window(self, text: str, part: str, limit: float) -> float:
        """The least distance of a part from a stretch of the text of its length; 2 where the text is shorter.

        Above the limit, any number above it.
        """
        if len(text) < len(part) or not part:
            return 2.0
        if (text, part) not in self.windows:
            lacking = sum((Counter(part) - Counter(text)).values()) / len(part)
            if lacking > limit:
                return lacking
            stretches = [text[at : at + len(part)] for at in range(len(text) - len(part) + 1)]
            least = int(edits.text_distances(stretches, [part] * len(stretches)).min())
            self.windows[text, part] = least / len(part)
        return self.windows[text, part]

    def _merge(self, table: Array) -> list[tuple[int, ...]]:
        """Step 3: the items, with those that are merged as one."""
        masked = table < SAME
        closed = set(np.flatnonzero(masked.any(axis=0)).tolist())
        wanted: list[tuple[tuple[int, ...], float]] = []
        open_items = [j for j in range(len(self.items)) if j not in closed]
        for block in np.flatnonzero(~masked.any(axis=1)).tolist():
            options = [self._grown(block, j, closed, table) for j in open_items]
            if options:
                wanted.append(min(options, key=lambda option: option[1]))
        runs = {run[0]: run for run in _least_overlap(wanted)}
        inside = {j for run in runs.values() for j in run}
        return [runs.get(j, (j,)) for j in range(len(self.items)) if j in runs or j not in inside]

    def _grown(self, block: int, first: int, closed: set[int], table: Array) -> tuple[tuple[int, ...], float]:
        """The run of items from the first on that may be this block, and its distance."""
        truth, last, share = self.norms[block], first, float(table[block, first])
        joined, plain = self.items[first], share
        while last - first + 1 < MOST_MERGED and last + 1 < len(self.items) and last + 1 not in closed:
            more = f"{joined} {self.items[last + 1]}"
            distance = _distance(truth, more)
            parts = self.items[first : last + 2]
            if distance > plain or any(self._window(truth, part, PART) > PART for part in parts[:-1]):
                break
            if self._window(truth, parts[-1], PART) >= PART:
                break
            joined, plain, last = more, distance, last + 1
            if len(joined) > len(truth):
                break
        return tuple(range(first, last + 1)), plain


def _least_overlap(wanted: Sequence[tuple[tuple[int, ...], float]]) -> list[tuple[int, ...]]:
    """Of runs that overlap, those without overlap whose mean distance is least."""
    clusters: list[list[tuple[tuple[int, ...], float]]] = []
    for run in sorted(wanted, key=lambda option: option[0][0]):
        if clusters and any(set(run[0]) & set(other) for other, _ in clusters[-1]):
            clusters[-1].append(run)
        else:
            clusters.append([run])
    kept: list[tuple[int, ...]] = []
    for cluster in clusters:
        ways = [[cluster[0]]]
        for run in cluster[1:]:
            placed = False
            for way in ways:
                equal = next((i for i, other in enumerate(way) if other[0] == run[0]), None)
                if equal is not None:
                    placed = True
                    if way[equal][1] > run[1]:
                        way.append(run)
                        del way[equal]
                elif not any(set(run[0]) & set(other) for other, _ in way):
                    placed = True
                    way.append(run)
            if not placed:
                ways.append([run])
        kept += [run for run, _ in min(ways, key=lambda way: sum(share for _, share in way) / len(way))]
    return kept


# Step 7 -------------------------------------------------------------------------------------------------------------
def _repair(matches: list[Match], truths: Sequence[Truth], pool: Sequence[Item], norm: Norm) -> list[Match]:
    """Matches, with a better run of items where one is free nearby; lost blocks look everywhere."""
    matched = {i for match in matches for i in match.blocks}
    entries = [
        *matches,
        *(Match((i,), (), truths[i].text, truths[i].norm, "", 1.0) for i in range(len(truths)) if i not in matched),
    ]
    better: list[tuple[float, int, Match]] = []
    for place, entry in enumerate(entries):
        kind, hint = _kind(entry, truths), _has_formula(entry.text)
        scored = kind != FORMULA and not truths[entry.blocks[0]].left
        if not scored or entry.share <= FAR or not (kind == TITLE or hint or len(entry.truth) >= LONG):
            continue
        blocked = {j for i, other in enumerate(entries) if i != place for j in other.items}
        if (best := _best_run(entry, hint, pool, blocked, norm)) is not None:
            better.append((entry.share - best.share, place, best))
    taken: set[int] = set()
    for _, place, match in sorted(better, key=lambda option: -option[0]):
        if not taken & set(match.items):
            entries[place] = match
            taken |= set(match.items)
    return [entry for entry in entries if entry.items]


def _has_formula(text: str) -> bool:
    return bool(_HINT.search(text)) or (bool(set("^_") & set(text)) and bool(set("$\\") & set(text)))


def _best_run(entry: Match, hint: bool, pool: Sequence[Item], blocked: set[int], norm: Norm) -> Match | None:
    low = max(0, min(entry.items) - AROUND) if entry.items else 0
    high = min(len(pool), max(entry.items) + AROUND + 1) if entry.items else len(pool)
    truth = normalise(_INLINE_OF_LINE.sub(_plain_formula, entry.text) if hint else entry.text, norm)
    options: list[tuple[tuple[int, ...], str]] = []
    for first in range(low, high):
        parts = ""
        for last in range(first, min(high, first + (SPAN_FORMULA if hint else SPAN))):
            if last in blocked or (pool[last].formula and not hint):
                break
            parts += strip_delimiters(pool[last].text) if pool[last].formula else pool[last].text
            if said := normalise(parts, norm):
                options.append((tuple(range(first, last + 1)), said))
    if not truth or not options:
        return None
    shares = _distances([truth], [said for _, said in options])[0].tolist()
    start = min(entry.items, default=0)
    ranked = [
        (share, len(run), abs(run[0] - start) * bool(entry.items), at)
        for at, ((run, _), share) in enumerate(zip(options, shares, strict=True))
    ]
    share, _, _, at = min(ranked)
    if share >= entry.share - BETTER or share > (NEAR_FORMULA if hint else NEAR):
        return None
    return Match(entry.blocks, options[at][0], entry.text, entry.truth, options[at][1], share, True)


def _plain_formula(match: re.Match[str]) -> str:
    return normalise_formula(match[1] if match[1] is not None else match[2])

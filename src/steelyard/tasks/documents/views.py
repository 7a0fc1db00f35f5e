"""What the page of documents shows: outcomes and kinds of blocks, distances, surplus text, and pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.core.figure import Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.scene import BoxShape, LineShape, Scene
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.tasks.documents.data import DocumentPairs
from steelyard.tasks.documents.explain import explain as explain
from steelyard.tasks.documents.matching import FORMULA, KINDS, LEFT_OUT, SKIPPED, TABLE, TEXT, TITLE
from steelyard.tasks.documents.sums import (
    BLOCKS,
    CHARGED,
    CHARGED_PAGES,
    EDITS,
    FREE,
    FREE_PAGES,
    LONGER,
    MISSING,
    REPLY,
    SHARES,
    SURPLUS,
    SURPLUS_BLOCKS,
    Scored,
    TextSums,
    table_scores,
)
from steelyard.tasks.documents.texts import FOLD, Norm
from steelyard.tasks.tables.trees import parse_tables, scan

BINS = 20
INEXACT = 0.1  # of the longer text: a distance above which a block is inexact instead of right
OUTCOMES = ("right", "inexact", "lost", "left out")
SHOWN = 15  # pages of a table
SAID = 60  # characters of a text in a table
NAMES = ("text", "title", "formula", "table", "left out")


def _norm(pairs: DocumentPairs) -> Norm:
    return "omnidocbench" if pairs.match == "results" else "words"


class _Outcomes:
    """Of each true block: its distance from what it is matched with (1 for none, nan for blocks without a score), the
    first piece that matches it (-1 for none), and its outcome.
    """

    def __init__(self, pairs: DocumentPairs) -> None:
        self.scored = Scored(pairs, _norm(pairs))
        matches, count = self.scored.matches, len(pairs.true.kind)
        self.distance = np.where((matches.length > 0) | (pairs.true.kind == TABLE), 1.0, np.nan)
        self.piece = np.full(count, -1, dtype=np.int64)
        share = matches.edits / np.maximum(matches.longer, 1)
        each = np.repeat(np.arange(len(share)), np.diff(matches.block.end, prepend=0))
        filled = matches.length[matches.block.place] > 0
        inside, each = matches.block.place[filled], each[filled]
        self.distance[inside], self.piece[inside] = share[each], matches.piece.first[each]
        tables = pairs.table_matches()
        rules = "omnidocbench" if pairs.match == "results" else "clean"
        self.distance[tables.true] = 1 - table_scores(pairs, "teds", rules)  # type: ignore[arg-type]
        self.piece[tables.true] = tables.reply
        outcome = np.where(self.distance <= INEXACT, 0, 1)
        outcome = np.where(self.piece < 0, 2, outcome)
        self.outcome = np.where(pairs.left | np.isnan(self.distance), 3, outcome)


def _outcomes_of(pairs: DocumentPairs) -> _Outcomes:
    key = "outcomes"
    if key not in pairs.memo.matches:
        pairs.memo.matches[key] = _Outcomes(pairs)
    made: _Outcomes = pairs.memo.matches[key]
    return made


def tables(pairs: DocumentPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """Kinds of blocks, outcomes, and the pages with the most surplus text."""
    made: dict[str, Callable[[], Table]] = {"kinds": lambda: _kinds(pairs), "outcomes": lambda: _outcomes(pairs)}
    if pairs.match != "results":
        made["norms"] = lambda: _norms(pairs)
    if len(_outcomes_of(pairs).scored.matches.surplus):
        made["surplus"] = lambda: _surplus(pairs)
    return made


def _norms(pairs: DocumentPairs) -> Table:
    """The text edit distance with punctuation and without."""
    rows: tuple[tuple[str, Norm], ...] = (
        ("case, blanks and punctuation count", "words"),
        ("letters and digits count", "omnidocbench"),
    )
    weight = np.ones(len(pairs.units)) if pairs.weight is None else pairs.weight
    values = []
    for _, norm in rows:
        sums = weight @ TextSums(norm).measure(pairs, SharedCache()).values
        rest = sums[MISSING] + sums[SURPLUS]
        parts = (sums[CHARGED], sums[EDITS] + rest, sums[SHARES] + sums[SURPLUS_BLOCKS])
        wholes = (sums[CHARGED_PAGES], sums[LONGER] + rest, sums[BLOCKS] + sums[SURPLUS_BLOCKS])
        values.append([part / whole if whole else np.nan for part, whole in zip(parts, wholes, strict=True)])
    return Table(
        "norms",
        "Text edit distance by what is compared",
        "compared",
        tuple(name for name, _ in rows),
        ("mean over pages", "all pages together", "mean over blocks"),
        np.array(values),
    )


def _kinds(pairs: DocumentPairs) -> Table:
    """True kinds of blocks by the kinds of what matches them."""
    piece, kind = _outcomes_of(pairs).piece, pairs.true.kind
    counts = np.zeros((len(NAMES), len(NAMES) + 1))
    shown = pairs.present & (kind != SKIPPED)
    for place in np.flatnonzero(shown).tolist():
        at = int(piece[place])
        counts[kind[place], len(NAMES) if at < 0 else pairs.reply.kind[at]] += 1
    surplus = np.bincount(pairs.reply.kind[_outcomes_of(pairs).scored.matches.surplus], minlength=len(NAMES))
    surplus[TABLE] += len(pairs.table_matches().surplus)
    counts = np.vstack([counts, [*surplus[: len(NAMES)], 0]])
    return Table(
        "kinds",
        "Kinds of blocks: truth by reply",
        "truth",
        (*NAMES, "not on the page"),
        (*NAMES, "no match"),
        counts,
    )


def _outcomes(pairs: DocumentPairs) -> Table:
    outcome, kind = _outcomes_of(pairs).outcome, pairs.true.kind
    rows = [code for code in (TEXT, TITLE, FORMULA, TABLE, LEFT_OUT) if (kind[pairs.blocks] == code).any()]
    counts = [[((outcome == o) & (kind == code) & pairs.present).sum() for o in range(4)] for code in rows]
    return Table(
        "outcomes",
        f"Outcomes of blocks (right: at most {100 * INEXACT:g} % of the characters differ)",
        "kind",
        tuple(NAMES[code] for code in rows),
        OUTCOMES,
        np.array(counts, dtype=float).reshape(len(rows), 4),
    )


def _surplus(pairs: DocumentPairs) -> Table:
    """Pages with the most text that is not on the page, and how that text begins."""
    matches = _outcomes_of(pairs).scored.matches
    page, size = pairs.reply.page[matches.surplus], matches.size[matches.surplus]
    total = np.bincount(page, weights=size, minlength=len(pairs.units))
    said = np.bincount(page, weights=size * matches.repeated, minlength=len(pairs.units))
    worst = [p for p in np.argsort(-total, kind="stable")[:SHOWN].tolist() if total[p] > 0]
    begins = []
    for at in worst:
        first = int(matches.surplus[np.flatnonzero(page == at)[0]])
        begins.append(f"{pairs.units[at]}: “{FOLD(str(pairs.reply.text[first]))[:SAID]}”")
    return Table(
        "surplus",
        "Not on the page: surplus text by page, and how it begins",
        "page",
        tuple(begins),
        ("characters", "of these repeated"),
        np.stack([total[worst], said[worst]], axis=1),
    )


def figures(pairs: DocumentPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures."""
    made: dict[str, Callable[[], Figure]] = {}
    outcome = _outcomes_of(pairs)
    if ((outcome.outcome < 3) & pairs.present).any():
        made["distances"] = lambda: distance_histogram(pairs)
        made["lengths"] = lambda: distance_by_length(pairs)
    if len(outcome.scored.matches.surplus):
        made["surplus"] = lambda: surplus_bars(pairs)
        made["invented"] = lambda: distance_by_surplus(pairs)
    if pairs.match != "results" and ((pairs.true.kind == TABLE) & ~pairs.left & pairs.present).any():
        made["sizes"] = lambda: table_scores_by_size(pairs)
    return made


def distance_by_surplus(pairs: DocumentPairs) -> Figure:
    """Whether pages on which a model invents text are also misread: their distance without surplus text."""
    sums = TextSums(_norm(pairs)).measure(pairs, SharedCache()).values
    share = sums[:, SURPLUS] / np.maximum(sums[:, REPLY], 1)
    names, edges = ("none", "up to 1 %", "up to 5 %", "up to 20 %", "above 20 %"), (0.0, 0.01, 0.05, 0.2)
    group = np.searchsorted(edges, share, side="left")
    return _mean_bars(
        "invented",
        "Distance of pages by their surplus text",
        names,
        group,
        sums[:, FREE],
        sums[:, FREE_PAGES] > 0,
        "text edit distance without surplus",
        "Pages by the share of the reply that is not on the page.",
    )


def table_scores_by_size(pairs: DocumentPairs) -> Figure:
    """Mean TEDS of tables by their number of cells."""
    chosen = (pairs.true.kind == TABLE) & ~pairs.left & pairs.present
    cells = scan([str(text) for text in pairs.true.text[chosen].tolist()])[:, 3]
    names, edges = ("up to 10", "11-25", "26-50", "51-100", "101-200", "above 200"), (10, 25, 50, 100, 200)
    return _mean_bars(
        "sizes",
        "TEDS by the size of the table",
        names,
        np.searchsorted(edges, cells, side="left"),
        1 - _outcomes_of(pairs).distance[chosen],
        np.ones(len(cells), dtype=bool),
        "mean TEDS",
        "Cells of the true table; a lost table is 0.",
    )


def _mean_bars(
    name: str, title: str, names: Sequence[str], group: Array, values: Array, kept: Array, x: str, words: str
) -> Figure:
    """Means of groups, without those that are empty."""
    filled = [g for g in range(len(names)) if (kept & (group == g)).any()]
    means = np.array([values[kept & (group == g)].mean() for g in filled])
    return Figure(name, "bars", title, {"name": [names[g] for g in filled], "value": means}, {"x": x}, words)


def distance_histogram(pairs: DocumentPairs) -> Figure:
    """How far blocks are from what matches them."""
    outcome = _outcomes_of(pairs)
    columns: dict[str, list[float]] = {"low": [], "high": [], "count": []}
    series: list[str] = []
    for name, codes in (("text", (TEXT, TITLE)), ("formula", (FORMULA,)), ("table", (TABLE,))):
        chosen = (outcome.outcome < 3) & pairs.present & np.isin(pairs.true.kind, codes)
        if not chosen.any():
            continue
        counts, edges = np.histogram(np.clip(outcome.distance[chosen], 0, 1), bins=BINS, range=(0.0, 1.0))
        columns["low"] += edges[:-1].tolist()
        columns["high"] += edges[1:].tolist()
        columns["count"] += counts.tolist()
        series += [name] * BINS
    return Figure(
        "distances",
        "histogram",
        "Distance of blocks",
        {**{name: np.array(values) for name, values in columns.items()}, "series": series},
        {"x": "edits over the longer text; 1 − TEDS of tables", "y": "blocks"},
        "Blocks at the right end have no match.",
    )


def distance_by_length(pairs: DocumentPairs) -> Figure:
    """Mean distance of texts by their length."""
    outcome, length = _outcomes_of(pairs), _outcomes_of(pairs).scored.matches.length
    chosen = (outcome.outcome < 3) & pairs.present & (length > 0)
    edges = [0, 20, 50, 100, 200, 500, 1000, 1 << 30]
    names = ["1-20", "21-50", "51-100", "101-200", "201-500", "501-1000", "above 1000"]
    shown, values = [], []
    for name, low, high in zip(names, edges[:-1], edges[1:], strict=True):
        inside = chosen & (length > low) & (length <= high)
        if inside.any():
            shown.append(name)
            values.append(float(outcome.distance[inside].mean()))
    return Figure(
        "lengths",
        "bars",
        "Distance by length of the block",
        {"name": shown, "value": np.array(values)},
        {"x": "mean distance"},
        "Characters of the true text; short blocks are misread whole or not at all.",
    )


def surplus_bars(pairs: DocumentPairs) -> Figure:
    """Pages with the most surplus text."""
    table = _surplus(pairs)
    pages = [name.partition(": “")[0] for name in table.rows]
    return Figure(
        "surplus",
        "bars",
        "Text that is not on the page",
        {"name": pages, "value": table.values[:, 0]},
        {"x": "characters"},
        "Characters of the reply without a match, by page: invented or repeated.",
        table,
    )


def listing(pairs: DocumentPairs, state: State) -> Listing:
    """Every block with its outcome."""
    outcome, blocks = _outcomes_of(pairs), pairs.blocks
    piece = outcome.piece[blocks].tolist()
    replies = ["" if at < 0 else FOLD(str(pairs.reply.text[at]))[:200] for at in piece]
    columns: dict[str, Array | Texts] = {
        "page": Texts.of(pairs.units[pairs.owner]),
        "kind": Texts.of([KINDS[k] if k >= 0 else "none" for k in pairs.true.kind[blocks].tolist()]),
        "outcome": Texts(outcome.outcome[blocks].astype(np.int64), list(OUTCOMES)),
        "text": Texts.of([FOLD(str(text))[:200] for text in pairs.true.text[blocks].tolist()]),
        "reply": Texts.of(replies),
        "characters": np.maximum(outcome.scored.matches.length[blocks], 0),
        "distance": outcome.distance[blocks],
    }
    return Listing("blocks", "Blocks", columns, "outcome", "distance")


def scene(pairs: DocumentPairs, unit: int, metric: Metric) -> Scene:
    """The blocks of a page where they are; without boxes, the order of both sides as two columns with crossings."""
    outcome = _outcomes_of(pairs)
    first, last = int(pairs.true.begin[unit]), int(pairs.true.begin[unit + 1])
    places = [i for i in range(first, last) if outcome.outcome[i] < 3 and pairs.true.kind[i] != SKIPPED]
    name = str(pairs.units[unit])
    wrong = [i for i in places if outcome.outcome[i] != 0]
    summary = "; ".join(f"{places.index(i) + 1} {OUTCOMES[outcome.outcome[i]]}: {_words(pairs, i)}" for i in wrong[:8])
    boxes = [pairs.truth.find(side) for side in "xywh"]
    rows = pairs.true.row
    shapes: list[BoxShape | LineShape] = []
    if all(box is not None for box in boxes):
        for number, i in enumerate(places, 1):
            x, y, w, h = (_number(box, int(rows[i])) for box in boxes)
            if not np.isnan([x, y, w, h]).any():
                shapes.append(BoxShape("truth", x, y, w, h, str(number), bool(outcome.outcome[i] == 0)))
        size = [_number(pairs.truth.find(side), int(rows[first])) for side in ("width", "height")]
        bounds = None if any(np.isnan(size)) else (0.0, 0.0, size[0], size[1])
        return Scene(f"Page {name}", summary[:400], tuple(shapes), bounds, (name.rsplit(".", 1)[0], name))
    said = sorted((i for i in places if outcome.piece[i] >= 0), key=lambda i: (outcome.piece[i], i))
    for number, i in enumerate(places, 1):
        right = bool(outcome.outcome[i] == 0)
        shapes.append(BoxShape("truth", 0.0, 30.0 * number, 90.0, 22.0, str(number), right))
        if i in said:
            at = said.index(i) + 1
            shapes.append(BoxShape("prediction", 180.0, 30.0 * at, 90.0, 22.0, str(number), right))
            shapes.append(LineShape("pair", 90.0, 30.0 * number + 11, 180.0, 30.0 * at + 11))
    bounds = (-10.0, 20.0, 280.0, 30.0 * (len(places) + 1) + 10)
    return Scene(f"Page {name}: reading order, truth on the left", summary[:400], tuple(shapes), bounds)


def _words(pairs: DocumentPairs, place: int) -> str:
    """How the text of a block begins; of a table the texts of its cells."""
    text = str(pairs.true.text[place])
    if pairs.true.kind[place] == TABLE:
        text = "table " + " | ".join(cell.text for table in parse_tables(text)[:1] for cell in table.cells)
    return FOLD(text)[:SAID]


def _number(column: Array | None, row: int) -> float:
    try:
        return float(column[row]) if column is not None else float("nan")
    except (TypeError, ValueError):
        return float("nan")

"""Checks of `documents`: replies whose form makes numbers silently wrong, and truths that cannot be scored."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np

from steelyard.checks.check import CheckData, Checks, Problem
from steelyard.checks.ids import with_ids
from steelyard.core.counts import share_text
from steelyard.core.errors import first_few
from steelyard.tasks.documents.data import DocumentPairs
from steelyard.tasks.documents.markup import is_fenced
from steelyard.tasks.documents.matching import SKIPPED
from steelyard.tasks.documents.texts import normalise

CHECKS = with_ids(Checks(), repeats=False)
SHARE = 0.5  # of the pages that must look odd
LONG = 400  # characters of a page below which nothing is said about its end
_END = re.compile(r"[.!?。！？:;)\]}>|\"'”’»…0-9$]\s*$")


def _replies(data: CheckData) -> list[tuple[str, str]]:
    """Whole pages of replies with their names."""
    prediction = data.pairs.prediction if data.pairs is not None else data.prediction
    if prediction is None or "markdown" not in prediction:
        return []
    if "pages" not in data.read:
        names, texts = prediction["page"].tolist(), prediction["markdown"].tolist()
        data.read["pages"] = list(dict.fromkeys(zip(map(str, names), map(str, texts), strict=True)))
    pages: list[tuple[str, str]] = data.read["pages"]
    return pages


def _problem(odd: list[str], pages: int, what: str) -> Problem:
    text = f"{share_text(len(odd), pages, 'reply', 'have')} {what}: {first_few(odd)}."
    return Problem(text, len(odd), pages)


@CHECKS.add(
    "single-line-feeds",
    "warning",
    "paragraphs are separated by single line feeds, which OmniDocBench takes for one paragraph where a page also has "
    "an empty line",
    "Put an empty line between paragraphs before you use other tools; the scores here do not depend on it.",
)
def single_line_feeds(data: CheckData) -> Problem | None:
    """Most pages have many lines and hardly an empty one."""
    pages = [(name, text.strip()) for name, text in _replies(data) if text.strip().count("\n") >= 3]
    odd = [name for name, text in pages if text.count("\n\n") <= 0.1 * text.count("\n")]
    if len(odd) < max(3, SHARE * len(pages)):
        return None
    return _problem(odd, len(pages), "single line feeds between paragraphs")


@CHECKS.add(
    "page-repeated",
    "error",
    "several pages have the same reply, so that at most one of them is right",
    "Was the same image sent, or a cache read?",
)
def page_repeated(data: CheckData) -> Problem | None:
    """The same long reply for pages whose truths differ."""
    pages = [(name, " ".join(text.split())) for name, text in _replies(data)]
    counts = Counter(text for _, text in pages if len(text) >= 40)
    odd = [name for name, text in pages if counts.get(text, 0) > 1]
    if not odd:
        return None
    truth = data.truth
    own: dict[str, list[str]] = {}
    column = "markdown" if "markdown" in truth else "text"
    if column in truth:
        for name, text in zip(truth["page"].tolist(), truth[column].tolist(), strict=True):
            own.setdefault(str(name), []).append(str(text))
    if len({tuple(own.get(name, [name])) for name in odd}) <= len({text for n, text in pages if n in set(odd)}):
        return None
    return _problem(odd, len(pages), "the text of another page")


@CHECKS.add(
    "fences",
    "warning",
    "a code fence around the whole page is taken off here, and may count as text in other tools",
    "Ask the model for the page alone, or remove the fence.",
)
def fences(data: CheckData) -> Problem | None:
    """Pages inside a fence, or with one that does not end."""
    pages = _replies(data)
    begun = [(name, text) for name, text in pages if text.lstrip().startswith("```")]
    odd = [name for name, text in begun if is_fenced(text) or text.count("```") == 1]
    return _problem(odd, len(pages), "a code fence around the page, which is taken off") if odd else None


@CHECKS.add(
    "cut-off",
    "warning",
    "replies end in the middle of a sentence or of a table, as they do at a token limit",
    "Allow more tokens, and look at these pages.",
)
def cut_off(data: CheckData) -> Problem | None:
    """An open table, or long pages without an end of a sentence whose length is about that of the longest."""
    pages = _replies(data)
    opened = [name for name, text in pages if text.lower().count("<table") > text.lower().count("</table>")]
    long = [(name, text) for name, text in pages if len(text) >= LONG and not _END.search(text)]
    most = max((len(text) for _, text in pages), default=0)
    ended = [name for name, text in long if len(text) >= 0.9 * most]
    odd = list(dict.fromkeys([*opened, *(ended if len(ended) >= 2 else [])]))
    if not odd:
        return None
    tables = "a table without an end, which is read to the end of the page"
    if odd == opened:
        return _problem(odd, len(pages), tables)
    problem = _problem(odd, len(pages), "no end")
    if not opened:
        return problem
    return replace(problem, what=f"{problem.what} {_problem(opened, len(pages), tables).what}")


@CHECKS.add(
    "latex-tables",
    "warning",
    "tables are LaTeX where HTML is compared, so that they score 0",
    "Ask for tables as HTML, or convert them.",
)
def latex_tables(data: CheckData) -> Problem | None:
    """Replies with a tabular environment."""
    pages = _replies(data)
    odd = [name for name, text in pages if "\\begin{tabular" in text]
    return _problem(odd, len(pages), "tables in LaTeX") if odd else None


@CHECKS.add(
    "sides-swapped",
    "error",
    "the truth looks like the replies and the replies like a truth",
    "Give the truth first.",
    quick=False,
)
def sides_swapped(data: CheckData) -> Problem | None:
    """Kinds and orders of blocks on the side of the predictions, whole pages on that of the truth."""
    truth, prediction = data.truth, data.prediction
    if prediction is None or "markdown" not in truth or "markdown" in prediction:
        return None
    if "order" not in prediction or "type" not in prediction:
        return None
    count = len(set(prediction["page"].tolist()))
    return Problem("The truth has whole pages, and the predictions have blocks with types and orders.", count, count)


@CHECKS.add(
    "no-order",
    "warning",
    "pages whose blocks have no order, or the same one twice, are left out of the reading order",
    "Give every block of the truth its own order.",
    side="truth",
)
def no_order(data: CheckData) -> Problem | None:
    """Pages of the truth with two scored blocks or more and no order of their own."""
    pairs: DocumentPairs | None = data.pairs
    if pairs is None or "order" not in pairs.truth or pairs.match == "results":
        return None
    scored = ~pairs.left & (pairs.true.kind != SKIPPED)
    many = np.bincount(pairs.true.page[scored], minlength=len(pairs.units)) > 0
    odd = [str(pairs.units[page]) for page in np.flatnonzero(many & ~pairs.ordered).tolist()]
    if not odd:
        return None
    return Problem(
        f"{share_text(len(odd), int(many.sum()), 'page', 'have')} no reading order: {first_few(odd)}.",
        len(odd),
        int(many.sum()),
    )


@CHECKS.add(
    "empty-replies",
    "warning",
    "pages with text have an empty reply, which counts as all missing",
    "Did the model run on these pages?",
)
def empty_replies(data: CheckData) -> Problem | None:
    """Pages that were answered with nothing."""
    pages = _replies(data)
    odd = [name for name, text in pages if not normalise(text, "words")]
    return _problem(odd, len(pages), "no text") if odd and len(pages) >= 2 else None

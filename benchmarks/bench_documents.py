"""Parsed pages: matching and text edit distance of 300 pages whose replies break their lines elsewhere.

    python benchmarks/bench_documents.py

The peer computes the distance of every candidate with rapidfuzz and sorts them all: the same matches, written plainly.
CPU seconds in a fresh process, without imports.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
from measure import measure, table

PAGES = 300
WORDS = (
    "scale",
    "plate",
    "grams",
    "rice",
    "soup",
    "bread",
    "warm",
    "guests",
    "sheet",
    "menu",
    "mean",
    "twice",
    "lunch",
)

OURS = """
import steelyard as sy, json
from pathlib import Path
truth, said = (json.loads((Path(folder) / name).read_text()) for name in ("truth.json", "said.json"))
"""
TEXT = 'sy.evaluate("documents", truth, said, ["text_edit", "order_edit"], confidence={confidence})'
THEIRS = """
import json
from pathlib import Path
from rapidfuzz.distance import Levenshtein
truth, said = (json.loads((Path(folder) / name).read_text()) for name in ("truth.json", "said.json"))
blocks = {}
for page, text in zip(truth["page"], truth["text"]):
    blocks.setdefault(page, []).append(text)
"""
PEER = """
total = 0.0
for page, reply in zip(said["page"], said["markdown"]):
    left, right, found = blocks[page], reply.split("\\n"), []
    for mine, theirs, turned in ((left, right, False), (right, left, True)):
        for i, anchor in enumerate(mine):
            for a in range(len(theirs)):
                joined = ""
                for b in range(a, len(theirs)):
                    joined += (" " if b > a else "") + theirs[b]
                    if b > a and len(joined) > 1.35 * len(anchor) + 40:
                        break
                    if turned and b == a:
                        continue
                    edits, longer = Levenshtein.distance(anchor, joined), max(len(anchor), len(joined))
                    if edits <= 0.7 * longer:
                        places = ((a, b), (i, i)) if turned else ((i, i), (a, b))
                        found.append((2 * edits - len(anchor) - len(joined), places, edits, longer))
    taken, edits, longer = (set(), set()), 0, 0
    for _, runs, d, n in sorted(found):
        spans = [set(range(first, last + 1)) for first, last in runs]
        if spans[0].isdisjoint(taken[0]) and spans[1].isdisjoint(taken[1]):
            taken[0].update(spans[0]), taken[1].update(spans[1])
            edits, longer = edits + d, longer + n
    total += edits / longer
"""


def write_pages(folder: Path) -> None:
    """Pages of 8 to 20 paragraphs, and replies that break them into lines and misread 2 % of the letters."""
    rng = np.random.default_rng(1)
    truth: dict[str, list[object]] = {"page": [], "text": [], "order": []}
    said: dict[str, list[str]] = {"page": [], "markdown": []}
    for number in range(PAGES):
        lines = []
        for place in range(int(rng.integers(8, 21))):
            words = rng.choice(WORDS, int(rng.integers(10, 120))).tolist()
            for name, value in zip(truth, (f"p{number}", " ".join(words), place), strict=True):
                truth[name].append(value)
            read = ["x" + word[1:] if rng.random() < 0.1 else word for word in words]
            lines += [" ".join(read[at : at + 30]) for at in range(0, len(read), 30)]
        said["page"].append(f"p{number}")
        said["markdown"].append("\n".join(lines))
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "said.json").write_text(json.dumps(said))


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = f"folder = {name!r}\n"
        write_pages(Path(name))
        runs = {
            "steelyard": measure(TEXT.format(confidence=None), folder + OURS),
            "steelyard with intervals": measure(TEXT.format(confidence=0.95), folder + OURS),
            "all candidates with rapidfuzz": measure(PEER, folder + THEIRS),
        }
        table(f"Text and order of {PAGES:,} pages in memory", "steelyard", runs)


if __name__ == "__main__":
    main()

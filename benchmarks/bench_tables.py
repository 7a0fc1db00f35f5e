"""TEDS and GriTS of tables of 5 × 4, 15 × 6 and 30 × 8 cells, one fifth of them changed.

    python benchmarks/bench_tables.py

The peers are TEDS on apted, with `distance` (as published) and with Levenshtein (as OmniDocBench has it), and GriTS in
plain NumPy, each written for this benchmark from its definition; lxml reads the HTML. CPU seconds in a fresh process,
without imports. Ours includes reading, joining and checks.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
from measure import measure, table

WORDS = ("total", "net", "2024", "growth", "kg", "mean", "rice", "cup", "12.5", "0.3", "n/a", "sum", "price", "of")
SHAPES = ((5, 4), (15, 6), (30, 8))
MANY = 100  # tables of our own batch

LOAD = """
import json
from pathlib import Path
truth, reply = json.loads(Path(folder, "tables.json").read_text())[name]
"""
OURS = "import steelyard as sy\n"
TEDS = """
names = [str(i) for i in range(count)]
sides = [{"table": names, "html": [text] * count} for text in (truth, reply)]
sy.evaluate("tables", *sides, metrics, confidence=None)
"""
APTED = """
from apted import APTED, Config
from lxml import html as reading

class Node:
    def __init__(self, element):
        self.tag = element.tag
        self.spans = element.get("colspan", "1"), element.get("rowspan", "1")
        self.text = list(element.text_content()) if element.tag == "td" else []
        self.children = [] if element.tag == "td" else [Node(child) for child in element]

class Costs(Config):
    def rename(self, a, b):
        if a.tag != b.tag or a.spans != b.spans:
            return 1.0
        return levenshtein(a.text, b.text) / max(len(a.text), len(b.text)) if a.text or b.text else 0.0

"""
COMPARE = """
trees = [Node(reading.fromstring(text).xpath("body/table")[0]) for text in (truth, reply)]
APTED(*trees, Costs()).compute_edit_distance()
"""
GRITS = """
import numpy as np
from difflib import SequenceMatcher
from lxml import html as reading

def grid(text):
    return [[cell.text_content() for cell in row] for row in reading.fromstring(text).iter("tr")]

def align(reward):
    score = np.zeros((reward.shape[0] + 1, reward.shape[1] + 1))
    for i in range(reward.shape[0]):
        for j in range(reward.shape[1]):
            score[i + 1, j + 1] = max(score[i, j] + reward[i, j], score[i, j + 1], score[i + 1, j])
    return score[-1, -1]
"""
ALIGN = """
a, b = grid(truth), grid(reply)
like = np.array([[[[2 * sum(m.size for m in SequenceMatcher(None, x, y).get_matching_blocks()) / max(len(x + y), 1)
                    for y in q] for q in b] for x in p] for p in a])
for part in (like, like.transpose(1, 0, 3, 2)):
    align(np.array([[align(part[r, :, i, :]) for i in range(part.shape[2])] for r in range(part.shape[0])]))
"""


def drawn(rows: int, columns: int) -> list[str]:
    """A table, and the same with one fifth of its cells changed."""
    rng = np.random.default_rng(rows)
    truth = [[" ".join(rng.choice(WORDS, int(rng.integers(1, 4)))) for _ in range(columns)] for _ in range(rows)]
    reply = [[text + " x" if rng.random() < 0.2 else text for text in row] for row in truth]
    return [
        "<html><body><table>"
        + "".join("<tr>" + "".join(f"<td>{text}</td>" for text in row) + "</tr>" for row in side)
        + "</table></body></html>"
        for side in (truth, reply)
    ]


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        tables = {f"{rows}x{columns}": drawn(rows, columns) for rows, columns in SHAPES}
        Path(folder, "tables.json").write_text(json.dumps(tables), encoding="utf-8")
        for name in tables:
            load = f"folder, name, count = {folder!r}, {name!r}, {MANY}\n" + LOAD
            runs = {
                f"steelyard, TEDS of {MANY}": measure(TEDS, load + OURS + "metrics = ['teds']"),
                f"steelyard, GriTS (con) of {MANY}": measure(TEDS, load + OURS + "metrics = ['grits_con']"),
                "TEDS on apted with distance, of 1": measure(
                    COMPARE, load + APTED + "from distance import levenshtein"
                ),
                "TEDS on apted with Levenshtein, of 1": measure(
                    COMPARE, load + APTED + "from Levenshtein import distance as levenshtein"
                ),
                "GriTS (con) in NumPy with difflib, of 1": measure(ALIGN, load + GRITS),
            }
            table(f"A table of {name}", f"steelyard, TEDS of {MANY}", runs)


if __name__ == "__main__":
    main()

"""Fuzz the reader of HTML tables, and the distances of trees and grids.

Texts are made of tags, spans, references and damaged bytes. Scores lie in their ranges, a table is like itself, and
any number of threads gives the same.
"""

from __future__ import annotations

import random

import numpy as np
from harness import Draw, target

from steelyard import _native

PIECES = [
    b"<table>", b"</table>", b"<tr>", b"</tr>", b"<td>", b"</td>", b"<th colspan=2>", b"<td rowspan='3'>", b"<thead>",
    b"</thead>", b"<tbody>", b"<caption>", b"<b>", b"</b>", b"<br/>", b"<p>", b"<li>", b"<!-- x", b"-->", b"<script>",
    b"</script>", b"&lt;", b"&amp;", b"<", b">", b"\xff", b"\xe2\x82\xac", b"\xed\xa0\x80", b"colspan='9999'", b"t",
    b"<td colspan=-1>", b"<td colspan=99999999999999999999>", b"<td rowspan=0>", b"<html><body>", b" ", b"\0",
]  # fmt: skip


def text(rng: random.Random) -> bytes:
    """A text that may hold a table."""
    parts = rng.choices(PIECES, k=rng.choice([0, 1, 4, 12, 40]))
    if rng.random() < 0.7:
        parts = [b"<html><body><table>", *parts, b"</table>"]
    if rng.random() < 0.02:
        parts *= rng.choice([50, 400])
    return b"".join(parts)


def block(texts: list[bytes]) -> tuple[bytes, np.ndarray]:
    """Texts as one block, and their ends."""
    return b"".join(texts), np.cumsum([len(t) for t in texts], dtype=np.int64)


@target("tables.kernels")
def kernels(rng: random.Random) -> None:
    """Any bytes through everything that reads tables."""
    draw = Draw(rng)
    count = rng.randrange(1, 6)
    truth, reply = (block([text(rng) for _ in range(count)]) for _ in range(2))
    scanned = draw.call(_native.table_scan, *truth, 1)
    for part in (truth[0], reply[0]):
        tables, cells, letters = _native.table_cells(part)
        if len(cells) != tables[:, 5].sum() or (len(cells) and cells[-1, 5] != len(letters)):
            raise AssertionError("the cells of the tables are not all there")
    if scanned is not None and len(scanned) == count and (scanned < 0).any():
        raise AssertionError("a count is negative")
    for rules in (0, 1):
        settings = (rules, rng.random() < 0.3, rng.random() < 0.3, rng.random() < 0.3, rng.choice([b"", b"b", b"b//i"]))
        measured = _native.table_distances(*truth, *reply, *settings, 1)
        if not np.array_equal(measured, _native.table_distances(*truth, *reply, *settings, 3)):
            raise AssertionError("the number of threads changed a distance")
        back = _native.table_distances(*reply, *truth, *settings, 1)
        if not np.allclose(measured[:, :2], back[:, :2], atol=1e-9):
            raise AssertionError("the distance is not symmetric")
        if _native.table_distances(*truth, *truth, *settings, 1)[:, 0].any():
            raise AssertionError("a table is not like itself")
        draw.call(_native.table_distances, *truth, *reply, *settings, 1)
    boxes = (draw.real(3, 4), draw.offsets(count, 3)[1:])
    for kind in (0, 1, 2):
        arguments = (kind, rng.choice([0, 2]), rng.randrange(2), rng.randrange(2), *boxes, *boxes)
        scores = _native.table_grids(*truth, *reply, *arguments, 1)
        if (scores[:, 0] > scores[:, 1] + 1e-9).any() or (scores[:, 1] > scores[:, 2:4].min(axis=1) + 1e-9).any():
            raise AssertionError("a score is above its bound")
        draw.call(_native.table_grids, *truth, *reply, *arguments, 1)
    counts = _native.table_shared_cells(*truth, *reply, 1)
    if (counts[:, 0] > counts[:, 1:3].min(axis=1)).any():
        raise AssertionError("more cells are shared than there are")
    draw.call(_native.table_shared_cells, *truth, *reply, 1)
    draw.call(_native.table_path, truth[0], reply[0])

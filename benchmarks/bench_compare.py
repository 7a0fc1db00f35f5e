"""Many models: eight models x the twelve numbers of boxes M, each with its interval, p and ranks (goal: 15 CPU s).

The data is that of `bench_boxes.py M`; the other seven models are the first with its scores moved a little.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
from bench_boxes import NUMBERS, make_data
from measure import QUICK, measure, table

SIZE = "Q" if QUICK else "M"

with tempfile.TemporaryDirectory() as name:
    truth, first = make_data(SIZE, Path(name))
    detections, paths = json.loads(first.read_text()), [str(first)]
    for k in range(1, 8):
        moved = np.random.default_rng(k).normal(0, 0.02, len(detections))
        rows = [
            {**d, "score": round(min(1.0, max(0.0, d["score"] + float(m))), 4)}
            for d, m in zip(detections, moved, strict=True)
        ]
        paths.append(str(Path(name) / f"model{k}.json"))
        Path(paths[-1]).write_text(json.dumps(rows))
    table(
        f"8 models x 12 numbers of boxes {SIZE}: intervals, p and ranks (goal at M: at most 15 CPU s)",
        "steelyard",
        {
            "steelyard": measure(
                f"sy.compare('boxes', {str(truth)!r}, {paths!r}, metrics={NUMBERS!r})",
                "import steelyard as sy",
                repeat=1,
            )
        },
    )

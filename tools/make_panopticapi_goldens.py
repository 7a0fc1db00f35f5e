"""What panopticapi itself says of drawn data; it is not in a package index, so REFERENCES is a checkout of it.

python tools/make_panopticapi_goldens.py REFERENCES
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
SEEDS = range(12)


def case(seed: int) -> dict[str, Any]:
    """The results of one drawn set, the counts by category and the printed table."""
    from panopticapi import evaluation
    from support.panoptic_drawn import draw_panoptic

    evaluation.multiprocessing.cpu_count = lambda: 2
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as text:
        results = evaluation.pq_compute(*draw_panoptic(seed, Path(folder)))
    return {"seed": seed, "results": results, "printed": text.getvalue().splitlines()[-6:-1]}


def main() -> None:
    sys.path.append(sys.argv[1])
    made = {"panopticapi": "7bb4655", "cases": [case(seed) for seed in SEEDS]}
    (ROOT / "tests" / "goldens" / "panopticapi.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

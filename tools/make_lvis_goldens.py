"""What LVIS's own package says of drawn federated data.

pip install --no-deps --target REFERENCES lvis==0.5.3
python tools/make_lvis_goldens.py REFERENCES
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "tasks" / "boxes")]
SEEDS = range(25)
MASK_SEEDS = range(15)


def main() -> None:
    sys.path.append(sys.argv[1])
    np.float = float  # type: ignore[attr-defined]  # the package is older than numpy 1.24
    import lvis
    from test_lvis import federated, federated_masks

    def case(seed: int, draw: Any, kind: str, names: tuple[str, ...]) -> dict[str, Any]:
        data, results = draw(seed)
        truth = lvis.LVIS.__new__(lvis.LVIS)
        truth.logger = logging.getLogger("lvis")
        truth.dataset = data
        truth._create_index()
        evaluation = lvis.LVISEval(truth, lvis.LVISResults(truth, results), kind)
        evaluation.run()
        values = {name: float(evaluation.results[name]) for name in names}
        return {"seed": seed, **{name: None if value == -1 else value for name, value in values.items()}}

    names = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR@300")
    made = {
        "command": "python tools/make_lvis_goldens.py REFERENCES",
        "lvis": "0.5.3",
        "cases": [case(seed, federated, "bbox", names) for seed in SEEDS],
        "masks": [case(seed, federated_masks, "segm", (*names, "APr", "APc", "APf")) for seed in MASK_SEEDS],
    }
    (ROOT / "tests" / "goldens" / "lvis.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

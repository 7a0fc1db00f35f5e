"""Make tests/goldens/nutrients.json: ICC and limits of agreement as pingouin has them, on drawn amounts.

pingouin is not installed beside the project:

    python3 -m venv /tmp/goldens && /tmp/goldens/bin/pip install pingouin==0.7.0
    /tmp/goldens/bin/python tools/make_nutrients_goldens.py

Only numbers are written.
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pandas as pd
import pingouin

GOLDENS = Path(__file__).resolve().parent.parent / "tests" / "goldens" / "nutrients.json"


def case(seed: int, rows: int, bias: float, noise: float) -> dict[str, object]:
    """Drawn amounts, and what pingouin says of them."""
    rng = np.random.default_rng(seed)
    truth = np.round(rng.gamma(3.0, 60.0, rows), 1)
    predicted = np.round(truth * rng.normal(bias, noise, rows) + rng.normal(0, 5, rows), 1)
    long = pd.DataFrame(
        {
            "dish": np.tile(np.arange(rows), 2),
            "rater": np.repeat(["scale", "model"], rows),
            "amount": np.concatenate([truth, predicted]),
        }
    )
    table = pingouin.intraclass_corr(long, targets="dish", raters="rater", ratings="amount").set_index("Type")
    axes = pingouin.plot_blandaltman(predicted, truth, confidence=None)
    levels = sorted(float(line.get_ydata()[0]) for line in axes.lines if len(set(line.get_ydata())) == 1)
    matplotlib.pyplot.close("all")
    name = next(name for name in ("ICC(C,1)", "ICC3") if name in table.index)
    return {
        "truth": truth.tolist(),
        "predicted": predicted.tolist(),
        "icc": float(table.loc[name, "ICC"]),
        "limits": [levels[0], levels[-1]],
    }


if __name__ == "__main__":
    cases = [case(1, 12, 1.0, 0.1), case(2, 40, 1.2, 0.3), case(3, 25, 0.6, 0.5)]
    goldens = {"pingouin": pingouin.__version__, "cases": cases}
    GOLDENS.write_text(json.dumps(goldens) + "\n", encoding="utf-8")

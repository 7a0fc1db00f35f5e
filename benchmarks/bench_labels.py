"""Labels: four million (ten with --large); CPU seconds beside numpy's bincount, scikit-learn and torchmetrics."""

from __future__ import annotations

import sys

from measure import Run, measure, sized, table

ROWS = sized(10_000_000 if "--large" in sys.argv else 4_000_000, 20_000)
LABELS = f"""
import numpy as np
rng = np.random.default_rng(0)
rows, classes = {ROWS}, 1000
truth = rng.integers(0, classes, rows)
predicted = np.where(rng.random(rows) < 0.7, truth, rng.integers(0, classes, rows))
"""
TEXT_ROWS = min(ROWS, 1_000_000)  # scikit-learn takes a minute for ten times as many
TEXTS = (
    LABELS.replace(f"= {ROWS},", f"= {TEXT_ROWS},")
    + """
names = np.array([f"class_{i:04d}" for i in range(classes)])
truth, predicted = names[truth], names[predicted]
"""
)
SPECS = "['macro(f1)', 'micro(f1)', 'weighted(f1)']"
OURS = f"sy.evaluate('labels', {{'label': truth}}, {{'label': predicted}}, {SPECS}, confidence=None).table('confusion')"
SCIKIT = (
    "sk.confusion_matrix(truth, predicted)\n"
    "for average in ('macro', 'micro', 'weighted'): sk.f1_score(truth, predicted, average=average)"
)
TORCHMETRICS = """
for average in ("macro", "micro", "weighted"):
    f.multiclass_f1_score(p, t, num_classes=classes, average=average)
f.multiclass_confusion_matrix(p, t, num_classes=classes)
"""
TORCH = """
import torch
from torchmetrics.functional import classification as f
t, p = torch.from_numpy(truth), torch.from_numpy(predicted)
"""

table(
    f"Confusion matrix, macro, micro and weighted F1 of {ROWS:,} integers of 1,000 classes (goal: 1.5 × bincount)",
    "steelyard",
    {
        "steelyard": measure(OURS, LABELS + "import steelyard as sy\nsy.metrics('labels')"),
        "numpy: bincount of ready-made cells": measure(
            "np.bincount(cells, minlength=classes**2)", LABELS + "cells = truth * classes + predicted"
        ),
        "numpy: bincount": measure("np.bincount(truth * classes + predicted, minlength=classes**2)", LABELS),
        "scikit-learn": measure(SCIKIT, LABELS + "import sklearn.metrics as sk", repeat=1),
        "torchmetrics": measure(TORCHMETRICS, LABELS + TORCH, repeat=1),
    },
)

table(
    f"The same of {TEXT_ROWS:,} texts (goal: 20 times less than scikit-learn)",
    "steelyard",
    {
        "steelyard": measure(OURS, TEXTS + "import steelyard as sy\nsy.metrics('labels')"),
        "scikit-learn": measure(SCIKIT, TEXTS + "import sklearn.metrics as sk", repeat=1),
    },
)

SCORES = f"""
import numpy as np
rng = np.random.default_rng(0)
rows = {ROWS}
truth = (rng.random(rows) < 0.3).astype(int)
scores = rng.normal(truth, 1.0)
"""
table(
    f"ROC AUC and average precision of {ROWS:,} scores (goal: 3 times less than scikit-learn)",
    "steelyard",
    {
        "steelyard": measure(
            "sy.evaluate('labels', {'label': truth}, {'score': scores}, ['roc_auc', 'ap'], confidence=None)",
            SCORES + "import steelyard as sy\nsy.metrics('labels')",
        ),
        "scikit-learn": measure(
            "sk.roc_auc_score(truth, scores)\nsk.average_precision_score(truth, scores)",
            SCORES + "import sklearn.metrics as sk",
            repeat=1,
        ),
    },
)


def bootstrap(classes: int) -> tuple[Run | str, Run | str]:
    data = LABELS.replace(", 1000\n", f", {classes}\n")
    data += "import steelyard as sy\nsy.metrics('labels')\n"
    call = "sy.evaluate('labels', {'label': truth}, {'label': predicted}, 'macro(f1)', "
    return measure(f"{call}confidence=None)", data), measure(f"{call}draws=1000)", data)


for classes in (10, 100, 1000):
    without, with_draws = bootstrap(classes)
    table(
        f"Macro F1 of {ROWS:,} labels of {classes} classes with 1,000 bootstrap draws (goal: under 0.1 more)",
        "steelyard, with an interval",
        {"steelyard, with an interval": with_draws, "steelyard, the value alone": without},
    )

MATRIX = f"""
import numpy as np, steelyard as sy
rng = np.random.default_rng(0)
rows, classes = {sized(100_000, 2_000)}, 10
truth = rng.integers(0, classes, rows)
scores = rng.random((rows, classes))
scores[np.arange(rows), truth] += 0.5
sides = {{"label": truth}}, {{f"score:{{k}}": np.ascontiguousarray(scores[:, k]) for k in range(classes)}}
sy.metrics("labels")
"""
table(
    "Macro averages of rankings, 100,000 rows of 10 classes, with 1,000 bootstrap draws (goal: under 1 CPU s each)",
    "steelyard, macro(roc_auc)",
    {
        f"steelyard, {spec}": measure(f"sy.evaluate('labels', *sides, '{spec}')", MATRIX)
        for spec in ("macro(roc_auc)", "macro(ap)")
    },
)

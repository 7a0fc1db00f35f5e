"""Verification: 200,000 genuine and 2,000,000 impostor scores; CPU seconds beside scikit-learn's roc_curve."""

from __future__ import annotations

from measure import measure, sized, table

GENUINE, IMPOSTORS = sized(200_000, 2_000), sized(2_000_000, 20_000)
SCORES = f"""
import numpy as np
rng = np.random.default_rng(0)
truth = rng.permutation(np.repeat([1, 0], [{GENUINE}, {IMPOSTORS}]))
scores = rng.normal(3.0 * truth, 1.0)
"""
SPECS = "['tar@0.001', 'eer', 'min_dcf', 'roc_auc']"
OURS = f"sy.evaluate('labels', {{'label': truth}}, {{'score': scores}}, {SPECS}, confidence=None)"
# One curve with all points, and what is read from it: the thinned curve is for drawings.
SCIKIT = """
far, tar, _ = sk.roc_curve(truth, scores, drop_intermediate=False)
far[far <= 0.001].size and tar[far <= 0.001][-1]
k = int(np.argmax(far >= 1 - tar))
far[k - 1] + (far[k] - far[k - 1]) * (1 - tar[k - 1] - far[k - 1]) / (far[k] - far[k - 1] + tar[k] - tar[k - 1])
(0.01 * (1 - tar) + 0.99 * far).min() / 0.01
sk.auc(far, tar)
"""
IMPORT = SCORES + "import sklearn.metrics as sk"
table(
    f"TAR, EER, minimum DCF and ROC AUC of {GENUINE:,} genuine and {IMPOSTORS:,} impostor scores (goal: 0.3 × sklearn)",
    "steelyard",
    {
        "steelyard": measure(OURS, SCORES + "import steelyard as sy\nsy.metrics('labels')"),
        "scikit-learn: roc_curve alone": measure("sk.roc_curve(truth, scores)", IMPORT),
        "scikit-learn: all points, and the same read": measure(SCIKIT, IMPORT),
    },
)

"""Nutrients from Nutrition5k's files to MAE and its percentage of five targets, beside pandas and scikit-learn.

Dishes are drawn: five targets, without ingredients. The formula of the evaluation script is there in plain Python.
Limits of agreement and ICC are beside pingouin, which is left out where it is not installed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from measure import measure, sized, table

DISHES = sized(50_000, 300)
OURS = """
import steelyard as sy
sy.use_threads(1)
few = {"dish": [1, 2], "fat": [1.0, 2.0]}
sy.evaluate("nutrients", few, few, draws=100)  # what is imported late is not counted
files = folder + "/truth.csv", folder + "/predictions.csv"
"""
SCORE = "sy.evaluate('nutrients', *files, ['mae', 'pmae'], missing='skip', confidence={confidence})"
SCRIPT = """
import statistics
def read(path):
    with open(path) as lines:
        return {values[0]: values for values in (line.strip().split(",") for line in lines)}
"""
FORMULA = """
truth, predicted = read(folder + "/truth.csv"), read(folder + "/predictions.csv")
for field in range(1, 6):
    true = [float(truth[dish][field]) for dish in predicted]
    errors = [abs(float(values[field]) - number) for values, number in zip(predicted.values(), true)]
    mae = statistics.mean(errors)
    percent = 100 * mae / statistics.mean(true)
"""
PANDAS = """
names = ["dish", "energy", "mass", "fat", "carbohydrate", "protein"]
sides = [pd.read_csv(folder + f"/{side}.csv", names=names) for side in ("truth", "predictions")]
both = sides[1].merge(sides[0], on="dish", suffixes=("", "_true"))
for name in names[1:]:
    mae = (both[name] - both[name + "_true"]).abs().mean()
    percent = 100 * mae / both[name + "_true"].mean()
"""
SKLEARN = PANDAS.replace(
    '(both[name] - both[name + "_true"]).abs().mean()', 'mean_absolute_error(both[name + "_true"], both[name])'
)
ARRAYS = """
import numpy as np
rng = np.random.default_rng(1)
true = rng.gamma(3.0, 60.0, {dishes})
predicted = true * rng.uniform(0.6, 1.5, {dishes})
ids = np.arange({dishes})
"""
AGREEMENT = """
sy.evaluate('nutrients', {'dish': ids, 'fat': true}, {'dish': ids, 'fat': predicted}, ['icc', 'loa_lower', 'loa_upper'],
            confidence=None)
"""
PINGOUIN = """
import pandas as pd, pingouin
long = pd.DataFrame({"dish": np.tile(ids, 2), "rater": np.repeat([0, 1], len(ids)),
                     "amount": np.concatenate([true, predicted])})
"""


def write_files(folder: Path) -> None:
    """Truth and predictions of drawn dishes, as Nutrition5k's files have them."""
    rng = np.random.default_rng(1)
    truth = np.round(rng.gamma(3.0, 60.0, (DISHES, 5)), 4)
    predicted = np.round(truth * rng.uniform(0.6, 1.5, truth.shape), 4)
    for name, values in (("truth", truth), ("predictions", predicted)):
        lines = [f"dish_{i:010d},{','.join(map(str, row))}\n" for i, row in enumerate(values.tolist())]
        (folder / f"{name}.csv").write_text("".join(lines))


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = f"folder = {name!r}\n"
        write_files(Path(name))
        runs = {
            "steelyard": measure(SCORE.format(confidence=None), folder + OURS),
            "steelyard with intervals": measure(SCORE.format(confidence=0.95), folder + OURS),
            "Nutrition5k's formula": measure(FORMULA, folder + SCRIPT),
            "pandas": measure(PANDAS, f"{folder}import pandas as pd\n"),
            "pandas, scikit-learn": measure(
                SKLEARN, f"{folder}import pandas as pd\nfrom sklearn.metrics import mean_absolute_error\n"
            ),
        }
        table(f"MAE and percentage of five targets, {DISHES:,} dishes, from files", "steelyard", runs)
    drawn = ARRAYS.format(dishes=DISHES)
    runs = {
        "steelyard": measure(AGREEMENT, folder + OURS.partition("files =")[0] + drawn),
        "pingouin, ICC alone": measure(
            'pingouin.intraclass_corr(long, targets="dish", raters="rater", ratings="amount")', drawn + PINGOUIN
        ),
    }
    table(f"ICC and limits of agreement, {DISHES:,} dishes in memory", "steelyard", runs)


if __name__ == "__main__":
    main()

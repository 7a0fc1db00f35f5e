"""The bootstrap over units and the whole evaluation: CPU seconds beside numpy, scipy and scikit-learn."""

from __future__ import annotations

from measure import measure, sized, table

DATA = f"""
import numpy as np
rng = np.random.default_rng(0)
units, draws = {sized(100_000, 500)}, {sized(1000, 64)}
columns = rng.normal(size=(units, 20))
"""

table(
    "1,000 draws over 100,000 units × 20 columns (goal: under 5 CPU s and 1 GB)",
    "steelyard",
    {
        "steelyard": measure(
            "draws_of = BootstrapDraws(unit_keys(np.arange(units)), np.ones(units), 0, draws)\ndraws_of @ columns",
            DATA + "from steelyard.core.draws import BootstrapDraws, unit_keys",
        ),
        "numpy: multinomial in blocks, matrix product": measure(
            "p = np.full(units, 1 / units)\n"
            "out = np.concatenate([rng.multinomial(units, p, size=50) @ columns for _ in range(draws // 50)])",
            DATA,
            repeat=1,
        ),
        "numpy: resampled indices, one draw at a time": measure(
            "out = [columns[rng.integers(0, units, units)].sum(axis=0) for _ in range(draws)]", DATA, repeat=1
        ),
        "scipy.stats.bootstrap, one column": measure(
            "bootstrap((columns[:, 0],), np.mean, n_resamples=draws, batch=50, method='percentile')",
            DATA + "from scipy.stats import bootstrap",
            repeat=1,
        ),
    },
)

FOOD = f"""
import numpy as np
rng = np.random.default_rng(0)
dishes, items = {sized(20_000, 200)}, 5
keys = {{"dish": np.repeat(np.arange(dishes), items), "item": np.tile(np.arange(items), dishes)}}
y = rng.gamma(2, 60, dishes * items)
truth, pred = {{**keys, "weight": y}}, {{**keys, "weight": y * rng.uniform(0.7, 1.3, y.size)}}
"""

table(
    "20,000 dishes of 5 items from memory: 11 metrics, each with its interval of 1,000 draws",
    "steelyard",
    {
        "steelyard": measure("sy.evaluate('weights', truth, pred)", FOOD + "import steelyard as sy"),
        "steelyard, without intervals": measure(
            "sy.evaluate('weights', truth, pred, confidence=None)", FOOD + "import steelyard as sy"
        ),
        "scikit-learn, MAE alone, 1,000 draws of dishes": measure(
            "p, q = pred['weight'].reshape(-1, items), y.reshape(-1, items)\n"
            "for _ in range(1000):\n"
            "    i = rng.integers(0, dishes, dishes)\n"
            "    mean_absolute_error(q[i].ravel(), p[i].ravel())",
            FOOD + "from sklearn.metrics import mean_absolute_error",
            repeat=1,
        ),
    },
)

"""Verification: 200,000 genuine and 2,000,000 impostor scores; CPU seconds beside scikit-learn's roc_curve.

Then all pairs of 500 people with four pictures each (2 million): the value alone, and with 1,000 draws over people. And
all pairs of 8,000 vectors (32 million), which are counted and not listed. Last, re-identification from distances, with
as many gallery images as Market-1501 has, beside torchreid's Python function: its Cython one is not in the archives of
the package index. The function is loaded from its file, since the package itself needs torchvision.
"""

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

PEOPLE = sized(500, 20)
PAIRS = f"""
import numpy as np
import steelyard as sy
sy.metrics('labels')
rng = np.random.default_rng(0)
quality, person = rng.normal(0, 0.5, {PEOPLE}), np.repeat(np.arange({PEOPLE}), 4)
a, b = (person[side] for side in np.triu_indices(len(person), 1))
truth = {{'person_a': a, 'person_b': b}}
score = 1.8 * (a == b) + (quality[a] + quality[b]) * np.where(a == b, 0.5, -0.4) + rng.normal(0, 0.6, len(a))
def run(metrics, confidence):
    options = {{'people': 'person_a,person_b'}}
    sy.evaluate('labels', truth, {{'score': score}}, metrics, confidence=confidence, options=options)
"""
table(
    f"All pairs of {PEOPLE} people with 4 pictures each (goal with draws: 10 s)",
    "value alone",
    {
        "value alone": measure(f"run({SPECS}, None)", PAIRS),
        "EER with 1,000 draws over people": measure("run(['eer'], 0.95)", PAIRS),
        "four metrics with 1,000 draws over people": measure(f"run({SPECS}, 0.95)", PAIRS),
    },
)

VECTORS, HELD = sized(8_000, 400), sized(20_000_000, 1_000)
MANY = f"""
import numpy as np
import steelyard as sy
from steelyard.core import ranking
sy.metrics('labels')
ranking.MOST_DRAWN = {HELD}
rng = np.random.default_rng(0)
person = np.repeat(np.arange({VECTORS} // 4), 4)
vector = np.repeat(rng.normal(size=({VECTORS} // 4, 128)), 4, axis=0) + rng.normal(size=({VECTORS}, 128))
names = np.arange({VECTORS})
def run(confidence):
    sides = {{'image': names, 'person': person}}, {{'image': names, 'vector': vector}}
    sy.evaluate('labels', *sides, {SPECS}, confidence=confidence, options={{'pairing': 'all'}})
"""
table(
    f"All {VECTORS * (VECTORS - 1) // 2:,} pairs of {VECTORS:,} vectors of length 128, counted",
    "value alone",
    {
        "value alone": measure("run(None)", MANY),
        "with the jackknife over people": measure("run(0.95)", MANY),
    },
)

QUERY, GALLERY = sized(800, 60), sized(15_913, 300)
IMAGES = f"""
import numpy as np
rng = np.random.default_rng(0)
person = rng.integers(0, 750, {QUERY}), rng.integers(0, 750, {GALLERY})
camera = rng.integers(0, 6, {QUERY}), rng.integers(0, 6, {GALLERY})
distance = rng.random(({QUERY}, {GALLERY}), dtype=np.float32)
distance[person[0][:, None] == person[1]] *= 0.1
"""
LISTS = f"""
import steelyard as sy
sy.metrics('rankings')
METRICS = ['map', 'hit@1', 'hit@5', 'hit@10']
{IMAGES}
truth = {{
    'query_label': person[0], 'gallery_label': person[1], 'query_camera': camera[0], 'gallery_camera': camera[1]
}}
"""
TORCHREID = f"""
import importlib.util, pathlib, warnings
warnings.simplefilter('ignore')
place = pathlib.Path(importlib.util.find_spec('torchreid').origin).parent / 'reid' / 'metrics' / 'rank.py'
spec = importlib.util.spec_from_file_location('rank', place)
rank = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rank)
{IMAGES}
"""
table(
    f"mAP and ranks 1, 5, 10 of {QUERY:,} queries among {GALLERY:,} images, from distances",
    "steelyard",
    {
        "steelyard": measure(
            "sy.evaluate('rankings', truth, {'distance': distance}, METRICS, confidence=None)",
            LISTS,
        ),
        "torchreid, Python": measure("rank.eval_market1501(distance, *person, *camera, 10)", TORCHREID),
    },
)

"""Ellipses: pairing one crowded image, many small images, and the exact overlap, beside numpy, scipy and shapely.

Everything is timed after its data is in memory. The goals stand in the titles; growth is printed last.
"""

from __future__ import annotations

from typing import Any

from measure import Run, measure, record, sized, table

CROWDED = sized(1000, 50)
CROWD = """
import numpy as np
from steelyard.match.ellipses import canonical, distance_matrix, match, WEIGHTS
rng = np.random.default_rng(0)
def drawn(n):
    a = rng.uniform(5, 40, n)
    centre = rng.uniform(0, 20 * n ** 0.5, (n, 2))
    return canonical(np.column_stack([centre, rng.uniform(0, 180, n), a, a * rng.uniform(0.2, 1, n)]))
n = {n}
truth = drawn(n)
predicted = canonical(truth + rng.normal(0, [3, 3, 5, 1, 1], truth.shape) * (truth > 6))
end = np.array([n])
"""
# The pseudo-code of the specification: a loop over all pairs for the distances, then the smallest of those that remain.
LITERAL = """
def dist(g, d):
    turn = abs(g[2] - d[2]) % 180
    return (abs(g[0] - d[0]) / 2 + abs(g[1] - d[1]) / 2 + min(turn, 180 - turn) / 5
            + abs(g[3] - d[3]) / 3 + abs(g[4] - d[4]) / 3)
dists = np.zeros((n, n))
for i in range(n):
    for j in range(n):
        dists[i, j] = dist(truth[i], predicted[j])
num = 0.0
free = np.ones(dists.shape, dtype=bool)
for _ in range(n):
    i, j = np.unravel_index(np.argmin(np.where(free, dists, np.inf)), dists.shape)
    free[i, :] = False
    free[:, j] = False
    num += min(1.0, 5 / dists[i, j])
"""
NUMPY = """
g, d = truth[:, None], predicted[None]
turn = np.abs(g[..., 2] - d[..., 2])
dists = (np.abs(g[..., 0] - d[..., 0]) / 2 + np.abs(g[..., 1] - d[..., 1]) / 2 + np.minimum(turn, 180 - turn) / 5
         + np.abs(g[..., 3] - d[..., 3]) / 3 + np.abs(g[..., 4] - d[..., 4]) / 3)
num = 0.0
for _ in range(n):
    i, j = np.unravel_index(np.argmin(dists), dists.shape)
    num += min(1.0, 5 / dists[i, j])
    dists[i, :] = np.inf
    dists[:, j] = np.inf
"""


def pairing(distance: str, matching: str = "greedy", n: int = CROWDED, repeat: int = 3) -> Run | str:
    return measure(f"match(truth, predicted, end, end, '{distance}', '{matching}')", CROWD.format(n=n), repeat=repeat)


ours = {f"steelyard, {d}": pairing(d) for d in ("param", "center", "wasserstein", "iou", "probiou", "hausdorff")}
table(
    "Distances and greedy pairs of 1,000 × 1,000 ellipses in one image (goal: param, center, wasserstein under"
    " 0.15 CPU s, 100 times faster than the literal loop)",
    "steelyard, param",
    {
        **ours,
        "steelyard, param, optimal pairs": pairing("param", "optimal"),
        "scipy, optimal pairs of the same matrix": measure(
            "linear_sum_assignment(dists)",
            CROWD.format(n=CROWDED)
            + "from scipy.optimize import linear_sum_assignment\ndists = distance_matrix(truth, predicted)",
        ),
        "numpy: the literal loop of the specification": measure(LITERAL, CROWD.format(n=CROWDED), repeat=1),
        "numpy: distances by broadcasting, then the loop": measure(NUMPY, CROWD.format(n=CROWDED), repeat=1),
    },
)

print("\nGrowth of greedy pairing with n (n² log n would be about 4.3 from one line to the next)")
last = None
for n in (CROWDED // 2, CROWDED, 2 * CROWDED, 4 * CROWDED):
    run = pairing("param", n=n, repeat=2)
    record("Growth of greedy pairing", f"steelyard, {n}", run)
    if isinstance(run, Run):
        print(f"  n = {n:<6} {run.cpu:8.4f} CPU s" + (f"   {run.cpu / last:6.2f} ×" if last else ""))
        last = run.cpu

IMAGES = """
import numpy as np, steelyard as sy
from steelyard.core.options import Options
from steelyard.core.task import Policy
from steelyard.core.state import Totals
from steelyard.core.weights import Plain
from steelyard.engine.measure import measure_state
from steelyard.io.sources import read_sides
from steelyard.core import catalogue
rng = np.random.default_rng(0)
images, each = {images}, 5
n = images * each
truth = {"image": np.repeat(np.arange(images), each), "xc": rng.uniform(0, 500, n), "yc": rng.uniform(0, 500, n),
         "theta": rng.uniform(0, 180, n), "a": rng.uniform(12, 50, n), "b": rng.uniform(6, 10, n)}
predicted = {k: v if k == "image" else v + rng.normal(0, 1, n) for k, v in truth.items()}
task = catalogue.find_task("ellipses")
score = catalogue.parse("score", "ellipses")
sides = read_sides(task, truth, predicted, {})
""".replace("{images}", str(sized(100_000, 200)))
table(
    "100,000 images of 5 × 5 ellipses (goal: under 1 CPU s after loading)",
    "steelyard: from read rows to the score",
    {
        "steelyard: from read rows to the score": measure(
            "state = measure_state(task.join(*sides, Policy(), Options(task.options)), [score])\n"
            "Totals(state, Plain(state.units.own)).of(score)",
            IMAGES,
        ),
        "steelyard: evaluate, score without interval": measure(
            "sy.evaluate('ellipses', truth, predicted, 'score', confidence=None)", IMAGES
        ),
        "steelyard: evaluate, score, 1,000 draws": measure(
            "sy.evaluate('ellipses', truth, predicted, 'score')", IMAGES
        ),
        "steelyard: evaluate, 11 metrics, 1,000 draws": measure("sy.evaluate('ellipses', truth, predicted)", IMAGES),
    },
)

PAIRS = """
import numpy as np
from steelyard.match.ellipses import canonical, overlap_area
rng = np.random.default_rng(0)
def drawn(n):
    a = rng.uniform(5, 40, n)
    centre = rng.uniform(0, 30, (n, 2))
    return canonical(np.column_stack([centre, rng.uniform(0, 180, n), a, a * rng.uniform(0.2, 1, n)]))
u, v = drawn({n}), drawn({n})
crossing = overlap_area(u, v) > 0
u, v = u[crossing], v[crossing]
"""
SHAPELY = """
import shapely
t = np.linspace(0, 2 * np.pi, 256, endpoint=False)
def polygons(rows):
    x, y, degrees, a, b = rows.T[:, :, None]
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    ring = np.stack([x + a * c * np.cos(t) - b * s * np.sin(t), y + a * s * np.cos(t) + b * c * np.sin(t)], axis=-1)
    return shapely.polygons(ring)
"""
MANY, FEW = sized(200_000, 1000), sized(5_000, 100)


def touching(drawn: int) -> int:
    """How many of the drawn pairs touch and are timed."""
    space: dict[str, Any] = {}
    exec(PAIRS.replace("{n}", str(drawn)), space)
    return len(space["u"])


overlaps = {
    "steelyard, exact": measure("overlap_area(u, v)", PAIRS.replace("{n}", str(MANY))),
    "shapely, polygons of 256 points": measure(
        "shapely.area(shapely.intersection(polygons(u), polygons(v)))", PAIRS.replace("{n}", str(FEW)) + SHAPELY
    ),
    "shapely, polygons made before": measure(
        "shapely.area(shapely.intersection(p, q))",
        PAIRS.replace("{n}", str(FEW)) + SHAPELY + "p, q = polygons(u), polygons(v)",
    ),
}
print("\nOverlap of ellipses that touch, a pair (goal: 50 times faster than polygon clipping with 256 points)")
exact = overlaps["steelyard, exact"]
for name, run in overlaps.items():
    record("Overlap of ellipses that touch: so many pairs", name, run)
    if isinstance(run, str) or isinstance(exact, str):
        print(f"  {name:<48} not run: {run}")
        continue
    micro = run.cpu / touching(MANY if run is exact else FEW) * 1e6
    print(f"  {name:<48} {micro:8.3f} CPU µs {micro / (exact.cpu / touching(MANY) * 1e6):8.1f} ×")

"""FID, KID and precision, recall, density and coverage of feature vectors, beside the ways of other tools.

The other ways are their formulas: scipy's `sqrtm` of the product (pytorch-fid, clean-fid), the eigenvalues of the
product (torch-fidelity, torchmetrics), 100 subsets of 1,000 (torch-fidelity's KID), and matrices of all distances by
scikit-learn; prdc itself is left out where it is not installed. All use one thread and the same LAPACK.
"""

from __future__ import annotations

from measure import measure, sized, table

WIDE = sized(2048, 64)
ROWS, WIDTH = sized(4000, 200), sized(512, 16)
FEW = sized(200, 20)
MANY = sized(10_000, 300)
START = """
import os
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
import tempfile
import numpy as np
rng = np.random.default_rng(1)
def rows(n, d, shift):
    return (rng.standard_normal((n, d)) / np.sqrt(1 + np.arange(d)) + shift).astype(np.float32)
"""
OURS = """
import steelyard as sy
sy.use_threads(1)
sy.evaluate("distributions", rows(40, 2, 0.0), rows(40, 2, 0.1), ["fid", "kid", "precision"], confidence=None)
"""
STATISTICS = f"""
folder = tempfile.mkdtemp()
paths = []
for side, shift in (("real", 0.0), ("generated", 0.05)):
    x = rows({2 * WIDE}, {WIDE}, shift).astype(np.float64)
    paths.append(folder + "/" + side + ".npz")
    np.savez(paths[-1], mu=x.mean(axis=0), sigma=np.cov(x, rowvar=False))
"""
LOAD = """
(m1, s1), (m2, s2) = ((f["mu"], f["sigma"]) for f in map(np.load, paths))
"""
SQRTM = """
root = np.trace(linalg.sqrtm(s1.dot(s2))).real
value = ((m1 - m2) ** 2).sum() + np.trace(s1) + np.trace(s2) - 2 * root
"""
EIGENVALUES = """
root = np.sqrt(np.linalg.eigvals(s1 @ s2).astype(complex)).real.sum()
value = ((m1 - m2) ** 2).sum() + np.trace(s1) + np.trace(s2) - 2 * root
"""
SETS = "x, y = rows({n}, {d}, 0.0), rows({n}, {d}, 0.02)\n"
COVARIANCES = """
m1, m2 = x.mean(axis=0, dtype=float), y.mean(axis=0, dtype=float)
s1, s2 = np.cov(x, rowvar=False), np.cov(y, rowvar=False)
"""
SUBSETS = """
def kernel(a, b):
    return (a @ b.T / a.shape[1] + 1) ** 3
def discrepancy(a, b):
    n = len(a)
    xx, yy = kernel(a, a), kernel(b, b)
    off = (xx.sum() - np.trace(xx) + yy.sum() - np.trace(yy)) / (n * (n - 1))
    return off - 2 * kernel(a, b).mean()
"""
DRAWN = f"""
draws = np.random.RandomState(2020)
size = min(1000, len(x))
value = np.mean([discrepancy(y[draws.choice(len(y), size, replace=False)], x[draws.choice(len(x), size, replace=False)])
                 for _ in range({sized(100, 3)})])
"""
ALL_DISTANCES = """
def radius(a):
    return np.partition(pairwise_distances(a), 5, axis=1)[:, 5]
rx, ry = radius(x), radius(y)
xy = pairwise_distances(x, y)
inside = xy < rx[:, None]
value = inside.any(axis=0).mean(), (xy < ry).any(axis=1).mean(), inside.sum(axis=0).mean() / 5
covered = inside.any(axis=1).mean()
"""
FOUR = """
metrics = [part + "(like=prdc)" for part in ("precision", "recall", "density", "coverage")]
sy.evaluate("distributions", x, y, metrics, confidence={confidence})
"""


def main() -> None:
    """Print the tables."""
    scipy = "from scipy import linalg\n"
    fid = 'sy.evaluate("distributions", {}, ["fid(least=0)"], confidence=None)'
    runs = {
        "steelyard": measure(fid.format("*paths"), START + OURS + STATISTICS),
        "sqrtm (pytorch-fid, clean-fid)": measure(LOAD + SQRTM, START + scipy + STATISTICS),
        "eigenvalues (torch-fidelity)": measure(LOAD + EIGENVALUES, START + STATISTICS),
    }
    table(f"FID from two files of statistics, {WIDE:,} dimensions", "steelyard", runs)
    few = SETS.format(n=FEW, d=WIDTH)
    runs = {
        "steelyard": measure(fid.format("x, y"), START + OURS + few),
        "sqrtm (pytorch-fid, clean-fid)": measure(COVARIANCES + SQRTM, START + scipy + few),
        "eigenvalues (torch-fidelity)": measure(COVARIANCES + EIGENVALUES, START + few),
    }
    table(f"FID of {FEW:,} vectors in {WIDTH:,} dimensions", "steelyard", runs)
    many = SETS.format(n=MANY, d=WIDTH)
    runs = {
        "steelyard, all pairs": measure(
            'sy.evaluate("distributions", x, y, "kid", confidence=None)', START + OURS + many
        ),
        "100 subsets of 1,000 (torch-fidelity)": measure(DRAWN, START + SUBSETS + many),
    }
    table(f"KID of {MANY:,} vectors in {WIDTH:,} dimensions", "steelyard, all pairs", runs)
    sets = SETS.format(n=ROWS, d=WIDTH)
    runs = {
        "steelyard": measure(FOUR.format(confidence=None), START + OURS + sets),
        "steelyard with intervals": measure(FOUR.format(confidence=0.95), START + OURS + sets),
        "prdc": measure("compute_prdc(x, y, 5)", f"{START}from prdc import compute_prdc\n{sets}"),
        "all distances by scikit-learn": measure(
            ALL_DISTANCES, f"{START}from sklearn.metrics import pairwise_distances\n{sets}"
        ),
    }
    table(f"Precision, recall, density and coverage of {ROWS:,} vectors in {WIDTH:,} dimensions", "steelyard", runs)


if __name__ == "__main__":
    main()

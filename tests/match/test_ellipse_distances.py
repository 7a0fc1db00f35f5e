"""Distances between ellipses: against polygons, closed forms, other implementations, and the laws of a distance."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from support.lazy import lazy

from steelyard import _native
from steelyard.match.ellipses import DISTANCES, WEIGHTS, canonical, distance_matrix, distances, overlap_area

scipy = lazy("scipy")

every_distance = pytest.mark.parametrize("name", list(DISTANCES))


def drawn(rng: np.random.Generator, count: int, *, spread: float = 50, flattest: float = 0.05) -> np.ndarray:
    a = rng.uniform(5, 40, count)
    centre = rng.uniform(0, spread, (count, 2))
    return canonical(np.column_stack([centre, rng.uniform(0, 180, count), a, a * rng.uniform(flattest, 1, count)]))


def polygon(ellipse: np.ndarray, corners: int) -> shapely.Polygon:
    """A polygon of the same area, inscribed and then enlarged: its error falls with the square of the corners."""
    x, y, degrees, a, b = ellipse
    t = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    grown = math.sqrt(2 * np.pi / corners / math.sin(2 * np.pi / corners))
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    u, v = grown * a * np.cos(t), grown * b * np.sin(t)
    return shapely.Polygon(np.column_stack([x + c * u - s * v, y + s * u + c * v]))


def polygon_overlap(u: np.ndarray, v: np.ndarray, corners: int = 4000) -> np.ndarray:
    sides = [[polygon(row, corners) for row in rows] for rows in (u, v)]
    return np.asarray(shapely.area(shapely.intersection(*sides)))


def near(base: np.ndarray, by: float, rng: np.random.Generator) -> np.ndarray:
    return canonical(base * (1 + by * rng.uniform(-1, 1, base.shape)))


def overlap_cases() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(1)
    base = drawn(rng, 40, flattest=0.02)
    cases = {"any": (drawn(rng, 150), drawn(rng, 150))}
    for by in (1e-1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15):
        cases[f"equal up to {by}"] = (base, near(base, by, rng))
    other = drawn(rng, 40)
    other[:, :2] = base[:, :2]
    cases["one centre"] = (base, other)
    other = other.copy()
    other[:, 2] = base[:, 2]
    cases["one centre, one angle"] = (base, other)
    inner = base.copy()
    inner[:, 3:] *= rng.uniform(0.1, 0.95, (40, 1))
    inner[:, :2] += rng.uniform(-1, 1, (40, 2))
    cases["nested or nearly"] = (base, inner)
    roundness = [0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3]
    rings = [drawn(rng, 40) for _ in range(2)]
    for ring in rings:
        ring[:, 4] = ring[:, 3] * (1 - rng.choice(roundness, 40))
    cases["near circles"] = (rings[0], rings[1])
    whole = [np.column_stack([rng.integers(0, 6, (60, 2)), rng.choice([0, 45, 90, 135], 60), rng.integers(1, 6, (60, 2))])
             for _ in range(2)]  # fmt: skip
    cases["whole numbers"] = (canonical(whole[0]), canonical(whole[1]))
    return cases


@pytest.mark.parametrize("name", overlap_cases())
def test_overlap_is_that_of_fine_polygons(name: str) -> None:
    u, v = overlap_cases()[name]
    result, expected = overlap_area(u, v), polygon_overlap(u, v)
    smaller = np.pi * np.minimum(u[:, 3] * u[:, 4], v[:, 3] * v[:, 4])
    # Relative to the overlap itself, but for slivers that the polygon cannot resolve.
    sliver = expected < 1e-4 * smaller
    np.testing.assert_allclose(result[~sliver], expected[~sliver], rtol=1e-6)
    np.testing.assert_allclose(result[sliver] / smaller[sliver], expected[sliver] / smaller[sliver], rtol=0, atol=1e-8)


@pytest.mark.parametrize("flatness", [1e-2, 1e-3, 1e-4])
def test_overlap_of_needles(flatness: float) -> None:
    rng = np.random.default_rng(2)
    u, v = drawn(rng, 20), drawn(rng, 20)
    v[:, 4] = v[:, 3] * flatness
    np.testing.assert_allclose(overlap_area(u, v), polygon_overlap(u, v, 20000), rtol=1e-6, atol=1e-12)


def lens(r: float, s: float, d: float) -> float:
    """Overlap of two circles, in extended precision: the difference of large numbers is no matter there."""
    r, s, d = (np.longdouble(x) for x in (r, s, d))
    if d >= r + s:
        return 0.0
    if d <= abs(r - s):
        return float(np.pi * min(r, s) ** 2)
    x = (d * d + r * r - s * s) / (2 * d)
    p, q = np.arctan2(np.sqrt((r - x) * (r + x)), x), np.arctan2(np.sqrt((r - x) * (r + x)), d - x)
    return float(r * r * (p - np.sin(p) * np.cos(p)) + s * s * (q - np.sin(q) * np.cos(q)))


def mapped(matrix: np.ndarray, x: float, y: float, radius: float) -> np.ndarray:
    """The ellipse that a linear map makes of a circle."""
    u, axes, _ = np.linalg.svd(matrix)
    centre = matrix @ [x, y]
    return np.array([*centre, math.degrees(math.atan2(u[1, 0], u[0, 0])), *(radius * axes)])


@pytest.mark.parametrize("depth", [0.5, 0.1, 1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("inside", [False, True])
def test_overlap_near_contact_is_that_of_circles(depth: float, inside: bool) -> None:
    """Two circles that touch up to a depth, and their images under linear maps, whose overlap is known exactly."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        r, s = 1.0, float(rng.uniform(0.2, 0.9))
        d = (r - s + depth * s) if inside else (r + s - depth * s)
        turn = rng.uniform(0, 2 * np.pi)
        matrix = rng.normal(size=(2, 2)) + 2 * np.eye(2)
        u, v = mapped(matrix, 0, 0, r), mapped(matrix, d * math.cos(turn), d * math.sin(turn), s)
        expected = lens(r, s, d) * abs(np.linalg.det(matrix))
        assert overlap_area([u], [v])[0] == pytest.approx(expected, rel=1e-6)


def test_overlap_at_the_edges() -> None:
    big, small = [0, 0, 30, 4, 2], [0, 0, 30, 2, 1]
    cases = {
        "identical": (big, big, 8 * math.pi),
        "the same, turned by 180": (big, [0, 0, 210, 4, 2], 8 * math.pi),
        "the same, axes swapped": (big, [0, 0, 120, 2, 4], 8 * math.pi),
        "nested, one centre": (big, small, 2 * math.pi),
        "tangent from outside": ([0, 0, 0, 3, 1], [5, 0, 0, 2, 1], 0.0),
        "tangent from inside, at the end": ([0, 0, 0, 4, 2], [2, 0, 0, 2, 0.5], math.pi),
        "tangent from inside, at the side": ([0, 0, 0, 4, 2], [0, 1, 0, 1, 1], math.pi),
        "circles, tangent from inside": ([0, 0, 0, 2, 2], [1, 0, 0, 1, 1], math.pi),
        "circles, equal": ([3, 4, 0, 2, 2], [3, 4, 77, 2, 2], 4 * math.pi),
        "cross": ([0, 0, 0, 2, 1], [0, 0, 90, 2, 1], 8 * math.atan(0.5)),
        "far apart": (big, [100, 0, 0, 4, 2], 0.0),
        "crossed without touching": ([0, 0, 0, 4, 1], [0, 5, 0, 4, 1], 0.0),
    }
    for name, (u, v, expected) in cases.items():
        assert overlap_area([u], [v])[0] == pytest.approx(expected, rel=1e-7, abs=1e-7), name
    assert distances([big], [big], "iou")[0] == 0
    assert distances([[0, 0, 0, 2, 2]], [[1, 0, 0, 1, 1]], "iou")[0] == pytest.approx(0.75, rel=1e-7)


def test_wasserstein_is_that_of_gaussians() -> None:
    rng = np.random.default_rng(4)
    u, v = drawn(rng, 100), drawn(rng, 100)
    for a, b, result in zip(u, v, distances(u, v, "wasserstein"), strict=True):
        first, second = covariance(a), covariance(b)
        root = scipy.linalg.sqrtm(first)
        middle = scipy.linalg.sqrtm(root @ second @ root)
        square = np.sum((a[:2] - b[:2]) ** 2) + np.trace(first + second - 2 * np.real(middle))
        assert result == pytest.approx(math.sqrt(square), rel=1e-7)
    assert distances([[0, 0, 0, 3, 3]], [[0, 0, 50, 1, 1]], "wasserstein")[0] == pytest.approx(2 * math.sqrt(2))


def covariance(ellipse: np.ndarray) -> np.ndarray:
    c, s = math.cos(math.radians(ellipse[2])), math.sin(math.radians(ellipse[2]))
    turn = np.array([[c, -s], [s, c]])
    return np.asarray(turn @ np.diag(ellipse[3:] ** 2) @ turn.T)


def test_probiou_is_hellingers_distance() -> None:
    """The formula of Bhattacharyya's distance with matrices, and the integral that defines Hellinger's."""
    rng = np.random.default_rng(5)
    u, v = drawn(rng, 100, flattest=0.2), drawn(rng, 100, flattest=0.2)
    result = distances(u, v, "probiou")
    for a, b, value in zip(u, v, result, strict=True):
        first, second = covariance(a) / 4, covariance(b) / 4
        mean, d = (first + second) / 2, a[:2] - b[:2]
        det = [np.linalg.det(m) for m in (mean, first, second)]
        bhattacharyya = d @ np.linalg.solve(mean, d) / 8 + 0.5 * math.log(det[0] / math.sqrt(det[1] * det[2]))
        assert value == pytest.approx(math.sqrt(1 - math.exp(-bhattacharyya)), rel=1e-9)
    for i in range(3):
        grid = np.linspace(-80, 130, 1500)
        points = np.stack(np.meshgrid(grid, grid), axis=-1)
        densities = [_density(points, row) for row in (u[i], v[i])]
        affinity = np.sqrt(densities[0] * densities[1]).sum() * (grid[1] - grid[0]) ** 2
        assert result[i] == pytest.approx(math.sqrt(1 - affinity), rel=1e-4)


def _density(points: np.ndarray, ellipse: np.ndarray) -> np.ndarray:
    shape = covariance(ellipse) / 4
    d = points - ellipse[:2]
    form = np.einsum("...i,ij,...j->...", d, np.linalg.inv(shape), d)
    return np.asarray(np.exp(-form / 2) / (2 * np.pi * math.sqrt(np.linalg.det(shape))))


def test_hausdorff_is_that_of_dense_contours() -> None:
    rng = np.random.default_rng(6)
    u = np.concatenate([drawn(rng, 25), drawn(rng, 25, flattest=0.01)])
    v = np.concatenate([drawn(rng, 25), drawn(rng, 10, flattest=0.01), near(u[35:], 1e-2, rng)])
    corners = 600
    for a, b, result in zip(u, v, distances(u, v, "hausdorff"), strict=True):
        contours = [np.asarray(polygon(row, corners).exterior.coords) for row in (a, b)]
        expected = shapely.hausdorff_distance(*(shapely.LinearRing(c) for c in contours))
        spacing = max(a[3], b[3]) * 2 * np.pi / corners  # the vertices miss the worst point by less than that
        assert result == pytest.approx(expected, abs=spacing**2 / min(a[4], b[4]) + 1e-5 * max(a[3], b[3]))


def test_hausdorff_keeps_its_tolerance() -> None:
    """The maximum of the support functions' difference over a very fine grid is never above what is found."""
    rng = np.random.default_rng(7)
    u, v = drawn(rng, 200, flattest=0.005), drawn(rng, 200, flattest=0.005)
    v[100:] = near(u[100:], 1e-3, rng)
    angle = np.linspace(0, np.pi, 20001)
    direction = np.column_stack([np.cos(angle), np.sin(angle)])
    for a, b, result in zip(u, v, distances(u, v, "hausdorff"), strict=True):
        reach = [np.sqrt(np.einsum("ki,ij,kj->k", direction, covariance(row), direction)) for row in (a, b)]
        gap = (np.abs(direction @ (a[:2] - b[:2])) + np.abs(reach[0] - reach[1])).max()
        assert gap - 1e-6 * max(a[3], b[3]) <= result <= gap * (1 + 1e-3) + 1e-9


def test_param_by_hand() -> None:
    truth, predicted = [150, 100, 45, 40, 20], [138, 112, 55, 40, 20]
    assert distances([truth], [predicted])[0] == 14.0
    assert distances([truth], [predicted], weights=(1, 0, 0, 0, 0))[0] == 12.0
    assert distances([[0, 0, 5, 4, 2]], [[0, 0, 175, 4, 2]], weights=(0, 0, 1, 0, 0))[0] == 10.0
    assert distances([[0, 0, 5, 4, 4]], [[0, 0, 95, 4, 2]])[0] == pytest.approx(2 / 3)  # a circle has no angle


numbers = st.floats(-500, 500)
axes = st.floats(0.5, 200)
ellipse_rows = st.tuples(numbers, numbers, st.floats(-720, 720), axes, axes)


@every_distance
@settings(max_examples=60, deadline=None)
@given(u=ellipse_rows, v=ellipse_rows)
def test_laws_of_a_distance(name: str, u: tuple[float, ...], v: tuple[float, ...]) -> None:
    there, back = distances([u], [v], name)[0], distances([v], [u], name)[0]
    assert there == back or name in ("hausdorff", "probiou")
    assert there == pytest.approx(back, rel=1e-9, abs=1e-9)
    assert 0 <= there <= (math.inf if DISTANCES[name].pixels else 1)
    assert distances([u], [u], name)[0] == 0
    assert distance_matrix([u, v], [v], name)[0, 0] == there


@every_distance
@settings(max_examples=50, deadline=None)
@given(u=ellipse_rows, v=ellipse_rows, turns=st.integers(-3, 3))
def test_one_ellipse_has_many_names(name: str, u: tuple[float, ...], v: tuple[float, ...], turns: int) -> None:
    x, y, degrees, a, b = u
    expected = distances([u], [v], name)[0]
    for other in ((x, y, degrees + 180 * turns, a, b), (x, y, degrees + 90 + 180 * turns, b, a)):
        assert distances([other], [v], name)[0] == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert distances([other], [u], name)[0] == pytest.approx(0, abs=1e-6)


@every_distance
@settings(max_examples=50, deadline=None)
@given(u=ellipse_rows, v=ellipse_rows, shift=st.tuples(numbers, numbers), turn=st.floats(0, 360))
def test_moves_do_not_matter(name: str, u, v, shift: tuple[float, float], turn: float) -> None:
    expected = distances([u], [v], name)[0]
    moved = [(x + shift[0], y + shift[1], *rest) for x, y, *rest in (u, v)]
    assert distances(moved[:1], moved[1:], name)[0] == pytest.approx(expected, rel=1e-6, abs=1e-6)
    if name == "param":  # an L1 norm of x and y is not invariant
        return
    c, s = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    turned = [(c * x - s * y, s * x + c * y, degrees + turn, a, b) for x, y, degrees, a, b in (u, v)]
    assert distances(turned[:1], turned[1:], name)[0] == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_canonical_rows() -> None:
    rows = [[1, 2, 190, 3, 4], [0, 0, -1e-20, 2, 1], [0, 0, 540, 2, 1], [0, 0, 90, 1, 2], [0, 0, 89.5, 1, 1]]
    ellipse = canonical(rows)
    assert ellipse.tolist() == [
        [1, 2, 100, 4, 3],
        [0, 0, 0, 2, 1],
        [0, 0, 0, 2, 1],
        [0, 0, 0, 2, 1],
        [0, 0, 89.5, 1, 1],
    ]


def test_the_native_core_checks_what_it_is_given() -> None:
    good, weights = np.array([[0.0, 0, 0, 2, 1]]), np.array(WEIGHTS)
    bad = {
        "nan": [[np.nan, 0, 0, 2, 1]], "infinite": [[0, np.inf, 0, 2, 1]], "angle": [[0, 0, 180, 2, 1]],
        "order": [[0, 0, 0, 1, 2]], "zero": [[0, 0, 0, 1, 0]], "huge": [[0, 0, 0, 1e13, 1]], "columns": [[0, 0, 0, 1]],
    }  # fmt: skip
    for rows in bad.values():
        with pytest.raises(ValueError, match=r"ellipse|centre|angle|axes"):
            _native.ellipse_matrix(np.array(rows, dtype=float), good, 0, weights)
    with pytest.raises(ValueError, match="no such distance"):
        _native.ellipse_matrix(good, good, 9, weights)
    with pytest.raises(ValueError, match="weights"):
        _native.ellipse_matrix(good, good, 0, np.array([1.0, 1, 1, 1, -1]))
    with pytest.raises(ValueError, match="as many rows"):
        _native.ellipse_overlap(good, np.repeat(good, 2, axis=0))
    ends = np.array([2])
    with pytest.raises(ValueError, match="must end with the rows"):
        _native.ellipse_match(good, good, ends, ends, 0, weights, False)
    with pytest.raises(ValueError, match="must rise"):
        _native.ellipse_match(good, good, np.array([1, 0]), np.array([1, 1]), 0, weights, False)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.floats(-1e12, 1e12)] * 2, st.floats(0, 179.999), *[st.floats(1e-12, 1e12)] * 2),
        min_size=2,
        max_size=4,
    )
)
def test_no_ellipse_breaks_a_distance(rows: list[tuple[float, ...]]) -> None:
    """Whatever the sizes, a number in range comes out."""
    for name, distance in DISTANCES.items():
        result = distance_matrix(rows, rows, name)
        assert np.isfinite(result).all()
        assert (result >= 0).all()
        assert distance.pixels or (result <= 1).all()

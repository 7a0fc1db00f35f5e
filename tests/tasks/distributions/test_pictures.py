"""Pictures and tables of distributions, held to the numbers that they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steelyard as sy

RNG = np.random.default_rng(11)
REAL = RNG.normal(size=(90, 4)) * [2, 1, 0.5, 0.2]
GENERATED = np.concatenate([RNG.normal(size=(76, 4)) * [2, 1, 0.5, 0.2] + 0.3, REAL[:10], [[9.0, 0, 0, 0]] * 4])
IDS = [f"g{place}" for place in range(90)]


@pytest.fixture(scope="module")
def report() -> sy.Report:
    sides = ({"id": [f"r{place}" for place in range(90)], "features": REAL}, {"id": IDS, "features": GENERATED})
    return sy.evaluate("distributions", *sides, ["fid", "coverage"], confidence=None)


def distances(a: Any, b: Any, *, same: bool = False) -> Any:
    square = ((a[:, None] - b[None]) ** 2).sum(axis=2)
    if same:
        np.fill_diagonal(square, np.inf)
    return np.sqrt(square.min(axis=1))


def test_histograms_of_nearest_distances(report: sy.Report) -> None:
    """Ten generated vectors are copies of real ones, and four repeat each other."""
    columns = report.details.figure("nearest").columns
    series, middle, count = (np.asarray(columns[name]) for name in ("series", "x", "y"))
    expected = {
        "generated to real": distances(GENERATED, REAL),
        "generated to generated": distances(GENERATED, GENERATED, same=True),
        "real to real": distances(REAL, REAL, same=True),
    }
    assert list(dict.fromkeys(series.tolist())) == list(expected)
    for name, values in expected.items():
        mine = series == name
        half = (middle[mine][1] - middle[mine][0]) / 2
        edges = [*(middle[mine] - half), middle[mine][-1] + half]
        assert count[mine].tolist() == np.histogram(values, edges)[0].tolist()
        assert count[mine].sum() == 90


def test_parts_sum_to_the_distance(report: sy.Report) -> None:
    columns = report.details.figure("axes").columns
    values = dict(zip(columns["name"], columns["value"].tolist(), strict=True))
    assert list(values) == ["means", "axis 1", "axis 2", "axis 3", "axis 4", "the rest"]
    assert values["means"] == pytest.approx(((REAL.mean(axis=0) - GENERATED.mean(axis=0)) ** 2).sum(), rel=1e-9)
    assert sum(values.values()) == pytest.approx(report["fid"].value, rel=1e-9)


def test_distances_by_size_end_at_the_distance(report: sy.Report) -> None:
    columns = report.details.figure("sizes").columns
    parts = [place for place, name in enumerate(columns["series"]) if name == "parts"]
    at = parts[int(np.argmin(np.asarray(columns["x"])[parts]))]
    assert columns["x"][at] == pytest.approx(1 / 90)
    assert columns["y"][at] == pytest.approx(report["fid"].value, rel=1e-9)


def test_costly_vectors_are_those_with_the_largest_influence(report: sy.Report) -> None:
    """In parts of the distance, falling; each with its nearest real vector."""
    table = report.details.table("costly")
    moved = dict(zip(report.units().units.tolist(), report.units().values["fid"].tolist(), strict=True))
    order = sorted(IDS, key=lambda name: -moved[f"generated:{name}"])[:10]
    assert [row.partition(",")[0] for row in table.rows] == order
    expected = [[moved[f"generated:{name}"] / 90, distances(GENERATED, REAL)[IDS.index(name)]] for name in order]
    assert np.asarray(table.values) == pytest.approx(np.array(expected), rel=1e-9)


def test_uncovered_vectors_are_those_without_a_ball(report: sy.Report) -> None:
    table = report.details.table("uncovered")
    missed = round((1 - report["coverage"].value) * 90)
    assert f"({missed} of 90)" in table.title
    values = np.asarray(table.values)[:, 0]
    assert len(values) == min(missed, 10)
    assert (np.diff(values) <= 0).all()


def test_every_vector_is_listed(report: sy.Report) -> None:
    listing = report.details.listing()
    assert listing is not None
    near = np.asarray(listing.columns["nearest real"])
    assert near[:90] == pytest.approx(distances(GENERATED, REAL)[np.argsort(IDS)], abs=1e-9)
    assert near[90:] == pytest.approx(distances(REAL, REAL, same=True)[np.argsort([i[1:] for i in IDS])], abs=1e-9)

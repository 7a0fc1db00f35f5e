"""What must hold for flow and disparity, whatever the fields are."""

from __future__ import annotations

import numpy as np
import pytest
from support.field_goldens import Array, scores

SPECS = ["epe", "rms", "fl", "bad@1", "wauc", "density", "aae", "epe(of=s10-40)"]
BY_IMAGE = ["epe", "fl", "bad@1", "wauc"]


def drawn(seed: int, holes: bool = True) -> tuple[Array, Array]:
    """Flow of 12 × 16 pixels in steps of 1/64, with errors of a few pixels."""
    rng = np.random.default_rng(seed)
    truth = np.round(rng.normal(0, 15, (12, 16, 2)) * 64) / 64
    predicted = truth + np.round(rng.standard_t(2, truth.shape) * 64) / 64
    if holes:
        truth[rng.random((12, 16)) < 0.2] = np.nan
        predicted[rng.random((12, 16)) < 0.1] = np.nan
    return truth, predicted


def flow(truth: list[Array], predicted: list[Array], specs: list[str] = SPECS) -> list[float]:
    return list(scores("flow", truth, predicted, specs).values())


def mirrored(field: Array) -> Array:
    return field[:, ::-1] * [-1.0, 1.0]


def turned(field: Array) -> Array:
    """A quarter turn: what pointed to the right points up."""
    u, v = np.rot90(field)[..., 0], np.rot90(field)[..., 1]
    return np.stack([v, -u], axis=2)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("change", [mirrored, turned, lambda field: -field], ids=["mirrored", "turned", "reversed"])
def test_errors_stay_when_both_fields_are_changed_alike(seed: int, change: object) -> None:
    assert callable(change)
    truth, predicted = drawn(seed)
    assert flow([change(truth)], [change(predicted)]) == pytest.approx(flow([truth], [predicted]), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_tiles_of_an_image_are_the_image(seed: int) -> None:
    truth, predicted = drawn(seed)
    cut = [[field[r : r + 6, c : c + 8] for r in (0, 6) for c in (0, 8)] for field in (truth, predicted)]
    assert flow(cut[0], cut[1]) == pytest.approx(flow([truth], [predicted]), rel=1e-12)


def test_the_average_does_not_matter_where_all_images_have_as_many_pixels() -> None:
    sides = [drawn(seed, holes=False) for seed in range(4)]
    truth, predicted = [a for a, _ in sides], [b for _, b in sides]
    by_image = flow(truth, predicted, [f"{spec}(average=image)" for spec in BY_IMAGE])
    assert by_image == pytest.approx(flow(truth, predicted, BY_IMAGE), rel=1e-12)


def test_larger_errors_are_never_better() -> None:
    truth, predicted = drawn(7)
    rows = [flow([truth], [truth + factor * (predicted - truth)]) for factor in (0, 0.5, 1, 2, 4)]
    columns = dict(zip(SPECS, np.array(rows).T, strict=True))
    for name in ("epe", "rms", "fl", "bad@1", "epe(of=s10-40)"):
        assert (np.diff(columns[name]) >= 0).all(), name
    assert (np.diff(columns["wauc"]) < 0).all()
    assert np.ptp(columns["density"]) == 0


def test_a_disparity_is_a_flow_to_one_side() -> None:
    truth, predicted = drawn(9)
    truth, predicted = np.abs(truth[..., 0]), np.abs(predicted[..., 0])
    shared = ["epe", "rms", "bad@1", "wauc", "density", "epe(of=s10-40)"]
    wide = [np.stack([field, np.where(np.isnan(field), np.nan, 0.0)], axis=2) for field in (truth, predicted)]
    other = list(scores("disparity", [truth], [predicted], [*shared, "d1"]).values())
    assert flow([wide[0]], [wide[1]], [*shared, "fl"]) == pytest.approx(other, rel=1e-12)

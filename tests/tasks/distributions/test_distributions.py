"""Task `distributions`: goldens of pytorch-fid, clean-fid, torch-fidelity, torchmetrics, prdc, vendi-score and CMMD.

tests/goldens/distributions.json was made by the packages themselves, and by formulas written out in double precision
(`own_*`); it says which versions. Vectors are whole numbers over 16.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import linalg
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy
from steelyard.core.rows import RowsBlock, RowTable
from steelyard.tasks.distributions.data import FeatureRows, FeatureSets
from steelyard.tasks.distributions.kernels import discrepancy, kernel_sums, polynomial
from steelyard.tasks.distributions.moments import Moments, frechet, merge_moments, moments_of_rows
from steelyard.tasks.distributions.readers import corrected

GOLDENS: dict[str, Any] = json.loads((TESTS / "goldens" / "distributions.json").read_text(encoding="utf-8"))
SETS = list(GOLDENS["sets"])
FOUR = ("precision", "recall", "density", "coverage")
DEFICIENT = ("fewer_than_dimensions_20x32", "constant_column_40x6", "collapsed_40x6")


def pair(name: str) -> tuple[np.ndarray, np.ndarray]:
    entry = GOLDENS["sets"][name]
    real, generated = (
        (np.array(entry[side]) / GOLDENS["unit"]).reshape(-1, entry["width"]) for side in ("real", "generated")
    )
    return real.astype(np.float32), generated.astype(np.float32)


def scores(truth: Any, predictions: Any, *metrics: str, **settings: Any) -> list[float]:
    report = sy.evaluate("distributions", truth, predictions, list(metrics), confidence=None, **settings)
    return [report[metric].value for metric in metrics]


def golden(name: str, key: str) -> Any:
    return GOLDENS["sets"][name]["values"][key]


@pytest.mark.parametrize("name", SETS)
def test_frechet_distance(name: str) -> None:
    """1e-9 with full rank and 1e-6 without, against every package that gives a number; single-precision means differ."""
    x, y = pair(name)
    (value,) = scores(x, y, "fid(least=0)")
    traces = float(np.var(x, axis=0, ddof=1, dtype=float).sum() + np.var(y, axis=0, ddof=1, dtype=float).sum())
    exact = 1e-6 if name in DEFICIENT else 1e-9
    assert value >= 0
    assert value == pytest.approx(golden(name, "own_fid"), rel=exact, abs=1e-11 * traces)
    for package, tolerance in (
        ("pytorch_fid", exact),
        ("torchmetrics_fid", exact),
        ("cleanfid_fid", 1e-6),
        ("torch_fidelity_fid", 1e-6),
    ):
        expected = golden(name, package)
        if isinstance(expected, dict):
            expected = expected.get("value", math.nan)
        if isinstance(expected, float) and math.isfinite(expected):
            loose = 1e-6 if name in DEFICIENT else tolerance
            assert value == pytest.approx(expected, rel=loose, abs=loose * traces), package


@pytest.mark.parametrize("name", SETS)
def test_kernels(name: str) -> None:
    x, y = pair(name)
    specs = {"kid": "own_kid", "cmmd(normalise=false)": "own_cmmd_raw_features"}
    if name != "grid_with_ties_36x2":  # it has a zero vector
        specs["cmmd(normalise=true)"] = "own_cmmd_unit_features"
        specs["cmmd(unbiased=true, normalise=true)"] = "own_cmmd_unit_unbiased"
    values = scores(x, y, *specs)
    for value, key in zip(values, specs.values(), strict=True):
        assert value == pytest.approx(golden(name, key), rel=1e-9, abs=1e-9), key
    whole = golden(name, "torchmetrics_kid_whole")
    if isinstance(whole, float):  # sets of equal size
        assert values[0] == pytest.approx(whole, rel=1e-9, abs=1e-9)
        assert values[0] == pytest.approx(golden(name, "cleanfid_kid_whole"), rel=2e-6, abs=1e-4)
    # CMMD's own code works in single precision
    assert values[1] == pytest.approx(golden(name, "cmmd_raw_features"), rel=3e-5, abs=2e-3)
    if len(values) > 2:
        assert values[2] == pytest.approx(golden(name, "cmmd_unit_features"), rel=2e-4, abs=5e-4)


@pytest.mark.parametrize("name", SETS)
def test_biased_polynomial_discrepancy(name: str) -> None:
    """With the diagonals, as KID's golden without correction has it."""
    rows = [one.astype(float) for one in pair(name)]
    ones = [np.ones(len(one)) for one in rows]
    value, _ = discrepancy(kernel_sums(*rows, *ones, polynomial), *ones, biased=True)
    assert value == pytest.approx(golden(name, "own_kid_biased"), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_subsets_of_torch_fidelity(name: str) -> None:
    """The subsets of torch-fidelity's seed, 3 of 20, in double precision."""
    expected = golden(name, "torch_fidelity_kid_3x20")["kernel_inception_distance_mean"]
    (value,) = scores(*pair(name), "kid(subsets=3, size=20)")
    assert value == pytest.approx(expected, rel=2e-5, abs=1e-3)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("k", [3, 5])
def test_neighbours(name: str, k: int) -> None:
    """The counts of exact arithmetic, with ties, duplicates and collapsed sets."""
    x, y = pair(name)
    for edge in ("closed", "open"):
        specs = [f"{part}(k={k}, edge={edge}, equal=false)" for part in FOUR]
        values = scores(x, y, *specs)
        expected = golden(name, f"own_knn_{edge}_k{k}")
        assert values == pytest.approx([expected[part] for part in FOUR], abs=1e-12)
        if edge == "open":
            assert values == pytest.approx([golden(name, f"prdc_k{k}")[part] for part in FOUR], abs=1e-12)
        elif k == 3:
            package = golden(name, "torch_fidelity_prc_k3")
            assert values[:2] == pytest.approx([package["precision"], package["recall"]], abs=1e-6)


def test_neighbours_of_many_vectors() -> None:
    """Blocks in single precision, with ties on purpose, count as exact arithmetic does."""
    rng = np.random.default_rng(7)
    x, y = (rng.integers(-3, 4, (1100, 4)).astype(np.float32) + shift for shift in (0, 1))
    own, cross = ({}, ((x[:, None].astype(float) - y[None]) ** 2).sum(axis=2))
    for name, rows in (("x", x), ("y", y)):
        square = ((rows[:, None].astype(float) - rows[None]) ** 2).sum(axis=2)
        np.fill_diagonal(square, np.inf)
        own[name] = np.sort(square, axis=1)[:, 4]
    for edge, inside in (("closed", np.less_equal), ("open", np.less)):
        balls = inside(cross, own["x"][:, None])
        expected = [
            balls.any(axis=0).mean(),
            inside(cross, own["y"]).any(axis=1).mean(),
            balls.sum(axis=0).mean() / 5,
            balls.any(axis=1).mean(),
        ]
        assert scores(x, y, *[f"{part}(k=5, edge={edge})" for part in FOUR]) == pytest.approx(expected, abs=1e-12)


def test_presets_are_the_settings_of_the_tools() -> None:
    x, y = pair("one_dimension_30x1")
    closed, opened = (golden("one_dimension_30x1", f"own_knn_{edge}") for edge in ("closed_k3", "open_k5"))
    for part in FOUR:
        values = scores(x, y, f"{part}(like=kynkaanniemi)", f"{part}(like=prdc)")
        assert values == pytest.approx([closed[part], opened[part]], abs=1e-12)
    assert scores(x, y, *FOUR) == pytest.approx(
        [closed["precision"], closed["recall"], opened["density"], opened["coverage"]], abs=1e-12
    )


@pytest.mark.parametrize("name", SETS)
def test_vendi(name: str) -> None:
    x, y = pair(name)
    values = scores(x, y, "vendi", "vendi(q=2)", "vendi(q=inf)")
    keys = ("own_vendi_generated", "own_vendi_generated_q2", "own_vendi_generated_inf")
    assert values == pytest.approx([golden(name, key) for key in keys], rel=1e-9)
    assert values[0] == pytest.approx(golden(name, "vendi_score_dual_generated"), rel=1e-9)
    assert values[0] == pytest.approx(golden(name, "vendi_score_X_generated"), rel=1e-9)
    assert values[1] == pytest.approx(golden(name, "vendi_score_dual_generated_q2"), rel=1e-9)


@pytest.mark.parametrize("name", list(GOLDENS["inception"]))
def test_inception_score(name: str) -> None:
    entry = GOLDENS["inception"][name]
    logits = (np.array(entry["halves"]) / 2).reshape(-1, entry["width"])
    specs = ("inception_score", "inception_score(splits=5)", "inception_score(splits=5, shuffle=true)")
    values = scores({"logits": logits}, {"logits": logits}, *specs)
    expected = [entry["own_splits_1"]["mean"], entry["own_splits_5"]["mean"]]
    expected.append(entry["torch_fidelity_splits_5_shuffled"]["inception_score_mean"])
    assert values == pytest.approx(expected, rel=1e-9)
    package = [entry[f"torch_fidelity_splits_{splits}"]["inception_score_mean"] for splits in (1, 5)]
    assert values[:2] == pytest.approx(package, rel=1e-9)
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    assert scores({"probs": probs}, {"probs": probs}, *specs) == pytest.approx(values, rel=1e-12)


@pytest.mark.parametrize("name", ["equal_n_64x8", "same_64x8"])
def test_influences_of_generated_vectors(name: str) -> None:
    """What each generated vector moves FID by: golden, by the formula; and they sum to 0."""
    x, y = pair(name)
    units = sy.evaluate("distributions", x, y, ["fid"]).units()
    moved = units.values["fid"]
    assert [str(unit) for unit in units.units[:2]] == ["generated:000000000", "generated:000000001"]
    assert moved[:64] == pytest.approx(GOLDENS["sets"][name]["influence_generated"], rel=1e-8, abs=1e-10)
    assert moved[:64].sum() == pytest.approx(0, abs=1e-9)
    assert moved[64:].sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_bias_taken_off_by_groups(name: str) -> None:
    """Groups i % 10 of both sides left out in turn, as the golden has them."""
    x, y = pair(name)
    rows = np.concatenate([x, y])
    role = np.repeat([0, 1], [len(x), len(y)]).astype(np.int8)
    columns = {"features": rows, "role": role, "count": np.ones(len(rows))}
    table = RowTable(FeatureRows(), np.arange(len(rows)), np.arange(len(rows) + 1), columns)
    sets, weights = FeatureSets(RowsBlock((table,), np.arange(len(rows)))), np.ones(len(rows))
    groups = (np.arange(len(x)) % 10, np.arange(len(y)) % 10)
    moments = (moments_of_rows(x), moments_of_rows(y))
    value = corrected(sets, weights, moments, frechet(*moments), groups)
    assert value == pytest.approx(golden(name, "own_fid_jackknife")["both_corrected"], rel=1e-6, abs=1e-6)
    real = moments[0].with_factor()
    sets.parts[0].append((0, real))
    alone = corrected(sets, weights, (real, moments[1]), frechet(real, moments[1]), groups)
    assert alone == pytest.approx(golden(name, "own_fid_jackknife")["generated_corrected"], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", SETS)
def test_explanations_are_the_numbers_of_the_tools(name: str) -> None:
    x, y = pair(name)
    tools = ("pytorch-fid", "clean-fid", "torch-fidelity", "prdc")
    report = sy.evaluate("distributions", x, y, ["fid(least=0)"], confidence=None, explain=tools)
    printed = {each.tool: each.theirs for each in report.explanations}
    between = float(((x.mean(axis=0, dtype=float) - y.mean(axis=0, dtype=float)) ** 2).sum())
    for tool, key in (
        ("pytorch-fid", "pytorch_fid"),
        ("clean-fid", "cleanfid_fid"),
        ("torch-fidelity", "torch_fidelity_fid"),
    ):
        expected = golden(name, key)
        if isinstance(expected, dict):  # d = 1: the tool fails
            assert math.isnan(printed[tool]["fid"]), tool
        else:  # singular covariances: sqrtm loses digits in its own way
            loose = 1e-7 * expected if name in DEFICIENT else 1e-10
            assert printed[tool]["fid"] == pytest.approx(expected, abs=loose + 1e-7 * between), tool
    package = golden(name, "torch_fidelity_prc_k3")
    assert printed["torch-fidelity"]["precision"] == pytest.approx(package["precision"], abs=1e-6)
    assert printed["torch-fidelity"]["recall"] == pytest.approx(package["recall"], abs=1e-6)
    assert math.isnan(printed["torch-fidelity"]["kid"])  # subsets of 1,000
    assert printed["prdc"] == pytest.approx({part: golden(name, "prdc_k5")[part] for part in FOUR}, abs=1e-12)


def test_moments_of_parts_merge() -> None:
    """Parts about their own means pool to the moments of all, also where means are large."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(90, 5)) + 1e6
    whole, merged = moments_of_rows(rows), merge_moments([moments_of_rows(rows[:7]), moments_of_rows(rows[7:])])
    assert merged.count == 90
    assert merged.mean == pytest.approx(rows.mean(axis=0), rel=1e-15)
    assert merged.products == pytest.approx(np.cov(rows, rowvar=False) * 89, rel=1e-9, abs=1e-9)
    assert frechet(whole, merged) == pytest.approx(0, abs=1e-9)


def test_statistics_stand_for_vectors(tmp_path: Path) -> None:
    """A file of mean and covariance gives the same distance; without n its size is not known."""
    x, y = pair("larger_300x16")
    path = tmp_path / "real.npz"
    np.savez(path, mu=x.mean(axis=0, dtype=float), sigma=np.cov(x.astype(float), rowvar=False))
    expected = golden("larger_300x16", "own_fid")
    assert scores(str(path), y, "fid") == pytest.approx([expected], rel=1e-9)
    assert scores(str(path), y, "fid", options={"truth.n": 300}) == pytest.approx([expected], rel=1e-9)
    report = sy.evaluate("distributions", str(path), y, ["fid_corrected"], options={"truth.n": 300})
    assert report["fid_corrected"].interval is not None
    other = tmp_path / "generated.npz"
    np.savez(other, mu=y.mean(axis=0, dtype=float), sigma=np.cov(y.astype(float), rowvar=False))
    assert scores(str(path), str(other), "fid") == pytest.approx([expected], rel=1e-9)
    assert list(sy.evaluate("distributions", str(path), str(other)).scores) == ["fid"]
    unsized = sy.evaluate("distributions", str(path), str(other), ["fid", "fid_corrected", "kid"], confidence=None)
    assert math.isnan(unsized["fid_corrected"].value)
    assert "statistics" in unsized["kid"].undefined_reason
    assert Moments.of_statistics(np.zeros(1), np.eye(1), 5.0).trace == pytest.approx(1.0)


def test_the_size_behind_statistics_is_used(tmp_path: Path) -> None:
    """60 images are enough for 16 dimensions, and 20 are not; the note says what is known."""
    x, y = pair("larger_300x16")
    path = tmp_path / "real.npz"
    np.savez(path, mu=x.mean(axis=0, dtype=float), sigma=np.cov(x.astype(float), rowvar=False))
    known = sy.evaluate("distributions", str(path), y, ["fid"], confidence=None, options={"truth.n": 60})
    assert any("280 generated and 60 real" in note for note in known["fid"].notes)
    few = sy.evaluate("distributions", str(path), y, ["fid"], confidence=None, options={"truth.n": 20})
    assert math.isnan(few["fid"].value)
    unknown = sy.evaluate("distributions", str(path), y, ["fid"], confidence=None)
    assert any("an unknown number of real" in note for note in unknown["fid"].notes)
    with refuses("E-out-of-range"):
        scores(str(path), y, "fid", options={"truth.n": 1})


def test_spatial_statistics_are_mapped(tmp_path: Path) -> None:
    """guided-diffusion writes statistics of pooled and of spatial features into one file."""
    pooled, spatial = pair("plain_60x8_50x8"), pair("larger_300x16")
    for side, x, s in zip(("real", "generated"), pooled, spatial, strict=True):
        arrays = {
            "mu": x.mean(axis=0, dtype=float),
            "sigma": np.cov(x.astype(float), rowvar=False),
            "mu_s": s.mean(axis=0, dtype=float),
            "sigma_s": np.cov(s.astype(float), rowvar=False),
        }
        np.savez(tmp_path / f"{side}.npz", **arrays)
    paths = [str(tmp_path / f"{side}.npz") for side in ("real", "generated")]
    assert scores(*paths, "fid") == pytest.approx([golden("plain_60x8_50x8", "own_fid")], rel=1e-9)
    columns = {"mu": "mu_s", "sigma": "sigma_s"}
    report = sy.evaluate("distributions", *paths, ["fid"], confidence=None, columns=columns)
    assert report["fid"].value == pytest.approx(golden("larger_300x16", "own_fid"), rel=1e-9)
    assert report["fid"].label == "FID, spatial"


def test_arrays_are_mapped(tmp_path: Path) -> None:
    """Other names than ours, in files and in memory; dgm-eval calls vectors `reps` and names its extractor `model`."""
    x, y = pair("equal_n_64x8")
    expected = golden("equal_n_64x8", "own_fid")
    np.savez(tmp_path / "x.npz", acts=x, other=np.zeros(3))
    path = str(tmp_path / "x.npz")
    assert scores(path, y, "fid", columns={"features": "acts"}) == pytest.approx([expected], rel=1e-9)
    assert scores({"acts": x}, {"acts": y}, "fid", columns={"features": "acts"}) == pytest.approx([expected], rel=1e-9)
    with refuses("E-missing-column", "'deep'"):
        scores({"features": x}, {"features": y}, "fid", columns={"features": "deep"})
    np.savez(tmp_path / "dgm.npz", reps=y, model="dinov2", hparams=np.array({"batch": 64}))
    report = sy.evaluate("distributions", x, str(tmp_path / "dgm.npz"), ["fid"], confidence=None)
    assert report["fid"].value == pytest.approx(expected, rel=1e-9)
    assert report["fid"].label == "Fréchet distance, dinov2"


def test_a_side_without_vectors_is_refused() -> None:
    x, _ = pair("equal_n_64x8")
    probs = {"probs": np.full((64, 4), 0.25)}
    with refuses("E-missing-data", "feature vectors"):
        scores(x, probs, "fid")
    assert list(sy.evaluate("distributions", x, probs).scores) == ["inception_score"]


def test_slices_need_labels_of_both_sides() -> None:
    x, y = pair("equal_n_64x8")
    labels = np.arange(64) % 2
    real = {"id": np.arange(64), "features": x, "label": labels}
    own = sy.evaluate("distributions", real, {"id": np.arange(64), "features": y}, ["kid"], by="label", confidence=None)
    both = sy.evaluate(
        "distributions",
        real,
        {"id": np.arange(64), "features": y, "label": labels},
        ["kid"],
        by="label",
        confidence=None,
    )
    for value in ("0", "1"):
        mine = labels == int(value)
        expected = scores(x[mine], y[mine], "kid")
        for report in (own, both):
            assert report.slices["label"][value]["kid"].value == pytest.approx(expected[0], rel=1e-9)
    with refuses("E-missing-column", "label"):
        sy.evaluate("distributions", real, {"id": np.arange(64) + 100, "features": y}, ["kid"], by="label")


def test_weights_of_moments() -> None:
    """The first vector of each side weighs nothing: the moments are those of the others; parts need whole weights."""
    x, y = pair("larger_300x16")
    weights = [np.arange(len(rows)) % 3 for rows in (x, y)]
    sides = [{"features": rows, "sample_weight": weight} for rows, weight in zip((x, y), weights, strict=True)]
    repeated = [np.repeat(rows, weight, axis=0) for rows, weight in zip((x, y), weights, strict=True)]
    expected = scores(*repeated, "fid")
    assert scores(*sides, "fid") == pytest.approx(expected, rel=1e-9)
    assert scores(*sides, "fid", options={"keep": "moments"}) == pytest.approx(expected, rel=1e-9)
    sides[0]["sample_weight"] = weights[0] + 0.5
    with refuses("E-conflict", "0.5"):
        scores(*sides, "fid", options={"keep": "moments"})


def test_models_of_unequal_size_are_cut_alike() -> None:
    x, y = pair("larger_300x16")
    with refuses("E-conflict", "equal=yes"):
        sy.compare("distributions", x, x + 1, y, ["fid"])
    cut = sy.compare("distributions", x, x + 1, y, ["fid", "recall"], options={"equal": "yes"})
    alone = sy.evaluate("distributions", x, y, ["fid", "recall"], confidence=None, options={"equal": "yes"})
    for metric in ("fid", "recall"):
        assert cut[metric].b.value == pytest.approx(alone[metric].value, rel=1e-12)


def test_formats_give_the_same_numbers(tmp_path: Path) -> None:
    x, y = pair("equal_n_64x8")
    expected = scores(x, y, "fid", "kid", "coverage")
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", pool_3=x)
    numbered = {f"f{i}": x[:, i].tolist() for i in range(8)}
    header = ",".join(["id", *numbered])
    lines = [",".join([str(row), *map(repr, map(float, x[row]))]) for row in range(64)]
    (tmp_path / "x.csv").write_text("\n".join([header, *lines]) + "\n")
    for source in (
        str(tmp_path / "x.npy"),
        str(tmp_path / "x.npz"),
        str(tmp_path / "x.csv"),
        {"feats": x},
        {"features": x.tolist()},
        numbered,
        x.astype(np.float64),
    ):
        assert scores(source, {"features": y}, "fid", "kid", "coverage") == pytest.approx(expected, rel=1e-12)


def test_extractors_must_agree(tmp_path: Path) -> None:
    x, y = pair("equal_n_64x8")
    np.savez(tmp_path / "x.npz", features=x, extractor="inception-2048")
    np.savez(tmp_path / "y.npz", features=y, meta=json.dumps({"extractor": "dinov2-vitl14"}))
    with refuses("E-incompatible", "inception-2048", "dinov2-vitl14"):
        scores(str(tmp_path / "x.npz"), str(tmp_path / "y.npz"), "fid")
    report = sy.evaluate("distributions", x, str(tmp_path / "y.npz"), ["fid"], confidence=None)
    assert report["fid"].label == "Fréchet distance, dinov2-vitl14"
    np.save(tmp_path / "z.npy", y)
    (tmp_path / "z.json").write_text('{"extractor": "inception-2048", "layer": "pool3"}')
    report = sy.evaluate("distributions", str(tmp_path / "x.npz"), str(tmp_path / "z.npy"), ["fid"], confidence=None)
    assert report["fid"].label == "FID"


def test_generators_that_share_the_reference() -> None:
    """The influences of the real vectors cancel in a difference; other ids are independent; other sizes are refused."""
    rng = np.random.default_rng(5)
    real = rng.normal(size=(120, 4))
    first, second = rng.normal(size=(120, 4)) * 0.8, rng.normal(size=(120, 4)) + 0.2
    ids = [f"{place:03d}" for place in range(120)]
    sides = [{"id": [f"{name}{i}" for i in ids], "features": x} for name, x in (("a", first), ("b", second))]
    moved = [sy.evaluate("distributions", real, x, ["fid"]).units().values["fid"] for x in (first, second)]
    shared, own = moved[1][120:] - moved[0][120:], [values[:120] for values in moved]
    expected = math.sqrt((shared**2).sum() + (own[0] ** 2).sum() + (own[1] ** 2).sum()) / 119
    apart = sy.compare("distributions", {"features": real}, *sides, ["fid", "kid"])
    assert apart["fid"].se == pytest.approx(expected, rel=0.01)
    paired = sy.compare("distributions", real, first, second, ["fid"])
    assert paired["fid"].difference == pytest.approx(apart["fid"].difference, rel=1e-12)
    together = math.sqrt((shared**2).sum() + ((own[1] - own[0]) ** 2).sum()) / 119
    assert paired["fid"].se == pytest.approx(together, rel=0.01)
    with refuses("E-conflict", "120", "100"):
        sy.compare("distributions", real, first, second[:100], ["fid"])
    assert sy.compare("distributions", real, first, second[:100], ["kid"])["kid"].interval is not None


def test_a_permutation_test_where_sets_are_alike() -> None:
    rng = np.random.default_rng(6)
    report = sy.evaluate("distributions", rng.normal(size=(60, 3)), rng.normal(size=(60, 3)), ["kid"])
    assert report["kid"].interval is None
    assert "p = " in report["kid"].why_no_interval
    gaussian = sy.evaluate(
        "distributions", rng.normal(size=(60, 3)), rng.normal(size=(60, 3)), ["cmmd(normalise=true)"]
    )
    assert "p = " in gaussian["cmmd(normalise=true)"].why_no_interval
    far = sy.evaluate("distributions", rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + 2, ["kid"])
    assert far["kid"].interval is not None


def test_moments_of_shards_give_the_distance(tmp_path: Path) -> None:
    """Parts that keep their moments alone pool to the distance of all vectors."""
    x, y = pair("larger_300x16")
    whole = scores(x, y, "fid")
    gathered = []
    for part in range(3):
        one = sy.Accumulator("distributions", options={"keep": "moments"})
        sides = [{"id": list(range(part, len(rows), 3)), "features": rows[part::3]} for rows in (x, y)]
        one.update(*sides)
        one.compact(["fid"])
        gathered.append(one)
    gathered[0].merge(gathered[1])
    gathered[0].merge(gathered[2])
    report = gathered[0].report(["fid"])
    assert report["fid"].value == pytest.approx(whole[0], rel=1e-9)
    kept = scores(
        {"id": range(300), "features": x}, {"id": range(280), "features": y}, "fid", options={"keep": "moments"}
    )
    assert kept == pytest.approx(whole, rel=1e-9)


def test_rows_lie_in_a_file_from_a_size_on(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = pair("larger_300x16")
    expected = scores(x, y, "fid", "kid", "precision")
    monkeypatch.setattr("steelyard.tasks.distributions.data.ON_DISK", 1000)
    assert scores(x, y, "fid", "kid", "precision") == expected


def test_check_asks_for_the_extractor() -> None:
    x, y = pair("equal_n_64x8")
    assert sy.check("distributions", {"features": x}, {"features": y})["extractor-unknown"].severity == "note"
    named = sy.check("distributions", {"features": x}, {"features": y}, options={"extractor": "inception-2048"})
    assert "extractor-unknown" not in named


def test_notes_count_copies() -> None:
    """20 of 40 generated vectors repeat another, and all equal a real one."""
    x, y = pair("duplicates_40x6")
    notes = " ".join(sy.evaluate("distributions", x, y, ["kid"], confidence=None)["kid"].notes)
    assert "20 of 40 generated vectors repeat" in notes
    assert "40 of 40 generated vectors equal a real one" in notes


def test_sizes_that_say_nothing_are_refused_by_metric() -> None:
    x, y = pair("fewer_than_dimensions_20x32")
    report = sy.evaluate("distributions", x, y, ["fid", "fid_corrected", "kid"], confidence=None)
    assert math.isnan(report["fid"].value)
    assert "20 vectors for 32 dimensions" in report["fid"].undefined_reason
    assert not math.isnan(report["kid"].value)
    x, y = pair("plain_60x8_50x8")
    report = sy.evaluate("distributions", x, y, ["recall", "coverage", "precision"], confidence=None)
    assert [math.isnan(score.value) for score in report.scores.values()] == [True, True, False]
    equal = sy.evaluate("distributions", x, y, ["recall"], confidence=None, options={"equal": "yes"})
    assert equal["recall"].units == 100
    assert 0 < equal["recall"].value <= 1


def test_frechet_distance_of_many_dimensions() -> None:
    """Against SciPy's root of a matrix, with more dimensions than singular values are taken of, and moments alone."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(500, 200)), 1.5 * rng.normal(size=(450, 200)) @ np.diag(np.linspace(0.5, 2, 200)) + 0.1
    first, second = np.cov(x, rowvar=False), np.cov(y, rowvar=False)
    between = float(((x.mean(axis=0) - y.mean(axis=0)) ** 2).sum())
    expected = between + float(np.trace(first + second - 2 * linalg.sqrtm(first @ second).real))
    moments = moments_of_rows(x), moments_of_rows(y)
    with_factors = tuple(each.with_factor() for each in moments)
    for one in (moments[0], with_factors[0]):
        for other in (moments[1], with_factors[1]):
            assert frechet(one, other) == pytest.approx(expected, rel=1e-9)


def test_discrepancy_of_more_rows_than_are_held_at_once() -> None:
    """The formula of KID and of its biased form, with all pairs at once."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(1100, 3)), rng.normal(size=(2700, 3)) + 0.2
    inside, others = (polynomial(one, one) for one in (x, y))
    n, m, cross = len(x), len(y), 2 * float(polynomial(x, y).mean())
    diagonals = float(np.trace(inside)), float(np.trace(others))
    unbiased = (inside.sum() - diagonals[0]) / (n * (n - 1)) + (others.sum() - diagonals[1]) / (m * (m - 1)) - cross
    biased = float(inside.mean() + others.mean()) - cross
    ones = np.ones(n), np.ones(m)
    sums = kernel_sums(x, y, *ones, polynomial)
    assert discrepancy(sums, *ones, biased=False)[0] == pytest.approx(float(unbiased), rel=1e-9)
    assert discrepancy(sums, *ones, biased=True)[0] == pytest.approx(biased, rel=1e-9)


@pytest.mark.parametrize("q", [0.5, 1.0, 2.0, math.inf])
def test_influences_on_vendi(q: float) -> None:
    """The slope of the score where one vector takes weight from all: by the eigenvalues of the similarity itself."""
    x, y = pair("equal_n_64x8")
    rows = y[:20] / np.linalg.norm(y[:20].astype(float), axis=1, keepdims=True)

    def score(weights: Any) -> float:
        values = np.linalg.eigvalsh((rows @ rows.T) * np.sqrt(np.outer(weights, weights)))
        values = values[values > 1e-12]
        if q == 1:
            return float(np.exp(-(values * np.log(values)).sum()))
        return float(1 / values.max() if math.isinf(q) else (values**q).sum() ** (1 / (1 - q)))

    spec, step, equal = f"vendi(q={q:g})", 1e-5, np.full(20, 1 / 20)
    units = sy.evaluate("distributions", x, y[:20], [spec], confidence=None).units()
    moved = dict(zip(map(str, units.units.tolist()), units.values[next(iter(units.values))].tolist(), strict=True))
    for row in range(20):
        toward = np.eye(20)[row] - equal
        slope = (score(equal + step * toward) - score(equal - step * toward)) / (2 * step)
        assert moved[f"generated:{row:09d}"] == pytest.approx(slope, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(
    ("features", "code"),
    [
        ([[1.0, 2.0], [3.0]], "E-shape-mismatch"),
        ([[1.0, 2.0], None], "E-shape-mismatch"),
        ([[1.0, 2.0], {"a": 1}], "E-shape-mismatch"),
        ([["a", "b"]], "E-shape-mismatch"),
        ([[[1.0, 2.0]]], "E-shape-mismatch"),
        ([[1.0, math.nan]], "E-invalid-number"),
        ([[1.0, 1e16]], "E-out-of-range"),
    ],
    ids=str,
)
def test_vectors_that_are_none(features: Any, code: str) -> None:
    """They are refused on either side, and not taken for a set without vectors."""
    good = [[1.0, 2.0], [3.0, 4.0], [5.0, 5.0]]
    for given in (features, {"features": features}):
        with refuses(code):
            scores(good, given, "fid(least=0)")
        with refuses(code):
            scores(given, good, "fid(least=0)")


def test_texts_of_numbers_that_are_too_long(tmp_path: Path) -> None:
    """A whole number beyond double precision, and a column whose number has thousands of digits."""
    path = tmp_path / "a.csv"
    path.write_text(f'features\n"[1, 2]"\n"[1, 1{"0" * 400}]"\n')
    with refuses("E-out-of-range", "line 3", "'features'"):
        scores(np.eye(2), str(path), "fid(least=0)")
    path.write_text(f"f0,f1,f{'9' * 5000}\n1,2,3\n4,5,7\n8,8,9\n")
    assert scores(str(path), np.array([[1.0, 2], [4, 5], [8, 8]]), "fid(least=0)") == [0.0]


def test_statistics_that_are_none() -> None:
    good = {"mu": [0.0, 0.0], "sigma": [[1.0, 0.0], [0.0, 1.0]]}
    vectors = np.array([[1.0, 2], [4, 5], [8, 8]])
    for changed, code in (
        ({"sigma": [[1.0, 0.0], [0.0]]}, "E-shape-mismatch"),
        ({"sigma": [1.0, 1.0]}, "E-shape-mismatch"),
        ({"sigma": np.eye(3)}, "E-shape-mismatch"),
        ({"mu": "0 0"}, "E-shape-mismatch"),
        ({"mu": [0.0, math.nan]}, "E-invalid-number"),
        ({"mu": [0.0, 1e16]}, "E-out-of-range"),
        ({"sigma": [[1.0, 0.5], [0.0, 1.0]]}, "E-invalid-value"),
        ({"sigma": [[1.0, 0.0], [0.0, -1.0]]}, "E-invalid-value"),
        ({"features": vectors}, "E-conflict"),
    ):
        with refuses(code, "truth"):
            scores({**good, **changed}, vectors, "fid(least=0)")

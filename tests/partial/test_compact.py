"""Compacted accumulators: sums by unit give the same report, and say so where they would not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.drawn import DRAW
from support.tiers import slow_except

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.errors import DuplicateKey

UNITS = 24


def halves(task: str, overlap: int = 0) -> tuple[Any, Any, list[tuple[Any, Any]]]:
    truth, predictions = DRAW[task](np.random.default_rng(2), UNITS)
    key = catalogue.find_task(task).truth.key[0]
    units = list(dict.fromkeys(map(str, truth[key])))
    parts = []
    for mine in (units[: UNITS // 2 + overlap], units[UNITS // 2 :]):
        rows = [[str(v) in mine for v in side[key]] for side in (truth, predictions)]
        parts.append(
            tuple(
                {name: np.asarray(column)[rows[i]] for name, column in side.items()}
                for i, side in enumerate((truth, predictions))
            )
        )
    return truth, predictions, parts


@pytest.mark.parametrize(
    ("task", "overlap"),
    [
        ("weights", 0),
        ("weights", 3),
        ("losses", 3),
        ("rankings", 0),
        ("rankings", 3),
        ("sequences", 0),
        ("ellipses", 0),
    ],
)
def test_compacted_parts_merge_and_repeat(task: str, overlap: int, tmp_path: Path) -> None:
    truth, predictions, parts = halves(task, overlap)
    defaults = list(catalogue.find_task(task).defaults)
    whole = sy.Accumulator(task)
    whole.update(truth, predictions)
    expected = whole.report(defaults, draws=100)
    states = []
    for number, part in enumerate(parts):
        state = sy.Accumulator(task)
        state.update(*part)
        before = len(state.to_bytes())
        state.compact(defaults)
        if task == "losses":
            assert len(state.to_bytes()) < before
        state.save(tmp_path / f"{number}")
        states.append(sy.Accumulator.load(tmp_path / f"{number}"))
    states[1].merge(states[0])
    report = states[1].report(draws=100)
    assert report.scores == expected.scores
    assert report.coverage == expected.coverage
    assert report.sources.truth.rows == expected.sources.truth.rows
    assert [n for n in report.notes if "came more than once" not in n] == list(expected.notes)
    assert len(report.notes) == len(expected.notes) + bool(overlap)
    whole.compact(defaults)
    again = whole.report(draws=100)
    assert (again.request, again.sources) == (
        report.request,
        report.sources,
    )  # the digest is of the units, not the parts


def test_what_compacting_refuses() -> None:
    truth, predictions, parts = halves("weights", 3)
    state = sy.Accumulator("weights")
    state.update(truth, predictions)
    state.compact("mae")
    with pytest.raises(sy.InputError, match="takes no more batches"):
        state.update(truth, predictions)
    with pytest.raises(sy.InputError, match="what 'rmse' needs was not kept"):
        state.report("rmse")
    with pytest.raises(sy.InputError, match="compacted already"):
        state.compact("mae")
    other = sy.Accumulator("weights")
    other.update(*parts[0])
    with pytest.raises(sy.InputError, match="one accumulator is compacted and the other is not"):
        state.merge(other)
    other.compact("rmse")
    with pytest.raises(sy.InputError, match="compacted for different metrics"):
        state.merge(other)
    changed = sy.Accumulator("weights")
    changed.update(parts[0][0], {**parts[0][1], "weight": np.asarray(parts[0][1]["weight"]) + 1})
    changed.compact("mae")
    with pytest.raises(sy.InputError, match="dish 'd0' came twice with different data"):
        state.merge(changed)


def test_repeated_units_whose_share_cannot_be_told() -> None:
    """Frames that are not valid are not part of what is covered, and sums do not say which those were."""
    _, _, parts = halves("sequences", 3)
    states = []
    for part in parts:
        states.append(sy.Accumulator("sequences"))
        states[-1].update(*part)
        states[-1].compact("mae_overall")
    with pytest.raises(DuplicateKey) as raised:
        states[0].merge(states[1])
    assert raised.value.what.startswith("3 units ")
    assert raised.value.remedy == "Merge the accumulators first, then compact."


@pytest.mark.parametrize(
    "task", slow_except(["ellipses", "captions", "boxes", "masks", "keypoints"], "ellipses", "boxes")
)
def test_all_metrics_of_parts_that_were_kept(task: str, tmp_path: Path) -> None:
    """Rankings too, in all and by slice; a part that was saved and loaded, and one that was not."""
    truth, predictions, parts = halves(task)
    wanted = list(catalogue.metrics(task))
    expected = sy.evaluate(task, truth, predictions, wanted, by=["group"], draws=100)
    states = []
    for part in parts:
        states.append(sy.Accumulator(task, by=["group"]))
        states[-1].update(*part)
        states[-1].compact(wanted)
    states[1].save(tmp_path / "state")
    states[0].merge(sy.Accumulator.load(tmp_path / "state"))
    report = states[0].report(draws=100)
    assert report.scores == expected.scores
    assert report.slices == expected.slices
    assert report.notes == expected.notes
    assert report.coverage == expected.coverage
    units, wholes = report.units(), expected.units()
    assert (units.units == wholes.units).all()
    for spec, values in wholes.values.items():
        np.testing.assert_array_equal(units.values[spec], values, err_msg=spec)


def test_frequencies_are_those_of_all_images(tmp_path: Path) -> None:
    """CIDEr in slices of whole images, of references, and of both crossed; parts that lack a slice; what was saved."""
    truth, predictions, _ = halves("captions")
    rng = np.random.default_rng(3)
    images = list(dict.fromkeys(truth["image"]))
    truth["half"] = [f"h{images.index(i) * 2 // UNITS}" for i in truth["image"]]
    truth["who"] = np.where(rng.random(len(truth["image"])) < 0.4, truth["half"], "everyone")
    wanted, by = ["cider", "cider(form=plain)", "spider", "bleu@4"], ["half", "who", ("half", "who")]
    expected = sy.evaluate("captions", truth, predictions, wanted, by=by, draws=100)
    assert expected.slices["half"]["h0"]["cider"].value != pytest.approx(
        sy.evaluate("captions", *_images(truth, predictions, images[: UNITS // 2]), "cider")["cider"].value, rel=1e-3
    )
    states = []
    for part in (images[: UNITS // 2], images[UNITS // 2 : -3], images[-3:]):
        states.append(sy.Accumulator("captions", by=by))
        states[-1].update(*_images(truth, predictions, part))
        states[-1].compact(wanted)
        states[-1].save(tmp_path / "state")
        states[-1] = sy.Accumulator.load(tmp_path / "state")
    states[2].merge(states[0])
    states[2].save(tmp_path / "state")
    result = sy.Accumulator.load(tmp_path / "state")
    result.merge(states[1])
    report = result.report(draws=100)
    assert report.scores == expected.scores
    assert report.slices == expected.slices


def _images(truth: Any, predictions: Any, images: list[str]) -> list[Any]:
    return [
        {name: np.asarray(column)[np.isin(side["image"], images)] for name, column in side.items()}
        for side in (truth, predictions)
    ]

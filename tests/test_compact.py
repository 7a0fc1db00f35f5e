"""Compacted accumulators: sums by unit give the same report, and say so where they would not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import DRAW

import steelyard as sy
from steelyard.core.legacy import state_of
from steelyard.core.options import Options
from steelyard.core.request import Request
from steelyard.core.stats import Stats
from steelyard.core.task import Policy
from steelyard.engine.score import score
from steelyard.engine.sums import are_sums, join_sums, pack_sums, sums, take_sums, unpack_sums
from steelyard.io.sources import read_sides
from steelyard.metrics import catalogue

UNITS = 24
every_task = pytest.mark.parametrize(
    "task", [name for name in catalogue.TASKS if catalogue.TASKS[name].measure is not None]
)
# What a metric that is no function of sums by unit needs instead; the rest of the catalogue must be one.
OTHERS = {
    "boxes": {"map", "map50", "map75", "ar", "ap", "best_f1", "lamr", "dap"},  # one ranking of all detections
    "masks": {"map", "map50", "map75", "ar", "ap", "best_f1", "lamr", "dap"},
    "keypoints": {"map", "map50", "map75", "ar", "ap", "best_f1", "lamr", "dap"},
    "labels": {"ovo", "ap", "roc_auc", "best_f1", "best_threshold", "tpr_at_fpr"},
}


def measured(task: str) -> tuple[Stats, Stats]:
    """All units, and a third of them measured by themselves under the same facts."""
    kind = catalogue.find_task(task)
    truth, predictions = DRAW[task](np.random.default_rng(1), UNITS)
    key = "group" if task == "labels" else kind.truth.key[0]
    stats = kind.measure(kind.join(*read_sides(kind, truth, predictions, {}), Policy(), Options(kind.options)))
    mine = set(map(str, stats.units[1::3].tolist()))
    rows = np.array([str(v) in mine for v in truth[key]])
    ids = {str(v) for v, kept in zip(truth[kind.truth.key[0]], rows, strict=True) if kept}
    some = [
        {n: np.asarray(c)[[str(v) in ids for v in side[kind.truth.key[0]]]] for n, c in side.items()}
        for side in (truth, predictions)
    ]
    part = kind.measure(kind.join(*read_sides(kind, *some, {}), Policy(), Options(kind.options)))
    return stats, part if part.unify is None else part.unify([part, stats.take([])])[0]


@every_task
def test_sums_give_the_same_scores(task: str) -> None:
    stats, part = measured(task)
    every = [metric for one in catalogue.metrics(task) for metric in one.expand(stats)]
    fit = [metric for metric in every if are_sums(stats, part, metric)]
    assert {metric.name for metric in every if metric not in fit} == OTHERS.get(task, set())
    parts = [sums(stats.take(np.arange(start, UNITS, 3)), fit) for start in (2, 0, 1)]
    joined = join_sums([unpack_sums(*pack_sums(part)) for part in parts])
    how = Request(task, draws=100)
    assert score(state_of(joined), fit, how) == score(state_of(stats), fit, how)
    some = np.arange(0, UNITS, 2)
    assert score(state_of(take_sums(joined, some)), fit, how) == score(state_of(stats.take(some)), fit, how)


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
    defaults = [m for m in catalogue.find_task(task).defaults if m.split("@")[0] not in OTHERS.get(task, set())]
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
    found = states[1].report(draws=100)
    assert found.scores == expected.scores
    assert found.coverage == expected.coverage
    assert found.sources.truth.rows == expected.sources.truth.rows
    assert [n for n in found.notes if "came more than once" not in n] == list(expected.notes)
    assert len(found.notes) == len(expected.notes) + bool(overlap)
    whole.compact(defaults)
    again = whole.report(draws=100)
    assert (again.request, again.sources) == (found.request, found.sources)  # the digest is of the units, not the parts


def test_what_compacting_refuses() -> None:
    truth, predictions, parts = halves("weights", 3)
    state = sy.Accumulator("weights")
    state.update(truth, predictions)
    state.compact("mae")
    with pytest.raises(sy.InputError, match="takes no more batches"):
        state.update(truth, predictions)
    with pytest.raises(sy.InputError, match="the sums for 'rmse' were not kept"):
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
    labels = sy.Accumulator("labels")
    labels.update(*DRAW["labels"](np.random.default_rng(1), 5))
    with pytest.raises(sy.InputError, match="not functions of sums by unit: 'roc_auc'"):
        labels.compact("roc_auc")


def test_repeated_units_whose_share_cannot_be_told() -> None:
    """Frames that are not valid are no part of what is covered, and sums do not say which those were."""
    _, _, parts = halves("sequences", 3)
    states = []
    for part in parts:
        states.append(sy.Accumulator("sequences"))
        states[-1].update(*part)
        states[-1].compact("mae_overall")
    with pytest.raises(sy.InputError, match=r"3 units stand in more than one .* Merge the accumulators first"):
        states[0].merge(states[1])


@pytest.mark.parametrize("task", ["ellipses", "captions", "boxes", "masks", "keypoints"])
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
    found = states[0].report(draws=100)
    assert found.scores == expected.scores
    assert found.slices == expected.slices
    assert found.notes == expected.notes
    assert found.coverage == expected.coverage
    units, wholes = found.units(), expected.units()
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
    found = sy.Accumulator.load(tmp_path / "state")
    found.merge(states[1])
    report = found.report(draws=100)
    assert report.scores == expected.scores
    assert report.slices == expected.slices


def _images(truth: Any, predictions: Any, images: list[str]) -> list[Any]:
    return [
        {name: np.asarray(column)[np.isin(side["image"], images)] for name, column in side.items()}
        for side in (truth, predictions)
    ]

"""Counts on a device: the reports of the rows themselves, to the bit. `gpu/test_counts.py` holds a GPU to the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy

torch = lazy("torch")

OPTIONS = {"classes": 4, "ignore": 255}


def labels(rows: int, classes: int = 7, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, rows)
    return truth, np.where(rng.random(rows) < 0.7, truth, rng.integers(0, classes, rows))


def counted(truth: Any, predicted: Any, step: int = 128, **settings: Any) -> sy.Accumulator:
    made = sy.Accumulator("labels", device="cpu", **settings)
    for k in range(0, len(truth), step):
        made.update(torch.as_tensor(truth[k : k + step]), {"label": torch.as_tensor(predicted[k : k + step])})
    return made


@pytest.mark.parametrize("rows", [1, 60, 9_999, 10_000, 12_345])
def test_labels_are_those_of_the_rows(rows: int) -> None:
    truth, predicted = labels(rows)
    report = counted(truth, predicted).report()
    expected = sy.evaluate("labels", {"label": truth}, {"label": predicted})
    assert report.scores == expected.scores
    assert report.notes == expected.notes
    assert report.coverage == expected.coverage


@pytest.mark.parametrize("rows", [300, 11_000])
@pytest.mark.parametrize("classes", [(5, 2, 9), tuple(range(8))])
def test_declared_classes_keep_their_order(rows: int, classes: tuple[int, ...]) -> None:
    truth, predicted = (np.array(classes)[side] for side in labels(rows, len(classes)))
    options = {"classes": list(classes)}
    report = counted(truth, predicted, options=options).report()
    expected = sy.evaluate("labels", {"label": truth}, {"label": predicted}, options=options)
    assert report.scores == expected.scores


def test_counts_by_hand() -> None:
    gathered = sy.Accumulator("labels", device="cpu")
    gathered.update(torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1], dtype=torch.uint8))
    gathered.update(torch.tensor([1]), torch.tensor([[0.5, 0.5, -1.0]]))  # the first of equals: 0
    assert gathered.report("accuracy", confidence=None)["accuracy"].value == 0.5
    assert len(gathered) == 0


@pytest.mark.parametrize("rows", [400, 6_000])
def test_parts_that_are_merged_are_the_whole(rows: int) -> None:
    truth, predicted = labels(2 * rows)
    one, other = counted(truth[:rows], predicted[:rows]), counted(truth[rows:], predicted[rows:])
    one.merge(other)
    assert one.report().scores == counted(truth, predicted).report().scores
    assert one.empty().counter.rows == 0


def test_scores_are_labels() -> None:
    truth, predicted = labels(20_000, 5)
    scores = torch.nn.functional.one_hot(torch.as_tensor(predicted), 5).float()
    assert counted(truth, scores).report().scores == counted(truth, predicted).report().scores
    declared = {"options": {"classes": [8, 1, 3, 4, 2]}}
    named = np.array([8, 1, 3, 4, 2])
    assert (
        counted(named[truth], scores, **declared).report().scores
        == counted(named[truth], named[predicted], **declared).report().scores
    )


def maps(images: int = 24) -> tuple[list[str], Any, Any]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, (images, 32, 48))
    scores = rng.normal(size=(images, 4, 32, 48)) + 2 * (
        truth[:, np.newaxis] == np.arange(4)[:, np.newaxis, np.newaxis]
    )
    truth[:, :4] = 255
    return [f"image{k}" for k in rng.permutation(images)], truth, scores


def gathered_maps(options: dict[str, Any], truth: Any, predicted: Any, names: Any, **settings: Any) -> sy.Accumulator:
    made = sy.Accumulator("segmentation", options=options, **settings)
    for k in range(0, len(names), 5):
        part = slice(k, k + 5)
        made.update(
            {"image": names[part], "map": torch.as_tensor(truth[part])},
            {"image": names[part], "map": torch.as_tensor(predicted[part])},
        )
    return made


@pytest.mark.parametrize(
    "options",
    [
        OPTIONS,
        {"classes": 3, "ignore": [3, 255], "prediction.shift": -1, "unknown": "wrong"},
        {"relabel": ["0=2", "1=0", "2=1", "3=ignore", "255=ignore"], "unknown": "wrong"},
        {"classes": 3, "reduce_zero": "truth", "ignore": 255, "unknown": "wrong"},
    ],
    ids=["plain", "shift", "relabel", "reduce"],
)
def test_maps_are_those_of_the_pixels(options: dict[str, Any]) -> None:
    names, truth, scores = maps()
    sides = truth, scores, names
    counts, rows = gathered_maps(options, *sides, device="cpu"), gathered_maps(options, *sides)
    report = counts.report()
    assert report.scores == rows.report(list(report.scores)).scores
    assert "mbiou" not in report.scores
    asked = ["miou(level=image)", "iou(label=1)"]
    assert counts.report(asked).scores == rows.report(asked).scores


def test_an_image_that_comes_twice_counts_once() -> None:
    names, truth, scores = maps(7)
    one = gathered_maps(OPTIONS, truth, scores, names, device="cpu")
    other = gathered_maps(OPTIONS, truth[:2], scores[:2], names[:2], device="cpu")
    before = one.report().scores
    one.merge(other)
    assert one.report().scores == before
    one.merge(gathered_maps(OPTIONS, truth[2:3], scores[:1], names[:1], device="cpu"))
    with refuses("E-duplicate-key", f"'{names[0]}'"):
        one.report()


def good() -> tuple[Any, Any]:
    return torch.tensor([0, 1]), torch.tensor([1, 1])


@pytest.mark.parametrize(
    ("sides", "settings", "message"),
    [
        (lambda: (torch.tensor([0, 1024]), good()[1]), {}, ("E-unknown-name", "1", "1024")),
        (
            lambda: (good()[0], torch.tensor([-1, -7])),
            {},
            ("E-unknown-name", "2"),
        ),
        (good, {"options": {"classes": [1, 2]}}, ("E-unknown-name", "1", "0")),
        (
            lambda: (good()[0], torch.tensor([[0.0, 1.0], [torch.nan, 0.0]])),
            {},
            ("E-invalid-number", "1"),
        ),
        (lambda: (good()[0], torch.tensor([0.5, 1.0])), {}, ("E-invalid-value", "0", "float32")),
        (lambda: (torch.tensor([0.0, 1.0]), good()[1]), {}, ("E-invalid-value", "0", "float32")),
        (lambda: (torch.tensor([[0, 1]]), good()[1]), {}, ("E-shape-mismatch", "0", "2")),
        (lambda: (good()[0], torch.tensor([0])), {}, ("E-shape-mismatch", "0", "1", "2")),
        (lambda: (["cat", "dog"], good()[1]), {}, ("E-invalid-number", "0")),
        (lambda: ({"label": good()[0], "id": good()[0]}, good()[1]), {}, ("E-invalid-value", "'id'")),
        (lambda: ({}, good()[1]), {}, ("E-invalid-value", "'label'")),
        (lambda: ("truth.csv", good()[1]), {}, ("E-unsupported", "0")),
        (
            lambda: (good()[0], torch.zeros(2, 3)),
            {"options": {"classes": [0, 1]}},
            ("E-shape-mismatch", "3", "2"),
        ),
        (good, {"options": {"classes": ["cat"]}}, ("E-invalid-number", "'cat'")),
        (good, {"options": {"classes": range(5000)}}, ("E-out-of-range", "5,000")),
        (good, {"by": "site"}, ("E-unsupported", "'by'")),
        (good, {"device": "nowhere"}, ("E-unsupported", "device", "'nowhere'")),
    ],
)
def test_wrong_labels_are_refused(sides: Any, settings: dict[str, Any], message: tuple[str, ...]) -> None:
    def reported() -> None:
        gathered = sy.Accumulator("labels", **({"device": "cpu"} | settings))
        gathered.update(*sides())
        gathered.report()

    with refuses(*message):
        reported()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: {"truth": torch.full((1, 2, 2), 9)}, ("E-unknown-name", "4", "9")),
        (lambda: {"map": torch.full((1, 2, 2), 9)}, ("E-unknown-name", "4", "9")),
        (lambda: {"map": torch.full((1, 4, 2, 2), torch.nan)}, ("E-invalid-number", "4")),
        (lambda: {"map": torch.zeros(1, 2, 3, dtype=torch.int64)}, ("E-shape-mismatch", "batch 0, predictions")),
        (
            lambda: {"map": torch.zeros(1, 3, 2, 2)},
            ("E-shape-mismatch", "0", "3", "4"),
        ),
        (lambda: {"map": torch.zeros(1, 4, 2, 2, dtype=torch.int64)}, ("E-shape-mismatch", "4", "int64")),
        (lambda: {"map": torch.zeros(1, 1, 1, 2, 2)}, ("E-shape-mismatch", "batch 0, predictions")),
        (lambda: {"truth": torch.zeros(1, 4, 2, 2)}, ("E-shape-mismatch", "batch 0, predictions")),
        (lambda: {"truth": torch.zeros(1, 2, 2)}, ("E-invalid-value", "0", "float32")),
        (lambda: {"map": torch.full((1, 1, 2, 2), 0.4)}, ("E-invalid-value", "0", "float32")),
        (lambda: {"options": OPTIONS | {"threshold": 0.5}}, ("E-conflict", "threshold")),
        (
            lambda: {"map": torch.full((1, 1, 2, 2), torch.nan), "options": {"classes": 2, "threshold": 0.5}},
            ("E-invalid-number", "4"),
        ),
        (
            lambda: {"map": torch.full((1, 2, 2), 0.4), "options": OPTIONS | {"threshold": 0.5}},
            ("E-shape-mismatch", "4"),
        ),
        (lambda: {"names": ["b"]}, ("E-unmatched", "batch 0, predictions")),
        (lambda: {"names": []}, ("E-shape-mismatch", "0", "1")),
        (lambda: {"options": {}}, ("E-invalid-value", "declared")),
        (lambda: {"metric": "mbiou"}, ("E-missing-data", "gathered truth")),
    ],
)
def test_wrong_maps_are_refused(change: Callable[[], dict[str, Any]], message: tuple[str, ...]) -> None:
    changed = change()
    zero = torch.zeros(1, 2, 2, dtype=torch.int64)

    def reported() -> None:
        gathered = sy.Accumulator("segmentation", device="cpu", options=changed.get("options", OPTIONS))
        gathered.update(
            {"image": ["a"], "map": changed.get("truth", zero)},
            {"image": changed.get("names", ["a"]), "map": changed.get("map", zero)},
        )
        gathered.report(changed.get("metric"))

    with refuses(*message):
        reported()


def test_one_channel_is_dropped_or_cut_on_a_device() -> None:
    truth = torch.tensor([[[[0, 1], [1, 0]]]])
    for predicted, options in (
        (truth, {"classes": 2}),
        (truth.bool(), {"classes": 2}),
        (torch.where(truth == 1, 0.9, 0.2), {"classes": 2, "threshold": 0.5}),
        (torch.where(truth[:, 0] == 1, 0.5, 0.4), {"classes": 2, "threshold": 0.5}),
    ):
        gathered = sy.Accumulator("segmentation", device="cpu", options=options)
        gathered.update({"image": ["a"], "map": truth}, {"image": ["a"], "map": predicted})
        report = gathered.report(["miou"])
        assert report["miou"].value == 1.0
        assert ("threshold" in options) == any("from a score of 0.5" in note for note in report.notes)


def test_counts_cannot_do_what_needs_rows() -> None:
    gathered = sy.Accumulator("labels", device="cpu")
    with refuses("E-empty-input", "gathered"):
        gathered.report()
    gathered.update(*good())
    for call in (gathered.to_bytes, gathered.compact, lambda: gathered.report(save_draws=True)):
        with refuses("E-unsupported", "device"):
            call()
    with refuses("E-incompatible", "device"):
        gathered.merge(sy.Accumulator("labels"))
    with refuses("E-unsupported", "'boxes'", "device"):
        sy.Accumulator("boxes", device="cpu")

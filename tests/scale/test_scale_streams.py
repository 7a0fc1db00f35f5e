"""Rankings that come in parts, and files that are merged in order: what one walk over all of it gives, to the bit."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.scale_help import files, write_shards

import steelyard as sy
from steelyard import _native
from steelyard._native import BoxFigure
from steelyard.core.ranking import tied_by_unit
from steelyard.io.container import Reader, write_container
from steelyard.scale import evaluate_shards, run, walks
from steelyard.scale.merge import SortedEvents, merge_events
from steelyard.tasks.boxes.ranking import FIGURES


def parts_of(score: Any, rng: np.random.Generator) -> list[slice]:
    """Cut a falling ranking anywhere but between equal scores."""
    inside = np.flatnonzero(score[1:] < score[:-1]) + 1
    cuts = np.unique(rng.choice(inside, rng.integers(len(inside) + 1))) if len(inside) else inside
    return [slice(a, b) for a, b in zip([0, *cuts], [*cuts, len(score)], strict=True)]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 60), st.integers(1, 12), st.sampled_from([*FIGURES, "curves"]))
def test_detections_in_parts(seed: int, count: int, thresholds: int, kind: str) -> None:
    """Against the walk over all of a class under weights of 1, which the parity tests compare with other tools."""
    rng = np.random.default_rng(seed)
    score = np.sort(rng.choice([rng.random(count), np.round(rng.random(count), 1)]))[::-1].copy()
    full = (1 << thresholds) - 1
    hit = (rng.integers(0, full + 1, count) * (rng.random(count) < 0.4)).astype(np.uint32)
    ignored = (rng.choice([0, full, int(rng.integers(full + 1))], count) & ~hit).astype(np.uint32)
    rank = rng.integers(0, 8, count).astype(np.uint16)
    hits = max((int(np.count_nonzero(hit >> t & 1)) for t in range(thresholds)), default=0)
    objects, images, most = hits + int(rng.integers(0, 3)), 1 + int(rng.integers(40)), int(rng.choice([3, 100]))
    points = {"coco": 101, "curves": 101, "tide": 101, "voc11": 11, "lamr": 9}.get(kind, 2)
    grid = np.logspace(-2, 0, 9) if kind == "lamr" else np.linspace(0, 1, points)
    whole = (
        np.zeros(1, np.int64), np.array([count]), rng.integers(0, images, count).astype(np.int32), score, rank, hit,
        ignored, np.array([0, objects]), np.zeros(objects, np.int32), np.ones(objects, np.uint8), thresholds, most,
    )  # fmt: skip
    stream = _native.BoxStream(thresholds, most, FIGURES.get(kind, BoxFigure.curves), grid, objects, images)
    for part in parts_of(score, rng):
        stream.feed(score[part], rank[part], hit[part], ignored[part])
    result = stream.result()
    if kind == "curves":
        expected = [array[..., 0] for array in _native.Ranked(*whole).curves(np.ones(images), grid)]
    else:
        expected = [array[0] for array in _native.Ranked(*whole).figures(np.ones((1, images)), FIGURES[kind], grid)]
    for mine, theirs in zip(result, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 60), st.integers(0, 4))
def test_rows_in_parts(seed: int, count: int, kind: int) -> None:
    rng = np.random.default_rng(seed)
    score = np.sort(rng.choice([rng.random(count), np.round(rng.random(count), 1)]))[::-1].copy()
    positive = (rng.random(count) < rng.random()).astype(np.uint8)
    last = np.append(score[1:] != score[:-1], True)[:count].astype(np.uint8)
    expected = _native.ranked(np.ones((1, 1)), np.zeros(0, np.int64), positive, last, np.zeros(0), kind, 0.2)[0]
    if kind == 3 and not np.isnan(expected):
        expected = score[int(expected)]
    positives = int(positive.sum())
    stream = _native.LabelStream(kind, 0.2, positives, count - positives)
    for part in parts_of(score, rng):
        stream.feed(score[part], positive[part])
    np.testing.assert_array_equal(stream.result(), expected)


BAD: dict[str, tuple[list[list[float]], str]] = {
    "rising": ([[0.1, 0.2]], "scores must fall"),
    "a tie over two parts": ([[0.5, 0.2], [0.2]], "a part must begin below"),
    "not a number": ([[float("nan")]], "not a number"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_parts_that_are_no_ranking(case: str) -> None:
    parts, message = BAD[case]
    for feed in (
        lambda stream, s: stream[0].feed(s, np.zeros(len(s), np.uint16), *(np.zeros(len(s), np.uint32),) * 2),
        lambda stream, s: stream[1].feed(s, np.zeros(len(s), np.uint8)),
    ):
        streams = (
            _native.BoxStream(1, 100, BoxFigure.curves, np.linspace(0, 1, 101), 1, 1),
            _native.LabelStream(0, 0.0, 1, 1),
        )
        for part in parts[:-1]:
            feed(streams, np.array(part))
        with pytest.raises(ValueError, match=message):
            feed(streams, np.array(parts[-1]))
    with pytest.raises(ValueError, match="whole number"):
        _native.BoxStream(1, 100, BoxFigure.curves, np.linspace(0, 1, 101), 0.5, 1)
    with pytest.raises(ValueError, match="even, from 0 to 1"):
        _native.BoxStream(1, 100, BoxFigure.coco, np.array([0.0, 0.9]), 1, 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 40), st.sampled_from([1, 2, 10]))
def test_files_are_merged_in_order(
    tmp_path_factory: pytest.TempPathFactory, seed: int, count: int, most: int, digits: int
) -> None:
    """Every event once, equal scores in one part; a part holds little more than asked for, unless one score is more."""
    rng, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("runs")
    runs, scores, units = [], [], []
    for number in range(count):
        size = int(rng.integers(0, 50))
        score = np.round(np.sort(rng.random(size))[::-1], digits)
        unit = rng.integers(0, 5, size).astype(np.int32)
        unit = unit[tied_by_unit(score, unit)]
        place = np.arange(5, dtype=np.int32) * count + number
        write_container(folder / f"{number}", "run", {}, {"t/score": score, "t/unit": unit})
        runs.append(SortedEvents(Reader(folder / f"{number}"), "t/", ["score", "unit"], 0, size, place))
        scores.append(score)
        units.append(place[unit])
    parts = list(merge_events(runs, most))
    score, unit = np.concatenate(scores), np.concatenate(units)
    order = tied_by_unit(score, unit)
    for name, whole in (("score", score), ("unit", unit)):
        np.testing.assert_array_equal(np.concatenate([np.zeros(0), *(part[name] for part in parts)]), whole[order])
    for before, after in pairwise(parts):
        assert before["score"][-1] > after["score"][0]
    tie = max(np.unique(score, return_counts=True)[1], default=0)
    assert max((len(part["score"]) for part in parts), default=0) <= max(most, 2 * count) + 2 * tie


METRICS = {
    "boxes": [
        "map", "map50", "map(area=small)", "ar@1", "ar@100(area=large)", "ap", "ap(kind=voc)", "ap(kind=voc11)",
        "ap(kind=step)", "ap(kind=voc11, rule=voc)", "ap(label=cat)", "map(iou=0.3:0.6)", "lamr", "best_f1", "dap",
        "map(kind=loop)", "map(kind=step, ties=order)", "map(kind=loop, ties=order)", "map(kind=step, reduction=sum)",
    ],
    "labels": [
        "roc_auc", "ap", "best_f1", "best_threshold", "tpr_at_fpr@0.1", "macro(ap)", "macro(roc_auc)", "micro(ap)",
        "ovo(roc_auc)",
    ],
}  # fmt: skip


@pytest.mark.parametrize("task", list(METRICS))
def test_without_intervals_no_class_is_held_whole(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory for twenty events; the scores are those of all data in one place."""
    from support.drawn import DRAW

    truth, predictions = DRAW[task](np.random.default_rng(3), 60)
    if task == "boxes":
        predictions["score"] = np.round(predictions["score"], 2)
    else:
        truth.pop("group"), truth.pop("weight", None)
    write_shards(task, tmp_path, 5, 5, data=(truth, predictions))
    whole = sy.Accumulator(task)
    whole.update(truth, predictions)
    expected = whole.report(METRICS[task], confidence=None)
    monkeypatch.setattr(run, "_report_in_one_place", None)
    monkeypatch.setattr(walks, "_read", None)
    seen: list[int] = []

    def watched(*args: Any) -> Any:
        for part in merge_events(*args):
            seen.append(len(part["score"]))
            yield part

    monkeypatch.setattr(walks, "merge_events", watched)
    report = evaluate_shards(
        task, *files(tmp_path), METRICS[task], work=tmp_path / "work", workers=1, confidence=None,
        memory=20 * walks.EVENT_BYTES,
    )  # fmt: skip
    assert report.scores == expected.scores
    assert len(seen) > 20
    assert max(seen) <= 60


def test_rows_with_weights_are_walked_whole(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ids = [f"r{i:03d}" for i in range(200)]
    truth = {"id": ids, "label": rng.integers(0, 2, 200), "weight": rng.random(200)}
    predictions = {"id": ids, "score": rng.random(200)}
    write_shards("labels", tmp_path, 4, 4, data=(truth, predictions))
    whole = sy.Accumulator("labels")
    whole.update(truth, predictions)
    wanted = ["roc_auc", "ap"]
    expected = whole.report(wanted, confidence=None)
    report = evaluate_shards("labels", *files(tmp_path), wanted, work=tmp_path / "w", workers=1, confidence=None)
    assert report.scores == expected.scores

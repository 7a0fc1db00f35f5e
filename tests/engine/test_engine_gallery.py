"""Galleries of made-up tasks: which units are shown, in which order, and what stands above and around each."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from steelyard.core import catalogue
from steelyard.core.errors import InvalidValue
from steelyard.core.gallery import Gallery, Layer, Mark, Shot, Sweep
from steelyard.core.scene import BoxShape, RasterShape, Scene
from steelyard.engine.gallery import DIFFERENT, distance_from_best, pair_gallery, report_gallery
from steelyard.results.details import UnitTable

MAE, BIAS, R2 = (catalogue.parse(spec, "weights") for spec in ("mae", "bias", "r2"))
TITLE = "Mean absolute error"


def task_of(scene: Any = None, unit: str = "dish", **views: Any) -> Any:
    """What galleries ask of a task."""
    return SimpleNamespace(name="weights", unit=unit, defaults=("mape",), scene=scene, view=views.get)


def pairs_of(*units: Any) -> Any:
    return SimpleNamespace(units=np.array(units, dtype=object))


def table(units: list[str], **values: list[float]) -> UnitTable:
    return UnitTable("dish", np.array(units), {spec: np.array(column) for spec, column in values.items()})


def drawn(pairs: Any, units: Any, *more: Any) -> list[Shot]:
    """A shot of each unit, framed by its place."""
    return [
        Shot(str(pairs.units[i]), f"{pairs.units[i]}!", (i, 0, i + 10, 5), (Layer((), "2 found" if i == 1 else ""),))
        for i in units
    ]


def summaries(gallery: Gallery | None) -> list[tuple[str, tuple[str, ...]]]:
    assert gallery is not None
    return [(shot.unit, tuple(layer.summary for layer in shot.layers)) for shot in gallery.shots]


@pytest.mark.parametrize(
    ("better", "expected"),
    [("lower", [3, -1, 0]), ("none", [3, -1, 0]), ("higher", [-3, 1, 0]), ("zero", [3, 1, 0]), ("one", [2, 2, 1])],
)
def test_how_far_values_lie_from_the_best(better: str, expected: list[float]) -> None:
    assert distance_from_best(np.array([3.0, -1.0, 0.0]), better).tolist() == expected


def test_the_worst_units_come_first() -> None:
    pairs = pairs_of("a", "b", "c", "d")
    units = table(["a", "b", "c", "d"], mae=[1, 4.0004, math.nan, 2])
    gallery = report_gallery(task_of(shots=drawn), pairs, units, [MAE])
    shots = tuple(
        Shot(name, f"{name}!", (i, 0, i + 10, 5), (Layer((), text),))
        for name, i, text in (
            ("b", 1, f"{TITLE} = 4.000; 2 found"),
            ("d", 3, f"{TITLE} = 2.000"),
            ("a", 0, f"{TITLE} = 1.000"),
        )
    )
    assert gallery == Gallery("dish", 4, TITLE, shots, None, None, ())


def test_units_of_a_table_in_another_order_and_without_all_pairs() -> None:
    units = table(["c", "a"], mae=[1, 3])
    assert summaries(report_gallery(task_of(shots=drawn), pairs_of("a", "b", "c"), units, [MAE])) == [
        ("a", (f"{TITLE} = 3.000",)),
        ("c", (f"{TITLE} = 1.000",)),
    ]
    assert report_gallery(task_of(shots=drawn), pairs_of("a", "b"), units, [MAE]) is None  # c is a group of others
    numbers = table(["7", "8"], mae=[1, 3])
    assert summaries(report_gallery(task_of(shots=drawn), pairs_of(7, 8), numbers, [MAE]))[0][0] == "8"


def test_the_first_metric_that_tells_units_apart() -> None:
    """Of bias, the values nearest to 0 are the best; of R2, the highest; equal units stand in their order."""
    pairs = pairs_of("a", "b", "c")
    units = table(["a", "b", "c"], mae=[math.nan, 1, math.nan], bias=[-3, 1, 3], r2=[0.5, 0.1, 0.9])
    task = task_of(shots=drawn)
    assert [unit for unit, _ in summaries(report_gallery(task, pairs, units, [MAE, BIAS, R2]))] == ["a", "c", "b"]
    assert [unit for unit, _ in summaries(report_gallery(task, pairs, units, [MAE, R2, BIAS]))] == ["b", "a", "c"]
    assert report_gallery(task, pairs, units, [MAE]) is None
    assert report_gallery(task, pairs, units, []) is None


def test_no_more_than_twelve_are_shown() -> None:
    names = [f"u{i:02d}" for i in range(15)]
    units = table(names, mae=[float(i) for i in range(15)])
    gallery = report_gallery(task_of(shots=drawn), pairs_of(*names), units, [MAE])
    assert [unit for unit, _ in summaries(gallery)] == names[:2:-1]
    assert gallery is not None
    assert (gallery.of, all(shot.worst for shot in gallery.shots)) == (15, True)


def test_a_task_chooses_its_units_and_its_words() -> None:
    """It also says how many of them are the worst, and counts at thresholds."""
    sweep = Sweep(0.5, (0.1, 0.6), 1, ((1, 0, 0), (0, 0, 1)))
    views = {
        "shown_units": lambda pairs, badness: (np.argsort(badness, kind="stable").tolist(), 1),
        "sweep": lambda pairs: sweep,
        "gallery_words": (("tp", "right"),),
    }
    gallery = report_gallery(task_of(shots=drawn, **views), pairs_of("a", "b"), table(["a", "b"], mae=[5, 4]), [MAE])
    assert gallery is not None
    assert [(shot.unit, shot.worst) for shot in gallery.shots] == [("b", True), ("a", False)]
    assert (gallery.sweep, gallery.threshold, gallery.words) == (sweep, 0.6, (("tp", "right"),))
    views["sweep"] = lambda pairs: None
    gallery = report_gallery(task_of(shots=drawn, **views), pairs_of("a", "b"), table(["a", "b"], mae=[5, 4]), [MAE])
    assert gallery is not None
    assert (gallery.sweep, gallery.threshold) == (None, None)


def test_what_has_no_gallery() -> None:
    pairs, units = pairs_of("a", "b"), table(["a", "b"], mae=[5, 4])
    for task, given in ((task_of(), pairs), (task_of(shots=drawn), None), (task_of(shots=drawn), SimpleNamespace())):
        assert report_gallery(task, given, units, [MAE]) is None
        assert pair_gallery(task, [given, given], [units, units], [MAE]) is None
    empty = task_of(shots=lambda pairs, units: [[] for _ in units])
    assert report_gallery(empty, pairs, units, [MAE]) is None


def scene_of(pairs: Any, unit: int, metric: Any) -> Scene:
    """A box for `mape`, pixels for the unit "raster", and no pairs by any other metric."""
    if metric.name != "mape":
        raise InvalidValue("this metric makes no pairs", remedy="Ask for another.")
    name = str(pairs.units[unit])
    rasters = (RasterShape("t", "", 1, 1),) if name == "raster" else ()
    bounds = (0.0, 1.0, 2.0, 3.0) if name == "bounded" else None
    box = BoxShape("truth", 10, 20, 30, 40, "cup")
    return Scene("title", f"{name} seen", (box,), bounds, images=(name, "more"), rasters=rasters)


def test_scenes_become_shots() -> None:
    """By the first metric that makes pairs: one that was asked for, or one of the defaults. Pixels make none."""
    pairs = pairs_of("bounded", "free", "raster")
    units = table(["bounded", "free", "raster"], mae=[1, 2, 3])
    mark = Mark("box", "truth", ((10.0, 20.0, 30.0, 40.0),), "cup", True)
    for unit, files in (("image", ("free", "more")), ("dish", ("free", "more"))):
        gallery = report_gallery(task_of(scene_of, unit), pairs, units, [MAE])
        assert gallery is not None
        assert gallery.shots == (
            Shot("free", "free", (-55.0, -20.0, 105.0, 100.0), (Layer((mark,), f"{TITLE} = 2.000; free seen"),), files),
            Shot(
                "bounded",
                "bounded",
                (0.0, 1.0, 2.0, 3.0),
                (Layer((mark,), f"{TITLE} = 1.000; bounded seen"),),
                ("bounded", "more"),
            ),
        )
    unnamed = task_of(lambda *a: replace(scene_of(*a), images=()), "image")
    gallery = report_gallery(unnamed, pairs, units, [MAE])
    assert gallery is not None
    assert [shot.files for shot in gallery.shots] == [("free",), ("bounded",)]
    gallery = report_gallery(task_of(lambda *a: replace(scene_of(*a), images=())), pairs, units, [MAE])
    assert gallery is not None
    assert [shot.files for shot in gallery.shots] == [(), ()]


def test_a_task_is_pictured_by_its_own_metric() -> None:
    asked: list[str] = []

    def scene(pairs: Any, unit: int, metric: Any) -> Scene:
        asked.append(str(metric))
        raise InvalidValue("this metric makes no pairs", remedy="Ask for another.")

    task = task_of(scene, pictured="bias")
    assert report_gallery(task, pairs_of("a", "b"), table(["a", "b"], mae=[1, 2], r2=[1, 2]), [MAE, R2]) is None
    assert asked == ["bias", "mae", "r2", "mape"] * 2


def test_the_units_that_differ_most() -> None:
    """By 3, 2 and 1. Equal ones, and those without a value of both, are not shown."""
    names = ["a", "b", "c", "d", "e"]
    a, b = pairs_of(*names), pairs_of(*names[::-1])
    first = table(names, mae=[1, 2, 3, 4, 5])
    second = table(names, mae=[2, 5, 3, 2, math.nan])
    gallery = pair_gallery(task_of(shots=drawn), [a, b], [first, second], [MAE])
    assert summaries(gallery) == [
        ("b", (f"{TITLE} = 2.000", f"{TITLE} = 5.000")),
        ("d", (f"{TITLE} = 4.000", f"{TITLE} = 2.000")),
        ("a", (f"{TITLE} = 1.000", f"{TITLE} = 2.000")),
    ]
    assert gallery is not None
    # b is the second of one side and the fourth of the other
    assert [shot.bounds for shot in gallery.shots] == [(1, 0, 13, 5), (1, 0, 13, 5), (0, 0, 14, 5)]
    assert (gallery.unit, gallery.of, gallery.by, gallery.sweep, gallery.threshold, gallery.words) == (
        "dish",
        5,
        TITLE,
        None,
        None,
        (),
    )
    assert pair_gallery(task_of(shots=drawn), [a, b], [first, first], [MAE]) is None
    assert pair_gallery(task_of(shots=drawn), [a, pairs_of("a")], [first, second], [MAE]) is None
    assert pair_gallery(task_of(shots=drawn), [a, b], [first, second], []) is None
    words = task_of(shots=drawn, sweep=lambda pairs: None, gallery_words=(("tp", "right"),))
    gallery = pair_gallery(words, [a, b], [first, second], [MAE])
    assert gallery is not None
    assert (gallery.threshold, gallery.words) == (0.5, (("tp", "right"),))


def test_a_whole_image_keeps_its_frame_and_pairs_are_few() -> None:
    names = [f"u{i}" for i in range(DIFFERENT + 2)]
    pairs = pairs_of(*names)
    first, second = table(names, mae=[0.0] * len(names)), table(names, mae=[float(i) for i in range(len(names))])

    def whole(pairs: Any, units: Any) -> list[Shot]:
        return [replace(shot, fits=True) for shot in drawn(pairs, units)]

    gallery = pair_gallery(task_of(shots=whole), [pairs, pairs_of(*names[::-1])], [first, second], [MAE])
    assert [unit for unit, _ in summaries(gallery)] == names[:1:-1]
    assert gallery is not None
    assert [shot.bounds for shot in gallery.shots] == [(i, 0, i + 10, 5) for i in range(len(names) - 1, 1, -1)]


def test_both_models_show_the_same_frames_of_a_sequence() -> None:
    """Of each model the first two: together, in order, and only once."""
    asked: list[Any] = []

    def shots(pairs: Any, units: Any, frames: Any) -> list[list[Shot]]:
        asked.append((pairs.name, list(units), frames))
        return [drawn(pairs, [unit]) * len(shown) for unit, shown in zip(units, frames, strict=True)]

    def frames(pairs: Any, units: Any) -> list[list[int]]:
        return [[9, 4, 1], [2]] if pairs.name == "A" else [[4, 3, 7], [2, 1]]

    a, b = (SimpleNamespace(units=np.array(["s", "t"]), name=name) for name in "AB")
    tables = table(["s", "t"], mae=[1, 1]), table(["s", "t"], mae=[4, 3])
    gallery = pair_gallery(task_of(shots=shots, shown_frames=frames), [a, b], tables, [MAE])
    assert asked == [("A", [0, 1], [[3, 4, 9], [1, 2]]), ("B", [0, 1], [[3, 4, 9], [1, 2]])]
    assert [unit for unit, _ in summaries(gallery)] == ["s"] * 3 + ["t"] * 2

"""Small values by hand: histograms, tables, figures, slices' names, errors, records, options."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from steelyard.core import figure as figures
from steelyard.core.errors import InputError, MissingExtra, MissingPackage, first_few, nearest
from steelyard.core.figure import Figure, Listing, Texts, are_near, points_or_cells, wide_range
from steelyard.core.histogram import Histogram, at_recalls, bin_of_score, falling_precision
from steelyard.core.options import Option, Options, find_option
from steelyard.core.slice import slice_key, slice_parts, slice_text
from steelyard.core.table import Table
from steelyard.core.visible import visible


def said(caught: pytest.ExceptionInfo[Exception]) -> str:
    return str(caught.value)


def test_bounds_of_a_histogram() -> None:
    """Two hits and one other in the first bin, none in the second, one hit and two others in the third; 4 objects."""
    histogram = Histogram(np.array([2, 0, 1]), np.array([1, 0, 2]), 4.0)
    low, high = histogram.precision_bounds()
    assert low.tolist() == [1 / 2, 2 / 3, 3 / 6]
    assert high.tolist() == [1, 1, 3 / 4]
    assert histogram.average_precision("step") == (pytest.approx((1 / 2 + 2 / 3 + 1 / 2) / 4), pytest.approx(2.75 / 4))
    assert histogram.average_precision("voc") == (pytest.approx((2 / 3 + 2 / 3 + 1 / 2) / 4), pytest.approx(2.75 / 4))
    eleven = [2 / 3] * 6 + [1 / 2] * 2 + [0] * 3  # recalls up to 0.5 by two hits, 0.6 and 0.7 by three
    assert histogram.average_precision("voc11")[0] == pytest.approx(sum(eleven) / 11)
    hundred = [2 / 3] * 51 + [1 / 2] * 25 + [0] * 25
    assert histogram.average_precision("coco")[0] == pytest.approx(sum(hundred) / 101)
    assert histogram.roc_auc() == (pytest.approx((2 * 2) / 9), pytest.approx((2 * 2 + 2 + 2) / 9))
    assert np.isnan(Histogram(np.array([1]), np.array([0]), 1.0).roc_auc()).all()
    assert Histogram(np.array([1, 0]), np.array([0, 1]), 1.0).roc_auc() == (1.0, 1.0)
    assert Histogram(np.array([1, 0]), np.array([0, 1]), 1.0).average_precision("step") == (1.0, 1.0)
    assert np.isnan(Histogram(np.array([0]), np.array([1]), 0.0).average_precision("step")).tolist() == [True, True]
    bytes_ = Histogram(np.array([200], np.uint8), np.array([200], np.uint8), 200.0)
    assert bytes_.precision_bounds()[0][[0, -1]].tolist() == [1 / 201, 200 / 400]
    assert bytes_.roc_auc() == (0.0, 1.0)
    assert np.isnan(Histogram(np.array([0]), np.array([1]), 0.0).roc_auc()).all()
    assert Histogram(np.array([0]), np.array([5]), 2.0).average_precision("coco") == (0.0, 0.0)
    assert falling_precision(np.array([0.2, 0.9, 0.5])).tolist() == [0.9, 0.9, 0.5]
    assert at_recalls(np.zeros(0), 3.0, 11).tolist() == [0] * 11
    assert at_recalls(np.array([0.8, 0.6]), 2.0, 5).tolist() == [0.8, 0.8, 0.8, 0.6, 0.6]


def test_bins() -> None:
    assert bin_of_score(np.array([1.0, 0.0, 0.5, 0.76, 0.74]), 4).tolist() == [0, 3, 2, 0, 1]
    assert bin_of_score(np.zeros(0), 4).tolist() == []
    for scores, ends in ((np.array([-0.5, 1.0]), "-0.5 to 1"), (np.array([0.0, 1.5]), "0 to 1.5")):
        with pytest.raises(InputError) as caught:
            bin_of_score(scores, 4)
        assert said(caught) == (
            f"scores from {ends} are not all between 0 and 1. "
            "The approximate mode needs such; leave it out, or rescale the scores."
        )


TABLE = Table("t", "Title", "class", ("a", "bb"), ("x", "y"), np.array([[1.0, math.nan], [0.25, math.inf]]))


def test_tables() -> None:
    assert (TABLE["a", "x"], TABLE["bb", "y"]) == (1.0, math.inf)
    assert TABLE.to_dict() == {
        "name": "t", "title": "Title", "corner": "class", "rows": ["a", "bb"], "columns": ["x", "y"],
        "values": [[1.0, None], [0.25, None]],
    }  # fmt: skip
    assert TABLE.cells() == [["a", "1", "–"], ["bb", "0.2500", "inf"]]
    assert str(TABLE) == "class       x    y\na           1    –\nbb     0.2500  inf"


def test_figures() -> None:
    assert (len(Figure("f", "line", "F", {"x": [1, 2]})), len(Figure("f", "line", "F", {}))) == (2, 0)
    texts = Texts.of(["b", "a", "b", 7])
    assert (texts.codes.tolist(), list(texts.names), len(texts), texts.codes.dtype) == (
        [0, 1, 0, 2],
        ["b", "a", "7"],
        4,
        np.int64,
    )
    assert (len(Listing("l", "L", {"c": texts})), len(Listing("l", "L", {}))) == (4, 0)
    assert are_near(np.array([1.0, 1.0 + 1e-10]))
    assert are_near(np.array([-1e9, -1e9 + 0.5]))
    assert not are_near(np.array([1.0, 1.1]))
    assert are_near(np.array([0.0, 0.0]))
    assert wide_range(np.array([2.0, 2.0])) == (1.5, 2.5)
    assert wide_range(np.array([2e6, 2e6])) == (2e6 - 2.0, 2e6 + 2.0)
    assert wide_range(np.array([-2e6, -2e6])) == (-2e6 - 2.0, -2e6 + 2.0)
    assert wide_range(np.array([1.0, 4.0])) == (1.0, 4.0)


def test_too_many_points_are_counted_in_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.array([0.0, 0.1, 4.0]), np.array([0.0, 0.1, 8.0])
    assert points_or_cells(x, y) == {"x": x, "y": y}
    monkeypatch.setattr(figures, "MOST_POINTS", 3)
    assert points_or_cells(x, y) == {"x": x, "y": y}
    monkeypatch.setattr(figures, "MOST_POINTS", 2)
    monkeypatch.setattr(figures, "CELLS", 4)
    cells = {name: column.tolist() for name, column in points_or_cells(x, y).items()}
    assert cells == {"x": [0, 3], "x2": [1, 4], "y": [0, 6], "y2": [2, 8], "count": [2, 1]}
    far = points_or_cells(np.full(3, 2e6), y)  # all alike: a range of 2 to each side
    assert (far["x"].tolist(), far["x2"].tolist(), far["count"].tolist()) == ([2e6, 2e6], [2e6 + 1] * 2, [2, 1])


def test_names_of_slices() -> None:
    assert (slice_key(["a"]), slice_key(["a", "b"]), slice_parts("a"), slice_parts(("a", "b"))) == (
        "a", ("a", "b"), ("a",), ("a", "b"),
    )  # fmt: skip
    assert (slice_text(("a", "b")), slice_text(("a", "b"), " x "), slice_text("a, b")) == ("a, b", "a x b", "a, b")


def test_errors_say_what_where_and_the_remedy() -> None:
    error = InputError("it is wrong.", where="a.csv,\nrow 1", remedy="Do that.")
    assert (str(error), error.what, error.where, error.remedy) == (
        "a.csv,\\nrow 1: it is wrong. Do that.", "it is wrong.", "a.csv,\\nrow 1", "Do that.",
    )  # fmt: skip
    assert str(InputError("it is wrong.")) == "it is wrong."
    assert str(InputError("it is not X.", remedy="Do that.")) == "it is not X. Do that."
    assert str(InputError("x" * 1500)) == "x" * 1500
    assert str(InputError("a" * 800 + "b" * 800)) == "a" * 750 + " ... " + "b" * 750
    assert InputError("w", where="p" * 501).where == "p" * 250 + " ... " + "p" * 250
    assert str(MissingExtra("HTML", "report")) == "HTML needs an optional part: pip install 'steelyard[report]'"
    assert str(MissingPackage("Logging", "wandb")) == "Logging needs the package wandb: pip install wandb"
    assert nearest("mea", ["mae", "rmse"]) == "Did you mean 'mae'?"
    assert nearest("zzz", ["rmse", "mae"]) == "Known: mae, rmse."
    assert nearest("abcd", ["abxy"]) == "Did you mean 'abxy'?"  # half of it is alike
    assert nearest("zzz", []) == ""
    assert first_few([1, 2, 3]) == "'1', '2', '3'"
    assert first_few([1, 2, 3, 4, 5]) == "'1', '2', '3' and 2 more"
    assert first_few("abc", limit=1) == "'a' and 2 more"


def test_visible() -> None:
    assert visible("a\x1b[2J\nb\t\x7f\u202e\ud800") == "a\\u001b[2J\nb\t\\u007f\\u202e\\ud800"
    assert visible("äöü 日本") == "äöü 日本"


ANGLE = Option("angle", "choice", "unit of angles", "degrees", ("degrees", "radians"))
SCALE = Option("pixel_size", "number", "Millimetres.", None, minimum=0, sides=False)
SIGMAS = Option("sigmas", "numbers", "One for each point.")


def test_options() -> None:
    assert ANGLE.convert("radians") == "radians"
    assert (SCALE.convert("2.5"), SCALE.convert(3)) == (2.5, 3.0)
    assert (SIGMAS.convert("1, 2"), SIGMAS.convert([1, 2]), SIGMAS.convert(4)) == ((1.0, 2.0), (1.0, 2.0), (4.0,))
    assert Option("p", "path", "m").convert("x") == "x"
    options = Options((ANGLE, SCALE), {"angle": "radians", "truth.angle": "degrees"})
    assert (options.of("angle", "truth"), options.of("angle", "prediction"), options.of("angle")) == (
        "degrees", "radians", "radians",
    )  # fmt: skip
    assert options.of("pixel_size") is None
    assert Options((ANGLE,)).of("angle", "truth") == "degrees"


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        (ANGLE, "grad", "option angle: 'grad' is not a valid choice. Choose one of: degrees, radians."),
        (SIGMAS, [], "option sigmas: no number is given. One for each point."),
        (SIGMAS, "1,x", "option sigmas: 'x' is not a number. One for each point."),
        (SIGMAS, "1,inf", "option sigmas: inf is out of range. It must be finite."),
        (SCALE, None, "option pixel_size: 'None' is not a number. Millimetres."),
        (SCALE, 0, "option pixel_size: 0 is out of range. It must be above 0."),
        (SCALE, True, "option pixel_size: True is out of range. It must be above 0."),
        (SCALE, math.nan, "option pixel_size: nan is out of range. It must be above 0."),
    ],
)
def test_wrong_values_of_options(option: Option, value: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        option.convert(value)
    assert said(caught) == message


def test_options_are_found() -> None:
    declared = (ANGLE, SCALE)
    assert find_option(declared, "angle", "t") is ANGLE
    assert find_option(declared, "truth.angle", "t") is ANGLE
    assert find_option(declared, "prediction.angle", "t") is ANGLE
    assert find_option(declared, "pixel-size", "t") is SCALE
    for key, message in (
        ("angel", "task 't' has no option 'angel'. Did you mean 'angle'?"),
        ("other.angle", "task 't' has no option 'other.angle'. Did you mean 'angle'?"),
        ("truth.pixel_size", "option pixel_size is for both sides at once. Write pixel_size=..."),
    ):
        with pytest.raises(InputError) as caught:
            find_option(declared, key, "t")
        assert said(caught) == message
    with pytest.raises(InputError) as caught:
        find_option((), "angle", "t")
    assert said(caught) == "task 't' has no option 'angle'. It takes none."

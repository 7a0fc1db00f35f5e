"""How many units stand behind each class: from the entries of the classes, as from looking at every unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.core.metric import Metric
from steelyard.engine import intervals, score

SPECS = ["macro(precision)", "macro(recall)", "macro(f1)", "micro(f1)", "balanced_accuracy", "recall(label=c)"]


def drawn(several: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Rows in clusters; some classes are predicted alone, or in the truth alone."""
    rng = np.random.default_rng(3)
    classes, rows = list("abcdefgh"), 90
    truth, other = rng.integers(0, 6, rows), rng.integers(1, 8, rows)
    predicted = np.where(rng.random(rows) < 0.5, truth, other)
    sides: list[list[Any]] = [[classes[code] for code in codes] for codes in (truth, predicted)]
    if several:
        sides = [[[one, "h"] if i % 4 else [one] for i, one in enumerate(side)] for side in sides]
    ids = [f"r{i}" for i in range(rows)]
    clusters = [f"v{i // 9}" for i in range(rows)]
    column = "labels" if several else "label"
    return {"id": ids, "video": clusters, column: sides[0]}, {"id": ids, column: sides[1]}


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("settings", [{}, {"cluster": "video"}])
def test_units_are_counted_as_if_each_were_looked_at(
    several: bool, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, tuple[list[float], list[float]]] = {}
    counted = score.part_units

    def both(metric: Metric, state: Any, defined: Any) -> Any:
        quick = counted(metric, state, defined)
        assert metric.part_units(state) is not None
        with monkeypatch.context() as plain:
            for kind in type(metric).__mro__:
                if "part_units" in vars(kind):
                    plain.setattr(kind, "part_units", lambda metric, state: None)
            seen[str(metric)] = quick.tolist(), counted(metric, state, defined).tolist()
        return quick

    monkeypatch.setattr(score, "part_units", both)
    specs = [spec for spec in SPECS if not several or spec != "balanced_accuracy"]  # which takes one label per row
    sy.evaluate("labels", *drawn(several), specs, draws=100, **settings)
    assert sorted(seen) == sorted(specs)
    for quick, each in seen.values():
        assert quick == each
    assert len({tuple(quick) for quick, _ in seen.values()}) > 2


def test_many_parts_have_the_spread_of_their_correlations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that do not move go together with none but themselves."""
    rng = np.random.default_rng(0)
    share, moved, side = rng.uniform(0.1, 0.9, 7), rng.normal(size=(20, 7)), rng.uniform(0, 1, 7)
    moved[:, 4] = 0.0
    few = intervals.Parts.of(share, np.full(7, 30.0), np.full(7, 9.0), moved, 0.9)
    monkeypatch.setattr(intervals, "MANY_PARTS", 6)
    many = intervals.Parts.of(share, np.full(7, 30.0), np.full(7, 9.0), moved, 0.9)
    assert (few.moves is None, many.moves is None) == (True, False)
    assert many.spread(side) == pytest.approx(side @ few.correlation @ side, rel=1e-12)

"""Draws: totals, cells, blocks and bytes are those of the same rows of weights, whatever the size of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from steelyard import _native
from steelyard.core import draws as module
from steelyard.core import weights as weights_module
from steelyard.core.draws import BootstrapDraws, unit_keys
from steelyard.core.plan import COUNT, JACKKNIFE, POINT, UNITS, WeightPlan
from steelyard.core.units import Units
from steelyard.core.weights import Entries, Role

UNITS_NUMBER, DRAWS, SEED = 7, 70, 5
KEYS = unit_keys(np.arange(UNITS_NUMBER))
OWN = np.array([1.0, 2, 0.5, 1, 0, 3, 1])


def plain_rows(first: int = 0, count: int = DRAWS, copies: np.ndarray | None = None) -> np.ndarray:
    """The weights, 32 draws at a time."""
    copies = None if copies is None else copies.astype(np.int64)
    groups = [_native.poisson_weights(KEYS, SEED, first + k, 32, copies=copies) for k in range(0, count, 32)]
    return np.concatenate(groups)[:count]


def cells(units: int) -> list[Entries]:
    rng = np.random.default_rng(1)
    owner, code = np.sort(rng.integers(0, units, 40)), rng.integers(0, 5, 40).astype(np.int32)
    return [Entries(owner, code, None, 6), Entries(owner, code, rng.integers(1, 9, 40).astype(float), 6)]


def dense(entries: Entries, units: int) -> np.ndarray:
    table = np.zeros((units, entries.size))
    np.add.at(table, (entries.owner, entries.code), 1.0 if entries.value is None else entries.value)
    return table


@pytest.fixture(params=["whole", "in calls"])
def calls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once with the usual sizes of a call, once with the smallest."""
    if request.param == "in calls":
        for name in ("CALL_WORK", "CALL_ROWS", "CALL_DRAWS"):
            monkeypatch.setattr(module, name, {"CALL_WORK": 1, "CALL_ROWS": 32, "CALL_DRAWS": 32}[name])


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize("own", [np.ones(UNITS_NUMBER), np.full(UNITS_NUMBER, 2.0), OWN])
@pytest.mark.parametrize("copies", [None, np.array([1, 5, 3, 2, 1, 1, 9], np.int32)])
@pytest.mark.parametrize("first", [0, 96])
def test_bootstrap_totals_are_those_of_the_rows(own: np.ndarray, copies: np.ndarray | None, first: int) -> None:
    rows = plain_rows(first, DRAWS, copies) * own
    draws = BootstrapDraws(KEYS, own, SEED, DRAWS, copies, first=first)
    column, matrix = np.arange(1.0, 8), np.arange(14.0).reshape(7, 2)
    assert (draws.rows, draws.units, draws.role) == (DRAWS, UNITS_NUMBER, Role.DRAWS)
    assert np.concatenate(list(draws.blocks())).tolist() == rows.tolist()
    assert (draws @ column).tolist() == (rows @ column).tolist()
    assert (draws @ matrix).tolist() == (rows @ matrix).tolist()
    for entries in cells(UNITS_NUMBER):
        assert draws.scatter(entries).tolist() == (rows @ dense(entries, UNITS_NUMBER)).tolist()
    pieces = [np.concatenate(list(piece.blocks())) for piece in draws.pieces()]
    assert np.concatenate(pieces).tolist() == rows.tolist()


def bytes_as_rows(counts: object, rows: int) -> np.ndarray:
    """(groups, units, 32) side by side, as rows of weights."""
    return np.concatenate([np.moveaxis(block, 2, 1).reshape(-1, block.shape[1]) for block in counts])[:rows]  # type: ignore[attr-defined]


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize("held", [True, False])
def test_bootstrap_counts_are_the_rows(held: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not held:
        monkeypatch.setattr(module, "HELD_BYTES", 1)
    draws = BootstrapDraws(KEYS, np.ones(UNITS_NUMBER), SEED, DRAWS, first=64)
    for _ in range(2):
        counts = draws.counts()
        assert counts is not None
        assert bytes_as_rows(counts, DRAWS).tolist() == plain_rows(64).tolist()
    assert BootstrapDraws(KEYS, OWN, SEED, DRAWS).counts() is None
    assert BootstrapDraws(KEYS, np.ones(7), SEED, DRAWS, np.ones(7, int)).counts() is None


def test_sizes_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = BootstrapDraws(KEYS, np.ones(UNITS_NUMBER), SEED, 600)
    assert [len(block) for block in draws.blocks()] == [256, 256, 88]
    monkeypatch.setattr(weights_module, "BLOCK_BYTES", 8 * UNITS_NUMBER * 64)
    assert [len(block) for block in draws.blocks()] == [64] * 9 + [24]
    assert [piece.rows for piece in draws.pieces()] == [64] * 9 + [24]
    assert [block.shape for block in draws.counts() or ()] == [(16, 7, 32), (3, 7, 32)]


def test_counts_are_kept_where_they_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    for held, same in ((UNITS_NUMBER * DRAWS, True), (UNITS_NUMBER * DRAWS - 1, False)):
        monkeypatch.setattr(module, "HELD_BYTES", held)
        draws = BootstrapDraws(KEYS, np.ones(UNITS_NUMBER), SEED, DRAWS)
        first, second = (list(draws.counts() or ()) for _ in range(2))
        assert (first[0] is second[0]) is same


class Recorded:
    """The native core, with the draws that each call makes written down."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            self.calls.append(given[-2:])
            return getattr(_native, name)(*given, **named)

        return call


def test_a_call_is_as_long_as_its_work_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw of 2 columns takes 7 x 2 sums and 7 weights of 8 each: 70. One of 6 cells and 40 entries takes 56 + 46."""
    recorded = Recorded()
    monkeypatch.setattr(module, "_native", recorded)
    draws, units = BootstrapDraws(KEYS, np.ones(UNITS_NUMBER), SEED, 200), UNITS_NUMBER

    def calls(work: int, ask: Callable[[], Any]) -> list[tuple[int, int]]:
        monkeypatch.setattr(module, "CALL_WORK", work)
        recorded.calls.clear()
        ask()
        return list(recorded.calls)

    def whole() -> Any:
        return draws @ np.ones((units, 2))

    def cut() -> Any:
        return draws.scatter(cells(units)[1])

    parts = [(0, 64), (64, 64), (128, 64), (192, 8)]
    for sums, ask in ((70, whole), (102, cut)):
        assert calls(sums * 64, ask) == parts
        assert calls(sums * 96 - 1, ask) == parts  # whole groups of 32
        assert calls(sums * 64 - 1, ask)[:2] == [(0, 32), (32, 32)]
        assert calls(1, ask)[:2] == [(0, 32), (32, 32)]
        assert calls(sums * 224, ask) == [(0, 200)]
    draws = BootstrapDraws(KEYS, np.ones(UNITS_NUMBER), SEED, 64)
    assert calls(70 * 64, whole) == [(0, 64)]


def test_a_large_seed_counts_whole() -> None:
    draws = BootstrapDraws(KEYS, np.ones(UNITS_NUMBER), (1 << 40) + SEED, 32)
    assert (
        np.concatenate(list(draws.blocks())).tolist() == _native.poisson_weights(KEYS, (1 << 40) + SEED, 0, 32).tolist()
    )


def test_keys_depend_on_the_text_of_an_id_alone() -> None:
    numbers = unit_keys(np.array([7, -3, 10**12]))
    assert numbers.tolist() == unit_keys(np.array(["7", "-3", str(10**12)])).tolist()
    assert numbers.tolist() == unit_keys(np.array(["7", -3, 10**12], dtype=object)).tolist()
    assert len(set(unit_keys(np.array(["a", "b", "ab", "", "\ud800", "é"], dtype=object)).tolist())) == 6
    assert unit_keys(np.zeros(0, dtype=object)).tolist() == []
    assert unit_keys(np.array([7], dtype=np.int8)).tolist() == numbers[:1].tolist()


def test_plans_bind_to_units() -> None:
    units = Units(np.arange(UNITS_NUMBER), OWN)
    kinds = Units(np.arange(3), np.array([1.0, 0, 2]), np.array([4, 5, 6]))
    assert POINT.bind(units).role is Role.POINT
    assert np.concatenate(list(POINT.bind(kinds).blocks())).tolist() == [[4, 0, 12]]
    assert np.concatenate(list(COUNT.bind(kinds).blocks())).tolist() == [[4, 0, 6]]
    assert COUNT.bind(kinds).role is Role.COUNT
    assert np.concatenate(list(UNITS.bind(kinds).blocks())).tolist() == np.eye(3).tolist()
    assert np.concatenate(list(JACKKNIFE.bind(kinds).blocks())).tolist() == [
        [3, 0, 12],
        [4, 0, 12],
        [4, 0, 10],
    ]  # without one of the alike units
    draws = WeightPlan(Role.DRAWS, SEED, 32, 20).bind(units)
    assert np.concatenate(list(draws.blocks())).tolist() == (plain_rows(32, 20) * OWN).tolist()
    copied = WeightPlan(Role.DRAWS, SEED, rows=6).bind(Units(np.arange(7), None, np.arange(1, 8)))
    assert np.concatenate(list(copied.blocks())).tolist() == plain_rows(0, 6, np.arange(1, 8)).tolist()


def test_a_seed_is_taken_modulo_two_to_the_64() -> None:
    a, b = BootstrapDraws(KEYS, OWN, -1, 40), BootstrapDraws(KEYS, OWN, 2**64 - 1, 40)
    assert np.concatenate(list(a.blocks())).tolist() == np.concatenate(list(b.blocks())).tolist()

"""Compact letters against cases by hand, and against what they must mean."""

from __future__ import annotations

from importlib.resources import files
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.engine.ranks import ALPHABET, compact_letters
from steelyard.results.comparison import Lineup

SAMPLE = Path(str(files("steelyard") / "samples"))


@pytest.mark.parametrize(
    ("order", "different", "letters"),
    [
        ([0, 1, 2], [], ["a", "a", "a"]),
        ([0, 1, 2], [(0, 1), (0, 2), (1, 2)], ["a", "b", "c"]),
        ([0, 1, 2], [(0, 2)], ["a", "ab", "b"]),
        ([0, 1, 2, 3], [(0, 2), (0, 3), (1, 3)], ["a", "ab", "bc", "c"]),
        # The best is the last one.
        ([2, 1, 0], [(0, 2)], ["b", "ab", "a"]),
        # No chain: 0 differs from 3 alone, and 1 from 2 alone. Groups are {0,1}, {0,2}, {1,3}, {2,3}.
        ([0, 1, 2, 3], [(0, 3), (1, 2)], ["ab", "ac", "bd", "cd"]),
        # Piepho's fault of drawing lines by rank: the ends do not differ, the middle differs from both.
        ([0, 1, 2], [(0, 1), (1, 2)], ["a", "b", "a"]),
        # A model without a value is not in the order.
        ([0, 2], [(0, 2)], ["a", None, "b"]),
    ],
)
def test_by_hand(order: list[int], different: list[tuple[int, int]], letters: list[str | None]) -> None:
    made = compact_letters(order, different)
    assert [made.get(i) for i in range(len(letters))] == letters


def test_a_letter_is_shared_exactly_where_no_difference_is_shown() -> None:
    rng = np.random.default_rng(3)
    for count in range(2, 9):
        for _ in range(30):
            different = [pair for pair in combinations(range(count), 2) if rng.random() < rng.random()]
            made = compact_letters(rng.permutation(count).tolist(), different)
            for pair in combinations(range(count), 2):
                share = bool(set(made[pair[0]]) & set(made[pair[1]]))
                assert share == (pair not in different)


def test_too_many_groups_have_no_letters() -> None:
    different = [(3 * i + a, 3 * i + b) for i in range(6) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert len(ALPHABET) < 3**6
    assert compact_letters(range(18), different) == {}


def lineup() -> Lineup:
    truth, a, b = (str(SAMPLE / "weights" / name) for name in ("truth.csv", "model_a.csv", "model_b.csv"))
    return sy.compare("weights", truth, {"base": a, "again": a, "ours": b, "oracle": truth}, metrics=["mae"], draws=200)


def test_letters_in_every_table() -> None:
    # ours is better than base, which is the same as again; the truth is better than all.
    result = lineup()
    assert result.standings["mae"].letters == ("c", "c", "b", "a")
    text = result.to_text()
    names = ("base ", "again ", "ours ", "oracle ")
    rows = [line for line in text.splitlines() if line.startswith(names)][:4]  # a sentence below may begin so, too
    assert [row.split()[-1] for row in rows] == ["c", "c", "b", "a"]
    assert "share a letter" in " ".join(text.split())
    row = next(line for line in result.to_markdown().splitlines() if line.startswith("| again"))
    assert row.endswith(" c |")
    assert "rank 3-4, group c" in result.to_html()
    tex = result.to_latex(interval="none", marks="letters")
    assert "$^{c}$" in tex
    assert "share a letter" in tex
    assert "$^{*}$" not in tex
    assert "$^{*}$" in result.to_latex(interval="none")
    with refuses("E-invalid-setting", "'stars'"):
        result.to_latex(marks="stars")


def test_a_result_without_letters_is_read(tmp_path: Path) -> None:
    import json

    result = lineup()
    data = json.loads(result.to_json())
    assert data["body"]["standings"]["mae"]["letters"] == ["c", "c", "b", "a"]
    (tmp_path / "r.json").write_text(json.dumps(data))
    assert sy.load(tmp_path / "r.json") == result
    del data["body"]["standings"]["mae"]["letters"]
    (tmp_path / "old.json").write_text(json.dumps(data))
    assert sy.load(tmp_path / "old.json").standings["mae"].letters == ()
    data["body"]["standings"]["mae"]["letters"] = ["a"]
    (tmp_path / "bad.json").write_text(json.dumps(data))
    with refuses("E-invalid-result", "1", "letters", "4"):
        sy.load(tmp_path / "bad.json")

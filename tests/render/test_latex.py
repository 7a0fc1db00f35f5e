"""Tables of papers: what they hold by hand, that nothing of the data is read as LaTeX, and that a real one compiles them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import latex
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.render.latex import MARKS, escape_latex

SAMPLE = Path(str(files("steelyard") / "samples"))
WEIGHTS = [str(SAMPLE / "weights" / name) for name in ("truth.csv", "model_a.csv", "model_b.csv")]
HOSTILE = r"\input{/etc/passwd} 100% & $x_1^2$ #{~} <b>|\"é→κ"


def table(text: str) -> list[list[str]]:
    """The cells of the first tabular."""
    body = text.partition(r"\toprule")[2].partition(r"\bottomrule")[0]
    return [[cell.strip() for cell in line[:-2].split(" & ")] for line in body.splitlines() if line.endswith(r"\\")]


def lineup() -> sy.results.comparison.Lineup:  # type: ignore[name-defined]
    truth, a, b = WEIGHTS
    return sy.compare("weights", truth, {"base": a, "ours_1": b, "100 %": truth}, metrics=["mae", "bias"], draws=100)


def test_a_report() -> None:
    truth = {"dish": [1, 2, 3, 4], "item": [1, 1, 1, 1], "weight": [10.0, 20.0, 30.0, 40.0]}
    result = sy.evaluate("weights", truth, {**truth, "weight": [11.0, 18.0, 33.0, 44.0]}, ["mae"], confidence=None)
    # |1| + |2| + |3| + |4| over four items
    assert table(result.to_latex()) == [["Metric", "Score"], [r"Mean absolute error (g) $\downarrow$", "$2.5$"]]
    assert r"\caption{Food weights, dish by dish, 4 dishes.}" in result.to_latex()
    own = result.to_latex(caption=r"My \emph{own}", label="tab:mae")
    assert r"\caption{My \emph{own}}" in own
    assert r"\label{tab:mae}" in own


def test_intervals_in_three_ways() -> None:
    truth, a, _ = WEIGHTS
    score = (result := sy.evaluate("weights", truth, a, ["mae"], draws=100))["mae"]
    assert score.interval is not None
    low, value, high = (f"{number:.2f}" for number in (score.interval[0], score.value, score.interval[1]))
    assert table(result.to_latex())[1][1] == f"${value}_{{{low}}}^{{{high}}}$"
    assert table(result.to_latex(interval="brackets"))[1][1:] == [f"${value}$", f"$[{low}, {high}]$"]
    assert table(result.to_latex(interval="none"))[1][1] == f"${value}$"
    with refuses("E-invalid-setting", "'both'", "interval"):
        result.to_latex(interval="both")


def test_models_as_rows_with_the_best_in_bold_and_what_surely_differs_with_a_star() -> None:
    result = lineup()
    head, base, ours, whole = table(result.to_latex(interval="none"))
    assert head == ["Model", r"mae (g) $\downarrow$", r"bias (g) $\to 0$"]
    assert [row[0] for row in (base, ours, whole)] == ["base", r"ours\_1", r"100 \%"]
    assert whole[1] == r"$\mathbf{0}$$^{*}$"  # the truth itself: nothing is nearer
    assert "mathbf" not in base[1] + ours[1]
    assert ours[1].endswith("$^{*}$")
    assert result.comparisons[0]["mae"].verdict == "better"


def test_two_models() -> None:
    truth, a, b = WEIGHTS
    result = sy.compare("weights", truth, a, b, ["mae"], draws=100)
    head, row = table(result.to_latex(interval="none"))
    assert head == ["Metric", "A", "B", "Difference", "$p$", "Verdict"]
    assert row[0] == r"mae (g) $\downarrow$"
    assert row[2].startswith(r"$\mathbf{")
    assert row[3].startswith("$-")
    assert row[5] == "better"


def test_the_caption_names_the_methods() -> None:
    truth, a, b = WEIGHTS
    one = sy.evaluate("weights", truth, a, ["mae"], draws=100, seed=7).to_latex()
    assert r"95 \% intervals below and above each value: bootstrap and jackknife over units (100 draws, seed 7)." in one
    two = sy.compare("weights", truth, a, b, ["mae"], draws=100, cluster="cuisine").to_latex(interval="brackets")
    assert r"in brackets: bootstrap and jackknife over clusters by 'cuisine' (100 draws, seed 0)." in two
    assert "$p$: paired sign flips over clusters by 'cuisine', corrected for 1 test (max-T)." in two
    assert "Bold: the best value." in two
    three = lineup()
    # three models and two metrics: four tests against the first
    assert "by paired sign flips over units, corrected for 4 tests together (max-T)." in three.to_latex()
    lettered = three.to_latex(marks="letters", interval="none")
    assert "Models that share a letter are not shown to differ: all pairs together, by max-T" in lettered
    assert "intervals" not in lettered


def test_the_command_marks_models_with_letters(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    """Two models that are equal share a letter; the truth itself is better than both."""
    truth, a, _ = WEIGHTS
    models = ("x=" + a, "y=" + a, "z=" + truth)
    done = steelyard("compare", "weights", truth, *models, "-m", "mae", "--draws", "100", "--latex", "t.tex")
    assert done.returncode == 0, done.stderr
    assert "wrote t.tex" in done.stderr
    _, x, y, z = table((tmp_path / "t.tex").read_text(encoding="utf-8"))
    assert x[1].endswith("$^{b}$")
    assert y[1].endswith("$^{b}$")
    assert z[1].startswith(r"$\mathbf{0}")
    assert z[1].endswith("$^{a}$")
    done = steelyard("compare", "weights", truth, *models[1:], "-m", "mae", "--draws", "100", "--latex", "t.tex", "-q")
    assert done.returncode == 0, done.stderr
    assert table((tmp_path / "t.tex").read_text(encoding="utf-8"))[0][-1] == "Verdict"


def test_nothing_of_a_name_is_read() -> None:
    assert escape_latex("a_b & 50 % \\x") == r"a\_b \& 50 \% \textbackslash{}x"
    plain = escape_latex(HOSTILE).translate({ord(c): None for c in "$"})
    for mark in "&%#_":
        assert plain.count(mark) == plain.count(f"\\{mark}")
    assert r"\input" not in plain
    assert escape_latex("a\nb\tc") == "a b c"


@pytest.mark.skipif(latex.find() is None, reason=latex.HOW)
def test_a_real_latex_compiles_every_kind(tmp_path: Path) -> None:
    truth, a, b = WEIGHTS
    names = {HOSTILE: a, "".join(MARKS): b, "third": truth}
    models = sy.compare("weights", truth, names, draws=100)
    two = sy.compare(
        "labels", *(str(SAMPLE / "labels" / n) for n in ("truth.csv", "model_a.csv", "model_b.csv")), draws=100
    )
    one = sy.evaluate("weights", truth, a, by=["cuisine"], draws=100)
    tables = [
        kind.to_latex(interval=way) for kind in (models, models[0], two, one) for way in ("sub", "brackets", "none")
    ]
    tables.append(models.to_latex(marks="letters"))
    latex.compiled("\n\\clearpage\n".join(tables), tmp_path)
    assert (tmp_path / "paper.pdf").stat().st_size > 10_000

"""Formulas in the terminal: right as they are read, and without a command of LaTeX, for every metric of the catalogue."""

from __future__ import annotations

import re

import pytest

from steelyard.core import catalogue
from steelyard.core.metric import describe
from steelyard.render.formula import plain_formula

CLASSES = {(task, cls.name): cls for task, found_task in catalogue.built_in().items() for cls in found_task.metrics}


@pytest.mark.parametrize(("task", "name"), CLASSES)
def test_no_command_of_latex_is_left(task: str, name: str) -> None:
    text = plain_formula(describe(CLASSES[task, name]).formula)
    assert "\\" not in text
    assert "^{" not in text
    assert "_{" not in text
    assert "\n" not in text
    assert not re.search(r"/ \d+ /|/ \w+ / \w+ Σ|\d / \w+ ?Σ|\d / \w+ \w", text), (
        "a fraction that is a factor needs brackets"
    )
    for opening, closing in ("()", "[]", "{}"):
        assert text.count(opening) == text.count(closing)


@pytest.mark.parametrize(
    ("task", "name", "text"),
    [
        ("sequences", "pmae_overall", "PMAE_overall = 100 MAE_overall / ((1 / (Σᵢ Tᵢ)) Σᵢ Σₜ W_(i,t))"),
        ("sequences", "pmae_initial", "PMAE_initial = 100 MAE_initial / ((1 / N) Σᵢ W_(i,0))"),
        ("weights", "wmae_total", "WMAE_total = (1 / D) Σ_d ((Σ_(i ∈ d) |ŷᵢ − yᵢ| yᵢ) / (Σ_(i ∈ d) yᵢ))"),
        ("boxes", "ap", "AP = (1 / K) Σₖ ∫₀¹ pₖ(r) dr"),
        ("boxes", "mean_iou", "mean(IoU) = (1 / |M|) Σ_((d, g) ∈ M) IoU(d, g)"),
        ("boxes", "dap", "ΔAPₑ = max(0, AP(e repaired) − AP)"),
        ("captions", "spice", "SPICE = (1 / N) Σᵢ F₁(Gᵢ, Rᵢ), P = |G ⊗ R| / |G|, R = |G ⊗ R| / |R|"),
        ("labels", "ovo", "ovo(m) = (2 / (K(K−1))) Σ_(j<k) ½ (m_(j|k) + m_(k|j))"),
        ("answers", "wip", "WIP = (H / (H + S + D)) · (H / (H + S + I))"),
        ("tracking", "idf1", "IDF₁ = IDTP / (IDTP + ½ IDFN + ½ IDFP)"),
    ],
)
def test_formulas_by_hand(task: str, name: str, text: str) -> None:
    assert plain_formula(describe(CLASSES[task, name]).formula) == text

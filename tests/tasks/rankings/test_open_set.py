"""Open-set identification: goldens by a plain loop over the rule, and numbers by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy

GOLDEN: dict[str, Any] = json.loads((TESTS / "goldens" / "verification.json").read_text(encoding="utf-8"))["open_set"]


def lists() -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    similarity, mate = np.array(GOLDEN["similarity"]), GOLDEN["mate"]
    probes, people = similarity.shape
    names = [f"probe {i:02}" for i in range(probes)]
    truth = {
        "query": names,
        "doc": ["nobody" if m < 0 else f"p{m}" for m in mate],
        "relevance": [int(m >= 0) for m in mate],
    }
    run = {
        "query": [name for name in names for _ in range(people)],
        "doc": [f"p{k}" for _ in names for k in range(people)],
        "score": similarity.ravel().tolist(),
    }
    return truth, run


def test_rates_as_the_rule_says() -> None:
    for level, expected in GOLDEN["fpir"].items():
        if level == "0.0":
            continue
        specs = [f"fnir@{level}", f"tpir@{level}", f"fnir@{level}(rank=0)"]
        report = sy.evaluate("rankings", *lists(), specs, confidence=None)
        first, any_rank = expected["fnir_rank1"], expected["fnir_any_rank"]
        assert [report[spec].value for spec in specs] == pytest.approx([first, 1 - first, any_rank])
    report = sy.evaluate("rankings", *lists(), ["hit@1", "hit@2", "hit@5"], confidence=None)
    assert [report[f"hit@{k}"].value for k in (1, 2, 5)] == [GOLDEN["rank"][k] for k in ("1", "2", "5")]


def test_without_probes_that_are_not_enrolled_hit_rates_stay() -> None:
    truth, run = lists()
    mated = {name: column[:16] for name, column in truth.items()}
    report = sy.evaluate("rankings", mated, run, ["fnir@0.1", "hit@1"], confidence=None)
    assert np.isnan(report["fnir@0.1"].value)
    assert report["hit@1"].value == GOLDEN["rank"]["1"]


def test_a_probe_whose_mate_is_not_found_is_missed() -> None:
    truth = {"query": ["a", "b", "x"], "doc": ["p", "q", "nobody"], "relevance": [1, 1, 0]}
    run = {"query": ["a", "a", "b", "x"], "doc": ["p", "q", "p", "p"], "score": [0.9, 0.2, 0.8, 0.3]}
    assert sy.evaluate("rankings", truth, run, ["fnir@0.5"], confidence=None)["fnir@0.5"].value == 0.5


def test_bad_settings_are_refused() -> None:
    for spec in ("fnir@0", "tpir@1", "fnir@0.1(rank=-1)", "fnir@0.1(rank=1.5)"):
        with refuses("E-invalid-spec"):
            sy.evaluate("rankings", *lists(), [spec], confidence=None)
    truth, run = lists()
    with refuses("E-unsupported", "exclude"):
        excluded = truth | {"exclude": [1] + [0] * 23}
        sy.evaluate("rankings", excluded, run, ["fnir@0.1"], confidence=None)

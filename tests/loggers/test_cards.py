"""Cards and scalars of scores that lack a value, an interval or a rank."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.loggers import flat, huggingface, tensorboard

TRUTH = {"dish": ["a", "b"], "weight": [10.0, 20.0]}


GIVEN = {"dish": ["a", "b"], "weight": [11.0, 18.0]}


CARD = {"task_type": "t", "dataset_name": "d", "dataset_type": "d"}


@pytest.fixture(scope="module")
def report() -> sy.Report:
    return sy.evaluate("weights", TRUTH, GIVEN, ["mae"], draws=100)


def without_value(report: sy.Report) -> sy.Report:
    score = replace(report.scores["mae"], value=math.nan, interval=None, undefined_reason="nothing was weighed")
    return replace(report, scores={"mae": score})


def test_cards_of_scores_that_are_undefined(report: sy.Report) -> None:
    bare = without_value(report)
    with refuses("E-missing-data", "defined"):
        huggingface.model_index(bare, "m", **CARD)
    with refuses("E-missing-data", "'mae'"):
        huggingface.model_index(bare, "m", metrics=["mae"], **CARD)


def test_a_card_of_a_score_without_an_interval(report: sy.Report) -> None:
    bare = replace(report, scores={"mae": replace(report.scores["mae"], interval=None)})
    assert huggingface.eval_results(bare, "d", {"mae": "t"}) == (
        '- dataset:\n    id: "d"\n    task_id: "t"\n  value: 1.5\n  notes: "mae, 2 units"\n'
    )


def test_a_writer_without_texts_takes_the_scalars(report: sy.Report) -> None:
    written: list[Any] = []
    writer = SimpleNamespace(add_scalar=lambda *given: written.append(given))
    values = tensorboard.log(report, writer, 3)
    assert written == [(name, value, 3) for name, value in values.items()]
    assert values["mae"] == 1.5


def test_a_model_without_a_rank_has_no_scalar_of_it() -> None:
    lineup = sy.compare("weights", TRUTH, [GIVEN, TRUTH, GIVEN], metrics=["mae"], draws=100)
    first, second, third = (0, 0), *lineup.standings["mae"].ranks[1:]
    standing = replace(lineup.standings["mae"], ranks=(first, second, third))
    part = replace(lineup, standings={"mae": standing})
    missing = set(flat.flat(lineup)) - set(flat.flat(part))
    names = {name.rpartition("/")[2] for name in missing}
    assert (len(missing), names) == (2, {"mae_rank_first", "mae_rank_last"})

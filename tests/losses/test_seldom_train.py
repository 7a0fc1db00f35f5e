"""Losses, loggers and callbacks where few go: arrays of odd layouts, undefined scores, steps of another form."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refused

import steelyard as sy
from steelyard.integrations.batches import as_batch
from steelyard.integrations.ultralytics import Evaluation as OfUltralytics
from steelyard.loggers import flat, huggingface, tensorboard
from steelyard.losses import detection, focal, sums
from steelyard.losses.arrays import kind, torch_namespace
from steelyard.losses.host import focal_sum
from steelyard.partial.accumulator import Accumulator

torch = lazy("torch")

LOGITS = np.array([[[0.5, -1.0, 2.0], [0.0, 1.0, -0.5]]])
LABELS = np.array([[0, 1]])


# --- losses


def test_complex_numbers_are_of_no_kind() -> None:
    xp = torch_namespace()
    kinds = [kind(xp, torch.zeros(1, dtype=one)) for one in (torch.float16, torch.int8, torch.bool, torch.complex64)]
    assert kinds == ["floating", "integer", "bool", "other"]


def test_an_anchor_of_which_no_element_counts_is_no_positive() -> None:
    ignore = np.zeros(LOGITS.shape, bool)
    ignore[0, 0] = True
    total, shared = (
        focal.focal_loss(LOGITS, LABELS, ignore=ignore, reduction=reduction) for reduction in ("sum", "positives")
    )
    assert shared == pytest.approx(total / (1 + 1))
    ignore[0, 0, 2] = False
    assert focal.focal_loss(LOGITS, LABELS, ignore=ignore, reduction="positives") == pytest.approx(
        focal.focal_loss(LOGITS, LABELS, ignore=ignore, reduction="sum") / (2 + 1)
    )


def test_logits_of_a_layout_that_no_kernel_walks() -> None:
    planes = np.zeros((2, 3, 4, 5), np.float32).transpose(0, 2, 3, 1)
    turned = np.zeros((2, 3, 4), np.float32).transpose(1, 0, 2)  # classes last, and the anchors before them turned
    sums_of = [
        focal_sum(lies, np.zeros(lies.shape[:-1], np.int64), (0.25, 0.75), 0.0, None, 1) for lies in (planes, turned)
    ]
    # Of a logit of 0 the cross-entropy is log 2: one class of three is the anchor's.
    assert sums_of == [pytest.approx(40 * math.log(2) * (0.25 + 2 * 0.75), rel=1e-6), None]


class Kernels:
    """Stands for the kernels of a GPU; None is what they give of arrays that they do not know."""

    Settings = staticmethod(lambda *given, **named: given)
    Level = staticmethod(lambda *given: given)

    def __init__(self, known: bool) -> None:
        self.known = known

    def losses(self, settings: Any, levels: Any, weight: Any, positives: Any, plain: Any, anchors: Any = None) -> Any:
        made = plain()
        return made if self.known else None


@pytest.mark.parametrize("known", [True, False])
def test_kernels_are_asked_first_and_the_formulas_else(known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes, targets = np.ones((1, 2, 4)), np.zeros((1, 2, 4))
    before = detection.detection_loss(LOGITS, boxes, LABELS, targets)
    alone = focal.focal_loss(LOGITS, LABELS, reduction="sum")
    for module in (detection, focal):
        monkeypatch.setattr(module, "on_gpu", lambda x: Kernels(known))
    assert detection.detection_loss(LOGITS, boxes, LABELS, targets) == before
    assert focal.focal_loss(LOGITS, LABELS, reduction="sum") == alone


def test_without_triton_there_are_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "find_spec", lambda name: None)
    assert sums._fused.__wrapped__() is None


# --- loggers

TRUTH = {"dish": ["a", "b"], "weight": [10.0, 20.0]}
GIVEN = {"dish": ["a", "b"], "weight": [11.0, 18.0]}
CARD = {"task_type": "t", "dataset_name": "d", "dataset_type": "d"}


@pytest.fixture(scope="module")
def report() -> sy.Report:
    return sy.evaluate("weights", TRUTH, GIVEN, ["mae"], draws=100)


def without_value(report: sy.Report) -> sy.Report:
    score = replace(report.scores["mae"], value=math.nan, interval=None, why="nothing was weighed")
    return replace(report, scores={"mae": score})


def test_cards_of_scores_that_are_undefined(report: sy.Report) -> None:
    bare = without_value(report)
    assert refused(lambda: huggingface.model_index(bare, "m", **CARD)) == (
        "no score of the result is defined. Evaluate data that have one."
    )
    assert refused(lambda: huggingface.model_index(bare, "m", metrics=["mae"], **CARD)) == (
        "'mae' is undefined: nothing was weighed. Leave it out."
    )


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
    lineup = sy.compare_all("weights", TRUTH, [GIVEN, TRUTH, GIVEN], ["mae"], draws=100)
    first, second, third = (0, 0), *lineup.standings["mae"].ranks[1:]
    standing = replace(lineup.standings["mae"], ranks=(first, second, third))
    part = replace(lineup, standings={"mae": standing})
    missing = set(flat.flat(lineup)) - set(flat.flat(part))
    names = {name.rpartition("/")[2] for name in missing}
    assert (len(missing), names) == (2, {"mae_rank_first", "mae_rank_last"})


# --- callbacks


def test_batches_of_columns_and_of_arrays() -> None:
    state = Accumulator("labels")
    columns = {"id": [1], "label": ["a"]}
    assert as_batch(state, columns, columns, None, 0, 0) == (columns, columns)
    assert refused(lambda: as_batch(state, columns, columns, [1], 0, 0)) == (
        "ids are for arrays. Columns have a column of ids."
    )
    assert refused(lambda: as_batch(Accumulator("captions"), ["a dog"], ["a cat"], None, 0, 0)) == (
        "these arrays cannot be taken. Give dicts of columns."
    )


def test_truth_of_another_format(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    path.write_text(json.dumps({"images": []}))
    validator = SimpleNamespace(jdict=[{}], names={0: "a"})
    assert refused(lambda: OfUltralytics(path)(validator)) == (
        f"{path}: is no file of COCO's format. It needs images, categories."
    )

"""What other tools print for the same scores, as the goldens that they made themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy

GOLDENS: dict[str, Any] = json.loads((TESTS / "goldens" / "verification.json").read_text(encoding="utf-8"))


def theirs(truth: Any, predictions: Any, tool: str, metric: str, **options: str) -> dict[str, float]:
    sides = truth, predictions
    report = sy.evaluate("labels", *sides, [metric], confidence=None, options=options, explain=[tool])
    explanation = report.explanations[0]
    assert set(explanation.ours) == set(explanation.theirs)
    return dict(explanation.theirs)


def near(values: Any) -> Any:
    return pytest.approx(values, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", ["drawn", "no_ties", "separated"])
def test_verification(name: str) -> None:
    golden = GOLDENS["verification"][name]
    genuine, impostor = golden["genuine"], golden["impostor"]
    sides = {"label": [1] * len(genuine) + [0] * len(impostor)}, {"score": genuine + impostor}
    insightface = theirs(*sides, "insightface", "eer")
    bob = theirs(*sides, "bob", "eer")
    pyeer = theirs(*sides, "pyeer", "eer")
    for far in ("0.001", "0.01", "0.1"):
        assert insightface[f"tar@{far}"] == near(golden["sklearn"]["tar_at_far"][far]["nearest_ijb"])
        assert bob[f"tar@{far}"] == near(golden["bob"]["far_threshold"][far]["tar"])
    assert bob["eer"] == near(golden["bob"]["eer"]["value"])
    assert pyeer["eer"] == near(golden["pyeer"]["eer"])
    if name != "no_ties":  # where two points are equally near, pyeer goes by rounding
        numbers = [golden["pyeer"][key] for key in ("fmr1000", "fmr100", "fmr10")]
        assert [pyeer[f"frr@{far}"] for far in ("0.001", "0.01", "0.1")] == near(numbers)


@pytest.mark.parametrize("name", GOLDENS["ood"])
def test_out_of_distribution(name: str) -> None:
    golden = GOLDENS["ood"][name]
    truth = {"label": ["x" if label == -1 else str(label) for label in golden["label"]]}
    predictions = {"score": golden["confidence"], "label": [str(label) for label in golden["predicted"]]}
    options = {"ood": "x", "higher": "id"}
    openood = theirs(truth, predictions, "openood", "roc_auc", **options)
    keys = "fpr95_ood_positive", "auroc", "aupr_in", "aupr_out", "accuracy"
    assert list(openood.values()) == near([golden["openood"][key] for key in keys])
    other = theirs(truth, predictions, "pytorch-ood", "roc_auc", **options)
    assert list(other.values()) == near(
        [golden["pytorch_ood"][key] for key in ("fpr95", "auroc", "aupr_in", "aupr_out")]
    )


@pytest.mark.parametrize("name", ["drawn", "no_error", "all_wrong"])
def test_rejection(name: str) -> None:
    golden = GOLDENS["selective"][name]
    truth = {"label": [0] * len(golden["wrong"])}
    # Its unstable sort put the right one of two equal rows of "drawn" first: a difference too small to matter otherwise.
    nudged = [value - 1e-9 * wrong for value, wrong in zip(golden["confidence"], golden["wrong"], strict=True)]
    predictions = {"label": golden["wrong"], "confidence": nudged}
    expected = golden["torch_uncertainty_0.13.0"]
    printed = theirs(truth, predictions, "torch-uncertainty", "aurc")
    assert printed == near({"aurc": expected["AURC"], "augrc": expected["AUGRC"]})


def test_what_cannot_be_explained() -> None:
    sides = {"label": ["a", "b", "c"]}, {"label": ["a", "b", "c"]}
    with refuses("E-unsupported", "3 classes"):
        sy.evaluate("labels", *sides, ["accuracy"], explain=["bob"])
    with refuses("E-unknown-name", "pyeer"):
        sy.evaluate("labels", *sides, ["accuracy"], explain=["pyer"])

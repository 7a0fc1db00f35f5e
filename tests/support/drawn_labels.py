"""Drawn data of labels, in all their forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data


def draw_labels(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Two classes, groups as units, ties in the probabilities, weights by row; each group holds both classes."""
    group = np.repeat([f"g{unit}" for unit in range(units)], rng.integers(2, 6, units))
    label = np.where(rng.random(len(group)) < 0.4, "yes", "no")
    first = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    label[first], label[first + 1] = "yes", "no"
    probability = np.round(np.clip(rng.normal(0.35 + 0.3 * (label == "yes"), 0.2), 0.01, 0.99), 2)
    ids = [f"r{i}" for i in range(len(group))]
    truth = {"id": ids, "label": label, "group": group, "weight": np.round(rng.uniform(0.5, 2, len(group)), 2)}
    return truth, {"id": ids, "probability": probability}


def perfect_labels(truth: Data) -> Data:
    return {"id": truth["id"], "probability": (np.asarray(truth["label"]) == "yes").astype(float)}


def draw_multiclass(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """One row per unit, four classes with probabilities, weights; every class has a row among any eight."""
    names = np.array(["ant", "bee", "cat", "dog"])
    label = np.where(np.arange(units) % 2 == 0, names[np.arange(units) // 2 % 4], rng.choice(names, units))
    probability = rng.dirichlet(np.ones(4), units) + 0.8 * (label[:, np.newaxis] == names)
    probability /= probability.sum(axis=1, keepdims=True)
    ids = [f"r{i}" for i in range(units)]
    truth = {"id": ids, "label": label, "weight": np.round(rng.uniform(0.5, 2, units), 2)}
    return truth, {"id": ids, **{f"probability:{name}": probability[:, i] for i, name in enumerate(names)}}


def draw_multilabel(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """One row per unit with none to three of four classes on either side."""
    names = np.array(["ant", "bee", "cat", "dog"])
    has = rng.random((units, 4)) < 0.45
    predicted = has ^ (rng.random((units, 4)) < 0.2)
    ids = [f"r{i}" for i in range(units)]
    truth, predictions = (["|".join(names[row]) for row in side] for side in (has, predicted))
    return {"id": ids, "labels": truth}, {"id": ids, "labels": predictions}


def draw_counted(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """So many rows of labels alone that they are counted by cell, whatever the number of units asked for."""
    names, rows = np.array(["ant", "bee", "cat"]), 10_001
    label = rng.choice(names, rows)
    ids = [f"r{i}" for i in range(rows)]
    return {"id": ids, "label": label}, {
        "id": ids,
        "label": np.where(rng.random(rows) < 0.7, label, rng.choice(names, rows)),
    }


def draw_confident(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Labels with a confidence and ties in it, in groups, with weights that are whole numbers."""
    truth, _ = draw_labels(rng, units)
    confidence = np.round(rng.random(len(truth["id"])), 1)
    label = np.where((rng.random(len(confidence)) < 0.6) | (confidence > 0.7), truth["label"], "no")
    weight = rng.integers(1, 4, len(label))
    return truth | {"weight": weight}, {"id": truth["id"], "label": label, "confidence": confidence}


def perfect_confident(truth: Data) -> Data:
    return {"id": truth["id"], "label": truth["label"], "confidence": np.linspace(0, 1, len(truth["id"]))}


def draw_folded(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Two classes with the fold of every group, and weights that are whole numbers."""
    truth, predictions = draw_labels(rng, units)
    fold = [int(group[1:]) % 3 for group in truth["group"]]
    return truth | {"weight": rng.integers(1, 4, len(fold)), "fold": fold}, predictions


def draw_unknowns(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Three classes and one that is out of distribution in every group, with scores that tie."""
    truth, _ = draw_labels(rng, units)
    known = rng.choice(["ant", "bee", "cat"], len(truth["id"]))
    label = np.where(np.asarray(truth["label"]) == "yes", "unknown", known)
    guess = np.where(rng.random(len(label)) < 0.7, known, "ant")
    score = np.round(rng.normal((label == "unknown") * 1.0, 1.0), 1)
    return truth | {"label": label}, {"id": truth["id"], "label": guess, "score": score}


def draw_sets(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """The same with three sets of rows out of distribution."""
    truth, predictions = draw_unknowns(rng, units)
    return truth | {"source": rng.choice(["near", "far", "noise"], len(truth["id"]))}, predictions


def perfect_unknowns(truth: Data) -> Data:
    unknown = np.asarray(truth["label"]) == "unknown"
    return {"id": truth["id"], "label": np.where(unknown, "ant", truth["label"]), "score": unknown.astype(float)}


def draw_probes(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Probes, every other of them enrolled among six people, with scores that tie."""
    names = [f"q{unit}" for unit in range(units)]
    mate = [f"p{unit % 6}" if unit // 3 % 2 else "nobody" for unit in range(units)]
    truth = {"query": names, "doc": mate, "relevance": [int(person != "nobody") for person in mate]}
    score = rng.normal(0, 1, (units, 6))
    score[np.arange(units), np.arange(units) % 6] += 1.5 * np.array(truth["relevance"])
    run = {
        "query": np.repeat(names, 6),
        "doc": [f"p{k}" for k in range(6)] * units,
        "score": np.round(score.ravel(), 1),
    }
    return truth, run


def perfect_probes(truth: Data) -> Data:
    enrolled = np.array(truth["relevance"])
    return {"query": truth["query"], "doc": np.where(enrolled > 0, truth["doc"], "p0"), "score": enrolled.astype(float)}


SKIP = {"missing": "skip", "extra": "skip"}
DRAWN = {"labels": Drawn(draw_labels, perfect_labels, unit="group", weight="weight", policy=SKIP)}
# Metrics that are defined on data of their own only: all laws hold for them there.
OF_OWN_DATA = {
    ("labels", "aurc", "e_aurc", "augrc", "risk@0.8", "coverage@0.05", "e_aurc(oracle=closed)"): Drawn(
        draw_confident, perfect_confident, unit="group", weight="weight", policy=SKIP
    ),
    ("labels", "fold_accuracy"): Drawn(draw_folded, perfect_labels, unit="group", weight="weight", policy=SKIP),
    ("labels", "ccr@0.1", "oscr", "id_accuracy"): Drawn(
        draw_unknowns,
        perfect_unknowns,
        unit="group",
        weight="weight",
        policy=SKIP,
        options={"ood": "unknown", "higher": "ood"},
    ),
}
OF_OWN_DATA[("labels", "sources(roc_auc)", "sources(aupr(positive=ood))", "sources(fpr_at_tpr@95(positive=ood))")] = (
    Drawn(
        draw_sets,
        perfect_unknowns,
        unit="group",
        weight="weight",
        policy=SKIP,
        options={"ood": "unknown", "higher": "ood"},
    )
)
OF_OWN_DATA[("rankings", "tpir@0.01", "fnir@0.01", "fnir@0.3(rank=0)")] = Drawn(draw_probes, perfect_probes)
VARIANTS: dict[str, tuple[Callable[[np.random.Generator, int], tuple[Data, Data]], tuple[str, ...]]] = {
    "labels:multiclass": (
        draw_multiclass,
        ("accuracy", "balanced_accuracy", "macro(f1)", "weighted(f1)", "micro(f1)", "mcc", "kappa", "f1(label=bee)",
         "macro(roc_auc)", "macro(ap)", "micro(roc_auc)", "ovo(roc_auc)", "log_loss", "brier", "ece"),
    ),
    "labels:multilabel": (draw_multilabel, ("accuracy", "macro(f1)", "micro(f1)", "weighted(f1)", "macro(precision)")),
    "labels:counted": (draw_counted, ("accuracy", "balanced_accuracy", "macro(f1)", "mcc", "kappa", "recall(label=cat)")),
}  # fmt: skip

"""Drawn data of weights, sequences, losses and rankings: rows of tables."""

from __future__ import annotations

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of, same_columns


def draw_weights(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    dish, item = [], []
    for unit in range(units):
        count = int(rng.integers(1, 5))
        dish += [f"d{unit}"] * count
        item += [f"i{i}" for i in range(count)]
    weight = np.round(rng.gamma(2.0, 60.0, len(dish)), 1)
    weight[rng.random(len(dish)) < 0.05] = 0.0
    predicted = np.round(weight * rng.uniform(0.5, 1.6, len(dish)) + rng.normal(0, 5, len(dish)), 1)
    truth = {"dish": dish, "item": item, "weight": weight, "group": [f"g{hash_of(d) % 3}" for d in dish]}
    return truth, {"dish": dish, "item": item, "weight": predicted}


def draw_sequences(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    sequence: list[str] = []
    t: list[int] = []
    density: list[float] = []
    for unit in range(units):
        count = int(rng.integers(1, 7))
        sequence += [f"s{unit}"] * count
        t += list(range(count))
        density += [float(np.round(rng.uniform(0, 4), 2))] * count
    weight = np.round(rng.gamma(2.0, 60.0, units)[[int(s[1:]) for s in sequence]] * 0.8 ** np.array(t), 1)
    valid = rng.random(len(t)) > 0.1
    first = np.flatnonzero(np.array(t) == 0)
    valid[first[::2]] = True
    for unit in range(units):  # at least one valid frame in each sequence
        rows = np.flatnonzero(np.array(sequence) == f"s{unit}")
        if not valid[rows].any():
            valid[rows[0]] = True
    predicted = np.round(weight * rng.uniform(0.5, 1.6, len(t)) + rng.normal(0, 5, len(t)), 1)
    time = 30.0 * np.array(t) + [hash_of(s) % 7 for s in sequence]
    truth = {
        "sequence": sequence, "t": t, "weight": weight, "kcal_per_g": density, "time": time, "valid": valid,
        "group": [f"g{hash_of(s) % 3}" for s in sequence],
    }  # fmt: skip
    return truth, {"sequence": sequence, "t": t, "weight": predicted}


def draw_losses(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    image, item, target, value, logit, predicted = [], [], [], [], [], []
    for unit in range(units):
        for row in range(int(rng.integers(2, 9))):
            image.append(f"m{unit}")
            item.append(f"r{row}")
            hard = 1.0 if row == 0 else float(rng.random() < 0.2)  # at least one positive and one coordinate
            soft = float(np.round(rng.random(), 2))
            is_class, is_box = row != 1, row == 1 or rng.random() < 0.3
            target.append((soft if rng.random() < 0.2 and row else hard) if is_class else np.nan)
            logit.append(float(rng.normal(0, 4)) if is_class else np.nan)
            value.append(float(np.round(rng.normal(), 2)) if is_box else np.nan)
            predicted.append(value[-1] + float(rng.normal(0, 0.7)))
    ignore = np.array([int(i[1:]) > 1 for i in item]) & (rng.random(len(item)) < 0.1)
    truth = {
        "image": image, "item": item, "target": np.array(target), "value": np.array(value), "ignore": ignore,
        "group": [f"g{hash_of(m) % 3}" for m in image],
    }  # fmt: skip
    return truth, {"image": image, "item": item, "logit": np.array(logit), "value": np.array(predicted)}


def perfect_losses(truth: Data) -> Data:
    """Logits far out on the right side. A soft target has a loss of its own, so its row must not count."""
    soft = (truth["target"] > 0) & (truth["target"] < 1)
    truth["ignore"] = truth["ignore"] | soft
    logit = np.where(truth["target"] > 0.5, 2000.0, np.where(np.isnan(truth["target"]), np.nan, -2000.0))
    return {"image": truth["image"], "item": truth["item"], "logit": logit, "value": truth["value"]}


def draw_rankings(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Ten relevant documents a query, so that every metric at 10 can be perfect; ties, and documents unjudged."""
    truth: Data = {"query": [], "doc": [], "relevance": [], "group": []}
    run: Data = {"query": [], "doc": [], "score": []}
    for unit in range(units):
        docs = [f"d{i:03d}" for i in rng.permutation(200)[:40]]
        relevance = [*rng.integers(1, 5, 10).tolist(), *rng.integers(-1, 1, 10).tolist()]
        truth["query"] += [f"q{unit}"] * 20
        truth["doc"] += docs[:20]
        truth["relevance"] += relevance
        truth["group"] += [f"g{unit % 3}"] * 20
        result = [i for i in range(40) if rng.random() < 0.8] or [0]
        run["query"] += [f"q{unit}"] * len(result)
        run["doc"] += [docs[i] for i in result]
        run["score"] += np.round(rng.normal(0, 1, len(result)) + [0.7 * (i < 10) for i in result], 1).tolist()
    return truth, run


def perfect_rankings(truth: Data) -> Data:
    return {"query": truth["query"], "doc": truth["doc"], "score": [float(x) for x in truth["relevance"]]}


SKIP = {"missing": "skip", "extra": "skip"}
DRAWN = {
    "weights": Drawn(draw_weights, same_columns("dish", "item", "weight")),
    "sequences": Drawn(draw_sequences, same_columns("sequence", "t", "weight"), policy=SKIP),
    "losses": Drawn(draw_losses, perfect_losses, policy=SKIP),  # which have no worst value
    "rankings": Drawn(draw_rankings, perfect_rankings),
}

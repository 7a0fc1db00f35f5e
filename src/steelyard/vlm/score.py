"""The score of a run: for each model and prompt the errors of the paper, and whether the instrument can be trusted.

The errors, their intervals over sequences and the paired comparisons are those of `evaluate` and `compare`; nothing is
computed here. Readings without a number are missing: the coverage says how many, and prompts are compared on the frames
that both have. Own questions are scored by `score_answers`.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard import api
from steelyard.core.errors import InputError, nearest
from steelyard.results.comparison import Comparison
from steelyard.results.vlm import Pair, PromptScore, RunSource, VlmScore
from steelyard.vlm.answers import OUTCOMES, PARSER_VERSION
from steelyard.vlm.examples import LiveRuns
from steelyard.vlm.plan import BLANK, REAL, SWAPPED
from steelyard.vlm.readings import Run, Taken, read_run
from steelyard.vlm.score_answers import Replies, replies
from steelyard.vlm.score_answers import pairs as own_pairs
from steelyard.vlm.score_answers import row as own_row

METRICS: dict[str, tuple[str, ...]] = {
    "sequences": (
        "mae_overall", "pmae_overall", "mae_initial", "pmae_initial", "mae_consumed", "pmae_consumed", "mae_kcal",
        "pmae_kcal", "slope", "rises", "heaping@10",
    ),
    "weights": ("mae", "wape", "mape", "bias", "slope", "heaping@10"),
}  # fmt: skip
# Which prompts are compared, and what the comparison asks.
NAME_HELPS, REASON_HELPS = "does the name help?", "does reasoning help?"
PAIRS = (
    ("direct", "direct+name", NAME_HELPS),
    ("reason", "reason+name", NAME_HELPS),
    ("direct", "reason", REASON_HELPS),
    ("direct+name", "reason+name", REASON_HELPS),
)
Key = tuple[str, int]


def score(
    folders: Sequence[str | Path] | str | Path,
    *,
    task: str = "sequences",
    confidence: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
    mode: str | None = None,
) -> VlmScore:
    """Score runs: errors with intervals, differences between prompts, checks of the instrument."""
    if task not in METRICS:
        raise InputError(f"a run cannot be scored as '{task}'", remedy=nearest(task, METRICS))
    if not 0 < confidence < 1:  # said here too: a run without readings never comes to its intervals
        raise InputError(f"a confidence of {confidence:g} is not between 0 and 1", remedy="For 95 % write 0.95.")
    places = [folders] if isinstance(folders, str | Path) else list(folders)
    settings = {"confidence": confidence, "draws": draws, "seed": seed}
    rows: list[PromptScore] = []
    pairs: list[Pair] = []
    predictions: dict[tuple[str, str], dict[Key, float]] = {}
    truths: dict[Key, tuple[float, float]] = {}
    own: list[Replies] = []
    shown: set[Key] = set()
    taken_names: set[tuple[str, str]] = set()
    runs = []
    for place in places:
        run = read_run(place, mode)
        runs.append(run)
        truth = _truth(run) if any(taken.asked.weighs for taken in run.taken) else {}
        truths |= truth
        groups: dict[tuple[str, str], dict[str, list[Taken]]] = {}
        for taken in run.taken:
            groups.setdefault((taken.model, taken.prompt), {}).setdefault(taken.variant, []).append(taken)
        for (model, prompt), variants in groups.items():
            label = model if (model, prompt) not in taken_names else f"{model} ({place})"
            taken_names.add((label, prompt))
            if not variants[REAL][0].asked.weighs:
                own.append(replies(label, variants[REAL], str(place)))
                shown |= set(own[-1].truth)
                rows.append(own_row(own[-1], variants, settings, str(place)))
                continue
            values = _values(variants[REAL], truth)
            predictions[label, prompt] = values
            rows.append(_row(label, prompt, variants, values, truth, task, settings))
    pairs = [*_pairs(predictions, truths, task, settings), *own_pairs(own, settings)]
    return VlmScore(
        task=task if predictions or not own else "answers",
        rows=tuple(rows),
        pairs=tuple(pairs),
        frames=len(shown | set(truths)),
        confidence=confidence,
        parser=PARSER_VERSION,
        runs=tuple(map(_source, runs)),
        evidence=LiveRuns(tuple(runs)),
    )


def _source(run: Run) -> RunSource:
    models = tuple(f"{plan.model} ({plan.fingerprint[:16]})" for plan in run.plans)
    return RunSource(str(run.folder), models, {name: text for plan in run.plans for name, text in plan.prompts.items()})


def _truth(run: Run) -> dict[Key, tuple[float, float]]:
    known = {(f.sequence, f.t): (f.weight, f.kcal_per_g) for f in run.frames if f.valid and not math.isnan(f.weight)}
    if not known:
        raise InputError(
            "no frame has a true weight",
            where=str(run.folder),
            remedy="Add a column 'weight' to the frames and run again.",
        )
    return known


def _values(taken: Sequence[Taken], truth: Mapping[Key, Any]) -> dict[Key, float]:
    """The strict readings of the frames whose truth is known."""
    return {
        (r.frame.sequence, r.frame.t): r.answer.grams
        for r in taken
        if r.answer.ok and (r.frame.sequence, r.frame.t) in truth
    }


def _sides(truth: Mapping[Key, tuple[float, float]], values: Mapping[Key, float], task: str) -> tuple[Any, Any]:
    """Truth and predictions as `evaluate` takes them."""
    unit, item = ("dish", "item") if task == "weights" else ("sequence", "t")
    sides = []
    for keys, weights in ((list(truth), [w for w, _ in truth.values()]), (list(values), list(values.values()))):
        sides.append({unit: [s for s, _ in keys], item: [t for _, t in keys], "weight": weights})
    if task == "sequences" and any(not math.isnan(d) for _, d in truth.values()):
        sides[0]["kcal_per_g"] = [d for _, d in truth.values()]
    return sides[0], sides[1]


def _row(
    model: str,
    prompt: str,
    variants: Mapping[str, Sequence[Taken]],
    values: Mapping[Key, float],
    truth: Mapping[Key, tuple[float, float]],
    task: str,
    settings: Mapping[str, Any],
) -> PromptScore:
    real = variants[REAL]
    outcomes = dict(Counter(r.answer.outcome for r in real))
    report = constant = None
    guess = math.nan
    if values:
        report = api.evaluate(task, *_sides(truth, values, task), METRICS[task], missing="skip", **settings)
        guess = statistics.median(truth[key][0] for key in values)
        constant = _compare(truth, dict.fromkeys(values, guess), values, task, METRICS[task][:1], settings)
    controls = {}
    for variant in (BLANK, SWAPPED):
        other = _values(variants.get(variant, ()), truth)
        if set(other) & set(values):
            controls[variant] = _compare(truth, other, values, task, METRICS[task][:1], settings)
    return PromptScore(
        model=model,
        prompt=prompt,
        report=report,
        readings=len(real),
        parsed=sum(r.answer.ok for r in real),
        followed_up=sum(r.turns > 1 for r in real),
        outcomes=outcomes,
        lost={outcome: OUTCOMES[outcome] for outcome in outcomes if outcome != "ok"},
        problems=dict(Counter(r.problem for r in real if r.problem)),
        constant=constant,
        guess=guess,
        controls=controls,
    )


def _compare(
    truth: Mapping[Key, tuple[float, float]],
    a: Mapping[Key, float],
    b: Mapping[Key, float],
    task: str,
    metrics: Sequence[str],
    settings: Mapping[str, Any],
) -> Comparison:
    """B against A on the frames that both have."""
    common = {key: value for key, value in truth.items() if key in a and key in b}
    side, first = _sides(common, {key: a[key] for key in common}, task)
    _, second = _sides(common, {key: b[key] for key in common}, task)
    return api.compare(task, side, first, second, metrics, **settings)


def _pairs(
    predictions: Mapping[tuple[str, str], Mapping[Key, float]],
    truth: Mapping[Key, tuple[float, float]],
    task: str,
    settings: Mapping[str, Any],
) -> list[Pair]:
    models = list(dict.fromkeys(model for model, _ in predictions))
    wanted = []
    for model in models:
        prompts = [prompt for m, prompt in predictions if m == model]
        known = [(a, b, why) for a, b, why in PAIRS if a in prompts and b in prompts]
        named = {name for a, b, _ in known for name in (a, b)}
        own = [(prompts[0], b, "is it the better prompt?") for b in prompts[1:] if b not in named]
        wanted += [((model, a), (model, b), why) for a, b, why in [*known, *own]]
    for model in models[1:]:
        for prompt in (p for m, p in predictions if m == model and (models[0], p) in predictions):
            wanted.append(((models[0], prompt), (model, prompt), "is it the better model?"))
    compared = []
    several = len(models) > 1
    for a, b, why in wanted:
        common = set(predictions[a]) & set(predictions[b])
        if common:
            names = [f"{model}: {prompt}" if several else prompt for model, prompt in (a, b)]
            comparison = _compare(truth, predictions[a], predictions[b], task, METRICS[task], settings)
            compared.append(Pair(names[0], names[1], why, len(common), comparison))
    return compared

"""Several runs side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.compat.ranx.data_structures.qrels import Qrels
from steelyard.compat.ranx.data_structures.report import FrozensetDict, Report
from steelyard.compat.ranx.data_structures.run import Run
from steelyard.compat.ranx.meta.evaluate import evaluate, read_names
from steelyard.core.errors import Unsupported

Scores = dict[str, dict[str, NDArray[np.float64]]]  # of each query, by model and metric


def compare(
    qrels: Qrels,
    runs: list[Run],
    metrics: list[str] | str,
    stat_test: str = "student",
    n_permutations: int = 1000,
    max_p: float = 0.01,
    random_seed: int = 42,
    threads: int = 0,
    rounding_digits: int = 3,
    show_percentages: bool = False,
    make_comparable: bool = False,
) -> Report:
    """The metrics of each run, and which differences are significant."""
    names = read_names(metrics)
    models = [f"run_{i}" if run.name is None else run.name for i, run in enumerate(runs, 1)]
    scores: Scores = {}
    for model, run in zip(models, runs, strict=True):
        values = evaluate(qrels, run, names, return_mean=False, make_comparable=make_comparable)
        scores[model] = {names[0]: values} if len(names) == 1 else values
    pairs = [(a, b) for a in models for b in models if a != b]
    return Report(
        model_names=models,
        results={model: {name: float(np.mean(scores[model][name])) for name in names} for model in scores},
        comparisons=_compare(models, scores, names, stat_test, max_p),
        metrics=names,
        max_p=max_p,
        win_tie_loss={
            (a, b): {
                name: {
                    "W": int((scores[a][name] > scores[b][name]).sum()),
                    "T": int((scores[a][name] == scores[b][name]).sum()),
                    "L": int((scores[a][name] < scores[b][name]).sum()),
                }
                for name in names
            }
            for a, b in pairs
        },
        rounding_digits=rounding_digits,
        show_percentages=show_percentages,
        stat_test=stat_test,
    )


def _compare(models: list[str], scores: Scores, names: list[str], test: str, max_p: float) -> FrozensetDict:
    """The p-value of each pair of models and metric."""
    if test == "fisher":
        raise Unsupported(
            "stat_test='fisher' draws random numbers that differ with the number of ranx's threads",
            remedy="Use stat_test='student' or 'tukey', or steelyard.compare, which has a permutation test.",
        )
    if test not in ("student", "tukey"):
        raise NotImplementedError(f"Statistical test `{test}` not supported.")
    from scipy import stats

    comparisons = FrozensetDict()

    def add(a: str, b: str, name: str, p_value: Any) -> None:
        entry = {"p_value": p_value, "significant": p_value <= max_p}
        comparisons.setdefault(frozenset([a, b]), {})[name] = entry

    if test == "student":
        for a in models:
            for b in models:
                if a != b:
                    for name in names:
                        add(a, b, name, stats.ttest_rel(scores[a][name], scores[b][name])[1])
    else:
        for name in names:
            p_values = stats.tukey_hsd(*(scores[model][name] for model in models)).pvalue
            for i, a in enumerate(models):
                for j, b in enumerate(models):
                    add(a, b, name, p_values[i, j])
    return comparisons

"""What stands beside scores of several runs: a row for each run, and what share of the variance runs and units make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from steelyard.core.counts import count_text
from steelyard.render.numbers import value_text
from steelyard.results.score import Difference, RunSpread, Score

if TYPE_CHECKING:
    from steelyard.results.comparison import Comparison
    from steelyard.results.origin import ModelRun
    from steelyard.results.report import Report

WORDS = {"seeds": "seed", "readers": "reader", "annotators": "annotator", "replies": "reply"}
TableRows = tuple[list[str], list[list[str]]]


def report_runs(report: Report) -> TableRows | None:
    """Header and rows of the runs of a report: the values of each, then the shares of the variance; None without."""
    if report.request.runs is None:
        return None
    spreads = {spec: score.runs for spec, score in report.scores.items()}
    return _rows(report.request.runs.factor, report.unit, [("", report.sources.runs, report.scores)], spreads)


def comparison_runs(comparison: Comparison, names: Sequence[str]) -> TableRows | None:
    """The spread over runs for two models; shares are of the variance of the difference."""
    design = comparison.a.request.runs
    if design is None:
        return None
    differences = comparison.differences
    models = [
        (f"{names[0]}: ", comparison.a.sources.runs, {spec: d.a for spec, d in differences.items()}),
        (f"{names[1]}: ", comparison.b.sources.runs, {spec: d.b for spec, d in differences.items()}),
    ]
    return _rows(design.factor, comparison.unit, models, {spec: d.runs for spec, d in differences.items()})


def _rows(
    factor: str, unit: str, models: Sequence[tuple[str, Sequence[ModelRun], Mapping[str, Score]]],
    spreads: Mapping[str, RunSpread | None],
) -> TableRows:  # fmt: skip
    rows = []
    digits = {spec: score.interval for spec, score in models[0][2].items()}  # one precision per column
    for label, runs, scores in models:
        for place, run in enumerate(runs):
            shown = [
                value_text(score.runs.values[place], digits[spec]) if score.runs is not None else "–"
                for spec, score in scores.items()
            ]
            rows.append([f"{label}{run.name}", *shown])
    shares = ((factor, "share_runs"), (_many(unit), "share_items"))
    for name, share in shares if any(spread is not None for spread in spreads.values()) else ():
        spread_shares = [None if spread is None else getattr(spread, share) for spread in spreads.values()]
        rows.append([f"variance from {name}", *(percent(one) for one in spread_shares)])
    return [WORDS.get(factor, "run"), *spreads], rows


def percent(share: float | None) -> str:
    """A share of the variance; nothing where there is no variance."""
    return "–" if share is None or share != share else f"{100 * share:.0f} %"


def share_remarks(unit: str, spreads: Mapping[str, RunSpread | None]) -> list[str]:
    """What runs and units make of the variance of the first metric that has one."""
    for spec, spread in spreads.items():
        if spread is not None and spread.share_runs == spread.share_runs:
            of = "" if len(spreads) == 1 else f" of {spec}"
            factor = spread.factor
            return [
                f"{factor[0].upper()}{factor[1:]} make {percent(spread.share_runs)} of the variance{of}, {_many(unit)} "
                f"{percent(spread.share_items)}."
            ]
    return []


def report_remarks(report: Report) -> list[str]:
    """What a reader of several runs must know."""
    return share_remarks(report.unit, {spec: score.runs for spec, score in report.scores.items()})


def comparison_remarks(comparison: Comparison) -> list[str]:
    """Remarks on the runs of two models, and what p tests."""
    if comparison.a.request.runs is None:
        return []
    differences = list(comparison.differences.values())
    shares = share_remarks(comparison.unit, {d.spec: d.runs for d in differences})
    return [*shares, *_null(differences)]


def _null(differences: Sequence[Difference]) -> list[str]:
    tested = [d for d in differences if d.p == d.p and d.null_hypothesis]
    if not tested:
        return []
    hypothesis = tested[0].null_hypothesis
    return [f"Null hypothesis: {hypothesis if len(tested) == 1 else hypothesis.replace(tested[0].spec, 'score')}."]


def runs_word(comparison: Comparison) -> str:
    """How many runs two models have: "3 seeds each"."""
    design = comparison.a.request.runs
    if design is None:
        return ""
    word, counts = WORDS[design.factor], [len(model.sources.runs) for model in (comparison.a, comparison.b)]
    if design.factor == "annotators":
        return f", {count_text(counts[0], word)}"
    paired = ", paired" if design.paired else ""
    if counts[0] == counts[1]:
        return f", {count_text(counts[0], word)} each{paired}"
    return f", {counts[0]} and {count_text(counts[1], word)}"


def _many(unit: str) -> str:
    return count_text(2, unit).partition(" ")[2]

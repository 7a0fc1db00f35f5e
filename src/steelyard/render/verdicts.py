"""What stands below a table of differences: the correction, what could be shown, and the margins, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable

from steelyard.core.counts import count_text
from steelyard.core.request import Request, RunDesign
from steelyard.render.numbers import in_unit, p_text
from steelyard.render.remarks import list_names, merge_remarks
from steelyard.render.runs import runs_word
from steelyard.results.comparison import Comparison
from steelyard.results.score import Difference, Superiority

_STORED = {
    "draws": "the paired bootstrap draws of both results",
    "intervals": "the intervals of both results, as if independent",
}
_METHODS = {"max-t": "max-T", "holm": "Holm", "fdr": "false discovery rate"}
_MOST_SHOWN = 12


def correction_text(differences: Iterable[Difference]) -> str:
    """How p-values were corrected, and for how many tests."""
    tested = [d for d in differences if not math.isnan(d.p)]
    adjust, family = (tested[0].adjust, max(d.family for d in tested)) if tested else ("none", 0)
    if adjust not in _METHODS:
        return "not corrected"
    if family == 0:
        return "nothing to test"
    tests = count_text(family, "test") if family == 1 else f"{family:,} tests together"
    return f"corrected for {tests} ({_METHODS[adjust]})"


def paired_word(comparisons: Iterable[Comparison]) -> str:
    """Whether models are compared unit by unit (stored results that hold no draws cannot be), and in how many runs."""
    listed = list(comparisons)
    methods = {d.p_method for one in listed for d in one.differences.values()}
    return "as if independent" if "intervals" in methods else f"paired{runs_word(listed[0])}"


def interval_method(request: Request) -> str:
    """What intervals are computed from, in a few words: for the caption of a table, and for a test report."""
    if request.runs is not None:
        return f"Student's t over {_runs_over(request.runs)}"
    over = "units" if request.cluster is None else f"clusters by '{request.cluster}'"
    strata = "" if request.strata is None else f" within strata by '{request.strata}'"
    if request.sequence is not None:
        return f"confidence sequences over {over}"
    return f"bootstrap and jackknife over {over}{strata} ({request.draws:,} draws, seed {request.seed})"


def _runs_over(design: RunDesign) -> str:
    return {None: f"{design.factor} and units", "runs": "units", "items": design.factor}[design.fixed]


def flipped_text(comparison: Comparison, tested: Iterable[Difference] | None = None) -> str:
    """What p-values come from: a coin for each unit, or for each cluster of them; or two stored results.

    `tested` are the differences that are corrected together, where they are more than those of the comparison.
    """
    correction = correction_text(comparison.differences.values() if tested is None else tested)
    methods = {d.p_method for d in comparison.differences.values()}
    for method, words in _STORED.items():
        if method in methods:
            return f"{words}, {correction}."
    cluster, design = comparison.b.request.cluster, comparison.b.request.runs
    if design is not None:
        if all(math.isnan(d.p) for d in comparison.differences.values()):
            return "not computed."
        return f"Student's t over {_runs_over(design)}, {correction}."
    drawn = "units" if cluster is None else f"clusters by '{cluster}'"
    if methods == {"halves"}:
        return f"Student's t over random halves of the units, {correction}."
    halves = ", or Student's t over random halves of them" if "halves" in methods else ""
    return f"paired sign flips over {drawn}{halves}, {correction}."


def verdict_text(verdict: str) -> str:
    """A verdict as a reader sees it; results store "cannot be shown" when there are too few units to test."""
    return "too few units to test" if verdict == "cannot be shown" else verdict


def verdict_remarks(differences: Iterable[Difference], unit: str, name: str = "B", first: str = "A") -> list[str]:
    """What a reader of verdicts must know."""
    listed = list(differences)
    remarks = []
    if any(d.verdict == "flagged" for d in listed):
        remarks.append("flagged: worth a look; one in ten of those flagged may be chance.")
    cannot = [d for d in listed if d.verdict == "cannot be shown"]
    if cannot:
        least = min(d.smallest_p for d in cannot)
        units = max(d.units for d in cannot)
        named = "" if len(cannot) == len(listed) else f" of {', '.join(d.spec for d in cannot)}"
        remarks.append(
            f"With {count_text(units, unit)} no difference{named} can be shown, whatever the truth: no p below "
            f"{p_text(least)} is possible."
        )
    shown = [f"{d.spec} {in_unit(size_text(d.min_detectable), d.measured_in)}" for d in listed if d.min_detectable > 0]
    if shown:
        more = f", and {len(shown) - _MOST_SHOWN} more" if len(shown) > _MOST_SHOWN else ""
        remarks.append(f"Minimum detectable difference (80 % power, per test): {', '.join(shown[:_MOST_SHOWN])}{more}.")
    apart = [d.spec for d in listed if _corrected_away(d)]
    if apart:
        remarks.append(
            f"Intervals are not corrected for multiple testing: {list_names(apart)} would differ in a single test, "
            "but not after the correction."
        )
    remarks += [margin_text(d, name, first) for d in listed if d.margin_verdict]
    if any(d.margin_verdict for d in listed):
        remarks.append("Margins are judged metric by metric, and hold only where they were named before the result.")
    remarks += [superiority_text(d.spec, d.superiority, unit, name, first) for d in listed if d.superiority]
    remarks += [note for d in listed for note in d.notes]
    return merge_remarks(remarks, [d.spec for d in listed])


def margin_text(d: Difference, name: str = "B", first: str = "A") -> str:
    """A margin's verdict as a sentence."""
    size = in_unit(size_text(d.margin), d.measured_in)
    size += "" if math.isnan(d.margin_relative) else f" ({100 * d.margin_relative:g} % of {first})"
    meanings = {
        "equivalent": f"{name} differs by less than {size} either way",
        "not worse": f"{name} loses less than {size}",
        "worse beyond margin": f"{name} is worse by more than {size}",
        "undecided": f"the data cannot tell at a margin of {size}",
    }
    return f"{d.spec}: {d.margin_verdict}: {meanings.get(d.margin_verdict, '')}."


def superiority_text(spec: str, of: Superiority, unit: str, name: str = "B", first: str = "A") -> str:
    """On how many units a model is better, as a sentence."""
    units = of.better + of.worse + of.ties
    ends = "" if of.interval is None else f" [{100 * of.interval[0]:.0f}, {100 * of.interval[1]:.0f}]"
    p = "" if math.isnan(of.p) else f"; p {'< 0.001' if of.p < 0.001 else f'= {of.p:.3f}'} against one half"
    counts = f"{of.better:,} better, {of.worse:,} worse, {of.ties:,} equal"
    excluded = f"; {of.excluded:,} without a value" if of.excluded else ""
    share = f"{100 * of.share:.0f} %{ends} of {count_text(units, unit)}"
    return f"{spec}: {name} is better than {first} on {share} ({counts}{excluded}{p})."


def size_text(value: float) -> str:
    """A size with two digits that count."""
    if math.isnan(value) or value == 0:
        return "0"
    digits = max(0, 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def _corrected_away(d: Difference) -> bool:
    """Whether the interval excludes 0 while the corrected p does not show a difference."""
    outside = d.interval is not None and not d.interval[0] <= 0 <= d.interval[1]
    return outside and d.verdict == "no difference shown" and d.p_adjusted > d.p

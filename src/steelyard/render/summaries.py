"""What a result comes to in one or two sentences, made from its numbers: `result.verdict`.

A difference is said only where its p, corrected for all that was looked at, is small enough; else it is undecided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from steelyard.core.counts import count_text, share_text
from steelyard.core.slice import slice_heading, slice_text
from steelyard.render.numbers import in_unit, interval_text, names_of, p_text, signed_text, value_text

if TYPE_CHECKING:
    from steelyard.core.figure import Figure
    from steelyard.core.weights import Floats
    from steelyard.results.comparison import Comparison, Lineup
    from steelyard.results.report import Report
    from steelyard.results.score import Difference, Gap, Score
    from steelyard.results.sets import Drift, Pool
    from steelyard.results.vlm import VlmScore

MOST_CLASSES = 3
MOST_NAMED = 4
FAR = 100  # times the units, beyond which no number of units is said
SHOWN = ("better", "worse", "differs", "flagged")


def report_verdict(report: Report) -> str:
    """The first score, the weakest classes, the largest loss, and the gaps between groups that are shown."""
    return _join([report_headline(report), *_from_details(report), *gap_sentences(report)])


def report_headline(report: Report) -> str:
    """The first score that is defined, as a sentence."""
    scores = list(report.scores.values())
    first = next((score for score in scores if score.defined), None)
    if first is None:
        return f"No metric has a value: {scores[0].undefined_reason}." if scores else ""
    return f"{_score_text(first)}."


def _score_text(score: Score) -> str:
    value = in_unit(value_text(score.value, score.interval, 2), score.measured_in)
    return f"{score.label} {value} {interval_text(score.value, score.interval, 2)}".strip()


def gap_sentences(report: Report) -> list[str]:
    """For each slicing, how far its groups are apart in the first metric that has a gap."""
    firsts: dict[str, Gap] = {}
    for gap in report.gaps:
        firsts.setdefault(gap.by, gap)
    return [gap_sentence(gap) for gap in firsts.values()]


def gap_sentence(gap: Gap) -> str:
    """A gap in one sentence."""
    size = in_unit(value_text(gap.difference, gap.interval, 2), gap.measured_in)
    numbers, p = f"{size} {interval_text(gap.difference, gap.interval, 2)}", _p(gap.p_adjusted)
    by = slice_heading(gap.by)
    if not gap.shown:
        return f"By {by}, undecided: the largest gap in {gap.spec} between {gap.groups} groups is {numbers} ({p})."
    if gap.groups == 2:
        return f"By {by}, {gap.spec} is {numbers} lower for {gap.low} than for {gap.high} ({p})."
    ends = f"{gap.worst} is worst" if gap.worst else f"{gap.low} is lowest, {gap.high} highest"
    return f"By {by}, {gap.spec} differs between {gap.groups} groups ({p}): {ends}, and the largest gap is {numbers}."


def _from_details(report: Report) -> list[str]:
    """What figures say: classes that are below the mean, and what kind of error costs most."""
    sentences = []
    for name in report.figures:
        if not name.endswith("_class") and name != "errors":
            continue
        figure = report.figure(name)
        if figure.chart != "bars" or not len(figure):
            continue
        if name == "errors":
            cost, kind = max(zip(np.asarray(figure.columns["value"]).tolist(), figure.columns["name"], strict=True))
            unit = figure.facts.get("cost", "")
            sentences += [f"Largest loss: {kind} ({cost:.2g} {unit})."] if cost > 0 and unit else []
        elif weak := weak_classes(figure, report.request.level):
            sentences.append(f"Weakest {'class' if len(weak) == 1 else 'classes'}: {', '.join(weak)}.")
    return sentences


def weak_classes(figure: Figure, confidence: float) -> list[str]:
    """The first classes of bars, the worst first, that are worse than the mean over all classes.

    Their intervals are widened so that all classes together hold the level.
    """
    columns = {name: list(values) for name, values in figure.columns.items()}
    if "low" not in columns or len(figure) < 2:
        return []
    values = np.asarray(columns["value"], dtype=float)
    every = _every_class(figure, values)
    lower_is_better = values[0] > values[-1]
    ends = np.asarray(columns["low" if lower_is_better else "high"], dtype=float)
    from statistics import NormalDist  # it is slow to import

    normal = NormalDist()
    wider = normal.inv_cdf(1 - (1 - confidence) / 2 / len(every)) / normal.inv_cdf((1 + confidence) / 2)
    ends = values + wider * (ends - values)
    worse = ends > every.mean() if lower_is_better else ends < every.mean()
    return [str(columns["name"][i]) for i in np.flatnonzero(worse)[:MOST_CLASSES]]


def _every_class(figure: Figure, shown: Floats) -> Floats:
    """The values of all classes, where a picture shows some of them: the column of its table that it draws."""
    if figure.table is not None:
        place = {name: i for i, name in enumerate(figure.table.rows)}
        rows = [place.get(str(name), -1) for name in figure.columns["name"]]
        for column in np.asarray(figure.table.values, dtype=float).T if min(rows) >= 0 else ():
            if np.allclose(column[rows], shown, equal_nan=True):
                return np.asarray(column[np.isfinite(column)])
    return np.asarray(shown[np.isfinite(shown)])


def comparison_verdict(comparison: Comparison) -> str:
    """Who is better, in what and by how much; what is undecided, and how many units would decide it."""
    first, name = names_of([comparison])
    differences = list(comparison.differences.values())
    return _join([*_compared(differences, name, first, comparison.unit), *_in_slices(comparison, name)])


def _compared(differences: Sequence[Difference], name: str, first: str, unit: str) -> list[str]:
    """The first metric as a sentence, and how many of all are won, lost and undecided."""
    tested = [d for d in differences if d.verdict != "undefined" and not math.isnan(d.difference)]
    if not tested:
        return [f"Undecided: {differences[0].undefined_reason or 'no metric has a value'}."] if differences else []
    d = tested[0]
    size = in_unit(signed_text(d.difference, d.interval, 2), d.measured_in)
    numbers = f"{size} {interval_text(d.difference, d.interval, 2)}".strip()
    p = f" ({_p(d.p_adjusted)})" if d.p_adjusted == d.p_adjusted else ""
    words = {"better": "better than", "worse": "worse than", "differs": "different from"}
    if d.verdict in words:
        sentences = [f"{name} is {words[d.verdict]} {first} in {d.label}: {numbers}{p}."]
    else:
        reason = f": too few units to test ({count_text(d.units, unit)})" if d.verdict == "cannot be shown" else ""
        sentences = [f"Undecided in {d.label}{reason}: {name} − {first} is {numbers}{p}."]
        sentences += _needed(d, unit)
    if len(tested) > 1:
        sentences.append(_counted(tested, name))
    return sentences


def _counted(tested: Sequence[Difference], name: str) -> str:
    """How many metrics are won, lost and undecided."""
    by_verdict = {verdict: [d.spec for d in tested if d.verdict == verdict] for verdict in SHOWN}
    parts = [f"{verdict} in {_named(specs)}" for verdict, specs in by_verdict.items() if specs]
    undecided = len(tested) - sum(map(len, by_verdict.values()))
    if not parts:
        return f"All {len(tested)} metrics are undecided."
    rest = f"; {undecided} undecided" if undecided else ""
    return f"Of {len(tested)} metrics {name} is {', '.join(parts)}{rest}."


def _needed(d: Difference, unit: str) -> list[str]:
    """How many units would show a difference as large as this one with 80 % power, where it is not shown."""
    size = abs(d.difference)
    if not d.min_detectable > 0 or not size > 0:
        return []
    times = (d.min_detectable / size) ** 2
    if times <= 1:
        return []
    if times > FAR:
        return [f"A true difference this small would need more than {FAR} times the {count_text(d.units, unit)} here."]
    more = _rounded_up(d.units * (times - 1))
    return [
        f"If the true difference is this large, about {count_text(more, f'more {unit}')} would show it (80 % power, "
        "single test)."
    ]


def _rounded_up(count: float) -> int:
    """A count with two digits that count."""
    step = int(10 ** max(0, math.floor(math.log10(max(count, 1))) - 1))
    return math.ceil(count / step) * step


def _in_slices(comparison: Comparison, name: str) -> list[str]:
    """In which slices the first metric is won and lost; p is corrected for all slices."""
    spec = next(iter(comparison.differences), "")
    sentences = []
    for by, parts in comparison.slices.items():
        of_slice = {slice_text(value): d[spec] for value, d in parts.items() if spec in d}
        won, lost = (
            [value for value, d in of_slice.items() if d.verdict == verdict] for verdict in ("better", "worse")
        )
        texts = [f"better in {_named(won)}"] if won else []
        texts += [f"worse in {_named(lost)}"] if lost else []
        if texts:
            sentences.append(f"By {slice_heading(by)}, {name} is {' and '.join(texts)}.")
    return sentences


def lineup_verdict(lineup: Lineup) -> str:
    """Which model is the best in the first metric, or which ones are not shown to differ."""
    if len(lineup) < 2:
        return comparison_verdict(lineup[0])
    names, first = names_of(lineup.comparisons), lineup.comparisons[0]
    if not lineup.standings:
        won, lost = (
            [name for name, one in zip(names[1:], lineup.comparisons, strict=True) if _first(one).verdict == verdict]
            for verdict in ("better", "worse")
        )
        texts = [f"{_named(won)} better"] if won else []
        texts += [f"{_named(lost)} worse"] if lost else []
        label = _first(first).label
        shown = f"{' and '.join(texts)} than {names[0]} in {label}" if texts else f"no model differs in {label}"
        return f"Shown: {shown}." if texts else f"Undecided: {shown}."
    standing = next(iter(lineup.standings.values()))
    d = first.differences[standing.spec]
    scores = [d.a, *(one.differences[standing.spec].b for one in lineup.comparisons)]
    best = standing.best
    if len(best) == 1:
        sentence = f"{names[best[0]]} is the best of {len(names)} models: {_score_text(scores[best[0]])}."
    elif len(best) == len(names):
        sentence = f"Undecided: none of {len(names)} models is shown to be better than another in {d.label}."
    else:
        sentence = (
            f"Undecided in {d.label}: the best of {len(names)} models may be {_either([names[i] for i in best])}."
        )
    others = list(islice(lineup.standings.values(), 1, None))
    alone = sum(len(one.best) == 1 for one in others)
    more = f"{share_text(alone, len(others), 'other metric', 'have')} a single best model." if alone else ""
    return _join([sentence, more])


def _first(comparison: Comparison) -> Difference:
    return next(iter(comparison.differences.values()))


def pool_verdict(pool: Pool) -> str:
    """The first pooled score, or the pooled difference."""
    if pool.differences:
        return _join(_compared(list(pool.differences.values()), "B", "A", pool.unit))
    first = next((score for score in pool.scores.values() if score.defined), None)
    return "" if first is None else f"Pooled over {count_text(len(pool.sets), 'set')}: {_score_text(first)}."


def drift_verdict(drift: Drift) -> str:
    """Whether the new set differs from the old one."""
    return _join(_compared(list(drift.differences.values()), drift.new, drift.old, drift.unit)[:1])


def vlm_verdict(score: VlmScore) -> str:
    """The best prompt by the first metric, whether it beats a constant guess, and whether prompts differ."""
    rows = [row for row in score.rows if row.report is not None and row.report.scores and not row.made_of]
    if not rows:
        return "No reading gave a number."
    spec = next(iter(rows[0].report.scores))  # type: ignore[union-attr]
    scored = [(row, row.report.scores[spec]) for row in rows if row.report and spec in row.report.scores]
    scored = [(row, one) for row, one in scored if one.defined]
    if not scored:
        return f"{spec} has no value for any prompt."
    row, best = min(scored, key=lambda pair: _badness(pair[1]))
    is_best = len(scored) > 1 and best.better != "none"
    sentences = [f"{score.name(row)}: {_score_text(best)}{', the best value of all prompts' if is_best else ''}."]
    if row.constant is not None:
        d = _first(row.constant)
        shown = {"better": "It is better than", "worse": "It is worse than"}
        sentences.append(
            f"{shown.get(d.verdict, 'It is not shown to differ from')} a constant guess ({_p(d.p_adjusted)})."
        )
    derived = {score.name(row) for row in score.rows if row.made_of}
    pairs = [pair for pair in score.pairs if pair.b not in derived]
    if len(scored) > 1 and pairs:
        decided = sum(_first(pair.comparison).verdict in SHOWN for pair in pairs)
        sentences.append(f"{share_text(decided, len(pairs), 'pair', 'differ', of='of prompts or models')}.")
    return _join(sentences)


def _badness(score: Score) -> float:
    """How far a value lies from the best one, up to a constant; the same for all where none is better."""
    value = score.value
    return {"higher": -value, "lower": value, "zero": abs(value), "one": abs(value - 1)}.get(score.better, 0.0)


def _p(p: float) -> str:
    text = p_text(p)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def _named(names: Sequence[str]) -> str:
    """A few names, and how many more there are."""
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"


def _either(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"any of {len(names)} ({_named(names)})"
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _join(sentences: Iterable[str]) -> str:
    return " ".join(sentence for sentence in sentences if sentence)

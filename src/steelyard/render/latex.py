r"""Results as tables of a paper: LaTeX that needs the package booktabs and nothing else.

A value has its interval as `$0.494_{0.456}^{0.531}$`, or in brackets behind it. The best value of a metric is bold. A
star marks models that surely differ from the first; or models that share a letter are not shown to differ, so that
those which share one with the best are not shown to be worse. The caption names the methods.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from steelyard.core.counts import count_text
from steelyard.core.errors import InvalidSetting, MissingData
from steelyard.core.slice import Slice, slice_heading, slice_text
from steelyard.render.board import Row, rows_of
from steelyard.render.numbers import decimals_for, names_of, number, p_text, percent_text, value_text
from steelyard.render.verdicts import flipped_text, interval_method
from steelyard.results.score import Difference, Score

if TYPE_CHECKING:
    from steelyard.core.request import Request
    from steelyard.results.comparison import Comparison, Lineup
    from steelyard.results.report import Report

INTERVALS = ("sub", "brackets", "none")
WAYS = ("first", "letters")  # to mark what differs
VERDICTS = {"no difference shown": "not shown", "cannot be shown": "too few units"}
SURE = ("better", "worse", "differs")
ARROWS = {"lower": r"$\downarrow$", "higher": r"$\uparrow$", "zero": r"$\to 0$", "one": r"$\to 1$", "none": ""}
MOST_COLUMNS = 6  # metrics that stand side by side; more stand below each other
MARKS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''", "−": "$-$", "–": "--", "—": "---", "×": r"$\times$", "±": r"$\pm$",
    "≤": r"$\leq$", "≥": r"$\geq$", "∞": r"$\infty$", "°": r"$^\circ$", "²": "$^2$", "³": "$^3$", "½": r"$\frac12$",
    "†": r"$\dagger$", "→": r"$\to$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "’": "'", "…": r"\ldots{}",
    "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "δ": r"$\delta$", "κ": r"$\kappa$", "σ": r"$\sigma$",
    "ρ": r"$\rho$", "τ": r"$\tau$", "θ": r"$\theta$", "µ": r"$\mu$", "μ": r"$\mu$", "Δ": r"$\Delta$", "√": r"$\surd$",
}  # fmt: skip


def escape_latex(text: str) -> str:
    """Text from data, with nothing in it that LaTeX would read."""
    return "".join(MARKS.get(mark, mark if mark.isprintable() else " ") for mark in text)


def report_latex(report: Report, *, interval: str = "sub", caption: str = "", label: str = "") -> str:
    """The scores of one model: a row per metric, and a column per slice value where the report has slices."""
    _check(interval)
    rows = [[_metric(s), _value(s, interval), *_brackets(s, interval)] for s in report.scores.values()]
    heads = ["Metric", "Score", *(["Interval"] if interval == "brackets" else [])]
    tables = [_tabular("l" + "r" * (len(heads) - 1), heads, rows)]
    tables += [_slices(by, parts, interval) for by, parts in report.slices.items()]
    units = max((score.units for score in report.scores.values()), default=0)
    return _document(tables, caption or _caption(report, report.request, units, interval), label)


def comparison_latex(comparison: Comparison, *, interval: str = "sub", caption: str = "", label: str = "") -> str:
    """Two models: both values, the difference, its corrected p-value and the verdict."""
    _check(interval)
    first, name = map(escape_latex, names_of([comparison]))
    rows = []
    for d in comparison.differences.values():
        best = _best({0: d.a, 1: d.b}, d.better)
        shown = Score(d.spec, d.label, d.difference, d.interval)
        rows.append(
            [
                _short(d), *(_value(s, interval, i in best) for i, s in enumerate((d.a, d.b))),
                _value(shown, interval, sign=True), *_brackets(shown, interval), _math(p_text(d.p_adjusted)),
                escape_latex(VERDICTS.get(d.verdict, d.verdict)),
            ]
        )  # fmt: skip
    heads = ["Metric", first, name, "Difference", *(["Interval"] if interval == "brackets" else []), "$p$"]
    heads.append("Verdict")
    units = max((d.units for d in comparison.differences.values()), default=0)
    bold = "" if not any("mathbf" in cell for row in rows for cell in row) else "Bold: the best value. "
    tests = f"{bold}$p$: {escape_latex(flipped_text(comparison))}"
    caption_text = caption or _caption(comparison, comparison.b.request, units, interval, tests)
    return _document([_tabular("l" + "r" * (len(heads) - 2) + "l", heads, rows)], caption_text, label)


def lineup_latex(
    lineup: Lineup, *, interval: str = "sub", caption: str = "", label: str = "", marks: str = "first"
) -> str:
    """All models: a row each where few metrics are shown, else a column each.

    `marks` is "first", a star for what surely differs from the first model, or "letters", of which models that are not
    shown to differ share one.
    """
    _check(interval)
    if marks not in WAYS:
        raise InvalidSetting(f"'{marks}' is not a way to mark differences", remedy=f"Choose {' or '.join(WAYS)}.")
    if marks == "letters" and not any(one.letters for one in lineup.standings.values()):
        raise MissingData("these models have no letters", remedy="Compare three models or more, or leave marks out.")
    first = lineup.comparisons[0]
    models = rows_of(lineup.comparisons)
    columns = {spec: _column(lineup, models, spec, d, interval, marks) for spec, d in first.differences.items()}
    names = [escape_latex(model.name) for model in models]
    if len(columns) <= MOST_COLUMNS:
        rows = [[name, *(cells[i] for cells in columns.values())] for i, name in enumerate(names)]
        table = _tabular("l" + "r" * len(columns), ["Model", *map(_short, first.differences.values())], rows)
    else:
        rows = [[_metric(first.differences[spec]), *cells] for spec, cells in columns.items()]
        table = _tabular("l" + "r" * len(names), ["Metric", *names], rows)
    tested = [d for one in lineup.comparisons for d in one.differences.values()]
    tests = f"$^{{*}}$: surely differs from {names[0]}, by {escape_latex(flipped_text(first, tested))}"
    if marks == "letters":
        tests = "Models that share a letter are not shown to differ: all pairs together, by max-T over paired draws."
    units = max((d.units for d in tested), default=0)
    text = _caption(first, first.b.request, units, interval, f"Bold: the best value. {tests}")
    return _document([table], caption or text, label)


def _check(interval: str) -> None:
    if interval not in INTERVALS:
        raise InvalidSetting(f"'{interval}' is not an interval style", remedy=f"Choose {', '.join(INTERVALS)}.")


def _column(lineup: Lineup, models: Sequence[Row], spec: str, d: Difference, interval: str, marks: str) -> list[str]:
    """One metric of all models."""
    scores = [model.scores[spec] for model in models]
    best = _best(dict(enumerate(scores)), d.better)
    sure = {i + 1 for i, one in enumerate(lineup.comparisons) if one.differences[spec].verdict in SURE}
    shown = dict.fromkeys(sure, "*")
    if marks == "letters":
        standing = lineup.standings.get(spec)
        shown = {} if standing is None else {i: standing.group(i) for i in range(len(scores))}
    mark = {i: f"$^{{{text}}}$" for i, text in shown.items() if text}
    return [_whole(score, interval, i in best, mark.get(i, "")) for i, score in enumerate(scores)]


def _slices(by: Slice, parts: Mapping[Slice, Mapping[str, Score]], interval: str) -> str:
    """A row per slice where few metrics are shown, else a column per slice."""
    metrics = next(iter(parts.values()), {})
    columns = []
    for value, scores in parts.items():
        units = str(max(score.units for score in scores.values()))
        columns.append(
            [escape_latex(slice_text(value)), units, *(_whole(score, interval) for score in scores.values())]
        )
    corner = escape_latex(slice_heading(by))
    if len(metrics) <= MOST_COLUMNS:
        return _tabular("lr" + "r" * len(metrics), [corner, "units", *map(_short, metrics.values())], columns)
    rows = zip([corner, "units", *map(_metric, metrics.values())], *columns, strict=True)
    heads, *below = [list(row) for row in rows]
    return _tabular("l" + "r" * len(columns), heads, below)


def _whole(score: Score, interval: str, bold: bool = False, mark: str = "") -> str:
    """A value with its mark and its interval in one cell."""
    return " ".join([_value(score, interval, bold) + mark, *_brackets(score, interval)]).strip()


def _short(shown: Score | Difference) -> str:
    """The head of a narrow column: the metric's spec."""
    unit = f" ({escape_latex(shown.measured_in)})" if shown.measured_in else ""
    return f"{escape_latex(shown.spec)}{unit} {ARROWS[shown.better]}".strip()


def _metric(shown: Score | Difference) -> str:
    unit = f" ({escape_latex(shown.measured_in)})" if shown.measured_in else ""
    return f"{escape_latex(shown.label or shown.spec)}{unit} {ARROWS[shown.better]}".strip()


def _value(score: Score, interval: str, bold: bool = False, sign: bool = False) -> str:
    if not score.defined:
        return "--"
    decimals = decimals_for(score.value, score.interval)
    text = _plain(value_text(score.value, score.interval))
    if sign and score.value > 0:
        text = f"+{text}"
    text = rf"\mathbf{{{text}}}" if bold else text
    if interval == "sub" and score.interval is not None:
        low, high = (_plain(number(end, decimals)) for end in score.interval)
        text += f"_{{{low}}}^{{{high}}}"
    return f"${text}$"


def _brackets(score: Score, interval: str) -> list[str]:
    if interval != "brackets":
        return []
    if score.interval is None or not score.defined:
        return [""]
    decimals = decimals_for(score.value, score.interval)
    return [f"$[{', '.join(_plain(number(end, decimals)) for end in score.interval)}]$"]


def _plain(text: str) -> str:
    """A number as mathematics has it."""
    return text.replace("−", "-").replace("∞", r"\infty").replace("–", r"\mbox{--}")


def _math(text: str) -> str:
    return "--" if text == "–" else f"${text}$"


def _best(scores: Mapping[int, Score], better: str) -> set[int]:
    """The places of the best value; none where no value is better than another."""
    finite = {place: score.value for place, score in scores.items() if math.isfinite(score.value)}
    distance = {"lower": 0.0, "higher": 0.0, "zero": 0.0, "one": 1.0}
    if better not in distance or len(finite) < 2:
        return set()
    gain = {
        place: value if better == "higher" else -value if better == "lower" else -abs(value - distance[better])
        for place, value in finite.items()
    }
    top = max(gain.values())
    best = {place for place, value in gain.items() if value == top}
    return best if len(best) < len(finite) else set()


def _caption(result: Report | Comparison, request: Request, units: int, interval: str, tests: str = "") -> str:
    """What the table shows and by which methods; `tests` is LaTeX already."""
    text = f"{escape_latex(result.title or result.task)}, {escape_latex(count_text(units, result.unit))}."
    if request.confidence is not None and interval != "none":
        where = "below and above each value" if interval == "sub" else "in brackets"
        method = escape_latex(interval_method(request))
        text += f" {escape_latex(percent_text(request.confidence))} intervals {where}: {method}."
    return f"{text} {tests}".strip()


def _tabular(align: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", f"{' & '.join(heads)} \\\\", r"\midrule"]
    lines += [f"{' & '.join(row)} \\\\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _document(tables: Sequence[str], caption: str, label: str) -> str:
    """One float of all tables. `caption` is LaTeX that the caller wrote or that was escaped."""
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        # The space between rows that ends below and above the line ask for.
        r"\renewcommand{\arraystretch}{1.25}",
        rf"\caption{{{caption}}}",
        *([rf"\label{{{label}}}"] if label else []),
        "",
        r"\smallskip",
    ]
    return "\n".join([*lines, "\n\n\\medskip\n".join(tables), r"\end{table}"]) + "\n"

"""The page of two models or more on the same truth: what differs, how surely, where, and in which units.

All models of a page in one table: values with intervals, the ranks that each may have, and what differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.figure import Array, Figure, Listing, Texts, points_or_cells
from steelyard.core.metric import Description
from steelyard.core.slice import Slice, slice_heading, slice_text
from steelyard.render.board import rank_remarks, rows_of
from steelyard.render.numbers import (
    ends_text,
    even_decimals,
    interval_text,
    letter_of,
    named_pairs,
    names_of,
    number,
    p_text,
    percent_text,
    signed_number,
    value_text,
)
from steelyard.render.page.figures import figure_blocks, unique_name
from steelyard.render.page.frame import Section, bullets, definitions_of, document
from steelyard.render.page.gallery import FRAME_BYTES, PAGE_BYTES, pair_galleries
from steelyard.render.page.report import explorers, origin_facts, runs_table, top
from steelyard.render.page.scores import BETTER, definitions, term, whisker
from steelyard.render.page.tables import MOST_CELLS, Cell, head_cell, number_cell, table
from steelyard.render.runs import comparison_remarks, comparison_runs
from steelyard.render.strips import difference_scales, group_of, scales_text, score_scales
from steelyard.render.text import ARROWS, legend, undefined_remarks
from steelyard.render.verdicts import flipped_text, paired_word, verdict_remarks, verdict_text
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.details import UnitTable
from steelyard.results.score import Difference

if TYPE_CHECKING:
    from steelyard.results.comparison import Lineup, Standing
    from steelyard.results.score import Interval, Score


VERDICTS = ("better", "worse", "differs")
MOST_SCORES = 4  # metrics of which a picture shows every model


def comparison_figures(comparison: Comparison) -> list[Figure]:
    """Every figure of a comparison."""
    return _figures([comparison])


def lineup_figures(lineup: Lineup) -> list[Figure]:
    """Every figure of several comparisons."""
    return _figures(lineup.comparisons)


def _figures(comparisons: Sequence[Comparison]) -> list[Figure]:
    figures = [*score_figures(comparisons), improvement_figure(comparisons), *slice_figures(comparisons).values()]
    figures += [f for f in (class_figure(comparisons), *unit_figures(comparisons)) if f is not None]
    figures += task_figures(comparisons)
    return [figure for figure in figures if len(figure)]


def score_figures(comparisons: Sequence[Comparison]) -> list[Figure]:
    """The first metrics, each with the score of every model and its interval."""
    figures, names = [], names_of(comparisons)
    for place, spec in enumerate(list(comparisons[0].differences)[:MOST_SCORES], start=1):
        d = comparisons[0].differences[spec]
        scores = [d.a, *(one.differences[spec].b for one in comparisons)]
        defined = [(name, score) for name, score in zip(names, scores, strict=True) if score.defined]
        if len(defined) < 2:
            continue
        ends = [score.interval or (score.value, score.value) for _, score in defined]
        columns = {"name": [name for name, _ in defined], "value": [score.value for _, score in defined]}
        columns |= {"low": [low for low, _ in ends], "high": [high for _, high in ends]}
        axis = f"{d.label}{', ' + d.measured_in if d.measured_in else ''}"
        caption = f"The line through each point is its interval. {BETTER[d.better].capitalize()}".strip()
        figures.append(
            Figure(
                f"scores_{place}", "intervals", f"{d.label} by model", columns, {"x": axis, "at": None}, f"{caption}."
            )
        )
    return figures


def _gain(d: Difference) -> tuple[float, float, float] | None:
    """The difference and its interval in percent of A's score, so that more is better; None where there is none."""
    base = abs(d.a.value if d.better not in ("zero", "one") else (d.a.value - (d.better == "one")))
    if d.interval is None or not np.isfinite([d.difference, *d.interval]).all() or not base > 0 or d.better == "none":
        return None
    sign = 1.0 if d.better == "higher" else -1.0
    ends = sorted(100 * sign * end / base for end in d.interval)
    return 100 * sign * d.difference / base, ends[0], ends[1]


def improvement_figure(comparisons: Sequence[Comparison]) -> Figure:
    """Every metric's difference in percent of A's score, better to the right."""
    columns: dict[str, list[Any]] = {"name": [], "value": [], "low": [], "high": [], "series": []}
    first, *others = names_of(comparisons)
    for name, comparison in zip(others, comparisons, strict=True):
        for d in comparison.differences.values():
            gain = _gain(d)
            if gain is None:
                continue
            values = (d.spec, *gain, name if len(comparisons) > 1 else _verdict_text(d))
            for column, value in zip(columns, values, strict=True):
                columns[column].append(value)
    return Figure(
        "differences",
        "intervals",
        f"Gain over {first}, in percent of its score",
        columns,
        {"x": f"gain over {first}, % of its score; to the right is better", "at": 0.0},
        f"Whatever a metric's direction, to the right of the dashed line is better than {first}. Verdicts follow the "
        "p-values, which are corrected for the number of tests: an interval beside 0 alone shows no difference.",
    )


def _verdict_text(d: Difference) -> str:
    return d.verdict if d.verdict in VERDICTS else "no difference shown"


def slice_figures(comparisons: Sequence[Comparison]) -> dict[Slice, Figure]:
    """For each way of slicing, the first metric's difference in each slice."""
    figures: dict[Slice, Figure] = {}
    for by in comparisons[0].slices:
        spec = next(iter(comparisons[0].differences))
        groups = [{slice_text(value): part[spec] for value, part in c.slices[by].items()} for c in comparisons]
        label = comparisons[0].differences[spec].label
        name = unique_name(f"by_{slice_heading(by, '_')}", [figure.name for figure in figures.values()])
        figures[by] = _difference_figure(name, f"{label} by {slice_heading(by)}", groups, names_of(comparisons))
    return figures


def class_figure(comparisons: Sequence[Comparison]) -> Figure | None:
    """The difference class by class."""
    groups = [dict(c.classes()) for c in comparisons]
    if not groups or not groups[0]:
        return None
    label = next(iter(groups[0].values())).label.partition(" of ")[0]
    return _difference_figure("by_class", f"{label} by class", groups, names_of(comparisons))


def _difference_figure(
    name: str, title: str, groups: Sequence[Mapping[str, Difference]], names: Sequence[str]
) -> Figure:
    columns: dict[str, list[Any]] = {"name": [], "value": [], "low": [], "high": [], "series": []}
    measured_in = ""
    first, *others = names
    for model, group in zip(others, groups, strict=True):
        ordered = sorted(group.items(), key=lambda item: item[1].difference if len(groups) == 1 else 0)
        for value, d in ordered:
            if d.interval is None or not np.isfinite([d.difference, *d.interval]).all():
                continue
            measured_in = d.measured_in
            row = (value, d.difference, *d.interval, model if len(groups) > 1 else _verdict_text(d))
            for column, cell in zip(columns, row, strict=True):
                columns[column].append(cell)
    who = others[0] if len(groups) == 1 else "each"
    axis = f"{who} − {first}{', ' + measured_in if measured_in else ''}"
    return Figure(
        name, "intervals", title, columns, {"x": axis, "at": 0.0},
        "The dashed line marks zero difference; the line through each point is its interval.",
    )  # fmt: skip


def unit_figures(comparisons: Sequence[Comparison]) -> list[Figure]:
    """Each unit's score with the one model against that with the other."""
    figures = []
    for place, (first, name, comparison) in enumerate(named_pairs(comparisons), start=1):
        if comparison.details.units() is None:
            continue
        a, b = comparison.units()
        spec = next((spec for spec in a.values if _by_unit(spec, (a, b))), None)
        if spec is None:
            continue
        x, y = np.asarray(a.values[spec], dtype=float), np.asarray(b.values[spec], dtype=float)
        finite = np.isfinite(x) & np.isfinite(y)
        if finite.sum() < 2:
            continue
        label = comparison.differences[spec].label
        figures.append(
            Figure(
                f"units_{letter_of(place)}",
                "agreement",
                f"{label}, {comparison.unit} by {comparison.unit}: {name} against {first}",
                points_or_cells(x[finite], y[finite]),
                {"x": f"{first}: {label}", "y": f"{name}: {label}"},
                f"Each point is one {comparison.unit}. On the line both models score alike.",
            )
        )
    return figures


def task_figures(comparisons: Sequence[Comparison]) -> list[Figure]:
    """The task's own figures, each with the first model and another."""
    figures = []
    for place, (first, name, comparison) in enumerate(named_pairs(comparisons), start=1):
        called = {"A": first, "B": name}
        for own in comparison.details.figures:
            figure = comparison.details.figure(own)
            columns = {**figure.columns, "series": [called[side] for side in figure.columns["series"]]}
            title = f"{figure.title}: {name} and {first}"
            figures.append(replace(figure, name=f"{own}_{letter_of(place)}", title=title, columns=columns))
    return figures


SURE = ("better", "worse", "differs")


def board(lineup: Lineup, about: Mapping[str, Description]) -> str:
    """A row per metric, a column per model."""
    first = lineup.comparisons[0]
    rows, models = [], rows_of(lineup.comparisons)
    scales = score_scales([score for model in models for score in model.scores.values()])
    for i, (spec, d) in enumerate(first.differences.items()):
        standing = lineup.standings.get(spec)
        cells = [Cell(f"{ARROWS[d.better]} {term(spec, spec, about, f'board-{i}', code=True)}", head=True)]
        scale = scales.get(group_of(d.a))
        cells.append(_cell(d.a, 0, standing, scale))
        for place, comparison in enumerate(lineup.comparisons, start=1):
            other = comparison.differences[spec]
            cells.append(_cell(other.b, place, standing, scale, other.verdict if other.verdict in SURE else ""))
        rows.append(cells)
    names = names_of(lineup.comparisons)
    heads: Sequence[str] = ["metric", *names]
    legend = escape(f"Better and worse say that a model surely differs from {names[0]}. {scales_text(scales)}")
    remarks = bullets(rank_remarks(lineup)) if lineup.standings else ""
    return f'{table("All models", heads, rows, kind="board")}<p class="legend">{legend}</p>{remarks}'


def _cell(score: Score, place: int, standing: Standing | None, scale: Interval | None, verdict: str = "") -> Cell:
    value = escape(value_text(score.value, score.interval))
    if standing is not None and place in standing.best:
        value = f"<b>{value}*</b>"
    mark = f' <small><span class="verdict {verdict}">{verdict}</span></small>' if verdict else ""
    rank = ""
    if standing is not None:
        group = f", group {standing.group(place)}" if standing.group(place) else ""
        rank = f'<br><small class="nowrap">rank {standing.text(place)}{escape(group)}</small>'
    interval = interval_text(score.value, score.interval)
    between = f'<br><small class="nowrap">{escape(interval)}</small>' if interval else ""
    return Cell(f"{value}{mark}{between}{rank}{whisker(score.value, score.interval, scale)}", score.value)


CHANGED = 12
MOST_NAMED = 8  # models in the title
MOST_LISTED = 6  # metrics in the listing of units


def comparison_page(comparison: Comparison, images: str | PathLike[str] | None = None) -> str:
    """The page of two models; `images` is the folder of the images, of which it then shows thumbnails."""
    return _page(Lineup((comparison,)), images)


def lineup_page(lineup: Lineup, images: str | PathLike[str] | None = None) -> str:
    """The page of several models, as that of two."""
    return _page(lineup, images)


MOST_GALLERIES = 4  # models that are drawn over the first


def _page(lineup: Lineup, images: str | PathLike[str] | None) -> str:
    comparisons = lineup.comparisons
    first = comparisons[0]
    about = definitions_of(first, first.task, first.differences)
    units = next((d.units for d in first.differences.values()), 0)
    models = [first.a, *(one.b for one in comparisons)]
    sides = [(f"{name}: ", model) for name, model in zip(names_of(comparisons), models, strict=True)]
    scores = [d.a for d in first.differences.values()]
    confidence = first.a.request.confidence
    sections = [
        Section("differences", "Differences", _differences(lineup, about, confidence)),
        Section("runs", "Runs", runs_table(comparison_runs(first, names_of(comparisons)))),
        Section("slices", "Wins and losses by slice", _slices(comparisons), "Slices"),
        Section("classes", "Wins and losses by class", _classes(comparisons), "Classes"),
        Section("curves", "Curves of the models", figure_blocks(task_figures(comparisons)), "Curves"),
        Section("units", "Units that changed most", _units(comparisons), "Units"),
        Section("explorer", "Look through the data", explorers(listings(comparisons)), "Explorer"),
        Section("remarks", "Remarks", bullets(_remarks(lineup))),
        Section("definitions", "What the metrics mean", definitions(scores, about), "Definitions"),
        Section("source", "Where the numbers come from", origin_facts(sides), "Source"),
    ]
    room = PAGE_BYTES - sum(len(section.body.encode("utf-8", "replace")) for section in sections) - FRAME_BYTES
    drawn = [(a, b, each.details.gallery()) for a, b, each in list(named_pairs(comparisons))[:MOST_GALLERIES]]
    shown = pair_galleries(drawn, images, room)
    sections.insert(1, Section("images", "Where the models differ most", shown.body, "Images"))
    line = f"{count_text(len(sides), 'model')} on {count_text(units, first.unit)}, {paired_word(comparisons)}"
    names = names_of(comparisons)
    who = f"{', '.join(names[:MOST_NAMED])}{' …' if len(names) > MOST_NAMED else ''}"
    title = f"{first.title or first.task}: {who} compared"
    page_title, heading = f"Steelyard: {first.task}, {who}", top(title, line, sides)
    return document(page_title, heading, sections, pictures=shown.pictures, verdict=lineup.verdict)


def _decimals(differences: Iterable[Difference]) -> int:
    """Digits behind the point that values and differences share."""
    return even_decimals(
        (d.difference, d.interval) if d.interval and d.interval[0] < d.interval[1] else (d.a.value, d.a.interval)
        for d in differences
    )


def _verdict(d: Difference) -> str:
    return f'<span class="verdict {escape(d.verdict.split()[0])}">{escape(verdict_text(d.verdict))}</span>'


def _differences(lineup: Lineup, about: Mapping[str, Description], confidence: float | None) -> str:
    comparisons = lineup.comparisons
    level = f"{percent_text(confidence)} interval" if confidence is not None else "interval"
    parts = [board(lineup, about)] if len(comparisons) > 1 else []
    pictures = score_figures(comparisons) if len(comparisons) > 1 else []
    parts.append(figure_blocks(pictures) + figure_blocks([improvement_figure(comparisons)], broad=True))
    scales = difference_scales([d for one in comparisons for d in one.differences.values()])
    for place, (first, name, comparison) in enumerate(named_pairs(comparisons)):
        rows = []
        for i, d in enumerate(comparison.differences.values()):
            metric = term(d.spec, d.spec, about, f"difference-{place}-{i}", code=True)
            digits = _decimals([d])
            rows.append(
                [
                    Cell(f"{metric}<br><small>{escape(d.label)}</small>", head=True),
                    number_cell(d.a.value, f"{ARROWS[d.better]} {number(d.a.value, digits)}"),
                    number_cell(d.b.value, number(d.b.value, digits)),
                    number_cell(d.difference, signed_number(d.difference, digits)),
                    Cell(escape(ends_text(d.interval, digits))),
                    Cell(whisker(d.difference, d.interval, scales.get(group_of(d)))),
                    number_cell(d.p_adjusted, p_text(d.p_adjusted)),
                    Cell(_verdict(d)),
                ]
            )
        if len(comparisons) > 1:
            source = escape(comparison.b.sources.predictions.source)
            parts.append(f"<h3>{escape(name)} against {escape(first)} <small><code>{source}</code></small></h3>")
        heads = ["metric", first, name, f"{name} − {first}", level, "", "p, corrected", f"{name} is"]
        parts.append(table(f"{name} against {first}", heads, rows, kind="differences"))
    meaning = legend(d.better for d in comparisons[0].differences.values())
    parts.append(
        f'<p class="legend">{escape(meaning)}. The dashed line in a strip marks zero difference. '
        f"{escape(scales_text(scales))} p: "
        f"{escape(flipped_text(comparisons[0]))}</p>"
    )
    for first, name, comparison in named_pairs(comparisons):
        remarks = verdict_remarks(comparison.differences.values(), comparison.unit, name, first)
        parts.append("<ul>" + "".join(f"<li>{escape(remark)}</li>" for remark in remarks) + "</ul>" if remarks else "")
    return "".join(parts)


def _slices(comparisons: Sequence[Comparison]) -> str:
    drawn = slice_figures(comparisons)
    parts = []
    for by in comparisons[0].slices:
        figure = figure_blocks([drawn[by]], broad=True, titled=False)
        parts.append(f"<h3>By {escape(slice_heading(by, ' and '))}</h3>{figure}")
        for first, name, comparison in named_pairs(comparisons):
            parts.append(_slice_table(slice_heading(by), f"{name} − {first}", comparison.slices[by]))
    return "".join(parts)


def _slice_table(by: str, difference: str, parts: Mapping[Slice, Mapping[str, Difference]]) -> str:
    """A row per slice: how many metrics are won and lost, then each difference."""
    specs = list(next(iter(parts.values()), {}))
    decimals = {spec: _decimals(differences[spec] for differences in parts.values()) for spec in specs}
    rows = []
    for value, differences in parts.items():
        won, lost = (sum(d.verdict == verdict for d in differences.values()) for verdict in ("better", "worse"))
        count = max(d.units for d in differences.values())
        cells = [head_cell(slice_text(value)), number_cell(count, f"{count:,}"), number_cell(won, str(won))]
        cells.append(number_cell(lost, str(lost)))
        for spec, d in differences.items():
            verdict = d.verdict.split()[0] if d.verdict in VERDICTS else "no"
            shown = escape(signed_number(d.difference, decimals[spec]))
            interval = escape(ends_text(d.interval, decimals[spec]))
            mark = f"<br><small>{_verdict(d)}</small>" if d.verdict in VERDICTS else ""
            html = f'<span class="verdict {verdict}">{shown}</span><br><small>{interval}</small>{mark}'
            cells.append(Cell(html, d.difference))
        rows.append(cells)
    heads = [by, "units", "won", "lost", *specs]
    return table(f"{difference} by {by}", heads, rows) + (
        f'<p class="legend">{escape(difference)}. Won and lost count the metrics with a verdict; p is corrected, '
        "metric by metric, for all slices and models.</p>"
    )


def _classes(comparisons: Sequence[Comparison]) -> str:
    figure = class_figure(comparisons)
    if figure is None:
        return ""
    parts = [figure_blocks([figure])]
    for first, name, comparison in named_pairs(comparisons):
        differences = comparison.classes()
        digits = _decimals(differences.values())
        rows = [
            [
                head_cell(name),
                number_cell(d.a.value, number(d.a.value, digits)),
                number_cell(d.b.value, number(d.b.value, digits)),
                number_cell(d.difference, signed_number(d.difference, digits)),
                Cell(escape(ends_text(d.interval, digits))),
                number_cell(d.p_adjusted, p_text(d.p_adjusted)),
                Cell(_verdict(d)),
            ]
            for name, d in differences.items()
        ]
        heads = ["class", first, name, f"{name} − {first}", "interval", "p, corrected", f"{name} is"]
        won, lost = (sum(d.verdict == verdict for d in differences.values()) for verdict in ("better", "worse"))
        parts.append(
            f"<p>{escape(name)} wins in {count_text(won, 'class')} and loses in {lost} of {len(differences)}.</p>"
        )
        parts.append(table(f"{name} against {first} by class", heads, rows))
    return "".join(parts)


def _units(comparisons: Sequence[Comparison]) -> str:
    parts = [figure_blocks(unit_figures(comparisons))]
    for first, name, comparison in named_pairs(comparisons):
        if comparison.details.units() is None:
            continue
        a, b = comparison.units()
        d = next((d for d in comparison.differences.values() if _by_unit(d.spec, (a, b))), None)
        if d is None:  # no metric has values of single units
            continue
        before, after = (np.asarray(t.values[d.spec], dtype=float) for t in (a, b))
        change = after - before
        best = {"zero": 0.0, "one": 1.0}.get(d.better)
        gain = change if d.better in ("higher", "none") else -change
        if best is not None:
            gain = np.abs(before - best) - np.abs(after - best)
        finite = np.isfinite(change)
        better, worse = int((gain[finite] > 0).sum()), int((gain[finite] < 0).sum())
        order = [i for i in np.argsort(-np.abs(np.where(finite, change, 0)), kind="stable") if finite[i] and change[i]]
        listed = order[:CHANGED]
        digits = even_decimals((float(change[i]), None) for i in listed) - 1 if listed else 0
        rows = [
            [
                head_cell(str(a.units[i])),
                number_cell(float(before[i]), number(float(before[i]), digits)),
                number_cell(float(after[i]), number(float(after[i]), digits)),
                number_cell(float(change[i]), signed_number(float(change[i]), digits)),
                Cell(_change(float(gain[i]), d.better)),
            ]
            for i in listed
        ]
        heads = [comparison.unit, first, name, f"{name} − {first}", ""]
        summary = (
            f"By {d.label} {name} is better on {count_text(better, comparison.unit)}, worse on {worse:,}, equal on "
            f"{int(finite.sum()) - better - worse:,}."
        )
        parts.append(f"<p>{escape(summary)}</p>")
        parts.append(table(f"{comparison.unit} that changed most, {name} against {first}", heads, rows))
    return "".join(parts)


def _by_unit(spec: str, tables: Sequence[UnitTable]) -> bool:
    """Whether a metric has a value of any single unit."""
    return any(bool(np.isfinite(np.asarray(table.values[spec], dtype=float)).any()) for table in tables)


def _change(gain: float, better: str) -> str:
    if better == "none" or not gain:
        return "equal" if not gain else "changed"
    word = "better" if gain > 0 else "worse"
    return f'<span class="verdict {word}">{word}</span>'


def listings(comparisons: Sequence[Comparison]) -> list[Listing]:
    """Every unit with the scores of all models, by the metrics that have values of single units."""
    tables = [c.units() for c in comparisons if c.details.units() is not None]
    if len(tables) != len(comparisons):
        return []
    first = tables[0][0]
    columns: dict[str, Array | Texts] = {first.unit: Texts(np.arange(len(first.units)), [str(u) for u in first.units])}
    x, names = "", names_of(comparisons)
    wide = 1 + 2 * len(tables)  # columns of a metric
    fitting = max(1, min(MOST_LISTED, MOST_CELLS // max(1, wide * len(first.units))))
    specs = [spec for spec in first.values if _by_unit(spec, [one for pair in tables for one in pair])]
    if not specs:
        return []
    for spec in specs[:fitting]:
        a = np.asarray(first.values[spec], dtype=float)
        columns[f"{names[0]} {spec}"] = a
        for name, (_, table_b) in zip(names[1:], tables, strict=True):
            b = np.asarray(table_b.values[spec], dtype=float)
            columns[f"{name} {spec}"] = b
            columns[f"{name} − {names[0]} {spec}"] = b - a
            x = x or f"{name} − {names[0]} {spec}"
    return [Listing("units", f"Every {first.unit}", columns, x=x)]


def _remarks(lineup: Lineup) -> list[str]:
    comparisons = lineup.comparisons
    remarks = [*lineup.notes, *(remark for one in comparisons for remark in comparison_remarks(one))]
    remarks += [note for c in comparisons for note in c.notes]
    remarks += [remark for c in comparisons for remark in undefined_remarks(c.differences.values())]
    return list(dict.fromkeys(remarks))

"""The page of one model: headline, scores, pictures, slices, tables, the worst units, all rows, where it comes from.

The worst units of a page: how a person knows them, what went wrong, and their scores with equal digits.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from os import PathLike

import numpy as np

from steelyard.core.counts import count_text, plural
from steelyard.core.errors import InputError
from steelyard.core.figure import Array, Listing, Texts
from steelyard.core.slice import Slice, slice_heading, slice_text
from steelyard.render.explanation import heading_of, remarks_on, table_of, waterfall_of
from steelyard.render.gaps import gap_legend, gaps_by
from steelyard.render.numbers import ends_text, even_decimals, interval_text, number, p_text, percent_text, value_text
from steelyard.render.page.figures import figure_blocks, slice_figures, unit_histograms
from steelyard.render.page.frame import Section, bullets, definitions_of, document, facts
from steelyard.render.page.gallery import FRAME_BYTES, PAGE_BYTES, report_gallery
from steelyard.render.page.scores import definitions, score_table
from steelyard.render.page.tables import (
    MOST_CELLS,
    Cell,
    data_table,
    explorer,
    head_cell,
    number_cell,
    table,
    text_cell,
)
from steelyard.render.remarks import largest_shares
from steelyard.render.runs import report_runs
from steelyard.render.text import remarks_of, report_heading
from steelyard.results.details import UnitTable
from steelyard.results.details_json import rounded_figure, unit_listing
from steelyard.results.origin import Model, ModelRun, SourceInfo
from steelyard.results.report import Report
from steelyard.results.score import Gap, Score

WORST = 12
MOST_SPECS = 6  # columns of scores
MOST_FIELDS, LONGEST = 3, 60


def worst_table(report: Report, units: UnitTable, listing: Listing | None) -> str:
    """The units with the worst first score: their ids, what is known of them, what is wrong, their scores."""
    specs = [spec for spec, values in units.values.items() if np.isfinite(values).any()][:MOST_SPECS]
    first = next(iter(specs), None)
    if first is None or len(units.units) < 2:
        return ""
    values = np.asarray(units.values[first], dtype=float)
    better = report.scores[first].better if first in report.scores else "higher"
    badness = {"higher": -values, "zero": np.abs(values), "one": np.abs(values - 1)}.get(better, values)
    order = np.argsort(np.where(np.isfinite(badness), -badness, np.inf), kind="stable")[:WORST]
    places = [i for i in order.tolist() if np.isfinite(badness[i])]
    names = [str(units.units[i]) for i in places]
    fields = {} if listing is None else fields_of(listing, names)
    columns = {spec: even([float(units.values[spec][i]) for i in places]) for spec in specs}
    rows = []
    for row, i in enumerate(places):
        cells = [head_cell(names[row]), *(text_cell(texts[row]) for texts in fields.values())]
        cells += [number_cell(float(units.values[spec][i]), columns[spec][row]) for spec in specs]
        rows.append(cells)
    label = report.scores[first].label if first in report.scores else first
    return (
        f"<h3>The worst by {escape(label)}</h3>"
        + table(f"The worst {plural(units.unit)} by {label}", [units.unit, *fields, *specs], rows)
        + f'<p class="legend">Each {escape(units.unit)} scored alone: {len(rows)} of {len(units.units):,}. '
        "All of them are below, to be sorted and filtered.</p>"
    )


def even(values: Sequence[float]) -> list[str]:
    """Numbers of one column with equal digits behind the point."""
    finite = [value for value in values if math.isfinite(value)]
    if all(value == round(value) for value in finite):
        decimals = 0
    else:
        decimals = max(0, min(6, 3 - math.floor(math.log10(max(map(abs, finite))))))
    return [number(value, decimals) for value in values]


def fields_of(listing: Listing, names: Sequence[str]) -> dict[str, list[str]]:
    """What the rows of a listing say of units: texts that are the same in all rows of one, and what is wrong."""
    key = next((name for name, column in listing.columns.items() if _names_all(column, names)), None)
    if key is None:
        return {}
    ids = listing.columns[key]
    assert isinstance(ids, Texts)
    place = {name: code for code, name in enumerate(ids.names)}
    rows = {name: np.flatnonzero(ids.codes == place[name]) for name in names}
    fields: dict[str, list[str]] = {}
    for name, column in listing.columns.items():
        if name == key or not isinstance(column, Texts) or len(fields) == MOST_FIELDS:
            continue
        codes = [np.unique(column.codes[rows[unit]]) for unit in names]
        if all(len(code) == 1 for code in codes):
            fields[name] = [_short(str(column.names[int(code[0])])) for code in codes]
    wrong = [_wrong(listing, key, rows[unit]) for unit in names]
    return {**fields, "what is in it": wrong} if any(wrong) else fields


def _names_all(column: Array | Texts, names: Sequence[str]) -> bool:
    return isinstance(column, Texts) and set(names) <= set(column.names)


def _wrong(listing: Listing, key: str, rows: Array) -> str:
    """Of several rows, how many there are of each outcome, or the one with the largest number."""
    if len(rows) < 2:
        return ""
    colour = listing.columns.get(listing.colour)
    if isinstance(colour, Texts):
        counts = Counter(str(colour.names[code]) for code in colour.codes[rows].tolist())
        return _short(", ".join(f"{count} {name}" for name, count in counts.most_common()))
    sizes = listing.columns.get(listing.x)
    if sizes is None or isinstance(sizes, Texts) or not np.isfinite(sizes[rows]).any():
        return ""
    worst = rows[int(np.nanargmax(np.abs(sizes[rows])))]
    words = [
        _cell(name, column, int(worst)) for name, column in listing.columns.items() if name not in (key, listing.x)
    ]
    return _short(f"{listing.x}: {number(float(sizes[worst]), 1)} ({', '.join(words[:MOST_FIELDS])})")


def _cell(name: str, column: Array | Texts, row: int) -> str:
    if isinstance(column, Texts):
        return str(column.names[int(column.codes[row])])
    return f"{name} {float(column[row]):g}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def report_page(report: Report, images: str | PathLike[str] | None = None) -> str:
    """The page; `images` is the folder of the images, of which it then shows thumbnails."""
    scores, about = list(report.scores.values()), definitions_of(report, report.task, report.scores)
    confidence, units = report.request.confidence, report.details.units()
    gallery = report.details.gallery()
    own = [rounded_figure(report.figure(name)) for name in report.figures]
    own = [figure for figure in own if gallery is None or figure.chart != "overlays"]  # the gallery shows the same
    sections = [
        Section("scores", "Scores", score_table(scores, about, confidence)),
        Section("runs", "Runs", runs_table(report_runs(report))),
        Section("remarks", "Remarks", _remarks(report, bool(own))),
        Section("pictures", "Pictures", figure_blocks(own)),
        Section("slices", "Slices", _slices(report)),
        Section("tables", "Tables", _tables(report)),
        Section("other-tools", "What other tools print", _explanations(report), "Other tools"),
        Section("units", f"{report.unit.capitalize()} by {report.unit}", _units(report, units)),
        Section("explorer", "Look through the data", explorers(listings_of(report, units)), "Explorer"),
        Section("definitions", "What the metrics mean", definitions(scores, about), "Definitions"),
        Section("source", "Where the numbers come from", origin_facts([("", report)]), "Source"),
    ]
    room = PAGE_BYTES - sum(len(section.body.encode("utf-8", "replace")) for section in sections) - FRAME_BYTES
    shown = report_gallery(gallery, images, room)
    sections.insert(1, Section("images", "Images", shown.body))
    line = report_heading(report).partition(": ")[2]
    return document(
        f"Steelyard: {report.task}, {model_name(report.sources.predictions.source)}",
        top(f"{report.title or report.task}: {model_name(report.sources.predictions.source)}", line, [("", report)]),
        sections,
        pictures=shown.pictures or any(figure.chart == "rasters" for figure in own),
        verdict=report.verdict,
    )


def model_name(source: str) -> str:
    """What a page calls a model that has no name: the file that its predictions came from."""
    return re.split(r"[/\\]", source.rstrip("/\\"))[-1].partition(".")[0] or source


def top(title: str, line: str, sides: Sequence[tuple[str, Report | Model]]) -> str:
    """The head of a page: what was scored, on what."""
    sources = "".join(
        f"<li>{escape(name)}<code>{escape(p.sources.predictions.source)}</code></li>" for name, p in sides
    )
    truth = escape(sides[0][1].sources.truth.source)
    return (
        f'<p class="kicker">Steelyard</p><h1>{escape(title)}</h1><p class="line">{escape(line)}</p>'
        f'<ul class="sources">{sources}<li>against <code>{truth}</code></li></ul>'
    )


def listings_of(report: Report, units: UnitTable | None) -> list[Listing]:
    """The rows and the units that a reader may look through, with the metrics that single units have."""
    if units is not None:
        units = replace(units, values={spec: own for spec, own in units.values.items() if np.isfinite(own).any()})
    if units is not None and len(units.values) * len(units.units) > MOST_CELLS:
        fitting = list(units.values.items())[: max(1, MOST_CELLS // len(units.units))]
        units = replace(units, values=dict(fitting))
    listings = (report.listing(), None if units is None else unit_listing(units))
    return [listing for listing in listings if listing is not None and len(listing)]


def explorers(listings: Sequence[Listing]) -> str:
    """One explorer for each listing; the script fills it."""
    return "".join(map(explorer, listings))


def _slices(report: Report) -> str:
    drawn = slice_figures(report)
    parts = []
    for by, values in report.slices.items():
        parts.append(f"<h3>By {escape(slice_heading(by, ' and '))}</h3>")
        parts.append(figure_blocks([drawn[by]] if by in drawn else [], broad=True, titled=False))
        parts.append(slice_table(by, values, gaps_by(report, by)))
    return "".join(parts)


def _gap_rows(gaps: Mapping[str, Gap], specs: Sequence[str], decimals: Mapping[str, int]) -> list[list[Cell]]:
    """Below the groups: how far they lie apart, the ratio, and the p of there being no difference."""
    rows = [[head_cell(name), Cell("")] for name in ("gap", "ratio", "p")]
    for spec in specs:
        gap = gaps.get(spec)
        if gap is None:
            for row in rows:
                row.append(Cell(""))
            continue
        kind = ' class="verdict worse"' if gap.shown else ""
        worst = f"<br><small>worst: {escape(gap.worst)}</small>" if gap.shown and gap.worst else ""
        size = escape(number(gap.difference, decimals[spec]))
        ends = escape(ends_text(gap.interval, decimals[spec]))
        rows[0].append(Cell(f"<span{kind}>{size}</span><br><small>{ends}</small>{worst}"))
        rated = escape(interval_text(gap.ratio, gap.ratio_interval, 2))
        ratio = f"{escape(value_text(gap.ratio, gap.ratio_interval, 2))}<br><small>{rated}</small>" if rated else ""
        rows[1].append(Cell(ratio))
        rows[2].append(Cell(escape(p_text(gap.p_adjusted))))
    if not any(gap.ratio_interval for gap in gaps.values()):
        del rows[1]
    return rows if gaps else []


def slice_table(by: Slice, values: Mapping[Slice, Mapping[str, Score]], gaps: Sequence[Gap] = ()) -> str:
    """A row per slice, a column per score; below them how far the slices lie apart."""
    specs = list(next(iter(values.values()), {}))
    decimals = {
        spec: even_decimals((scores[spec].value, scores[spec].interval) for scores in values.values()) for spec in specs
    }
    rows = []
    for value, scores in values.items():
        count = max(s.units for s in scores.values())
        cells = [head_cell(slice_text(value)), number_cell(count, f"{count:,}")]
        for spec, s in scores.items():
            interval = escape(ends_text(s.interval, decimals[spec]))
            shown = escape(number(s.value, decimals[spec]))
            why = f'<br><small class="why">{escape(s.undefined_reason)}</small>' if s.undefined_reason else ""
            cells.append(Cell(f"<strong>{shown}</strong><br><small>{interval}</small>{why}", s.value))
        rows.append(cells)
    shown = slice_heading(by)
    foot = _gap_rows({gap.spec: gap for gap in gaps}, specs, decimals)
    below = f'<p class="legend">{escape(gap_legend(gaps))}</p>' if gaps else ""
    return table(f"Scores by {shown}", [shown, "units", *specs], rows, foot=foot) + below


def runs_table(runs: tuple[list[str], list[list[str]]] | None) -> str:
    """A row per run, where there are several, and the shares of the variance."""
    if runs is None:
        return ""
    header, rows = runs
    return table("Runs", header, [[head_cell(row[0]), *(Cell(escape(cell)) for cell in row[1:])] for row in rows])


def _tables(report: Report) -> str:
    """What the task has beside scores."""
    parts: list[str] = []
    for name in report.tables:
        try:
            shown = report.table(name)
        except InputError as error:  # one of many classes: the message says how many, and what there is
            parts.append(f'<p class="legend">{escape(str(error))}</p>')
            continue
        opened = "" if any("<details open" in part for part in parts) else " open"
        if len(shown.columns) <= 60:
            inside = data_table(shown, "table-")
            parts.append(f"<details{opened}><summary>{escape(shown.title)}</summary>{inside}</details>")
        else:
            parts.append(
                f'<p class="legend">{escape(shown.title)}: {len(shown.rows):,} × {len(shown.columns):,}, too wide '
                "for a page. The tables as CSV hold it.</p>"
            )
    return "".join(parts)


def _explanations(report: Report) -> str:
    """Why other tools print other numbers, a table each."""
    parts = []
    for explanation in report.explanations:
        header, cells = table_of(explanation)
        rows = [[head_cell(row[0]), *(number_cell(math.nan, cell) for cell in row[1:])] for row in cells]
        drawn = waterfall_of(explanation)
        parts.append(f"<h3>{escape(heading_of(explanation))}</h3>")
        parts.append(figure_blocks([] if drawn is None else [drawn], broad=True))
        parts.append(table(heading_of(explanation), header, rows, sort=False) + bullets(remarks_on(explanation)))
    return "".join(parts)


def _units(report: Report, units: UnitTable | None) -> str:
    if units is None:
        return ""
    drawn = [figure for figure in unit_histograms(units, report.scores) if len(figure)]
    return figure_blocks(drawn, broad=True) + worst_table(report, units, report.listing())


def _remarks(report: Report, pictured: bool) -> str:
    remarks = [*remarks_of(report), *largest_shares(report.scores.values(), report.unit)]
    if not pictured and report.details.units() is None and report.request.runs is None:
        remarks.append(
            "This page was made from a result that holds scores only. Write the result with details to see images, "
            "tables and units here."
        )
    return bullets(remarks) if remarks else ""


def origin_facts(sides: Sequence[tuple[str, Report | Model]]) -> str:
    """Everything that the numbers depend on."""
    asked, read = sides[0][1].request, sides[0][1].sources
    rows = [("Steelyard", read.version), ("truth", _source(read.truth))]
    rows += [(f"{prefix}predictions", _source(side.sources.predictions)) for prefix, side in sides]
    rows += [(f"{prefix}{run.name}", _source(run)) for prefix, side in sides for run in side.sources.runs]
    if asked.confidence is not None and asked.runs is None:
        drawn = f"{percent_text(asked.confidence)}, {asked.draws:,} draws of units, seed {asked.seed}"
        rows.append(("intervals", drawn))
    rows += [("missing predictions", str(asked.missing)), ("predictions without truth", str(asked.extra))]
    rows += [(f"column {name}", column) for name, column in asked.columns.items()]
    rows += [(f"option {name}", value) for name, value in asked.options.items()]
    rows += [(f"tag {name}", value) for name, value in asked.tags.items()]
    return facts(rows)


def _source(side: SourceInfo | ModelRun) -> str:
    return f"{side.source}, {count_text(side.rows, 'row')}, {side.digest[:23]}…"

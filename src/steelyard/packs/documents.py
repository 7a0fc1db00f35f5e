"""The documents of a pack: a test report and a model card, as Markdown and as pages.

They contain numbers and methods, and name what only the author can write: nothing is claimed for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from steelyard.core.counts import count_text
from steelyard.core.frozen import Frozen
from steelyard.core.slice import slice_heading, slice_text
from steelyard.packs.manifest import Manifest
from steelyard.render.board import rank_remarks, rows_of
from steelyard.render.gate import MARKS, deciding_numbers
from steelyard.render.markdown import plain
from steelyard.render.numbers import interval_text, names_of, p_text, percent_text, signed_text, value_text
from steelyard.render.page.frame import Section, bullets, definitions_of, document, facts
from steelyard.render.page.tables import head_cell, table, text_cell
from steelyard.render.text import remarks_of
from steelyard.render.verdicts import flipped_text, interval_method, verdict_remarks, verdict_text
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.gate import Gate
from steelyard.results.origin import Model, SourceInfo, Sources
from steelyard.results.report import Report
from steelyard.results.result import Result
from steelyard.results.score import Difference, Score

MOST_SLICES = 60  # rows of a table of slices
BLANK = "To be written by the author: {}."


class Text(Frozen):
    """A paragraph."""

    text: str


class Points(Frozen):
    """A list."""

    items: tuple[str, ...]


class Facts(Frozen):
    """Names and what they are."""

    rows: tuple[tuple[str, str], ...]


class Grid(Frozen):
    """A table."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = Text | Points | Facts | Grid
Part = tuple[str, Sequence[Block]]
Results = Mapping[str, Result]


def report_parts(manifest: Manifest, results: Results) -> list[Part]:
    """What a test report says: purpose, data, methods, numbers with intervals, limits, who and when."""
    purpose = manifest.purpose or BLANK.format("what the model is for, and what this test is to show")
    return [
        ("Purpose", [Text(purpose)]),
        ("Who and when", [Facts(_who(manifest))]),
        ("Data", _data(manifest, results)),
        ("Methods", _methods(results)),
        ("Results", [block for name, result in results.items() for block in _said(name, result)]),
        ("Rules", [block for name, result in results.items() for block in _rules(name, result)]),
        ("Limits", _limits(manifest, results)),
        ("How to check", [Text(_check_text(manifest))]),
        (
            "Assessment",
            [
                Text(BLANK.format("what the numbers mean for the purpose above, and who assessed them")),
                Text("This report contains measured numbers. It does not state that any requirement is met."),
            ],
        ),
    ]


def card_parts(manifest: Manifest, results: Results) -> list[Part]:
    """What a model card says of the models whose results the pack holds."""
    scored = {name: result for name, result in results.items() if not isinstance(result, Gate)}
    return [
        ("Models", _models(scored)),
        ("Intended use", [Text(manifest.purpose or BLANK.format("intended uses and users, and uses out of scope"))]),
        ("Training data", [Text(BLANK.format("what the model was trained on"))]),
        ("Evaluation data", _data(manifest, scored)),
        ("Metrics", _definitions(scored)),
        ("Results", [block for name, result in scored.items() for block in _said(name, result)]),
        ("Limits", _limits(manifest, scored)),
        (
            "Ethical considerations",
            [Text(BLANK.format("risks for the people concerned, and what was done about them"))],
        ),
        ("Evaluated by", [Facts(_who(manifest))]),
    ]


def _who(manifest: Manifest) -> tuple[tuple[str, str], ...]:
    used = manifest.software
    return (
        ("made by", manifest.by or "not stated"),
        ("made at", manifest.created),
        ("Steelyard", used.steelyard),
        ("Python, NumPy", f"{used.python}, {used.numpy}"),
        ("platform", used.platform),
    )


def _models_of(result: Result) -> list[tuple[str, Model]]:
    if isinstance(result, Report):
        name = result.request.tags.get("model", "")
        return [(name, Model(result.request, result.sources, result.coverage, name))]
    if isinstance(result, Comparison | Lineup):
        comparisons = result.comparisons if isinstance(result, Lineup) else (result,)
        sides = [comparisons[0].a, *(one.b for one in comparisons)]
        return list(zip(names_of(comparisons), sides, strict=True))
    return []


def _models(results: Results) -> list[Block]:
    rows = dict.fromkeys(
        (name or "not named", model.sources.predictions.source, model.request.task, _tags(model.request.tags))
        for result in results.values()
        for name, model in _models_of(result)
    )
    note = Text(BLANK.format("who made each model, its version, licence and architecture"))
    return [Grid("Models", ("model", "predictions", "task", "tags"), tuple(rows)), note] if rows else [note]


def _tags(tags: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in tags.items())


def _data(manifest: Manifest, results: Results) -> list[Block]:
    """What was scored, by the digests of the columns, and the files as they lie on a disk."""
    read: dict[tuple[str, ...], None] = {}
    for result in results.values():
        for _, model in _models_of(result):
            for side, info in _sides(model.sources):
                read[(side, info.source, f"{info.rows:,}", info.digest)] = None
    blocks: list[Block] = []
    if read:
        blocks.append(Grid("What was scored", ("side", "source", "rows", "SHA-256 of the columns"), tuple(read)))
    files = tuple(
        (
            f"{entry.name}/{file.name}" if entry.folder else entry.name,
            f"{file.size:,}",
            file.sha256,
            "in this pack" if entry.included else "not in this pack",
        )
        for entry in manifest.data
        for file in entry.files
    )
    if len(files) > MOST_SLICES:
        blocks.append(Text(f"{count_text(len(files), 'file')}: the manifest has the digest of each."))
    elif files:
        blocks.append(Grid("Files", ("file", "bytes", "SHA-256 of the file", ""), files))
    blocks.append(Text(BLANK.format("where the data come from, how units were sampled, and who labelled them")))
    return blocks


def _sides(sources: Sources) -> list[tuple[str, SourceInfo]]:
    sides = [("truth", sources.truth), ("predictions", sources.predictions)]
    return sides if sources.proxy is None else [*sides, ("proxy of truth", sources.proxy)]


def _methods(results: Results) -> list[Block]:
    rows = []
    for name, result in results.items():
        for _, model in _models_of(result)[-1:]:
            request = model.request
            level = "none" if request.confidence is None else percent_text(request.confidence)
            comparison = result if isinstance(result, Comparison) else result[0] if isinstance(result, Lineup) else None
            tests = "none" if comparison is None else flipped_text(comparison).rstrip(".")
            intervals = "" if request.confidence is None else interval_method(request)
            policy = f"missing: {request.missing}, extra: {request.extra}"
            rows.append((name, request.task, level, intervals, tests, policy))
    heads = ("result", "task", "confidence", "intervals", "tests", "units without a partner")
    return [*([Grid("Methods", heads, tuple(rows))] if rows else []), *_definitions(results)]


def _definitions(results: Results) -> list[Block]:
    rows: dict[str, tuple[str, ...]] = {}
    for result in results.values():
        for _, model in _models_of(result)[-1:]:
            specs = _specs(result)
            described = definitions_of(result, model.request.task, specs)
            for spec, shown in specs.items():
                text = described[spec].summary if spec in described else ""
                rows.setdefault(spec, (spec, shown.label, shown.better, shown.measured_in, text))
    heads = ("metric", "name", "better", "unit", "what it measures")
    return [Grid("Metrics", heads, tuple(rows.values()))] if rows else []


def _specs(result: Any) -> Mapping[str, Score | Difference]:
    if isinstance(result, Report):
        return result.scores
    if isinstance(result, Lineup):
        return result[0].differences
    return result.differences if isinstance(result, Comparison) else {}


def _said(name: str, result: Result) -> list[Block]:
    """The verdict of a result in a sentence, and its numbers."""
    verdict = result.verdict if isinstance(result, Report | Comparison | Lineup) else ""
    return [*([Text(f"{name}: {verdict}")] if verdict else []), *_numbers(name, result)]


def _numbers(name: str, result: Result) -> list[Block]:
    if isinstance(result, Report):
        rows = tuple(_score_row(score) for score in result.scores.values())
        blocks: list[Block] = [Grid(name, ("metric", "score", "interval", "units"), rows)]
        for by, parts in result.slices.items():
            sliced = [
                (slice_text(value), *_score_row(one)) for value, scores in parts.items() for one in scores.values()
            ]
            title = f"{name}, by {slice_heading(by)}"
            heads = (slice_heading(by), "metric", "score", "interval", "units")
            blocks += _cut(title, heads, sliced)
        return blocks
    if isinstance(result, Comparison):
        return _differences(name, [result])
    if isinstance(result, Lineup):
        models = [
            (row.name, spec, *_score_row(row.scores[spec])[1:], "" if ranks is None else ranks.text(i))
            for i, row in enumerate(rows_of(result.comparisons))
            for spec in result[0].differences
            for ranks in [result.standings.get(spec)]
        ]
        board = ("model", "metric", "score", "interval", "units", "rank")
        return [Grid(name, board, tuple(models)), *_differences(f"{name}, differences", result.comparisons)]
    return [] if isinstance(result, Gate) else [Text(f"{name}: see its page.")]


def _score_row(score: Score) -> tuple[str, ...]:
    if not score.defined:
        return score.spec, "undefined", score.undefined_reason, f"{score.units:,}"
    value = f"{value_text(score.value, score.interval)} {score.measured_in}".strip()
    return score.spec, value, interval_text(score.value, score.interval), f"{score.units:,}"


def _differences(title: str, comparisons: Sequence[Comparison]) -> list[Block]:
    first, *others = names_of(comparisons)
    heads = ("metric", "models", "first", "second", "difference", "interval", "p, corrected", "verdict")
    rows = [
        _difference_row(f"{name} − {first}", d)
        for name, one in zip(others, comparisons, strict=True)
        for d in one.differences.values()
    ]
    sliced = [
        (slice_text(value), *_difference_row(f"{name} − {first}", d))
        for name, one in zip(others, comparisons, strict=True)
        for parts in one.slices.values()
        for value, differences in parts.items()
        for d in differences.values()
    ]
    return [Grid(title, heads, tuple(rows)), *(_cut(f"{title}, slices", ("slice", *heads), sliced) if sliced else [])]


def _difference_row(names: str, d: Difference) -> tuple[str, ...]:
    return (
        d.spec,
        names,
        value_text(d.a.value, d.a.interval),
        value_text(d.b.value, d.b.interval),
        f"{signed_text(d.difference, d.interval)} {d.measured_in}".strip(),
        interval_text(d.difference, d.interval),
        p_text(d.p_adjusted),
        verdict_text(d.verdict),
    )


def _cut(title: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[Block]:
    left = len(rows) - MOST_SLICES
    more = [Text(f"{count_text(left, 'more row')}: see the page of the result.")] if left > 0 else []
    return [Grid(title, heads, tuple(rows[:MOST_SLICES])), *more]


def _rules(name: str, result: Result) -> list[Block]:
    if not isinstance(result, Gate):
        return []
    rows = tuple((MARKS[v.outcome], v.rule, deciding_numbers(v), v.reason) for v in result.verdicts)
    return [Grid(f"{name}: {MARKS[result.outcome]}", ("", "fail if", "score", "reason"), rows)]


def _limits(manifest: Manifest, results: Results) -> list[Block]:
    """What the results themselves say, and what cannot be computed again."""
    remarks: list[str] = []
    for name, result in results.items():
        remarks += [f"{name}: {remark}" for remark in _remarks(result)]
    remarks += [
        f"{one.member} cannot be computed again: {one.not_repeatable}."
        for one in manifest.results
        if one.not_repeatable and one.member in results
    ]
    remarks += manifest.notes
    written = BLANK.format("conditions that the data do not cover")
    return [*([Points(tuple(dict.fromkeys(remarks)))] if remarks else []), Text(written)]


def _remarks(result: Result) -> Iterable[str]:
    if isinstance(result, Report):
        return remarks_of(result)
    if isinstance(result, Comparison):
        return [
            *verdict_remarks(result.differences.values(), result.unit, *reversed(names_of([result]))),
            *result.notes,
        ]
    if isinstance(result, Lineup):
        return rank_remarks(result)
    return result.notes


def _check_text(manifest: Manifest) -> str:
    included = any(entry.included for entry in manifest.data)
    data = "in the pack" if included else "whose folder you name"
    return (
        "`steelyard verify PACK` checks the digest of every file in the pack, computes the results again from the data "
        f"{data}, and prints every number that differs."
    )


def as_markdown(title: str, parts: Sequence[Part]) -> str:
    """A document as Markdown."""
    lines = [f"# {plain(title)}", ""]
    for heading, blocks in parts:
        if blocks:
            lines += [f"## {heading}", ""]
            for block in blocks:
                lines += [*_block_markdown(block), ""]
    return "\n".join(lines).rstrip() + "\n"


def _block_markdown(block: Block) -> list[str]:
    if isinstance(block, Text):
        return [block.text if block.text.startswith("`steelyard") else plain(block.text)]
    if isinstance(block, Points):
        return [f"- {plain(item)}" for item in block.items]
    if isinstance(block, Facts):
        return [f"- {plain(name)}: {plain(value)}" for name, value in block.rows]
    rows = [block.heads, ("---",) * len(block.heads), *(tuple(map(plain, row)) for row in block.rows)]
    return [f"**{plain(block.title)}**", "", *("| " + " | ".join(row) + " |" for row in rows)]


def as_page(title: str, line: str, parts: Sequence[Part]) -> str:
    """A document as a self-contained page."""
    sections = [
        Section(heading.lower().replace(" ", "-"), heading, "\n".join(map(_block_html, blocks)))
        for heading, blocks in parts
        if blocks
    ]
    top = f'<p class="kicker">Steelyard</p><h1>{escape(title)}</h1><p class="line">{escape(line)}</p>'
    return document(f"Steelyard: {title}", top, sections)


def _block_html(block: Block) -> str:
    if isinstance(block, Text):
        return f"<p>{escape(block.text.replace('`', ''))}</p>"
    if isinstance(block, Points):
        return bullets(block.items)
    if isinstance(block, Facts):
        return facts(block.rows)
    rows = [[head_cell(row[0]), *map(text_cell, row[1:])] for row in block.rows]
    return f"<h3>{escape(block.title)}</h3>{table(block.title, block.heads, rows)}"

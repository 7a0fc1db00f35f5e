"""The public functions: evaluate, compare, metrics. They tie the rooms together and hold no logic of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from steelyard.core.errors import InputError, nearest
from steelyard.core.frozen import frozen
from steelyard.core.metric import Description, Metric, describe
from steelyard.core.options import Options
from steelyard.core.pairs import Coverage
from steelyard.core.records import Records
from steelyard.core.stats import Stats
from steelyard.core.task import Policy, Task
from steelyard.core.weights import EachUnit
from steelyard.io.digest import digest
from steelyard.io.options import resolve_options
from steelyard.io.sources import read_sides
from steelyard.metrics import catalogue
from steelyard.report.model import Comparison, Lineup, Provenance, Report, Side, UnitTable
from steelyard.report.numbers import count_text
from steelyard.stats.bootstrap import Resampling, score
from steelyard.stats.intervals import FEW_UNITS
from steelyard.stats.slices import slices
from steelyard.stats.threads import use_threads

if TYPE_CHECKING:
    from steelyard.core.explanation import Explanation
    from steelyard.core.figure import Figure, Listing
    from steelyard.core.table import Table

__all__ = ["compare", "compare_all", "draw", "evaluate", "metrics", "read", "use_threads"]

By = Sequence[str | Sequence[str]]


def evaluate(
    task: str,
    truth: Any,
    predictions: Any = None,
    metrics: Sequence[str | Metric] | str | None = None,
    *,
    by: By = (),
    confidence: float | None = 0.95,
    draws: int = 1000,
    seed: int = 0,
    missing: str | None = None,
    extra: str | None = None,
    columns: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    explain: Sequence[str] | str = (),
    save_draws: bool = False,
) -> Report:
    """Score predictions against truth.

    `truth` and `predictions` are paths, data frames (pandas, polars, pyarrow) or dicts of arrays; without `predictions`
    the truth holds both sides. `by` names columns to slice by; an inner tuple crosses several. `confidence=None` makes
    no intervals. `missing` says what to do with truth that has no prediction: "error", "worst" or "skip"; `extra`
    likewise for predictions without truth: "error" or "skip"; "error" where nothing is said and the task has no other
    custom. `columns` renames: {"weight": "grams"}.
    `options` are the task's own: {"angle": "radians"}, or for one side {"truth.angle": "radians"}. `explain` names
    other tools ("pycocotools"): the report then says what they print for these data, and which setting moves it.
    `save_draws` keeps every score under the bootstrap draws, so that the JSON holds what a paired gate needs.
    """
    kind = catalogue.find_task(task)
    chosen = metrics_of(kind, metrics)
    if explain and kind.explain is None:
        raise InputError(f"task '{task}' has no other tools to explain", remedy="Task 'boxes' has.")
    how = Resampling(confidence, draws, seed, save_draws)
    how.check()
    policy = Policy(missing or kind.policy.missing, extra or kind.policy.extra)
    crossed = crossings(by)

    said = resolve_options(kind, options or {})
    measured = _measure(kind, truth, predictions, columns or {}, policy, said)
    chosen = expanded(kind, chosen, metrics is None, measured.stats)
    parts = {",".join(names): slices(measured.pairs, measured.stats, names, kind.measure) for names in crossed}
    report = report_of(
        kind,
        measured.stats,
        parts,
        chosen,
        how,
        measured.coverage,
        _provenance(measured, chosen, how, policy, tuple(parts), columns or {}),
        kind.tables(measured.stats) if kind.tables is not None else {},
        notes=(*getattr(measured.truth, "notes", ()), *_found(kind, measured)),
        explanations=kind.explain(measured.stats, explain) if explain and kind.explain is not None else (),
    )
    return replace(
        report,
        figure_makers=lambda: _figures(kind, measured, chosen),
        listing_maker=lambda: _listing(kind, measured),
    )


def report_of(
    kind: Task,
    stats: Stats,
    parts: Mapping[str, Mapping[str, Stats]],
    chosen: Sequence[Metric],
    how: Resampling,
    coverage: Coverage,
    provenance: Provenance,
    tables: Mapping[str, Callable[[], Table]],
    *,
    notes: tuple[str, ...] = (),
    explanations: tuple[Explanation, ...] = (),
) -> Report:
    """The report of what was measured, in all and by slice."""
    return Report(
        task=kind.name,
        unit=kind.unit,
        item=kind.item,
        scores=score(stats, chosen, how),
        slices={
            name: {value: score(part, chosen, how) for value, part in by_value.items()}
            for name, by_value in parts.items()
        },
        coverage=coverage,
        provenance=provenance,
        notes=(
            *notes,
            *notes_of(kind, stats, how, [part for by_value in parts.values() for part in by_value.values()]),
        ),
        title=kind.title,
        about=lambda: {str(metric): describe(type(metric)) for metric in chosen},
        unit_table=lambda: _unit_table(kind, stats, chosen),
        table_makers=tables,
        explanations=explanations,
    )


def read(path: str | PathLike[str]) -> Report:
    """Read a result that `Report.to_json` wrote; what its metrics mean comes from the catalogue."""
    from steelyard.report.load import read_result

    report = read_result(path)
    if not isinstance(report, Report):
        raise InputError("is a comparison, not a report", where=str(path), remedy="Give a result of 'evaluate'.")
    if report.task not in catalogue.TASKS:
        return report
    kind = catalogue.find_task(report.task)
    return replace(report, item=kind.item, title=kind.title, about=lambda: _about(kind, report.scores))


def _figures(kind: Task, measured: Measured, chosen: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    make = kind.picture("figures")
    return {} if make is None else make(measured.pairs, measured.stats, chosen)


def _listing(kind: Task, measured: Measured) -> Listing | None:
    make = kind.picture("listing")
    return None if make is None else make(measured.pairs, measured.stats)


def _about(kind: Task, specs: Iterable[str]) -> dict[str, Description]:
    found = {}
    for spec in specs:
        try:
            found[spec] = describe(type(catalogue.parse(spec, kind.name)))
        except InputError:  # a metric of another version
            continue
    return found


def compare(
    task: str,
    truth: Any,
    predictions_a: Any,
    predictions_b: Any,
    metrics: Sequence[str | Metric] | str | None = None,
    *,
    by: By = (),
    confidence: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
    missing: str | None = None,
    extra: str | None = None,
    columns: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Comparison:
    """Compare two models on the same truth, paired by unit. Differences are B minus A: A is the one to beat."""
    return compare_all(
        task, truth, [predictions_a, predictions_b], metrics, by=by, confidence=confidence, draws=draws, seed=seed,
        missing=missing, extra=extra, columns=columns, options=options,
    ).comparisons[0]  # fmt: skip


def compare_all(
    task: str,
    truth: Any,
    predictions: Sequence[Any],
    metrics: Sequence[str | Metric] | str | None = None,
    *,
    by: By = (),
    confidence: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
    missing: str | None = None,
    extra: str | None = None,
    columns: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Lineup:
    """Compare two models or more on the same truth: each with the first, which is the one to beat.

    `by` compares in slices too. p-values are corrected (Holm) for all metrics and models shown, and in slices, metric
    by metric, for all slices and models.
    """
    from steelyard.lineup import lineup

    kind = catalogue.find_task(task)
    chosen = metrics_of(kind, metrics)
    how = Resampling(confidence, draws, seed)
    how.check()
    if len(predictions) < 2:
        raise InputError("a comparison needs two predictions or more", remedy="Name the one to beat first.")
    policy = Policy(missing or kind.policy.missing, extra or kind.policy.extra)
    said = resolve_options(kind, options or {})
    models = [_measure(kind, truth, p, columns or {}, policy, said) for p in predictions]
    chosen = expanded(kind, chosen, metrics is None, Stats.unified([m.stats for m in models])[0])
    crossed = crossings(by)
    sources = [
        _provenance(m, chosen, how, policy, tuple(",".join(names) for names in crossed), columns or {}) for m in models
    ]
    notes = (*getattr(models[0].truth, "notes", ()), *notes_of(kind, models[0].stats, how))
    found = [_found(kind, m) for m in models]
    found[1:] = [tuple(note for note in other if note not in found[0]) for other in found[1:]]
    return lineup(
        kind, chosen, how, crossed,
        [(m.pairs, m.stats) for m in models], [m.coverage for m in models], sources,
        [
            (*notes, *_unequal(kind, models[0].coverage, m.coverage), *found[0], *other)
            for m, other in zip(models[1:], found[1:], strict=True)
        ],
    )  # fmt: skip


def draw(
    task: str,
    truth: Any,
    predictions: Any,
    unit: object,
    metric: str | Metric | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> str:
    """Draw one unit (an image) as SVG text: truth, predictions, and how the metric pairs them."""
    from steelyard.report.svg import scene_svg

    kind = catalogue.find_task(task)
    if kind.scene is None:
        drawn = [name for name in catalogue.TASKS if catalogue.TASKS[name].scene is not None]
        raise InputError(f"task '{task}' has no pictures", remedy=f"Tasks that have: {', '.join(drawn)}.")
    chosen = metrics_of(kind, [metric or kind.defaults[0]])[0]
    said = resolve_options(kind, options or {})
    pairs = _measure(kind, truth, predictions, columns or {}, Policy("worst", "skip"), said).pairs
    place = {str(found): i for i, found in enumerate(pairs.units.tolist())}
    if str(unit) not in place:
        raise InputError(f"there is no {kind.unit} '{unit}' in the truth", remedy=nearest(str(unit), place))
    return scene_svg(kind.scene(pairs, place[str(unit)], chosen))


def measure(
    task: str,
    truth: Any,
    predictions: Any = None,
    *,
    missing: str | None = None,
    extra: str | None = None,
    columns: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Measured:
    """Read, join and measure, for those who want to look at single units; the settings are those of `evaluate`."""
    kind = catalogue.find_task(task)
    policy = Policy(missing or kind.policy.missing, extra or kind.policy.extra)
    return _measure(kind, truth, predictions, columns or {}, policy, resolve_options(kind, options or {}))


def metrics(task: str) -> tuple[Metric, ...]:
    """The catalogue of a task, as values."""
    return catalogue.metrics(task)


@frozen
class Measured:
    """Both sides as they were read, their pairs, and what was measured in each unit."""

    truth: Records
    prediction: Records
    pairs: Any
    stats: Stats
    coverage: Coverage
    options: Options


def metrics_of(kind: Task, wanted: Sequence[str | Metric] | str | None) -> list[Metric]:
    """The metrics that were asked for, or the default set."""
    if wanted is None:
        wanted = kind.defaults
    elif isinstance(wanted, str | Metric):
        wanted = [wanted]
    for name in wanted:
        if not isinstance(name, str | Metric):
            raise InputError(f"{name!r} is no metric", remedy="Give its spec as a text, such as 'mae'.")
    chosen = [m if isinstance(m, Metric) else catalogue.parse(m, kind.name) for m in wanted]
    if not chosen:
        raise InputError("no metric is asked for", remedy=f"Leave it out for the default set of '{kind.name}'.")
    return list(dict.fromkeys(chosen))


def crossings(by: By) -> list[tuple[str, ...]]:
    """The columns of each slicing, several where they are crossed."""
    found = [
        (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Sequence) else () for names in by
    ]
    for given, names in zip(by, found, strict=True):
        if not names or not all(isinstance(name, str) and name for name in names):
            raise InputError(f"{given!r} names no column to slice by", remedy="Give names of columns as texts.")
    return found


def expanded(kind: Task, chosen: list[Metric], by_default: bool, stats: Stats) -> list[Metric]:
    """What the choice comes to for these data."""
    if by_default and kind.defaults_for is not None:
        chosen = metrics_of(kind, kind.defaults_for(stats))
    return list(dict.fromkeys(metric for one in chosen for metric in one.expand(stats)))


def _measure(
    kind: Task, truth: Any, predictions: Any, columns: Mapping[str, str], policy: Policy, options: Options
) -> Measured:
    if not isinstance(columns, Mapping):
        raise InputError(f"columns are {columns!r}", remedy="Give a mapping: {'weight': 'grams'}.")
    truth_records, prediction_records = read_sides(kind, truth, predictions, columns, options)
    pairs = kind.join(truth_records, prediction_records, policy, options)
    return Measured(truth_records, prediction_records, pairs, kind.measure(pairs), pairs.coverage, options)


def _found(kind: Task, measured: Measured) -> tuple[str, ...]:
    """What the quick checks say of the data."""
    from steelyard.checks.quick import notes

    return notes(kind, measured.truth, measured.prediction, measured.pairs, measured.options)


def _provenance(
    measured: Measured,
    chosen: Sequence[Metric],
    how: Resampling,
    policy: Policy,
    by: tuple[str, ...],
    columns: Mapping[str, str],
) -> Provenance:
    return Provenance(
        truth=Side(measured.truth.source, len(measured.truth), digest(measured.truth)),
        predictions=Side(measured.prediction.source, len(measured.prediction), digest(measured.prediction)),
        metrics=tuple(str(metric) for metric in chosen),
        by=by,
        confidence=how.confidence,
        draws=how.draws if how.confidence is not None else 0,
        seed=how.seed,
        missing=policy.missing,
        extra=policy.extra,
        columns=dict(columns),
        options=dict(measured.options.given),
    )


def notes_of(kind: Task, stats: Stats, how: Resampling, parts: Sequence[Stats] = ()) -> tuple[str, ...]:
    """What a reader of the intervals must know."""
    units = stats.unit_count
    if how.confidence is None:
        return ()
    if units < 2:
        return (f"An interval needs at least two units; there is {units} {kind.unit}.",)
    rough = f"below {FEW_UNITS} units an interval is rough and tends to be too narrow."
    if units < FEW_UNITS:
        return (f"Only {count_text(units, kind.unit)}: {rough}",)
    few = sum(part.unit_count < FEW_UNITS for part in parts)
    return (f"{few} of {count_text(len(parts), 'slice')} have few units: {rough}",) if few else ()


def _unequal(kind: Task, a: Coverage, b: Coverage) -> tuple[str, ...]:
    if a.policy != "skip" or not (a.missing or b.missing):
        return ()
    return (
        f"A has no prediction for {count_text(a.missing, kind.item)}, B for {b.missing:,}; each model's score leaves "
        "out its own, so the two do not stand on the same data.",
    )


def _unit_table(kind: Task, stats: Stats, chosen: Sequence[Metric]) -> UnitTable:
    stats = stats.by_unit()
    each = EachUnit(len(stats))
    return UnitTable(kind.unit, stats.units, {str(metric): metric.reduce(stats, each) for metric in chosen})

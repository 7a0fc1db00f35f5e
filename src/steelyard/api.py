"""The public functions: evaluate, compare, metrics. They tie the rooms together and hold no logic of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from steelyard.core.counts import count_text
from steelyard.core.errors import InputError, nearest
from steelyard.core.frozen import frozen
from steelyard.core.legacy import is_legacy
from steelyard.core.metric import Description, Metric, describe
from steelyard.core.options import Options
from steelyard.core.pairs import Coverage
from steelyard.core.records import Records
from steelyard.core.request import Metrics, Request, Settings, takes_settings
from steelyard.core.slice import Slice, slice_key
from steelyard.core.state import State
from steelyard.core.task import Task
from steelyard.core.units import Units
from steelyard.engine.intervals import FEW_UNITS
from steelyard.engine.measure import listed, measured, shown, unit_values
from steelyard.engine.score import score
from steelyard.engine.slices import slices
from steelyard.engine.threads import use_threads
from steelyard.io.digest import digest
from steelyard.io.options import resolve_options
from steelyard.io.sources import read_sides
from steelyard.metrics import catalogue
from steelyard.results.model import Comparison, Lineup, Provenance, Report, Side, UnitTable

if TYPE_CHECKING:
    from steelyard.core.figure import Figure, Listing

__all__ = ["compare", "compare_all", "draw", "evaluate", "metrics", "read", "use_threads"]


@takes_settings()
def evaluate(
    task: str, truth: Any, predictions: Any = None, metrics: Metrics = None, **settings: Unpack[Settings]
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
    request = Request.of(task, metrics, settings)
    kind = catalogue.find_task(task)
    metrics_of(kind, request.metrics)  # what is wrong there is wrong before any reading
    if request.explain and kind.explain is None:
        have = [name for name, other in catalogue.loaded()[0].items() if other.explain is not None]
        raise InputError(f"task '{task}' has no other tools to explain", remedy=f"Tasks that have: {', '.join(have)}.")
    return report_of(kind, request, _measure(kind, request, truth, predictions))


def report_of(kind: Task, request: Request, data: Measured) -> Report:
    """The report of what was read and measured."""
    chosen = list(data.metrics)
    looked = shown(data.state)
    report = state_report(
        kind,
        request,
        chosen,
        data.state,
        {slice_key(names): _sliced(kind, data, names) for names in request.by},
        data.coverage,
        _provenance(kind, request, data, chosen),
        notes=(*getattr(data.truth, "notes", ()), *_findings(kind, data)),
    )
    return replace(
        report,
        table_makers=kind.tables(looked) if kind.tables is not None else {},
        explanations=kind.explain(looked, request.explain) if request.explain and kind.explain is not None else (),
        figure_makers=lambda: _figures(kind, data, chosen),
        listing_maker=lambda: _listing(kind, data),
    )


def _sliced(kind: Task, data: Measured, by: tuple[str, ...]) -> dict[Slice, State]:
    found = slices(data.pairs, data.state, by, lambda pairs: measured(kind, pairs, data.metrics))
    return {slice_key(values): state for values, state in found.items()}


def state_report(
    kind: Task,
    request: Request,
    chosen: Sequence[Metric],
    state: State,
    parts: Mapping[Slice, Mapping[Slice, State]],
    coverage: Coverage,
    provenance: Provenance,
    notes: tuple[str, ...] = (),
) -> Report:
    """The report of what was measured, in all and by slice."""
    every = [part for by_value in parts.values() for part in by_value.values()]
    return Report(
        task=kind.name,
        unit=kind.unit,
        item=kind.item,
        scores=score(state, chosen, request),
        slices={
            name: {value: score(part, chosen, request) for value, part in by_value.items()}
            for name, by_value in parts.items()
        },
        coverage=coverage,
        provenance=provenance,
        notes=(*notes, *notes_of(kind, state, request, every)),
        title=kind.title,
        about=lambda: {str(metric): describe(type(metric)) for metric in chosen},
        unit_table=lambda: _unit_table(kind, state, chosen),
    )


def read(path: str | PathLike[str]) -> Report:
    """Read a result that `Report.to_json` wrote; what its metrics mean comes from the catalogue."""
    from steelyard.results.load import read_result

    report = read_result(path)
    if not isinstance(report, Report):
        raise InputError("is a comparison, not a report", where=str(path), remedy="Give a result of 'evaluate'.")
    if report.task not in catalogue.TASKS:
        return report
    kind = catalogue.find_task(report.task)
    return replace(report, item=kind.item, title=kind.title, about=lambda: _about(kind, report.scores))


def _figures(kind: Task, data: Measured, chosen: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    make = kind.picture("figures")
    return {} if make is None else make(data.pairs, shown(data.state), chosen)


def _listing(kind: Task, data: Measured) -> Listing | None:
    make = kind.picture("listing")
    return None if make is None else make(data.pairs, shown(data.state))


def _about(kind: Task, specs: Iterable[str]) -> dict[str, Description]:
    found = {}
    for spec in specs:
        try:
            found[spec] = describe(type(catalogue.parse(spec, kind.name)))
        except InputError:  # a metric of another version
            continue
    return found


@takes_settings("explain", "save_draws")
def compare(
    task: str,
    truth: Any,
    predictions_a: Any,
    predictions_b: Any,
    metrics: Metrics = None,
    **settings: Unpack[Settings],
) -> Comparison:
    """Compare two models on the same truth, paired by unit. Differences are B minus A: A is the one to beat.

    The settings are those of `evaluate`.
    """
    return compare_all(task, truth, [predictions_a, predictions_b], metrics, **settings).comparisons[0]


@takes_settings("explain", "save_draws")
def compare_all(
    task: str, truth: Any, predictions: Sequence[Any], metrics: Metrics = None, **settings: Unpack[Settings]
) -> Lineup:
    """Compare two models or more on the same truth: each with the first, which is the one to beat.

    The settings are those of `evaluate`. `by` compares in slices too. p-values are corrected (Holm) for all metrics and
    models shown, and in slices, metric by metric, for all slices and models.
    """
    from steelyard.lineup import lineup

    request = Request.of(task, metrics, settings)
    kind = catalogue.find_task(task)
    chosen = metrics_of(kind, request.metrics)
    if len(predictions) < 2:
        raise InputError("a comparison needs two predictions or more", remedy="Name the one to beat first.")
    models = [_measure(kind, request, truth, one) for one in predictions]
    chosen = expanded(kind, chosen, metrics is None, State.unified([m.state for m in models])[0])
    notes = (*getattr(models[0].truth, "notes", ()), *notes_of(kind, models[0].state, request))
    found = [_findings(kind, m) for m in models]
    found[1:] = [tuple(note for note in other if note not in found[0]) for other in found[1:]]
    return lineup(
        kind, chosen, request,
        [(m.pairs, m.state) for m in models], [m.coverage for m in models],
        [_provenance(kind, request, m, chosen) for m in models],
        [
            (*notes, *_unequal(kind, models[0].coverage, m.coverage), *found[0], *other)
            for m, other in zip(models[1:], found[1:], strict=True)
        ],
    )  # fmt: skip


def _findings(kind: Task, data: Measured) -> tuple[str, ...]:
    """What the quick checks say of the data."""
    from steelyard.checks.quick import notes

    return notes(kind, data.truth, data.prediction, data.pairs, data.options)


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
    from steelyard.render.svg import scene_svg

    kind = catalogue.find_task(task)
    if kind.scene is None:
        drawn = [name for name, other in catalogue.loaded()[0].items() if other.scene is not None]
        raise InputError(f"task '{task}' has no pictures", remedy=f"Tasks that have: {', '.join(drawn)}.")
    chosen = metrics_of(kind, [metric or kind.defaults[0]])[0]
    request = Request(
        task, (chosen,), missing="worst", extra="skip", columns=dict(columns or {}), options=dict(options or {})
    )
    pairs = _measure(kind, request, truth, predictions).pairs
    place = {str(found): i for i, found in enumerate(pairs.units.tolist())}
    if str(unit) not in place:
        raise InputError(f"there is no {kind.unit} '{unit}' in the truth", remedy=nearest(str(unit), place))
    return scene_svg(kind.scene(pairs, place[str(unit)], chosen))


@takes_settings("by", "explain", "confidence", "draws", "seed", "save_draws")
def measure(
    task: str, truth: Any, predictions: Any = None, metrics: Metrics = None, **settings: Unpack[Settings]
) -> Measured:
    """Read, join and measure, for those who want to look at single units; the settings are those of `evaluate`."""
    return _measure(catalogue.find_task(task), Request.of(task, metrics, settings), truth, predictions)


def metrics(task: str) -> tuple[Metric, ...]:
    """The catalogue of a task, as values."""
    return catalogue.metrics(task)


@frozen
class Measured:
    """Both sides as they were read, their pairs, and what was measured in each unit."""

    truth: Records
    prediction: Records
    pairs: Any
    state: State
    coverage: Coverage
    options: Options
    metrics: tuple[Metric, ...]


def metrics_of(kind: Task, wanted: Sequence[str | Metric] | None) -> list[Metric]:
    """The metrics that were asked for, or the default set."""
    if wanted is None:
        wanted = kind.defaults
    chosen = [m if isinstance(m, Metric) else catalogue.parse(m, kind.name) for m in wanted]
    if not chosen:
        raise InputError("no metric is asked for", remedy=f"Leave it out for the default set of '{kind.name}'.")
    return list(dict.fromkeys(chosen))


def expanded(kind: Task, chosen: Sequence[Metric], by_default: bool, state: State) -> list[Metric]:
    """What the choice comes to for these data."""
    data = shown(state) if is_legacy(state) else state.facts
    if by_default and kind.defaults_for is not None:
        chosen = metrics_of(kind, kind.defaults_for(data))
    return list(dict.fromkeys(metric for one in chosen for metric in one.expand(data)))


def _measure(kind: Task, request: Request, truth: Any, predictions: Any) -> Measured:
    options = resolve_options(kind, request.options)
    truth_records, prediction_records = read_sides(kind, truth, predictions, request.columns, options)
    return measure_records(kind, request, options, truth_records, prediction_records)


def measure_records(kind: Task, request: Request, options: Options, truth: Records, prediction: Records) -> Measured:
    """Join and measure what was read."""
    pairs = kind.join(truth, prediction, request.policy(kind), options)
    wanted, by_default = metrics_of(kind, request.metrics), request.metrics is None
    if kind.measure is not None:
        state = measured(kind, pairs, wanted)
        chosen = expanded(kind, wanted, by_default, state)
    else:
        chosen = expanded(kind, wanted, by_default, State(Units(pairs.units, pairs.weight), pairs.facts, {}))
        state = measured(kind, pairs, chosen)
    return Measured(truth, prediction, pairs, state, pairs.coverage, options, tuple(chosen))


def _provenance(kind: Task, request: Request, data: Measured, chosen: Sequence[Metric]) -> Provenance:
    sides = [Side(side.source, len(side), digest(side)) for side in (data.truth, data.prediction)]
    return provenance_of(kind, request, chosen, sides[0], sides[1], data.options.given)


def provenance_of(
    kind: Task, request: Request, chosen: Sequence[Metric], truth: Side, predictions: Side, options: Mapping[str, str]
) -> Provenance:
    """Where the numbers come from, and all that was asked for."""
    policy = request.policy(kind)
    return Provenance(
        truth=truth,
        predictions=predictions,
        metrics=tuple(str(metric) for metric in chosen),
        by=request.by,
        confidence=request.confidence,
        draws=request.draws if request.confidence is not None else 0,
        seed=request.seed,
        missing=policy.missing,
        extra=policy.extra,
        columns=dict(request.columns),
        options=dict(options),
    )


def notes_of(kind: Task, state: State, request: Request, parts: Sequence[State] = ()) -> tuple[str, ...]:
    """What a reader of the intervals must know."""
    units = state.units.count
    if request.confidence is None:
        return ()
    if units < 2:
        return (f"An interval needs at least two units; there is {units} {kind.unit}.",)
    rough = f"below {FEW_UNITS} units an interval is rough and tends to be too narrow."
    if units < FEW_UNITS:
        return (f"Only {count_text(units, kind.unit)}: {rough}",)
    few = sum(part.units.count < FEW_UNITS for part in parts)
    return (f"{few} of {count_text(len(parts), 'slice')} have few units: {rough}",) if few else ()


def _unequal(kind: Task, a: Coverage, b: Coverage) -> tuple[str, ...]:
    if a.policy != "skip" or not (a.missing or b.missing):
        return ()
    return (
        f"A has no prediction for {count_text(a.missing, kind.item)}, B for {b.missing:,}; each model's score leaves "
        "out its own, so the two do not stand on the same data.",
    )


def _unit_table(kind: Task, state: State, chosen: Sequence[Metric]) -> UnitTable:
    state = listed(state)
    return UnitTable(kind.unit, state.units.ids, unit_values(state, chosen))

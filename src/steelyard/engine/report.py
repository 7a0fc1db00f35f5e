"""The report of what was measured: scores of the whole and of slices, notes, where they come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from steelyard.core.counts import count_text
from steelyard.core.metric import Metric
from steelyard.core.pairs import Countable, Coverage, field_columns
from steelyard.core.progress import portion
from steelyard.core.request import Request
from steelyard.core.sketch import UnitSketch
from steelyard.core.slice import Slice, slice_key
from steelyard.core.state import State, Totals
from steelyard.core.task import Task
from steelyard.engine.details import LazyDetails
from steelyard.engine.groups import plan_notes, weight_notes
from steelyard.engine.intervals import FEW_UNITS
from steelyard.engine.measure import measure_state
from steelyard.engine.measure import per_unit_state as listed_state
from steelyard.engine.run import Measured
from steelyard.engine.score import keeps_draws, left_out_totals, score
from steelyard.engine.slices import slices
from steelyard.engine.together import together_notes
from steelyard.io.digest import digest
from steelyard.results.influences import Influences
from steelyard.results.origin import SourceInfo, Sources, TaskFacts
from steelyard.results.report import Report
from steelyard.results.score import Gap, Score

Listed = Callable[[], tuple[State, Mapping[Slice, Mapping[Slice, State]]]]


def report_of(task: Task, request: Request, data: Measured, notes: Sequence[str] = ()) -> Report:
    """The report of what was read and measured; `notes` are what the checks found."""
    request = replace(request, cluster=data.cluster)
    report = state_report(
        task,
        applied_request(task, request, data.metrics, data.options.given),
        data.metrics,
        data.state,
        {slice_key(names): _slice_states(task, data, names) for names in request.by},
        data.coverage,
        sources_of(data),
        (*getattr(data.truth, "notes", ()), *notes),
        cache(lambda: _each_unit(task, request, data)),
    )
    explain = task.explain if request.explain else None
    explanations = () if explain is None else explain(data.pairs, request.explain)
    return replace(
        report, explanations=explanations, details=LazyDetails(task, data.pairs, data.state, data.metrics, request)
    )


def state_report(
    task: Task,
    request: Request,
    chosen: Sequence[Metric],
    state: State,
    parts: Mapping[Slice, Mapping[Slice, State]],
    coverage: Coverage,
    sources: Sources,
    notes: Sequence[str] = (),
    per_unit: Listed | None = None,
    kept: State | None = None,
) -> Report:
    """The report of states, in all and by slice. `request` is as it was applied.

    `per_unit` gives the same states with one row per unit, where equal units share a row; `kept` is the whole state
    in that form, for details.
    """

    def each(name: Slice, value: Slice) -> Callable[[], State] | None:
        return None if per_unit is None else lambda: per_unit()[1][name][value]

    every = [part for by_value in parts.values() for part in by_value.values()]
    turns = iter(range(1 + len(every)))

    def score_part(
        part: State, per_unit: Callable[[], State] | None, leave_one_out: Totals | None = None, draws: bool = False
    ) -> dict[str, Score]:
        asked = replace(request, save_draws=True) if draws and not request.save_draws else request
        with portion(next(turns), 1 + len(every)):
            return score(part, chosen, asked, per_unit=per_unit, leave_one_out=leave_one_out)

    leave_one_out = None if request.confidence is None or state.units.n_resampled < 2 else left_out_totals(state)
    whole = None if per_unit is None else lambda: per_unit()[0]
    scores = score_part(state, whole, leave_one_out)
    # Groups that share units go together; their draws say how.
    gapped = bool(parts) and request.confidence is not None and request.sequence is None
    dependent = [name for name, by_value in parts.items() if gapped and _share_units(state, by_value)]
    sliced = {
        name: {value: score_part(part, each(name, value), draws=name in dependent) for value, part in by_value.items()}
        for name, by_value in parts.items()
    }
    gaps: tuple[Gap, ...] = ()
    if gapped:
        from steelyard.engine.gaps import gaps_of  # few slice

        gaps = gaps_of(sliced, chosen, request.level, dependent)
        kept_draws = {str(metric) for metric in chosen if keeps_draws(metric, request)}
        for name in dependent:
            for value, of_part in sliced[name].items():
                sliced[name][value] = {
                    spec: one if spec in kept_draws else replace(one, draws=None) for spec, one in of_part.items()
                }

    def influences(part: State, per_unit: Callable[[], State] | None, scores: Mapping[str, Score]) -> Influences | None:
        if not request.save_influences:
            return None
        from steelyard.engine.kept import kept_influences  # few ask for it

        if part.units.deduplicated and per_unit is not None:
            return kept_influences(per_unit(), chosen, scores)
        return kept_influences(part, chosen, scores, leave_one_out if part is state else None)

    sliced_influences = {
        name: {value: influence for value, part in by_value.items()
               if (influence := influences(part, each(name, value), sliced[name][value])) is not None}
        for name, by_value in parts.items()
    }  # fmt: skip
    return Report(
        request=request,
        task_facts=task_facts(task),
        scores=scores,
        slices=sliced,
        coverage=coverage,
        sources=sources,
        notes=(
            *notes,
            *notes_of(task, state, request, every),
            *together_notes(task, request, chosen, [state], [leave_one_out]),
        ),
        gaps=gaps,
        influences=influences(state, whole, scores),
        slice_influences=sliced_influences if request.save_influences and parts else None,
        details=LazyDetails(task, None, state if kept is None else kept, tuple(chosen)),
    )


def _share_units(whole: State, parts: Mapping[Slice, State]) -> bool:
    """Whether a resampling unit lies in several groups."""
    return sum(part.units.n_resampled for part in parts.values()) > whole.units.n_resampled


def applied_request(task: Task, request: Request, metrics: Sequence[Metric], options: Mapping[str, str]) -> Request:
    """What was asked for as it holds for these data: every metric by its spec, the policy, the options as texts."""
    policy = request.policy(task)
    return replace(
        request,
        metrics=tuple(str(metric) for metric in metrics),
        missing=policy.missing,
        extra=policy.extra,
        columns=dict(request.columns),
        options=dict(options),
        draws=request.draws if request.confidence is not None else 0,
    )


def task_facts(task: Task) -> TaskFacts:
    """What a reader calls things."""
    return TaskFacts(task.title, task.unit, task.item)


def sources_of(data: Measured) -> Sources:
    """What was read."""
    truth, predictions = (
        SourceInfo(side.source, len(side), digest(side, field_columns(data.pairs)))
        for side in (data.truth, data.prediction)
    )
    ids = data.pairs.named_units if isinstance(data.pairs, Countable) else data.pairs.units
    return Sources(truth, predictions, truth_units=None if ids is None else UnitSketch.of_ids(ids))


def _slice_states(task: Task, data: Measured, by: tuple[str, ...]) -> dict[Slice, State]:
    parts = slices(data.pairs, data.state, by, lambda pairs: measure_state(pairs, data.metrics), task)
    return {slice_key(values): state for values, state in parts.items()}


def _each_unit(task: Task, request: Request, data: Measured) -> tuple[State, dict[Slice, dict[Slice, State]]]:
    """What was measured, in all and by slice, with every unit a row."""
    every = replace(data, state=listed_state(data.pairs, data.state, data.metrics))
    return every.state, {slice_key(names): _slice_states(task, every, names) for names in request.by}


def notes_of(task: Task, state: State, request: Request, parts: Sequence[State] = ()) -> tuple[str, ...]:
    """What a reader of the intervals must know."""
    units = state.units.count
    if request.confidence is None:
        return ()
    planned = (*plan_notes(task, state, request), *weight_notes(task, state.units))
    if state.units.cluster is not None:
        return planned
    if units < 2:
        return (f"An interval needs at least two units; there is {units} {task.unit}.",)
    rough = f"below {FEW_UNITS} units an interval is rough and tends to be too narrow."
    if units < FEW_UNITS:
        return (f"Only {count_text(units, task.unit)}: {rough}", *planned)
    few = sum(part.units.count < FEW_UNITS for part in parts)
    return (*((f"{few} of {count_text(len(parts), 'slice')} have few units: {rough}",) if few else ()), *planned)

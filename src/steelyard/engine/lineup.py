"""Models side by side: each against the first, over all units, in slices and by class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from steelyard.core.figure import Figure
from steelyard.core.frozen import Frozen
from steelyard.core.gallery import Gallery
from steelyard.core.metric import Description, Metric
from steelyard.core.progress import steps
from steelyard.core.request import Request
from steelyard.core.slice import Slice, slice_key
from steelyard.core.state import State
from steelyard.core.task import Task
from steelyard.engine.compare import combine_models, compare
from steelyard.engine.details import Pairs, definitions_of, unit_table
from steelyard.engine.families import UnjudgedDifference, judged_together
from steelyard.engine.gallery import pair_gallery
from steelyard.engine.judged import Judged, judged_sides, proxy_notes, proxy_sources, sides_in_slices, unlabelled_notes
from steelyard.engine.kept import kept_of_sides
from steelyard.engine.measure import measure_state, per_unit_state
from steelyard.engine.names import shown_names
from steelyard.engine.paired import MetricTraits
from steelyard.engine.ranks import standing
from steelyard.engine.report import applied_request, notes_of, sources_of, task_facts
from steelyard.engine.run import Measured
from steelyard.engine.sides import ComparedModel, sides_of
from steelyard.engine.slices import paired_slices
from steelyard.engine.superiority import check_superiority
from steelyard.engine.together import together_notes
from steelyard.results.comparison import Comparison, Lineup, Standing
from steelyard.results.details import Details, UnitTable
from steelyard.results.origin import Model
from steelyard.results.score import Difference


class LazyPairDetails(Frozen, Details):
    """The details of a comparison: the pairs and states of both models."""

    lazy: ClassVar[bool] = True
    task: Task
    request: Request
    metrics: tuple[Metric, ...]
    a: tuple[Pairs, State]
    b: tuple[Pairs, State]

    @cached_property
    def _unit_tables(self) -> tuple[UnitTable, ...]:
        states = State.unified([per_unit_state(*side, self.metrics) for side in (self.a, self.b)])
        return tuple(unit_table(self.task, state, self.metrics) for state in states)

    def units(self) -> UnitTable:
        return self._unit_tables[0]

    def units_b(self) -> UnitTable:
        return self._unit_tables[1]

    def gallery(self) -> Gallery | None:
        return pair_gallery(self.task, (self.a[0], self.b[0]), self._unit_tables, self.metrics)

    @cached_property
    def _figure_makers(self) -> dict[str, tuple[Callable[[], Figure], ...]]:
        make = self.task.view("compared_figures")
        if make is None:
            return {}
        a, b = (make(*side, list(self.metrics)) for side in (self.a, self.b))
        return {name: (a[name], b[name]) for name in a if name in b}

    @property
    def figures(self) -> tuple[str, ...]:
        return tuple(self._figure_makers)

    def figure(self, name: str) -> Figure:
        """The figures of both models as one, with the series A and B."""
        a, b = (maker() for maker in self._figure_makers[name])
        columns = {key: np.concatenate([a.columns[key], b.columns[key]]) for key in a.columns if key in b.columns}
        return replace(a, columns={**columns, "series": ["A"] * len(a) + ["B"] * len(b)})

    def classes(self) -> Mapping[str, Difference]:
        return self._classes

    @cached_property
    def _classes(self) -> dict[str, Difference]:
        metrics_of = self.task.view("class_metrics")
        metrics = {} if metrics_of is None else metrics_of(State.unified([self.a[1], self.b[1]])[0])
        if not metrics:
            return {}
        wanted = list(metrics.values())
        sides = [
            per_unit_state(pairs, measure_state(pairs, wanted), wanted).grouped_like(state)
            for pairs, state in (self.a, self.b)
        ]
        confidence = self.request.level
        request = replace(self.request, sequence=None, superiority=False)  # no class is a mean over all units
        a, b = sides_of(sides, wanted, request)
        judged = judged_together({"": compare(a, b, wanted, request)}, confidence, request.adjust)[""]
        return {name: judged[str(metric)] for name, metric in metrics.items()}

    def definitions(self) -> dict[str, Description]:
        return definitions_of(self.metrics)


Differences = dict[Slice, dict[str, Difference]]
Models = Sequence[tuple[Any, State]]
OWN_TRUST = (
    "Each score and each difference has its own λ, so a difference need not be B less A exactly. Tables of units and "
    "classes are of the labelled units, by truth alone."
)

SAME = "The predictions of both models are the same: that they do not differ is a fact, not a finding."


def lineup(
    task: Task, chosen: Sequence[Metric], request: Request, data: Sequence[Measured], findings: Sequence[Sequence[str]],
    names: Sequence[str] | None = None, judged: Sequence[Judged] | None = None,
) -> Lineup:  # fmt: skip
    """Compare each model with the first; verdicts are corrected for all of them together.

    `findings` are what the checks say of each model's data, `names` what the models are called. With `judged`, `data`
    are of the labelled units, and a proxy of truth has judged them and others.
    """
    request = replace(request, cluster=data[0].cluster)
    sides = [(one.pairs, one.state) for one in data]
    confidence = request.level
    sources = [sources_of(one) for one in data] if judged is None else [proxy_sources(one) for one in judged]
    sources[1:] = [replace(one, truth_units=None) for one in sources[1:]]  # the same units: each comparison has A's
    called = shown_names([one.predictions.source for one in sources], names)
    models = [
        Model(applied_request(task, request, chosen, one.options.given), source, one.coverage, name)
        for one, source, name in zip(data, sources, called, strict=True)
    ]
    states = [per_unit_state(pairs, state, chosen) for pairs, state in sides]
    if judged is None:
        scored = sides_of(states, chosen, request)
    else:
        scored = judged_sides(task, request, chosen, judged[0], states, [one.every.state for one in judged])
    digests = [model.sources.predictions.digest for model in models]
    compared = [
        compare(scored[0], side, chosen, request, same=digest == digests[0])
        for side, digest in steps("comparing", list(zip(scored[1:], digests[1:], strict=True)))
    ]
    lacking = check_superiority(chosen, compared[0], request, task.unit)
    whole = judged_together({str(i): one for i, one in enumerate(compared)}, confidence, request.adjust)
    sliced, about = {}, list(notes_of(task, data[0].state, request))
    if judged is not None and scored[0].others is not None:
        about = [*proxy_notes(task, request, data[0].state, len(scored[0].others.state)), OWN_TRUST]
    for names in request.by:
        if judged is None:
            parts = _slices(task, chosen, request, names, sides)
        else:
            parts, without = sides_in_slices(task, request, chosen, judged, names)
            about += unlabelled_notes(task, names, without)
        sliced[slice_key(names)] = _in_slices(chosen, request, len(data) - 1, parts)
    shared = (
        *getattr(data[0].truth, "notes", ()),
        *about,
        *lacking,
        *together_notes(task, request, chosen, [s.state for s in scored[:2]], [s.leave_one_out for s in scored[:2]]),
    )
    comparisons = []
    for i, other in enumerate(models[1:]):
        new = [note for note in findings[i + 1] if note not in findings[0]]
        comparisons.append(
            Comparison(
                task_facts=task_facts(task),
                a=models[0],
                b=other,
                differences=whole[str(i)],
                slices={name: parts[i] for name, parts in sliced.items()},
                notes=(*([SAME] if digests[i + 1] == digests[0] else []), *shared, *findings[0], *new),
                influences=kept_of_sides([scored[0], scored[i + 1]], chosen) if request.save_influences else None,
                details=LazyPairDetails(task, request, tuple(chosen), sides[0], sides[i + 1]),
            )
        )
    ranked = len(data) > 2 and request.sequence is None
    return Lineup(tuple(comparisons), _standings(chosen, scored, confidence) if ranked else {})


def _standings(chosen: Sequence[Metric], sides: Sequence[ComparedModel], confidence: float) -> dict[str, Standing]:
    """The ranks that each model may have, by metric."""
    if sides[0].state.units.n_resampled < 2:
        return {}
    judged = sides[0].judged is not None
    each = {
        str(m): standing(
            MetricTraits.of(m), [s.scores[str(m)].value for s in sides], [s.influences[m] for s in sides], confidence,
            partial(combine_models, m, sides) if judged else None,
        )
        for m in chosen
    }  # fmt: skip
    return {spec: one for spec, one in each.items() if one is not None}


def _slices(
    task: Task, chosen: Sequence[Metric], request: Request, by: tuple[str, ...], models: Models
) -> Iterator[tuple[Slice, list[ComparedModel]]]:
    """The sides of each slice."""

    def measure(pairs: Any) -> State:
        return per_unit_state(pairs, measure_state(pairs, chosen), chosen)

    for value, states in paired_slices(models, by, measure, task).items():
        yield slice_key(value), sides_of(states, chosen, request)


def _in_slices(
    chosen: Sequence[Metric], request: Request, models: int, slices: Iterable[tuple[Slice, Sequence[ComparedModel]]]
) -> list[Differences]:
    """For each model but the first, differences by slice; each metric is corrected for all slices and models."""
    confidence = request.level
    raw: list[dict[Slice, dict[str, UnjudgedDifference]]] = [{} for _ in range(models)]
    for value, (first, *others) in slices:
        for side, other in zip(raw, others, strict=True):
            side[value] = compare(first, other, chosen, request)
    sides: list[Differences] = [{value: {} for value in side} for side in raw]
    for spec in map(str, chosen):
        family = {
            (i, value): {spec: differences[spec]} for i, side in enumerate(raw) for value, differences in side.items()
        }
        judged = judged_together(family, confidence, request.adjust)
        for (i, where), differences in judged.items():
            sides[i][where][spec] = differences[spec]
    return sides

"""The driver: shards in, one report out.

    read -> facts of all shards -> states measured on the workers -> merged in a fixed order -> report

It holds 8 bytes per unit of every shard while it looks for units that came twice, then the merged state; never the
rows, unless units lie in several shards.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from steelyard.align.gather import FirstSeen
from steelyard.align.unit_digest import digest_text
from steelyard.checks.quick import notes_of_parts
from steelyard.core import catalogue
from steelyard.core.counts import count_text
from steelyard.core.errors import (
    CannotWrite,
    EmptyInput,
    InvalidFile,
    InvalidSetting,
    OutOfRange,
    ShapeMismatch,
    UnreadableFile,
    Unsupported,
    first_few,
)
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric
from steelyard.core.request import Metrics, Request, Settings, takes_settings
from steelyard.core.sketch import UnitSketch
from steelyard.core.state import State
from steelyard.core.units import Units
from steelyard.engine.run import expand_metrics, metrics_of
from steelyard.io.beside import in_file
from steelyard.io.container import read_container
from steelyard.io.dialect import reading_notes
from steelyard.io.maps import are_maps, write_map_tables
from steelyard.io.options import resolve_options
from steelyard.partial.state import repeated_note
from steelyard.results.report import Report
from steelyard.scale import jobs, reading
from steelyard.scale.engines import Engine, Failure, Remade, Started
from steelyard.scale.joined import gather_shards, one_report
from steelyard.scale.reports import report_of_shards
from steelyard.scale.shards import Pattern, find_shards, state_path, take_damaged, work_folder

Progress = Callable[[str, int, int], None]


@takes_settings("explain", "adjust", "margin", "superiority", "delimiter", "decimal")
def evaluate_shards(
    task: str,
    truth: Pattern,
    predictions: Pattern | None = None,
    metrics: Metrics = None,
    *,
    work: str | os.PathLike[str],
    engine: str = "local",
    address: str | None = None,
    workers: int | None = None,
    join: str = "auto",
    buckets: int | None = None,
    memory: int = 1 << 30,
    approximate: int | None = None,
    skip_bad_shards: bool = False,
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> Report:
    """Score shards of predictions against shards of truth, on several processes or machines.

    `truth` and `predictions` are patterns (`"truth/*.parquet"`), URLs that fsspec opens, or lists of paths; the other
    settings are those of `evaluate`. States are kept in the folder `work`, which every worker must see; a run that died
    is resumed there. `engine` is "local" (processes of this machine), "dask" or "ray", at `address` or, without one,
    started for this run. `join` says how the sides meet: "pairs" (the i-th file of one with the i-th of the other),
    "hash" (by a hash of the unit's id, in so many `buckets`), or "auto": pairs where they fit, else hash.
    `memory` is about how many bytes a worker may hold of the events of rankings; with intervals a class is held whole.
    `approximate` takes rankings from a histogram of scores with so many bins: faster, with bounds that hold for certain
    and without intervals; off by default.
    `skip_bad_shards` leaves out shards that cannot be read, and says so in the report. `progress(stage, done, all)` is
    called as the run goes on.
    """
    definition = catalogue.find_task(task)
    task = definition.name
    request = Request.of(task, metrics, settings)
    if request.explain:
        raise Unsupported("'explain' is not supported for shards", remedy="Evaluate the whole data at once for it.")
    for name in filter(None, (request.cluster, request.strata, *(name for names in request.by for name in names))):
        if in_file(name) is not None:  # what a shard keeps is known by the shard alone
            raise Unsupported(
                f"'{name}' lies in a file beside, which shards do not read", remedy="Add it to the truth."
            )
    chosen = metrics_of(definition, request.metrics)
    options = resolve_options(definition, request.options)  # what is wrong there is wrong before any work
    if join not in ("auto", "pairs", "hash"):
        raise InvalidSetting(f"join='{join}' is not a way to join", remedy="Choose auto, pairs or hash.")
    if approximate is not None and not 2 <= approximate <= 1 << 20:
        raise OutOfRange(f"{approximate} bins are out of range", remedy="Choose from 2 to 1,048,576.")
    truths = find_shards(truth, "truth")
    predicted = None if predictions is None else find_shards(predictions, "predictions")
    folder = work_folder(work)
    counts, listed = (len(truths), len(predicted or truths)), []
    if predicted is not None and are_maps(definition, truths) and are_maps(definition, predicted):
        tables = os.path.join(folder, "maps")
        os.makedirs(tables, exist_ok=True)
        with reading_notes() as listed:
            truths, predicted = write_map_tables(definition, truths, predicted, options, tables)
        join = "pairs"  # a table of truth and its table of predictions have the same cases
    with Started(engine, workers, address) as started:
        run = _Run(started, reading.ShardJobs(request, folder), skip_bad_shards, progress)
        summaries = _read(run, truths, predicted, join, buckets)
        sources = (f"{truth} ({counts[0]} files)", f"{predictions or truth} ({counts[1]} files)")
        measuring = jobs.Measuring(run.data, sum(summary.rows[0] for summary in summaries))
        shards = _each_unit_once(summaries, measuring, run)
        run.read_notes = list(dict.fromkeys([*listed, *(note for summary in summaries for note in summary.notes)]))
        every: list[jobs.PartFacts] = run.every("facts", jobs.facts_of_part, shards)
        facts = Metadata.merge([one.metadata for one in every])[0]
        nothing = State(Units(np.zeros(0, np.int64)), facts, {})
        chosen = expand_metrics(definition, chosen, metrics is None, nothing)
        shards = [replace(shard, measuring=replace(measuring, whole=facts)) for shard in shards]
        if not all(one.own_units for one in every):
            return one_report([_report_in_one_place(run, shards, chosen, sources)], chosen, run.notes())
        run.read_notes += notes_of_parts(definition, [one.findings for one in every])
        report = report_of_shards(
            run, shards, chosen, sources, facts,
            by_group=not request.by and all(one.unweighted for one in every),
            by_default=metrics is None, memory=memory, approximate=approximate,
        )  # fmt: skip
        sketch = UnitSketch.of_keys(np.unique(np.concatenate([summary.keys for summary in summaries])))
        return replace(report, sources=replace(report.sources, truth_units=sketch))


class _Run:
    """A run under way: its engine, and what went wrong on the way."""

    def __init__(self, engine: Engine, data: reading.ShardJobs, skip: bool, progress: Progress | None) -> None:
        self.engine, self.data, self.skip, self.progress = engine, data, skip, progress
        self.bad: list[str] = []
        self.shards = 0
        self.repeated = 0
        self.read_notes: list[str] = []
        self.remade: list[str] = []

    def every(
        self, stage: str, job: Callable[[Any], Any], items: Sequence[Any], named: Sequence[str] | None = None
    ) -> Any:
        """Results in the order of the items; None where a shard was left out. `named` are shards that may be."""
        results: list[Any] = [None] * len(items)
        done = 0
        self._tell(stage, done, len(items))
        for index, result in self.engine.run(job, items):
            done += 1
            self._tell(stage, done, len(items))
            if isinstance(result, Remade):
                self.remade += result.states
                result = result.result
            if not isinstance(result, Failure):
                results[index] = result
            elif not result.of_data:
                raise CannotWrite(result.reason, remedy="Make room, or choose another folder with `work`.")
            elif named is None:
                raise UnreadableFile(result.reason)
            elif not self.skip:
                raise InvalidFile(
                    f"the shard cannot be taken: {result.reason}",
                    where=named[index],
                    remedy="Repair or remove it, or leave such shards out with `skip_bad_shards=True`.",
                )
            else:
                self.bad.append(f"{named[index]} ({result.reason})")
        return results

    def _tell(self, stage: str, done: int, all_: int) -> None:
        if self.progress is not None:
            self.progress(stage, done, all_)

    def notes(self) -> list[str]:
        """What the report must say of the run."""
        notes = list(self.read_notes)
        if self.repeated:
            notes.append(repeated_note(self.data.definition, self.repeated))
        if self.bad:
            left = "; ".join(sorted(self.bad))
            notes.append(f"{len(self.bad)} of {self.shards} files could not be read and are left out: {left}")
        remade = sorted({*self.remade, *take_damaged()})
        if remade:
            notes.append(
                f"{len(remade)} states in the work folder were damaged and are made again: {first_few(remade)}."
            )
        return notes


def _read(
    run: _Run, truths: list[str], predicted: list[str] | None, join: str, buckets: int | None
) -> list[reading.Summary]:
    """States of whole units, in a fixed order."""
    run.shards = len(truths) + len(predicted or ())
    if join != "hash" and (predicted is None or len(predicted) == len(truths)):
        others: Sequence[str | None] = predicted or [None] * len(truths)
        pairs = [reading.ReadPair(run.data, a, b) for a, b in zip(truths, others, strict=True)]
        named = [job.truth if job.predictions is None else f"{job.truth} with {job.predictions}" for job in pairs]
        summaries = [one for one in run.every("read", reading.read_pair, pairs, named) if one is not None]
        apart = sum(summary.strays for summary in summaries)
        if not apart or join == "pairs":
            return _some(summaries)
        run.bad = []
    elif join == "pairs":
        raise ShapeMismatch(
            f"{count_text(len(truths), 'file')} of truth and {len(predicted or ())} of predictions make no pairs",
            remedy="Choose `join='hash'`.",
        )
    reads = [option.name for option in run.data.definition.options if option.reads]
    asked = [name for name in run.data.request.options if name.rpartition(".")[2].replace("-", "_") in reads]
    if asked:
        raise InvalidSetting(
            f"option {asked[0]} is about how files are read, and files that are joined by hash are read one by one",
            remedy="Give shards that go in pairs, with `join='pairs'`, or convert them first.",
        )
    count = buckets or max(len(truths), len(predicted or ()), run.engine.workers)
    sides = [("truth", path) for path in truths] + [("prediction", path) for path in predicted or ()]
    cuts = [reading.Split(run.data, path, side, count) for side, path in sides]
    names = run.every("split", reading.split, cuts, [path for _, path in sides])
    kept = [
        tuple(name for (side, _), name in zip(sides, names, strict=True) if side == wanted and name is not None)
        for wanted in ("truth", "prediction")
    ]
    if not kept[0] or not kept[1]:
        raise EmptyInput("no shard of one side could be read", remedy="See the messages of the shards.")
    joins = [reading.JoinBucket(run.data, kept[0], kept[1], bucket) for bucket in range(count)]
    return _some(run.every("join", reading.join_bucket, joins))


def _some(summaries: Sequence[reading.Summary]) -> list[reading.Summary]:
    filled = [summary for summary in summaries if len(summary.keys)]
    if not filled:
        raise EmptyInput("no shard holds a unit", remedy="The truth needs at least one.")
    return filled


def _each_unit_once(summaries: Sequence[reading.Summary], measuring: jobs.Measuring, run: _Run) -> list[jobs.Shard]:
    """The shards to measure, each unit in the first of them that has it. Copies that differ are an error."""
    keys = np.concatenate([summary.keys for summary in summaries])
    shard = np.repeat(np.arange(len(summaries)), [len(summary.keys) for summary in summaries])
    order = np.argsort(keys, kind="stable")
    twice = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    drop: dict[int, list[str]] = {}
    again: set[str] = set()
    first_seen = FirstSeen(run.data.definition.truth.key[0])
    suspects = np.unique(np.concatenate([order[twice], order[twice + 1]]))
    starts = np.cumsum([0] + [len(summary.keys) for summary in summaries])
    for index in np.unique(shard[suspects]).tolist():
        arrays = read_container(state_path(run.data.work, "shard", summaries[index].name)).arrays
        for place in (suspects[shard[suspects] == index] - starts[index]).tolist():
            unit, digest = str(arrays["units"][place]), arrays["digests"][place].tobytes()
            if not first_seen.is_new(unit, digest):
                drop.setdefault(index, []).append(unit)
                again.add(unit)
    run.repeated = len(again) + sum(summary.repeated for summary in summaries)
    return [jobs.Shard(measuring, one.name, tuple(sorted(drop.get(i, ())))) for i, one in enumerate(summaries)]


def _report_in_one_place(
    run: _Run,
    shards: Sequence[jobs.Shard],
    metrics: Sequence[Metric],
    sources: tuple[str, str],
) -> Report:
    """What needs all rows in one place: they are brought together here."""
    whole = gather_shards(shards)
    rows = whole.gather_batches()
    report = whole.report(list(metrics))
    sides = [
        replace(side, source=source, digest=digest_text(total))
        for side, source, total in zip(
            (report.sources.truth, report.sources.predictions), sources, rows.seen.totals, strict=True
        )
    ]
    return replace(report, sources=replace(report.sources, truth=sides[0], predictions=sides[1]))

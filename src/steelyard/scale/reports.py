"""From measured shards to a report: states from the workers, merged in a fixed order; large rankings stay with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from steelyard.core.block import Block
from steelyard.core.by_group import GroupCurve, no_approximation
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric
from steelyard.core.statistic import Ranking, RankingReader, Statistic
from steelyard.io.container import read_container
from steelyard.partial.state import PartialState
from steelyard.results.report import Report
from steelyard.scale import bins as histograms
from steelyard.scale import events, jobs, reading, walks
from steelyard.scale.joined import one_report, with_evidence
from steelyard.scale.shards import state_path


class ShardRun(Protocol):
    """A run under way."""

    data: reading.ShardJobs

    def every(self, stage: str, job: Any, items: Sequence[Any], named: Sequence[str] | None = None) -> Any:
        """Results in the order of the items."""

    def notes(self) -> list[str]:
        """What the report must say of the run."""


def report_of_shards(
    run: ShardRun,
    shards: Sequence[jobs.Shard],
    chosen: Sequence[Metric],
    sources: tuple[str, str],
    metadata: Metadata,
    *,
    by_group: bool,
    by_default: bool,
    memory: int,
    approximate: int | None,
) -> Report:
    """One report of all shards. Where `by_group`, rankings are read by the workers, group by group."""
    request = run.data.request
    bounded = [] if approximate is None else _boundable_metrics(run.data.task, chosen, by_group, by_default)
    exact = [metric for metric in chosen if metric not in bounded]
    reports: list[Report] = []
    asked: dict[Ranking, Any] = {}
    if bounded and approximate is not None:
        reports.append(_approximate(run, shards, bounded, sources, metadata, approximate))
    if exact:
        # Draws of clusters or strata read rankings here, where the groups of all units are known.
        asked = dict(walks.what_is_asked(exact, request, metadata)) if by_group and not request.has_design else {}
        blocks = _walk_rankings(run, shards, asked, memory) if asked else {}
        reports.append(_merge_parts(run, shards, exact, blocks).report(exact, request, sources))
    report = one_report(reports, chosen, run.notes())
    return with_evidence(report, shards, chosen, by_shard=bool(asked or bounded))


def _merge_parts(
    run: ShardRun,
    shards: Sequence[jobs.Shard],
    metrics: Sequence[Metric],
    elsewhere: Mapping[Statistic, Block],
) -> PartialState:
    """What the workers measured, merged in the order of the shards; `elsewhere` stands for rankings that they read."""
    items = [jobs.Summing(shard, tuple(metrics), without=tuple(elsewhere)) for shard in shards]
    names = run.every("sums", jobs.make_sums, items)
    paths = [state_path(run.data.work, "sums", name) for name in names]
    merged, _ = PartialState.merge([PartialState.unpack(read_container(path), path) for path in paths])
    return replace(merged, state=replace(merged.state, blocks={**merged.state.blocks, **elsewhere}))


def _walk_rankings(
    run: ShardRun, shards: Sequence[jobs.Shard], asked: walks.Asked, memory: int
) -> Mapping[Statistic, Block]:
    """What the curves of rankings read, group by group, on the workers."""
    needs = tuple(asked)
    laid = run.every("match", events.make_events, [events.Eventing(shard, needs) for shard in shards])
    units = events.lay_units(run.data, shards)
    items = walks.plan_walks(run.data, asked, laid, units, memory)
    return walks.read_answers(run.data, asked, run.every("walk", walks.walk, items), items)


def _boundable_metrics(task: str, chosen: Sequence[Metric], by_group: bool, by_default: bool) -> list[Metric]:
    """The metrics of rankings, which histograms bound; one that they do not bound is an error if asked for by name."""
    bounded = []
    for metric in chosen:
        readers = [each for each in metric.requirements() if isinstance(each, RankingReader)]
        curves = [reader for reader in readers if isinstance(reader.ranking, Ranking)]
        fit = [by_group and getattr(curve, "approximate", False) for curve in curves]
        if curves and all(fit):
            bounded.append(metric)
        elif curves and not by_default:
            known = any(isinstance(curve, GroupCurve) for curve in curves)
            raise no_approximation(f"'{metric}'" if known else f"a ranking of {task}")
    return bounded


def _approximate(
    run: ShardRun,
    shards: Sequence[jobs.Shard],
    metrics: Sequence[Metric],
    sources: tuple[str, str],
    metadata: Metadata,
    bins: int,
) -> Report:
    """Rankings from histograms: the middle of what they allow, and how far that may be off."""
    plain = replace(run.data.request, confidence=None)
    asked = walks.what_is_asked(metrics, plain, metadata)
    names = run.every("bins", histograms.make_histograms, [histograms.Binning(shard, asked, bins) for shard in shards])
    counts = histograms.add_histograms(run.data, names)
    low, high = (
        _merge_parts(run, shards, metrics, histograms.bound_blocks(asked, counts, metadata, upper)).report(
            metrics, plain, sources
        )
        for upper in (False, True)
    )
    scores = {}
    for spec, score in low.scores.items():
        a, b = score.value, high.scores[spec].value
        note = f"Approximate, from {bins:,} bins of scores: the exact value is from {a:.6g} to {b:.6g}."
        scores[spec] = replace(score, value=(a + b) / 2, notes=(*score.notes, note))
    asked_for = replace(low.request, confidence=run.data.request.confidence, draws=run.data.request.draws)
    return replace(low, scores=scores, request=asked_for)

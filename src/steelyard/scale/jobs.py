"""What workers measure of shards: the facts of their units, and the sums that metrics need.

A measurement that is there already is not made again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.align.gather import Gathered
from steelyard.checks.findings import Finding
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric
from steelyard.core.options import Options
from steelyard.core.pairs import Countable, metadata_of
from steelyard.core.state import State
from steelyard.core.statistic import Statistic
from steelyard.core.task import Policy
from steelyard.engine.groups import with_groups
from steelyard.engine.measure import needs_of
from steelyard.io.options import resolve_options
from steelyard.partial.state import PartialState
from steelyard.scale.reading import ShardJobs, load_shard
from steelyard.scale.shards import keep, state_name, state_path, there


class Measuring(Frozen):
    """How shards are measured: what the user chose, and the facts that hold for all shards together."""

    data: ShardJobs
    total_rows: int
    whole: Metadata | None = None

    @property
    def policy(self) -> Policy:
        """What happens to rows on one side only."""
        return self.data.request.policy(self.data.definition)

    @property
    def lists_units(self) -> bool:
        """Whether the report goes by unit, so that none are counted by kind."""
        request = self.data.request
        return bool(request.by or request.save_draws or request.save_influences or request.has_design)

    @property
    def options(self) -> Options:
        """The task's options."""
        return resolve_options(self.data.definition, self.data.request.options)


class Shard(Frozen):
    """A shard to measure, by the name of its rows' file, without the units that another shard has too."""

    measuring: Measuring
    name: str
    drop: tuple[str, ...] = ()


def join_shard(shard: Shard) -> tuple[Any, Gathered]:
    """Join a shard's units, as a part of the whole where its facts are known.

    Alike units are counted where they are many in all, unless the report goes by unit: in slices, or for saved draws.
    """
    measuring = shard.measuring
    rows = load_shard(measuring.data, shard.name, shard.drop)
    pairs = measuring.data.definition.join(rows.truth, rows.prediction, measuring.policy, measuring.options)
    if measuring.whole is not None and isinstance(pairs, Countable):
        pairs = pairs.part_of(measuring.whole, 0 if measuring.lists_units else measuring.total_rows)
    return pairs, rows


def under_whole(part: State, measuring: Measuring) -> State:
    """What was measured of a shard, under the classes of all shards."""
    if measuring.whole is None:
        return part
    return State.unified([part, State(part.units.take(np.zeros(0, np.int64)), measuring.whole, {})])[0]


class PartFacts(Frozen):
    """What holds for the units of a shard.

    `facts` are the classes there are; `unweighted` says that all units weigh 1, `own_units` that no unit can lie in
    another shard too; `findings` are those of the quick checks.
    """

    metadata: Metadata
    unweighted: bool
    own_units: bool
    findings: tuple[Finding, ...]


def facts_of_part(shard: Shard) -> PartFacts:
    """Join a shard's units and look at them."""
    from steelyard.checks.quick import quick_findings

    pairs, rows = join_shard(shard)
    measuring = shard.measuring
    findings = quick_findings(measuring.data.definition, rows.truth, rows.prediction, pairs, measuring.options)
    own_units = not isinstance(pairs, Countable) or pairs.own_units
    return PartFacts(metadata_of(pairs), pairs.weight is None, own_units, tuple(findings))


def measuring_name(measuring: Measuring) -> str:
    """What a measurement depends on beside the shard, as a name."""
    request, policy, whole = measuring.data.request, measuring.policy, measuring.whole
    options = {key: str(value) for key, value in request.options.items()}
    axes = {} if whole is None else {name: (axis.ids, axis.names) for name, axis in whole.axes.items()}
    rules, groups = (policy.missing, policy.extra), (request.cluster, request.strata)
    return state_name("measuring", rules, options, measuring.total_rows, axes, measuring.lists_units, groups)


class Summing(Frozen):
    """Measure what some metrics need, in all and by slice, `without` the rankings that are read elsewhere."""

    shard: Shard
    metrics: tuple[Metric, ...]
    without: tuple[Statistic, ...] = ()


def make_sums(job: Summing) -> str:
    """The partial state of a shard; returns the name of its file."""
    shard, measuring = job.shard, job.shard.measuring
    data, request = measuring.data, measuring.data.request
    specs, without = [str(metric) for metric in job.metrics], [str(statistic) for statistic in job.without]
    name = state_name("sums", shard.name, shard.drop, specs, request.by, without, measuring_name(measuring))
    path = state_path(data.work, "sums", name)
    if there(path):
        return name
    pairs, rows = join_shard(shard)
    state = State.of(pairs, [statistic for statistic in needs_of(job.metrics) if statistic not in job.without])
    state = with_groups(data.definition, request, pairs, state)
    part = PartialState.of(data.definition, request, measuring.options, job.metrics, rows, pairs, state)
    keep(path, *replace(part, seen=None).pack())  # units of two shards are dropped from one of them before
    return name

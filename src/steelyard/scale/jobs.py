"""What workers measure of states: the facts of their units, and the sums that metrics need.

A measurement that is there already is not made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.align.gather import Gathered
from steelyard.checks.findings import Finding
from steelyard.core.frozen import frozen
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric
from steelyard.core.pairs import Countable
from steelyard.core.state import State as Measured
from steelyard.core.statistic import Statistic
from steelyard.core.task import Policy
from steelyard.engine.groups import grouped
from steelyard.engine.measure import needs_of
from steelyard.io.options import resolve_options
from steelyard.partial.state import PartialState
from steelyard.scale.reading import ShardJobs, load_shard
from steelyard.scale.shards import keep, state_name, state_path, there


@frozen
class Measuring:
    """How states are measured: what the user chose, and the facts that hold for all shards together."""

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
        return bool(request.by or request.save_draws or request.save_influences or request.planned)

    @property
    def options(self) -> Mapping[str, Any]:
        """The task's options, as they were given."""
        return self.data.request.options


@frozen
class State:
    """A state to measure, without the units that another shard has too."""

    measuring: Measuring
    name: str
    drop: tuple[str, ...] = ()


def joined(state: State) -> tuple[Any, Gathered]:
    """Join a state's units, as a part of the whole where its facts are known.

    Alike units are counted where they are many in all, unless the report goes by unit: in slices, or for saved draws.
    """
    measuring = state.measuring
    definition = measuring.data.definition
    options = resolve_options(definition, measuring.options)
    shard = load_shard(measuring.data, state.name, state.drop)
    pairs = definition.join(shard.truth, shard.prediction, measuring.policy, options)
    if measuring.whole is not None and isinstance(pairs, Countable):
        pairs = pairs.part_of(measuring.whole, 0 if measuring.lists_units else measuring.total_rows)
    return pairs, shard


def under_whole(part: Measured, measuring: Measuring) -> Measured:
    """What was measured of a shard, under the classes of all shards."""
    if measuring.whole is None:
        return part
    return Measured.unified([part, Measured(part.units.take(np.zeros(0, np.int64)), measuring.whole, {})])[0]


@frozen
class PartFacts:
    """What holds for the units of a state.

    `facts` are the classes there are; `unweighted` says that all units weigh 1, `own_units` that no unit can lie in
    another state too; `findings` are those of the quick checks.
    """

    facts: Metadata
    unweighted: bool
    own_units: bool
    findings: tuple[Finding, ...]


def facts_of_part(state: State) -> PartFacts:
    """Join a state's units and look at them."""
    from steelyard.checks.quick import quick_findings

    pairs, shard = joined(state)
    definition = state.measuring.data.definition
    options = resolve_options(definition, state.measuring.options)
    findings = quick_findings(definition, shard.truth, shard.prediction, pairs, options)
    own_units = not isinstance(pairs, Countable) or pairs.own_units
    return PartFacts(pairs.facts, pairs.weight is None, own_units, tuple(findings))


def measuring_name(measuring: Measuring) -> str:
    """What a measurement depends on beside the state, as a name."""
    request, policy, whole = measuring.data.request, measuring.policy, measuring.whole
    options = {key: str(value) for key, value in measuring.options.items()}
    axes = {} if whole is None else {name: (axis.ids, axis.names) for name, axis in whole.axes.items()}
    rules, groups = (policy.missing, policy.extra), (request.cluster, request.strata)
    return state_name("measuring", rules, options, measuring.total_rows, axes, measuring.lists_units, groups)


@frozen
class Summing:
    """Measure what some metrics need, in all and by slice, `without` the rankings that are read elsewhere."""

    state: State
    metrics: tuple[Metric, ...]
    without: tuple[Statistic, ...] = ()


def make_sums(job: Summing) -> str:
    """What a state keeps for the metrics; gives the name under which it lies."""
    measuring, metrics = job.state.measuring, list(job.metrics)
    specs = [str(metric) for metric in metrics]
    without = [str(statistic) for statistic in job.without]
    data = measuring.data
    by = data.request.by
    name = state_name("sums", job.state.name, job.state.drop, specs, by, without, measuring_name(measuring))
    path = state_path(data.work, "sums", name)
    if there(path):
        return name
    definition = data.definition
    pairs, shard = joined(job.state)
    state = Measured.of(pairs, [statistic for statistic in needs_of(metrics) if statistic not in job.without])
    state = grouped(definition, data.request, pairs, state)
    options = resolve_options(definition, measuring.options)
    part = PartialState.of(definition, data.request, options, metrics, shard, pairs, state)
    keep(path, *replace(part, seen=None).pack())  # units of two shards are dropped from one of them before
    return name

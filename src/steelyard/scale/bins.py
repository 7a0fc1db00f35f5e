"""Rankings from histograms of scores: the approximate mode. What a histogram allows, at the least and at the most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.core.block import Block
from steelyard.core.by_group import AnsweredBlock
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.records import Array
from steelyard.core.statistic import Statistic
from steelyard.io.container import read_container
from steelyard.io.valid import check_counts
from steelyard.scale.events import Eventing, blocks_of
from steelyard.scale.jobs import Shard, measuring_name
from steelyard.scale.reading import ShardJobs
from steelyard.scale.shards import keep, state_name, state_path, there
from steelyard.scale.walks import Asked


class Binning(Frozen):
    """Make the histograms of a shard's rankings."""

    shard: Shard
    asked: Asked
    bins: int


def make_histograms(job: Binning) -> str:
    """Counts by bin of scores; gives the name under which they lie."""
    data = job.shard.measuring.data
    curves = [[question.text for question in questions] for questions in job.asked.values()]
    name = state_name("bins", job.shard.name, job.shard.drop, curves, job.bins, measuring_name(job.shard.measuring))
    path = state_path(data.work, "bins", name)
    if not there(path):
        arrays: dict[str, Array] = {}
        blocks = blocks_of(Eventing(job.shard, tuple(job.asked)))
        for number, (questions, block) in enumerate(zip(job.asked.values(), blocks, strict=True)):
            for i, question in enumerate(questions):
                counts = question.curve.histogram(block, job.bins)
                arrays |= {f"{number}.{i}.{part}": values for part, values in counts.items()}
        keep(path, {}, arrays)
    return name


def add_histograms(data: ShardJobs, names: Sequence[str]) -> dict[str, Array]:
    """The histograms of all shards together."""
    total: dict[str, Array] = {}
    for name in names:
        path = state_path(data.work, "bins", name)
        for part, counts in read_container(path).arrays.items():
            check_counts(counts, total[part].shape if part in total else counts.shape, part, path)
            total[part] = total[part] + counts if part in total else counts
    return total


def bound_blocks(asked: Asked, counts: Mapping[str, Array], metadata: Metadata, upper: bool) -> dict[Statistic, Block]:
    """What histograms allow at the least, or at the most."""
    blocks: dict[Statistic, Block] = {}
    for number, (statistic, questions) in enumerate(asked.items()):
        answers = {}
        for i, question in enumerate(questions):
            start = f"{number}.{i}."
            mine = {name.removeprefix(start): array for name, array in counts.items() if name.startswith(start)}
            answers[question.curve, question.role] = question.curve.bound_reading(mine, metadata, upper)
        blocks[statistic] = AnsweredBlock(answers)
    return blocks

"""From files to states of whole units: both sides read in pairs of files, or cut by a hash and joined.

Each job writes one state under its content hash, and gives back what the driver must know of it. A state that is there
already is not made again: that is how a run that died is resumed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.align.gather import Gathered, SeenUnits, cut, gather, nothing_of
from steelyard.align.unit_digest import id_keys
from steelyard.core import catalogue
from steelyard.core.errors import UnreadableFile, Unsupported
from steelyard.core.frozen import Frozen
from steelyard.core.opening import is_entry, open_regular
from steelyard.core.records import Array, Records, RowLocation
from steelyard.core.request import Request
from steelyard.core.task import Task
from steelyard.io.container import (
    Container,
    container_bytes,
    parse_container,
    read_container,
    seal_chunks,
    unfit,
)
from steelyard.io.dialect import reading_notes
from steelyard.io.options import resolve_options
from steelyard.io.sources import read_side, read_sides
from steelyard.io.state import pack_records, pack_sides, unpack_records, unpack_sides
from steelyard.io.stored import FACTS, StoredShard, check_stored
from steelyard.io.valid import check_numbers, check_sorted
from steelyard.io.write import write_durably
from steelyard.scale.shards import NAME, content_hash, keep, local_copy, state_name, state_path, there


class ShardJobs(Frozen):
    """What is read, and where states go; the same for every job of a run."""

    request: Request
    work: str

    @property
    def task(self) -> str:
        """The task's name."""
        return self.request.task

    @property
    def columns(self) -> Mapping[str, str]:
        """How the data's columns are renamed."""
        return self.request.columns

    def reading(self) -> list[object]:
        """What reading depends on beside the files: columns, and the reader's options with the contents they name."""
        options = [(name, str(value), _contents(value)) for name, value in sorted(self.request.options.items())]
        return [self.task, dict(self.columns), options]

    @property
    def definition(self) -> Task:
        """The task."""
        return catalogue.find_task(self.task)


class Summary(Frozen):
    """What the driver must know of a state: 8 bytes per unit, and some numbers."""

    name: str
    keys: Array  # of the units
    rows: tuple[int, int]
    strays: int  # units of the predictions that the truth of this shard lacks
    notes: tuple[str, ...] = ()  # of the reader
    repeated: int = 0  # units that came more than once among the files of a bucket
    new: bool = True


class ReadPair(Frozen):
    """Read a shard of truth and one of predictions (None: the truth holds both)."""

    data: ShardJobs
    truth: str
    predictions: str | None


def read_pair(job: ReadPair) -> Summary:
    """Both sides of a shard, gathered, as a state."""
    with ExitStack() as stack:
        truth = stack.enter_context(local_copy(job.truth))
        hashes, predictions = [content_hash(truth, job.truth)], None
        if job.predictions is not None:
            predictions = stack.enter_context(local_copy(job.predictions))
            hashes.append(content_hash(predictions, job.predictions))
        name = state_name("shard", *job.data.reading(), hashes)
        path = state_path(job.data.work, "shard", name)
        if there(path):
            return replace(_summary(read_container(path), name, path), new=False)
        task, options = job.data.definition, resolve_options(job.data.definition, job.data.request.options)
        with reading_notes() as file_notes:
            sides = read_sides(task, truth, predictions, job.data.columns, options)
        notes = (*getattr(sides[0], "notes", ()), *(f"In some files {note.partition(': ')[2]}" for note in file_notes))
        return _keep_shard(gather([sides], task.truth.key), path, name, notes)


class Split(Frozen):
    """Cut one file of one side into buckets by the hash of the unit's id."""

    data: ShardJobs
    path: str
    side: str
    buckets: int


def split(job: Split) -> str:
    """The file's rows by bucket, each bucket a container of its own behind an index; gives the state's name."""
    with local_copy(job.path) as path:
        contents = content_hash(path, job.path)
        name = state_name("split", *job.data.reading(), job.side, job.buckets, contents)
        target = state_path(job.data.work, "split", name)
        if there(target):
            return name
        with reading_notes() as file_notes:
            records = read_side(job.data.definition, path, job.data.columns, job.side)
        if file_notes:  # which a report of buckets could not say
            raise Unsupported(file_notes[0], remedy="Write commas and decimal points, or choose `join='pairs'`.")
    cuts = cut(records, job.data.definition.truth.key, bucket_of(job.buckets), job.buckets)
    parts = [container_bytes("part", *_packed_side(part, job.side)) for part in cuts]
    index = np.cumsum([0] + [len(part) for part in parts])
    head = container_bytes("index", {NAME: os.path.basename(target)}, {"starts": index})
    write_durably(target, seal_chunks([len(head).to_bytes(8, "little"), head, *parts]))
    return name


class JoinBucket(Frozen):
    """Join one bucket of all files of both sides."""

    data: ShardJobs
    truth: tuple[str, ...]
    predictions: tuple[str, ...]
    bucket: int


def join_bucket(job: JoinBucket) -> Summary:
    """The units of a bucket, whole, as a state."""
    name = state_name("bucket", job.data.task, job.truth, job.predictions, job.bucket)
    path = state_path(job.data.work, "shard", name)
    if there(path):
        return replace(_summary(read_container(path), name, path), new=False)
    truth = [_bucket(job.data, one, job.bucket, "truth") for one in job.truth]
    predictions = [_bucket(job.data, one, job.bucket, "prediction") for one in job.predictions]
    key = job.data.definition.truth.key
    no_truth, no_prediction = (nothing_of(side[0], key) for side in (truth, predictions))
    batches = [(side, no_prediction) for side in truth] + [(no_truth, side) for side in predictions]
    return _keep_shard(gather(batches, key), path, name)


def load_shard(data: ShardJobs, name: str, drop: Sequence[str] = ()) -> Gathered:
    """A state's records, without some units."""
    path = state_path(data.work, "shard", name)
    container = read_container(path)
    sides = unpack_sides(container, data.definition, path)
    if drop:
        return gather([sides], data.definition.truth.key, drop=frozenset(drop))
    none = np.zeros(0, object)
    return Gathered(*sides, none, none, _seen_units(container, path)[0])


def _keep_shard(shard: Gathered, path: str, name: str, notes: tuple[str, ...] = ()) -> Summary:
    facts, arrays = pack_sides(shard.truth, shard.prediction)
    rows, seen = (len(shard.truth), len(shard.prediction)), shard.seen
    facts = {"rows": rows, "notes": notes, "repeated": len(shard.repeated), **facts}
    arrays |= {"units": seen.ids, "digests": seen.digests, "unit_rows": seen.rows, "in_truth": _in_truth(shard)}
    keep(path, facts, arrays)
    return _summary(Container("shard", facts, arrays), name, path)


def _in_truth(shard: Gathered) -> Array:
    """Whether the truth names each unit, with rows or without."""
    named = shard.seen.rows[:, 0] > 0
    images = getattr(shard.truth, "images", None)
    if images is not None:
        listed = set(map(str, images.tolist()))
        named = named | np.array([str(unit) in listed for unit in shard.seen.ids.tolist()], dtype=bool)
    return np.asarray(named)


def _summary(container: Container, name: str, path: str) -> Summary:
    seen, in_truth = _seen_units(container, path)
    check_stored(container.facts, StoredShard, FACTS, path)
    rows, notes = container.facts["rows"], tuple(container.facts.get("notes", ()))
    repeated = container.facts.get("repeated", 0)
    if min(*rows, repeated) < 0:
        raise unfit(path, f"the fields 'rows' and 'repeated' are {rows} and {repeated}, and no count is below 0")
    strays = int(np.count_nonzero(~in_truth))
    return Summary(name, id_keys(seen.ids), (rows[0], rows[1]), strays, notes, repeated)


def _seen_units(container: Container, path: str) -> tuple[SeenUnits, Array]:
    """The units of a state, and whether the truth names each."""
    try:
        units, digests, rows, in_truth = (
            container.arrays[part] for part in ("units", "digests", "unit_rows", "in_truth")
        )
    except KeyError as error:
        raise unfit(path, f"the state lacks {error}") from None
    check_sorted(units, "units", path)
    check_numbers(digests, (len(units), 2, 2), "u", "digests", path)
    check_numbers(rows, (len(units), 2), "i", "unit_rows", path)
    check_numbers(in_truth, (len(units),), "b", "in_truth", path)
    return SeenUnits(units, digests, rows), in_truth


def _packed_side(records: Records, side: str) -> tuple[dict[str, Any], dict[str, Array]]:
    facts, arrays = pack_records(records, side)
    return {side: facts}, arrays


def _contents(value: object) -> str:
    """A hash of the file that an option names, or nothing."""
    named = isinstance(value, str | os.PathLike) and is_entry(value)
    return content_hash(Path(str(value)), str(value)) if named else ""


def bucket_of(buckets: int) -> Callable[[Array], Array]:
    """The bucket of each unit: by the hash of its id, so that both sides agree."""
    return lambda ids: (id_keys(ids) % np.uint64(buckets)).astype(np.int64)


def _bucket(data: ShardJobs, name: str, bucket: int, side: str) -> Records:
    definition, path = data.definition, state_path(data.work, "split", name)
    try:
        with open_regular(path) as file:
            whole = os.fstat(file.fileno()).st_size
            size = min(int.from_bytes(file.read(8), "little"), whole)
            starts = parse_container(file.read(size), path).arrays["starts"]
            begin, end = (min(max(0, int(start)), whole) for start in starts[bucket : bucket + 2])
            file.seek(8 + size + begin)
            part = file.read(max(0, end - begin))
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror}", where=path) from None
    except (KeyError, TypeError, ValueError) as error:
        raise unfit(path, f"the index lacks {error}") from None
    schema = definition.truth if side == "truth" else definition.prediction
    return unpack_records(parse_container(part, path), side, schema, RowLocation(f"{path}, {side}"), side)

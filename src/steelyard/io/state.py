"""Records as arrays of a container, and back: one side is `truth.` or `prediction.` before each name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.errors import InputError
from steelyard.core.rankings import Ids, Rankings
from steelyard.core.records import Array, BoxRecords, Records, RowLocation, Schema, as_object
from steelyard.core.task import Task
from steelyard.io.container import Container, unfit
from steelyard.io.stored import StoredSide, check_stored
from steelyard.io.valid import check_numbers, check_records, check_steps

SIDES = ("truth", "prediction")


def pack_records(records: Records, side: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Facts and arrays of one side. Rankings lie by query, as gathering leaves them."""
    arrays: dict[str, Array] = {f"{side}.column.{name}": column for name, column in records.columns.items()}
    arrays |= {f"{side}.other.{name}": column for name, column in records.other.items()}
    facts: dict[str, Any] = {"shape": "rows", "source": records.source, "names": dict(records.names)}
    if isinstance(records, BoxRecords):
        facts |= {"shape": "boxes", "label_names": records.label_names, "zero_id": records.zero_id}
        for name in ("images", "labels"):
            if getattr(records, name) is not None:
                arrays[f"{side}.{name}"] = getattr(records, name)
    elif isinstance(records, Rankings):
        facts["shape"] = "rankings"
        text, ends = _pack_ids(records.documents)
        arrays |= {
            f"{side}.queries": records.queries,
            f"{side}.starts": records.starts,
            f"{side}.documents": text,
            f"{side}.ends": ends,
            f"{side}.values": records.values,
        }
        if records.order is not None:
            arrays[f"{side}.order"] = records.order
    return facts, arrays


def pack_sides(truth: Records, prediction: Records) -> tuple[dict[str, Any], dict[str, Array]]:
    """Facts and arrays of both sides."""
    facts: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    for side, records in zip(SIDES, (truth, prediction), strict=True):
        facts[side], packed = pack_records(records, side)
        arrays |= packed
    return facts, arrays


def unpack_sides(container: Container, task: Task, source: str) -> tuple[Records, Records]:
    """Both sides as records, checked as inputs are; `source` is where the container lies."""
    truth, prediction = (
        unpack_records(container, side, schema, RowLocation(f"{source}, {side}"), f"{source}, {side}")
        for side, schema in zip(SIDES, (task.truth, task.prediction), strict=True)
    )
    return truth, prediction


def unpack_records(
    container: Container, side: str, schema: Schema, place: Callable[[int], str], source: str
) -> Records:
    """One side as records, checked as an input is: what is not there or does not fit is an error."""
    where = place(0).rpartition(",")[0] or source
    try:
        records = _unpack_side(container, side, place, source, where)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise unfit(where, f"the state lacks {error}") from None
    check_records(records, schema, where)
    return records


def _unpack_side(container: Container, side: str, place: Callable[[int], str], source: str, where: str) -> Records:
    facts = container.facts[side]
    check_stored(facts, StoredSide, side, where)
    arrays = container.arrays

    def under(part: str) -> dict[str, Array]:
        prefix = f"{side}.{part}."
        return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}

    columns, other = under("column"), under("other")
    if facts["shape"] == "rankings":
        ends = np.ascontiguousarray(arrays[f"{side}.ends"], dtype=np.int64)
        check_numbers(arrays[f"{side}.documents"], (None,), "u", "documents", where)
        text = np.ascontiguousarray(arrays[f"{side}.documents"], dtype=np.uint8)
        check_steps(np.append(0, ends), len(text), "ends", where)
        packed = _native.pack_offsets(text, np.append(0, ends))
        if isinstance(packed, int):
            raise KeyError("a document's id")
        return Rankings(
            source, columns, other, place, facts["names"],
            queries=as_object(arrays[f"{side}.queries"].tolist()), starts=arrays[f"{side}.starts"].astype(np.int64),
            documents=Ids(text, *packed), values=arrays[f"{side}.values"].astype(np.float64),
            order=arrays.get(f"{side}.order"),
        )  # fmt: skip
    if facts["shape"] == "boxes":
        return BoxRecords(
            source, columns, other, place, facts["names"],
            arrays.get(f"{side}.images"), arrays.get(f"{side}.labels"), facts["label_names"], facts["zero_id"],
        )  # fmt: skip
    return Records(source, columns, other, place, facts["names"])


def _pack_ids(ids: Ids) -> tuple[Array, Array]:
    """The texts of the ids one after the other, and where each ends: not what else the source's text held."""
    begin, size = (ids.place >> np.uint64(16)).astype(np.int64), (ids.place & np.uint64(0xFFFF)).astype(np.int64)
    ends = np.cumsum(size)
    index = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - size - begin, size)
    return ids.text[index], ends

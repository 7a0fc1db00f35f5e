"""States of measurements as facts and arrays of a container, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.core.block import Block, CellsBlock, MomentsBlock, SumBlock, shape_of
from steelyard.core.counts import count_text
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.ranking import RankingBlock
from steelyard.core.records import Array
from steelyard.core.rows import RowsBlock
from steelyard.core.state import State
from steelyard.core.statistic import Ranking, Rows, Statistic
from steelyard.core.units import Units
from steelyard.io.container import unfit
from steelyard.io.stored import ABOUT, check_stored
from steelyard.io.valid import check_numbers, check_range, check_sorted, check_steps, check_weights

BLOCKS: dict[str, type[Block]] = {
    cls.kind: cls for cls in (SumBlock, MomentsBlock, CellsBlock, RankingBlock, RowsBlock)
}

UNIT_ARRAYS = ("weight", "copies", "cluster", "stratum")


def pack_state(state: State, prefix: str = "") -> tuple[dict[str, Any], dict[str, Array]]:
    """Facts and arrays; each block stands under the text of its need."""
    arrays: dict[str, Array] = {f"{prefix}units": state.units.ids}
    for name in UNIT_ARRAYS:
        values = getattr(state.units, name)
        if values is not None:
            arrays[f"{prefix}{name}"] = values
    arrays |= {f"{prefix}group/{name}": keys for name, keys in state.units.groups.items()}
    blocks = {}
    for statistic, block in state.blocks.items():
        about, parts = block.pack()
        blocks[str(statistic)] = {"kind": block.kind, "about": about}
        arrays |= {f"{prefix}{statistic}:{name}": array for name, array in parts.items()}
    axes = {name: (axis.ids, axis.names, axis.whole) for name, axis in state.metadata.axes.items()}
    flags, mappings = dict(state.metadata.flags), {}
    for name in [name for name, value in flags.items() if isinstance(value, Mapping)]:
        mappings[name] = flags.pop(name)
    facts = {"axes": axes, "flags": flags, "holds": sorted(state.metadata.holds), "blocks": blocks}
    return facts | ({"mappings": mappings} if mappings else {}), arrays


def unpack_state(
    facts: Mapping[str, Any], arrays: Mapping[str, Array], prefix: str = "", source: str = "a state"
) -> State:
    """The state that `pack_state` took apart. A statistic that is not known, or of another version, is an error.

    `facts` are checked: they are a `StoredState`.
    """
    blocks: dict[Statistic, Block] = {}
    for text, entry in facts["blocks"].items():
        start = f"{prefix}{text}:"
        parts = {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
        check_stored(entry["about"], ABOUT[entry["kind"]], f"{text}.about", source)
        blocks[Statistic.parse(text)] = BLOCKS[entry["kind"]].unpack(entry["about"], parts)
    axes = {name: Axis(tuple(ids), tuple(names), bool(whole)) for name, (ids, names, whole) in facts["axes"].items()}
    start = f"{prefix}group/"
    weight, copies, cluster, stratum = (arrays.get(f"{prefix}{name}") for name in UNIT_ARRAYS)
    groups = {name.removeprefix(start): keys for name, keys in arrays.items() if name.startswith(start)}
    units = Units(arrays[f"{prefix}units"], weight, copies, cluster, stratum, groups)
    flags = {**facts["flags"], **facts.get("mappings", {})}
    if isinstance(flags.get("frequency"), str):  # before 0.3: lines of "label=frequency"
        flags["frequency"] = dict(line.rpartition("=")[::2] for line in flags["frequency"].split("\n"))
    return State(units, Metadata(axes, flags, frozenset(facts["holds"])), blocks)


def check_state(state: State, source: str) -> None:
    """Contents that Steelyard could have written: as many rows as units, codes and owners that are there."""
    units = len(state)
    check_sorted(state.units.ids, "units", source)
    if state.units.weight is not None:
        check_weights(state.units.weight, units, "weight", source)
    if state.units.copies is not None:
        check_numbers(state.units.copies, (units,), "iu", "copies", source)
        check_weights(state.units.copies, units, "copies", source)
    for name in ("cluster", "stratum"):
        texts = getattr(state.units, name)
        if texts is not None and (texts.shape != (units,) or not all(type(text) is str for text in texts.tolist())):
            raise unfit(source, f"the names of each {name} are not strings, one per unit")
    for name, keys in state.units.groups.items():
        check_numbers(keys, (units,), "u", f"group {name}", source)
    for name, axis in state.metadata.axes.items():
        if axis.names and len(axis.names) != len(axis.ids):
            raise unfit(
                source,
                f"the axis '{name}' has {count_text(len(axis.ids), 'id')} and {count_text(len(axis.names), 'name')}",
            )
    for statistic, block in state.blocks.items():
        _check_block(statistic, block, state, str(statistic), source)


def _check_block(statistic: Statistic, block: Block, state: State, name: str, source: str) -> None:
    units = len(state)
    axes = block.axes if isinstance(block, CellsBlock) else filter(None, [getattr(block, "axis", "")])
    for axis in axes:
        if isinstance(axis, str) and axis not in state.metadata.axes:
            raise unfit(source, f"'{name}' is along '{axis}', and the state has no such axis")
    if isinstance(block, SumBlock):
        check_numbers(block.values, (units, *block.values.shape[1:]), "f", name, source)
    elif isinstance(block, MomentsBlock):
        width = block.mean.shape[1] if block.mean.ndim == 2 else 0
        check_numbers(block.count, (units,), "f", name, source)
        check_numbers(block.mean, (units, width), "f", name, source)
        check_numbers(block.product, (units, width * (width + 1) // 2), "f", name, source)
    elif isinstance(block, CellsBlock):
        entries = block.entries
        check_range(entries.owner, units, name, source)
        check_range(entries.code, entries.size, name, source)
        for column in (entries.code, *(() if entries.value is None else (entries.value,))):
            check_numbers(column, (len(entries.owner),), "iuf", name, source)
        if int(np.prod(shape_of(block.axes, state.metadata), dtype=np.int64)) != entries.size:
            raise unfit(source, f"the cells of '{name}' are not as many as the classes say")
        if (np.diff(entries.owner.astype(np.int64)) < 0).any():
            raise unfit(source, f"the entries of '{name}' are not in the order of their units")
    elif isinstance(block, RankingBlock):
        _check_ranking(statistic, block, state, name, source)
    else:
        assert isinstance(block, RowsBlock)
        _check_rows(block, units, name, source)


def _check_ranking(statistic: Statistic, block: RankingBlock, state: State, name: str, source: str) -> None:
    groups = state.metadata.size(block.axis) if block.axis else 1
    declared = statistic.columns if isinstance(statistic, Ranking) else None
    for i, table in enumerate((block.events, block.positives)):
        rows = len(table.unit)
        check_range(table.unit, len(state), name, source)
        check_numbers(table.begin, (groups + 1,), "i", name, source)
        if table.begin[0] != 0 or table.begin[-1] != rows or (np.diff(table.begin) < 0).any():
            raise unfit(source, f"the groups of '{name}' do not fit its rows")
        kinds = dict.fromkeys(table.columns, "iufb") if declared is None else declared[i]
        if table.columns.keys() != kinds.keys():
            raise unfit(source, f"'{name}' has other columns than {', '.join(kinds)}")
        for column, values in table.columns.items():
            check_numbers(values, (rows, *values.shape[1:]), kinds[column], name, source)
    score = block.events.columns.get("score")
    if declared is not None and score is not None and len(score):
        same_group = np.diff(block.events.group) == 0
        if (same_group & ~(score[1:] <= score[:-1])).any() or np.isnan(score).any():
            raise unfit(source, f"the scores of '{name}' are not in decreasing order")


def _check_rows(block: RowsBlock, units: int, name: str, source: str) -> None:
    table = block.tables[0]
    if str(table.need) != name or not isinstance(table.need, Rows):
        raise unfit(source, f"the rows of '{name}' are those of '{table.need}'")
    check_sorted(table.ids, f"the ids of {name}", source)
    check_range(block.index, len(table.ids), name, source)
    check_numbers(block.index, (units,), "iu", name, source)
    kinds = table.need.columns
    if table.columns.keys() != kinds.keys():
        raise unfit(source, f"the rows of '{name}' have other columns than {', '.join(kinds)}")
    rows = len(next(iter(table.columns.values())))
    check_steps(table.begin, rows, f"the units of {name}", source)
    check_numbers(table.begin, (len(table.ids) + 1,), "iu", name, source)
    for column, values in table.columns.items():
        if kinds[column] != "text":
            check_numbers(values, (rows, *values.shape[1:]), kinds[column], name, source)
        elif values.shape != (rows,) or not all(type(value) is str for value in values.tolist()):
            raise unfit(source, f"'{column}' of '{name}' are not strings")

"""Saved states: any split of the units gives the same bytes and the same report; what is damaged is refused."""

from __future__ import annotations

import hashlib
import os
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.drawn import DRAW

import steelyard as sy
from steelyard.core import catalogue
from steelyard.io.container import container_bytes, parse_container, read_container, write_container

Data = dict[str, Any]
PARTITIONS = int(os.environ.get("STEELYARD_PARTITIONS", "600"))  # over all tasks; make partitions takes 10,000
UNITS = 6
every_task = pytest.mark.parametrize("task", list(catalogue.TASKS))


def rows_of(data: Data, units: set[str], key: str) -> Data:
    keep = np.array([str(v) in units for v in data[key]])
    return {name: np.asarray(column)[keep] for name, column in data.items()}


_drawn: dict[str, tuple[list[tuple[Data, Data]], bytes, str]] = {}
CHEAP = {"captions": ["bleu@4", "cider"], "rankings": ["ap", "ndcg@10"], "ellipses": ["score", "ap"]}


def report_of(task: str, state: sy.Accumulator) -> str:
    report = state.report(CHEAP.get(task), draws=100)
    kept = [note for note in report.notes if "more than once" not in note]
    return repr((report.scores, report.coverage, report.request, report.sources, kept))


def drawn(task: str) -> tuple[list[tuple[Data, Data]], bytes, str]:
    """Data by unit, the bytes of the state of all at once, and its report."""
    if task not in _drawn:
        truth, predictions = DRAW[task](np.random.default_rng(1), UNITS)
        key = catalogue.find_task(task).truth.key[0]
        ids = dict.fromkeys(map(str, truth[key]))
        whole = sy.Accumulator(task)
        whole.update(truth, predictions)
        by_unit = [(rows_of(truth, {unit}, key), rows_of(predictions, {unit}, key)) for unit in ids]
        _drawn[task] = by_unit, whole.to_bytes(), report_of(task, whole)
    return _drawn[task]


def batch_of(parts: list[tuple[Data, Data]]) -> tuple[Data, Data]:
    truth, predictions = (
        {name: np.concatenate([part[side][name] for part in parts]) for name in parts[0][side]} for side in (0, 1)
    )
    return truth, predictions


@every_task
def test_any_partition_any_order_any_tree(task: str) -> None:
    """Units in any order, cut into batches anywhere, batches given to machines at will, machines merged in any order."""
    by_unit, whole, report = drawn(task)
    count = len(by_unit)
    examples = []

    @settings(max_examples=PARTITIONS // len(catalogue.TASKS), deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(
        order=st.permutations(range(count)),
        cut=st.integers(0, 2 ** (count - 1) - 1),  # a bit for each place between two units
        machines=st.integers(0, 3**count - 1),  # a digit for each batch
        again=st.none() | st.integers(0, count - 1),
    )
    def check(order: list[int], cut: int, machines: int, again: int | None) -> None:
        cuts = [place for place in range(1, count) if cut >> (place - 1) & 1]
        last = machines % 3
        states = [sy.Accumulator(task) for _ in range(3)]
        for number, (a, b) in enumerate(pairwise([0, *cuts, count])):
            states[machines // 3**number % 3].update(*batch_of([by_unit[unit] for unit in order[a:b]]))
        if again is not None:  # as a sampler pads
            states[last].update(*by_unit[again])
        first = states.pop(last)
        for state in states:
            first.merge(state)
        examples.append(1)
        state = first.to_bytes()
        if again is not None:  # the state says which unit came twice; the rest must be the same
            contents = parse_container(state, "found")
            assert len(contents.arrays["repeated"]) == 1
            kept = {name: array for name, array in contents.arrays.items() if name != "repeated"}
            assert container_bytes(contents.kind, contents.facts, kept) == whole
        else:
            assert state == whole
        if len(examples) % 25 == 1:  # what is the same to the bit has the same report; now and then that is looked at
            assert report_of(task, first) == report

    check()
    assert len(examples) >= PARTITIONS // len(catalogue.TASKS)


@every_task
def test_saved_and_loaded(task: str, tmp_path: Path) -> None:
    by_unit, whole, report = drawn(task)
    state = sy.Accumulator(task)
    for part in by_unit:
        state.update(*part)
    state.save(tmp_path / "state.steelyard")
    assert (tmp_path / "state.steelyard").read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["state.steelyard"]
    again = sy.Accumulator.load(tmp_path / "state.steelyard")
    assert report_of(task, again) == report
    assert again.to_bytes() == whole
    again.merge(state)  # every unit a second time
    assert again.report(CHEAP.get(task), draws=100).scores == state.report(CHEAP.get(task), draws=100).scores


def test_an_empty_accumulator_is_a_state_too() -> None:
    empty = sy.Accumulator.from_bytes(sy.Accumulator("boxes").to_bytes())
    assert not len(empty)
    with pytest.raises(sy.InputError, match="nothing was gathered"):
        empty.report()


def test_odd_columns_survive(tmp_path: Path) -> None:
    """Texts of any script, sets of labels, points, empty cells, nothing at all."""
    labels = sy.Accumulator("labels")
    labels.update({"id": ["é", "7"], "labels": ["a|b", ""]}, {"id": ["7", "é"], "labels": ["a", "b"]})
    labels.save(tmp_path / "labels")
    assert (
        sy.Accumulator.load(tmp_path / "labels").report(confidence=None).scores == labels.report(confidence=None).scores
    )
    arrays = {
        "points": np.array([None, np.array([[1.5, 2.0], [3.0, 4.0]])], dtype=object),
        "mixed": np.array(["a", None, 2, 2.5, True, ("x", ("y",)), [1, 2]], dtype=object),
        "empty": np.zeros((0, 4), np.float32),
        "text": np.array(["", "日本", "\ud800"], dtype=object),
        "wide": np.arange(6, dtype=">i4").reshape(2, 3),
    }
    write_container(tmp_path / "odd", "test", {"a": (1, None), "b": {"c": [0.1]}}, arrays)
    contents = read_container(tmp_path / "odd")
    assert contents.facts == {"a": (1, None), "b": {"c": [0.1]}}
    assert contents.arrays["mixed"].tolist() == arrays["mixed"].tolist()
    assert contents.arrays["points"][0] is None
    assert (contents.arrays["points"][1] == arrays["points"][1]).all()
    assert contents.arrays["empty"].shape == (0, 4)
    assert contents.arrays["text"].tolist() == arrays["text"].tolist()
    assert (contents.arrays["wide"] == arrays["wide"]).all()


def sealed(data: bytes) -> bytes:
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


def damaged() -> dict[str, tuple[bytes, str]]:
    whole = drawn("weights")[1]
    header = whole[24 : 24 + struct.unpack_from("<Q", whole, 16)[0]]
    return {
        "empty": (b"", "this is not a state file"),
        "another file": (b"dish,item,weight\n" * 10, "this is not a state file"),
        "cut off": (whole[:-100], "the checksum does not fit"),
        "a flipped bit": (whole[:500] + bytes([whole[500] ^ 1]) + whole[501:], "header|checksum"),
        "a later version": (sealed(whole[:8] + struct.pack("<I", 9) + whole[12:]), "has version 9, and this Steelyard reads"),
        "a header of nothing": (sealed(whole[:24] + b"x" * len(header) + whole[24 + len(header) :]), "header cannot be read"),
        "another kind": (sealed(whole.replace(b'"records"', b'"recorbs"')), "one of 'recorbs', not of 'records'"),
        "a task that is none": (sealed(whole.replace(b'"weights"', b'"heights"')), "heights"),
        "an array too long": (sealed(whole.replace(b'"bytes": ', b'"bytes":9')), "does not fit the contents"),
        "a type that is none": (sealed(whole.replace(b'"<f8"', b'"<z8"')), "does not fit the contents"),
        "a side that lacks": (sealed(whole.replace(b'"prediction"', b'"predictiom"')), "the state lacks 'prediction'"),
    }  # fmt: skip


@pytest.mark.parametrize("case", list(damaged()))
def test_what_is_damaged_is_refused(case: str, tmp_path: Path) -> None:
    data, message = damaged()[case]
    (tmp_path / "state").write_bytes(data)
    with pytest.raises(sy.InputError, match=message) as error:
        sy.Accumulator.load(tmp_path / "state")
    if case != "a task that is none":
        assert str(tmp_path / "state") in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(sy.InputError, match=r"nowhere: there is no such file"):
        sy.Accumulator.load(tmp_path / "nowhere")

"""States that are damaged, or that somebody made up: made again with a note, or refused; never another number."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.drawn import DRAW
from support.paths import TESTS
from support.scale_help import files, write_shards

import steelyard as sy
from steelyard.io.container import Container, container_bytes, parse_container, read_container, write_container
from steelyard.scale import evaluate_shards

METRICS = ["map", "precision"]
Arrays = dict[str, Any]


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= 1 << place % 8
    path.write_bytes(bytes(data))


def without_note(report: sy.Report) -> str:
    data = report.to_dict()
    del data["digest"]
    data["body"]["notes"] = [note for note in data["body"]["notes"] if "damaged" not in note]
    return json.dumps(data)


@pytest.mark.parametrize("shape", [(2, 2), (2, 3)], ids=["pairs", "hash"])
def test_a_flipped_bit_in_any_state_is_found_and_mended(shape: tuple[int, int], tmp_path: Path) -> None:
    write_shards("boxes", tmp_path, *shape, units=8)
    options: dict[str, Any] = {"work": tmp_path / "work", "workers": 1, "draws": 100}
    first = evaluate_shards("boxes", *files(tmp_path), METRICS, **options)
    assert not any("damaged" in note for note in first.notes)
    states = {path: path.read_bytes() for path in sorted((tmp_path / "work" / "states").iterdir())}
    kinds = {path.suffix: path for path in states}
    assert set(kinds) >= {".shard", ".sums", ".events", ".units", ".readings"} | (
        {".split"} if shape == (2, 3) else set()
    )
    rng = np.random.default_rng(7)
    for path in kinds.values():
        for place in (int(rng.integers(len(states[path]))), len(states[path]) - 50):  # any, and among the last numbers
            flip(path, place)
            again = evaluate_shards("boxes", *files(tmp_path), METRICS, **options)
            (note,) = (note for note in again.notes if "damaged" in note)
            assert "1 states in the work folder were damaged and are made again" in note
            assert path.name in note
            assert without_note(again) == without_note(first)
            assert path.read_bytes() == states[path]


@pytest.mark.parametrize("damage", ["cut", "empty", "other"])
def test_what_is_no_state_is_made_again(damage: str, tmp_path: Path) -> None:
    write_shards("weights", tmp_path, 2, 2)
    first = evaluate_shards("weights", *files(tmp_path), "mae", work=tmp_path / "work", workers=1, draws=100)
    for path in (tmp_path / "work" / "states").iterdir():
        data = path.read_bytes()
        path.write_bytes({"cut": data[: len(data) // 2], "empty": b"", "other": b"id,label\n" * 99}[damage])
    again = evaluate_shards("weights", *files(tmp_path), "mae", work=tmp_path / "work", workers=1, draws=100)
    assert without_note(again) == without_note(first)
    assert "4 states in the work folder were damaged" in again.notes[-1]


def remade(task: str, change: Callable[[Arrays], None], compact: str | None = None) -> bytes:
    """A state of some task, changed and signed again."""
    state = sy.Accumulator(task)
    state.update(*DRAW[task](np.random.default_rng(1), 6))
    if compact is not None:
        state.compact(compact)
    kind, facts, arrays = parse_container(state.to_bytes(), "state")
    changed = {name: array.copy() for name, array in arrays.items()}
    change(changed)
    return container_bytes(kind, facts, changed)


def put(name: str, row: int, value: Any) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name][row] = value

    return change


def become(name: str, make: Callable[[Any], Any]) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name] = make(arrays[name])

    return change


HOSTILE: dict[str, tuple[str, Callable[[Arrays], None], str]] = {
    "a score that is not a number": ("rankings", put("prediction.values", 3, np.nan), "the score in row 3 is nan"),
    "an infinite relevance": ("rankings", put("truth.values", 0, np.inf), "the score in row 0 is inf"),
    "queries that begin beyond": ("rankings", put("prediction.starts", 2, 10**9), "'starts' do not lead from 0"),
    "queries that begin below": ("rankings", put("prediction.starts", 1, -5), "'starts' do not lead from 0"),
    "a query twice": ("rankings", put("truth.queries", 1, "q0"), "twice|lacks|order"),
    "documents that end beyond": ("rankings", put("truth.ends", -1, 10**9), "'ends' do not lead from 0"),
    "fewer scores than documents": ("rankings", become("truth.values", lambda v: v[:-1]), "documents have|rows"),
    "documents that are numbers": ("rankings", become("truth.documents", lambda v: v.astype(float)), "'documents' is of type"),
    "a box's score that is not a number": ("boxes", put("prediction.column.score", 2, np.nan), "row 2, column 'score'"),
    "a box of negative width": ("boxes", put("truth.column.w", 1, -4.0), "-4 is not allowed here"),
    "an infinite box": ("boxes", put("truth.column.x", 1, np.inf), "inf is not allowed here"),
    "a column that is shorter": ("boxes", become("truth.column.y", lambda v: v[:-1]), "rows, and others have"),
    "scores as texts": ("boxes", become("prediction.column.score", lambda v: v.astype(str).astype(object)), "of type"),
    "scores in two dimensions": ("boxes", become("prediction.column.score", lambda v: v[:, None]), "of shape"),
    "flags as numbers": ("boxes", become("truth.column.crowd", lambda v: v.astype(float)), "of type float64"),
    "labels that are numbers": ("boxes", become("truth.column.label", lambda v: np.arange(len(v)) / 2), "neither"),
    "a negative weight of a row": ("labels", put("truth.column.weight", 0, -1.0), "-1 is not allowed here"),
    "a weight that is not a number": ("labels", put("truth.column.weight", 0, np.nan), "nan is not allowed here"),
    "a probability of two": ("labels", put("prediction.column.probability", 0, 2.0), "2 is not allowed here"),
    "points of one coordinate": ("keypoints", become("truth.column.keypoints", lambda v: v[:, 0]), "of shape"),
    "masks as texts": ("masks", become("truth.column.mask", lambda v: np.array(["x"] * len(v), object)), "type 'mask'"),
    "captions as numbers": ("captions", become("truth.column.caption", lambda v: np.arange(len(v))), "type 'text'"),
    "no ids": ("weights", lambda arrays: arrays.pop("truth.column.dish"), "the state lacks"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(HOSTILE))
def test_a_signed_state_is_checked_as_an_input_is(case: str) -> None:
    task, change, message = HOSTILE[case]
    with pytest.raises(sy.InputError, match=message) as error:
        sy.Accumulator.from_bytes(remade(task, change), "theirs.steelyard")
    assert "theirs.steelyard" in str(error.value)


SUMS: dict[str, tuple[str, str, Callable[[Arrays], None], str]] = {
    "units out of order": ("weights", "mae", become("units", lambda v: v[::-1]), "'units' are not in order"),
    "a unit twice": ("weights", "mae", lambda arrays: arrays["units"].__setitem__(1, arrays["units"][0]), "each once"),
    "sums of fewer units": ("weights", "mae", become("units", lambda v: v[:-1]), "is of type float64 and of shape"),
    "digests of another shape": ("weights", "mae", become("seen.digests", lambda v: v[:, :1]), "'seen.digests' is of"),
    "totals that are texts": ("weights", "mae", become("totals", lambda v: np.array(["a", "b"], object)), "'totals'"),
    "a negative weight": ("weights", "mae", lambda arrays: arrays.__setitem__("weight", np.full(6, -1.0)), "'weight'"),
    "copies that are none": ("weights", "mae", lambda arrays: arrays.__setitem__("copies", np.full(6, 0.5)), "'copies'"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(SUMS))
def test_signed_sums_are_checked_too(case: str) -> None:
    task, metric, change, message = SUMS[case]
    with pytest.raises(sy.InputError, match=message):
        sy.Accumulator.from_bytes(remade(task, change, compact=metric), "theirs.steelyard")


RANKING = "boxes.detections/1(iou=0.5:0.95, area=standard, max_dets=65535, rule=coco):"
RANKINGS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "an event of no unit": (put(f"{RANKING}event.unit", 0, 6), "is not from 0 to 5"),
    "groups that go back": (put(f"{RANKING}event.begin", 1, 10**6), "do not fit its rows"),
    "scores that rise": (become(f"{RANKING}event.column.score", lambda v: v[::-1]), "are not in decreasing order"),
    "a score that is not a number": (put(f"{RANKING}event.column.score", 0, np.nan), "are not in decreasing order"),
    "hits of another type": (become(f"{RANKING}event.column.hit0", lambda v: v.astype(float)), "is of type float64"),
    "no hits": (lambda arrays: arrays.pop(f"{RANKING}event.column.hit0"), "has other columns than"),
    "a positive of no unit": (put(f"{RANKING}positive.unit", 0, -1), "is not from 0 to 5"),
}


@pytest.mark.parametrize("case", list(RANKINGS))
def test_signed_rankings_are_checked_too(case: str) -> None:
    change, message = RANKINGS[case]
    with pytest.raises(sy.InputError, match=message):
        sy.Accumulator.from_bytes(remade("boxes", change, compact="map"), "theirs.steelyard")


def resigned(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The bytes of a state under another header."""
    length = struct.unpack_from("<Q", data, 16)[0]
    header = json.loads(data[24 : 24 + length])
    change(header)
    text = json.dumps(header).encode()
    begin = -(-(24 + length) // 64) * 64
    head = data[:16] + struct.pack("<Q", len(text)) + text
    whole = head + bytes(-len(head) % 64) + data[begin:-32]
    return whole + hashlib.sha256(whole).digest()


HEADERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a shape beyond all memory": lambda h: h["arrays"][0].update(shape=[1 << 61]),
    "a negative shape": lambda h: h["arrays"][0].update(shape=[-1]),
    "a place before the file": lambda h: h["arrays"][0].update(at=-64),
    "a place beyond the file": lambda h: h["arrays"][0].update(at=1 << 40),
    "bytes that are not a number": lambda h: h["arrays"][0].update(bytes="9"),
    "no shape": lambda h: h["arrays"][0].update(shape=[]),
    "a type that is none": lambda h: h["arrays"][-1].update(type="V8"),
    "an object as type": lambda h: h["arrays"][-1].update(type="O"),
    "a code that is none": lambda h: h["arrays"][0].update(code="pickle"),
    "two arrays of one name": lambda h: h["arrays"][0].update(name=h["arrays"][1]["name"]),
    "arrays that are none": lambda h: h.update(arrays=7),
    "facts that are a list": lambda h: h.update(facts=[1]),
    "a fact cut off": lambda h: h.update(facts={"m": [["task", {"a": []}]]}),
}


@pytest.mark.parametrize("case", list(HEADERS))
def test_a_header_that_does_not_fit_is_refused(case: str) -> None:
    state = sy.Accumulator("weights")
    state.update(*DRAW["weights"](np.random.default_rng(1), 6))
    with pytest.raises(sy.InputError, match="does not fit the contents"):
        sy.Accumulator.from_bytes(resigned(state.to_bytes(), HEADERS[case]))


def test_events_that_somebody_made_up_are_refused(tmp_path: Path) -> None:
    """A signed file of events whose units lie beyond all there are would be read from beyond the memory."""
    write_shards("boxes", tmp_path, 2, 2, units=8)
    options: dict[str, Any] = {"work": tmp_path / "work", "workers": 1, "confidence": None}
    evaluate_shards("boxes", *files(tmp_path), "map", **options)
    folder = tmp_path / "work" / "states"
    for path in folder.glob("*.readings"):
        path.unlink()
    path = next(folder.glob("*.events"))
    contents = read_container(path)
    arrays = {name: np.full_like(v, 10**6) if name.endswith("/unit") else v for name, v in contents.arrays.items()}
    write_container(path, *Container(contents.kind, contents.facts, arrays))
    with pytest.raises(sy.InputError, match=r"\.events: a value of 'unit' is not from 0 to"):
        evaluate_shards("boxes", *files(tmp_path), "map", **options)


def test_a_state_copied_over_another_is_made_again(tmp_path: Path) -> None:
    """It is whole, and not the one that its name says."""
    write_shards("boxes", tmp_path, 2, 3, units=8)
    options: dict[str, Any] = {"work": tmp_path / "work", "workers": 1, "draws": 100}
    first = evaluate_shards("boxes", *files(tmp_path), METRICS, **options)
    states = {path: path.read_bytes() for path in sorted((tmp_path / "work" / "states").iterdir())}
    for kind in (".shard", ".sums", ".events", ".split", ".readings"):
        one, other = [path for path in states if path.suffix == kind][:2]
        one.write_bytes(states[other])
        again = evaluate_shards("boxes", *files(tmp_path), METRICS, **options)
        assert any("damaged" in note and one.name in note for note in again.notes)
        assert without_note(again) == without_note(first)
        assert one.read_bytes() == states[one]


MADE_UP: dict[str, tuple[str, Callable[[str, Any], Any], str]] = {
    "fewer draws": (
        "readings",
        lambda name, v: v[:-1] if len(v) == 100 else v,
        "99 rows, and 100 draws were asked for",
    ),
    "texts": ("readings", lambda name, v: np.array(["x"] * len(v), dtype=object), "is of type object"),
    "negative counts": ("bins", lambda name, v: -1 - v, "a count of '.*' is negative"),
    "fractions": ("bins", lambda name, v: v / 3, "is of type float64"),
}


@pytest.mark.parametrize("case", list(MADE_UP))
def test_answers_and_bins_that_somebody_made_up_are_refused(case: str, tmp_path: Path) -> None:
    kind, change, message = MADE_UP[case]
    write_shards("boxes", tmp_path, 2, 2, units=8)
    options: dict[str, Any] = {"work": tmp_path / "work", "workers": 1, "draws": 100}
    if kind == "bins":
        options["approximate"] = 16
    evaluate_shards("boxes", *files(tmp_path), "map", **options)
    path = sorted((tmp_path / "work" / "states").glob(f"*.{kind}"))[-1]
    contents = read_container(path)
    write_container(path, contents.kind, contents.facts, {name: change(name, v) for name, v in contents.arrays.items()})
    with pytest.raises(sy.InputError, match=message):
        evaluate_shards("boxes", *files(tmp_path), "map", **options)


RELEASED = sorted((TESTS / "released").glob("*/*.state"))
JUNK: tuple[Any, ...] = (None, True, -1, 7, 0.5, "x", "", [], [7], (1, "a"), {}, {"a": []}, ...)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of every fact; of lists the first three."""
    inner = (
        value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list | tuple) else ()
    )
    return [*([at] if at else []), *(place for key, one in inner for place in places(one, (*at, key)))]


def spoiled(value: Any, at: tuple[Any, ...], junk: Any) -> Any:
    """The facts with another value at a place; `...` takes it out."""
    if not at:
        return junk
    parts = dict(value) if isinstance(value, dict) else dict(enumerate(value))
    if junk is ... and len(at) == 1:
        del parts[at[0]]
    else:
        parts[at[0]] = spoiled(parts[at[0]], at[1:], junk)
    return parts if isinstance(value, dict) else type(value)(parts.values())


def test_signed_facts_are_checked_field_by_field() -> None:
    """Facts of another type, with the right digest: an error that names the file and the field, or a report."""
    rng = random.Random("facts")
    held = {path: read_container(path) for path in RELEASED}
    every = [(path, at) for path in RELEASED for at in places(held[path].facts)]
    refused, later = [], []
    for path, at in rng.sample(every, 700):
        kind, facts, arrays = held[path]
        data = container_bytes(kind, spoiled(facts, at, rng.choice(JUNK)), arrays)
        try:
            state = sy.Accumulator.from_bytes(data, "theirs.state")
        except sy.InputError as error:
            refused.append(str(error))
            continue
        if state.compacted is not None or state.batches:
            try:
                state.report(confidence=None, save_draws=False)
            except sy.InputError:
                later.append(at)
    assert len(refused) > 400
    assert all(text.startswith("theirs.state") for text in refused)
    # A request may name a column that the data do not have, and an axis may lack a target that a metric names.
    assert [at for at in later if at[0] != "request" and at[:4] != ("sums", "state", "axes", "target")] == []


@pytest.mark.parametrize("path", [path for path in RELEASED if path.match("0.3.0/*.sums.state")], ids=lambda p: p.stem)
def test_signed_facts_of_sums_without_a_flag_or_an_axis(path: Path) -> None:
    """Flags and axes that are missing or of another type: an error in one sentence, or a report."""
    kind, facts, arrays = read_container(path)
    held = [at for at in places(facts) if at[:3] in (("sums", "state", "flags"), ("sums", "state", "axes"))]
    for at in held:
        for junk in ({}, None, "x", 7, ...):
            data = container_bytes(kind, spoiled(facts, at, junk), arrays)
            with contextlib.suppress(sy.InputError):
                sy.Accumulator.from_bytes(data, "theirs.state").report(confidence=None, save_draws=False)


FACTS: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "columns of sums": (("sums", "columns"), 7, "the field 'sums.columns' is 7, and a mapping is expected"),
    "options of sums": (("sums", "options"), 7, "the field 'sums.options' is 7, and a mapping is expected"),
    "an option": (("sums", "options"), {"angle": 7}, "the field 'sums.options.angle' is 7, and a text is expected"),
    "columns": (("request", "columns"), 7, "the field 'request.columns' is 7, and a mapping is expected"),
    "a column": (("request", "columns"), {"weight": 7}, "the field 'request.columns.weight' is 7, and a text"),
    "draws": (("request", "draws"), 0.5, "the field 'request.draws' is 0.5, and a whole number is expected"),
    "draws that are a flag": (("request", "draws"), True, "the field 'request.draws' is True"),
    "few draws": (("request", "draws"), 3, "the field 'request' does not fit: 3 draws are out of range"),
    "a setting that is none": (("request", "later"), 3, "the field 'request' does not fit: there is no setting 'later'"),
    "a policy that is none": (("request", "missing"), "guess", "the field 'request' does not fit: missing='guess'"),
    "no request": (("request",), ..., "the field 'request' is missing"),
    "no task": (("task",), ..., "the field 'task' is missing"),
    "another task": (("sums", "task"), "labels", "the field 'sums.task' is 'labels', not 'weights'"),
    "notes": (("notes",), [7], r"the field 'notes\[0\]' is 7, and a text is expected"),
    "a count": (("sums", "rows"), (1,), r"the field 'sums.rows' is \(1,\), and a list of 2 values is expected"),
    "a negative count": (("sums", "rows"), (-1, 2), "are not counts"),
    "coverage": (("sums", "coverage", 0), "x", r"the field 'sums.coverage\[0\]' is 'x', and a whole number"),
    "no metric": (("sums", "specs"), (), "the field 'sums.specs' is empty"),
    "an unknown metric": (("sums", "specs"), ("mea",), "the field 'sums.specs' does not fit: .*mea"),
    "axes": (("sums", "state", "axes"), {"class": 7}, "the field 'sums.state.axes.class' is 7, and a list of 3 values"),
    "names of an axis": (
        ("sums", "state", "axes"), {"class": (("a", "b"), ("x",), True)}, "the axis 'class' has 2 ids and 1 name",
    ),
    "no blocks": (("sums", "state", "blocks"), {}, "the field 'sums.state.blocks' lacks '"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(FACTS))
def test_what_is_said_of_a_fact(case: str) -> None:
    at, junk, message = FACTS[case]
    state = sy.Accumulator("weights")
    state.update(*DRAW["weights"](np.random.default_rng(1), 6))
    state.compact("mae")
    kind, facts, arrays = parse_container(state.to_bytes(), "state")
    if at[-1] == "later":
        facts = {**facts, "request": {**facts["request"], "later": junk}}
    else:
        facts = spoiled(facts, at, junk)
    with pytest.raises(sy.InputError, match=message) as error:
        sy.Accumulator.from_bytes(container_bytes(kind, facts, arrays), "theirs.state")
    assert str(error.value).startswith("theirs.state: ")


def test_facts_of_shards_are_checked_too(tmp_path: Path) -> None:
    write_shards("boxes", tmp_path, 2, 2, units=8)
    options: dict[str, Any] = {"work": tmp_path / "work", "workers": 1, "confidence": None}
    evaluate_shards("boxes", *files(tmp_path), "map", **options)
    folder = tmp_path / "work" / "states"
    for kind, key, junk in (
        ("shard", "rows", 7),
        ("shard", "notes", 7),
        ("shard", "truth", 7),
        ("units", "units", "x"),
    ):
        for path in folder.glob("*.readings"):
            path.unlink()
        path = sorted(folder.glob(f"*.{kind}"))[0]
        whole = path.read_bytes()
        contents = read_container(path)
        write_container(path, contents.kind, {**contents.facts, key: junk}, contents.arrays)
        with pytest.raises(sy.InputError, match=rf"\.{kind}: the field '{key}' is {junk!r}, and"):
            evaluate_shards("boxes", *files(tmp_path), "map", **options)
        path.write_bytes(whole)

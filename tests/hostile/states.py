"""Saved accumulators that are spoiled: cut, flipped, signed again, of another version or task."""

from __future__ import annotations

from typing import Any

from hostile.frames import GOOD
from hostile.rows import TASKS, Row, program

# `spoil(change)` takes a good state apart, lets `change` work on kind, facts and arrays, and signs it again.
HELP = """
import hashlib, json, struct
import numpy as np
from steelyard.io.container import container_bytes, parse_container
state = sy.Accumulator(TASK)
state.update(t, p)
data = state.to_bytes()
def spoil(change):
    found = parse_container(data, "s")
    kind, facts, arrays = found.kind, dict(found.facts), {k: v.copy() for k, v in found.arrays.items()}
    kind = change(facts, arrays) or kind
    return container_bytes(kind, facts, arrays)
def header(change):
    length = struct.unpack_from("<Q", data, 16)[0]
    head = change(data[24:24 + length])
    whole = data[:16] + struct.pack("<Q", len(head)) + head + data[24 + length:-32]
    return whole + hashlib.sha256(whole).digest()
def meet(data, more=""):
    with open("s.state", "wb") as file:
        file.write(data)
    print(sy.Accumulator.load("s.state").report(confidence=None))
"""


def state(name: str, task: str, spoil: str, *says: str, **more: Any) -> Row:
    """A program that spoils a good state of the task and reads it; the message names the file."""
    more.setdefault("writes", ("s.state",))
    source = f"{GOOD[task]}\n{HELP.replace('TASK', repr(task))}\n{spoil}"
    return program(f"state of {task}: {name}", source, "s.state", *says, task=task, command="accumulator", **more)


def set_array(name: str, values: str) -> str:
    return f"meet(spoil(lambda facts, arrays: arrays.__setitem__({name!r}, {values})))"


ROWS: list[Row] = [
    state("empty", "weights", "meet(b'')", "not a state file"),
    state("cut in the head", "weights", "meet(data[:20])", "not a state file"),
    state("cut in the header", "weights", "meet(data[:100])"),
    state("cut in the arrays", "weights", "meet(data[:-40])"),
    state("cut by a byte", "weights", "meet(data[:-1])", "checksum"),
    state("longer by a byte", "weights", "meet(data + b'x')", "checksum"),
    state("flipped bit in the header", "weights", "d = bytearray(data); d[60] ^= 1; meet(bytes(d))"),
    state("flipped bit in the arrays", "weights", "d = bytearray(data); d[-60] ^= 1; meet(bytes(d))", "checksum"),
    state("another version", "weights", "d = bytearray(data); d[8] = 9; meet(bytes(d))", "version 9", "version 1"),
    state("another kind of file", "weights", "meet(b'PK' + data)", "not a state file"),
    state("header that is a list", "weights", "meet(header(lambda h: b'[]'))", "header"),
    state("header 100,000 deep", "weights", "meet(header(lambda h: b'[' * 100_000))", "header"),
    state("header of 2^62 bytes", "weights", "d = bytearray(data); d[16:24] = struct.pack('<Q', 2**62); meet(bytes(d))", "header"),
    state("header without arrays", "weights", "meet(header(lambda h: b'{}'))", "header"),
    state("arrays beyond the end", "weights", "meet(header(lambda h: h.replace(b'\"at\": 0', b'\"at\": 9999999')))"),
    state("array that begins before the file", "weights", "meet(header(lambda h: h.replace(b'\"at\": 0,', b'\"at\": -900,')))"),
    state("array of a negative shape", "weights", "meet(header(lambda h: h.replace(b'\"shape\": [3]', b'\"shape\": [-3]')))"),
    state("array of 2^60 rows", "weights", "meet(header(lambda h: h.replace(b'\"shape\": [3]', b'\"shape\": [1152921504606846976]')))"),
    state("array of objects", "weights", "meet(header(lambda h: h.replace(b'\"<f8\"', b'\"|O\"')))"),
    state("facts that are missing", "weights", "meet(spoil(lambda facts, arrays: facts.pop('prediction') and None))"),
    state("task that is unknown", "weights", "meet(spoil(lambda facts, arrays: facts.__setitem__('task', 'wieghts')))", "'wieghts'"),
    state("task of another state", "weights", "meet(spoil(lambda facts, arrays: facts.__setitem__('task', 'labels')))"),
    state("task that is a list", "weights", "meet(spoil(lambda facts, arrays: facts.__setitem__('task', [1])))"),
    state("kind of another state", "weights", "meet(spoil(lambda facts, arrays: 'other'))", "'other'"),
    state("weights of nan, signed again", "weights", set_array("truth.column.weight", "np.array([np.nan, 1, 2])"), "weight"),
    state("weights of another number of rows", "weights", set_array("truth.column.weight", "np.ones(2)"), "weight"),
    state("weights that are texts", "weights", set_array("truth.column.weight", "np.array(['a', 'b', 'c'], dtype=object)"), "weight"),
    state("column that is missing", "weights", "meet(spoil(lambda facts, arrays: arrays.pop('truth.column.weight') is None or None))", "weight"),
    state("frames of nan, signed again", "sequences", set_array("prediction.column.weight", "np.array([np.nan, 1])"), "weight"),
    state("frames that are negative", "sequences", set_array("prediction.column.t", "np.array([-5, 2**62])"), "'t'"),
    state("axes of zero, signed again", "ellipses", set_array("truth.column.a", "np.zeros(2)"), "'a'"),
    state("centres of inf, signed again", "ellipses", set_array("prediction.column.xc", "np.full(2, np.inf)"), "'xc'"),
    state("labels of another number of rows", "labels", set_array("prediction.column.label", "np.array(['a'], dtype=object)"), "label"),
    state("scores of nan, signed again", "rankings", set_array("prediction.values", "np.full(2, np.nan)")),
    state("scores of another number of rows", "rankings", set_array("prediction.values", "np.ones(9)")),
    state("starts beyond the end", "rankings", set_array("prediction.starts", "np.array([0, 10**12])")),
    state("starts that are negative", "rankings", set_array("prediction.starts", "np.array([-9, 2])")),
    state("ends of ids that fall", "rankings", set_array("prediction.ends", "np.array([2, 1])")),
    state("ends of ids beyond the text", "rankings", set_array("prediction.ends", "np.array([1, 10**12])")),
    state("ids that are not UTF-8", "rankings", set_array("prediction.documents", "np.array([255, 254], dtype=np.uint8)")),
    state("captions that are numbers", "captions", set_array("prediction.column.caption", "np.ones(2)"), "caption"),
    state("logits of nan, signed again", "losses", set_array("prediction.column.logit", "np.full(2, np.nan)"), "logit"),
    state("targets of 7, signed again", "losses", set_array("truth.column.target", "np.full(2, 7.0)"), "target"),
    state("boxes of nan, signed again", "boxes", set_array("truth.column.x", "np.full(2, np.nan)")),
    state("boxes of negative width, signed again", "boxes", set_array("prediction.column.w", "np.full(2, -5.0)")),
    state("scores of inf, signed again", "boxes", set_array("prediction.column.score", "np.full(2, np.inf)"), "score"),
    state("images of another number of rows", "boxes", set_array("prediction.column.image", "np.array([1])")),
    state("masks that are texts", "masks", set_array("prediction.column.mask", "np.array(['a', 'b'], dtype=object)")),
    state("masks of negative runs", "masks", set_array("prediction.column.mask", "np.array([b'\\xff' * 8] * 2, dtype=object)")),
    state("keypoints of another number of rows", "keypoints", set_array("prediction.column.keypoints", "np.ones((1, 6))")),
    *(state("flipped bits everywhere", task, """
for place in range(0, len(data), max(1, len(data) // 40)):
    d = bytearray(data); d[place] ^= 0x40
    try:
        sy.Accumulator.from_bytes(bytes(d), "s.state")
    except sy.InputError as error:
        last = error
    else:
        raise AssertionError(f"byte {place} is not missed")
raise last""", writes=()) for task in TASKS),
    *(state("cut everywhere", task, """
for place in range(0, len(data), max(1, len(data) // 40)):
    try:
        sy.Accumulator.from_bytes(data[:place], "s.state")
    except sy.InputError as error:
        last = error
    else:
        raise AssertionError(f"{place} bytes are enough")
raise last""", writes=()) for task in TASKS),
]  # fmt: skip

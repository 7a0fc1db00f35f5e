"""Logs of other harnesses, written out."""

from __future__ import annotations

import io
import json
import struct
import zlib
from typing import Any

import zstandard


def archive(members: dict[str, Any]) -> bytes:
    """A ZIP archive whose members are packed by Zstandard, method 93, as inspect writes them."""
    out, central = io.BytesIO(), b""
    for name, value in members.items():
        data = json.dumps(value).encode()
        packed, place = zstandard.ZstdCompressor().compress(data), out.tell()
        fixed = struct.pack("<HHHHHIIIHH", 20, 0, 93, 0, 33, zlib.crc32(data), len(packed), len(data), len(name), 0)
        out.write(b"PK\x03\x04" + fixed + name.encode() + packed)
        central += (
            b"PK\x01\x02" + struct.pack("<H", 20) + fixed + struct.pack("<HHHII", 0, 0, 0, 0, place) + name.encode()
        )
    place = out.tell()
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(central), place, 0)
    return out.getvalue() + central + b"PK\x05\x06" + end


def sample(number: int, target: Any, said: str, value: Any, epoch: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "id": number, "epoch": epoch, "input": "?", "target": target, "metadata": {"kind": "odd" if number % 2 else "even"},
        "output": {"model": "m", "completion": said, "choices": [{"stop_reason": "stop"}]},
        "scores": {"match": {"value": value, "answer": said}}, **more,
    }  # fmt: skip


# How likely lm-eval found each of three options: number 2 most of all, then 0. `acc` is its own score.
LIKELY = [["-4.5", "False"], ["-9.0", "False"], ["-1.25", "True"]]


def options(target: str, acc: float, pairs: list[list[str]] = LIKELY, contexts: str = "???") -> dict[str, Any]:
    words = ["cat", "dog", "bird"] * 2
    asked = {
        f"gen_args_{i}": {"arg_0": "" if context == "-" else "Which?", "arg_1": f" {words[i]}"}
        for i, context in enumerate(contexts)
    }
    return {
        "doc_id": int(acc), "doc": {}, "target": target, "arguments": asked, "resps": [[one] for one in pairs],
        "filtered_resps": pairs, "filter": "none", "metrics": ["acc"], "acc": acc,
    }  # fmt: skip


KIT = [
    {"index": 3, "question": "?", "A": "a cat", "B": "a dog", "answer": "B", "prediction": "B", "category": "x", "hit": 1},
    {"index": 1_000_003, "question": "?", "A": "a dog", "B": "a cat", "answer": "A", "prediction": "a cat", "category": "x", "hit": 0},
    {"index": 4, "question": "?", "A": "1", "B": "2", "answer": "A", "prediction": "Failed to obtain answer via API.", "category": "y", "hit": 0},
]  # fmt: skip

"""Containers of states: what they hold comes back, and damage is named."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.io.container import Reader, container_bytes, is_whole, parse_container, read_facts


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def container(header: Any, arrays: bytes = b"") -> bytes:
    """A container of a header by hand, with a checksum that fits."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    head = struct.pack("<8sIIQ", b"STEELYRD", 1, 0, len(text)) + text
    data = head.ljust(-(-len(head) // 64) * 64, b"\0") + arrays
    return data + hashlib.sha256(data).digest()


def entry(**changed: Any) -> dict[str, Any]:
    return {"name": "a", "code": "json", "type": "", "shape": [1], "at": 0, "bytes": 3, **changed}


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ([], b"", ("E-invalid-result", "x.state", "read")),
        (b"{", b"", ("E-invalid-result", "x.state", "read")),
        ({"kind": "k", "facts": [], "arrays": []}, b"", ("E-invalid-result", "facts")),
        ({"kind": "k", "facts": {"x": 1}, "arrays": []}, b"", ("E-invalid-result", "'x'")),
        ({"kind": "k", "facts": {"m": []}, "arrays": [entry(shape=[2])]}, b"[1]", ("E-invalid-result", "x.state", "missing")),
        ({"kind": "k", "facts": {"m": []}, "arrays": [entry(), entry()]}, b"[1]", ("E-invalid-result", "'a'", "array")),
        ({"kind": "k", "facts": {"m": []}, "arrays": [entry(at=-1)]}, b"[1]", ("E-invalid-result", "'a'", "sizes")),
        ({"kind": "k", "facts": {"m": []}, "arrays": [entry(bytes=9)]}, b"[1]", ("E-invalid-result", "x.state", "beyond")),
        ({"kind": "k", "facts": {"m": []}, "arrays": [entry(code="plain", type="<f8")]}, b"[1]", ("E-invalid-result", "x.state", "type")),
        ({"kind": "k", "facts": {"m": []}, "arrays": [entry(code="zip")]}, b"[1]", ("E-invalid-result", "code")),
        ({"kind": "k", "facts": {"m": []}, "arrays": [entry(code="text", bytes=9)]}, bytes(9), ("E-invalid-result", "x.state", "texts")),
    ],
)  # fmt: skip
def test_a_container_whose_checksum_fits(header: Any, arrays: bytes, message: tuple[str, ...]) -> None:
    with refuses(*message, "x.state"):
        parse_container(container(header, arrays), "x.state")


def test_containers(tmp_path: Path) -> None:
    with refuses("E-invalid-result", "x"):
        parse_container("text", "x")  # type: ignore[arg-type]
    with refuses("E-unsupported", "k, 'a'"):
        container_bytes("k", {}, {"a": np.array([object()])})
    values: dict[str, Any] = {"t": (1, "é"), "a": np.ones((2, 1)), "m": {1: [None]}, "n": np.int64(7)}
    kind, facts, _ = parse_container(container_bytes("k", values, {}), "x")
    assert (kind, facts["t"], facts["m"], facts["n"]) == ("k", (1, "é"), {1: [None]}, 7)
    assert facts["a"].tolist() == [[1.0], [1.0]]
    file = write(tmp_path / "x.state", container_bytes("k", {"b": 1}, {"a": np.arange(5)}))
    assert Reader(file).rows("a", 1, 3).tolist() == [1, 2]
    with refuses("E-invalid-result", "'a'", "3", "9"):
        Reader(file).rows("a", 3, 9)
    assert read_facts(file) == {"b": 1}
    assert is_whole(file)
    assert not is_whole(tmp_path / "none")
    for read in (read_facts, Reader):
        with refuses("E-missing-file", "none"):
            read(tmp_path / "none")  # type: ignore[misc]
